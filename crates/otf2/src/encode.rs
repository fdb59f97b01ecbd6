//! The encoder: events into chunk memory that the caller provides.
//!
//! It is meant for the inside of a measured program: no allocation, no lock, no system call, no
//! panic, and it builds without the standard library. The chunk it leaves is in its final form, so
//! a file that is mapped as chunk memory needs no copying afterwards.
//!
//! # The commit mark
//!
//! An event, with its timestamp and attributes, is written behind a byte that stays zero until all
//! of it is in memory. Zero means *end of chunk*, and another zero stands behind the event. So at
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

use core::fmt;
use core::ops::DerefMut;

use crate::chunk::{self, HEADER, Header, TIMESTAMP, control};
use crate::event::AnyEvent;
use crate::id::Time;
use crate::mark::publish;
use crate::record::{Any, framed, write_body};
use crate::value::{Attribute, List};
use crate::wire::{ByteOrder, Output, Wire};

/// Bytes kept free behind the last event, for the end marks.
const TAIL: usize = 2;

/// Why an event could not be written. Nothing of it is in the chunk then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The chunk is full: [turn](Encoder::turn) to another and write again.
    Full,
    /// The event does not even fit into an empty chunk.
    TooLarge,
    /// The time lies before that of the last event.
    TimeWentBack,
    /// A record of unknown kind cannot be written.
    Unknown,
    /// Chunk memory must have between 256 KiB and 16 MiB.
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

/// The last chunk of a location, complete.
#[derive(Debug)]
pub struct Finished<M> {
    /// The chunk memory.
    pub memory: M,
    /// How much of it belongs into the file.
    pub used: usize,
    /// Number of events in all chunks.
    pub events: u64,
}

/// An event, with its attributes, encoded before its time is known. Writing it is a copy.
///
/// For events that are the same again and again, such as entering a region from one call site. It
/// belongs to encoders of the byte order it was [prepared](Encoder::prepare) for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    bytes: [u8; Self::MOST],
    len: u8,
    order: ByteOrder,
}

impl Prepared {
    /// The longest event that can be prepared, in bytes.
    pub const MOST: usize = 40;
}

/// Writes the events of one location, chunk after chunk.
///
/// The memory of a chunk may be borrowed (`&mut [u8]`) or owned (`Vec<u8>`, a memory map); its length
/// is the size of the chunk.
#[derive(Debug)]
pub struct Encoder<M> {
    chunk: M,
    pos: usize,
    order: ByteOrder,
    /// Time of the last event.
    time: u64,
    /// Events from this time on get a timestamp: all in a new chunk, then those later than the last.
    stamp_from: u64,
    /// Number of the first event of this chunk. That of the last is in the chunk header and nowhere else.
    first: u64,
}

impl<M: DerefMut<Target = [u8]>> Encoder<M> {
    /// Begins the events of a location in its first chunk.
    ///
    /// # Errors
    /// [`EncodeError::ChunkSize`] if the memory is too small or too large for a chunk.
    pub fn new(chunk: M) -> Result<Self, EncodeError> {
        Self::with_order(chunk, ByteOrder::Little)
    }

    /// As [`Encoder::new`], in the given byte order. Little endian is the fast one.
    ///
    /// # Errors
    /// [`EncodeError::ChunkSize`] if the memory is too small or too large for a chunk.
    pub fn with_order(chunk: M, order: ByteOrder) -> Result<Self, EncodeError> {
        check_size(&chunk)?;
        let mut encoder = Self { chunk, pos: 0, order, time: 0, stamp_from: 0, first: 1 };
        encoder.open(0);
        Ok(encoder)
    }

    /// Goes on with the events of a location: in a new chunk, behind others that hold `events`, the
    /// last of them at `time`.
    ///
    /// # Errors
    /// [`EncodeError::ChunkSize`] if the memory is too small or too large for a chunk.
    pub fn resume(chunk: M, events: u64, time: Time) -> Result<Self, EncodeError> {
        let mut encoder = Self::new(chunk)?;
        encoder.time = time.0;
        encoder.open(events);
        Ok(encoder)
    }

    /// Starts the chunk, which comes after so many events, with its header and an end right behind it.
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

    /// Number of events written so far, in all chunks.
    pub fn events(&self) -> u64 {
        let header = self.chunk.first_chunk().and_then(Header::read);
        header.map_or(self.first.saturating_sub(1), |header| header.last)
    }

