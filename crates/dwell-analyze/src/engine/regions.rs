//! Progress regions of a process: the times at which it progressed operations of others.
//!
//! A region is a maximal interval inside calls that progress, over all threads of the process. Adjacent intervals are
//! one region. Regions are in order, and only the last one may be open.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

/// An interval of time. `NONE` means a region that does not exist: it begins after everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub(crate) begin: Time,
    pub(crate) end: Time,
}

impl Span {
    /// Returns the time between begin and end.
    #[inline(always)]
    pub(crate) fn length(self) -> Duration {
        self.end - self.begin
    }

    pub(crate) const NONE: Self = Self { begin: Time::END, end: Time::END };
    /// Means the activity of a process before the waiting call was entered, if it was not examined. It may have
    /// been enough to serve the operation.
    pub(crate) const EARLY: Self = Self { begin: Time(1), end: Time(0) };
}

/// The first region that ends after a time, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The region. An open region has [`Time::END`] as its end.
    Region(Span),
    /// No region begins before the time that was asked about.
    Nothing,
    /// The events read so far do not decide it.
    Unknown,
}

/// An operation from the point of view of its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Earliest time at which the request can have arrived.
    pub(crate) after: Time,
    /// Enter of the call that waits, and completion of the operation.
    pub(crate) enter: Time,
    pub(crate) leave: Time,
    /// Regions that are closer together than this count as one visit.
    pub(crate) apart: Duration,
}

/// Times at which a process was in its runtime between the arrival of a request and the end of the operation. Regions
/// that are close together count as one visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Visits {
    /// The first region, or [`Span::NONE`].
    pub(crate) first: Span,
    /// Start of the last visit.
    pub(crate) last: Time,
    /// Time from the enter of the call to the last visit in which the process was in no region.
    pub(crate) gaps: Duration,
    /// Part of `gaps` right before the last visit.
    pub(crate) gap: Duration,
    /// Number of visits that began after the enter of the call.
    pub(crate) count: u32,
}

impl Visits {
    pub(crate) const NONE: Self = Self {
        first: Span::NONE,
        last: Time::END,
        gaps: Duration::ZERO,
        gap: Duration::ZERO,
        count: 0,
    };

    /// Returns `true` if the process was in its runtime between the enter of the call and the last visit.
    #[inline]
    pub(crate) fn comes_and_goes(&self, enter: Time) -> bool {
        self.first != Span::NONE && self.last > enter && self.gaps != self.last - enter
    }

    fn from(first: Span, enter: Time) -> Self {
        let gap = first.begin.since(enter);
        Self { first, last: first.begin, gaps: gap, gap, count: u32::from(gap > Duration::ZERO) }
    }
}

/// Number of regions after the one that was found last among which the next is searched one by one.
const NEAR: usize = 8;

/// Regions of a process.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    closed: Vec<Span>,
    /// Number of open calls that progress.
    depth: u32,
    begin: Time,
    /// End of the previous region, which the open one continues.
    before: Option<Time>,
    /// True if the open call may turn out to act on its own process, in which case it progresses nothing.
    tentative: bool,
    /// In processes with several threads, starts of calls that may turn out to act on their own process.
    doubtful: Vec<Time>,
    /// Index that was found last. Questions to a process arrive in the order of time, so the next index is near.
    /// Several workers may answer questions to one process, so each worker checks the index that it finds here.
    cursor: AtomicUsize,
    /// End of the first region, and number of regions that end per nanosecond, for guessing an index.
    base: Time,
    pace: f64,
}

impl Regions {
    /// Records that a call that progresses begins.
    #[inline(always)]
    pub(crate) fn enter(&mut self, time: Time, tentative: bool) {
        self.depth += 1;
        if self.depth > 1 {
            self.tentative = false;
            return;
        }
        self.tentative = tentative;
        self.begin = time;
        self.before = None;
        if let Some(last) = self.closed.last().copied()
            && last.end == time
        {
            self.closed.pop();
            (self.begin, self.before) = (last.begin, Some(last.end));
        }
    }

