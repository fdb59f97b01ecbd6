//! Finds the call with which iterations end: one that a process makes once in each repetition of its sequence of calls.
//!
//! The sequence of collectives of all processes is searched first, and that of all calls if it is short, as in programs
//! whose processes synchronise with their neighbours only. Its period is the smallest shift under which nearly all of it
//! stays the same, so that a reduction after every fiftieth step does not make fifty steps one iteration. Where the
//! sequence has no period, as around a solver whose number of steps varies, the rarest call that is made again and again
//! is taken.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::engine::hash::Mixer;

/// Least number of iterations.
pub(super) const LEAST: usize = 8;

/// Least number of calls that the rarest repeated call makes.
const LEAST_WITHOUT_PERIOD: usize = 16;

/// Greatest number of calls in an iteration that are compared.
const MOST_PERIOD: usize = 256;

/// Greatest number of calls of a sequence that are kept.
const MOST_CALLS: usize = 1 << 16;

/// A hash map from signatures of call paths.
type Counts = HashMap<u64, Count, BuildHasherDefault<Mixer>>;

/// Number of calls on a path, and the place of the first in the sequence.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    calls: usize,
    first: usize,
}

/// Calls of a process in their order, by the signatures of their paths.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    calls: Vec<u64>,
    counts: Counts,
}

impl Sequence {
    pub(super) fn add(&mut self, signature: u64) {
        let first = self.calls.len();
        self.counts.entry(signature).or_insert(Count { calls: 0, first }).calls += 1;
        if self.calls.len() < MOST_CALLS {
            self.calls.push(signature);
        }
    }

    /// Returns the paths of calls that may end iterations, the best first.
    pub(super) fn candidates(&self) -> Vec<u64> {
        match self.period() {
            Some(period) => self.once_in(period),
            None => self.rarest(),
        }
    }

    /// Returns the smallest shift under which at least 19 of 20 calls of the sequence stay the same.
    fn period(&self) -> Option<usize> {
        let most = MOST_PERIOD.min(self.calls.len() / LEAST);
        (1..=most).find(|period| {
            let shifted = self.calls.iter().skip(*period);
            let same = self.calls.iter().zip(shifted).filter(|(a, b)| a == b).count();
            same * 20 >= (self.calls.len() - period) * 19
        })
    }

    /// Returns the paths with one call in each period, those that come last in it first.
    fn once_in(&self, period: usize) -> Vec<u64> {
        let total: usize = self.counts.values().map(|it| it.calls).sum();
        let usual = total / period;
        let is_usual = |calls: usize| calls.abs_diff(usual) * 10 <= usual;
        let mut list: Vec<(usize, u64)> = Vec::new();
        list.extend(
            self.counts.iter().filter(|it| is_usual(it.1.calls)).map(|it| (it.1.first, *it.0)),
        );
        list.sort_unstable_by(|a, b| b.cmp(a));
        list.into_iter().map(|it| it.1).collect()
    }

    /// Returns the paths with several calls, the rarest first.
    fn rarest(&self) -> Vec<u64> {
        let repeated = self.counts.iter().filter(|it| it.1.calls >= LEAST_WITHOUT_PERIOD);
        let mut list: Vec<(usize, usize, u64)> =
            repeated.map(|(signature, it)| (it.calls, it.first, *signature)).collect();
        list.sort_unstable();
        list.into_iter().map(|it| it.2).collect()
    }

    /// Returns the number of calls on a path.
    pub(super) fn calls_on(&self, signature: u64) -> usize {
        self.counts.get(&signature).map_or(0, |it| it.calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(calls: impl IntoIterator<Item = u64>) -> Sequence {
        let mut sequence = Sequence::default();
        calls.into_iter().for_each(|it| sequence.add(it));
        sequence
    }

    #[test]
    fn the_last_call_of_the_loop_ends_iterations() {
        // Two calls before the loop, three in it.
        let calls = [7, 8].into_iter().chain((0..300).map(|it| [1, 2, 3][it % 3]));
        assert_eq!(sequence(calls).candidates(), [3, 2, 1]);
    }

    #[test]
    fn a_rare_call_does_not_join_iterations() {
        let step = |it: usize| [Some(1), (it % 50 == 49).then_some(2)].into_iter().flatten();
        assert_eq!(sequence((0..1000).flat_map(step)).candidates(), [1]);
    }

    #[test]
    fn an_inner_loop_of_fixed_length_is_a_part_of_an_iteration() {
        let step = || std::iter::repeat_n([1, 2], 10).flatten().chain([3]);
        assert_eq!(sequence((0..40).flat_map(|_| step())).candidates(), [3]);
    }

    #[test]
    fn without_a_period_the_rarest_call_ends_iterations() {
        let step = |it: usize| std::iter::repeat_n(1, 3 + it * it % 17).chain([2]);
        assert_eq!(sequence((0..40).flat_map(step)).candidates().first(), Some(&2));
    }

    #[test]
    fn a_few_calls_are_no_iterations() {
        assert!(sequence([1, 2, 3, 4, 1, 2]).candidates().is_empty());
    }
}
