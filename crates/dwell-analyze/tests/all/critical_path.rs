//! Critical paths that can be written down. Times are in nanoseconds.
//!
//! Random programs are compared with a search in `brute_force`, and threads and ranks with each other in `log`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use dwell_analyze::{LocationNumber, Options, Quantity};
use dwell_log::read::{DependencyLog, Step};
use otf2::event::{Enter, Leave};
use otf2::id::RmaWinRef;

use crate::support::{self, Events, Thread, WINDOW as win, World};
use crate::what_if::{BARRIER, MAIN, PUT, REGIONS, RELAX, WAIT_UNTIL};

/// Window of the processes 1 and 2.
const SOME: RmaWinRef = RmaWinRef(1);

/// Returns a thread of the program that begins at a time.
fn thread(begin: u64) -> Thread {
    Thread::default().at(begin, Enter { region: MAIN })
}

/// Calls of these programs.
trait Calls: Events {
    fn end(self, end: u64) -> Self {
        self.at(end, Leave { region: MAIN })
    }

    /// Raises the flag of another process.
    fn signal(self, target: u32, enter: u64) -> Self {
        self.put_to(PUT, 0, target, 64, enter)
    }

    fn wait(self, enter: u64, leave: u64) -> Self {
        self.wait_for(WAIT_UNTIL, 64, enter, leave)
    }

    fn barrier(self, members: RmaWinRef, enter: u64, leave: u64) -> Self {
        self.barrier_of(BARRIER, members, 0, enter, leave)
    }
}

impl Calls for Thread {}

/// A step: location, from, to.
type At = (u32, u64, u64);

/// Compares the critical path of processes with one thread each: its steps in the order of time, and its time by process
/// and region.
fn check(threads: &[Thread], steps: &[At], times: &[(u32, &str, u64)]) {
    let processes: Vec<Vec<Thread>> = threads.iter().map(|it| vec![it.clone()]).collect();
    let world = World { groups: &[vec![1, 2]], ..World::new(REGIONS, &processes) };
    let (directory, archive) = world.open();
    let place = directory.path().join("log");
    let mut options = Options::default();
    (options.threads, options.log) = (2, Some(place.clone()));
    let analysis = support::sums::analyze(&archive, &options);
    let path = analysis.critical_path().unwrap();
    let found = path.steps.iter();
    let found: Vec<At> =
        found.map(|it| (it.location.place(), it.from.nanoseconds(), it.to.nanoseconds())).collect();
    assert_eq!(found, steps);
    assert_eq!((path.omitted, path.length.nanoseconds()), (0, analysis.length()));

    let log = DependencyLog::open(&place).unwrap();
    let mut found: BTreeMap<(u32, &str), u64> = BTreeMap::new();
    for number in 0..log.locations() {
        let location = LocationNumber::new(number);
        for (path, step) in log.location(location).unwrap().unwrap().paths().iter().enumerate() {
            let Step::Region(region, _) = step.step else { continue };
            let time = analysis.at_call_path(location, path, Quantity::CriticalPath);
            *found.entry((number, REGIONS[region.0 as usize].0)).or_default() += time;
        }
    }
    found.retain(|_, time| *time > 0);
    let times: BTreeMap<(u32, &str), u64> = times.iter().map(|it| ((it.0, it.1), it.2)).collect();
    assert_eq!(found, times);
    assert_eq!(analysis.total(Quantity::CriticalPath), analysis.length());
}

/// Process 0 makes process 1 wait, and that one process 2, which ends last. What the processes do while they wait or have
/// nothing to wait for is on no path.
#[test]
fn a_chain_of_three_processes() {
    let relax = |thread: Thread, enter, leave| thread.call(RELAX, enter, leave);
    let first = relax(thread(0), 10, 300).signal(1, 310).end(400);
    let second = relax(thread(20), 30, 100).wait(110, 320);
    let second = relax(second, 330, 600).signal(2, 620).end(700);
    let third = relax(thread(5).wait(50, 640), 650, 950).end(1_000);
    check(
        &[first, second, third],
        &[(0, 0, 310), (1, 310, 620), (2, 620, 1_000)],
        &[
            (0, "main", 10 + 10),
            (0, "relax", 290),
            (1, "shmem_long_wait_until", 10),
            (1, "main", 10 + 20),
            (1, "relax", 270),
            (2, "shmem_long_wait_until", 20),
            (2, "main", 10 + 50),
            (2, "relax", 300),
        ],
    );
}

