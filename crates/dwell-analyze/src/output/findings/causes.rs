//! Lists what processes did that others waited for: the causes of waits.
//!
//! The costs of single locations become sums by what was done: by call path and, for computing, the calls before and after.
//! Call paths that differ only in the values of parameters are one, and so are the first iteration of a loop and the others,
//! which differ in the call before them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_log::quantity::Quantity as Q;
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_trace::counters::Role;
use dwell_trace::ids::{CallPathNumber, Ordinal, ProcessNumber};
use serde::{Deserialize, Serialize};

use super::locations::{ByProcess, Top};
use super::phase::Phase;
use super::totals::ProgramTotals;
use super::{Gain, LISTED, Share, Step, Unpredictable, shares};
use crate::causes::{Activity, Done, Origin};
use crate::engine::location::Location;
use crate::engine::paths::Path;
use crate::engine::tally::{self, Counts};
use crate::output::tree::Fold;
use crate::samples::Sampled;

/// Least part of the run that makes a cause worth listing: one in this many.
const LEAST: u64 = 1000;

/// Greatest number of nodes that causes are summed up for. With more of them, no node is named.
const MOST_NODES: usize = 1024;

/// Something that processes did while or before others waited for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Activities {
    /// They ran their own code, outside of all calls of runtimes.
    Computing,
    /// They were in a call of a runtime, without its waits, and others waited in another call.
    Call,
    /// They left the call in which others waited later than these, and so were late the next time.
    LeavesLate,
    /// The same, on a node with more processes than cores.
    SharesCores,
    /// They were in calls that ask whether something has happened.
    Polling,
    /// They had not begun, because their first event is later than that of others.
    NotStarted,
    /// Their events do not say what they did.
    Unknown,
}

/// Something that processes did and that made others wait. All times are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// Activity of the processes.
    pub what: Activities,
    /// Calls from the outermost to the one that computed or communicated, which is the last element. Empty if nothing is
    /// known about it.
    pub path: Vec<Step>,
    /// Number of the call path in the Cube report, or `None` if nothing is known about it.
    pub call_path: Option<u32>,
    /// The last call of a runtime before the computing, if there was one.
    pub after: Option<Step>,
    /// The first call of a runtime after the computing, if there was one.
    pub before: Option<Step>,
    /// Numbers of these two calls in the Cube report. In the first iteration of a loop, another call may be before.
    pub(crate) between: (Vec<Option<u32>>, Option<u32>),
    /// Waits for these processes that it caused, by lower bounds.
    pub direct: u64,
    /// Waits for others that waited for these processes and passed the delay on.
    pub propagated: u64,
    /// Time by which the waits for these processes may be longer than their lower bounds, over all phases.
    pub margin: u64,
    /// Processes that caused most, most first. The list has at most [`LISTED`] elements.
    pub processes: Vec<Share>,
    /// Processes that stand out: their part is much larger than that of others.
    pub culprits: Culprits,
    /// Time that the first of the processes spent computing there, and the mean of all other locations that do so, if there
    /// are any. If a node stands out, it is the mean of its locations and that of the others. `None` for calls.
    pub computing: Option<(u64, Option<u64>)>,
    /// Counters of that computing, if the archive has any.
    pub counters: Option<Counters>,
    /// Waits that it caused, the longest first. The list has at most [`LISTED`] elements.
    pub waits: Vec<Caused>,
    /// Process that caused most.
    pub(crate) worst: Option<ProcessNumber>,
    /// Functions that take the processor time of that computing, if the archive has samples.
    pub sampled: Option<Sampled>,
    /// Predicted gain of the remedy, or `None` if it was not predicted.
    pub gain: Option<Result<Gain, Unpredictable>>,
}

impl Cause {
    /// Returns `true` if the processes do work that others do as well and that could be divided otherwise. Where others wait
    /// for progress or for a lock, it matters less how long the work takes than that they wait for it at all.
    pub(crate) fn is_shared_work(&self) -> bool {
        let most = self.waits.first().and_then(|it| Wait::of_id(it.pattern));
        let one_waits = [Wait::WaitForProgress, Wait::WaitForProgressMulti, Wait::LockContention];
        self.what == Activities::Computing
            && self.computing.is_some_and(|it| it.1.is_some())
            && most.is_none_or(|it| !one_waits.contains(&it))
    }

