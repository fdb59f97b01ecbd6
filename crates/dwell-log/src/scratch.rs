//! A temporary file for parts of the log that do not fit into memory. It has no name, so nothing is left behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A file that all workers append to at once.
#[derive(Debug)]
pub struct Scratch {
    file: File,
    end: AtomicU64,
    /// The first error. Nothing can be read back after it.
    failed: Mutex<Option<io::Error>>,
}

impl Scratch {
    /// Creates the file in a directory.
    ///
    /// # Errors
    /// Returns an error if the directory does not allow new files.
    pub fn new(directory: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        Ok(Self { file, end: AtomicU64::new(0), failed: Mutex::new(None) })
    }

    /// Appends bytes and returns their offset. An error is kept for [`Self::check`].
    pub fn append(&self, bytes: &[u8]) -> u64 {
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Err(error) = self.file.write_all_at(bytes, offset) {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        offset
    }

    /// Reads bytes that were appended before.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    /// Returns the first error of all that were appended.
    pub fn check(&self) -> io::Result<()> {
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
