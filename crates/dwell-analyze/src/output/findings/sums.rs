//! Sums over all locations of a call path.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{LISTED, Share};
use crate::archive::ids::{LocationNumber, Ordinal, ProcessNumber};
use crate::archive::time::Duration;
use crate::archive::world::World;
use crate::engine::instances::Longest;
use crate::engine::location::Location;
use crate::engine::quantity::Quantity as Q;
use crate::output::tree::{Fold, node};

/// Sums of all quantities on a call path, over all locations.
pub(super) struct Totals([u64; Q::COUNT]);

impl Totals {
    pub(super) fn of(locations: &[&Location], fold: &Fold<'_>) -> Self {
        let mut totals = [0; Q::COUNT];
        let nodes = fold.members().filter_map(|at| node(locations, at));
        for (what, amount) in nodes.flat_map(crate::engine::paths::Node::booked) {
            if let Some(sum) = totals.get_mut(what.index()) {
                *sum += amount;
            }
        }
        Self(totals)
    }

    pub(super) fn get(&self, what: Q) -> u64 {
        self.0.get(what.index()).copied().unwrap_or(0)
    }
}

#[derive(Default)]
pub(super) struct Sums {
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) inferred: u64,
    pub(super) partial: u64,
    /// Part of the time that follows from the progress rule alone.
    pub(super) by_rule: u64,
    pub(super) visits: u64,
    pub(super) locations: u64,
    /// Number of calls that waited, and the longest wait with its location.
    pub(super) calls: u64,
    pub(super) longest: Option<(Longest, LocationNumber)>,
    /// Lower and upper bound for each process.
    pub(super) by_process: BTreeMap<ProcessNumber, (u64, u64)>,
}

impl Sums {
    pub(super) fn of(
        locations: &[&Location],
        world: &World,
        fold: &Fold<'_>,
        what: Q,
        upper: Option<Q>,
    ) -> Self {
        let mut sums = Self::default();
        let mut concerned = BTreeSet::new();
        for at in fold.members() {
            let Some(node) = node(locations, at) else { continue };
            let get = |wanted| node.get(wanted);
            let least = get(what);
            let most = least + upper.map_or(0, get);
            sums.least += least;
            sums.most += most;
            if let Some(wait) = what.wait() {
                sums.inferred += get(Q::Inferred(wait));
                sums.by_rule += get(Q::ByRule(wait));
            }
            sums.partial += get(Q::PartialCollectives);
            sums.visits += node.visits;
            if let Some(location) = locations.get(at.0.index()) {
                let calls = location.paths.waiting(at.1, what);
                sums.calls += calls.count;
                sums.longest(calls.longest, at.0);
            }
            if most > 0 {
                concerned.insert(at.0);
                if let Some(place) = world.system.places.get(at.0.index()) {
                    let sum = sums.by_process.entry(place.process).or_default();
                    *sum = (sum.0 + least, sum.1 + most);
                }
            }
        }
        sums.locations = concerned.len() as u64;
        sums
    }

    /// Keeps the longest wait. Among equal ones it is the one that began first, then the one of the lowest location.
    fn longest(&mut self, longest: Longest, location: LocationNumber) {
        let key = |it: &(Longest, LocationNumber)| (Reverse(it.0.amount), it.0.begin, it.1);
        let one = (longest, location);
        if longest.amount > Duration::ZERO
            && self.longest.is_none_or(|known| key(&one) < key(&known))
        {
            self.longest = Some(one);
        }
    }
}

/// Returns the parties with the largest shares. Ties are decided by the upper bound, then by number.
pub(super) fn top<N: Ordinal + Ord>(
    parts: impl Iterator<Item = (N, (u64, u64))>,
    name: impl Fn(N) -> Option<String>,
) -> Vec<Share> {
    let mut parts: Vec<(N, (u64, u64))> = parts.filter(|part| part.1.1 > 0).collect();
    parts.sort_by_key(|&(number, sum)| (Reverse(sum), number));
    parts
        .into_iter()
        .take(LISTED)
        .map(|(number, (nanoseconds, at_most))| Share {
            who: name(number).unwrap_or_else(|| format!("process {}", number.value())),
            nanoseconds,
            at_most,
        })
        .collect()
}
