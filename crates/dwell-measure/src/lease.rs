//! The lease by which other nodes see that this process is alive: see [`dwell_unify::lease`].
//!
//! The lock lasts as long as its file is open. A descriptor would not do: a program may close descriptors that it does
//! not know, and a child that it forks inherits them and may outlive it. So the file is kept open by a mapping that
//! children do not get, and the descriptor is closed.
#![allow(unsafe_code)] // Mapping memory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use dwell_unify::lease::{self, Node};

use crate::clock;
use crate::handshake;

/// The mapping that holds the lock, or null.
static HELD: AtomicPtr<libc::c_void> = AtomicPtr::new(ptr::null_mut());

/// Bytes that are mapped, of which none is ever used. The system rounds them up to a page.
const LENGTH: usize = 1;

/// Takes the lease of this process in an experiment directory, for as long as it lives or until [`release`]. `other` is
/// another node of the run, whose lock the first process here tries.
///
/// # Errors
/// If the lease file cannot be written or locked. Recovery on other nodes then asks its user.
pub(crate) fn hold(directory: &Path, other: Option<&str>) -> io::Result<()> {
    let node = Node {
        host: lease::host(),
        boot: lease::boot(),
        job: handshake::job().unwrap_or_default(),
        since: clock::realtime(),
        sees_locks: false,
    };
    let other = other.filter(|host| *host != node.host).map(|host| lease::file(directory, host));
    let lease = lease::take(directory, &node, other.as_deref())?;
    keep_open(lease.file);
    Ok(())
}

/// Ends the lease of this process.
pub(crate) fn release() {
    let at = HELD.swap(ptr::null_mut(), Ordering::Relaxed);
    if !at.is_null() {
        // SAFETY: the mapping was made below with this length, and no reference into it exists.
        unsafe { libc::munmap(at, LENGTH) };
    }
}

/// Keeps a file open without a descriptor.
fn keep_open(file: File) {
    // SAFETY: a new mapping that no address refers to, and that allows no access.
    let at = unsafe {
        let flags = libc::MAP_PRIVATE;
        libc::mmap(ptr::null_mut(), LENGTH, libc::PROT_NONE, flags, file.as_raw_fd(), 0)
    };
    if at == libc::MAP_FAILED {
        // The descriptor holds the lock then, as well as it can.
        std::mem::forget(file);
        return;
    }
    // SAFETY: the mapping was just made.
    unsafe { libc::madvise(at, LENGTH, libc::MADV_DONTFORK) };
    HELD.store(at, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use dwell_unify::experiment::open_files;
    use dwell_unify::lease::Life;

    use super::*;

    fn life(directory: &Path) -> Vec<Life> {
        lease::nodes(directory).unwrap().into_iter().map(|(_, life)| life).collect()
    }

    /// A child that was forked and outlives its parent does not keep the lease.
    #[test]
    fn a_lease_lasts_as_long_as_its_process() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(open_files(folder.path())).unwrap();
        hold(folder.path(), None).unwrap();
        assert_eq!(life(folder.path()), [Life::Alive]);
        // SAFETY: the child calls functions only that are safe after a fork.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                libc::pause();
                libc::_exit(0)
            }
        }
        release();
        let ended = life(folder.path());
        // SAFETY: the child is this process's, and ends by the signal.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, ptr::null_mut(), 0);
        }
        assert_eq!(ended, [Life::Ended]);
    }
}
