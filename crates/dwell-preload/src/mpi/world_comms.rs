//! Communicators of all processes: `MPI_COMM_WORLD` and its duplicates.
//!
//! Clocks are compared in collectives on these communicators. All processes must agree on them, whatever each of them
//! records, so this list is separate from the communicators that the recorder knows only while it records. A
//! communicator that was duplicated by other functions, or where the hooks do not see it, is treated like any other.
//!
//! Threads may use two communicators at the same time, and then each process in another order. So in programs with
//! `MPI_THREAD_MULTIPLE` only `MPI_COMM_WORLD` counts.

use core::ffi::c_int;
use std::sync::{OnceLock, PoisonError, RwLock};

use dwell_measure::clock_rendezvous;
use dwell_measure::guard::{Entry, guarded, guarded_option};
use dwell_measure::hook::Hook;
use dwell_model::operation::{self, Operation};
use dwell_model::table::Duty;

use super::abi::abi;
use super::shape::{Args, Kind, Words};
use super::startup;

/// Handles of the duplicates of `MPI_COMM_WORLD`, and of their duplicates.
static COPIES: RwLock<Vec<usize>> = RwLock::new(Vec::new());

/// A call that concerns all processes, whatever each of them records.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// A collective that no process leaves before all have entered it, with the number of such calls before it.
    Meets(u64),
    /// A call that duplicates a communicator of all processes.
    Copies,
}

/// Examines a call before it is made, whether it is recorded or not. This is separate from the recording of the call,
/// so that a panic there does not keep this process from meetings that other processes expect.
#[inline(never)]
pub(super) fn before_counted(hook: &'static Hook, words: &Words<'_>) -> Option<Counted> {
    guarded_option(Entry::Meet, || {
        let args = Args::of(words);
        match hook.row.duty {
            Duty::Duplicate => are_copied(&args).then_some(Counted::Copies),
            Duty::Free => {
                args.handle_at(Kind::Comm, args.places.ended).inspect(|comm| freed(*comm));
                None
            }
            _ => {
                clock_rendezvous::before(hook.layer).filter(|_| gathers(&args)).map(Counted::Meets)
            }
        }
    })
}

/// Completes the examination after the call has returned `result`. Calls that failed are ignored.
#[inline(never)]
pub(super) fn after_counted(counted: Counted, words: &Words<'_>, result: c_int) {
    // The library refused a call that failed, so other processes do not wait in it.
    if result != 0 {
        return;
    }
    guarded(Entry::Meet, || match counted {
        Counted::Meets(before) => startup::met(before),
        Counted::Copies => copied(&Args::of(words)),
    });
}

/// Returns `true` if a call synchronises all processes: its communicator contains them all, and no process can leave
/// the operation before all have entered it. Without data a library may let them leave.
fn gathers(args: &Args<'_>) -> bool {
    use operation::Collective as C;
    let moves = |bytes| args.bytes(bytes, 0) > 0;
    args.comm().is_some_and(are_in)
        && match args.operation() {
            Operation::Collective(C::Sync) => true,
            Operation::Collective(C::AllReduce) => moves(args.places.bytes),
            Operation::Collective(C::AllGather | C::AllToAll) => moves(args.places.received),
            _ => false,
        }
}

/// Returns `true` if a communicator is known to contain all processes.
fn are_in(comm: usize) -> bool {
    let copies = || COPIES.read().unwrap_or_else(PoisonError::into_inner);
    comm == abi().comm_world || copies().contains(&comm)
}

/// Returns `true` if a call duplicates a communicator of all processes and duplicates are counted.
fn are_copied(args: &Args<'_>) -> bool {
    clock_rendezvous::is_on() && !several_threads() && args.comm().is_some_and(are_in)
}

/// Adds the communicator that a call has made to the duplicates.
fn copied(args: &Args<'_>) {
    let Some(comm) = args.handle_at(Kind::Comm, args.places.created) else { return };
    let mut copies = COPIES.write().unwrap_or_else(PoisonError::into_inner);
    // If the function of one language calls that of another, both arrive here with the same communicator.
    if !copies.contains(&comm) {
        copies.push(comm);
    }
}

/// Removes a communicator that the program frees from the duplicates.
fn freed(comm: usize) {
    if clock_rendezvous::is_on() {
        let mut copies = COPIES.write().unwrap_or_else(PoisonError::into_inner);
        copies.retain(|copy| *copy != comm);
    }
}

/// Returns `true` if several threads may call MPI at the same time.
fn several_threads() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| startup::thread_level() == startup::MULTIPLE)
}
