//! The recorder of one call: the interface that every hook uses, whatever its runtime.
//!
//! A call is begun before the real function and ended after it. In between, and at both ends, a hook writes records of
//! generic operations: one-sided operations and their completion, locks, notifications and waits for them, collectives
//! on a window, synchronisation of groups. Each kind of record is written by one function here, so that a put of
//! OpenSHMEM, of MPI and of a coarray differ in their arguments only. See [`dwell_model::archive`] for what the records
//! mean.
//!
//! Callers are [`call`](crate::call) for OpenSHMEM, and [`mpi`](crate::mpi) for MPI and the layers over it. What MPI
//! needs beyond this (messages, requests, communicators) is written there, through the same [`Recorder`].

use std::fmt;

use dwell_model::operation::{Atomic, Operation};
use dwell_unify::definitions::attribute;
use otf2::encode::{Plain, Tagged};
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaSyncLevel, RmaSyncType};
use otf2::event::AnyEvent;
use otf2::event::{
    RmaAcquireLock, RmaAtomic, RmaCollectiveBegin, RmaCollectiveEnd, RmaGet, RmaGroupSync,
    RmaOpCompleteBlocking, RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaPut, RmaReleaseLock,
    RmaRequestLock, RmaSync, RmaTryLock, RmaWaitChange,
};
use otf2::id::{AttributeRef, GroupRef, LockId, MatchingId, Rank, RmaWinRef};
use otf2::{Attribute, AttributeValue};

use crate::entry;
use crate::hook::{self, Hook};
use crate::mpi::Completion;
use crate::process::Process;
use crate::profile::Counted;
use crate::thread::{Busy, Call, Held, Try, enter, enter_again, go_on, go_on_completing};
use crate::word::{Seen, Word};

/// A call that is being recorded: its enter event is written, or its leave event will be. While it exists the thread is
/// busy, so it must be given up by [`entered`](Self::entered) or [`leave`](Self::leave).
pub struct Recorder {
    pub(crate) thread: Busy,
    pub(crate) time: u64,
    /// The enter event of the call, if it is still to be written, together with the first record of the call.
    held: Option<Held>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("time", &self.time).finish_non_exhaustive()
    }
}

/// Begins a call, and lets `write` write the records that are known before it. Returns `None` if the call is not
/// recorded; otherwise the hook must pass the result to [`end`] after the real function has returned.
#[inline]
pub fn begin(hook: &'static Hook, write: impl FnOnce(&mut Recorder)) -> Option<Call> {
    let mut recorder = Recorder::enter(hook)?;
    write(&mut recorder);
    Some(recorder.entered())
}

/// Lets `write` write the records that are known after a call, and ends the call. Does nothing if the recording has
/// ended meanwhile.
#[inline]
pub fn end(call: Call, write: impl FnOnce(&mut Recorder)) {
    if let Some(mut recorder) = Recorder::returned(call) {
        write(&mut recorder);
        recorder.leave();
    }
}

/// The steps of [`begin`] and [`end`] one by one, for hooks of short calls: the compiler does not always inline the
/// closures, and knows less of the call then.
impl Recorder {
    /// Begins a call and writes its enter event. Returns `None` if the call is not recorded, because recording is off
    /// or the thread is inside another call of the same layer.
    #[inline(always)]
    pub fn enter(hook: &'static Hook) -> Option<Self> {
        Self::enter_to_move(hook, || 0)
    }

    /// Begins a call as [`enter`](Self::enter) does. If the call is only counted, it counts for the number of bytes that
    /// `bytes` returns.
    #[inline(always)]
    pub fn enter_to_move(hook: &'static Hook, bytes: impl FnOnce() -> u64) -> Option<Self> {
        let (thread, held) = enter(hook, bytes)?;
        let time = thread.time();
        Some(Self { thread, time, held })
    }

    /// Begins a call that a program makes again and again until it finds something, such as a poll. If the same call was made
    /// just before for the same `word` and found nothing, both are one region. The call must be ended by
    /// [`leave_again`](Self::leave_again).
    #[inline]
    pub fn enter_again(hook: &'static Hook, word: Word) -> Option<Self> {
        let thread = enter_again(hook, word)?;
        let time = thread.time();
        Some(Self { thread, time, held: None })
    }

    /// Ends a call that [`enter_again`](Self::enter_again) began. Its region continues if it found nothing, nothing was recorded
    /// inside it, and the same call follows.
    #[inline]
    pub fn leave_again(self, seen: Seen) {
        self.thread.leave_again(self.time, seen);
    }

