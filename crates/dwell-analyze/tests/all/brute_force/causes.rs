//! Delay costs equal those of a direct computation, which knows all waits and all stretches of every location at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dwell_analyze::{Analysis, LocationNumber, Quantity};
use dwell_log::piece::Piece as Read;
use dwell_log::read::{DependencyLog, Step};
use dwell_model::waits::Wait;

use super::search::{Found, Piece};

/// What a location did: the number of a call path, and the calls before and after it.
type Activity = (usize, usize, usize);

const NOT_STARTED: Activity = (usize::MAX, 0, 0);

/// Number of stretches in which the last synchronisation is searched.
const FAR: usize = 256;

/// All that a location did.
struct Location {
    first: u64,
    stretches: Vec<(u64, u64, Activity)>,
    /// Steps of each path, and whether it is a call.
    paths: Vec<(Vec<Step>, bool)>,
}

impl Location {
    fn load(log: &DependencyLog, number: usize) -> Self {
        let log = log.location(LocationNumber::new(number as u32)).unwrap().unwrap();
        let mut paths: Vec<(Vec<Step>, bool)> = Vec::new();
        for step in log.paths() {
            let mut list = paths.get(step.caller).map_or(Vec::new(), |it| it.0.clone());
            list.push(step.step);
            paths.push((list, step.is_judged));
        }
        let mut segments: Vec<_> = log.segments().map(Result::unwrap).collect();
        segments.reverse();
        let call = |at: usize| segments.get(at).map(|it| it.path).filter(|it| paths[*it].1);
        let of = |at: usize| {
            let (path, calls) = (segments[at].path, |at| call(at));
            let before = (0..at).rev().find_map(calls).unwrap_or(0);
            let after = (at..segments.len()).find_map(calls).unwrap_or(0);
            let around = if paths[path].1 { (0, 0) } else { (before, after) };
            let (begin, end) = (segments[at].begin.nanoseconds(), segments[at].end.nanoseconds());
            (begin, end, (path, around.0, around.1))
        };
        let stretches: Vec<_> = (0..segments.len()).map(of).collect();
        let first = stretches.first().map_or(0, |it| it.0);
        Self { first, stretches, paths }
    }

    /// Returns what is the same at all locations.
    fn name(&self, (path, before, after): Activity) -> Vec<Vec<Step>> {
        let of = |path: usize| self.paths.get(path).map(|it| it.0.clone()).unwrap_or_default();
        vec![of(path), of(before), of(after)]
    }

    /// Returns the time of each activity and of each wait in [since, end), given begins and ends of waits, the last first.
    fn did(
        &self,
        (since, end): (u64, u64),
        waits: &[(usize, u64, u64)],
    ) -> (BTreeMap<Activity, u64>, BTreeMap<usize, u64>) {
        let mut spans: Vec<(usize, u64, u64)> = Vec::new();
        for &(wait, from, to) in waits {
            let later = spans.last().map_or(end, |it| it.1);
            let (from, to) = (from.max(since), to.min(later));
            if from < to {
                spans.push((wait, from, to));
            }
        }
        let (mut times, mut waiting) = (BTreeMap::new(), BTreeMap::new());
        for (wait, from, to) in &spans {
            *waiting.entry(*wait).or_default() += to - from;
        }
        let mut cuts: BTreeSet<u64> = spans.iter().flat_map(|it| [it.1, it.2]).collect();
        cuts.extend(self.stretches.iter().flat_map(|it| [it.0, it.1]));
        cuts.extend([since, end]);
        let cuts: Vec<u64> = cuts.into_iter().filter(|it| (since..=end).contains(it)).collect();
        for pair in cuts.windows(2) {
            let (begin, next) = (pair[0], pair[1]);
            if spans.iter().any(|it| (it.1..it.2).contains(&begin)) {
                continue;
            }
            let does = self.stretches.iter().find(|it| (it.0..it.1).contains(&begin));
            let activity = match does {
                Some(it) => it.2,
                None if begin < self.first => NOT_STARTED,
                None => continue,
            };
            *times.entry(activity).or_default() += next - begin;
        }
        (times, waiting)
    }
}

/// A wait with the processes of its collective.
struct Known {
    piece: Piece,
    among: Option<BTreeSet<usize>>,
}

impl Known {
    fn is_of_interval(&self) -> bool {
        use Wait::{LockContention, WaitForProgress, WaitForProgressMulti};
        let list = [LockContention, WaitForProgress, WaitForProgressMulti];
        list.iter().any(|it| self.piece.what == Quantity::Wait(*it))
    }
}

fn shares(amount: u64, weights: &[u64]) -> Vec<u64> {
    let all: u64 = weights.iter().sum();
    let of = |it: &u64| (u128::from(amount) * u128::from(*it) / u128::from(all.max(1))) as u64;
    let mut list: Vec<u64> = weights.iter().map(of).collect();
    let left = amount - list.iter().sum::<u64>();
    if let Some(first) = weights.iter().position(|it| *it > 0) {
        list[first] += left;
    }
    list
}

