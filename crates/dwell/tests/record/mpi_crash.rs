//! Every way to die leaves a trace with everything up to the death, under every MPI.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use crate::crash::recovered;
use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, analysed};

const RANKS: u32 = 2;
/// Iterations of a program before it dies.
const ITERATIONS: &str = "40";

/// How often a death is tried. MPICH's launcher reports now the end of a rank, now that of one it killed
/// itself, also without Dwell, so that two runs alone say nothing. The trace has to be right every time.
const TRIES: u32 = 12;

/// A measured run ends with a code that is expected and that a run without Dwell ended with as well.
fn die(mode: &str, expected: impl Fn(Option<i32>) -> bool) {
    for mpi in Mpi::of_the_system() {
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

/// Without and with Dwell.
fn die_on(mpi: &Mpi, mode: &str) -> (Run, Run) {
    let lab = Lab::bare();
    let program = mpi.compile_once(&lab, "tests/programs/mpi_die.c");
    let prefix = lab.path("said");
    let command =
        [program.as_os_str(), OsStr::new(mode), OsStr::new(ITERATIONS), prefix.as_os_str()];
    let plain = mpi.run(&lab, RANKS, &command);
    let measured = mpi.measured(&lab, RANKS, &command);
    // A rank that waits for a dead one is inside a call that it did not count.
    let trace = recovered(&lab, u64::from(RANKS), 1, &measured);
    analysed(&lab, &lab.experiment());
    if !["normal", "kill-all"].contains(&mode) {
        // A barrier, and the program itself around it.
        assert!(trace.cut >= 2, "{mpi:?}: someone was inside a barrier");
    }
    (plain, measured)
}

#[test]
fn normal() {
    die("normal", |code| code == Some(0));
}

#[test]
fn sigkill_of_one() {
    die("kill-one", |code| code != Some(0));
}

#[test]
fn sigkill_of_all() {
    die("kill-all", |code| code != Some(0));
}

#[test]
fn segfault() {
    die("segfault", |code| code != Some(0));
}

#[test]
fn abort() {
    die("abort", |code| code != Some(0));
}

#[test]
fn mpi_abort() {
    die("MPI_Abort", |code| code == Some(7));
}

#[test]
fn exit_at_once() {
    die("_exit", |code| code == Some(5));
}

#[test]
fn exit_without_finalize() {
    die("exit", |code| code == Some(6));
}

#[test]
fn error_that_is_fatal() {
    die("fatal", |code| code != Some(0));
}

/// The launcher is told to stop, as at the end of a job's time or by someone at the terminal.
fn stopped(mode: &str, signal: &str) {
    for mpi in Mpi::of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, "tests/programs/mpi_die.c");
        let prefix = lab.path("said");
        let command =
            [program.as_os_str(), OsStr::new(mode), OsStr::new(ITERATIONS), prefix.as_os_str()];
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
