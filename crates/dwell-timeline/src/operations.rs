//! Operations between locations, whether anybody waited for them or not: puts, gets, atomics, messages, locks that go from
//! holder to holder, and collectives.
//!
//! The index does not have them. They are read from the trace when a view needs them, which takes one chunk of each location and
//! what follows in the span. Three things need more than the span: the number of a message among those of the same sender,
//! receiver and tag, the number of a collective on its communicator, where the recorder has not written it, and the previous holder of a
//! lock. The first two are counted from the begin of the trace, as far as that is not too much; the last is known if all
//! locations are read.
//!
//! A record inside of a call whose caller has records of its own belongs to an inner layer, as a message of MPI in a call of
//! coarrays does. It is left out, as it is where waits are judged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dwell_analyze::{Layout, LocationNumber};
use otf2::enums::{CollectiveOp, LockType, Paradigm};
use otf2::id::{CommRef, EventNumber, RegionRef, RmaWinRef};
use otf2::read::{EventReader, EventRecord, Visitor};
use otf2::{Archive, Definition, Event};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{Error, Location, Result, Span, Time};

/// Greatest number of events that are counted before a span.
const MOST_BEFORE: u64 = 50_000_000;

/// Number of events after a span in which operations of the span may complete.
const MORE: u32 = 4096;

/// Number of places of a location up to which counts are kept.
const KEPT: usize = 16;

/// Kind of an operation between two locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// The origin writes to the memory of its partner.
    Put,
    /// The origin reads from the memory of its partner.
    Get,
    /// The origin changes the memory of its partner, and may get what was there before.
    Atomic,
    /// The origin sends a message, which its partner receives.
    Message,
    /// The origin releases a lock, which its partner acquires next.
    Lock,
}

impl OperationKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Put, Self::Get, Self::Atomic, Self::Message, Self::Lock];

    /// Returns the name of the kind, as the page knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic => "atomic",
            Self::Message => "message",
            Self::Lock => "lock",
        }
    }
}

/// An operation between two locations. The partner of a put, get or atomic is the first location of the target process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Location that issued the operation, sent the message or released the lock.
    pub origin: Location,
    /// Location that the operation acted on, received the message or acquired the lock.
    pub partner: Location,
    /// From the record of the operation to that of its completion at the origin; for a message to its receipt, and for a lock to its
    /// acquisition. If the completion is not known, the span is empty.
    pub span: Span,
    /// Number of bytes that were moved.
    pub bytes: u64,
}

/// A collective, as far as its members are among the locations that were read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Joined {
    /// Members in the order of their locations, each with the span of its call.
    pub members: Vec<(Location, Span)>,
}

/// Operations of some locations in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Operations between locations, in the order of their begins.
    pub list: Vec<Operation>,
    /// Collectives in the order of their begins.
    pub joined: Vec<Joined>,
    /// True if there was too much to read, so that there are no operations here.
    pub too_many: bool,
    /// True if messages and collectives without a number are left out, because there is too much before the span.
    pub uncounted: bool,
}

/// An operation that stands for several which would lie on each other: the longest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The longest operation of the bundle, and of several equally long ones the first.
    pub operation: Operation,
    /// Number of operations in the bundle.
    pub count: u64,
    /// Bytes of all operations in the bundle.
    pub bytes: u64,
}

