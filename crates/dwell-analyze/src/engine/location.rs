//! State of a location during the replay: its call stack, call paths and time.

use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use otf2::id::{GroupRef, LocationRef, RegionRef, RmaWinRef};
use otf2::read::EventReader;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Moved;
use crate::engine::log::segments::Segments;
use crate::engine::outstanding::Done;
use crate::engine::paths::{Path, Paths};
use crate::engine::polling::Run;
use crate::engine::regions::Span;
use crate::engine::tally::Tally;

/// A call that was entered and not yet left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) enter: Time,
    /// Time in calls made from this one that have ended.
    pub(crate) inside: Duration,
    pub(crate) path: Path,
    pub(crate) region: RegionRef,
    pub(crate) traits: Traits,
    /// True if this is not a call but a parameter, which ends together with the call around it.
    pub(crate) setting: bool,
    /// True if waits are judged at this call.
    pub(crate) judged: bool,
    /// True if the call contained a record of an operation.
    pub(crate) issued: bool,
    /// Kind and target of the first operation in the call.
    pub(crate) first: Option<(crate::engine::matrix::Kind, ProcessNumber)>,
    /// True if something must be judged when the call ends.
    pub(crate) noted: bool,
    /// True if this is the handler of an active message, and in no other handler.
    pub(crate) handler: bool,
    /// Patterns that must see the end of the call, one bit for each.
    pub(crate) seen_by: u16,
}

impl Frame {
    /// Returns `true` if communication of the call counts in the matrix: it is judged here, or outside of any call of a
    /// runtime.
    #[inline(always)]
    pub(crate) fn counts(&self) -> bool {
        self.judged || !self.traits.has(Traits::CALL)
    }

    /// A frame without a call.
    pub(crate) const EMPTY: Self = Self {
        enter: Time::BEGIN,
        inside: Duration::ZERO,
        path: Path::TOP,
        region: RegionRef::UNDEFINED,
        traits: Traits(0),
        setting: false,
        judged: false,
        issued: false,
        first: None,
        noted: false,
        handler: false,
        seen_by: 0,
    };
}

/// Source of the events of a location.
#[derive(Debug, Default)]
pub(crate) enum Source {
    #[default]
    Unopened,
    Open(Box<EventReader>),
    Ended,
}

/// Event file of a location.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct EventFile {
    /// Id of the location in the archive.
    pub(crate) id: LocationRef,
    /// Number of events that the definitions promise.
    pub(crate) promised: u64,
}

/// A non-blocking collective that the open call completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AwaitedCollective {
    /// Number of the collective at its process.
    pub(crate) number: u32,
    /// Enter of the call that began the collective.
    pub(crate) began: Time,
}

/// State of a location during the replay.
#[derive(Debug)]
pub(crate) struct Location {
    /// Number of the location.
    pub(crate) number: LocationNumber,
    /// Its event file, once that has been opened.
    pub(crate) file: Option<EventFile>,
    pub(crate) source: Source,
    pub(crate) paths: Paths,
    pub(crate) stack: Vec<Frame>,
    /// Segments for the dependency log, if it is wanted.
    pub(crate) log: Option<Box<Segments>>,
    /// Counters that are sampled, once there are any.
    pub(crate) tally: Option<Box<Tally>>,
    /// Depth of the outermost call at which waits are judged, or 0.
    pub(crate) judged: u32,
    /// Bytes that the judged call has moved so far, and its partners.
    pub(crate) moved: Moved,
    /// Operations that the judged call completed.
    pub(crate) done: Vec<Done>,
    /// Operations that the open call completed at their origin, but not at their targets.
    pub(crate) at_origin: Vec<Done>,
    /// Windows and processes that the judged call acted on, for fences and epochs of MPI.
    pub(crate) touched: Vec<(RmaWinRef, ProcessNumber)>,
    /// Non-blocking collectives that the judged call completed.
    pub(crate) awaited: Vec<AwaitedCollective>,
    /// Calls that test again and again whether something has happened.
    pub(crate) polls: Option<Run>,
    /// Group of the neighbours in the open neighbourhood collective.
    pub(crate) neighbours: Option<GroupRef>,
    /// Time in calls at which waits are judged and that have ended, in nanoseconds. All other time is computing.
    pub(crate) in_calls: Duration,
    /// Time in handlers of active messages that have ended.
    pub(crate) in_handlers: Duration,
    /// The same at the enter of the call at which waits are judged.
    pub(crate) handlers_before: Duration,
    /// Number of calls that were recorded as the one which ends now, or 0 if the archive does not say.
    pub(crate) merged: u64,
    /// Time of the calls that were recorded as the region which is left now, if they were aggregated.
    pub(crate) in_short_calls: Option<Duration>,
    /// Number of judged calls that issued operations and were not read on the fast path.
    pub(crate) slow_calls: u64,
    /// Time of the last event in nanoseconds.
    pub(crate) now: Time,
    /// Time of the first event in nanoseconds.
    pub(crate) first: Option<Time>,
    /// Number of events that [`Self::count`] has counted, and number of events read once the source is closed.
    pub(crate) events: u64,
    pub(crate) read: u64,
    /// Cache of the last lookup of a window: the window, its context and the number of its memory.
    pub(crate) window: Option<(RmaWinRef, ContextNumber, u16)>,
    pub(crate) damage: Damage,
    /// Time since which recording is off, and the past intervals in which it was off.
    pub(crate) off: Option<Time>,
    pub(crate) gaps: Vec<Span>,
    pub(crate) cut: Cut,
}

