//! Records of MPI: messages, requests, collectives, and operations on windows of MPI.

use dwell_model::operation::{self, Operation};
use dwell_unify::definitions::attribute;
use otf2::encode::Plain;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaSyncLevel};
use otf2::event::{
    AnyEvent, MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecv, MpiIrecvRequest, MpiIsend,
    MpiIsendComplete, MpiRecv, MpiRequestCancelled, MpiSend, NonBlockingCollectiveComplete,
    NonBlockingCollectiveRequest, RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaOpTest,
    RmaWinCreate, RmaWinDestroy,
};
use otf2::id::{CommRef, GroupRef, LockId, MatchingId, Rank, RequestId, RmaWinRef};
use otf2::{Attribute, AttributeValue};

use super::comms::{Comm, Neighbours, Window};
use super::pending::Completion;
use super::requests::{Request, Requests, Status, What};
use super::skipped::{self, Stream};
use crate::profile::Counted;
use crate::recorder::{Access, Lock, LockRecord, Place, Recorder, WindowCollective};
use crate::thread::Thread;

/// A message: its communicator, partner, tag and length. A send and a receive with equal envelopes match in the order
/// in which they were made.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// Communicator to which rank and tag belong.
    pub comm: &'static Comm,
    /// Rank of the receiver of a message that is sent, or of the sender of one that is received.
    pub partner: u32,
    /// Tag of the message.
    pub tag: u32,
    /// Length of the message, in bytes.
    pub bytes: u64,
}

/// A collective operation of MPI, as one process takes part in it. A blocking call records it at its end, a
/// non-blocking one when its request is complete.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// Communicator whose members take part.
    pub comm: &'static Comm,
    /// Kind of the collective operation.
    pub which: operation::Collective,
    /// Rank of the root; `None` if the operation has no root.
    pub root: Option<u32>,
    /// Set if this process is the root, also on an inter-communicator, where the root may be in either group.
    pub is_root: bool,
    /// Number of bytes that this process sends.
    pub sent: u64,
    /// Number of bytes that this process receives.
    pub received: u64,
    /// Sequence number of this collective on its communicator, counted from 0.
    pub sequence: u64,
    /// Neighbours of this process, if it is a neighbourhood collective; `None` if all members of the communicator take
    /// part.
    pub neighbours: Option<Neighbours>,
}

/// A one-sided operation on a window of MPI or of a layer above it. The number of bytes is that of the data, without
/// what the library adds.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Window that the operation acts on.
    pub window: &'static Window,
    /// Rank of the target in the communicator from which the window was made.
    pub target: Rank,
    /// Number of bytes that a put or an atomic operation sends to the target, or that a get fetches from it.
    pub bytes: u64,
    /// Number of bytes that an atomic operation fetches from the target; 0 for puts and gets.
    pub fetched: u64,
}

/// Numbers by which completions name the operations that they complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// The operation has a number of its own, because it has a request.
    Own,
    /// The operation shares the number of other outstanding operations on the same window and target.
    Shared,
}

/// Change of a communicator by all of its members together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommChange {
    /// A communicator was made.
    Made,
    /// A communicator was freed.
    Freed,
}

/// Number of a request that was started by a call which was not recorded.
const UNSEEN: u64 = u64::MAX;

