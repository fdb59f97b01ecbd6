//! Files in directories that may belong to someone else.
//!
//! People analyse experiment directories that they got from others, in places where others can write. What
//! stands there under a name may be a link to a file of theirs, a pipe that nobody writes to, or change
//! between two system calls. So everything that Dwell writes there, and what it reads there on behalf of
//! someone else, goes through this crate:
//!
//! * [`open`] reads regular files only. A pipe or a device is an error, never a wait.
//! * [`create`] and [`write`](fn@write) make a new file under a name that nobody can foresee, in the directory of
//!   the one that is wanted, and rename it when it is complete. A link that stands under the name is
//!   replaced, never followed.
//! * [`Folder`] is an open directory. What is reached through it stays inside it: no link is followed on
//!   the way, whatever happens to the path meanwhile.
//!
//! The directory that a person names may be a link, or be reached through some: [`Folder::open`], [`open`] and
//! [`create`] follow links up to the last directory.
//!
//! Left out on purpose: `openat2` does the same in one system call, but kernels before 5.6 lack it.

#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

/// How a file is opened for reading: a pipe that nobody writes to must not make the caller wait.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// How a directory is opened: as a place that paths begin at. That needs no right to list it.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

/// How a new file is opened. With `EXCL` a link under the name is an error, too.
const NEW: OFlags = OFlags::RDWR
    .union(OFlags::CLOEXEC)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW);

/// How often a name is tried that is taken. Names have 64 random bits.
const TRIES: usize = 16;

/// Opens a regular file for reading.
///
/// # Errors
/// If it cannot be opened, or is a directory, a pipe, a socket or a device.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    regular(openat(CWD, path.as_ref(), READ, Mode::empty())?)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], or if the file is longer.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read_all(open(path)?, most)
}

/// Begins a file that is to stand under `path`.
///
/// # Errors
/// If the directory cannot be written to.
pub fn create(path: impl AsRef<Path>) -> io::Result<NewFile> {
    let (directory, name) = split(path.as_ref())?;
    Folder::open(directory)?.create(name)
}

/// Puts bytes under `path`, in place of what is there.
///
/// # Errors
/// If the directory cannot be written to, or the disk is full. What was there is there still.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let new = create(path)?;
    new.file().write_all(bytes.as_ref())?;
    new.place()
}

/// A name for a temporary file or directory that nobody can foresee.
fn unforeseen_name() -> String {
    // Keys of the hasher are random, and so is what it makes of nothing.
    let random = RandomState::new().build_hasher().finish();
    format!(".dwell-{random:016x}.part")
}

/// Directory and name of a path.
fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a file");
    let name = path.file_name().ok_or_else(no_name)?;
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    Ok((directory.unwrap_or(Path::new(".")), name))
}

/// The file behind a descriptor, if it is a regular one.
fn regular(descriptor: OwnedFd) -> io::Result<File> {
    match FileType::from_raw_mode(fstat(&descriptor)?.st_mode) {
        FileType::RegularFile => Ok(File::from(descriptor)),
        other => {
            let what = match other {
                FileType::Directory => "a directory",
                FileType::Fifo => "a named pipe",
                FileType::Socket => "a socket",
                FileType::CharacterDevice | FileType::BlockDevice => "a device",
                _ => "no regular file",
            };
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("this is {what}, not a regular file"),
            ))
        }
    }
}

