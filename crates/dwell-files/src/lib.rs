//! Safe access to files in directories that may belong to another user.
//!
//! People analyse experiment directories that they got from others, in places where others can write. A name in such a
//! directory may be a link to a file of theirs or a pipe that no process writes to, and it may change between two
//! system calls. So everything that Dwell writes there, and everything that it reads there on behalf of another user,
//! goes through this crate:
//!
//! - [`open`] reads regular files only. A pipe or a device is an error and never blocks the caller.
//! - [`create`] and [`write`](fn@write) make a new file under an unpredictable name, in the directory of the wanted
//!   one, and rename it when it is complete. A link of the wanted name is replaced, never followed.
//! - [`Folder`] is an open directory. Paths that are opened through it stay inside it: no link is followed on the way,
//!   whatever happens to the path meanwhile.
//!
//! A path that a user names may contain links: [`Folder::open`] and [`open`] follow all of them, and [`create`] follows
//! those up to the last directory.
//!
//! `openat2` does the same in one system call, but kernels before 5.6 lack it, so this crate does not use it.

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
    AtFlags, CWD, FileType, Mode, OFlags, SeekFrom, fstat, mkdirat, openat, renameat, seek,
    unlinkat,
};
use rustix::io::Errno;

/// Flags for opening a file for reading: a pipe that no process writes to must not block the caller.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Flags for opening a directory as a starting point of paths, which needs no permission to list it.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

/// Flags for creating a file. With `EXCL`, a link of the same name is an error too.
const NEW: OFlags = OFlags::RDWR
    .union(OFlags::CLOEXEC)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW);

/// Number of random names that are tried before giving up. Names have 64 random bits.
const TRIES: usize = 16;

/// Opens a regular file for reading, without ever waiting for a pipe. Symbolic links in the path are followed, so this
/// is for paths that the user named; [`Folder::read`] is for names found inside a directory.
///
/// # Errors
/// Fails if the file cannot be opened, or if it is a directory, a pipe, a socket or a device.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    regular(openat(CWD, path.as_ref(), READ, Mode::empty())?)
}

/// Reads a regular file of at most `most` bytes into memory. A file that grows beyond the limit while it is read is an
/// error too.
///
/// # Errors
/// Fails as [`open`] does, and with `FileTooLarge` if the file is longer.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read_all(open(path)?, most)
}

/// Returns the offset of the first byte from `offset` on that is not in a hole of the file, or `None` if there is none.
/// Holes were never written and read as zeros. File systems that do not know their holes return `offset`. The position
/// of the file changes.
///
/// # Errors
/// Fails if the file cannot be examined.
pub fn next_written(file: &File, offset: u64) -> io::Result<Option<u64>> {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Some(offset)),
        Err(error) => Err(error.into()),
    }
}

/// Begins a new file that will have the name `path` when [`NewFile::place`] is called. Until then it has an
/// unpredictable name in the same directory.
///
/// ```no_run
/// use std::io::Write;
///
/// let new = dwell_files::create("experiment/findings.json")?;
/// new.file().write_all(b"{}")?;
/// new.place()?; // Without this, dropping `new` deletes the file.
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Fails if the path names no file, or if the directory cannot be written to.
pub fn create(path: impl AsRef<Path>) -> io::Result<NewFile> {
    let (directory, name) = split(path.as_ref())?;
    Folder::open(directory)?.create(name)
}

/// Writes a file as a whole and replaces what had its name. A process that opens the file finds either all new bytes or
/// what was there before. The data is not synchronised to the disk.
///
/// # Errors
/// Fails if the directory cannot be written to, or if the disk is full. The old file is then unchanged.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let new = create(path)?;
    new.file().write_all(bytes.as_ref())?;
    new.place()
}

/// Returns an unpredictable name for a temporary file or directory.
fn unforeseen_name() -> String {
    // The keys of the hasher are random, and so is its result for no input.
    let random = RandomState::new().build_hasher().finish();
    format!(".dwell-{random:016x}.part")
}

/// Splits a path into directory and name.
fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a file");
    let name = path.file_name().ok_or_else(no_name)?;
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    Ok((directory.unwrap_or(Path::new(".")), name))
}