    /// States that the open call continues after its hook has returned, as a call made by a macro does. It is over when the word
    /// at `place`, on the stack of the program, does not hold the return address any more.
    pub fn outlives_its_hook(&mut self, place: usize) {
        self.thread.frame().outlives_its_hook(place);
    }

    /// Begins a call as [`enter`](Self::enter) does, for a program that reports its beginning and its end by two calls of
    /// its own. The frame lives as long as the function of the program that reported the beginning. Calls of the same
    /// layer inside it are recorded, because the program makes them.
    pub fn report(hook: &'static Hook) -> Option<Self> {
        let mut recorder = Self::enter(hook)?;
        recorder.thread.is_reported();
        Some(recorder)
    }

    /// Continues a call between its beginning and its end, to add records at the present time. Returns `None` if the
    /// recording has ended meanwhile.
    pub fn resumed(call: &Call) -> Option<Self> {
        let mut thread = call.returned()?;
        let time = thread.now();
        Some(Self { thread, time, held: None })
    }

    /// Ends what [`resumed`](Self::resumed) began. The call stays open.
    pub fn suspend(self) {
        self.thread.release();
    }

    /// Ends the part before the real function, after all records that are known then. The result must be passed to
    /// [`returned`](Self::returned).
    #[inline(always)]
    pub fn entered(mut self) -> Call {
        if self.held.is_some() {
            self.thread.write_held(self.time);
        }
        self.thread.entered()
    }

    /// Continues a call after the real function has returned, and reads the time. Returns `None` if the recording has
    /// ended meanwhile.
    #[inline(always)]
    #[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
    pub fn returned(call: Call) -> Option<Self> {
        call.returned().map(Self::now)
    }

    /// Continues the region of tries of the calling thread with an operation that reads the word which `word` returns. `None` if
    /// there is no such region: then the call has to be begun. It must be ended by [`returned_from_try`](Self::returned_from_try)
    /// in both cases.
    #[inline(always)]
    pub fn try_again(hook: &'static Hook, word: impl FnOnce() -> Word) -> Option<Call> {
        go_on(hook, word)
    }

    /// Notes that the open call is an operation that reads a word, which a later call completes.
    #[inline(always)]
    pub fn tries(&mut self, it: Try) {
        self.thread.tries(it);
    }

    /// Continues a call that [tries](Self::tries), as [`returned`](Self::returned) does. `None` also if it is part of a region of
    /// tries, and has ended.
    #[inline(always)]
    #[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
    pub fn returned_from_try(call: Call) -> Option<Self> {
        let thread = call.retaken()?;
        let thread = if entry::is_on() { thread.end_operation(call.depth())? } else { thread };
        call.resumed(thread).map(Self::now)
    }

    /// Continues the region of tries of the calling thread with a call that completes operations on the window of a handle. `None`
    /// if there is no such region: then the call has to be begun. It must be ended by
    /// [`returned_from_completing`](Self::returned_from_completing) in both cases.
    #[inline(always)]
    pub fn complete_try(
        hook: &'static Hook,
        window: usize,
        target: Option<Rank>,
        how: Completion,
    ) -> Option<Call> {
        go_on_completing(hook, window, target, how)
    }

    /// Continues a call that completes operations, with success or not, as [`returned`](Self::returned) does. `None` also if it is
    /// part of a region of tries, and has ended.
    #[inline(always)]
    #[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
    pub fn returned_from_completing(call: Call, succeeded: bool) -> Option<Self> {
        let thread = call.retaken()?;
        let thread = match entry::is_on() {
            true => thread.end_completing(call.depth(), succeeded)?,
            false => thread,
        };
        call.resumed(thread).map(Self::now)
    }

    /// Continues a call whose thread is busy, and reads the time.
    #[inline(always)]
    pub(crate) fn now(mut thread: Busy) -> Self {
        let time = thread.now();
        Self { thread, time, held: None }
    }

    /// Ends the call: writes its leave event at the time of the last records, and releases the thread.
    #[inline(always)]
    pub fn leave(mut self) {
        if self.held.is_some() {
            self.thread.write_held(self.time);
        }
        self.thread.leave(self.time);
    }

    /// Writes the last event of the call and ends the call, as [`leave`](Self::leave) does. Both events are written by one
    /// store.
    #[inline(always)]
    pub(crate) fn write_and_leave(mut self, event: impl AnyEvent + Counted + Copy) {
        if self.held.is_some() || !self.thread.leave_with(self.time, Plain(event)) {
            return self.write_then_leave(event);
        }
        self.thread.release();
    }

