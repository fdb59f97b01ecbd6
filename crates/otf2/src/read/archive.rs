//! An archive, open for reading.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::anchor::{self, Anchor};
use crate::error::{Error, ErrorKind, Result};
use crate::id::LocationRef;
use crate::read::contexts::Regions;
use crate::read::events::EventReader;
use crate::read::index::Definitions;
use crate::read::local::LocalTables;
use crate::read::merge::MergedReader;
use crate::read::records::{DefReader, MarkerReader, RecordReader, ThumbnailReader};
use crate::read::snapshots::SnapshotReader;
use crate::read::stream::{Stream, WINDOW};
use crate::record::Scope;
use crate::store::{self, Directory, FileKind, Store};

/// Chunk size of thumbnail files in bytes, which the format fixes.
pub(crate) const THUMBNAIL_CHUNK: u64 = 1024 * 1024;

/// An archive that is open for reading. Cloning it is cheap, and many threads can use clones at once.
///
/// Opening reads the anchor only; every other file is opened when it is asked for. A damaged or missing file of one
/// location therefore does not affect the others.
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
    /// Number of events that the definition of each location states, once the definitions were read.
    stated: Arc<OnceLock<HashMap<LocationRef, u64>>>,
    /// Regions of calling contexts, once the definitions were read.
    regions: Arc<OnceLock<Regions>>,
    /// Set if events of calling contexts are read as those of their regions.
    by_region: bool,
}

/// Finds the archive that a path names.
fn directory(path: &Path) -> Result<Directory> {
    let found = store::find(path).map_err(|error| Error::new(ErrorKind::Io(error)).at(path));
    found.map(|(directory, name)| Directory::new(directory, name))
}

/// Returns the number of events that the definition of each location states. The first definition of a location counts.
fn stated(definitions: &Definitions) -> HashMap<LocationRef, u64> {
    let mut all = HashMap::new();
    for location in definitions.locations() {
        all.entry(location.id).or_insert(location.number_of_events);
    }
    all
}

