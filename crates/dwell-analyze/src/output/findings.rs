//! Ranked findings: which call waits how long, where, and for which process.
//!
//! A [`Finding`] is one kind of wait on one call path. Findings of one call path are an [`Entry`], which is what
//! people read. Entries are ranked by what can be gained: by the middle of their bounds.

mod below;
mod causes;
mod critical;
mod efficiency;
mod gain;
mod inefficient;
mod locations;
mod losses;
mod meanwhile;
mod phase;
mod polling_loops;
mod program_phases;
mod sites;
mod summary;
mod totals;
mod unexplained;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use dwell_log::quantity::Quantity as Q;
use dwell_model::layer::Layer;
use dwell_model::waits::Certainty;
use dwell_trace::ids::{CallPathNumber, Ordinal, ProcessNumber};
use dwell_trace::names::{self, Site};
use dwell_trace::time::{Duration, Time};
use otf2::Archive;

use crate::engine::regions::Span;
pub use causes::{Activities, Cause, Caused, Counters, Culprits};
pub use critical::Critical;
pub(crate) use critical::list as critical;
pub use efficiency::{Efficiency, Factors};
pub(crate) use gain::RunSize;
pub use gain::{Gain, Unpredictable};
pub(crate) use inefficient::list as inefficient;
pub use inefficient::{Evidence, Inefficiency};
use locations::{AllAffected, Top};
pub use losses::Losses;
pub(crate) use losses::losses;
use meanwhile::Looker;
pub use meanwhile::{Doing, Meanwhile, Serves};
pub use phase::{Phase, Times};
pub use polling_loops::Polling;
pub(crate) use polling_loops::polling;
pub use program_phases::ProgramPhase;
pub(crate) use summary::Summary;
pub(crate) use totals::ProgramTotals;
pub use unexplained::Unexplained;
pub(crate) use unexplained::list as unexplained;

/// Certainty of the severity of a finding. A finding carries one value for the sum over all its locations.
///
/// If several apply, the analysis reports the first of this list: [`Inferred`](Self::Inferred),
/// [`BetweenBounds`](Self::BetweenBounds), [`ByRule`](Self::ByRule), [`LowerBound`](Self::LowerBound),
/// [`Exact`](Self::Exact). Output shows it with every finding, so that a user knows how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The severity follows from the records of the archive alone, with no assumption about the runtime.
    Exact,
    /// The severity follows from the rule that says when targets progress operations of others, and no other evidence
    /// in the archive supports it. This is reported if such waits are more than 1 % of the finding.
    ByRule,
    /// Events of some members of a collective are missing from the archive, so the real wait is at least this long.
    LowerBound,
    /// The archive does not say which call of the target served the operation, so the wait lies between two bounds.
    BetweenBounds,
    /// The records do not say what the call waited for, or when it was released, so the analysis inferred it.
    Inferred,
}

impl Confidence {
    /// Returns the name of this confidence as reports print it, for example `lower bound`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::ByRule => "by rule",
            Self::LowerBound => "lower bound",
            Self::BetweenBounds => "between bounds",
            Self::Inferred => "inferred",
        }
    }
}

/// One call on a call path that leads to the call that waits. The steps of a path are regions that the archive recorded
/// and, where the recorder unwound the stack, the functions between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the region as the archive defines it, or `region N` for a region without a name.
    pub region: String,
    /// Source position from which the region was called. `None` if the archive has no calling context for this call.
    pub site: Option<Site>,
}

/// The share of one process or node in a wait, as listed in the origins and targets of a finding. Shares are sorted by
/// time, ties by the upper bound and then by the number of the party, so that equal runs produce equal output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Name of a process, or of a node if the run has more than [`MOST_PARTIES`](crate::MOST_PARTIES) processes and the
    /// list is one of targets.
    pub who: String,
    /// Time of this party in nanoseconds, summed over all locations. If the wait has two bounds, this is the lower one.
    pub nanoseconds: u64,
    /// Upper bound of `nanoseconds`. Both are equal if the time is known exactly.
    pub at_most: u64,
}

