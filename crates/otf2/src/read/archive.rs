//! An archive, open for reading.

use std::path::Path;
use std::sync::Arc;

use crate::anchor::{self, Anchor};
use crate::error::{Error, ErrorKind, Result};
use crate::id::LocationRef;
use crate::read::events::EventReader;
use crate::read::index::Definitions;
use crate::read::local::LocalTables;
use crate::read::merge::MergedReader;
use crate::read::records::{DefReader, MarkerReader, RecordReader, ThumbnailReader};
use crate::read::snapshots::SnapshotReader;
use crate::read::stream::{Stream, WINDOW};
use crate::record::Scope;
use crate::store::{self, Directory, FileKind, Store};

/// Size of the chunks of thumbnail files: the format fixes it.
pub(crate) const THUMBNAIL_CHUNK: u64 = 1024 * 1024;

/// An archive, open for reading. Cloning is cheap, and clones may be used by many threads at once.
///
/// ```no_run
/// use otf2::{Archive, Event};
///
/// let archive = Archive::open("run/traces.otf2")?;
/// for location in archive.definitions()?.locations() {
///     let mut events = archive.events(location.id)?;
///     while let Some(record) = events.next()? {
///         if let Event::RmaGet(get) = record.event {
///             println!("{}: {} bytes from rank {}", record.time, get.bytes, get.remote);
///         }
///     }
/// }
/// # Ok::<(), otf2::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Archive {
    store: Arc<dyn Store>,
    anchor: Arc<Anchor>,
}

impl Archive {
    /// Opens the archive with this anchor file (`NAME.otf2`), or the only one in this directory.
    ///
    /// # Errors
    /// If there is no such archive, or it is of a kind that this crate does not read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (directory, name) =
            store::find(path).map_err(|error| Error::new(ErrorKind::Io(error)).at(path))?;
        Self::from_store(Arc::new(Directory::new(directory, name)))
    }

    /// Opens the archive of a store.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_store(store: Arc<dyn Store>) -> Result<Self> {
        let read = || {
            let size = store.size(FileKind::Anchor).map_err(Error::io)?;
            let mut bytes = vec![0; size.min(anchor::MOST) as usize];
            let read = store.read_at(FileKind::Anchor, 0, &mut bytes).map_err(Error::io)?;
            bytes.truncate(read);
            Anchor::read(&bytes)
        };
        let anchor = read().map_err(|error| error.at(store.describe(FileKind::Anchor)))?;
        Ok(Self { store, anchor: Arc::new(anchor) })
    }

    /// What the anchor file says.
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// Where the files are.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn stream(&self, file: FileKind, block: usize) -> Result<Stream> {
        let chunk_size = match file {
            FileKind::Events(_) | FileKind::Snapshots(_) => self.anchor.events_chunk,
            FileKind::Thumbnail(_) => THUMBNAIL_CHUNK,
            _ => self.anchor.defs_chunk,
        };
        Stream::open(Arc::clone(&self.store), file, chunk_size, block)
    }

    /// Streams the global definitions.
    ///
    /// # Errors
    /// If the file is missing or has no beginning.
    pub fn global_definitions(&self) -> Result<DefReader> {
        Ok(RecordReader::new(self.stream(FileKind::GlobalDefs, WINDOW)?, Scope::Global))
    }

    /// Reads all global definitions into memory. Damage ends the reading and becomes a warning.
    ///
    /// # Errors
    /// If the file is missing or has no beginning.
    pub fn definitions(&self) -> Result<Definitions> {
        Ok(Definitions::read(self.global_definitions()?))
    }

    /// Streams the definitions of a location; `None` if it has no such file.
    ///
    /// # Errors
    /// If the file cannot be read or has no beginning.
    pub fn local_definitions(&self, location: LocationRef) -> Result<Option<DefReader>> {
        match self.stream(FileKind::LocalDefs(location), WINDOW) {
            Ok(stream) => Ok(Some(RecordReader::new(stream, Scope::Local))),
            Err(error) if matches!(error.kind(), ErrorKind::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Mapping tables and clock offsets of a location. Damage becomes a warning.
    pub fn local_tables(&self, location: LocationRef) -> LocalTables {
        match self.local_definitions(location) {
            Ok(Some(reader)) => LocalTables::read(reader),
            Ok(None) => LocalTables::default(),
            Err(error) => LocalTables { warnings: vec![error], ..LocalTables::default() },
        }
    }

    /// Streams the events of a location, with global ids and corrected times.
    ///
    /// # Errors
    /// If the file is missing or has no beginning.
    pub fn events(&self, location: LocationRef) -> Result<EventReader> {
        self.events_with(location, &self.local_tables(location), WINDOW)
    }

    /// Streams the events of a location with tables of the caller's choice; the default ones leave
    /// ids and times as they are in the file. The window takes about `window` bytes.
    ///
    /// # Errors
    /// If the file is missing or has no beginning.
    pub fn events_with(
        &self,
        location: LocationRef,
        tables: &LocalTables,
        window: usize,
    ) -> Result<EventReader> {
        let stream = self.stream(FileKind::Events(location), window)?;
        Ok(EventReader::new(location, stream, tables))
    }

    /// Streams the events of several locations merged by time, in about `memory` bytes.
    ///
    /// A location that cannot be read does not hide the others: the reader returns its error and goes
    /// on.
    pub fn merged(
        &self,
        locations: impl IntoIterator<Item = LocationRef>,
        memory: usize,
    ) -> MergedReader {
        let locations: Vec<_> = locations.into_iter().collect();
        let window = memory / locations.len().max(1);
        let mut merged = MergedReader::default();
        for location in locations {
            let tables = self.local_tables(location);
            match self.events_with(location, &tables, window) {
                Ok(reader) => merged.add(reader),
                Err(error) => merged.report(error),
            }
            tables.warnings.into_iter().for_each(|warning| merged.report(warning));
        }
        merged
    }

    /// Streams the snapshots of a location; `None` if it has no such file.
    ///
    /// # Errors
    /// If the file cannot be read or has no beginning.
    pub fn snapshots(&self, location: LocationRef) -> Result<Option<SnapshotReader>> {
        match self.stream(FileKind::Snapshots(location), WINDOW) {
            Ok(stream) => Ok(Some(SnapshotReader::new(stream))),
            Err(error) if matches!(error.kind(), ErrorKind::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Streams the markers; `None` if the archive has none.
    ///
    /// # Errors
    /// If the file cannot be read or has no beginning.
    pub fn markers(&self) -> Result<Option<MarkerReader>> {
        match self.stream(FileKind::Markers, WINDOW) {
            Ok(stream) => Ok(Some(RecordReader::new(stream, Scope::Global))),
            Err(error) if matches!(error.kind(), ErrorKind::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Streams a thumbnail. The anchor says how many there are.
    ///
    /// # Errors
    /// If the file is missing or has no beginning.
    pub fn thumbnail(&self, number: u32) -> Result<ThumbnailReader> {
        Ok(RecordReader::new(self.stream(FileKind::Thumbnail(number), WINDOW)?, Scope::Global))
    }

    /// Size of a file of the archive; `None` if it has no such file.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn size(&self, file: FileKind) -> Result<Option<u64>> {
        match self.store.size(file) {
            Ok(size) => Ok(Some(size)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(error).at(self.store.describe(file))),
        }
    }
}
