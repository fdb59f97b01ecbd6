//! Decodes events from bytes that may be damaged.

use crate::chunk::{TIMESTAMP, control};
use crate::encode::write_attributes;
use crate::event::Event;
use crate::output::{Output, SliceOutput};
use crate::record::{Any, Scope, write_body};
use crate::value::{Attribute, List};
use crate::wire::{ByteOrder, Input, Wire};

/// Number of bytes that may follow the last event of a chunk that was being written: bytes that an encoder copies in
/// excess, and an event that was not complete.
const SLACK: usize = 4096;
/// Number of events that must follow one another behind a gap before the scan accepts them.
const AHEAD: usize = 3;

/// The contents of a chunk at a given position.
pub(super) enum Here<'a> {
    Event(Found<'a>),
    EndOfChunk,
    EndOfFile,
    Nothing,
}

/// A complete event in a chunk.
pub(super) struct Found<'a> {
    pub(super) end: usize,
    pub(super) time: u64,
    pub(super) stamped: bool,
    pub(super) attributes: List<'a, Attribute>,
    pub(super) event: Event<'a>,
}

/// Function that may reject an event that decodes but makes no sense.
pub(super) type Plausible<'p> = dyn FnMut(&Event<'_>, List<'_, Attribute>) -> bool + 'p;

/// Decodes events and accepts only those that an encoder would have written with the same bytes.
pub(super) struct Parser<'p> {
    plausible: &'p mut Plausible<'p>,
    again: Vec<u8>,
}

impl<'p> Parser<'p> {
    pub(super) fn new(plausible: &'p mut Plausible<'p>) -> Self {
        Self { plausible, again: Vec::new() }
    }

    /// Decodes the contents of a position, if the event before it has this time.
    pub(super) fn look<'a>(
        &mut self,
        bytes: &'a [u8],
        order: ByteOrder,
        at: usize,
        time: u64,
    ) -> Here<'a> {
        match bytes.get(at) {
            None | Some(&control::END_OF_CHUNK) => return Here::EndOfChunk,
            Some(&control::END_OF_FILE) => return Here::EndOfFile,
            _ => {}
        }
        self.event(bytes, order, at, time).map_or(Here::Nothing, Here::Event)
    }

    fn event<'a>(
        &mut self,
        bytes: &'a [u8],
        order: ByteOrder,
        mut at: usize,
        mut time: u64,
    ) -> Option<Found<'a>> {
        let input = |from: usize, to: usize| Input::new(bytes, from, to, order, None);
        let stamped = bytes.get(at) == Some(&control::TIMESTAMP);
        if stamped {
            time =
                bytes.get(at + 1..at + TIMESTAMP).and_then(|_| input(at + 1, at + 9).u64().ok())?;
            at += TIMESTAMP;
        }
        let begin = at;
        let mut attributes = List::default();
        if bytes.get(at) == Some(&control::ATTRIBUTES) {
            let frame = frame(bytes, order, at, |_| false)?;
            attributes = List::read(&mut input(frame.start + 1, frame.end)).ok()?;
            at = frame.end;
            if attributes.is_empty() {
                return None;
            }
        }
        let &id = bytes.get(at).filter(|id| **id >= control::FIRST_EVENT)?;
        let frame = frame(bytes, order, at, Event::is_single)?;
        // A record that is a single number states its own end.
        let event = Event::read(Scope::Global, id, input(frame.start, frame.end)).ok()?;
        let framing = event.framing()?;
        let room = attributes.bound().checked_add(event.bound())?.checked_add(64)?;
        self.again.resize(room, 0);
        let mut output = SliceOutput::new(&mut self.again, 0, order);
        write_attributes(attributes, &mut output);
        output.u8(id);
        write_body(&event, framing, &mut output);
        let length = output.pos();
        let same = bytes.get(begin..begin + length)? == self.again.get(..length)?;
        let end = begin + length;
        (same && (self.plausible)(&event, attributes)).then_some(Found {
            end,
            time,
            stamped,
            attributes,
            event,
        })
    }

    /// Returns `true` if events follow one another from this position and time on, or if the chunk ends there as it
    /// should.
    pub(super) fn goes_on(
        &mut self,
        bytes: &[u8],
        order: ByteOrder,
        mut at: usize,
        mut time: u64,
    ) -> bool {
        for passed in 0..AHEAD {
            match self.look(bytes, order, at, time) {
                Here::Event(found) if found.time >= time => (at, time) = (found.end, found.time),
                Here::EndOfChunk | Here::EndOfFile => return passed > 0 && ends(bytes, at),
                _ => return false,
            }
        }
        true
    }
}

/// Returns the range of a complete record, from the last byte before its fields on, or `None` if there is none.
fn frame(
    bytes: &[u8],
    order: ByteOrder,
    at: usize,
    single: fn(u8) -> bool,
) -> Option<std::ops::Range<usize>> {
    let &[id, length] = bytes.get(at..)?.first_chunk()?;
    let frame = match (single(id), length) {
        (true, 0xFF) => at + 1..at + 2,
        (false, 0xFF) => {
            let length = Input::new(bytes, at + 2, at + 10, order, None).u64().ok()?;
            at + 9..(at + 10).checked_add(usize::try_from(length).ok()?)?
        }
        (_, length) => at + 1..at + 2 + usize::from(length),
    };
    (frame.end <= bytes.len()).then_some(frame)
}

/// Returns `true` if nothing follows an end mark but what a writer may leave there.
pub(super) fn ends(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..).unwrap_or_default().iter().skip(SLACK).all(|byte| *byte == 0)
}
