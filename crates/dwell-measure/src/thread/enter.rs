//! Entering calls.

use dwell_unify::definitions::attribute;
use otf2::encode::Part;
use otf2::event::{Enter, Leave};
use otf2::id::{CallingContextRef, RegionRef, Time};
use otf2::{Attribute, AttributeValue, List};

use super::frame::{Frame, NO_FRAME};
use super::{Busy, DEPTH, NO_PLACE, NOT_RECORDED, Place, Thread, place_of, take, take_as_it_is};
use crate::arch;
use crate::entry::{self, Words, keeping_errno, words};
use crate::hook::Hook;
use crate::modulo::Modulo;
use crate::process;

/// Enters a call: the thread is busy until what is returned is released. `None` if the call is not to be recorded, or is
/// one of many inside a call of another layer and only counted, with the number of `bytes` that it moves. If the enter
/// event is held back, [`Thread::write_held`] or [`Thread::write_held_and`] must write it before the thread is
/// released.
#[inline(always)]
pub(crate) fn enter(
    hook: &'static Hook,
    bytes: impl FnOnce() -> u64,
) -> Option<(Busy, Option<Held>)> {
    let words = words();
    let Some(mut thread) = take_as_it_is(words) else { return missed().map(|it| (it, None)) };
    match thread.enter_plain(hook, words) {
        Some(held) => Some((thread, Some(held))),
        None => enter_slowly(thread, hook, words, bytes),
    }
}

/// Enters a call that takes more than the usual steps. It is never a part of its hook: a short hook is one whose row
/// the compiler evaluates.
#[inline(never)]
fn enter_slowly(
    mut thread: Busy,
    hook: &'static Hook,
    words: &Words,
    bytes: impl FnOnce() -> u64,
) -> Option<(Busy, Option<Held>)> {
    if thread.depth != 0 && hook.is_countable() && thread.counts_inside(hook, words, bytes) {
        thread.release();
        return None;
    }
    if thread.flags.unsettled {
        thread.settle_unless_short(hook);
    }
    match thread.enter(hook, words, Thread::now, true) {
        Opened::Yes => Some((thread, None)),
        Opened::Held(held) => Some((thread, Some(held))),
        Opened::No => {
            thread.release();
            None
        }
    }
}

/// Enters a call as [`enter`] does, at the time that `time` returns.
#[inline(always)]
pub(crate) fn enter_at(hook: &'static Hook, time: impl FnOnce(&mut Thread) -> u64) -> Option<Busy> {
    let words = words();
    let Some(mut thread) = take(words) else { return missed() };
    if thread.enter(hook, words, time, false) == Opened::No {
        thread.release();
        return None;
    }
    Some(thread)
}

/// An enter event that is held back, so that it is written together with the first record of its call: the number of its
/// call site in the table of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held(usize);

/// Result of entering a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// The call is recorded, or followed.
    Yes,
    /// The call is recorded, and its enter event is still to be written.
    Held(Held),
    /// The call is neither recorded nor followed.
    No,
}

impl From<bool> for Opened {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

impl Thread {
    /// Enters a call in the fewest steps, if nothing is open or asked for that takes more of them, and the call was made
    /// before from the same place. Its enter event is held back. Otherwise nothing has happened.
    #[inline(always)]
    pub(super) fn enter_plain(&mut self, hook: &'static Hook, words: &Words) -> Option<Held> {
        let (region, layer) = (hook.region()?, hook.layer_bit);
        if !self.flags.are_clear() || self.depth != 0 || self.layers != 0 || hook.is_partial() {
            return None;
        }
        let return_address = words.return_address.get();
        let held = self.prepared(region, return_address)?;
        let enter = self.now();
        if enter >= self.turns_at || entry::is_quiet() {
            return None;
        }
        let (stack, site) = (arch::return_place(words.stack.get(), return_address), return_address);
        self.push(Frame { stack, return_address, site, region, layer, enter, ..NO_FRAME });
        self.calls += 1;
        Some(held)
    }

    /// Enters a call. With `hold` its enter event may be held back.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        hook: &'static Hook,
        words: &Words,
        time: impl FnOnce(&mut Self) -> u64,
        hold: bool,
    ) -> Opened {
        let (stack, return_address) = (words.stack.get(), words.return_address.get());
        let layer = hook.layer_bit;
        let goes_on = self.depth == 0 && self.layers == 0 || self.nest(stack, layer);
        if !goes_on || self.depth == DEPTH {
            return Opened::No;
        }
        let region = match hook.region() {
            Some(region) => region,
            None => self.process.define_region(hook),
        };
        let time = time(self);
        self.turn_if_due(time);
        let mut site = return_address;
        if self.flags.unwinds && (self.depth == 0 || self.process.unwind == 0) {
            site = self.caller(return_address, stack, words.frame.get());
        }
        let stack = arch::return_place(stack, return_address);
        let frame = Frame { stack, return_address, site, region, layer, ..NO_FRAME };
        if self.flags.off || hook.is_partial() {
            self.computing.is_mixed();
            return self.open_partly(hook, time, frame);
        }
        if self.flags.samples {
            self.ends_computing(time);
        }
        if hold
            && !self.flags.aside
            && let Some(held) = self.prepared(region, site)
        {
            self.push(Frame { enter: time, ..frame });
            self.calls += 1;
            return Opened::Held(held);
        }
        if !self.flags.unwinds && self.sites.modulo(place_of(site)).return_address != site {
            site = self.site_of_new(site, words);
        }
        self.open(time, Frame { site, ..frame }).into()
    }

