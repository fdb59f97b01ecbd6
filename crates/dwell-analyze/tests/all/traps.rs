//! Mistakes that are easy to make, each in the smallest program that shows it. Times are in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod pauses;

use dwell_analyze::{Analysis, Confidence, Quantity, Share};
use dwell_model::waits::Wait;
use otf2::enums::{CollectiveOp, CollectiveRoot, MeasurementMode, RmaAtomicType, RmaSyncLevel};
use otf2::event::{
    Enter, Leave, MeasurementOnOff, RmaAtomic, RmaCollectiveEnd, RmaGet, RmaOpCompleteBlocking,
    RmaOpCompleteRemote, RmaPut, RmaWaitChange,
};
use otf2::id::{MatchingId, Rank, RegionRef, RmaWinRef};

use crate::support::{Events, OFFSET, SEQUENCE, Thread, WINDOW as win, World, barrier_end};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const PUT: RegionRef = RegionRef(2);
const QUIET: RegionRef = RegionRef(3);
const MY_PE: RegionRef = RegionRef(4);
const BARRIER: RegionRef = RegionRef(5);
const WAIT_UNTIL: RegionRef = RegionRef(6);
const MAYBE: RegionRef = RegionRef(7);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_get", "layer=shmem operation=get progress=always"),
    ("shmem_put", "layer=shmem operation=put progress=never"),
    ("shmem_quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
    ("shmem_my_pe", "layer=shmem operation=query progress=never"),
    ("shmem_barrier_all", "layer=shmem operation=barrier progress=always completes=remote"),
    ("shmem_long_wait_until", "layer=shmem operation=wait_change progress=always"),
    ("shmem_test_any", "layer=shmem operation=test_change progress=conditional"),
    ("MPI_File_write", "layer=mpi operation=other progress=conditional"),
    ("MPI_Win_create", "layer=mpi operation=allocate progress=always"),
    ("MPI_File_write_all", "layer=mpi operation=file progress=always"),
];

/// Returns a thread of the program that ends at 1000.
fn thread() -> Thread {
    Thread::default().at(0, Enter { region: MAIN })
}

/// Calls of these programs.
trait Calls: Events {
    fn end(self) -> Self {
        self.at(1_000, Leave { region: MAIN })
    }

    /// Ends the thread after 100 seconds, for traces whose events do not fit into the microsecond of [`Self::end`].
    fn end_late(self) -> Self {
        self.at(100_000_000_000, Leave { region: MAIN })
    }

    fn get(self, id: u64, target: u32, enter: u64, leave: u64) -> Self {
        self.get_from(GET, id, target, enter, leave)
    }

    fn put(self, id: u64, target: u32, bytes: u64, enter: u64) -> Self {
        let (remote, matching_id) = (Rank(target), MatchingId(id));
        self.at(enter, Enter { region: PUT })
            .at(enter, RmaPut { win, remote, bytes, matching_id })
            .at(enter + 1, RmaOpCompleteBlocking { win, matching_id })
            .at(enter + 1, Leave { region: PUT })
    }

    /// Adds a put of a word to an address.
    fn p(self, id: u64, target: u32, offset: u64, enter: u64) -> Self {
        self.put_to(PUT, id, target, offset, enter)
    }

    fn quiet(self, last: u64, enter: u64, leave: u64) -> Self {
        self.at(enter, Enter { region: QUIET })
            .at(leave, RmaOpCompleteRemote { win, matching_id: MatchingId(last) })
            .at(leave, Leave { region: QUIET })
    }

    fn wait_until(self, offset: u64, enter: u64, leave: u64) -> Self {
        self.wait_for(WAIT_UNTIL, offset, enter, leave)
    }

    /// Adds a test of a word, with whether it found a change.
    fn test(self, offset: u64, found: bool, enter: u64, leave: u64) -> Self {
        let thread = self.at(enter, Enter { region: MAYBE });
        let thread = match found {
            true => thread.with(leave, (OFFSET, offset), RmaWaitChange { win }),
            false => thread,
        };
        thread.at(leave, Leave { region: MAYBE })
    }

