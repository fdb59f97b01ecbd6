//! The encoder: events into chunk memory that the caller provides.
//!
//! It is meant for the inside of a measured program: no allocation, no lock, no system call, no
//! panic, and it builds without the standard library. The chunk it leaves is in its final form, so
//! a file that is mapped as chunk memory needs no copying afterwards.
//!
//! # The commit mark
//!
//! An event, with its timestamp and attributes, is written behind a byte that stays zero until all
//! of it is in memory. Zero means *end of chunk*, and another zero follows the event. So at
//! any instant, a reader of the memory, or of the file behind it after the process was killed, finds
//! complete events and then the end. The memory need not be zeroed beforehand.
//!
//! Right behind that the chunk header is made to state the number of the event. A chunk in which fewer are
//! found later has lost some, and a writer that was killed between the two stores leaves one more.
//!
//! # Example
//!
//! ```
//! use otf2::encode::Encoder;
//! use otf2::event::{Enter, Leave};
//! use otf2::id::{RegionRef, Time};
//!
//! let mut chunk = vec![0_u8; 256 * 1024];
//! let mut encoder = Encoder::new(chunk.as_mut_slice())?;
//! encoder.write(Time(10), Enter { region: RegionRef(0) })?;
//! encoder.write(Time(25), Leave { region: RegionRef(0) })?;
//! let last = encoder.finish();
//! assert_eq!(last.events, 2);
//! assert_eq!(last.used, 18 + (9 + 1 + 1) + (9 + 1 + 1) + 2);
//! # Ok::<(), otf2::encode::EncodeError>(())
//! ```

mod part;

use core::fmt;
use core::ops::DerefMut;

#[cfg(feature = "std")]
pub(crate) use self::part::write_attributes;
use self::part::{Before, NoAttributes};
pub use self::part::{Part, Plain, Tagged};
use crate::chunk::{self, HEADER, Header, TIMESTAMP, control};
use crate::event::AnyEvent;
use crate::id::Time;
use crate::mark::publish;
use crate::output::{Output, SliceOutput, WindowOutput};
use crate::record::{Any, Framing, framed, write_body};
use crate::seal::{self, TAIL};
use crate::value::{Attribute, List};
use crate::wire::ByteOrder;

/// The reasons why an event cannot be written. The chunk then holds nothing of the event, and the encoder can be used
/// further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The chunk has no room for the event. Call [`Encoder::turn`] or [`Encoder::reuse`] and write the event again.
    Full,
    /// The event does not fit into an empty chunk either, so another chunk does not help and the event must be dropped.
    TooLarge,
    /// The time of the event is earlier than that of the last event. Times of a location must never go back; equal
    /// times are allowed.
    TimeWentBack,
    /// The record is of unknown kind and cannot be written, or it was prepared for the other byte order.
    Unknown,
    /// The chunk memory has fewer than 256 KiB or more than 16 MiB, the limits of the format.
    ChunkSize,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the chunk is full",
            Self::TooLarge => "the record is larger than a chunk",
            Self::TimeWentBack => "the time lies before that of the last event",
            Self::Unknown => "a record of unknown kind cannot be written",
            Self::ChunkSize => "chunk memory must have between 256 KiB and 16 MiB",
        })
    }
}

impl core::error::Error for EncodeError {}

/// The completed last chunk of a location, as [`Encoder::finish`] returns it. The first `used` bytes of `memory` must
/// be written to the file.
#[derive(Debug)]
pub struct Finished<M> {
    /// The memory of the last chunk, which the encoder gives back to its owner.
    pub memory: M,
    /// Number of bytes, from the beginning of the memory, that belong into the file. The last chunk is cut here, unlike
    /// the others.
    pub used: usize,
    /// Number of events in all chunks of the location, as its definition must state it.
    pub events: u64,
}