/// One kind of wait on one call path, summed over all locations that took this path.
///
/// Call paths that differ only in the values of parameters are one finding. Waits that are a part of another wait have
/// no finding of their own, so the sum over all findings never counts a time twice. Every finding has an upper bound
/// above 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of the wait state as `dwell_model::waits` lists it, for example `wait_for_progress`. The JSON output prints
    /// it.
    pub pattern: &'static str,
    /// Unique name of the metric in the Cube report that holds this wait. If the lower bound is 0, the report has no
    /// value of the wait itself, so this names the metric of upper bounds instead.
    pub metric: String,
    /// Layer of the call that waits, such as OpenSHMEM or MPI.
    pub layer: Layer,
    /// Phase of the program in which the call was made. The ranking lists findings of start-up and shutdown after the
    /// run.
    pub phase: Phase,
    /// Waiting time in nanoseconds, summed over all locations. If the wait has two bounds, this is the lower one.
    pub nanoseconds: u64,
    /// Upper bound of `nanoseconds`. Both are equal for waits without bounds.
    pub at_most: u64,
    /// Certainty of the waiting time.
    pub confidence: Confidence,
    /// Least time in nanoseconds that the analysis assumed for a request to travel to its target: the larger one of the
    /// values within a node and between nodes. Only waits for progress have a value; it is 0 if the archive does not
    /// state a latency.
    pub latency: Option<u64>,
    /// Time of the calls, in nanoseconds over all locations, in which operations of other processes were at the process that waits, so
    /// that its calls may have served them. Only waits for progress have a value, which counts calls of at least 20 µs and no
    /// more than `at_most`.
    pub served: Option<u64>,
    /// Number of visits of the call path over all locations, whether they waited or not.
    pub visits: u64,
    /// Inclusive time of the call path in nanoseconds, over all locations. The wait is a part of it.
    pub path_nanoseconds: u64,
    /// Calls from the outermost to the one that waits, which is the last element.
    pub path: Vec<Step>,
    /// Number of the call path in the Cube report. Two call paths may have the same names and sites, and this number is
    /// what tells them apart.
    pub call_path: u32,
    /// Number of locations with a part in this wait.
    pub locations: u64,
    /// Number of calls that waited. Calls that wait according to the upper bound only are included.
    pub calls: u64,
    /// The longest wait of a single call, or `None` if no instance was recorded.
    pub worst: Option<Instance>,
    /// Processes that waited longest, longest first. The list has at most [`LISTED`] elements.
    pub origins: Vec<Share>,
    /// Processes or nodes that were waited for longest, longest first. The list has at most [`LISTED`] elements, and is
    /// empty if the records name no process.
    pub targets: Vec<Share>,
}

/// A single wait of one call: the worst of a finding, shown to users as an example that they can find in a timeline.
/// Among waits of equal length it is the one that began first, so it does not depend on threads or windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Name of the process that waited, or an empty string if the archive does not name it.
    pub process: String,
    /// Start of the wait in nanoseconds after the first event of the archive.
    pub begin: u64,
    /// Length of the wait in nanoseconds. If the wait has two bounds, this is the upper one.
    pub nanoseconds: u64,
    /// Name of the process that was waited for. `None` if the records do not name one.
    pub partner: Option<String>,
    /// Name of the window that the operation acted on. Only waits for progress have one, and only if the archive
    /// defines its name.
    pub window: Option<String>,
    /// Activity of the partner during the wait. The analysis reads the partner's events again to find it, so only the
    /// first [`LOOKED_AT`] entries of the run have one; it is `None` also if those events cannot be read.
    pub meanwhile: Option<Meanwhile>,
    /// Start of the wait by the clock of the replay in nanoseconds, and the number of the partner.
    at: (Time, ProcessNumber),
}

/// Number of entries for which [`Analysis`](crate::Analysis) reports what the partner of the worst instance did
/// meanwhile. Each of them costs a second look into the events of one location.
pub const LOOKED_AT: usize = 10;

/// Greatest number of origins and of targets that a finding lists.
pub const LISTED: usize = 5;

impl Finding {
    /// Returns the waiting time in seconds, over all locations. If the wait has two bounds, this is the lower one.
    pub fn seconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }

    /// Returns twice the expected gain, which is the sum of both bounds. Doubling avoids a division in comparisons.
    fn gain(&self) -> u128 {
        u128::from(self.nanoseconds) + u128::from(self.at_most)
    }
}

