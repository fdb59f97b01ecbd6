//! Samples of a thread: what it computes when its timer ends.
//!
//! Samples divide the processor time of the thread, and do not say how much it is: calls end most intervals of the timer,
//! and where threads share cores, the system looks at the timer only now and then. So this time is read where a long
//! stretch of computing begins and ends, and a record at its end says by how much the samples in it are wrong. If the
//! thread was off the cores meanwhile, the record also says for how long it was ready to run: otherwise it slept.
#![allow(unsafe_code)] // The state is reached by the pointer in the words of the thread.

use dwell_unify::definitions::attribute;
use otf2::event::CallingContextSample;
use otf2::id::{CallingContextRef, InterruptGeneratorRef};
use otf2::{Attribute, AttributeValue, List};

use super::aggregate_polls::{APART, SLEPT};
use super::{Busy, Flags, Location, NOT_RECORDED, Thread};
use crate::entry::{self, words};
use crate::process;
use crate::processor_time::{self, of_this_thread as processor_time};
use crate::reentrancy::Taken;
use crate::samples::DEPTH;
use crate::unwind::Place;

/// Unwind distance of a sample of which it is not known.
const UNKNOWN: u32 = u32::MAX;

/// Least time between two readings at the begin of computing, in nanoseconds: what is wrong with the time of a long stretch
/// at most, and 400 times what a reading takes.
const READ_AGAIN: u64 = 100_000;

/// Length of a stretch of computing whose processor time is read at its end, in nanoseconds.
const LONG: u64 = 200_000;

/// Least time between two readings of the time that the thread was ready, in nanoseconds. They take up to 3 µs, because the
/// system has a file for it and not a clock; so this is the least time off the cores of which more is told, too.
const READ_READY: u64 = 1_000_000;

/// Processor time of a thread, and the stretch that it computes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Computing {
    /// Processor time and time at the end of the last interval of the timer.
    ticked: (u64, u64),
    /// Processor time and time when it was read last at the begin or end of a stretch.
    read: (u64, u64),
    /// Time in which the thread was ready, if the system counts it, and the time when it was read last.
    ready: (Option<u64>, u64),
    /// Time at which the stretch began.
    began: u64,
    /// Processor time that the samples of the stretch stand for.
    sampled: u64,
    /// Set if processor time was read close to the begin of the stretch, and nothing but computing followed.
    is_known: bool,
}

impl Computing {
    /// Begins a stretch.
    #[cold]
    #[inline(never)]
    pub(super) fn begins(&mut self, time: u64) {
        if time.saturating_sub(self.read.1) >= READ_AGAIN {
            self.read = (processor_time(), time);
        }
        if time.saturating_sub(self.ready.1) >= READ_READY {
            self.ready = (processor_time::ready_of_this_thread(), time);
        }
        (self.began, self.sampled, self.is_known) = (time, 0, true);
    }

    /// Says that the stretch contains calls, whose time is not a part of it.
    #[inline]
    pub(super) fn is_mixed(&mut self) {
        self.is_known = false;
    }

    /// Ends the stretch. Returns its processor time without that of its samples, if both are known, and the time in which
    /// the thread was ready, if it was off the cores for long.
    fn ends(&mut self, time: u64) -> Option<(i64, Option<u64>)> {
        let is_known = std::mem::take(&mut self.is_known);
        if !is_known || time.saturating_sub(self.began) < LONG {
            return None;
        }
        let now = processor_time();
        let before = std::mem::replace(&mut self.read, (now, time)).0;
        let spent = now.saturating_sub(before);
        let off = time.saturating_sub(self.began).saturating_sub(spent);
        let ready = if off >= READ_READY { self.was_ready(time, off) } else { None };
        Some((spent.cast_signed() - self.sampled.cast_signed(), ready))
    }

    /// Returns for how much of the time that it was off the cores the thread was ready, if the system counts that.
    fn was_ready(&mut self, time: u64, off: u64) -> Option<u64> {
        let now = processor_time::ready_of_this_thread();
        let before = std::mem::replace(&mut self.ready, (now, time)).0;
        // What was read last may be from shortly before the stretch.
        Some(now?.saturating_sub(before?).min(off))
    }
}

