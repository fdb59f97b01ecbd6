//! The writer of an archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::anchor::{self, Anchor};
use crate::chunk;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::id::LocationRef;
use crate::read::THUMBNAIL_CHUNK;
use crate::store::{Directory, FileKind, Store};
use crate::wire::ByteOrder;
use crate::write::events::{EventWriter, SnapshotWriter};
use crate::write::records::{Counts, DefWriter, MarkerWriter, RecordWriter, ThumbnailWriter};

/// Settings of an archive that is to be written: the sizes of its chunks, its byte order, and the texts and numbers of
/// its anchor. The default values suit most archives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of event and snapshot chunks in bytes, from 256 KiB to 16 MiB. Each open event writer holds one chunk in
    /// memory.
    pub events_chunk: u64,
    /// Size of definition and marker chunks in bytes, from 256 KiB to 16 MiB. The largest definition must fit into one
    /// chunk; [`Options::defs_chunk_for`] computes a sufficient size.
    pub defs_chunk: u64,
    /// Byte order of all files. Encoding and decoding are optimised for little endian.
    pub order: ByteOrder,
    /// Name of the machine on which the program ran, as free text for the anchor.
    pub machine: String,
    /// Name and version of the tool that writes the archive, as free text for the anchor.
    pub creator: String,
    /// Description of the recorded run, as free text for the anchor.
    pub description: String,
    /// Names and values of properties of the archive. A name must satisfy [`Anchor::is_property_name`] and a value must
    /// not be empty.
    pub properties: Vec<(String, String)>,
    /// Number that tells traces apart; a writer should choose it at random. The default is 1.
    pub trace_id: u64,
    /// Number of snapshots that each location has, for the anchor.
    pub snapshots: u32,
    /// Adds a [checksum](crate::seal) to every file and states in the anchor that all chunks have one, so that readers
    /// report a chunk without a right one as damaged. A caller that puts files of others into the archive says
    /// `false`.
    pub checksums: bool,
    /// States in the anchor that every location with events has a file of local definitions, so that readers report a
    /// missing one as damage. It needs `checksums`.
    pub local_definitions: bool,
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
            checksums: true,
            local_definitions: false,
        }
    }
}

impl Options {
    /// Returns a size of definition chunks that suffices for an archive of this many locations, because the group of
    /// all locations is one definition and must fit into a chunk. The result lies between the default size and the
    /// largest one; a group of more than about four million locations fits into no chunk.
    pub fn defs_chunk_for(locations: u64) -> u64 {
        let id_bytes = 1 + u64::from(u64::BITS - locations.leading_zeros()).div_ceil(8);
        let group = locations.saturating_mul(id_bytes).saturating_add(1024);
        group.next_power_of_two().clamp(chunk::DEFS_SIZE, chunk::MAX_SIZE)
    }
}

/// Writes an archive into a directory. It gives a writer for each file, and these writers can be used on different
/// threads.
///
/// The anchor is written last, by [`ArchiveWriter::finish`]. An archive whose writer died before that has no anchor;
/// [`close`](mod@crate::close) can complete it.
#[derive(Debug)]
pub struct ArchiveWriter {
    store: Directory,
    options: Options,
    counts: Arc<Counts>,
    thumbnails: AtomicU32,
}

impl ArchiveWriter {
    /// Creates the archive called `name` in a directory, which is created if necessary together with its parents.
    ///
    /// # Errors
    /// Fails with [`ErrorKind::Exists`] if there is an archive of that name already, if an option is invalid, or if
    /// directories cannot be created.
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

    /// Makes a writer for an archive whose directories exist already. Each of several processes that write one archive
    /// together uses this, after one of them has called [`ArchiveWriter::create`]. Only one of them
    /// [finishes](Self::finish) the archive. The file system is not accessed yet.
    ///
    /// # Errors
    /// Fails if a chunk size is out of range or a property is invalid.
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

    /// Sets the numbers of locations and definitions that the anchor will state, for global definitions that this
    /// writer did not write itself.
    pub(crate) fn set_counts(&self, locations: u64, definitions: u64) {
        self.counts.locations.store(locations, Ordering::Relaxed);
        self.counts.definitions.store(definitions, Ordering::Relaxed);
    }

    /// Sets whether the anchor will state that all chunks have checksums.
    pub(crate) fn set_checksums(&mut self, checksums: bool) {
        self.options.checksums = checksums;
    }

