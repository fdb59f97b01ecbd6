//! Communicators of all processes: the world, and duplicates of it.
//!
//! Clocks are compared in collectives on these, so all processes must know the same ones, whatever each of them
//! records: this is kept apart from what the recorder knows of communicators, which ends with the recording. Who
//! duplicates by other functions, or where the recorder does not see it, has a communicator like any other.
//!
//! Threads may use two communicators at once, and then each process in an order of its own. Where the program has
//! asked to be allowed to, only the world counts.

use core::ffi::c_int;
use std::sync::{OnceLock, PoisonError, RwLock};

use dwell_measure::guard::{Entry, guarded, guarded_option};
use dwell_measure::hook::Hook;
use dwell_measure::meet;
use dwell_model::operation::{self, Operation};

use super::abi::abi;
use super::life;
use super::shape::{Args, Kind, Words};

/// Duplicates of the world, and of these.
static COPIES: RwLock<Vec<usize>> = RwLock::new(Vec::new());

/// Functions that make and end them, which are seen even if they are not recorded.
const MAKE: [&str; 2] = ["MPI_Comm_dup", "MPI_Comm_dup_with_info"];

/// A call that matters to all processes, whatever each of them records.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// All processes are together when it ends. The number of such calls before it.
    Meets(u64),
    /// It duplicates a communicator that has all processes.
    Copies,
}

/// What hooks of such calls do first, recorded or not. Apart from the recording of the call, so that a panic there
/// does not keep this process from calls that others count on.
#[inline(never)]
pub(super) fn before_counted(hook: &'static Hook, words: &Words<'_>) -> Option<Counted> {
    guarded_option(Entry::Meet, || {
        let args = Args::of(words);
        match args.operation() {
            Operation::CreateGroup => are_copied(&args, hook.row.name()).then_some(Counted::Copies),
            Operation::DestroyGroup => {
                args.handle_at(Kind::Comm, args.places.ended).inspect(|comm| freed(*comm));
                None
            }
            _ => meet::before(hook.layer).filter(|_| gathers(&args)).map(Counted::Meets),
        }
    })
}

/// What they do last.
#[inline(never)]
pub(super) fn after_counted(counted: Counted, words: &Words<'_>, result: c_int) {
    // One that failed was refused, and is not what others are in.
    if result != 0 {
        return;
    }
    guarded(Entry::Meet, || match counted {
        Counted::Meets(before) => life::met(before),
        Counted::Copies => copied(&Args::of(words)),
    });
}

/// Whether all processes are together when a call ends: those of a communicator that has all, in an operation
/// that nobody can leave before all have come. Without a byte to move a library may let them.
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

/// Whether a communicator is known to have all processes.
fn are_in(comm: usize) -> bool {
    let copies = || COPIES.read().unwrap_or_else(PoisonError::into_inner);
    comm == abi().comm_world || copies().contains(&comm)
}

/// Whether a call makes a duplicate of one that has all processes, and it matters.
fn are_copied(args: &Args<'_>, function: &str) -> bool {
    meet::is_on()
        && MAKE.contains(&function)
        && !several_threads()
        && args.comm().is_some_and(are_in)
}

/// The call was made.
fn copied(args: &Args<'_>) {
    let Some(comm) = args.handle_at(Kind::Comm, args.places.created) else { return };
    let mut copies = COPIES.write().unwrap_or_else(PoisonError::into_inner);
    // Of functions that call each other for another language, each comes here.
    if !copies.contains(&comm) {
        copies.push(comm);
    }
}

/// A communicator ends.
fn freed(comm: usize) {
    if meet::is_on() {
        let mut copies = COPIES.write().unwrap_or_else(PoisonError::into_inner);
        copies.retain(|copy| *copy != comm);
    }
}

/// Whether several threads may call the library at once.
fn several_threads() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| life::thread_level() == life::MULTIPLE)
}
