//! Writing the events and the snapshots of one location.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::encode::{EncodeError, Encoder};
use crate::error::{Error, ErrorKind, Result};
use crate::event::AnyEvent;
use crate::files;
use crate::id::{LocationRef, Time};
use crate::record::Any;
use crate::snapshot::AnySnapshot;
use crate::value::{Attribute, List};
use crate::wire::ByteOrder;

/// What was written for a location.
#[derive(Debug)]
pub struct EventSummary {
    /// Number of records, as the definition of the location needs it.
    pub events: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The chunk memory, to be used again for another location.
    pub memory: Vec<u8>,
}

/// A file of records with times.
#[derive(Debug)]
struct TimedFile {
    encoder: Encoder<Vec<u8>>,
    file: File,
    path: PathBuf,
    location: LocationRef,
    written: u64,
}

impl TimedFile {
    fn create(
        path: PathBuf,
        location: LocationRef,
        memory: Vec<u8>,
        order: ByteOrder,
    ) -> Result<Self> {
        let encoder = Encoder::with_order(memory, order)
            .map_err(|error| Error::new(ErrorKind::Encode(error)).at(&path))?;
        let file = files::create(&path).map_err(|error| Error::io(error).at(&path))?;
        Ok(Self { encoder, file, path, location, written: 0 })
    }

    #[inline(always)]
    fn write(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        record: impl Any,
    ) -> Result<()> {
        match self.encoder.record(time, attributes, record) {
            Ok(()) => Ok(()),
            Err(error) => self.retry(error, time, attributes, record),
        }
    }

    /// Makes room and writes once more, if it was a lack of room.
    #[cold]
    #[inline(never)]
    fn retry(
        &mut self,
        error: EncodeError,
        time: Time,
        attributes: List<'_, Attribute>,
        record: impl Any,
    ) -> Result<()> {
        let written = match error {
            EncodeError::Full => {
                let Self { encoder, file, path, written, .. } = self;
                encoder.reuse(|chunk| {
                    *written += chunk.len() as u64;
                    file.write_all(chunk).map_err(|error| Error::io(error).at(path.as_path()))
                })?;
                self.encoder.record(time, attributes, record)
            }
            other => Err(other),
        };
        written.map_err(|error| {
            Error::new(ErrorKind::Encode(error)).at(&self.path).in_location(Some(self.location))
        })
    }

    fn finish(mut self) -> Result<EventSummary> {
        let last = self.encoder.finish();
        let used = last.memory.get(..last.used).unwrap_or_default();
        self.file.write_all(used).map_err(|error| Error::io(error).at(&self.path))?;
        let bytes = self.written + used.len() as u64;
        Ok(EventSummary { events: last.events, bytes, memory: last.memory })
    }
}

/// Writes the events of one location into its file, a chunk at a time.
#[derive(Debug)]
pub struct EventWriter(TimedFile);

impl EventWriter {
    pub(crate) fn create(
        path: PathBuf,
        location: LocationRef,
        memory: Vec<u8>,
        order: ByteOrder,
    ) -> Result<Self> {
        TimedFile::create(path, location, memory, order).map(Self)
    }

    /// Writes an event. Times must not go back.
    ///
    /// # Errors
    /// If the event cannot be encoded or the file cannot be written.
    #[inline]
    pub fn write(&mut self, time: Time, event: impl AnyEvent) -> Result<()> {
        self.0.write(time, List::default(), event)
    }

    /// Writes an event with attributes.
    ///
    /// # Errors
    /// As [`EventWriter::write`].
    #[inline]
    pub fn write_with(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        event: impl AnyEvent,
    ) -> Result<()> {
        self.0.write(time, attributes, event)
    }

    /// Number of events written so far.
    pub fn events(&self) -> u64 {
        self.0.encoder.events()
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<EventSummary> {
        self.0.finish()
    }
}

/// Writes the snapshots of one location into its file.
#[derive(Debug)]
pub struct SnapshotWriter(TimedFile);

impl SnapshotWriter {
    pub(crate) fn create(
        path: PathBuf,
        location: LocationRef,
        memory: Vec<u8>,
        order: ByteOrder,
    ) -> Result<Self> {
        TimedFile::create(path, location, memory, order).map(Self)
    }

    /// Writes a record of the snapshot taken at this time.
    ///
    /// # Errors
    /// If the record cannot be encoded or the file cannot be written.
    pub fn write(&mut self, time: Time, record: impl AnySnapshot) -> Result<()> {
        self.0.write(time, List::default(), record)
    }

    /// Writes a record with attributes.
    ///
    /// # Errors
    /// As [`SnapshotWriter::write`].
    pub fn write_with(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        record: impl AnySnapshot,
    ) -> Result<()> {
        self.0.write(time, attributes, record)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<EventSummary> {
        self.0.finish()
    }
}