    fn barrier(self, sequence: u64, completes: Option<u64>, enter: u64, leave: u64) -> Self {
        let mut thread = self.at(enter, Enter { region: BARRIER });
        if let Some(last) = completes {
            thread = thread.at(leave, RmaOpCompleteRemote { win, matching_id: MatchingId(last) });
        }
        let end = barrier_end(win);
        thread.with(leave, (SEQUENCE, sequence), end).at(leave, Leave { region: BARRIER })
    }

    fn off(self, from: u64) -> Self {
        self.at(from, MeasurementOnOff { measurement_mode: MeasurementMode::Off })
    }

    fn on(self, from: u64) -> Self {
        self.at(from, MeasurementOnOff { measurement_mode: MeasurementMode::On })
    }
}

impl Calls for Thread {}

/// Analyses processes with the given threads.
fn analyzed(processes: &[Vec<Thread>], check: impl Fn(&Analysis)) {
    World::new(REGIONS, processes).analyzed(check);
}

/// Checks the waits for progress: of one target, of several, the margin of each, and that all of it is at the first
/// thread.
fn progress(processes: &[Vec<Thread>], expected: [u64; 4]) {
    let patterns = [
        Quantity::Wait(Wait::WaitForProgress),
        Quantity::Wait(Wait::WaitForProgressMulti),
        Quantity::Margin(Wait::WaitForProgress),
        Quantity::Margin(Wait::WaitForProgressMulti),
    ];
    analyzed(processes, |analysis| {
        assert_eq!(patterns.map(|what| analysis.at_location(0, what)), expected);
        assert_eq!(patterns.map(|what| analysis.total(what)), expected);
        assert_eq!(analysis.not_computed(), []);
    });
}

/// Checks that a pattern was reported as not computed for this number of calls, and that nothing was found of it.
fn not_computed(analysis: &Analysis, pattern: &str, calls: u64, what: Quantity) {
    let notes = analysis.not_computed();
    let found: Vec<u64> =
        notes.iter().filter(|it| it.pattern == pattern).map(|it| it.calls).collect();
    assert_eq!(found, [calls], "{notes:?}");
    assert_eq!(analysis.total(what), 0);
}

#[test]
fn a_target_that_loops_on_calls_that_do_not_progress() {
    let origin = thread().get(0, 1, 100, 320).end();
    let mut deaf = thread();
    for turn in 0..20 {
        deaf = deaf.call(MY_PE, 95 + 10 * turn, 103 + 10 * turn);
    }
    progress(&[vec![origin], vec![deaf.call(QUIET, 300, 340).end()]], [200, 0, 0, 0]);
}

#[test]
fn a_target_that_loops_on_calls_that_may_progress() {
    // Two answers: the first of them has served it, or the barrier has.
    let origin = thread().get(0, 1, 100, 320).end();
    let target = thread().call(MAYBE, 150, 160).call(MAYBE, 170, 180).call(QUIET, 300, 340).end();
    progress(&[vec![origin], vec![target]], [50, 0, 150, 0]);
}

#[test]
fn a_get_just_after_a_barrier() {
    let target = thread().barrier(0, None, 50, 100).call(QUIET, 300, 340).end();
    let waits = |enter: u64, expected: u64| {
        let origin = thread().barrier(0, None, 50, 98).get(0, 1, enter, 320).end();
        progress(&[vec![origin], vec![target.clone()]], [expected, 0, 0, 0]);
    };
    waits(100, 200);
    waits(101, 199);
    // The target is still leaving. Without a latency in the archive the barrier may have served it.
    waits(99, 0);
}

/// Analyses two processes on one node, or on two, where requests take 10 ns on a node and 20 ns between nodes.
fn requests_that_take_time(per_node: usize, processes: &[Vec<Thread>], check: impl Fn(&Analysis)) {
    World { per_node, latency: [20, 10], ..World::new(REGIONS, processes) }.analyzed(check);
}

#[test]
fn a_request_that_comes_when_the_barrier_is_over() {
    let target = thread().barrier(0, None, 50, 100).call(QUIET, 300, 340).end();
    for (per_node, latency) in [(1, 20), (2, 10)] {
        // Whatever takes longer than the barrier does is not served by it.
        for (enter, waits) in [(100 - latency, 200 + latency), (99 - latency, 0)] {
            let origin = thread().barrier(0, None, 50, 70).get(0, 1, enter, 320).end();
            requests_that_take_time(per_node, &[vec![origin], vec![target.clone()]], |analysis| {
                assert_eq!(
                    analysis.at_location(0, Quantity::Wait(Wait::WaitForProgress)),
                    waits,
                    "{enter}"
                );
                assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgress)), waits, "{enter}");
            });
        }
    }
}

