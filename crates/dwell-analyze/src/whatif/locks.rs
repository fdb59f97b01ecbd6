//! Locks, which go to those who wait in the order of their arrival.

use std::collections::{HashMap, VecDeque};

use crate::engine::hash::Mixed;
use crate::engine::locking::{LockKey, LockMode};

/// One lock.
#[derive(Debug, Default)]
struct Lock {
    holders: Vec<(u32, LockMode)>,
    queue: VecDeque<(u32, LockMode)>,
}

impl Lock {
    fn is_free_for(&self, mode: LockMode) -> bool {
        self.holders.iter().all(|it| !it.1.excludes(mode))
    }
}

/// Locks that somebody holds. A part of a split lock has a number above 0.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: HashMap<(LockKey, u64), Lock, Mixed>,
}

impl Locks {
    /// Lets a location acquire a lock. Returns `false` if it has to wait.
    pub(crate) fn acquire(&mut self, key: (LockKey, u64), mode: LockMode, location: u32) -> bool {
        let lock = self.held.entry(key).or_default();
        let is_free = lock.queue.is_empty() && lock.is_free_for(mode);
        match is_free {
            true => lock.holders.push((location, mode)),
            false => lock.queue.push_back((location, mode)),
        }
        is_free
    }

    /// Releases a lock of a location. Those that hold it now are added to a list.
    pub(crate) fn release(&mut self, key: (LockKey, u64), location: u32, free: &mut Vec<u32>) {
        let Some(lock) = self.held.get_mut(&key) else { return };
        let Some(place) = lock.holders.iter().position(|it| it.0 == location) else { return };
        lock.holders.swap_remove(place);
        while let Some(&(next, mode)) = lock.queue.front().filter(|it| lock.is_free_for(it.1)) {
            lock.holders.push((next, mode));
            lock.queue.pop_front();
            free.push(next);
        }
        if lock.holders.is_empty() {
            self.held.remove(&key);
        }
    }
}
