//! Files for results that a user names on the command line.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use dwell_files::NewFile;

/// Refuses a path at which there is something other than a regular file. A link may lead to a file that should not be
/// overwritten; a device such as `/dev/stdout` must not be replaced by a file.
pub(crate) fn check(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => {
            bail!("{}: this is a link, which is not followed; choose another file", path.display())
        }
        Ok(there) if !there.is_file() => {
            bail!("{}: this is not a regular file; choose another", path.display())
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| cannot(path))
        }
        _ => Ok(()),
    }
}

/// Creates a file for results at a path that passes [`check`].
pub(crate) fn create(path: &Path) -> Result<NewFile> {
    check(path)?;
    dwell_files::create(path).with_context(|| cannot(path))
}

/// Writes a file of results at a path that passes [`check`].
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    check(path)?;
    dwell_files::write(path, bytes).with_context(|| cannot(path))
}

/// Returns the message for a file that cannot be written.
pub(crate) fn cannot(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}
