//! Bounds of a wait for several targets: the time in which none of them served, and the time in which any was away.

use dwell_trace::ids::LocationNumber;
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

/// Returns the parts of [enter, latest begin] that no region covers, each with the location that began the region at its
/// end.
pub(super) fn uncovered(
    enter: Time,
    leave: Time,
    regions: impl Iterator<Item = (Span, LocationNumber)>,
) -> Vec<(Span, LocationNumber)> {
    let mut cut: Vec<(Span, LocationNumber)> = regions
        .filter(|(region, _)| region.begin < leave && region.end > enter)
        .map(|(region, culprit)| {
            let (begin, end) = (region.begin.max(enter), region.end.min(leave));
            (Span { begin, end }, culprit)
        })
        .collect();
    cut.sort_unstable_by_key(|(region, culprit)| (region.begin, region.end, *culprit));
    let (mut parts, mut covered) = (Vec::new(), enter);
    for (region, culprit) in cut {
        if covered < region.begin {
            parts.push((Span { begin: covered, end: region.begin }, culprit));
        }
        covered = covered.max(region.end);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTER: Time = Time(100);

    fn span(begin: u64, end: u64) -> Span {
        Span { begin: Time(begin), end: Time(end) }
    }

    #[test]
    fn only_what_no_region_covers() {
        let wait = |list: &[Span]| {
            let regions = list.iter().copied().zip((0..).map(LocationNumber));
            let parts = uncovered(ENTER, Time(200), regions);
            parts.iter().map(|it| it.0.length().0).sum::<u64>()
        };
        assert_eq!(wait(&[span(150, 160)]), 50);
        assert_eq!(wait(&[span(90, 110), span(150, 160)]), 40);
        assert_eq!(wait(&[span(110, 120), span(150, 160)]), 10 + 30);
        assert_eq!(wait(&[span(50, 100), span(150, 160)]), 50);
        assert_eq!(wait(&[span(50, 101), span(200, 210)]), 0);
        assert_eq!(wait(&[span(120, 180), span(150, 160)]), 20);
        assert_eq!(wait(&[]), 0);
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
