//! Blocks of slices: up to 64 of one location, the last first, under a checksum.
//!
//! | numbers of variable length (LEB128), for each slice | are |
//! |---|---|
//! | length in nanoseconds | above 0 |
//! | number of the call path plus 1, or 0, times 2, plus 1 for a wait | |
//! | only for a wait: its place in the catalogue, and the number of the culprit | |
//!
//! Before all of them is the end of the last slice, and the CRC-32 of the numbers follows in 4 bytes.

use dwell_model::varint::{put, take};
use dwell_model::waits::Wait;

use crate::ids::{CallPath, Location};
use crate::slices::{Slice, Waiting};
use crate::span::{Span, Time};

/// Greatest number of slices in a block.
pub(crate) const SLICES: usize = 64;

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
