//! Pausing and resuming, by the program.
//!
//! While recording is paused calls are followed but not written, so that numbers of collectives,
//! communicators and requests stay right. The archive says when: every thread that calls something
//! meanwhile writes that recording is off, and later that it is on.

use crate::entry::{self, Quiet};
use crate::guard::{Entry, guarded};

/// Pauses the recording until [`resume`]. Calls are still followed, so that numbers of collectives and requests stay
/// right, but nothing is written for them. Does nothing if the process is not recording.
pub fn pause() {
    hush(true);
}

/// Resumes the recording after [`pause`], also if another thread paused it. Does nothing if the recording is not
/// paused, or if the process is not recording.
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

/// Applies the level of `MPI_Pcontrol` or `shmem_pcontrol` before the hook records the call: any level but 0 resumes
/// the recording, so that the call itself is in the archive.
pub fn before_level(level: i32) {
    if level != 0 {
        resume();
    }
}

/// Applies the level of `MPI_Pcontrol` or `shmem_pcontrol` after the hook has recorded the call: level 0 pauses the
/// recording, so that the archive still has the call itself.
pub fn after_level(level: i32) {
    if level == 0 {
        pause();
    }
}
