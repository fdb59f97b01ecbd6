//! Archives of Score-P, against what Scalasca 2.6 found in them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::PathBuf;

use cubex::Report;
use dwell_analyze::{Analysis, Cut, Options, Quantity};
use dwell_model::waits::Wait;
use otf2::Archive;

use crate::support::sums;

/// An archive of the reference data, and its analysis.
fn analysis(name: &str) -> (PathBuf, Analysis) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference").join(name);
    let archive = Archive::open(&path).unwrap();
    let analysis = sums::analyze(&archive, &Options::default());
    assert!(analysis.damage().is_empty(), "{:?}", analysis.damage());
    (path, analysis)
}

#[test]
fn as_scalasca_says() {
    let (path, analysis) = analysis("mpi_waits");
    let scout = Report::open(path.join("scout.cubex")).unwrap();
    let meta = scout.meta();
    for (name, what, known) in [
        ("mpi_barrier_wait", Quantity::Wait(Wait::BarrierWait), 1.194610),
        ("mpi_barrier_completion", Quantity::Wait(Wait::BarrierCompletion), 0.001336),
        ("mpi_latesender", Quantity::Wait(Wait::LateSender), 0.269334),
        ("mpi_latereceiver", Quantity::Wait(Wait::LateReceiver), 0.120456),
        ("mpi_earlyreduce", Quantity::Wait(Wait::EarlyReduce), 0.105628),
        ("mpi_latebroadcast", Quantity::Wait(Wait::LateBroadcast), 0.541564),
        ("mpi_wait_nxn", Quantity::Wait(Wait::NxnWait), 0.361190),
        ("mpi_nxn_completion", Quantity::Wait(Wait::NxnCompletion), 0.000581),
    ] {
        let total = analysis.total(what) as f64 / 1e9;
        assert!((total - known).abs() < 1e-6, "{name}: {total}");
        let values = scout.values(meta.find_metric(name).unwrap()).unwrap();
        for (number, location) in meta.locations().enumerate() {
            let rows = meta.cnodes().filter_map(|cnode| values.row(cnode).unwrap());
            let theirs: f64 = rows.filter_map(|row| row.number(location)).sum();
            let ours = analysis.at_location(number, what) as f64 / 1e9;
            assert!((ours - theirs).abs() < 1e-6, "{name} at {location:?}: {ours} {theirs}");
        }
    }
    // What Scalasca does not see: three rounds in which one process is 25 ms late at a fence.
    let fences = analysis.total(Quantity::Wait(Wait::WaitAtFence)) as f64 / 1e9;
    assert!((0.2..0.3).contains(&fences), "{fences}");
    // Process 1 posts 15 ms late; process 0 completes 35 ms late.
    let posts = analysis.total(Quantity::Wait(Wait::LatePost)) as f64 / 1e9;
    assert!((0.04..0.06).contains(&posts), "{posts}");
    let early = analysis.total(Quantity::Wait(Wait::EarlyWait)) as f64 / 1e9;
    assert!((0.09..0.12).contains(&early), "{early}");
    // Four processes take one lock for 3 ms each, five times; then all locks, which the last of them
    // still excludes. Nobody recorded when they got them.
    let locks = analysis.total(Quantity::Wait(Wait::LockContention)) as f64 / 1e9;
    assert!((0.1..0.7).contains(&locks), "{locks}");
    assert_eq!(
        analysis.total(Quantity::Wait(Wait::LockContention)),
        analysis.total(Quantity::Inferred(Wait::LockContention))
    );
    // The parts of these two: nothing is put late, and everything is completed late.
    let pending = analysis.total(Quantity::Wait(Wait::EarlyFence));
    assert!(pending < analysis.total(Quantity::Wait(Wait::WaitAtFence)), "{pending}");
    let late = analysis.total(Quantity::Wait(Wait::LateComplete));
    assert!(late <= analysis.total(Quantity::Wait(Wait::EarlyWait)), "{late}");
}

#[test]
fn one_sided_programs() {
    for name in ["shmem_ops", "shmem_ops_tcp"] {
        let (_, analysis) = analysis(name);
        assert_eq!(analysis.total(Quantity::Gets), 36, "{name}");
        assert_eq!(analysis.total(Quantity::Puts), 33, "{name}");
        // Process 0 is 20 ms late with its flags, three times.
        let late = analysis.total(Quantity::Wait(Wait::LateSignal)) as f64 / 1e9;
        assert!(late > 0.05, "{name}: {late}");
        // Nobody recorded which flag it was.
        assert_eq!(
            analysis.total(Quantity::Wait(Wait::LateSignal)),
            analysis.total(Quantity::Inferred(Wait::LateSignal))
        );
        assert!(analysis.total(Quantity::Wait(Wait::BarrierWait)) > 0, "{name}");
    }
}

#[test]
fn nothing_depends_on_windows_and_threads() {
    for name in ["mpi_waits", "shmem_ops", "shmem_ops_tcp"] {
        let (path, whole) = analysis(name);
        let archive = Archive::open(path).unwrap();
        for (cut, threads) in
            [(Cut::EveryEvent, 1), (Cut::Nanoseconds(1_000_000), 4), (Cut::Nanoseconds(12_345), 2)]
        {
            let mut options = Options::default();
            (options.cut, options.threads) = (cut, threads);
            let other = sums::analyze(&archive, &options);
            for (one, two) in other.findings().iter().zip(whole.findings()) {
                assert_eq!(one, two, "{name}, {cut:?}");
            }
            assert_eq!(other.findings().len(), whole.findings().len(), "{name}, {cut:?}");
            assert_eq!(other.pairs(), whole.pairs(), "{name}, {cut:?}");
        }
    }
}
