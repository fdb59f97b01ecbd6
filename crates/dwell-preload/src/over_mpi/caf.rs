//! Coarrays: teams and tokens.
//!
//! The library exports a variable with the communicator of the current team. A team is identified by the communicator
//! that was created while it was formed. Memory is identified by the order in which the members of a team allocated it,
//! which is the same on each of them.

use core::ffi::c_int;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{OnceLock, RwLock};

use dwell_measure::guard::{self, guarded};
use dwell_measure::hook::{Hook, Passed};
use dwell_measure::process;
use dwell_model::operation::Operation;
use dwell_model::table::Group;

use super::arguments::Arguments;
use super::{Runtime, State, Words, end};
use crate::entry::Entry;

/// Hooks that `build/` generates from the table.
#[allow(unused_parens, unused_variables, clippy::all, clippy::pedantic)]
mod hooks {
    use dwell_measure::entry::is_on;

    use super::{Entry, Words, after, begin, end};

    include!(concat!(env!("OUT_DIR"), "/caf.rs"));
}

pub(crate) use hooks::ENTRIES as CAF_ENTRIES;

/// Coarrays: ranks are images of a team, and a token identifies memory.
static CAF: Runtime =
    Runtime { comm: |arguments| Some(group(arguments)), place, is_alone: is_component };

/// Records the beginning of a call.
fn begin(hook: &'static Hook, words: Words<'_>) -> Option<State> {
    super::begin(&CAF, hook, words)
}

/// Returns the communicator to which the ranks of a call refer: that of the team that it names, or of the current team.
fn group(arguments: &Arguments<'_>) -> usize {
    match arguments.places.group {
        Group::Team(at) => team(arguments.passed(at)),
        _ => current_team(),
    }
}

/// Handle of the communicator of each team, by the address of the team.
static TEAMS: RwLock<BTreeMap<usize, usize>> = RwLock::new(BTreeMap::new());
/// Number of each block of memory, by its token.
static TOKENS: RwLock<BTreeMap<usize, u64>> = RwLock::new(BTreeMap::new());
/// First address of each block of memory on this image, with its number and its length in bytes.
static BLOCKS: RwLock<BTreeMap<usize, (u64, usize)>> = RwLock::new(BTreeMap::new());
/// Communicator of all images if the library does not export the current one: that of MPI. 0 until it is first needed.
static WORLD: AtomicUsize = AtomicUsize::new(0);

/// Number of low bits of a place in memory that hold the offset within a block; the bits above hold the number of the
/// block.
const WITHIN: u32 = 36;

/// Returns the communicator of the current team.
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

/// Returns the communicator of the team whose handle is at an address. A null address or an unknown team means the
/// current team.
pub(super) fn team(handle: Passed) -> usize {
    let team: usize = handle.read(0).unwrap_or(0);
    let known = TEAMS.read().ok().and_then(|teams| teams.get(&team).copied());
    known.unwrap_or_else(current_team)
}

/// Returns the number of a place in memory from a token and an offset in bytes, or `None` if the token is unknown.
fn place(token: usize, within: u64) -> Option<u64> {
    let memory = TOKENS.read().ok()?.get(&token).copied()?;
    Some(memory << WITHIN | (within & ((1 << WITHIN) - 1)))
}

/// Returns the number of the place in memory at an address of this image, or `None` if the library has not registered
/// memory there. The number is the same on all images of the team that allocated it.
pub(super) fn memory_at(address: usize) -> Option<u64> {
    let blocks = BLOCKS.read().ok()?;
    let (start, (memory, length)) = blocks.range(..=address).next_back()?;
    let within = address - start;
    (within < *length).then_some(memory << WITHIN | (within as u64 & ((1 << WITHIN) - 1)))
}

/// Kinds of memory that an image allocates on its own: allocatable components of a coarray.
const COMPONENTS: [c_int; 2] = [7, 8];

/// Returns `true` if the memory is a component of a coarray, which an image allocates and frees without the others.
fn is_component(operation: Operation, words: Words<'_>) -> bool {
    let kind = words.get(1) as c_int;
    match operation {
        Operation::Allocate => COMPONENTS.contains(&kind),
        _ => kind == 1,
    }
}

/// Stores the token or team that a call has created. This happens whether the call is recorded or not, because the
/// first coarrays are allocated before recording begins.
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
                let memory = comm.memory();
                tokens.insert(token, memory);
                // The descriptor begins with the address. Locks and events are counted in elements, of a word at most.
                if let (start @ 1.., Ok(mut blocks)) = (stored(3), BLOCKS.write()) {
                    blocks.insert(start, (memory, words.get(0).saturating_mul(8)));
                }
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
    /// Returns the communicator that was created most recently before the call.
    pub(super) fn made(&self) -> usize {
        self.made
    }
}
