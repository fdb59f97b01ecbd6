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

/// Size of a chunk header, in bytes.
pub(crate) const HEADER: usize = 18;
/// Bytes of a chunk header that hold the number of the last event.
pub(crate) const LAST: core::ops::Range<usize> = 10..18;
/// Size of a timestamp record, in bytes: its id and a 64-bit time.
pub(crate) const TIMESTAMP: usize = 9;

/// The smallest chunk size that the format allows, in bytes. Anchors that state less are refused, and so is smaller
/// chunk memory for an [`Encoder`](crate::encode::Encoder).
pub const MIN_SIZE: u64 = 256 * 1024;
/// The largest chunk size that the format allows, in bytes. No record can be larger than this, because a record must
/// fit into one chunk.
pub const MAX_SIZE: u64 = 16 * 1024 * 1024;
/// Default size of event chunks, in bytes. A reader that seeks decodes at most one chunk, so smaller chunks make
/// seeking faster and larger ones save headers.
pub const EVENTS_SIZE: u64 = 1024 * 1024;
/// Default size of definition chunks, in bytes. One definition must fit into a chunk, and groups of many locations are
/// long.
pub const DEFS_SIZE: u64 = 4 * 1024 * 1024;

/// Control bytes, which take the place of a record id.
pub(crate) mod control {
    pub(crate) const END_OF_CHUNK: u8 = 0;
    pub(crate) const END_OF_BUFFER: u8 = 1;
    pub(crate) const END_OF_FILE: u8 = 2;
    pub(crate) const HEADER: u8 = 3;
    pub(crate) const TIMESTAMP: u8 = 5;
    pub(crate) const ATTRIBUTES: u8 = 6;
    /// Smallest record id in event and snapshot files.
    pub(crate) const FIRST_EVENT: u8 = 10;
    /// Smallest record id in definition, marker and thumbnail files.
    pub(crate) const FIRST_DEFINITION: u8 = 5;
}

/// The first 18 bytes of a chunk, which state its byte order and which events of the location it holds. Seeking to an
/// event or a time reads only these headers until it has found the right chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Byte order of all numbers in the chunk, this header included.
    pub order: ByteOrder,
    /// Number of the first event in the chunk, counted from 1 over all chunks of the location. Definition and marker
    /// files state 1.
    pub first: u64,
    /// Number of the last event in the chunk. It is one less than `first` if the chunk has no events, as in all
    /// definition and marker files.
    pub last: u64,
}

impl Header {
    /// Decodes a chunk header. Returns `None` if the first byte or the byte order mark is wrong, so that these bytes
    /// begin no chunk. The event numbers are not checked.
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

    /// Encodes the header as the first bytes of a chunk, in its own byte order.
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
