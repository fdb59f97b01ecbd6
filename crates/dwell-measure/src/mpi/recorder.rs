//! The records of a call.

use std::fmt;

use dwell_model::operation::{self, Operation};
use dwell_unify::definitions::attribute;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaAtomicType, RmaSyncLevel};
use otf2::event::{
    AnyEvent, MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecv, MpiIrecvRequest, MpiIsend,
    MpiIsendComplete, MpiRecv, MpiRequestCancelled, MpiSend, NonBlockingCollectiveComplete,
    NonBlockingCollectiveRequest, RmaAtomic, RmaCollectiveBegin, RmaCollectiveEnd, RmaGet,
    RmaGroupSync, RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaPut, RmaReleaseLock,
    RmaRequestLock, RmaWinCreate, RmaWinDestroy,
};
use otf2::id::{CommRef, GroupRef, LockId, MatchingId, Rank, RequestId, RmaWinRef};
use otf2::{Attribute, AttributeValue};

use super::comms::{Comm, Neighbours, Window};
use super::requests::{Request, Requests, Status, What};
use super::skipped::{self, Stream};
use crate::hook::{self, Hook};
use crate::process::Process;
use crate::profile::Counted;
use crate::thread::{Busy, Call, enter};

/// A message: with whom, and what of.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// Where ranks and tags belong to.
    pub comm: &'static Comm,
    /// The other side.
    pub partner: u32,
    /// The tag.
    pub tag: u32,
    /// The length.
    pub bytes: u64,
}

/// A collective operation.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// Who takes part.
    pub comm: &'static Comm,
    /// Which it is.
    pub which: operation::Collective,
    /// The root, if it has one.
    pub root: Option<u32>,
    /// Whether the caller is the root of one that has its root on the other side or here.
    pub is_root: bool,
    /// Bytes that this process gives.
    pub sent: u64,
    /// Bytes that it gets.
    pub received: u64,
    /// Sequence number of this collective on its communicator, counted from 0.
    pub sequence: u64,
    /// Neighbours of this process, if it is a neighbourhood collective.
    pub neighbours: Option<Neighbours>,
}

/// A one-sided operation.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Where to.
    pub window: &'static Window,
    /// The process acted on.
    pub target: u32,
    /// Bytes that go there.
    pub sent: u64,
    /// Bytes that come back.
    pub received: u64,
}

/// What is completed on a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// At the origin.
    Local,
    /// At the targets as well.
    Remote,
}

/// The number of a request that was started by a call which was not recorded.
const UNSEEN: u64 = u64::MAX;

/// A call that is being recorded: its enter is written, or its leave will be.
pub struct Recorder {
    pub(super) thread: Busy,
    pub(super) time: u64,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("time", &self.time).finish_non_exhaustive()
    }
}

/// Begins a call and writes what is known before it. `None`: it is not recorded.
#[inline]
pub fn begin(hook: &'static Hook, write: impl FnOnce(&mut Recorder)) -> Option<Call> {
    let mut recorder = Recorder::enter(hook)?;
    write(&mut recorder);
    Some(recorder.entered())
}

/// Writes what is known after a call, and ends it.
#[inline]
pub fn end(call: Call, write: impl FnOnce(&mut Recorder)) {
    if let Some(mut recorder) = Recorder::returned(call) {
        write(&mut recorder);
        recorder.leave();
    }
}

/// The same in pieces, for calls that are short: the compiler does not always put what is written where
/// it is asked for, and then knows less of the call.
impl Recorder {
    /// Begins a call. `None`: it is not recorded.
    #[inline(always)]
    pub fn enter(hook: &'static Hook) -> Option<Self> {
        let thread = enter(hook)?;
        let time = thread.time();
        Some(Self { thread, time })
    }

    /// Everything is written that is known before the call.
    #[inline(always)]
    pub fn entered(self) -> Call {
        self.thread.entered()
    }

    /// The call has returned. `None`: the recording has ended meanwhile.
    #[inline(always)]
    #[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
    pub fn returned(call: Call) -> Option<Self> {
        let mut thread = call.returned()?;
        let time = thread.now();
        Some(Self { thread, time })
    }

    /// Ends the call.
    #[inline(always)]
    pub fn leave(self) {
        self.thread.leave(self.time);
    }
}

