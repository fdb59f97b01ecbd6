//! How messages and results travel to other processes: in the format of `postcard`, which is compact and checks what it
//! reads.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes from another process that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Appends a value to bytes.
#[inline]
pub(crate) fn write<T: Serialize>(value: &T, to: &mut Vec<u8>) {
    // Writing to memory fails only for values whose length is not known before, and there are none.
    let _ = postcard::to_io(value, to);
}

/// Reads a value from the beginning of bytes, and moves on to what follows it.
#[inline]
pub(crate) fn read<T: DeserializeOwned>(from: &mut &[u8]) -> Result<T, Garbled> {
    let (value, rest) = postcard::take_from_bytes(from).map_err(|_| Garbled)?;
    *from = rest;
    Ok(value)
}

/// Messages of all kinds of a set that arrived at one shard, or are on their way to it.
pub(crate) trait Inboxes: Default + Send + std::fmt::Debug {
    /// Returns the memory in bytes that the messages take.
    fn bytes(&self) -> usize;

    /// Returns `true` if there are no messages.
    fn is_empty(&self) -> bool;

    /// Appends all messages to the bytes for another process.
    fn write(self, to: &mut Vec<u8>);

    /// Adds messages from the bytes of another process.
    fn read(&mut self, from: &mut &[u8]) -> Result<(), Garbled>;
}

impl Inboxes for () {
    fn bytes(&self) -> usize {
        0
    }

    fn is_empty(&self) -> bool {
        true
    }

    fn write(self, _: &mut Vec<u8>) {}

    fn read(&mut self, _: &mut &[u8]) -> Result<(), Garbled> {
        Ok(())
    }
}

/// Messages of two sets, which travel together.
impl<A: Inboxes, B: Inboxes> Inboxes for (A, B) {
    fn bytes(&self) -> usize {
        self.0.bytes() + self.1.bytes()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty() && self.1.is_empty()
    }

    fn write(self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(&mut self, from: &mut &[u8]) -> Result<(), Garbled> {
        self.0.read(from)?;
        self.1.read(from)
    }
}
