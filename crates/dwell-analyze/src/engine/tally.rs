//! Counters of a location by what it did: differences of samples, added up for each stretch of computing.
//!
//! A sample is recorded directly before the enter or leave event of a region, so what was counted since the sample before belongs
//! to the region that is open when it is read. Stretches of computing are told apart as causes of waits are: by the call path
//! and the calls before and after. The call after is known when its first sample is read.

use std::collections::HashMap;

use dwell_trace::counters::ROLES;
use otf2::id::MetricRef;

use crate::engine::hash::Mixed;
use crate::engine::paths::Path;

/// A sum for each role.
pub(crate) type Counts = [u64; ROLES];

/// Adds sums to others.
pub(crate) fn add(sums: &mut Counts, more: &Counts) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

/// Path of computing, and the judged calls before and after it.
pub(crate) type Stretch = (Path, Path, Path);

/// Counters of a location.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Bits of the values of the last sample of each class.
    last: Vec<(MetricRef, Vec<u64>)>,
    /// The last judged call, and what was counted since on each path.
    before: Path,
    pending: Vec<(Path, Counts)>,
    sums: HashMap<Stretch, Counts, Mixed>,
}

impl Tally {
    /// Replaces the values of the last sample of a class. Returns those before, unless there were none.
    pub(crate) fn next(&mut self, class: MetricRef, values: Vec<u64>) -> Option<Vec<u64>> {
        match self.last.iter_mut().find(|it| it.0 == class) {
            Some(last) => Some(std::mem::replace(&mut last.1, values)),
            None => {
                self.last.push((class, values));
                None
            }
        }
    }

    /// Forgets all values, because the program ran on without being recorded.
    pub(crate) fn forget(&mut self) {
        self.last.clear();
    }

    /// Adds what was counted while the location computed on a path.
    pub(crate) fn computed(&mut self, path: Path, counts: &Counts) {
        match self.pending.iter_mut().find(|it| it.0 == path) {
            Some(pending) => add(&mut pending.1, counts),
            None => self.pending.push((path, *counts)),
        }
    }

    /// Ends the stretch of computing before a judged call.
    pub(crate) fn called(&mut self, call: Path) {
        self.end(call);
        self.before = call;
    }

    fn end(&mut self, after: Path) {
        for (path, counts) in self.pending.drain(..) {
            add(self.sums.entry((path, self.before, after)).or_default(), &counts);
        }
    }

    /// Returns what was counted in each stretch of computing, sorted.
    pub(crate) fn finish(&mut self) -> Vec<(Stretch, Counts)> {
        self.end(Path::TOP);
        let mut sums: Vec<(Stretch, Counts)> = self.sums.drain().collect();
        sums.sort_unstable();
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_told_apart_by_the_calls_around_them() {
        let mut tally = Tally::default();
        let one = |value| [value, 0, 0, 0, 0, 0];
        let [main, relax, put, barrier] = [1, 2, 3, 4].map(Path);
        tally.computed(main, &one(1));
        tally.called(put);
        tally.computed(main, &one(10));
        tally.computed(relax, &one(100));
        tally.computed(main, &one(10));
        tally.called(barrier);
        tally.called(barrier);
        tally.computed(main, &one(1000));
        let found = tally.finish();
        assert_eq!(
            found,
            [
                ((main, Path::TOP, put), one(1)),
                ((main, put, barrier), one(20)),
                ((main, barrier, Path::TOP), one(1000)),
                ((relax, put, barrier), one(100)),
            ]
        );
    }

    #[test]
    fn differences_need_two_samples() {
        let mut tally = Tally::default();
        let class = MetricRef(3);
        assert_eq!(tally.next(class, vec![5]), None);
        assert_eq!(tally.next(class, vec![9]), Some(vec![5]));
        tally.forget();
        assert_eq!(tally.next(class, vec![12]), None);
    }
}
