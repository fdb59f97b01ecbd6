//! Runtimes that are linked into the program statically, with their hooks: ARMCI and Global Arrays.
//!
//! The C code of `dwell-link` calls the two functions here before and after the real one. It identifies a function by
//! the address of a variable of this library. The address is null if the library of this version lacks the variable.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use dwell_measure::entry::{called_from, frame_of, is_on};
use dwell_measure::guard::{Entry, guarded};
use dwell_measure::hook::Hook;
use dwell_model::operation::Operation;
use dwell_model::table::{Group, Table};

use super::arguments::Arguments;
use super::{REGIONS, Runtime, State, Words, begin, end};
use crate::entry::row;

/// Entry of a function that is linked into programs.
struct Linked {
    hook: Hook,
    runtime: &'static Runtime,
}

impl Linked {
    const fn new(table: &'static Table, index: usize, runtime: &'static Runtime) -> Self {
        Self { hook: Hook::new(table, row(table, index)), runtime }
    }
}

/// ARMCI: ranks are those of a group, and an address identifies memory at its process.
static ARMCI: Runtime = Runtime {
    comm: |arguments| Some(group(arguments)),
    place: |memory, _| Some(memory as u64),
    is_alone: |_, _| false,
};

include!(concat!(env!("OUT_DIR"), "/link.rs"));

/// Number of words that the C code reserves for the state of a call.
const STATE: usize = 16;
const _: () = assert!(size_of::<State>() <= STATE * size_of::<usize>());
const _: () = assert!(align_of::<State>() <= align_of::<usize>());

/// Records the beginning of a call. Returns 1 if the call is recorded; the caller must then call [`dwell_link_end`].
///
/// # Safety
/// `entry` is the address of one of the variables above, `words` that of as many words as its function has arguments,
/// `site` and `stack` are the return address of the hook and its place on the stack, and `state` is the address of
/// [`STATE`] words.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_link_begin(
    entry: *const c_void,
    words: *const usize,
    site: *const c_void,
    stack: *const c_void,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as promised.
    let (linked, words) = unsafe { parts(entry, words) };
    let hook = &linked.hook;
    note_world(hook, words);
    if !is_on() {
        return 0;
    }
    // The hook asks for its frame, so the caller's is stored next to the return address.
    // SAFETY: both are on the stack of this thread, in the frame of the hook that called, until it returns.
    unsafe { called_from(site.addr(), stack.addr(), frame_of(site.addr(), stack.addr())) };
    match begin(linked.runtime, hook, words) {
        None => 0,
        Some(began) => {
            // SAFETY: as promised, there is room, and it is aligned for words.
            unsafe { state.cast::<MaybeUninit<State>>().write(MaybeUninit::new(began)) };
            1
        }
    }
}

/// Records the end of a call.
///
/// # Safety
/// `entry` and `words` are those of the call of [`dwell_link_begin`] that returned 1 and filled `state`. `state` is
/// used once.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_link_end(
    entry: *const c_void,
    words: *const usize,
    state: *mut c_void,
) {
    // SAFETY: as promised; the state is used once.
    unsafe {
        let (linked, words) = parts(entry, words);
        end(state.cast::<State>().read(), &linked.hook, words);
    }
}

/// Returns the entry and the arguments of a call.
///
/// # Safety
/// `entry` and `words` are as [`dwell_link_begin`] requires.
unsafe fn parts<'a>(entry: *const c_void, words: *const usize) -> (&'static Linked, Words<'a>) {
    // SAFETY: as promised; variables are never freed, and the words are what the program passed.
    unsafe {
        let linked = &*entry.cast::<Linked>();
        let count = linked.hook.row.arguments.types().len();
        (linked, Words::new(core::slice::from_raw_parts(words, count)))
    }
}

/// Communicator on which ARMCI was initialised; 0 means all processes.
static WORLD: AtomicUsize = AtomicUsize::new(0);

/// Stores the communicator on which a program initialises ARMCI, which may have fewer than all processes.
fn note_world(hook: &Hook, words: Words<'_>) {
    guarded(Entry::Before, || {
        if let (Operation::Initialise, Some(at)) = (hook.row.operation, hook.row.places.context) {
            WORLD.store(crate::mpi::handle(words.get(at.index())), Ordering::Relaxed);
        }
    });
}

/// Returns the communicator to which the ranks of a call of ARMCI refer. The handle of a group begins with its
/// communicator.
fn group(arguments: &Arguments<'_>) -> usize {
    if let Group::Team(at) = arguments.places.group
        && let Some(comm) = crate::mpi::comm_at(arguments.passed(at))
    {
        return comm;
    }
    match WORLD.load(Ordering::Relaxed) {
        0 => crate::mpi::world(),
        world => world,
    }
}
