//! Times of one process in each iteration.

use dwell_log::read::LogError;

use crate::whatif::{ForwardLog, PathRule, Stretch, is_loop};

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
    /// Time from the end of the iteration before.
    pub(super) length: u64,
    pub(super) computing: u64,
    /// Time in waits, by the middle of their bounds.
    pub(super) waiting: u64,
}

impl Times {
    fn count(&mut self, stretch: &Stretch, is_call: bool) {
        let length = stretch.end - stretch.begin;
        let polling = stretch.polling.min(length);
        if is_call {
            let waits = stretch.waits.iter().filter(|it| !is_loop(it));
            let waits: u64 = waits.map(|it| it.middle().nanoseconds()).sum();
            self.waiting += polling.max(waits.min(length));
        } else {
            self.waiting += polling;
            self.computing += length - polling;
        }
    }
}

/// Returns the times of a process in each group of iterations, or `None` if it does not make the call as often as the
/// first process does. The first iteration begins when all runtimes have started.
pub(super) fn times(
    (mut log, rules): (ForwardLog, Vec<PathRule>),
    marker: Marker,
) -> Result<Option<Vec<Times>>, LogError> {
    let mut groups = Vec::with_capacity(marker.groups());
    let (mut times, mut ended, mut begin) = (Times::default(), 0, None);
    let mut stretch = Stretch::default();
    let rule = |path: usize| rules.get(path);
    while log.next(|path| rule(path).is_some_and(|it| it.is_call), &mut stretch)? {
        let Some(rule) = rule(stretch.path) else { continue };
        if rule.is_outside {
            if ended == 0 {
                (times, begin) = (Times::default(), Some(stretch.end));
            }
            continue;
        }
        let since = *begin.get_or_insert(stretch.begin);
        times.count(&stretch, rule.is_call);
        if rule.is_call && rule.signature == marker.signature {
            ended += 1;
            if ended % marker.group() == 0 || ended == marker.calls {
                (times.begin, times.length) = (since, stretch.end.saturating_sub(since));
                groups.push(std::mem::take(&mut times));
                begin = Some(stretch.end);
            }
        }
    }
    Ok((ended == marker.calls).then_some(groups))
}
