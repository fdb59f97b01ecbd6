//! What was found, ranked: which call waits how long, where, and on whom.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::layer::Layer;
use otf2::read::Definitions;

use crate::lane::Lane;
use crate::metric::Quantity as Q;
use crate::names::{self, Site};
use crate::replay::Replayed;
use crate::tree::{Branch, Fold, Tree, lanes, node};
use crate::world::World;

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
    /// Whose time it is, at most [`LISTED`].
    pub origins: Vec<Share>,
    /// On whom the operations were, at most [`LISTED`].
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

/// A call path that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of the pattern.
    pub pattern: &'static str,
    /// Name of the metric in the report.
    pub metric: String,
    /// The layer.
    pub layer: Layer,
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
    /// Who waited most, at most [`LISTED`].
    pub origins: Vec<Share>,
    /// Who was waited for most, at most [`LISTED`].
    pub targets: Vec<Share>,
}

/// How many origins and targets a finding lists.
pub const LISTED: usize = 5;

impl Finding {
    /// How long, in seconds.
    pub fn seconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }
}

/// Quantities that are findings, and by how much more they may be.
const WAITS: &[(Q, Option<Q>)] = &[
    (Q::ProgressLow, Some(Q::ProgressMargin)),
    (Q::ProgressMultiLow, Some(Q::ProgressMultiMargin)),
    (Q::LockContention, None),
    (Q::LateSignal, None),
    (Q::LatePartner, None),
    (Q::BarrierWait, None),
    (Q::BarrierCompletion, None),
    (Q::NxnWait, None),
    (Q::NxnCompletion, None),
    (Q::LateBroadcast, None),
    (Q::EarlyReduce, None),
    (Q::EarlyScan, None),
    (Q::WaitAtCreate, None),
    (Q::WaitAtFree, None),
    (Q::LateSender, None),
    (Q::LateReceiver, None),
    (Q::WaitAtFence, None),
    (Q::LatePost, None),
    (Q::EarlyWait, None),
    (Q::NonBlockingWait, None),
];

/// Time without an explanation that looks like waits for progress.
const UNCONFIRMED: &[(Q, Option<Q>)] =
    &[(Q::ProgressUnconfirmed, None), (Q::ProgressMultiUnconfirmed, None)];

/// Ranks everything that was found.
pub(crate) fn rank(
    defs: &Definitions,
    world: &World,
    replayed: &Replayed,
    tree: &Tree,
) -> Vec<Finding> {
    list(defs, world, replayed, tree, WAITS)
}

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

/// Call paths with any of these quantities, the longest first.
fn list(
    defs: &Definitions,
    world: &World,
    replayed: &Replayed,
    tree: &Tree,
    quantities: &[(Q, Option<Q>)],
) -> Vec<Finding> {
    let lanes: Vec<&Lane> = lanes(&replayed.shards).collect();
    let mut blame = BTreeMap::new();
    replayed.shards.iter().for_each(|shard| shard.blame.add_to(&mut blame));
    let mut findings: Vec<(usize, Finding)> = Vec::new();
    let inclusive = inclusive(&lanes, tree);
    for fold in tree.folds() {
        let number = fold.first();
        let Some((layer, class)) = fold.class else { continue };
        let totals = Totals::of(&lanes, &fold);
        for &(what, upper) in quantities {
            if totals.get(what) + upper.map_or(0, |upper| totals.get(upper)) == 0 {
                continue;
            }
            let sums = Sums::of(&lanes, world, &fold, what, upper);
            let collective = matches!(
                what,
                Q::BarrierWait
                    | Q::BarrierCompletion
                    | Q::NxnWait
                    | Q::NxnCompletion
                    | Q::LateBroadcast
                    | Q::EarlyReduce
                    | Q::EarlyScan
                    | Q::WaitAtCreate
                    | Q::WaitAtFree
                    | Q::WaitAtFence
                    | Q::NonBlockingWait
            );
            let confidence = if sums.inferred > 0 {
                Confidence::Inferred
            } else if sums.most > sums.least {
                Confidence::BetweenBounds
            } else if sums.by_rule.saturating_mul(100) > sums.most {
                Confidence::ByRule
            } else if collective && sums.partial > 0 {
                Confidence::LowerBound
            } else {
                Confidence::Exact
            };
            let name = |party: u32| match world.parties.folded() {
                true => world.system.nodes.get(party as usize).cloned(),
                false => world.system.processes.get(party as usize).map(|it| it.name.clone()),
            };
            let mut parties: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
            let (blame, fold) = (&blame, &fold);
            let of = |what| {
                fold.branches().filter_map(move |it| blame.get(&(it.signature, what))).flatten()
            };
            for (&party, &least) in of(what) {
                let sum = parties.entry(party).or_default();
                *sum = (sum.0 + least, sum.1 + least);
            }
            for (&party, &more) in upper.into_iter().flat_map(of) {
                parties.entry(party).or_default().1 += more;
            }
            let progress = matches!(what, Q::ProgressLow | Q::ProgressMultiLow);
            let process = |index: u32| {
                let process = world.system.processes.get(index as usize);
                process.map(|it| it.name.clone())
            };
            let finding = Finding {
                pattern: pattern(what),
                metric: crate::report::name_of(layer, class, what),
                layer,
                nanoseconds: sums.least,
                at_most: sums.most,
                confidence,
                latency: progress.then(|| world.longest_latency()),
                visits: sums.visits,
                path_nanoseconds: fold.sum(&inclusive),
                path: steps(defs, tree, number),
                call_path: number as u32,
                locations: sums.locations,
                origins: top(sums.by_process.into_iter(), process),
                targets: top(parties.into_iter(), name),
            };
            findings.push((number, finding));
        }
    }
    let by_length = |it: &Finding| std::cmp::Reverse((it.nanoseconds, it.at_most));
    findings.sort_by_key(|(number, it)| (by_length(it), *number, it.pattern));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// The id of the pattern that a quantity is, or looks like.
fn pattern(what: Q) -> &'static str {
    let alike = match what {
        Q::ProgressUnconfirmed => Q::ProgressLow,
        Q::ProgressMultiUnconfirmed => Q::ProgressMultiLow,
        other => other,
    };
    alike.pattern().unwrap_or_default()
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
    for fold in tree.folds() {
        let number = fold.first();
        let Some((layer, _)) = fold.class else { continue };
        let calls = Totals::of(&lanes, &fold).get(Q::PollingCalls);
        if calls > 0 {
            let time = Sums::of(&lanes, world, &fold, Q::PollingTime, None);
            let (nanoseconds, locations) = (time.least, time.locations);
            let path = steps(defs, tree, number);
            list.push((number, Polling { layer, calls, nanoseconds, path, locations }));
        }
    }
    list.sort_by_key(|(number, it)| (std::cmp::Reverse(it.nanoseconds), *number));
    list.into_iter().map(|(_, it)| it).collect()
}

