//! Processes of several threads: their facts are the union over all threads.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Analysis, Quantity};
use dwell_model::waits::Wait;
use otf2::Event;
use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteRemote, RmaPut};
use otf2::id::{MatchingId, Rank, RegionRef, RmaWinRef};

use crate::support::{Thread, World};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const PUT: RegionRef = RegionRef(2);
const QUIET: RegionRef = RegionRef(3);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("get", "layer=shmem operation=get progress=always"),
    ("put", "layer=shmem operation=put progress=never"),
    ("quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
];

/// Two processes of two threads each.
fn analyzed(events: [&[(u64, Event<'static>)]; 4], check: impl Fn(&Analysis)) {
    let [a, b, c, d] = events.map(|list| Thread {
        events: list.iter().map(|&(time, event)| (time, Vec::new(), event)).collect(),
    });
    let processes = &[vec![a, b], vec![c, d]];
    World {
        regions: REGIONS,
        processes,
        per_node: 2,
        groups: &[],
        latency: [0; 2],
        cores: &[],
        by_context: false,
    }
    .analyzed(check);
}

fn enter(region: RegionRef) -> Event<'static> {
    Enter { region }.into()
}

fn leave(region: RegionRef) -> Event<'static> {
    Leave { region }.into()
}

#[test]
fn any_thread_of_the_target_serves() {
    let (win, remote) = (RmaWinRef(0), Rank(1));
    let get = |id| RmaGet { win, remote, bytes: 8, matching_id: MatchingId(id) }.into();
    let done = |id| RmaOpCompleteBlocking { win, matching_id: MatchingId(id) }.into();
    // Thread 0 waits from 100 until thread 3 serves at 150; from 300 on thread 2 is there.
    analyzed(
        [
            &[
                (0, enter(MAIN)),
                (100, enter(GET)),
                (100, get(0)),
                (170, done(0)),
                (170, leave(GET)),
                (300, enter(GET)),
                (300, get(1)),
                (350, done(1)),
                (350, leave(GET)),
                (500, leave(MAIN)),
            ],
            &[(0, enter(MAIN)), (500, leave(MAIN))],
            &[(0, enter(MAIN)), (290, enter(QUIET)), (360, leave(QUIET)), (500, leave(MAIN))],
            &[
                (0, enter(MAIN)),
                (150, enter(QUIET)),
                (320, leave(QUIET)),
                (340, enter(QUIET)),
                (341, leave(QUIET)),
                (500, leave(MAIN)),
            ],
        ],
        |analysis| {
            assert_eq!(analysis.events(), 22);
            assert_eq!(analysis.at_location(0, Quantity::Wait(Wait::WaitForProgress)), 50);
            assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgress)), 50);
        },
    );
}

#[test]
fn a_thread_completes_what_another_put() {
    let (win, remote, matching_id) = (RmaWinRef(0), Rank(1), MatchingId(7));
    let put = RmaPut { win, remote, bytes: 8, matching_id }.into();
    let done = RmaOpCompleteBlocking { win, matching_id }.into();
    let complete = RmaOpCompleteRemote { win, matching_id }.into();
    // Thread 0 puts at 100, thread 1 waits for it from 200 until the target comes at 260.
    analyzed(
        [
            &[
                (0, enter(MAIN)),
                (100, enter(PUT)),
                (100, put),
                (110, done),
                (110, leave(PUT)),
                (500, leave(MAIN)),
            ],
            &[
                (0, enter(MAIN)),
                (200, enter(QUIET)),
                (280, complete),
                (280, leave(QUIET)),
                (500, leave(MAIN)),
            ],
            &[(0, enter(MAIN)), (260, enter(QUIET)), (270, leave(QUIET)), (500, leave(MAIN))],
            &[(0, enter(MAIN)), (500, leave(MAIN))],
        ],
        |analysis| {
            assert_eq!(analysis.at_location(1, Quantity::Wait(Wait::WaitForProgress)), 60);
            assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgress)), 60);
        },
    );
}

#[test]
fn threads_number_their_operations_alike() {
    let win = RmaWinRef(0);
    let get = |remote| RmaGet { win, remote: Rank(remote), bytes: 8, matching_id: MatchingId(0) };
    let done = RmaOpCompleteBlocking { win, matching_id: MatchingId(0) };
    // Number 0 of thread 0 is in flight from 100 to 330 and was served at 260; number 0 of thread 1 waits from 270
    // until 320.
    analyzed(
        [
            &[
                (0, enter(MAIN)),
                (100, enter(GET)),
                (100, get(1).into()),
                (110, leave(GET)),
                (300, enter(QUIET)),
                (330, RmaOpCompleteRemote { win, matching_id: MatchingId(0) }.into()),
                (330, leave(QUIET)),
                (500, leave(MAIN)),
            ],
            &[
                (0, enter(MAIN)),
                (270, enter(GET)),
                (270, get(1).into()),
                (325, done.into()),
                (325, leave(GET)),
                (500, leave(MAIN)),
            ],
            &[(0, enter(MAIN)), (260, enter(QUIET)), (265, leave(QUIET)), (500, leave(MAIN))],
            &[(0, enter(MAIN)), (320, enter(QUIET)), (328, leave(QUIET)), (500, leave(MAIN))],
        ],
        |analysis| {
            // What thread 0 asked for was served before its quiet.
            assert_eq!(analysis.at_location(0, Quantity::Wait(Wait::WaitForProgress)), 0);
            assert_eq!(analysis.at_location(1, Quantity::Wait(Wait::WaitForProgress)), 50);
        },
    );
}
