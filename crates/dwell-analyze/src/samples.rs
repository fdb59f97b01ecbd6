//! Which functions compute in the stretches that others waited for, from samples of the recorder.
//!
//! A sample says where a thread was on its core, and its weight is the processor time since the sample before. The weights
//! in the stretches of a cause divide their processor time among functions. How much that is, the recorder has read at the
//! ends of long stretches: a record there says by how much the weights in the stretch are wrong. What the
//! culprit computes there more than the others do is the difference of two such sums, so it has a margin: twice the
//! deviation of a binomial distribution, of which each sample is a draw. A function whose difference may be 0 is not named.

mod functions;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::Path;

use dwell_log::read::{DependencyLog, LogError};
use dwell_model::archive::SAMPLES;
use dwell_trace::ids::{LocationNumber, Ordinal, ProcessNumber};
use dwell_trace::names;
use dwell_trace::samples::{Sample, Spot, StretchEnd};
use dwell_trace::time::Time;
use dwell_trace::world::World;
use otf2::Archive;
use otf2::id::{CallingContextRef, RegionRef, SourceCodeLocationRef};
use otf2::read::{EventRecord, Visitor};

use crate::causes::failure;
use crate::engine::workers::map_on;
use crate::error::Error;
use crate::output::findings::{Activities, Cause, Culprits, ProgramTotals};
use crate::whatif::{CauseStretches, Stretch, open_unchanged};
use functions::Gathered;
pub use functions::{Function, Functions};

/// Greatest number of causes that are explained.
const MOST_CAUSES: usize = 8;

/// Least number of samples of the culprit from which a function is told.
pub(crate) const FEWEST: u64 = 20;

/// Greatest number of functions that are listed.
const MOST_PARTS: usize = 5;

/// Processor time of the stretches of a cause, as samples divide it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// Number of samples of the processes that stand out, and of all others.
    pub samples: (u64, u64),
    /// Processor time of such a process in nanoseconds, and the mean of the others, if there are any.
    pub on_core: (f64, Option<f64>),
    /// Time in nanoseconds in which such a process was ready but had no core, and the mean of the others. `None` if the
    /// recorder did not read it.
    pub ready: Option<(f64, f64)>,
    /// Functions that take longer there than at the others, the greatest difference first.
    pub parts: Vec<Computed>,
    /// Set if samples of these processes follow, so that they were sampled there, too.
    pub goes_on: bool,
    /// Set if the processor time was read where nearly all of the stretches begin and end.
    pub exact: bool,
}

/// A function that computes in the stretches of a cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// Name of the function.
    pub function: String,
    /// Source file of the line with most samples; empty if it is not known.
    pub file: String,
    /// Line with most samples; 0 if it is not known.
    pub line: u32,
    /// Function of a library that was called there, if most of the time was spent inside one.
    pub inside: Option<String>,
    /// Processor time that it takes more than at the others, in nanoseconds; all of it if there are no others.
    pub nanoseconds: f64,
    /// By how much that may be wrong, with a probability of 5 %.
    pub margin: f64,
    /// Number of samples of the processes that stand out.
    pub samples: u64,
}

/// Number and weight of samples at each position.
#[derive(Debug, Default)]
struct Sums {
    spots: BTreeMap<Spot, (u64, u64)>,
    /// Sum of the ends of the stretches.
    ends: StretchEnd,
    /// Length of the stretches, and of those at whose ends processor time was read.
    lengths: (u64, u64),
    locations: u64,
    /// Set if a location has samples behind the last of its stretches.
    goes_on: bool,
}

impl Sums {
    fn join(&mut self, more: &Self) {
        for (spot, (count, weight)) in &more.spots {
            let sum = self.spots.entry(*spot).or_default();
            *sum = (sum.0 + count, sum.1 + weight);
        }
        self.ends = self.ends.and(more.ends);
        self.lengths.0 += more.lengths.0;
        self.lengths.1 += more.lengths.1;
        self.locations += more.locations;
        self.goes_on |= more.goes_on;
    }

