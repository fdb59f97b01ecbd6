//! Severities of random archives equal an exhaustive search, to the nanosecond, for each location.
//!
//! The search reads all events into memory, knows every region of every process, and shares nothing
//! with the detectors. Archives come from `dwell synth random`, and from a generator of what that one
//! does not make.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod causes;
mod critical;
mod log;
pub(crate) mod random;
mod search;
mod trace;

use std::ops::Range;

use dwell_analyze::{Analysis, Cut, Options, Quantity as Q};
use dwell_model::waits::Wait;
use otf2::Archive;

use crate::support;
use log::hold;
use search::{Found, Sums};
use trace::Trace;

/// Waits that both kinds of archives contain.
const WAITS: &[Q] = &[
    Q::Wait(Wait::WaitForProgress),
    Q::Margin(Wait::WaitForProgress),
    Q::Unconfirmed(Wait::WaitForProgress),
    Q::ByRule(Wait::WaitForProgress),
    Q::Wait(Wait::WaitForProgressMulti),
    Q::Margin(Wait::WaitForProgressMulti),
    Q::Unconfirmed(Wait::WaitForProgressMulti),
    Q::ByRule(Wait::WaitForProgressMulti),
    Q::Wait(Wait::LockContention),
    Q::Wait(Wait::LateSignal),
    Q::Wait(Wait::BarrierWait),
    Q::Wait(Wait::BarrierCompletion),
    Q::Wait(Wait::NxnWait),
    Q::Wait(Wait::NxnCompletion),
    Q::Wait(Wait::LateBroadcast),
    Q::Wait(Wait::EarlyReduce),
];

/// Waits that only archives of `dwell synth random` contain.
const OF_SYNTH: &[Q] =
    &[Q::Wait(Wait::LateSender), Q::Wait(Wait::LateSenderWrongOrder), Q::Wait(Wait::LateReceiver)];

/// Waits that only archives of [`random`] contain.
const OF_THREADS: &[Q] = &[
    Q::Wait(Wait::LatePartner),
    Q::Wait(Wait::EarlyScan),
    Q::Wait(Wait::WaitAtCreate),
    Q::Wait(Wait::WaitAtFree),
];

fn sums(analysis: &Analysis) -> Vec<Sums> {
    let waits = || [WAITS, OF_SYNTH, OF_THREADS].into_iter().flatten();
    (0..analysis.locations())
        .map(|location| {
            let at = |&what| (what, analysis.at_location(location, what));
            waits().map(at).filter(|(_, amount)| *amount > 0).collect()
        })
        .collect()
}

/// Compares the findings in an archive with the search, for some seeds with several ways of cutting windows, which must
/// not change the result.
fn check(seed: u64, archive: &Archive, per_node: usize) -> Found {
    let mut expected = Found::of(&Trace::load(archive, per_node));
    let other = match seed % 4 {
        0 => Some(Cut::EveryEvent),
        1 => Some(Cut::Nanoseconds(1 + seed * 37 % 5_000)),
        _ => None,
    };
    for cut in [Some(Cut::Budget), other].into_iter().flatten() {
        // Threads meet at the end of every window, which takes long if there are many windows.
        let many = cut != Cut::Budget && seed % 40 > 1;
        let mut options = Options::default();
        (options.cut, options.threads) = (cut, if many { 1 } else { 1 + seed as usize % 3 });
        let directory = tempfile::tempdir().unwrap();
        options.log = Some(directory.path().into());
        let analysis = support::sums::analyze(archive, &options);
        expected.costs = hold(seed, archive, &analysis, &expected, directory.path());
        expected.path = critical::hold(seed, archive, &analysis, &expected, directory.path());
        let found = sums(&analysis);
        assert_eq!(found.len(), expected.sums.len());
        for (location, (found, expected)) in found.iter().zip(&expected.sums).enumerate() {
            assert_eq!(found, expected, "seed {seed}, location {location}, {cut:?}");
        }
        let not_computed = |pattern: &str| {
            let notes = analysis.not_computed().iter();
            notes.filter(|it| it.pattern == pattern).map(|it| it.calls).sum::<u64>()
        };
        assert_eq!(not_computed("wait_for_progress"), expected.blind, "seed {seed}, {cut:?}");
        assert_eq!(not_computed("collectives"), expected.partial, "seed {seed}, {cut:?}");
    }
    expected
}

