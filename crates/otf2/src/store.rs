//! Where the files of an archive are: a directory, or memory.
//!
//! Readers name a file and a range; they hold no open file. A [`Directory`] keeps a bounded number
//! of files open, so that an archive of a hundred thousand locations can be read by many threads
//! without coming near the limits of the operating system.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use crate::id::LocationRef;

/// A file of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// `NAME.otf2`
    Anchor,
    /// `NAME.def`
    GlobalDefs,
    /// `NAME/LOCATION.def`
    LocalDefs(LocationRef),
    /// `NAME/LOCATION.evt`
    Events(LocationRef),
    /// `NAME/LOCATION.snap`
    Snapshots(LocationRef),
    /// `NAME.marker`
    Markers,
    /// `NAME.NUMBER.thumb`
    Thumbnail(u32),
}

impl FileKind {
    /// Path of the file, relative to the directory of the archive called `name`.
    pub fn path(self, name: &str) -> PathBuf {
        match self {
            Self::Anchor => format!("{name}.otf2"),
            Self::GlobalDefs => format!("{name}.def"),
            Self::LocalDefs(location) => format!("{name}/{}.def", location.0),
            Self::Events(location) => format!("{name}/{}.evt", location.0),
            Self::Snapshots(location) => format!("{name}/{}.snap", location.0),
            Self::Markers => format!("{name}.marker"),
            Self::Thumbnail(number) => format!("{name}.{number}.thumb"),
        }
        .into()
    }

    /// The location whose file it is.
    pub fn location(self) -> Option<LocationRef> {
        match self {
            Self::LocalDefs(location) | Self::Events(location) | Self::Snapshots(location) => {
                Some(location)
            }
            _ => None,
        }
    }
}

/// Gives the bytes of the files of one archive.
pub trait Store: Send + Sync + fmt::Debug {
    /// Size of a file.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    fn size(&self, file: FileKind) -> io::Result<u64>;

    /// Reads bytes from `offset` on, as many as there are and fit.
    ///
    /// # Errors
    /// `NotFound` if there is no such file, else what the operating system says.
    fn read_at(&self, file: FileKind, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// How to call the file in a message.
    fn describe(&self, file: FileKind) -> PathBuf;
}

/// An archive in a directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    name: String,
    open: Mutex<Open>,
    most: usize,
}

/// Open files, the oldest first.
#[derive(Debug, Default)]
struct Open {
    files: BTreeMap<FileKind, Arc<File>>,
    order: VecDeque<FileKind>,
}

/// Files kept open unless told otherwise: far below the usual limit of 1,024 for a process.
const OPEN_FILES: usize = 256;

impl Directory {
    /// The archive called `name` in the directory `path`.
    pub fn new(path: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self { path: path.into(), name: name.into(), open: Mutex::default(), most: OPEN_FILES }
    }

    /// Keeps at most `most` files open, besides those being read at the moment.
    #[must_use]
    pub fn open_files(mut self, most: usize) -> Self {
        self.most = most.max(1);
        self
    }

    /// Directory of the archive.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the archive.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn file(&self, kind: FileKind) -> io::Result<Arc<File>> {
        let lock = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = lock().files.get(&kind) {
            return Ok(Arc::clone(file));
        }
        // Opening may take long on a parallel file system: not under the lock.
        let path = self.describe(kind);
        // Opening a pipe that nobody writes to would wait for ever.
        if !std::fs::metadata(&path)?.is_file() {
            let why = "this is not a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let file = Arc::new(File::open(path)?);
        let mut open = lock();
        if open.files.insert(kind, Arc::clone(&file)).is_none() {
            open.order.push_back(kind);
        }
        if open.order.len() > self.most
            && let Some(oldest) = open.order.pop_front()
        {
            open.files.remove(&oldest);
        }
        Ok(file)
    }
}

impl Store for Directory {
    fn size(&self, file: FileKind) -> io::Result<u64> {
        Ok(std::fs::metadata(self.describe(file))?.len())
    }

    fn read_at(&self, file: FileKind, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        read_full(&*self.file(file)?, offset, bytes)
    }

    fn describe(&self, file: FileKind) -> PathBuf {
        self.path.join(file.path(&self.name))
    }
}

/// Reads until the bytes are full or the file ends.
pub(crate) fn read_full(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// An archive in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: BTreeMap<FileKind, Arc<[u8]>>,
}

impl Memory {
    /// Puts a file into the archive, in place of one that may be there.
    pub fn insert(&mut self, file: FileKind, bytes: impl Into<Arc<[u8]>>) {
        self.files.insert(file, bytes.into());
    }

    /// Takes a file out of the archive.
    pub fn remove(&mut self, file: FileKind) {
        self.files.remove(&file);
    }

    /// The bytes of a file.
    pub fn get(&self, file: FileKind) -> Option<&[u8]> {
        self.files.get(&file).map(AsRef::as_ref)
    }

    fn bytes(&self, file: FileKind) -> io::Result<&[u8]> {
        self.get(file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Store for Memory {
    fn size(&self, file: FileKind) -> io::Result<u64> {
        Ok(self.bytes(file)?.len() as u64)
    }

    fn read_at(&self, file: FileKind, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|from| self.bytes(file).ok()?.get(from..));
        let rest = rest.unwrap_or_default();
        let length = rest.len().min(bytes.len());
        if let (Some(to), Some(from)) = (bytes.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }

    fn describe(&self, file: FileKind) -> PathBuf {
        Path::new("memory").join(file.path("traces"))
    }
}

/// Splits a path that a person gave into directory and name of the archive.
///
/// It may be the anchor file, or a directory that holds just one.
pub(crate) fn find(path: &Path) -> io::Result<(PathBuf, String)> {
    let split = |anchor: &Path| {
        let name = anchor.file_stem()?.to_str()?.to_owned();
        let parent = anchor.parent()?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        Some((parent.to_owned(), name))
    };
    let not_found = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if !path.is_dir() {
        let is_anchor = path.extension().is_some_and(|extension| extension == "otf2");
        return split(path).filter(|_| is_anchor).ok_or_else(|| {
            not_found("give the `.otf2` file of an archive, or the directory it is in".into())
        });
    }
    let mut anchors = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?.path();
        if entry.extension().is_some_and(|extension| extension == "otf2") {
            anchors.push(entry);
        }
    }
    anchors.sort();
    match anchors.as_slice() {
        [anchor] => split(anchor).ok_or_else(|| not_found("its name is not valid text".into())),
        [] => Err(not_found(
            "no `.otf2` file here: not an archive, or its writer died before closing it".into(),
        )),
        [first, ..] => Err(not_found(format!(
            "{} archives here; name one of them, such as {}",
            anchors.len(),
            first.display()
        ))),
    }
}