/// Call path and kind of a wait, and costs by these.
type Origin = (String, Quantity);
type Costs = BTreeMap<Origin, u64>;

/// Computes all costs.
struct Search<'a> {
    locations: Vec<Location>,
    /// Process of each location.
    processes: &'a [usize],
    /// Waits, the last first.
    waits: Vec<Known>,
    /// Costs that were passed on to each wait, by call path and kind of the waits that they come from.
    passed: Vec<Costs>,
    begin: u64,
    costs: BTreeMap<(usize, Activity), [u64; 3]>,
}

impl Search<'_> {
    /// Returns the waits of a location that ended before a time, as [`Location::did`] needs them.
    fn before(&self, location: usize, ended: impl Fn(u64) -> bool) -> Vec<(usize, u64, u64)> {
        let list = self.waits.iter().enumerate();
        let own = list.filter(|(_, it)| it.piece.waiter == location && ended(it.piece.when.1));
        own.map(|(at, it)| (at, it.piece.when.0, it.piece.when.0 + middle(&it.piece))).collect()
    }

    /// Returns the time of the last synchronisation of the processes of waiter and culprit before a wait, in the thread that
    /// waits or in the first one of its process.
    fn since(&self, of: &Piece) -> u64 {
        let stretches = &self.locations[of.waiter].stretches;
        let earlier: Vec<u64> =
            stretches.iter().map(|it| it.0).filter(|it| *it < of.when.0).collect();
        let bound = if earlier.len() >= FAR { earlier[earlier.len() - FAR] } else { self.begin };
        let [me, process] = [of.waiter, of.culprit].map(|it| &self.processes[it]);
        let first = self.processes.iter().position(|it| it == me).unwrap();
        let own = [of.waiter, first];
        let counts = |it: &&Known| {
            let ends = [it.piece.waiter, it.piece.culprit];
            let has_other =
                it.among.as_ref().is_some_and(|it| it.contains(&self.processes[of.culprit]));
            let [one, other] = ends.map(|it| &self.processes[it]);
            let is_between = (one, other) == (me, process) || (one, other) == (process, me);
            it.piece.when.1 <= of.when.0
                && !it.is_of_interval()
                && own.iter().any(|it| ends.contains(it))
                && (is_between || has_other)
        };
        let last = self.waits.iter().filter(counts).map(|it| it.piece.when.1).max();
        last.unwrap_or(0).max(bound).min(of.when.0)
    }

    /// Returns call path and kind of a wait.
    fn origin(&self, wait: usize) -> Origin {
        let Piece { waiter, when, what, .. } = self.waits[wait].piece;
        let location = &self.locations[waiter];
        let at = location.stretches.iter().find(|it| (it.0..it.1).contains(&when.0)).unwrap();
        (format!("{:?}", location.paths[at.2.0].0), what)
    }

    fn book(
        &mut self,
        at: usize,
        amounts: [Costs; 2],
        times: &[(Activity, u64)],
        waiting: (u64, &BTreeMap<usize, u64>),
    ) {
        let mut weights: Vec<u64> = times.iter().map(|it| it.1).collect();
        weights.push(waiting.0);
        let of = |(kind, list): (usize, Costs)| list.into_iter().map(move |it| (kind, it));
        for (kind, (origin, amount)) in amounts.into_iter().enumerate().flat_map(of) {
            if weights.iter().all(|it| *it == 0) {
                self.costs.entry((at, (0, 0, 0))).or_default()[kind] += amount;
                continue;
            }
            let parts = shares(amount, &weights);
            for ((activity, _), part) in times.iter().zip(&parts) {
                self.costs.entry((at, *activity)).or_default()[kind] += part;
            }
            // The last wait takes what rounding leaves.
            let list: Vec<(usize, u64)> = waiting.1.iter().map(|it| (*it.0, *it.1)).collect();
            let lengths: Vec<u64> = list.iter().map(|it| it.1).collect();
            for ((wait, _), part) in list.iter().zip(shares(*parts.last().unwrap(), &lengths)) {
                *self.passed[*wait].entry(origin.clone()).or_default() += part;
            }
        }
    }

    /// Settles waits of others for one location that end together.
    fn settle(&mut self, group: &[usize]) {
        let of = |at: &usize| self.waits[*at].piece;
        let (culprit, end) = (of(&group[0]).culprit, of(&group[0]).when.1);
        let mut sum = [Costs::new(), Costs::new()];
        for at in group {
            *sum[0].entry(self.origin(*at)).or_default() += middle(&of(at));
            for (origin, amount) in &self.passed[*at] {
                *sum[1].entry(origin.clone()).or_default() += amount;
            }
        }
        let earlier = self.before(culprit, |it| it < end);
        let interval = self.waits[group[0]].is_of_interval();
        let (mut more, mut waiting): (BTreeMap<Activity, i64>, i64) = (BTreeMap::new(), 0);
        let mut waits: BTreeMap<usize, u64> = BTreeMap::new();
        for at in group {
            let piece = of(at);
            let since = if interval { piece.when.0 } else { self.since(&piece) };
            let (times, own) = self.locations[culprit].did((since, end), &earlier);
            for (activity, time) in times {
                *more.entry(activity).or_default() += time.cast_signed();
            }
            for (wait, time) in own {
                *waits.entry(wait).or_default() += time;
                waiting += time.cast_signed();
            }
            if interval {
                continue;
            }
            let own = self.before(piece.waiter, |it| it <= piece.when.0);
            let (times, own) = self.locations[piece.waiter].did((since, piece.when.0), &own);
            waiting -= own.values().sum::<u64>().cast_signed();
            for (activity, time) in times {
                let name = self.locations[piece.waiter].name(activity);
                let is = |it: &Activity| {
                    (*it == NOT_STARTED) == (activity == NOT_STARTED)
                        && self.locations[culprit].name(*it) == name
                };
                // What the culprit never did in all of its life has no weight.
                let all = self.locations[culprit].stretches.iter().map(|it| it.2);
                if let Some(same) = all.chain([NOT_STARTED]).find(is) {
                    *more.entry(same).or_default() -= time.cast_signed();
                }
            }
        }
        let times: Vec<(Activity, u64)> =
            more.into_iter().map(|(activity, time)| (activity, time.max(0) as u64)).collect();
        self.book(culprit, sum, &times, (waiting.max(0) as u64, &waits));
    }

    fn all(&mut self) {
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, it) in self.waits.iter().enumerate() {
            let Piece { culprit, when, what, .. } = it.piece;
            if middle(&it.piece) > 0 {
                let apart = if it.among.is_some() { 0 } else { at };
                let key = (Reverse(when.1), culprit, it.among.is_some(), what, apart);
                groups.entry(key).or_default().push(at);
            }
        }
        groups.into_values().for_each(|group| self.settle(&group));
        for at in 0..self.waits.len() {
            let piece = self.waits[at].piece;
            let Piece { culprit, when, bounds: (_, high), .. } = piece;
            let (times, _) = self.locations[culprit].did(when, &[]);
            let weights: Vec<u64> = times.values().copied().collect();
            for (activity, part) in times.keys().zip(shares(high - middle(&piece), &weights)) {
                self.costs.entry((culprit, *activity)).or_default()[2] += part;
            }
        }
    }
}