/// An event with its attributes that is encoded before its time is known, so that writing it is a copy of a few bytes.
///
/// This pays off for events that are the same again and again, such as entering a region from one call site. It belongs
/// to encoders of the byte order for which it was [prepared](Encoder::prepare).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    bytes: [u8; Self::MOST],
    len: u8,
    order: ByteOrder,
}

impl Prepared {
    /// Size in bytes of the longest event that can be prepared, its attributes included. Each prepared event takes this
    /// much memory, whatever its own length.
    pub const MOST: usize = 40;
}

/// Writes the events of one location into memory, chunk after chunk.
///
/// The memory of a chunk can be borrowed (`&mut [u8]`) or owned (`Vec<u8>`, a memory map); its length is the size of
/// the chunk, and all chunks of a location must have the chunk size that the anchor states. When [`EncodeError::Full`]
/// says that a chunk is full, the caller provides another with [`Encoder::turn`], or empties this one with
/// [`Encoder::reuse`], and repeats the event.
#[derive(Debug)]
pub struct Encoder<M> {
    chunk: M,
    pos: usize,
    order: ByteOrder,
    /// Time of the last event.
    time: u64,
    /// Events at or after this time get a timestamp: the first of a chunk always, the others if they are later than the
    /// last event.
    stamp_from: u64,
    /// Number of the first event in this chunk. The number of the last one is kept in the chunk header only.
    first: u64,
}

impl<M: DerefMut<Target = [u8]>> Encoder<M> {
    /// Starts the first chunk of a location, in little endian. The memory need not be zeroed.
    ///
    /// # Errors
    /// Fails with [`EncodeError::ChunkSize`] if the memory is too small or too large for a chunk.
    pub fn new(chunk: M) -> Result<Self, EncodeError> {
        Self::with_order(chunk, ByteOrder::Little)
    }

    /// Starts the first chunk of a location in a part of its memory, in little endian. When the part is full, the caller
    /// provides all of the chunk with [`Encoder::grow`]. If the location ends before, nothing more is needed, because the
    /// last chunk of a file may be short.
    ///
    /// # Errors
    /// Fails with [`EncodeError::ChunkSize`] if the memory is smaller than 4 KiB or too large for a chunk.
    pub fn in_part(part: M) -> Result<Self, EncodeError> {
        if !(PART as u64..=chunk::MAX_SIZE).contains(&(part.len() as u64)) {
            return Err(EncodeError::ChunkSize);
        }
        let order = ByteOrder::Little;
        let mut encoder = Self { chunk: part, pos: 0, order, time: 0, stamp_from: 0, first: 1 };
        encoder.open(0);
        Ok(encoder)
    }

    /// Starts the first chunk of a location, in the given byte order. Only the paths for little endian are optimised.
    ///
    /// # Errors
    /// Fails with [`EncodeError::ChunkSize`] if the memory is too small or too large for a chunk.
    pub fn with_order(chunk: M, order: ByteOrder) -> Result<Self, EncodeError> {
        check_size(&chunk)?;
        let mut encoder = Self { chunk, pos: 0, order, time: 0, stamp_from: 0, first: 1 };
        encoder.open(0);
        Ok(encoder)
    }

    /// Continues a location in a new chunk, in little endian. The chunks before it hold `events` events, the last of
    /// them at `time`. [`close::leave_open`](crate::close::leave_open) appends to a finished file in this way.
    ///
    /// # Errors
    /// Fails with [`EncodeError::ChunkSize`] if the memory is too small or too large for a chunk.
    pub fn resume(chunk: M, events: u64, time: Time) -> Result<Self, EncodeError> {
        let mut encoder = Self::new(chunk)?;
        encoder.time = time.0;
        encoder.open(events);
        Ok(encoder)
    }

