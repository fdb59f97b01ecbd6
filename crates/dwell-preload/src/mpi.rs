//! MPI: hooks made from its table, and messages of the recorder.
//!
//! | module | contents |
//! |---|---|
//! | `abi` | differences between MPI libraries, found at run time |
//! | `pmpi` | functions that the recorder calls itself |
//! | `shape` | arguments of hooks, and the interface that all shapes of calls implement |
//! | `messages`, `completion`, `collectives`, `rma`, `groups`, `files` | hooks of each shape |
//! | `world_comms` | communicators that are known to contain all processes |
//! | `channel` | messages between the recorders of all processes |
//! | `fortran` | passing of arguments in Fortran |
//! | `startup`, `sessions` | initialisation and finalisation |

mod abi;
mod channel;
mod collectives;
mod completion;
mod files;
mod fortran;
mod groups;
mod messages;
mod pmpi;
mod rma;
mod sessions;
mod shape;
mod startup;
mod variables;
mod world_comms;

pub(crate) use groups::comm_of;
pub(crate) use hooks::{ENTRIES, FORTRAN};
pub(crate) use startup::hide_absent;

use dwell_measure::hook::Passed;
use dwell_measure::mpi::{Comm, Origin};
use dwell_measure::process::Process;

/// Returns the handle of `MPI_COMM_WORLD`.
pub(crate) fn world() -> usize {
    abi::abi().comm_world
}

/// Reads the handle of a communicator from a variable. Returns `None` for a null address.
pub(crate) fn comm_at(variable: Passed) -> Option<usize> {
    abi::abi().handle_in(variable, 0)
}

/// Returns the handle in a word that was passed as an argument.
pub(crate) fn handle(word: usize) -> usize {
    abi::abi().handle(word)
}

/// Returns the communicator of a handle, for callers that are not inside a recorded call.
pub(crate) fn known_comm(process: &Process, handle: usize) -> Option<&'static Comm> {
    process.comm(handle).or_else(|| groups::adopt(process, handle, Origin::UNKNOWN))
}

/// Hooks that `build/` generates from the table.
#[allow(unused_parens, clippy::all, clippy::pedantic)]
mod hooks {
    use core::cell::Cell;

    use dwell_measure::clock_rendezvous::is_on as counts;
    use dwell_measure::control::{after_level, before_level};
    use dwell_measure::entry::is_on;
    use dwell_measure::guard;

    use super::fortran::code_at;
    use super::shape::{Language, Plain, Shape, Words, begin, end};
    use super::startup::{before_start, finish, meet, start};
    use super::world_comms::{after_counted, before_counted};
    use super::{collectives, completion, files, groups, messages, rma};
    use crate::entry::{Entry, row};

    include!(concat!(env!("OUT_DIR"), "/mpi.rs"));
}
