//! Paths of the files of the recorder inside an experiment directory.

use std::path::{Path, PathBuf};

use crate::local::Local;

/// Returns the directory inside an experiment directory in which the recorder keeps the files that it is writing. It is
/// there until the archive is complete.
pub fn open_files(directory: &Path) -> PathBuf {
    directory.join("open")
}

/// Returns the path of the file that names the run to which an experiment directory belongs. The file exists as long as
/// the run is not complete; recovery reads it to tell the files of the run from those of others.
pub fn run_file(directory: &Path) -> PathBuf {
    open_files(directory).join("run")
}

/// Name of the folder inside an experiment directory that has the profile: blocks, or files of rows named by location.
pub const PROFILE: &str = "profile";

/// Returns the path of the file of rows of thread `id` of a process in the folder `open_files`, where the recorder
/// writes it. The name has the rank and the thread: `3.0.rows`.
pub fn rows(local: &Local, id: u64, open_files: &Path) -> PathBuf {
    open_files.join(format!("{}.{id}.rows", local.process.rank))
}
