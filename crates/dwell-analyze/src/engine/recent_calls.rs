//! Calls of the current window whose times are not in the histograms of their accounts yet.
//!
//! Most waits are found in the window in which their calls end. Lengths of calls that wait differ widely, so adding such
//! a length to a histogram and taking it out again would load memory twice that is not needed otherwise. With tens of
//! thousands of locations, which share the caches, this took a seventh of the time of an analysis. The list of a location
//! is short instead, and in one piece.

use dwell_trace::time::Duration;

/// Greatest number of calls in the list. A location with more calls in a window has its histograms in the caches, and
/// searching a longer list would take longer than a histogram does.
const MOST: usize = 192;

/// Memory in bytes that a list takes at most.
pub(crate) const BYTES: u64 = (MOST * size_of::<u64>()) as u64;

/// Calls of a location: the number of the account of each, and its time.
#[derive(Debug, Default)]
pub(crate) struct RecentCalls {
    /// Account and time of each call, in one number that is quick to compare.
    calls: Vec<u64>,
    /// Set once a window had more than [`MOST`] calls: later windows will, too.
    is_off: bool,
}

impl RecentCalls {
    /// Keeps a call. Returns `false` if it has to be added to its histogram, as all calls of more than four seconds.
    #[inline(always)]
    pub(crate) fn keep(&mut self, account: u32, time: Duration) -> bool {
        if self.is_off {
            return false;
        }
        let Some(call) = packed(account, time) else { return false };
        if self.calls.len() == self.calls.capacity() {
            return self.grow(call);
        }
        self.calls.push(call);
        true
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, call: u64) -> bool {
        self.is_off = self.calls.len() >= MOST;
        if !self.is_off {
            self.calls.reserve_exact(MOST - self.calls.len());
            self.calls.push(call);
        }
        !self.is_off
    }

    /// Takes a call with this time off the list. Calls of an account with equal times need not be told apart. Returns
    /// `false` if there is none.
    #[inline]
    pub(crate) fn take(&mut self, account: u32, time: Duration) -> bool {
        let wanted = packed(account, time);
        let found = self.calls.iter().position(|&call| Some(call) == wanted);
        if let Some(at) = found {
            self.calls.swap_remove(at);
        }
        found.is_some()
    }

    /// Takes all calls off the list, and keeps its memory.
    #[inline]
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u32, Duration)> {
        self.calls.drain(..).map(|call| ((call >> 32) as u32, Duration(call & LONGEST)))
    }
}

/// Longest time in nanoseconds that fits into one number together with an account.
const LONGEST: u64 = u32::MAX as u64;

/// Returns an account and a time in one number, if the time is short enough.
#[inline(always)]
fn packed(account: u32, time: Duration) -> Option<u64> {
    (time.0 <= LONGEST).then_some(u64::from(account) << 32 | time.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_not_left() {
        let mut recent = RecentCalls::default();
        for (account, time) in [(1, 5), (2, 5), (1, 7), (1, 5)] {
            assert!(recent.keep(account, Duration(time)));
        }
        assert!(recent.take(1, Duration(5)));
        assert!(!recent.take(2, Duration(7)));
        let mut left: Vec<_> = recent.drain().collect();
        left.sort_by_key(|call| (call.0, call.1));
        let expected = [(1, 5), (1, 7), (2, 5)].map(|(at, time)| (at, Duration(time)));
        assert_eq!(left, expected);
        assert!(!recent.take(2, Duration(5)));
        assert!(!recent.keep(2, Duration(LONGEST + 1)));
        assert!(!recent.take(2, Duration(LONGEST + 1)));
    }

    #[test]
    fn a_list_that_was_full_stays_off() {
        let mut recent = RecentCalls::default();
        let kept = (0..1000).filter(|_| recent.keep(1, Duration(1))).count();
        assert_eq!((kept, recent.drain().count()), (MOST, MOST));
        assert!(!recent.keep(1, Duration(1)));
    }
}
