//! Iterations of a run: how long each took, and since when the run is slow.
//!
//! Programs repeat themselves. An iteration ends with a call that every process makes once in each repetition
//! ([`marker`]), so no program needs to be changed for it. The time of each process in each iteration is summed up from the
//! dependency log ([`series`]), and the sums are searched for steps, drifts and outliers ([`changes`]). What changed is
//! then attributed to the processes that compute longer than before.
//!
//! Memory is bounded: above 16,384 iterations several are one group, and each process keeps fewer groups the more processes
//! there are.

mod changes;
mod marker;
mod series;

use std::path::Path;

use dwell_log::read::{DependencyLog, LogError};
use dwell_trace::ids::{CallPathNumber, LocationNumber, Ordinal, ProcessNumber};

use self::changes::{Shift, Shifted};
use self::marker::Sequence;
use self::series::{Marker, Times};
use crate::causes::failure;
use crate::engine::workers::map_on;
use crate::error::Error;
use crate::output::findings::{ProgramTotals, Step};
use crate::whatif::{Stretch, meets, open_unchanged, signatures, unchanged};

/// Least part of the run, without start-up and shutdown, that iterations must cover.
const LEAST_PART: f64 = 0.5;

/// Greatest number of calls that are tried as the end of iterations.
const MOST_TRIED: usize = 4;

/// Greatest number of times that are kept for all processes together.
const MOST_TIMES: usize = 1 << 22;

/// Least number of times that are kept for a process.
const LEAST_TIMES: usize = 16;

/// At most one iteration in this number is an outlier, unless they come at regular distances.
const MOST_OUTLIERS: usize = 20;

/// Least part of the run that outliers must cost together.
const LEAST_COST: f64 = 0.01;

/// Iterations of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterations {
    /// Number of iterations that all processes made.
    pub count: u64,
    /// Call with which an iteration ends, the innermost of its call path.
    pub ends_with: Step,
    /// Number of iterations in each element of `times`; the last may have fewer.
    pub group: u64,
    /// Times of all processes together in each group of iterations.
    pub times: Vec<IterationTimes>,
    /// Changes over the run, the first one first.
    pub changes: Vec<IterationChange>,
}

/// Sums over all processes in one group of iterations, and its begin, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationTimes {
    /// Begin of the first iteration at the process that begins it first, after the first event.
    pub begin: u64,
    /// Time of all processes.
    pub length: u64,
    /// Time that they computed.
    pub computing: u64,
    /// Time that they waited, by the middle of the bounds.
    pub waiting: u64,
    /// Time that the process computed which computed longest, and that process.
    pub longest: (u64, ProcessNumber),
}

/// Kind of a change over the iterations of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationChangeKind {
    /// From one iteration on, all take longer or less long.
    Step,
    /// Iterations take longer and longer, or less and less.
    Drift,
    /// Some iterations take much longer than the others.
    Outliers,
}

/// A change over the iterations of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationChange {
    /// Kind of the change.
    pub kind: IterationChangeKind,
    /// First iteration concerned, counted from 1.
    pub iteration: u64,
    /// Number of iterations concerned.
    pub iterations: u64,
    /// Distance between the iterations concerned, if several are and it is always the same.
    pub every: Option<u64>,
    /// Mean time of a process in an iteration before and after the change, or in other iterations and in these, in
    /// nanoseconds.
    pub nanoseconds: (f64, f64),
    /// Computing that explains it, if any does.
    pub computing: Option<Computing>,
}

/// Computing that changes over the iterations of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computing {
    /// Process that computes longer or less long, if one stands out.
    pub process: Option<ProcessNumber>,
    /// Its computing in an iteration before and after the change, or the mean of all processes, in nanoseconds.
    pub nanoseconds: (f64, f64),
}

/// Finds the iterations of a run, whose length without start-up and shutdown over all locations is `run`. Returns `None` if
/// the run has none.
///
/// # Errors
/// Returns an error if the dependency log cannot be read.
pub(crate) fn find(
    program: &ProgramTotals<'_>,
    log: &Path,
    (run, threads): (u64, usize),
) -> Result<Option<Iterations>, Error> {
    let search = || {
        let log = DependencyLog::open(log)?;
        for marker in markers(program, &log)? {
            if let Some(found) = Found::with(program, &log, marker, (run, threads))? {
                return Ok(found.iterations(program));
            }
        }
        Ok(None)
    };
    search().map_err(|error: LogError| failure(&error))
}

