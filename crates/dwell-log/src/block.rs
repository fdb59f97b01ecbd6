//! Blocks of the log: numbers of variable length with a length and a checksum behind them.
//!
//! A block can be found from its end, so that a stream of blocks can be read backwards:
//!
//! | bytes | are |
//! |---|---|
//! | any | numbers of [variable length](dwell_model::varint) |
//! | 4 | number of these bytes, little-endian |
//! | 4 | their CRC-32 as in zip files, little-endian |

/// Size in bytes from which a block is complete.
pub const SIZE: usize = 2048;
/// Size in bytes of the end of a block, after its numbers.
pub const TAIL: usize = 8;

/// Appends length and checksum to the numbers of a block.
pub fn seal(numbers: &mut Vec<u8>) {
    seal_from(numbers, 0);
}

/// Does the same for numbers that begin at a place.
pub fn seal_from(bytes: &mut Vec<u8>, begin: usize) {
    let numbers = bytes.get(begin..).unwrap_or_default();
    let (length, sum) = (numbers.len() as u32, crc32fast::hash(numbers));
    bytes.extend(length.to_le_bytes());
    bytes.extend(sum.to_le_bytes());
}

/// Returns the length in bytes and the checksum of the numbers of a block, given its last bytes.
pub fn tail(bytes: [u8; TAIL]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = bytes;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}
