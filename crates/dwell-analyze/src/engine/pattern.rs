//! The trait of a pattern: what it notes while events are read, the questions it sends, how it answers them, what it
//! books, and what must be kept for it.
//!
//! The engine is generic over one type that implements [`Pattern`], and names none. That type is a list of patterns,
//! which is itself a pattern: it passes every call on to its members in order. The order matters in one place only: at
//! the end of a call ([`Pattern::on_leave`]) earlier patterns may claim operations that later ones then do not judge.
//!
//! A window goes through the methods in this order, for all shards at once:
//!
//! | step | methods |
//! |---|---|
//! | events are read | [`begin_window`](Pattern::begin_window), [`judge_rest`](Pattern::judge_rest), [`on_event`](Pattern::on_event), [`on_issue`](Pattern::on_issue), [`on_complete`](Pattern::on_complete), [`on_leave`](Pattern::on_leave), [`end_window`](Pattern::end_window) |
//! | questions are answered | [`answer`](Pattern::answer) |
//! | answers are booked | [`book`](Pattern::book) |
//!
//! After the last window follow [`facts`](Pattern::facts), [`conclude`](Pattern::conclude) and
//! [`on_division`](Pattern::on_division), and then the results are read.

use std::fmt::Debug;

use dwell_log::edge::{Edge, Ruling};
use dwell_trace::ids::{ContextNumber, LocationNumber, Ordinal, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;

use crate::engine::accounts::{Calls, ExpectedTimes};
use crate::engine::blame::Blame;
use crate::engine::call::{CompletedCall, EndedCall, Issued};
use crate::engine::deferred::Rest;
use crate::engine::event::Event;
use crate::engine::exchange::{self, Outboxes, Protocol};
use crate::engine::location_context::LocationContext;
use crate::engine::matrix::{Kind, Matrix};
use crate::engine::owned::{Members, Owned};
use crate::engine::process::Process;
use crate::engine::transport::{Error, Transport};

/// Outboxes of a pattern while events are read.
pub(crate) type Asking<'a, P> = exchange::Asking<'a, <P as Pattern>::Questions, Questions<P>>;
/// Outboxes of a pattern while questions are answered.
pub(crate) type Answering<'a, P> = exchange::Answering<'a, <P as Pattern>::Answers, Answers<P>>;
/// Messages that patterns send to each other while events are read, and those that arrived at a shard.
pub(crate) type Questions<P> = <<P as Pattern>::Protocol as Protocol>::Questions;
pub(crate) type Asked<P> = <Questions<P> as Outboxes>::Inboxes;
/// Messages that patterns send to each other while questions are answered, and those that arrived at a shard.
pub(crate) type Answers<P> = <<P as Pattern>::Protocol as Protocol>::Answers;
pub(crate) type Answered<P> = <Answers<P> as Outboxes>::Inboxes;
/// A lock that a call waited for.
pub(crate) type Locked<P> = <<P as Pattern>::Protocol as Protocol>::Locked;

/// A pattern of waiting, with all state that it keeps for the processes of one shard. All methods but
/// [`Self::new`] and [`Self::outcome`] have a default that does nothing.
pub(crate) trait Pattern: Debug + Send + Sized {
    /// Messages that the pattern sends while events are read.
    type Questions: Outboxes;
    /// Messages that the pattern sends while it answers questions.
    type Answers: Outboxes;
    /// Messages that patterns send to each other. All patterns of a list have the same.
    type Protocol: Protocol;
    /// Facts that all shards need to know before [`Self::conclude`].
    type Facts: Facts;
    /// Results other than the severities booked on call paths.
    type Outcome: Debug + Send;

    /// Creates the state for the processes and locations of a shard.
    fn new(members: &Members) -> Self;

    /// Returns `true` if [`Self::on_issue`] must see operations of this kind. The engine then reads their calls on the
    /// slow path.
    #[inline(always)]
    fn needs_operations(world: &World, kind: Kind) -> bool {
        let _ = (world, kind);
        false
    }

    /// Sends what [`Self::book`] left for the next window.
    fn begin_window(&mut self, world: &World, out: &mut Asking<'_, Self>) {
        let _ = (world, out);
    }

    /// Judges the rest of a call that another pattern has held until its own part was known.
    fn judge_rest(&mut self, process: &Process, rest: &Rest, out: &mut Asking<'_, Self>) {
        let _ = (process, rest, out);
    }

    /// Notes an event at a location.
    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        out: &mut Asking<'_, Self>,
    ) {
        let _ = (here, event, out);
    }

    /// Notes that the open call issued an operation, if waits are judged at the call.
    fn on_issue(
        &mut self,
        here: &mut LocationContext<'_>,
        operation: &Issued<'_>,
        out: &mut Asking<'_, Self>,
    ) {
        let _ = (here, operation, out);
    }

    /// Judges a call on the fast path: it completed one operation, and nothing is known yet about the region that served it.
    #[inline(always)]
    fn on_complete(&mut self, call: CompletedCall, out: &mut Asking<'_, Self>) {
        let _ = (call, out);
    }

    /// Returns `true` if [`Self::on_leave`] must see a call about which the pattern noted nothing.
    #[inline(always)]
    fn judges(here: &LocationContext<'_>, call: &EndedCall<Locked<Self>>) -> bool {
        let _ = (here, call);
        false
    }

    /// Judges a call that has ended, if the pattern noted something about it or asked for it ([`Self::judges`]).
    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall<Locked<Self>>,
        out: &mut Asking<'_, Self>,
    ) {
        let _ = (here, call, out);
    }

    /// Ends a window for a process. Returns the times since which facts must be kept because of calls and questions of
    /// this process. Every event before `horizon` has been read.
    fn end_window(
        &mut self,
        world: &World,
        process: &Process,
        horizon: Time,
        out: &mut Asking<'_, Self>,
    ) -> Floors {
        let _ = (world, process, horizon, out);
        Floors::TOP
    }

    /// Answers questions that have arrived, and judges what the pattern keeps for its processes.
    fn answer(
        &mut self,
        at: &mut Window<'_>,
        asked: <Self::Questions as Outboxes>::Inboxes,
        shared: &mut Asked<Self>,
        out: &mut Answering<'_, Self>,
    ) {
        let _ = (at, asked, shared, out);
    }

    /// Processes the answers that have arrived. Returns the time since which this shard needs the progress regions of
    /// its processes for questions that are still open.
    fn book(
        &mut self,
        at: &mut Window<'_>,
        answered: <Self::Answers as Outboxes>::Inboxes,
        shared: &mut Answered<Self>,
    ) -> Time {
        let _ = (at, answered, shared);
        Time::END
    }

    /// Returns the facts that this shard found and other shards need.
    fn facts(&self, world: &World) -> Self::Facts {
        let _ = world;
        Self::Facts::default()
    }

    /// Judges the waits that could not be judged before all events were read, given the facts of all shards.
    fn conclude(&mut self, at: &mut Conclusion<'_>, facts: &Self::Facts) {
        let _ = (at, facts);
    }

    /// Receives the calls of an account after their time has been divided. `times` are the times that calls of each
    /// sort are expected to take, as derived from the whole run.
    fn on_division(
        &mut self,
        world: &World,
        location: LocationNumber,
        calls: &DividedCalls<'_>,
        times: &ExpectedTimes,
    ) {
        let _ = (world, location, calls, times);
    }

    /// Returns `true` if the pattern has questions left that another round after the last event could settle.
    fn is_busy(&self) -> bool {
        false
    }

    /// Returns the memory in bytes that facts and open questions take.
    fn bytes(&self) -> usize {
        0
    }

    /// Adds the waits that could not be judged. The list has the same entries for every shard; only their numbers of
    /// calls differ, and may be 0.
    fn unjudged(&self, processes: &[Process], world: &World, list: &mut Vec<Unjudged>) {
        let _ = (processes, world, list);
    }

    /// Returns the results other than the severities booked on call paths.
    fn outcome(self) -> Self::Outcome;
}

