//! State of a location during the replay: its call stack, call paths and time.

use otf2::id::RegionRef;
use otf2::read::EventReader;

use crate::archive::roles::Traits;
use crate::engine::accounts::Moved;
use crate::engine::outstanding::Done;
use crate::engine::paths::{Path, Paths};
use crate::engine::polling::Run;
use crate::engine::regions::Span;
use crate::patterns::collectives::Arrival;

/// A call that was entered and not yet left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) enter: u64,
    /// Time in calls made from this one that have ended.
    pub(crate) inside: u64,
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
    pub(crate) first: Option<(crate::engine::matrix::Kind, u32)>,
    /// Number of completions in the lane's list that belong to this call.
    pub(crate) done: u32,
    /// Number of notes in the lane's list that belong to this call.
    pub(crate) notes: u32,
}

impl Frame {
    /// A frame without a call.
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

/// Something that must be judged when the call ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// The call may have waited for a lock; true for an exclusive one.
    Lock(crate::engine::locking::LockKey, bool, Taken),
    /// The call issued the first operation on this target since the lock was requested, and may have waited for the
    /// lock.
    First(crate::engine::locking::LockKey, bool, u32),
    /// The call waited for a change at an address, if the address is known.
    Change(Option<u64>),
    /// The call received a message or notification.
    Receive(crate::patterns::messages::Receive),
    /// The call sent a message or completed a send, which may have waited for the receiver.
    Send(crate::patterns::messages::Started),
    /// The call acted on this window of this process.
    Touch(u32, u32),
}

/// Source of the time at which a lock was acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The owner of the lock has been told, or will find out.
    Said,
    /// The owner will find out; the lock is released at this time.
    Before(u64),
    /// The lock is acquired when the call ends.
    AtLeave,
}

/// Source of the events of a location.
#[derive(Debug, Default)]
pub(crate) enum Source {
    #[default]
    Unopened,
    Open(Box<EventReader>),
    Ended,
}

/// State of a location during the replay.
#[derive(Debug)]
pub(crate) struct Location {
    /// Number of the location.
    pub(crate) number: u32,
    pub(crate) source: Source,
    pub(crate) paths: Paths,
    pub(crate) stack: Vec<Frame>,
    /// Depth of the outermost call at which waits are judged, or 0.
    pub(crate) judged: u32,
    /// Bytes that the judged call has moved so far, and its partners.
    pub(crate) moved: Moved,
    /// Collectives that the open call took part in.
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) done: Vec<Done>,
    pub(crate) notes: Vec<Note>,
    pub(crate) polls: Option<Run>,
    /// A probe that found a message which no receive has followed yet.
    pub(crate) probe: Option<crate::patterns::messages::Probe>,
    /// Group of the neighbours in the open neighbourhood collective.
    pub(crate) neighbours: Option<u32>,
    /// Time of the last event in nanoseconds.
    pub(crate) now: u64,
    /// Time of the first event in nanoseconds.
    pub(crate) first: Option<u64>,
    /// Number of events that [`Self::count`] has counted, and number of events read once the source is closed.
    pub(crate) events: u64,
    pub(crate) read: u64,
    /// The window that was used last, its context and its memory.
    pub(crate) window: Option<(u32, u32, u16)>,
    pub(crate) damage: Damage,
    /// Time since which recording is off, and the past intervals in which it was off.
    pub(crate) off: Option<u64>,
    pub(crate) gaps: Vec<Span>,
    pub(crate) cut: Cut,
}

/// Numbers of calls that were open when the process ended, by what they waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    /// True if any call was open, of a runtime or not.
    pub(crate) any: bool,
    pub(crate) collectives: u64,
    pub(crate) locks: u64,
    pub(crate) changes: u64,
    /// Number of operations, and of calls that complete operations.
    pub(crate) operations: u64,
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
    pub(crate) fn new(number: u32) -> Self {
        Self {
            number,
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