/// All findings of one call path. Text and JSON output show one entry as one item of the ranking.
///
/// An entry is ranked by its expected gain, the middle of the bounds `nanoseconds` and `at_most`. Both are sums over
/// all locations, so they may exceed the length of the run; compare them with [`Times::run`](crate::Times).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Phase of the program in which the call path lies. All findings of one entry share it.
    pub phase: Phase,
    /// Sum of the lower bounds of the findings, in nanoseconds over all locations.
    pub nanoseconds: u64,
    /// Sum of the upper bounds of the findings, in nanoseconds over all locations.
    pub at_most: u64,
    /// Range of this entry's findings in [`Analysis::findings`](crate::Analysis::findings). The finding with the
    /// greatest expected gain comes first; the range is never empty.
    pub findings: Range<usize>,
    /// By how much the run would be shorter without these waits, or why that cannot be predicted. `None` if it was not
    /// computed.
    pub gain: Option<Result<Gain, Unpredictable>>,
}

impl Entry {
    /// Returns what entries are sorted by, the greatest first: the predicted gain in hundredths of the length of the run, and
    /// twice the middle of the bounds. Gains that differ by less are equal. Without a prediction the middle of the bounds
    /// replaces the gain, divided by the number of locations.
    pub(crate) fn weight(&self, run: RunSize) -> (u64, u128) {
        let both = u128::from(self.nanoseconds) + u128::from(self.at_most);
        let gain = match self.gain {
            Some(Ok(Gain { expected, .. })) => expected.max(0).cast_unsigned(),
            Some(Err(_)) | None => run.each(both),
        };
        (run.hundredths(gain), both)
    }

    /// Least share of the run that earns an entry a place of its own. Output sums up smaller entries in one line.
    pub const LEAST_SHARE: f64 = 0.001;

    /// Returns `true` if the middle of both bounds is less than [`Self::LEAST_SHARE`] of `time`, which is usually the
    /// time of the run in nanoseconds over all locations. With a `time` of 0 no entry is small.
    pub fn is_small(&self, time: u64) -> bool {
        let gain = u128::from(self.nanoseconds) + u128::from(self.at_most);
        (gain as f64) < 2.0 * Self::LEAST_SHARE * time as f64
    }
}

/// All findings of an archive in the order of the ranking.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// Findings in the order of the entries: those of the first entry, then those of the second, and so on.
    pub(crate) findings: Vec<Finding>,
    /// Entries of the run first, then those of start-up and of shutdown; within a phase, the greatest expected gain
    /// first.
    pub(crate) entries: Vec<Entry>,
    pub(crate) times: Times,
}

/// Names the parties with the largest shares.
fn shares<N: Ordinal + Ord>(top: &Top<N>, name: impl Fn(N) -> Option<String>) -> Vec<Share> {
    let share = |(number, (nanoseconds, at_most)): (N, (u64, u64))| Share {
        who: name(number).unwrap_or_else(|| format!("process {}", number.value())),
        nanoseconds,
        at_most,
    };
    top.iter().map(share).collect()
}

/// Lists the causes of waits, the greatest first.
pub(crate) fn causes(program: &ProgramTotals<'_>, summary: &Summary, run: u64) -> Vec<Cause> {
    causes::list(program, &summary.causes, run)
}

/// Computes the findings of all call paths, groups them by call path and ranks the groups.
pub(crate) fn rank(program: &ProgramTotals<'_>, summary: &Summary) -> Ranking {
    let times = phase::times(program.tree, &program.phases);
    let mut groups: BTreeMap<u32, Vec<Finding>> = BTreeMap::new();
    for finding in list(program, &summary.affected, summary.counts.first()) {
        groups.entry(finding.call_path).or_default().push(finding);
    }
    let mut groups: Vec<Vec<Finding>> = groups.into_values().collect();
    // Sorting is stable: call paths that are equal stay in their order.
    groups.sort_by_key(|group| {
        let phase = group.first().map_or(Phase::Run, |it| it.phase);
        (phase, Reverse(group.iter().map(Finding::gain).sum::<u128>()))
    });
    let (mut findings, mut entries) = (Vec::new(), Vec::new());
    for group in groups {
        let first = findings.len();
        entries.push(Entry {
            phase: group.first().map_or(Phase::Run, |it| it.phase),
            nanoseconds: group.iter().map(|it| it.nanoseconds).sum(),
            at_most: group.iter().map(|it| it.at_most).sum(),
            findings: first..first + group.len(),
            gain: None,
        });
        findings.extend(group);
    }
    Ranking { findings, entries, times }
}