    /// Writes the last event of the call and ends the call, where the two cannot be written together.
    #[cold]
    #[inline(never)]
    fn write_then_leave(mut self, event: impl AnyEvent + Counted + Copy) {
        if self.thread.aggregate_complete(self.time) {
            return self.thread.release();
        }
        self.write(event);
        self.leave();
    }

    /// Returns the process that is being recorded, for registering communicators and windows that the call has made.
    pub fn process(&self) -> &'static Process {
        self.thread.process
    }
}

/// Single records. The first one of a call is written together with its enter event, by one store.
impl Recorder {
    /// Writes an event.
    #[inline(always)]
    pub(crate) fn write(&mut self, event: impl AnyEvent + Counted + Copy) {
        if let Some(held) = self.held.take() {
            self.thread.write_held_and(held, self.time, Plain(event));
        } else {
            self.thread.write(self.time, event);
        }
    }

    /// Writes an event with a number as its attribute.
    #[inline(always)]
    pub(crate) fn write_with(
        &mut self,
        attribute: AttributeRef,
        number: u64,
        event: impl AnyEvent + Counted + Copy,
    ) {
        let value = AttributeValue::Uint64(number);
        self.write_tagged(Attribute { attribute, value }, event);
    }

    /// Writes an event with an attribute.
    #[inline(always)]
    pub(crate) fn write_tagged(&mut self, tag: Attribute, event: impl AnyEvent + Counted + Copy) {
        if let Some(held) = self.held.take() {
            self.thread.write_held_and(held, self.time, Tagged(tag, event));
        } else {
            self.thread.write_tagged(self.time, tag, event);
        }
    }
}

/// A one-sided operation, as its record describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) window: RmaWinRef,
    /// Target of the operation, in the group of the window.
    pub(crate) target: Rank,
    /// Number of bytes that a put or an atomic operation sends to the target, or that a get fetches from it.
    pub(crate) bytes: u64,
    /// Number of bytes that an atomic operation fetches from the target; 0 for puts and gets.
    pub(crate) fetched: u64,
    /// Number by which the records of completion name the operation.
    pub(crate) id: MatchingId,
}

impl Access {
    #[inline(always)]
    fn put(&self) -> RmaPut {
        let Self { window: win, target: remote, bytes, id: matching_id, .. } = *self;
        RmaPut { win, remote, bytes, matching_id }
    }

    #[inline(always)]
    fn atomic(&self, which: Atomic) -> RmaAtomic {
        let Self { window: win, target: remote, id: matching_id, .. } = *self;
        let (bytes_sent, bytes_received) = (self.bytes, self.fetched);
        let kind = hook::atomic_type(which);
        RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id }
    }
}

/// The memory at the target that the record of an operation names: an attribute, and an offset that is the same at all
/// processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    attribute: AttributeRef,
    offset: u64,
}

impl Place {
    /// The memory that the operation acts on.
    #[inline(always)]
    pub(crate) const fn memory(offset: u64) -> Self {
        Self { attribute: attribute::SYMMETRIC_OFFSET, offset }
    }

    /// The signal by which a put notifies its target.
    #[inline(always)]
    pub(crate) const fn signal(offset: u64) -> Self {
        Self { attribute: attribute::SIGNAL_OFFSET, offset }
    }
}

/// Records that are written about a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockRecord {
    /// The process requests the lock and begins to wait.
    Request,
    /// The process has obtained the lock.
    Acquire,
    /// The process tried to obtain the lock, and another process held it.
    Refused,
    /// The process releases the lock.
    Release,
}

/// A lock, as its records name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) window: RmaWinRef,
    /// Process that the lock belongs to, or undefined for a lock of all processes.
    pub(crate) target: Rank,
    /// Number of the lock, the same at all processes.
    pub(crate) id: LockId,
    pub(crate) kind: LockType,
}

/// A collective operation on a window, as the record of its end describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowCollective {
    pub(crate) window: RmaWinRef,
    pub(crate) op: CollectiveOp,
    /// Says whether the members synchronise themselves only, or memory as well.
    pub(crate) level: RmaSyncLevel,
    pub(crate) root: CollectiveRoot,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Sequence number of the collective in its group, counted from 0.
    pub(crate) sequence: u64,
}

/// Records of generic operations. Each function writes one record, at the time of the recorder.
impl Recorder {
    /// Writes a one-sided operation, without the memory that it acts on.
    #[inline(always)]
    pub(crate) fn write_access(&mut self, operation: Operation, it: &Access) {
        match operation {
            Operation::Get => self.write_get(it),
            Operation::Atomic(which) => {
                self.write(it.atomic(which));
            }
            _ => self.write_put(it),
        }
    }

