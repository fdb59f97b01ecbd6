//! A process that most atomics of all others act on.

use std::collections::BTreeMap;

use super::savings::part;
use crate::matrix::{Cell, Kind, Sum};

/// Fewer atomics than this show nothing.
const ENOUGH: u64 = 100;

/// A target that receives more than half of all atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HotTarget {
    /// The process, or the node where there are too many processes.
    pub(crate) party: u32,
    /// Atomics of others on it, and of all on others.
    pub(crate) operations: u64,
    pub(crate) of: u64,
    /// How many others these come from.
    pub(crate) origins: u64,
    /// What the atomics on it took beyond waits, and how much less it would be if all parties received as many, in
    /// nanoseconds.
    pub(crate) time: u64,
    pub(crate) saved: u64,
}

impl HotTarget {
    /// Looks for one among so many parties. With fewer than three, and with one origin only, there is nothing to spread.
    pub(crate) fn find(sum: &Sum, parties: u64) -> Option<Self> {
        let mut targets: BTreeMap<u32, (Cell, u64)> = BTreeMap::new();
        for (&(from, to, kind), cell) in sum {
            if kind == Kind::Atomic && from != to && cell.operations > 0 {
                let (all, origins) = targets.entry(to).or_default();
                all.operations += cell.operations;
                all.time += cell.time;
                all.wait += cell.wait;
                *origins += 1;
            }
        }
        let of: u64 = targets.values().map(|it| it.0.operations).sum();
        let most = targets.iter().max_by_key(|(to, it)| (it.0.operations, std::cmp::Reverse(**to)));
        let (&party, &(cell, origins)) = most?;
        let is_hot = cell.operations > of - cell.operations;
        if !is_hot || parties < 3 || origins < 2 || of < ENOUGH {
            return None;
        }
        let even = of / parties;
        let time = cell.time.saturating_sub(cell.wait);
        let saved = part(time, (cell.operations.saturating_sub(even), cell.operations));
        Some(Self { party, operations: cell.operations, of, origins, time, saved })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(atomics: &[(u32, u32, u64)], parties: u64) -> Option<HotTarget> {
        let cell =
            |operations| Cell { operations, bytes: 0, time: 10 * operations, wait: operations };
        let cells =
            atomics.iter().map(|&(from, to, count)| ((from, to, Kind::Atomic), cell(count)));
        HotTarget::find(&cells.collect(), parties)
    }

    #[test]
    fn one_of_many_receives_most() {
        let hot = found(&[(1, 0, 100), (2, 0, 100), (3, 0, 100), (0, 0, 900), (0, 1, 100)], 4);
        let expected =
            HotTarget { party: 0, operations: 300, of: 400, origins: 3, time: 2700, saved: 1800 };
        assert_eq!(hot, Some(expected));
        // Half of them, one origin, two processes, few atomics.
        assert_eq!(found(&[(1, 0, 100), (2, 0, 100), (0, 1, 100), (0, 2, 100)], 4), None);
        assert_eq!(found(&[(1, 0, 300)], 4), None);
        assert_eq!(found(&[(1, 0, 300), (2, 0, 300)], 2), None);
        assert_eq!(found(&[(1, 0, 40), (2, 0, 40)], 4), None);
    }
}
