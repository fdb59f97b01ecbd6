//! Instructions that the recorder executes for a call, as a table.

use anyhow::Result;

use super::Bench;
use crate::instructions::{self, Sizes, calls};
use crate::process;

/// Number of calls in two runs.
const CALLS: Sizes = Sizes { few: 10_000, many: 50_000 };

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
    if !instructions::can_count() {
        println!("there is no valgrind: instructions are not counted\n");
        return Ok(());
    }
    let folder = bench.folder.0.join("counted");
    println!("| instructions of the recorder | count |\n| --- | --- |");
    if let Some(program) = &bench.record_cost {
        for (title, mode) in MODES {
            let count = calls::transfer(program, mode, &folder, CALLS)?;
            let goal = match (mode, count <= GOAL) {
                ("", true) => format!(" (goal {GOAL}: met)"),
                ("", false) => format!(" (goal {GOAL}: missed)"),
                _ => String::new(),
            };
            println!("| {title} | {count:.0}{goal} |");
        }
    }
    if process::is_on_path(calls::MPI_COMPILER) {
        let program = calls::compile_mpi(&bench.folder.0)?;
        for case in CASES {
            let count = calls::mpi(&program, &bench.library, case, &folder, CALLS)?;
            println!("| `{}`, MPICH | {count:.0} |", case.replace('+', "` + `"));
        }
    }
    println!();
    Ok(())
}
