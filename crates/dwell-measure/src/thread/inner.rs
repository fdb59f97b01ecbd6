//! Counting of calls that a runtime makes again and again inside one call of another runtime.
//!
//! One statement of a program may become thousands of calls below it: a coarray runtime fetches a section element by
//! element, with three calls of MPI for each. Waits are judged at the outer call, and what is below shows what that call
//! consists of. So the first call from each place inside an outer call is recorded like any other, and all further ones
//! are counted, with their bytes. A call that is counted has no frame and costs a few nanoseconds.
//!
//! The counts are written inside the outer call, before its next event or after [`LONGEST`], as one region for each
//! place: from the first call to the last, divided between the places by the time that their calls took. That time is
//! sampled: of every [`EVERY`] calls one is timed, up to the beginning of the call after it. Inside a call of a runtime
//! there is little between two calls.
//!
//! Only calls are counted that change nothing which the recorder has to follow (see [`Hook::is_countable`]): requests,
//! messages and collectives are not.

use dwell_model::layer::{Layer, Ranks};

use super::Thread;
use crate::entry::Words;
use crate::hook::Hook;
use crate::modulo::Modulo;
use crate::process::Process;

/// Number of places inside one outer call whose calls are counted. Calls from further places are recorded.
const PLACES: usize = 16;
/// Number of calls of which one is timed. Loops of few calls have lengths that it is no multiple of.
const EVERY: u32 = 101;
/// Longest time in nanoseconds for which counts are kept before they are written. It bounds what a kill loses.
const LONGEST: u64 = 10_000_000;

/// A bit for each layer whose calls have records of operations, so that waits are judged at them.
const JUDGED: u32 = judged(Layer::ALL);

const fn judged(layers: &[Layer]) -> u32 {
    match layers {
        [first, others @ ..] if matches!(first.ranks(), Ranks::None) => judged(others),
        [first, others @ ..] => 1 << *first as u32 | judged(others),
        [] => 0,
    }
}

/// Calls inside the open call that are counted, and not written yet.
#[derive(Debug)]
pub(super) struct InnerCalls {
    /// Set if calls are counted at all: there is neither a profile nor a counter that each call has to be added to.
    may_count: bool,
    /// The outer call: its number among the open calls, and the time at which it was entered.
    outer: (usize, u64),
    /// Time of the first call that is not written.
    from: u64,
    /// Number of calls that are not written.
    calls: u64,
    /// Number of calls until one is timed.
    untimed: u32,
    /// The call that is being timed: its place, and when it began.
    timed: Option<(usize, u64)>,
    /// The place of the last call.
    last: usize,
    places: usize,
    sums: [Sum; PLACES],
}

/// Calls of one function from one place.
#[derive(Clone, Copy, Debug)]
struct Sum {
    site: usize,
    region: u32,
    calls: u64,
    bytes: u64,
    /// Number of calls that were timed, and the nanoseconds that they took.
    timed: (u64, u64),
}

/// Calls of one function from one place inside calls that were aggregated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    pub(super) site: usize,
    pub(super) region: u32,
    pub(super) calls: u64,
    pub(super) time: u64,
    pub(super) bytes: u64,
}

const NO_SUM: Sum = Sum { site: 0, region: 0, calls: 0, bytes: 0, timed: (0, 0) };

impl InnerCalls {
    const NONE: Self = Self {
        may_count: false,
        outer: (0, 0),
        from: 0,
        calls: 0,
        untimed: 0,
        timed: None,
        last: 0,
        places: 0,
        sums: [NO_SUM; PLACES],
    };

    /// Makes the counts of a thread of this process.
    pub(super) fn of(process: &Process) -> Self {
        let each = process.has_profile || process.counting.get().is_some();
        Self { may_count: process.selection.counts_inner && !each, ..Self::NONE }
    }

    /// Returns `true` if there are counts to be written.
    #[inline(always)]
    pub(super) fn are_pending(&self) -> bool {
        self.calls != 0
    }

    /// Returns the number of places whose calls are counted.
    pub(super) fn places(&self) -> usize {
        self.places
    }

    /// Hides the counts for a while, so that they are not written before the outer call. Returns what
    /// [`put_back`](Self::put_back) needs.
    pub(super) fn keep(&mut self) -> u64 {
        std::mem::take(&mut self.calls)
    }

    /// Shows the counts again.
    pub(super) fn put_back(&mut self, calls: u64) {
        self.calls = calls;
    }

    /// Returns the number of a place. Calls in a loop come from one place after the other.
    #[inline]
    fn find(&self, site: usize, region: u32) -> Option<usize> {
        let is_it = |at: &usize| {
            let sum = self.sums.modulo(*at);
            sum.site == site && sum.region == region
        };
        let next = if self.last + 1 < self.places { self.last + 1 } else { 0 };
        if self.places > 0 && is_it(&next) {
            return Some(next);
        }
        (0..self.places).find(is_it)
    }

    /// Begins to count the calls of a place, if there is room for one more. Returns its number.
    fn add(&mut self, site: usize, region: u32) -> usize {
        let new = self.places;
        if let Some(sum) = self.sums.get_mut(new) {
            *sum = Sum { site, region, ..NO_SUM };
            self.places += 1;
        }
        new
    }

    /// Ends the timing of a call, if one is being timed.
    #[inline]
    fn stop(&mut self, time: u64) {
        if let Some((place, began)) = self.timed.take() {
            let sum = self.sums.modulo_mut(place);
            sum.timed.0 += 1;
            sum.timed.1 += time - began;
        }
    }
}

