//! Locks, and calls that waited for one, as the replay and several patterns use them.

use crate::archive::world::World;
use crate::engine::accounts::Account;

/// Identifies a lock by window, owner and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LockKey {
    pub(crate) window: u32,
    pub(crate) owner: u32,
    pub(crate) lock: u64,
}

impl LockKey {
    /// Owner of a lock on all processes.
    pub(crate) const ALL: u32 = u32::MAX;

    /// Returns the process whose shard keeps the state of the lock.
    pub(crate) fn home(&self, world: &World) -> u32 {
        let count = world.system.processes.len().max(1) as u64;
        let mixed = (self.lock ^ u64::from(self.window) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 32) % count) as u32
    }
}

/// A call that waited for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) location: u32,
    pub(crate) account: Account,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    /// Time until which the call waited for the lock: its leave, or the release of the lock.
    pub(crate) until: u64,
    pub(crate) exclusive: bool,
}
