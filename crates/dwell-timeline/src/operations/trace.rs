//! The trace of a run, of which parts are read when a view needs them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dwell_trace::ids::LocationNumber;
use dwell_trace::layout::Layout;
use dwell_trace::operations::{Calls, InFlight};
use otf2::id::{EventNumber, RmaWinRef};
use otf2::read::EventReader;
use otf2::{Archive, Definition};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::computing::Names;
use super::counters::{self, Counter};
use super::join::{held, join_locks};
use super::read::{Counting, Counts, Found, Reading};
use super::{Joined, Operation, Operations};
use crate::error::{Error, Result};
use crate::ids::Location;
use crate::span::{Span, Time};

/// Number of places of a location up to which counts are kept.
const KEPT: usize = 16;

/// Trace of a run, from which operations are read. It can be used from several threads at once.
#[derive(Debug)]
pub struct Trace {
    pub(super) archive: Archive,
    path: PathBuf,
    pub(super) layout: Layout,
    pub(super) counters: Vec<Counter>,
    /// Number of events of all locations, as far as the definitions say it.
    events: u64,
    /// Counts of each location up to some of its events.
    counts: Mutex<HashMap<Location, BTreeMap<u64, Arc<Counts>>>>,
    /// What contexts of samples mean, once it was asked for; `None` without samples.
    pub(super) sampled: OnceLock<Option<Names>>,
}

impl Trace {
    /// Opens the trace in a directory, and keeps at most `files` of its files open.
    ///
    /// # Errors
    /// If there is no archive, or its definitions cannot be read.
    pub fn open(directory: &Path, files: usize) -> Result<Self> {
        let failed = |error: otf2::Error| Error::Trace(directory.to_owned(), error);
        let archive = Archive::open_keeping(directory, files).map_err(failed)?.by_region();
        let definitions = archive.definitions().map_err(failed)?;
        let layout = Layout::of(&definitions);
        let counters = counters::counters(&definitions);
        let events = definitions.iter().filter_map(|it| match it {
            Definition::Location(location) => Some(location.number_of_events),
            _ => None,
        });
        let events = events.fold(0, u64::saturating_add);
        let path = directory.to_owned();
        let (counts, sampled) = (Mutex::default(), OnceLock::new());
        Ok(Self { archive, path, layout, counters, events, counts, sampled })
    }

    /// Returns the number of locations, which is that of the index of the same run.
    pub fn locations(&self) -> u32 {
        self.layout.locations()
    }

    /// Returns the number of events of all locations, or 0 if the definitions do not say it.
    pub fn events(&self) -> u64 {
        self.events
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
        result.list = self.issued(&found);
        if is_all {
            join_locks(&found, span, &mut result.list);
        }
        result.held = held(&found, span);
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

    /// Returns the puts, gets and atomics of locations, with their completions at any thread of their process.
    fn issued(&self, found: &[(Location, Found)]) -> Vec<Operation> {
        let process =
            |location: Location| self.layout.siblings(LocationNumber::new(location.0)).start;
        let mut list = Vec::new();
        for of_process in found.chunk_by(|one, other| process(one.0) == process(other.0)) {
            let mut completions: Vec<(Time, RmaWinRef)> = Vec::new();
            if of_process.len() > 1 {
                completions.extend(of_process.iter().flat_map(|it| &it.1.completions));
                completions.sort_unstable();
            }
            let issued = of_process.iter().flat_map(|it| &it.1.operations);
            list.extend(issued.map(|it| it.completed_among(&completions)));
        }
        list
    }

    pub(super) fn failed(&self, error: otf2::Error) -> Error {
        Error::Trace(self.path.clone(), error)
    }

    fn reader(&self, location: Location) -> Result<Option<EventReader>> {
        let Some(id) = self.layout.id(LocationNumber::new(location.0)) else { return Ok(None) };
        self.archive.events(id).map(Some).map_err(|it| self.failed(it))
    }

    /// Returns a reader of the events of a location from a time on, or a little before.
    pub(super) fn reader_from(
        &self,
        location: Location,
        time: Time,
    ) -> Result<Option<EventReader>> {
        let Some(mut reader) = self.reader(location)? else { return Ok(None) };
        let time = dwell_trace::time::Time::from_nanoseconds(time.0);
        reader.seek_time(self.layout.ticks(time)).map_err(|it| self.failed(it))?;
        Ok(Some(reader))
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
        let begin = begin.min(span.from);
        let Some(mut reader) = self.reader_from(location, begin)? else {
            return Ok(Found::default());
        };
        let begin = dwell_trace::time::Time::from_nanoseconds(begin.0);
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
            calls: Calls::default(),
            begun: Vec::new(),
            flight: InFlight::default(),
            found,
        };
        reader.visit_dyn(&mut reading).map_err(|it| self.failed(it))?;
        read.fetch_add(reading.events, Ordering::Relaxed);
        Ok(reading.found)
    }

    /// Returns the numbers of messages and collectives of a location up to one of its events.
    pub(super) fn count(&self, location: Location, until: u64) -> Result<Arc<Counts>> {
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
        reader.visit_dyn(&mut counting).map_err(|it| self.failed(it))?;
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
    pub(super) fn to_count(&self, location: Location, until: u64) -> u64 {
        let all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(&location).and_then(|it| it.range(..=until).next_back());
        until - known.map_or(0, |it| *it.0)
    }
}
