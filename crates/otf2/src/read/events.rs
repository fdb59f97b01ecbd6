//! The reader of the events of one location.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::clock::Clock;
use crate::error::Result;
use crate::event::Event;
use crate::id::{EventNumber, LocationRef, Time};
use crate::map::Maps;
use crate::read::contexts::Regions;
use crate::read::local::LocalTables;
use crate::read::stamped::{Plain, ROOM, Stamped, call, event_single, plain, tagged};
use crate::read::stream::{Frame, Stream};
use crate::record::{Scope, Then};
use crate::value::{Attribute, List};
use crate::wire::{ByteOrder, Fault, Input, Wire};

/// An event with its time, number and attributes. It borrows the memory of its reader and is valid until the next call
/// of the reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRecord<'a> {
    /// Time of the event on the global clock, in ticks, after clock correction.
    pub time: Time,
    /// Number of the event on its location, counted from 1.
    pub number: EventNumber,
    /// Attributes of the event; most events have none.
    pub attributes: List<'a, Attribute>,
    /// The record itself, with ids translated to global ones.
    pub event: Event<'a>,
}

/// Receives the events of a location from [`EventReader::visit`].
pub trait Visitor {
    /// Receives one event. `Break` stops the reader behind this event; a later [`EventReader::visit`] continues there.
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()>;
}

impl Visitor for &mut dyn Visitor {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        (**self).event(record)
    }
}

/// Passes a decoded event to the visitor.
struct Show<'v, V> {
    visitor: &'v mut V,
    time: Time,
    number: EventNumber,
    clock: Option<&'v Clock>,
    regions: &'v Regions,
}

impl<'a, V: Visitor> Then<Event<'a>> for Show<'_, V> {
    type Output = ControlFlow<()>;

    #[inline(always)]
    fn then(self, mut event: Event<'a>) -> ControlFlow<()> {
        correct_flush(self.clock, &mut event);
        self.regions.translate(&mut event);
        let Self { time, number, .. } = self;
        self.visitor.event(EventRecord { time, number, attributes: List::default(), event })
    }
}

/// Passes an event of any kind to the visitor. This is one copy of the visitor for all events that the fast loop does
/// not handle.
#[inline(never)]
fn show<V: Visitor>(visitor: &mut V, record: EventRecord<'_>) -> ControlFlow<()> {
    visitor.event(record)
}

/// Returns the position of a record in the window.
fn frame(bytes: &[u8], found: &Plain<'_>) -> Frame {
    let at = |rest: &[u8]| bytes.len() - rest.len();
    Frame { id: found.id, start: at(found.body), end: at(found.next) }
}

/// Corrects the end time of a buffer flush, which is a time of the location like that of the event.
#[inline(always)]
fn correct_flush(clock: Option<&Clock>, event: &mut Event<'_>) {
    if let Event::BufferFlush(flush) = event
        && let Some(clock) = clock
    {
        flush.stop_time = clock.at(flush.stop_time);
    }
}

/// Reads the events of one location in the order of its file.
///
/// The reader holds a window of the file in memory but no open file and no memory map. It can be dropped, sent to
/// another thread or kept unused for any time.
///
/// After an error the reader gives no more events of the current chunk; everything that it returned before is valid.
/// [`EventReader::skip_chunk`] continues behind the damage.
#[derive(Debug)]
pub struct EventReader {
    location: LocationRef,
    records: Stamped,
    maps: Option<Arc<Maps>>,
    clock: Option<Clock>,
    regions: Regions,
}

impl EventReader {
    /// Makes a reader of a location for which the definitions state `stated` events, `u64::MAX` if that is not known.
    pub(crate) fn new(
        location: LocationRef,
        stream: Stream,
        tables: &LocalTables,
        stated: u64,
    ) -> Self {
        let mut records = Stamped::new(stream, event_single);
        records.stated = stated;
        Self {
            location,
            records,
            maps: (!tables.maps.is_empty()).then(|| Arc::clone(&tables.maps)),
            clock: (!tables.clock.is_identity()).then(|| tables.clock.clone()),
            regions: Regions::default(),
        }
    }

    /// Makes the reader give events of these calling contexts as those of their regions.
    pub(crate) fn by_region(self, regions: Regions) -> Self {
        Self { regions, ..self }
    }

