//! Single waits: the number of calls of a path that waited, and the longest of these waits.
//!
//! A sum does not show whether a call path has many short waits or a long one. The replay therefore keeps the number of
//! calls that waited and one instance for each call path and kind of wait. Among waits of the same length this is the
//! one that began first, then the one for the process with the lowest number, so it does not depend on the order in
//! which waits become known.

use dwell_trace::ids::ProcessNumber;
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

/// The longest of some waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Longest {
    /// Length in nanoseconds, by the upper bound if there are two; 0 if there is no wait.
    pub(crate) amount: Duration,
    /// Start of the wait in nanoseconds.
    pub(crate) begin: Time,
    /// Process that was waited for, or [`ProcessNumber::UNKNOWN`].
    pub(crate) partner: ProcessNumber,
    /// Window that the operation acted on, or [`NOTHING`].
    pub(crate) window: u16,
}

/// Stands for a wait for which no window is known.
pub(crate) const NOTHING: u16 = u16::MAX;

impl Longest {
    /// Stands for no wait.
    pub(crate) const NONE: Self = Self {
        amount: Duration::ZERO,
        begin: Time::END,
        partner: ProcessNumber::UNKNOWN,
        window: NOTHING,
    };

    /// Keeps the longer of two waits.
    #[inline]
    pub(crate) fn take(&mut self, other: Self) {
        let key = |it: &Self| (std::cmp::Reverse(it.amount), it.begin, it.partner, it.window);
        if key(&other) < key(self) {
            *self = other;
        }
    }
}

/// Number of calls that waited, and the longest wait among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingCalls {
    pub(crate) count: u64,
    pub(crate) longest: Longest,
}

impl WaitingCalls {
    /// Stands for no calls.
    pub(crate) const NONE: Self = Self { count: 0, longest: Longest::NONE };

    /// Describes a single call that waited.
    #[inline]
    pub(crate) fn one(amount: Duration, begin: Time, partner: Option<ProcessNumber>) -> Self {
        let partner = partner.unwrap_or(ProcessNumber::UNKNOWN);
        Self { count: 1, longest: Longest { amount, begin, partner, window: NOTHING } }
    }

    /// Adds other calls.
    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.longest.take(other.longest);
    }
}
