//! Collectives that not all members have entered.

use std::collections::HashMap;

use dwell_model::waits::Wait;
use dwell_trace::ids::{ContextNumber, ProcessNumber};
use dwell_trace::shape::CollectiveShape;
use dwell_trace::world::World;

use crate::engine::hash::Mixed;

/// One collective.
#[derive(Debug, Default)]
struct OpenCollective {
    arrived: u32,
    /// True if the root has entered it.
    root: bool,
    /// Locations that wait, by their places.
    waiting: Vec<u32>,
}

/// Collectives that some members have begun.
#[derive(Debug, Default)]
pub(crate) struct OpenCollectives {
    open: HashMap<(ContextNumber, u64), OpenCollective, Mixed>,
}

/// A collective that a location takes part in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Participation {
    pub(crate) context: ContextNumber,
    pub(crate) sequence: u64,
    pub(crate) shape: CollectiveShape,
    pub(crate) root: Option<ProcessNumber>,
    pub(crate) me: ProcessNumber,
    pub(crate) location: u32,
    /// False if the location continues without waiting for others.
    pub(crate) waits: bool,
}

impl OpenCollectives {
    /// Returns `true` if a collective is one whose members are counted here. In the others each waits for some members,
    /// which the edges of the log name.
    pub(crate) fn knows(shape: CollectiveShape) -> bool {
        use CollectiveShape::{File, Neighbours, Prefix};
        !matches!(shape, Prefix | Neighbours | File)
    }

    /// Records that a location has entered a collective. Returns `true` if it has to wait. Adds locations that need not wait
    /// any longer to `free`.
    pub(crate) fn arrive(&mut self, world: &World, it: Participation, free: &mut Vec<u32>) -> bool {
        let Some(context) = world.system.context(it.context) else { return false };
        let size = context.size;
        if size <= 1 || !Self::knows(it.shape) {
            return false;
        }
        let key = (it.context, it.sequence);
        let collective = self.open.entry(key).or_default();
        collective.arrived += 1;
        let (is_full, is_root) = (collective.arrived >= size, it.root == Some(it.me));
        collective.root |= is_root;
        let waits = match it.shape {
            CollectiveShape::FromRoot if it.root.is_some() => {
                if is_root {
                    free.append(&mut collective.waiting);
                }
                !collective.root
            }
            CollectiveShape::ToRoot if it.root.is_some() => {
                if is_full {
                    free.append(&mut collective.waiting);
                }
                is_root && !is_full
            }
            _ => {
                if is_full {
                    free.append(&mut collective.waiting);
                }
                !is_full
            }
        };
        if waits && it.waits {
            collective.waiting.push(it.location);
        }
        if is_full {
            self.open.remove(&key);
        }
        waits && it.waits
    }
}

/// Returns the wait of members of a collective for others.
pub(crate) fn of_shape(shape: CollectiveShape) -> Option<Wait> {
    Some(match shape {
        CollectiveShape::Barrier => Wait::BarrierWait,
        CollectiveShape::Fence => Wait::WaitAtFence,
        CollectiveShape::Create => Wait::WaitAtCreate,
        CollectiveShape::Free => Wait::WaitAtFree,
        CollectiveShape::All | CollectiveShape::File => Wait::NxnWait,
        CollectiveShape::FromRoot => Wait::LateBroadcast,
        CollectiveShape::ToRoot => Wait::EarlyReduce,
        CollectiveShape::Prefix => Wait::EarlyScan,
        CollectiveShape::Neighbours => return None,
    })
}

/// Returns `true` for waits of members of a collective that [`OpenCollectives`] counts.
pub(crate) fn of_collective(wait: Wait) -> bool {
    matches!(
        wait,
        Wait::BarrierWait
            | Wait::WaitAtFence
            | Wait::WaitAtCreate
            | Wait::WaitAtFree
            | Wait::NxnWait
            | Wait::LateBroadcast
            | Wait::EarlyReduce
    )
}
