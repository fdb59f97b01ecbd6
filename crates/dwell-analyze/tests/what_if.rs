//! Predictions that can be written down, and runs that are played without changes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "brute_force/random.rs"]
mod random;
mod support;

use std::path::Path;

use dwell_analyze::{Options, Unpredictable, analyze};
use dwell_synth::{halo, ring, sor, srumma};
use otf2::Archive;

/// Plays a run without changes, and returns its recorded length and the one that was played.
fn unchanged(directory: &Path) -> (u64, Result<u64, Unpredictable>) {
    let archive = Archive::open(directory).unwrap();
    let log = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.log = Some(log.path().into());
    let analysis = analyze(&archive, &options, &|_| {}).unwrap();
    let what_if = analysis.what_if(log.path()).unwrap();
    (analysis.length(), what_if.unchanged())
}

#[test]
fn synthetic_runs_without_changes() {
    let check = |name: &str, generate: &dyn Fn(&Path)| {
        let directory = tempfile::tempdir().unwrap();
        generate(directory.path());
        let (recorded, played) = unchanged(directory.path());
        assert_eq!(played, Ok(recorded), "{name}");
    };
    check("sor", &|to| {
        sor::generate(&sor::Options { ranks: 16, iterations: 20, seed: 1 }, to, &|_| {}).unwrap();
    });
    check("ring", &|to| {
        ring::generate(&ring::Options { ranks: 16, steps: 20, seed: 1 }, to, &|_| {}).unwrap();
    });
    check("halo", &|to| {
        halo::generate(&halo::Options { ranks: 16, rounds: 20, seed: 1 }, to, &|_| {}).unwrap();
    });
    check("srumma", &|to| {
        let of = srumma::Options { ranks: 16, blocks: 16, rounds: 4, seed: 1 };
        srumma::generate(&of, to, &|_| {}).unwrap();
    });
}

#[test]
fn random_runs_without_changes() {
    let mut worst: f64 = 0.0;
    for seed in 0..40 {
        let directory = tempfile::tempdir().unwrap();
        random::generate(seed, directory.path());
        let (recorded, played) = unchanged(directory.path());
        let Ok(played) = played else {
            println!("{seed}: {played:?}");
            continue;
        };
        let off = (played as f64 - recorded as f64).abs() / recorded as f64;
        println!("{seed}: {recorded} {played} {:.2} %", off * 100.0);
        worst = worst.max(off);
    }
    assert!(worst < 0.05, "{worst}");
}