    fn count(&self) -> u64 {
        self.spots.values().map(|it| it.0).sum()
    }

    fn weight(&self) -> u64 {
        self.spots.values().map(|it| it.1).sum()
    }

    /// Returns the processor time.
    fn time(&self) -> u64 {
        self.weight().saturating_add_signed(self.ends.missing)
    }

    /// Returns `true` if nearly all of the processor time was read.
    fn is_read(&self) -> bool {
        self.lengths.1 * 10 > self.lengths.0 * 9
    }

    /// Returns the mean processor time of a location.
    fn mean(&self) -> f64 {
        self.time() as f64 / self.locations.max(1) as f64
    }

    /// Returns the mean time in which a location was ready but had no core.
    fn mean_ready(&self) -> f64 {
        self.ends.ready.unwrap_or(0) as f64 / self.locations.max(1) as f64
    }

    /// Returns the part of the weight that falls to a function.
    fn part(&self, function: RegionRef) -> f64 {
        let own = self.spots.iter().filter(|it| it.0.function == function).map(|it| it.1.1);
        own.sum::<u64>() as f64 / self.weight().max(1) as f64
    }
}

/// Divides the computing of causes among functions, and that of the whole run, if the archive has samples.
///
/// # Errors
/// Returns an error if the dependency log cannot be read.
pub(crate) fn explain(
    program: &ProgramTotals<'_>,
    archive: &Archive,
    (log, threads): (&Path, usize),
    causes: &mut [Cause],
) -> Result<Option<Functions>, Error> {
    if archive.anchor().property(&format!("DWELL::{SAMPLES}")).is_none() {
        return Ok(None);
    }
    let wanted: Vec<usize> = (0..causes.len())
        .filter(|it| causes.get(*it).is_some_and(|it| it.what == Activities::Computing))
        .take(MOST_CAUSES)
        .collect();
    let found = find(program, archive, (log, threads), (causes, &wanted));
    let (found, gathered) = found.map_err(|error: LogError| failure(&error))?;
    for (place, [own, others]) in wanted.into_iter().zip(found) {
        if let Some(cause) = causes.get_mut(place) {
            // Read at the ends of the stretches, if counters were recorded, too.
            let counted = cause.counters.as_ref().and_then(|it| it.cpu_time);
            let exact = counted.filter(|_| cause.culprits == Culprits::Processes);
            let on_core = exact.map_or((own.mean(), others.mean()), |(own, others)| {
                (own as f64, others.unwrap_or_default() as f64)
            });
            let mut sampled = divided(program, &own, &others, on_core);
            sampled.exact |= exact.is_some();
            cause.sampled = Some(sampled);
        }
    }
    Ok(Some(gathered.named(program)))
}

