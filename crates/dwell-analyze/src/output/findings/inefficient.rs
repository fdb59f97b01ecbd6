//! Lists communication that could take less time although nobody waits, by call path.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dwell_model::layer::Layer;

use super::ground::Ground;
use super::phase::Phase;
use super::{Share, Step, top};
use crate::archive::ids::{Ordinal, ProcessNumber};
use crate::archive::time::Duration;
use crate::engine::matrix;
use crate::engine::quantity::Quantity as Q;
use crate::output::Replayed;
use crate::output::tree::{Fold, node};
use crate::patterns::inefficient::{HotTarget, Saving, Waste, part};

/// Communication on one call path that another way of calling the runtime would make faster.
///
/// Such calls do not wait for anybody, so they are not part of a [`Finding`](crate::Finding). The lower bound of the
/// saving counts only the time that the fastest tenth of comparable calls needs, the upper bound all time beyond waits.
/// An item is reported if the middle of both is at least 1 % of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inefficiency {
    /// Id of the pattern, for example `hot_target`. The JSON output prints it.
    pub pattern: &'static str,
    /// Layer of the calls, such as OpenSHMEM or MPI.
    pub layer: Layer,
    /// Lower bound of the time that could be saved in nanoseconds, over all locations. It may be 0, for example if the
    /// run has nothing to compare with.
    pub nanoseconds: u64,
    /// Upper bound of the time that could be saved in nanoseconds, over all locations. It is never 0.
    pub at_most: u64,
    /// Number of calls that the program could avoid or replace.
    pub calls: u64,
    /// Measurements of this run that support the finding.
    pub evidence: Evidence,
    /// Number of visits of the call path at the locations that could save time.
    pub visits: u64,
    /// Inclusive time of the call path in nanoseconds, over all locations.
    pub path_nanoseconds: u64,
    /// Calls from the outermost to the inefficient one, which is the last element.
    pub path: Vec<Step>,
    /// Number of the call path in the Cube report, which tells it from others with the same names.
    pub call_path: u32,
    /// Number of locations that could save time on this path.
    pub locations: u64,
    /// Processes that could save most, most first. The list has at most [`LISTED`](crate::LISTED) elements.
    pub origins: Vec<Share>,
}

/// Measurements that show why communication could take less time, by kind of inefficiency. Times are in nanoseconds and
/// exclude waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// Calls such as `shmem_iput` that move elements which are not contiguous.
    Strided {
        /// Number of elements that were moved.
        elements: u64,
        /// Size of an element in bytes.
        element_bytes: u64,
        /// Average time per element.
        each: u64,
        /// Time that a contiguous transfer of as many bytes needs in this run, if nothing delays it. If there are only
        /// larger ones, it is theirs. `None` if the run has none to compare with.
        instead: Option<u64>,
    },
    /// Small blocking transfers that follow one another on one call path and with the same target.
    Small {
        /// Number of such sequences. Each could be a single larger transfer.
        rows: u64,
        /// Average size of a transfer in bytes.
        bytes: u64,
        /// Average time of a transfer.
        each: u64,
        /// Time that larger transfers of this run would need for all of these bytes. `None` if the run has none.
        instead: Option<u64>,
    },
    /// Completion calls, such as `shmem_quiet`, each after a single operation.
    Completion {
        /// Average time of a completion call.
        each: u64,
    },
    /// Blocking operations that follow one another and could be in flight together.
    Row {
        /// Average size of an operation in bytes.
        bytes: u64,
        /// Average time of an operation.
        each: u64,
    },
    /// Operations on static data, which some runtimes serve more slowly than the symmetric heap.
    Static {
        /// Average time of an operation on static data.
        each: u64,
        /// Time that the same operation needs on the symmetric heap in this run, if nothing delays it.
        instead: u64,
    },
    /// A single process that receives more than half of all remote atomics.
    HotTarget {
        /// Name of the process, or of its node if the run has more than [`MOST_PARTIES`](crate::MOST_PARTIES)
        /// processes.
        target: String,
        /// Number of atomics that other processes issued to this target.
        operations: u64,
        /// Number of atomics of all processes on targets other than themselves, including `operations`.
        of: u64,
        /// Number of processes or nodes that issued atomics to this target.
        origins: u64,
    },
}

impl Inefficiency {
    /// A saving below one part in this many of the run is not reported.
    const THRESHOLD: u128 = 100;

    /// Returns twice the expected saving, which is the sum of both bounds.
    pub(crate) fn gain(&self) -> u128 {
        u128::from(self.nanoseconds) + u128::from(self.at_most)
    }

    fn is_told(&self, run: u64) -> bool {
        self.at_most > 0 && self.gain() * Self::THRESHOLD >= 2 * u128::from(run)
    }
}

