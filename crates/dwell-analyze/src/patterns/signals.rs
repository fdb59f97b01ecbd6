//! Late signal: a process waits for a change of its memory that another process makes later.
//!
//! | | |
//! |---|---|
//! | pushes | every operation that may raise a flag goes to its target, since the waiter does not know the origin |
//! | answers | the waiter itself, once everything before the end of its wait is known |
//! | books | at the waiter, on the path of the call that waited |
//!
//! The releaser is the last operation that covers the address and began before the wait ended. If it began after the
//! wait did and at another process, the wait lasts from the enter of the call to that begin. If the address was not
//! recorded, any small operation counts as the releaser, and the wait is *inferred*.
//!
//! A polling loop over calls that test memory is treated alike, from its first call to the end of the call that found
//! the change, and is told which process made it.
//!
//! The archive does not record where large operations act. If no small one released a wait, and a large one began
//! meanwhile, that one may have released it: the wait is counted as not judged.

use std::collections::BTreeMap;

use dwell_log::edge::{Edge, Kind};
use dwell_log::quantity::Quantity;
use dwell_model::archive::SMALL;
use dwell_model::layer::Layer;
use dwell_model::operation::{Atomic, Operation};
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::{World, address, number};
use otf2::{Attribute, List};
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::booking::{Booking, Piece};
use crate::engine::call::Issued;
use crate::engine::event::{Event, EventKind};
use crate::engine::exchange::outboxes;
use crate::engine::location::Location;
use crate::engine::location_context::LocationContext;
use crate::engine::matrix::Kind as Communication;
use crate::engine::message::Message;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Pattern, Unjudged, Window};
use crate::engine::polling::Release;
use crate::engine::process::Process;
use crate::protocol::{Answered, Answering, Asked, Asking, EndedCall};

outboxes! {
    /// Messages to the processes on whose memory operations act.
    Raising => Raised {
        signals: Signal;
        watches: Watch;
    }
}

outboxes! {
    /// Messages to processes that polled memory of another one.
    Telling => Told {
        releases: RemoteRelease;
    }
}

/// Late signals of the processes of a shard.
#[derive(Debug)]
pub(crate) struct Signals {
    inboxes: Owned<ProcessNumber, Inbox>,
    /// Changes of memory that the open call of each location waited for.
    changes: Owned<LocationNumber, Vec<Change>>,
}

impl Pattern for Signals {
    type Questions = Raising;
    type Answers = Telling;
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = ();

    fn new(members: &Members) -> Self {
        Self {
            inboxes: Owned::empty(members.processes.clone()),
            changes: Owned::empty(members.locations.clone()),
        }
    }

