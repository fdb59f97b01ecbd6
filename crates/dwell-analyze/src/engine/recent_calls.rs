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

/// Number of times that are compared at once. The compiler does it with four in one register.
const LANES: usize = 16;

/// Memory in bytes that a list takes at most.
pub(crate) const BYTES: u64 = (MOST * 2 * size_of::<u32>()) as u64;

/// Calls of a location: the number of the account of each, and its time.
#[derive(Debug, Default)]
pub(crate) struct RecentCalls {
    /// Time of each call in nanoseconds, and its account in the other list: times alone are quicker to search.
    times: Vec<u32>,
    accounts: Vec<u32>,
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
        let Ok(time) = u32::try_from(time.0) else { return false };
        if self.times.len() == self.times.capacity() {
            return self.grow(account, time);
        }
        self.times.push(time);
        self.accounts.push(account);
        true
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, account: u32, time: u32) -> bool {
        self.is_off = self.times.len() >= MOST;
        if !self.is_off {
            self.times.reserve_exact(MOST - self.times.len());
            self.accounts.reserve_exact(MOST - self.accounts.len());
            self.times.push(time);
            self.accounts.push(account);
        }
        !self.is_off
    }

    /// Takes a call with this time off the list. Calls of an account with equal times need not be told apart. Returns
    /// `false` if there is none.
    #[inline]
    pub(crate) fn take(&mut self, account: u32, time: Duration) -> bool {
        let Some(at) = u32::try_from(time.0).ok().and_then(|time| self.place(account, time)) else {
            return false;
        };
        self.times.swap_remove(at);
        self.accounts.swap_remove(at);
        true
    }

    fn place(&self, account: u32, time: u32) -> Option<usize> {
        let is = |at: &usize| {
            self.times.get(*at) == Some(&time) && self.accounts.get(*at) == Some(&account)
        };
        let (lanes, rest) = self.times.as_chunks::<LANES>();
        // Without a branch for each, so that they are compared together.
        let has = |some: &[u32; LANES]| some.iter().fold(false, |any, it| any | (*it == time));
        for (number, _) in lanes.iter().enumerate().filter(|it| has(it.1)) {
            if let Some(at) = (number * LANES..(number + 1) * LANES).find(is) {
                return Some(at);
            }
        }
        (self.times.len() - rest.len()..self.times.len()).find(is)
    }

    /// Takes all calls off the list, and keeps its memory.
    #[inline]
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u32, Duration)> {
        let times = self.times.drain(..).map(|time| Duration(time.into()));
        self.accounts.drain(..).zip(times)
    }
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
        assert!(!recent.keep(2, Duration(u64::from(u32::MAX) + 1)));
        assert!(!recent.take(2, Duration(u64::from(u32::MAX) + 1)));
    }

    #[test]
    fn each_place_of_a_long_list_is_found() {
        for wanted in 0..100 {
            let mut recent = RecentCalls::default();
            // Two accounts with the same times.
            (0..100).for_each(|it| assert!(recent.keep(it % 2, Duration(u64::from(it / 2)))));
            assert!(recent.take(wanted % 2, Duration(u64::from(wanted / 2))));
            assert!(!recent.take(wanted % 2, Duration(u64::from(wanted / 2))));
            assert_eq!(recent.drain().count(), 99);
        }
    }

    #[test]
    fn a_list_that_was_full_stays_off() {
        let mut recent = RecentCalls::default();
        let kept = (0..1000).filter(|_| recent.keep(1, Duration(1))).count();
        assert_eq!((kept, recent.drain().count()), (MOST, MOST));
        assert!(!recent.keep(1, Duration(1)));
    }
}
