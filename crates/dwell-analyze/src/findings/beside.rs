//! What is told besides waits: polling loops.

use std::collections::BTreeMap;

use dwell_model::layer::Layer;

use super::ground::Ground;
use super::sums::{Sums, Totals, top};
use super::{Share, Step};
use crate::metric::Quantity as Q;

/// Calls that ask again and again whether something has happened. The process computes meanwhile, so
/// this is no wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polling {
    /// The layer.
    pub layer: Layer,
    /// How many calls followed another, or were followed by one, with no other call between them.
    pub calls: u64,
    /// From the first of them to the last, over all loops and locations.
    pub nanoseconds: u64,
    /// The part of it until someone ended a loop, where it is known who that was.
    pub until_release: u64,
    /// The calls, the outermost first.
    pub path: Vec<Step>,
    /// At how many locations.
    pub locations: u64,
    /// Who ended the loops that lasted longest, and how long they lasted until then; at most [`LISTED`](super::LISTED).
    /// Nobody, where neither a message nor an address tells.
    pub targets: Vec<Share>,
}

/// Polling loops, the longest first.
pub(crate) fn polling(ground: &Ground<'_>) -> Vec<Polling> {
    let (world, lanes) = (ground.world, &ground.lanes);
    let mut list: Vec<(usize, Polling)> = Vec::new();
    for fold in ground.tree.folds() {
        let number = fold.first();
        let Some((layer, _)) = fold.class else { continue };
        let totals = Totals::of(lanes, &fold);
        let (calls, until_release) = (totals.get(Q::PollingCalls), totals.get(Q::PollingBlamed));
        if calls > 0 {
            let time = Sums::of(lanes, world, &fold, Q::PollingTime, None);
            let (nanoseconds, locations) = (time.least, time.locations);
            let path = ground.steps(number);
            let mut parties: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
            for (party, time) in ground.blamed(&fold, Q::PollingBlamed) {
                let sum = parties.entry(party).or_default();
                *sum = (sum.0 + time, sum.1 + time);
            }
            let targets = top(parties.into_iter(), |index| ground.party(index));
            let polling =
                Polling { layer, calls, nanoseconds, until_release, path, locations, targets };
            list.push((number, polling));
        }
    }
    list.sort_by_key(|(number, it)| (std::cmp::Reverse(it.nanoseconds), *number));
    list.into_iter().map(|(_, it)| it).collect()
}
