//! The bytes of a report, in a file or in memory.
//!
//! A file is read at offsets (`pread`), not mapped. Rows of values begin ten bytes after a multiple of 512, so they are
//! never aligned and are decoded into a buffer of the caller in any case: a map would save no copy. A map would have a
//! cost, however: a file that someone cuts while it is open, or a disk that fails, would end the process by SIGBUS, and
//! with it a server and all of its users. A read gives an error instead. Both read on demand, and neither keeps
//! anonymous memory: the page cache is the kernel's.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// An open file with its size, or bytes in memory.
#[derive(Debug)]
pub(crate) enum Bytes {
    File(File, u64),
    Memory(Arc<[u8]>),
}

impl Bytes {
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
    /// Fails if the file cannot be read, or ends before.
    pub(crate) fn read_exact_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        match self.read_at(offset, bytes)? == bytes.len() {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
