//! Encoding of single fields into memory: fixed numbers, compressed numbers, strings.
//!
//! There are two kinds of memory. A [`SliceOutput`] has any length: what does not fit stores nothing and moves the
//! position past the end, which the caller checks once for each record. A [`WindowOutput`] has a length that the
//! compiler knows: the caller makes sure beforehand that everything fits, and no store is checked.

use crate::order::ByteOrder;

/// Memory that is being written, and the position of the next byte. It is what fields of records are encoded into.
pub trait Output: Sized {
    /// Returns the position of the next byte.
    fn pos(&self) -> usize;

    /// Returns the byte order of numbers.
    fn order(&self) -> ByteOrder;

    /// Moves the position back to the first byte, so that what was stored is overwritten.
    fn back_to_the_start(&mut self);

    /// Stores all bytes of the array at the position, and moves the position by `advance`, which may be less.
    fn array<const N: usize>(&mut self, value: [u8; N], advance: usize);

    /// Stores bytes at the position and moves the position behind them.
    fn bytes(&mut self, bytes: &[u8]);

    /// Stores a byte at another position than that of the next byte.
    fn set(&mut self, pos: usize, byte: u8);

    /// Moves the bytes from `start` to the position by eight towards the end, and the position with them. Returns `false`
    /// if they do not fit there.
    fn shift(&mut self, start: usize) -> bool;

    /// Stores one byte.
    #[inline(always)]
    fn u8(&mut self, value: u8) {
        self.array([value], 1);
    }

    /// Stores two bytes in the byte order of the output.
    #[inline(always)]
    fn u16(&mut self, value: u16) {
        self.array(
            match self.order() {
                ByteOrder::Little => value.to_le_bytes(),
                ByteOrder::Big => value.to_be_bytes(),
            },
            2,
        );
    }

    /// Stores four bytes in the byte order of the output.
    #[inline(always)]
    fn u32(&mut self, value: u32) {
        self.array(
            match self.order() {
                ByteOrder::Little => value.to_le_bytes(),
                ByteOrder::Big => value.to_be_bytes(),
            },
            4,
        );
    }

    /// Stores eight bytes in the byte order of the output.
    #[inline(always)]
    fn u64(&mut self, value: u64) {
        self.array(
            match self.order() {
                ByteOrder::Little => value.to_le_bytes(),
                ByteOrder::Big => value.to_be_bytes(),
            },
            8,
        );
    }

    /// Stores all eight bytes of a compressed number and advances over those that count; the others are zeros.
    #[inline(always)]
    fn v64(&mut self, value: u64) {
        if value < 256 {
            return self.small(value as u8);
        }
        if value == u64::MAX {
            return self.u8(0xFF);
        }
        let length = value.ilog2() / 8 + 1;
        let [a, b, c, d, e, f, g, h] = match self.order() {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => (value.checked_shl(64 - 8 * length).unwrap_or(0)).to_be_bytes(),
        };
        self.array([length as u8, a, b, c, d, e, f, g, h], 1 + length as usize);
    }

    /// Stores all four bytes of a compressed number and advances over those that count, as [`Output::v64`] does.
    #[inline(always)]
    fn v32(&mut self, value: u32) {
        if value < 256 {
            return self.small(value as u8);
        }
        if value == u32::MAX {
            return self.u8(0xFF);
        }
        let length = value.ilog2() / 8 + 1;
        let [a, b, c, d] = match self.order() {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => (value.checked_shl(32 - 8 * length).unwrap_or(0)).to_be_bytes(),
        };
        self.array([length as u8, a, b, c, d], 1 + length as usize);
    }

    /// Stores a compressed number below 256, as most are.
    #[inline(always)]
    fn small(&mut self, value: u8) {
        let length = u8::from(value != 0);
        self.array([length, value], 1 + usize::from(length));
    }

    /// Stores the bytes of a string, which has no zero, and a zero.
    fn str(&mut self, value: &[u8]) {
        self.bytes(value);
        self.u8(0);
    }

    /// Stores the length of a record in the byte before its fields, which begin at `start` and take at most `bound`
    /// bytes. A length of 255 or more needs nine bytes, so the fields are moved.
    #[inline(always)]
    fn length(&mut self, start: usize, bound: usize) {
        let length = self.pos().wrapping_sub(start);
        // The compiler knows the bound of most records, and removes the other branch.
        if bound < 0xFF || length < 0xFF {
            self.set(start.wrapping_sub(1), length as u8);
        } else {
            long_length(self, start, length);
        }
    }
}