    /// Starts the chunk that follows this many events: writes its header and an end mark after it.
    fn open(&mut self, events: u64) {
        let header = Header { order: self.order, first: events + 1, last: events };
        let [mark, rest @ ..] = header.to_bytes();
        if let Some(([place, body @ ..], [end, ..])) = self.chunk.split_at_mut_checked(HEADER) {
            *place = 0;
            *end = control::END_OF_CHUNK;
            body.copy_from_slice(&rest);
            publish(place, mark);
        }
        self.pos = HEADER;
        self.stamp_from = 0;
        self.first = events + 1;
    }

    /// Returns the number of events written so far, in this chunk and all before it.
    pub fn events(&self) -> u64 {
        let header = self.chunk.first_chunk().and_then(Header::read);
        header.map_or(self.first.saturating_sub(1), |header| header.last)
    }

    /// Returns the number of bytes of the current chunk that are in use, its header included.
    pub fn used(&self) -> usize {
        self.pos
    }

    /// Returns the memory of the current chunk.
    pub fn memory(&self) -> &M {
        &self.chunk
    }

    /// Returns the memory of the current chunk, for owners that keep more in it than its bytes. The bytes must not be
    /// changed, because events are in them.
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.chunk
    }

    /// Returns the time of the last event, or 0 before the first. The next event must not be earlier.
    pub fn last_time(&self) -> Time {
        Time(self.time)
    }

    /// Appends an event without attributes. If this fails, the chunk is unchanged.
    ///
    /// # Errors
    /// Fails with [`EncodeError::Full`] if the chunk has no room left. The other kinds say what is wrong with the
    /// event.
    #[inline(always)]
    pub fn write(&mut self, time: Time, event: impl AnyEvent) -> Result<(), EncodeError> {
        match self.order {
            ByteOrder::Little => self.append(time, NoAttributes, event),
            ByteOrder::Big => self.append_swapped(time, List::default(), event),
        }
    }

    /// Appends an event with any number of attributes. With an empty list this equals [`Encoder::write`].
    ///
    /// # Errors
    /// Fails as [`Encoder::write`] does.
    #[inline]
    pub fn write_with(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        event: impl AnyEvent,
    ) -> Result<(), EncodeError> {
        self.record(time, attributes, event)
    }

    /// Appends an event with exactly one attribute. A recorder does this with most events, so this method is as fast as
    /// [`Encoder::write`] where the compiler knows the type of the value.
    ///
    /// # Errors
    /// Fails as [`Encoder::write`] does.
    #[inline(always)]
    pub fn write_tagged(
        &mut self,
        time: Time,
        attribute: Attribute,
        event: impl AnyEvent,
    ) -> Result<(), EncodeError> {
        match self.order {
            ByteOrder::Little => self.append(time, attribute, event),
            ByteOrder::Big => self.append_swapped(time, List::from([attribute].as_slice()), event),
        }
    }

    /// Encodes an event that will be written often by [`Encoder::write_prepared`]. Returns `None` if it is longer than
    /// [`Prepared::MOST`] or of unknown kind; the caller must then write it in the ordinary way.
    pub fn prepare(
        &self,
        attributes: List<'_, Attribute>,
        event: impl AnyEvent,
    ) -> Option<Prepared> {
        let framing = event.framing()?;
        let mut scratch = [0; 2 * Prepared::MOST];
        if attributes.space() + framed(event.bound()) > scratch.len() {
            return None;
        }
        let mut output = SliceOutput::new(&mut scratch, 0, self.order);
        if let Some(id) = attributes.id() {
            output.u8(id);
            Before::write(attributes, &mut output);
        }
        output.u8(event.id());
        write_body(&event, framing, &mut output);
        let len = output.pos();
        let bytes = *scratch.first_chunk()?;
        (len <= Prepared::MOST).then_some(Prepared { bytes, len: len as u8, order: self.order })
    }

    /// Appends an event that was [prepared](Self::prepare), at the given time. It reports a full chunk a few bytes
    /// earlier than the other methods, because it always copies [`Prepared::MOST`] bytes.
    ///
    /// # Errors
    /// Fails as [`Encoder::write`] does, and with [`EncodeError::Unknown`] if the event was prepared for the other byte
    /// order.
    #[inline(always)]
    pub fn write_prepared(
        &mut self,
        Time(time): Time,
        prepared: &Prepared,
    ) -> Result<(), EncodeError> {
        const SPACE: usize = TIMESTAMP + Prepared::MOST + TAIL;
        if time < self.time {
            return Err(EncodeError::TimeWentBack);
        }
        if prepared.order != self.order {
            return Err(EncodeError::Unknown);
        }
        let start = self.pos;
        let Some((front, rest)) = self.chunk.split_at_mut_checked(start) else {
            return Err(EncodeError::Full);
        };
        let Some(window) = rest.first_chunk_mut::<SPACE>() else {
            return Err(if start == HEADER { EncodeError::TooLarge } else { EncodeError::Full });
        };
        // All bytes are copied, whatever the length: that takes fewer instructions than copying the right number. The
        // excess bytes lie after the end mark.
        let [first, rest @ ..] = &prepared.bytes;
        let stamped = time >= self.stamp_from;
        let (lead, used) = if stamped {
            let stamp = match self.order {
                ByteOrder::Little => time.to_le_bytes(),
                ByteOrder::Big => time.to_be_bytes(),
            };
            if let [_, time @ .., _, _] = window
                && let Some((at, behind)) = time.split_first_chunk_mut::<8>()
                && let Some(place) = behind.first_chunk_mut::<{ Prepared::MOST }>()
            {
                *at = stamp;
                *place = prepared.bytes;
            }
            (control::TIMESTAMP, TIMESTAMP + usize::from(prepared.len))
        } else {
            if let [_, behind @ ..] = window
                && let Some(place) = behind.first_chunk_mut::<{ Prepared::MOST - 1 }>()
            {
                *place = *rest;
            }
            (*first, usize::from(prepared.len))
        };
        if let Some(end) = window.get_mut(used) {
            *end = control::END_OF_CHUNK;
        }
        if let Some(place) = window.first_mut() {
            publish(place, lead);
        }
        match self.order {
            ByteOrder::Little => count(front, 1),
            ByteOrder::Big => count_swapped(front),
        }
        self.moved(start + used, time);
        Ok(())
    }

    /// Appends two events at one time, or more where a part is a pair. They become part of the chunk by one store, so that
    /// a process that is killed leaves all or none, and writing them takes fewer instructions than writing one after the
    /// other. If this fails, the chunk is unchanged.
    ///
    /// # Errors
    /// Fails as [`Encoder::write`] does. It reports a full chunk up to 300 bytes earlier than the other methods, which
    /// may then still have room for the events one by one. In big endian, where it is not available, it always reports
    /// a full chunk.
    #[inline(always)]
    pub fn write_both<A: Part, B: Part>(
        &mut self,
        Time(time): Time,
        first: A,
        second: B,
    ) -> Result<(), EncodeError> {
        const { assert!(A::EVENTS + B::EVENTS <= MOST_AT_ONCE) };
        if time < self.time {
            return Err(EncodeError::TimeWentBack);
        }
        let start = self.pos;
        let space = TIMESTAMP + first.space() + second.space() + MARKS;
        if self.order == ByteOrder::Little
            && space <= WindowOutput::REACH
            && let Some((front, rest)) = self.chunk.split_at_mut_checked(start)
            && let Some(window) = rest.first_chunk_mut::<{ WindowOutput::SIZE }>()
        {
            const { assert!(WindowOutput::SIZE >= WindowOutput::REACH + seal::LAST) };
            // A timestamp comes first in any case: then its byte is the commit mark, whatever the events are.
            let mut output = WindowOutput::new(window, 0);
            output.u8(0);
            output.u64(time);
            first.encode(&mut output);
            second.encode(&mut output);
            let used = output.pos();
            output.u8(control::END_OF_CHUNK);
            if let Some(place) = window.first_mut() {
                publish(place, control::TIMESTAMP);
            }
            count(front, A::EVENTS + B::EVENTS);
            self.moved(start + used, time);
            return Ok(());
        }
        Err(EncodeError::Full)
    }

    /// Appends a record of any kind that carries a time: an event or a snapshot record.
    #[inline(always)]
    pub(crate) fn record(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        record: impl Any,
    ) -> Result<(), EncodeError> {
        match self.order {
            ByteOrder::Little if attributes.is_empty() => self.append(time, NoAttributes, record),
            ByteOrder::Little => self.append(time, attributes, record),
            ByteOrder::Big => self.append_swapped(time, attributes, record),
        }
    }

    #[cold]
    #[inline(never)]
    fn append_swapped(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        record: impl Any,
    ) -> Result<(), EncodeError> {
        self.append_anywhere(time, attributes, record, ByteOrder::Big)
    }

    /// Appends a record in little endian. This is the fast path for records that are short and far enough from the end
    /// of the chunk; `append_anywhere` handles all others.
    #[inline(always)]
    fn append(
        &mut self,
        Time(time): Time,
        attributes: impl Before,
        record: impl Any,
    ) -> Result<(), EncodeError> {
        if time < self.time {
            return Err(EncodeError::TimeWentBack);
        }
        let start = self.pos;
        if space(attributes, record) <= WindowOutput::REACH
            && let Some(framing) = record.framing()
            && let Some((front, rest)) = self.chunk.split_at_mut_checked(start)
            && let Some(window) = rest.first_chunk_mut::<{ WindowOutput::SIZE }>()
        {
            let output = WindowOutput::new(window, 0);
            let stamp = (time >= self.stamp_from).then_some(time);
            let (used, lead) = encode(output, stamp, attributes, &record, framing);
            // Storing its first byte makes the record part of the chunk.
            let [place, ..] = window;
            publish(place, lead);
            count(front, 1);
            self.moved(start + used, time);
            return Ok(());
        }
        self.append_anywhere(Time(time), attributes, record, ByteOrder::Little)
    }

    /// Appends a record of any length, even at the very end of the chunk, in either byte order.
    #[cold]
    #[inline(never)]
    fn append_anywhere(
        &mut self,
        Time(time): Time,
        attributes: impl Before,
        record: impl Any,
        order: ByteOrder,
    ) -> Result<(), EncodeError> {
        if time < self.time {
            return Err(EncodeError::TimeWentBack);
        }
        let Some(framing) = record.framing() else {
            return Err(EncodeError::Unknown);
        };
        let start = self.pos;
        let Some((front, rest)) = self.chunk.split_at_mut_checked(start) else {
            return Err(EncodeError::Full);
        };
        let Some(window) = rest.get_mut(..space(attributes, record) + seal::LAST) else {
            let fresh = start == HEADER;
            return Err(if fresh { EncodeError::TooLarge } else { EncodeError::Full });
        };
        let output = SliceOutput::new(window, 0, order);
        let stamp = (time >= self.stamp_from).then_some(time);
        let (used, lead) = encode(output, stamp, attributes, &record, framing);
        if let Some(place) = window.first_mut() {
            publish(place, lead);
        }
        match order {
            ByteOrder::Little => count(front, 1),
            ByteOrder::Big => count_swapped(front),
        }
        self.moved(start + used, time);
        Ok(())
    }

    /// Stores the position after the last event, and its time.
    #[inline(always)]
    fn moved(&mut self, pos: usize, time: u64) {
        self.pos = pos;
        self.time = time;
        // After the largest time this wraps to 0, and every event gets a timestamp.
        self.stamp_from = time.wrapping_add(1);
    }

    /// Completes the current chunk and continues in another of the same size. Returns the completed chunk, all bytes of
    /// which must be written to the file.
    ///
    /// # Errors
    /// Fails with [`EncodeError::ChunkSize`] if the size of the new memory is outside the limits of the format. The
    /// encoder then stays in the old chunk.
    pub fn turn(&mut self, chunk: M) -> Result<M, EncodeError> {
        check_size(&chunk)?;
        let events = self.events();
        self.complete();
        let full = core::mem::replace(&mut self.chunk, chunk);
        self.open(events);
        Ok(full)
    }

    /// Continues the current chunk in memory that is larger and begins with the same bytes, such as a longer mapping of the
    /// same file. Returns the memory so far. A writer of many short locations need not have all of each chunk.
    ///
    /// # Errors
    /// Fails with [`EncodeError::ChunkSize`] if the memory is not larger or is too large for a chunk. The encoder then
    /// stays in the memory so far.
    pub fn grow(&mut self, chunk: M) -> Result<M, EncodeError> {
        check_size(&chunk)?;
        if chunk.len() <= self.chunk.len() {
            return Err(EncodeError::ChunkSize);
        }
        Ok(core::mem::replace(&mut self.chunk, chunk))
    }

    /// Completes the current chunk, passes all of its bytes to `write`, and continues in the same memory. This suits
    /// writers that own one buffer and copy each chunk into a file.
    ///
    /// # Errors
    /// Returns the error of `write`. The chunk is complete then, and nothing more can be written to it.
    pub fn reuse<E>(&mut self, write: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let events = self.events();
        self.complete();
        write(&self.chunk)?;
        self.open(events);
        Ok(())
    }

    /// Completes the last chunk with the end mark of the file, and returns its memory. The caller must write the used
    /// bytes to the end of the event file. [`close::seal`](crate::close::seal) adds the checksum when its place is known.
    pub fn finish(mut self) -> Finished<M> {
        let events = self.events();
        let used = self.pos + MARKS;
        if let Some([a, b]) = self.chunk.get_mut(self.pos..used) {
            *b = control::END_OF_BUFFER;
            publish(a, control::END_OF_FILE);
        }
        Finished { memory: self.chunk, used, events }
    }

    /// Fills the rest of a chunk with end marks and adds its [checksum](crate::seal), before another chunk follows it.
    fn complete(&mut self) {
        if let Some(rest) = self.chunk.get_mut(self.pos..).filter(|rest| rest.len() > seal::FULL) {
            rest.fill(control::END_OF_CHUNK);
            seal::complete(&mut self.chunk);
        }
        self.pos = self.chunk.len();
    }
}