impl Recorder {
    /// The process.
    pub fn process(&self) -> &'static Process {
        self.thread.process
    }

    /// The communicator of a handle, if it is known.
    #[inline(always)]
    pub fn comm(&mut self, handle: usize) -> Option<&'static Comm> {
        self.thread.mpi.comm(handle)
    }

    /// The window of a handle, if it is known.
    #[inline(always)]
    pub fn window(&mut self, handle: usize) -> Option<&'static Window> {
        self.thread.mpi.window(handle)
    }

    /// A number for something that is started.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.thread.mpi.number()
    }

    /// A message is sent.
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

    /// Writes a message, and how many of the same kind were not recorded before it.
    #[inline(always)]
    fn write_message(&mut self, stream: Stream, event: impl AnyEvent + Counted + Copy) {
        if self.thread.is_muted() {
            return skipped::add(stream);
        }
        match skipped::take(stream) {
            0 => self.thread.write(self.time, event),
            count => self.thread.write_with(self.time, attribute::SKIPPED, count, event),
        };
    }

    /// A message was received.
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

    /// Starts what a request is for. Returns the numbers of the request.
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
                self.thread.write(self.time, MpiIrecvRequest { request_id });
            }
            What::Exchange(sent, received) => {
                if let Some(it) = sent {
                    self.start_send(it, id);
                }
                if received.is_some() {
                    let second = self.number();
                    let request_id = RequestId(second);
                    self.thread.write(self.time, MpiIrecvRequest { request_id });
                    return (id, second);
                }
            }
            What::Collective(it) => {
                self.write_beginning(it, NonBlockingCollectiveRequest { request_id });
            }
            // The partition that is ready last sends it.
            What::Partitioned { .. } => {}
            What::Transfer { .. } | What::Comm { .. } | What::Nothing => {}
        }
        (id, 0)
    }

    /// Partitions of a message are ready. If they are the last, this call sends the message.
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

    /// A request is complete. `status` is what the library says of it.
    pub fn complete(&mut self, request: &Request, status: Status) {
        let (time, request_id) = (self.time, RequestId(request.id));
        if request.id == UNSEEN {
            return self.came(request, status);
        }
        match request.what {
            _ if status.cancelled => {
                self.thread.write(time, MpiRequestCancelled { request_id });
            }
            What::Send(_) | What::Partitioned { .. } => {
                self.thread.write(time, MpiIsendComplete { request_id });
            }
            What::Receive(comm) => self.received(comm, request.id, status),
            What::Exchange(sent, received) => {
                if sent.is_some() {
                    self.thread.write(time, MpiIsendComplete { request_id });
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
                self.thread.write_with(time, attribute::SEQUENCE, it.sequence, event);
            }
            What::Transfer { window, both } => {
                let (win, matching_id) = (RmaWinRef(window.number), MatchingId(request.id));
                self.thread.write(time, RmaOpCompleteNonBlocking { win, matching_id });
                if both {
                    self.thread.write(time, RmaOpCompleteRemote { win, matching_id });
                }
            }
            What::Comm { .. } | What::Nothing => {}
        }
    }

    /// A request is complete that was started by a call which was not recorded. If a message has come, it
    /// is one that a blocking call would have received: nothing else of it is known.
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

    /// A collective operation begins.
    #[inline]
    pub fn collective_begin(&mut self) {
        self.thread.write(self.time, MpiCollectiveBegin {});
    }

    /// A collective operation of the program begins.
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
                self.thread.write_tagged(self.time, tag, event);
            }
            None => {
                self.thread.write(self.time, event);
            }
        }
    }

    /// A collective operation ends.
    #[inline]
    pub fn collective_end(&mut self, it: &Collective) {
        let event = MpiCollectiveEnd {
            collective_op: collective_op(it.which),
            communicator: CommRef(it.comm.number),
            root: it.root(),
            size_sent: it.sent,
            size_received: it.received,
        };
        self.thread.write_with(self.time, attribute::SEQUENCE, it.sequence, event);
        self.thread.process.sample_clock_now_and_then(self.time);
    }

    /// A communicator is made or ended by all of another together.
    pub fn management_end(&mut self, comm: &Comm, made: bool, sequence: u64) {
        let collective_op =
            if made { CollectiveOp::CreateHandle } else { CollectiveOp::DestroyHandle };
        let event = MpiCollectiveEnd {
            collective_op,
            communicator: CommRef(comm.number),
            root: CollectiveRoot::None,
            size_sent: 0,
            size_received: 0,
        };
        self.thread.write_with(self.time, attribute::SEQUENCE, sequence, event);
    }

    /// A one-sided operation. Returns its number, which is its own if it has a request.
    #[inline(always)]
    pub fn transfer(&mut self, operation: Operation, it: &Transfer, request: bool) -> u64 {
        let Transfer { window, target, .. } = *it;
        let own = &mut self.thread.mpi;
        let id = if request {
            own.number()
        } else {
            let next = &mut own.next;
            own.pending.add(window.number, target, || {
                *next += 1;
                *next - 1
            })
        };
        self.operation(operation, it, id);
        id
    }

    /// Writes the record of an operation.
    #[inline(always)]
    pub(super) fn operation(&mut self, operation: Operation, it: &Transfer, id: u64) {
        let Transfer { window, target, sent, received } = *it;
        let (win, remote, matching_id) = (RmaWinRef(window.number), Rank(target), MatchingId(id));
        match operation {
            Operation::Get => {
                let event = RmaGet { win, remote, bytes: sent, matching_id };
                self.thread.write(self.time, event);
            }
            Operation::Atomic(which) => {
                let kind = match which {
                    operation::Atomic::Accumulate => RmaAtomicType::Accumulate,
                    which => hook::atomic_type(which),
                };
                let (bytes_sent, bytes_received) = (sent, received);
                let event =
                    RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id };
                self.thread.write(self.time, event);
            }
            _ => {
                let event = RmaPut { win, remote, bytes: sent, matching_id };
                self.thread.write(self.time, event);
            }
        }
    }

    /// Operations on a window are complete: for one target, or for all.
    #[inline(always)]
    pub fn completed(&mut self, window: &Window, target: Option<u32>, how: Completion) {
        let (time, win) = (self.time, RmaWinRef(window.number));
        let remote = how == Completion::Remote;
        let (number, mut at) = (window.number, 0);
        while let Some((id, local)) =
            self.thread.mpi.pending.complete(&mut at, number, target, remote)
        {
            let matching_id = MatchingId(id);
            if local {
                self.thread.write(time, RmaOpCompleteNonBlocking { win, matching_id });
            }
            if remote {
                self.thread.write(time, RmaOpCompleteRemote { win, matching_id });
            }
        }
    }

    /// A lock is asked for; no target means all.
    pub fn request_lock(&mut self, window: &Window, target: Option<u32>, shared: bool) {
        let lock_type = if shared { LockType::Shared } else { LockType::Exclusive };
        let event = RmaRequestLock {
            win: RmaWinRef(window.number),
            remote: target.map_or(Rank::UNDEFINED, Rank),
            lock_id: LockId(0),
            lock_type,
        };
        self.thread.write(self.time, event);
    }

    /// A lock was given back.
    pub fn release_lock(&mut self, window: &Window, target: Option<u32>) {
        let event = RmaReleaseLock {
            win: RmaWinRef(window.number),
            remote: target.map_or(Rank::UNDEFINED, Rank),
            lock_id: LockId(0),
        };
        self.thread.write(self.time, event);
    }

    /// Something collective on a window of a communicator begins. Returns its number.
    pub fn window_begin(&mut self, comm: &Comm) -> u64 {
        self.thread.write(self.time, RmaCollectiveBegin {});
        comm.collective()
    }

    /// A fence has passed.
    pub fn fence_end(&mut self, window: &Window, sequence: u64) {
        self.completed(window, None, Completion::Remote);
        let level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
        self.window_end(window, CollectiveOp::Barrier, level, sequence);
        self.thread.process.sample_clock_now_and_then(self.time);
    }

    /// A window was made.
    pub fn window_created(&mut self, window: &Window, sequence: u64) {
        self.thread.write(self.time, RmaWinCreate { win: RmaWinRef(window.number) });
        let op = match window.allocates {
            true => CollectiveOp::CreateHandleAndAllocate,
            false => CollectiveOp::CreateHandle,
        };
        self.window_end(window, op, RmaSyncLevel::PROCESS, sequence);
    }

    /// A window has ended.
    pub fn window_destroyed(&mut self, window: &Window, sequence: u64) {
        self.completed(window, None, Completion::Remote);
        self.thread.write(self.time, RmaWinDestroy { win: RmaWinRef(window.number) });
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
        let event = RmaCollectiveEnd {
            collective_op: op,
            sync_level,
            win: RmaWinRef(window.number),
            root: CollectiveRoot::None,
            bytes_sent: 0,
            bytes_received: 0,
        };
        self.thread.write_with(self.time, attribute::SEQUENCE, sequence, event);
    }

    /// An epoch of a window was opened with a group, or closed, or is still open.
    pub fn epoch(&mut self, operation: Operation, window: &Window, members: Option<&[u64]>) {
        let exposure =
            matches!(operation, Operation::PostEpoch | Operation::WaitEpoch | Operation::TestEpoch);
        let opens = matches!(operation, Operation::StartEpoch | Operation::PostEpoch);
        let (group, level) = if opens {
            let members = members.filter(|members| !members.is_empty());
            let group = members.and_then(|members| self.thread.process.group_number(members));
            if let Some(group) = group {
                window.open(exposure, group);
            }
            (group, RmaSyncLevel::PROCESS)
        } else {
            let remote = Completion::Remote;
            if operation == Operation::CompleteEpoch {
                self.completed(window, None, remote);
            }
            let level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
            (window.group(exposure, true), level)
        };
        let Some(group) = group else { return };
        let (win, group) = (RmaWinRef(window.number), GroupRef(group));
        self.thread.write(self.time, RmaGroupSync { sync_level: level, win, group });
    }
}

impl Collective {
    /// Whether one of the members is the root. Members of its group may not name it.
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
