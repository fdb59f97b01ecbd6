//! Finds the functions of the program through which a call came, from the stack.
//!
//! Frames are found by the tables that compilers write for exceptions (`.eh_frame`), which programs have whether they
//! use exceptions or not. What a table says of one return address is looked up once and kept as a *rule*: where the
//! frame ends and where the caller's frame pointer is. So a frame costs a look-up in a table of the recorder and one or
//! two reads of the stack; no lock is taken, and nothing is allocated.
//!
//! # Invariants
//! * Only the stack of the calling thread is read, between where it is and where its mapping ends, upwards.
//! * The state of the program's own unwinding is not touched: exceptions are as they were.
//!
//! # Limits
//! A frame that the tables describe by an expression (a signal handler's) ends the walk, unless the expression is one of
//! those that the [processor](arch) knows: compilers write a few, always in the same way. Code that was made at run time
//! ends it too. Rules of a library that was closed, and in whose place another was loaded, are those of the old
//! one: what is found then may be wrong, but nothing else is read than the stack.
#![allow(unsafe_code)] // The stack and the tables of loaded modules are reached by address.

use std::cell::Cell;
use std::io;

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, Expression, NativeEndian, Pointer, Register,
    RegisterRule, UnwindContext, UnwindContextStorage, UnwindExpression, UnwindSection,
    UnwindTableRow,
};

use crate::arch;
pub(crate) use crate::arch::Place;
use crate::lock::Lock;
use crate::modules;
use crate::modulo::Modulo;
use crate::sites::Sites;
use crate::stack;
use crate::wrapping::memo::Seen;

/// Frames that are looked at, at most.
pub(crate) use dwell_unify::facts::DEPTH;

/// Rules that have been looked up, by return address.
#[derive(Debug)]
pub(crate) struct Rules {
    known: Sites,
    turn: Lock<()>,
}

/// Rule for leaving a frame: where it ends, and where the return address and the frame pointer of its caller are. What
/// its bits mean depends on the [processor](arch), except the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule(u32);

/// The walk ends here, because no rule can express how to leave the frame.
const STOP: Rule = Rule(1 << 31);

/// The program or a thread begins here, or no module has the code.
const END: Rule = Rule(1 << 31 | 1);

/// The stack that a thread was on last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stack {
    start: usize,
    end: usize,
}

impl Stack {
    /// Returns `true` if a word at this address may be read.
    fn has(&self, at: usize) -> bool {
        at >= self.start
            && at < self.end
            && self.end - at >= size_of::<usize>()
            && at.is_multiple_of(8)
    }

    /// Returns a word of it.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> Option<usize> {
        read(self, at)
    }

    /// Makes sure that it is the stack that an address is on.
    pub(crate) fn find(&mut self, at: usize) {
        if at < self.start || at >= self.end {
            *self = mapping(at).unwrap_or_default();
        }
    }
}

impl Rules {
    pub(crate) fn new() -> io::Result<Self> {
        modules::prepare();
        Ok(Self { known: Sites::new()?, turn: Lock::new(()) })
    }

    /// Bytes of memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.known.bytes()
    }

    /// The return addresses of the frames from a place on, the innermost first. Returns how many there are. One that
    /// nobody returns to, where the program or a thread begins, is not among them unless it is the first.
    pub(crate) fn walk(&self, mut place: Place, stack: &mut Stack, into: &mut [usize]) -> usize {
        stack.find(place.stack);
        let mut count = 0;
        for to in into.iter_mut() {
            let rule = self.rule(place.address);
            if rule == END && count > 0 {
                break;
            }
            *to = place.address;
            count += 1;
            let Some(next) = leave(rule, place, stack) else { break };
            place = next;
        }
        count
    }

    /// Leaves a frame, and notes the words of the stack that this depends on.
    pub(crate) fn leave(&self, place: Place, stack: &Stack, seen: &mut Seen) -> Option<Place> {
        let rule = self.rule(place.address);
        if rule.0 & STOP.0 != 0 {
            return None;
        }
        // A rule reads the return address first.
        let words = Cell::new(([(0, 0); 3], 0));
        let read = |at| {
            let value = read(stack, at)?;
            let (mut list, count) = words.get();
            if let Some(place) = list.get_mut(count) {
                *place = (at, value);
            }
            words.set((list, count + 1));
            Some(value)
        };
        let next = leave_by(rule, place, read)?;
        let by_frame = arch::is_from_frame(rule.0);
        if by_frame {
            seen.by_frame();
        }
        let (list, count) = words.get();
        for (number, (at, value)) in list.into_iter().take(count).enumerate() {
            seen.add(at, value, number > 0 && !by_frame);
        }
        Some(next)
    }

    fn rule(&self, address: usize) -> Rule {
        if let Some(rule) = self.known.find(address) {
            return Rule(rule);
        }
        let look_up = || look_up(address).unwrap_or(END);
        let rule = stack::apart(stack::FOR_A_THREAD, look_up);
        self.turn.with(|()| self.known.add_numbered(address, || Some(rule.0)));
        rule
    }
}

/// The caller's place.
#[inline]
fn leave(rule: Rule, place: Place, stack: &Stack) -> Option<Place> {
    if rule.0 & STOP.0 != 0 {
        return None;
    }
    leave_by(rule, place, |at| read(stack, at))
}