const MARKS: usize = 2; // The end marks of a file.
/// Least number of bytes with which a chunk can begin.
const PART: usize = 4096;

/// Largest number of events that become part of a chunk by one store. A process that is killed right then has not counted
/// them in the header.
pub(crate) const MOST_AT_ONCE: u64 = 4;

/// Returns an upper bound for the size of an event with its timestamp and attributes, and of the end marks after it.
#[inline(always)]
fn space(attributes: impl Before, record: impl Any) -> usize {
    (TIMESTAMP + MARKS) + attributes.space() + framed(record.bound())
}

/// Encodes an event at the beginning of the output, and the end mark after it. Its first byte stays zero: it is the
/// commit mark. Returns the size of the event and the value that its first byte will have. Without a time the event has
/// that of the event before it.
#[inline(always)]
fn encode(
    mut output: impl Output,
    stamp: Option<u64>,
    attributes: impl Before,
    record: &impl Any,
    framing: Framing,
) -> (usize, u8) {
    // The timestamp is always stored, and overwritten if it is not needed: that is faster than a branch.
    output.u8(0);
    output.u64(stamp.unwrap_or(0));
    let mut lead = control::TIMESTAMP;
    let mut first = false;
    if stamp.is_none() {
        output.back_to_the_start();
        first = true;
    }
    if let Some(id) = attributes.id() {
        output.u8(if first { 0 } else { id });
        (lead, first) = (if first { id } else { lead }, false);
        attributes.write(&mut output);
    }
    let id = record.id();
    output.u8(if first { 0 } else { id });
    lead = if first { id } else { lead };
    write_body(record, framing, &mut output);
    let used = output.pos();
    output.u8(control::END_OF_CHUNK);
    (used, lead)
}

