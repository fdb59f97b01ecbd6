//! Aggregation of calls that find nothing again and again, such as polls in a loop: consecutive ones are one region.
//!
//! A program may poll a million times a second. The end of a call that found nothing is not written at once: if the next
//! thing that the thread records is the same call from the same place, less than [`APART`] after it, the region continues.
//! Everything else ends the region at the time at which its last call ended. Its leave event states the number of calls.
//!
//! Now and then the thread loses its core between two calls, to another thread or to an interrupt. That does not end the
//! region, because the program did nothing meanwhile. The processor time of the thread shows how long other threads ran.
//! Reading it is slow, so it is read when a region begins to be aggregated, every [`RENEWED`] of it, and when the next call
//! seems to be late. Interrupts count as time of the thread, so calls may be late for a [`PART`] of the region, whatever the
//! reason.
//!
//! An aggregated region stays the innermost frame between its calls, with its end in [`AggregatedPolls::until`]. So every
//! other user of the thread settles it first.
#![allow(unsafe_code)] // Reads the processor time of the thread.

use dwell_unify::definitions::attribute;
use otf2::event::Leave;
use otf2::id::RegionRef;
use otf2::{Attribute, AttributeValue};

use super::user::Number;
use super::{Busy, Frame, Opened, Thread, missed, take_as_it_is};
use crate::arch;
use crate::entry::{self, Words, words};
use crate::hook::Hook;

/// Calls that begin less than this after the end of the one before, in nanoseconds, are one region. A process that does
/// something else between its polls does not serve other processes meanwhile, and the analysis has to see that.
const APART: u64 = 1_000;

/// Part of a region, as a divisor, in which its thread may have done something else than its calls: 2 %.
const PART: u64 = 50;
/// Time in nanoseconds after which the processor time is read again.
const RENEWED: u64 = 100_000;

/// The region that the next call may continue.
#[derive(Clone, Copy, Debug)]
pub(super) struct AggregatedPolls {
    /// Time and processor time of the thread when they were read last, in nanoseconds.
    read: (u64, u64),
    /// End of its last call, if the region is open although the call is over; otherwise 0.
    pub(super) until: u64,
    /// Time between calls that were late, for other reasons than other threads.
    late: u64,
    /// Number of calls in the region.
    count: u64,
    /// Number of calls that the thread has recorded, this region included.
    calls: u64,
}

impl AggregatedPolls {
    pub(super) const NONE: Self = Self { read: (0, 0), until: 0, late: 0, count: 0, calls: 0 };

    /// Returns `true` if a call at `time` continues the polling region that began at `begin`: since its last call, this
    /// thread has used hardly any processor time.
    #[inline]
    fn is_followed_at(&mut self, time: u64, begin: u64) -> bool {
        let gap = time - self.until;
        if gap < APART && time - self.read.0 < RENEWED {
            return true;
        }
        let (before, used_before) = self.read;
        let used = processor_time();
        // Time since the last reading that the thread was not on a core.
        let off = if before > 0 {
            (time - before).saturating_sub(used.saturating_sub(used_before))
        } else {
            0
        };
        self.read = (time, used);
        let own = gap.saturating_sub(off);
        if own < APART {
            return true;
        }
        self.late += own;
        self.late < (time - begin) / PART
    }
}

/// Returns the processor time that the calling thread has used, in nanoseconds.
#[cold]
fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is a place for the time.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let nanoseconds = (time.tv_sec as u64).wrapping_mul(1_000_000_000) + time.tv_nsec as u64;
    if code == 0 { nanoseconds } else { 0 }
}

/// Enters a call that may find nothing again: continues the region of the last call, if that found nothing. The thread is
/// busy until what is returned is released. `None` if the call is not to be recorded.
#[inline]
pub(crate) fn enter_again(hook: &'static Hook) -> Option<Busy> {
    let words = words();
    let Some(mut thread) = take_as_it_is(words) else { return missed() };
    if thread.flags.unsettled {
        if thread.polls.until != 0 && thread.goes_on(hook, words) {
            return Some(thread);
        }
        thread.settle();
    }
    if thread.enter(hook, words, Thread::now, false) == Opened::No {
        thread.release();
        return None;
    }
    thread.polls = AggregatedPolls { count: 1, calls: thread.calls, ..AggregatedPolls::NONE };
    Some(thread)
}