    /// Writes a one-sided operation with the memory at the target that it acts on. Records of gets do not name it.
    pub(crate) fn write_access_at(&mut self, operation: Operation, it: &Access, place: Place) {
        match operation {
            Operation::Get => self.write_get(it),
            Operation::Atomic(which) => self.write_atomic_at(which, it, place),
            _ => self.write_put_at(it, place),
        }
    }

    /// Writes a get.
    #[inline(always)]
    pub(crate) fn write_get(&mut self, it: &Access) {
        let Access { window: win, target: remote, bytes, id: matching_id, .. } = *it;
        self.write(RmaGet { win, remote, bytes, matching_id });
    }

    /// Writes a put.
    #[inline(always)]
    pub(crate) fn write_put(&mut self, it: &Access) {
        self.write(it.put());
    }

    /// Writes a put with the memory or the signal at the target that it changes.
    #[inline(always)]
    pub(crate) fn write_put_at(&mut self, it: &Access, place: Place) {
        self.write_with(place.attribute, place.offset, it.put());
    }

    /// Writes an atomic operation with the memory at the target that it changes.
    #[inline(always)]
    pub(crate) fn write_atomic_at(&mut self, which: Atomic, it: &Access, place: Place) {
        self.write_with(place.attribute, place.offset, it.atomic(which));
    }

    /// Writes that the call which started an operation has completed it at the origin.
    #[inline(always)]
    pub(crate) fn write_completed_in_call(&mut self, win: RmaWinRef, matching_id: MatchingId) {
        self.write(RmaOpCompleteBlocking { win, matching_id });
    }

    /// Writes that an operation of an earlier call is complete at the origin.
    #[inline(always)]
    pub(crate) fn write_completed_later(&mut self, win: RmaWinRef, matching_id: MatchingId) {
        self.write(RmaOpCompleteNonBlocking { win, matching_id });
    }

    /// Writes that an operation is complete at its target.
    #[inline(always)]
    pub(crate) fn write_completed_at_target(&mut self, win: RmaWinRef, matching_id: MatchingId) {
        self.write(RmaOpCompleteRemote { win, matching_id });
    }

    /// Writes a request, acquisition, refusal or release of a lock.
    pub(crate) fn write_lock(&mut self, it: &Lock, what: LockRecord) {
        let Lock { window: win, target: remote, id: lock_id, kind: lock_type } = *it;
        match what {
            LockRecord::Request => self.write(RmaRequestLock { win, remote, lock_id, lock_type }),
            LockRecord::Acquire => self.write(RmaAcquireLock { win, remote, lock_id, lock_type }),
            LockRecord::Refused => self.write(RmaTryLock { win, remote, lock_id, lock_type }),
            LockRecord::Release => self.write(RmaReleaseLock { win, remote, lock_id }),
        };
    }

    /// Writes that this process notifies another one at an offset of its memory, without a transfer of data.
    pub(crate) fn write_notification(&mut self, win: RmaWinRef, remote: Rank, offset: u64) {
        let event = RmaSync { win, remote, sync_type: RmaSyncType::NotifyOut };
        self.write_with(attribute::SYMMETRIC_OFFSET, offset, event);
    }

    /// Writes that this process waits for a change of its memory, at an offset or, without one, anywhere.
    pub(crate) fn write_wait(&mut self, win: RmaWinRef, offset: Option<u64>) {
        let event = RmaWaitChange { win };
        match offset {
            Some(offset) => self.write_with(attribute::SYMMETRIC_OFFSET, offset, event),
            None => self.write(event),
        };
    }

    /// Writes that a collective operation on a window begins.
    pub(crate) fn write_collective_begin(&mut self) {
        self.write(RmaCollectiveBegin {});
    }

    /// Writes the end of a collective operation on a window.
    pub(crate) fn write_collective_end(&mut self, it: &WindowCollective) {
        let event = RmaCollectiveEnd {
            collective_op: it.op,
            sync_level: it.level,
            win: it.window,
            root: it.root,
            bytes_sent: it.sent,
            bytes_received: it.received,
        };
        self.write_with(attribute::SEQUENCE, it.sequence, event);
    }

    /// Writes that the members of a group have synchronised, or that an epoch with them begins.
    pub(crate) fn write_group_sync(
        &mut self,
        win: RmaWinRef,
        group: GroupRef,
        level: RmaSyncLevel,
    ) {
        self.write(RmaGroupSync { sync_level: level, win, group });
    }
}
