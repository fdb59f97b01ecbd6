//! What was found, ranked: which call waits how long, where, and on whom.
//!
//! A [`Finding`] is one kind of wait on one call path. Findings of one call path are an [`Entry`], which is what
//! people read. Entries are ranked by what can be gained: by the middle of their bounds.

mod beside;
mod ground;
mod inefficient;
mod meanwhile;
mod phase;
mod sites;
mod sums;
mod unexplained;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use dwell_model::layer::Layer;
use dwell_model::waits::Certainty;
use otf2::Archive;

use crate::metric::Quantity as Q;
use crate::names::{self, Site};
pub use beside::Polling;
pub(crate) use beside::polling;
pub(crate) use ground::Ground;
pub(crate) use inefficient::list as inefficient;
pub use inefficient::{Evidence, Inefficiency};
use meanwhile::Looker;
pub use meanwhile::{Doing, Meanwhile, Serves};
pub use phase::{Phase, Times};
use sums::{Sums, Totals, top};
pub use unexplained::Unexplained;
pub(crate) use unexplained::list as unexplained;

/// How sure a severity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It follows from the records.
    Exact,
    /// It follows from the rule for when targets serve others, and nothing else supports it.
    ByRule,
    /// Some of those who take part are missing from the archive: it is at least this.
    LowerBound,
    /// Which call of the target served the operation is not known: it lies between two bounds.
    BetweenBounds,
    /// What was waited for, or when it was had, was not recorded and had to be inferred.
    Inferred,
}

impl Confidence {
    /// In words.
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

/// A call on the way to the one that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the region.
    pub region: String,
    /// From where it was called, if that is known.
    pub site: Option<Site>,
}

/// Someone with a part in a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// A process, or a node where there are too many processes to list.
    pub who: String,
    /// Its part, in nanoseconds; the lower bound if there are two.
    pub nanoseconds: u64,
    /// The upper bound.
    pub at_most: u64,
}

/// A call path that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of the pattern.
    pub pattern: &'static str,
    /// Name of the metric in the report. A wait that may be none has the metric of upper bounds: the report has no other
    /// value of it.
    pub metric: String,
    /// The layer.
    pub layer: Layer,
    /// When in the life of the program.
    pub phase: Phase,
    /// How long, over all locations; the lower bound if there are two.
    pub nanoseconds: u64,
    /// The upper bound.
    pub at_most: u64,
    /// How sure it is.
    pub confidence: Confidence,
    /// Waits for progress: how long requests were taken to travel at least, in nanoseconds. 0 where
    /// the archive does not say.
    pub latency: Option<u64>,
    /// How often the call path was taken.
    pub visits: u64,
    /// Time on the call path, with the wait.
    pub path_nanoseconds: u64,
    /// The calls, the outermost first.
    pub path: Vec<Step>,
    /// Number of the call path in the report: names and sites may not tell it from others.
    pub call_path: u32,
    /// At how many locations.
    pub locations: u64,
    /// How many calls waited, or may have waited.
    pub calls: u64,
    /// The longest wait of a single call.
    pub worst: Option<Instance>,
    /// Who waited most, at most [`LISTED`].
    pub origins: Vec<Share>,
    /// Who was waited for most, at most [`LISTED`].
    pub targets: Vec<Share>,
}

/// A single wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The process that waited.
    pub process: String,
    /// When it began to wait, in nanoseconds after the first event of the archive.
    pub begin: u64,
    /// How long it waited, in nanoseconds; the upper bound if there are two.
    pub nanoseconds: u64,
    /// The process that it waited for, if that is known.
    pub partner: Option<String>,
    /// Name of the window that the operation acted on, if that is known: for waits for progress only.
    pub window: Option<String>,
    /// What that process did meanwhile, if that is known: for the first [`LOOKED_AT`] entries only.
    pub meanwhile: Option<Meanwhile>,
    /// When it began by the clock of the replay, and the number of the partner.
    at: (u64, u32),
}

/// For how many entries it is found out what the partner of the worst instance did meanwhile.
pub const LOOKED_AT: usize = 10;

/// How many origins and targets a finding lists.
pub const LISTED: usize = 5;

impl Finding {
    /// How long, in seconds.
    pub fn seconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }

    /// Twice what can be gained: the sum of both bounds.
    fn gain(&self) -> u128 {
        u128::from(self.nanoseconds) + u128::from(self.at_most)
    }
}

/// All findings of one call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When in the life of the program.
    pub phase: Phase,
    /// Sum of the lower bounds of its findings.
    pub nanoseconds: u64,
    /// Sum of the upper bounds.
    pub at_most: u64,
    /// Which findings it has; they follow one another, the longest first.
    pub findings: Range<usize>,
}

impl Entry {
    /// Shares of the run below this are told in one line for all.
    pub const LEAST_SHARE: f64 = 0.001;