impl Thread {
    /// Counts a call inside the open call of another layer. Returns `false` if it has to be recorded, or if there is no
    /// such call.
    #[inline]
    pub(super) fn counts_inside(
        &mut self,
        hook: &Hook,
        words: &Words,
        bytes: impl FnOnce() -> u64,
    ) -> bool {
        let Some(region) = hook.region().filter(|_| self.is_in_another_layer(hook, words)) else {
            return false;
        };
        if hook.is_partial() {
            // A filter excludes it. If nothing is outstanding, it changes nothing.
            let is_left_out = hook.is_followed() && !self.mpi.has_outstanding();
            self.left_out += u64::from(is_left_out);
            return is_left_out;
        }
        let (site, outer) = (words.return_address.get(), (self.depth, self.frame().enter));
        if !self.inner.may_count {
            return false;
        }
        if self.inner.outer != outer {
            if self.inner.are_pending() {
                self.settle();
            }
            (self.inner.outer, self.inner.places) = (outer, 0);
        }
        let place = match self.inner.find(site, region) {
            Some(place) => place,
            // Recording it would write the outer call, too, which may be aggregated.
            None if self.aggregated && self.inner.places < PLACES => self.inner.add(site, region),
            None => {
                self.inner.add(site, region);
                return false;
            }
        };
        let sum = self.inner.sums.modulo_mut(place);
        sum.calls += 1;
        sum.bytes += bytes();
        self.inner.last = place;
        self.summed_inside += 1;
        if self.inner.calls == 0 {
            self.inner.from = self.time;
            self.flags.unsettled = true;
        }
        self.inner.calls += 1;
        match self.inner.untimed {
            0 => self.time_inner(place),
            left => self.inner.untimed = left - 1,
        }
        true
    }

    /// Returns `true` if a call is made inside the open call of another layer, at which waits are judged.
    #[inline(always)]
    fn is_in_another_layer(&mut self, hook: &Hook, words: &Words) -> bool {
        let stack = words.stack.get();
        let frame = self.frame();
        let is_call = frame.layer & JUDGED != 0
            && !(frame.own_code | frame.muted)
            && frame.hidden == 0
            && frame.is_alive(stack);
        is_call && self.layers & hook.layer_bit == 0 && !self.flags.off && self.polls.until == 0
    }

    /// Times the call that begins now, or ends the timing of the one before it.
    #[cold]
    #[inline(never)]
    fn time_inner(&mut self, place: usize) {
        let time = self.now();
        if self.inner.timed.is_some() {
            self.inner.stop(time);
            self.inner.untimed = EVERY;
        } else {
            self.inner.timed = Some((place, time));
        }
        if time - self.inner.from > LONGEST && !self.aggregated {
            self.end_inner();
        }
    }

    /// Adds the counts to those of calls that were aggregated with the open call, which took `length`.
    pub(super) fn take_inner(&mut self, length: u64, mut add: impl FnMut(&mut Self, Inside)) {
        let calls = std::mem::take(&mut self.inner.calls);
        (self.inner.timed, self.inner.untimed) = (None, EVERY);
        for place in 0..self.inner.places {
            let sum = self.inner.sums.modulo_mut(place);
            let Sum { site, region, calls: own, bytes, .. } = *sum;
            *sum = Sum { site, region, ..NO_SUM };
            let time = (u128::from(length) * u128::from(own) / u128::from(calls.max(1))) as u64;
            if own > 0 {
                add(self, Inside { site, region, calls: own, time, bytes });
            }
        }
    }

    /// Writes the counts of calls inside the open call, if there are any, up to the time that was read last or to the end
    /// of that call, if it is over and the next one might have continued its region.
    pub(crate) fn end_inner(&mut self) {
        if !self.inner.are_pending() {
            return;
        }
        let until = if self.polls.until > 0 { self.polls.until } else { self.time };
        self.inner.stop(until);
        let InnerCalls { from, places, sums, .. } = self.inner;
        self.inner.calls = 0;
        for sum in &mut self.inner.sums {
            (sum.calls, sum.bytes, sum.timed) = (0, 0, (0, 0));
        }
        let sums = sums.get(..places).unwrap_or_default();
        // A place of which no call was timed has the time of a mean call.
        let (timed, took) = sums
            .iter()
            .fold((0, 0), |(calls, time), sum| (calls + sum.timed.0, time + sum.timed.1));
        let all = (timed.max(1), took.max(1));
        let part = |sum: &Sum| {
            let (timed, took) = if sum.timed.0 > 0 { sum.timed } else { all };
            u128::from(sum.calls) * u128::from(took.max(1)) / u128::from(timed)
        };
        let whole = sums.iter().map(part).sum::<u128>().max(1);
        let (mut begin, mut before) = (from, 0);
        for sum in sums.iter().filter(|sum| sum.calls > 0) {
            before += part(sum);
            let end = from + (u128::from(until - from) * before / whole) as u64;
            self.write_inner(sum, begin, end);
            begin = end;
        }
    }

    fn write_inner(&mut self, sum: &Sum, begin: u64, end: u64) {
        let Sum { site, region, calls, bytes, .. } = *sum;
        if self.enter_region(begin, region, site) {
            self.leave_sum(end, Inside { site, region, calls, time: end - begin, bytes });
        } else {
            self.process.head.loses_call();
        }
    }
}
