//! Points in time, and durations.

use serde::{Deserialize, Serialize};

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A point in time: nanoseconds since the beginning of the trace by its clock.
///
/// The difference of two points is a [`Duration`]. A point cannot be added to another one, nor taken for a duration, a
/// number of bytes or the number of an operation.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct Time(pub u64);

impl Time {
    /// Returns the nanoseconds since the beginning of the trace.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// Returns the point at this number of nanoseconds after the beginning of the trace.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// The beginning of the trace, which also means that an event has not happened.
    pub const BEGIN: Self = Self(0);
    /// The end of time, which lies after every event.
    pub const END: Self = Self(u64::MAX);

    /// Returns the duration since an earlier point, or 0 if that point is later.
    #[inline(always)]
    pub fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Returns the point that is later by a duration, at most the end of time.
    #[inline(always)]
    pub fn later_by(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// Returns the point that is earlier by a duration, at least the beginning of the trace.
    #[inline(always)]
    pub fn earlier_by(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.0))
    }
}

impl Sub for Time {
    type Output = Duration;

    #[inline(always)]
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    #[inline(always)]
    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration.0)
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    #[inline(always)]
    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration.0)
    }
}

/// A duration in nanoseconds: a part of the time of one call, or a sum over many calls.
///
/// Amounts of a [`Quantity`](crate::Quantity) are plain numbers, because the quantity states the unit. A duration becomes
/// one where it is booked.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct Duration(pub u64);

impl Duration {
    /// Returns the duration in nanoseconds.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Returns the difference of two durations, or 0 if the other one is longer.
    #[inline(always)]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the sum of two durations, at most the longest duration.
    #[inline(always)]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the sum of as many durations like this, at most the longest duration.
    #[inline(always)]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Add for Duration {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(durations: I) -> Self {
        Self(durations.map(|it| it.0).sum())
    }
}

impl<'a> Sum<&'a Duration> for Duration {
    fn sum<I: Iterator<Item = &'a Duration>>(durations: I) -> Self {
        durations.copied().sum()
    }
}