/// Writes a sample of the calling thread, which its timer has interrupted at `place`; `None` is a place in the recorder.
pub(crate) fn tick(place: Option<Place>) {
    let location = words().location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    let location = unsafe { Location::of(location) };
    // If the thread is busy, this is work of the recorder, which is not worth a sample.
    if location.busy.take_to_record(entry::switch()) == Taken::Yes {
        let mut thread = Busy { location };
        thread.sample_here(place);
        thread.release();
    }
}

/// Begins another interval of the timer of the calling thread.
pub(crate) fn begin_interval() {
    let location = words().location.get();
    if location.addr() > NOT_RECORDED.addr() {
        // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
        unsafe { Location::of(location) }.timer.go_on();
    }
}

/// Stops the timer of the calling thread. Returns `true` if the thread has a location.
pub(crate) fn stop_timer() -> bool {
    let location = words().location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return false;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    unsafe { Location::of(location) }.timer.stop();
    true
}

/// Stops the timers of all threads.
pub(crate) fn stop_timers() {
    let Some(process) = process::current() else { return };
    for location in process.locations.all() {
        // SAFETY: locations are never unmapped, and their timers are atomic.
        unsafe { Location::of(location) }.timer.stop();
    }
}

impl Thread {
    /// Writes a sample, unless the thread is in a call, whose time is known already, or nothing is to be written.
    #[cold]
    fn sample_here(&mut self, place: Option<Place>) {
        let (Some(rules), Some(place)) = (&self.process.rules, place) else { return };
        let now = (processor_time(), self.clock.now());
        let before = std::mem::replace(&mut self.computing.ticked, now);
        let spent = now.0.saturating_sub(before.0);
        let Flags { muted, off, unsettled, .. } = self.flags;
        // The first interval began before the thread was recorded.
        if before.0 == 0 || muted || off || self.unframed.is_some() || entry::is_quiet() {
            return;
        }
        if unsettled {
            // A loop that polls continues if its call is made again soon, unless the thread computes meanwhile. Until it is
            // over its layer has an open call.
            let computed = spent.saturating_sub(self.time.saturating_sub(before.1));
            if computed <= SLEPT && now.1.saturating_sub(self.time) < APART {
                return;
            }
            self.settle();
        }
        if self.layers != 0 {
            return;
        }
        let mut addresses = [0; DEPTH];
        // Tables and names are looked up for the instruction before an address, as for calls.
        let place = Place { address: place.address.wrapping_add(1), ..place };
        let count = rules.walk(place, &mut self.stack, &mut addresses);
        let outermost_first = addresses.get(..count).unwrap_or_default().iter().rev();
        let process = self.process;
        let known = |caller, address: &usize| process.context(caller, *address).or(caller);
        let Some(context) = outermost_first.fold(None, known) else { return };
        let time = self.now();
        self.enter_program(time);
        self.computing.sampled += spent;
        let value = AttributeValue::Uint64(spent);
        let weight = Attribute { attribute: attribute::PROCESSOR_TIME, value };
        self.write_tagged(time, weight, sample(CallingContextRef(context)));
    }

    /// Writes by how much the samples of a stretch that ends now are wrong, if it is known.
    #[cold]
    #[inline(never)]
    pub(super) fn ends_computing(&mut self, time: u64) {
        if self.layers != 0 {
            return;
        }
        let Some((missing, ready)) = self.computing.ends(time) else { return };
        self.enter_program(time);
        let end = sample(CallingContextRef::UNDEFINED);
        if self.flags.muted {
            return;
        }
        let value = AttributeValue::Int64(missing);
        let missing = Attribute { attribute: attribute::UNSAMPLED_TIME, value };
        let value = AttributeValue::Uint64(ready.unwrap_or(0));
        let all = [missing, Attribute { attribute: attribute::READY_TIME, value }];
        let known = all.get(..1 + usize::from(ready.is_some())).unwrap_or_default();
        self.write_event(time, List::from(known), end);
    }
}

fn sample(calling_context: CallingContextRef) -> CallingContextSample {
    let interrupt_generator = InterruptGeneratorRef(0);
    CallingContextSample { calling_context, unwind_distance: UNKNOWN, interrupt_generator }
}
