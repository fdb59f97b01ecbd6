//! Returning to calls and leaving them.
#![allow(unsafe_code)] // A call has a pointer to its location.

use std::ffi::c_void;
use std::ptr::NonNull;

use otf2::encode::Part;
use otf2::event::Leave;
use otf2::id::{RegionRef, Time};

use super::frame::Frame;
use super::{Busy, DEPTH, Location, Thread, place_of};
use crate::entry::{self, Quiet};
use crate::faults::{Entry, pass};
use crate::modulo::Modulo;

/// A recorded call that has been entered. The hook must leave it after the real function has returned, on the same
/// thread.
#[derive(Debug)]
#[must_use]
pub struct Call {
    pub(super) location: NonNull<Location>,
    pub(super) depth: usize,
}

impl Thread {
    /// Returns to a call that was entered at this depth. Returns `false` if it is not open any more.
    #[inline(always)]
    pub(super) fn returned(&mut self, depth: usize) -> bool {
        // Calls inside this one that never returned are left first.
        if self.depth <= depth || self.depth > depth + 1 && !self.leave_to(depth + 1) {
            return false;
        }
        let muted = self.frame().muted;
        if muted | self.flags.aside | self.flags.unsettled {
            self.return_aside(muted);
        }
        true
    }

    /// Leaves calls until `depth` are open, all at one time. Returns `false` if there was no room for the events.
    #[cold]
    pub(super) fn leave_to(&mut self, depth: usize) -> bool {
        if self.flags.unsettled {
            self.settle();
        }
        let time = self.now();
        while self.depth > depth {
            if !self.leave_last(time) {
                return false;
            }
        }
        true
    }

    /// Leaves the call that was entered last. Returns `false` if there was no room for the event: then the call stays
    /// open, and the recording has ended.
    #[inline(always)]
    pub(super) fn leave_last(&mut self, time: u64) -> bool {
        let Frame { region, layer, site, muted, hidden, parameter, .. } = *self.frame();
        if muted || parameter != 0 {
            self.leave_unwritten(time);
            return true;
        }
        if self.flags.muted {
            self.set_muted(false);
        }
        if self.flags.are_aside() && self.leave_aside(time) {
            return true;
        }
        let place = self.sites.modulo(place_of(site));
        // The prepared leave event depends on the region only, not on the caller.
        let known = match (&place.events, &mut self.encoder) {
            (Some((_, leave)), Some(encoder)) if place.region == region => {
                encoder.write_prepared(Time(time), leave).is_ok()
            }
            _ => false,
        };
        let region = RegionRef(region);
        if !known && !self.write(time, Leave { region }) && !self.leaves_later(region) {
            return false;
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
        true
    }

    /// Leaves the call that was entered last, and writes events of the same time before its leave event. Returns `false` and
    /// does nothing if they cannot be written together.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn leave_with(&mut self, time: u64, event: impl Part) -> bool {
        !self.flags.are_aside() && self.leave_frame(self.depth.wrapping_sub(1), time, event)
    }

    /// Leaves the call that was entered at this depth and is the last, as [`leave_with`](Self::leave_with) does, where no event
    /// needs more work than writing it.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn leave_frame(&mut self, depth: usize, time: u64, event: impl Part) -> bool {
        let Frame { region, layer, site, muted, hidden, parameter, .. } =
            *self.frames.modulo(depth);
        if muted || parameter != 0 {
            return false;
        }
        let place = self.sites.modulo(place_of(site));
        let written = match (&place.events, &mut self.encoder) {
            (Some((_, leave)), Some(encoder)) if place.region == region => {
                encoder.write_both(Time(time), event, leave).is_ok()
            }
            _ => false,
        };
        if !written {
            return false;
        }
        self.depth = depth;
        self.layers = self.layers & !layer | hidden;
        true
    }

    /// Notes a region that is left when there is no room to say so. Returns `false` if the recording has ended.
    #[cold]
    #[inline(never)]
    pub(super) fn leaves_later(&mut self, region: RegionRef) -> bool {
        if !entry::is_quiet_for(Quiet::Spent) {
            return false;
        }
        // It is left when the file is closed.
        if let Some(place) = self.unleft.get_mut(self.unleft_count) {
            *place = region;
            self.unleft_count += 1;
        }
        true
    }

    /// Leaves every open call, at the end of its thread.
    pub(super) fn leave_all(&mut self) {
        self.leave_to(0);
    }
}

impl Call {
    /// Makes the thread busy again, to record how the call ended. Returns `None` if the recording has ended meanwhile.
    #[inline(always)]
    pub(crate) fn returned(&self) -> Option<Busy> {
        self.resumed(self.retaken()?)
    }

    /// Continues the call, whose thread is busy. Returns `None` if the recording has ended meanwhile.
    #[inline(always)]
    pub(crate) fn resumed(&self, mut thread: Busy) -> Option<Busy> {
        if !entry::is_on() || !thread.returned(self.depth) {
            thread.release();
            return None;
        }
        Some(thread)
    }

    /// Returns the number of calls around this one, if it is the last that was entered, and its end takes no more than the
    /// usual steps.
    #[inline(always)]
    pub(crate) fn plain_depth(&self, thread: &Thread) -> Option<usize> {
        let depth = self.depth;
        (entry::is_on() && thread.flags.are_clear() && thread.depth == depth + 1).then_some(depth)
    }

    /// Returns the number of calls around this one.
    #[inline(always)]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Makes the thread busy again.
    #[inline(always)]
    pub(crate) fn retaken(&self) -> Option<Busy> {
        // SAFETY: locations are never unmapped.
        let location = unsafe { self.location.as_ref() };
        // SAFETY: a call is left by the thread that entered it, to which the location belongs.
        let thread = unsafe { Busy::take(location) }?;
        pass(Entry::Busy);
        Some(thread)
    }

    /// Turns the call into a word, for hooks in assembly, which keep it across the real function. Locations are aligned
    /// to pages, so the depth of the call fits into the low bits.
    pub fn into_word(self) -> *mut c_void {
        self.location.as_ptr().map_addr(|at| at | self.depth).cast()
    }

    /// Turns a word back into a call; a null word is none.
    ///
    /// # Safety
    /// The word came from [`Call::into_word`], and is used once.
    pub unsafe fn from_word(word: *mut c_void) -> Option<Self> {
        let depth = word.addr() & (DEPTH - 1);
        let location = NonNull::new(word.cast::<Location>().map_addr(|at| at & !(DEPTH - 1)))?;
        Some(Self { location, depth })
    }
}