    /// Records that a call that progresses ends.
    #[inline(always)]
    pub(crate) fn leave(&mut self, time: Time) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.tentative = false;
            self.closed.push(Span { begin: self.begin, end: time });
        }
    }

    /// Records a whole call that progresses.
    #[inline(always)]
    pub(crate) fn call(&mut self, begin: Time, end: Time) {
        if self.depth > 0 {
            self.tentative = false;
            return;
        }
        match self.closed.last_mut() {
            Some(last) if last.end == begin => last.end = end,
            _ => self.closed.push(Span { begin, end }),
        }
    }

    /// Records the start of a call that progresses unless it turns out to act on its own process. It is used for
    /// processes with several threads, whose other calls continue meanwhile.
    pub(crate) fn doubt(&mut self, time: Time) {
        self.doubtful.push(time);
    }

    /// Records that a doubtful call acts on another process, so it has progressed since its start.
    pub(crate) fn trust(&mut self, since: Time) {
        if !self.distrust(since) {
            return;
        }
        if self.depth == 0 || since < self.begin {
            self.begin = since;
            self.before = None;
            while let Some(last) = self.closed.pop_if(|last| last.end >= since) {
                self.begin = self.begin.min(last.begin);
            }
        }
        self.depth += 1;
    }

    /// Records that a doubtful call acts on its own process. Returns `false` if no doubtful call began at this time.
    pub(crate) fn distrust(&mut self, since: Time) -> bool {
        let at = self.doubtful.iter().position(|&begin| begin == since);
        at.map(|at| self.doubtful.swap_remove(at)).is_some()
    }

    /// Returns the time up to which the regions are final, apart from open calls.
    fn settled(&self) -> Time {
        self.doubtful.iter().copied().min().unwrap_or(Time::END)
    }

    /// Records that the open call acts on another process.
    #[inline]
    pub(crate) fn confirm(&mut self) {
        self.tentative = false;
    }

    /// Records that the open call acts on its own process, so it was not a region.
    pub(crate) fn retract(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.tentative = false;
            if let Some(end) = self.before {
                self.closed.push(Span { begin: self.begin, end });
            }
        }
    }

    /// Returns the first region that ends after `after`, if it begins before `until`. All events before `horizon` have
    /// been read.
    #[inline]
    pub(crate) fn first(&self, after: Time, until: Time, horizon: Time) -> Found {
        let index = self.index_after(after);
        let settled = self.settled();
        if settled < until {
            let before = |span: &Span| span.end < settled;
            let decided = match self.closed.get(index) {
                Some(span) => before(span),
                None => self.depth > 0 && self.begin <= settled,
            };
            if !decided {
                return Found::Unknown;
            }
        }
        if let Some(&span) = self.closed.get(index) {
            // A region that ended at the horizon may still be continued.
            return if span.end < horizon || until <= span.end || index + 1 < self.closed.len() {
                Found::Region(span)
            } else {
                Found::Unknown
            };
        }
        if self.depth > 0 {
            return if self.begin >= until {
                Found::Nothing
            } else if self.tentative || horizon <= after || horizon <= until {
                // The end of the region may matter up to `until`.
                Found::Unknown
            } else {
                Found::Region(Span { begin: self.begin, end: Time::END })
            };
        }
        if horizon > until { Found::Nothing } else { Found::Unknown }
    }

    /// Returns the visits of the process during an operation, or `None` if the events read so far do not decide.
    /// `known` is the first region, if it was found before; it may have been dropped here since. All events before
    /// `horizon` have been read.
    #[inline]
    pub(crate) fn visits(
        &self,
        known: Option<Span>,
        request: Request,
        horizon: Time,
    ) -> Option<Visits> {
        let Request { after, enter, leave, apart } = request;
        let open = self.depth > 0 && self.begin < leave;
        // A request may take longer than its operation did: a region that ends before the request arrives does not
        // serve it.
        if horizon <= leave.max(after) || open && self.tentative || self.settled() < leave {
            return None;
        }
        let index = self.index_after(known.map_or(after, |known| known.end));
        let open = open.then_some(Span { begin: self.begin, end: Time::END });
        let mut rest = self.closed.get(index..).unwrap_or_default().iter().copied().chain(open);
        let Some(first) = known.or_else(|| rest.next()).filter(|it| it.begin < leave) else {
            return Some(Visits::NONE);
        };
        let mut visits = Visits::from(first, enter);
        let (mut end, mut gaps) = (first.end, visits.gaps);
        for region in rest.take_while(|it| it.begin < leave) {
            let gap = region.begin.since(end.max(enter));
            gaps += gap;
            let unknown = first == Span::EARLY && end == first.end;
            if unknown || region.begin.since(end) >= apart {
                visits.last = region.begin;
                (visits.gaps, visits.gap) = (gaps, gap);
                visits.count += u32::from(region.begin > enter);
            }
            end = region.end;
        }
        Some(visits)
    }

    /// Returns the intervals in which the process was in no region, from the enter of the waiting call up to the last
    /// region that begins by `until`. `known` is the first region, as in [`Self::visits`], which adds up the same
    /// intervals.
    pub(crate) fn gaps(
        &self,
        known: Option<Span>,
        request: Request,
        until: Time,
    ) -> impl Iterator<Item = Span> {
        let Request { after, enter, .. } = request;
        let index = self.index_after(known.map_or(after, |known| known.end));
        let open = (self.depth > 0).then_some(Span { begin: self.begin, end: Time::END });
        let closed = self.closed.get(index..).unwrap_or_default().iter().copied();
        let regions = known.into_iter().chain(closed).chain(open);
        let mut end = enter;
        regions.take_while(move |it| it.begin <= until).filter_map(move |region| {
            let gap = Span { begin: end.max(enter), end: region.begin };
            end = end.max(region.end);
            (gap.begin < gap.end).then_some(gap)
        })
    }

    /// Returns the first region that ends after `after`, if its end is final.
    pub(crate) fn ended(&self, after: Time, horizon: Time) -> Option<Span> {
        let index = self.index_after(after);
        let span = self.closed.get(index).copied()?;
        if self.settled() <= span.end {
            return None;
        }
        (span.end < horizon || index + 1 < self.closed.len()).then_some(span)
    }

    /// Returns the index of the first closed region that ends after a time.
    #[inline]
    fn index_after(&self, after: Time) -> usize {
        let over = |at: usize| self.closed.get(at).is_some_and(|span| span.end <= after);
        let last = self.cursor.load(Relaxed);
        let found = if (last == 0 || over(last - 1)) && !over(last + NEAR) {
            let next = self.closed.get(last..).unwrap_or_default();
            last + next.iter().take_while(|span| span.end <= after).count()
        } else {
            self.search(after)
        };
        self.cursor.store(found, Relaxed);
        found
    }

    #[inline(never)]
    fn search(&self, after: Time) -> usize {
        let over = |at: usize| self.closed.get(at).is_some_and(|span| span.end <= after);
        // Calls usually come at an even pace, so guess an index and search from there.
        let since = after.since(self.base);
        let guess = (since.0 as f64 * self.pace) as usize;
        let (mut from, mut to) = (guess.min(self.closed.len()), self.closed.len());
        let mut step = 1;
        if over(from) {
            while over(from + step) {
                from += step;
                step *= 2;
            }
            to = to.min(from + step);
        } else {
            to = from;
            loop {
                from = to.saturating_sub(step);
                if from == 0 || over(from) {
                    break;
                }
                to = from;
                step *= 2;
            }
        }
        let between = self.closed.get(from..to).unwrap_or_default();
        from + between.partition_point(|span| span.end <= after)
    }

    /// Prepares the guesses for a window of questions.
    pub(crate) fn index(&mut self) {
        let ends = self.closed.first().zip(self.closed.last());
        (self.base, self.pace) = match ends {
            Some((first, last)) if last.end > first.end => {
                let length = (last.end - first.end).0 as f64;
                (first.end, (self.closed.len() - 1) as f64 / length)
            }
            _ => (Time::BEGIN, 0.0),
        };
    }

    /// Forgets regions that ended at or before a time.
    pub(crate) fn forget(&mut self, floor: Time) {
        // Regions that may still be continued are kept.
        let from = self.index_after(floor.min(self.settled().earlier_by(Duration(1))));
        // The last one may still be continued.
        let from = from.min(self.closed.len().saturating_sub(1));
        self.closed.drain(..from);
        *self.cursor.get_mut() = self.cursor.load(Relaxed).saturating_sub(from);
    }

    /// Returns the begin of the oldest region that is kept, the open one included.
    pub(crate) fn oldest(&self) -> Time {
        let open = if self.depth > 0 { self.begin } else { Time::END };
        let doubtful = self.doubtful.iter().copied().min().unwrap_or(Time::END);
        self.closed.first().map_or(Time::END, |it| it.begin).min(open).min(doubtful)
    }

    /// Returns the memory in bytes that the regions take.
    pub(crate) fn bytes(&self) -> usize {
        self.closed.capacity() * size_of::<Span>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, end: u64) -> Span {
        Span { begin: Time(begin), end: Time(end) }
    }

    fn first(regions: &Regions, after: u64, until: u64, horizon: u64) -> Found {
        regions.first(Time(after), Time(until), Time(horizon))
    }

    fn calls(list: &[(u64, u64)]) -> Regions {
        let mut regions = Regions::default();
        for &(begin, end) in list {
            regions.enter(Time(begin), false);
            regions.leave(Time(end));
        }
        regions
    }

    #[test]
    fn stretches_that_touch_are_one() {
        let regions = calls(&[(10, 20), (20, 30), (31, 40)]);
        assert_eq!(regions.closed, [span(10, 30), span(31, 40)]);
    }

    #[test]
    fn what_ends_at_the_time_is_over() {
        let regions = calls(&[(10, 20), (25, 30)]);
        let at = |after| first(&regions, after, 100, 100);
        assert_eq!(at(19), Found::Region(span(10, 20)));
        assert_eq!(at(20), Found::Region(span(25, 30)));
        assert_eq!(at(30), Found::Unknown);
        assert_eq!(first(&regions, 30, 99, 100), Found::Nothing);
        assert_eq!(first(&regions, 20, 99, 30), Found::Unknown);
    }

    #[test]
    fn a_call_that_may_be_on_itself() {
        let whole = |regions: &Regions| first(regions, 5, 100, 200);
        let mut regions = calls(&[(10, 20)]);
        regions.doubt(Time(18));
        regions.doubt(Time(40));
        regions.enter(Time(50), false);
        // Where it begins is not known, but what ended before is.
        assert_eq!(whole(&regions), Found::Unknown);
        assert_eq!(first(&regions, 5, 18, 200), Found::Region(span(10, 20)));
        assert_eq!(regions.ended(Time(5), Time(200)), None);
        regions.forget(Time(30));
        regions.distrust(Time(18));
        assert_eq!(whole(&regions), Found::Region(span(10, 20)));
        assert_eq!(first(&regions, 20, 100, 200), Found::Unknown);
        regions.trust(Time(40));
        assert_eq!(
            first(&regions, 20, 100, 200),
            Found::Region(Span { begin: Time(40), end: Time::END })
        );
        regions.leave(Time(60));
        regions.leave(Time(70));
        assert_eq!(first(&regions, 20, 100, 200), Found::Region(span(40, 70)));
        // One that began while the others were there is part of them.
        regions.doubt(Time(65));
        regions.trust(Time(65));
        regions.leave(Time(80));
        assert_eq!(regions.closed.last(), Some(&span(40, 80)));
    }

    #[test]
    fn a_call_on_itself_is_none() {
        let mut regions = calls(&[(10, 20)]);
        regions.enter(Time(20), true);
        assert_eq!(first(&regions, 20, 25, 30), Found::Unknown);
        regions.retract();
        assert_eq!(regions.closed, [span(10, 20)]);
        assert_eq!(first(&regions, 20, 25, 30), Found::Nothing);
    }

    #[test]
    fn an_index_does_not_depend_on_the_one_before() {
        // Calls at an uneven pace, with more regions in some intervals than in others.
        let list: Vec<(u64, u64)> =
            (1..60).map(|at| (at * at * 10, at * at * 10 + at % 7 + 1)).collect();
        let mut regions = calls(&list);
        let mut random = 1_u64;
        for floor in [0, 0, 900, 5_000, 20_000, 90_000] {
            regions.forget(Time(floor));
            regions.index();
            for _ in 0..500 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let after = Time((random >> 33) % 40_000);
                let expected = regions.closed.iter().filter(|span| span.end <= after).count();
                assert_eq!(regions.index_after(after), expected, "{after:?}");
            }
        }
        assert_eq!(Regions::default().index_after(Time(5)), 0);
    }
}
