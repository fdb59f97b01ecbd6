//! Recording of MPI.
//!
//! The library under the program differs in how wide its handles are and what its constants are worth.
//! That is settled before anything comes here: this module knows ranks, bytes, and handles as mere
//! numbers.
//!
//! | module | is |
//! |---|---|
//! | `comms` | communicators and windows behind handles, and how their identity is agreed without a message |
//! | `requests` | what is in flight, by its request |
//! | `recorder` | records of messages, requests and collectives, and of windows by [`crate::recorder`] |
//! | `by_kind` | what only GASNet has: operations that are completed by kind, active messages |
//! | `pending` | one-sided operations that are not complete |
//! | `over_mpi` | the records of layers over MPI: coarrays, ARMCI |
//! | `handles` | operations of these layers, by handle |
//! | `thread_state` | the part of all this that each thread has for itself |
//! | `skipped` | messages that were not recorded |
//! | `map` | a table by handle |

mod by_kind;
mod comms;
mod handles;
mod map;
mod over_mpi;
mod pending;
mod recorder;
mod requests;
mod skipped;
pub(crate) mod thread_state;

pub use by_kind::Kinds;
pub use comms::{Comm, Members, NOBODY, Neighbours, Origin, Window, WindowMemory, last_made};
pub use otf2::enums::LockType;
pub use otf2::id::{MatchingId, Rank};
pub use over_mpi::End;
pub use pending::Completion;
pub use recorder::{Collective, CommChange, Envelope, Numbering, Transfer};
pub use requests::{Request, Requests, Status, What};

use dwell_model::operation;

use crate::guard::{Entry, guarded, guarded_option};
use crate::hook::Hook;
use crate::recorder::{begin, end};

/// Records the end of MPI as a barrier over all processes, if the recorder knows their communicator.
pub(crate) fn finalise<R>(hook: &'static Hook, barrier: impl FnOnce() -> R) -> R {
    let began = guarded_option(Entry::Before, || {
        let everyone = comms::everyone();
        let call = begin(hook, |recorder| {
            if everyone.is_some() {
                recorder.collective_begin();
            }
        });
        Some((call?, everyone))
    });
    let result = barrier();
    guarded(Entry::After, || {
        let Some((call, everyone)) = began else { return };
        end(call, |recorder| {
            let Some(comm) = everyone else { return };
            let which = operation::Collective::Sync;
            let sequence = comm.collective();
            let (root, is_root, sent, received, neighbours) = (None, false, 0, 0, None);
            let it =
                Collective { comm, which, root, is_root, sent, received, sequence, neighbours };
            recorder.collective_end(&it);
        });
    });
    result
}