    /// Returns what it cost in all, by lower bounds.
    pub fn cost(&self) -> u64 {
        self.direct + self.propagated
    }
}

/// Processes whose part in a cause is much larger than that of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Culprits {
    /// The first of the processes, perhaps with some more.
    Processes,
    /// The processes of the node with this name, none of which stands out alone.
    Node(String),
    /// None: the costs are spread over many processes.
    Spread,
}

/// Returns `true` if a part of a sum is so much larger than an even share that the one of `count` who has it stands out.
fn stands_out(part: u64, sum: u64, count: usize) -> bool {
    if count <= 1 {
        return true;
    }
    let (part, sum, count) = (u128::from(part), u128::from(sum), count as u128);
    // Half as much again as an even share, and a tenth of everything.
    2 * part * count >= 3 * sum && 10 * part >= sum
}

/// Counters of computing that made others wait, at the process that caused most. Each has the mean over all other locations
/// that compute there as well, if there are any. Counters that the archive lacks are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Time on a core, in nanoseconds.
    pub cpu_time: Option<(u64, Option<u64>)>,
    /// Instructions that the location executed.
    pub instructions: Option<(u64, Option<u64>)>,
    /// Cycles of the core that the location ran on.
    pub cycles: Option<(u64, Option<u64>)>,
    /// Context switches because the location waited in the system.
    pub voluntary: Option<(u64, Option<u64>)>,
    /// Context switches because another thread got the core.
    pub involuntary: Option<(u64, Option<u64>)>,
    /// Page faults, with and without input or output.
    pub faults: Option<(u64, Option<u64>)>,
}

impl Counters {
    /// Returns `None` if no counter says anything about computing.
    fn of(has: impl Fn(Role) -> bool, own: &Counts, all: &Counts, others: u64) -> Option<Self> {
        let of = |role: Role| {
            let [own, all] = [own, all].map(|it| it.get(role as usize).copied().unwrap_or(0));
            has(role).then(|| (own, all.saturating_sub(own).checked_div(others)))
        };
        let counters = Self {
            cpu_time: of(Role::CpuTime),
            instructions: of(Role::Instructions),
            cycles: of(Role::Cycles),
            voluntary: of(Role::Voluntary),
            involuntary: of(Role::Involuntary),
            faults: of(Role::Faults),
        };
        (counters != Self::default()).then_some(counters)
    }
}

/// Waits at one call path that something caused. All times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caused {
    /// Number of the call path in the Cube report, and the call that waited.
    pub call_path: u32,
    /// The call that waited.
    pub call: Step,
    /// Id of the wait as `dwell_model::waits` lists it, or `polling` for a polling loop.
    pub pattern: &'static str,
    /// Waits for the processes that did it.
    pub direct: u64,
    /// Waits for others, which passed on the delay.
    pub propagated: u64,
}

/// An activity, by places of call paths without their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Key {
    what: Activities,
    place: Option<u32>,
    /// Calls before and after computing.
    between: (Option<u32>, Option<u32>),
}

/// Costs of something that was done, over all locations.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sum {
    /// Direct and propagated costs by place and kind of the waits.
    waits: BTreeMap<(u32, Q), (u64, u64)>,
    margin: u64,
    top: Top<ProcessNumber>,
    /// Costs of each node, its time of computing, and the number of its locations that did so. Empty for a single node.
    nodes: BTreeMap<u32, (u64, u64, u64)>,
    /// Calls before the first iteration of a loop.
    first: BTreeSet<Option<u32>>,
    /// The process that caused most, with its cost, its time of computing and its counters.
    worst: Option<(u64, Reverse<ProcessNumber>, u64, Counts)>,
    /// Time of computing, counters of it, and the number of locations that did so.
    computed: u64,
    counted: Counts,
    locations: u64,
}

