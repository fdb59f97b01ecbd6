//! Instructions that the recorder executes for a call.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Sizes;
use crate::process::{self, Folder};

/// Compiler of the MPI library whose calls are counted, Debian's MPICH.
pub(crate) const MPI_COMPILER: &str = "mpicc.mpich";

/// Returns the mean of gets and puts of the example `record_cost` in one of its modes, of which the empty one records
/// every call. `folder` is made for its files, and removed.
pub(crate) fn transfer(program: &Path, mode: &str, folder: &Path, sizes: Sizes) -> Result<f64> {
    let count = |calls: u64| {
        let events = made(folder)?;
        let mut command = Command::new(program);
        command.arg(&events.0).arg(calls.to_string());
        command.args(Some(mode).filter(|mode| !mode.is_empty()));
        super::of(&command)
    };
    // As many gets as puts.
    Ok(sizes.growth(count)? / 2.0)
}

/// Compiles `tests/programs/mpi_overhead.c` into a directory, and returns the path of the program.
pub(crate) fn compile_mpi(directory: &Path) -> Result<PathBuf> {
    let program = directory.join("mpi_overhead");
    let mut compiler = Command::new(MPI_COMPILER);
    compiler.args(["-O2", "-g", "tests/programs/mpi_overhead.c", "-o"]).arg(&program);
    process::output(&mut compiler)?;
    Ok(program)
}

/// Returns what recording by a library adds to a turn of a loop of [`compile_mpi`]'s program, which `case` names. It is one
/// process without a launcher. `folder` is made for its files, and removed.
pub(crate) fn mpi(
    program: &Path,
    library: &Path,
    case: &str,
    folder: &Path,
    sizes: Sizes,
) -> Result<f64> {
    let command = |calls: u64| {
        let mut command = Command::new(program);
        command.args([&calls.to_string(), "1", case]);
        command
    };
    let recorded = |calls: u64| {
        let folder = made(folder)?;
        let trace = folder.0.join("trace");
        let mut command = command(calls);
        // What `dwell run -o` sets, without having to build `dwell`.
        command.env("LD_PRELOAD", library).env("DWELL_OUTPUT", &trace);
        let count = super::of(&command)?;
        let is_there = trace.join("traces.otf2").is_file();
        ensure!(is_there, "{} recorded nothing of {case}", library.display());
        Ok(count)
    };
    Ok(sizes.growth(recorded)? - sizes.growth(|calls| super::of(&command(calls)))?)
}

fn made(folder: &Path) -> Result<Folder> {
    fs::create_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(Folder(folder.to_owned()))
}
