//! A file as a sequence of chunks, seen through a window that moves forward.
//!
//! The window holds whole records only: a reader that finds less than it needs asks for more, and the window moves its
//! tail to the front and reads on. It grows only for a record larger than itself, never above a chunk, and never
//! reaches over the border of a chunk.

use std::sync::Arc;

use crate::chunk::{HEADER, Header, TIMESTAMP, control};
use crate::error::{Error, ErrorKind, Result};
use crate::seal;
use crate::store::{FileKind, Store};
use crate::wire::{ByteOrder, Fault, Input};

/// Default number of bytes of a file that a reader holds in memory: small enough that they stay in the cache until they
/// are decoded.
pub const WINDOW: usize = 128 * 1024;
/// Number of bytes that are read at once to verify a chunk that does not fit into the window.
const BLOCK: usize = 64 * 1024;
/// Smallest window of a reader, in bytes.
const LEAST_BLOCK: usize = 4 * 1024;

#[derive(Debug)]
pub(crate) struct Stream {
    store: Arc<dyn Store>,
    file: FileKind,
    chunk_size: u64,
    size: u64,
    /// Number of the chunk under the window, counted from 0.
    chunk: u64,
    pub(crate) header: Header,
    /// `true` if chunks must have checksums.
    checked: bool,
    /// The checksum of the current chunk.
    trailer: Trailer,
    /// Offset of the first byte of the window in the file.
    base: u64,
    window: Vec<u8>,
    /// Number of bytes of the window that hold data.
    filled: usize,
    /// Position in the window at which the next record begins.
    pub(crate) pos: usize,
}

/// The trailer of a chunk with its [checksum](crate::seal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trailer {
    Right,
    /// There is none: the file was cut, and what is left of it can be read.
    Missing,
    Wrong,
}

/// The position of a record in the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) id: u8,
    /// The last byte before the fields. The number of a record without a length begins at this byte.
    pub(crate) start: usize,
    /// Position behind the last byte of the record.
    pub(crate) end: usize,
}

impl Stream {
    /// Opens a file at its first chunk. If `checked`, chunks without a right checksum are damaged.
    pub(crate) fn open(
        store: Arc<dyn Store>,
        file: FileKind,
        checked: bool,
        chunk_size: u64,
        block: usize,
    ) -> Result<Self> {
        let describe = |error: Error| error.at(store.describe(file)).in_location(file.location());
        let size = store.size(file).map_err(|error| describe(Error::io(error)))?;
        let block = block.clamp(LEAST_BLOCK, WINDOW.max(chunk_size as usize));
        let mut stream = Self {
            file,
            chunk_size,
            size,
            chunk: 0,
            header: Header { order: ByteOrder::Little, first: 1, last: 0 },
            checked,
            trailer: Trailer::Right,
            base: 0,
            window: vec![0; block.min(size as usize)],
            filled: 0,
            pos: 0,
            store,
        };
        stream.enter(0)?;
        Ok(stream)
    }

    /// Number of chunks in the file.
    pub(crate) fn chunks(&self) -> u64 {
        self.size.div_ceil(self.chunk_size)
    }