impl Recorder {
    /// Returns the communicator of a handle, or `None` if the recorder does not know the handle. Each thread caches the
    /// handles that it used last.
    #[inline(always)]
    pub fn comm(&mut self, handle: usize) -> Option<&'static Comm> {
        self.thread.mpi.comm(handle)
    }

    /// Returns the window of a handle, or `None` if the recorder does not know the handle. Each thread caches the
    /// handles that it used last.
    #[inline(always)]
    pub fn window(&mut self, handle: usize) -> Option<&'static Window> {
        self.thread.mpi.window(handle)
    }

    /// Returns a new number for a request or operation. Numbers of different threads differ, because another thread may
    /// complete the request.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.thread.mpi.number()
    }

    /// Records that a blocking call sends a message. If the call is muted, the message is only counted, and the next
    /// recorded one of the same partner, tag and communicator states the count.
    #[inline(always)]
    pub fn send(&mut self, it: &Envelope) {
        let Envelope { comm, partner, tag, bytes } = *it;
        let event = MpiSend {
            receiver: Rank(partner),
            communicator: CommRef(comm.number),
            msg_tag: tag,
            msg_length: bytes,
        };
        self.write_message((true, comm.number, partner, tag), event);
    }

    /// Writes a message, with the number of messages of the same kind before it that were not recorded.
    #[inline(always)]
    fn write_message(&mut self, stream: Stream, event: impl AnyEvent + Counted + Copy) {
        if self.thread.is_muted() {
            return skipped::add(stream);
        }
        match skipped::take(stream) {
            0 => self.write(event),
            count => self.write_with(attribute::SKIPPED, count, event),
        };
    }

    /// Records that a blocking call has received a message. If the call is muted, the message is only counted, and the
    /// next recorded one of the same partner, tag and communicator states the count.
    #[inline(always)]
    pub fn receive(&mut self, it: &Envelope) {
        let Envelope { comm, partner, tag, bytes } = *it;
        let event = MpiRecv {
            sender: Rank(partner),
            communicator: CommRef(comm.number),
            msg_tag: tag,
            msg_length: bytes,
        };
        self.write_message((false, comm.number, partner, tag), event);
    }

    /// Records the start of a non-blocking operation. Returns the numbers of its request, of which the second belongs
    /// to the receive of an exchange.
    pub fn start(&mut self, what: &What) -> (u64, u64) {
        if self.thread.is_muted() {
            if let What::Send(it) | What::Exchange(Some(it), _) = what {
                skipped::add((true, it.comm.number, it.partner, it.tag));
            }
            return (UNSEEN, UNSEEN);
        }
        let id = self.number();
        let request_id = RequestId(id);
        match what {
            What::Send(it) => self.start_send(it, id),
            What::Receive(_) => {
                self.write(MpiIrecvRequest { request_id });
            }
            What::Exchange(sent, received) => {
                if let Some(it) = sent {
                    self.start_send(it, id);
                }
                if received.is_some() {
                    let second = self.number();
                    let request_id = RequestId(second);
                    self.write(MpiIrecvRequest { request_id });
                    return (id, second);
                }
            }
            What::Collective(it) => {
                self.write_beginning(it, NonBlockingCollectiveRequest { request_id });
            }
            // The partition that is ready last sends it.
            What::Partitioned { .. } => {}
            What::Transfer { .. } | What::Implicit { .. } | What::Comm { .. } | What::Nothing => {}
        }
        (id, 0)
    }

    /// Records that `count` partitions of a partitioned message are ready. The call that makes the last one ready sends
    /// the message.
    pub fn partitions_ready(&mut self, handle: usize, count: u32) {
        let Some((it, id)) = Requests::ready(handle, count) else { return };
        if id == UNSEEN {
            return skipped::add((true, it.comm.number, it.partner, it.tag));
        }
        self.start_send(&it, id);
    }

    fn start_send(&mut self, it: &Envelope, id: u64) {
        let event = MpiIsend {
            receiver: Rank(it.partner),
            communicator: CommRef(it.comm.number),
            msg_tag: it.tag,
            msg_length: it.bytes,
            request_id: RequestId(id),
        };
        self.write_message((true, it.comm.number, it.partner, it.tag), event);
    }

    /// Records that a request is complete. `status` is the status that the library returned for it; it names the
    /// partner of a message that was received.
    pub fn complete(&mut self, request: &Request, status: Status) {
        let request_id = RequestId(request.id);
        if request.id == UNSEEN {
            return self.came(request, status);
        }
        match request.what {
            _ if status.cancelled => {
                self.write(MpiRequestCancelled { request_id });
            }
            What::Send(_) | What::Partitioned { .. } => {
                self.write(MpiIsendComplete { request_id });
            }
            What::Receive(comm) => self.received(comm, request.id, status),
            What::Exchange(sent, received) => {
                if sent.is_some() {
                    self.write(MpiIsendComplete { request_id });
                }
                if let Some(comm) = received {
                    self.received(comm, request.second, status);
                }
            }
            What::Collective(it) => {
                let event = NonBlockingCollectiveComplete {
                    collective_op: collective_op(it.which),
                    communicator: CommRef(it.comm.number),
                    root: it.root(),
                    size_sent: it.sent,
                    size_received: it.received,
                    request_id,
                };
                self.write_with(attribute::SEQUENCE, it.sequence, event);
            }
            What::Transfer { window, both } => {
                let (win, id) = (window.number, MatchingId(request.id));
                self.write_completed_later(win, id);
                if both {
                    self.write_completed_at_target(win, id);
                }
            }
            What::Implicit { window } => {
                let (win, id) = (window, MatchingId(request.id));
                self.write_completed_later(win, id);
                self.write_completed_at_target(win, id);
            }
            What::Comm { .. } | What::Nothing => {}
        }
    }

    /// Records that a call has tested a request and found it incomplete, if it stands for one-sided operations. Of the
    /// calls of a loop only the first says so: its region states the number of calls.
    pub fn tested_in_vain(&mut self, request: &Request) {
        let win = match request.what {
            What::Transfer { window, .. } => window.number,
            What::Implicit { window } => window,
            _ => return,
        };
        if request.active && request.id != UNSEEN && !self.is_repeated() {
            self.write(RmaOpTest { win, matching_id: MatchingId(request.id) });
        }
    }

    /// Records the completion of a request that was started by a call which was not recorded. A message that has
    /// arrived is recorded as if a blocking call had received it: nothing else of it is known.
    fn came(&mut self, request: &Request, status: Status) {
        if let (What::Receive(comm) | What::Exchange(_, Some(comm)), false) =
            (request.what, status.cancelled)
            && let Ok(partner) = u32::try_from(status.source)
        {
            let (tag, bytes) = (status.tag.cast_unsigned(), status.bytes);
            self.receive(&Envelope { comm, partner, tag, bytes });
        }
    }

    fn received(&mut self, comm: &Comm, id: u64, status: Status) {
        let Ok(partner) = u32::try_from(status.source) else { return };
        let event = MpiIrecv {
            sender: Rank(partner),
            communicator: CommRef(comm.number),
            msg_tag: status.tag.cast_unsigned(),
            msg_length: status.bytes,
            request_id: RequestId(id),
        };
        self.write_message((false, comm.number, partner, event.msg_tag), event);
    }

    /// Records that a collective operation begins in which all members of a communicator take part.
    #[inline]
    pub fn collective_begin(&mut self) {
        self.write(MpiCollectiveBegin {});
    }

    /// Records that a collective operation begins, with the neighbours of this process if it is a neighbourhood
    /// collective.
    #[inline]
    pub fn collective_begins(&mut self, it: &Collective) {
        self.write_beginning(it, MpiCollectiveBegin {});
    }

    /// Writes the beginning of a collective operation, with the neighbours if only they take part.
    #[inline]
    fn write_beginning(&mut self, it: &Collective, event: impl AnyEvent + Counted + Copy) {
        match it.neighbours.and_then(|it| it.group) {
            Some(group) => {
                let value = AttributeValue::Group(GroupRef(group));
                let tag = Attribute { attribute: attribute::NEIGHBOURS, value };
                self.write_tagged(tag, event);
            }
            None => {
                self.write(event);
            }
        }
    }

    /// Records the end of a blocking collective operation, with its communicator, root, bytes and sequence number,
    /// which matches it with the records of the other members.
    #[inline]
    pub fn collective_end(&mut self, it: &Collective) {
        let event = MpiCollectiveEnd {
            collective_op: collective_op(it.which),
            communicator: CommRef(it.comm.number),
            root: it.root(),
            size_sent: it.sent,
            size_received: it.received,
        };
        self.write_with(attribute::SEQUENCE, it.sequence, event);
        self.thread.process.sample_clock_now_and_then(self.time);
    }

    /// Records the end of a call in which all members of `comm` made or freed a communicator together. `sequence` is
    /// its number among the collectives of `comm`.
    pub fn management_end(&mut self, comm: &Comm, change: CommChange, sequence: u64) {
        let collective_op = match change {
            CommChange::Made => CollectiveOp::CreateHandle,
            CommChange::Freed => CollectiveOp::DestroyHandle,
        };
        let event = MpiCollectiveEnd {
            collective_op,
            communicator: CommRef(comm.number),
            root: CollectiveRoot::None,
            size_sent: 0,
            size_received: 0,
        };
        self.write_with(attribute::SEQUENCE, sequence, event);
    }

    /// Records a one-sided operation and returns its number. `place` is the offset in the window, in bytes, if it matters.
    #[inline(always)]
    pub fn transfer(
        &mut self,
        operation: Operation,
        it: &Transfer,
        place: Option<u64>,
        numbering: Numbering,
    ) -> MatchingId {
        let Transfer { window, target, .. } = *it;
        let own = &mut self.thread.mpi;
        let id = if numbering == Numbering::Own {
            own.operation()
        } else {
            own.shared(window.number, target)
        };
        match place {
            Some(offset) => self.write_access_at(operation, &it.access(id), Place::memory(offset)),
            None => self.write_access(operation, &it.access(id)),
        }
        id
    }

    /// Records that the outstanding operations of this thread on a window are complete, for one target or, without a
    /// target, for all.
    #[inline(always)]
    pub fn completed(&mut self, window: &Window, target: Option<Rank>, how: Completion) {
        let (win, mut at) = (window.number, 0);
        while let Some((id, local)) = self.thread.mpi.pending.complete(&mut at, win, target, how) {
            if local {
                self.write_completed_later(win, id);
            }
            if how == Completion::Remote {
                self.write_completed_at_target(win, id);
            }
        }
    }

    /// Records that the outstanding operations of this thread on a window are complete, as [`completed`](Self::completed)
    /// does, and ends the call. For one target all records are written by one store.
    #[inline(always)]
    pub fn completed_and_leave(mut self, window: &Window, target: Option<Rank>, how: Completion) {
        self.thread.completes_tried(window.number, target);
        let remote = how == Completion::Remote;
        if target.is_none() || !remote {
            self.completed(window, target, how);
            return self.leave();
        }
        let pending = &mut self.thread.mpi.pending;
        // Operations on one window and target have one number.
        let Some((matching_id, local)) = pending.complete(&mut 0, window.number, target, how)
        else {
            return self.leave();
        };
        let win = window.number;
        let at_target = RmaOpCompleteRemote { win, matching_id };
        if !local {
            return self.write_and_leave(at_target);
        }
        let at_origin = RmaOpCompleteNonBlocking { win, matching_id };
        let both = (Plain(at_origin), Plain(at_target));
        if self.thread.leave_with(self.time, both) {
            return self.thread.release();
        }
        self.write(at_origin);
        self.write_and_leave(at_target);
    }

    /// Records that the call requests a lock on a window at `target`, or at all processes if that is `None`.
    pub fn request_lock(&mut self, window: &Window, target: Option<Rank>, kind: LockType) {
        self.write_lock(&window.lock(target, kind), LockRecord::Request);
    }

    /// Records that a lock on a window was released at `target`, or at all processes if that is `None`.
    pub fn release_lock(&mut self, window: &Window, target: Option<Rank>) {
        // The record of a release does not say of which type the lock was.
        self.write_lock(&window.lock(target, LockType::Exclusive), LockRecord::Release);
    }

    /// Records that a collective operation on a window of `comm` begins, and returns its sequence number for the record
    /// of its end.
    pub fn window_begin(&mut self, comm: &Comm) -> u64 {
        self.write_collective_begin();
        comm.collective()
    }

    /// Records the end of a fence, which completes all operations of this thread on the window. `sequence` is the
    /// result of [`window_begin`](Self::window_begin).
    pub fn fence_end(&mut self, window: &Window, sequence: u64) {
        self.completed(window, None, Completion::Remote);
        let level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
        self.window_end(window, CollectiveOp::Barrier, level, sequence);
        self.thread.process.sample_clock_now_and_then(self.time);
    }

    /// Records that a window was created, at the end of the collective call. `sequence` is the result of
    /// [`window_begin`](Self::window_begin).
    pub fn window_created(&mut self, window: &Window, sequence: u64) {
        self.write(RmaWinCreate { win: window.number });
        let op = match window.allocates {
            true => CollectiveOp::CreateHandleAndAllocate,
            false => CollectiveOp::CreateHandle,
        };
        self.window_end(window, op, RmaSyncLevel::PROCESS, sequence);
    }

    /// Records that a window was freed, at the end of the collective call. It completes all operations of this thread
    /// on the window.
    pub fn window_destroyed(&mut self, window: &Window, sequence: u64) {
        self.completed(window, None, Completion::Remote);
        self.write(RmaWinDestroy { win: window.number });
        let op = match window.allocates {
            true => CollectiveOp::DestroyHandleAndDeallocate,
            false => CollectiveOp::DestroyHandle,
        };
        self.window_end(window, op, RmaSyncLevel::PROCESS, sequence);
    }

    fn window_end(
        &mut self,
        window: &Window,
        op: CollectiveOp,
        sync_level: RmaSyncLevel,
        sequence: u64,
    ) {
        let (root, sent, received) = (CollectiveRoot::None, 0, 0);
        let window = window.number;
        let level = sync_level;
        let it = WindowCollective { window, op, level, root, sent, received, sequence };
        self.write_collective_end(&it);
    }

    /// Records the beginning of a call of general active target synchronisation. A call that may wait for other processes
    /// states which, so that they are known while it waits. `members` are ranks in the world. Returns the group.
    pub fn epoch_begin(
        &mut self,
        operation: Operation,
        window: &Window,
        members: Option<&[u64]>,
    ) -> Option<u32> {
        let (group, level) = match operation {
            Operation::StartEpoch | Operation::PostEpoch => {
                let members = members.filter(|members| !members.is_empty())?;
                (self.thread.process.group_number(members), RmaSyncLevel::PROCESS)
            }
            Operation::CompleteEpoch | Operation::WaitEpoch => {
                let level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
                (window.group(is_exposure(operation), false), level)
            }
            _ => return None,
        };
        self.write_group_sync(window.number, GroupRef(group?), level);
        group
    }

    /// Records the end of such a call, which has opened an epoch with `group`, or closed one.
    pub fn epoch_end(&mut self, operation: Operation, window: &Window, group: Option<u32>) {
        let exposure = is_exposure(operation);
        if let Operation::StartEpoch | Operation::PostEpoch = operation {
            if let Some(group) = group {
                window.open(exposure, group);
            }
            return;
        }
        if operation == Operation::CompleteEpoch {
            self.completed(window, None, Completion::Remote);
        }
        let closed = window.group(exposure, true).filter(|_| operation == Operation::TestEpoch);
        if let Some(group) = closed {
            let level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
            self.write_group_sync(window.number, GroupRef(group), level);
        }
    }
}

