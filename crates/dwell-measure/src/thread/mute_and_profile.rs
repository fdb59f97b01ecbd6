//! Work for an event besides writing it: nothing is written if the call is muted, the event is added to the profile if
//! there is one, and counters are sampled if there are any.

use otf2::List;
use otf2::enums::MeasurementMode;
use otf2::event::{Enter, MeasurementOnOff, Metric};
use otf2::id::MetricRef;
use otf2::value::MetricValue;

use super::{Frame, NO_PLACE, Opened, Place, Thread, place_of};
use crate::arch;
use crate::counters;
use crate::entry::{self, Quiet, Words, keeping_errno};
use crate::hook::Hook;
use crate::modulo::Modulo;
use crate::process;
use crate::profile::Amount;
use crate::unwind::{self, Place as Caller};
use crate::wrapping::Wrapping;

/// Muting.
impl Thread {
    /// Mutes the open call: it is followed, but not written.
    #[cold]
    pub(super) fn mute(&mut self) {
        self.set_muted(true);
        if entry::is_quiet_for(Quiet::Spent) {
            self.process.head.loses_call();
        } else {
            self.left_out += 1;
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn set_muted(&mut self, muted: bool) {
        self.flags.muted = muted;
        self.flags.aside = muted | self.profile.is_some() | self.process.counting.get().is_some();
    }

    /// Continues a call that is muted or may be aggregated, or was called by such a call, or that is added to a profile, or
    /// inside which calls were counted.
    #[inline(never)]
    pub(super) fn return_aside(&mut self, muted: bool) {
        if muted != self.flags.muted {
            self.set_muted(muted);
        }
        if self.aggregated {
            self.write_aggregated_if_long();
        }
        if self.inner.are_pending() && !self.aggregated {
            self.now();
            self.settle();
        }
    }

    /// Does what is left to do before the leave event of the open call: samples counters, and books the call in the
    /// profile. Returns `true` if the call was aggregated, and has no leave event.
    #[inline(never)]
    pub(super) fn leave_aside(&mut self, time: u64) -> bool {
        if self.aggregated && self.aggregate(time) {
            return true;
        }
        let Frame { layer, .. } = *self.frame();
        if self.layers & !layer == 0 {
            if self.process.counting.get().is_some() {
                self.sample(time);
            }
            if self.flags.samples && layer != 0 {
                self.computing.begins(time);
            }
        }
        self.leave_path(time);
        self.end_inner();
        false
    }

    /// Writes the values of all counters of this thread, if there are any and there is a trace.
    #[cold]
    #[inline(never)]
    pub(super) fn sample(&mut self, time: u64) {
        let Some(counting) = self.process.counting.get() else { return };
        if self.encoder.is_none() {
            return;
        }
        let mut values = [MetricValue::unsigned(0); counters::MOST];
        let count = keeping_errno(|| counting.read(time, &mut self.readings, &mut values));
        let values = values.get(..count).unwrap_or_default();
        self.write(time, Metric { metric: MetricRef(counting.class), values: List::from(values) });
    }

    /// Leaves the call that was entered last, of which nothing is written: it is muted, or it is a parameter.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_unwritten(&mut self, time: u64) {
        let Frame { layer, muted, hidden, .. } = *self.frame();
        if !muted {
            self.leave_path(time);
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
    }

    /// Returns `true` if the open call writes nothing.
    pub(crate) fn is_muted(&self) -> bool {
        self.flags.muted
    }

    /// Opens a call of a function whose calls are not all recorded by themselves.
    #[cold]
    #[inline(never)]
    pub(super) fn open_partly(&mut self, hook: &Hook, time: u64, frame: Frame) -> Opened {
        let Frame { region, site, .. } = frame;
        if !self.flags.off && hook.is_aggregated() {
            if self.is_aggregated(region, site) {
                self.open_aggregated(time, frame);
                return Opened::Yes;
            }
            if self.flags.unsettled {
                self.settle();
            }
            return self.open(time, frame).into();
        }
        if hook.is_bypassed() {
            self.left_out += 1;
            return Opened::No;
        }
        self.open(time, Frame { muted: true, ..frame }).into()
    }

    /// Writes that recording was paused or resumed, for whatever reason, and opens or closes the time window if it is
    /// due.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_on_or_off(&mut self, time: u64) {
        self.turns_at = self.process.window_at(time);
        let quiet = entry::is_quiet();
        if quiet == self.flags.off {
            return;
        }
        if self.flags.unsettled {
            self.settle();
        }
        self.flags.off = quiet;
        // Without room nothing can be said, and nothing more will come.
        if !entry::is_quiet_for(Quiet::Spent) {
            self.enter_program(time);
            let measurement_mode = if quiet { MeasurementMode::Off } else { MeasurementMode::On };
            self.write(time, MeasurementOnOff { measurement_mode });
        }
    }

    /// Enters the region of the program itself, which contains all its calls.
    pub(super) fn enter_program(&mut self, time: u64) {
        if self.encoder.as_ref().is_some_and(|encoder| encoder.events() == 0) {
            self.write(time, Enter { region: process::PROGRAM });
        }
    }
}

/// Callers.
impl Thread {
    /// Returns the key of a call of the program, with the functions that it came through.
    #[cold]
    #[inline(never)]
    pub(super) fn caller(&mut self, return_address: usize, stack: usize, frame: usize) -> usize {
        let stack = arch::stack_after_return(stack);
        let place = Caller { address: return_address, stack, frame };
        let process = self.process;
        let wrapping = process.wrapping.get();
        let is_pythons = || wrapping.is_some_and(Wrapping::has_python);
        if process.unwind == 0 || is_pythons() {
            let Self { stack, memo, .. } = self;
            let site = wrapping.and_then(|it| it.site(process, place, stack, memo));
            if process.unwind == 0 || site.is_some() {
                return site.unwrap_or(return_address);
            }
        }
        let Some(rules) = &process.rules else { return return_address };
        let mut addresses = [0; unwind::DEPTH];
        let room = addresses.get_mut(..self.process.unwind).unwrap_or_default();
        let known = keeping_errno(|| {
            let count = rules.walk(place, &mut self.stack, room);
            let all = room.get(..count).unwrap_or_default();
            let context = |caller, address: &usize| process.context(caller, *address);
            if let Some((wrappers, name)) = wrapping.and_then(|it| it.leading(all))
                && let Some((innermost, callers)) = all.get(wrappers..)?.split_first()
            {
                let caller = callers.iter().rev().fold(None, context);
                return process.wrapped_site(caller, *innermost, name);
            }
            all.iter().rev().fold(None, context)
        });
        known.map_or(return_address, |site| process::LOOKED_UP | site as usize)
    }

