//! Writers of files whose records have no times: definitions, markers, thumbnails.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::chunk::{HEADER, Header, MAX_SIZE, control};
use crate::def::{self, AnyDefinition, Definition};
use crate::encode::EncodeError;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::id::StringRef;
use crate::marker::{AnyMarker, MarkerRecord};
use crate::output::{Output, SliceOutput};
use crate::record::{Any, Record, framed, write_body};
use crate::seal::{self, TAIL};
use crate::store::FileKind;
use crate::thumbnail::{AnyThumbnail, Thumbnail};
use crate::value::Str;
use crate::wire::ByteOrder;

/// Largest size bound of a record that may fit into a chunk: a compressed number takes at least a ninth of its bound.
const MOST: usize = 9 * MAX_SIZE as usize;

/// The result of a finished definition, marker or thumbnail file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordSummary {
    /// Number of records in the file, of all kinds.
    pub records: u64,
    /// Size of the file, in bytes.
    pub bytes: u64,
}

/// Numbers of locations and definitions that the anchor states.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) locations: AtomicU64,
    pub(crate) definitions: AtomicU64,
}

/// Writes the records of a definition, marker or thumbnail file. Records are collected in memory and reach the file one
/// chunk at a time; [`RecordWriter::finish`] must be called to complete the file.
#[derive(Debug)]
pub struct RecordWriter<R> {
    file: File,
    path: PathBuf,
    /// The file of the archive that this is, whatever its path.
    content: FileKind,
    /// `true` if the file gets checksums.
    checked: bool,
    order: ByteOrder,
    chunk_size: usize,
    /// The current chunk, which grows up to the chunk size.
    chunk: Vec<u8>,
    used: usize,
    summary: RecordSummary,
    locations: u64,
    strings: HashMap<String, StringRef>,
    counts: Option<Arc<Counts>>,
    kind: PhantomData<fn(R)>,
}

/// Writes global or local definitions, and gives ids to strings.
pub type DefWriter = RecordWriter<Definition<'static>>;
/// Writes markers and the definitions of their kinds.
pub type MarkerWriter = RecordWriter<MarkerRecord<'static>>;
/// Writes the header and the samples of one thumbnail.
pub type ThumbnailWriter = RecordWriter<Thumbnail<'static>>;

impl<R> RecordWriter<R> {
    pub(crate) fn create(
        path: PathBuf,
        content: FileKind,
        chunk_size: u64,
        order: ByteOrder,
        counts: Option<Arc<Counts>>,
    ) -> Result<Self> {
        let file = files::create(&path).map_err(|error| Error::io(error).at(&path))?;
        let mut writer = Self {
            file,
            path,
            content,
            checked: true,
            order,
            chunk_size: usize::try_from(chunk_size).unwrap_or(usize::MAX),
            chunk: Vec::new(),
            used: 0,
            summary: RecordSummary::default(),
            locations: 0,
            strings: HashMap::new(),
            counts,
            kind: PhantomData,
        };
        writer.open();
        Ok(writer)
    }

    /// Sets whether the file gets checksums.
    pub(crate) fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    fn open(&mut self) {
        self.chunk.clear();
        // Only event chunks are numbered; all others say 1 and 0.
        let header = Header { order: self.order, first: 1, last: 0 };
        self.chunk.extend_from_slice(&header.to_bytes());
        self.used = HEADER;
    }

    fn record(&mut self, record: &impl Any) -> Result<()> {
        self.encode(record).map_err(|error| Error::new(ErrorKind::Encode(error)).at(&self.path))?;
        // The true size is known only now, and may be far below its bound: a list of small numbers.
        if self.chunk.len() + TAIL > self.chunk_size {
            let record = self.chunk.split_off(self.used);
            self.flush()?;
            self.chunk.extend_from_slice(&record);
        }
        self.used = self.chunk.len();
        self.summary.records += 1;
        Ok(())
    }

    /// Encodes a record behind the used part of the chunk, which may become longer than the chunk size.
    fn encode(&mut self, record: &impl Any) -> Result<(), EncodeError> {
        let framing = record.framing().ok_or(EncodeError::Unknown)?;
        let bound = framed(record.bound());
        if bound > MOST {
            return Err(EncodeError::TooLarge);
        }
        self.chunk.resize(self.used + bound, 0);
        let mut output = SliceOutput::new(&mut self.chunk, self.used, self.order);
        output.u8(record.id());
        write_body(record, framing, &mut output);
        let end = output.pos();
        self.chunk.truncate(end);
        if HEADER + (end - self.used) + TAIL > self.chunk_size {
            return Err(EncodeError::TooLarge);
        }
        Ok(())
    }

    /// Fills the chunk up, writes it to the file and begins the next.
    fn flush(&mut self) -> Result<()> {
        self.chunk.resize(self.chunk_size, control::END_OF_CHUNK);
        if self.checked {
            seal::complete(&mut self.chunk);
        }
        self.append()?;
        self.open();
        Ok(())
    }

    fn append(&mut self) -> Result<()> {
        self.file.write_all(&self.chunk).map_err(|error| Error::io(error).at(&self.path))?;
        self.summary.bytes += self.chunk.len() as u64;
        Ok(())
    }

    /// Writes the last chunk with its end mark, which completes the file. For the global definitions this also tells
    /// the archive writer the numbers that the anchor states.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(mut self) -> Result<RecordSummary> {
        self.chunk.truncate(self.used); // A record that failed may follow.
        self.chunk.extend_from_slice(&[control::END_OF_FILE, control::END_OF_BUFFER]);
        if self.checked {
            seal::end(&mut self.chunk, self.content);
        }
        self.append()?;
        if let Some(counts) = &self.counts {
            counts.definitions.store(self.summary.records, Ordering::Relaxed);
            counts.locations.store(self.locations, Ordering::Relaxed);
        }
        Ok(self.summary)
    }
}

impl DefWriter {
    /// Writes a definition.
    ///
    /// A definition must come after those to which it refers, and in the global file the ids of one kind should run 0,
    /// 1, 2 …, because `otf2-print` warns otherwise. This method checks neither.
    ///
    /// # Errors
    /// Fails if the record is larger than a chunk or the file cannot be written.
    pub fn write(&mut self, definition: impl AnyDefinition) -> Result<()> {
        self.record(&definition)?;
        self.locations += u64::from(definition.id() == def::Location::ID);
        Ok(())
    }

    /// Returns the id of a string, and writes its definition at first use. Ids run 0, 1, 2 …, so a caller that uses
    /// this method must not write string definitions itself.
    ///
    /// # Errors
    /// Fails as [`DefWriter::write`] does.
    pub fn string(&mut self, text: &str) -> Result<StringRef> {
        if let Some(&id) = self.strings.get(text) {
            return Ok(id);
        }
        let id = StringRef(self.strings.len() as u32);
        self.write(def::String { id, string: Str::from(text) })?;
        self.strings.insert(text.into(), id);
        Ok(id)
    }
}

impl MarkerWriter {
    /// Writes a marker, or the definition of a kind of marker, which must come before its markers.
    ///
    /// # Errors
    /// Fails if the record is larger than a chunk or the file cannot be written.
    pub fn write(&mut self, record: impl AnyMarker) -> Result<()> {
        self.record(&record)
    }
}

impl ThumbnailWriter {
    /// Writes the header of the thumbnail or one of its samples. The header must come first.
    ///
    /// # Errors
    /// Fails if the record is larger than a chunk or the file cannot be written.
    pub fn write(&mut self, record: impl AnyThumbnail) -> Result<()> {
        self.record(&record)
    }
}
