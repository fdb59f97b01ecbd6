//! Samples of a thread: what it computes when its timer ends.
#![allow(unsafe_code)] // The state is reached by the pointer in the words of the thread.

use dwell_unify::definitions::attribute;
use otf2::event::CallingContextSample;
use otf2::id::{CallingContextRef, InterruptGeneratorRef};
use otf2::{Attribute, AttributeValue};

use super::aggregate_polls::{APART, SLEPT, processor_time};
use super::{Busy, Flags, Location, NOT_RECORDED, Thread};
use crate::entry::{self, words};
use crate::process;
use crate::reentrancy::Taken;
use crate::samples::{DEPTH, Timer};
use crate::unwind::Place;

/// Unwind distance of a sample of which it is not known.
const UNKNOWN: u32 = u32::MAX;

/// Writes a sample of the calling thread, which its timer has interrupted at `place`; `None` is a place in the recorder.
/// Returns the timer, unless the thread has none or the recording is over.
pub(crate) fn tick(place: Option<Place>) -> Option<&'static Timer> {
    let location = words().location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return None;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    let location = unsafe { Location::of(location) };
    match location.busy.take_to_record(entry::switch()) {
        Taken::Yes => {
            let mut thread = Busy { location };
            thread.sample_here(place);
            thread.release();
        }
        // What the recorder does is not worth a sample.
        Taken::Busy => {}
        Taken::Off => return None,
    }
    Some(&location.timer)
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
        let before = std::mem::replace(&mut self.sampled_at, now);
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
        let value = AttributeValue::Uint64(spent);
        let weight = Attribute { attribute: attribute::PROCESSOR_TIME, value };
        let sample = CallingContextSample {
            calling_context: CallingContextRef(context),
            unwind_distance: UNKNOWN,
            interrupt_generator: InterruptGeneratorRef(0),
        };
        self.write_tagged(time, weight, sample);
    }
}
