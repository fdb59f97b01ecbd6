//! Programs that start MPI by sessions.
//!
//! A session is a process's own affair, so nobody can talk when one starts. Processes first meet when
//! they make a communicator from a group. If all of the world are in that group all of them are there,
//! and the recorder makes a communicator of its own, in a session of its own. If not, it waits for the
//! next: to ask processes that may never come would be a hang that the program does not have by itself.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use dwell_measure::call::Past;
use dwell_measure::hook::Hook;

use super::abi::abi;
use super::pmpi;

/// The call that started the first session, and when.
static FIRST: Mutex<Option<(&'static Hook, Past)>> = Mutex::new(None);
/// Sessions of the program.
static OPEN: AtomicU32 = AtomicU32::new(0);
/// The recorder's session; 0 before there is one.
static OWN: AtomicUsize = AtomicUsize::new(0);

/// The program has started a session, and there is no world.
pub(super) fn began(hook: &'static Hook, began: Past) {
    OPEN.fetch_add(1, Ordering::Relaxed);
    if let Ok(mut first) = FIRST.lock() {
        first.get_or_insert((hook, began));
    }
}

/// How it all began.
pub(super) fn first() -> Option<(&'static Hook, Past)> {
    FIRST.lock().ok().and_then(|first| *first)
}

/// Whether the recorder talks through a session of its own.
pub(super) fn is_ours() -> bool {
    OWN.load(Ordering::Relaxed) != 0
}

/// The program ends a session. Whether it is the last.
pub(super) fn ended() -> bool {
    OPEN.fetch_sub(1, Ordering::Relaxed) == 1
}

/// A communicator of all processes for the recorder, if all are in `group`.
pub(super) fn open(group: usize) -> Option<usize> {
    let abi = abi();
    let (mut session, mut world, mut comm) = (0, 0, 0);
    let (mut here, mut all) = (0, -1);
    // SAFETY: a group that the program passes to the library, names that end in zero, places for the
    // answers; and all processes do this together, since they are in the group.
    unsafe {
        if pmpi::session_init(abi.info_null, abi.errors_return, &raw mut session) != 0 {
            return None;
        }
        let own = abi.handle(session);
        let name = c"mpi://WORLD".as_ptr();
        let asked = pmpi::group_from_session_pset(own, name, &raw mut world) == 0
            && pmpi::group_size(abi.handle(world), &raw mut all) == 0
            && pmpi::group_size(group, &raw mut here) == 0;
        let made = asked && here == all && {
            let (world, tag) = (abi.handle(world), c"dwell".as_ptr());
            let (info, errors) = (abi.info_null, abi.errors_return);
            pmpi::comm_create_from_group(world, tag, info, errors, &raw mut comm) == 0
        };
        if asked {
            pmpi::group_free(&raw mut world);
        }
        if !made {
            pmpi::session_finalize(&raw mut session);
            return None;
        }
        OWN.store(own, Ordering::Relaxed);
    }
    Some(abi.handle(comm))
}

/// Ends the recorder's session.
pub(super) fn close() {
    let mut own = OWN.swap(0, Ordering::Relaxed);
    if own != 0 {
        // SAFETY: ours, and nothing of it is left.
        unsafe { pmpi::session_finalize(&raw mut own) };
    }
}
