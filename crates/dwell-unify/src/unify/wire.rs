//! Bytes as they travel: numbers of variable length, strings without what they share with the string
//! before.
//!
//! Reading trusts nothing. Every count is held against the bytes that are left before memory is
//! taken for it, so that what a damaged message can ask for is bounded by its own length.

use std::fmt;

pub(super) use dwell_model::varint::put;
use dwell_model::varint::{fold, take, unfold};

/// Error for bytes of a message or file that do not have the expected layout. Converts to an
/// [`io::Error`](std::io::Error) of kind `InvalidData`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The field that was expected, in words for an error message.
    pub what: &'static str,
    /// Byte offset at which reading gave up, from the beginning of the bytes that were decoded.
    pub offset: usize,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damaged definitions: no {} at byte {}", self.what, self.offset)
    }
}

impl std::error::Error for Damaged {}

impl From<Damaged> for std::io::Error {
    fn from(damaged: Damaged) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, damaged)
    }
}

/// The longest prefix, in bytes, that a string takes over from the string before. It bounds the memory that two bytes
/// of a damaged message can ask for.
const LONGEST_PREFIX: usize = 255;

/// Adds the signed difference from `before` to `number`, which takes few bytes if the two are close in either
/// direction.
pub(super) fn put_step(out: &mut Vec<u8>, before: u64, number: u64) {
    let step = number.wrapping_sub(before) as i64;
    put(out, fold(step));
}

/// Adds the number of bytes, then the bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Adds a string: how many bytes it shares with the beginning of `before`, then the rest.
pub(super) fn put_text(out: &mut Vec<u8>, before: &str, text: &str) {
    let both = before.bytes().zip(text.bytes()).take(LONGEST_PREFIX);
    let mut shared = both.take_while(|(a, b)| a == b).count();
    while !text.is_char_boundary(shared) {
        shared -= 1;
    }
    put(out, shared as u64);
    put_bytes(out, text.get(shared..).unwrap_or_default().as_bytes());
}

/// Reads what the functions of this module wrote.
#[derive(Clone, Debug)]
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(super) fn fault(&self, what: &'static str) -> Damaged {
        Damaged { what, offset: self.offset }
    }

    /// Returns the number of bytes that are not read yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, Damaged> {
        let (&first, rest) = self.bytes.split_first().ok_or_else(|| self.fault(what))?;
        self.bytes = rest;
        self.offset += 1;
        Ok(first)
    }

    pub(super) fn number(&mut self, what: &'static str) -> Result<u64, Damaged> {
        let mut rest = self.bytes;
        let number = take(&mut rest).ok_or_else(|| self.fault(what))?;
        self.offset += self.bytes.len() - rest.len();
        self.bytes = rest;
        Ok(number)
    }

    pub(super) fn small(&mut self, what: &'static str) -> Result<u32, Damaged> {
        u32::try_from(self.number(what)?).map_err(|_| self.fault(what))
    }

    pub(super) fn step(&mut self, before: u64, what: &'static str) -> Result<u64, Damaged> {
        let step = unfold(self.number(what)?);
        Ok(before.wrapping_add_signed(step))
    }

    /// Reads a number of items that take at least `least` bytes each. Fails if the input is too short for them.
    pub(super) fn count(&mut self, least: usize, what: &'static str) -> Result<usize, Damaged> {
        let count = usize::try_from(self.number(what)?).map_err(|_| self.fault(what))?;
        if count > self.left() / least.max(1) { Err(self.fault(what)) } else { Ok(count) }
    }

    pub(super) fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], Damaged> {
        let count = self.count(1, what)?;
        let (head, rest) = self.bytes.split_at_checked(count).ok_or_else(|| self.fault(what))?;
        self.bytes = rest;
        self.offset += count;
        Ok(head)
    }

    pub(super) fn text(&mut self, before: &str, what: &'static str) -> Result<String, Damaged> {
        let shared = usize::try_from(self.number(what)?).map_err(|_| self.fault(what))?;
        if shared > LONGEST_PREFIX {
            return Err(self.fault(what));
        }
        let head = before.get(..shared).ok_or_else(|| self.fault(what))?;
        let tail = std::str::from_utf8(self.bytes(what)?).map_err(|_| self.fault(what))?;
        let mut text = String::with_capacity(head.len() + tail.len());
        text.push_str(head);
        text.push_str(tail);
        Ok(text)
    }

    /// Takes all bytes that are not read yet.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.offset += self.bytes.len();
        std::mem::take(&mut self.bytes)
    }

    /// Fails if any bytes are not read yet.
    pub(super) fn end(&self) -> Result<(), Damaged> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.fault("end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_steps_return() -> Result<(), Damaged> {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 63, u64::MAX];
        for number in numbers {
            let mut out = Vec::new();
            put(&mut out, number);
            for before in numbers {
                put_step(&mut out, before, number);
            }
            let mut input = Input::new(&out);
            assert_eq!(input.number("number")?, number);
            for before in numbers {
                assert_eq!(input.step(before, "step")?, number);
            }
            input.end()?;
        }
        Ok(())
    }

    #[test]
    fn a_number_of_eleven_bytes_is_damaged() {
        assert!(Input::new(&[0xff; 11]).number("number").is_err());
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(Input::new(&most).number("number"), Ok(u64::MAX));
        most[9] = 2;
        assert!(Input::new(&most).number("number").is_err());
    }

    #[test]
    fn strings_are_cut_between_characters() -> Result<(), Damaged> {
        let long = "x".repeat(1000);
        let texts = ["", "grün", "grüße", "gr\u{fc}", "gr\u{fd}", &long, &long, "x"];
        let mut out = Vec::new();
        let mut before = "";
        for text in texts {
            put_text(&mut out, before, text);
            before = text;
        }
        let mut input = Input::new(&out);
        let mut last = String::new();
        for text in texts {
            last = input.text(&last, "text")?;
            assert_eq!(last, text);
        }
        input.end()
    }

    #[test]
    fn a_count_is_held_against_what_is_left() {
        let mut out = Vec::new();
        put(&mut out, 3);
        out.extend([0; 5]);
        assert_eq!(Input::new(&out).count(1, "count"), Ok(3));
        assert!(Input::new(&out).count(2, "count").is_err());
        assert!(Input::new(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).bytes("bytes").is_err());
    }
}
