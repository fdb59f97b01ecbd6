//! A lock for rare and short work: no allocation, no system call, usable from any hook.
//!
//! A thread holds it only while it is [busy](crate::thread), and a signal handler that interrupts a
//! busy thread does not come here. So nobody waits for itself.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that one thread at a time may use.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the thread that has set `taken`.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Uses the value. Must not be called from inside `action` with the same lock.
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        while self.taken.swap(true, Ordering::Acquire) {
            // The holder may be waiting for this processor.
            std::thread::yield_now();
        }
        // SAFETY: `taken` was false and is true now, so no one else is here until it is false.
        let result = action(unsafe { &mut *self.value.get() });
        self.taken.store(false, Ordering::Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let lock = Lock::new(0_u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| lock.with(|sum| *sum += 1)));
            }
        });
        lock.with(|sum| assert_eq!(*sum, 40_000));
    }
}