    /// Bytes of the current chunk that are in use.
    pub fn used(&self) -> usize {
        self.pos
    }

    /// Time of the last event; 0 before the first.
    pub fn last_time(&self) -> Time {
        Time(self.time)
    }

    /// Writes an event.
    ///
    /// # Errors
    /// [`EncodeError::Full`] if the chunk has no room left; the other kinds say what is wrong with
    /// the event.
    #[inline(always)]
    pub fn write(&mut self, time: Time, event: impl AnyEvent) -> Result<(), EncodeError> {
        match self.order {
            ByteOrder::Little => self.append(time, NoAttributes, event, ByteOrder::Little),
            ByteOrder::Big => self.append_swapped(time, List::default(), event),
        }
    }

    /// Writes an event with attributes.
    ///
    /// # Errors
    /// As [`Encoder::write`].
    #[inline]
    pub fn write_with(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        event: impl AnyEvent,
    ) -> Result<(), EncodeError> {
        self.record(time, attributes, event)
    }

    /// Writes an event with one attribute. This is what a recorder does with most events, so it is as
    /// fast as [`Encoder::write`] where the kind of the value is known to the compiler.
    ///
    /// # Errors
    /// As [`Encoder::write`].
    #[inline(always)]
    pub fn write_tagged(
        &mut self,
        time: Time,
        attribute: Attribute,
        event: impl AnyEvent,
    ) -> Result<(), EncodeError> {
        match self.order {
            ByteOrder::Little => self.append(time, attribute, event, ByteOrder::Little),
            ByteOrder::Big => self.append_swapped(time, List::from([attribute].as_slice()), event),
        }
    }

    /// Encodes an event to be written often. `None` if it is longer than [`Prepared::MOST`].
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
        let mut output = Output::new(&mut scratch, 0, self.order);
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