/// Moves the fields of a record to make room for the long form of its length, and stores that.
#[cold]
#[inline(never)]
fn long_length(output: &mut impl Output, start: usize, length: usize) {
    if !output.shift(start) {
        return; // The caller checks this.
    }
    let long = match output.order() {
        ByteOrder::Little => (length as u64).to_le_bytes(),
        ByteOrder::Big => (length as u64).to_be_bytes(),
    };
    output.set(start.wrapping_sub(1), 0xFF);
    (start..).zip(long).for_each(|(at, byte)| output.set(at, byte));
}

/// Memory of any length. Writing beyond its end stores nothing but advances the position, so that the caller checks once
/// whether everything fitted.
#[derive(Debug)]
pub(crate) struct SliceOutput<'c> {
    bytes: &'c mut [u8],
    pos: usize,
    order: ByteOrder,
}

impl<'c> SliceOutput<'c> {
    #[inline(always)]
    pub(crate) fn new(bytes: &'c mut [u8], pos: usize, order: ByteOrder) -> Self {
        Self { bytes, pos, order }
    }

    /// Returns `true` if everything written so far fitted into the memory.
    #[inline(always)]
    pub(crate) fn fits(&self) -> bool {
        self.pos <= self.bytes.len()
    }
}

impl Output for SliceOutput<'_> {
    #[inline(always)]
    fn pos(&self) -> usize {
        self.pos
    }

    #[inline(always)]
    fn order(&self) -> ByteOrder {
        self.order
    }

    #[inline(always)]
    fn back_to_the_start(&mut self) {
        self.pos = 0;
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self, value: [u8; N], advance: usize) {
        if let Some(place) = self.bytes.get_mut(self.pos..).and_then(<[u8]>::first_chunk_mut) {
            *place = value;
        }
        self.pos += advance;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let end = self.pos + bytes.len();
        if let Some(place) = self.bytes.get_mut(self.pos..end) {
            place.copy_from_slice(bytes);
        }
        self.pos = end;
    }

    #[inline(always)]
    fn set(&mut self, pos: usize, byte: u8) {
        if let Some(place) = self.bytes.get_mut(pos) {
            *place = byte;
        }
    }

    fn shift(&mut self, start: usize) -> bool {
        let end = self.pos;
        self.pos += 8;
        let fits = self.fits();
        if fits {
            self.bytes.copy_within(start..end, start + 8);
        }
        fits
    }
}

/// A window of a chunk for records that are short, in little endian. The caller makes sure that no more than
/// [`WindowOutput::REACH`] bytes are written. Positions are taken modulo a power of two, so that every store lies in the
/// window for all that the compiler knows, and none is checked.
#[derive(Debug)]
pub(crate) struct WindowOutput<'c> {
    bytes: &'c mut [u8; WindowOutput::SIZE],
    pos: usize,
}

impl<'c> WindowOutput<'c> {
    /// Number of bytes that can be written.
    pub(crate) const REACH: usize = 256;

    /// Size of the window: a field that begins within reach stores up to [`MOST`](Self::MOST) bytes.
    pub(crate) const SIZE: usize = Self::REACH + Self::MOST;

    /// Size of the longest array that is stored at once: a prepared event.
    const MOST: usize = 40;

    #[inline(always)]
    pub(crate) fn new(bytes: &'c mut [u8; WindowOutput::SIZE], pos: usize) -> Self {
        Self { bytes, pos }
    }
}

impl Output for WindowOutput<'_> {
    #[inline(always)]
    fn pos(&self) -> usize {
        self.pos
    }

    #[inline(always)]
    fn order(&self) -> ByteOrder {
        ByteOrder::Little
    }

    #[inline(always)]
    fn back_to_the_start(&mut self) {
        self.pos = 0;
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self, value: [u8; N], advance: usize) {
        const { assert!(N <= Self::MOST) };
        let at = self.pos % Self::REACH;
        if let Some(place) = self.bytes.get_mut(at..at + N) {
            place.copy_from_slice(&value);
        }
        self.pos += advance;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let end = self.pos + bytes.len();
        if let Some(place) = self.bytes.get_mut(self.pos..end) {
            place.copy_from_slice(bytes);
        }
        self.pos = end;
    }

    #[inline(always)]
    fn set(&mut self, pos: usize, byte: u8) {
        if let Some(place) = self.bytes.get_mut(pos % Self::REACH) {
            *place = byte;
        }
    }

    fn shift(&mut self, start: usize) -> bool {
        let end = self.pos;
        self.pos += 8;
        let fits = self.pos <= self.bytes.len() && start <= end;
        if fits {
            self.bytes.copy_within(start..end, start + 8);
        }
        fits
    }
}
