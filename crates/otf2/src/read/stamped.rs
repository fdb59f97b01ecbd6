//! Records with times and attributes, as event and snapshot files hold them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::chunk::control;
use crate::enums::Type;
use crate::error::{ErrorKind, Result};
use crate::event::{Enter, Event};
use crate::map::Maps;
use crate::read::stream::{Frame, Need, Stream};
use crate::record::Record;
use crate::value::{Attribute, AttributeValue};
use crate::wire::{ByteOrder, Fault, Input, Wire};

/// A sequence of records, each with its time.
#[derive(Debug)]
pub(crate) struct Stamped {
    pub(crate) stream: Stream,
    /// Time of the record that was found last.
    pub(crate) time: u64,
    /// Number of the record that was taken last.
    pub(crate) number: u64,
    /// Attribute list of the record that was found last, as a range of the window; empty if it has none.
    pub(crate) attributes: Frame,
    /// Record that [`Stamped::find`] found and that is not taken yet.
    found: Option<Frame>,
    /// `true` if the end was reached or an error was found, so that this chunk gives no more records. It is atomic only so
    /// that threads may share what contains a reader.
    ended: AtomicBool,
    /// `true` if the current chunk has a wrong checksum and the caller has not been told.
    untold: bool,
    /// Number of records that the definitions state, or `u64::MAX` if it is not known.
    pub(crate) stated: u64,
    single: fn(u8) -> bool,
}

const NO_ATTRIBUTES: Frame = Frame { id: 0, start: 0, end: 0 };

impl Stamped {
    pub(crate) fn new(stream: Stream, single: fn(u8) -> bool) -> Self {
        let number = stream.header.first.saturating_sub(1);
        let broken = stream.is_broken();
        Self {
            stream,
            time: 0,
            number,
            attributes: NO_ATTRIBUTES,
            found: None,
            ended: AtomicBool::new(broken),
            untold: broken,
            stated: u64::MAX,
            single,
        }
    }

    /// Finds the next record without taking it, so that its time is known.
    #[inline(always)]
    pub(crate) fn find(&mut self) -> Result<Option<Frame>> {
        if self.found.is_none() {
            self.found = match self.find_plain() {
                Some(frame) => Some(frame),
                None => self.find_any()?,
            };
        }
        Ok(self.found)
    }

