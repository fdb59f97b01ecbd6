//! Lists communication that could take less time, apart from waits, by call path.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_log::quantity::Quantity as Q;
use dwell_model::layer::Layer;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::names;
use dwell_trace::time::Duration;
use serde::{Deserialize, Serialize};

use super::below::{self, Below};
use super::locations::{ByProcess, Top};
use super::summary::Summary;
use super::totals::ProgramTotals;
use super::{Share, Step, shares};
use crate::output::sections::{Member, OwnLocations, Section};
use crate::output::tree::Fold;
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
    /// Number of the call path in the Cube report, which distinguishes it from others with the same names.
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
    /// Calls each of which becomes many calls of few bytes in the library below.
    Below {
        /// Name of the function of that library that moves the data.
        region: String,
        /// Layer of that function.
        layer: Layer,
        /// Number of calls of that function.
        inner: u64,
        /// Average size of a call of that function in bytes.
        bytes: u64,
        /// Number of all calls of libraries below.
        all: u64,
        /// Average time of an outer call.
        each: u64,
        /// Average time of a call of this run that moves at least as many bytes in few calls. `None` if the run has
        /// none.
        instead: Option<u64>,
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

    fn is_reported(&self, run: u64) -> bool {
        self.at_most > 0 && self.gain() * Self::THRESHOLD >= 2 * u128::from(run)
    }
}

/// Lists savings in the run, the greatest first. Start-up and shutdown are not considered.
pub(crate) fn list(program: &ProgramTotals<'_>, summary: &Summary, run: u64) -> Vec<Inefficiency> {
    let mut list: Vec<Inefficiency> = Vec::new();
    for (place, fold) in program.run() {
        for waste in Waste::ALL {
            let key = (place, waste);
            let (Some(sums), Some(savers)) = (summary.savings.get(&key), summary.savers.get(&key))
            else {
                continue;
            };
            list.extend(inefficiency(program, fold, waste, sums, savers));
        }
    }
    list.extend(many_calls_below(program, summary));
    list.extend(hot_target(program, summary));
    list.retain(|it| it.is_reported(run));
    list.sort_by_key(|it| (Reverse(it.gain()), it.call_path, it.pattern));
    list
}

/// Sums over all locations that could save time in one way on one call path.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavingSums {
    visits: u64,
    /// Bytes that were moved, and time beyond waits in nanoseconds.
    bytes: u64,
    rests: u64,
    saving: Saving,
}

/// Savings by the place of the call path and the way to save.
pub(crate) type AllSavings = BTreeMap<(u32, Waste), SavingSums>;

/// Adds the savings of other locations.
pub(super) fn join_savings(all: &mut AllSavings, more: AllSavings) {
    for (key, one) in more {
        let sums = all.entry(key).or_default();
        sums.visits += one.visits;
        sums.bytes += one.bytes;
        sums.rests += one.rests;
        sums.saving.add(one.saving);
    }
}

/// Calls `show` for every location of a section that could save time in the run, with the place and a way to save it, if
/// both are wanted. The locations of one place and way come one after the other.
fn each_saving(
    program: &ProgramTotals<'_>,
    own: &OwnLocations<'_>,
    section: &Section,
    is_wanted: impl Fn((u32, Waste)) -> bool,
    mut show: impl FnMut((u32, Waste), Member, &Saving),
) {
    for (place, fold) in program.run().filter(|(_, fold)| fold.class.is_some()) {
        let wanted: Vec<Waste> =
            Waste::ALL.into_iter().filter(|&waste| is_wanted((place, waste))).collect();
        if wanted.is_empty() {
            continue;
        }
        let members = section.members_of(fold);
        for waste in wanted {
            for &(member, _) in &members {
                let patterns = own.patterns(member.0);
                let saving =
                    patterns.and_then(|it| it.inefficient.saving(member.0, member.1, waste));
                saving.into_iter().for_each(|saving| show((place, waste), member, saving));
            }
        }
    }
}

