//! An archive, being written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::anchor::Anchor;
use crate::chunk;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::id::LocationRef;
use crate::read::THUMBNAIL_CHUNK;
use crate::store::{Directory, FileKind, Store};
use crate::wire::ByteOrder;
use crate::write::events::{EventWriter, SnapshotWriter};
use crate::write::records::{Counts, DefWriter, MarkerWriter, RecordWriter, ThumbnailWriter};

/// How to write an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of event chunks: 256 KiB to 16 MiB.
    pub events_chunk: u64,
    /// Size of definition chunks, in the same range. The largest definition must fit.
    pub defs_chunk: u64,
    /// Byte order. Little endian is the fast one.
    pub order: ByteOrder,
    /// Name of the machine.
    pub machine: String,
    /// Who writes the archive.
    pub creator: String,
    /// What it holds.
    pub description: String,
    /// Names and values of properties, see [`Anchor::properties`].
    pub properties: Vec<(String, String)>,
    /// A number that tells traces apart.
    pub trace_id: u64,
    /// Number of snapshots that each location has.
    pub snapshots: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            events_chunk: chunk::EVENTS_SIZE,
            defs_chunk: chunk::DEFS_SIZE,
            order: ByteOrder::Little,
            machine: String::new(),
            creator: String::new(),
            description: String::new(),
            properties: Vec::new(),
            trace_id: 1,
            snapshots: 0,
        }
    }
}

impl Options {
    /// The least size of definition chunks for an archive of this many locations: the list of all
    /// of them is one definition.
    pub fn defs_chunk_for(locations: u64) -> u64 {
        let id_bytes = 1 + u64::from(u64::BITS - locations.leading_zeros()).div_ceil(8);
        let group = locations.saturating_mul(id_bytes).saturating_add(1024);
        group.next_power_of_two().clamp(chunk::DEFS_SIZE, chunk::MAX_SIZE)
    }
}

/// An archive, being written. Its writers may be used on different threads.
#[derive(Debug)]
pub struct ArchiveWriter {
    store: Directory,
    options: Options,
    counts: Arc<Counts>,
    thumbnails: AtomicU32,
}

impl ArchiveWriter {
    /// Makes the archive called `name` in a directory, which is made if need be.
    ///
    /// # Errors
    /// If there is an archive of that name already, or files cannot be made there.
    pub fn create(
        directory: impl AsRef<Path>,
        name: impl Into<String>,
        options: Options,
    ) -> Result<Self> {
        let writer = Self::join(directory, name, options)?;
        let store = &writer.store;
        fs::create_dir_all(store.path()).map_err(|error| Error::io(error).at(store.path()))?;
        let locations = store.path().join(store.name());
        fs::create_dir(&locations).map_err(|error| {
            match error.kind() {
                io::ErrorKind::AlreadyExists => Error::new(ErrorKind::Exists),
                _ => Error::io(error),
            }
            .at(&locations)
        })?;
        Ok(writer)
    }

    /// A writer for an archive whose directories are there already: for a process that writes part
    /// of the archive of many. Only one of them [finishes](Self::finish) it.
    ///
    /// # Errors
    /// If the options are not those of any archive.
    pub fn join(
        directory: impl AsRef<Path>,
        name: impl Into<String>,
        options: Options,
    ) -> Result<Self> {
        let store = Directory::new(directory.as_ref(), name);
        for size in [options.events_chunk, options.defs_chunk] {
            if !(chunk::MIN_SIZE..=chunk::MAX_SIZE).contains(&size) {
                return Err(Error::new(ErrorKind::ChunkSize(size)).at(store.path()));
            }
        }
        for (name, value) in &options.properties {
            if !Anchor::is_property_name(name) || value.is_empty() {
                return Err(Error::new(ErrorKind::Property(name.clone())).at(store.path()));
            }
        }
        Ok(Self { store, options, counts: Arc::default(), thumbnails: AtomicU32::new(0) })
    }

    /// Says what the anchor will state, for global definitions that were written by another.
    pub(crate) fn set_counts(&self, locations: u64, definitions: u64) {
        self.counts.locations.store(locations, Ordering::Relaxed);
        self.counts.definitions.store(definitions, Ordering::Relaxed);
    }

    /// Memory for the event chunks of a location.
    fn chunk_memory(&self) -> Vec<u8> {
        vec![0; usize::try_from(self.options.events_chunk).unwrap_or_default()]
    }

    fn path(&self, file: FileKind) -> PathBuf {
        self.store.describe(file)
    }

    /// Writes the events of a location. Every location needs an event file, even an empty one.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn events(&self, location: LocationRef) -> Result<EventWriter> {
        self.events_in(location, self.chunk_memory())
    }

    /// As [`ArchiveWriter::events`], in chunk memory used before: of
    /// [`EventSummary::memory`](crate::write::EventSummary::memory).
    ///
    /// # Errors
    /// If the file cannot be made, or the memory has not the size of a chunk.
    pub fn events_in(&self, location: LocationRef, memory: Vec<u8>) -> Result<EventWriter> {
        let path = self.path(FileKind::Events(location));
        if memory.len() as u64 != self.options.events_chunk {
            return Err(Error::new(ErrorKind::ChunkSize(memory.len() as u64)).at(path));
        }
        EventWriter::create(path, location, memory, self.options.order)
    }

    /// Writes the snapshots of a location.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn snapshots(&self, location: LocationRef) -> Result<SnapshotWriter> {
        let path = self.path(FileKind::Snapshots(location));
        SnapshotWriter::create(path, location, self.chunk_memory(), self.options.order)
    }

    /// Writes the definitions of a location: mapping tables and clock offsets.
    ///
    /// Readers do without this file, but the C library complains on standard error.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn local_definitions(&self, location: LocationRef) -> Result<DefWriter> {
        self.records(FileKind::LocalDefs(location), None)
    }

    /// Writes the global definitions.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn global_definitions(&self) -> Result<DefWriter> {
        self.records(FileKind::GlobalDefs, Some(Arc::clone(&self.counts)))
    }

    /// Writes markers.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn markers(&self) -> Result<MarkerWriter> {
        self.records(FileKind::Markers, None)
    }

    /// Writes a thumbnail.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn thumbnail(&self) -> Result<ThumbnailWriter> {
        let number = self.thumbnails.fetch_add(1, Ordering::Relaxed);
        let path = self.path(FileKind::Thumbnail(number));
        RecordWriter::create(path, THUMBNAIL_CHUNK, self.options.order, None)
    }

    fn records<R>(&self, file: FileKind, counts: Option<Arc<Counts>>) -> Result<RecordWriter<R>> {
        let Options { defs_chunk, order, .. } = self.options;
        RecordWriter::create(self.path(file), defs_chunk, order, counts)
    }

    /// Writes the anchor, which makes the archive complete.
    ///
    /// # Errors
    /// If the anchor cannot be written.
    pub fn finish(self) -> Result<()> {
        let Options { events_chunk, defs_chunk, order, trace_id, snapshots, .. } = self.options;
        let anchor = Anchor {
            order,
            events_chunk,
            defs_chunk,
            locations: self.counts.locations.load(Ordering::Relaxed),
            definitions: self.counts.definitions.load(Ordering::Relaxed),
            machine: self.options.machine,
            creator: self.options.creator,
            description: self.options.description,
            properties: self.options.properties,
            trace_id,
            snapshots,
            thumbnails: self.thumbnails.load(Ordering::Relaxed),
            ..Anchor::default()
        };
        let path = self.store.describe(FileKind::Anchor);
        files::replace(&path, &anchor.to_bytes()).map_err(|error| Error::io(error).at(&path))
    }
}
