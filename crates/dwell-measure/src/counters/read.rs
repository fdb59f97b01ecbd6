//! Reading of counters: what a process samples, and the state of a thread that is needed for it.
#![allow(unsafe_code)] // System calls.

use std::io;
use std::path::Path;

use dwell_unify::unify::Member;
use otf2::value::MetricValue;

use super::perf::{self, Group};
use super::sensors::{SYSTEM, Sensed, Sensors};
use super::{CATALOGUE, Counter, MOST, Source, Usage, Variable, Wanted};

/// The counters that a process samples, in the order of their values.
#[derive(Debug)]
pub(crate) struct Counting {
    /// Metric class of the samples.
    pub(crate) class: u32,
    counters: Vec<&'static Counter>,
    variables: Vec<Variable>,
    sensors: Sensors,
}

/// Returns why the calling thread cannot use a counter, or `None` if it can.
fn refusal(counter: &Counter, sensors: &Sensors) -> Option<io::Error> {
    match counter.source {
        Source::CpuTime | Source::Usage(_) => None,
        Source::Perf { .. } => perf::refusal(counter.source),
        Source::Energy | Source::Temperature => sensors.refusal(counter.source),
    }
}

/// Returns all counters that the recorder can read by itself, each with the reason why this machine does not offer it.
pub fn offer() -> impl Iterator<Item = (&'static Counter, Option<String>)> {
    let sensors = Sensors::find(Path::new(SYSTEM));
    CATALOGUE.iter().map(move |it| (it, refusal(it, &sensors).map(|error| perf::said(&error))))
}

impl Counting {
    /// Chooses the counters that this machine offers of those that are wanted. Also returns messages for the user about
    /// the others.
    pub(crate) fn choose(wanted: &Wanted, variables: Vec<Variable>) -> (Self, Vec<String>) {
        let mut complaints = Vec::new();
        let mut counters = Vec::new();
        let sensors = Sensors::find(Path::new(SYSTEM));
        for counter in CATALOGUE.iter().filter(|it| wanted.known.contains(it)) {
            match refusal(counter, &sensors) {
                None => counters.push(counter),
                Some(error) => complaints.push(format!(
                    "the counter {} is not recorded: {}",
                    counter.name,
                    perf::said(&error)
                )),
            }
        }
        (Self { class: 0, counters, variables, sensors }, complaints)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counters.is_empty() && self.variables.is_empty()
    }

    /// Returns descriptions of all counters in the order of their values.
    pub(crate) fn members(&self) -> impl Iterator<Item = Member> + '_ {
        let known = self.counters.iter().map(|it| it.member());
        known.chain(self.variables.iter().map(Variable::member))
    }

    fn perf(&self) -> impl Iterator<Item = Source> + '_ {
        let sources = self.counters.iter().map(|it| it.source);
        sources.filter(|it| matches!(it, Source::Perf { .. }))
    }

    /// Reads all counters for the calling thread, at a `time` in nanoseconds. Returns the number of values.
    pub(crate) fn read(
        &self,
        time: u64,
        of: &mut Readings,
        values: &mut [MetricValue; MOST],
    ) -> usize {
        let mut counted = [0_u64; MOST];
        if of.perf.is_none() && !of.is_open && self.perf().next().is_some() {
            of.perf = Group::open(self.perf());
        }
        of.is_open = true;
        if let Some(group) = &of.perf
            && group.read(&mut counted).is_none()
        {
            // The program has closed the descriptors: the last values stay.
            of.perf = None;
        }
        let has_perf = of.perf.is_some();
        let mut counted = counted.into_iter();
        let is_sensed = |it: &Counter| matches!(it.source, Source::Energy | Source::Temperature);
        if self.counters.iter().any(|it| is_sensed(it)) {
            self.sensors.read(&mut of.sensed, time);
        }
        let is_usage = |it: &Counter| matches!(it.source, Source::Usage(_));
        let usage = self.counters.iter().any(|it| is_usage(it)).then(usage);
        let states = of.last.iter_mut().zip(&of.base);
        for ((counter, value), (last, base)) in self.counters.iter().zip(&mut *values).zip(states) {
            let now = match counter.source {
                Source::CpuTime => Some(cpu_time()),
                Source::Usage(which) => usage.map(|all| which.of(&all)),
                Source::Perf { .. } => counted.next().filter(|_| has_perf),
                Source::Energy => Some(of.sensed.energy),
                Source::Temperature => {
                    *value = MetricValue::unsigned(of.sensed.temperature);
                    continue;
                }
            };
            // Scaled values may fall.
            *last = now.map_or(*last, |now| (base + now).max(*last));
            *value = MetricValue::unsigned(*last);
        }
        let rest = values.iter_mut().skip(self.counters.len());
        for (value, variable) in rest.zip(&self.variables) {
            let bits = (variable.read)();
            let real = || MetricValue::real(f64::from_bits(bits));
            *value = if variable.is_real { real() } else { MetricValue::unsigned(bits) };
        }
        (self.counters.len() + self.variables.len()).min(MOST)
    }
}

/// State of a location for reading counters. Threads that take a location over one after the other count on from each
/// other.
#[derive(Debug)]
pub(crate) struct Readings {
    /// Values that threads before have reached.
    base: [u64; MOST],
    /// Values of the last sample.
    last: [u64; MOST],
    perf: Option<Group>,
    /// Set once counters of the kernel have been opened for this thread, or could not be.
    is_open: bool,
    sensed: Sensed,
}

impl Readings {
    pub(crate) const fn new() -> Self {
        let sensed = Sensed::NONE;
        Self { base: [0; MOST], last: [0; MOST], perf: None, is_open: false, sensed }
    }

    /// Ends the reading of a thread that ends.
    pub(crate) fn hand_over(&mut self) {
        if let Some(mut group) = self.perf.take() {
            group.close();
        }
        (self.base, self.is_open, self.sensed) = (self.last, false, Sensed::NONE);
    }
}

impl Usage {
    fn of(self, all: &libc::rusage) -> u64 {
        let value = match self {
            Self::Voluntary => all.ru_nvcsw,
            Self::Involuntary => all.ru_nivcsw,
            Self::Minor => all.ru_minflt,
            Self::Major => all.ru_majflt,
        };
        value.cast_unsigned()
    }
}

fn usage() -> libc::rusage {
    // SAFETY: zeros are a valid value of the structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a place for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage
}

/// Returns the time that the calling thread was on a core, in nanoseconds.
fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
