//! Lists call paths whose calls took longer than their waits and other calls of their class explain.

use dwell_log::quantity::Quantity as Q;
use dwell_model::layer::Layer;
use dwell_model::operation::Operation;
use dwell_model::waits::{Class, Wait};
use dwell_trace::crowds::Crowd;
use dwell_trace::ids::{CallPathNumber, Ordinal};
use dwell_trace::time::Duration;

use super::summary::Summary;
use super::totals::ProgramTotals;
use super::{Phase, Share, Step, shares};

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
    /// Phase of the program in which the calls are made.
    pub phase: Phase,
    /// Part of `nanoseconds` in calls that are too few of their class to know how long such calls take.
    pub too_few: u64,
    /// States that the time is a finding: at least 1 % of the time of all locations. Calls that start, end or create
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
    /// Number of the call path in the Cube report, which distinguishes it from others with the same names.
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
pub(crate) fn list(program: &ProgramTotals<'_>, summary: &Summary) -> Vec<Unexplained> {
    let world = program.world;
    let time: u64 = program.tree.branches.iter().map(|branch| branch.totals.time).sum();
    let mut list: Vec<(CallPathNumber, Unexplained)> = Vec::new();
    for (place, fold) in (0..).zip(&program.folds) {
        let Some((layer, class)) = fold.class else { continue };
        let Some(concerned) = summary.affected.get(&(place, Q::Unexplained)) else { continue };
        let totals = fold.totals();
        let (nanoseconds, too_few) = (totals.get(Q::Unexplained), totals.get(Q::TooFew));
        let process = |index| program.process(index);
        // Nothing else accounts for the time of calls without an operation, such as input and output.
        let is_other = fold.branches().next().is_some_and(|branch| {
            let meaning = world.roles.get(branch.region).meaning;
            meaning.is_some_and(|it| it.operation == Operation::Other)
        });
        let is_rare = class == Class::Management && !is_other;
        let counted = if is_rare { nanoseconds - too_few } else { nanoseconds };
        let longest = concerned.slowest.filter(|it| it.0 > Duration::ZERO);
        let number = fold.first();
        let unexplained = Unexplained {
            layer,
            nanoseconds,
            phase: program.phases.get(number.index()).copied().unwrap_or(Phase::Run),
            too_few,
            is_finding: counted > 0 && counted.saturating_mul(THRESHOLD) >= time,
            away: totals.get(Q::Unconfirmed(Wait::WaitForProgress))
                + totals.get(Q::Unconfirmed(Wait::WaitForProgressMulti)),
            transfer: totals.get(Q::Transfer),
            longest: longest.and_then(|(time, _, at)| Some((time.0, process(world.process(at))?))),
            visits: totals.visits,
            path_nanoseconds: program.time(fold),
            path: program.steps(number),
            call_path: number.0,
            locations: concerned.locations,
            origins: shares(&concerned.origins, process),
            targets: shares(&concerned.targets, |index| program.party(index)),
            crowds: {
                let crowds = concerned.crowded.iter().filter_map(|it| world.system.crowds.get(it));
                crowds.cloned().collect()
            },
        };
        list.push((number, unexplained));
    }
    list.sort_by_key(|(number, it)| (std::cmp::Reverse((it.nanoseconds, it.away)), *number));
    list.into_iter().map(|(_, it)| it).collect()
}
