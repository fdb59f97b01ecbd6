//! What the speed of the analysis rests on, in numbers that do not depend on the machine.

#![allow(clippy::unwrap_used)]

use dwell_analyze::{Analysis, Cut, Options, Quantity, least_memory};
use dwell_synth::{sor, srumma};
use otf2::Archive;

use crate::support::sums;

fn analyzed(directory: &std::path::Path, memory: Option<u64>, cut: Cut) -> Analysis {
    let mut options = Options::default();
    options.memory = memory.unwrap_or(options.memory);
    options.cut = cut;
    sums::analyze(&Archive::open(directory).unwrap(), &options)
}

/// A cut that leaves the trace in one window. A window that ends inside a call makes it an ordinary one.
const NOWHERE: Cut = Cut::Nanoseconds(1 << 62);

#[test]
fn gets_are_judged_in_one_step() {
    let directory = tempfile::tempdir().unwrap();
    let options = sor::Options { ranks: 16, iterations: 20, seed: 1 };
    sor::generate(&options, directory.path(), &|_| {}).unwrap();
    let analysis = analyzed(directory.path(), None, NOWHERE);
    assert!(analysis.total(Quantity::Gets) > 1_000);
    assert_eq!(analysis.slow_calls(), 0, "blocking gets");
    // Windows end inside some calls, which shows that the number counts.
    let cut = analyzed(directory.path(), None, Cut::Nanoseconds(1_000_000));
    assert!(cut.slow_calls() > 0);

    let directory = tempfile::tempdir().unwrap();
    let options = srumma::Options { ranks: 16, blocks: 4, rounds: 3, seed: 1 };
    srumma::generate(&options, directory.path(), &|_| {}).unwrap();
    let analysis = analyzed(directory.path(), None, NOWHERE);
    assert!(analysis.total(Quantity::Gets) > 100);
    assert_eq!(analysis.slow_calls(), 0, "non-blocking gets");
}

/// What locations keep between windows does not depend on the windows. Counting it against the budget of a window made
/// windows shorter and shorter: 294,912 locations with 2 GiB did not end.
#[test]
#[ignore = "slow: cargo xtask proofs"]
fn many_locations_in_little_memory_take_few_windows() {
    let directory = tempfile::tempdir().unwrap();
    let ranks = 32_768;
    let options = sor::Options { ranks, iterations: 1, seed: 1 };
    sor::generate(&options, directory.path(), &|_| {}).unwrap();
    // As much for a location as 294,912 locations have of 2 GiB, beside what the program takes anyway.
    let memory = (2 << 30) / 294_912 * ranks;
    assert!(memory < least_memory(ranks as usize));
    let little = analyzed(directory.path(), Some(memory), Cut::Budget);
    assert!(little.windows() <= 200, "{} windows", little.windows());
    let enough = analyzed(directory.path(), None, Cut::Budget);
    let waits =
        |analysis: &Analysis| Quantity::all().map(|what| analysis.total(what)).collect::<Vec<_>>();
    assert_eq!(waits(&little), waits(&enough));
}
