//! Blocks of a location that wait in the scratch file until the log is written.
//!
//! Each block in the scratch file is preceded by the place of the block before it, so that a location keeps the place of
//! the last one only.

use std::io;
use std::sync::Arc;

use dwell_model::varint;

use crate::block;
use crate::scratch::Scratch;

/// Place of a block in the scratch file.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u32,
}

/// Size in bytes of what precedes a block in the scratch file: the place of the block before it.
const LINK: usize = 12;

/// Bytes that a block may be longer: the rest of its last record, and its length and checksum.
const SPARE: usize = 40;

/// Blocks of one kind of a location.
#[derive(Debug)]
pub struct Blocks {
    scratch: Arc<Scratch>,
    /// The block that is being filled, with the link to the one before.
    open: Vec<u8>,
    last: Option<Place>,
    /// Size in bytes of all blocks that are full.
    size: u64,
}

impl Blocks {
    /// Creates a list without blocks. Full blocks go to the scratch file.
    pub fn new(scratch: Arc<Scratch>) -> Self {
        Self { scratch, open: Vec::new(), last: None, size: 0 }
    }

    /// Returns `true` if no block is open.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.open.is_empty()
    }

    /// Opens a block, to which numbers can be added until it is complete.
    #[cold]
    #[inline(never)]
    pub fn open(&mut self) {
        self.open.reserve_exact(LINK + block::SIZE + SPARE);
        let Place { offset, length } = self.last.unwrap_or(Place { offset: 0, length: 0 });
        self.open.extend(offset.to_le_bytes());
        self.open.extend(length.to_le_bytes());
    }

    /// Appends a number to the open block.
    #[inline(always)]
    pub fn put(&mut self, number: u64) {
        varint::put(&mut self.open, number);
    }

    /// Closes the open block if it is full.
    #[inline(always)]
    pub fn end_record(&mut self) {
        if self.open.len() >= LINK + block::SIZE {
            self.close();
        }
    }

    #[cold]
    #[inline(never)]
    fn close(&mut self) {
        block::seal_from(&mut self.open, LINK);
        let length = (self.open.len() - LINK) as u32;
        self.size += u64::from(length);
        let offset = self.scratch.append(&self.open);
        self.last = Some(Place { offset, length });
        self.open.clear();
    }

    /// Closes the last block, and returns the size of all blocks in bytes.
    pub fn finish(&mut self) -> u64 {
        if !self.open.is_empty() {
            self.close();
        }
        self.open = Vec::new();
        self.size
    }

    /// Copies all blocks in their order.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or written.
    pub fn copy(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut places = Vec::new();
        let mut next = self.last;
        while let Some(place) = next {
            places.push(place);
            let mut link = [0; LINK];
            self.scratch.read(place.offset, &mut link)?;
            let [a, b, c, d, e, f, g, h, i, j, k, l] = link;
            let offset = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let length = u32::from_le_bytes([i, j, k, l]);
            next = (length > 0).then_some(Place { offset, length });
        }
        let mut bytes = Vec::new();
        for Place { offset, length } in places.into_iter().rev() {
            bytes.resize(length as usize, 0);
            self.scratch.read(offset + LINK as u64, &mut bytes)?;
            to.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Returns the memory in bytes that the open block takes.
    pub fn bytes(&self) -> usize {
        self.open.capacity()
    }
}
