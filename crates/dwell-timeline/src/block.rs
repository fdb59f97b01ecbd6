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

use crate::slices::{Slice, Waiting};
use crate::{CallPath, Location, Span, Time};

/// Greatest number of slices in a block.
pub(crate) const SLICES: usize = 64;

/// Appends a number.
pub(crate) fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Takes a number from the beginning of bytes, or returns `None` if there is none.
pub(crate) fn take(from: &mut &[u8]) -> Option<u64> {
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
    let mut bytes = checked(bytes)?;
    list.clear();
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
        list.push(Slice { span: Span { from, to: end }, path, wait });
        end = from;
    }
    Some(())
}