/// What was booked on a branch of each quantity, over all locations.
struct Totals([u64; Q::ALL.len()]);

impl Totals {
    fn of(lanes: &[&Lane], fold: &Fold<'_>) -> Self {
        let mut totals = [0; Q::ALL.len()];
        let nodes = fold.members().filter_map(|at| node(lanes, at));
        for (what, amount) in nodes.flat_map(crate::paths::Node::booked) {
            if let Some(sum) = totals.get_mut(what as usize) {
                *sum += amount;
            }
        }
        Self(totals)
    }

    fn get(&self, what: Q) -> u64 {
        self.0.get(what as usize).copied().unwrap_or(0)
    }
}

/// Time of each branch over all locations, with that of the calls inside: a library that waits does so in
/// the layer below.
fn inclusive(lanes: &[&Lane], tree: &Tree) -> Vec<u64> {
    let own = |branch: &Branch| {
        branch.members.iter().filter_map(|&at| node(lanes, at)).map(|node| node.time).sum()
    };
    let mut times: Vec<u64> = tree.branches.iter().map(own).collect();
    // Callers come before what they call.
    for (number, branch) in tree.branches.iter().enumerate().rev() {
        let time = times.get(number).copied().unwrap_or(0);
        if let Some(above) = branch.parent.and_then(|above| times.get_mut(above as usize)) {
            *above += time;
        }
    }
    times
}

#[derive(Default)]
struct Sums {
    least: u64,
    most: u64,
    inferred: u64,
    partial: u64,
    /// The part that rests on the rule alone.
    by_rule: u64,
    visits: u64,
    locations: u64,
    /// Both bounds.
    by_process: BTreeMap<u32, (u64, u64)>,
}

impl Sums {
    fn of(lanes: &[&Lane], world: &World, fold: &Fold<'_>, what: Q, upper: Option<Q>) -> Self {
        let mut sums = Self::default();
        let mut locations = BTreeSet::new();
        for at in fold.members() {
            let Some(node) = node(lanes, at) else { continue };
            let get = |wanted| node.get(wanted);
            let least = get(what);
            let most = least + upper.map_or(0, get);
            sums.least += least;
            sums.most += most;
            sums.inferred += match what {
                Q::LateSignal => get(Q::LateSignalInferred),
                Q::LockContention => get(Q::LockContentionInferred),
                _ => 0,
            };
            sums.partial += get(Q::PartialCollectives);
            sums.by_rule += if what == Q::ProgressLow { get(Q::ProgressByRule) } else { 0 };
            sums.visits += node.visits;
            if most > 0 {
                locations.insert(at.0);
                if let Some(place) = world.system.places.get(at.0 as usize) {
                    let sum = sums.by_process.entry(place.process).or_default();
                    *sum = (sum.0 + least, sum.1 + most);
                }
            }
        }
        sums.locations = locations.len() as u64;
        sums
    }
}

/// Those with the largest parts, ties by the upper bound and by number.
fn top(
    parts: impl Iterator<Item = (u32, (u64, u64))>,
    name: impl Fn(u32) -> Option<String>,
) -> Vec<Share> {
    let mut parts: Vec<(u32, (u64, u64))> = parts.filter(|part| part.1.1 > 0).collect();
    parts.sort_by_key(|&(number, sum)| (std::cmp::Reverse(sum), number));
    parts
        .into_iter()
        .take(LISTED)
        .map(|(number, (nanoseconds, at_most))| Share {
            who: name(number).unwrap_or_else(|| format!("process {number}")),
            nanoseconds,
            at_most,
        })
        .collect()
}

/// The calls that lead to a path, whatever parameters were set meanwhile.
fn steps(defs: &Definitions, tree: &Tree, number: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = tree.branches.get(number);
    while let Some(branch) = at {
        if branch.setting.is_none() {
            steps.push(Step {
                region: names::region(defs, branch.region),
                site: names::site(defs, branch.site),
            });
        }
        at = branch.parent.and_then(|parent| tree.branches.get(parent as usize));
    }
    steps.reverse();
    steps
}