impl Archive {
    /// Opens the archive with this anchor file (`NAME.otf2`), or the only archive in this directory.
    ///
    /// # Errors
    /// Fails if there is no such archive, if the directory holds several, or if this crate cannot read its format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_store(Arc::new(directory(path.as_ref())?))
    }

    /// Opens an archive as [`Archive::open`] does, and keeps up to `most` of its files open between reads. An analysis
    /// that reads many locations in turn is faster if all of them fit.
    ///
    /// # Errors
    /// Fails as [`Archive::open`] does.
    pub fn open_keeping(path: impl AsRef<Path>, most: usize) -> Result<Self> {
        Self::from_store(Arc::new(directory(path.as_ref())?.open_files(most)))
    }

    /// Opens the archive whose files a [`Store`] provides, for example an archive in memory.
    ///
    /// # Errors
    /// Fails if the anchor is missing or damaged, or if this crate cannot read the format of the archive.
    pub fn from_store(store: Arc<dyn Store>) -> Result<Self> {
        let read = || {
            let size = store.size(FileKind::Anchor).map_err(Error::io)?;
            let mut bytes = vec![0; size.min(anchor::MOST) as usize];
            let read = store.read_at(FileKind::Anchor, 0, &mut bytes).map_err(Error::io)?;
            bytes.truncate(read);
            Anchor::read(&bytes)
        };
        let anchor = read().map_err(|error| error.at(store.describe(FileKind::Anchor)))?;
        Ok(Self {
            store,
            anchor: Arc::new(anchor),
            stated: Arc::default(),
            regions: Arc::default(),
            by_region: false,
        })
    }

    /// Makes readers give enters and leaves of calling contexts as [`Enter`](crate::event::Enter) and
    /// [`Leave`](crate::event::Leave) of their regions, as libotf2 does for readers that know no calling contexts. Tools write the former if
    /// they unwind the stack. It takes effect once [`Archive::definitions`] was called.
    #[must_use]
    pub fn by_region(self) -> Self {
        Self { by_region: true, ..self }
    }

    /// Returns the contents of the anchor file, which were read when the archive was opened.
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// Returns the store that provides the files, for callers that need their sizes, paths or raw bytes.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn stream(&self, file: FileKind, block: usize) -> Result<Stream> {
        let chunk_size = match file {
            FileKind::Events(_) | FileKind::Snapshots(_) => self.anchor.events_chunk,
            FileKind::Thumbnail(_) => THUMBNAIL_CHUNK,
            _ => self.anchor.defs_chunk,
        };
        let checked = self.anchor.has_checksums();
        Stream::open(Arc::clone(&self.store), file, checked, chunk_size, block)
    }

    /// Opens a reader that gives the global definitions one by one, in the order of the file. Use
    /// [`Archive::definitions`] to look up definitions by id.
    ///
    /// # Errors
    /// Fails if the file is missing or does not begin with a chunk header.
    pub fn global_definitions(&self) -> Result<DefReader> {
        Ok(RecordReader::new(self.stream(FileKind::GlobalDefs, WINDOW)?, Scope::Global))
    }

    /// Reads all global definitions into memory, for look-ups by id. Damage ends the reading and becomes
    /// [`Definitions::warning`]; the definitions before it are kept.
    ///
    /// Readers of events that are opened afterwards, from this archive or its clones, compare the number of their events
    /// with the number that the definition of the location states.
    ///
    /// # Errors
    /// Fails if the file is missing or does not begin with a chunk header.
    pub fn definitions(&self) -> Result<Definitions> {
        let definitions = Definitions::read(self.global_definitions()?);
        self.stated.get_or_init(|| stated(&definitions));
        if self.by_region {
            self.regions.get_or_init(|| Regions::of(&definitions));
        }
        Ok(definitions)
    }

    /// Returns the number of events that the definition of a location states, or `u64::MAX` if it states none or the
    /// definitions were not read.
    fn stated(&self, location: LocationRef) -> u64 {
        let all = self.stated.get();
        all.and_then(|all| all.get(&location)).copied().unwrap_or(u64::MAX)
    }

    /// Opens a reader for the local definitions of a location, or returns `None` if the location has no such file. Use
    /// [`Archive::local_tables`] to get them in usable form.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not begin with a chunk header.
    pub fn local_definitions(&self, location: LocationRef) -> Result<Option<DefReader>> {
        match self.stream(FileKind::LocalDefs(location), WINDOW) {
            Ok(stream) => Ok(Some(RecordReader::new(stream, Scope::Local))),
            Err(error) if matches!(error.kind(), ErrorKind::Missing) => {
                let needed = self.anchor.has_local_definitions()
                    && self.size(FileKind::Events(location))?.is_some();
                if needed { Err(error) } else { Ok(None) }
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the mapping tables and clock offsets of a location. Damage becomes a warning in the result, with what was
    /// read before it; a missing file gives empty tables.
    pub fn local_tables(&self, location: LocationRef) -> LocalTables {
        match self.local_definitions(location) {
            Ok(Some(reader)) => LocalTables::read(reader),
            Ok(None) => LocalTables::default(),
            Err(error) => LocalTables { warnings: vec![error], ..LocalTables::default() },
        }
    }

    /// Opens a reader for the events of a location, with global ids and corrected times. Damage in the local
    /// definitions of the location is ignored; callers that want to report it use [`Archive::local_tables`] and
    /// [`Archive::events_with`].
    ///
    /// # Errors
    /// Fails if the event file is missing or does not begin with a chunk header.
    pub fn events(&self, location: LocationRef) -> Result<EventReader> {
        self.events_with(location, &self.local_tables(location), WINDOW)
    }

    /// Opens a reader for the events of a location that translates ids and times by the given tables. With
    /// [`LocalTables::default`] ids and times stay as they are in the file. The reader holds about `window` bytes of
    /// the file in memory, at least 4 KiB.
    ///
    /// # Errors
    /// Fails if the event file is missing or does not begin with a chunk header.
    pub fn events_with(
        &self,
        location: LocationRef,
        tables: &LocalTables,
        window: usize,
    ) -> Result<EventReader> {
        let stream = self.stream(FileKind::Events(location), window)?;
        let regions = self.regions.get().filter(|_| self.by_region).cloned().unwrap_or_default();
        Ok(EventReader::new(location, stream, tables, self.stated(location)).by_region(regions))
    }

    /// Opens a reader that merges the events of several locations by time and takes about `memory` bytes in all, but at
    /// least 4 KiB for each location.
    ///
    /// A location that cannot be read does not hide the others: the reader returns its error once and continues with
    /// the others.
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

    /// Opens a reader for the snapshots of a location, or returns `None` if the location has no such file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not begin with a chunk header.
    pub fn snapshots(&self, location: LocationRef) -> Result<Option<SnapshotReader>> {
        match self.stream(FileKind::Snapshots(location), WINDOW) {
            Ok(stream) => Ok(Some(SnapshotReader::new(stream))),
            Err(error) if matches!(error.kind(), ErrorKind::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a reader for the markers, or returns `None` if the archive has no marker file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not begin with a chunk header.
    pub fn markers(&self) -> Result<Option<MarkerReader>> {
        match self.stream(FileKind::Markers, WINDOW) {
            Ok(stream) => Ok(Some(RecordReader::new(stream, Scope::Global))),
            Err(error) if matches!(error.kind(), ErrorKind::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a reader for one thumbnail. Numbers count from 0 to [`Anchor::thumbnails`], exclusive.
    ///
    /// # Errors
    /// Fails if the file is missing or does not begin with a chunk header.
    pub fn thumbnail(&self, number: u32) -> Result<ThumbnailReader> {
        Ok(RecordReader::new(self.stream(FileKind::Thumbnail(number), WINDOW)?, Scope::Global))
    }

    /// Returns the size of a file of the archive in bytes, or `None` if the archive has no such file.
    ///
    /// # Errors
    /// Fails with the error of the operating system.
    pub fn size(&self, file: FileKind) -> Result<Option<u64>> {
        match self.store.size(file) {
            Ok(size) => Ok(Some(size)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(error).at(self.store.describe(file))),
        }
    }
}