/// Returns the calls of the first process that may end iterations, the best first.
fn markers(program: &ProgramTotals<'_>, log: &DependencyLog) -> Result<Vec<Marker>, LogError> {
    let Some(first) = program.world.system.processes.first() else { return Ok(Vec::new()) };
    let (mut forward, rules) = open_unchanged(program, log, first.first)?;
    let (mut meetings, mut calls) = (Sequence::default(), Sequence::default());
    let mut stretch = Stretch::default();
    let rule = |path: usize| rules.get(path);
    while forward.next(|path| rule(path).is_some_and(|it| it.is_call), &mut stretch)? {
        let Some(rule) = rule(stretch.path).filter(|it| it.is_call && !it.is_outside) else {
            continue;
        };
        calls.add(rule.signature);
        if stretch.needs.iter().any(|it| meets(program.world, it)) {
            meetings.add(rule.signature);
        }
    }
    let mut list = Vec::new();
    for sequence in [&meetings, &calls] {
        let markers = sequence.candidates().into_iter().take(MOST_TRIED);
        list.extend(
            markers.map(|signature| Marker { signature, calls: sequence.calls_on(signature) }),
        );
    }
    list.retain(|it| it.calls >= marker::LEAST);
    Ok(list)
}

/// Times of all processes in the iterations that end with a call.
struct Found {
    marker: Marker,
    times: Vec<IterationTimes>,
    /// Computing of each process, in bins of several groups.
    computing: Vec<Vec<u64>>,
    /// Groups in a bin.
    bin: usize,
}

impl Found {
    /// Sums up the times of all processes. Returns `None` if some process does not make the call as often, or if the
    /// iterations are only a small part of the run.
    fn with(
        program: &ProgramTotals<'_>,
        log: &DependencyLog,
        marker: Marker,
        (run, threads): (u64, usize),
    ) -> Result<Option<Self>, LogError> {
        let processes = &program.world.system.processes;
        let most = (MOST_TIMES / processes.len().max(1)).max(LEAST_TIMES);
        let bin = marker.groups().div_ceil(most).max(1);
        let (begin, longest) = (u64::MAX, (0, ProcessNumber(0)));
        let none = IterationTimes { begin, length: 0, computing: 0, waiting: 0, longest };
        let times = vec![none; marker.groups()];
        let mut found = Self { marker, times, computing: Vec::new(), bin };
        let numbers: Vec<LocationNumber> = processes.iter().map(|it| it.first).collect();
        // A few processes at a time, because each has a list of times until it is added.
        for some in numbers.chunks(threads.max(1) * 4) {
            let lists = map_on(threads, some.iter().copied(), &|location: LocationNumber| {
                let of = log.location(location)?.ok_or_else(|| log.incomplete())?;
                series::times(&of, &unchanged(program, &of), marker)
            });
            for list in lists {
                let Some(list) = list? else { return Ok(None) };
                found.add(&list);
            }
        }
        let covered: u64 = found.times.iter().map(|it| it.length).sum();
        // Other threads of a process have no iterations of their own.
        let part = processes.len() as f64 / program.world.system.locations().max(1) as f64;
        Ok((covered as f64 >= LEAST_PART * part * run as f64).then_some(found))
    }

    /// Adds the times of the next process.
    fn add(&mut self, list: &[Times]) {
        let process = ProcessNumber(self.computing.len() as u32);
        for (sum, of) in self.times.iter_mut().zip(list) {
            sum.begin = sum.begin.min(of.begin);
            sum.length += of.end.saturating_sub(of.begin);
            sum.computing += of.computing;
            sum.waiting += of.waiting;
            if of.computing > sum.longest.0 {
                sum.longest = (of.computing, process);
            }
        }
        let binned = |it: &[Times]| it.iter().map(|it| it.computing).sum();
        self.computing.push(list.chunks(self.bin).map(binned).collect());
    }

    fn iterations(self, program: &ProgramTotals<'_>) -> Option<Iterations> {
        let path = signatures(program).iter().position(|it| *it == self.marker.signature)?;
        let ends_with = program.steps(CallPathNumber(path as u32)).pop()?;
        let changes = self.changes();
        let Self { marker, times, .. } = self;
        let (count, group) = (marker.calls as u64, marker.group() as u64);
        Some(Iterations { count, ends_with, group, times, changes })
    }

    /// Searches the times for changes. The first group is left out, because it has what precedes the first iteration.
    fn changes(&self) -> Vec<IterationChange> {
        let processes = self.computing.len().max(1) as f64;
        let group = self.marker.group() as f64;
        let series = |of: &dyn Fn(&IterationTimes) -> f64| -> Vec<f64> {
            self.times.iter().skip(1).map(|it| of(it) / group).collect()
        };
        let lengths = series(&|it| it.length as f64 / processes);
        let longest = series(&|it| it.longest.0 as f64);
        let computing = series(&|it| it.computing as f64 / processes);
        let mut list = Vec::new();
        let of_computing = changes::shift(&longest);
        list.extend(of_computing.map(|it| self.of_computing(it, &lengths, &computing)));
        let explained = of_computing.map_or(0.0, |it| it.after - it.before);
        // Where cores are shared, lengths change for other reasons as well.
        let of_lengths = changes::shift(&lengths).filter(|it| {
            (it.after - it.before - explained).abs() > (it.after - it.before).abs() / 2.0
        });
        list.extend(of_lengths.map(|it| self.lasting(it, (it.before, it.after), None)));
        let (places, usual) = changes::outliers(&lengths);
        let of = |at: &usize| lengths.get(*at).copied().unwrap_or(usual);
        let excess: f64 = places.iter().map(|at| of(at) - usual).sum();
        let few = places.len() * MOST_OUTLIERS <= lengths.len();
        let is_large = excess >= LEAST_COST * lengths.iter().sum::<f64>();
        if is_large && (few || changes::distance(&places).is_some()) {
            list.extend(self.outliers(&places, usual, excess));
        }
        list.sort_by_key(|it| it.iteration);
        list
    }