/// Adds to the number of the last event in the chunk header, with which `front` begins.
#[inline(always)]
fn count(front: &mut [u8], events: u64) {
    if let Some(place) = front.get_mut(chunk::LAST).and_then(|place| place.first_chunk_mut()) {
        *place = u64::from_le_bytes(*place).wrapping_add(events).to_le_bytes();
    }
}

#[cold]
#[inline(never)]
fn count_swapped(front: &mut [u8]) {
    if let Some(place) = front.get_mut(chunk::LAST).and_then(|place| place.first_chunk_mut()) {
        *place = u64::from_be_bytes(*place).wrapping_add(1).to_be_bytes();
    }
}

fn check_size(chunk: &[u8]) -> Result<(), EncodeError> {
    if (chunk::MIN_SIZE..=chunk::MAX_SIZE).contains(&(chunk.len() as u64)) {
        Ok(())
    } else {
        Err(EncodeError::ChunkSize)
    }
}

#[cfg(all(test, feature = "std"))]
#[allow(clippy::expect_used, clippy::indexing_slicing)] // A test may panic.
mod tests {
    use super::*;
    use crate::event::{Enter, Leave, RmaGet};
    use crate::id::{AttributeRef, CallingContextRef, MatchingId, Rank, RegionRef, RmaWinRef};
    use crate::value::AttributeValue;

