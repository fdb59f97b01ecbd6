//! The frame of every file but the anchor: chunks, their headers and control bytes.
//!
//! A file is a row of chunks of equal size; the last is cut after its last used byte. Chunk header:
//!
//! | offset | code | field |
//! |---:|---|---|
//! | 0 | u8 | `03` |
//! | 1 | u8 | byte order of the chunk: `42` little, `23` big |
//! | 2 | u64 | number of the first event in the chunk, counted from 1 |
//! | 10 | u64 | number of the last one; first - 1 if there are none |
//!
//! In definition and marker files the two numbers are 1 and 0.

use crate::wire::ByteOrder;

/// Bytes of a chunk header.
pub(crate) const HEADER: usize = 18;
/// Where a chunk header states the number of the last event.
pub(crate) const LAST: core::ops::Range<usize> = 10..18;
/// Bytes of a timestamp record.
pub(crate) const TIMESTAMP: usize = 9;

/// The smallest chunk the format allows.
pub const MIN_SIZE: u64 = 256 * 1024;
/// The largest chunk the format allows.
pub const MAX_SIZE: u64 = 16 * 1024 * 1024;
/// Size of event chunks unless told otherwise.
pub const EVENTS_SIZE: u64 = 1024 * 1024;
/// Size of definition chunks unless told otherwise.
pub const DEFS_SIZE: u64 = 4 * 1024 * 1024;

/// Control bytes: what stands where a record id could.
pub(crate) mod control {
    pub(crate) const END_OF_CHUNK: u8 = 0;
    pub(crate) const END_OF_BUFFER: u8 = 1;
    pub(crate) const END_OF_FILE: u8 = 2;
    pub(crate) const HEADER: u8 = 3;
    pub(crate) const TIMESTAMP: u8 = 5;
    pub(crate) const ATTRIBUTES: u8 = 6;
    /// Records begin here in event and snapshot files.
    pub(crate) const FIRST_EVENT: u8 = 10;
    /// Records begin here in all other files.
    pub(crate) const FIRST_DEFINITION: u8 = 5;
}

/// A chunk header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Byte order of the chunk.
    pub order: ByteOrder,
    /// Number of the first event.
    pub first: u64,
    /// Number of the last event.
    pub last: u64,
}

impl Header {
    /// Reads a header; `None` if these bytes are none.
    pub fn read(bytes: &[u8; HEADER]) -> Option<Self> {
        let [mark, order, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *bytes;
        if mark != control::HEADER {
            return None;
        }
        let order = ByteOrder::from_mark(order)?;
        let number = |bytes| match order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        };
        Some(Self {
            order,
            first: number([a, b, c, d, e, f, g, h]),
            last: number([i, j, k, l, m, n, o, p]),
        })
    }

    /// The bytes of this header.
    pub fn to_bytes(self) -> [u8; HEADER] {
        let number = |n: u64| match self.order {
            ByteOrder::Little => n.to_le_bytes(),
            ByteOrder::Big => n.to_be_bytes(),
        };
        let [a, b, c, d, e, f, g, h] = number(self.first);
        let [i, j, k, l, m, n, o, p] = number(self.last);
        let (mark, order) = (control::HEADER, self.order.mark());
        [mark, order, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
    }
}
