//! Reading the events of one location.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::clock::Clock;
use crate::error::Result;
use crate::event::Event;
use crate::id::{EventNumber, LocationRef, Time};
use crate::map::Maps;
use crate::read::local::LocalTables;
use crate::read::stamped::{Plain, ROOM, Stamped, event_single, plain, tagged};
use crate::read::stream::{Frame, Stream};
use crate::record::{Scope, Then};
use crate::value::{Attribute, List};
use crate::wire::{ByteOrder, Fault, Input, Wire};

/// An event with its time and attributes. It borrows from its reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRecord<'a> {
    /// When it happened, after clock correction.
    pub time: Time,
    /// Its number in the location.
    pub number: EventNumber,
    /// Extra data beside the record.
    pub attributes: List<'a, Attribute>,
    /// The record, with global ids.
    pub event: Event<'a>,
}

/// Sees the events of a location.
pub trait Visitor {
    /// Takes an event; `Break` leaves the rest for later.
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()>;
}

/// Shows an event that was just read.
struct Show<'v, V> {
    visitor: &'v mut V,
    time: Time,
    number: EventNumber,
    clock: Option<&'v Clock>,
}

impl<'a, V: Visitor> Then<Event<'a>> for Show<'_, V> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn then(self, mut event: Event<'a>) -> ControlFlow<()> {
        correct_flush(self.clock, &mut event);
        let Self { time, number, .. } = self;
        self.visitor.event(EventRecord { time, number, attributes: List::default(), event })
    }
}

/// Shows an event of any kind: one copy of the visitor for all that do not come in the fast loop.
#[inline(never)]
fn show<V: Visitor>(visitor: &mut V, record: EventRecord<'_>) -> ControlFlow<()> {
    visitor.event(record)
}

/// Where a record stands in the window.
#[cold]
fn frame(bytes: &[u8], found: &Plain<'_>) -> Frame {
    let at = |rest: &[u8]| bytes.len() - rest.len();
    Frame { id: found.id, start: at(found.body), end: at(found.next) }
}

/// The end of a flush is a time like that of the event.
#[inline(always)]
fn correct_flush(clock: Option<&Clock>, event: &mut Event<'_>) {
    if let Event::BufferFlush(flush) = event
        && let Some(clock) = clock
    {
        flush.stop_time = clock.at(flush.stop_time);
    }
}

/// Streams the events of one location.
///
/// It holds a window of the file, no open file and no mapping, and can be dropped, sent to another
/// thread or left alone for a while at any point.
///
/// After an error the reader has nothing more to say about the chunk it was in; what it returned
/// before holds. [`EventReader::skip_chunk`] goes on behind the damage.
#[derive(Debug)]
pub struct EventReader {
    location: LocationRef,
    records: Stamped,
    maps: Option<Arc<Maps>>,
    clock: Option<Clock>,
}

impl EventReader {
    pub(crate) fn new(location: LocationRef, stream: Stream, tables: &LocalTables) -> Self {
        Self {
            location,
            records: Stamped::new(stream, event_single),
            maps: (!tables.maps.is_empty()).then(|| Arc::clone(&tables.maps)),
            clock: (!tables.clock.is_identity()).then(|| tables.clock.clone()),
        }
    }

    /// The location whose events these are.
    pub fn location(&self) -> LocationRef {
        self.location
    }

