//! A run: the archive, the report of its analysis and its dependency log, which have the same numbers of locations and call paths.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dwell_log::read::DependencyLog;
use dwell_report::Query;
use dwell_report::findings::Findings;
use dwell_timeline::Paths;
use dwell_trace::completions::{self, OfAll};
use dwell_trace::contexts::Contexts;
use dwell_trace::ids::LocationNumber;
use dwell_trace::layout::Layout;
use dwell_trace::world::Attributes;
use otf2::Archive;
use otf2::read::Definitions;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::error::{Error, Result};

/// Greatest number of parts that locations are divided into. Each part of a table is an open file until the end.
const MOST_PARTS: u64 = 64;

/// Least number of events of a part, so that row groups are not small.
const LEAST_EVENTS: u64 = 500_000;

/// A run that can be exported. It holds the definitions of the archive, the numbers of all call paths and the index of the dependency
/// log in memory, but neither events nor values.
#[derive(Debug)]
pub struct Run {
    pub(crate) archive: Archive,
    pub(crate) definitions: Definitions,
    pub(crate) contexts: Contexts,
    pub(crate) attributes: Attributes,
    pub(crate) layout: Layout,
    pub(crate) log: DependencyLog,
    pub(crate) query: Query,
    pub(crate) findings: Findings,
    pub(crate) paths: Paths,
    /// Time of the first event, in nanoseconds by the clock of the trace.
    pub(crate) begin: u64,
    /// Number of events of each location.
    pub(crate) events: Vec<u64>,
    pub(crate) damage: Damage,
    completions: Completions,
}

/// Completions that concern all threads of a process, by the first location of the process. They are read when the first
/// of its locations is.
#[derive(Debug, Default)]
struct Completions(Mutex<HashMap<u32, Arc<OnceLock<Vec<OfAll>>>>>);

/// Damage that was found while locations were read, by location.
#[derive(Debug, Default)]
pub(crate) struct Damage(Mutex<BTreeMap<u32, String>>);

impl Damage {
    /// Remembers that the events of a location end with an error.
    pub(crate) fn add(&self, location: LocationNumber, error: &otf2::Error) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(location.place(), error.to_string());
    }

    pub(crate) fn list(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().cloned().collect()
    }
}

impl Run {
    /// Makes a run of its parts: the archive, the dependency log and the report of its analysis, and what `findings.json` says.
    ///
    /// # Errors
    /// If the definitions or the log cannot be read, or if the parts do not belong to the same run.
    pub fn new(
        archive: Archive,
        log: DependencyLog,
        query: Query,
        findings: Findings,
    ) -> Result<Self> {
        let definitions = archive.definitions()?;
        let layout = Layout::of(&definitions);
        let locations = layout.locations();
        if log.locations() != locations || query.meta().locations().len() != locations as usize {
            return Err(Error::OtherRun);
        }
        let paths = Paths::of(&log).map_err(|error| match error {
            dwell_timeline::Error::Log(error) => Error::Log(error),
            _ => Error::OtherRun,
        })?;
        let first = |number: u32| -> Result<Option<u64>> {
            let Some(log) = log.location(LocationNumber::new(number))? else { return Ok(None) };
            let first = log.segments_in_order()?.next().transpose()?;
            Ok(first.map(|it| it.begin.nanoseconds()))
        };
        let begins = (0..locations).into_par_iter().map(first).collect::<Result<Vec<_>>>()?;
        let begin = begins.into_iter().flatten().min().unwrap_or(0);
        let count = |number: u32| {
            let id = layout.id(LocationNumber::new(number));
            let location = id.and_then(|id| definitions.location(id));
            location.map_or(0, |it| it.number_of_events)
        };
        let events = (0..locations).map(count).collect();
        let damage = Damage::default();
        Ok(Self {
            archive,
            contexts: Contexts::of(&definitions),
            attributes: Attributes::of(&definitions),
            definitions,
            layout,
            log,
            query,
            findings,
            paths,
            begin,
            events,
            damage,
            completions: Completions::default(),
        })
    }

    /// Returns the completions at other threads of a location's process that concern its operations, in the order of time.
    pub(crate) fn completions_elsewhere(&self, location: LocationNumber) -> Vec<OfAll> {
        let read = || completions::of_process(&self.archive, &self.layout, location);
        let mut all = self.completions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_process = Arc::clone(all.entry(self.first_of_process(location)).or_default());
        drop(all);
        let list = of_process.get_or_init(read);
        list.iter().filter(|it| it.location != location).copied().collect()
    }

    /// Returns the number of events of all locations, which is what progress of an export counts.
    pub fn events(&self) -> u64 {
        self.events.iter().sum()
    }

    /// Returns the damage of the definitions, and the damage that exports have found in the trace so far, by location. The events of a damaged location are exported
    /// up to the damage.
    pub fn damage(&self) -> Vec<String> {
        let definitions = self.definitions.warning().map(ToString::to_string);
        definitions.into_iter().chain(self.damage.list()).collect()
    }

    /// Divides the locations into parts of consecutive ones with about equally many events.
    pub(crate) fn parts(&self) -> Vec<Range<u32>> {
        let most = (self.events() / MOST_PARTS).max(LEAST_EVENTS);
        let (mut parts, mut first, mut sum) = (Vec::new(), 0, 0);
        for (number, events) in (0..).zip(&self.events) {
            if sum > 0 && sum + events > most && parts.len() + 1 < MOST_PARTS as usize {
                parts.push(first..number);
                (first, sum) = (number, 0);
            }
            sum += events;
        }
        parts.push(first..self.events.len() as u32);
        parts
    }

    /// Returns a time in nanoseconds after the first event.
    pub(crate) fn after(&self, time: u64) -> u64 {
        time.saturating_sub(self.begin)
    }

    /// Returns the first location of the process of a location.
    pub(crate) fn first_of_process(&self, location: LocationNumber) -> u32 {
        self.layout.siblings(location).start.place()
    }
}
