//! Predicted gains of a run without some waits, and reasons why a run cannot be predicted.

use std::fmt;

/// By how much a run would be shorter, in nanoseconds; below 0 if it would be longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// Gain that is predicted if waits are as long as their lower bounds.
    pub expected: i64,
    /// Least gain over everything that is uncertain.
    pub low: i64,
    /// Greatest gain over everything that is uncertain.
    pub high: i64,
}

/// Reason why a run cannot be predicted. Its text form says so in words for a user, without a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpredictable {
    /// Processes took their work from a shared counter, and some of them got none: with other durations they might have done
    /// other work.
    DynamicWork,
    /// Some locations wait for something that the archive does not have. The number is that of these locations.
    Incomplete(u32),
}

impl fmt::Display for Unpredictable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DynamicWork => f.write_str(
                "processes took their work from a shared counter, and some got none: with other durations they might have \
                 got some",
            ),
            Self::Incomplete(1) => {
                f.write_str("a location waits for something that the archive does not have")
            }
            Self::Incomplete(count) => {
                write!(f, "{count} locations wait for something that the archive does not have")
            }
        }
    }
}

/// Length of a run in nanoseconds, and the number of its locations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunSize {
    pub(crate) length: u64,
    pub(crate) locations: u64,
}

impl RunSize {
    /// Returns the time of one location, given twice the time of all.
    pub(crate) fn each(self, both: u128) -> u64 {
        let each = both / (2 * u128::from(self.locations.max(1)));
        u64::try_from(each).unwrap_or(u64::MAX)
    }

    /// Returns a time in hundredths of the run.
    pub(crate) fn hundredths(self, time: u64) -> u64 {
        time.saturating_mul(100) / self.length.max(1)
    }
}
