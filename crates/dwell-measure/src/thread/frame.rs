//! Open calls, with the place of their return address on the stack.
#![allow(unsafe_code)] // The stack is read.

use std::ptr;

use otf2::id::{MatchingId, RmaWinRef};

use super::STACK;
use crate::arch;

/// A call that is open.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(super) stack: usize,
    pub(super) return_address: usize,
    /// Key of the call site: its return address, or the id of a calling context.
    pub(super) site: usize,
    pub(crate) region: u32,
    pub(super) layer: u32,
    /// The window and operation that the call began.
    pub(crate) window: RmaWinRef,
    pub(crate) id: MatchingId,
    /// Set if the operation is complete at the origin when the call returns.
    pub(crate) blocking: bool,
    pub(super) muted: bool,
    /// Rows of the call in the profile: its own, and that of the partner of its first operation.
    pub(super) row: u32,
    pub(super) partner: u32,
    /// Time at which it was entered, and total time in completed calls inside it.
    pub(super) enter: u64,
    pub(super) inside: u64,
    /// Set for the program's own code, where the place of the return address is not known.
    pub(super) own_code: bool,
    /// Layers whose calls are recorded inside this frame although it is inside a call of theirs: those of a handler.
    pub(super) hidden: u32,
    /// Id of the parameter plus one, if the frame stands for a value of a parameter and not for a call; otherwise 0.
    pub(super) parameter: u32,
}

pub(super) const NO_FRAME: Frame = Frame {
    stack: 0,
    return_address: 0,
    site: 0,
    region: 0,
    layer: 0,
    window: RmaWinRef(0),
    id: MatchingId(0),
    blocking: false,
    muted: false,
    row: 0,
    partner: 0,
    enter: 0,
    inside: 0,
    own_code: false,
    hidden: 0,
    parameter: 0,
};

impl Frame {
    /// Moves the place that shows whether the call is still open to a word that holds the return address.
    pub(crate) fn outlives_its_hook(&mut self, place: usize) {
        self.stack = place;
    }

    /// Returns `true` if the call is still on the stack, seen from a call whose return address is at `stack`.
    pub(super) fn is_alive(&self, stack: usize) -> bool {
        if self.own_code {
            // Calls that it makes are at the place from which it called the recorder, or below.
            return stack <= self.stack || stack - self.stack >= STACK;
        }
        // An older call cannot be at the place of the new call, or below it on the same stack.
        let used_again = self.stack <= stack && stack - self.stack < STACK;
        // SAFETY: it was the stack of this thread when the call was entered, and stacks stay mapped
        // while their threads run. What is there now may be anything: any bits are a number.
        !used_again
            && arch::plain(unsafe { ptr::read_volatile(self.stack as *const usize) })
                == self.return_address
    }
}
