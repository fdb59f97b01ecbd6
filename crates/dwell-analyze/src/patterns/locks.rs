//! Lock contention: a process waits for a lock that others hold.
//!
//! | | |
//! |---|---|
//! | pushes | acquiring, releasing and waiting go to the owner of the lock's state |
//! | answers | that owner, once everything before the end of the wait is known |
//! | books | at the waiter, on the path of the call that waited |
//!
//! The wait is the part of the call that is covered by holds of other processes that exclude it. Exclusive holds
//! exclude everything, shared ones exclude exclusive ones. A lock call that also waited for the owner of the lock to
//! progress books as such only the time that no hold covers: contention comes first.
//!
//! Each holder is blamed for the part that its own hold covers. While a lock is handed over, nobody holds it, and yet
//! only its next holder can get it. An exclusive hold therefore excludes others since the release before it, if its
//! holder had requested the lock by then.
//!
//! MPI does not say when a lock was acquired: it may be as late as in the call that releases it. Only requests and
//! releases are known. Sorted by release, a hold begins with its request or with the release before it, whichever is
//! later; for a shared hold only exclusive releases count. A wait can be judged once every process that had requested
//! the lock before its end has released it. The wait ends with the process's own release. What follows from such holds
//! is *inferred*.
//!
//! Handler-safe locks of GASNet exclude the threads of one process from each other. Their holders are locations.
//!
//! A lock on all processes of a window (no owner) excludes those on single ones, so one shard keeps all locks of a
//! window and number.

use std::collections::{BTreeMap, HashMap, HashSet};

use dwell_log::class::Class;
use dwell_log::edge::{Edge, Kind};
use dwell_log::quantity::Quantity;
use dwell_model::layer::Layer;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode, LockOwner};
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use otf2::id::RmaWinRef;
use serde::{Deserialize, Serialize};

use crate::engine::booking::{Booking, Piece};
use crate::engine::call::Issued;
use crate::engine::event::{Event, EventKind};
use crate::engine::exchange::outboxes;
use crate::engine::hash::Mixed;
use crate::engine::location_context::LocationContext;
use crate::engine::outstanding::{Done, Known};
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Floors, Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::engine::regions::Span;
use crate::engine::transport::Message;
use crate::protocol::locks::{Cut, LockedCall, Waiting};
use crate::protocol::progress_wait::Waited;
use crate::protocol::{Answering, Asked, Asking, EndedCall};

/// Calls under a lock on all processes that take less than this in nanoseconds are not worth asking every process.
const LONG_LOCK: Duration = Duration(1_000_000);

outboxes! {
    /// Messages to the owners of locks.
    Outgoing => Incoming {
        locks: LockMessage;
    }
}

/// Lock contention of the processes of a shard, and the locks whose state the shard owns.
#[derive(Debug)]
pub(crate) struct Locks {
    /// Locks by window and number.
    families: BTreeMap<(RmaWinRef, u64), Family>,
    holders: Owned<ProcessNumber, Holder>,
    /// Locks that the open call of each location may have waited for.
    open: Owned<LocationNumber, Open>,
}

/// Locks of a process.
#[derive(Debug, Default)]
struct Holder {
    /// Locks that were requested and whose time of acquisition is not recorded; with the mode of each.
    asked: HashMap<LockKey, LockMode, Mixed>,
    /// Windows and targets with operations since a lock on them was requested.
    acted: HashSet<(RmaWinRef, ProcessNumber), Mixed>,
    /// Locks on all processes under which an operation was completed, which shows that every process has granted them.
    consent: HashSet<LockKey, Mixed>,
    /// Number of calls that may have waited for several of these locks.
    several_locks: u64,
    /// Number of calls that acquired or released a lock whose owner is not recorded.
    ownerless: u64,
}

/// Locks that an open call may have waited for.
#[derive(Debug, Default)]
struct Open {
    /// Locks with their modes, and the source of the time at which each was acquired.
    locks: Vec<(LockKey, LockMode, Taken)>,
    /// The lock under which the call issued the first operation on a target since the lock was requested.
    first: Option<(LockKey, LockMode, ProcessNumber)>,
}

