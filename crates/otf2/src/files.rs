//! Files in a directory that someone else may have filled.
//!
//! Whoever mends or extends such a directory must neither follow a link that was planted there nor wait
//! for ever on a pipe. So files are opened only if they are regular files themselves, and files are made
//! anew: what has their name is replaced, never written through.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Opens a regular file for reading, or for reading and writing. Neither follows a link nor waits.
///
/// # Errors
/// `NotFound` if there is nothing, `InvalidInput` if there is something that is no regular file, else
/// what the system says.
pub fn open(path: &Path, write: bool) -> io::Result<File> {
    let before = fs::symlink_metadata(path)?;
    if !before.is_file() {
        return Err(not_regular());
    }
    // Something else may have its name by now.
    let file = OpenOptions::new()
        .read(true)
        .write(write)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path)?;
    let opened = file.metadata()?;
    let same = (before.dev(), before.ino()) == (opened.dev(), opened.ino());
    if opened.is_file() && same { Ok(file) } else { Err(not_regular()) }
}

/// Flags of Linux that the standard library has no names for: a link is not followed, a pipe not waited on.
const O_NOFOLLOW: i32 =
    if cfg!(any(target_arch = "aarch64", target_arch = "arm", target_arch = "powerpc64")) {
        0o100_000
    } else {
        0o400_000
    };
const O_NONBLOCK: i32 = 0o4000;

/// Whether there is a regular file. A link to one is none.
pub fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

/// Whether there is something that is no regular file: a link, a directory, a pipe, a device.
pub fn is_irregular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| !it.is_file())
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file; links are not followed")
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and `FileTooLarge` if it has more.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path, false)?;
    let length = file.metadata()?.len();
    if length > most {
        let text = format!("the file has {length} bytes, and {most} are the most it may have");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    io::Read::read_to_end(&mut io::Read::take(file, most), &mut bytes)?;
    Ok(bytes)
}

/// Makes a new file, for reading and writing. What had its name, if anything, has not any more; what a
/// link points to stays as it is.
///
/// # Errors
/// What the system says.
pub fn create(path: &Path) -> io::Result<File> {
    let make = || OpenOptions::new().read(true).write(true).create_new(true).open(path);
    match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            make()
        }
        made => made,
    }
}

/// Writes a file as a whole: under another name first, so that whoever opens it finds all of it or what was
/// there before.
///
/// # Errors
/// What the system says. Nothing stays behind then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = unfinished(path);
    let written = create(&unfinished)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// The name that a file has until it is complete: `NAME.part`.
pub fn unfinished(path: &Path) -> PathBuf {
    with_suffix(path, ".part")
}

/// The name under which a damaged file is kept: `NAME.damaged`.
pub fn damaged(path: &Path) -> PathBuf {
    with_suffix(path, ".damaged")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes a directory, or finds one. A link to one is none.
///
/// # Errors
/// `NotADirectory` if something else has its name, else what the system says.
pub fn directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    if fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    let text = "not a directory of its own; links are not followed";
    Err(io::Error::new(io::ErrorKind::NotADirectory, text))
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::unwrap_used)] // A test may panic.
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn links_pipes_and_directories_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("victim"), "precious").unwrap();
        symlink(path("victim"), path("link")).unwrap();
        fs::create_dir(path("directory")).unwrap();
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        for name in ["link", "directory", "pipe"] {
            for write in [false, true] {
                let error = open(&path(name), write).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
            }
            assert!(is_irregular(&path(name)) && !is_regular(&path(name)));
        }
        assert!(open(&path("victim"), true).is_ok());
        assert_eq!(open(&path("nothing"), true).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read(&path("victim"), 8).unwrap(), b"precious");
        assert_eq!(read(&path("victim"), 7).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn what_a_link_points_to_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("victim"), "precious").unwrap();
        for name in ["a", "b", "b.part"] {
            symlink(path("victim"), path(name)).unwrap();
        }
        create(&path("a")).unwrap().write_all(b"new").unwrap();
        replace(&path("b"), b"new").unwrap();
        for name in ["a", "b"] {
            assert!(is_regular(&path(name)));
            assert_eq!(fs::read(path(name)).unwrap(), b"new");
        }
        assert_eq!(fs::read(path("victim")).unwrap(), b"precious");
        assert!(!path("b.part").exists());

        fs::create_dir(path("elsewhere")).unwrap();
        symlink(path("elsewhere"), path("traces")).unwrap();
        assert!(directory(&path("traces")).is_err());
        assert!(directory(&path("elsewhere")).is_ok() && directory(&path("new")).is_ok());
    }
}
