//! Coarrays: teams and tokens.
//!
//! The library keeps the communicator of the current team in a variable that it exports. A team is known by
//! the communicator that was made while it was formed. Memory is known by the order in which the members of
//! a team obtained it, which is the same at each of them.

use core::ffi::c_int;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{OnceLock, RwLock};

use dwell_measure::guard::{self, guarded};
use dwell_measure::hook::{Hook, Passed};
use dwell_measure::process;
use dwell_model::operation::Operation;

use super::{State, Words, begin, end};
use crate::entry::Entry;

/// Made from the table by `build/`.
#[allow(unused_parens, unused_variables, clippy::all, clippy::pedantic)]
mod hooks {
    use dwell_measure::entry::is_on;

    use super::{Entry, Words, after, begin, end};

    include!(concat!(env!("OUT_DIR"), "/caf.rs"));
}

/// Handles of communicators, by the teams they are of.
static TEAMS: RwLock<BTreeMap<usize, usize>> = RwLock::new(BTreeMap::new());
/// Numbers of memory, by their tokens.
static TOKENS: RwLock<BTreeMap<usize, u64>> = RwLock::new(BTreeMap::new());
/// The communicator of all images, before anyone asked for it: that of MPI.
static WORLD: AtomicUsize = AtomicUsize::new(0);

/// Bits of a place that say where in memory it is; those above say which memory.
const WITHIN: u32 = 36;

/// The communicator of the current team.
pub(super) fn current_team() -> usize {
    static VARIABLE: OnceLock<usize> = OnceLock::new();
    let at = *VARIABLE.get_or_init(|| {
        // SAFETY: the name ends in zero; looking it up changes nothing.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"CAF_COMM_WORLD".as_ptr()) }.addr()
    });
    if at == 0 {
        return match WORLD.load(Ordering::Relaxed) {
            0 => {
                let world = crate::mpi::world();
                WORLD.store(world, Ordering::Relaxed);
                world
            }
            world => world,
        };
    }
    // SAFETY: not passed by the program, but a variable of the library that holds a communicator.
    let variable = unsafe { Passed::new(at) };
    crate::mpi::comm_at(variable).unwrap_or_else(crate::mpi::world)
}

/// The communicator of a team, given by the address of its handle; null is the current one.
pub(super) fn team(handle: Passed) -> usize {
    let team: usize = handle.read(0).unwrap_or(0);
    let known = TEAMS.read().ok().and_then(|teams| teams.get(&team).copied());
    known.unwrap_or_else(current_team)
}

/// The number of a place in memory, given by its token.
pub(super) fn place(token: usize, within: u64) -> Option<u64> {
    let memory = TOKENS.read().ok()?.get(&token).copied()?;
    Some(memory << WITHIN | (within.saturating_mul(8) & ((1 << WITHIN) - 1)))
}

/// Kinds of memory that images obtain by themselves: components of a coarray.
const COMPONENTS: [c_int; 2] = [7, 8];

/// Whether memory is a component, which no other image has a part in.
pub(super) fn is_component(operation: Operation, words: Words<'_>) -> bool {
    let kind = words.get(1) as c_int;
    match operation {
        Operation::Allocate => COMPONENTS.contains(&kind),
        _ => kind == 1,
    }
}

/// Takes note of what a call has made. Recorded or not: the first coarrays are there before anything is.
pub(super) fn after(hook: &Hook, words: Words<'_>, made_before: Option<usize>) {
    guarded(guard::Entry::After, || note(hook, words, made_before));
}

fn note(hook: &Hook, words: Words<'_>, made_before: Option<usize>) {
    let Some(process) = process::current().filter(|process| process.is_this()) else { return };
    // A token or team, which the call has stored where the program wanted it.
    let stored = |at: usize| words.passed(at).read::<usize>(0).unwrap_or(0);
    match hook.row.operation {
        Operation::Allocate if !is_component(Operation::Allocate, words) => {
            let Some(comm) = crate::mpi::known_comm(process, current_team()) else { return };
            if let (token @ 1.., Ok(mut tokens)) = (stored(2), TOKENS.write()) {
                tokens.insert(token, comm.memory());
            }
        }
        Operation::CreateGroup => {
            let made = dwell_measure::mpi::last_made();
            if made_before.is_some_and(|before| before != made)
                && let (team @ 1.., Ok(mut teams)) = (stored(1), TEAMS.write())
            {
                teams.insert(team, made);
            }
        }
        _ => {}
    }
}

impl State {
    /// The communicator that had been made last before the call.
    pub(super) fn made(&self) -> usize {
        self.made
    }
}
