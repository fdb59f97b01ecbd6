//! Whichever way a process dies, the trace contains everything up to its death, with every MPI library.

use std::collections::BTreeSet;

use crate::crash::{deaths, deaths_of_any_runtime, dying, recovered, told_once};
use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, analysed};

const RANKS: u32 = 2;
/// Number of iterations of a program before it dies.
const ITERATIONS: &str = "40";

/// Number of attempts. MPICH's launcher reports sometimes the exit code of the dead rank and sometimes that of one it
/// killed itself, also without Dwell, so two runs prove nothing. The trace must be right every time.
const TRIES: u32 = 12;

/// Checks that a measured run ends with an exit code that is expected and that a run without Dwell has had as well.
fn die(mode: &str, expected: impl Fn(Option<i32>) -> bool) {
    for mpi in Mpi::chosen_of_the_system() {
        let mut bare = BTreeSet::new();
        let mut seen = Vec::new();
        let same = (0..TRIES).any(|_| {
            let (plain, measured) = die_on(&mpi, mode);
            bare.insert(plain.code);
            let same = bare.contains(&measured.code) && expected(measured.code);
            seen.push((plain, measured));
            same
        });
        assert!(same, "{mpi:?} {seen:?}");
    }
}

/// Runs the program in a mode in which it dies, without Dwell and then recorded, checks the recovered trace, and
/// returns both runs.
fn die_on(mpi: &Mpi, mode: &str) -> (Run, Run) {
    let lab = Lab::bare();
    let program = mpi.compile_once(&lab, "tests/programs/mpi_die.c");
    let reports = lab.path("said");
    let command = dying(&program, mode, ITERATIONS, &reports);
    let plain = mpi.run(&lab, RANKS, &command);
    let measured = mpi.measured(&lab, RANKS, &command);
    if ["MPI_Abort", "abort-all"].contains(&mode) {
        told_once(&lab, &measured, "MPI_Abort");
    }
    // A rank that waits for a dead one is inside a call that it did not count.
    let trace = recovered(&lab, u64::from(RANKS), 1, &measured);
    analysed(&lab, &lab.experiment());
    if !["normal", "kill-all", "abort-all"].contains(&mode) {
        // A barrier, and the program itself around it.
        assert!(trace.cut >= 2, "{mpi:?}: someone was inside a barrier");
    }
    (plain, measured)
}

deaths_of_any_runtime!();
deaths! {
    mpi_abort: "MPI_Abort" => Some(7),
    mpi_abort_of_all: "abort-all" => Some(7),
    error_that_is_fatal: "fatal" => None | Some(1..),
}

/// Stops the launcher by a signal, as at the end of a job's time limit or by a user at the terminal.
fn stopped(mode: &str, signal: &str) {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, "tests/programs/mpi_die.c");
        let reports = lab.path("said");
        let command = dying(&program, mode, ITERATIONS, &reports);
        let run = mpi.measured_until(&lab, RANKS, &command, signal, "ready");
        assert!(run.stdout.contains("ready"), "{mpi:?} {run:?}");
        recovered(&lab, u64::from(RANKS), 3, &run);
        analysed(&lab, &lab.experiment());
    }
}

#[test]
fn sigterm_in_computation() {
    stopped("hang", "TERM");
}

#[test]
fn sigint_in_communication() {
    stopped("busy", "INT");
}