/// Source of the time at which a lock was acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// The owner of the lock has received a message about it, or will infer it.
    Known,
    /// The owner will infer it; the lock is released at this time.
    Before(Time),
    /// The lock is acquired when the call ends.
    AtLeave,
}

impl Pattern for Locks {
    type Questions = Outgoing;
    type Answers = ();
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = ();

    fn new(members: &Members) -> Self {
        Self {
            families: BTreeMap::new(),
            holders: Owned::empty(members.processes.clone()),
            open: Owned::empty(members.locations.clone()),
        }
    }

    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        out: &mut Asking<'_, Outgoing>,
    ) {
        let Some(holder) = self.holders.get_mut(here.process.index) else { return };
        let Some(open) = self.open.get_mut(here.location.number) else { return };
        match event.kind {
            EventKind::LockRequested { key, mode } => {
                holder.request(here, key, mode, open, out);
            }
            EventKind::LockAcquired { key, mode } => {
                acquire(here, event.time, key, mode, open, out);
            }
            EventKind::LockReleased { key } => holder.release(here, event.time, key, open, out),
            EventKind::CompletedAtTarget { window } => holder.flush(here, window, open),
            _ => {}
        }
    }

    fn on_issue(
        &mut self,
        here: &mut LocationContext<'_>,
        operation: &Issued<'_>,
        _: &mut Asking<'_, Outgoing>,
    ) {
        let Issued { window, target, frame, .. } = *operation;
        if !frame.traits.has(Traits::TOUCHES) || target == here.process.index {
            return;
        }
        let Some(holder) = self.holders.get_mut(here.process.index) else { return };
        if holder.asked.is_empty() || !holder.acted.insert((window, target)) {
            return;
        }
        let of = |owner| {
            let key = LockKey { window, owner, lock: 0 };
            holder.asked.get(&key).map(|mode| (key, *mode, target))
        };
        let lock = of(LockOwner::Process(target)).or_else(|| of(LockOwner::All));
        let lock = lock.filter(|_| here.world.roles.get(frame.region).requests);
        if lock.is_some()
            && here.note()
            && let Some(open) = self.open.get_mut(here.location.number)
        {
            open.first = lock;
        }
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        out: &mut Asking<'_, Outgoing>,
    ) {
        let Some(open) = self.open.get_mut(call.location) else { return };
        if open.locks.is_empty() && open.first.is_none() {
            return;
        }
        let Some(holder) = self.holders.get_mut(here.process.index) else { return };
        holder.judge(here, std::mem::take(open), call, out);
    }

    fn end_window(
        &mut self,
        _: &World,
        process: &Process,
        horizon: Time,
        _: &mut Asking<'_, Outgoing>,
    ) -> Floors {
        let frames = process.locations.iter().flat_map(|location| &location.stack);
        let open = frames.filter(|frame| frame.traits.has(Traits::LOCK)).map(|frame| frame.enter);
        Floors { locks: open.fold(horizon, Time::min), ..Floors::TOP }
    }

    fn answer(
        &mut self,
        at: &mut Window<'_>,
        incoming: Incoming,
        shared: &mut Asked,
        out: &mut Answering<'_, ()>,
    ) {
        self.take(incoming.locks.into_messages().collect());
        for Cut { key, process, waiting, waited } in
            std::mem::take(&mut shared.cuts).into_messages()
        {
            let question = Question { owner: key.owner, process, waiting, waited: Some(waited) };
            self.families.entry((key.window, key.lock)).or_default().questions.push(question);
        }
        self.judge(at.horizon, at.floors.locks, out);
    }

    fn bytes(&self) -> usize {
        let lock = |it: &Lock| {
            it.holds.capacity() * size_of::<Hold>()
                + it.epochs.capacity() * size_of::<Epoch>()
                + size_of::<Lock>() * 3 / 2
        };
        let family = |it: &Family| {
            it.locks.values().map(lock).sum::<usize>()
                + it.questions.capacity() * size_of::<Question>()
        };
        self.families.values().map(family).sum()
    }

    fn unjudged(&self, _: &[Process], _: &World, list: &mut Vec<Unjudged>) {
        let several = self.holders.iter().map(|it| it.several_locks).sum();
        let reason = "they completed operations under several locks at once";
        list.push(Unjudged::new(70, "lock_contention", several, reason));
        let ownerless = self.holders.iter().map(|it| it.ownerless).sum();
        let reason = "they wait for locks, and the archive does not say which process owns these";
        list.push(Unjudged::new(80, "wait_for_progress", ownerless, reason));
    }

    fn outcome(self) {}
}