/// Costs of everything that was done.
pub(crate) type Sums = BTreeMap<Key, Sum>;

/// Adds what other locations did.
pub(crate) fn join(all: &mut Sums, more: Sums) {
    for (key, more) in more {
        let sum = all.entry(key).or_default();
        for (wait, (direct, propagated)) in more.waits {
            let cost = sum.waits.entry(wait).or_default();
            *cost = (cost.0 + direct, cost.1 + propagated);
        }
        sum.margin += more.margin;
        sum.top.join(more.top);
        for (node, (cost, computed, locations)) in more.nodes {
            let own = sum.nodes.entry(node).or_default();
            *own = (own.0 + cost, own.1 + computed, own.2 + locations);
        }
        sum.first.extend(more.first);
        sum.worst = sum.worst.max(more.worst);
        sum.computed += more.computed;
        tally::add(&mut sum.counted, &more.counted);
        sum.locations += more.locations;
    }
}

/// Places of call paths by their signatures.
struct Places(HashMap<u64, u32>);

impl Places {
    fn of(program: &ProgramTotals<'_>) -> Self {
        let places = (0..).zip(&program.folds);
        let of = |(place, fold): (u32, &Fold<'_>)| {
            fold.branches().map(move |branch| (branch.signature, place)).collect::<Vec<_>>()
        };
        Self(places.flat_map(of).collect())
    }

    fn get(&self, location: &Location, path: Path) -> Option<u32> {
        let node = location.paths.get(path).filter(|_| path != Path::TOP)?;
        self.0.get(&node.signature).copied()
    }

    /// Returns the activities of a location in the first iterations of loops, with the activity in the other iterations: it
    /// lies before the same call, the call before it was made more than once, and it does not take much longer. What
    /// takes longer prepares the loop.
    fn loops(location: &Location, done: &Done) -> HashMap<Activity, Activity> {
        let visits = |path: Path| location.paths.get(path).map_or(0, |it| it.visits);
        let mut longest: HashMap<(Path, Path), (u64, Activity)> = HashMap::new();
        for &(it, time) in done.computed.iter().filter(|(it, _)| visits(it.before) > 1) {
            let known = longest.entry((it.path, it.after)).or_insert((time, it));
            *known = (*known).max((time, it));
        }
        let other = |&(it, time): &(Activity, u64)| {
            let &(all, other) = longest.get(&(it.path, it.after))?;
            let is_first = it.before != Path::TOP && visits(it.before) == 1;
            (is_first && time <= 4 * all / visits(other.before)).then_some((it, other))
        };
        done.computed.iter().filter_map(other).collect()
    }

    fn key(&self, program: &ProgramTotals<'_>, location: &Location, activity: Activity) -> Key {
        let place = self.get(location, activity.path);
        let is_call =
            |place: u32| program.folds.get(place as usize).is_some_and(|it| it.class.is_some());
        let what = match (activity, place) {
            (Activity::NOT_STARTED, _) => Activities::NotStarted,
            (Activity::UNKNOWN, _) => Activities::Unknown,
            (_, Some(place)) if is_call(place) && is_test(program, place) => Activities::Polling,
            (_, Some(place)) if is_call(place) => Activities::Call,
            _ => Activities::Computing,
        };
        let between = [activity.before, activity.after].map(|path| self.get(location, path));
        Key { what, place, between: between.into() }
    }
}

