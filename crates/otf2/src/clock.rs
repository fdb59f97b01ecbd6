//! Clock correction: from the clock of a location to the clock of the archive.

use crate::def::ClockOffset;
use crate::id::Time;

/// The clock offsets of a location, as a function of its time.
///
/// Between two measurements the offset is interpolated, outside it is extrapolated. A single
/// measurement corrects nothing: the C library ignores it, and so do we.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Measurements with rising times.
    offsets: Vec<(u64, i64)>,
    /// Interval used last. Times rarely go back, so the next is close.
    at: usize,
}

impl Clock {
    /// Adds a measurement. Returns false, and does not keep it, if its time does not rise.
    pub fn push(&mut self, offset: &ClockOffset) -> bool {
        let rises = self.offsets.last().is_none_or(|last| last.0 < offset.time.0);
        if rises {
            self.offsets.push((offset.time.0, offset.offset));
        }
        rises
    }

    /// Whether times stay as they are.
    pub fn is_identity(&self) -> bool {
        self.offsets.len() < 2
    }

    /// The global time for a local one, fast when times rise from call to call.
    #[inline]
    pub fn correct(&mut self, time: Time) -> Time {
        if self.offsets.get(self.at).is_some_and(|begin| time.0 <= begin.0) {
            self.at = 0;
        }
        self.at = self.interval(time, self.at);
        self.shift(time, self.at)
    }

    /// The global time for a local one.
    pub fn at(&self, time: Time) -> Time {
        self.shift(time, self.interval(time, 0))
    }

    /// The first interval from `at` on that ends at or after the time, else the last.
    fn interval(&self, time: Time, mut at: usize) -> usize {
        while at + 2 < self.offsets.len()
            && self.offsets.get(at + 1).is_some_and(|end| end.0 < time.0)
        {
            at += 1;
        }
        at
    }

    /// Corrects a time by the measurements at both ends of an interval.
    fn shift(&self, Time(time): Time, at: usize) -> Time {
        let (Some(&(t0, o0)), Some(&(t1, o1))) = (self.offsets.get(at), self.offsets.get(at + 1))
        else {
            return Time(time);
        };
        // Differences are exact before they become real numbers: times are too large for that.
        let slope = o1.wrapping_sub(o0) as f64 / (t1 - t0) as f64;
        let distance = if time >= t0 { (time - t0) as f64 } else { -((t0 - time) as f64) };
        let drift = (slope * distance).round_ties_even() as i64;
        Time(time.wrapping_add_signed(o0).wrapping_add_signed(drift))
    }
}
