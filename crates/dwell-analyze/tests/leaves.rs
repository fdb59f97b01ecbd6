//! Calls that call nothing are booked in one go, unless a window ends inside of them. Both ways give one result.
//! One window, times in nanoseconds.

#![allow(clippy::unwrap_used)]

mod support;

use dwell_analyze::Quantity;
use otf2::enums::RmaAtomicType;
use otf2::event::{
    Enter, Leave, RmaAtomic, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking,
};
use otf2::id::{MatchingId, Rank, RegionRef};
use support::{Thread, WINDOW as win, World};

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

/// A target that computes from 0 to 500, then calls.
fn target() -> Thread {
    Thread::default()
        .at(0, Enter { region: MAIN })
        .call(FENCE, 500, 510)
        .at(1_000, Leave { region: MAIN })
}

/// What an origin waits for progress of process 1, at least and at most.
fn progress(origin: Thread) -> Vec<(u64, u64)> {
    let processes = [vec![origin.at(1_000, Leave { region: MAIN })], vec![target()]];
    let world = World {
        regions: REGIONS,
        processes: &processes,
        per_node: 1,
        groups: &[],
        latency: [0; 2],
        cores: &[],
    };
    let all = std::cell::RefCell::new(Vec::new());
    world.analyzed(|analysis| {
        let of = |what| analysis.at_location(0, what);
        let low = of(Quantity::ProgressLow);
        all.borrow_mut().push((low, low + of(Quantity::ProgressMargin)));
    });
    all.into_inner()
}

fn origin() -> Thread {
    Thread::default().at(0, Enter { region: MAIN })
}

impl Thread {
    fn accumulate(self, id: u64, enter: u64) -> Self {
        let (remote, matching_id) = (Rank(1), MatchingId(id));
        let (bytes_sent, bytes_received) = (64, 0);
        let kind = RmaAtomicType::Accumulate;
        self.at(enter, RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id })
    }
}

#[test]
fn a_get_waits_for_its_target() {
    let matching_id = MatchingId(1);
    let origin = origin()
        .at(100, Enter { region: GET })
        .at(100, RmaGet { win, remote: Rank(1), bytes: 64, matching_id })
        .at(510, RmaOpCompleteBlocking { win, matching_id })
        .at(510, Leave { region: GET });
    assert_eq!(progress(origin), [(400, 400); 3]);
}

/// ARMCI is done with an accumulate when its data has left.
#[test]
fn an_accumulate_does_not_wait_for_its_target() {
    let origin = origin()
        .at(100, Enter { region: ACCUMULATE })
        .accumulate(1, 100)
        .at(510, RmaOpCompleteBlocking { win, matching_id: MatchingId(1) })
        .at(510, Leave { region: ACCUMULATE });
    assert_eq!(progress(origin), [(0, 0); 3]);
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
    assert_eq!(progress(origin), [(0, 0); 3]);
}

/// Numbers may come again; then all operations of a number are complete.
#[test]
fn operations_of_one_number_are_complete_together() {
    let get = |thread: Thread, enter| {
        let matching_id = MatchingId(7);
        thread
            .at(enter, Enter { region: BEGIN_ACCUMULATE })
            .at(enter, RmaGet { win, remote: Rank(1), bytes: 64, matching_id })
            .at(enter + 1, Leave { region: BEGIN_ACCUMULATE })
    };
    let origin = get(get(origin(), 100), 110)
        .at(120, Enter { region: WAIT })
        .at(510, RmaOpCompleteNonBlocking { win, matching_id: MatchingId(7) })
        .at(510, Leave { region: WAIT })
        .at(520, Enter { region: WAIT })
        .at(600, RmaOpCompleteNonBlocking { win, matching_id: MatchingId(7) })
        .at(600, Leave { region: WAIT });
    assert_eq!(progress(origin), [(380, 380); 3]);
}