    /// Returns the number of the first iteration of a group that is not the first.
    fn iteration(&self, place: usize) -> u64 {
        ((place + 1) * self.marker.group() + 1) as u64
    }

    /// Describes a lasting change of the longest computing.
    fn of_computing(&self, found: Shifted, lengths: &[f64], computing: &[f64]) -> IterationChange {
        let process = self.grown(found.what, found.after - found.before);
        // The computing of one process shows best when it changed.
        let own = process.and_then(|(it, _)| changes::shift(&self.series(it)));
        let shifted = own.unwrap_or(found);
        let of = match (own, process) {
            (Some(it), _) => (it.before, it.after),
            (None, Some((_, it))) => it,
            (None, None) => halves(found.what, computing),
        };
        let computing = Computing { process: process.map(|it| it.0), nanoseconds: of };
        self.lasting(shifted, halves(shifted.what, lengths), Some(computing))
    }

    /// Describes a lasting change, with the lengths of iterations before and after it.
    fn lasting(
        &self,
        shifted: Shifted,
        nanoseconds: (f64, f64),
        computing: Option<Computing>,
    ) -> IterationChange {
        let (kind, place) = match shifted.what {
            Shift::Step(place) => (IterationChangeKind::Step, place),
            Shift::Drift => (IterationChangeKind::Drift, 0),
        };
        let iteration = self.iteration(place);
        let iterations = (self.marker.calls as u64 + 1).saturating_sub(iteration);
        IterationChange { kind, iteration, iterations, every: None, nanoseconds, computing }
    }

    /// Returns the computing of a process in each group but the first, as the mean of an iteration.
    fn series(&self, process: ProcessNumber) -> Vec<f64> {
        let iterations = (self.bin * self.marker.group()) as f64;
        let bins = self.computing.get(process.index()).map_or(&[][..], Vec::as_slice);
        let values = bins.iter().flat_map(|it| std::iter::repeat_n(*it, self.bin));
        values.skip(1).take(self.times.len() - 1).map(|it| it as f64 / iterations).collect()
    }

    /// Returns the process whose computing changed most, with that before and after, if it explains at least half of a
    /// difference and others changed less than half as much.
    fn grown(&self, what: Shift, difference: f64) -> Option<(ProcessNumber, (f64, f64))> {
        let mut changes: Vec<(f64, (f64, f64), ProcessNumber)> = Vec::new();
        for number in (0..self.computing.len() as u32).map(ProcessNumber) {
            let (before, after) = halves(what, &self.series(number));
            changes.push(((after - before) * difference.signum(), (before, after), number));
        }
        changes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
        let (most, of, number) = *changes.first()?;
        let others: Vec<f64> = changes.iter().skip(1).map(|it| it.0).collect();
        let stands_out = changes::median(&others) < most / 2.0;
        (most >= difference.abs() / 2.0 && stands_out).then_some((number, of))
    }

    /// Describes iterations that take much longer than others.
    fn outliers(&self, places: &[usize], usual: f64, excess: f64) -> Option<IterationChange> {
        let first = *places.first()?;
        let count = places.len() as f64;
        let group = self.marker.group() as f64;
        let longest: Vec<(u64, ProcessNumber)> =
            places.iter().filter_map(|at| self.times.get(at + 1)).map(|it| it.longest).collect();
        let same = longest.iter().all(|it| Some(it.1) == longest.first().map(|it| it.1));
        let own = longest.iter().map(|it| it.0 as f64).sum::<f64>() / count / group;
        let mean = excess / count;
        let computing = longest.first().filter(|_| same).map(|it| Computing {
            process: Some(it.1),
            nanoseconds: (changes::median(&self.series(it.1)), own),
        });
        let explains = |it: &Computing| it.nanoseconds.1 - it.nanoseconds.0 > mean / 2.0;
        Some(IterationChange {
            kind: IterationChangeKind::Outliers,
            iteration: self.iteration(first),
            iterations: (places.len() * self.marker.group()) as u64,
            every: changes::distance(places).map(|it| (it * self.marker.group()) as u64),
            nanoseconds: (usual, usual + mean),
            computing: computing.filter(explains),
        })
    }
}

/// Returns the medians of a series before and after a change. A drift is described by the tenths of the run at both ends.
fn halves(what: Shift, of: &[f64]) -> (f64, f64) {
    let last = of.len();
    let tenth = last.div_ceil(10);
    let (early, late) = match what {
        Shift::Step(place) => (0..place, place..last),
        Shift::Drift => (0..tenth, last - tenth..last),
    };
    let part = |it: std::ops::Range<usize>| changes::median(of.get(it).unwrap_or_default());
    (part(early), part(late))
}
