//! Paths of the files of the recorder inside an experiment directory.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use otf2::files;

use crate::process_facts::ProcessFacts;
use crate::stream::RunId;

/// Returns the directory inside an experiment directory in which the recorder keeps the files that it is writing. It is
/// there until the archive is complete.
pub fn open_files(directory: &Path) -> PathBuf {
    directory.join("open")
}

/// Returns the path of the file that names the run to which an experiment directory belongs. The file exists as long as
/// the run is not complete; recovery reads it to distinguish the files of the run from those of others.
pub fn run_file(directory: &Path) -> PathBuf {
    open_files(directory).join("run")
}

/// Returns the run that the run file of an experiment directory names.
pub fn named_run(directory: &Path) -> Option<RunId> {
    let text = files::read(&run_file(directory), 64).ok()?;
    RunId::parse(std::str::from_utf8(&text).ok()?.trim())
}

/// Returns `true` if a process of this node has a file mapped, which is named by its canonical path.
pub fn is_mapped(file: &Path, pid: u64) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let file = file.to_str().filter(|it| !it.is_empty());
    file.is_some_and(|file| maps.lines().any(|line| line.ends_with(file)))
}

/// Greatest number of processes of a run. It keeps a damaged number from becoming a list of that length.
pub(crate) const MOST_PROCESSES: u64 = 1 << 20;

/// Returns the path of the file that the first process creates that ends the program from inside a call, such as
/// `MPI_Abort`, and tells the user. Others that do the same find it and stay silent.
pub fn told_file(directory: &Path) -> PathBuf {
    open_files(directory).join("told")
}

/// Beginning of the names of files by which the processes of a launch recognise the experiment directory as theirs.
const LAUNCH: &str = "launch.";

/// Returns the path of the file that marks an experiment directory as that of the launch `id`. Processes of a launch
/// start at different times, and the first may have filled the directory when the last asks whether it is empty. Each
/// launch has a file of its own, so that two launches do not overwrite each other's mark.
pub fn launch_file(directory: &Path, id: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_@".contains(c) { c } else { '_' };
    let name: String = LAUNCH.chars().chain(id.chars().map(plain)).take(128).collect();
    directory.join(name)
}

/// Returns `true` for the name of a file that [`launch_file`] names. Such a file does not make a directory count as used.
pub fn is_launch_file(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(LAUNCH))
}

/// Name of the folder inside an experiment directory that has the profile: blocks, or files of rows named by location.
pub const PROFILE: &str = "profile";

/// Returns the path of the file of rows of thread `id` of a process in the folder `open_files`, where the recorder
/// writes it. The name has the rank and the thread: `3.0.rows`.
pub fn rows(local: &ProcessFacts, id: u64, open_files: &Path) -> PathBuf {
    open_files.join(format!("{}.{id}.rows", local.process.rank))
}