/// Returns `true` for operations on exposure epochs; others are on access epochs.
fn is_exposure(operation: Operation) -> bool {
    matches!(operation, Operation::PostEpoch | Operation::WaitEpoch | Operation::TestEpoch)
}

impl Thread {
    /// Writes that the outstanding operations on a window are complete, as [`Recorder::completed`] does.
    pub(crate) fn write_completions(
        &mut self,
        time: u64,
        win: RmaWinRef,
        target: Option<Rank>,
        how: Completion,
    ) {
        let mut at = 0;
        while let Some((matching_id, local)) = self.mpi.pending.complete(&mut at, win, target, how)
        {
            if local {
                self.write(time, RmaOpCompleteNonBlocking { win, matching_id });
            }
            if how == Completion::Remote {
                self.write(time, RmaOpCompleteRemote { win, matching_id });
            }
        }
    }
}

impl Transfer {
    /// Returns the operation as its record describes it.
    #[inline(always)]
    pub(super) fn access(&self, id: MatchingId) -> Access {
        let Self { window, target, bytes, fetched } = *self;
        let window = window.number;
        Access { window, target, bytes, fetched, id }
    }
}

impl Window {
    /// Returns the lock of the window at one process, or at all of them.
    fn lock(&self, target: Option<Rank>, kind: LockType) -> Lock {
        let target = target.unwrap_or(Rank::UNDEFINED);
        Lock { window: self.number, target, id: LockId(0), kind }
    }
}

