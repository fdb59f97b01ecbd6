//! Damaged and incomplete archives are analysed as far as they go, and what is missing is named.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use dwell_analyze::{Analysis, Confidence, Cut, Options, Quantity};
use dwell_model::waits::Wait;
use dwell_synth::{random, srumma};
use otf2::Archive;

use crate::support::sums;

fn run(directory: &Path, cut: Cut) -> Analysis {
    let mut options = Options::default();
    options.cut = cut;
    sums::analyze(&Archive::open(directory).unwrap(), &options)
}

fn srumma(directory: &Path) -> Analysis {
    let options = srumma::Options { ranks: 6, blocks: 5, rounds: 2, seed: 3 };
    srumma::generate(&options, directory, &|_| {}).unwrap();
    run(directory, Cut::Budget)
}

#[test]
fn a_missing_location() {
    let directory = tempfile::tempdir().unwrap();
    let whole = srumma(directory.path());
    fs::remove_file(directory.path().join("traces/2.evt")).unwrap();
    for cut in [Cut::Budget, Cut::EveryEvent] {
        let part = run(directory.path(), cut);
        assert!(!part.damage().is_empty());
        let patterns: Vec<_> = part.not_computed().iter().map(|it| it.pattern).collect();
        assert!(patterns.contains(&"wait_for_progress"), "{patterns:?}");
        assert!(patterns.contains(&"collectives"), "{patterns:?}");
        assert_eq!(part.at_location(2, Quantity::Wait(Wait::WaitForProgress)), 0);
        let found = part.total(Quantity::Wait(Wait::WaitForProgress));
        assert!(found > 0 && found < whole.total(Quantity::Wait(Wait::WaitForProgress)));
        let barrier = part.findings().iter().find(|it| it.pattern == "barrier_wait").unwrap();
        assert_eq!(barrier.confidence, Confidence::LowerBound);
    }
}

#[test]
fn a_location_that_was_cut_short() {
    let directory = tempfile::tempdir().unwrap();
    let whole = srumma(directory.path());
    let path = directory.path().join("traces/1.evt");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let part = run(directory.path(), Cut::Budget);
    assert!(!part.damage().is_empty());
    assert!(part.events() < whole.events());
    assert!(part.total(Quantity::Wait(Wait::WaitForProgress)) > 0);
    part.write_report(&directory.path().join("trace.cubex")).unwrap();
}

#[test]
fn any_byte_may_be_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let options = random::Options { ranks: 4, segments: 3, operations: 8, seed: 11 };
    random::generate(&options, directory.path(), &|_| {}).unwrap();
    let path = directory.path().join("traces/0.evt");
    let bytes = fs::read(&path).unwrap();
    let report = directory.path().join("trace.cubex");
    for at in (0..bytes.len()).step_by(7) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x55;
        fs::write(&path, wrong).unwrap();
        // Whatever it says, it says it without panic.
        let analysis = run(directory.path(), Cut::Budget);
        analysis.write_report(&report).unwrap();
    }
}
