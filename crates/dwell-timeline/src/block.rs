//! Blocks of slices: up to 64 of one location, the last first, under a checksum.
//!
//! | numbers of variable length (LEB128), for each slice | are |
//! |---|---|
//! | length in nanoseconds | above 0 |
//! | number of the call path plus 1, or 0, times 2, plus 1 for a wait | |
//! | only for a wait: its place in the catalogue, and the number of the culprit | |
//!
//! Before all of them is the end of the last slice, and the CRC-32 of the numbers follows in 4 bytes.

use dwell_model::waits::Wait;

use crate::ids::{CallPath, Location};
use crate::slices::{Slice, Waiting};
use crate::span::{Span, Time};

/// Greatest number of slices in a block.
pub(crate) const SLICES: usize = 64;

/// Appends a number.
#[inline(always)]
pub(crate) fn put(to: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        to.push(value as u8);
    } else if value < 1 << 56 {
        // 28 bits become four bytes of seven, as below in `take`. All eight bytes are written, and those that are zero taken back.
        let bytes = (64 - value.leading_zeros()).div_ceil(7);
        let word = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
        let word = word & 0x0000_3fff_0000_3fff | (word & 0x0fff_c000_0fff_c000) << 2;
        let word = word & 0x007f_007f_007f_007f | (word & 0x3f80_3f80_3f80_3f80) << 1;
        let more = 0x8080_8080_8080_8080 & !(u64::MAX << (8 * bytes - 8));
        let length = to.len() + bytes as usize;
        to.extend_from_slice(&(word | more).to_le_bytes());
        to.truncate(length);
    } else {
        put_by_bytes(to, value);
    }
}

#[cold]
fn put_by_bytes(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Takes a number from the beginning of bytes, or returns `None` if there is none.
#[inline(always)]
pub(crate) fn take(from: &mut &[u8]) -> Option<u64> {
    const LAST: u64 = 0x8080_8080_8080_8080;
    let (&first, rest) = from.split_first()?;
    if first < 0x80 {
        *from = rest;
        return Some(first.into());
    }
    // Numbers of different sizes follow each other, which branches for each byte would make slow.
    if let Some(eight) = from.first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let ends = !word & LAST;
        if ends != 0 {
            let bits = ends.trailing_zeros() + 1;
            *from = from.get(bits as usize / 8..)?;
            let word = word & (u64::MAX >> (64 - bits)) & !LAST;
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
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Appends a slice to the numbers of a block.
pub(crate) fn encode(to: &mut Vec<u8>, slice: &Slice) {
    put(to, slice.span.length());
    let path = slice.path.map_or(0, |it| u64::from(it.0) + 1);
    put(to, path << 1 | u64::from(slice.wait.is_some()));
    if let Some(Waiting { what, culprit }) = slice.wait {
        put(to, what as u64);
        put(to, culprit.0.into());
    }
}

/// Appends the checksum to the numbers of a block.
pub(crate) fn seal(block: &mut Vec<u8>) {
    let sum = crc32fast::hash(block);
    block.extend_from_slice(&sum.to_le_bytes());
}

/// Returns bytes without the checksum behind them, or `None` if that is wrong. A fuzzer hardly ever finds the right one, so that for it
/// all are.
#[allow(unexpected_cfgs, reason = "set by `cargo xtask fuzz` alone")]
pub(crate) fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (numbers, sum) = bytes.split_last_chunk::<4>()?;
    (cfg!(fuzzing) || crc32fast::hash(numbers).to_le_bytes() == *sum).then_some(numbers)
}

/// Reads a block, the last slice first. Returns `None` if it is damaged.
pub(crate) fn decode(bytes: &[u8], list: &mut Vec<Slice>) -> Option<()> {
    list.clear();
    each(bytes, |slice| {
        list.push(*slice);
        true
    })?;
    Some(())
}

/// Calls a function with the slices of a block, the last first, until it returns `false`. Returns whether it never did, or `None` if the
/// block is damaged.
#[inline(always)]
pub(crate) fn each(bytes: &[u8], mut of: impl FnMut(&Slice) -> bool) -> Option<bool> {
    let mut bytes = checked(bytes)?;
    let mut end = Time(take(&mut bytes)?);
    while !bytes.is_empty() {
        let from = Time(end.0.checked_sub(take(&mut bytes)?)?);
        let path = take(&mut bytes)?;
        let wait = match path & 1 {
            0 => None,
            _ => {
                let what = *Wait::ALL.get(usize::try_from(take(&mut bytes)?).ok()?)?;
                let culprit = Location(u32::try_from(take(&mut bytes)?).ok()?);
                Some(Waiting { what, culprit })
            }
        };
        let path = match path >> 1 {
            0 => None,
            path => Some(CallPath(u32::try_from(path - 1).ok()?)),
        };
        if !of(&Slice { span: Span { from, to: end }, path, wait }) {
            return Some(false);
        }
        end = from;
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_sizes_are_read_at_all_distances_from_the_end() {
        let sizes = (0..64).map(|bits| 1_u64 << bits);
        let numbers: Vec<u64> = sizes
            .flat_map(|it| [it - 1, it, it | it >> 1, it | 0x55 & (it - 1)])
            .chain([u64::MAX])
            .collect();
        for &number in &numbers {
            for behind in 0..12 {
                let mut bytes = Vec::new();
                put(&mut bytes, number);
                let mut expected = Vec::new();
                put_by_bytes(&mut expected, number);
                assert_eq!(bytes, expected, "{number}");
                let length = bytes.len();
                bytes.resize(length + behind, 0xff);
                let mut rest = bytes.as_slice();
                assert_eq!(take(&mut rest), Some(number), "{behind} bytes behind {number}");
                assert_eq!(rest.len(), behind, "{number}");
                assert_eq!(take(&mut &bytes[..length - 1]), None, "{number} without its end");
            }
        }
    }

    #[test]
    fn numbers_without_an_end_are_refused() {
        for length in 0..12 {
            assert_eq!(take(&mut vec![0xff; length].as_slice()), None, "{length} bytes");
        }
    }
}