impl Holder {
    /// Notes that the open call requested a lock. Dwell records when a lock is acquired; other tools may not.
    fn request(
        &mut self,
        here: &mut LocationContext<'_>,
        key: LockKey,
        mode: LockMode,
        open: &mut Open,
        out: &mut Asking<'_, Outgoing>,
    ) {
        let Some(frame) = here.judged_call() else { return };
        if frame.traits.has(Traits::SAYS_WHEN) {
            return;
        }
        send(here, key, LockEvent::Request { time: frame.enter, mode }, out);
        self.asked.insert(key, mode);
        self.consent.remove(&key);
        here.note();
        open.locks.push((key, mode, Taken::Known));
    }

    /// Notes that the open call released a lock.
    fn release(
        &mut self,
        here: &mut LocationContext<'_>,
        time: Time,
        key: LockKey,
        open: &mut Open,
        out: &mut Asking<'_, Outgoing>,
    ) {
        if here.judged_call().is_none() {
            return;
        }
        send(here, key, LockEvent::Release { time }, out);
        self.acted.retain(|(window, target)| {
            *window != key.window
                || ![LockOwner::All, LockOwner::Process(*target)].contains(&key.owner)
        });
        // No record said when the lock was acquired: it may have been in this call.
        if let Some(mode) = self.asked.remove(&key) {
            here.note();
            open.locks.push((key, mode, Taken::Before(time)));
        }
    }

    /// Notes that the open call completed operations of MPI under locks that may have been acquired only now.
    fn flush(&mut self, here: &mut LocationContext<'_>, window: RmaWinRef, open: &mut Open) {
        let Some(frame) = here.judged_call() else { return };
        let layer = here.world.roles.get(frame.region).layer();
        if !layer.is_some_and(Layer::has_messages)
            || frame.traits.has(Traits::TOGETHER)
            || self.asked.is_empty()
        {
            return;
        }
        let is = |key: &LockKey| {
            let acted = |owner| here.location.done.iter().any(|it| it.target == owner);
            key.window == window
                && match key.owner {
                    LockOwner::All => true,
                    LockOwner::Process(owner) => acted(owner),
                }
        };
        let asked = self.asked.iter().filter(|(key, _)| is(key));
        let mut keys: Vec<(LockKey, LockMode)> = asked.map(|(key, it)| (*key, *it)).collect();
        keys.sort_unstable();
        for (key, mode) in keys {
            here.note();
            open.locks.push((key, mode, Taken::Known));
        }
    }