/// A request may be faster than all that were measured. So one that a region of its target grazed does not prove
/// that targets are not needed, and the wait after it is one.
#[test]
fn a_region_that_grazes_a_request_may_have_served_it() {
    let target = |end: u64| thread().call(QUIET, 80, end).call(QUIET, 600, 640).end();
    let blocking = thread().get(0, 1, 100, 150).get(1, 1, 500, 620).end();
    let puts = thread().put(0, 1, 8, 100).quiet(0, 140, 150).put(1, 1, 8, 490).quiet(1, 500, 620);
    for origin in [blocking, puts.end()] {
        for (end, confirmed) in [(106, true), (95, true), (90, false)] {
            let processes = [vec![origin.clone()], vec![target(end)]];
            requests_that_take_time(2, &processes, |analysis| {
                let found = [
                    Quantity::Wait(Wait::WaitForProgress),
                    Quantity::Unconfirmed(Wait::WaitForProgress),
                ];
                let expected = if confirmed { [100, 0] } else { [0, 100] };
                assert_eq!(found.map(|what| analysis.total(what)), expected, "{end}");
            });
        }
    }
}

/// A get that no call served proves something for gets of its class only: the second get waits 100 ns, and the first
/// ended while the target was away.
#[test]
fn evidence_holds_for_its_class() {
    let away = || thread().call(QUIET, 600, 640).end();
    let get =
        |thread: Thread, (id, window): (u64, u32), target: u32, bytes: u64, (enter, leave)| {
            let (on, remote, matching_id) = (RmaWinRef(window), Rank(target), MatchingId(id));
            thread
                .at(enter, Enter { region: GET })
                .at(enter, RmaGet { win: on, remote, bytes, matching_id })
                .at(leave, RmaOpCompleteBlocking { win: on, matching_id })
                .at(leave, Leave { region: GET })
        };
    let found = |first: (u32, u32, u64), second: (u32, u32, u64), per_node: usize| {
        let (window, target, bytes) = first;
        let origin = get(thread(), (0, window), target, bytes, (100, 150));
        let (window, target, bytes) = second;
        let origin = get(origin, (1, window), target, bytes, (500, 620)).end();
        let processes = [vec![origin], vec![away()], vec![away()]];
        let groups = [vec![0, 1, 2]];
        let mut found = None;
        let world = World { per_node, groups: &groups, ..World::new(REGIONS, &processes) };
        let seen = std::cell::RefCell::new(&mut found);
        world.analyzed(|analysis| {
            let what = [
                Quantity::Wait(Wait::WaitForProgress),
                Quantity::Unconfirmed(Wait::WaitForProgress),
            ];
            **seen.borrow_mut() = Some(what.map(|it| analysis.at_location(0, it)));
        });
        found.unwrap()
    };
    let (waits, unexplained) = ([100, 0], [0, 100]);
    let plain = (0, 1, 64);
    assert_eq!(found(plain, plain, 1), unexplained);
    // Sizes from 64 to 511 bytes are alike.
    assert_eq!(found((0, 1, 511), plain, 1), unexplained);
    assert_eq!(found((0, 1, 512), plain, 1), waits);
    assert_eq!(found((0, 1, 63), plain, 1), waits);
    // A get of no bytes never left its process.
    assert_eq!(found((0, 1, 0), plain, 1), waits);
    assert_eq!(found((0, 1, 0), (0, 1, 0), 1), waits);
    // Another memory, the own process.
    assert_eq!(found((1, 1, 64), plain, 1), waits);
    assert_eq!(found((0, 0, 64), plain, 1), waits);
    // Another target, on another node and on the same.
    assert_eq!(found((0, 2, 64), plain, 1), waits);
    assert_eq!(found((0, 2, 64), plain, 3), unexplained);
}

