//! Collectives whose members have not all come.

use std::collections::HashMap;

use dwell_trace::ids::{ContextNumber, ProcessNumber};
use dwell_trace::shape::Way;
use dwell_trace::world::World;

use crate::engine::hash::Mixed;

/// One collective.
#[derive(Debug, Default)]
struct Meeting {
    arrived: u32,
    /// True if the root has come.
    root: bool,
    /// Locations that wait, by their places.
    waiting: Vec<u32>,
}

/// Collectives that some members have begun.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    open: HashMap<(ContextNumber, u64), Meeting, Mixed>,
}

/// A collective that a location takes part in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attendance {
    pub(crate) context: ContextNumber,
    pub(crate) sequence: u64,
    pub(crate) way: Way,
    pub(crate) root: Option<ProcessNumber>,
    pub(crate) me: ProcessNumber,
    pub(crate) location: u32,
    /// False if the location goes on without waiting for others.
    pub(crate) waits: bool,
}

impl Meetings {
    /// Returns `true` if a collective is one whose members are counted here. In the others each waits for some members,
    /// which edges of the log tell.
    pub(crate) fn knows(way: Way) -> bool {
        !matches!(way, Way::Prefix | Way::Neighbours)
    }

    /// Records that a location has come. Returns `true` if it has to wait. Those that need not wait any longer are added
    /// to a list.
    pub(crate) fn arrive(&mut self, world: &World, it: Attendance, free: &mut Vec<u32>) -> bool {
        let Some(context) = world.system.context(it.context) else { return false };
        let size = context.size;
        if size <= 1 || !Self::knows(it.way) {
            return false;
        }
        let key = (it.context, it.sequence);
        let meeting = self.open.entry(key).or_default();
        meeting.arrived += 1;
        let (is_full, is_root) = (meeting.arrived >= size, it.root == Some(it.me));
        meeting.root |= is_root;
        let waits = match it.way {
            Way::FromRoot if it.root.is_some() => {
                if is_root {
                    free.append(&mut meeting.waiting);
                }
                !meeting.root
            }
            Way::ToRoot if it.root.is_some() => {
                if is_full {
                    free.append(&mut meeting.waiting);
                }
                is_root && !is_full
            }
            _ => {
                if is_full {
                    free.append(&mut meeting.waiting);
                }
                !is_full
            }
        };
        if waits && it.waits {
            meeting.waiting.push(it.location);
        }
        if is_full {
            self.open.remove(&key);
        }
        waits && it.waits
    }
}