impl Operations {
    /// Returns arrows between rows, the longest first, and the number of operations in them. If there are more operations than
    /// `most`, those of one kind that go from one row to another in a part of the span are one arrow.
    pub fn arrows(
        &self,
        row: &dyn Fn(Location) -> Option<usize>,
        span: Span,
        most: usize,
    ) -> (Vec<Arrow>, u64) {
        let between = |it: &&Operation| {
            let rows = row(it.origin).zip(row(it.partner));
            rows.is_some_and(|(from, to)| from != to)
        };
        let shown: Vec<&Operation> = self.list.iter().filter(between).collect();
        let mut parts = u64::MAX;
        let mut arrows: Vec<Arrow> = Vec::new();
        while parts > 0 {
            arrows.clear();
            let mut bundles: HashMap<_, usize> = HashMap::new();
            for (number, it) in shown.iter().enumerate() {
                let at = it.span.from.0.saturating_sub(span.from.0);
                let part = match parts {
                    u64::MAX => number as u64,
                    _ => {
                        (u128::from(at) * u128::from(parts) / u128::from(span.length().max(1)))
                            as u64
                    }
                };
                let place = *bundles
                    .entry((it.kind, row(it.origin), row(it.partner), part))
                    .or_insert(arrows.len());
                match arrows.get_mut(place) {
                    Some(arrow) => {
                        arrow.count += 1;
                        arrow.bytes = arrow.bytes.saturating_add(it.bytes);
                        if it.span.length() > arrow.operation.span.length() {
                            arrow.operation = **it;
                        }
                    }
                    None => arrows.push(Arrow { operation: **it, count: 1, bytes: it.bytes }),
                }
            }
            if arrows.len() <= most {
                break;
            }
            parts = parts.min(512) / 2;
        }
        arrows.sort_by_key(|it| (std::cmp::Reverse(it.operation.span.length()), it.operation));
        arrows.truncate(most);
        let count = arrows.iter().map(|it| it.count).sum();
        (arrows, count)
    }
}

/// Numbers of messages and collectives up to some event of a location.
#[derive(Clone, Debug, Default)]
struct Counts {
    messages: HashMap<Channel, u64>,
    collectives: HashMap<Gathering, u64>,
}

/// Messages that are received in the order in which they were sent: direction, communicator, processes and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Channel {
    is_send: bool,
    communicator: CommRef,
    sender: Location,
    receiver: Location,
    tag: u32,
}

/// What the members of a collective share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Gathering {
    Communicator(CommRef),
    Window(RmaWinRef),
}

/// A lock: communicator of its window, location and number.
type Lock = (u32, Option<Location>, u64);

/// Something that has meaning only together with records of other locations.
#[derive(Clone, Copy, Debug)]
struct Note {
    time: Time,
    /// False for records of inner layers, which only count.
    is_shown: bool,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Message { channel: Channel, bytes: u64, skipped: u64 },
    Collective { of: Gathering, number: Option<u64>, begin: Time, is_together: bool },
    Acquired(Lock, bool),
    Released(Lock),
}

/// What was read of a location.
#[derive(Debug, Default)]
struct Found {
    operations: Vec<Operation>,
    notes: Vec<Note>,
    /// Number of the event before the first that was read.
    start: u64,
}

/// Trace of a run, from which operations are read. It can be used from several threads at once.
#[derive(Debug)]
pub struct Trace {
    archive: Archive,
    path: PathBuf,
    layout: Layout,
    /// Regions of MPI, in which a completion concerns the operations with its number.
    numbered: BTreeSet<RegionRef>,
    /// Counts of each location up to some of its events.
    counts: Mutex<HashMap<Location, BTreeMap<u64, Arc<Counts>>>>,
}

impl Trace {
    /// Opens the trace in a directory, and keeps at most so many of its files open.
    ///
    /// # Errors
    /// If there is no archive, or its definitions cannot be read.
    pub fn open(directory: &Path, files: usize) -> Result<Self> {
        let failed = |error: otf2::Error| Error::Trace(directory.to_owned(), error);
        let archive = Archive::open_keeping(directory, files).map_err(failed)?;
        let definitions = archive.definitions().map_err(failed)?;
        let numbered = definitions.iter().filter_map(|it| match it {
            Definition::Region(region) if region.paradigm == Paradigm::Mpi => Some(region.id),
            _ => None,
        });
        let (numbered, layout) = (numbered.collect(), Layout::of(&definitions));
        let path = directory.to_owned();
        Ok(Self { archive, path, layout, numbered, counts: Mutex::default() })
    }

