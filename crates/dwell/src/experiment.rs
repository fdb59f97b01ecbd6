//! The directory that `dwell run --output` names, before the program starts.
//!
//! A directory that is in use is refused here, because a user who learns of it when the program ends has lost a run.
//! Every process of a launch makes the check, and those that start late find the directory filled by the first. They
//! recognise it by a file that is named after the launch.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use dwell_mpi::Launch;
use dwell_unify::experiment::{is_launch_file, launch_file};

/// Marks a directory as that of this launch. Fails if it is not empty and was not marked by another process of the
/// launch.
///
/// A launcher that gives its launch no id, such as Hydra, leaves no way to tell its processes from others. Then nothing
/// is refused, and the recorder takes the next free name if it has to. It does so too if the check here was wrong.
pub(crate) fn claim(directory: &Path, launch: Option<&Launch>) -> Result<()> {
    let mark = match launch {
        None => None,
        Some(launch) => match launch.id() {
            Some(id) => Some(launch_file(directory, &id)),
            None => return Ok(()),
        },
    };
    let is_used = |entry: fs::DirEntry| !is_launch_file(&entry.file_name());
    // A directory that cannot be read is the recorder's to report, in the words of the system.
    let used = fs::read_dir(directory).is_ok_and(|mut list| list.any(|it| it.is_ok_and(is_used)));
    match mark {
        Some(mark) if mark.exists() => Ok(()),
        _ if used => bail!(
            "{}: the directory is not empty, and the program was not started. Name another with --output, remove this \
             one, or add --next to record into the next free name",
            directory.display()
        ),
        Some(mark) => {
            // The recorder reports a directory that cannot be written.
            let _ = fs::create_dir_all(directory);
            let _ = fs::File::options().write(true).create_new(true).open(mark);
            Ok(())
        }
        None => Ok(()),
    }
}
