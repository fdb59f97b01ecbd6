//! One location while its events pass by: call stack, call paths, time.

use otf2::id::RegionRef;
use otf2::read::EventReader;

use crate::accounts::Moved;
use crate::outstanding::Done;
use crate::paths::{Path, Paths};
use crate::patterns::collectives::Arrival;
use crate::polling::Run;
use crate::regions::Span;
use crate::role::Traits;

/// A call that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) enter: u64,
    /// Time in calls from here that are over.
    pub(crate) inside: u64,
    pub(crate) path: Path,
    pub(crate) region: RegionRef,
    pub(crate) traits: Traits,
    /// Not a call but a parameter, which ends with the call around it.
    pub(crate) setting: bool,
    /// Whether waits are judged at this call.
    pub(crate) judged: bool,
    /// Whether a record of an operation stood in it.
    pub(crate) issued: bool,
    /// Kind and target of its first operation.
    pub(crate) first: Option<(crate::matrix::Kind, u32)>,
    /// How many of the completions of the lane are its own.
    pub(crate) done: u32,
    /// How many of the other notes of the lane are its own.
    pub(crate) notes: u32,
}

impl Frame {
    /// Nothing known.
    pub(crate) const EMPTY: Self = Self {
        enter: 0,
        inside: 0,
        path: Path::TOP,
        region: RegionRef::UNDEFINED,
        traits: Traits(0),
        setting: false,
        judged: false,
        issued: false,
        first: None,
        done: 0,
        notes: 0,
    };
}

/// What else a call has to be judged for when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// It may have waited for a lock; whether that is exclusive.
    Lock(crate::locking::LockKey, bool, Taken),
    /// It is the first operation on this target since the lock was asked for, and may have waited for the lock.
    First(crate::locking::LockKey, bool, u32),
    /// It waited for a change at an address, if that is known.
    Change(Option<u64>),
    /// It received a message or notification.
    Receive(crate::patterns::messages::Receive),
    /// It sent a message or completed one, which may have waited for its receiver.
    Send(crate::patterns::messages::Started),
    /// It acted on this window of this process.
    Touch(u32, u32),
}

/// When a lock was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The home has been told, or will find out.
    Said,
    /// The home will find out; it is given back at this time.
    Before(u64),
    /// When the call ends.
    AtLeave,
}

/// Where the events of a lane come from.
#[derive(Debug, Default)]
pub(crate) enum Source {
    #[default]
    Unopened,
    Open(Box<EventReader>),
    Ended,
}

/// A location.
#[derive(Debug)]
pub(crate) struct Lane {
    /// Its number.
    pub(crate) location: u32,
    pub(crate) source: Source,
    pub(crate) paths: Paths,
    pub(crate) stack: Vec<Frame>,
    /// Depth of the outermost call that is judged, or 0.
    pub(crate) judged: u32,
    /// What that call moved so far, and with whom.
    pub(crate) moved: Moved,
    /// Collectives that it was in.
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) done: Vec<Done>,
    pub(crate) notes: Vec<Note>,
    pub(crate) polls: Option<Run>,
    /// A call that found a message, which no receive followed yet.
    pub(crate) probe: Option<crate::patterns::messages::Probe>,
    /// The group of the neighbours in the collective that is open.
    pub(crate) neighbours: Option<u32>,
    /// Time of the last event.
    pub(crate) now: u64,
    /// Time of the first event.
    pub(crate) first: Option<u64>,
    /// Events counted, and events read, if its source is not open.
    pub(crate) events: u64,
    pub(crate) read: u64,
    /// The window used last, its context and its memory.
    pub(crate) window: Option<(u32, u32, u16)>,
    pub(crate) damage: Damage,
    /// When recording was off.
    pub(crate) off: Option<u64>,
    pub(crate) gaps: Vec<Span>,
    pub(crate) cut: Cut,
}

/// Calls that the process ended in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    /// Whether there are any, calls of a runtime or not.
    pub(crate) any: bool,
    pub(crate) collectives: u64,
    pub(crate) locks: u64,
    pub(crate) changes: u64,
    /// Operations, and calls that complete them.
    pub(crate) operations: u64,
}

/// What was wrong with the events of a location.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage {
    /// Leaves without an enter, and enters without a leave.
    pub(crate) unmatched: u64,
    /// Records that refer to what is not defined.
    pub(crate) undefined: u64,
    /// What reading said.
    pub(crate) errors: Vec<String>,
}

impl Lane {
    pub(crate) fn new(location: u32) -> Self {
        Self {
            location,
            source: Source::Unopened,
            paths: Paths::default(),
            stack: Vec::new(),
            judged: 0,
            moved: Moved::default(),
            arrivals: Vec::new(),
            done: Vec::new(),
            notes: Vec::new(),
            polls: None,
            probe: None,
            neighbours: None,
            now: 0,
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

    /// How many events were read since the last time it was asked.
    pub(crate) fn count(&mut self) -> u64 {
        if let Source::Open(reader) = &self.source {
            self.read = reader.position().0;
        }
        let news = self.read.saturating_sub(self.events);
        self.events = self.events.max(self.read);
        news
    }

    /// When the polling loop over calls that test memory began that may go on.
    pub(crate) fn tests_memory_since(&self) -> Option<u64> {
        let run = self.polls.as_ref().filter(|run| run.tests_memory)?;
        let is_caller = |frame: &Frame| frame.enter == run.last.caller;
        let caller = self.stack.iter().rev().find(|frame| is_caller(frame))?;
        (caller.inside == run.last.inside).then_some(run.begin)
    }

    pub(crate) fn ended(&self) -> bool {
        matches!(self.source, Source::Ended)
    }
}
