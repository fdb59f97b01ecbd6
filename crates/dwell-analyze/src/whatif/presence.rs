//! Processes while a run is played: when each can serve operations of others, and how often it has to.

use std::cmp::Reverse;
use std::collections::HashMap;

use dwell_log::class::Class;

use crate::engine::hash::Mixed;

/// Length of a call in nanoseconds in which a process serves whatever comes, as often as it needs to.
const STAYS: u64 = 100_000;

/// A process while a run is played.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    /// Number of its locations that are in calls that serve.
    pub(crate) inside: u32,
    /// Time at which the last of them left such a call.
    pub(crate) left: Option<u64>,
    /// Number of its locations that have not ended.
    pub(crate) alive: u32,
    /// Number of calls that serve, entered so far.
    pub(crate) entries: u64,
    /// Locations whose operations wait for it, and the number of such calls that each needs.
    pub(crate) waiting: Vec<(u32, u32)>,
}

impl Presence {
    /// Notes that a call of this length is entered that serves. A long one serves all that an operation needs.
    pub(crate) fn enter(&mut self, length: u64, now: u64, arrived: &mut Vec<(u32, u64)>) {
        self.inside += 1;
        self.entries += 1;
        self.waiting.retain_mut(|(waiting, entries)| {
            *entries -= 1;
            let waits = *entries > 0 && length < STAYS;
            if !waits {
                arrived.push((*waiting, now));
            }
            waits
        });
    }

    /// Serves all operations that wait.
    pub(crate) fn serve_all(&mut self, now: u64, arrived: &mut Vec<(u32, u64)>) {
        arrived.extend(self.waiting.drain(..).map(|(waiting, _)| (waiting, now)));
    }
}

/// Greatest number of calls of a target that an operation needs.
const MOST_ENTRIES: usize = 4;

/// How many operations needed 1, 2, ... calls of their target, by class and whether it is near.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needed(HashMap<(Class, bool), [u64; MOST_ENTRIES], Mixed>);

impl Needed {
    /// Adds an operation that ended when its target entered this many calls since it began.
    pub(crate) fn add(&mut self, of: (Class, bool), entries: u64) {
        let counts = self.0.entry(of).or_default();
        if let Some(count) = counts.get_mut((entries as usize).saturating_sub(1)) {
            *count += 1;
        }
    }

    /// Returns how many calls most operations of each class needed.
    pub(crate) fn most(&self) -> impl Iterator<Item = ((Class, bool), u32)> {
        let order = |(entries, count): &(u32, &u64)| (**count, Reverse(*entries));
        self.0.iter().filter_map(move |(of, counts)| {
            (1..).zip(counts).max_by_key(order).map(|(entries, _)| (*of, entries))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_served_by_as_many_calls_as_they_need() {
        let mut target = Presence { waiting: vec![(7, 1), (8, 2), (9, 3)], ..Presence::default() };
        let mut arrived = Vec::new();
        target.enter(STAYS - 1, 10, &mut arrived);
        target.enter(STAYS - 1, 20, &mut arrived);
        assert_eq!(arrived, [(7, 10), (8, 20)]);
        target.waiting.push((6, 4));
        target.enter(STAYS, 30, &mut arrived);
        assert_eq!(arrived, [(7, 10), (8, 20), (9, 30), (6, 30)]);
    }

    #[test]
    fn most_operations_decide() {
        let (of, mut needed) = ((Class::empty(None), true), Needed::default());
        [1, 2, 2, 3, 9].into_iter().for_each(|entries| needed.add(of, entries));
        assert_eq!(needed.most().collect::<Vec<_>>(), [(of, 2)]);
    }
}
