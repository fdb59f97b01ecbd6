//! Bounds of a wait for several targets: the time until the last of them came, and the time in which any was away.

use dwell_trace::time::{Duration, Time};

use crate::engine::regions::{Span, Visits};

/// Greatest number of absences of a target that are kept for a call with several targets. If a target was away more
/// often, an upper bound replaces the time in which any of them was away: the smaller of the sum of these times and the
/// time until the last visit of all.
pub(super) const MOST_GAPS: usize = 64;

/// Intervals in which any of several targets was away before its last visit.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    list: Vec<Span>,
    /// Sum over all targets, and start of the latest last visit.
    sum: Duration,
    last: Time,
    /// True if some target was away too often to keep every interval.
    too_many: bool,
}

impl Gaps {
    /// Adds a target: its visits and, if it has several visits, the intervals in which it was away.
    pub(super) fn add(&mut self, enter: Time, visits: &Visits, own: impl Iterator<Item = Span>) {
        if visits.first == Span::NONE {
            return;
        }
        self.sum += visits.gaps;
        self.last = self.last.max(visits.last);
        if visits.comes_and_goes(enter) {
            let before = self.list.len();
            self.list.extend(own);
            self.too_many |= self.list.len() - before > MOST_GAPS;
        } else if visits.last > enter {
            self.list.push(Span { begin: enter, end: visits.last });
        }
    }

    pub(super) fn time(mut self, enter: Time) -> Duration {
        if self.too_many {
            return self.sum.min(self.last.since(enter));
        }
        self.list.sort_unstable_by_key(|gap| (gap.begin, gap.end));
        let (mut sum, mut reached) = (Duration::ZERO, enter);
        for gap in self.list {
            sum += gap.end.since(gap.begin.max(reached));
            reached = reached.max(gap.end);
        }
        sum
    }
}

/// Returns the time from which on a target with these visits served a call, or `None` if it had served the call before
/// the call was entered, or never did.
pub(super) fn arrival(visits: &Visits, enter: Time, leave: Time) -> Option<Time> {
    let first = visits.first;
    (first.begin < leave && first.end > enter).then_some(first.begin.max(enter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTER: Time = Time(100);

    fn span(begin: u64, end: u64) -> Span {
        Span { begin: Time(begin), end: Time(end) }
    }

    #[test]
    fn the_first_visit_that_lasts_into_the_call() {
        let arrival = |begin, end| {
            let visits = Visits { first: span(begin, end), ..Visits::NONE };
            arrival(&visits, ENTER, Time(200)).map(|it| it.0)
        };
        assert_eq!(arrival(150, 160), Some(150));
        assert_eq!(arrival(90, 110), Some(100));
        assert_eq!(arrival(50, 100), None);
        assert_eq!(arrival(200, 210), None);
    }

    #[test]
    fn time_in_which_any_was_away() {
        let visits = |first, last, gaps| Visits {
            first,
            last: Time(last),
            gaps: Duration(gaps),
            ..Visits::NONE
        };
        let mut gaps = Gaps::default();
        gaps.add(ENTER, &Visits::NONE, [].into_iter());
        // Came at 150; came at 120, left at 130 and came again at 170.
        gaps.add(ENTER, &visits(span(150, 300), 150, 50), [].into_iter());
        let own = [span(100, 120), span(130, 170)];
        gaps.add(ENTER, &visits(span(120, 130), 170, 60), own.into_iter());
        assert_eq!(gaps.time(ENTER).0, 70);
        // Away too often to keep: the time until the last visit is less than the sum.
        let mut gaps = Gaps::default();
        gaps.add(ENTER, &visits(span(150, 300), 150, 50), [].into_iter());
        let many = (0..=MOST_GAPS as u64).map(|at| span(101 + 2 * at, 102 + 2 * at));
        gaps.add(ENTER, &visits(span(100, 101), 240, 100), many);
        assert_eq!(gaps.time(ENTER).0, 140);
    }
}
