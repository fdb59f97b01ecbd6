//! The bytes of a report, in a file or in memory.
//!
//! A file is read at offsets (`pread`), not mapped. Rows of values begin ten bytes after a multiple of 512, so they are
//! never aligned and are decoded into a buffer of the caller in any case: a map would save no copy. A map would have a
//! cost, however: a file that someone cuts while it is open, or a disk that fails, would end the process by SIGBUS, and
//! with it a server and all of its users. A read gives an error instead. Both read on demand, and neither keeps
//! anonymous memory: the page cache is the kernel's.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The source of a report: an open file with its size, or bytes in memory.
#[derive(Debug)]
pub(crate) enum Source {
    File(File, u64),
    Memory(Arc<[u8]>),
}

impl Source {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(_, length) => *length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads from `offset` on until `bytes` is full or the file ends, and returns the number of bytes read.
    pub(crate) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        match self {
            Self::File(file, _) => {
                while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
                    match file.read_at(rest, offset.saturating_add(done as u64)) {
                        Ok(0) => break,
                        Ok(n) => done += n,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Self::Memory(memory) => {
                let from = usize::try_from(offset).ok().and_then(|from| memory.get(from..));
                let from = from.unwrap_or_default();
                done = from.len().min(bytes.len());
                if let (Some(to), Some(from)) = (bytes.get_mut(..done), from.get(..done)) {
                    to.copy_from_slice(from);
                }
            }
        }
        Ok(done)
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// Fails with `UnexpectedEof` if the source has fewer bytes.
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
