//! What is told besides waits: polling loops.

use dwell_model::layer::Layer;

use super::Step;
use super::ground::Ground;
use super::sums::{Sums, Totals};
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
    /// The calls, the outermost first.
    pub path: Vec<Step>,
    /// At how many locations.
    pub locations: u64,
}

/// Polling loops, the longest first.
pub(crate) fn polling(ground: &Ground<'_>) -> Vec<Polling> {
    let (world, lanes) = (ground.world, &ground.lanes);
    let mut list: Vec<(usize, Polling)> = Vec::new();
    for fold in ground.tree.folds() {
        let number = fold.first();
        let Some((layer, _)) = fold.class else { continue };
        let calls = Totals::of(lanes, &fold).get(Q::PollingCalls);
        if calls > 0 {
            let time = Sums::of(lanes, world, &fold, Q::PollingTime, None);
            let (nanoseconds, locations) = (time.least, time.locations);
            let path = ground.steps(number);
            list.push((number, Polling { layer, calls, nanoseconds, path, locations }));
        }
    }
    list.sort_by_key(|(number, it)| (std::cmp::Reverse(it.nanoseconds), *number));
    list.into_iter().map(|(_, it)| it).collect()
}
