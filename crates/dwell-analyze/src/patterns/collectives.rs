//! Collectives: who waits for whom to arrive.
//!
//! | | |
//! |---|---|
//! | pushes | every member tells the home of the instance when it entered and when it was through |
//! | answers | the home, as soon as all members have arrived, or nobody is left who could |
//! | books | at each member, on the path of its call |
//!
//! An instance is a context and the number of the collective in it. "Through" is the time of the
//! collective-end record, not of the leave.
//!
//! | shape | wait | completion |
//! |---|---|---|
//! | barrier, fence, making and freeing | last enter - e | end - first end (barriers) |
//! | all to all | last enter - e | end - first end |
//! | one to all | enter of the root - e, not for the root | |
//! | all to one | root only: last enter of the others - e | |
//! | prefix | last enter of those of lower rank - e | |

use std::collections::BTreeMap;

use dwell_model::operation::{Operation, Shape};
use otf2::enums::{CollectiveOp, CollectiveRoot};

use crate::metric::Quantity;
use crate::paths::Path;
use crate::role::Role;
use crate::transport::{Letter, Post};
use crate::world::World;

/// Who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// All wait for the last; no data.
    Barrier,
    /// A barrier around operations on a window.
    Fence,
    /// Making windows or memory.
    Create,
    /// Freeing windows or memory.
    Free,
    /// All wait for all.
    All,
    /// All wait for the root.
    FromRoot,
    /// The root waits for all.
    ToRoot,
    /// Each waits for those before it.
    Prefix,
}

impl Way {
    /// What a collective is, by the call it stands in and by the record.
    pub(crate) fn of(role: Role, op: CollectiveOp, root: CollectiveRoot, window: bool) -> Self {
        let operation = role.meaning.map(|meaning| meaning.operation);
        let by_call = match operation {
            Some(Operation::Collective(which)) => Some(which.shape()),
            _ => None,
        };
        let mpi = role.layer() == Some(dwell_model::layer::Layer::Mpi);
        match op {
            CollectiveOp::CreateHandle
            | CollectiveOp::Allocate
            | CollectiveOp::CreateHandleAndAllocate => return Self::Create,
            CollectiveOp::DestroyHandle
            | CollectiveOp::Deallocate
            | CollectiveOp::DestroyHandleAndDeallocate => return Self::Free,
            CollectiveOp::Barrier if window && mpi => return Self::Fence,
            _ => {}
        }
        match operation {
            Some(Operation::Allocate | Operation::Reallocate | Operation::CreateGroup) => {
                return Self::Create;
            }
            Some(Operation::Deallocate | Operation::DestroyGroup) => return Self::Free,
            _ => {}
        }
        let rooted = matches!(root, CollectiveRoot::Rank(_));
        match by_call {
            Some(Shape::Barrier) => return Self::Barrier,
            Some(Shape::OneToAll) if rooted => return Self::FromRoot,
            Some(Shape::AllToOne) if rooted => return Self::ToRoot,
            Some(Shape::Prefix) => return Self::Prefix,
            Some(Shape::AllToAll) => return Self::All,
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

/// A member was in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) context: u32,
    pub(crate) sequence: u64,
    pub(crate) process: u32,
    pub(crate) location: u32,
    pub(crate) path: Path,
    pub(crate) enter: u64,
    pub(crate) end: u64,
    pub(crate) way: Way,
    /// The process that is the root.
    pub(crate) root: Option<u32>,
}

impl Letter for Arrival {}

impl Arrival {
    /// The process at whose home the instance is kept: spread, so that no shard keeps them all.
    pub(crate) fn home(&self, world: &World) -> u32 {
        let count = world.system.processes.len().max(1) as u64;
        (self.sequence.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(self.context)) % count)
            as u32
    }
}

/// Something to add at an origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booking {
    pub(crate) location: u32,
    pub(crate) path: Path,
    pub(crate) what: Quantity,
    pub(crate) amount: u64,
    /// The process that was waited for, if it is known.
    pub(crate) blamed: Option<u32>,
}

impl Letter for Booking {}

/// Instances whose members have not all arrived.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    open: BTreeMap<(u32, u64), Vec<Arrival>>,
    /// Instances that were judged without some of their members.
    pub(crate) partial: u64,
}