/// Targets that come and go, in milliseconds: begin and end of the get, times of the target in its runtime, the
/// expected wait and its confidence.
#[test]
fn targets_that_come_and_go() {
    const MS: u64 = 1_000_000;
    let check = |(enter, leave): (u64, u64), visits: &[(u64, u64)], low, high, sure: &str| {
        let origin = thread().get(0, 1, enter, leave).end_late();
        let target = visits.iter().fold(thread(), |it, &(from, to)| it.call(QUIET, from, to));
        analyzed(&[vec![origin], vec![target.end_late()]], |analysis| {
            let [it] = analysis.findings() else { panic!("{:?}", analysis.findings()) };
            let said = (it.nanoseconds, it.at_most, it.confidence.name());
            assert_eq!(said, (low, high, sure), "{visits:?}");
        });
    };
    // The get ended as soon as the target came: neither chance nor another cause explains that.
    check((10 * MS, 112 * MS), &[(110 * MS, 113 * MS)], 100 * MS, 100 * MS, "by rule");
    let end = 110 * MS + MS / 2;
    check((10 * MS, end), &[(110 * MS, 112 * MS)], 100 * MS, 100 * MS, "exact");
    // It ended long after.
    check((10 * MS, 150 * MS), &[(110 * MS, 190 * MS)], 100 * MS, 100 * MS, "by rule");
    // The target was just leaving a barrier, and the get went on for 100 ms after that: it ended with the next visit,
    // or long after it.
    let leaving = [(5 * MS, 10 * MS + 10), (110 * MS, 112 * MS)];
    let away = 100 * MS - 10;
    check((10 * MS, 110 * MS + 100_000), &leaving, away, away, "exact");
    check((10 * MS, 130 * MS), &leaving, 0, away, "between bounds");
    // Two visits, of 2 ms each.
    let two = [(40 * MS, 42 * MS), (110 * MS, 112 * MS)];
    check((10 * MS, 110 * MS + 100_000), &two, 98 * MS, 98 * MS, "exact");
    check((10 * MS, 130 * MS), &two, 30 * MS, 98 * MS, "between bounds");
    // Calls that are less than 10 µs apart are one visit.
    let near = [(40 * MS, 42 * MS), (42 * MS + 9_999, 50 * MS)];
    check((10 * MS, 60 * MS), &near, 30 * MS, 30 * MS, "by rule");
    let apart = [(40 * MS, 42 * MS), (42 * MS + 10_000, 50 * MS)];
    check((10 * MS, 60 * MS), &apart, 30 * MS, 30 * MS + 10_000, "between bounds");
    // Nobody is served by eleven visits one after the other, if it waits for 50 ms between them.
    let many =
        |count: u64| (1..=count).map(|it| (10 * it * MS, (10 * it + 4) * MS)).collect::<Vec<_>>();
    check((5 * MS, 115 * MS), &many(11), 65 * MS, 65 * MS, "by rule");
    check((5 * MS, 105 * MS), &many(10), 5 * MS, 59 * MS, "between bounds");
}

/// Evidence of a class whose ends follow the arrivals of its target: the number of gets that ended while the target was
/// away, and of those that ended as soon as it came.
#[test]
fn ends_that_follow_arrivals_outweigh_evidence() {
    const MS: u64 = 1_000_000;
    let found = |alone: u64, waited: u64, late: u64| {
        let (mut origin, mut target, mut now, mut id) = (thread(), thread(), MS, 0..);
        for _ in 0..alone {
            origin = origin.get(id.next().unwrap(), 1, now, now + 1_000);
            now += MS;
        }
        for _ in 0..waited {
            let come = now + 100 * MS;
            origin = origin.get(id.next().unwrap(), 1, now, come + late);
            target = target.call(QUIET, come, come + 50 * MS);
            now = come + 60 * MS;
        }
        let mut found = None;
        let seen = std::cell::RefCell::new(&mut found);
        analyzed(&[vec![origin.end_late()], vec![target.end_late()]], |analysis| {
            let what = [
                Quantity::Wait(Wait::WaitForProgress),
                Quantity::Margin(Wait::WaitForProgress),
                Quantity::Unconfirmed(Wait::WaitForProgress),
            ];
            **seen.borrow_mut() = Some(what.map(|it| analysis.total(it) / MS));
        });
        found.unwrap()
    };
    assert_eq!(found(0, 2, MS), [200, 0, 0]);
    assert_eq!(found(1, 2, MS), [200, 0, 0]);
    assert_eq!(found(2, 2, MS), [0, 200, 0]);
    assert_eq!(found(19, 2, MS), [0, 200, 0]);
    assert_eq!(found(20, 2, MS), [0, 0, 200]);
    // One end so soon after an arrival is chance, and so are two that are not soon enough.
    assert_eq!(found(1, 1, 2 * MS), [0, 0, 100]);
    assert_eq!(found(1, 2, 10 * MS), [0, 0, 200]);
}

