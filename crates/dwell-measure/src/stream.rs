//! The stream of facts: a file in which a process says what its events mean.
//!
//! It is mapped in blocks with space reserved behind them, like the events, and a fact becomes part of
//! it when its first byte stops being zero. So it can be read at any instant, also after a kill.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{Ordering, compiler_fence, fence};

use crate::facts::{self, Damage, FILLER, Fact};
use crate::memory::{self, Memory};

/// Size of a block; no fact is larger.
pub const BLOCK: usize = 64 * 1024;

/// A stream that is being written. One thread at a time writes to it: see
/// [`Process`](crate::process).
#[derive(Debug)]
pub struct Stream {
    path: CString,
    block: Memory,
    /// Blocks before this one.
    blocks: u64,
    at: usize,
}

impl Stream {
    /// Begins a stream in a new file.
    ///
    /// # Errors
    /// If the file exists, cannot be made, or there is no space for it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let block = Memory::of_file(&memory::open(&path, true)?, 0, BLOCK)?;
        Ok(Self { path, block, blocks: 0, at: 0 })
    }

    /// Appends a fact. It is in the file, as far as a kill is concerned, when this returns.
    ///
    /// # Errors
    /// If another block is needed and there is no space for it, or the fact is larger than a block.
    pub fn append(&mut self, fact: &Fact<'_>) -> io::Result<()> {
        for _ in 0..2 {
            // Behind the last fact of a block there is always room for the mark of its end.
            let room = self.block.len().saturating_sub(1);
            let place = self.block.get_mut(self.at..room);
            if let Some((place, (tag, length))) =
                place.and_then(|place| fact.encode(place).map(|done| (place, done)))
            {
                publish(place, tag);
                self.at += length;
                if !self.block.survives() {
                    self.block.save(&memory::open(&self.path, false)?, BLOCK)?;
                }
                return Ok(());
            }
            self.turn()?;
        }
        Err(io::Error::other("a fact is larger than a block"))
    }

    fn turn(&mut self) -> io::Result<()> {
        let file = memory::open(&self.path, false)?;
        let next = Memory::of_file(&file, (self.blocks + 1) * BLOCK as u64, BLOCK)?;
        if let Some(rest) = self.block.get_mut(self.at..) {
            publish(rest, FILLER);
        }
        self.block.save(&file, BLOCK)?;
        (self.block, self.blocks, self.at) = (next, self.blocks + 1, 0);
        Ok(())
    }
}

/// Makes a fact part of the stream: its tag is stored after everything else of it.
fn publish(place: &mut [u8], tag: u8) {
    if let Some(first) = place.first_mut() {
        // Neither the compiler nor the processor moves earlier stores behind this one, and the
        // compiler does not put it off.
        fence(Ordering::Release);
        *first = tag;
        compiler_fence(Ordering::SeqCst);
    }
}

/// Reads a stream, from a file that its process may have left at any moment. Damage ends a block, and
/// is told.
///
/// # Errors
/// If the file cannot be read.
pub fn read(path: &Path, mut visit: impl FnMut(Result<Fact<'_>, Damage>)) -> io::Result<()> {
    let bytes = std::fs::read(path)?;
    for block in bytes.chunks(BLOCK) {
        facts::read(block).for_each(&mut visit);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_over_many_blocks() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.facts");
        let mut stream = Stream::create(&path)?;
        let long = "x".repeat(30_000);
        for id in 0..10 {
            stream.append(&Fact::Site { id, address: id * 7 })?;
            stream.append(&Fact::Property { name: "LONG", value: &long })?;
        }
        // Still open: this is what a killed process leaves.
        let mut sites = Vec::new();
        let mut long_ones = 0;
        read(&path, |fact| match fact.expect("sound") {
            Fact::Site { id, address } => sites.push((id, address)),
            Fact::Property { value, .. } => long_ones += usize::from(value == long),
            other => panic!("{other:?}"),
        })?;
        assert!(sites.iter().copied().eq((0..10).map(|id| (id, id * 7))));
        assert_eq!(long_ones, 10);
        Ok(())
    }

    #[test]
    fn a_fact_larger_than_a_block_is_refused() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut stream = Stream::create(&folder.path().join("0.facts"))?;
        let long = "x".repeat(BLOCK);
        assert!(stream.append(&Fact::Property { name: "LONG", value: &long }).is_err());
        stream.append(&Fact::Site { id: 0, address: 1 })
    }
}
