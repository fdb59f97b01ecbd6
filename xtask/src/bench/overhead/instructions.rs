//! Instructions that the recorder executes for a call. callgrind counts them, with the same result on a busy machine and on
//! an idle one.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Bench, harness};
use crate::process::{self, Folder};

/// Number of calls in two runs. What is done once cancels out in their difference.
const FEW: u32 = 10_000;
const MANY: u32 = 50_000;

/// Goal for a put or a get of OpenSHMEM.
const GOAL: f64 = 450.0;

/// What the example `record_cost` is asked for, and its mode.
const MODES: [(&str, &str); 3] = [
    ("put or get of OpenSHMEM, recorded", ""),
    ("put or get of OpenSHMEM, summed up", "overhead"),
    ("put or get of OpenSHMEM, profiled", "profile"),
];

/// Cases of `tests/programs/mpi_overhead.c`.
const CASES: [&str; 3] =
    ["MPI_Get+MPI_Win_flush", "MPI_Win_flush_all", "MPI_Irecv+MPI_Send+MPI_Wait"];

/// Counts instructions and prints a table.
pub(super) fn run(bench: &Bench) -> Result<()> {
    if !process::is_on_path("valgrind") {
        println!("there is no valgrind: instructions are not counted\n");
        return Ok(());
    }
    println!("| instructions of the recorder | count |\n| --- | --- |");
    if let Some(program) = &bench.record_cost {
        for (title, mode) in MODES {
            let count = of_a_transfer(bench, program, mode)?;
            let goal = match (mode, count <= GOAL) {
                ("", true) => format!(" (goal {GOAL}: met)"),
                ("", false) => format!(" (goal {GOAL}: missed)"),
                _ => String::new(),
            };
            println!("| {title} | {count:.0}{goal} |");
        }
    }
    if process::is_on_path("mpicc.mpich") {
        let program = bench.folder.0.join("mpi_overhead");
        let mut compiler = Command::new("mpicc.mpich");
        compiler.args(["-O2", "-g", "tests/programs/mpi_overhead.c", "-o"]).arg(&program);
        process::output(&mut compiler)?;
        for case in CASES {
            let count = of_mpi(bench, &program, case)?;
            println!("| `{}`, MPICH | {count:.0} |", case.replace('+', "` + `"));
        }
    }
    println!();
    Ok(())
}

/// Returns the mean of gets and puts of the example `record_cost`.
fn of_a_transfer(bench: &Bench, program: &Path, mode: &str) -> Result<f64> {
    let count = |calls: u32| {
        let events = Folder(bench.folder.0.join("events"));
        fs::create_dir(&events.0)?;
        let mut command = Command::new(program);
        command.arg(&events.0).arg(calls.to_string());
        command.args(Some(mode).filter(|mode| !mode.is_empty()));
        harness::instructions(&command)
    };
    // As many gets as puts.
    Ok((count(MANY)? - count(FEW)?) / f64::from(2 * (MANY - FEW)))
}

/// Returns what recording adds to a turn of a loop of one process of MPI.
fn of_mpi(bench: &Bench, program: &Path, case: &str) -> Result<f64> {
    let count = |recorded: bool, calls: u32| -> Result<f64> {
        let trace = bench.trace();
        let mut command = Command::new("valgrind");
        if recorded {
            command = Command::new(&bench.dwell);
            command.arg("run").arg("-o").arg(&trace.0).arg("valgrind");
        }
        command.args(harness::CALLGRIND);
        command.arg(program).args([&calls.to_string(), "1", case]);
        command.env("DWELL_LIBRARY", &bench.library);
        harness::collected(&process::output(&mut command)?)
            .with_context(|| process::display(&command))
    };
    let calls = f64::from(MANY - FEW);
    let recorded = (count(true, MANY)? - count(true, FEW)?) / calls;
    Ok(recorded - (count(false, MANY)? - count(false, FEW)?) / calls)
}
