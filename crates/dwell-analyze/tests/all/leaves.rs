//! Calls that make no other call are booked at once, unless a window ends inside of them. Both ways give the same
//! result. Times are in nanoseconds.

#![allow(clippy::unwrap_used)]

use dwell_analyze::Quantity;
use dwell_model::waits::Wait;
use otf2::enums::RmaAtomicType;
use otf2::event::{
    Enter, Leave, RmaAtomic, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking,
};
use otf2::id::{MatchingId, Rank, RegionRef};

use crate::support::{Events, Thread, WINDOW as win, World};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const ACCUMULATE: RegionRef = RegionRef(2);
const BEGIN_ACCUMULATE: RegionRef = RegionRef(3);
const WAIT: RegionRef = RegionRef(4);
const FENCE: RegionRef = RegionRef(5);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("ARMCI_Get", "layer=armci operation=get progress=always"),
    ("ARMCI_Acc", "layer=armci operation=atomic_accumulate progress=always"),
    ("ARMCI_NbAcc", "layer=armci operation=atomic_accumulate mode=nonblocking progress=always"),
    ("ARMCI_Wait", "layer=armci operation=wait progress=always"),
    ("ARMCI_Fence", "layer=armci operation=complete_remote progress=always completes=remote"),
];

/// Returns a target that computes from 0 to 500, then calls.
fn target() -> Thread {
    Thread::default()
        .at(0, Enter { region: MAIN })
        .call(FENCE, 500, 510)
        .at(1_000, Leave { region: MAIN })
}

/// Returns the waits of an origin for progress of one target and of several, with and without calls that may progress.
fn waits(origin: Thread) -> Vec<[(u64, u64); 2]> {
    let origin = origin.at(1_000, Leave { region: MAIN });
    let processes = [vec![origin], vec![target()], vec![target()]];
    let world = World::new(REGIONS, &processes);
    let all = std::cell::RefCell::new(Vec::new());
    world.analyzed(|analysis| {
        let of = |low, margin| {
            let low = analysis.at_location(0, low);
            (low, low + analysis.at_location(0, margin))
        };
        let one =
            of(Quantity::Wait(Wait::WaitForProgress), Quantity::Margin(Wait::WaitForProgress));
        let several = of(
            Quantity::Wait(Wait::WaitForProgressMulti),
            Quantity::Margin(Wait::WaitForProgressMulti),
        );
        all.borrow_mut().push([one, several]);
    });
    all.into_inner()
}

fn origin() -> Thread {
    Thread::default().at(0, Enter { region: MAIN })
}

/// Operations of these programs.
trait Calls: Events {
    fn accumulate(self, id: u64, enter: u64) -> Self {
        let (remote, matching_id) = (Rank(1), MatchingId(id));
        let (bytes_sent, bytes_received) = (64, 0);
        let kind = RmaAtomicType::Accumulate;
        self.at(enter, RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id })
    }
}

impl Calls for Thread {}

#[test]
fn a_get_waits_for_its_target() {
    let matching_id = MatchingId(1);
    let origin = origin()
        .at(100, Enter { region: GET })
        .at(100, RmaGet { win, remote: Rank(1), bytes: 64, matching_id })
        .at(510, RmaOpCompleteBlocking { win, matching_id })
        .at(510, Leave { region: GET });
    assert_eq!(waits(origin), [[(400, 400), (0, 0)]; 3]);
}

/// ARMCI completes an accumulate at the origin when its data has left.
#[test]
fn an_accumulate_does_not_wait_for_its_target() {
    let origin = origin()
        .at(100, Enter { region: ACCUMULATE })
        .accumulate(1, 100)
        .at(510, RmaOpCompleteBlocking { win, matching_id: MatchingId(1) })
        .at(510, Leave { region: ACCUMULATE });
    assert_eq!(waits(origin), [[(0, 0); 2]; 3]);
}

#[test]
fn neither_does_one_that_is_waited_for_later() {
    let origin = origin()
        .at(100, Enter { region: BEGIN_ACCUMULATE })
        .accumulate(1, 100)
        .at(110, Leave { region: BEGIN_ACCUMULATE })
        .at(120, Enter { region: WAIT })
        .at(510, RmaOpCompleteNonBlocking { win, matching_id: MatchingId(1) })
        .at(510, Leave { region: WAIT });
    assert_eq!(waits(origin), [[(0, 0); 2]; 3]);
}

/// Operations may have equal numbers. A completion then concerns all operations with its number, so this call waits for
/// two targets.
#[test]
fn operations_of_one_number_are_complete_together() {
    let get = |thread: Thread, target, enter| {
        let (remote, matching_id) = (Rank(target), MatchingId(7));
        thread
            .at(enter, Enter { region: BEGIN_ACCUMULATE })
            .at(enter, RmaGet { win, remote, bytes: 64, matching_id })
            .at(enter + 1, Leave { region: BEGIN_ACCUMULATE })
    };
    let origin = get(get(origin(), 1, 100), 2, 110)
        .at(120, Enter { region: WAIT })
        .at(510, RmaOpCompleteNonBlocking { win, matching_id: MatchingId(7) })
        .at(510, Leave { region: WAIT });
    assert_eq!(waits(origin), [[(0, 0), (380, 380)]; 3]);
}