    /// Returns the number of locations, which is that of the index of the same run.
    pub fn locations(&self) -> u32 {
        self.layout.locations()
    }

    /// Returns the operations of locations in a span. `begin` returns for a location the time from which on its events are read: the
    /// begin of the call that it is in when the span begins. At most `most` events are read in the span.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn operations(
        &self,
        locations: &[Range<Location>],
        span: Span,
        begin: &(dyn Fn(Location) -> Time + Sync),
        most: u64,
    ) -> Result<Operations> {
        let mut wanted: BTreeSet<Location> = BTreeSet::new();
        for location in locations.iter().flat_map(|it| it.start.0..it.end.0.min(self.locations())) {
            // All threads of a process, because any of them may have sent a message.
            let all = self.layout.siblings(LocationNumber::new(location));
            wanted.extend((all.start.place()..all.end.place()).map(Location));
        }
        let wanted: Vec<Location> = wanted.into_iter().collect();
        let read = AtomicU64::new(0);
        let found: Vec<(Location, Found)> = wanted
            .par_iter()
            .map(|it| Ok((*it, self.read(*it, begin(*it), span, &read, most)?)))
            .collect::<Result<_>>()?;
        let mut result = Operations::default();
        if read.into_inner() > most {
            result.too_many = true;
            return Ok(result);
        }
        let is_all = wanted.len() == self.locations() as usize;
        result.list = found.iter().flat_map(|it| it.1.operations.iter().copied()).collect();
        if is_all {
            join_locks(&found, span, &mut result.list);
        }
        self.join(&found, &mut result)?;
        let inside = |it: &Operation| it.span.from < span.to && it.span.to >= span.from;
        result.list.retain(inside);
        result.list.sort_by_key(|it| (it.span, *it));
        let inside = |it: &Joined| {
            let spans = || it.members.iter().map(|it| it.1);
            spans().any(|it| it.from < span.to && it.to >= span.from)
        };
        result.joined.retain(inside);
        result.joined.sort_by_key(|it| it.members.iter().map(|it| it.1.from).min());
        Ok(result)
    }

    fn failed(&self, error: otf2::Error) -> Error {
        Error::Trace(self.path.clone(), error)
    }

    fn reader(&self, location: Location) -> Result<Option<EventReader>> {
        let Some(id) = self.layout.id(LocationNumber::new(location.0)) else { return Ok(None) };
        self.archive.events(id).map(Some).map_err(|it| self.failed(it))
    }

    /// Reads the records of a location in a span.
    fn read(
        &self,
        location: Location,
        begin: Time,
        span: Span,
        read: &AtomicU64,
        most: u64,
    ) -> Result<Found> {
        let Some(mut reader) = self.reader(location)? else { return Ok(Found::default()) };
        let begin = dwell_analyze::log::Time::from_nanoseconds(begin.min(span.from).0);
        reader.seek_time(self.layout.ticks(begin)).map_err(|it| self.failed(it))?;
        // A tick may be longer than a nanosecond.
        while reader
            .peek_time()
            .map_err(|it| self.failed(it))?
            .is_some_and(|it| self.layout.time(it) < begin)
        {
            reader.next().map_err(|it| self.failed(it))?;
        }
        let found = Found { start: reader.position().0, ..Found::default() };
        let mut reading = Reading {
            trace: self,
            me: LocationNumber::new(location.0),
            span,
            read,
            most,
            events: 0,
            after: 0,
            frames: Vec::new(),
            begun: Vec::new(),
            open: Vec::new(),
            found,
        };
        reader.visit(&mut reading).map_err(|it| self.failed(it))?;
        read.fetch_add(reading.events, Ordering::Relaxed);
        Ok(reading.found)
    }

    /// Returns the numbers of messages and collectives of a location up to one of its events.
    fn count(&self, location: Location, until: u64) -> Result<Arc<Counts>> {
        let known = {
            let all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let own = all.get(&location);
            own.and_then(|it| it.range(..=until).next_back().map(|(at, it)| (*at, Arc::clone(it))))
        };
        let (at, mut counts) = known.unwrap_or_default();
        if at == until {
            return Ok(counts);
        }
        let Some(mut reader) = self.reader(location)? else { return Ok(counts) };
        reader.seek_event(EventNumber(at + 1)).map_err(|it| self.failed(it))?;
        let mut counting = Counting {
            trace: self,
            me: LocationNumber::new(location.0),
            until,
            counts: Arc::unwrap_or_clone(std::mem::take(&mut counts)),
        };
        reader.visit(&mut counting).map_err(|it| self.failed(it))?;
        let counts = Arc::new(counting.counts);
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.entry(location).or_default();
        if own.len() >= KEPT {
            own.pop_first();
        }
        own.insert(until, Arc::clone(&counts));
        Ok(counts)
    }

    /// Returns the number of events that [`count`](Self::count) reads.
    fn to_count(&self, location: Location, until: u64) -> u64 {
        let all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(&location).and_then(|it| it.range(..=until).next_back());
        until - known.map_or(0, |it| *it.0)
    }

    /// Joins messages with their receipts, and the members of collectives.
    fn join(&self, found: &[(Location, Found)], result: &mut Operations) -> Result<()> {
        let is_counted = |it: &Note| match it.what {
            What::Message { .. } => it.is_shown,
            What::Collective { number, .. } => it.is_shown && number.is_none(),
            _ => false,
        };
        let mut counts: HashMap<Location, Arc<Counts>> = HashMap::new();
        let must = found.iter().any(|it| it.1.notes.iter().any(is_counted));
        if must {
            let all: u64 = found.iter().map(|(at, it)| self.to_count(*at, it.start)).sum();
            result.uncounted = all > MOST_BEFORE;
            if !result.uncounted {
                counts = found
                    .par_iter()
                    .map(|(at, it)| Ok((*at, self.count(*at, it.start)?)))
                    .collect::<Result<_>>()?;
            }
        }
        self.join_collectives(found, &counts, result);
        if must && !result.uncounted {
            self.join_messages(found, &counts, result);
        }
        Ok(())
    }

    fn join_messages(
        &self,
        found: &[(Location, Found)],
        counts: &HashMap<Location, Arc<Counts>>,
        result: &mut Operations,
    ) {
        // All messages of a channel in the order of time, and how many were before them at any thread.
        type Message = (Time, Location, u64, u64, bool);
        let mut before: HashMap<Channel, u64> = HashMap::new();
        let mut messages: BTreeMap<Channel, Vec<Message>> = BTreeMap::new();
        for (location, it) in found {
            for (channel, count) in counts.get(location).into_iter().flat_map(|it| &it.messages) {
                *before.entry(*channel).or_default() += count;
            }
            for note in &it.notes {
                if let What::Message { channel, bytes, skipped } = note.what {
                    let message = (note.time, *location, bytes, skipped, note.is_shown);
                    messages.entry(channel).or_default().push(message);
                }
            }
        }
        let mut sent: HashMap<(Channel, u64), Message> = HashMap::new();
        let mut received: Vec<((Channel, u64), Message)> = Vec::new();
        for (channel, mut list) in messages {
            list.sort_by_key(|it| (it.0, it.1));
            let mut number = before.get(&channel).copied().unwrap_or(0);
            for message in list {
                number += message.3;
                let key = (Channel { is_send: true, ..channel }, number);
                match channel.is_send {
                    true => drop(sent.insert(key, message)),
                    false => received.push((key, message)),
                }
                number += 1;
            }
        }
        for (key, (to, partner, ..)) in received {
            let Some((from, origin, bytes, _, true)) = sent.get(&key).copied() else { continue };
            let (kind, span) = (OperationKind::Message, Span { from, to });
            if from <= to {
                result.list.push(Operation { kind, origin, partner, span, bytes });
            }
        }
    }

    fn join_collectives(
        &self,
        found: &[(Location, Found)],
        counts: &HashMap<Location, Arc<Counts>>,
        result: &mut Operations,
    ) {
        let mut joined: BTreeMap<(Gathering, bool, u64), (Joined, bool)> = BTreeMap::new();
        for (location, it) in found {
            let mut next: HashMap<Gathering, u64> = HashMap::new();
            for note in &it.notes {
                let What::Collective { of, number, begin, is_together } = note.what else {
                    continue;
                };
                let counted = number.is_none().then(|| {
                    let before = counts.get(location)?.collectives.get(&of).copied().unwrap_or(0);
                    let place = next.entry(of).or_default();
                    *place += 1;
                    Some(before + *place - 1)
                });
                let known = match counted {
                    Some(counted) => counted.map(|it| (false, it)),
                    None => number.map(|it| (true, it)),
                };
                if let Some((is_stated, number)) = known
                    && note.is_shown
                {
                    let entry = joined
                        .entry((of, is_stated, number))
                        .or_insert_with(|| (Joined { members: Vec::new() }, is_together));
                    entry.0.members.push((*location, Span { from: begin, to: note.time }));
                }
            }
        }
        // Nobody leaves a barrier before all have entered it: if somebody did, calls are missing in the trace.
        let holds = |it: &(Joined, bool)| {
            let spans = || it.0.members.iter().map(|it| it.1);
            let (last, first) = (spans().map(|it| it.from).max(), spans().map(|it| it.to).min());
            it.0.members.len() > 1 && (!it.1 || last <= first)
        };
        result.joined.extend(joined.into_values().filter(holds).map(|it| it.0));
    }
}