/// Numbers of calls that were open when the process ended, by what they waited for.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cut {
    /// True if any call was open, of a runtime or not.
    pub(crate) any: bool,
    pub(crate) collectives: u64,
    pub(crate) locks: u64,
    pub(crate) changes: u64,
    /// Number of operations, and of calls that complete operations.
    pub(crate) operations: u64,
}

impl Cut {
    /// Adds the calls of another location.
    pub(crate) fn add(&mut self, other: Self) {
        self.any |= other.any;
        self.collectives += other.collectives;
        self.locks += other.locks;
        self.changes += other.changes;
        self.operations += other.operations;
    }
}

/// Defects in the events of a location.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage {
    /// Number of leaves without an enter and of enters without a leave.
    pub(crate) unmatched: u64,
    /// Number of records that refer to something that is not defined.
    pub(crate) undefined: u64,
    /// Messages of the reader.
    pub(crate) errors: Vec<String>,
}

impl Location {
    pub(crate) fn new(number: LocationNumber) -> Self {
        Self {
            number,
            file: None,
            source: Source::Unopened,
            paths: Paths::default(),
            stack: Vec::new(),
            log: None,
            tally: None,
            judged: 0,
            moved: Moved::default(),
            done: Vec::new(),
            at_origin: Vec::new(),
            touched: Vec::new(),
            awaited: Vec::new(),
            polls: None,
            neighbours: None,
            in_calls: Duration::ZERO,
            in_handlers: Duration::ZERO,
            handlers_before: Duration::ZERO,
            merged: 0,
            in_short_calls: None,
            slow_calls: 0,
            now: Time::BEGIN,
            first: None,
            events: 0,
            read: 0,
            window: None,
            damage: Damage::default(),
            off: None,
            gaps: Vec::new(),
            cut: Cut::default(),
        }
    }

    /// Records the time of the first event.
    pub(crate) fn begin(&mut self, first: Time) {
        self.first = Some(first);
        if let Some(log) = &mut self.log {
            log.begin(first);
        }
    }

    /// Adds the time up to now to the segments, on the path of the innermost region, if no judged call is open.
    #[inline(always)]
    pub(crate) fn log_region(&mut self, until: Time, path: Path) {
        if let Some(log) = &mut self.log
            && self.judged == 0
        {
            log.region(until, path, &self.paths);
        }
    }

    /// Records that the innermost region is the handler of an active message, if it is one of the program. Handlers inside
    /// handlers are parts of these.
    pub(crate) fn begin_handler(&mut self) {
        let nested = self.stack.iter().any(|frame| frame.handler);
        if let Some(frame) = self.stack.last_mut()
            && !nested
            && !frame.traits.has(Traits::CALL)
        {
            frame.handler = true;
        }
    }

    /// Returns the number of events that were read since the previous call.
    pub(crate) fn count(&mut self) -> u64 {
        if let Source::Open(reader) = &self.source {
            self.read = reader.position().0;
        }
        let news = self.read.saturating_sub(self.events);
        self.events = self.events.max(self.read);
        news
    }

    /// Returns the start of the polling loop over memory tests that is still going on, if there is one.
    pub(crate) fn tests_memory_since(&self) -> Option<Time> {
        let run = self.polls.as_ref().filter(|run| run.tests_memory)?;
        let is_caller = |frame: &Frame| frame.enter == run.last.caller;
        let caller = self.stack.iter().rev().find(|frame| is_caller(frame))?;
        (caller.inside == run.last.inside).then_some(run.begin)
    }

    /// Returns the time that the location has spent computing before the judged call that is open, in nanoseconds since
    /// its first event.
    pub(crate) fn computed_before(&self, enter: Time) -> Duration {
        enter.since(self.first.unwrap_or(enter)).saturating_sub(self.in_calls)
    }

    pub(crate) fn ended(&self) -> bool {
        matches!(self.source, Source::Ended)
    }
}