impl Ranking {
    /// Sorts the entries of the run anew: by their predicted gains where these are known, and by the middle of their bounds
    /// elsewhere.
    pub(crate) fn sort(&mut self, run: RunSize) {
        self.entries.sort_by_key(|it| (it.phase, Reverse(it.weight(run))));
        let mut findings = Vec::with_capacity(self.findings.len());
        for entry in &mut self.entries {
            let first = findings.len();
            findings
                .extend_from_slice(self.findings.get(entry.findings.clone()).unwrap_or_default());
            entry.findings = first..findings.len();
        }
        self.findings = findings;
    }

    /// Fills in what the partners of the worst instances did meanwhile, for the first [`LOOKED_AT`] large entries of
    /// the run. Partners whose events cannot be read stay without an answer.
    pub(crate) fn look(&mut self, archive: &Archive, program: &ProgramTotals<'_>) {
        let looker = Looker::new(archive, program);
        let run = self.times.run;
        let large = |it: &&Entry| it.phase == Phase::Run && !it.is_small(run);
        for entry in self.entries.iter().filter(large).take(LOOKED_AT) {
            let finding = self.findings.get_mut(entry.findings.start);
            let Some(finding) = finding else { continue };
            let of_progress = finding.latency.is_some();
            let Some(worst) = finding.worst.as_mut() else { continue };
            let (begin, partner) = worst.at;
            let interval = Span { begin, end: begin.later_by(Duration(worst.nanoseconds)) };
            if worst.partner.is_some() {
                worst.meanwhile = looker.look(partner, interval, of_progress);
            }
        }
    }
}

/// Computes one finding for each wait on each call path, the greatest expected gain first.
fn list(program: &ProgramTotals<'_>, affected: &AllAffected, first_event: Time) -> Vec<Finding> {
    let ProgramTotals { defs, world, ref phases, .. } = *program;
    let mut findings: Vec<(CallPathNumber, Finding)> = Vec::new();
    for (place, fold) in (0..).zip(&program.folds) {
        let number = fold.first();
        let Some((layer, class)) = fold.class else { continue };
        let totals = fold.totals();
        for (wait, upper) in Q::waits() {
            let what = Q::Wait(wait);
            let Some(concerned) = affected.get(&(place, what)) else { continue };
            let least = totals.get(what);
            let most = least + upper.map_or(0, |upper| totals.get(upper));
            let partial = totals.get(Q::PartialCollectives);
            let confidence = if totals.get(Q::Inferred(wait)) > 0 {
                Confidence::Inferred
            } else if most > least {
                Confidence::BetweenBounds
            } else if totals.get(Q::ByRule(wait)).saturating_mul(100) > most {
                Confidence::ByRule
            } else if wait.about().certainty == Certainty::Members && partial > 0 {
                Confidence::LowerBound
            } else {
                Confidence::Exact
            };
            let progress = wait.about().certainty == Certainty::Visits;
            let process = |index| program.process(index);
            let finding = Finding {
                pattern: wait.about().id,
                metric: match least {
                    0 => crate::output::report::upper_bound_of(layer),
                    _ => crate::output::report::name_of(layer, class, wait),
                },
                layer,
                phase: phases.get(number.index()).copied().unwrap_or(Phase::Run),
                nanoseconds: least,
                at_most: most,
                confidence,
                latency: progress.then(|| world.longest_latency().0),
                served: progress.then(|| totals.get(Q::Serving).min(most)),
                visits: totals.visits,
                path_nanoseconds: program.time(fold),
                path: program.steps(number),
                call_path: number.0,
                locations: concerned.locations,
                calls: concerned.calls,
                worst: concerned.longest.map(|(longest, location)| Instance {
                    process: process(world.process(location)).unwrap_or_default(),
                    begin: longest.begin.since(first_event).0,
                    nanoseconds: longest.amount.0,
                    partner: process(longest.partner),
                    window: names::window(defs, longest.window),
                    meanwhile: None,
                    at: (longest.begin, longest.partner),
                }),
                origins: shares(&concerned.origins, process),
                targets: shares(&concerned.targets, |index| program.party(index)),
            };
            findings.push((number, finding));
        }
    }
    findings.sort_by_key(|(number, it)| (Reverse(it.gain()), *number, it.pattern));
    findings.into_iter().map(|(_, finding)| finding).collect()
}