    /// Writes an event that was [prepared](Self::prepare).
    ///
    /// # Errors
    /// As [`Encoder::write`]; [`EncodeError::Unknown`] if it was prepared for the other byte order.
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
        // All bytes are copied, whatever the length: that is fewer instructions than copying the
        // right number. What is too much lies behind the end mark.
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
        count(front, self.order);
        self.pos = start + used;
        self.time = time;
        self.stamp_from = time.saturating_add(1);
        Ok(())
    }

    /// Writes a record of any kind that carries a time.
    #[inline(always)]
    pub(crate) fn record(
        &mut self,
        time: Time,
        attributes: List<'_, Attribute>,
        record: impl Any,
    ) -> Result<(), EncodeError> {
        match self.order {
            ByteOrder::Little if attributes.is_empty() => {
                self.append(time, NoAttributes, record, ByteOrder::Little)
            }
            ByteOrder::Little => self.append(time, attributes, record, ByteOrder::Little),
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
        self.append(time, attributes, record, ByteOrder::Big)
    }

    #[inline(always)]
    fn append(
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
        let space = (TIMESTAMP + TAIL) + attributes.space() + framed(record.bound());
        let start = self.pos;
        let Some((front, rest)) = self.chunk.split_at_mut_checked(start) else {
            return Err(EncodeError::Full);
        };
        let Some(window) = rest.get_mut(..space) else {
            let fresh = start == HEADER;
            return Err(if fresh { EncodeError::TooLarge } else { EncodeError::Full });
        };

        // The timestamp is stored in any case, and overwritten if it is not needed: that is faster
        // than asking first. The first byte stays zero: it is the commit mark.
        let mut output = Output::new(window, 0, order);
        output.u8(0);
        output.u64(time);
        let mut lead = control::TIMESTAMP;
        let mut first = false;
        if time < self.stamp_from {
            output = Output::new(window, 0, order);
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
        write_body(&record, framing, &mut output);
        let used = output.pos();
        output.u8(control::END_OF_CHUNK);

        if let Some(place) = window.first_mut() {
            publish(place, lead);
        }
        count(front, order);
        self.pos = start + used;
        self.time = time;
        self.stamp_from = time.saturating_add(1);
        Ok(())
    }

    /// Completes the current chunk and goes on in another of the same size. Returns the complete
    /// one, all of whose bytes belong into the file.
    ///
    /// # Errors
    /// [`EncodeError::ChunkSize`] if the new memory is not of a chunk's size; the encoder goes on in
    /// the old chunk then.
    pub fn turn(&mut self, chunk: M) -> Result<M, EncodeError> {
        check_size(&chunk)?;
        let events = self.events();
        self.complete();
        let full = core::mem::replace(&mut self.chunk, chunk);
        self.open(events);
        Ok(full)
    }

    /// Completes the current chunk, hands it to `write`, and goes on in the same memory.
    ///
    /// # Errors
    /// What `write` returns. The chunk is complete then, and no more can be written to it.
    pub fn reuse<E>(&mut self, write: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let events = self.events();
        self.complete();
        write(&self.chunk)?;
        self.open(events);
        Ok(())
    }

    /// Completes the last chunk.
    pub fn finish(mut self) -> Finished<M> {
        let events = self.events();
        let used = self.pos + TAIL;
        if let Some([a, b]) = self.chunk.get_mut(self.pos..used) {
            *b = control::END_OF_BUFFER;
            publish(a, control::END_OF_FILE);
        }
        Finished { memory: self.chunk, used, events }
    }

    /// Completes a chunk that others follow.
    fn complete(&mut self) {
        if let Some(rest) = self.chunk.get_mut(self.pos..) {
            rest.fill(control::END_OF_CHUNK);
        }
        self.pos = self.chunk.len();
    }
}

/// Writes attributes as they stand before a record. None take no bytes.
#[cfg(feature = "std")]
pub(crate) fn write_attributes(attributes: List<'_, Attribute>, output: &mut Output<'_>) {
    if let Some(id) = attributes.id() {
        output.u8(id);
        Before::write(attributes, output);
    }
}

/// What stands between the timestamp and the record. Most events have nothing there, and the compiler
/// then sees that.
trait Before: Copy {
    /// The most bytes it takes.
    fn space(self) -> usize;
    /// Its first byte, if there is anything.
    fn id(self) -> Option<u8>;
    /// Writes what follows its first byte.
    fn write(self, output: &mut Output<'_>);
}

#[derive(Clone, Copy)]
struct NoAttributes;

impl Before for NoAttributes {
    #[inline(always)]
    fn space(self) -> usize {
        0
    }

    #[inline(always)]
    fn id(self) -> Option<u8> {
        None
    }

    #[inline(always)]
    fn write(self, _: &mut Output<'_>) {}
}

impl Before for Attribute {
    #[inline(always)]
    fn space(self) -> usize {
        framed(Self::LIST_OF_ONE)
    }

    #[inline(always)]
    fn id(self) -> Option<u8> {
        Some(control::ATTRIBUTES)
    }

    #[inline(always)]
    fn write(self, output: &mut Output<'_>) {
        output.u8(0);
        let fields = output.pos();
        self.write_as_list(output);
        output.length(fields, Self::LIST_OF_ONE);
    }
}

impl Before for List<'_, Attribute> {
    fn space(self) -> usize {
        if self.is_empty() { 0 } else { framed(self.bound()) }
    }

    fn id(self) -> Option<u8> {
        (!self.is_empty()).then_some(control::ATTRIBUTES)
    }

    fn write(self, output: &mut Output<'_>) {
        output.u8(0);
        let fields = output.pos();
        Wire::write(self, output);
        output.length(fields, self.bound());
    }
}

/// Counts an event in the header of a chunk, of which this is the beginning.
#[inline(always)]
fn count(front: &mut [u8], order: ByteOrder) {
    if order == ByteOrder::Big {
        return count_swapped(front);
    }
    if let Some(place) = front.get_mut(chunk::LAST).and_then(|place| place.first_chunk_mut()) {
        *place = u64::from_le_bytes(*place).wrapping_add(1).to_le_bytes();
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

    /// Prepared or tagged or neither: the same bytes, for both byte orders, with and without a new
    /// time, until the chunk is full.
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
            loop {
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
                // The one that copies wants a little more room.
                if one.is_err() || other.is_err() {
                    assert_eq!(other, Err(EncodeError::Full));
                    break;
                }
                assert_eq!((plain.pos, plain.events()), (quick.pos, quick.events()));
            }
            let end = quick.pos.min(plain.pos);
            assert!(end > 200 * 1024);
            assert_eq!(plain.chunk[HEADER..end], quick.chunk[HEADER..end]);
            assert_eq!(quick.write_prepared(Time(0), &left), Err(EncodeError::TimeWentBack));
        }
    }
}
