//! More operations in flight than the memory budget has room for: the answer is that of a large budget.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Analysis, Cut, Options, Quantity};
use dwell_model::waits::Wait;
use otf2::Archive;
use otf2::event::{
    Enter, Leave, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking, RmaOpCompleteRemote,
};
use otf2::id::{MatchingId, Rank, RegionRef};

use crate::support::{self, Events, Thread, WINDOW as win, World};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const GET_NBI: RegionRef = RegionRef(2);
const WAIT: RegionRef = RegionRef(3);
const QUIET: RegionRef = RegionRef(4);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("get", "layer=shmem operation=get progress=always"),
    ("get_nbi", "layer=shmem operation=get mode=nonblocking progress=never"),
    ("wait", "layer=shmem operation=wait_handle progress=always"),
    ("quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
];

const OPERATIONS: u64 = 8_000;
const END: u64 = 10_000_000;

/// Returns an origin that issues many gets, waits for every third of the earlier ones in another order, then for all.
fn origin() -> Thread {
    let mut thread = Thread::default().at(0, Enter { region: MAIN });
    for id in 0..OPERATIONS {
        let (time, remote, matching_id) =
            (1_000 + id * 500, Rank(1 + id as u32 % 2), MatchingId(id));
        thread = thread
            .at(time, Enter { region: GET_NBI })
            .at(time, RmaGet { win, remote, bytes: 8, matching_id })
            .at(time + 10, Leave { region: GET_NBI });
    }
    for step in 0..2_000 {
        // 2,000 and 1,001 have no common factor.
        let (time, id) = (5_000_000 + step * 700, step * 1_001 % 2_000 * 3);
        thread = thread
            .at(time, Enter { region: WAIT })
            .at(time + 500, RmaOpCompleteNonBlocking { win, matching_id: MatchingId(id) })
            .at(time + 500, Leave { region: WAIT });
    }
    thread
        .at(8_000_000, Enter { region: QUIET })
        .at(8_400_000, RmaOpCompleteRemote { win, matching_id: MatchingId(0) })
        .at(8_400_000, Leave { region: QUIET })
        .at(END, Leave { region: MAIN })
}

/// Returns a target that gets from its own node now and then, and so progresses operations of others; `late` is the
/// last time.
fn target(shift: u64, late: u64) -> Thread {
    let mut thread = Thread::default().at(0, Enter { region: MAIN });
    let times = (0..40).map(|it| 90_000 + shift + it * 80_000).chain([late]);
    for (id, time) in (0..).zip(times) {
        thread = thread
            .at(time, Enter { region: GET })
            .at(time, RmaGet { win, remote: Rank(0), bytes: 8, matching_id: MatchingId(id) })
            .at(time + 200, RmaOpCompleteBlocking { win, matching_id: MatchingId(id) })
            .at(time + 200, Leave { region: GET });
    }
    thread.at(END, Leave { region: MAIN })
}

fn run(archive: &Archive, memory: u64, cut: Cut) -> Analysis {
    let mut options = Options::default();
    (options.memory, options.cut, options.threads) = (memory, cut, 1);
    support::sums::analyze(archive, &options)
}

fn sums(analysis: &Analysis) -> Vec<u64> {
    let at = |location| Quantity::all().map(move |it| analysis.at_location(location, it));
    (0..analysis.locations()).flat_map(at).collect()
}

#[test]
fn operations_in_a_file_are_judged_alike() {
    let directory = tempfile::tempdir().unwrap();
    // The last gets began after the targets served for the last time before the quiet.
    let processes = [vec![origin()], vec![target(0, 8_100_000)], vec![target(7_000, 8_250_000)]];
    World::new(REGIONS, &processes).write(directory.path());
    let archive = Archive::open(directory.path()).unwrap();
    let roomy = run(&archive, 1 << 30, Cut::Budget);
    assert_eq!(roomy.spilled(), 0);
    assert!(
        roomy.total(Quantity::Wait(Wait::WaitForProgress)) > 0
            || roomy.total(Quantity::Wait(Wait::WaitForProgressMulti)) > 0
    );
    for window in [40_000, 250_000, 1_000_000] {
        let tight = run(&archive, 1, Cut::Nanoseconds(window));
        assert!(tight.spilled() > 1_000, "{}", tight.spilled());
        assert_eq!(sums(&tight), sums(&roomy), "{window}");
    }
}
