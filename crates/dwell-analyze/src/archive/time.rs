//! Points in time.

use std::ops::{Add, Sub};

/// A point in time: nanoseconds since the beginning of the trace by its clock.
///
/// The difference of two points is a number of nanoseconds and of no type of its own, because quantities of all units
/// are booked as plain numbers. A point cannot be added to another one, nor taken for a number of bytes or operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    /// The beginning of the trace, which also stands for times at which nothing happened.
    pub(crate) const BEGIN: Self = Self(0);
    /// The end of time, which lies after every event.
    pub(crate) const END: Self = Self(u64::MAX);

    /// Returns the nanoseconds since an earlier point, or 0 if that point is later.
    #[inline(always)]
    pub(crate) fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the point that is some nanoseconds later, at most the end of time.
    #[inline(always)]
    pub(crate) fn later_by(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// Returns the point that is some nanoseconds earlier, at least the beginning of the trace.
    #[inline(always)]
    pub(crate) fn earlier_by(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_sub(nanoseconds))
    }
}

impl Sub for Time {
    type Output = u64;

    #[inline(always)]
    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

impl Add<u64> for Time {
    type Output = Self;

    #[inline(always)]
    fn add(self, nanoseconds: u64) -> Self {
        Self(self.0 + nanoseconds)
    }
}

impl Sub<u64> for Time {
    type Output = Self;

    #[inline(always)]
    fn sub(self, nanoseconds: u64) -> Self {
        Self(self.0 - nanoseconds)
    }
}
