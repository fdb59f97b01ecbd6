//! Finds a process that receives most atomics of all others.

use std::collections::BTreeMap;

use dwell_trace::ids::PartyNumber;
use dwell_trace::time::Duration;

use super::savings::part;
use crate::engine::matrix::{Cell, Kind, Sum};

/// Least number of atomics from which something can be concluded.
const ENOUGH: u64 = 100;

/// A target that receives more than half of all remote atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HotTarget {
    /// Number of the process, or of the node if the run has too many processes.
    pub(crate) party: PartyNumber,
    /// Number of atomics of others on the target, and of all atomics between different parties.
    pub(crate) operations: u64,
    pub(crate) of: u64,
    /// Number of parties that issued atomics to the target.
    pub(crate) origins: u64,
    /// Time of the atomics on the target beyond waits, and the part of it that would be saved if all parties received
    /// as many, both in nanoseconds.
    pub(crate) time: Duration,
    pub(crate) saved: Duration,
}

/// Atomics of others on each target: their sum, and the number of their origins.
pub(crate) type Received = BTreeMap<PartyNumber, (Cell, u64)>;

/// Adds up the atomics on each target. Every origin must be in one part of the matrix only.
pub(crate) fn received(sum: &Sum) -> Received {
    let mut targets = Received::new();
    for (&(from, to, kind), cell) in sum {
        if kind == Kind::Atomic && from != to && cell.operations > 0 {
            let (all, origins) = targets.entry(to).or_default();
            all.add(cell);
            *origins += 1;
        }
    }
    targets
}

/// Adds the atomics of other origins.
pub(crate) fn join_received(all: &mut Received, more: Received) {
    for (to, (cell, count)) in more {
        let (sum, origins) = all.entry(to).or_default();
        sum.add(&cell);
        *origins += count;
    }
}

impl HotTarget {
    /// Looks for a hot target among `parties` parties. With fewer than three of them or with a single origin there is
    /// nothing to distribute.
    pub(crate) fn find(targets: &Received, parties: u64) -> Option<Self> {
        let of: u64 = targets.values().map(|it| it.0.operations).sum();
        let most = targets.iter().max_by_key(|(to, it)| (it.0.operations, std::cmp::Reverse(**to)));
        let (&party, &(cell, origins)) = most?;
        let is_hot = cell.operations > of - cell.operations;
        if !is_hot || parties < 3 || origins < 2 || of < ENOUGH {
            return None;
        }
        let even = of / parties;
        let time = Duration(cell.time.saturating_sub(cell.wait));
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
        let cells = atomics.iter().map(|&(from, to, count)| {
            ((PartyNumber(from), PartyNumber(to), Kind::Atomic), cell(count))
        });
        HotTarget::find(&received(&cells.collect()), parties)
    }

    #[test]
    fn one_of_many_receives_most() {
        let hot = found(&[(1, 0, 100), (2, 0, 100), (3, 0, 100), (0, 0, 900), (0, 1, 100)], 4);
        let expected = HotTarget {
            party: PartyNumber(0),
            operations: 300,
            of: 400,
            origins: 3,
            time: Duration(2700),
            saved: Duration(1800),
        };
        assert_eq!(hot, Some(expected));
        // Half of them, one origin, two processes, few atomics.
        assert_eq!(found(&[(1, 0, 100), (2, 0, 100), (0, 1, 100), (0, 2, 100)], 4), None);
        assert_eq!(found(&[(1, 0, 300)], 4), None);
        assert_eq!(found(&[(1, 0, 300), (2, 0, 300)], 2), None);
        assert_eq!(found(&[(1, 0, 40), (2, 0, 40)], 4), None);
    }
}
