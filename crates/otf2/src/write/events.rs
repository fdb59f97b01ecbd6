//! Writers of the events and the snapshots of one location.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::encode::{EncodeError, Encoder};
use crate::error::{Error, ErrorKind, Result};
use crate::event::AnyEvent;
use crate::files;
use crate::id::{LocationRef, Time};
use crate::record::Any;
use crate::seal;
use crate::snapshot::AnySnapshot;
use crate::store::FileKind;
use crate::value::{Attribute, List};
use crate::wire::ByteOrder;

/// The result of a finished event or snapshot file.
#[derive(Debug)]
pub struct EventSummary {
    /// Number of records in the file. The [`Location`](crate::def::Location) definition must state this number of
    /// events.
    pub events: u64,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// The chunk memory of the writer, which [`ArchiveWriter::events_in`](crate::write::ArchiveWriter::events_in) can
    /// use again for another location.
    pub memory: Vec<u8>,
}

/// A file whose records have times: the common part of event and snapshot writers.
#[derive(Debug)]
struct TimedFile {
    encoder: Encoder<Vec<u8>>,
    file: File,
    path: PathBuf,
    location: LocationRef,
    content: FileKind,
    /// `true` if the file gets a checksum.
    checked: bool,
    written: u64,
}

impl TimedFile {
    fn create(
        path: PathBuf,
        location: LocationRef,
        content: FileKind,
        memory: Vec<u8>,
        order: ByteOrder,
    ) -> Result<Self> {
        let encoder = Encoder::with_order(memory, order)
            .map_err(|error| Error::new(ErrorKind::Encode(error)).at(&path))?;
        let file = files::create(&path).map_err(|error| Error::io(error).at(&path))?;
        Ok(Self { encoder, file, path, location, content, checked: true, written: 0 })
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

    /// Writes the full chunk to the file and encodes the record again, if lack of room was the error.
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
        let mut last = self.encoder.finish();
        let length = last.memory.len();
        last.memory.truncate(last.used);
        if self.checked {
            seal::end(&mut last.memory, self.content);
        }
        self.file.write_all(&last.memory).map_err(|error| Error::io(error).at(&self.path))?;
        let bytes = self.written + last.memory.len() as u64;
        last.memory.resize(length, 0);
        Ok(EventSummary { events: last.events, bytes, memory: last.memory })
    }
}

/// Writes the events of one location into its file. Events are collected in memory and reach the file one chunk at a
/// time, so a writer that is dropped without [`EventWriter::finish`] loses the last chunk.
#[derive(Debug)]
pub struct EventWriter(TimedFile);

impl EventWriter {
    pub(crate) fn create(
        path: PathBuf,
        location: LocationRef,
        memory: Vec<u8>,
        order: ByteOrder,
    ) -> Result<Self> {
        TimedFile::create(path, location, FileKind::Events(location), memory, order).map(Self)
    }

    /// Sets whether the file gets a checksum.
    pub(crate) fn checked(mut self, checked: bool) -> Self {
        self.0.checked = checked;
        self
    }

    /// Writes an event without attributes. Times must not go back; equal times are allowed.
    ///
    /// # Errors
    /// Fails if the event cannot be encoded or the file cannot be written.
    #[inline]
    pub fn write(&mut self, time: Time, event: impl AnyEvent) -> Result<()> {
        self.0.write(time, List::default(), event)
    }

    /// Writes an event with any number of attributes. Times must not go back.
    ///
    /// # Errors
    /// Fails as [`EventWriter::write`] does.
    #[inline]
    pub fn write_with(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        event: impl AnyEvent,
    ) -> Result<()> {
        self.0.write(time, attributes, event)
    }

    /// Returns the number of events written so far, including those that are still in memory.
    pub fn events(&self) -> u64 {
        self.0.encoder.events()
    }

    /// Returns the path of the event file, for messages.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Writes the last chunk with its end mark, which completes the file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(self) -> Result<EventSummary> {
        self.0.finish()
    }
}

/// Writes the snapshots of one location into its file. Each snapshot begins with
/// [`SnapshotStart`](crate::snapshot::SnapshotStart) and ends with [`SnapshotEnd`](crate::snapshot::SnapshotEnd); the
/// writer does not check this.
#[derive(Debug)]
pub struct SnapshotWriter(TimedFile);

impl SnapshotWriter {
    pub(crate) fn create(
        path: PathBuf,
        location: LocationRef,
        memory: Vec<u8>,
        order: ByteOrder,
    ) -> Result<Self> {
        TimedFile::create(path, location, FileKind::Snapshots(location), memory, order).map(Self)
    }

    /// Sets whether the file gets a checksum.
    pub(crate) fn checked(mut self, checked: bool) -> Self {
        self.0.checked = checked;
        self
    }

    /// Writes one record, without attributes, of the snapshot taken at this time. All records of a snapshot have the
    /// same time, and times must not go back.
    ///
    /// # Errors
    /// Fails if the record cannot be encoded or the file cannot be written.
    pub fn write(&mut self, time: Time, record: impl AnySnapshot) -> Result<()> {
        self.0.write(time, List::default(), record)
    }

    /// Writes one record of the snapshot taken at this time, with any number of attributes.
    ///
    /// # Errors
    /// Fails as [`SnapshotWriter::write`] does.
    pub fn write_with(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        record: impl AnySnapshot,
    ) -> Result<()> {
        self.0.write(time, attributes, record)
    }

    /// Writes the last chunk with its end mark, which completes the file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(self) -> Result<EventSummary> {
        self.0.finish()
    }
}
