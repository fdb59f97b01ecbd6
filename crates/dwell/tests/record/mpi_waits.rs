//! Waits of known length on MPI: found, as long as they were, at the right call and process; and not found
//! when there is no delay.

use std::ffi::OsStr;

use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::Mpi;

/// Milliseconds by which rank 1 is late.
const DELAY: f64 = 300.0;

/// Seconds that rank 0 waits by a pattern in calls of a function.
fn seconds(findings: &Value, pattern: &str, function: &str) -> f64 {
    let all = findings["findings"].as_array().unwrap().iter();
    let these = all.filter(|finding| {
        let last = finding["path"].as_array().unwrap().last().unwrap();
        finding["pattern"] == pattern && last["region"] == function
    });
    these
        .flat_map(|finding| finding["origins"].as_array().unwrap())
        .filter(|origin| origin["who"] == "Rank 0")
        .map(|origin| origin["seconds"].as_f64().unwrap())
        .sum()
}

fn findings(mpi: &Mpi, lab: &Lab, kind: &str, delay: &str) -> Value {
    let program = mpi.compile(lab, "tests/programs/mpi_delays.c", &[]);
    let command = [program.as_os_str(), OsStr::new(kind), OsStr::new(delay)];
    let run = mpi.measured(lab, 2, &command);
    assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
    let experiment = lab.experiment();
    let output = lab.dwell(&[OsStr::new("analyze"), experiment.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(experiment.join("findings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn waits(kind: &str, pattern: &str, function: &str) {
    for mpi in Mpi::all() {
        let lab = Lab::bare();
        // The median of three: the machine may be busy with something else.
        let mut found: Vec<f64> = (0..3)
            .map(|_| seconds(&findings(&mpi, &lab, kind, &DELAY.to_string()), pattern, function))
            .collect();
        found.sort_by(f64::total_cmp);
        let (found, expected) = (found[1], DELAY / 1000.0);
        assert!((found - expected).abs() <= 0.05 * expected, "{mpi:?} {kind}: {found}");
        let without = seconds(&findings(&mpi, &lab, kind, "0"), pattern, function);
        assert!(without < 0.2 * expected, "{mpi:?} {kind} without a delay: {without}");
    }
}

#[test]
fn late_sender() {
    waits("late_sender", "late_sender", "MPI_Recv");
}

#[test]
fn barrier() {
    waits("barrier", "barrier_wait", "MPI_Barrier");
}

#[test]
fn broadcast() {
    waits("broadcast", "late_broadcast", "MPI_Bcast");
}

#[test]
fn fence() {
    waits("fence", "wait_at_fence", "MPI_Win_fence");
}

/// MPICH serves a get in software: its target must come. Open MPI's default on one node does not.
#[test]
fn progress_of_mpich() {
    for mpi in Mpi::all().into_iter().filter(Mpi::is_debian_mpich) {
        let lab = Lab::bare();
        let findings = findings(&mpi, &lab, "progress", &DELAY.to_string());
        let found = seconds(&findings, "wait_for_progress", "MPI_Win_flush");
        // Rank 0 computes for 5 ms before it gets.
        assert!((found - 0.295).abs() <= 0.05 * 0.295, "{mpi:?}: {found}\n{findings:#}");
    }
}
