//! Communication that could take less time although nobody waits, by call path.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dwell_model::layer::Layer;

use super::ground::Ground;
use super::phase::Phase;
use super::{Share, Step, top};
use crate::inefficient::{HotTarget, Saving, Waste, part};
use crate::matrix;
use crate::metric::Quantity as Q;
use crate::replay::Replayed;
use crate::tree::{Fold, node};

/// Communication that could take less time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inefficiency {
    /// Id of the pattern.
    pub pattern: &'static str,
    /// The layer.
    pub layer: Layer,
    /// What could be saved over all locations, in nanoseconds: the lower bound.
    pub nanoseconds: u64,
    /// The upper bound.
    pub at_most: u64,
    /// How many calls could be made otherwise.
    pub calls: u64,
    /// What shows it.
    pub evidence: Evidence,
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
    /// Who could save most, at most [`LISTED`](crate::LISTED).
    pub origins: Vec<Share>,
}

/// What shows that communication could take less time. Times are in nanoseconds and without waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// Calls that move elements which lie apart.
    Strided {
        /// How many elements were moved.
        elements: u64,
        /// Bytes of an element.
        element_bytes: u64,
        /// How long the calls took for each element.
        each: u64,
        /// How long a call of this run takes that moves as many bytes in one piece, if there are such calls.
        instead: Option<u64>,
    },
    /// Small blocking transfers, one after the other, by one call path and with one target.
    Small {
        /// How many rows of them there are.
        rows: u64,
        /// Bytes of a transfer on average.
        bytes: u64,
        /// How long a transfer took on average.
        each: u64,
        /// How long all of this would take with the larger transfers that this run has, if it has some.
        instead: Option<u64>,
    },
    /// Completions that follow single operations.
    Completion {
        /// How long a completion took on average.
        each: u64,
    },
    /// Blocking operations, one after the other.
    Row {
        /// Bytes of an operation on average.
        bytes: u64,
        /// How long an operation took on average.
        each: u64,
    },
    /// Operations on static data.
    Static {
        /// How long an operation took on average.
        each: u64,
        /// How long it takes on the symmetric heap in this run.
        instead: u64,
    },
    /// A process that most atomics act on.
    HotTarget {
        /// The process, or the node where there are too many processes to list.
        target: String,
        /// Atomics of others on it.
        operations: u64,
        /// Atomics of all on others.
        of: u64,
        /// How many others these come from.
        origins: u64,
    },
}

impl Inefficiency {
    /// What is less than one part in so many of the run is not told.
    const THRESHOLD: u128 = 100;

    /// Twice what can be gained: the sum of both bounds.
    pub(crate) fn gain(&self) -> u128 {
        u128::from(self.nanoseconds) + u128::from(self.at_most)
    }

    fn is_told(&self, run: u64) -> bool {
        self.at_most > 0 && self.gain() * Self::THRESHOLD >= 2 * u128::from(run)
    }
}

/// What could be saved in the run, the most first. Start-up and shutdown are not looked at.
pub(crate) fn list(ground: &Ground<'_>, replayed: &Replayed, run: u64) -> Vec<Inefficiency> {
    let folds = ground.tree.folds();
    let is_run = |it: &&Fold<'_>| ground.phases.get(it.first()) == Some(&Phase::Run);
    let folds: Vec<&Fold<'_>> = folds.iter().filter(is_run).collect();
    let mut list: Vec<Inefficiency> = Vec::new();
    for fold in &folds {
        for waste in Waste::ALL {
            let Some(sums) = Sums::of(ground, fold, waste) else { continue };
            list.extend(sums.told(ground, fold, waste.pattern()));
        }
    }
    list.extend(hot_target(ground, replayed, &folds));
    list.retain(|it| it.is_told(run));
    list.sort_by_key(|it| (Reverse(it.gain()), it.call_path, it.pattern));
    list
}

struct Sums {
    saving: Saving,
    evidence: Evidence,
    visits: u64,
    locations: u64,
    /// Both bounds.
    by_process: BTreeMap<u32, (u64, u64)>,
}