    /// Allocates memory for the event chunks of a location.
    fn chunk_memory(&self) -> Vec<u8> {
        vec![0; usize::try_from(self.options.events_chunk).unwrap_or_default()]
    }

    fn path(&self, file: FileKind) -> PathBuf {
        self.store.describe(file)
    }

    /// Creates the event file of a location and returns its writer. Every location needs an event file, even an empty
    /// one.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn events(&self, location: LocationRef) -> Result<EventWriter> {
        self.events_in(location, self.chunk_memory())
    }

    /// Creates the event file of a location, as [`ArchiveWriter::events`] does, and reuses the chunk memory of an
    /// earlier writer from [`EventSummary::memory`](crate::write::EventSummary::memory). This saves an allocation for
    /// each of many locations.
    ///
    /// # Errors
    /// Fails if the file cannot be created, or if the memory does not have the size of a chunk.
    pub fn events_in(&self, location: LocationRef, memory: Vec<u8>) -> Result<EventWriter> {
        let path = self.path(FileKind::Events(location));
        if memory.len() as u64 != self.options.events_chunk {
            return Err(Error::new(ErrorKind::ChunkSize(memory.len() as u64)).at(path));
        }
        let writer = EventWriter::create(path, location, memory, self.options.order)?;
        Ok(writer.checked(self.options.checksums))
    }

    /// Creates the snapshot file of a location and returns its writer. [`Options::snapshots`] must state that there are
    /// snapshots.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn snapshots(&self, location: LocationRef) -> Result<SnapshotWriter> {
        let path = self.path(FileKind::Snapshots(location));
        let memory = self.chunk_memory();
        let writer = SnapshotWriter::create(path, location, memory, self.options.order)?;
        Ok(writer.checked(self.options.checksums))
    }

    /// Creates the local definition file of a location and returns its writer, for mapping tables and clock offsets.
    ///
    /// Readers do without this file, but the C library complains about a missing one on standard error.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn local_definitions(&self, location: LocationRef) -> Result<DefWriter> {
        self.records(FileKind::LocalDefs(location))
    }

    /// Creates the file of the global definitions and returns its writer. When that writer finishes, it passes the
    /// numbers of locations and definitions on to the anchor.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn global_definitions(&self) -> Result<DefWriter> {
        self.global_definitions_in(self.path(FileKind::GlobalDefs))
    }

    /// Same as [`global_definitions`](Self::global_definitions), in a file of another name. The caller renames it when
    /// it is complete.
    pub(crate) fn global_definitions_in(&self, path: PathBuf) -> Result<DefWriter> {
        let Options { defs_chunk, order, .. } = self.options;
        let counts = Some(Arc::clone(&self.counts));
        let file = FileKind::GlobalDefs;
        let writer = RecordWriter::create(path, file, defs_chunk, order, counts)?;
        Ok(writer.checked(self.options.checksums))
    }

    /// Creates the marker file and returns its writer.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn markers(&self) -> Result<MarkerWriter> {
        self.records(FileKind::Markers)
    }

    /// Creates the file of one more thumbnail and returns its writer. The anchor will state the number of thumbnails
    /// created.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn thumbnail(&self) -> Result<ThumbnailWriter> {
        let number = self.thumbnails.fetch_add(1, Ordering::Relaxed);
        let file = FileKind::Thumbnail(number);
        let order = self.options.order;
        let writer = RecordWriter::create(self.path(file), file, THUMBNAIL_CHUNK, order, None)?;
        Ok(writer.checked(self.options.checksums))
    }

    fn records<R>(&self, file: FileKind) -> Result<RecordWriter<R>> {
        let Options { defs_chunk, order, .. } = self.options;
        let writer = RecordWriter::create(self.path(file), file, defs_chunk, order, None)?;
        Ok(writer.checked(self.options.checksums))
    }

    /// Writes the anchor, which makes the archive complete. All other writers must have finished before.
    ///
    /// # Errors
    /// Fails if the anchor cannot be written.
    pub fn finish(mut self) -> Result<()> {
        // Properties may be those of an archive from which this one was made.
        self.options.properties.retain(|(name, _)| name != anchor::CHECKSUMS);
        if self.options.checksums {
            self.options.properties.push(anchor::checksums(self.options.local_definitions));
        }
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
