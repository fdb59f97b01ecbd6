//! Locks, and calls that waited for one, as the replay and several patterns use them.

use otf2::id::RmaWinRef;
use serde::{Deserialize, Serialize};

use crate::archive::ids::{LocationNumber, ProcessNumber};
use crate::archive::time::Time;
use crate::archive::world::World;
use crate::engine::accounts::Account;
use crate::engine::outstanding::Done;
use crate::engine::transport::Message;
use crate::engine::waited::Waited;

/// How a process holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum LockMode {
    /// Other processes may hold the lock at the same time, if they share it too.
    Shared,
    /// No other process holds the lock at the same time.
    Exclusive,
}

impl LockMode {
    /// Returns `true` if two processes cannot hold a lock in these modes at the same time.
    pub(crate) fn excludes(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }
}

/// Process on which a lock acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum LockOwner {
    /// One process of the window.
    Process(ProcessNumber),
    /// All processes of the window.
    All,
}

/// Identifies a lock by window, owner and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct LockKey {
    pub(crate) window: RmaWinRef,
    pub(crate) owner: LockOwner,
    pub(crate) lock: u64,
}

impl LockKey {
    /// Returns the process whose shard keeps the state of the lock.
    pub(crate) fn owner_of_state(&self, world: &World) -> ProcessNumber {
        let count = world.system.processes.len().max(1) as u64;
        let mixed =
            (self.lock ^ u64::from(self.window.0) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ProcessNumber(((mixed >> 32) % count) as u32)
    }
}

/// A call that waited for a lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) location: LocationNumber,
    pub(crate) account: Account,
    pub(crate) enter: Time,
    pub(crate) leave: Time,
    /// Time until which the call waited for the lock: its leave, or the release of the lock.
    pub(crate) until: Time,
    pub(crate) mode: LockMode,
}

/// A call that waited for a lock, and the processes that it may have waited for besides.
#[derive(Debug)]
pub(crate) struct LockedCall {
    pub(crate) key: LockKey,
    pub(crate) waiting: Waiting,
    /// Operations that the call completed, or the lock itself.
    pub(crate) done: Vec<Done>,
    /// All other processes that may have had to grant the lock. They widen the bounds.
    pub(crate) perhaps: Vec<Done>,
}

/// Asks the owner of a lock's state which part of a wait for progress is no contention. Contention comes first: while
/// others held the lock, the call waited for them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cut {
    pub(crate) key: LockKey,
    pub(crate) process: ProcessNumber,
    pub(crate) waiting: Waiting,
    pub(crate) waited: Waited,
}

impl Message for Cut {}
