//! Locks, which are granted to waiting locations in the order of their arrival.
//!
//! Where the runtime did not keep to that order in the recorded run, a lock is granted to the waiting location that had it
//! first in the recorded run.

use std::collections::{HashMap, VecDeque};

use dwell_trace::locks::{LockKey, LockMode};

use crate::engine::hash::Mixed;

/// A location that waits for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) location: u32,
    pub(crate) mode: LockMode,
    /// Time at which it had the lock in the recorded run.
    pub(crate) recorded: u64,
}

/// One lock.
#[derive(Debug, Default)]
struct Lock {
    holders: Vec<(u32, LockMode)>,
    queue: VecDeque<Waiting>,
}

impl Lock {
    fn is_free_for(&self, mode: LockMode) -> bool {
        self.holders.iter().all(|it| !it.1.excludes(mode))
    }
}

/// Locks that are held. A part of a split lock has a number above 0.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: HashMap<(LockKey, u64), Lock, Mixed>,
    /// True if locks are granted in the order of the recorded run.
    as_recorded: bool,
    /// Number of acquisitions out of the recorded order: a location that arrived later had the lock earlier in the run.
    pub(crate) overtaken: u64,
}

impl Locks {
    pub(crate) fn new(as_recorded: bool) -> Self {
        Self { as_recorded, ..Self::default() }
    }

    /// Lets a location acquire a lock. Returns `false` if it has to wait.
    pub(crate) fn acquire(&mut self, key: (LockKey, u64), who: Waiting) -> bool {
        let Waiting { location, mode, .. } = who;
        let lock = self.held.entry(key).or_default();
        let is_free = lock.queue.is_empty() && lock.is_free_for(mode);
        match is_free {
            true => lock.holders.push((location, mode)),
            false => lock.queue.push_back(who),
        }
        is_free
    }

    /// Releases a lock of a location. Those that hold it now are added to a list.
    pub(crate) fn release(&mut self, key: (LockKey, u64), location: u32, free: &mut Vec<u32>) {
        let Some(lock) = self.held.get_mut(&key) else { return };
        let Some(place) = lock.holders.iter().position(|it| it.0 == location) else { return };
        lock.holders.swap_remove(place);
        loop {
            let first = lock.queue.iter().enumerate().min_by_key(|it| it.1.recorded);
            let Some(first) = first.map(|it| it.0) else { break };
            let next = if self.as_recorded { first } else { 0 };
            let Some(&Waiting { location, mode, .. }) =
                lock.queue.get(next).filter(|it| lock.is_free_for(it.mode))
            else {
                break;
            };
            self.overtaken += u64::from(first != 0);
            lock.holders.push((location, mode));
            lock.queue.remove(next);
            free.push(location);
        }
        if lock.holders.is_empty() {
            self.held.remove(&key);
        }
    }
}