    #[inline(always)]
    fn needs_operations(world: &World, kind: Communication) -> bool {
        kind != Communication::Get && world.roles.any_wait_change()
    }

    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        out: &mut Asking<'_, Raising>,
    ) {
        match event.kind {
            EventKind::WaitedForChange { offset, owner } => {
                if here.note()
                    && let Some(changes) = self.changes.get_mut(here.location.number)
                {
                    changes.push(Change { offset, owner });
                }
            }
            EventKind::Raised { target, attributes } => {
                if let Some(frame) = here.judged_call() {
                    let offset = number(attributes, here.world.attributes.offset);
                    raise(here, target, (frame.enter, 1), (offset, attributes), out);
                }
            }
            _ => {}
        }
    }

    fn on_issue(
        &mut self,
        here: &mut LocationContext<'_>,
        operation: &Issued<'_>,
        out: &mut Asking<'_, Raising>,
    ) {
        let Issued { kind, layer, window, target, sent, frame, attributes } = *operation;
        // Coarrays wait for events, which are changed only by operations on events, unless the archive gives the address.
        let may_signal = !layer.is_some_and(Layer::notifies_by_events) || !attributes.is_empty();
        let meaning = here.world.roles.get(frame.region).meaning;
        let only_reads = meaning.is_some_and(|it| it.operation == Operation::Atomic(Atomic::Fetch));
        let may_signal = may_signal && !only_reads;
        if (sent > 0 || kind == Communication::Atomic) && may_signal {
            let offset = number(attributes, here.world.attributes.offset);
            let offset = offset.map(|offset| address(layer, window, offset));
            raise(here, target, (frame.enter, sent.max(1)), (offset, attributes), out);
        }
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        out: &mut Asking<'_, Raising>,
    ) {
        let Some(changes) = self.changes.get_mut(call.location) else { return };
        if changes.is_empty() {
            return;
        }
        let me = here.process.index;
        let Some(inbox) = self.inboxes.get_mut(me) else { return };
        let EndedCall { location, account, enter, leave, .. } = *call;
        if !call.frame.traits.has(Traits::TESTS) && here.location.merged <= 1 {
            for Change { offset, .. } in changes.drain(..) {
                inbox.waits.push(FlagWait { location, account, enter, leave, offset, polls: None });
            }
            return;
        }
        let Some(Change { offset, owner }) = changes.drain(..).next_back() else { return };
        let Some(run) = here.location.polls.as_mut().filter(|run| run.is_loop) else { return };
        let number = here.process.loops.expect(run);
        let enter = run.begin;
        run.tests_memory = false;
        run.found = here.location.merged > 1;
        if let Some(owner) = owner.filter(|owner| *owner != me) {
            let polls = Polls { waiter: me, number };
            let watch = Watch { owner, polls, location, account, enter, leave, offset };
            out.own.watches.send(owner, watch);
        } else {
            let polls = Some(Polls { waiter: me, number });
            inbox.waits.push(FlagWait { location, account, enter, leave, offset, polls });
        }
    }

    fn answer(
        &mut self,
        at: &mut Window<'_>,
        raised: Raised,
        _: &mut Asked,
        out: &mut Answering<'_, Telling>,
    ) {
        for watch in raised.watches.into_messages() {
            if let Some(inbox) = self.inboxes.get_mut(watch.owner) {
                let Watch { polls, location, account, enter, leave, offset, .. } = watch;
                let polls = Some(polls);
                inbox.waits.push(FlagWait { location, account, enter, leave, offset, polls });
            }
        }
        for signal in raised.signals.into_messages() {
            if let Some(inbox) = self.inboxes.get_mut(signal.target) {
                inbox.raised.push(signal);
            }
        }
        for (me, inbox) in self.inboxes.numbered_mut() {
            if inbox.is_empty() {
                continue;
            }
            let Some(process) = at.processes.get_mut(me) else { continue };
            let frames = process.locations.iter().flat_map(|location| &location.stack);
            let waits = frames.filter(|frame| frame.traits.has(Traits::WAIT_CHANGE));
            let loops = process.locations.iter().filter_map(Location::tests_memory_since);
            let enters = waits.map(|frame| frame.enter).chain(loops);
            let open = enters.min().unwrap_or(Time::END);
            let early = at.edges.as_deref_mut();
            inbox.judge(me, at.horizon, open, early, |wait, what, Duration(amount), origin| {
                let (location, account) = (wait.location, wait.account);
                let whole = what == Quantity::Wait(Wait::LateSignal);
                let (begin, culprit, piece) = (wait.enter, Some(origin), Piece::of(whole));
                let left = whole.then_some(wait.leave - wait.enter);
                let booking =
                    Booking { location, account, what, amount, begin, culprit, piece, left };
                out.engine.bookings.send(me, booking);
            });
            for (waiter, release) in inbox.releases.drain(..) {
                if waiter == me {
                    process.loops.release(release);
                } else {
                    out.own.releases.send(waiter, RemoteRelease { waiter, release });
                }
            }
        }
    }

    fn book(&mut self, at: &mut Window<'_>, told: Told, _: &mut Answered) -> Time {
        for RemoteRelease { waiter, release } in told.releases.into_messages() {
            if let Some(process) = at.processes.get_mut(waiter) {
                process.loops.release(release);
            }
        }
        Time::END
    }

    fn bytes(&self) -> usize {
        self.inboxes.iter().map(Inbox::bytes).sum()
    }

    fn unjudged(&self, _: &[Process], _: &World, list: &mut Vec<Unjudged>) {
        let doubtful = self.inboxes.iter().map(|inbox| inbox.doubtful).sum();
        let reason = "a large put may have raised the flag, and where those act is not recorded";
        list.push(Unjudged::new(90, "late_signal", doubtful, reason));
        let unseen = self.inboxes.iter().map(|inbox| inbox.unseen).sum();
        let reason =
            "nobody was seen to raise the flag meanwhile, but recording was paused at times";
        let unseen = Unjudged::new(120, "late_signal", unseen, reason);
        list.push(Unjudged { only_if_paused: true, ..unseen });
    }

    fn outcome(self) {}
}

