//! Blocks of the log: numbers of variable length with a length and a checksum behind them.
//!
//! A block can be found from its end, so that a stream of blocks can be read backwards:
//!
//! | bytes | are |
//! |---|---|
//! | any | numbers, in the encoding of LEB128: 7 bits in a byte, the lowest first, the highest bit set in all but the last |
//! | 4 | number of these bytes, little-endian |
//! | 4 | their CRC-32 as in zip files, little-endian |

/// Size in bytes from which a block is complete.
pub(crate) const SIZE: usize = 2048;
/// Size in bytes of what follows the numbers of a block.
pub(crate) const TAIL: usize = 8;

/// Appends a number.
#[inline(always)]
pub(crate) fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Takes a number from the beginning of bytes, or returns `None` if there is none.
#[inline]
pub(crate) fn take(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Maps numbers of either sign to small numbers: 0, -1, 1, -2, 2 to 0, 1, 2, 3, 4.
pub(crate) fn fold(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// Undoes [`fold`].
pub(crate) fn unfold(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Appends length and checksum to the numbers of a block.
pub(crate) fn seal(numbers: &mut Vec<u8>) {
    seal_from(numbers, 0);
}

/// Does the same for numbers that begin at a place.
pub(crate) fn seal_from(bytes: &mut Vec<u8>, begin: usize) {
    let numbers = bytes.get(begin..).unwrap_or_default();
    let (length, sum) = (numbers.len() as u32, crc32fast::hash(numbers));
    bytes.extend(length.to_le_bytes());
    bytes.extend(sum.to_le_bytes());
}

/// Returns the length in bytes and the checksum of the numbers of a block, given its last bytes.
pub(crate) fn tail(bytes: [u8; TAIL]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = bytes;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut bytes = Vec::new();
        let list = [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX];
        list.iter().for_each(|it| put(&mut bytes, *it));
        let mut from = bytes.as_slice();
        for value in list {
            assert_eq!(take(&mut from), Some(value));
        }
        assert_eq!(take(&mut from), None);
        for value in [0, -1, 1, i64::MIN, i64::MAX, -77] {
            assert_eq!(unfold(fold(value)), value);
        }
        assert_eq!((fold(0), fold(-1), fold(1)), (0, 1, 2));
    }

    #[test]
    fn numbers_that_are_too_large_are_none() {
        assert_eq!(take(&mut [0xff; 9].as_slice()), None);
        assert_eq!(take(&mut [0x80; 20].as_slice()), None);
        let mut large = [0xff; 10];
        large[9] = 2;
        assert_eq!(take(&mut large.as_slice()), None);
        large[9] = 1;
        assert_eq!(take(&mut large.as_slice()), Some(u64::MAX));
    }
}
