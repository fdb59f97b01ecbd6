//! The part of a wait for progress in which the process served others, in closed form.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Cut, Options, Quantity};
use dwell_model::waits::Wait;
use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteRemote};
use otf2::id::{MatchingId, Rank, RegionRef};

use crate::support::{Events, Thread, WINDOW as win, World, sums};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const GET_NBI: RegionRef = RegionRef(2);
const QUIET: RegionRef = RegionRef(3);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_get", "layer=shmem operation=get progress=always"),
    ("shmem_get_nbi", "layer=shmem operation=get mode=nonblocking progress=never"),
    ("shmem_quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
];

const US: u64 = 1_000;

/// Process 1 waits for process 0 from 100 to 1,000 µs, and its call ends at 1,005. Processes 2 and 3 get from process 1: before
/// its call, in it and beyond it, twice at the same time, and once without waiting for the result.
fn processes() -> Vec<Thread> {
    let begin = || Thread::default().at(0, Enter { region: MAIN });
    let get = |thread: Thread, id, target, from: u64, to: u64| {
        thread.get_from(GET, id, target, from * US, to * US)
    };
    let late = begin().call(QUIET, 1_000 * US, 1_010 * US);
    let waits = get(begin(), 1, 0, 100, 1_005);
    let matching_id = MatchingId(9);
    let second = get(begin(), 1, 1, 200, 230)
        .at(300 * US, Enter { region: GET_NBI })
        .at(300 * US, RmaGet { win, remote: Rank(1), bytes: 8, matching_id })
        .at(301 * US, Leave { region: GET_NBI })
        .at(400 * US, Enter { region: QUIET })
        .at(410 * US, RmaOpCompleteRemote { win, matching_id })
        .at(410 * US, Leave { region: QUIET });
    let second = get(second, 10, 1, 950, 1_100);
    let third = get(get(begin(), 1, 1, 10, 120), 2, 1, 220, 260);
    vec![late, waits, second, third]
}

#[test]
fn waits_tell_how_long_they_served_others() {
    let end = |thread: Thread| vec![thread.at(2_000 * US, Leave { region: MAIN })];
    let processes: Vec<Vec<Thread>> = processes().into_iter().map(end).collect();
    let (_directory, archive) = World::new(REGIONS, &processes).open();
    for threads in [1, 3] {
        for cut in [Cut::Budget, Cut::EveryEvent, Cut::Nanoseconds(7_777)] {
            let mut options = Options::default();
            (options.threads, options.cut) = (threads, cut);
            let analysis = sums::analyze(&archive, &options);
            let served = |at| analysis.at_location(at, Quantity::Serving);
            // From 100 to 120, from 200 to 260 by both, and from 950 to the end.
            assert_eq!([0, 1, 2, 3].map(served), [0, (20 + 60 + 55) * US, 0, 0], "{cut:?}");
            let wait = Quantity::Wait(Wait::WaitForProgress);
            assert_eq!(analysis.at_location(1, wait), 900 * US);
            let finding = &analysis.findings()[0];
            assert_eq!((finding.pattern, finding.served), ("wait_for_progress", Some(135 * US)));
        }
    }
}
