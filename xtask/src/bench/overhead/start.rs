//! What the start and the end of a run cost, by the number of processes.
//!
//! The program does next to nothing, so what is measured is the start of the runtime and the two steps that all processes
//! take together: to agree on the recording, and to put their definitions together at its end. `dwell-unify`'s example
//! `unify_scale` simulates the second one for more processes than a machine has.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, OPEN_MPI, Spread, Way};
use crate::process;

/// Numbers of processes.
const PROCESSES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const PROCESSES_SMOKE: [u32; 2] = [1, 4];

/// Measures both ways in turn for each number of processes, and prints a table.
pub(super) fn run(bench: &Bench, rounds: usize, smoke: bool) -> Result<()> {
    let program = bench.folder.0.join("ring");
    let mut compiler = Command::new("mpicc.openmpi");
    compiler.args(["-O2", "-g", "tests/programs/mpi_ring.c", "-o"]).arg(&program);
    process::output(&mut compiler).context("`apt-get install openmpi-bin libopenmpi-dev`")?;
    println!(
        "| processes | bare, s | Dwell adds, s | files of the experiment | their bytes | rounds and bytes of unification |"
    );
    println!("|{}", " --- |".repeat(6));
    for &processes in if smoke { &PROCESSES_SMOKE[..] } else { &PROCESSES } {
        let (mut bare, mut recorded, mut made) = (Vec::new(), Vec::new(), None);
        for _ in 0..rounds {
            for way in [Way::Bare, Way::Recording] {
                let trace = bench.trace();
                let mut command = Command::new("mpirun.openmpi");
                command.args(["-np", &processes.to_string()]).args(OPEN_MPI);
                // Many processes share a core, so one that waits should leave it to others.
                command.args(["-mca", "mpi_yield_when_idle", "1"]);
                bench.measured(&mut command, way, &trace);
                command.arg(&program);
                let ran = bench.ran(way, command)?;
                match way {
                    Way::Bare => bare.push(ran.wall),
                    _ => {
                        recorded.push(ran.wall);
                        made = Some(Made::of(bench, &trace.0)?);
                    }
                }
            }
        }
        let Made { files, bytes, unification } = made.context("there was no round")?;
        println!(
            "| {processes} | {:.2} | {:+.2} | {files} | {bytes} | {unification} |",
            Spread::of(&bare),
            Spread::added(&bare, &recorded),
        );
    }
    println!();
    Ok(())
}

/// What a run has left behind.
struct Made {
    files: u64,
    bytes: u64,
    /// Rounds of unification and bytes that rank 0 received, as the archive says.
    unification: String,
}

impl Made {
    fn of(bench: &Bench, experiment: &Path) -> Result<Self> {
        let (mut files, mut bytes, mut folders) = (0, 0, vec![experiment.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else {
                    files += 1;
                    bytes += entry.metadata()?.len();
                }
            }
        }
        let info = Command::new(&bench.dwell).arg("info").arg(experiment).arg("--json").output()?;
        let info: Value = serde_json::from_slice(&info.stdout).context("`dwell info` failed")?;
        let unification = info["properties"]["DWELL::UNIFICATION"].as_str();
        let unification = unification.context("the archive does not say how it was unified")?;
        Ok(Self { files, bytes, unification: unification.into() })
    }
}