    /// Whether the middle of the bounds is less than [`Self::LEAST_SHARE`] of a time.
    pub fn is_small(&self, time: u64) -> bool {
        let gain = u128::from(self.nanoseconds) + u128::from(self.at_most);
        (gain as f64) < 2.0 * Self::LEAST_SHARE * time as f64
    }
}

/// Everything that was found.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// The findings of the first entry, those of the second, and so on.
    pub(crate) findings: Vec<Finding>,
    /// Those of the run first, then start-up and shutdown; in each, what can gain most first.
    pub(crate) entries: Vec<Entry>,
    pub(crate) times: Times,
}

/// Ranks everything that was found.
pub(crate) fn rank(ground: &Ground<'_>) -> Ranking {
    let times = phase::times(&ground.lanes, ground.tree, &ground.phases);
    let mut groups: BTreeMap<u32, Vec<Finding>> = BTreeMap::new();
    for finding in list(ground) {
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
        });
        findings.extend(group);
    }
    Ranking { findings, entries, times }
}

impl Ranking {
    /// Finds out what the partners of the worst instances did meanwhile.
    pub(crate) fn look(&mut self, archive: &Archive, ground: &Ground<'_>) {
        let looker = Looker::new(archive, ground);
        let run = self.times.run;
        let large = |it: &&Entry| it.phase == Phase::Run && !it.is_small(run);
        for entry in self.entries.iter().filter(large).take(LOOKED_AT) {
            let finding = self.findings.get_mut(entry.findings.start);
            let Some(finding) = finding else { continue };
            let of_progress = finding.latency.is_some();
            let Some(worst) = finding.worst.as_mut() else { continue };
            let (begin, partner) = worst.at;
            let interval = (begin, begin.saturating_add(worst.nanoseconds));
            if worst.partner.is_some() {
                worst.meanwhile = looker.look(partner, interval, of_progress);
            }
        }
    }
}

/// Call paths that wait, those that can gain most first.
fn list(ground: &Ground<'_>) -> Vec<Finding> {
    let Ground { defs, world, ref lanes, ref phases, .. } = *ground;
    let mut findings: Vec<(usize, Finding)> = Vec::new();
    let first_event = lanes.iter().filter(|it| it.events > 0).filter_map(|it| it.first).min();
    for fold in ground.tree.folds() {
        let number = fold.first();
        let Some((layer, class)) = fold.class else { continue };
        let totals = Totals::of(lanes, &fold);
        for (wait, upper) in Q::waits() {
            let what = Q::Wait(wait);
            if totals.get(what) + upper.map_or(0, |upper| totals.get(upper)) == 0 {
                continue;
            }
            let sums = Sums::of(lanes, world, &fold, what, upper);
            let confidence = if sums.inferred > 0 {
                Confidence::Inferred
            } else if sums.most > sums.least {
                Confidence::BetweenBounds
            } else if sums.by_rule.saturating_mul(100) > sums.most {
                Confidence::ByRule
            } else if wait.about().certainty == Certainty::Members && sums.partial > 0 {
                Confidence::LowerBound
            } else {
                Confidence::Exact
            };
            let mut parties: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
            for (party, least) in ground.blamed(&fold, what) {
                let sum = parties.entry(party).or_default();
                *sum = (sum.0 + least, sum.1 + least);
            }
            for (party, more) in upper.into_iter().flat_map(|it| ground.blamed(&fold, it)) {
                parties.entry(party).or_default().1 += more;
            }
            let progress = wait.about().certainty == Certainty::Visits;
            let process = |index| ground.process(index);
            let finding = Finding {
                pattern: wait.about().id,
                metric: match sums.least {
                    0 => crate::report::upper_bound_of(layer),
                    _ => crate::report::name_of(layer, class, wait),
                },
                layer,
                phase: phases.get(number).copied().unwrap_or(Phase::Run),
                nanoseconds: sums.least,
                at_most: sums.most,
                confidence,
                latency: progress.then(|| world.longest_latency()),
                visits: sums.visits,
                path_nanoseconds: ground.time(&fold),
                path: ground.steps(number),
                call_path: number as u32,
                locations: sums.locations,
                calls: sums.calls,
                worst: sums.longest.map(|(longest, location)| Instance {
                    process: process(world.process(location)).unwrap_or_default(),
                    begin: longest.begin.saturating_sub(first_event.unwrap_or(0)),
                    nanoseconds: longest.amount,
                    partner: process(longest.partner),
                    window: names::window(defs, longest.window),
                    meanwhile: None,
                    at: (longest.begin, longest.partner),
                }),
                origins: top(sums.by_process.into_iter(), process),
                targets: top(parties.into_iter(), |index| ground.party(index)),
            };
            findings.push((number, finding));
        }
    }
    findings.sort_by_key(|(number, it)| (Reverse(it.gain()), *number, it.pattern));
    findings.into_iter().map(|(_, finding)| finding).collect()
}