/// Adds up what the locations of this rank did.
pub(crate) fn sums<'l>(
    program: &ProgramTotals<'_>,
    done: impl Iterator<Item = (&'l Location, &'l Done)>,
) -> Sums {
    let places = Places::of(program);
    let mut sums = Sums::new();
    let has_nodes = (2..=MOST_NODES).contains(&program.world.system.nodes.len());
    // Costs of the locations of one process, which are consecutive.
    let mut by_process: BTreeMap<Key, ByProcess> = BTreeMap::new();
    for (location, done) in done {
        let process = program.world.process(location.number);
        let node = program.world.system.processes.get(process.index()).map(|it| it.node);
        let is_crowded = node.is_some_and(|it| program.world.system.crowds.contains_key(&it));
        let node = node.map_or(0, |it| it.0);
        let loops = Places::loops(location, done);
        let key = |activity: Activity| {
            let whole = loops.get(&activity).copied().unwrap_or(activity);
            places.key(program, location, whole)
        };
        for (first, whole) in &loops {
            let before = places.get(location, first.before);
            let key = places.key(program, location, *whole);
            sums.entry(key).or_default().first.insert(before);
        }
        let mut costs: BTreeMap<Key, u64> = BTreeMap::new();
        for &(activity, Origin { site, what }, cost) in &done.costs {
            let Some(&at) = places.0.get(&site) else { continue };
            // Programs can do little about what happens while they start and end.
            if !is_of_run(program, at) {
                continue;
            }
            let mut key = key(activity);
            // Others waited in the same call, so that being in it is not the cause.
            if key.what == Activities::Call && key.place == Some(at) {
                key.what =
                    if is_crowded { Activities::SharesCores } else { Activities::LeavesLate };
            }
            let sum = sums.entry(key).or_default().waits.entry((at, what)).or_default();
            *sum = (sum.0 + cost.direct, sum.1 + cost.propagated);
            *costs.entry(key).or_default() += cost.direct + cost.propagated;
        }
        let mut computed: BTreeMap<Key, u64> = BTreeMap::new();
        for &(activity, time) in &done.computed {
            *computed.entry(key(activity)).or_default() += time;
        }
        for (key, time) in &computed {
            let sum = sums.entry(*key).or_default();
            sum.computed += time;
            sum.locations += 1;
            if has_nodes {
                let own = sum.nodes.entry(node).or_default();
                *own = (own.0, own.1 + time, own.2 + 1);
            }
        }
        let mut counted: BTreeMap<Key, Counts> = BTreeMap::new();
        for (activity, counts) in &done.counted {
            let key = key(*activity);
            tally::add(counted.entry(key).or_default(), counts);
        }
        for (key, counts) in &counted {
            if let Some(sum) = sums.get_mut(key).filter(|sum| sum.locations > 0) {
                tally::add(&mut sum.counted, counts);
            }
        }
        for &(activity, margin) in &done.margins {
            sums.entry(key(activity)).or_default().margin += margin;
        }
        for (key, cost) in costs {
            by_process.entry(key).or_default().add(process, (cost, cost));
            let time = computed.get(&key).copied().unwrap_or(0);
            let counts = counted.get(&key).copied().unwrap_or_default();
            let sum = sums.entry(key).or_default();
            sum.worst = sum.worst.max(Some((cost, Reverse(process), time, counts)));
            if has_nodes {
                sum.nodes.entry(node).or_default().0 += cost;
            }
        }
    }
    for (key, found) in by_process {
        sums.entry(key).or_default().top = found.top();
    }
    sums
}

/// Returns `true` if a call path is a call that asks whether something has happened.
fn is_test(program: &ProgramTotals<'_>, place: u32) -> bool {
    let branch = program.folds.get(place as usize).and_then(|it| it.branches().next());
    let meaning = branch.and_then(|it| program.world.roles.get(it.region).meaning);
    meaning.is_some_and(|it| {
        matches!(
            it.operation,
            Operation::TestHandle
                | Operation::TestProbe
                | Operation::TestChange
                | Operation::TestEpoch
        )
    })
}

/// Returns `true` if a call path belongs to neither start-up nor shutdown.
fn is_of_run(program: &ProgramTotals<'_>, place: u32) -> bool {
    let path = program.folds.get(place as usize).map(Fold::first);
    path.is_none_or(|path| program.phases.get(path.index()).is_none_or(|it| *it == Phase::Run))
}

