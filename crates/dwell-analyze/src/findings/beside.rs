//! What is told besides waits: time that looks like waits for progress but is unexplained, and polling loops.

use dwell_model::layer::Layer;
use otf2::read::Definitions;

use super::sites::Sites;
use super::sums::{Sums, Totals};
use super::{Finding, Share, Step, list, steps};
use crate::lane::Lane;
use crate::metric::Quantity as Q;
use crate::replay::Replayed;
use crate::tree::{Tree, lanes};
use crate::world::World;

/// Time of a call path that looks like waits for progress, in operations like those that were seen to need no
/// help of their targets. The trace does not explain it, so it is no wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Id of the pattern that it looks like.
    pub pattern: &'static str,
    /// The layer.
    pub layer: Layer,
    /// How long the targets were in no call that progresses, over all locations.
    pub nanoseconds: u64,
    /// How often the call path was taken.
    pub visits: u64,
    /// Time on the call path.
    pub path_nanoseconds: u64,
    /// The calls, the outermost first.
    pub path: Vec<Step>,
    /// Number of the call path in the report.
    pub call_path: u32,
    /// At how many locations.
    pub locations: u64,
    /// Whose time it is, at most [`LISTED`](super::LISTED).
    pub origins: Vec<Share>,
    /// On whom the operations were, at most [`LISTED`](super::LISTED).
    pub targets: Vec<Share>,
}

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

/// Time without an explanation that looks like waits for progress.
const UNCONFIRMED: &[(Q, Option<Q>)] =
    &[(Q::ProgressUnconfirmed, None), (Q::ProgressMultiUnconfirmed, None)];

/// Call paths with time that looks like waits for progress but is unexplained, the longest first.
pub(crate) fn unconfirmed(
    defs: &Definitions,
    world: &World,
    replayed: &Replayed,
    tree: &Tree,
) -> Vec<Unconfirmed> {
    let one = |it: Finding| Unconfirmed {
        pattern: it.pattern,
        layer: it.layer,
        nanoseconds: it.nanoseconds,
        visits: it.visits,
        path_nanoseconds: it.path_nanoseconds,
        path: it.path,
        call_path: it.call_path,
        locations: it.locations,
        origins: it.origins,
        targets: it.targets,
    };
    list(defs, world, replayed, tree, UNCONFIRMED).into_iter().map(one).collect()
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