/// Two processes write to a file together, and process 1 comes 300 later. What they take after that is not a wait. If process 0
/// leaves before process 1 comes, the runtime does not let them wait for each other.
#[test]
fn members_wait_for_each_other_at_a_file() {
    let write = |enter: u64, leave: u64| {
        vec![thread().barrier_of(RegionRef(10), win, 0, enter, leave).end()]
    };
    let waits = |analysis: &Analysis| {
        let what = [Wait::NxnWait, Wait::NxnCompletion, Wait::BarrierWait];
        what.map(|it| analysis.total(Quantity::Wait(it)))
    };
    analyzed(&[write(100, 500), write(400, 900)], |analysis| {
        assert_eq!(waits(analysis), [300, 0, 0]);
        assert_eq!(
            analysis.findings()[0].worst.as_ref().unwrap().partner.as_deref(),
            Some("process 1")
        );
    });
    analyzed(&[write(100, 399), write(400, 900)], |analysis| {
        assert_eq!(waits(analysis), [0, 0, 0]);
    });
}

/// Two calls are made once. One creates something, as programs do when they begin; nothing explains the other.
#[test]
fn time_without_a_class_is_unexplained() {
    let only = thread().call(RegionRef(8), 100, 400).call(RegionRef(9), 500, 900).end();
    analyzed(&[vec![only]], |analysis| {
        let list = analysis.unexplained().iter();
        let found: Vec<(&str, u64, bool)> = list
            .map(|it| (it.path.last().unwrap().region.as_str(), it.nanoseconds, it.is_finding))
            .collect();
        assert_eq!(found, [("MPI_Win_create", 400, false), ("MPI_File_write", 300, true)]);
    });
}

/// Unexplained time has a call path, and names the processes that it belongs to and those that were away.
#[test]
fn unexplained_time_has_a_place() {
    let origin = thread().get(0, 1, 100, 150).get(1, 1, 500, 620).end();
    let target = thread().call(QUIET, 600, 640).end();
    analyzed(&[vec![origin], vec![target]], |analysis| {
        assert_eq!(analysis.findings(), []);
        let list = analysis.unexplained();
        let it = list.iter().find(|it| it.away > 0).unwrap_or_else(|| panic!("{list:?}"));
        assert_eq!((it.away, it.nanoseconds, it.visits), (100, 50 + 120, 2));
        assert_eq!((it.too_few, it.is_finding), (50 + 120, true));
        assert_eq!(it.path.last().unwrap().region, "shmem_get");
        let who = |list: &[Share]| list.iter().map(|it| it.who.clone()).collect::<Vec<_>>();
        assert_eq!(who(&it.origins), ["process 0"]);
        assert_eq!(who(&it.targets), ["process 1"]);
    });
}

/// Returns transfer, unexplained time, and the part of it in too few calls.
fn divided(analysis: &Analysis) -> [u64; 3] {
    [Quantity::Transfer, Quantity::Unexplained, Quantity::TooFew].map(|what| analysis.total(what))
}

/// Returns a program with gets of 8 bytes that take 10 ns each, in a row, and then one more of each of these lengths.
fn gets(count: u64, more: &[u64]) -> Vec<Thread> {
    let (mut thread, mut time) = (thread(), 100);
    for (id, length) in (0..).zip((0..count).map(|_| &10).chain(more)) {
        thread = thread.get(id, 1, time, time + length);
        time += length + 10;
    }
    vec![thread.end()]
}