/// Sums up the samples of each cause, those of the processes that stand out and those of all others, and the samples of the
/// whole run.
fn find(
    program: &ProgramTotals<'_>,
    archive: &Archive,
    (log, threads): (&Path, usize),
    (causes, wanted): (&[Cause], &[usize]),
) -> Result<(Vec<[Sums; 2]>, Gathered), LogError> {
    let log = DependencyLog::open(log)?;
    let stretches: Vec<CauseStretches> =
        wanted.iter().map(|it| CauseStretches::of(program, causes, *it)).collect();
    let of_location = |location: LocationNumber| {
        let samples = Samples::read(archive, program, location);
        let mut sums: Vec<Sums> = stretches.iter().map(|_| Sums::default()).collect();
        let (mut forward, rules) = open_unchanged(program, &log, location)?;
        let mut rest = samples.list.as_slice();
        let mut stretch = Stretch::default();
        let is_call = |path: usize| rules.get(path).is_some_and(|it| it.is_call);
        while forward.next(is_call, &mut stretch)? {
            let before = rest.partition_point(|it| it.time.0 < stretch.begin);
            let (_, from) = rest.split_at(before);
            let (inside, behind) =
                from.split_at(from.partition_point(|it| it.time.0 < stretch.end));
            rest = behind;
            let all = stretches.iter().zip(&mut sums);
            for (_, sums) in all.filter(|it| it.0.has(&rules, &stretch)) {
                sums.locations = 1;
                sums.goes_on = !behind.is_empty();
                let length = stretch.end.saturating_sub(stretch.begin);
                let end = samples.end(&stretch);
                sums.lengths.0 += length;
                sums.lengths.1 += end.map_or(0, |_| length);
                sums.ends = sums.ends.and(end.unwrap_or_default());
                samples.add_to(sums, inside);
            }
        }
        Ok::<_, LogError>((program.world.process(location), sums, samples.sums()))
    };
    let locations = (0..log.locations()).map(LocationNumber);
    let mut all: Vec<[Sums; 2]> = wanted.iter().map(|_| Default::default()).collect();
    let mut gathered = Gathered::default();
    for found in map_on(threads, locations, &of_location) {
        let (process, sums, of_all) = found?;
        gathered.add(process, &of_all);
        let parts = all.iter_mut().zip(wanted).zip(&sums);
        for ((both, place), sums) in parts.filter(|it| it.1.locations > 0) {
            let is_own =
                causes.get(*place).is_some_and(|it| stands_out(program.world, it, process));
            let [own, others] = both;
            (if is_own { own } else { others }).join(sums);
        }
    }
    Ok((all, gathered))
}

/// Returns `true` if a process is one of those that a cause names.
fn stands_out(world: &World, cause: &Cause, process: ProcessNumber) -> bool {
    match &cause.culprits {
        Culprits::Processes => cause.worst == Some(process),
        Culprits::Node(name) => {
            let node = world.system.processes.get(process.index()).map(|it| it.node);
            node.and_then(|it| world.system.nodes.get(it.index())) == Some(name)
        }
        Culprits::Spread => true,
    }
}

/// Divides the processor time of the processes that stand out, beside that of the others.
fn divided(
    program: &ProgramTotals<'_>,
    own: &Sums,
    others: &Sums,
    (here, there): (f64, f64),
) -> Sampled {
    let has_others = others.locations > 0;
    let mut sampled = Sampled {
        samples: (own.count(), others.count()),
        on_core: (here, has_others.then_some(there)),
        ready: own
            .ends
            .ready
            .or(others.ends.ready)
            .map(|_| (own.mean_ready(), others.mean_ready())),
        parts: Vec::new(),
        goes_on: own.goes_on,
        exact: own.is_read() && (!has_others || others.is_read()),
    };
    // Samples of one thread may end before those of another, which its own part does not show.
    let expected = own.count() as f64 * others.time() as f64 / own.time().max(1) as f64;
    let is_blind = others.count() == 0 && expected >= FEWEST as f64;
    if sampled.samples.0 < FEWEST || is_blind {
        return sampled;
    }
    let mut functions: Vec<RegionRef> = own.spots.keys().map(|it| it.function).collect();
    functions.dedup();
    for function in functions {
        let (p, q) = (own.part(function), others.part(function));
        let deviation = |time: f64, part: f64, count: u64| {
            time * time * part * (1.0 - part) / count.max(1) as f64
        };
        let variance =
            deviation(here, p, sampled.samples.0) + deviation(there, q, sampled.samples.1);
        let (nanoseconds, margin) = (here * p - there * q, 1.96 * variance.sqrt());
        if nanoseconds > margin {
            sampled.parts.push(computed(program, own, function, (nanoseconds, margin)));
        }
    }
    sampled.parts.sort_by(|a, b| b.nanoseconds.total_cmp(&a.nanoseconds));
    sampled.parts.truncate(MOST_PARTS);
    sampled
}