    /// Returns the place of the encoded events of a call of this region from this site, if it was made before.
    #[inline(always)]
    pub(super) fn prepared(&self, region: u32, site: usize) -> Option<Held> {
        let at = place_of(site);
        let place = self.sites.modulo(at);
        let known = place.return_address == site && place.region == region;
        (known && place.events.is_some()).then_some(Held(at))
    }

    /// Makes a frame the innermost open call.
    #[inline(always)]
    pub(super) fn push(&mut self, frame: Frame) {
        self.layers |= frame.layer;
        if let Some(place) = self.frames.get_mut(self.depth) {
            *place = frame;
        }
        self.depth += 1;
    }

    /// Writes the enter event of the open call, which was held back, and an event of the same time behind it. Without room
    /// for them the call is muted.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn write_held_and(&mut self, held: Held, time: u64, event: impl Part) {
        for _ in 0..2 {
            let place = self.sites.modulo(held.0);
            // Both are there: an enter event is held back only if it is prepared, and nothing is written before it.
            if let (Some((enter, _)), Some(encoder)) = (&place.events, &mut self.encoder)
                && encoder.write_both(Time(time), enter, event).is_ok()
            {
                return;
            }
            self.turn_cold();
        }
        self.lose_held();
    }

    /// Continues in another chunk, as [`Thread::turn`] does, out of the way of calls that have room.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_cold(&mut self) {
        self.turn();
    }

    /// Writes the enter event of the open call, which was held back. Without room for it the call is muted.
    #[inline(always)]
    pub(crate) fn write_held(&mut self, time: u64) {
        let Frame { region, site, .. } = *self.frame();
        if !self.enter_region(time, region, site) {
            self.lose_held();
        }
    }

    /// Mutes the open call, since there is no room for its enter event.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_held(&mut self) {
        self.calls -= 1;
        self.frame().muted = true;
        self.set_muted(true);
        self.process.head.loses_call();
    }

    /// Makes the call that was entered last one that the program reports: it ends with the function around it, and calls
    /// of its layer inside it are the program's.
    pub(crate) fn is_reported(&mut self) {
        let layer = self.frame().layer;
        self.frame().own_code = true;
        self.layers &= !layer;
    }

    /// Turns recording on or off if the time window of the recording begins or ends by now.
    #[inline(always)]
    pub(super) fn turn_if_due(&mut self, time: u64) {
        if self.flags.muted {
            self.set_muted(false);
        }
        if time >= self.turns_at || entry::is_quiet() != self.flags.off {
            self.turn_on_or_off(time);
        }
    }

    /// Opens a call and writes its enter event, unless it is muted. Returns `false` if there was no room.
    #[inline(always)]
    pub(super) fn open(&mut self, time: u64, frame: Frame) -> bool {
        let Frame { region, site, muted, .. } = frame;
        let row = if muted {
            self.mute();
            0
        } else if self.enter_region(time, region, site) {
            self.enter_path(time, region, site)
        } else {
            self.process.head.loses_call();
            return false;
        };
        self.push(Frame { row, enter: time, ..frame });
        self.calls += u64::from(!muted);
        true
    }

    #[inline(always)]
    pub(super) fn enter_region(&mut self, time: u64, region: u32, return_address: usize) -> bool {
        if self.encoder.is_none() {
            return self.profile.is_some();
        }
        let place = self.sites.modulo(place_of(return_address));
        let known = place.return_address == return_address && place.region == region;
        if let (true, Some((enter, _)), Some(encoder)) = (known, &place.events, &mut self.encoder)
            && encoder.write_prepared(Time(time), enter).is_ok()
        {
            return true;
        }
        self.enter_region_slowly(time, region, return_address)
    }

    /// Looks up the call site, and remembers the events that are written for it.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_region_slowly(
        &mut self,
        time: u64,
        region: u32,
        return_address: usize,
    ) -> bool {
        self.enter_program(time);
        if self.layers == 0 {
            self.sample(time);
        }
        let event = Enter { region: RegionRef(region) };
        let Some(site) = keeping_errno(|| self.process.site(return_address)) else {
            return self.write(time, event);
        };
        let value = AttributeValue::CallingContext(CallingContextRef(site));
        let site = Attribute { attribute: attribute::CALL_SITE, value };
        if let Some(encoder) = &self.encoder {
            let enter = encoder.prepare(List::from([site].as_slice()), event);
            let leave = encoder.prepare(List::default(), Leave { region: RegionRef(region) });
            let events = enter.zip(leave);
            let place = self.sites.modulo_mut(place_of(return_address));
            let known = place.return_address == return_address && place.region == region;
            if !known {
                *place = Place { return_address, region, ..NO_PLACE };
            }
            // With counters, every enter comes by here.
            place.events = events.filter(|_| self.process.counting.get().is_none());
        }
        self.write_tagged(time, site, event)
    }

    /// Returns `true` if a call at this place of the stack is to be recorded inside those that are open. Calls that
    /// were abandoned are left first. A call inside an open call of the same layer is made by the runtime itself.
    #[cold]
    #[inline(never)]
    pub(super) fn nest(&mut self, stack: usize, layer: u32) -> bool {
        self.write_unframed();
        if self.aggregated {
            self.write_aggregated();
        }
        let open = self.frames.get(..self.depth).unwrap_or_default();
        let dead = open.iter().rev().take_while(|frame| !frame.is_alive(stack)).count();
        (dead == 0 || self.leave_to(self.depth - dead)) && self.layers & layer == 0
    }
}

/// Counts a call that bypasses the recorder, if that is because of its thread.
#[cold]
#[inline(never)]
pub(super) fn missed() -> Option<Busy> {
    if words().location.get() == NOT_RECORDED
        && let Some(process) = process::current()
    {
        process.misses_call();
    }
    None
}
