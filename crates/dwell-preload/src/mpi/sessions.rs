//! Programs that start MPI with sessions.
//!
//! Starting a session is a local operation, so no process can communicate then. Processes first communicate when they
//! create a communicator from a group. If that group contains all processes of the world, all are there, and the
//! recorder creates a communicator of its own, in a session of its own. Otherwise it waits for the next such call:
//! asking processes that may never come would make a program hang that does not hang by itself.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use dwell_measure::call::Past;
use dwell_measure::hook::Hook;

use super::abi::abi;
use super::pmpi;

/// Hook and time of the call that started the first session.
static FIRST: Mutex<Option<(&'static Hook, Past)>> = Mutex::new(None);
/// Number of sessions that the program has open.
static OPEN: AtomicU32 = AtomicU32::new(0);
/// Handle of the recorder's session; 0 before it exists.
static OWN: AtomicUsize = AtomicUsize::new(0);

/// Registers that the program has started a session without initialising the world model.
pub(super) fn began(hook: &'static Hook, began: Past) {
    OPEN.fetch_add(1, Ordering::Relaxed);
    if let Ok(mut first) = FIRST.lock() {
        first.get_or_insert((hook, began));
    }
}

/// Returns the hook and time of the call that started the first session.
pub(super) fn first() -> Option<(&'static Hook, Past)> {
    FIRST.lock().ok().and_then(|first| *first)
}

/// Returns `true` if the recorder communicates through a session of its own.
pub(super) fn is_ours() -> bool {
    OWN.load(Ordering::Relaxed) != 0
}

/// Registers that the program ends a session. Returns `true` if it is the last one.
pub(super) fn ended() -> bool {
    OPEN.fetch_sub(1, Ordering::Relaxed) == 1
}

/// Creates a communicator of all processes for the recorder, if all of them are in `group`. Returns `None` otherwise.
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