/// Compares many archives, and checks that each of these waits occurs. Returns the number of archives with something
/// that could not be known.
fn check_all(
    seeds: Range<u64>,
    waits: &[&[Q]],
    generate: impl Fn(u64, &std::path::Path) -> usize,
) -> usize {
    let mut totals = Sums::new();
    let (mut unknown, mut costs, mut path) = (0, [0; 3], critical::Seen::default());
    for seed in seeds {
        let directory = tempfile::tempdir().unwrap();
        let per_node = generate(seed, directory.path());
        let archive = Archive::open(directory.path()).unwrap();
        let found = check(seed, &archive, per_node);
        for (what, amount) in found.sums.iter().flatten() {
            *totals.entry(*what).or_default() += amount;
        }
        costs.iter_mut().zip(found.costs).for_each(|(sum, one)| *sum += one);
        path.add(found.path);
        unknown += usize::from(found.blind > 0 && found.partial > 0);
    }
    for what in waits.iter().copied().flatten() {
        assert!(totals.get(what).is_some_and(|sum| *sum > 0), "{what:?} never occurred");
    }
    assert!(costs.iter().all(|it| *it > 0), "{costs:?}");
    path.has_all();
    unknown
}

/// Checks archives of `dwell synth random`.
fn synthetic(seeds: Range<u64>) {
    let unknown = check_all(seeds, &[WAITS, OF_SYNTH], |seed, directory| {
        let (ranks, operations) = (2 + seed % 7, seed * 7 % 23);
        let segments = 1 + seed % 6;
        let options = dwell_synth::random::Options { ranks, segments, operations, seed };
        dwell_synth::random::generate(&options, directory, &|_| {}).unwrap();
        2
    });
    assert_eq!(unknown, 0);
}

/// Checks archives of [`random`].
fn threads(seeds: Range<u64>) {
    let unknown = check_all(seeds, &[WAITS, OF_THREADS], random::generate);
    assert!(unknown > 0);
}

#[test]
fn synthetic_archives_equal_a_search() {
    synthetic(0..65);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn more_synthetic_archives_equal_a_search() {
    synthetic(65..520);
}

#[test]
fn archives_of_threads_equal_a_search() {
    threads(0..100);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn more_archives_of_threads_equal_a_search() {
    threads(100..800);
}

/// The log of a location has many blocks.
#[test]
fn critical_paths_of_long_runs_equal_a_search() {
    let directory = tempfile::tempdir().unwrap();
    let of = dwell_synth::srumma::Options { ranks: 6, blocks: 30, rounds: 40, seed: 3 };
    dwell_synth::srumma::generate(&of, &directory.path().join("run"), &|_| {}).unwrap();
    let archive = Archive::open(directory.path().join("run")).unwrap();
    let log = directory.path().join("log");
    let mut options = Options::default();
    (options.threads, options.log) = (1, Some(log.clone()));
    let analysis = support::sums::analyze(&archive, &options);
    // Each location has about ten blocks of waits and of segments.
    assert!(std::fs::metadata(log.join("dependencies-0000")).unwrap().len() > 6 * 20 * 2_048);
    critical::hold_log(&archive, &analysis, &log);
}

/// A request reaches its target after the operation has ended at the origin. The analysis learns only then whether the
/// target was recording while the request was in flight.
#[test]
fn requests_that_arrive_after_their_operation_has_ended() {
    let seed = 628;
    let directory = tempfile::tempdir().unwrap();
    let per_node = random::generate(seed, directory.path());
    check(seed, &Archive::open(directory.path()).unwrap(), per_node);
}

/// One of many archives in which a target was asked again for what its origin knew already, and had forgotten it since,
/// while it did not record.
#[test]
fn what_is_known_is_not_asked_again() {
    let seed = 2836;
    let directory = tempfile::tempdir().unwrap();
    let per_node = random::generate(seed, directory.path());
    check(seed, &Archive::open(directory.path()).unwrap(), per_node);
}
