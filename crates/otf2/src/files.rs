//! Opens, creates and replaces files in a directory that another user may have filled.
//!
//! A program that repairs or extends such a directory must neither follow a link that was planted there nor wait for
//! ever on a pipe. So files are opened only if they are regular files themselves, and written files are always created
//! anew: they replace whatever has their name and are never written through it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Opens an existing regular file for reading or, with `write`, for reading and writing. The function neither follows a
/// symbolic link in the last component of the path nor blocks on a pipe.
///
/// # Errors
/// Fails with `NotFound` if there is no file, with `InvalidInput` if the path names something other than a regular file
/// or another file took its name meanwhile, and otherwise with the error of the system.
pub fn open(path: &Path, write: bool) -> io::Result<File> {
    let before = fs::symlink_metadata(path)?;
    if !before.is_file() {
        return Err(not_regular());
    }
    // Another file may have taken the name by now.
    let file = OpenOptions::new()
        .read(true)
        .write(write)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path)?;
    let opened = file.metadata()?;
    let same = (before.dev(), before.ino()) == (opened.dev(), opened.ino());
    if opened.is_file() && same { Ok(file) } else { Err(not_regular()) }
}

/// Flags of Linux that the standard library has no names for: fail on a symbolic link, and do not wait on a pipe.
const O_NOFOLLOW: i32 =
    if cfg!(any(target_arch = "aarch64", target_arch = "arm", target_arch = "powerpc64")) {
        0o100_000
    } else {
        0o400_000
    };
const O_NONBLOCK: i32 = 0o4000;

/// Returns `true` if the path names a regular file. A symbolic link to one does not count, and neither does a path that
/// cannot be examined.
pub fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

/// Returns `true` if the path names something that is not a regular file: a link, a directory, a pipe or a device.
/// Returns `false` if nothing has this name.
pub fn is_irregular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| !it.is_file())
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file; links are not followed")
}

/// Reads a regular file of at most `most` bytes into memory. The limit keeps a planted or damaged file from exhausting
/// the memory of the process.
///
/// # Errors
/// Fails as [`open`] does, and with `FileTooLarge` if the file has more than `most` bytes.
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

/// Creates a new file for reading and writing. A file or symbolic link of the same name is removed first; the file that
/// a link points to stays unchanged.
///
/// # Errors
/// Fails with the error of the system, for example if a directory has this name.
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

/// Writes a file as a whole. The bytes go to `NAME.part` first, which is then renamed, so a process that opens the file
/// finds either all new bytes or what was there before. The data is not synchronised to the disk.
///
/// # Errors
/// Fails with the error of the system. The unfinished file is then removed, and the old file is unchanged.
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

/// Returns the name that a file has until it is complete, `NAME.part`. [`replace`] writes under this name, so a file
/// with this suffix is the remains of a killed process.
pub fn unfinished(path: &Path) -> PathBuf {
    with_suffix(path, ".part")
}

/// Returns the name under which [`close`](mod@crate::close) keeps the original of a damaged file that it repairs,
/// `NAME.damaged`.
pub fn damaged(path: &Path) -> PathBuf {
    with_suffix(path, ".damaged")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes sure that a directory exists, and creates it if nothing has its name. A symbolic link to a directory is
/// refused. Parent directories must exist.
///
/// # Errors
/// Fails with `NotADirectory` if something else has the name of the directory, and otherwise with the error of the
/// system.
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