impl Sums {
    /// Sums over the locations of a call path, if there is something to save.
    fn of(ground: &Ground<'_>, fold: &Fold<'_>, waste: Waste) -> Option<Self> {
        let mut saving = Saving::default();
        let (mut visits, mut bytes, mut rests) = (0, 0, 0);
        let mut locations = BTreeSet::new();
        let mut by_location: Vec<(u32, Saving)> = Vec::new();
        for at in fold.members() {
            let Some(node) = node(&ground.lanes, at) else { continue };
            let lane = ground.lanes.get(at.0 as usize)?;
            let Some(one) = lane.paths.savings.get(at.1, waste) else { continue };
            visits += node.visits;
            bytes += node.get(Q::BytesGet) + node.get(Q::BytesPut);
            rests += node.get(Q::Transfer) + node.get(Q::Unexplained);
            saving.add(*one);
            locations.insert(at.0);
            by_location.push((ground.world.process(at.0), *one));
        }
        let each = rests.checked_div(visits)?;
        let per_call = bytes / visits.max(1);
        let instead = saving.instead.checked_div(saving.compared);
        // Strided calls without anything to compare with take at least as long as they take for one element.
        let mut worth = (0, 1);
        let evidence = match waste {
            Waste::Strided => {
                let region = fold.branches().next()?.region;
                let element_bytes = u64::from(ground.world.roles.get(region).element?).max(1);
                let elements = bytes / element_bytes;
                worth = (elements.saturating_sub(saving.calls), elements);
                let each = rests.checked_div(elements)?;
                Evidence::Strided { elements, element_bytes, each, instead }
            }
            Waste::Small => {
                let instead = (saving.compared > 0).then_some(saving.instead);
                let rows = visits.saturating_sub(saving.calls);
                Evidence::Small { rows, bytes: per_call, each, instead }
            }
            Waste::Completion => Evidence::Completion { each },
            Waste::Row => Evidence::Row { bytes: per_call, each },
            Waste::Static => Evidence::Static { each, instead: instead? },
        };
        let most = |it: &Saving| it.most + part(it.unknown, worth);
        let mut by_process: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (process, one) in &by_location {
            let sum = by_process.entry(*process).or_default();
            *sum = (sum.0 + one.least, sum.1 + most(one));
        }
        saving.most = by_location.iter().map(|(_, one)| most(one)).sum();
        let locations = locations.len() as u64;
        (saving.most > 0).then_some(Self { saving, evidence, visits, locations, by_process })
    }

    /// What is told of it.
    fn told(
        self,
        ground: &Ground<'_>,
        fold: &Fold<'_>,
        pattern: &'static str,
    ) -> Option<Inefficiency> {
        let number = fold.first();
        let process = |index| ground.process(index);
        Some(Inefficiency {
            pattern,
            layer: fold.class?.0,
            nanoseconds: self.saving.least,
            at_most: self.saving.most,
            calls: self.saving.calls,
            evidence: self.evidence,
            visits: self.visits,
            path_nanoseconds: ground.time(fold),
            path: ground.steps(number),
            call_path: number as u32,
            locations: self.locations,
            origins: top(self.by_process.into_iter(), process),
        })
    }
}

/// A target that receives most atomics of all, told of the call path that spends most time with atomics.
fn hot_target(
    ground: &Ground<'_>,
    replayed: &Replayed,
    folds: &[&Fold<'_>],
) -> Option<Inefficiency> {
    let has_atomics = |fold: &&&Fold<'_>| {
        fold.class.is_some()
            && fold
                .members()
                .filter_map(|at| node(&ground.lanes, at))
                .any(|node| node.get(Q::Atomics) > 0)
    };
    let mut atomics: Vec<&&Fold<'_>> = folds.iter().filter(has_atomics).collect();
    atomics.sort_by_key(|fold| (Reverse(ground.time(fold)), fold.first()));
    let main = atomics.first()?;
    let mut sum = matrix::Sum::new();
    replayed.shards.iter().for_each(|shard| shard.matrix.add_to(&mut sum));
    let system = &ground.world.system;
    let parties = match ground.world.parties.folded() {
        true => system.nodes.len(),
        false => system.processes.len(),
    };
    let hot = HotTarget::find(&sum, parties as u64)?;
    // What atomics take beyond the fastest of them may be what they do to each other.
    let nodes = atomics.iter().flat_map(|fold| fold.members());
    let nodes = nodes.filter_map(|at| node(&ground.lanes, at));
    let unexplained = nodes.map(|node| node.get(Q::Unexplained)).sum();
    let HotTarget { party, operations, of, origins, saved, .. } = hot;
    let target = ground.party(party).unwrap_or_else(|| format!("process {party}"));
    let mut by_process: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let (mut visits, mut locations) = (0, BTreeSet::new());
    for at in main.members() {
        let Some(node) = node(&ground.lanes, at) else { continue };
        visits += node.visits;
        locations.insert(at.0);
        let process = ground.world.process(at.0);
        let sum = by_process.entry(process).or_default();
        sum.0 += node.get(Q::Unexplained);
        sum.1 += node.get(Q::Unexplained) + node.get(Q::Transfer);
    }
    let saving = Saving {
        calls: operations,
        least: part(unexplained, (operations, of)).min(saved),
        most: saved,
        ..Saving::default()
    };
    let evidence = Evidence::HotTarget { target, operations, of, origins };
    let locations = locations.len() as u64;
    Sums { saving, evidence, visits, locations, by_process }.told(ground, main, "hot_target")
}
