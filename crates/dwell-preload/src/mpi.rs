//! MPI: hooks made from its table, and what the recorder asks of it.
//!
//! | module | is |
//! |---|---|
//! | `abi` | what differs between libraries, found at run time |
//! | `pmpi` | functions that the recorder calls itself |
//! | `shape` | what hooks have in common: arguments, and before and after |
//! | `messages`, `completion`, `collectives`, `rma`, `groups` | hooks of each shape |
//! | `everyone` | which communicators are known to have all processes |
//! | `fortran` | how arguments are passed in Fortran |
//! | `life`, `sessions` | the beginning and the end |

mod abi;
mod collectives;
mod completion;
mod everyone;
mod fortran;
mod groups;
mod life;
mod mail;
mod messages;
mod pmpi;
mod rma;
mod sessions;
mod shape;

pub(crate) use groups::comm_of;
pub(crate) use life::hide_absent;

use dwell_measure::hook::Passed;
use dwell_measure::mpi::{Comm, Origin};
use dwell_measure::process::Process;

/// The communicator of all processes.
pub(crate) fn world() -> usize {
    abi::abi().comm_world
}

/// The handle of a communicator that a variable holds. `None` if there is no variable.
pub(crate) fn comm_at(variable: Passed) -> Option<usize> {
    abi::abi().handle_in(variable, 0)
}

/// A handle that came as a word.
pub(crate) fn handle(word: usize) -> usize {
    abi::abi().handle(word)
}

/// The communicator of a handle, for callers that are not inside a recorded call.
pub(crate) fn known_comm(process: &Process, handle: usize) -> Option<&'static Comm> {
    process.comm(handle).or_else(|| groups::adopt(process, handle, Origin::UNKNOWN))
}

/// Made from the table by `build/`.
#[allow(unused_parens, clippy::all, clippy::pedantic)]
mod hooks {
    use core::cell::Cell;

    use dwell_measure::control::{after_level, before_level};
    use dwell_measure::entry::is_on;
    use dwell_measure::guard;
    use dwell_measure::meet::is_on as counts;

    use super::everyone::{after_counted, before_counted};
    use super::fortran::code_at;
    use super::life::{before_start, finish, meet, start};
    use super::shape::{Language, Plain, Shape, Words, begin, end};
    use super::{collectives, completion, groups, messages, rma};
    use crate::entry::{Entry, row};

    include!(concat!(env!("OUT_DIR"), "/mpi.rs"));
}