    /// Prepared, tagged and plain events give the same bytes, in both byte orders, with and without a new time, until
    /// the chunk is full.
    #[test]
    fn every_way_of_writing_gives_the_same_bytes() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let encoder = || Encoder::with_order(vec![0xAA; 256 * 1024], order).expect("a chunk");
            let (mut plain, mut quick) = (encoder(), encoder());
            let value = AttributeValue::CallingContext(CallingContextRef(300));
            let site = Attribute { attribute: AttributeRef(0), value };
            let sites = [site];
            let sites = List::from(sites.as_slice());
            let enter = Enter { region: RegionRef(70_000) };
            let leave = Leave { region: RegionRef(70_000) };
            let prepared = quick.prepare(sites, enter).expect("it is short");
            let left = quick.prepare(List::default(), leave).expect("it is short");
            let mut time = 0;
            // Miri takes minutes to fill a chunk.
            let most = if cfg!(miri) { 300 } else { u64::MAX };
            while time < most {
                time += 3;
                let get = RmaGet {
                    win: RmaWinRef(1),
                    remote: Rank(9),
                    bytes: time,
                    matching_id: MatchingId(time),
                };
                let one = plain
                    .write_with(Time(time), sites, enter)
                    .and_then(|()| plain.write_with(Time(time), sites, get))
                    .and_then(|()| plain.write(Time(time), leave));
                let other = quick
                    .write_prepared(Time(time), &prepared)
                    .and_then(|()| quick.write_tagged(Time(time), site, get))
                    .and_then(|()| quick.write_prepared(Time(time), &left));
                // Writing a prepared event needs a little more room.
                if one.is_err() || other.is_err() {
                    assert_eq!(other, Err(EncodeError::Full));
                    break;
                }
                assert_eq!((plain.pos, plain.events()), (quick.pos, quick.events()));
            }
            let end = quick.pos.min(plain.pos);
            assert!(end > 200 * 1024 || cfg!(miri));
            assert_eq!(plain.chunk[HEADER..end], quick.chunk[HEADER..end]);
            assert_eq!(quick.write_prepared(Time(0), &left), Err(EncodeError::TimeWentBack));
        }
    }
}