impl Busy {
    /// Leaves a call that [`enter_again`] entered, at `time`. If the call found nothing, the next one may continue its region.
    #[inline]
    pub(crate) fn leave_again(mut self, time: u64, found_nothing: bool) {
        self.polls.until = time;
        self.flags.unsettled = true;
        let recorded_inside = self.polls.calls != self.calls;
        if !found_nothing || recorded_inside || self.flags.muted || time == 0 {
            self.settle();
        }
        self.release();
    }
}

/// Counts an operation of this kind that is not recorded by itself. The counts are written before the next event of the
/// thread, as values of counters. Returns `false` if the thread is not recorded now.
pub fn count_only(kind: Counted, bytes: u64) -> bool {
    let Some(mut thread) = take_as_it_is(words()) else { return false };
    let is_on = thread.encoder.is_some() && !thread.flags.off;
    if is_on && let Some((count, sum)) = thread.counted.get_mut(kind as usize) {
        *count += 1;
        *sum += bytes;
        thread.flags.unsettled = true;
    }
    thread.release();
    is_on
}

/// Kinds of operations that [`count_only`] counts, each by a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Puts through shared memory, contiguous or not.
    Puts,
    /// Gets through shared memory, contiguous or not.
    Gets,
    /// Atomic operations through shared memory.
    Atomics,
}

/// Names of the counters of each kind: operations, and bytes.
const COUNTERS: [[&str; 2]; 3] = [
    ["shared_memory_puts", "shared_memory_bytes_put"],
    ["shared_memory_gets", "shared_memory_bytes_got"],
    ["shared_memory_atomics", "shared_memory_atomic_bytes"],
];

impl Thread {
    /// Writes the events that were deferred: leaves the region that is open although its call is over, and writes the values
    /// of operations that were only counted.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        self.flags.unsettled = false;
        self.end_inner();
        if self.polls.until != 0 {
            self.end_polls();
        }
        self.end_stretch();
        for (counted, [operations, bytes]) in
            std::mem::take(&mut self.counted).into_iter().zip(COUNTERS)
        {
            let (count, sum) = counted;
            for (name, unit, value) in [(operations, "#", count), (bytes, "bytes", sum)] {
                if count > 0 {
                    self.count_value(name, unit, Number::Int(value.cast_signed()));
                }
            }
        }
    }

    /// Returns `true` if a call continues the region that is open although its call is over.
    #[inline]
    fn goes_on(&mut self, hook: &Hook, words: &Words) -> bool {
        let Frame { stack, return_address, region, enter, .. } = *self.frame();
        let same = hook.region() == Some(region)
            && return_address == words.return_address.get()
            && stack == arch::return_place(words.stack.get(), return_address);
        let time = self.now();
        if !same
            || time >= self.turns_at
            || entry::is_quiet() != self.flags.off
            || !self.polls.is_followed_at(time, enter)
        {
            return false;
        }
        self.polls.until = 0;
        self.polls.count += 1;
        true
    }

    /// Leaves the region that is open although its call is over, at the time at which the call ended.
    fn end_polls(&mut self) {
        let AggregatedPolls { until, count, .. } =
            std::mem::replace(&mut self.polls, AggregatedPolls::NONE);
        let Frame { region, layer, muted, hidden, row, .. } = *self.frame();
        if count <= 1 || muted {
            self.leave_last(until);
            return;
        }
        if let Some(profile) = &mut self.profile {
            profile.repeat(row, count - 1);
        }
        if self.flags.aside {
            let _ = self.leave_aside(until);
        }
        let tag = Attribute { attribute: attribute::CALLS, value: AttributeValue::Uint64(count) };
        let region = RegionRef(region);
        if !self.write_tagged(until, tag, Leave { region }) && !self.leaves_later(region) {
            return;
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
    }
}