    /// Judges a call that may have waited for locks.
    fn judge(
        &mut self,
        here: &mut LocationContext<'_>,
        open: Open,
        call: &mut EndedCall,
        out: &mut Asking<'_, Outgoing>,
    ) {
        let EndedCall { location, account, enter, leave, layer, .. } = *call;
        let mut released = leave;
        let mut locks: Vec<(LockKey, LockMode)> = Vec::new();
        for (key, mode, taken) in open.locks {
            match taken {
                Taken::AtLeave => {
                    let acquired = LockEvent::Acquire { asked: enter, time: leave, mode };
                    send(here, key, acquired, out);
                }
                Taken::Before(time) => released = time,
                Taken::Known => {}
            }
            if !locks.contains(&(key, mode)) {
                locks.push((key, mode));
            }
        }
        if let Some((key, mode, target)) = open.first {
            call.claimed = true;
            let until = leave;
            let waiting = Waiting { location, account, enter, leave, until, mode };
            send(here, key, LockEvent::Wait(waiting), out);
            let (class, known) = (Class::first(layer), Known::default());
            let done = vec![Done { target, start: enter, class, bytes: 0, known }];
            call.locked.push(LockedCall { key, waiting, done, perhaps: Vec::new() });
        }
        match *locks.as_slice() {
            [(key, mode)] => {
                let until = released;
                let waiting = Waiting { location, account, enter, leave, until, mode };
                send(here, key, LockEvent::Wait(waiting), out);
                let done = std::mem::take(&mut call.done);
                let locked = self.needed(here, key, waiting, layer, done);
                call.locked.push(locked);
            }
            // Holds of several locks may overlap, and no owner knows them all.
            [_, ..] => self.several_locks += 1,
            [] => {}
        }
    }

    /// Returns a call under a lock with the processes that it may have waited for: the targets of operations that it
    /// completed, or the owner of the lock. A lock on all processes may have to be granted by every process, at the
    /// latest when something is completed under it for the first time.
    fn needed(
        &mut self,
        here: &LocationContext<'_>,
        key: LockKey,
        waiting: Waiting,
        layer: Option<Layer>,
        mut done: Vec<Done>,
    ) -> LockedCall {
        let Waiting { enter, leave, .. } = waiting;
        let (class, known) = (Class::lock(layer), Known::default());
        let lock = |target| Done { target, start: enter, class, bytes: 0, known };
        let mut perhaps = Vec::new();
        if let LockOwner::Process(owner) = key.owner {
            // Threads of a process need nobody's help to lock each other out.
            if done.is_empty() && !layer.is_some_and(Layer::locks_threads) {
                done.push(lock(owner));
            }
        } else if !layer.is_some_and(Layer::has_messages) {
            self.ownerless += u64::from(done.is_empty());
        } else {
            let had = self.consent.contains(&key);
            if !done.is_empty() {
                self.consent.insert(key);
            }
            if !had && leave - enter >= LONG_LOCK {
                let window = here.world.system.window(key.window);
                let context = window.and_then(|(context, _)| here.world.system.context(context));
                perhaps = context.map_or(Vec::new(), |it| it.processes().map(lock).collect());
            }
        }
        LockedCall { key, waiting, done, perhaps }
    }
}

/// Notes that the open call acquired a lock.
fn acquire(
    here: &mut LocationContext<'_>,
    time: Time,
    key: LockKey,
    mode: LockMode,
    open: &mut Open,
    out: &mut Asking<'_, Outgoing>,
) {
    let Some(frame) = here.judged_call() else { return };
    here.note();
    // Records of other tools about acquiring stand at the enter, so the message is sent at the leave.
    if !frame.traits.has(Traits::SAYS_WHEN) {
        return open.locks.push((key, mode, Taken::AtLeave));
    }
    send(here, key, LockEvent::Acquire { asked: frame.enter, time, mode }, out);
    open.locks.push((key, mode, Taken::Known));
}

/// Sends a message to the owner of a lock.
fn send(here: &LocationContext<'_>, key: LockKey, what: LockEvent, out: &mut Asking<'_, Outgoing>) {
    let process = here.process.index;
    let location = here.location.number;
    let frame = here.location.stack.last();
    let layer = frame.and_then(|frame| here.world.roles.layer(frame.region));
    let by_thread = layer.is_some_and(Layer::locks_threads);
    let message = LockMessage { key, process, location, by_thread, what };
    out.own.locks.send(key.owner_of_state(here.world), message);
}

/// A message about a lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LockMessage {
    key: LockKey,
    process: ProcessNumber,
    location: LocationNumber,
    /// True if threads hold the lock, and not processes.
    by_thread: bool,
    what: LockEvent,
}

impl Message for LockMessage {}