/// Describes a function by the line with most of its samples.
fn computed(
    program: &ProgramTotals<'_>,
    own: &Sums,
    function: RegionRef,
    (nanoseconds, margin): (f64, f64),
) -> Computed {
    let mut lines: BTreeMap<SourceCodeLocationRef, u64> = BTreeMap::new();
    let mut insides: BTreeMap<RegionRef, u64> = BTreeMap::new();
    let (mut samples, mut weight) = (0, 0);
    for (spot, of) in own.spots.iter().filter(|it| it.0.function == function) {
        *lines.entry(spot.line).or_default() += of.1;
        if let Some(inside) = spot.inside {
            *insides.entry(inside).or_default() += of.1;
        }
        (samples, weight) = (samples + of.0, weight + of.1);
    }
    let line = lines.iter().max_by_key(|it| it.1).map(|it| *it.0);
    let (file, line) = line.and_then(|it| names::line(program.defs, it)).unwrap_or_default();
    let inside = insides.iter().max_by_key(|it| it.1).filter(|it| 2 * it.1 >= weight);
    Computed {
        function: names::region(program.defs, function),
        file,
        line,
        inside: inside.map(|it| names::region(program.defs, *it.0)),
        nanoseconds,
        margin,
        samples,
    }
}

/// A sample that found its thread on a core.
#[derive(Clone, Copy, Debug)]
struct Placed {
    time: Time,
    context: CallingContextRef,
    weight: u64,
}

/// Samples of a location in the order of time, and the positions of their contexts.
struct Samples<'p> {
    program: &'p ProgramTotals<'p>,
    list: Vec<Placed>,
    positions: HashMap<CallingContextRef, Spot>,
    /// Ends of stretches.
    ends: Vec<(Time, StretchEnd)>,
}

impl<'p> Samples<'p> {
    /// Reads the samples of a location. What is behind damage is left out, which the analysis reports.
    fn read(archive: &Archive, program: &'p ProgramTotals<'p>, location: LocationNumber) -> Self {
        let mut samples =
            Self { program, list: Vec::new(), positions: HashMap::new(), ends: Vec::new() };
        let id = program.world.system.places.get(location.index()).map(|it| it.id);
        if let Some(mut reader) = id.and_then(|it| archive.events(it).ok()) {
            let _ = reader.visit_dyn(&mut samples);
        }
        samples
    }

    /// Adds up all samples.
    fn sums(&self) -> Sums {
        let ends = self.ends.iter().map(|it| it.1).fold(StretchEnd::default(), StretchEnd::and);
        let mut sums = Sums { ends, ..Sums::default() };
        self.add_to(&mut sums, &self.list);
        sums
    }

    /// Adds samples to sums.
    fn add_to(&self, sums: &mut Sums, samples: &[Placed]) {
        for sample in samples {
            let Some(spot) = self.positions.get(&sample.context) else { continue };
            let sum = sums.spots.entry(*spot).or_default();
            *sum = (sum.0 + 1, sum.1 + sample.weight);
        }
    }

    /// Returns what was read at the end of a stretch, if it was long. Ends have the time of the call that follows.
    fn end(&self, stretch: &Stretch) -> Option<StretchEnd> {
        let from = self.ends.partition_point(|it| it.0.0 <= stretch.begin);
        let ends = self.ends.iter().skip(from).take_while(|it| it.0.0 <= stretch.end);
        ends.map(|it| it.1).reduce(StretchEnd::and)
    }
}

impl Visitor for Samples<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let world = self.program.world;
        let time = world.clock.time(record.time);
        match Sample::of(&record, &world.attributes) {
            None => {}
            Some(Sample::End(end)) => self.ends.push((time, end)),
            Some(Sample::Place { context, weight }) => {
                self.list.push(Placed { time, context, weight });
                if !self.positions.contains_key(&context)
                    && let Some(spot) = Spot::of(&world.contexts, self.program.defs, context)
                {
                    self.positions.insert(context, spot);
                }
            }
        }
        ControlFlow::Continue(())
    }
}
