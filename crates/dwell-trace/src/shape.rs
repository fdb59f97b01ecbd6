//! Shapes of collectives: which members wait for which others.

use dwell_model::layer::Layer;
use dwell_model::operation::{Operation, Shape};
use otf2::enums::{CollectiveOp, CollectiveRoot};

use crate::roles::Role;

/// Object that the members of a collective share, as its record names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Communicator that `MpiCollectiveEnd` or `NonBlockingCollectiveComplete` names.
    Communicator,
    /// Window that `RmaCollectiveEnd` names.
    Window,
}

/// Shape of a collective: which members wait for which others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum CollectiveShape {
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
    /// All wait for all, unless one left before the last arrived.
    File,
}

impl CollectiveShape {
    /// All shapes, in the order of their numbers in the dependency log.
    pub const ALL: [Self; 10] = [
        Self::Barrier,
        Self::Fence,
        Self::Create,
        Self::Free,
        Self::All,
        Self::FromRoot,
        Self::ToRoot,
        Self::Prefix,
        Self::Neighbours,
        Self::File,
    ];

    /// Returns the shape of a collective, given the call around it and the record.
    pub fn of(role: Role, op: CollectiveOp, root: CollectiveRoot, group: Group) -> Self {
        let operation = role.meaning.map(|meaning| meaning.operation);
        let by_call = match operation {
            Some(Operation::Collective(which)) => Some(which.shape()),
            _ => None,
        };
        if by_call == Some(Shape::File) {
            return Self::File;
        }
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
