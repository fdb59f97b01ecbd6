//! Where the recorder puts its files inside an experiment directory.

use std::path::{Path, PathBuf};

use crate::local::Local;

/// Directory of the files that are being written.
pub fn open_files(directory: &Path) -> PathBuf {
    directory.join("open")
}

/// The file that says which run a directory belongs to, as long as the run is not complete.
pub fn run_file(directory: &Path) -> PathBuf {
    open_files(directory).join("run")
}

/// The folder of an experiment that has the rows of its profile, by location.
pub const PROFILE: &str = "profile";

/// The rows of a thread, while they are written.
pub fn rows(local: &Local, id: u64, open_files: &Path) -> PathBuf {
    open_files.join(format!("{}.{id}.rows", local.process.rank))
}
