//! Numbers of variable length in the encoding of LEB128: seven bits in a byte, the lowest first, the highest bit set in
//! all but the last.
//!
//! ```
//! use dwell_model::varint;
//!
//! let mut bytes = Vec::new();
//! varint::put(&mut bytes, 300);
//! assert_eq!(bytes, [0xac, 0x02]);
//! assert_eq!(varint::take(&mut &bytes[..]), Some(300));
//! ```

use alloc::vec::Vec;

/// Number of bytes of the largest number.
pub const LONGEST: usize = 10;

/// Bits of eight bytes that say whether another byte follows.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Appends a number, which takes one byte below 128 and at most [`LONGEST`].
#[inline(always)]
pub fn put(to: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        to.push(value as u8);
    } else if value < 1 << 56 {
        // 28 bits become four bytes of seven. All eight bytes are written, and those that are zero taken back.
        let bytes = (64 - value.leading_zeros()).div_ceil(7);
        let word = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
        let word = word & 0x0000_3fff_0000_3fff | (word & 0x0fff_c000_0fff_c000) << 2;
        let word = word & 0x007f_007f_007f_007f | (word & 0x3f80_3f80_3f80_3f80) << 1;
        let more = MORE & !(u64::MAX << (8 * bytes - 8));
        let length = to.len() + bytes as usize;
        to.extend_from_slice(&(word | more).to_le_bytes());
        to.truncate(length);
    } else {
        put_by_bytes(to, value);
    }
}

#[cold]
fn put_by_bytes(to: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; LONGEST];
    let length = put_at(&mut bytes, 0, value);
    to.extend(bytes.into_iter().take(length));
}

/// Writes a number to a buffer, without memory of its own. Returns the place after it. Bytes that do not fit are left out.
#[inline]
pub fn put_at(bytes: &mut [u8], mut at: usize, mut value: u64) -> usize {
    loop {
        let more = if value >= 0x80 { 0x80 } else { 0 };
        if let Some(byte) = bytes.get_mut(at) {
            *byte = (value & 0x7f) as u8 | more;
        }
        at += 1;
        value >>= 7;
        if more == 0 {
            return at;
        }
    }
}

/// Takes a number from the beginning of bytes, or returns `None` if they end before it or it has more than 64 bits.
#[inline(always)]
pub fn take(from: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = from.split_first()?;
    if first < 0x80 {
        *from = rest;
        return Some(first.into());
    }
    // Numbers of different sizes follow each other, which branches for each byte would make slow.
    if let Some(eight) = from.first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let ends = !word & MORE;
        if ends != 0 {
            let bits = ends.trailing_zeros() + 1;
            *from = from.get(bits as usize / 8..)?;
            let word = word & (u64::MAX >> (64 - bits)) & !MORE;
            // Seven bits of each byte become 14 of each two, 28 of each four and 56 of all.
            let word = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
            let word = word & 0x0000_3fff_0000_3fff | (word & 0x3fff_0000_3fff_0000) >> 2;
            return Some(word & 0x0fff_ffff | (word & 0x0fff_ffff_0000_0000) >> 4);
        }
    }
    take_by_bytes(from)
}

#[cold]
fn take_by_bytes(from: &mut &[u8]) -> Option<u64> {
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
#[inline]
pub fn fold(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// Returns the number of either sign that [`fold`] has mapped to this one.
#[inline]
pub fn unfold(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule, byte by byte.
    fn by_rule(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    #[test]
    fn all_ways_to_write_a_number_follow_the_rule() {
        let near = (0..64).flat_map(|bits| {
            [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1, 0x5555_5555_5555_5555 >> bits]
        });
        for value in near.chain([u64::MAX, u64::MAX - 1, 0x0123_4567_89ab_cdef]) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(bytes, by_rule(value), "{value}");
            let mut buffer = [0; LONGEST];
            let length = put_at(&mut buffer, 0, value);
            assert_eq!(&buffer[..length], by_rule(value), "{value}");
            for behind in 0..10 {
                let mut longer = bytes.clone();
                longer.extend(core::iter::repeat_n(0xff, behind));
                let mut from = longer.as_slice();
                assert_eq!(take(&mut from), Some(value));
                assert_eq!(from.len(), behind);
            }
            for length in 0..bytes.len() {
                assert_eq!(take(&mut bytes.get(..length).unwrap_or_default()), None);
            }
        }
    }

    #[test]
    fn numbers_that_are_too_large_are_none() {
        assert_eq!(take(&mut [0x80; 20].as_slice()), None);
        for length in 0..12 {
            assert_eq!(take(&mut [0xff; 12].get(..length).unwrap_or_default()), None);
        }
        let mut large = [0xff; 10];
        large[9] = 2;
        assert_eq!(take(&mut large.as_slice()), None);
        large[9] = 1;
        assert_eq!(take(&mut large.as_slice()), Some(u64::MAX));
    }

    #[test]
    fn a_buffer_that_is_too_short_has_the_first_bytes() {
        let mut buffer = [0; 1];
        assert_eq!(put_at(&mut buffer, 0, 300), 2);
        assert_eq!(buffer, [0xac]);
    }

    #[test]
    fn signs_are_folded() {
        for value in [0, -1, 1, i64::MIN, i64::MAX, -77] {
            assert_eq!(unfold(fold(value)), value);
        }
        assert_eq!((fold(0), fold(-1), fold(1)), (0, 1, 2));
    }
}