fn read_all(file: File, most: u64) -> io::Result<Vec<u8>> {
    let too_long = || {
        let text = format!("the file is longer than {most} bytes");
        io::Error::new(io::ErrorKind::FileTooLarge, text)
    };
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // It may grow meanwhile.
    io::Read::read_to_end(&mut io::Read::take(file, most.saturating_add(1)), &mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// An open directory. Everything reached through it is inside it.
#[derive(Clone, Debug)]
pub struct Folder {
    descriptor: Arc<OwnedFd>,
    path: PathBuf,
}

impl Folder {
    /// Opens the directory that a person has named; links on the way are followed.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let descriptor = openat(CWD, &path, DIRECTORY, Mode::empty())?;
        Ok(Self { descriptor: Arc::new(descriptor), path })
    }

    /// Path under which the directory was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    /// If there is none, or a link stands under its name.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = one(name.as_ref())?;
        let opened = openat(&*self.descriptor, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
        let descriptor = opened.map_err(no_link)?;
        Ok(Self { descriptor: Arc::new(descriptor), path: self.path.join(name) })
    }

    /// As [`folder`](Folder::folder), and makes the directory if there is none.
    ///
    /// # Errors
    /// If it cannot be made, or a link stands under its name.
    pub fn make_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        match mkdirat(&*self.descriptor, one(name.as_ref())?, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file in this directory or further below, for reading. No part of the path may be a
    /// link or `..`.
    ///
    /// # Errors
    /// If there is no such file, it is not a regular one, or the path leads elsewhere.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (directory, name) = split(path.as_ref())?;
        let mut folder = self.clone();
        for part in directory.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(part) => folder = folder.folder(part)?,
                _ => return Err(elsewhere()),
            }
        }
        let opened =
            openat(&*folder.descriptor, one(name)?, READ | OFlags::NOFOLLOW, Mode::empty());
        regular(opened.map_err(no_link)?)
    }

    /// Reads a regular file of at most `most` bytes; see [`read`](Folder::read) for the path.
    ///
    /// # Errors
    /// As [`read`](Folder::read), or if the file is longer.
    pub fn read_bytes(&self, path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        read_all(self.read(path)?, most)
    }

    /// Begins a file that is to stand in this directory under `name`.
    ///
    /// # Errors
    /// If the directory cannot be written to.
    pub fn create(&self, name: impl AsRef<OsStr>) -> io::Result<NewFile> {
        let name = one(name.as_ref())?.to_owned();
        let (temporary, file) = self.new_file()?;
        let folder = self.clone();
        Ok(NewFile { folder, temporary, name, file, is_settled: AtomicBool::new(false) })
    }

    /// Puts bytes under a name in this directory, in place of what is there.
    ///
    /// # Errors
    /// As [`write`](fn@crate::write).
    pub fn write(&self, name: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let new = self.create(name)?;
        new.file().write_all(bytes.as_ref())?;
        new.place()
    }

    /// A file in this directory that has no name and is gone when it is closed.
    ///
    /// # Errors
    /// If the directory cannot be written to.
    pub fn unnamed(&self) -> io::Result<File> {
        let (name, file) = self.new_file()?;
        self.remove(&name)?;
        Ok(file)
    }

    /// Removes a file of this directory; of a link, the link.
    ///
    /// # Errors
    /// If there is none, or it cannot be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&*self.descriptor, one(name.as_ref())?, AtFlags::empty())?)
    }

    /// Makes a file under a name that was free and that nobody could foresee.
    fn new_file(&self) -> io::Result<(OsString, File)> {
        let mut last = Errno::EXIST;
        for _ in 0..TRIES {
            let name = OsString::from(unforeseen_name());
            match openat(&*self.descriptor, &name, NEW, Mode::from_raw_mode(0o666)) {
                Ok(descriptor) => return Ok((name, File::from(descriptor))),
                Err(Errno::EXIST) => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
        Err(last.into())
    }
}

/// A name that is one: neither a path nor a way up.
fn one(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part == name => Ok(part),
        _ => Err(elsewhere()),
    }
}

fn elsewhere() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the path leads out of the directory")
}

/// Says of links that they are the reason: the system says "too many levels" or "not a directory".
fn no_link(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => {
            io::Error::new(io::ErrorKind::InvalidInput, "this is a link, which is not followed")
        }
        Errno::NOTDIR => io::Error::new(
            io::ErrorKind::NotADirectory,
            "this is no directory, or a link, which is not followed",
        ),
        other => other.into(),
    }
}

/// A file that is being written and gets its name when it is complete. It is deleted when dropped before.
#[derive(Debug)]
pub struct NewFile {
    folder: Folder,
    temporary: OsString,
    name: OsString,
    file: File,
    /// It has its name, or was removed.
    is_settled: AtomicBool,
}

impl NewFile {
    /// The file, for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Path of the file until it has its name, for messages.
    pub fn path(&self) -> PathBuf {
        self.folder.path.join(&self.temporary)
    }

    /// The directory that the file is in.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Gives the file its name. What stood under it is gone; if that was a link, what the link leads to stays.
    ///
    /// # Errors
    /// If it cannot be renamed, as where a directory has the name.
    pub fn place(&self) -> io::Result<()> {
        let directory = &*self.folder.descriptor;
        renameat(directory, &self.temporary, directory, &self.name)?;
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Deletes the file, unless it has its name.
    pub fn discard(&self) {
        if !self.is_settled.swap(true, Ordering::Relaxed) {
            // Only litter if it fails.
            let _ = self.folder.remove(&self.temporary);
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        self.discard();
    }
}

/// A private directory for files that other programs or libraries write, and that are renamed when they are
/// complete. It is inside the directory that they go to, so that renaming stays in one file system, and is
/// removed when dropped, with everything in it.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one, which only its owner can enter.
    ///
    /// # Errors
    /// If the directory cannot be written to.
    pub fn inside(directory: &Path) -> io::Result<Self> {
        let path = directory.join(unforeseen_name());
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Only litter if it fails.
        let _ = fs::remove_dir_all(&self.0);
    }
}
