//! Single waits: how many calls of a path waited, and the longest of these waits.
//!
//! Sums say how much a call path waits, and not whether it is many short waits or one long one. So for each call path and
//! kind of wait the number of calls that waited is kept, and one instance. Among waits of the same length it is the
//! one that began first, then the one for the process of the lowest number: it does not depend on the order in which
//! waits become known.

/// The longest of some waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Longest {
    /// Nanoseconds, the upper bound if there are two; 0 if there is no wait.
    pub(crate) amount: u64,
    /// When it began, in nanoseconds.
    pub(crate) begin: u64,
    /// The process that was waited for, or [`NOBODY`].
    pub(crate) partner: u32,
    /// The window that it acted on, or [`NOTHING`].
    pub(crate) window: u16,
}

/// Nobody is known to have been waited for.
pub(crate) const NOBODY: u32 = u32::MAX;
/// No window is known to have been acted on.
pub(crate) const NOTHING: u16 = u16::MAX;

impl Longest {
    /// No wait.
    pub(crate) const NONE: Self =
        Self { amount: 0, begin: u64::MAX, partner: NOBODY, window: NOTHING };

    /// Keeps the longer of two waits.
    #[inline]
    pub(crate) fn take(&mut self, other: Self) {
        let key = |it: &Self| (std::cmp::Reverse(it.amount), it.begin, it.partner, it.window);
        if key(&other) < key(self) {
            *self = other;
        }
    }
}

/// WaitingCalls that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingCalls {
    pub(crate) count: u64,
    pub(crate) longest: Longest,
}

impl WaitingCalls {
    /// No calls.
    pub(crate) const NONE: Self = Self { count: 0, longest: Longest::NONE };

    /// One call.
    #[inline]
    pub(crate) fn one(amount: u64, begin: u64, partner: Option<u32>) -> Self {
        let partner = partner.unwrap_or(NOBODY);
        Self { count: 1, longest: Longest { amount, begin, partner, window: NOTHING } }
    }

    /// Adds other calls.
    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.longest.take(other.longest);
    }
}