/// Facts of all shards, joined after the last event.
pub(crate) trait Facts: Default + Send + Sync + Debug {
    /// Joins the facts of all shards, those of this process and those of the other processes of the analysis.
    fn join(transport: &Transport<'_>, parts: Vec<Self>) -> Result<Self, Error>;
}

impl Facts for () {
    fn join(_: &Transport<'_>, _: Vec<()>) -> Result<(), Error> {
        Ok(())
    }
}

/// Times that all shards agree on at the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Floors {
    /// No later question asks for a progress region that ended at or before this time.
    pub(crate) regions: Time,
    /// No lock call that is open or not judged began before this time.
    pub(crate) locks: Time,
    /// The earliest of the times of the last event read at each location that has more events.
    pub(crate) next: Time,
}

impl Floors {
    pub(crate) const TOP: Self = Self { regions: Time::END, locks: Time::END, next: Time::END };

    pub(crate) fn min(self, other: Self) -> Self {
        Self {
            regions: self.regions.min(other.regions),
            locks: self.locks.min(other.locks),
            next: self.next.min(other.next),
        }
    }
}

/// State of a shard at the end of a window.
pub(crate) struct Window<'a> {
    pub(crate) world: &'a World,
    pub(crate) processes: &'a mut Owned<ProcessNumber, Process>,
    /// Every event before this time has been read.
    pub(crate) horizon: Time,
    pub(crate) floors: Floors,
    /// For each process, whether it has no events left. `None` if this has not changed since the last window.
    pub(crate) ended: Option<&'a [bool]>,
    /// Number of workers that may share the work of one shard.
    pub(crate) workers: usize,
    /// List to which [`Pattern::book`] adds the edges of waits that it keeps, and [`Pattern::answer`] the edges that
    /// are not waits. `None` if no dependency log is written.
    pub(crate) edges: Option<&'a mut Vec<Edge>>,
}

