//! Times of one process in each iteration.

use dwell_log::piece::Piece;
use dwell_log::read::{LocationLog, LogError, Segment};

use crate::causes::Reader;
use crate::whatif::{PathRule, is_loop};

/// Greatest number of groups of iterations whose times are kept. In a longer run, a group has several iterations.
const MOST_GROUPS: usize = 1 << 14;

/// The call that ends iterations, and how they are grouped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    /// Signature of its path.
    pub(super) signature: u64,
    /// Number of calls, which is that of iterations.
    pub(super) calls: usize,
}

impl Marker {
    /// Returns the number of iterations in a group.
    pub(super) fn group(self) -> usize {
        self.calls.div_ceil(MOST_GROUPS).max(1)
    }

    /// Returns the number of groups.
    pub(super) fn groups(self) -> usize {
        self.calls.div_ceil(self.group())
    }
}

/// Times of a process in one group of iterations, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Begin of the first iteration of the group.
    pub(super) begin: u64,
    /// End of the last iteration of the group.
    pub(super) end: u64,
    pub(super) computing: u64,
    /// Time in waits, by the middle of their bounds.
    pub(super) waiting: u64,
}

/// Waits and polling loops of a process, read backwards along its stretches of time.
struct Waiting {
    waits: Reader<Piece>,
    /// Polling loops that may have begun before the last stretch.
    loops: Vec<Piece>,
}

impl Waiting {
    /// Adds a stretch of time to the sums. It ends where the one before began, or earlier.
    fn count(
        &mut self,
        sums: &mut Times,
        stretch: &Segment,
        is_call: bool,
    ) -> Result<(), LogError> {
        let Segment { begin, end, .. } = *stretch;
        let length = end.since(begin).0;
        let mut waiting = 0;
        while let Some(piece) = self.waits.peek()?.filter(|it| it.to > begin) {
            if is_loop(piece) {
                self.loops.push(*piece);
            } else if is_call && piece.to <= end {
                waiting += piece.middle().nanoseconds();
            }
            self.waits.next()?;
        }
        let mut polling = 0;
        if !self.loops.is_empty() {
            let part = |it: &Piece| it.to.min(end).since(it.from.max(begin)).0;
            polling = self.loops.iter().map(part).sum::<u64>().min(length);
            self.loops.retain(|it| it.from < begin);
        }
        if is_call {
            sums.waiting += polling.max(waiting.min(length));
        } else {
            sums.waiting += polling;
            sums.computing += length - polling;
        }
        Ok(())
    }
}

/// Returns the times of a process in each group of iterations, or `None` if it does not make the call as often as the
/// first process does. The first iteration begins when all runtimes have started.
///
/// The log is read backwards, so that a polling loop is known before the stretches that it spans.
pub(super) fn times(
    log: &LocationLog,
    rules: &[PathRule],
    marker: Marker,
) -> Result<Option<Vec<Times>>, LogError> {
    let mut groups = vec![Times::default(); marker.groups()];
    let mut waiting = Waiting { waits: Reader::new(log.wait_records()), loops: Vec::new() };
    // Number of the calls that are left, and whether all runtimes start after the stretch.
    let (mut calls, mut is_starting) = (marker.calls, false);
    let mut segments = Reader::new(log.segment_records());
    while let Some(segment) = segments.next()? {
        let Some(rule) = rules.get(segment.path) else { continue };
        let is_end = rule.is_call && !rule.is_outside && rule.signature == marker.signature;
        if is_end {
            let Some(left) = calls.checked_sub(1) else { return Ok(None) };
            calls = left;
        }
        let sums = groups.get_mut(calls / marker.group());
        let Some(sums) = sums.filter(|_| calls < marker.calls && !is_starting) else { continue };
        is_starting = rule.is_outside && calls == 0;
        if is_starting {
            continue;
        }
        sums.begin = segment.begin.0;
        sums.end = sums.end.max(segment.end.0);
        if !rule.is_outside {
            waiting.count(sums, &segment, rule.is_call)?;
        }
    }
    Ok((calls == 0).then_some(groups))
}