/// Event in the life of a lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum LockEvent {
    /// A process requests the lock, and no record will say when it acquires it.
    Request { time: Time, mode: LockMode },
    /// A process that requested the lock in a call holds it from then on.
    Acquire { asked: Time, time: Time, mode: LockMode },
    /// The process has released the lock.
    Release { time: Time },
    /// A call waited for the lock.
    Wait(Waiting),
}

/// A call that waited for a lock, and a wait for progress in it that was found besides.
#[derive(Clone, Copy, Debug)]
struct Question {
    owner: LockOwner,
    process: ProcessNumber,
    waiting: Waiting,
    waited: Option<Waited>,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    process: ProcessNumber,
    /// Location that requested or acquired the lock.
    location: LocationNumber,
    /// Time at which the holder requested the lock, if it is recorded.
    asked: Time,
    /// Time since which the hold excludes others, which is not later than `begin`.
    from: Time,
    begin: Time,
    end: Time,
    mode: LockMode,
    /// True if the begin of the hold is not recorded.
    inferred: bool,
    /// True if a thread holds the lock, and excludes the other threads of its process.
    by_thread: bool,
}

impl Hold {
    /// Returns `true` if the hold may exclude a location of a process.
    fn is_by_another(&self, process: ProcessNumber, location: LocationNumber) -> bool {
        if self.by_thread { self.location != location } else { self.process != process }
    }
}

/// A lock epoch of a process: the time of the request, and the time of the release if a record of it has been read.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    process: ProcessNumber,
    location: LocationNumber,
    request: Time,
    release: Option<Time>,
    mode: LockMode,
}

/// State of a lock at the shard that owns it.
#[derive(Debug, Default)]
struct Lock {
    /// Requests whose holds are not known yet.
    epochs: Vec<Epoch>,
    /// Last release that followed from a request, of an exclusive hold and of any.
    exclusive_release: Time,
    last_release: Time,
    /// Holds. Open ones end at the end of time.
    holds: Vec<Hold>,
}

/// Locks of a window and number, by owner, and the calls that waited for them.
#[derive(Debug, Default)]
struct Family {
    locks: BTreeMap<LockOwner, Lock>,
    questions: Vec<Question>,
}

/// Time in which others held a lock.
struct Covered {
    time: Duration,
    /// Intervals in which one holder covered the time alone or was the first to do so, in order.
    pieces: Vec<(ProcessNumber, LocationNumber, Span)>,
    inferred: bool,
}

impl Lock {
    /// Computes since when holds exclude others. Everything before the horizon is known, and so is the release before a
    /// hold that begins before it.
    fn hand_over(&mut self) {
        let mut ends: Vec<Time> = self.holds.iter().map(|hold| hold.end).collect();
        ends.sort_unstable();
        for hold in
            self.holds.iter_mut().filter(|it| it.mode == LockMode::Exclusive && !it.inferred)
        {
            let before = ends.partition_point(|end| *end <= hold.begin);
            let release = before.checked_sub(1).and_then(|last| ends.get(last));
            hold.from = release.map_or(hold.begin, |end| hold.asked.max(*end).min(hold.begin));
        }
    }

    /// Forgets holds that ended before a time, except the last of them: the lock may have been handed over since.
    fn forget(&mut self, floor: Time) {
        let ended = self.holds.iter().map(|hold| hold.end).filter(|end| *end < floor).max();
        let floor = ended.unwrap_or(floor);
        self.holds.retain(|hold| hold.end >= floor);
    }
}