/// Adds up the savings of the locations of a section.
pub(super) fn savings(
    program: &ProgramTotals<'_>,
    own: &OwnLocations<'_>,
    section: &Section,
) -> AllSavings {
    let mut all = AllSavings::new();
    each_saving(
        program,
        own,
        section,
        |_| true,
        |key, member, saving| {
            let Some(node) = own.node(member) else { return };
            let sums = all.entry(key).or_default();
            sums.visits += node.visits;
            sums.bytes += node.get(Q::BytesGet) + node.get(Q::BytesPut);
            sums.rests += node.get(Q::Transfer) + node.get(Q::Unexplained);
            sums.saving.add(*saving);
        },
    );
    all
}

/// Processes that could save time in one way on one call path.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Savers {
    /// Upper bound of the time that could be saved, over all locations.
    most: Duration,
    locations: u64,
    /// Processes that could save most.
    origins: Top<ProcessNumber>,
}

/// Locations that could save time, by the place of the call path and the way to save it.
pub(crate) type AllSavers = BTreeMap<(u32, Waste), Savers>;

/// Adds other processes that could save time.
pub(super) fn join_savers(all: &mut AllSavers, more: AllSavers) {
    for (key, one) in more {
        let savers = all.entry(key).or_default();
        savers.most += one.most;
        savers.locations += one.locations;
        savers.origins.join(one.origins);
    }
}

/// Lists the locations of a section that could save time, given the savings of all locations of all ranks.
pub(super) fn savers(
    program: &ProgramTotals<'_>,
    own: &OwnLocations<'_>,
    section: &Section,
    all: &AllSavings,
) -> AllSavers {
    let mut found: BTreeMap<(u32, Waste), (Savers, ByProcess, Option<LocationNumber>)> =
        BTreeMap::new();
    let worth = |(place, waste): (u32, Waste), sums: &SavingSums| {
        sums.worth(program, program.folds.get(place as usize)?, waste)
    };
    let worths: BTreeMap<(u32, Waste), (u64, u64)> =
        all.iter().filter_map(|(&key, sums)| Some((key, worth(key, sums)?))).collect();
    let is_wanted = |key| worths.contains_key(&key);
    each_saving(program, own, section, is_wanted, |key, (location, _), saving| {
        let Some(&worth) = worths.get(&key) else { return };
        let most = saving.most + part(saving.unknown, worth);
        let (savers, origins, last) = found.entry(key).or_default();
        savers.most += most;
        savers.locations += u64::from(last.replace(location) != Some(location));
        origins.add(program.world.process(location), (saving.least.0, most.0));
    });
    let of = |(key, (savers, origins, _)): (_, (Savers, ByProcess, _))| {
        (key, Savers { origins: origins.top(), ..savers })
    };
    found.into_iter().map(of).collect()
}

impl SavingSums {
    /// Returns the part of the time of calls that can be saved at most if the run has nothing to compare with. Strided
    /// calls take at least as long as they take for one element. `None` if that is not known.
    fn worth(
        &self,
        program: &ProgramTotals<'_>,
        fold: &Fold<'_>,
        waste: Waste,
    ) -> Option<(u64, u64)> {
        if waste != Waste::Strided {
            return Some((0, 1));
        }
        let elements = self.bytes / element_bytes(program, fold)?;
        Some((elements.saturating_sub(self.saving.calls), elements))
    }
}

/// Returns the size of the elements that strided calls move.
fn element_bytes(program: &ProgramTotals<'_>, fold: &Fold<'_>) -> Option<u64> {
    let region = fold.branches().next()?.region;
    Some(u64::from(program.world.roles.get(region).element?).max(1))
}

