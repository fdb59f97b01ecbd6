//! Pausing and resuming, by the program.
//!
//! While recording is paused calls are followed but not written, so that numbers of collectives,
//! communicators and requests stay right. The archive says when: every thread that calls something
//! meanwhile writes that recording is off, and later that it is on.

use crate::entry::{self, Quiet};

/// Stops writing down calls, until [`resume`].
pub fn pause() {
    if entry::is_on() {
        entry::hush(Quiet::Paused, true);
    }
}

/// Goes on.
pub fn resume() {
    if entry::is_on() {
        entry::hush(Quiet::Paused, false);
    }
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
