//! `dwell run --view`: opens the page when the program has ended.
//!
//! Otherwise `dwell run` becomes the program. Here the first process of a launch stays, starts `dwell run` again, which
//! becomes the program, and waits for its end. The recorder tells it where the run is.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::{env, ffi, fs};

use anyhow::{Context, Result};

use crate::commands::view;

/// Variable that names the file which the recorder writes at the end of the run. It contains the directory of the run.
const ENDED: &str = "DWELL_ENDED";

/// Returns `true` if another process waits for the end of the run.
pub(super) fn is_awaited() -> bool {
    env::var_os(ENDED).is_some()
}

/// Runs the program, and shows its run. Returns the exit code of the program.
pub(super) fn run() -> Result<ExitCode> {
    let folder = tempfile::tempdir().context("--view needs a temporary directory")?;
    let told = folder.path().join("run");
    let own = env::current_exe()?;
    let status = Command::new(own).args(env::args_os().skip(1)).env(ENDED, &told).status()?;
    // Without this file nothing was recorded, and the recorder has said why.
    if let Ok(bytes) = fs::read(told) {
        let run = PathBuf::from(ffi::OsString::from_vec(bytes));
        drop(folder);
        view::show(&run, false)?;
    }
    // What shells say of a program that a signal has ended.
    let code = status.code().or(status.signal().map(|it| 128 + it)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