/// Joins releases of locks in a span with the next acquisition, if that is at another location.
fn join_locks(found: &[(Location, Found)], span: Span, list: &mut Vec<Operation>) {
    let mut locks: BTreeMap<Lock, Vec<(Time, bool, Location, bool)>> = BTreeMap::new();
    for (location, it) in found {
        // Before the span not all locations were read.
        for note in it.notes.iter().filter(|it| it.is_shown && it.time >= span.from) {
            match note.what {
                What::Acquired(lock, is_shared) => {
                    let all = locks.entry(lock).or_default();
                    all.push((note.time, true, *location, is_shared));
                }
                What::Released(lock) => {
                    locks.entry(lock).or_default().push((note.time, false, *location, false));
                }
                _ => {}
            }
        }
    }
    for mut all in locks.into_values() {
        // A lock is released before it is acquired at the same time.
        all.sort_unstable();
        let mut released: Option<(Time, Location)> = None;
        for (time, is_acquired, location, is_shared) in all {
            if !is_acquired {
                released = Some((time, location));
                continue;
            }
            if let Some((from, origin)) = released.take()
                && origin != location
                && !is_shared
            {
                let (kind, span) = (OperationKind::Lock, Span { from, to: time });
                list.push(Operation { kind, origin, partner: location, span, bytes: 0 });
            }
        }
    }
}

