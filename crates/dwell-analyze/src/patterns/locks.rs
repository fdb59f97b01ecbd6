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
//! progress books as such only the time that no hold covers: contention has precedence.
//!
//! Each holder is blamed for the part that its own hold covers. While a lock is handed over, no process holds it, and yet
//! only its next holder can get it. An exclusive hold therefore excludes others since the release before it, if its
//! holder had requested the lock by then.
//!
//! MPI does not say when a lock was acquired: it may be as late as in the call that releases it. Only requests and
//! releases are known. Sorted by release, a hold begins with its request or with the release before it, whichever is
//! later; for a shared hold only exclusive releases count. A wait can be judged once every process that had requested
//! the lock before its end has released it. The wait ends with the process's own release. Waits that follow from such
//! holds are *inferred*.
//!
//! Handler-safe locks of GASNet exclude the threads of one process from each other. Their holders are locations.
//!
//! A lock on all processes of a window (no owner) excludes those on single ones, so one shard keeps all locks of a
//! window and number.

mod owner;

use std::collections::{BTreeMap, HashMap, HashSet};

use dwell_log::class::Class;
use dwell_model::layer::Layer;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode, LockOwner};
use dwell_trace::roles::Traits;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use otf2::id::RmaWinRef;

use self::owner::{Epoch, Family, Hold, Lock, LockEvent, LockMessage, Question};
use crate::engine::call::Issued;
use crate::engine::event::{Event, EventKind};
use crate::engine::exchange::outboxes;
use crate::engine::hash::Mixed;
use crate::engine::location_context::LocationContext;
use crate::engine::outstanding::{Done, Known};
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Floors, Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::protocol::locks::{Cut, LockedCall, Waiting};
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
        // Under a lock that is held, a call waits for its targets only.
        let is = |key: &LockKey| {
            let acted = |owner| here.location.done.iter().any(|it| it.target == owner);
            key.window == window
                && !self.consent.contains(key)
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
            // Locks between the threads of a process need no progress of other processes.
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
    // Other tools write the record of an acquisition at the enter, so the message is sent at the leave.
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
