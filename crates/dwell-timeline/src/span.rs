//! Points and spans of time.

/// A point in time: nanoseconds by the clock of the trace. [`Index::span`](crate::Index::span) has the first one, from which people count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A span of time, without its end. Spans that touch have no time in common, so that sums over parts of a span add up to that of the
/// whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Begin of the span, which belongs to it.
    pub from: Time,
    /// End of the span, which does not belong to it.
    pub to: Time,
}

impl Span {
    /// Returns the length in nanoseconds.
    pub fn length(self) -> u64 {
        self.to.0.saturating_sub(self.from.0)
    }

    /// Returns the common part of two spans, which may be empty.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        let from = self.from.max(other.from);
        Self { from, to: self.to.min(other.to).max(from) }
    }

    /// Returns the time that divides the span into columns of equal length: the begin of a column.
    pub fn column(self, column: usize, columns: usize) -> Time {
        let part = u128::from(self.length()) * column as u128 / columns.max(1) as u128;
        Time(self.from.0 + part as u64)
    }

    /// Returns the column that a time is in, or the one before where times are rounded. Times before the span are in its first column.
    pub(crate) fn column_of(self, time: Time, columns: usize) -> usize {
        let after = u128::from(time.0.saturating_sub(self.from.0));
        (after * columns as u128 / u128::from(self.length().max(1))) as usize
    }
}