    /// Takes the next record.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Result<Option<Frame>> {
        let frame = match self.found.take() {
            Some(frame) => frame,
            None => match self.find_plain() {
                Some(frame) => frame,
                None => match self.find_any()? {
                    Some(frame) => frame,
                    None => return Ok(None),
                },
            },
        };
        self.stream.pos = frame.end;
        // This wraps, because a damaged header may state any number for its first event.
        self.number = self.number.wrapping_add(1);
        Ok(Some(frame))
    }

    /// Finds the next record if it is a [plain](Plain) one.
    #[inline(always)]
    fn find_plain(&mut self) -> Option<Frame> {
        if self.ended.load(Relaxed) {
            return None;
        }
        let bytes = self.stream.bytes();
        let rest = bytes.get(self.stream.pos..)?;
        let found = plain(rest, self.time, self.stream.header.order)?;
        let at = |rest: &[u8]| bytes.len() - rest.len();
        let frame = Frame { id: found.id, start: at(found.body), end: at(found.next) };
        self.time = found.time;
        self.attributes = NO_ATTRIBUTES;
        Some(frame)
    }

    /// Returns `true` if the next record can be searched in the window right away, because none was found ahead and the
    /// end is not known to be reached.
    #[inline(always)]
    pub(crate) fn is_running(&self) -> bool {
        self.found.is_none() && !self.ended.load(Relaxed)
    }

    /// Finds the next record in every case: control bytes, attributes, long records, borders of the window and of
    /// chunks.
    #[cold]
    #[inline(never)]
    fn find_any(&mut self) -> Result<Option<Frame>> {
        if std::mem::take(&mut self.untold) {
            self.stream.check()?;
        }
        if self.ended.load(Relaxed) {
            return Ok(None);
        }
        let found = self.search();
        self.ended.store(!matches!(found, Ok(Some(_))), Relaxed);
        found
    }

    fn search(&mut self) -> Result<Option<Frame>> {
        let mut attributes = NO_ATTRIBUTES;
        // The record may follow its attributes: both must be in the window together, so the
        // position moves only when both are.
        let mut at = self.stream.pos;
        loop {
            if at >= self.stream.bytes().len() && at == self.stream.pos {
                self.stream.peek()?;
                at = self.stream.pos;
            }
            let Some(&id) = self.stream.bytes().get(at) else {
                if at == self.stream.pos {
                    self.next_chunk()?; // A chunk filled to its last byte has no end.
                } else {
                    self.stream.need(Need(at + 1))?;
                }
                (at, attributes) = (self.stream.pos, NO_ATTRIBUTES);
                continue;
            };
            match id {
                control::END_OF_CHUNK => {
                    self.next_chunk()?;
                    (at, attributes) = (self.stream.pos, NO_ATTRIBUTES);
                }
                control::END_OF_FILE => {
                    self.check_count(at)?;
                    return self.stream.check().map(|()| None);
                }
                control::TIMESTAMP => {
                    let bytes = self.stream.bytes();
                    let order = self.stream.header.order;
                    match Input::new(bytes, at + 1, at + 9, order, None).u64() {
                        Ok(time) => {
                            self.time = time;
                            at += 9;
                            self.stream.pos = at;
                            attributes = NO_ATTRIBUTES;
                        }
                        Err(_) => {
                            self.stream.need(Need(at + 9))?;
                            at = self.stream.pos;
                        }
                    }
                }
                control::ATTRIBUTES => match self.stream.frame(at, |_| false) {
                    Ok(frame) => {
                        attributes = frame;
                        at = frame.end;
                    }
                    Err(need) => {
                        self.stream.need(need)?;
                        (at, attributes) = (self.stream.pos, NO_ATTRIBUTES);
                    }
                },
                control::FIRST_EVENT.. => match self.stream.frame(at, self.single) {
                    Ok(frame) => {
                        self.attributes = attributes;
                        return Ok(Some(frame));
                    }
                    Err(need) => {
                        self.stream.need(need)?;
                        (at, attributes) = (self.stream.pos, NO_ATTRIBUTES);
                    }
                },
                other => return Err(self.stream.error(at, ErrorKind::Control(other))),
            }
        }
    }

    /// Moves to the next chunk, which must continue this one.
    fn next_chunk(&mut self) -> Result<()> {
        // One that was cut has been read by now.
        self.stream.check()?;
        self.stream.next_chunk()?;
        if self.stream.is_broken() {
            self.stream.check()?;
        }
        let expected = self.number.wrapping_add(1);
        if self.stream.is_checked() && self.stream.header.first != expected {
            return Err(self.stream.error(0, ErrorKind::Checksum)); // Chunks were exchanged.
        }
        Ok(())
    }

    /// Compares the number of the last record with the one that the definitions state. Damage can leave bytes that are
    /// valid records, so that nothing else tells that some are missing.
    fn check_count(&self, at: usize) -> Result<()> {
        let (stated, found) = (self.stated, self.number);
        if stated == u64::MAX || stated == found {
            return Ok(());
        }
        Err(self.stream.error(at, ErrorKind::Count { stated, found }))
    }

    /// Makes an error from the fault in a record, and ends the chunk.
    #[cold]
    pub(crate) fn fault(&self, frame: Frame, fault: Fault) -> crate::error::Error {
        self.ended.store(true, Relaxed);
        self.stream.error(frame.start, ErrorKind::Record { id: frame.id, fault })
    }

    /// Moves to the beginning of a chunk.
    pub(crate) fn enter(&mut self, chunk: u64) -> Result<()> {
        self.found = None;
        self.ended.store(true, Relaxed); // Until the chunk turns out to be one.
        self.untold = false;
        self.stream.enter(chunk)?;
        self.untold = self.stream.is_broken();
        self.ended.store(self.untold, Relaxed);
        self.time = 0;
        self.number = self.stream.header.first.saturating_sub(1);
        Ok(())
    }

    /// Moves to the last chunk for which `before` holds, given the number and the time of its first record. Chunks are
    /// ordered by both, so a binary search reads few headers.
    pub(crate) fn enter_last(
        &mut self,
        mut before: impl FnMut(u64, Option<u64>) -> bool,
    ) -> Result<()> {
        let (mut low, mut high) = (0, self.stream.chunks());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let (header, time) = self.stream.chunk_head(middle)?;
            if before(header.first, time) { low = middle } else { high = middle }
        }
        self.enter(low)
    }
}

/// A plain record: at most a timestamp, then a short record without attributes, all of it in the window.
pub(crate) struct Plain<'a> {
    pub(crate) id: u8,
    pub(crate) time: u64,
    /// The window, from the byte behind the id on.
    pub(crate) body: &'a [u8],
    /// The window, from the next record on.
    pub(crate) next: &'a [u8],
}

