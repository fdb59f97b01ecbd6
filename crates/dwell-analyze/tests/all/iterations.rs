//! Iterations of runs whose times can be written down, in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{IterationChange, IterationChangeKind as Kind, Iterations, Options, analyze};
use dwell_analyze::{ProcessNumber, Step};
use otf2::Archive;

use crate::support::{Events, Thread, WINDOW, World};
use crate::what_if::{BARRIER, MAIN, PUT, REGIONS};

const PROCESSES: u32 = 4;
const ITERATIONS: u64 = 1000;
const LENGTH: u64 = 100_000;

/// Returns the iterations of a run in which a process computes for a time in each iteration, puts a word to the next
/// process, and enters a barrier.
fn found(threads: usize, computes: impl Fn(u32, u64) -> u64) -> Option<Iterations> {
    let mut processes = vec![Thread::default(); PROCESSES as usize];
    let mut begin = 0;
    for iteration in 1..=ITERATIONS {
        let end = (0..PROCESSES).map(|it| begin + computes(it, iteration) + 10).max().unwrap();
        for (me, thread) in (0..PROCESSES).zip(&mut processes) {
            let enter = begin + computes(me, iteration);
            *thread = std::mem::take(thread)
                .put_to(PUT, iteration, (me + 1) % PROCESSES, 0, enter)
                .barrier_of(BARRIER, WINDOW, iteration, enter + 2, end);
        }
        begin = end;
    }
    let processes: Vec<Vec<Thread>> = processes.into_iter().map(|it| vec![it]).collect();
    let (directory, log) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    World::new(REGIONS, &processes).write(directory.path());
    let mut options = Options::default();
    (options.log, options.threads) = (Some(log.path().into()), threads);
    let archive = Archive::open(directory.path()).unwrap();
    analyze(&archive, &options, &|_| {}).unwrap().iterations().cloned()
}

fn only(found: &Iterations) -> &IterationChange {
    assert_eq!(found.changes.len(), 1, "{:?}", found.changes);
    &found.changes[0]
}

#[test]
fn a_balanced_run_does_not_change() {
    let found = found(1, |_, _| LENGTH).unwrap();
    assert_eq!((found.count, found.group, found.times.len()), (ITERATIONS, 1, 1000));
    assert_eq!(found.ends_with, Step { region: REGIONS[BARRIER.0 as usize].0.into(), site: None });
    assert!(found.changes.is_empty(), "{:?}", found.changes);
    // The first event is the first put.
    let last = found.times[999];
    assert_eq!(last.length, u64::from(PROCESSES) * (LENGTH + 10));
    assert_eq!((last.computing, last.waiting), (u64::from(PROCESSES) * (LENGTH + 1), 0));
    assert_eq!(last.begin - found.times[998].begin, LENGTH + 10);
}

#[test]
fn a_change_is_named_by_iteration_and_process() {
    let computes = |me, iteration| match me == 3 && iteration >= 700 {
        true => 21 * LENGTH / 10,
        false => LENGTH,
    };
    let one = found(1, computes).unwrap();
    let change = only(&one);
    assert_eq!((change.kind, change.iteration, change.iterations), (Kind::Step, 700, 301));
    let computing = change.computing.unwrap();
    assert_eq!(computing.process, Some(ProcessNumber::new(3)));
    let (before, after) = computing.nanoseconds;
    assert!((after / before - 2.1).abs() < 0.001, "{computing:?}");
    // The other processes wait for it.
    assert_eq!(one.times[800].waiting, 3 * 11 * LENGTH / 10);
    assert_eq!(found(2, computes), Some(one), "on two threads");
}

#[test]
fn a_drift_of_one_per_cent_is_found() {
    let found = found(1, |_, iteration| LENGTH + LENGTH * iteration / (100 * ITERATIONS)).unwrap();
    let change = only(&found);
    assert_eq!((change.kind, change.iteration), (Kind::Drift, 2));
    let computing = change.computing.unwrap();
    assert_eq!(computing.process, None, "all of them do");
}

#[test]
fn regular_outliers_are_named_by_their_distance() {
    let computes = |me, iteration| match me == 1 && iteration % 50 == 0 {
        true => 5 * LENGTH,
        false => LENGTH,
    };
    let found = found(1, computes).unwrap();
    let change = only(&found);
    assert_eq!((change.kind, change.iteration, change.iterations), (Kind::Outliers, 50, 20));
    assert_eq!(change.every, Some(50));
    assert_eq!(change.computing.unwrap().process, Some(ProcessNumber::new(1)));
}

#[test]
fn a_run_without_repetition_has_no_iterations() {
    let thread = Thread::default().call(MAIN, 0, 10).barrier_of(BARRIER, WINDOW, 1, 20, 30);
    let (directory, log) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    World::new(REGIONS, &[vec![thread.clone()], vec![thread]]).write(directory.path());
    let mut options = Options::default();
    options.log = Some(log.path().into());
    let archive = Archive::open(directory.path()).unwrap();
    assert_eq!(analyze(&archive, &options, &|_| {}).unwrap().iterations(), None);
}