/// An open region: whether it has records of operations.
#[derive(Clone, Copy, Debug)]
struct Frame {
    region: RegionRef,
    has_records: bool,
}

/// Reads the records of a location.
struct Reading<'a> {
    trace: &'a Trace,
    me: LocationNumber,
    span: Span,
    /// Events that all locations have read, and how many they may.
    read: &'a AtomicU64,
    most: u64,
    events: u64,
    /// Events after the span.
    after: u32,
    frames: Vec<Frame>,
    /// Begins of the collectives that are open; a collective of one layer may consist of those of another.
    begun: Vec<(Time, bool)>,
    /// Operations that are not complete: window, matching id and place.
    open: Vec<(RmaWinRef, u64, usize)>,
    found: Found,
}

impl Reading<'_> {
    /// Marks the innermost call as one with records, and returns `false` if a call around it has records of its own.
    fn is_shown(&mut self) -> bool {
        let Some((last, outer)) = self.frames.split_last_mut() else { return true };
        last.has_records = true;
        !outer.iter().any(|it| it.has_records)
    }

    fn issue(
        &mut self,
        time: Time,
        kind: OperationKind,
        (win, remote): (RmaWinRef, otf2::id::Rank),
        bytes: u64,
        id: u64,
    ) {
        if !self.is_shown() || time >= self.span.to {
            return;
        }
        if let Some(partner) = self.trace.layout.target(win, remote, self.me) {
            let (origin, partner) = (Location(self.me.place()), Location(partner.place()));
            self.open.push((win, id, self.found.operations.len()));
            let span = Span { from: time, to: time };
            self.found.operations.push(Operation { kind, origin, partner, span, bytes });
        }
    }

    /// Ends operations: those with the id, and those before it as well if `is_all`.
    fn complete(&mut self, time: Time, window: RmaWinRef, id: u64, is_all: bool) {
        let operations = &mut self.found.operations;
        self.open.retain(|&(win, own, place)| {
            let ends = win == window && (own == id || is_all && own < id);
            if ends && let Some(it) = operations.get_mut(place) {
                it.span.to = time;
            }
            !ends
        });
    }

    fn note(&mut self, time: Time, is_shown: bool, what: What) {
        if time < self.span.to {
            self.found.notes.push(Note { time, is_shown, what });
        }
    }

    fn lock(&self, win: RmaWinRef, remote: otf2::id::Rank, id: u64) -> Option<Lock> {
        let target = self.trace.layout.target(win, remote, self.me);
        Some((self.trace.layout.window(win)?, target.map(|it| Location(it.place())), id))
    }
}