    /// The next event, or `None` behind the last.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read. The next call returns `None`.
    #[inline]
    #[allow(clippy::should_implement_trait)] // The event borrows the reader: no `Iterator` can.
    pub fn next(&mut self) -> Result<Option<EventRecord<'_>>> {
        match self.records.take()? {
            Some(frame) => self.decode(frame).map(Some),
            None => Ok(None),
        }
    }

    /// Shows the events to a visitor, one after the other, until it has enough or there are no
    /// more. Returns whether there may be more; a further call goes on behind the last event shown.
    ///
    /// This is the fastest way to read: each kind of record has its own path from the bytes to the
    /// visitor, if the visitor's function is marked `#[inline(always)]`.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use otf2::read::{EventRecord, Visitor};
    /// use otf2::{Archive, Event};
    ///
    /// /// Adds up the bytes that were fetched.
    /// struct Fetched(u64);
    ///
    /// impl Visitor for Fetched {
    ///     #[inline(always)]
    ///     fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
    ///         if let Event::RmaGet(get) = record.event {
    ///             self.0 += get.bytes;
    ///         }
    ///         ControlFlow::Continue(())
    ///     }
    /// }
    ///
    /// let archive = Archive::open("run/traces.otf2")?;
    /// let mut fetched = Fetched(0);
    /// for location in archive.definitions()?.locations() {
    ///     archive.events(location.id)?.visit(&mut fetched)?;
    /// }
    /// # Ok::<(), otf2::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`EventReader::next`].
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) -> Result<bool> {
        loop {
            if self.records.is_running() {
                // Two copies of the loop, so that the one without tables does not ask for them.
                let flow = match (&self.maps, &self.clock) {
                    (None, None) => self.visit_window::<V, false>(visitor)?,
                    _ => self.visit_window::<V, true>(visitor)?,
                };
                if flow.is_break() {
                    return Ok(true);
                }
                // Near its end the window moves on. If that fails, what it holds still counts.
                if self.records.stream.fill(ROOM).unwrap_or(false) {
                    continue;
                }
                match self.visit_tagged(visitor)? {
                    Some(ControlFlow::Continue(())) => continue,
                    Some(ControlFlow::Break(())) => return Ok(true),
                    None => {}
                }
            }
            match self.visit_one(visitor)? {
                Some(ControlFlow::Continue(())) => {}
                Some(ControlFlow::Break(())) => return Ok(true),
                None => return Ok(false),
            }
        }
    }

    /// Shows what can be shown without moving the window.
    #[inline(never)]
    fn visit_window<V: Visitor, const TABLES: bool>(
        &mut self,
        visitor: &mut V,
    ) -> Result<ControlFlow<()>> {
        if self.records.stream.header.order == ByteOrder::Big {
            return Ok(ControlFlow::Continue(())); // One at a time will do.
        }
        let bytes = self.records.stream.bytes();
        let maps = if TABLES { self.maps.as_deref() } else { None };
        // State in local variables: it stays in registers from event to event.
        let mut rest = bytes.get(self.records.stream.pos..).unwrap_or_default();
        let (mut raw, mut number) = (self.records.time, self.records.number);
        let mut flow = Ok(ControlFlow::Continue(()));
        while let Some(found) = plain(rest, raw, ByteOrder::Little) {
            (rest, raw) = (found.next, found.time);
            number = number.wrapping_add(1);
            let time = match &mut self.clock {
                Some(clock) if TABLES => clock.correct(Time(raw)),
                _ => Time(raw),
            };
            let clock = if TABLES { self.clock.as_ref() } else { None };
            let show = Show { visitor, time, number: EventNumber(number), clock };
            let input = Input::before(found.body, rest.len(), ByteOrder::Little, maps);
            match Event::read_then(Scope::Global, found.id, input, show) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => {
                    flow = Ok(ControlFlow::Break(()));
                    break;
                }
                Err(fault) => {
                    flow = Err(self.records.fault(frame(bytes, &found), fault));
                    break;
                }
            }
        }
        self.records.stream.pos = bytes.len() - rest.len();
        self.records.time = raw;
        self.records.number = number;
        flow
    }

    /// Shows one event with attributes, if that is what comes and all of it is in the window. Apart from
    /// the others: what knows that there are none is faster by far, and most events have none.
    #[inline(never)]
    fn visit_tagged<V: Visitor>(&mut self, visitor: &mut V) -> Result<Option<ControlFlow<()>>> {
        let order = self.records.stream.header.order;
        let bytes = self.records.stream.bytes();
        let rest = bytes.get(self.records.stream.pos..).unwrap_or_default();
        let Some((found, attributes, behind)) = tagged(rest, self.records.time, order) else {
            return Ok(None);
        };
        let time = match &mut self.clock {
            Some(clock) => clock.correct(Time(found.time)),
            None => Time(found.time),
        };
        let maps = self.maps.as_deref();
        let number = self.records.number.wrapping_add(1);
        let next = bytes.len() - found.next.len();
        let fields = attributes.get(1..).unwrap_or_default();
        let attributes = Wire::read(&mut Input::before(fields, behind.len(), order, maps));
        let shown = attributes.and_then(|attributes| {
            let input = Input::before(found.body, found.next.len(), order, maps);
            let mut event = Event::read(Scope::Global, found.id, input)?;
            correct_flush(self.clock.as_ref(), &mut event);
            let number = EventNumber(number);
            Ok(show(visitor, EventRecord { time, number, attributes, event }))
        });
        let flow = shown.map(Some).map_err(|fault| self.records.fault(frame(bytes, &found), fault));
        let raw = found.time;
        self.records.stream.pos = next;
        (self.records.time, self.records.number) = (raw, number);
        flow
    }

    /// Shows one event, whatever it takes to get it.
    #[inline(never)]
    fn visit_one<V: Visitor>(&mut self, visitor: &mut V) -> Result<Option<ControlFlow<()>>> {
        Ok(self.next()?.map(|record| show(visitor, record)))
    }

    /// Time of the next event, without taking it.
    ///
    /// # Errors
    /// As [`EventReader::next`].
    #[inline]
    pub fn peek_time(&mut self) -> Result<Option<Time>> {
        let found = self.records.find()?.is_some();
        Ok(found.then(|| self.time()))
    }

    #[inline(always)]
    fn time(&mut self) -> Time {
        match &mut self.clock {
            None => Time(self.records.time),
            Some(clock) => clock.correct(Time(self.records.time)),
        }
    }

    #[inline(always)]
    fn decode(&mut self, frame: Frame) -> Result<EventRecord<'_>> {
        let time = self.time();
        let result = match self.records.stream.header.order {
            ByteOrder::Little => self.fields(frame, ByteOrder::Little),
            ByteOrder::Big => self.fields_swapped(frame),
        };
        let (event, attributes) = match result {
            Ok(fields) => fields,
            Err(fault) => return Err(self.records.fault(frame, fault)),
        };
        let mut record =
            EventRecord { time, number: EventNumber(self.records.number), attributes, event };
        correct_flush(self.clock.as_ref(), &mut record.event);
        Ok(record)
    }

    #[inline(always)]
    fn fields(
        &self,
        frame: Frame,
        order: ByteOrder,
    ) -> Result<(Event<'_>, List<'_, Attribute>), Fault> {
        let bytes = self.records.stream.bytes();
        let maps = self.maps.as_deref();
        let input = Input::new(bytes, frame.start, frame.end, order, maps);
        let event = Event::read(Scope::Global, frame.id, input)?;
        let list = self.records.attributes;
        let attributes = if list.end == 0 {
            List::default()
        } else {
            Wire::read(&mut Input::new(bytes, list.start + 1, list.end, order, maps))?
        };
        Ok((event, attributes))
    }

    #[cold]
    #[inline(never)]
    fn fields_swapped(&self, frame: Frame) -> Result<(Event<'_>, List<'_, Attribute>), Fault> {
        self.fields(frame, ByteOrder::Big)
    }

    /// Leaves the rest of the current chunk, damaged or not, and goes on with the next. Returns
    /// false if there is none.
    ///
    /// # Errors
    /// If the next chunk has no header either. Skipping again tries the one after it.
    pub fn skip_chunk(&mut self) -> Result<bool> {
        let next = self.records.stream.chunk() + 1;
        if next >= self.records.stream.chunks() {
            return Ok(false);
        }
        self.records.enter(next)?;
        Ok(true)
    }

    /// Goes to the event with this number: the next call of [`next`](EventReader::next) returns it,
    /// or `None` if the location has fewer events. Only headers and one chunk are read.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn seek_event(&mut self, number: EventNumber) -> Result<()> {
        self.records.enter_last(|first, _| first <= number.0)?;
        while self.records.number.saturating_add(1) < number.0 && self.records.take()?.is_some() {}
        Ok(())
    }

    /// Goes to the first event at or after this time. Only headers and one chunk are read.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn seek_time(&mut self, time: Time) -> Result<()> {
        let mut clock = self.clock.clone().unwrap_or_default();
        // Strictly before: events of one time may stand on both sides of a border.
        self.records
            .enter_last(|_, first| first.is_some_and(|first| clock.correct(Time(first)) < time))?;
        while self.peek_time()?.is_some_and(|next| next < time) {
            self.records.take()?;
        }
        Ok(())
    }

    /// Number of the event read last.
    pub fn position(&self) -> EventNumber {
        EventNumber(self.records.number)
    }

    /// Number of the first event of the current chunk, as its header says.
    pub fn chunk_first(&self) -> EventNumber {
        EventNumber(self.records.stream.header.first)
    }
}