#[test]
fn calls_that_take_longer_than_others_of_their_class() {
    let target = || vec![thread().end()];
    analyzed(&[gets(9, &[400]), target()], |analysis| {
        assert_eq!(divided(analysis), [10 * 10, 390, 0]);
    });
    // The fastest tenth of 21 is the third of them.
    analyzed(&[gets(19, &[3, 5]), target()], |analysis| {
        assert_eq!(divided(analysis), [19 * 10 + 3 + 5, 0, 0]);
    });
    analyzed(&[gets(18, &[3, 5, 7]), target()], |analysis| {
        assert_eq!(divided(analysis), [18 * 7 + 3 + 5 + 7, 18 * 3, 0]);
    });
}

#[test]
fn too_few_calls_are_never_transfer() {
    let target = vec![thread().end()];
    analyzed(&[gets(9, &[]), target], |analysis| {
        assert_eq!(divided(analysis), [0, 90, 90]);
    });
}

/// A wait leaves less of its call to be explained; the time that is left is compared with that of other calls.
#[test]
fn waits_are_taken_out_before_calls_are_compared() {
    let mut origin = thread();
    for at in 0..12 {
        // Each get waits 20 for its target, and takes 5 after that.
        let time = 50 + at * 60;
        origin = origin.get(at, 1, time, time + 25);
    }
    let visits = (0..12).fold(thread(), |target, at| {
        let time = 50 + at * 60 + 20;
        target.call(QUIET, time, time + 5)
    });
    analyzed(&[vec![origin.end()], vec![visits.end()]], |analysis| {
        assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgress)), 12 * 20);
        assert_eq!(analysis.total(Quantity::Margin(Wait::WaitForProgress)), 0);
        // The calls of the target take 5 as well.
        assert_eq!(divided(analysis), [12 * 5 + 12 * 5, 0, 0]);
    });
}

/// A get that ends soon after its target came. It is no coincidence, unless both share a core: then the target may have
/// given the core away in that call. Only a target that was away for 20 ms had it before.
#[test]
fn ends_with_arrivals_on_nodes_with_too_few_cores() {
    const MS: u64 = 1_000_000;
    let found = |gap: u64, cores: &[&str]| {
        let (mut origin, mut target) = (thread(), thread());
        for at in 0..3 {
            let time = (at + 1) * 1_000 * MS;
            origin = origin.get(at, 1, time, time + gap + MS / 100);
            target = target.call(QUIET, time + gap, time + gap + MS);
        }
        let processes = [vec![origin.end_late()], vec![target.end_late()]];
        let world = World { per_node: 2, cores, ..World::new(REGIONS, &processes) };
        let confidence = std::cell::Cell::new(None);
        world.analyzed(|analysis| {
            let [it] = analysis.findings() else { panic!("{:?}", analysis.findings()) };
            assert_eq!((it.nanoseconds, it.at_most), (3 * gap, 3 * gap));
            confidence.set(Some((it.confidence, analysis.crowds().count())));
        });
        confidence.get().unwrap()
    };
    let (exact, by_rule) = (Confidence::Exact, Confidence::ByRule);
    assert_eq!(found(10 * MS, &[]), (exact, 0));
    assert_eq!(found(10 * MS, &["0-1", "0-1"]), (exact, 0));
    assert_eq!(found(10 * MS, &["0", "1"]), (exact, 0));
    assert_eq!(found(10 * MS, &["3", "3"]), (by_rule, 1));
    assert_eq!(found(20 * MS, &["3", "3"]), (exact, 1));
}

/// Unexplained time names the nodes on which it may have been the operating system that had the core.
#[test]
fn unexplained_time_and_too_few_cores() {
    let processes = [gets(9, &[400]), vec![thread().end()], vec![thread().end()]];
    let cores = &["0", "0", "1"];
    let world = World { per_node: 2, cores, ..World::new(REGIONS, &processes) };
    world.analyzed(|analysis| {
        let [it] = analysis.unexplained() else { panic!("{:?}", analysis.unexplained()) };
        assert_eq!((it.nanoseconds, it.transfer, it.is_finding), (390, 100, true));
        // The bin of 400 begins at 400.
        assert_eq!(it.longest, Some((390, "process 0".into())));
        let [crowd] = it.crowds.as_slice() else { panic!("{:?}", it.crowds) };
        assert_eq!((crowd.processes, crowd.cores), (2, 1));
        assert_eq!(analysis.crowds().collect::<Vec<_>>(), [crowd]);
    });
}