impl Visitor for Reading<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let time = Time(self.trace.layout.time(record.time).nanoseconds());
        self.events += 1;
        if time >= self.span.to {
            self.after += 1;
            if self.open.is_empty() && self.begun.is_empty() || self.after > MORE {
                return ControlFlow::Break(());
            }
        }
        if self.events == 4096 {
            let before = self.read.fetch_add(4096, Ordering::Relaxed);
            self.events = 0;
            if before + 4096 > self.most {
                return ControlFlow::Break(());
            }
        }
        match record.event {
            Event::Enter(it) => self.frames.push(Frame { region: it.region, has_records: false }),
            Event::Leave(_) => drop(self.frames.pop()),
            Event::RmaPut(it) => {
                let at = (it.win, it.remote);
                self.issue(time, OperationKind::Put, at, it.bytes, it.matching_id.0);
            }
            Event::RmaGet(it) => {
                let at = (it.win, it.remote);
                self.issue(time, OperationKind::Get, at, it.bytes, it.matching_id.0);
            }
            Event::RmaAtomic(it) => {
                let bytes = it.bytes_sent.saturating_add(it.bytes_received);
                let at = (it.win, it.remote);
                self.issue(time, OperationKind::Atomic, at, bytes, it.matching_id.0);
            }
            Event::RmaOpCompleteBlocking(it) => {
                self.complete(time, it.win, it.matching_id.0, false);
            }
            Event::RmaOpCompleteNonBlocking(it) => {
                self.complete(time, it.win, it.matching_id.0, false);
            }
            Event::RmaOpCompleteRemote(it) => {
                let region = self.frames.last().map(|it| it.region);
                let is_numbered = region.is_some_and(|it| self.trace.numbered.contains(&it));
                self.complete(time, it.win, it.matching_id.0, !is_numbered);
            }
            Event::RmaCollectiveBegin(_) | Event::MpiCollectiveBegin(_) => {
                let is_shown = self.is_shown();
                self.begun.push((time, is_shown));
            }
            Event::RmaCollectiveEnd(it) => {
                if let Some((begin, is_shown)) = self.begun.pop()
                    && begin < self.span.to
                {
                    let number = self.trace.layout.sequence(record.attributes);
                    let is_together = it.collective_op == CollectiveOp::Barrier;
                    let of = Gathering::Window(it.win);
                    let what = What::Collective { of, number, begin, is_together };
                    self.found.notes.push(Note { time, is_shown, what });
                }
            }
            Event::MpiCollectiveEnd(it) => {
                if let Some((begin, is_shown)) = self.begun.pop()
                    && begin < self.span.to
                {
                    let is_together = it.collective_op == CollectiveOp::Barrier;
                    let of = Gathering::Communicator(it.communicator);
                    let what = What::Collective { of, number: None, begin, is_together };
                    self.found.notes.push(Note { time, is_shown, what });
                }
            }
            Event::RmaRequestLock(_) => drop(self.is_shown()),
            Event::RmaAcquireLock(it) => {
                let is_shown = self.is_shown();
                if let Some(lock) = self.lock(it.win, it.remote, it.lock_id.0) {
                    let is_shared = it.lock_type == LockType::Shared;
                    self.note(time, is_shown, What::Acquired(lock, is_shared));
                }
            }
            Event::RmaReleaseLock(it) => {
                let is_shown = self.is_shown();
                if let Some(lock) = self.lock(it.win, it.remote, it.lock_id.0) {
                    self.note(time, is_shown, What::Released(lock));
                }
            }
            other => {
                if let Some((channel, bytes)) = channel(&self.trace.layout, &other, self.me) {
                    let is_shown = self.is_shown();
                    let skipped = self.trace.layout.skipped(record.attributes);
                    self.note(time, is_shown, What::Message { channel, bytes, skipped });
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the channel of a message that was sent or received, and its bytes.
#[inline(always)]
fn channel(layout: &Layout, event: &Event<'_>, me: LocationNumber) -> Option<(Channel, u64)> {
    let (is_send, rank, communicator, tag, bytes) = match event {
        Event::MpiSend(it) => (true, it.receiver, it.communicator, it.msg_tag, it.msg_length),
        Event::MpiIsend(it) => (true, it.receiver, it.communicator, it.msg_tag, it.msg_length),
        Event::MpiRecv(it) => (false, it.sender, it.communicator, it.msg_tag, it.msg_length),
        Event::MpiIrecv(it) => (false, it.sender, it.communicator, it.msg_tag, it.msg_length),
        _ => return None,
    };
    let partner = Location(layout.partner(communicator, rank, me)?.place());
    let own = Location(layout.siblings(me).start.place());
    let (sender, receiver) = if is_send { (own, partner) } else { (partner, own) };
    Some((Channel { is_send, communicator, sender, receiver, tag }, bytes))
}

/// Counts messages and collectives of a location.
struct Counting<'a> {
    trace: &'a Trace,
    me: LocationNumber,
    /// Last event that counts.
    until: u64,
    counts: Counts,
}

impl Visitor for Counting<'_> {
    #[inline(always)]
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        if record.number.0 > self.until {
            return ControlFlow::Break(());
        }
        match &record.event {
            Event::MpiCollectiveEnd(it) => {
                let of = Gathering::Communicator(it.communicator);
                *self.counts.collectives.entry(of).or_default() += 1;
            }
            Event::RmaCollectiveEnd(it)
                if self.trace.layout.sequence(record.attributes).is_none() =>
            {
                *self.counts.collectives.entry(Gathering::Window(it.win)).or_default() += 1;
            }
            Event::MpiSend(_) | Event::MpiIsend(_) | Event::MpiRecv(_) | Event::MpiIrecv(_) => {
                let layout = &self.trace.layout;
                if let Some((channel, _)) = channel(layout, &record.event, self.me) {
                    let more = layout.skipped(record.attributes) + 1;
                    *self.counts.messages.entry(channel).or_default() += more;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
