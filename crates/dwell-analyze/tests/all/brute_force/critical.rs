//! The critical path equals that of a direct computation, which knows all waits and all time of every location at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use dwell_analyze::{Analysis, LocationNumber, Quantity};
use dwell_log::piece::Piece as Read;
use dwell_log::read::{DependencyLog, LocationLog, Segment};
use otf2::Archive;

use super::search::Found;

/// Number of times that something happened on critical paths which only some of them have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Steps from one location to another.
    jumps: usize,
    /// Steps at locations that had not started yet.
    not_started: usize,
}

impl Seen {
    pub(crate) fn add(&mut self, more: Self) {
        self.jumps += more.jumps;
        self.not_started += more.not_started;
    }

    /// Checks that the archives have what the rules are made for.
    pub(crate) fn has_all(self) {
        assert!(self.jumps > 100 && self.not_started > 10, "{self:?}");
    }
}

/// A wait that can be on the path.
struct Wait {
    waiter: usize,
    culprit: usize,
    to: u64,
    low: u64,
}

/// Time of the first and of the last event of each location that has any.
fn ends(archive: &Archive) -> Vec<Option<(u64, u64)>> {
    let defs = archive.definitions().unwrap();
    let of = |location: otf2::id::LocationRef| {
        let mut reader = archive.events(location).unwrap();
        let mut ends = None;
        while let Some(event) = reader.next().unwrap() {
            let time = event.time.0;
            ends = Some((ends.map_or(time, |it: (u64, u64)| it.0), time));
        }
        ends
    };
    defs.locations().map(|it| of(it.id)).collect()
}

/// Returns the path as steps in the order of time: location, from, to.
fn search(ends: &[Option<(u64, u64)>], waits: &[Wait], seen: &mut Seen) -> Vec<(usize, u64, u64)> {
    let begin = ends.iter().flatten().map(|it| it.0).min().unwrap();
    let end = ends.iter().flatten().map(|it| it.1).max().unwrap();
    let last = |it: &Option<(u64, u64)>| it.is_some_and(|it| it.1 == end);
    let (mut location, mut time) = (ends.iter().position(last).unwrap(), end);
    let mut steps: Vec<(usize, u64, u64)> = Vec::new();
    let mut is_end = true;
    loop {
        let counts = |it: &&Wait| {
            it.waiter == location && it.low > 0 && (it.to < time || is_end && it.to == time)
        };
        let list: Vec<&Wait> = waits.iter().filter(counts).collect();
        let next = list.iter().max_by_key(|it| (it.to, it.low, Reverse(it.culprit)));
        let from = next.map_or(begin, |it| it.to);
        seen.not_started += usize::from(ends[location].is_none_or(|it| it.0 > from));
        match steps.last_mut() {
            Some(last) if last.0 == location => last.1 = from,
            _ if from == time => {}
            _ => steps.push((location, from, time)),
        }
        let Some(next) = next else { break };
        seen.jumps += usize::from(next.culprit != location);
        (location, time, is_end) = (next.culprit, next.to, false);
    }
    steps.reverse();
    steps
}

/// Returns the wait of a record of the log.
fn read(it: &Read) -> Wait {
    let (waiter, culprit) = (it.waiter.place() as usize, it.culprit.place() as usize);
    Wait { waiter, culprit, to: it.to.nanoseconds(), low: it.low.nanoseconds() }
}

/// Compares the critical path of an analysis with the search, given all waits that the search of waits has found.
pub(crate) fn hold(
    seed: u64,
    archive: &Archive,
    analysis: &Analysis,
    expected: &Found,
    directory: &Path,
) -> Seen {
    let logs = logs(directory);
    let mut waits: Vec<Wait> = Vec::new();
    for it in &expected.pieces {
        let (to, low) = (it.when.1, it.bounds.0);
        waits.push(Wait { waiter: it.waiter, culprit: it.culprit, to, low });
    }
    // The search of waits does not know polling loops.
    let all = logs.iter().flat_map(LocationLog::waits).map(Result::unwrap);
    waits.extend(all.filter(|it| it.what == Quantity::PollingBlamed).map(|it| read(&it)));
    compare(seed, archive, analysis, &logs, &waits)
}

/// Compares the critical path of an analysis with the search, given all waits that the log has.
pub(crate) fn hold_log(archive: &Archive, analysis: &Analysis, directory: &Path) {
    let logs = logs(directory);
    let all = logs.iter().flat_map(LocationLog::waits);
    let waits: Vec<Wait> = all.map(|it| read(&it.unwrap())).collect();
    let seen = compare(0, archive, analysis, &logs, &waits);
    assert!(seen.jumps > 100, "{seen:?}");
}

fn logs(directory: &Path) -> Vec<LocationLog> {
    let log = DependencyLog::open(directory).unwrap();
    let of = |it| log.location(LocationNumber::new(it)).unwrap().unwrap();
    (0..log.locations()).map(of).collect()
}

fn compare(
    seed: u64,
    archive: &Archive,
    analysis: &Analysis,
    logs: &[LocationLog],
    waits: &[Wait],
) -> Seen {
    let mut seen = Seen::default();
    let ends = ends(archive);
    let steps = search(&ends, waits, &mut seen);

    let path = analysis.critical_path().unwrap();
    let found: Vec<(usize, u64, u64)> = path
        .steps
        .iter()
        .map(|it| (it.location.place() as usize, it.from.nanoseconds(), it.to.nanoseconds()))
        .collect();
    assert_eq!(found, steps, "seed {seed}");
    assert_eq!(path.omitted, 0);
    assert_eq!(path.length.nanoseconds(), analysis.length(), "seed {seed}");

    // Time by location and call path.
    let mut times: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (number, log) in logs.iter().enumerate() {
        let segments: Vec<Segment> = log.segments().map(Result::unwrap).collect();
        let first = ends[number].map_or(u64::MAX, |it| it.0);
        for (_, from, to) in steps.iter().filter(|it| it.0 == number) {
            for it in &segments {
                let (begin, end) = (it.begin.nanoseconds(), it.end.nanoseconds());
                let both = end.min(*to).saturating_sub(begin.max(*from));
                *times.entry((number, it.path.max(1))).or_default() += both;
            }
            *times.entry((number, 1)).or_default() += first.min(*to).saturating_sub(*from);
        }
    }
    times.retain(|_, time| *time > 0);
    assert_eq!(times.values().sum::<u64>(), analysis.length(), "seed {seed}");
    let mut found: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (number, log) in logs.iter().enumerate() {
        let location = LocationNumber::new(number as u32);
        for path in 0..log.paths().len() {
            let time = analysis.at_call_path(location, path, Quantity::CriticalPath);
            found.insert((number, path), time);
        }
    }
    found.retain(|_, time| *time > 0);
    assert_eq!(found, times, "seed {seed}");
    assert_eq!(analysis.total(Quantity::CriticalPath), analysis.length(), "seed {seed}");
    seen
}