#[test]
fn put_then_barrier_with_imbalance() {
    let origin = thread().put(0, 1, 8, 10).barrier(0, Some(0), 50, 310).end();
    let target = thread().barrier(0, None, 300, 310).end();
    analyzed(&[vec![origin], vec![target]], |analysis| {
        assert_eq!(analysis.at_location(0, Quantity::Wait(Wait::BarrierWait)), 250);
        assert_eq!(analysis.total(Quantity::Wait(Wait::BarrierWait)), 250);
        for what in [
            Quantity::Wait(Wait::WaitForProgress),
            Quantity::Wait(Wait::WaitForProgressMulti),
            Quantity::Margin(Wait::WaitForProgress),
        ] {
            assert_eq!(analysis.total(what), 0, "{what:?}");
        }
    });
}

#[test]
fn a_second_put_after_the_first_was_served() {
    let target = || vec![thread().call(QUIET, 110, 120).call(QUIET, 300, 340).end()];
    let first = || thread().put(0, 1, 8, 100);
    // The first one was served before the quiet began.
    progress(&[vec![first().quiet(0, 150, 320).end()], target()], [0; 4]);
    // The second was not.
    let second = first().put(1, 1, 8, 130).quiet(1, 150, 320).end();
    progress(&[vec![second], target()], [150, 0, 0, 0]);
    // Nor is it for the second of two targets; the other one drops out.
    let both = first().put(1, 2, 8, 130).quiet(1, 150, 320).end();
    let other = vec![thread().call(QUIET, 200, 210).end()];
    progress(&[vec![both], target(), other], [0, 50, 0, 0]);
}

#[test]
fn two_threads_in_the_target() {
    let get = || thread().get(0, 1, 100, 320).end();
    let busy = || thread().end();
    // One computes, the other has been in the library since before: no wait.
    let there = thread().call(QUIET, 90, 330).end();
    progress(&[vec![get()], vec![busy(), there]], [0; 4]);
    // Their calls overlap, and so are one region, which was there before the get.
    let one = thread().call(QUIET, 90, 110).end();
    let two = thread().call(QUIET, 105, 330).end();
    progress(&[vec![get()], vec![one.clone(), two]], [0; 4]);
    // The first of them to come serves.
    let late = thread().call(QUIET, 300, 340).end();
    let earlier = thread().call(QUIET, 250, 255).end();
    progress(&[vec![get()], vec![late.clone(), earlier]], [150, 0, 0, 0]);
    // A get of a process from itself serves nobody, whichever thread makes it.
    let from_itself = thread().get(7, 1, 150, 160).end();
    progress(&[vec![get()], vec![late, from_itself]], [200, 0, 0, 0]);
}

/// The process that changed the word ends the polling loop.
#[test]
fn a_loop_of_tests_is_ended_by_who_changed_the_word() {
    let poller = |found| {
        let thread = thread().test(64, false, 100, 110).test(64, false, 120, 130);
        let thread = thread.test(64, false, 150, 160).test(64, false, 200, 210);
        thread.test(64, found, 290, 320).end()
    };
    let origin = || thread().p(2, 0, 72, 250).p(3, 0, 64, 300).p(5, 0, 72, 310).end();
    let other = || thread().p(6, 0, 64, 50).end();
    for (found, until) in [(true, Some(200)), (false, None)] {
        analyzed(&[vec![poller(found)], vec![origin()], vec![other()]], |analysis| {
            let [polling] = analysis.polling() else { panic!("{:?}", analysis.polling()) };
            assert_eq!((polling.calls, polling.nanoseconds), (5, 220));
            assert_eq!(polling.until_release, until.unwrap_or(0));
            let targets: Vec<_> =
                polling.targets.iter().map(|it| (it.who.as_str(), it.nanoseconds)).collect();
            let expected: Vec<_> = until.map(|until| ("process 1", until)).into_iter().collect();
            assert_eq!(targets, expected);
            assert_eq!(analysis.total(Quantity::Wait(Wait::LateSignal)), 0);
        });
    }
}

