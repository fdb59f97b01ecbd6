//! Lists call paths whose calls took longer than their waits and other calls of their class explain.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::layer::Layer;

use super::ground::Ground;
use super::{Share, Step, top};
use crate::archive::crowds::Crowd;
use crate::archive::ids::{CallPathNumber, NodeNumber, PartyNumber, ProcessNumber};
use crate::archive::time::Duration;
use crate::archive::world::World;
use crate::engine::location::Location;
use crate::engine::quantity::Quantity as Q;
use crate::output::tree::{Fold, node};
use dwell_model::waits::{Class, Wait};

/// Unexplained time is a finding if it is at least one part in this many of the time of all locations.
const THRESHOLD: u64 = 100;

/// Time that the calls of one call path took beyond their waits and beyond the time that comparable calls need. Causes
/// may be a busy network, page faults, or more processes than cores. All times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// Layer of the calls, such as OpenSHMEM or MPI.
    pub layer: Layer,
    /// Unexplained time, summed over all locations. It may be 0 for a call path that is listed because of `away`.
    pub nanoseconds: u64,
    /// Part of `nanoseconds` in calls that are too few of their class to know how long such calls take.
    pub too_few: u64,
    /// States that the time is a finding: at least 1 % of the time of all locations. Calls that start, end or manage
    /// something are usually made once, so for them the time in `too_few` does not count.
    pub is_finding: bool,
    /// Time during which targets of operations were in no call that progresses, although the archive shows that
    /// operations of the same class need no help of their targets. The analysis does not count it as a wait for
    /// progress.
    pub away: u64,
    /// Transfer time of the same calls, which is the time that comparable calls need if nothing delays them.
    pub transfer: u64,
    /// Least excess of the longest call over others of its class in nanoseconds, and the process that made it. `None`
    /// if no call was longer.
    pub longest: Option<(u64, String)>,
    /// Number of visits of the call path, over all locations.
    pub visits: u64,
    /// Inclusive time of the call path in nanoseconds, over all locations.
    pub path_nanoseconds: u64,
    /// Calls from the outermost to the one with unexplained time, which is the last element.
    pub path: Vec<Step>,
    /// Number of the call path in the Cube report, which tells it from others with the same names.
    pub call_path: u32,
    /// Number of locations with unexplained time on this path.
    pub locations: u64,
    /// Processes with the most unexplained time, most first. The list has at most [`LISTED`](crate::LISTED) elements.
    pub origins: Vec<Share>,
    /// Processes or nodes that were away longest while operations on them were in flight, longest first. Their shares
    /// are parts of `away`, and the list has at most [`LISTED`](crate::LISTED) elements.
    pub targets: Vec<Share>,
    /// Nodes of the origins that have more processes than cores, which is a likely cause of unexplained time.
    pub crowds: Vec<Crowd>,
}

/// Lists call paths with unexplained time, the longest first.
pub(crate) fn list(ground: &Ground<'_>) -> Vec<Unexplained> {
    let (world, locations) = (ground.world, &ground.locations);
    let time: u64 = locations
        .iter()
        .flat_map(|location| location.paths.iter())
        .map(|(_, node)| node.time.0)
        .sum();
    let mut list: Vec<(CallPathNumber, Unexplained)> = Vec::new();
    for fold in ground.tree.folds() {
        let Some((layer, class)) = fold.class else { continue };
        let sums = Sums::of(locations, world, &fold);
        if sums.time + sums.away == 0 {
            continue;
        }
        let mut parties: BTreeMap<PartyNumber, (u64, u64)> = BTreeMap::new();
        for what in
            [Q::Unconfirmed(Wait::WaitForProgress), Q::Unconfirmed(Wait::WaitForProgressMulti)]
        {
            for (party, amount) in ground.blamed(&fold, what) {
                let sum = parties.entry(party).or_default();
                *sum = (sum.0 + amount, sum.1 + amount);
            }
        }
        let system = &world.system;
        let process = |index| ground.process(index);
        let counted = if class == Class::Management { sums.time - sums.too_few } else { sums.time };
        let nodes: BTreeSet<NodeNumber> =
            sums.by_process.keys().map(|&it| system.node(it)).collect();
        let longest = sums.longest.filter(|it| it.0 > Duration::ZERO);
        let number = fold.first();
        let unexplained = Unexplained {
            layer,
            nanoseconds: sums.time,
            too_few: sums.too_few,
            is_finding: counted > 0 && counted.saturating_mul(THRESHOLD) >= time,
            away: sums.away,
            transfer: sums.transfer,
            longest: longest.and_then(|(time, at)| Some((time.0, process(at)?))),
            visits: sums.visits,
            path_nanoseconds: ground.time(&fold),
            path: ground.steps(number),
            call_path: number.0,
            locations: sums.locations,
            origins: top(sums.by_process.into_iter(), process),
            targets: top(parties.into_iter(), |index| ground.party(index)),
            crowds: nodes.iter().filter_map(|node| system.crowds.get(node)).cloned().collect(),
        };
        list.push((number, unexplained));
    }
    list.sort_by_key(|(number, it)| (std::cmp::Reverse((it.nanoseconds, it.away)), *number));
    list.into_iter().map(|(_, it)| it).collect()
}

#[derive(Default)]
struct Sums {
    time: u64,
    too_few: u64,
    away: u64,
    transfer: u64,
    longest: Option<(Duration, ProcessNumber)>,
    visits: u64,
    locations: u64,
    by_process: BTreeMap<ProcessNumber, (u64, u64)>,
}

impl Sums {
    fn of(locations: &[&Location], world: &World, fold: &Fold<'_>) -> Self {
        let mut sums = Self::default();
        let mut concerned = BTreeSet::new();
        for at in fold.members() {
            let Some(node) = node(locations, at) else { continue };
            let time = node.get(Q::Unexplained);
            sums.time += time;
            sums.too_few += node.get(Q::TooFew);
            sums.away += node.get(Q::Unconfirmed(Wait::WaitForProgress))
                + node.get(Q::Unconfirmed(Wait::WaitForProgressMulti));
            sums.transfer += node.get(Q::Transfer);
            sums.visits += node.visits;
            if time > 0 {
                let process = world.process(at.0);
                concerned.insert(at.0);
                let sum = sums.by_process.entry(process).or_default();
                *sum = (sum.0 + time, sum.1 + time);
                if sums.longest.is_none_or(|(longest, _)| longest < node.longest) {
                    sums.longest = Some((node.longest, process));
                }
            }
        }
        sums.locations = concerned.len() as u64;
        sums
    }
}