impl Family {
    /// Computes the holds of epochs that were released before the horizon.
    fn settle(&mut self, horizon: Time) {
        let over = |it: &mut Epoch| it.release.is_some_and(|release| release < horizon);
        let mut settled: Vec<(Epoch, LockOwner)> = Vec::new();
        for (&owner, lock) in &mut self.locks {
            settled.extend(lock.epochs.extract_if(.., over).map(|epoch| (epoch, owner)));
        }
        settled.sort_by_key(|(it, owner)| (it.release, it.process, *owner));
        for (Epoch { process, location, request, release, mode }, owner) in settled {
            let end = release.unwrap_or(Time::END);
            let of_all =
                self.locks.get(&LockOwner::All).map_or(Time::BEGIN, |lock| lock.last_release);
            let Some(lock) = self.locks.get_mut(&owner) else { continue };
            let begin = if mode == LockMode::Exclusive {
                request.max(lock.last_release).max(of_all)
            } else {
                request.max(lock.exclusive_release)
            };
            let (asked, from, inferred, by_thread) = (request, begin, true, false);
            let hold =
                Hold { process, location, asked, from, begin, end, mode, inferred, by_thread };
            lock.holds.push(hold);
            lock.last_release = lock.last_release.max(end);
            if mode == LockMode::Exclusive {
                lock.exclusive_release = lock.exclusive_release.max(end);
            }
        }
    }

    /// Returns the locks that may exclude one on this owner.
    fn related(&self, owner: LockOwner) -> impl Iterator<Item = &Lock> {
        const FIRST: LockOwner = LockOwner::Process(ProcessNumber(0));
        let range = if owner == LockOwner::All { FIRST..=LockOwner::All } else { owner..=owner };
        let all = self.locks.get(&LockOwner::All).filter(|_| owner != LockOwner::All);
        self.locks.range(range).map(|(_, lock)| lock).chain(all)
    }

    /// Returns `true` if another process that requested the lock before a time may have held it by then.
    fn is_open(&self, owner: LockOwner, process: ProcessNumber, before: Time) -> bool {
        let mut epochs = self.related(owner).flat_map(|lock| &lock.epochs);
        epochs.any(|it| it.process != process && it.request < before)
    }

    /// Returns the time in [from, until] that holds which exclude the waiter cover.
    fn covered(
        &self,
        (owner, process, waiter): (LockOwner, ProcessNumber, LocationNumber),
        mode: LockMode,
        from: Time,
        until: Time,
    ) -> Covered {
        let mut cut: Vec<(Time, Time, ProcessNumber, LocationNumber, bool)> = self
            .related(owner)
            .flat_map(|lock| &lock.holds)
            .filter(|hold| hold.is_by_another(process, waiter) && mode.excludes(hold.mode))
            .map(|hold| {
                let (begin, end) = (hold.from.max(from), hold.end.min(until));
                (begin, end, hold.process, hold.location, hold.inferred)
            })
            .filter(|(begin, end, ..)| begin < end)
            .collect();
        cut.sort_unstable();
        let (mut pieces, mut reached) = (Vec::new(), from);
        for &(begin, end, holder, location, _) in &cut {
            let begin = begin.max(reached);
            if begin < end {
                pieces.push((holder, location, Span { begin, end }));
            }
            reached = reached.max(end);
        }
        let time = pieces.iter().map(|it| it.2.length()).sum();
        Covered { time, pieces, inferred: cut.iter().any(|it| it.4) }
    }