/// Turns the sums into the finding that users read. Returns `None` if there is nothing to save, and for call paths
/// outside of runtimes.
fn inefficiency(
    program: &ProgramTotals<'_>,
    fold: &Fold<'_>,
    waste: Waste,
    sums: &SavingSums,
    savers: &Savers,
) -> Option<Inefficiency> {
    let SavingSums { visits, bytes, rests, saving } = *sums;
    let each = rests.checked_div(visits)?;
    let per_call = bytes / visits.max(1);
    let instead = saving.instead.0.checked_div(saving.compared);
    let evidence = match waste {
        Waste::Strided => {
            let element_bytes = element_bytes(program, fold)?;
            let elements = bytes / element_bytes;
            let each = rests.checked_div(elements)?;
            Evidence::Strided { elements, element_bytes, each, instead }
        }
        Waste::Small => {
            let instead = (saving.compared > 0).then_some(saving.instead.0);
            let rows = visits.saturating_sub(saving.calls);
            Evidence::Small { rows, bytes: per_call, each, instead }
        }
        Waste::Completion => Evidence::Completion { each },
        Waste::Sequence => Evidence::Row { bytes: per_call, each },
        Waste::Static => Evidence::Static { each, instead: instead? },
    };
    let number = fold.first();
    (savers.most > Duration::ZERO).then_some(Inefficiency {
        pattern: waste.pattern(),
        layer: fold.class?.0,
        nanoseconds: saving.least.0,
        at_most: savers.most.0,
        calls: saving.calls,
        evidence,
        visits,
        path_nanoseconds: program.time(fold),
        path: program.steps(number),
        call_path: number.0,
        locations: savers.locations,
        origins: shares(&savers.origins, |index| program.process(index)),
    })
}

/// Looks for calls that become many calls in the library below, unless they are strided and are found as such.
fn many_calls_below(program: &ProgramTotals<'_>, summary: &Summary) -> Vec<Inefficiency> {
    let finding = |(it, instead): (Below, Option<Duration>)| {
        let fold = program.folds.get(it.place as usize)?;
        let strided = summary.savings.get(&(it.place, Waste::Strided));
        if strided.is_some_and(|sums| sums.saving.calls > 0) {
            return None;
        }
        let (least, most) = it.saving(instead.map(|each| each.times(it.outer)));
        let concerned = summary.affected.get(&(it.place, Q::Transfer));
        let mut origins = concerned.map(|it| it.origins.clone()).unwrap_or_default();
        origins.scale(|(_, rests)| {
            let of = |saving: Duration| part(Duration(rests), (saving.0, it.rests.0)).0;
            (of(least), of(most))
        });
        let number = fold.first();
        Some(Inefficiency {
            pattern: "many_calls_below",
            layer: it.layer,
            nanoseconds: least.0,
            at_most: most.0,
            calls: it.outer,
            evidence: Evidence::Below {
                region: names::region(program.defs, it.region),
                layer: it.inner_layer,
                inner: it.inner,
                bytes: it.bytes / it.inner.max(1),
                all: it.all,
                each: it.rests.0 / it.outer,
                instead: instead.map(|it| it.0),
            },
            visits: it.outer,
            path_nanoseconds: program.time(fold),
            path: program.steps(number),
            call_path: number.0,
            locations: concerned.map_or(0, |it| it.locations),
            origins: shares(&origins, |index| program.process(index)),
        })
    };
    below::many(program).into_iter().filter_map(finding).collect()
}

/// Looks for a target that receives most of all atomics. The finding is reported at the call path that spends most time
/// with atomics.
fn hot_target(program: &ProgramTotals<'_>, summary: &Summary) -> Option<Inefficiency> {
    let place = program.most_atomics()?;
    let main = program.folds.get(place)?;
    let concerned = summary.affected.get(&(place as u32, Q::Atomics))?;
    let parties = program.world.system.parties();
    let hot = HotTarget::find(&summary.atomics, parties as u64)?;
    // Atomics that take longer than the fastest of them may have delayed each other.
    let unexplained = program.atomics().map(|(_, fold)| fold.totals().get(Q::Unexplained)).sum();
    let HotTarget { party, operations, of, origins, saved, .. } = hot;
    let target = program.party(party).unwrap_or_else(|| format!("process {}", party.0));
    let number = main.first();
    Some(Inefficiency {
        pattern: "hot_target",
        layer: main.class?.0,
        nanoseconds: part(Duration(unexplained), (operations, of)).min(saved).0,
        at_most: saved.0,
        calls: operations,
        evidence: Evidence::HotTarget { target, operations, of, origins },
        visits: main.totals().visits,
        path_nanoseconds: program.time(main),
        path: program.steps(number),
        call_path: number.0,
        locations: concerned.locations,
        origins: shares(&concerned.origins, |index| program.process(index)),
    })
}
