//! The report: the same bytes for any number of threads and any windows; parts never exceed wholes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use cubex::Report;
use dwell_analyze::{Cut, Options};
use dwell_synth::{random, srumma};
use otf2::Archive;

use crate::support::sums;

fn bytes(directory: &Path, cut: Cut, threads: usize, memory: u64) -> Vec<u8> {
    let archive = Archive::open(directory).unwrap();
    let mut options = Options::default();
    (options.cut, options.threads, options.memory) = (cut, threads, memory);
    let analysis = sums::analyze(&archive, &options);
    let path = directory.join("trace.cubex");
    analysis.write_report(&path).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    bytes.extend(format!("{:?}", analysis.findings()).into_bytes());
    bytes.extend(format!("{:?}", analysis.inefficient()).into_bytes());
    bytes.extend(format!("{:?}", analysis.pairs()).into_bytes());
    bytes
}

fn same_bytes(directory: &Path) {
    let whole = bytes(directory, Cut::Budget, 1, 1 << 30);
    for threads in 2..=8 {
        assert!(bytes(directory, Cut::Budget, threads, 1 << 30) == whole, "{threads} threads");
    }
    for (cut, threads) in [(Cut::EveryEvent, 1), (Cut::EveryEvent, 2), (Cut::Nanoseconds(3_001), 7)]
    {
        assert!(bytes(directory, cut, threads, 1 << 30) == whole, "{cut:?}");
    }
    assert!(bytes(directory, Cut::Budget, 2, 10_000) == whole, "little memory");
}

#[test]
fn nothing_depends_on_windows_and_threads() {
    for seed in 0..6 {
        let directory = tempfile::tempdir().unwrap();
        let options = random::Options { ranks: 5 + seed, segments: 4, operations: 12, seed };
        random::generate(&options, directory.path(), &|_| {}).unwrap();
        same_bytes(directory.path());
        parts_fit(&Report::open(directory.path().join("trace.cubex")).unwrap());
    }
    let directory = tempfile::tempdir().unwrap();
    let options = srumma::Options { ranks: 9, blocks: 4, rounds: 2, seed: 5 };
    srumma::generate(&options, directory.path(), &|_| {}).unwrap();
    same_bytes(directory.path());
    parts_fit(&Report::open(directory.path().join("trace.cubex")).unwrap());
}

/// Checks that metrics below a metric never exceed it, at every call path and location.
fn parts_fit(report: &Report) {
    let meta = report.meta();
    let mut compared = 0;
    for parent in meta.metrics() {
        let children: Vec<_> = meta.metric_children(parent).collect();
        if children.is_empty() {
            continue;
        }
        let whole = report.values(parent).unwrap();
        let parts: Vec<_> = children.iter().map(|&it| report.values(it).unwrap()).collect();
        for cnode in meta.cnodes() {
            let row = whole.row(cnode).unwrap();
            let rows: Vec<_> = parts.iter().map(|part| part.row(cnode).unwrap()).collect();
            for location in meta.locations() {
                let number = |row: &Option<cubex::Row>| {
                    row.as_ref().and_then(|row| row.number(location)).unwrap_or(0.0)
                };
                let nanoseconds = |value: f64| (value * 1e9).round() as i64;
                let sum: i64 = rows.iter().map(|row| nanoseconds(number(row))).sum();
                let name = meta.metric(parent).unwrap().uniq_name;
                assert!(sum <= nanoseconds(number(&row)), "{name} at {cnode:?}, {location:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
}

#[test]
fn parts_fit_in_archives_of_other_tools() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference");
    for name in ["mpi_waits", "shmem_ops", "shmem_ops_tcp"] {
        let archive = Archive::open(data.join(name)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.cubex");
        sums::analyze(&archive, &Options::default()).write_report(&path).unwrap();
        parts_fit(&Report::open(&path).unwrap());
    }
}