impl Collective {
    /// Returns `true` for operations with a root among the members. Members of its group may not name it.
    fn is_rooted(&self) -> bool {
        matches!(self.which.shape(), operation::Shape::OneToAll | operation::Shape::AllToOne)
    }

    fn root(&self) -> CollectiveRoot {
        match self.root {
            // Of one that connects two groups, the root says that it is.
            _ if self.comm.inter && self.is_root => CollectiveRoot::SelfRank,
            None if self.comm.inter && self.is_rooted() => CollectiveRoot::ThisGroup,
            Some(rank) => CollectiveRoot::Rank(rank),
            None => CollectiveRoot::None,
        }
    }
}

pub(super) fn collective_op(which: operation::Collective) -> CollectiveOp {
    use operation::Collective as C;
    match which {
        C::Broadcast => CollectiveOp::Bcast,
        C::Gather => CollectiveOp::Gather,
        C::GatherVarying => CollectiveOp::Gatherv,
        C::Scatter => CollectiveOp::Scatter,
        C::ScatterVarying => CollectiveOp::Scatterv,
        C::AllGather | C::NeighbourAllGather => CollectiveOp::Allgather,
        C::AllGatherVarying | C::NeighbourAllGatherVarying => CollectiveOp::Allgatherv,
        C::AllToAll | C::NeighbourAllToAll => CollectiveOp::Alltoall,
        C::AllToAllVarying | C::NeighbourAllToAllVarying => CollectiveOp::Alltoallv,
        C::AllToAllTyped | C::NeighbourAllToAllTyped => CollectiveOp::Alltoallw,
        C::AllReduce => CollectiveOp::Allreduce,
        C::Reduce => CollectiveOp::Reduce,
        C::ReduceScatter => CollectiveOp::ReduceScatter,
        C::ReduceScatterBlock => CollectiveOp::ReduceScatterBlock,
        C::Scan => CollectiveOp::Scan,
        C::ExclusiveScan => CollectiveOp::Exscan,
        _ => CollectiveOp::Barrier,
    }
}
