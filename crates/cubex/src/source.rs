//! The bytes of a report as readers see them: compared with their checksums, if the report has any.

use std::io::{self, BufRead, Read};

use crate::bytes::Bytes;
use crate::sums::Sums;

/// The source of a report: its bytes, and their checksums if there are any.
#[derive(Debug)]
pub(crate) struct Source {
    bytes: Bytes,
    sums: Option<Sums>,
}

impl Source {
    pub(crate) fn new(bytes: Bytes, sums: Option<Sums>) -> Self {
        Self { bytes, sums }
    }

    /// Reads from `offset` on until `bytes` is full or the file ends, and returns the number of bytes read.
    ///
    /// # Errors
    /// Fails if the file cannot be read, and with [`Wrong`](crate::error::Wrong) if the bytes have another checksum.
    pub(crate) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let got = self.bytes.read_at(offset, bytes)?;
        if let Some(sums) = &self.sums {
            sums.check(&self.bytes, offset, bytes.get(..got).unwrap_or_default())?;
        }
        Ok(got)
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// Fails as [`Source::read_at`] does, and if the file ends before.
    pub(crate) fn read_exact_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if self.read_at(offset, bytes)? == bytes.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// Size of a window, in bytes.
const WINDOW: usize = 64 * 1024;

/// A range of a source, as a buffered stream.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    source: &'a Source,
    /// Offset of the next byte to read from the source; `end` is where the range ends.
    offset: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a> Window<'a> {
    pub(crate) fn new(source: &'a Source, offset: u64, length: u64) -> Self {
        let end = offset.saturating_add(length);
        Self { source, offset, end, buffer: Vec::new(), at: 0 }
    }
}

impl BufRead for Window<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() && self.offset < self.end {
            let length = (self.end - self.offset).min(WINDOW as u64) as usize;
            self.buffer.resize(length, 0);
            self.at = 0;
            // A file that shrank since it was opened ends early, without an error.
            let got = self.source.read_at(self.offset, &mut self.buffer)?;
            self.buffer.truncate(got);
            self.offset = if got == length { self.offset + got as u64 } else { self.end };
        }
        Ok(self.buffer.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.buffer.len());
    }
}

/// Reads from the buffer of a reader, which is filled if it is empty.
pub(crate) fn read_buffered(reader: &mut impl BufRead, out: &mut [u8]) -> io::Result<usize> {
    let bytes = reader.fill_buf()?;
    let length = bytes.len().min(out.len());
    if let (Some(to), Some(from)) = (out.get_mut(..length), bytes.get(..length)) {
        to.copy_from_slice(from);
    }
    reader.consume(length);
    Ok(length)
}

impl Read for Window<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, out)
    }
}
