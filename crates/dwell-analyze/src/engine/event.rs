//! Events of a location as patterns see them: with processes instead of ranks, and without what is not defined.

use dwell_trace::ids::{ContextNumber, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode};
use dwell_trace::roles::Epoch;
use dwell_trace::shape::CollectiveShape;
use dwell_trace::time::Time;
use otf2::enums::{CollectiveRoot, RmaSyncType};
use otf2::id::{GroupRef, RmaWinRef};
use otf2::{Attribute, List};

/// An event of a location, except those that enter or leave calls and those that issue or complete operations at their
/// origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) time: Time,
    pub(crate) kind: EventKind<'a>,
}

/// Kind of an event, with its data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventKind<'a> {
    /// A judged call sent a message. A later call completes it if there is a request.
    Sent {
        context: ContextNumber,
        receiver: ProcessNumber,
        tag: u32,
        bytes: u64,
        request: Option<u64>,
        skipped: u64,
    },
    /// The message of a request has been sent.
    SendCompleted { request: u64 },
    /// A call posted a receive. `enter` is the enter of that call.
    ReceivePosted { request: u64, enter: Time },
    /// A call received a message, through a request or not.
    Received { request: Option<u64>, message: Option<Received> },
    /// A request was cancelled.
    Cancelled { request: u64 },
    /// A judged call took part in a collective.
    Collective(Collective),
    /// A thread leaves the barrier of a team, which is the open call. All threads of the team give the barrier this number, and
    /// there are as many of them as its lowest bits say.
    TeamBarrier { number: u64 },
    /// A call began a non-blocking collective. `enter` is the enter of that call.
    CollectiveBegun { request: u64, enter: Time, among: Among },
    /// A call completed a non-blocking collective.
    CollectiveCompleted {
        context: ContextNumber,
        shape: CollectiveShape,
        root: CollectiveRoot,
        request: u64,
    },
    /// A call requested a lock.
    LockRequested { key: LockKey, mode: LockMode },
    /// A call acquired a lock.
    LockAcquired { key: LockKey, mode: LockMode },
    /// A call released a lock.
    LockReleased { key: LockKey },
    /// A judged call completed operations on a window at their targets.
    CompletedAtTarget { window: RmaWinRef },
    /// A call waited for a change of memory at an offset, if that is known, of the process itself or another owner.
    WaitedForChange { offset: Option<u64>, owner: Option<ProcessNumber> },
    /// A call notified a process at an address that the attributes give.
    Raised { target: ProcessNumber, attributes: List<'a, Attribute> },
    /// A call sent or received a notification.
    Notified { window: RmaWinRef, partner: ProcessNumber, direction: RmaSyncType },
    /// A call sent an active message. `enter` is the enter of that call.
    MessageSent { target: ProcessNumber, checksum: u64, enter: Time },
    /// The handler of an active message begins.
    MessageHandled { source: ProcessNumber, checksum: u64 },
    /// A call synchronised with the members of a group, to open or close an epoch of a window if it is one of MPI.
    Synchronised { window: RmaWinRef, members: &'a [ProcessNumber], epoch: Option<Epoch> },
}

/// A message that a call received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) context: ContextNumber,
    pub(crate) sender: ProcessNumber,
    pub(crate) tag: u32,
    pub(crate) bytes: u64,
    /// Number of messages from the same sender with the same tag that were received before this one since the last, and
    /// not recorded.
    pub(crate) skipped: u64,
    /// Enter of the call.
    pub(crate) enter: Time,
}

/// A collective that a call took part in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    pub(crate) context: ContextNumber,
    pub(crate) shape: CollectiveShape,
    pub(crate) root: CollectiveRoot,
    /// Window, if the collective is a fence.
    pub(crate) fence: Option<RmaWinRef>,
    /// Sequence number of the collective on its communicator, if the archive has it.
    pub(crate) sequence: Option<u64>,
    /// Group of the process and the neighbours that send to it, if the archive has it.
    pub(crate) neighbours: Option<GroupRef>,
    /// Number of the deferred call if the collective completed operations on targets outside of its group.
    pub(crate) deferred: Option<u32>,
}

/// The members of a communicator that a member of a collective waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Any of them.
    Members,
    /// The neighbours that send to it: a group, if the archive has it.
    Neighbours(Option<GroupRef>),
}