impl Instances {
    /// Takes what arrived, and judges instances that are complete.
    pub(crate) fn arrive(&mut self, world: &World, arrival: Arrival, out: &mut Post<Booking>) {
        let key = (arrival.context, arrival.sequence);
        let list = self.open.entry(key).or_default();
        list.push(arrival);
        let size = world.system.context(arrival.context).map_or(0, |context| context.size);
        if list.len() as u32 >= size
            && let Some(list) = self.open.remove(&key)
        {
            judge(world, list, out);
        }
    }

    /// Judges instances that nobody will join any more, given who has ended.
    pub(crate) fn close(
        &mut self,
        world: &World,
        ended: &dyn Fn(u32) -> bool,
        out: &mut Post<Booking>,
    ) {
        let over = |key: &(u32, u64), list: &mut Vec<Arrival>| {
            let Some(context) = world.system.context(key.0) else { return true };
            let here = |process: u32| list.iter().any(|arrival| arrival.process == process);
            match &context.members {
                Some(members) => members.iter().all(|&it| ended(it) || here(it)),
                None => (0..context.size).all(|it| ended(it) || here(it)),
            }
        };
        let closed: Vec<Vec<Arrival>> =
            self.open.extract_if(.., over).map(|(_, list)| list).collect();
        for list in closed {
            self.partial += 1;
            judge(world, list, out);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.open.values().map(|list| list.capacity() * size_of::<Arrival>() + 64).sum()
    }
}

/// The rules.
fn judge(world: &World, mut list: Vec<Arrival>, out: &mut Post<Booking>) {
    // Ties by process: whoever is last does not depend on the order of arrival here.
    list.sort_unstable_by_key(|it| (it.enter, it.process, it.location));
    let (Some(&first), Some(&last)) = (list.first(), list.last()) else { return };
    let first_end = list.iter().map(|it| it.end).min().unwrap_or(0);
    let root = first.root;
    let root_enter = list.iter().find(|it| Some(it.process) == root).map(|it| it.enter);
    let last_other = list.iter().rfind(|it| Some(it.process) != root);
    let mut book = |it: &Arrival, what, amount: u64, blamed| {
        // Never more than the time in the collective.
        let amount = amount.min(it.end.saturating_sub(it.enter));
        if amount > 0 {
            let Arrival { location, path, .. } = *it;
            out.send(it.process, Booking { location, path, what, amount, blamed });
        }
        amount
    };
    if first.way == Way::Prefix {
        let rank = |it: &Arrival| {
            world.system.context(it.context).and_then(|context| context.rank(it.process))
        };
        list.sort_by_cached_key(rank);
        let mut latest: Option<Arrival> = None;
        for it in &list {
            if let Some(before) = latest {
                let amount = before.enter.saturating_sub(it.enter);
                book(it, Quantity::EarlyScan, amount, Some(before.process));
            }
            if latest.is_none_or(|before| before.enter < it.enter) {
                latest = Some(*it);
            }
        }
        return;
    }
    for it in &list {
        let for_last = last.enter.saturating_sub(it.enter);
        let late = Some(last.process);
        let mut with_completion = |wait, completion| {
            let waited = book(it, wait, for_last, late);
            let rest = it.end.saturating_sub(it.enter) - waited;
            book(it, completion, (it.end - first_end).min(rest), None);
        };
        match first.way {
            Way::Barrier => {
                with_completion(Quantity::BarrierWait, Quantity::BarrierCompletion);
            }
            Way::All => with_completion(Quantity::NxnWait, Quantity::NxnCompletion),
            Way::Fence => {
                book(it, Quantity::WaitAtFence, for_last, late);
            }
            Way::Create => {
                book(it, Quantity::WaitAtCreate, for_last, late);
            }
            Way::Free => {
                book(it, Quantity::WaitAtFree, for_last, late);
            }
            Way::FromRoot => {
                if Some(it.process) != root {
                    let amount = root_enter.map_or(0, |enter| enter.saturating_sub(it.enter));
                    book(it, Quantity::LateBroadcast, amount, root);
                }
            }
            Way::ToRoot => {
                if Some(it.process) == root {
                    let amount = last_other.map_or(0, |o| o.enter.saturating_sub(it.enter));
                    book(it, Quantity::EarlyReduce, amount, last_other.map(|o| o.process));
                }
            }
            Way::Prefix => {}
        }
    }
}