/// Returns the file behind a descriptor, or an error if it is not a regular file.
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
    // The file may grow meanwhile.
    io::Read::read_to_end(&mut io::Read::take(file, most.saturating_add(1)), &mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// An open directory. Everything that is opened or created through it is inside it, even if another process moves the
/// directory or replaces parts of its path by links. Cloning is cheap and shares the descriptor.
#[derive(Clone, Debug)]
pub struct Folder {
    descriptor: Arc<OwnedFd>,
    path: PathBuf,
}

impl Folder {
    /// Opens the directory that a user named. Links in its path are followed, because the user may have set them up.
    /// The permission to list the directory is not needed.
    ///
    /// # Errors
    /// Fails if there is no such directory, or if it cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let descriptor = openat(CWD, &path, DIRECTORY, Mode::empty())?;
        Ok(Self { descriptor: Arc::new(descriptor), path })
    }

    /// Returns the path with which the directory was opened, for messages. It may name another directory by now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory directly inside this one. `name` must be a single name, not a path.
    ///
    /// # Errors
    /// Fails if there is no such directory, or if a link has its name.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = one(name.as_ref())?;
        let opened = openat(&*self.descriptor, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
        let descriptor = opened.map_err(no_link)?;
        Ok(Self { descriptor: Arc::new(descriptor), path: self.path.join(name) })
    }

    /// Opens a directory directly inside this one, as [`folder`](Folder::folder) does, and creates it if it does not
    /// exist.
    ///
    /// # Errors
    /// Fails if the directory cannot be created, or if a link or a file has its name.
    pub fn make_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        match mkdirat(&*self.descriptor, one(name.as_ref())?, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file in this directory, or in a directory below it, for reading. No part of the path may be a
    /// link or `..`, and the path must be relative.
    ///
    /// # Errors
    /// Fails if there is no such file, if it is not a regular file, or if the path contains a link or leads out of the
    /// directory.
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

    /// Reads a regular file of at most `most` bytes into memory. The path must satisfy the same rules as in
    /// [`read`](Folder::read).
    ///
    /// # Errors
    /// Fails as [`read`](Folder::read) does, and with `FileTooLarge` if the file is longer.
    pub fn read_bytes(&self, path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        read_all(self.read(path)?, most)
    }

    /// Begins a new file that will have the name `name` in this directory when [`NewFile::place`] is called.
    ///
    /// # Errors
    /// Fails if `name` is not a single name, or if the directory cannot be written to.
    pub fn create(&self, name: impl AsRef<OsStr>) -> io::Result<NewFile> {
        let name = one(name.as_ref())?.to_owned();
        let (temporary, file) = self.new_file()?;
        let folder = self.clone();
        Ok(NewFile { folder, temporary, name, file, is_settled: AtomicBool::new(false) })
    }

    /// Opens a regular file of this directory for writing, which another process has created and is writing as well. Its
    /// contents stay as they are.
    ///
    /// # Errors
    /// Fails if `name` is not a single name, if there is no such file, or if it is not a regular file. A link is not
    /// followed.
    pub fn reopen(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let opened = openat(&*self.descriptor, one(name.as_ref())?, flags, Mode::empty());
        regular(opened.map_err(no_link)?)
    }

    /// Writes a file of this directory as a whole and replaces what had its name, as [`write`](fn@crate::write) does.
    ///
    /// # Errors
    /// Fails if the directory cannot be written to, or if the disk is full. The old file is then unchanged.
    pub fn write(&self, name: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let new = self.create(name)?;
        new.file().write_all(bytes.as_ref())?;
        new.place()
    }

    /// Creates a file in this directory that has no name and disappears when it is closed, for temporary data on the
    /// same file system.
    ///
    /// # Errors
    /// Fails if the directory cannot be written to.
    pub fn unnamed(&self) -> io::Result<File> {
        let (name, file) = self.new_file()?;
        self.remove(&name)?;
        Ok(file)
    }

    /// Removes a file of this directory. If a link has the name, the link is removed and its target stays.
    ///
    /// # Errors
    /// Fails if there is no such file, if it is a directory, or if it cannot be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&*self.descriptor, one(name.as_ref())?, AtFlags::empty())?)
    }

    /// Creates a file under an unpredictable name that was free.
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

/// Checks that a name is a single one: neither a path nor `..`.
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

/// Explains errors that a link causes, for which the system only says "too many levels" or "not a directory".
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

/// A file that is being written and gets its name when it is complete, by [`NewFile::place`]. It is deleted if it is
/// dropped before, so a failed writer leaves nothing behind; only a killed process leaves a file `.dwell-….part`.
#[derive(Debug)]
pub struct NewFile {
    folder: Folder,
    temporary: OsString,
    name: OsString,
    file: File,
    /// `true` once the file has its name or was removed.
    is_settled: AtomicBool,
}

impl NewFile {
    /// Returns the open file, for reading and writing. It stays valid after [`NewFile::place`].
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the temporary name of the file, with which other processes can [reopen](Folder::reopen) it.
    pub fn temporary_name(&self) -> &OsStr {
        &self.temporary
    }

    /// Returns the temporary path of the file, for messages. No file has this path after [`NewFile::place`].
    pub fn path(&self) -> PathBuf {
        self.folder.path.join(&self.temporary)
    }

    /// Returns the directory that contains the file, for further files beside it.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Gives the file its name, in one step. A file of that name is replaced; if a link has the name, the link is
    /// replaced and its target stays. Call this once, after everything is written.
    ///
    /// # Errors
    /// Fails if the file cannot be renamed, for example because a directory has the name.
    pub fn place(&self) -> io::Result<()> {
        let directory = &*self.folder.descriptor;
        renameat(directory, &self.temporary, directory, &self.name)?;
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Deletes the file, unless it already has its name. Dropping does the same; this is for owners that share the file
    /// with others for longer.
    pub fn discard(&self) {
        if !self.is_settled.swap(true, Ordering::Relaxed) {
            // A failure leaves only litter behind.
            let _ = self.folder.remove(&self.temporary);
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        self.discard();
    }
}

/// A private directory for files that other programs or libraries write under names of their own, and that are renamed
/// when they are complete. It is inside the directory to which they will be moved, so that the move stays within one
/// file system. Dropping it removes it with everything in it.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a private directory inside `directory`, with an unpredictable name and permissions for its owner only.
    ///
    /// # Errors
    /// Fails if the directory cannot be written to.
    pub fn inside(directory: &Path) -> io::Result<Self> {
        let path = directory.join(unforeseen_name());
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// Returns the path of the private directory, which other programs can be given.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failure leaves only litter behind.
        let _ = fs::remove_dir_all(&self.0);
    }
}