    /// Makes the reader fail after the last event if the location has another number of events than `stated`. Readers
    /// know the number by themselves if [`Archive::definitions`](crate::Archive::definitions) was called before.
    #[must_use]
    pub fn expecting(mut self, stated: u64) -> Self {
        self.records.stated = stated;
        self
    }

    /// Returns the location whose events the reader gives.
    pub fn location(&self) -> LocationRef {
        self.location
    }

    /// Returns the next event, or `None` after the last. The event borrows the reader.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read. The next call then returns `None`. A file whose events are not
    /// as many as the definitions state fails after its last event, with [`ErrorKind::Count`](crate::ErrorKind::Count).
    // Compiled once, and not into every crate that reads: the records of OTF2 make it a large function.
    #[inline(never)]
    #[allow(clippy::should_implement_trait)] // The event borrows the reader: no `Iterator` can.
    pub fn next(&mut self) -> Result<Option<EventRecord<'_>>> {
        match self.records.take()? {
            Some(frame) => self.decode(frame).map(Some),
            None => Ok(None),
        }
    }

    /// Passes the events to a visitor one after the other, until the visitor breaks or the location has no more.
    /// Returns `true` if there may be more events; a further call then continues behind the last event that was passed.
    ///
    /// This is the fastest way to read: each kind of record has its own path from the bytes to the visitor, if the
    /// visitor's function is marked `#[inline(always)]`.
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
    /// Fails as [`EventReader::next`] does.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) -> Result<bool> {
        loop {
            if self.records.is_running() {
                // There are two copies of the loop, so that the one without tables does not check for them.
                let flow = match (&self.maps, &self.clock) {
                    (None, None) => self.visit_window::<V, false>(visitor)?,
                    _ => self.visit_window::<V, true>(visitor)?,
                };
                if flow.is_break() {
                    return Ok(true);
                }
                // Near its end the window moves on. If that fails, the events that it holds are still valid.
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

    /// Passes the events to a visitor as [`EventReader::visit`] does, through a call of a function for each event. The
    /// loop over the kinds of records is large, and is compiled once here instead of once for every visitor, so this is
    /// for visitors that do more than count.
    ///
    /// # Errors
    /// Fails as [`EventReader::next`] does.
    pub fn visit_dyn(&mut self, mut visitor: &mut dyn Visitor) -> Result<bool> {
        self.visit(&mut visitor)
    }

    /// Passes those events to the visitor that can be decoded without moving the window.
    #[inline(never)]
    fn visit_window<V: Visitor, const TABLES: bool>(
        &mut self,
        visitor: &mut V,
    ) -> Result<ControlFlow<()>> {
        if self.records.stream.header.order == ByteOrder::Big {
            return Ok(ControlFlow::Continue(())); // Big endian is rare, so its events are read one at a time.
        }
        let bytes = self.records.stream.bytes();
        let maps = if TABLES { self.maps.as_deref() } else { None };
        // Local variables stay in registers from event to event.
        let mut rest = bytes.get(self.records.stream.pos..).unwrap_or_default();
        let (mut raw, mut number) = (self.records.time, self.records.number);
        let mut flow = Ok(ControlFlow::Continue(()));
        loop {
            let Some(found) = plain(rest, raw, ByteOrder::Little) else {
                let Some(found) = call(rest, raw, maps) else { break };
                (rest, raw) = (found.next, found.time);
                number = number.wrapping_add(1);
                let time = match &mut self.clock {
                    Some(clock) if TABLES => clock.correct(Time(raw)),
                    _ => Time(raw),
                };
                let (number, event) = (EventNumber(number), Event::Enter(found.enter));
                let attributes = List::from(std::slice::from_ref(&found.attribute));
                if visitor.event(EventRecord { time, number, attributes, event }).is_break() {
                    flow = Ok(ControlFlow::Break(()));
                    break;
                }
                continue;
            };
            (rest, raw) = (found.next, found.time);
            number = number.wrapping_add(1);
            let time = match &mut self.clock {
                Some(clock) if TABLES => clock.correct(Time(raw)),
                _ => Time(raw),
            };
            let clock = if TABLES { self.clock.as_ref() } else { None };
            let (number, regions) = (EventNumber(number), &self.regions);
            let show = Show { visitor, time, number, clock, regions };
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

    /// Passes one event with attributes to the visitor, if it comes next and all of it is in the window. Most events have
    /// no attributes, or are calls with a call site, and have a loop of their own: it is much faster, because it knows
    /// the attributes.
    fn visit_tagged<V: Visitor>(&mut self, visitor: &mut V) -> Result<Option<ControlFlow<()>>> {
        Ok(self.next_tagged()?.map(|record| show(visitor, record)))
    }

    /// Returns the next event if it has attributes and all of it is in the window. Compiled once for all visitors.
    #[inline(never)]
    fn next_tagged(&mut self) -> Result<Option<EventRecord<'_>>> {
        let order = self.records.stream.header.order;
        let bytes = self.records.stream.bytes();
        let rest = bytes.get(self.records.stream.pos..).unwrap_or_default();
        let Some((found, attributes, behind)) = tagged(rest, self.records.time, order) else {
            return Ok(None);
        };
        let at = |rest: &[u8]| bytes.len() - rest.len();
        let (frame, list) = (frame(bytes, &found), at(attributes) + 1..at(behind));
        self.records.time = found.time;
        self.records.stream.pos = frame.end;
        self.records.number = self.records.number.wrapping_add(1);
        let (time, number) = (self.time(), EventNumber(self.records.number));
        let (bytes, maps) = (self.records.stream.bytes(), self.maps.as_deref());
        let mut fields = Input::new(bytes, list.start, list.end, order, maps);
        let record = Wire::read(&mut fields).and_then(|attributes| {
            let input = Input::new(bytes, frame.start, frame.end, order, maps);
            let mut event = Event::read(Scope::Global, frame.id, input)?;
            correct_flush(self.clock.as_ref(), &mut event);
            self.regions.translate(&mut event);
            Ok(EventRecord { time, number, attributes, event })
        });
        record.map(Some).map_err(|fault| self.records.fault(frame, fault))
    }

    /// Passes one event to the visitor, by the path that handles every case.
    #[inline(never)]
    fn visit_one<V: Visitor>(&mut self, visitor: &mut V) -> Result<Option<ControlFlow<()>>> {
        Ok(self.next()?.map(|record| show(visitor, record)))
    }

    /// Returns the time of the next event without consuming it, or `None` after the last event.
    ///
    /// # Errors
    /// Fails as [`EventReader::next`] does.
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
        self.regions.translate(&mut record.event);
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

    /// Skips the rest of the current chunk, damaged or not, and continues with the next. Returns `false` if there is no
    /// further chunk. Analyses use this to read on behind damage.
    ///
    /// # Errors
    /// Fails if the next chunk has no valid header either. A further call then tries the chunk after it.
    pub fn skip_chunk(&mut self) -> Result<bool> {
        let next = self.records.stream.chunk() + 1;
        if next >= self.records.stream.chunks() {
            return Ok(false);
        }
        self.records.enter(next)?;
        Ok(true)
    }

    /// Moves to the event with this number, so that the next call of [`next`](EventReader::next) returns it, or `None`
    /// if the location has fewer events. The search reads chunk headers only, and then one chunk.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn seek_event(&mut self, number: EventNumber) -> Result<()> {
        self.records.enter_last(|first, _| first <= number.0)?;
        while self.records.number.saturating_add(1) < number.0 && self.records.take()?.is_some() {}
        Ok(())
    }

    /// Moves to the first event at or after this time, which is a corrected time as in [`EventRecord::time`]. The
    /// search reads chunk headers only, and then one chunk.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn seek_time(&mut self, time: Time) -> Result<()> {
        let mut clock = self.clock.clone().unwrap_or_default();
        // The comparison is strict, because events of one time may be on both sides of a chunk border.
        self.records
            .enter_last(|_, first| first.is_some_and(|first| clock.correct(Time(first)) < time))?;
        while self.peek_time()?.is_some_and(|next| next < time) {
            self.records.take()?;
        }
        Ok(())
    }

    /// Returns the number of the event that was read last. At the start and after a move to a chunk, this is one less
    /// than the number of the first event to come.
    pub fn position(&self) -> EventNumber {
        EventNumber(self.records.number)
    }

    /// Returns the number of the first event in the current chunk, as its header states it. Comparing it with
    /// [`EventReader::position`] after an error tells how many events of the chunk could be read.
    pub fn chunk_first(&self) -> EventNumber {
        EventNumber(self.records.stream.header.first)
    }
}