/// Tells the target about an operation that may raise a flag: its begin and its bytes.
fn raise(
    here: &LocationContext<'_>,
    target: ProcessNumber,
    (begin, bytes): (Time, u64),
    (offset, attributes): (Option<u64>, List<'_, Attribute>),
    out: &mut Asking<'_, Raising>,
) {
    if !here.world.roles.any_wait_change() {
        return;
    }
    let known = &here.world.attributes;
    let (origin, location) = (here.process.index, here.location.number);
    let mut send = |offset, bytes| {
        out.own.signals.send(target, Signal { target, origin, location, begin, offset, bytes });
    };
    if let Some(offset) = number(attributes, known.signal) {
        send(Some(offset), 8);
    }
    send(offset, bytes);
}

/// A change of memory that a call waited for.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Offset in the memory, if it is known.
    offset: Option<u64>,
    /// Process whose memory it is; `None` for the process itself.
    owner: Option<ProcessNumber>,
}

/// An operation that may raise a flag.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Signal {
    pub(crate) target: ProcessNumber,
    pub(crate) origin: ProcessNumber,
    pub(crate) location: LocationNumber,
    pub(crate) begin: Time,
    /// Offset that the operation acts on, if the archive states it.
    pub(crate) offset: Option<u64>,
    pub(crate) bytes: u64,
}

impl Message for Signal {}

impl Signal {
    fn covers(&self, wanted: Option<u64>) -> bool {
        match (wanted, self.offset) {
            (None, _) => self.bytes <= SMALL,
            (Some(address), Some(begin)) => {
                begin <= address && address < begin.saturating_add(self.bytes.max(1))
            }
            (Some(_), None) => false,
        }
    }
}

/// A call that waited for a change of memory.
#[derive(Clone, Copy, Debug)]
struct FlagWait {
    location: LocationNumber,
    account: Account,
    enter: Time,
    leave: Time,
    offset: Option<u64>,
    /// The polling loop, if this is one. The process that ended the loop is recorded there, and nothing is booked.
    polls: Option<Polls>,
}

/// A polling loop that ended because memory had changed: its process, and its number there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Polls {
    waiter: ProcessNumber,
    number: u32,
}

/// A polling loop over memory of another process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    /// Process whose memory it is.
    owner: ProcessNumber,
    polls: Polls,
    location: LocationNumber,
    account: Account,
    enter: Time,
    leave: Time,
    offset: Option<u64>,
}

impl Message for Watch {}

/// The end of a polling loop over memory of another process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RemoteRelease {
    waiter: ProcessNumber,
    release: Release,
}

impl Message for RemoteRelease {}

/// Returns the last small operation that changed memory at an offset, given those that are still known in the order of
/// time, and those that were before them.
fn last(
    before: &BTreeMap<(u64, u64), Signal>,
    recent: &[Signal],
    offset: Option<u64>,
) -> Option<Signal> {
    let offset = offset?;
    let is = |it: &&Signal| it.bytes <= SMALL && it.covers(Some(offset));
    let found = recent.iter().rev().find(is).copied();
    found.or_else(|| {
        let near = before.range((offset.saturating_sub(SMALL), 0)..=(offset, u64::MAX));
        near.map(|it| it.1).filter(is).max_by_key(|it| (it.begin, it.location)).copied()
    })
}

impl FlagWait {
    /// Returns the edge of an operation that raised the flag before the call began to wait.
    fn needed(&self, by: &Signal) -> Option<Edge> {
        let Signal { begin: from, location: culprit, .. } = *by;
        let what = Quantity::Wait(Wait::LateSignal);
        let (waiter, to, kind) = (self.location, self.enter, Kind::Early);
        (self.polls.is_none() && culprit != waiter).then_some(Edge {
            waiter,
            culprit,
            from,
            to,
            what,
            kind,
        })
    }
}

