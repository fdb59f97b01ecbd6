//! Lists what processes did that others waited for: the causes of waits.
//!
//! The costs of single locations become sums by what was done: by call path and, for computing, the calls before and after.
//! Call paths that differ only in the values of parameters are one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use dwell_log::quantity::Quantity as Q;
use dwell_trace::counters::Role;
use dwell_trace::ids::{CallPathNumber, Ordinal, ProcessNumber};
use serde::{Deserialize, Serialize};

use super::locations::{ByProcess, Top};
use super::phase::Phase;
use super::totals::ProgramTotals;
use super::{LISTED, Share, Step, shares};
use crate::causes::{Activity, Done, Origin};
use crate::engine::location::Location;
use crate::engine::paths::Path;
use crate::engine::tally::{self, Counts};
use crate::output::tree::Fold;

/// Least part of the run that makes a cause worth listing: one in this many.
const LEAST: u64 = 1000;

/// Something that processes did while or before others waited for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Activities {
    /// They ran their own code, outside of all calls of runtimes.
    Computing,
    /// They were in a call of a runtime, without its waits.
    Call,
    /// They had not begun, because their first event is later than that of others.
    NotStarted,
    /// Their events do not say what they did.
    Unknown,
}

/// Something that processes did and that made others wait. All times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Numbers of these two calls in the Cube report.
    pub(crate) between: (Option<u32>, Option<u32>),
    /// Waits for these processes that it caused, by lower bounds.
    pub direct: u64,
    /// Waits for others that waited for these processes and passed the delay on.
    pub propagated: u64,
    /// Time by which the waits for these processes may be longer than their lower bounds, over all phases.
    pub margin: u64,
    /// Processes that caused most, most first. The list has at most [`LISTED`] elements.
    pub processes: Vec<Share>,
    /// Time that the first of them spent computing there, and the mean of all other locations that do so, if there are
    /// any. `None` for calls.
    pub computing: Option<(u64, Option<u64>)>,
    /// Counters of that computing, if the archive has any.
    pub counters: Option<Counters>,
    /// Waits that it caused, the longest first. The list has at most [`LISTED`] elements.
    pub waits: Vec<Caused>,
}

impl Cause {
    /// Returns what it cost in all, by lower bounds.
    pub fn cost(&self) -> u64 {
        self.direct + self.propagated
    }
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

    fn key(&self, program: &ProgramTotals<'_>, location: &Location, activity: Activity) -> Key {
        let place = self.get(location, activity.path);
        let is_call =
            |place: u32| program.folds.get(place as usize).is_some_and(|it| it.class.is_some());
        let what = match (activity, place) {
            (Activity::NOT_STARTED, _) => Activities::NotStarted,
            (Activity::UNKNOWN, _) => Activities::Unknown,
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
    // Costs of the locations of one process, which are consecutive.
    let mut by_process: BTreeMap<Key, ByProcess> = BTreeMap::new();
    for (location, done) in done {
        let process = program.world.process(location.number);
        let mut costs: BTreeMap<Key, u64> = BTreeMap::new();
        for &(activity, Origin { site, what }, cost) in &done.costs {
            let Some(&at) = places.0.get(&site) else { continue };
            // Programs can do little about what happens while they start and end.
            if !is_of_run(program, at) {
                continue;
            }
            let key = places.key(program, location, activity);
            let sum = sums.entry(key).or_default().waits.entry((at, what)).or_default();
            *sum = (sum.0 + cost.direct, sum.1 + cost.propagated);
            *costs.entry(key).or_default() += cost.direct + cost.propagated;
        }
        let mut computed: BTreeMap<Key, u64> = BTreeMap::new();
        for &(activity, time) in &done.computed {
            *computed.entry(places.key(program, location, activity)).or_default() += time;
        }
        for (key, time) in &computed {
            let sum = sums.entry(*key).or_default();
            sum.computed += time;
            sum.locations += 1;
        }
        let mut counted: BTreeMap<Key, Counts> = BTreeMap::new();
        for (activity, counts) in &done.counted {
            let key = places.key(program, location, *activity);
            tally::add(counted.entry(key).or_default(), counts);
        }
        for (key, counts) in &counted {
            if let Some(sum) = sums.get_mut(key).filter(|sum| sum.locations > 0) {
                tally::add(&mut sum.counted, counts);
            }
        }
        for &(activity, margin) in &done.margins {
            sums.entry(places.key(program, location, activity)).or_default().margin += margin;
        }
        for (key, cost) in costs {
            by_process.entry(key).or_default().add(process, (cost, cost));
            let time = computed.get(&key).copied().unwrap_or(0);
            let counts = counted.get(&key).copied().unwrap_or_default();
            let worst = &mut sums.entry(key).or_default().worst;
            *worst = (*worst).max(Some((cost, Reverse(process), time, counts)));
        }
    }
    for (key, found) in by_process {
        sums.entry(key).or_default().top = found.top();
    }
    sums
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
    let computing = sum
        .worst
        .filter(|_| key.what == Activities::Computing)
        .map(|(_, _, time, _)| (time, sum.computed.saturating_sub(time).checked_div(others)));
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
        between: (number(key.between.0), number(key.between.1)),
        direct: sum.waits.values().map(|it| it.0).sum(),
        propagated: sum.waits.values().map(|it| it.1).sum(),
        margin: sum.margin,
        processes: shares(&sum.top, |index| program.process(index)),
        computing,
        counters,
        waits,
    }
}
