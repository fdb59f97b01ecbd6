//! Records of OTF2, in the kinds that readers distinguish.
//!
//! OTF2 has a record for each function family: blocking and non-blocking sends, puts and gets, collectives of
//! communicators and of windows. Readers that follow communication need only a few kinds.
//! [`Roles::completes`](crate::roles::Roles::completes) decides which operations a completion applies to.

use otf2::Event;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType};
use otf2::id::{CommRef, LockId, Rank, RegionRef, RequestId, RmaWinRef};

/// Meaning of a record, for readers that follow communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A call of a region begins.
    Enter(RegionRef),
    /// The innermost call ends.
    Leave,
    /// An operation on the memory of another process was issued.
    Issue(Issue),
    /// An operation is complete at its origin.
    CompleteLocal(Completion),
    /// Operations are complete at their targets.
    CompleteRemote(Completion),
    /// A collective begins, of a communicator or of a window.
    CollectiveBegin,
    /// The innermost open collective ends.
    CollectiveEnd(Collective),
    /// A call requests a lock.
    LockRequest(Lock, LockType),
    /// A call has acquired a lock.
    LockAcquire(Lock, LockType),
    /// A call releases a lock.
    LockRelease(Lock),
    /// A message was sent.
    Send(Message),
    /// The message of a request has been sent.
    SendComplete(RequestId),
    /// A receive was posted.
    ReceivePost(RequestId),
    /// A message was received.
    Receive(Message),
    /// A request was cancelled.
    Cancel(RequestId),
    /// A record that does not concern communication, or of a later version of OTF2.
    Other,
}

/// Kind of an operation on the memory of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// The origin writes to the target.
    Put,
    /// The origin reads from the target.
    Get,
    /// The origin updates the memory of the target, and may read its previous value.
    Atomic,
}

/// An operation that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Kind of the operation.
    pub access: Access,
    /// Window that it acts on.
    pub window: RmaWinRef,
    /// Rank of the target in the window.
    pub remote: Rank,
    /// Bytes that are moved in both directions.
    pub bytes: u64,
    /// True if something comes back to the origin.
    pub returns: bool,
    /// Number by which completions refer to the operation.
    pub id: u64,
}

/// A record that completes operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// Window of the operations.
    pub window: RmaWinRef,
    /// Number of the completed operation, or of the last one if the record completes several.
    pub id: u64,
}

/// A collective that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Communicator or window that its members share.
    pub of: Gathering,
    /// Operation that the record names.
    pub operation: CollectiveOp,
    /// Root, if there is one.
    pub root: CollectiveRoot,
    /// Bytes that the location sent and received.
    pub bytes: u64,
}

/// Object that the members of a collective share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gathering {
    /// A communicator of MPI, or its equivalent in another layer.
    Communicator(CommRef),
    /// A window of MPI, or symmetric memory.
    Window(RmaWinRef),
}

/// A lock of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock {
    /// Window of the lock.
    pub window: RmaWinRef,
    /// Rank of the process that the lock acts on.
    pub remote: Rank,
    /// Number of the lock.
    pub lock: LockId,
}

/// A message that was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Communicator of the message.
    pub communicator: CommRef,
    /// Rank of the receiver of a message that was sent, and of the sender of one that was received.
    pub partner: Rank,
    /// Tag of the message.
    pub tag: u32,
    /// Bytes of the message.
    pub bytes: u64,
    /// Request, unless the call is blocking.
    pub request: Option<RequestId>,
}

impl Record {
    /// Returns the kind of an event, with the fields that readers need.
    #[inline]
    pub fn of(event: &Event<'_>) -> Self {
        match *event {
            Event::Enter(it) => Self::Enter(it.region),
            Event::Leave(_) => Self::Leave,
            Event::RmaPut(it) => Self::Issue(Issue {
                access: Access::Put,
                window: it.win,
                remote: it.remote,
                bytes: it.bytes,
                returns: false,
                id: it.matching_id.0,
            }),
            Event::RmaGet(it) => Self::Issue(Issue {
                access: Access::Get,
                window: it.win,
                remote: it.remote,
                bytes: it.bytes,
                returns: true,
                id: it.matching_id.0,
            }),
            Event::RmaAtomic(it) => Self::Issue(Issue {
                access: Access::Atomic,
                window: it.win,
                remote: it.remote,
                bytes: it.bytes_sent.saturating_add(it.bytes_received),
                returns: it.bytes_received > 0,
                id: it.matching_id.0,
            }),
            Event::RmaOpCompleteBlocking(it) => {
                Self::CompleteLocal(Completion { window: it.win, id: it.matching_id.0 })
            }
            Event::RmaOpCompleteNonBlocking(it) => {
                Self::CompleteLocal(Completion { window: it.win, id: it.matching_id.0 })
            }
            Event::RmaOpCompleteRemote(it) => {
                Self::CompleteRemote(Completion { window: it.win, id: it.matching_id.0 })
            }
            Event::RmaCollectiveBegin(_) | Event::MpiCollectiveBegin(_) => Self::CollectiveBegin,
            Event::RmaCollectiveEnd(it) => Self::CollectiveEnd(Collective {
                of: Gathering::Window(it.win),
                operation: it.collective_op,
                root: it.root,
                bytes: it.bytes_sent.saturating_add(it.bytes_received),
            }),
            Event::MpiCollectiveEnd(it) => Self::CollectiveEnd(Collective {
                of: Gathering::Communicator(it.communicator),
                operation: it.collective_op,
                root: it.root,
                bytes: it.size_sent.saturating_add(it.size_received),
            }),
            Event::RmaRequestLock(it) => {
                let lock = Lock { window: it.win, remote: it.remote, lock: it.lock_id };
                Self::LockRequest(lock, it.lock_type)
            }
            Event::RmaAcquireLock(it) => {
                let lock = Lock { window: it.win, remote: it.remote, lock: it.lock_id };
                Self::LockAcquire(lock, it.lock_type)
            }
            Event::RmaReleaseLock(it) => {
                let lock = Lock { window: it.win, remote: it.remote, lock: it.lock_id };
                Self::LockRelease(lock)
            }
            Event::MpiSend(it) => Self::Send(Message {
                communicator: it.communicator,
                partner: it.receiver,
                tag: it.msg_tag,
                bytes: it.msg_length,
                request: None,
            }),
            Event::MpiIsend(it) => Self::Send(Message {
                communicator: it.communicator,
                partner: it.receiver,
                tag: it.msg_tag,
                bytes: it.msg_length,
                request: Some(it.request_id),
            }),
            Event::MpiRecv(it) => Self::Receive(Message {
                communicator: it.communicator,
                partner: it.sender,
                tag: it.msg_tag,
                bytes: it.msg_length,
                request: None,
            }),
            Event::MpiIrecv(it) => Self::Receive(Message {
                communicator: it.communicator,
                partner: it.sender,
                tag: it.msg_tag,
                bytes: it.msg_length,
                request: Some(it.request_id),
            }),
            Event::MpiIsendComplete(it) => Self::SendComplete(it.request_id),
            Event::MpiIrecvRequest(it) => Self::ReceivePost(it.request_id),
            Event::MpiRequestCancelled(it) => Self::Cancel(it.request_id),
            _ => Self::Other,
        }
    }
}
