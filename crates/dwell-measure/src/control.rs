//! Pausing and resuming, by the program.
//!
//! While recording is paused calls are followed but not written, so that numbers of collectives,
//! communicators and requests stay right. The archive says when: every thread that calls something
//! meanwhile writes that recording is off, and later that it is on.

use crate::entry::{self, Quiet};
use crate::guard::{Entry, guarded};

/// Stops writing down calls, until [`resume`].
pub fn pause() {
    hush(true);
}

/// Goes on.
pub fn resume() {
    hush(false);
}

fn hush(yes: bool) {
    guarded(Entry::Control, || {
        if entry::is_on() {
            entry::hush(Quiet::Paused, yes);
        }
    });
}

/// What `MPI_Pcontrol` and `shmem_pcontrol` mean, before the call is recorded: anything but 0 resumes.
pub fn before_level(level: i32) {
    if level != 0 {
        resume();
    }
}

/// The same after it was recorded: 0 pauses.
pub fn after_level(level: i32) {
    if level == 0 {
        pause();
    }
}
