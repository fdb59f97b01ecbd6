//! Coarrays: teams, tokens, and how gfortran describes arrays.
//!
//! The library keeps the communicator of the current team in a variable that it exports. A team is known by
//! the communicator that was made while it was formed. Memory is known by the order in which the members of
//! a team obtained it, which is the same at each of them.

use core::ffi::{c_int, c_void};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{OnceLock, RwLock};

use dwell_measure::hook::Hook;
use dwell_measure::process;
use dwell_model::operation::Operation;

use super::{State, begin, end};
use crate::entry::Entry;

/// Made from the table by `build/`.
#[allow(unused_parens, unused_variables, clippy::all, clippy::pedantic)]
mod hooks {
    use dwell_measure::entry::is_on;

    use super::{Entry, after, begin, end};

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
    // SAFETY: a variable of the library that holds a communicator.
    unsafe { crate::mpi::comm_at(at) }
}

/// The communicator of a team, given by the address of its handle.
pub(super) fn team(address: usize) -> usize {
    // SAFETY: the program passed the address of a team, or null for the current one.
    let team = if address == 0 { 0 } else { unsafe { (address as *const usize).read_unaligned() } };
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
pub(super) fn is_component(operation: Operation, words: &[usize]) -> bool {
    let kind = words.get(1).map_or(0, |word| *word as c_int);
    match operation {
        Operation::Allocate => COMPONENTS.contains(&kind),
        _ => kind == 1,
    }
}

/// Takes note of what a call has made. Recorded or not: the first coarrays are there before anything is.
pub(super) fn after(hook: &Hook, words: &[usize], made_before: Option<usize>) {
    let Some(process) = process::current().filter(|process| process.is_this()) else { return };
    let stored = |at: usize| match words.get(at) {
        // SAFETY: the program passed the address for a token or team to be stored at, and the call did.
        Some(address) if *address != 0 => unsafe { (*address as *const usize).read_unaligned() },
        _ => 0,
    };
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

/// An array as gfortran describes it, since version 8.
#[repr(C)]
struct Descriptor {
    base: *mut c_void,
    offset: usize,
    element: usize,
    version: i32,
    rank: i8,
    kind: i8,
    attribute: i16,
    span: isize,
    dimensions: [Dimension; 15],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Dimension {
    stride: isize,
    lower: isize,
    upper: isize,
}

/// A subscript of one dimension: a list of indices, or from, to and step.
#[repr(C)]
#[derive(Clone, Copy)]
struct Subscript {
    listed: usize,
    words: [isize; 3],
}

/// Elements from one index to another.
fn extent(from: isize, to: isize, step: isize) -> u64 {
    match to.checked_sub(from).and_then(|width| width.checked_div(step)) {
        Some(steps) if steps >= 0 => steps.cast_unsigned() as u64 + 1,
        _ => 0,
    }
}

/// Elements of an array, with lists of subscripts or without.
///
/// # Safety
/// Both are addresses of what they are said to be, or null.
unsafe fn elements(descriptor: *const Descriptor, vector: *const Subscript) -> u64 {
    // SAFETY: there are as many dimensions as the rank says, and a subscript for each.
    unsafe {
        let rank = usize::try_from((*descriptor).rank).unwrap_or(0).min(15);
        let dimensions = (&raw const (*descriptor).dimensions).cast::<Dimension>();
        (0..rank)
            .map(|at| {
                let Dimension { lower, upper, .. } = dimensions.add(at).read_unaligned();
                if vector.is_null() {
                    return extent(lower, upper, 1);
                }
                match vector.add(at).read_unaligned() {
                    Subscript { listed: 0, words: [from, to, step] } => extent(from, to, step),
                    Subscript { listed, .. } => listed as u64,
                }
            })
            .fold(1, u64::saturating_mul)
    }
}

/// Bytes of a section.
///
/// # Safety
/// As [`elements`].
pub(super) unsafe fn section(descriptor: usize, vector: usize) -> u64 {
    let descriptor = descriptor as *const Descriptor;
    if descriptor.is_null() {
        return 0;
    }
    // SAFETY: as promised.
    unsafe {
        let size = (&raw const (*descriptor).element).read_unaligned() as u64;
        elements(descriptor, vector as *const Subscript).saturating_mul(size)
    }
}

/// One link of the chain from a coarray to a part of it.
#[repr(C)]
struct Reference {
    next: *const Reference,
    kind: c_int,
    item: usize,
    modes: [u8; 15],
    static_kind: c_int,
    dimensions: [[isize; 3]; 15],
}

const COMPONENT: c_int = 0;
/// How a dimension is referred to.
const NONE: u8 = 0;
const LISTED: u8 = 1;
const RANGE: u8 = 3;
const SINGLE: u8 = 4;

/// Bytes that a chain of references leads to. Where it says "all", only the target knows how many
/// elements that are; the array on this side has as many.
///
/// # Safety
/// Both are addresses of what they are said to be, or null.
pub(super) unsafe fn referenced(chain: usize, descriptor: usize) -> u64 {
    let (mut link, mut known, mut item) = (chain as *const Reference, Some(1_u64), 0);
    // SAFETY: each link leads to the next, and the last to none; a component has no dimensions.
    unsafe {
        while !link.is_null() {
            item = (*link).item as u64;
            if (*link).kind != COMPONENT {
                let modes = (*link).modes.iter().zip(&(*link).dimensions);
                for (mode, [first, second, third]) in modes.take_while(|(mode, _)| **mode != NONE) {
                    let here = match *mode {
                        SINGLE => Some(1),
                        RANGE => Some(extent(*first, *second, *third)),
                        LISTED => Some(second.cast_unsigned() as u64),
                        _ => None,
                    };
                    known = known.zip(here).map(|(all, here)| all.saturating_mul(here));
                }
            }
            link = (*link).next;
        }
        let descriptor = descriptor as *const Descriptor;
        let count = match known {
            Some(count) => count,
            None if descriptor.is_null() => 0,
            None => elements(descriptor, core::ptr::null()),
        };
        count.saturating_mul(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(rank: i8, dimensions: &[(isize, isize)]) -> Descriptor {
        let mut all = [Dimension { stride: 1, lower: 0, upper: 0 }; 15];
        for (place, (lower, upper)) in all.iter_mut().zip(dimensions) {
            (place.lower, place.upper) = (*lower, *upper);
        }
        let base = core::ptr::null_mut();
        let (offset, element, version, kind, attribute, span) = (0, 8, 0, 3, 0, 8);
        Descriptor { base, offset, element, version, rank, kind, attribute, span, dimensions: all }
    }

    #[test]
    fn sizes_of_sections() {
        let matrix = array(2, &[(1, 10), (0, 2)]);
        let at = (&raw const matrix) as usize;
        let subscripts =
            [Subscript { listed: 4, words: [0; 3] }, Subscript { listed: 0, words: [0, 2, 2] }];
        let scalar = array(0, &[]);
        let empty = array(1, &[(1, 0)]);
        // SAFETY: all are what they are said to be.
        unsafe {
            assert_eq!(section(at, 0), 240);
            assert_eq!(section(at, subscripts.as_ptr() as usize), 64);
            assert_eq!(section((&raw const scalar) as usize, 0), 8);
            assert_eq!(section((&raw const empty) as usize, 0), 0);
            assert_eq!(section(0, 0), 0);
        }
    }

    #[test]
    fn sizes_of_references() {
        let link = |kind, modes: &[u8], dimensions: [[isize; 3]; 2]| {
            let mut all = ([NONE; 15], [[0; 3]; 15]);
            all.0[..modes.len()].copy_from_slice(modes);
            all.1[..2].copy_from_slice(&dimensions);
            let next = core::ptr::null();
            let (item, static_kind) = (4, 0);
            Reference { next, kind, item, modes: all.0, static_kind, dimensions: all.1 }
        };
        let mut range = link(1, &[RANGE, SINGLE], [[1, 9, 2], [3, 3, 1]]);
        let component = link(COMPONENT, &[], [[0; 3]; 2]);
        let all = link(1, &[2], [[0; 3]; 2]);
        range.next = &raw const component;
        let other = array(1, &[(1, 7)]);
        // SAFETY: all are what they are said to be.
        unsafe {
            assert_eq!(referenced((&raw const range) as usize, 0), 20);
            let other = (&raw const other) as usize;
            assert_eq!(referenced((&raw const all) as usize, other), 28);
            assert_eq!(referenced((&raw const all) as usize, 0), 0);
        }
        assert_eq!(core::mem::size_of::<Reference>(), 408);
        assert_eq!(core::mem::offset_of!(Reference, dimensions), 48);
        assert_eq!(core::mem::size_of::<Subscript>(), 32);
        assert_eq!(core::mem::offset_of!(Descriptor, dimensions), 40);
    }
}
