//! Messages of the recorder through a runtime, of which nothing is recorded at any layer.
//!
//! The recorder calls real functions, which no hook sees. But where a runtime is built on another one that is hooked too,
//! such as an OpenSHMEM on MPI, these functions call the hooks of the other. So the calling thread has no state to record
//! into while it communicates for the recorder.

use std::io;
use std::ptr;

use dwell_unify::deadline::Deadline;
use dwell_unify::unify::Upcalls;

use crate::entry::{Anchor, words};
use crate::thread;

/// Stands for the location of a thread that communicates for the recorder.
pub(crate) const SILENT: *const Anchor = ptr::without_provenance(1);

/// Runs `action`, in which calls of this thread are the recorder's own and are not recorded.
pub(crate) fn silently<T>(action: impl FnOnce() -> T) -> T {
    /// Gives the thread its location back, also after a panic.
    struct Before(*const Anchor);
    impl Drop for Before {
        fn drop(&mut self) {
            words().location.set(self.0);
            // An interval that ended meanwhile found no location, and began no other.
            thread::begin_interval();
        }
    }
    let _before = Before(words().location.replace(SILENT));
    action()
}

/// Communication with other processes, of which nothing is recorded.
pub(crate) struct Silent<U>(U);

impl<U: Upcalls> Silent<U> {
    /// Makes the communication with the other processes.
    ///
    /// # Errors
    /// Those of `open`.
    pub(crate) fn open(open: impl FnOnce() -> io::Result<U>) -> io::Result<Self> {
        silently(open).map(Self)
    }
}

impl<U: Upcalls> Upcalls for Silent<U> {
    fn rank(&self) -> u64 {
        self.0.rank()
    }

    fn size(&self) -> u64 {
        self.0.size()
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        silently(|| self.0.send(to, bytes))
    }

    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
        silently(|| self.0.receive(from))
    }

    fn tell(&mut self, to: u64, number: u64) -> io::Result<()> {
        silently(|| self.0.tell(to, number))
    }

    fn hear(&mut self, from: u64) -> io::Result<u64> {
        silently(|| self.0.hear(from))
    }

    fn set_deadline(&mut self, deadline: Deadline) {
        silently(|| self.0.set_deadline(deadline));
    }

    fn leave(&mut self) {
        silently(|| self.0.leave());
    }
}
