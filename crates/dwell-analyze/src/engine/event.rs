//! Events of a location as patterns see them: with processes instead of ranks, and without what is not defined.

use dwell_model::layer::Layer;
use dwell_model::operation::{Operation, Shape};
use otf2::enums::{CollectiveOp, CollectiveRoot, RmaSyncType};
use otf2::id::{GroupRef, RmaWinRef};
use otf2::{Attribute, List};

use crate::archive::ids::{ContextNumber, ProcessNumber};
use crate::archive::roles::{Epoch, Role};
use crate::archive::time::Time;
use crate::engine::locking::{LockKey, LockMode};

/// An event of a location, beside those that enter or leave calls and those that issue or complete operations at their
/// origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) time: Time,
    pub(crate) what: What<'a>,
}

/// Kind of an event, with its data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
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
    /// A call began a non-blocking collective. `enter` is the enter of that call.
    CollectiveBegun { request: u64, enter: Time, among: Among },
    /// A call completed a non-blocking collective.
    CollectiveCompleted { context: ContextNumber, way: Way, root: CollectiveRoot, request: u64 },
    /// A call requested a lock.
    LockRequested { key: LockKey, mode: LockMode },
    /// A call acquired a lock.
    LockAcquired { key: LockKey, mode: LockMode },
    /// A call released a lock.
    LockReleased { key: LockKey },
    /// A judged call completed operations on a window at their targets.
    CompletedAtTarget { window: RmaWinRef },
    /// A call waited for a change of memory at an offset, if that is known.
    WaitedForChange { offset: Option<u64> },
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
    pub(crate) way: Way,
    pub(crate) root: CollectiveRoot,
    /// Window, if the collective is a fence.
    pub(crate) fence: Option<RmaWinRef>,
    /// Sequence number of the collective on its communicator, if the archive has it.
    pub(crate) sequence: Option<u64>,
    /// Group of the process and the neighbours that send to it, if the archive has it.
    pub(crate) neighbours: Option<GroupRef>,
    /// Number of the held call if the collective completed operations on targets outside of its group.
    pub(crate) held: Option<u32>,
}

/// The members of a communicator that a member of a collective waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Any of them.
    Members,
    /// The neighbours that send to it: a group, if the archive has it.
    Neighbours(Option<GroupRef>),
}

/// What the members of a collective share, as its record names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Communicator,
    Window,
}

/// Shape of a collective, which says who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Way {
    /// All wait for the last; no data is moved.
    Barrier,
    /// A barrier around operations on a window.
    Fence,
    /// Creation of windows or memory.
    Create,
    /// Release of windows or memory.
    Free,
    /// All wait for all.
    All,
    /// All wait for the root.
    FromRoot,
    /// The root waits for all.
    ToRoot,
    /// Each waits for those of lower rank.
    Prefix,
    /// Each waits for its neighbours in a topology.
    Neighbours,
}

impl Way {
    /// All shapes, in the order of their numbers in the dependency log.
    pub(crate) const ALL: [Self; 9] = [
        Self::Barrier,
        Self::Fence,
        Self::Create,
        Self::Free,
        Self::All,
        Self::FromRoot,
        Self::ToRoot,
        Self::Prefix,
        Self::Neighbours,
    ];

    /// Returns the shape of a collective, given the call around it and the record.
    pub(crate) fn of(role: Role, op: CollectiveOp, root: CollectiveRoot, group: Group) -> Self {
        let operation = role.meaning.map(|meaning| meaning.operation);
        let by_call = match operation {
            Some(Operation::Collective(which)) => Some(which.shape()),
            _ => None,
        };
        let mpi = role.layer().is_some_and(Layer::has_messages);
        match op {
            CollectiveOp::CreateHandle
            | CollectiveOp::Allocate
            | CollectiveOp::CreateHandleAndAllocate => return Self::Create,
            CollectiveOp::DestroyHandle
            | CollectiveOp::Deallocate
            | CollectiveOp::DestroyHandleAndDeallocate => return Self::Free,
            CollectiveOp::Barrier if group == Group::Window && mpi => return Self::Fence,
            _ => {}
        }
        match operation {
            Some(Operation::Allocate | Operation::Reallocate | Operation::CreateGroup) => {
                return Self::Create;
            }
            Some(Operation::Deallocate | Operation::DestroyGroup) => return Self::Free,
            _ => {}
        }
        // On intercommunicators the root names itself, and members of its group name the group.
        let rooted = !matches!(root, CollectiveRoot::None);
        match by_call {
            Some(Shape::Neighbours) => return Self::Neighbours,
            Some(Shape::Barrier) => return Self::Barrier,
            Some(Shape::OneToAll) if rooted => return Self::FromRoot,
            Some(Shape::AllToOne) if rooted => return Self::ToRoot,
            Some(Shape::Prefix) => return Self::Prefix,
            // A reduction of coarrays may have a root.
            Some(Shape::AllToAll) if !rooted => return Self::All,
            _ => {}
        }
        match op {
            CollectiveOp::Barrier => Self::Barrier,
            CollectiveOp::Bcast | CollectiveOp::Scatter | CollectiveOp::Scatterv if rooted => {
                Self::FromRoot
            }
            CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Gatherv if rooted => {
                Self::ToRoot
            }
            CollectiveOp::Scan | CollectiveOp::Exscan => Self::Prefix,
            _ => Self::All,
        }
    }
}