/// Number of bytes that is more than a timestamp and a short record take.
pub(crate) const ROOM: usize = 9 + 2 + 0xFF + 9;

/// Finds the record at the beginning of `rest` if it is a plain one.
#[inline(always)]
pub(crate) fn plain(rest: &[u8], time: u64, order: ByteOrder) -> Option<Plain<'_>> {
    // One comparison for the longest record replaces a comparison at each step.
    if rest.len() < ROOM {
        return None;
    }
    let (rest, time) = stamp(rest, time, order);
    short(rest, time)
}

/// Finds the record at the beginning of `rest` if it is a plain one behind attributes. The second part of the result is
/// the window from the length of the attributes on, the third part what is left of it behind them.
pub(crate) fn tagged(
    rest: &[u8],
    time: u64,
    order: ByteOrder,
) -> Option<(Plain<'_>, &[u8], &[u8])> {
    let (rest, time) = stamp(rest, time, order);
    let (&control::ATTRIBUTES, attributes) = rest.split_first()? else { return None };
    let &length = attributes.first()?;
    let next = attributes.get(1 + usize::from(length)..)?;
    if length == 0xFF || next.len() < ROOM {
        return None;
    }
    Some((short(next, time)?, attributes, next))
}

/// An enter whose only attribute is a calling context, all of it in the window. Calls look like this in archives with call
/// sites.
pub(crate) struct Call<'a> {
    pub(crate) time: u64,
    pub(crate) attribute: Attribute,
    pub(crate) enter: Enter,
    /// The window, from the next record on.
    pub(crate) next: &'a [u8],
}

/// Finds the record at the beginning of `rest` if it is such a call.
#[inline(always)]
pub(crate) fn call<'a>(rest: &'a [u8], time: u64, maps: Option<&'a Maps>) -> Option<Call<'a>> {
    // One comparison for the longest attributes and the longest record, as for plain records.
    if rest.len() < 2 * ROOM {
        return None;
    }
    let (rest, time) = stamp(rest, time, ByteOrder::Little);
    // A list of one attribute begins with its count, which is a compressed number.
    let &[control::ATTRIBUTES, length @ 0..=0xFE, 1, 1, ref fields @ ..] = rest else {
        return None;
    };
    let next = rest.get(2 + usize::from(length)..)?;
    let mut input = Input::before(fields, next.len(), ByteOrder::Little, maps);
    let attribute = Wire::read(&mut input).ok()?;
    if Type::from(input.u8().ok()?) != Type::CallingContext {
        return None;
    }
    let value = AttributeValue::CallingContext(Wire::read(&mut input).ok()?);
    let &[Enter::ID, size @ 0..=4, ..] = next else { return None };
    if !input.is_at_end() {
        return None;
    }
    let body = next.get(1..)?;
    let mut input = Input::before(body, 0, ByteOrder::Little, maps);
    let enter = Enter::read(&mut input).ok()?;
    let next = body.get(1 + usize::from(size)..)?;
    Some(Call { time, attribute: Attribute { attribute, value }, enter, next })
}

/// Removes a timestamp from the beginning of `rest`, if there is one.
#[inline(always)]
fn stamp(rest: &[u8], time: u64, order: ByteOrder) -> (&[u8], u64) {
    let &[control::TIMESTAMP, a, b, c, d, e, f, g, h, ref record @ ..] = rest else {
        return (rest, time);
    };
    let stamp = [a, b, c, d, e, f, g, h];
    let time = match order {
        ByteOrder::Little => u64::from_le_bytes(stamp),
        ByteOrder::Big => u64::from_be_bytes(stamp),
    };
    (record, time)
}

/// Finds a record at the beginning of `rest` whose length takes one byte.
#[inline(always)]
fn short(rest: &[u8], time: u64) -> Option<Plain<'_>> {
    let (&id, body) = rest.split_first()?;
    let &length = body.first()?;
    if id < control::FIRST_EVENT || length == 0xFF {
        return None;
    }
    let next = body.get(1 + usize::from(length)..)?;
    Some(Plain { id, time, body, next })
}

/// Framing of event files, in which a few records are a single number.
pub(crate) fn event_single(id: u8) -> bool {
    Event::is_single(id)
}

/// Framing of all other files, in which every record has a length.
pub(crate) fn never_single(_: u8) -> bool {
    false
}