impl Window<'_> {
    /// Returns `true` if processes have ended in this window, and every process of the context either has arrived or
    /// has no events left. An unknown context counts as one without processes.
    pub(crate) fn others_have_ended(
        &self,
        context: ContextNumber,
        arrived: impl Iterator<Item = ProcessNumber>,
    ) -> bool {
        let Some(ended) = self.ended else { return false };
        let Some(context) = self.world.system.context(context) else { return true };
        let mut arrived: Vec<ProcessNumber> = arrived.collect();
        arrived.sort_unstable();
        let has_ended = |it: ProcessNumber| ended.get(it.index()).copied().unwrap_or(true);
        context.processes().all(|it| has_ended(it) || arrived.binary_search(&it).is_ok())
    }
}

/// State of a shard after the last window.
pub(crate) struct Conclusion<'a> {
    pub(crate) world: &'a World,
    pub(crate) processes: &'a mut Owned<ProcessNumber, Process>,
    pub(crate) blame: &'a mut Blame,
    pub(crate) matrix: &'a mut Matrix,
    /// List for the rulings on candidates for waits. `None` if the dependency log does not need them.
    pub(crate) rulings: Option<&'a mut Vec<Ruling>>,
}

/// Calls of an account whose time has been divided. All times are in nanoseconds.
pub(crate) struct DividedCalls<'a> {
    pub(crate) calls: &'a Calls,
    /// Time of the calls without their waits.
    pub(crate) rest: Duration,
    /// Part of `rest` that the calls would have needed if nothing had delayed them.
    pub(crate) transfer: Duration,
}

/// Waits of a kind that could not be judged.
#[derive(Clone, Debug)]
pub(crate) struct Unjudged {
    /// Position in the list that users read, which has the entries of all patterns.
    pub(crate) place: u8,
    /// Id of the pattern as `dwell_model::waits` lists it, or a group of patterns.
    pub(crate) pattern: &'static str,
    /// Number of calls. It may be negative for a single shard, but not for the sum over all shards.
    pub(crate) calls: i64,
    pub(crate) reason: &'static str,
    /// True if the reason holds only where recording was paused at times.
    pub(crate) only_if_paused: bool,
}

impl Unjudged {
    /// Describes calls that could not be judged, whether recording was paused or not.
    pub(crate) fn new(place: u8, pattern: &'static str, calls: u64, reason: &'static str) -> Self {
        let calls = i64::try_from(calls).unwrap_or(i64::MAX);
        Self { place, pattern, calls, reason, only_if_paused: false }
    }
}