/// Lists the causes of waits of the run that cost at least a thousandth of its time, the greatest first. `run` is the time
/// of the run over all locations.
pub(crate) fn list(program: &ProgramTotals<'_>, sums: &Sums, run: u64) -> Vec<Cause> {
    let cost = |sum: &Sum| sum.waits.values().map(|it| it.0 + it.1).sum::<u64>();
    let is_large = |sum: &Sum| cost(sum) > 0 && cost(sum).saturating_mul(LEAST) >= run;
    let mut large: Vec<(&Key, &Sum)> = sums.iter().filter(|it| is_large(it.1)).collect();
    large.sort_by_key(|it| (Reverse(cost(it.1)), *it.0));
    large.into_iter().map(|(key, sum)| one(program, key, sum)).collect()
}

fn one(program: &ProgramTotals<'_>, key: &Key, sum: &Sum) -> Cause {
    let path_of = |place: u32| program.folds.get(place as usize).map(Fold::first);
    let call = |place: u32| path_of(place).and_then(|path| program.steps(path).pop());
    let path: Option<CallPathNumber> = key.place.and_then(path_of);
    let number = |place: Option<u32>| place.and_then(path_of).map(|it| it.0);
    let caused = |(&(place, what), &(direct, propagated)): (&(u32, Q), &(u64, u64))| {
        let pattern = what.wait().map_or("polling", |wait| wait.about().id);
        let call_path = path_of(place)?.0;
        Some(Caused { call_path, call: call(place)?, pattern, direct, propagated })
    };
    let mut waits: Vec<Caused> = sum.waits.iter().filter_map(caused).collect();
    waits.sort_by_key(|it| Reverse(it.direct + it.propagated));
    waits.truncate(LISTED);
    let others = sum.locations.saturating_sub(1);
    let system = &program.world.system;
    let cost: u64 = sum.waits.values().map(|it| it.0 + it.1).sum();
    let first = sum.top.iter().next().map_or(0, |it| it.1.0);
    let node = sum.nodes.iter().max_by_key(|(node, it)| (it.0, Reverse(**node)));
    let node = node.filter(|it| stands_out(it.1.0, cost, system.nodes.len()));
    let on_node = |node: u32| system.processes.iter().filter(|it| it.node.0 == node).count();
    let is_first = stands_out(first, cost, system.processes.len());
    let culprits = match node {
        Some((node, it)) if !is_first || !stands_out(first, it.0, on_node(*node)) => {
            Culprits::Node(system.nodes.get(*node as usize).cloned().unwrap_or_default())
        }
        _ if is_first => Culprits::Processes,
        _ => Culprits::Spread,
    };
    let of_node = node.filter(|_| matches!(culprits, Culprits::Node(_)));
    let computing = sum.worst.filter(|_| key.what == Activities::Computing);
    let computing = computing.map(|(_, _, time, _)| match of_node {
        Some((_, (_, computed, locations))) => {
            let rest = sum.computed.saturating_sub(*computed);
            let mean = rest.checked_div(sum.locations.saturating_sub(*locations));
            (computed.checked_div(*locations).unwrap_or(0), mean)
        }
        None => (time, sum.computed.saturating_sub(time).checked_div(others)),
    });
    let counters = sum.worst.filter(|_| computing.is_some()).and_then(|it| {
        let has = |role| program.world.counters.has(role);
        Counters::of(has, &it.3, &sum.counted, others)
    });
    Cause {
        what: key.what,
        path: path.map(|path| program.steps(path)).unwrap_or_default(),
        call_path: path.map(|path| path.0),
        after: key.between.0.and_then(call),
        before: key.between.1.and_then(call),
        between: {
            let first = sum.first.iter().copied().filter(|it| *it != key.between.0);
            let before = std::iter::once(key.between.0).chain(first).map(number).collect();
            (before, number(key.between.1))
        },
        direct: sum.waits.values().map(|it| it.0).sum(),
        propagated: sum.waits.values().map(|it| it.1).sum(),
        margin: sum.margin,
        processes: shares(&sum.top, |index| program.process(index)),
        culprits,
        computing,
        counters,
        waits,
        worst: sum.worst.map(|it| it.1.0),
        sampled: None,
        gain: None,
    }
}
