//! Writing files in a process that may have a limit of their size.
//!
//! A write beyond `ulimit -f` is an error, `EFBIG`, and a signal, SIGXFSZ, which ends a process that has no handler for
//! it. The program never asked for the files of the recorder, so it must not get the signal for them.
#![allow(unsafe_code)] // The signal mask of the thread is changed.

use std::mem::MaybeUninit;
use std::ptr;

/// Runs `action`, in which writes beyond the limit of the size of a file fail with `EFBIG` and cause no signal. A signal
/// that the thread had before is kept. It takes three system calls, so it is for rare work only.
pub(crate) fn without_signal<R>(action: impl FnOnce() -> R) -> R {
    let _blocked = Blocked::new();
    action()
}

/// SIGXFSZ is blocked in this thread as long as this lives.
struct Blocked {
    /// Set if the program had blocked it.
    before: bool,
    /// Set if it was pending, which is possible only if it was blocked.
    pending: bool,
}

impl Blocked {
    fn new() -> Self {
        let (signal, mut mask) = (signal(), empty());
        // SAFETY: both sets are valid.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signal, &raw mut mask) };
        let before = contains(&mask);
        // SAFETY: the set is valid for writing.
        let pending = before && unsafe { libc::sigpending(&raw mut mask) } == 0 && contains(&mask);
        Self { before, pending }
    }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the set is valid for writing, and is initialised by the function.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Returns the set of SIGXFSZ alone.
fn signal() -> libc::sigset_t {
    let mut set = empty();
    // SAFETY: a valid set, and a signal that exists.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGXFSZ) };
    set
}

fn contains(set: &libc::sigset_t) -> bool {
    // SAFETY: a valid set, and a signal that exists.
    unsafe { libc::sigismember(ptr::from_ref(set), libc::SIGXFSZ) == 1 }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let signal = signal();
        if !self.pending {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: a valid set and a valid time. It returns at once, with the signal or without.
            unsafe { libc::sigtimedwait(&raw const signal, ptr::null_mut(), &raw const now) };
        }
        if !self.before {
            // SAFETY: a valid set; the mask of before is not asked for.
            unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const signal, ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked_and_pending() -> [bool; 2] {
        let (mut blocked, mut pending) = (empty(), empty());
        // SAFETY: both sets are valid for writing.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut blocked);
            libc::sigpending(&raw mut pending);
        }
        [blocked, pending].map(|set| contains(&set))
    }

    /// Sends the signal to this thread, as the kernel does.
    fn raise() {
        // SAFETY: the signal is blocked by the callers.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGXFSZ) };
    }

    #[test]
    fn a_signal_meanwhile_is_taken_back() {
        without_signal(|| without_signal(raise));
        assert_eq!(blocked_and_pending(), [false, false]);
    }

    #[test]
    fn a_signal_from_before_is_kept() {
        without_signal(|| {
            without_signal(|| ());
            raise();
            without_signal(|| ());
            assert_eq!(blocked_and_pending(), [true, true]);
        });
        assert_eq!(blocked_and_pending(), [false, false]);
    }

    #[test]
    fn a_panic_ends_it() {
        let panics = || without_signal(|| panic!("inside"));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(blocked_and_pending(), [false, false]);
    }
}