/// Signals that reached a process, and its waits that are not judged yet.
#[derive(Debug, Default)]
struct Inbox {
    raised: Vec<Signal>,
    waits: Vec<FlagWait>,
    /// Polling loops over `shmem_test` and the like that have ended, each with the process that changed the tested word.
    releases: Vec<(ProcessNumber, Release)>,
    /// Number of waits during which no operation was seen to raise the flag.
    unseen: u64,
    /// Number of waits that a large operation may have ended.
    doubtful: u64,
    /// The last operation on each stretch of memory, by offset and bytes, among those that were forgotten. The dependency log
    /// wants it, and so do polling loops of other processes, which ask for it when they have ended.
    before: BTreeMap<(u64, u64), Signal>,
}

/// Greatest number of stretches of memory of a process for which the last operation before a wait is kept.
const MOST_OFFSETS: usize = 4096;

impl Inbox {
    fn bytes(&self) -> usize {
        self.raised.capacity() * size_of::<Signal>() + self.waits.capacity() * size_of::<FlagWait>()
    }

    /// Returns `true` if there is nothing to judge and nothing to forget.
    fn is_empty(&self) -> bool {
        self.raised.is_empty() && self.waits.is_empty()
    }

    /// Judges waits that ended before the horizon, and forgets signals that no wait can need. `open` is the start of
    /// the oldest wait that is still open.
    fn judge(
        &mut self,
        me: ProcessNumber,
        horizon: Time,
        open: Time,
        mut early: Option<&mut Vec<Edge>>,
        mut book: impl FnMut(&FlagWait, Quantity, Duration, LocationNumber),
    ) {
        self.raised.sort_unstable_by_key(|it| (it.begin, it.location, it.offset, it.bytes));
        let (raised, doubtful, releases) = (&self.raised, &mut self.doubtful, &mut self.releases);
        let before = &mut self.before;
        self.waits.retain(|wait| {
            if wait.leave >= horizon {
                return true;
            }
            let end = raised.partition_point(|it| it.begin < wait.leave);
            let until = raised.get(..end).unwrap_or_default().iter().rev();
            let mut during = until.take_while(|it| it.begin > wait.enter);
            let releaser = during.clone().find(|it| it.covers(wait.offset));
            if let Some(polls) = wait.polls {
                let begin = raised.partition_point(|it| it.begin <= wait.enter);
                let recent = raised.get(..begin).unwrap_or_default();
                let earlier = || last(before, recent, wait.offset);
                let by = releaser.copied().or_else(earlier).filter(|it| it.begin > wait.enter);
                let by = by.filter(|it| it.origin != polls.waiter);
                let by = by.map(|it| (it.begin, it.location));
                releases.push((polls.waiter, Release { number: polls.number, by }));
                return false;
            }
            let large = |it: &Signal| it.offset.is_none() && it.bytes > SMALL && it.origin != me;
            if let (Some(early), None) = (&mut early, releaser) {
                let begin = raised.partition_point(|it| it.begin <= wait.enter);
                let recent = raised.get(..begin).unwrap_or_default();
                let by = last(before, recent, wait.offset).filter(|it| it.origin != me);
                early.extend(by.and_then(|by| wait.needed(&by)));
            }
            self.unseen += u64::from(releaser.is_none());
            *doubtful += u64::from(releaser.is_none() && during.any(large));
            if let Some(it) = releaser.filter(|it| it.origin != me) {
                let amount = it.begin - wait.enter;
                book(wait, Quantity::Wait(Wait::LateSignal), amount, it.location);
                if wait.offset.is_none() {
                    book(wait, Quantity::Inferred(Wait::LateSignal), amount, it.location);
                }
            }
            false
        });
        let pending = self.waits.iter().map(|wait| wait.enter).min().unwrap_or(Time::END);
        let floor = horizon.min(open).min(pending);
        let from = self.raised.partition_point(|it| it.begin < floor);
        for signal in self.raised.drain(..from) {
            let Some(offset) = signal.offset.filter(|_| signal.bytes <= SMALL) else { continue };
            let key = (offset, signal.bytes);
            if self.before.len() < MOST_OFFSETS || self.before.contains_key(&key) {
                self.before.insert(key, signal);
            }
        }
    }
}