    /// Number of the current chunk, counted from 0.
    pub(crate) fn chunk(&self) -> u64 {
        self.chunk
    }

    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.window.get(..self.filled).unwrap_or_default()
    }

    /// Moves the window to the beginning of a chunk and reads its header and its checksum. A wrong checksum is no error
    /// yet; see [`Stream::check`].
    pub(crate) fn enter(&mut self, chunk: u64) -> Result<()> {
        self.chunk = chunk;
        self.base = chunk.saturating_mul(self.chunk_size);
        (self.filled, self.pos) = (0, 0);
        if self.base >= self.size {
            self.base = self.size;
            return Err(self.error(0, ErrorKind::Cut));
        }
        self.trailer = if self.checked { self.verify(chunk)? } else { Trailer::Right };
        self.fill(HEADER)?;
        let header = self.bytes().first_chunk().ok_or(ErrorKind::Cut);
        let header = header.and_then(|bytes| Header::read(bytes).ok_or(ErrorKind::Header));
        self.header = header.map_err(|kind| self.error(0, kind))?;
        // A right chunk that is not the first of a file follows others, which are missing.
        if self.checked && chunk == 0 && self.header.first != 1 {
            self.trailer = Trailer::Wrong;
        }
        self.pos = HEADER;
        Ok(())
    }

    /// Returns `true` if the current chunk has a wrong checksum, so that any of its bytes may be wrong.
    pub(crate) fn is_broken(&self) -> bool {
        self.trailer == Trailer::Wrong
    }

    /// Returns `true` if the chunks of this file have checksums.
    pub(crate) fn is_checked(&self) -> bool {
        self.checked
    }

    /// Fails if the current chunk does not have the right checksum.
    pub(crate) fn check(&self) -> Result<()> {
        match self.trailer {
            Trailer::Right => Ok(()),
            _ => Err(self.chunk_error(self.chunk, ErrorKind::Checksum)),
        }
    }

    /// Reads a chunk and compares it with its checksum. A chunk that fits into the window stays there.
    fn verify(&mut self, chunk: u64) -> Result<Trailer> {
        let mut window = std::mem::take(&mut self.window);
        let verified = self.verify_in(chunk, &mut window);
        self.window = window;
        let (right, whole) = verified?;
        self.filled = whole.unwrap_or(0);
        Ok(right)
    }

    /// Does what [`Stream::verify`] says, with the given memory. Also returns the number of bytes of the chunk if all of
    /// them are at the beginning of the memory.
    fn verify_in(&self, chunk: u64, window: &mut [u8]) -> Result<(Trailer, Option<usize>)> {
        let base = chunk.saturating_mul(self.chunk_size);
        let end = base.saturating_add(self.chunk_size).min(self.size);
        let last = chunk + 1 == self.chunks();
        let size = usize::try_from(end - base).unwrap_or(usize::MAX);
        // Small windows belong to readers of many locations, which would need many calls of the system.
        let mut block =
            if window.len() < BLOCK.min(size) { vec![0; BLOCK.min(size)] } else { Vec::new() };
        let own = block.is_empty();
        let memory = if own { window } else { block.as_mut_slice() };
        let mut sum = crc32fast::Hasher::new();
        // The last bytes so far, among which the trailer will be.
        let mut tail = Vec::with_capacity(2 * seal::LAST);
        let mut done = 0;
        while done < size {
            let length = memory.len().min(size - done);
            let place = memory.get_mut(..length).unwrap_or_default();
            let read = self.store.read_at(self.file, base + done as u64, place);
            let read = read.map_err(|error| self.chunk_error(chunk, ErrorKind::Io(error)))?;
            let bytes = memory.get(..read).unwrap_or_default();
            if read == 0 {
                return Ok((Trailer::Missing, None)); // The file became shorter.
            }
            done += read;
            // All but the last four bytes of the chunk are summed.
            let summed = read.min(size.saturating_sub(4 + done - read));
            sum.update(bytes.get(..summed).unwrap_or_default());
            tail.extend_from_slice(
                bytes.get(read.saturating_sub(seal::LAST)..).unwrap_or_default(),
            );
            tail.drain(..tail.len().saturating_sub(seal::LAST));
        }
        let (Some((mark, stated)), true) = (tail.split_last_chunk::<4>(), size > seal::LAST) else {
            return Ok((Trailer::Missing, None));
        };
        let is_there = if last { seal::is_end(mark) } else { seal::is_marked(&tail) };
        let of_this = !last || mark == seal::mark(self.file);
        let trailer = match (is_there, of_this && sum.finalize().to_le_bytes() == *stated) {
            (false, _) => Trailer::Missing,
            (true, true) => Trailer::Right,
            (true, false) => Trailer::Wrong,
        };
        Ok((trailer, (own && memory.len() >= size).then_some(size)))
    }

    fn chunk_error(&self, chunk: u64, kind: ErrorKind) -> Error {
        Error::new(kind)
            .at(self.store.describe(self.file))
            .in_location(self.file.location())
            .at_byte(chunk.saturating_mul(self.chunk_size))
    }

    /// Moves to the next chunk.
    pub(crate) fn next_chunk(&mut self) -> Result<()> {
        self.enter(self.chunk + 1)
    }

    /// Reads until the window holds `need` bytes from the position on, or the rest of the chunk. Returns `true` if it
    /// holds more than before.
    #[cold]
    pub(crate) fn fill(&mut self, need: usize) -> Result<bool> {
        let chunk_end = (self.chunk + 1).saturating_mul(self.chunk_size).min(self.size);
        let here = self.base + self.pos as u64;
        let left = usize::try_from(chunk_end.saturating_sub(here)).unwrap_or(usize::MAX);
        let have = self.filled - self.pos;
        if have >= need.min(left) {
            return Ok(false);
        }
        self.window.copy_within(self.pos..self.filled, 0);
        (self.base, self.pos, self.filled) = (here, 0, have);
        let want = self.window.len().max(need).min(left);
        if want > self.window.len() {
            self.window.resize(want, 0);
        }
        let place = self.window.get_mut(have..want).unwrap_or_default();
        let read = self.store.read_at(self.file, here + have as u64, place);
        let read = read.map_err(|error| self.error(have, ErrorKind::Io(error)))?;
        self.filled += read;
        Ok(read > 0)
    }

    /// Finds the extent of the record at `at`. Fails if the window ends before the record does; reading more bytes from
    /// the position on may then help.
    ///
    /// A record is an id, a length and fields, except for a few old ones that are an id and one number (`single`). In
    /// those the length byte is the size of the number, so the end is found in the same way.
    #[inline(always)]
    pub(crate) fn frame(&self, at: usize, single: fn(u8) -> bool) -> Result<Frame, Need> {
        let bytes = self.bytes();
        let Some(&[id, length]) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
            return Err(Need(at + 2));
        };
        let frame = if length != 0xFF {
            Frame { id, start: at + 1, end: at + 2 + usize::from(length) }
        } else if single(id) {
            Frame { id, start: at + 1, end: at + 2 }
        } else {
            let fields = at + 10;
            let mut input = Input::new(bytes, at + 2, fields, self.header.order, None);
            let Ok(length) = input.u64() else {
                return Err(Need(fields));
            };
            // A wild length asks for the rest of the chunk, and no more than that is read.
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            Frame { id, start: fields - 1, end: fields.saturating_add(length) }
        };
        if frame.end <= bytes.len() { Ok(frame) } else { Err(Need(frame.end)) }
    }

    /// Reads until the window reaches `end`, because a record needs it. Fails if the chunk ends first.
    pub(crate) fn need(&mut self, Need(end): Need) -> Result<()> {
        if self.fill(end.saturating_sub(self.pos))? {
            return Ok(());
        }
        let id = self.bytes().get(self.pos).copied().unwrap_or_default();
        let at_end = self.base + self.filled as u64 >= self.size;
        Err(self.error(
            self.pos,
            if at_end { ErrorKind::Cut } else { ErrorKind::Record { id, fault: Fault::Truncated } },
        ))
    }

    /// Returns the byte at the position, reading more if necessary, or `None` at the end of the chunk.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>> {
        if self.pos >= self.filled {
            self.fill(1)?;
        }
        Ok(self.bytes().get(self.pos).copied())
    }

    /// Makes an error at a position in the window.
    #[cold]
    pub(crate) fn error(&self, at: usize, kind: ErrorKind) -> Error {
        Error::new(kind)
            .at(self.store.describe(self.file))
            .in_location(self.file.location())
            .at_byte(self.base + at as u64)
    }

    /// Returns the header and the first time of a chunk, without moving to it.
    pub(crate) fn chunk_head(&self, chunk: u64) -> Result<(Header, Option<u64>)> {
        // A wrong number would lead the search to another place, without a trace.
        if self.checked && self.verify_in(chunk, &mut [])?.0 == Trailer::Wrong {
            return Err(self.chunk_error(chunk, ErrorKind::Checksum));
        }
        let mut head = [0; HEADER + TIMESTAMP];
        let offset = chunk.saturating_mul(self.chunk_size);
        let wrap = |error: Error| {
            error
                .at(self.store.describe(self.file))
                .in_location(self.file.location())
                .at_byte(offset)
        };
        let read = self.store.read_at(self.file, offset, &mut head);
        let read = read.map_err(|error| wrap(Error::io(error)))?;
        let bytes = head.get(..read).unwrap_or_default();
        let header = bytes.first_chunk().and_then(Header::read);
        let header = header.ok_or_else(|| wrap(Error::new(ErrorKind::Header)))?;
        let mut input = Input::new(bytes, HEADER, bytes.len(), header.order, None);
        let time = match input.u8() {
            Ok(control::TIMESTAMP) => input.u64().ok(),
            _ => None,
        };
        Ok((header, time))
    }
}

/// The position that the window must reach to hold a whole record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need(pub(crate) usize);
