//! MPI: hooks made from its table, and what the recorder asks of it.
//!
//! | module | is |
//! |---|---|
//! | `abi` | what differs between libraries, found at run time |
//! | `pmpi` | functions that the recorder calls itself |
//! | `shape` | what hooks have in common: arguments, and before and after |
//! | `messages`, `completion`, `collectives`, `rma`, `groups` | hooks of each shape |
//! | `fortran` | how arguments are passed in Fortran |
//! | `life`, `sessions` | the beginning and the end |

mod abi;
mod collectives;
mod completion;
mod fortran;
mod groups;
mod life;
mod messages;
mod pmpi;
mod rma;
mod sessions;
mod shape;

pub(crate) use life::hide_absent;

/// Made from the table by `build/`.
#[allow(unused_parens, clippy::all, clippy::pedantic)]
mod hooks {
    use dwell_measure::control::{after_level, before_level};
    use dwell_measure::entry::is_on;

    use super::fortran::code_at;
    use super::life::{before_start, finish, meet, start};
    use super::shape::{Language, Plain, Shape, Words, begin, end};
    use super::{collectives, completion, groups, messages, rma};
    use crate::entry::Entry;

    include!(concat!(env!("OUT_DIR"), "/mpi.rs"));
}
