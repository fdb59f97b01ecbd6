//! Communicators of all processes: the world, and duplicates of it.
//!
//! Clocks are compared in collectives on these, so all processes must know the same ones, whatever each of them
//! records: this is kept apart from what the recorder knows of communicators, which ends with the recording. Who
//! duplicates by other functions, or where the recorder does not see it, has a communicator like any other.
//!
//! Threads may use two communicators at once, and then each process in an order of its own. Where the program has
//! asked to be allowed to, only the world counts.

use std::sync::{OnceLock, RwLock};

use dwell_measure::meet;

use super::abi::abi;
use super::life;
use super::shape::{Args, Kind};

/// Duplicates of the world, and of these.
static COPIES: RwLock<Vec<usize>> = RwLock::new(Vec::new());

/// Functions that make and end them, which are seen even if they are not recorded.
const MAKE: [&str; 2] = ["MPI_Comm_dup", "MPI_Comm_dup_with_info"];

/// Whether a communicator is known to have all processes.
pub(super) fn are_in(comm: usize) -> bool {
    comm == abi().comm_world || COPIES.read().is_ok_and(|copies| copies.contains(&comm))
}

/// Whether a call makes a duplicate of one that has all processes, and it matters.
pub(super) fn are_copied(args: &Args<'_>, function: &str) -> bool {
    meet::is_on()
        && MAKE.contains(&function)
        && !several_threads()
        && args.comm().is_some_and(are_in)
}

/// The call was made.
pub(super) fn copied(args: &Args<'_>) {
    let Some(comm) = args.handle_at(Kind::Comm, args.places.created) else { return };
    // Of functions that call each other for another language, each comes here.
    if let Ok(mut copies) = COPIES.write()
        && !copies.contains(&comm)
    {
        copies.push(comm);
    }
}

/// A communicator ends.
pub(super) fn freed(comm: usize) {
    if meet::is_on()
        && let Ok(mut copies) = COPIES.write()
    {
        copies.retain(|copy| *copy != comm);
    }
}

/// Whether several threads may call the library at once.
fn several_threads() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| life::thread_level() == life::MULTIPLE)
}