/// Lists savings in the run, the greatest first. Start-up and shutdown are not considered.
pub(crate) fn list(ground: &Ground<'_>, replayed: &Replayed, run: u64) -> Vec<Inefficiency> {
    let folds = ground.tree.folds();
    let is_run = |it: &&Fold<'_>| ground.phases.get(it.first().index()) == Some(&Phase::Run);
    let folds: Vec<&Fold<'_>> = folds.iter().filter(is_run).collect();
    let mut list: Vec<Inefficiency> = Vec::new();
    for fold in &folds {
        for waste in Waste::ALL {
            let Some(sums) = Sums::of(ground, replayed, fold, waste) else { continue };
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
    /// Lower and upper bound of the saving of each process.
    by_process: BTreeMap<ProcessNumber, (u64, u64)>,
}

impl Sums {
    /// Sums up the savings of one kind over the locations of a call path. Returns `None` if there is nothing to save.
    fn of(ground: &Ground<'_>, replayed: &Replayed, fold: &Fold<'_>, waste: Waste) -> Option<Self> {
        let mut saving = Saving::default();
        let (mut visits, mut bytes, mut rests) = (0, 0, 0);
        let mut locations = BTreeSet::new();
        let mut by_location: Vec<(ProcessNumber, Saving)> = Vec::new();
        for at in fold.members() {
            let Some(node) = node(&ground.locations, at) else { continue };
            let process = ground.world.process(at.0);
            let patterns = replayed.patterns_of(process)?;
            let one = patterns.inefficient.saving(at.0, at.1, waste);
            let Some(one) = one else { continue };
            visits += node.visits;
            bytes += node.get(Q::BytesGet) + node.get(Q::BytesPut);
            rests += node.get(Q::Transfer) + node.get(Q::Unexplained);
            saving.add(*one);
            locations.insert(at.0);
            by_location.push((process, *one));
        }
        let each = rests.checked_div(visits)?;
        let per_call = bytes / visits.max(1);
        let instead = saving.instead.0.checked_div(saving.compared);
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
                let instead = (saving.compared > 0).then_some(saving.instead.0);
                let rows = visits.saturating_sub(saving.calls);
                Evidence::Small { rows, bytes: per_call, each, instead }
            }
            Waste::Completion => Evidence::Completion { each },
            Waste::Row => Evidence::Row { bytes: per_call, each },
            Waste::Static => Evidence::Static { each, instead: instead? },
        };
        let most = |it: &Saving| it.most + part(it.unknown, worth);
        let mut by_process: BTreeMap<ProcessNumber, (u64, u64)> = BTreeMap::new();
        for (process, one) in &by_location {
            let sum = by_process.entry(*process).or_default();
            *sum = (sum.0 + one.least.0, sum.1 + most(one).0);
        }
        saving.most = by_location.iter().map(|(_, one)| most(one)).sum();
        let locations = locations.len() as u64;
        (saving.most > Duration::ZERO).then_some(Self {
            saving,
            evidence,
            visits,
            locations,
            by_process,
        })
    }

    /// Turns the sums into the finding that users read. Returns `None` for call paths outside of runtimes.
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
            nanoseconds: self.saving.least.0,
            at_most: self.saving.most.0,
            calls: self.saving.calls,
            evidence: self.evidence,
            visits: self.visits,
            path_nanoseconds: ground.time(fold),
            path: ground.steps(number),
            call_path: number.0,
            locations: self.locations,
            origins: top(self.by_process.into_iter(), process),
        })
    }
}

/// Looks for a target that receives most of all atomics. The finding is reported at the call path that spends most time
/// with atomics.
fn hot_target(
    ground: &Ground<'_>,
    replayed: &Replayed,
    folds: &[&Fold<'_>],
) -> Option<Inefficiency> {
    let has_atomics = |fold: &&&Fold<'_>| {
        fold.class.is_some()
            && fold
                .members()
                .filter_map(|at| node(&ground.locations, at))
                .any(|node| node.get(Q::Atomics) > 0)
    };
    let mut atomics: Vec<&&Fold<'_>> = folds.iter().filter(has_atomics).collect();
    atomics.sort_by_key(|fold| (Reverse(ground.time(fold)), fold.first()));
    let main = atomics.first()?;
    let mut sum = matrix::Sum::new();
    replayed.parts.iter().for_each(|part| part.matrix.add_to(&mut sum));
    let system = &ground.world.system;
    let parties = match ground.world.parties.folded() {
        true => system.nodes.len(),
        false => system.processes.len(),
    };
    let hot = HotTarget::find(&sum, parties as u64)?;
    // What atomics take beyond the fastest of them may be what they do to each other.
    let nodes = atomics.iter().flat_map(|fold| fold.members());
    let nodes = nodes.filter_map(|at| node(&ground.locations, at));
    let unexplained = nodes.map(|node| Duration(node.get(Q::Unexplained))).sum();
    let HotTarget { party, operations, of, origins, saved, .. } = hot;
    let target = ground.party(party).unwrap_or_else(|| format!("process {}", party.0));
    let mut by_process: BTreeMap<ProcessNumber, (u64, u64)> = BTreeMap::new();
    let (mut visits, mut locations) = (0, BTreeSet::new());
    for at in main.members() {
        let Some(node) = node(&ground.locations, at) else { continue };
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