    /// Returns the key of a call site that the thread may not have seen before: the address itself, unless it is in a wrapper.
    /// From then on the stack above a call matters.
    #[cold]
    #[inline(never)]
    pub(super) fn site_of_new(&mut self, return_address: usize, words: &Words) -> usize {
        if !self.process.is_wrapped(return_address) {
            return return_address;
        }
        self.flags.unwinds = true;
        self.caller(return_address, words.stack.get(), words.frame.get())
    }

    /// Returns `true` if a call comes from the site of the open one, which has the same return address.
    pub(super) fn is_from(&mut self, site: usize, words: &Words) -> bool {
        let (process, address) = (self.process, words.return_address.get());
        let Some(wrapping) = process.wrapping.get().filter(|_| process.unwind == 0) else {
            return true;
        };
        let stack = arch::stack_after_return(words.stack.get());
        let place = Caller { address, stack, frame: words.frame.get() };
        let Self { stack, memo, .. } = self;
        wrapping.site(process, place, stack, memo).unwrap_or(address) == site
    }
}

/// The profile.
impl Thread {
    /// Adds what an event counts for to the profile, if there is one and the call is not muted. Returns
    /// whether that was all: there is no trace, or nothing is to be in it.
    #[inline(always)]
    pub(super) fn set_aside(&mut self, amount: Option<Amount>, tagged: bool) -> bool {
        // An attribute says something that others need.
        if self.flags.muted || self.aggregated && self.keeps(amount.filter(|_| !tagged)) {
            return true;
        }
        if let Some(amount) = &amount {
            self.count(amount);
        }
        self.encoder.is_none() && self.profile.is_some()
    }

    /// Adds what an event counts for to the rows of the open call.
    #[inline(always)]
    pub(super) fn count(&mut self, amount: &Amount) {
        let Some(profile) = &mut self.profile else { return };
        let frame = self.frames.modulo_mut(self.depth.wrapping_sub(1));
        let partner = profile.add(frame.row, amount);
        if frame.partner == 0 {
            frame.partner = partner;
        }
    }

    /// The row of a call that is entered, if there is a profile.
    #[inline(always)]
    pub(super) fn enter_path(&mut self, time: u64, region: u32, return_address: usize) -> u32 {
        let Some(profile) = &mut self.profile else { return 0 };
        let parent = match self.depth {
            0 => profile.program(time, process::PROGRAM.0),
            _ => self.row_around(time),
        };
        let place = self.sites.modulo(place_of(return_address));
        let known = place.return_address == return_address && place.region == region;
        if known && place.parent == parent && place.row != 0 {
            return place.row;
        }
        self.enter_path_slowly(parent, region, return_address)
    }

    /// Books all calls that are open when the recording ends.
    pub(super) fn leave_paths(&mut self, time: u64) {
        let depth = self.depth;
        while self.depth > 0 {
            if !self.frame().muted {
                self.leave_path(time);
            }
            self.depth -= 1;
        }
        self.depth = depth;
    }

    /// The row of the innermost call that is recorded, or that of the program.
    #[cold]
    pub(super) fn row_around(&mut self, time: u64) -> u32 {
        let open = self.frames.iter().take(self.depth).rev().find(|frame| !frame.muted);
        match (open, &mut self.profile) {
            (Some(frame), _) => frame.row,
            (None, Some(profile)) => profile.program(time, process::PROGRAM.0),
            (None, None) => 0,
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn enter_path_slowly(
        &mut self,
        parent: u32,
        region: u32,
        return_address: usize,
    ) -> u32 {
        keeping_errno(|| {
            let site = self.process.site(return_address);
            let Some(profile) = &mut self.profile else { return 0 };
            if parent == 0 {
                // There was no room for what it is called in.
                return 0;
            }
            let row = profile.path(parent, region, site);
            let place = self.sites.modulo_mut(place_of(return_address));
            if place.return_address != return_address || place.region != region {
                *place = Place { return_address, region, ..NO_PLACE };
            }
            (place.row, place.parent) = (row, parent);
            row
        })
    }

    /// Books a call that is left.
    #[inline(always)]
    pub(super) fn leave_path(&mut self, time: u64) {
        let Frame { row, partner, enter, inside, .. } = *self.frame();
        let Some(profile) = &mut self.profile else { return };
        let length = time.saturating_sub(enter);
        profile.leave(row, length.saturating_sub(inside), partner, length, time);
        let mut outer = self.frames.iter_mut().take(self.depth.saturating_sub(1)).rev();
        if let Some(outer) = outer.find(|frame| !frame.muted) {
            outer.inside += length;
        }
    }
}