/// Returns the middle between the bounds of a wait, rounded up.
fn middle(piece: &Piece) -> u64 {
    let (low, high) = piece.bounds;
    (low + high).div_ceil(2)
}

/// Compares all costs of an analysis with the search, and returns their sums: direct, propagated and margin. Polling loops,
/// which the search does not know, come from the log.
pub(crate) fn hold(
    seed: u64,
    analysis: &Analysis,
    expected: &Found,
    polled: &[Read],
    log: &DependencyLog,
) -> [u64; 3] {
    let among = |it: &Piece| expected.among.get(it).cloned();
    let mut waits: Vec<Known> =
        expected.pieces.iter().map(|it| Known { piece: *it, among: among(it) }).collect();
    for it in polled {
        let when = (it.from.nanoseconds(), it.to.nanoseconds());
        let (waiter, culprit) = (it.waiter.place() as usize, it.culprit.place() as usize);
        let bounds = (when.1 - when.0, when.1 - when.0);
        let piece = Piece { waiter, what: it.what, culprit, when, bounds };
        waits.push(Known { piece, among: None });
    }
    waits.sort_by_key(|it| {
        Reverse((it.piece.when.1, it.piece.when.0, it.piece.culprit, it.piece.what))
    });
    let locations: Vec<Location> =
        (0..log.locations() as usize).map(|it| Location::load(log, it)).collect();
    let begin = locations.iter().filter(|it| !it.stretches.is_empty()).map(|it| it.first).min();
    let passed = vec![Costs::new(); waits.len()];
    let (processes, begin, costs) = (&*expected.processes, begin.unwrap_or(0), BTreeMap::new());
    let mut search = Search { locations, processes, waits, passed, begin, costs };
    search.all();
    let all: u64 = search.waits.iter().map(|it| middle(&it.piece)).sum();
    let expected: BTreeMap<(usize, Activity), [u64; 3]> =
        search.costs.into_iter().filter(|it| it.1 != [0; 3]).collect();
    let found: BTreeMap<(usize, Activity), [u64; 3]> = analysis
        .delays()
        .unwrap()
        .iter()
        .map(|it| {
            let (before, after) = it.between;
            let activity = (it.path.unwrap_or(usize::MAX), before, after);
            ((it.location.place() as usize, activity), [it.direct, it.propagated, it.margin])
        })
        .filter(|it| it.1 != [0; 3])
        .collect();
    assert_eq!(found, expected, "seed {seed}");
    let sum: u64 = found.values().map(|it| it[0] + it[1]).sum();
    assert_eq!(sum, all, "seed {seed}: costs are the lengths of all waits");
    let booked = [Quantity::DelayDirect, Quantity::DelayPropagated];
    assert_eq!(booked.iter().map(|it| analysis.total(*it)).sum::<u64>(), all, "seed {seed}");
    [0, 1, 2].map(|kind| found.values().map(|it| it[kind]).sum())
}
