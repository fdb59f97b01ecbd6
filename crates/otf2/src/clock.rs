//! Clock correction: from the clock of a location to the clock of the archive.

use crate::def::ClockOffset;
use crate::id::Time;

/// The clock of a location: its measured offsets to the clock of the archive, and the times they correct.
///
/// The offset is interpolated between two measurements, and extrapolated before the first and after the last. A single
/// measurement corrects nothing: the C library ignores it, and so does this crate.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Local time and offset of each measurement, in the order of rising times.
    offsets: Vec<(u64, i64)>,
    /// Index of the interval that the last call used. Event times rarely go back, so the next interval is close.
    at: usize,
}

impl Clock {
    /// Adds a measurement of the offset, in the order of the local definition file. Returns `false` and drops the
    /// measurement if its time is not later than that of the one before.
    pub fn push(&mut self, offset: &ClockOffset) -> bool {
        let rises = self.offsets.last().is_none_or(|last| last.0 < offset.time.0);
        if rises {
            self.offsets.push((offset.time.0, offset.offset));
        }
        rises
    }

    /// Returns `true` if [`Clock::correct`] and [`Clock::at`] return every time unchanged, because there are fewer than
    /// two measurements.
    pub fn is_identity(&self) -> bool {
        self.offsets.len() < 2
    }

    /// Converts a time of the location to the clock of the archive.
    ///
    /// The clock remembers the interval that it used last, so this is fast for times that rise from call to call. Times
    /// may go back at the price of a search from the beginning. Results that leave the range of 64 bits wrap around.
    #[inline]
    pub fn correct(&mut self, time: Time) -> Time {
        if self.offsets.get(self.at).is_some_and(|begin| time.0 <= begin.0) {
            self.at = 0;
        }
        self.at = self.interval(time, self.at);
        self.shift(time, self.at)
    }

    /// Converts a time of the location to the clock of the archive without remembering the interval. This works on a
    /// shared reference, but each call searches the measurements from the beginning.
    pub fn at(&self, time: Time) -> Time {
        self.shift(time, self.interval(time, 0))
    }

    /// Returns the first interval from `at` on that ends at or after the time, or the last interval if none does.
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
        // Differences are taken as integers, because times are too large to be exact as real numbers.
        let slope = o1.wrapping_sub(o0) as f64 / (t1 - t0) as f64;
        let distance = if time >= t0 { (time - t0) as f64 } else { -((t0 - time) as f64) };
        let drift = (slope * distance).round_ties_even() as i64;
        Time(time.wrapping_add_signed(o0).wrapping_add_signed(drift))
    }
}
