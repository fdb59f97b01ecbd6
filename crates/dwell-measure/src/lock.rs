//! A lock for rare and short work: no allocation, no system call, usable from any hook.
//!
//! A thread holds it only while it is [busy](crate::thread), and a signal handler that interrupts a
//! busy thread does not come here. So no thread waits for itself.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicBool;

use crate::faults::{Entry, pass};
use crate::reentrancy;

/// A value that one thread at a time may use.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    held: reentrancy::Held,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the thread that has taken the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { held: reentrancy::Held::of(AtomicBool::new(false)), value: UnsafeCell::new(value) }
    }

    /// Uses the value. Must not be called from inside `action` with the same lock. A panic of `action`
    /// releases the lock.
    #[inline]
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        loop {
            match self.hold() {
                Some(held) => return held.with(action),
                // The holder may be waiting for this processor.
                None => std::thread::yield_now(),
            }
        }
    }

    #[inline]
    fn hold(&self) -> Option<Held<'_, T>> {
        // Made only if the lock was taken: its end releases the lock.
        self.held.take().then(|| Held(self))
    }
}

/// The lock is held as long as this lives.
struct Held<'l, T>(&'l Lock<T>);

impl<T> Held<'_, T> {
    #[allow(clippy::needless_pass_by_value)] // It is released at the end of this.
    #[inline]
    fn with<R>(self, action: impl FnOnce(&mut T) -> R) -> R {
        pass(Entry::Locked);
        // SAFETY: the lock was taken for this, so no one else is here until it is given back.
        action(unsafe { &mut *self.0.value.get() })
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.held.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let lock = Lock::new(0_u64);
        let times = if cfg!(miri) { 50 } else { 10_000 };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..times).for_each(|_| lock.with(|sum| *sum += 1)));
            }
        });
        lock.with(|sum| assert_eq!(*sum, 4 * times));
    }

    #[test]
    fn a_panic_releases_it() {
        let lock = Lock::new(0_u64);
        let panics = || lock.with(|_| panic!("inside"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        lock.with(|sum| *sum += 1);
        assert_eq!(lock.with(|sum| *sum), 1);
    }

    #[test]
    fn who_holds_it_is_not_waited_for() {
        let lock = Lock::new(());
        // Twice, because an attempt that fails must not release what someone else holds.
        assert!(lock.with(|()| lock.hold().is_none() && lock.hold().is_none()));
        assert_eq!(lock.hold().map(|held| held.with(|()| 1)), Some(1));
    }
}