    /// Answers the questions that are decided. Calls that are open since `floor` may have requested the lock before
    /// they say so.
    fn judge(&mut self, horizon: Time, floor: Time, out: &mut Answering<'_, ()>) {
        let questions = std::mem::take(&mut self.questions);
        if !questions.is_empty() {
            self.locks.values_mut().for_each(Lock::hand_over);
        }
        for question in questions {
            let Question { owner, process, waiting, waited } = question;
            let Waiting { location, account, enter, leave, until, mode } = waiting;
            let open = || floor < leave || self.is_open(owner, process, leave);
            let open = horizon != Time::END && open();
            if leave >= horizon || open {
                self.questions.push(question);
                continue;
            }
            let covered = |until| self.covered((owner, process, location), mode, enter, until);
            if let Some(waited) = waited {
                let left = |time: Duration| time.saturating_sub(covered(enter + time).time);
                let held = covered(leave).time;
                let free = (leave - enter).saturating_sub(held);
                let booked =
                    if held > Duration::ZERO { covered(until).time } else { Duration::ZERO };
                if let Some(rest) = waited.without_contention(left, free, (held, booked)) {
                    out.shared.waited.send(process, rest);
                }
                continue;
            }
            let what = Quantity::Wait(Wait::LockContention);
            let Covered { time, pieces, inferred } = covered(until);
            let mut holders: BTreeMap<ProcessNumber, (LocationNumber, Duration)> = BTreeMap::new();
            for (holder, culprit, span) in pieces {
                holders.entry(holder).or_insert((culprit, Duration::ZERO)).1 += span.length();
                let (from, to) = (span.begin, span.end);
                let edge = Edge { waiter: location, culprit, from, to, what, kind: Kind::Certain };
                out.engine.edges.send(process, edge);
            }
            let mut book = |what, Duration(amount), culprit, left| {
                if amount > 0 {
                    let (begin, piece) = (enter, Piece::None);
                    out.engine.bookings.send(
                        process,
                        Booking { location, account, what, amount, begin, culprit, piece, left },
                    );
                }
            };
            let mut left = leave - enter;
            for (culprit, time) in holders.into_values() {
                book(what, time, Some(culprit), Some(left));
                left = left.saturating_sub(time);
            }
            if inferred {
                book(Quantity::Inferred(Wait::LockContention), time, None, None);
            }
        }
    }

    /// Forgets everything that no question can need. Returns `false` if nothing is left.
    fn forget(&mut self, floor: Time) -> bool {
        let pending = self.questions.iter().map(|question| question.waiting.enter);
        // A hold that is not known yet may begin with its request.
        let asked = self.locks.values().flat_map(|lock| &lock.epochs).map(|it| it.request);
        let floor = pending.chain(asked).fold(floor, Time::min);
        self.locks.retain(|_, lock| {
            lock.forget(floor);
            // The last release is needed as long as any process may request the lock.
            lock.last_release > Time::BEGIN || !lock.holds.is_empty() || !lock.epochs.is_empty()
        });
        !self.locks.is_empty() || !self.questions.is_empty()
    }
}

impl Locks {
    /// Takes the messages of a window. Those of different processes may be in any order.
    fn take(&mut self, mut messages: Vec<LockMessage>) {
        // Messages of one process are in order already, because one worker wrote them.
        messages.sort_by_key(|message| (message.key, message.process));
        for LockMessage { key, process, location, by_thread, what } in messages {
            let family = self.families.entry((key.window, key.lock)).or_default();
            if let LockEvent::Wait(waiting) = what {
                let owner = key.owner;
                family.questions.push(Question { owner, process, waiting, waited: None });
                continue;
            }
            let lock = family.locks.entry(key.owner).or_default();
            let open =
                |hold: &&mut Hold| !hold.is_by_another(process, location) && hold.end == Time::END;
            match what {
                LockEvent::Request { time: request, mode } => {
                    let release = None;
                    lock.epochs.push(Epoch { process, location, request, release, mode });
                }
                LockEvent::Acquire { asked, time: begin, mode } => {
                    let (from, end, inferred) = (begin, Time::END, false);
                    lock.holds.push(Hold {
                        process,
                        location,
                        asked,
                        from,
                        begin,
                        end,
                        mode,
                        inferred,
                        by_thread,
                    });
                }
                LockEvent::Release { time } => {
                    let asked = |it: &&mut Epoch| it.process == process && it.release.is_none();
                    if let Some(epoch) = lock.epochs.iter_mut().find(asked) {
                        epoch.release = Some(time);
                    } else if let Some(hold) = lock.holds.iter_mut().rev().find(open) {
                        hold.end = time;
                    }
                }
                LockEvent::Wait(_) => {}
            }
        }
    }

    /// Judges waits that ended before the horizon, and forgets holds that ended before `floor`, the start of the oldest
    /// lock call that is open or not judged.
    fn judge(&mut self, horizon: Time, floor: Time, out: &mut Answering<'_, ()>) {
        self.families.retain(|_, family| {
            family.settle(horizon);
            family.judge(horizon, floor, out);
            family.forget(floor)
        });
    }
}