#[inline]
fn leave_by(rule: Rule, place: Place, read: impl Fn(usize) -> Option<usize>) -> Option<Place> {
    let next = arch::leave(rule.0, place, read)?;
    // Upwards only: whatever is there, the way has an end.
    (next.stack > place.stack && next.address > 4096).then_some(next)
}

/// A word of the stack.
fn read(stack: &Stack, at: usize) -> Option<usize> {
    // SAFETY: it is within the mapping that the calling thread's stack is in, which stays while the thread is there.
    stack.has(at).then(|| unsafe { std::ptr::read_volatile(at as *const usize) })
}

/// Room for what a table says, on a stack of the recorder's own.
struct Room;

impl UnwindContextStorage<usize> for Room {
    type Rules = [(Register, RegisterRule<usize>); 32];
    type Stack = [UnwindTableRow<usize, Self>; 4];
}

/// Looks up the rule for a return address in the tables of its module. Returns `None` if there is no module.
#[cold]
#[inline(never)]
fn look_up(address: usize) -> Option<Rule> {
    // The call is before it, and may be the last instruction of its function.
    let at = address.checked_sub(1)?;
    let mut found = None;
    modules::find(at, |module| {
        // SAFETY: the module is loaded while the loader finds it, since the thread is on its way back to it.
        let rule = unsafe { module.frame_tables() }
            .and_then(|(header, header_at)| rule_of(header, header_at, at));
        found = Some(rule.unwrap_or(STOP));
    });
    found
}

/// The rule that the tables of a module have for an address: `header` is all that is mapped from `.eh_frame_hdr` on.
fn rule_of(header: &'static [u8], header_at: usize, address: usize) -> Option<Rule> {
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_at as u64);
    let table = EhFrameHdr::new(header, NativeEndian).parse(&bases, 8).ok()?;
    let Pointer::Direct(frames_at) = table.eh_frame_ptr() else { return None };
    let frames_at = usize::try_from(frames_at).ok()?;
    let bases = bases.set_eh_frame(frames_at as u64);
    // Linkers put it behind its header, in the same segment.
    let frames = header.get(frames_at.checked_sub(header_at)?..)?;
    let mut frames: EhFrame<EndianSlice<'_, NativeEndian>> = EhFrame::new(frames, NativeEndian);
    frames.set_vendor(arch::TABLES);
    let mut context = UnwindContext::<usize, Room>::new_in();
    let row = table
        .table()?
        .unwind_info_for_address(
            &frames,
            &bases,
            &mut context,
            address as u64,
            EhFrame::cie_from_offset,
        )
        .ok()?;
    if row.register(arch::RETURN) == Some(RegisterRule::Undefined) {
        return Some(END);
    }
    let expression = |it: UnwindExpression<usize>| {
        let found: Expression<EndianSlice<'_, NativeEndian>> = it.get(&frames).ok()?;
        Some(found.0.slice())
    };
    arch::rule(row, expression).map(Rule)
}

/// The mapping that an address is in, by what the kernel says. Allocates nothing.
#[cold]
#[inline(never)]
fn mapping(address: usize) -> Option<Stack> {
    // SAFETY: the path ends in zero.
    let file = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // A line begins with `start-end `; the rest of it does not matter.
    let (mut numbers, mut which, mut found) = ([0_usize; 2], 0, None);
    let mut room = [0_u8; 1024];
    'file: loop {
        // SAFETY: the file was opened above, and there is room.
        let count = unsafe { libc::read(file, room.as_mut_ptr().cast(), room.len()) };
        let Ok(count @ 1..) = usize::try_from(count) else { break };
        for &byte in room.get(..count).unwrap_or_default() {
            match (byte, (byte as char).to_digit(16)) {
                (b'\n', _) => (numbers, which) = ([0; 2], 0),
                (b'-', _) if which == 0 => which = 1,
                (_, Some(digit)) if which < 2 => {
                    let number = numbers.modulo_mut(which);
                    *number = *number << 4 | digit as usize;
                }
                _ if which == 1 => {
                    which = 2;
                    let [start, end] = numbers;
                    if (start..end).contains(&address) {
                        found = Some(Stack { start, end });
                        break 'file;
                    }
                }
                _ => which = 2,
            }
        }
    }
    // SAFETY: it was opened above.
    unsafe { libc::close(file) };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_is_a_mapping() {
        let here = 0_u64;
        let at = (&raw const here).addr();
        let stack = mapping(at).expect("there is /proc");
        assert!((stack.start..stack.end).contains(&at));
        assert!(mapping(8).is_none());
    }

    #[test]
    fn every_function_has_a_rule() {
        // Somewhere in this one, and in the C library.
        let here = every_function_has_a_rule as fn() as usize + 16;
        assert!(look_up(here).is_some_and(|rule| rule != STOP));
        // On AArch64 a function has a rule once it has stored its return address.
        let there = libc::qsort_r as *const () as usize;
        let has_rule = |at: usize| look_up(there + at).is_some_and(|rule| rule != STOP);
        assert!((8..64).step_by(4).any(has_rule));
        assert_eq!(look_up(4096), None);
    }
}