/// The path comes back to a process. What that one did in between is not on it.
#[test]
fn there_and_back() {
    let first = thread(0).signal(1, 100).call(RELAX, 150, 250).wait(300, 520).end(600);
    let second = thread(0).wait(40, 110).call(RELAX, 200, 500).signal(0, 510).end(550);
    check(
        &[first, second],
        &[(0, 0, 100), (1, 100, 510), (0, 510, 600)],
        &[
            (0, "main", 100 + 80),
            (0, "shmem_long_wait_until", 10),
            (1, "shmem_long_wait_until", 10),
            (1, "main", 90 + 10),
            (1, "relax", 300),
        ],
    );
}

/// The run begins with the first event of process 1, when process 0 has not started. The path ends there, at process 0.
#[test]
fn a_late_start() {
    let first = thread(230).call(RELAX, 240, 300).signal(1, 310).end(400);
    let second = thread(30).wait(50, 320).end(500);
    check(
        &[first, second],
        &[(0, 30, 310), (1, 310, 500)],
        &[
            (0, "main", 200 + 10 + 10),
            (0, "relax", 60),
            (1, "shmem_long_wait_until", 10),
            (1, "main", 180),
        ],
    );
}

/// A wait ends with the last event of the run, at the first of two locations that have it.
#[test]
fn a_wait_at_the_end() {
    let first = Thread::default().barrier(win, 100, 1_000);
    let second = Thread::default().call(RELAX, 100, 990).barrier(win, 1_000, 1_000);
    // Nothing is open between `relax` and the barrier. This counts for the first call path.
    check(&[first, second], &[(1, 100, 1_000)], &[(1, "relax", 900)]);
}

/// Process 1 waits for process 2 until the time at which it makes process 0 continue. The path came to it at that time, so
/// that only earlier waits count.
#[test]
fn a_wait_that_ends_where_the_path_arrives() {
    let first = thread(0).wait(50, 310).end(400);
    let second = thread(0).barrier(SOME, 100, 300).signal(0, 300).end(350);
    let third = thread(0).barrier(SOME, 300, 300).end(350);
    check(
        &[first, second, third],
        &[(1, 0, 300), (0, 300, 400)],
        &[
            (0, "shmem_long_wait_until", 10),
            (0, "main", 90),
            (1, "main", 100),
            (1, "shmem_barrier_all", 200),
        ],
    );
}

/// The path leaves the processes 1 and 2 early, so that nearly all blocks of their logs are passed over.
#[test]
fn most_of_the_run_at_one_process() {
    let first = thread(0).wait(20, 110).end(10_000_000);
    let (mut second, mut third) = (thread(0).wait(10, 60).signal(0, 100), thread(0).signal(1, 50));
    for time in (1..5_000).map(|it| it * 1_000) {
        second = second.wait(time, time + 60);
        third = third.signal(1, time + 50);
    }
    check(
        &[first, second.end(5_000_000), third.end(5_000_000)],
        &[(2, 0, 50), (1, 50, 100), (0, 100, 10_000_000)],
        &[
            (0, "shmem_long_wait_until", 10),
            (0, "main", 10_000_000 - 110),
            (1, "shmem_long_wait_until", 10),
            (1, "main", 40),
            (2, "main", 50),
        ],
    );
}

#[test]
fn one_process_is_the_path() {
    let only = thread(7).call(RELAX, 10, 30).end(40);
    check(&[only], &[(0, 7, 40)], &[(0, "main", 13), (0, "relax", 20)]);
}
