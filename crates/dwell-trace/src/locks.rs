//! Locks: what identifies one, and how it is held.

use otf2::id::RmaWinRef;
use serde::{Deserialize, Serialize};

use crate::ids::ProcessNumber;
use crate::world::World;

/// How a process holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LockMode {
    /// Other processes may hold the lock at the same time, if they share it too.
    Shared,
    /// No other process holds the lock at the same time.
    Exclusive,
}

impl LockMode {
    /// Returns `true` if two processes cannot hold a lock in these modes at the same time.
    pub fn excludes(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }
}

/// Process on which a lock acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LockOwner {
    /// One process of the window.
    Process(ProcessNumber),
    /// All processes of the window.
    All,
}

/// Identifies a lock by window, owner and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockKey {
    /// Window that the lock belongs to.
    pub window: RmaWinRef,
    /// Process of the window that the lock acts on, or all of them.
    pub owner: LockOwner,
    /// Lock id in the records, such as the symmetric offset of a lock variable of OpenSHMEM.
    pub lock: u64,
}

impl LockKey {
    /// Returns the process whose shard keeps the state of the lock.
    pub fn owner_of_state(&self, world: &World) -> ProcessNumber {
        let count = world.system.processes.len().max(1) as u64;
        let mixed =
            (self.lock ^ u64::from(self.window.0) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ProcessNumber(((mixed >> 32) % count) as u32)
    }
}
