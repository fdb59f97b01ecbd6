//! Calls that waited for a lock. The pattern for locks finds them, and the pattern for progress judges what is left of them.

use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode};
use dwell_trace::time::Time;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::message::Message;
use crate::engine::outstanding::Done;
use crate::protocol::progress_wait::Waited;

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

/// A call that waited for a lock, and the other processes that it may have waited for.
#[derive(Debug)]
pub(crate) struct LockedCall {
    pub(crate) key: LockKey,
    pub(crate) waiting: Waiting,
    /// Operations that the call completed, or the lock itself.
    pub(crate) done: Vec<Done>,
    /// All other processes that may have had to grant the lock. They widen the bounds.
    pub(crate) perhaps: Vec<Done>,
}

/// Asks the owner of a lock's state which part of a wait for progress is not contention. Contention has precedence: while
/// others held the lock, the call waited for them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cut {
    pub(crate) key: LockKey,
    pub(crate) process: ProcessNumber,
    pub(crate) waiting: Waiting,
    pub(crate) waited: Waited,
}

impl Message for Cut {}
