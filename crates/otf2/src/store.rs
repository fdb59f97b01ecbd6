//! Access to the files of an archive, which are in a directory or in memory.
//!
//! Readers name a file and a range of bytes; they hold no open file. A [`Directory`] keeps a bounded number of files
//! open, so that many threads can read an archive of a hundred thousand locations without coming near the limits of the
//! operating system.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use crate::id::LocationRef;

/// Names one file of an archive, without its directory and the name of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// The anchor file `NAME.otf2`, which every archive has.
    Anchor,
    /// The global definitions `NAME.def`, which every complete archive has.
    GlobalDefs,
    /// The local definitions `NAME/LOCATION.def` of a location: its mapping tables and clock offsets. A location
    /// without any has no such file.
    LocalDefs(LocationRef),
    /// The events `NAME/LOCATION.evt` of a location.
    Events(LocationRef),
    /// The snapshots `NAME/LOCATION.snap` of a location, which few archives have.
    Snapshots(LocationRef),
    /// The markers `NAME.marker`, which tools may add to a finished archive.
    Markers,
    /// The thumbnail `NAME.NUMBER.thumb`, a preview of the trace. Numbers count from 0.
    Thumbnail(u32),
}

impl FileKind {
    /// Returns the path of the file, relative to the directory of the archive, whose anchor is `name` with the
    /// extension `.otf2`.
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

    /// Returns the location to which the file belongs, or `None` for files of the archive as a whole.
    pub fn location(self) -> Option<LocationRef> {
        match self {
            Self::LocalDefs(location) | Self::Events(location) | Self::Snapshots(location) => {
                Some(location)
            }
            _ => None,
        }
    }
}

/// Gives access to the files of one archive, wherever they are stored. [`Directory`] and [`Memory`] implement it;
/// another implementation could read from a container or over a network.
///
/// Several threads call the methods at once, on the same file or on different ones.
pub trait Store: Send + Sync + fmt::Debug {
    /// Returns the size of a file in bytes.
    ///
    /// # Errors
    /// Fails with `NotFound` if the archive has no such file.
    fn size(&self, file: FileKind) -> io::Result<u64>;

    /// Reads bytes from `offset` on until `bytes` is full or the file ends, and returns the number of bytes read. An
    /// offset at or behind the end of the file gives 0.
    ///
    /// # Errors
    /// Fails with `NotFound` if the archive has no such file, and otherwise with the error of the operating system.
    fn read_at(&self, file: FileKind, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// Returns the path by which error messages name the file.
    fn describe(&self, file: FileKind) -> PathBuf;
}

/// An archive in a directory of the file system.
///
/// The directory opens files when they are read and keeps them open, by default up to 256. Beyond that number, a file is
/// opened for each read: analyses read the files of all locations in turn, so the one that was opened first is the next
/// to be read, and closing it for another would open every file each time. Local definitions are read once and not kept
/// open. Only regular files are opened, so a pipe cannot block a reader.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    name: String,
    open: Mutex<BTreeMap<FileKind, Arc<File>>>,
    most: usize,
}

/// Default number of files that a [`Directory`] keeps open, far below the usual limit of 1,024 for a process.
const OPEN_FILES: usize = 256;

impl Directory {
    /// Names the archive called `name` in the directory `path`, which holds `name.otf2`. The file system is not
    /// accessed until a file is read.
    pub fn new(path: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self { path: path.into(), name: name.into(), open: Mutex::default(), most: OPEN_FILES }
    }

    /// Sets the number of files that are kept open between reads. Threads that read at the moment may hold a few more.
    /// A value of 0 counts as 1.
    #[must_use]
    pub fn open_files(mut self, most: usize) -> Self {
        self.most = most.max(1);
        self
    }

    /// Returns the directory that holds the anchor file of the archive.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the archive, which is the name of the anchor file without `.otf2`.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn file(&self, kind: FileKind) -> io::Result<Arc<File>> {
        let lock = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = lock().get(&kind) {
            return Ok(Arc::clone(file));
        }
        // Opening may take long on a parallel file system, so it happens without the lock.
        let path = self.describe(kind);
        // Opening a pipe that no process writes to would block for ever.
        if !std::fs::metadata(&path)?.is_file() {
            let why = "this is not a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let file = Arc::new(File::open(path)?);
        let mut open = lock();
        if open.len() < self.most && !matches!(kind, FileKind::LocalDefs(_)) {
            open.insert(kind, Arc::clone(&file));
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

/// Reads until `bytes` is full or the file ends, and returns the number of bytes read. Interrupted reads are repeated.
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

/// An archive in memory, for tests and for programs that receive an archive by other means than files.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: BTreeMap<FileKind, Arc<[u8]>>,
}

impl Memory {
    /// Adds a file to the archive, and replaces one of the same name. The bytes are not checked.
    pub fn insert(&mut self, file: FileKind, bytes: impl Into<Arc<[u8]>>) {
        self.files.insert(file, bytes.into());
    }

    /// Removes a file from the archive. Nothing happens if the archive does not have it.
    pub fn remove(&mut self, file: FileKind) {
        self.files.remove(&file);
    }

    /// Returns the bytes of a file, or `None` if the archive does not have it.
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
        let all = self.bytes(file)?;
        let rest = usize::try_from(offset).ok().and_then(|from| all.get(from..));
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

/// Finds the directory and the name of the archive that a user means by a path: either the anchor file, or a directory
/// that holds exactly one.
pub(crate) fn find(path: &Path) -> io::Result<(PathBuf, String)> {
    let split = |anchor: &Path| {
        let name = anchor.file_stem()?.to_str()?.to_owned();
        let parent = anchor.parent()?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        Some((parent.to_owned(), name))
    };
    let not_found = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if !path.try_exists()? {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no such file or directory"));
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_not_found_in_any_store() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::new(folder.path(), "traces");
        let mut memory = Memory::default();
        memory.insert(FileKind::GlobalDefs, [1, 2, 3].as_slice());
        std::fs::write(directory.describe(FileKind::GlobalDefs), [1, 2, 3]).unwrap();
        let stores: [&dyn Store; 2] = [&directory, &memory];
        for store in stores {
            let bytes = &mut [0; 2];
            for (offset, count) in [(0, 2), (2, 1), (3, 0), (u64::from(u32::MAX), 0)] {
                let found = store.read_at(FileKind::GlobalDefs, offset, bytes);
                assert_eq!(found.unwrap(), count, "{store:?} at {offset}");
            }
            for offset in [0, 7] {
                let error = store.read_at(FileKind::Markers, offset, bytes).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::NotFound, "{store:?}");
            }
            let error = store.size(FileKind::Markers).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{store:?}");
        }
    }

    #[test]
    fn files_that_are_open_stay_open() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::new(folder.path(), "traces").open_files(2);
        std::fs::create_dir(folder.path().join("traces")).unwrap();
        let events = |number| FileKind::Events(LocationRef(number));
        let definitions = FileKind::LocalDefs(LocationRef(0));
        let files = [definitions, events(0), events(1), events(2)];
        for (file, byte) in files.into_iter().zip(7..) {
            std::fs::write(directory.describe(file), [byte]).unwrap();
        }
        for _ in 0..2 {
            for (file, byte) in files.into_iter().zip(7..) {
                let bytes = &mut [0];
                assert_eq!(directory.read_at(file, 0, bytes).unwrap(), 1);
                assert_eq!(*bytes, [byte]);
            }
            let open = directory.open.lock().unwrap();
            assert_eq!(open.keys().copied().collect::<Vec<_>>(), [events(0), events(1)]);
        }
    }
}