#[test]
fn a_signal_among_bulk_puts() {
    // The wait ends with the word at 64, not with what was put beside it before and after.
    let waiter = thread().wait_until(64, 100, 320).end();
    let origin = thread()
        .put(0, 0, 1 << 15, 120)
        .put(1, 0, 1 << 15, 200)
        .p(2, 0, 72, 250)
        .p(3, 0, 64, 300)
        .put(4, 0, 1 << 15, 305)
        .p(5, 0, 72, 310)
        .end();
    analyzed(&[vec![waiter], vec![origin]], |analysis| {
        assert_eq!(analysis.at_location(0, Quantity::Wait(Wait::LateSignal)), 200);
        assert_eq!(analysis.total(Quantity::Inferred(Wait::LateSignal)), 0);
    });
}

#[test]
fn a_signal_by_an_atomic_and_one_by_itself() {
    let atomic = RmaAtomic {
        win,
        remote: Rank(0),
        kind: RmaAtomicType::Increment,
        bytes_sent: 0,
        bytes_received: 0,
        matching_id: MatchingId(0),
    };
    let origin = thread()
        .at(300, Enter { region: PUT })
        .with(300, (OFFSET, 64), atomic)
        .at(301, Leave { region: PUT })
        .end();
    let waiter = thread().wait_until(64, 100, 320).end();
    analyzed(&[vec![waiter.clone()], vec![origin.clone()]], |analysis| {
        assert_eq!(analysis.total(Quantity::Wait(Wait::LateSignal)), 200);
    });
    // A thread of the own process raises it after that: nobody else is waited for.
    let itself = thread().p(9, 0, 64, 310).end();
    analyzed(&[vec![waiter, itself], vec![origin]], |analysis| {
        assert_eq!(analysis.total(Quantity::Wait(Wait::LateSignal)), 0);
    });
}

#[test]
fn a_barrier_of_some_completes_a_put_to_another() {
    // Until the last member came at 110 it waited for that one; from then on for process 2.
    let end = RmaCollectiveEnd {
        collective_op: CollectiveOp::Barrier,
        sync_level: RmaSyncLevel::PROCESS,
        win: RmaWinRef(1),
        root: CollectiveRoot::None,
        bytes_sent: 0,
        bytes_received: 0,
    };
    let part = |thread: Thread, enter: u64, completes: bool| {
        let mut thread = thread.at(enter, Enter { region: BARRIER });
        if completes {
            // It completes what the default context has outstanding.
            thread = thread.at(320, RmaOpCompleteRemote { win, matching_id: MatchingId(0) });
        }
        thread.with(320, (SEQUENCE, 0), end).at(320, Leave { region: BARRIER }).end()
    };
    let processes = [
        vec![part(thread().put(0, 2, 8, 10), 100, true)],
        vec![part(thread(), 110, false)],
        vec![thread().call(QUIET, 300, 310).end()],
    ];
    let groups = &[vec![0, 1]];
    let world = World { groups, ..World::new(REGIONS, &processes) };
    world.analyzed(|analysis| {
        assert_eq!(analysis.total(Quantity::Wait(Wait::BarrierWait)), 10);
        assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgress)), 190);
        assert_eq!(analysis.not_computed(), []);
    });
}

#[test]
fn a_wait_for_any_of_several_flags() {
    // Which of them lets it go is not recorded, so no address is: that it was the last word put to it
    // is inferred, and said so.
    let waiter = thread()
        .at(100, Enter { region: WAIT_UNTIL })
        .at(100, RmaWaitChange { win })
        .at(320, Leave { region: WAIT_UNTIL })
        .end();
    let origin = thread().p(0, 0, 64, 120).p(1, 0, 72, 300).put(2, 0, 1 << 15, 310).end();
    analyzed(&[vec![waiter], vec![origin]], |analysis| {
        assert_eq!(analysis.total(Quantity::Wait(Wait::LateSignal)), 200);
        assert_eq!(analysis.total(Quantity::Inferred(Wait::LateSignal)), 200);
        let mut signals = analysis.findings().iter().filter(|it| it.pattern == "late_signal");
        assert_eq!(signals.next().unwrap().confidence, Confidence::Inferred);
    });
}
