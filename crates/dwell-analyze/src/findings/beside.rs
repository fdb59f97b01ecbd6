//! What is told besides waits: polling loops.

use dwell_model::layer::Layer;
use otf2::read::Definitions;

use super::sites::Sites;
use super::sums::{Sums, Totals};
use super::{Step, steps};
use crate::lane::Lane;
use crate::metric::Quantity as Q;
use crate::replay::Replayed;
use crate::tree::{Tree, lanes};
use crate::world::World;

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
pub(crate) fn polling(
    defs: &Definitions,
    world: &World,
    replayed: &Replayed,
    tree: &Tree,
) -> Vec<Polling> {
    let lanes: Vec<&Lane> = lanes(&replayed.shards).collect();
    let mut list: Vec<(usize, Polling)> = Vec::new();
    let sites = Sites::of(defs, tree);
    for fold in tree.folds() {
        let number = fold.first();
        let Some((layer, _)) = fold.class else { continue };
        let calls = Totals::of(&lanes, &fold).get(Q::PollingCalls);
        if calls > 0 {
            let time = Sums::of(&lanes, world, &fold, Q::PollingTime, None);
            let (nanoseconds, locations) = (time.least, time.locations);
            let path = steps(defs, tree, &sites, number);
            list.push((number, Polling { layer, calls, nanoseconds, path, locations }));
        }
    }
    list.sort_by_key(|(number, it)| (std::cmp::Reverse(it.nanoseconds), *number));
    list.into_iter().map(|(_, it)| it).collect()
}
