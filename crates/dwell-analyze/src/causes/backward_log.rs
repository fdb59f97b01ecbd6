//! One location on the critical path: its waits and segments in the dependency log, read backwards once.

use std::cmp::Reverse;

use dwell_log::piece::Piece;
use dwell_log::read::{LocationLog, LogError, Segment};
use dwell_trace::time::{Duration, Time};

use crate::causes::reader::Reader;
use crate::engine::paths::Path;

/// Call path for time outside of all regions: before the first event, and where the archive lacks what the location did.
const FIRST_PATH: Path = Path(1);

/// Waits and segments of a location that lie before all those that the path has passed. Times in the arguments of its
/// methods must not increase from call to call.
pub(crate) struct BackwardLog {
    waits: Reader<Piece>,
    segments: Reader<Segment>,
}

impl BackwardLog {
    pub(crate) fn new(log: &LocationLog) -> Self {
        let (waits, segments) = (log.wait_records(), log.segment_records());
        Self { waits: Reader::new(waits), segments: Reader::new(segments) }
    }

    /// Returns the wait that ended last before a time, and forgets it and everything that ended with it or later. Waits
    /// whose lower bound is 0 do not count. Of several that ended together it is the one with the greatest lower bound,
    /// and then the one with the lowest culprit.
    pub(crate) fn last_wait(&mut self, before: Time) -> Result<Option<Piece>, LogError> {
        let order = |it: &Piece| (it.low, Reverse(it.culprit));
        let mut last: Option<Piece> = None;
        self.waits.pass(before, |it| it.to)?;
        while let Some(wait) = self.waits.peek()? {
            if last.is_some_and(|it| it.to > wait.to) {
                break;
            }
            let counts = wait.low > Duration::ZERO;
            if counts && last.is_none_or(|it| order(wait) > order(&it)) {
                last = Some(*wait);
            }
            self.waits.next()?;
        }
        Ok(last)
    }

    /// Divides the time from `from` to `to` into call paths, which `book` is called with, some more than once.
    pub(crate) fn divide(
        &mut self,
        (from, to): (Time, Time),
        mut book: impl FnMut(Path, Duration),
    ) -> Result<(), LogError> {
        let mut reached = to;
        self.segments.pass(to, |it| it.begin)?;
        while reached > from
            && let Some(&segment) = self.segments.peek()?
        {
            if segment.begin < reached {
                let (begin, end) = (segment.begin.max(from), segment.end.clamp(from, reached));
                book(FIRST_PATH, reached.since(end));
                book(FIRST_PATH.max(Path(segment.path as u32)), end.since(begin));
                reached = begin;
            }
            if segment.begin >= from {
                self.segments.next()?;
            }
        }
        book(FIRST_PATH, reached.since(from));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BackwardLog, FIRST_PATH};
    use crate::causes::reader::Reader;
    use crate::engine::paths::Path;
    use dwell_log::piece::Piece;
    use dwell_log::quantity::Quantity;
    use dwell_log::read::{LogError, Records, Segment};
    use dwell_trace::ids::LocationNumber;
    use dwell_trace::time::{Duration, Time};

    /// Records in memory, all of which come.
    struct Listed<T>(std::vec::IntoIter<T>);

    impl<T> Iterator for Listed<T> {
        type Item = Result<T, LogError>;

        fn next(&mut self) -> Option<Self::Item> {
            self.0.next().map(Ok)
        }
    }

    impl<T: Send> Records<T> for Listed<T> {
        fn pass(&mut self, _: Time) {}

        fn refill(&mut self, list: &mut Vec<T>) -> Result<bool, LogError> {
            list.extend(self.0.by_ref().rev());
            Ok(!list.is_empty())
        }
    }

    /// Returns a location with waits, by culprit, end and lower bound, and with segments, by begin, end and path.
    fn log(waits: &[(u32, u64, u64)], segments: &[(u64, u64, usize)]) -> BackwardLog {
        let wait = |&(culprit, to, low): &(u32, u64, u64)| Piece {
            waiter: LocationNumber(0),
            culprit: LocationNumber(culprit),
            from: Time(to - 50),
            to: Time(to),
            what: Quantity::PollingBlamed,
            low: Duration(low),
            high: Duration(50),
            among: None,
        };
        let segment = |&(begin, end, path): &(u64, u64, usize)| Segment {
            begin: Time(begin),
            end: Time(end),
            path,
        };
        let waits: Vec<Piece> = waits.iter().map(wait).collect();
        let segments: Vec<Segment> = segments.iter().map(segment).collect();
        let waits = Reader::new(Listed(waits.into_iter()));
        let segments = Reader::new(Listed(segments.into_iter()));
        BackwardLog { waits, segments }
    }

    #[test]
    fn of_waits_that_end_together_one_counts() {
        let mut list = vec![
            (1, 900, 50),
            // The greatest lower bound, and then the lowest culprit.
            (4, 800, 20),
            (3, 800, 30),
            (2, 800, 30),
            (5, 800, 30),
            (6, 800, 10),
            // A lower bound of 0.
            (7, 700, 0),
            (1, 600, 1),
            (7, 600, 0),
            (1, 500, 9),
        ];
        for _ in 0..2 {
            let mut log = log(&list, &[]);
            let mut next = |before| {
                let wait = log.last_wait(Time(before)).unwrap();
                wait.map(|it| (it.culprit.0, it.to.0))
            };
            assert_eq!(next(900), Some((2, 800)));
            assert_eq!(next(800), Some((1, 600)));
            assert_eq!(next(500), None);
            assert_eq!(next(400), None);
            // Another order of those that end together.
            list[1..6].reverse();
        }
    }

    #[test]
    fn all_time_is_divided() {
        // Nothing is known from 40 to 50 and before 10.
        let mut log = log(&[], &[(90, 100, 5), (60, 90, 3), (50, 60, 0), (10, 40, 2)]);
        let mut divided = |from, to| {
            let mut list = Vec::new();
            let book = |path: Path, time: Duration| list.push((path.0, time.0));
            log.divide((Time(from), Time(to)), book).unwrap();
            list.retain(|it| it.1 > 0);
            list
        };
        let first = FIRST_PATH.0;
        assert_eq!(divided(95, 120), [(first, 20), (5, 5)]);
        assert_eq!(divided(70, 93), [(5, 3), (3, 20)]);
        assert_eq!(divided(65, 70), [(3, 5)]);
        // The path is elsewhere from 55 to 65.
        assert_eq!(divided(45, 55), [(first, 5), (first, 5)]);
        assert_eq!(divided(0, 30), [(2, 20), (first, 10)]);
    }
}
