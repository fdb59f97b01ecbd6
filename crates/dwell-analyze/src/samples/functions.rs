//! Functions in which the program computes, by all samples of the run.

use std::collections::BTreeMap;

use dwell_trace::ids::ProcessNumber;
use otf2::id::RegionRef;

use super::{Computed, Sums, computed};
use crate::output::findings::ProgramTotals;

/// Greatest number of functions that are listed.
const MOST: usize = 20;

/// Processor time of the whole run outside of calls of runtimes, as samples divide it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Functions {
    /// Functions with the most processor time, most first.
    pub list: Vec<Function>,
    /// Processor time of all functions in nanoseconds.
    pub nanoseconds: u64,
    /// Number of samples of all functions.
    pub samples: u64,
}

/// A function in which the program computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The function, with its processor time at all processes.
    pub time: Computed,
    /// Process with most processor time in it, and that time in nanoseconds.
    pub most: (String, u64),
}

/// Processor time in a function of the process that is being added, and of the one with most so far.
#[derive(Clone, Copy, Debug)]
struct Processes {
    current: (ProcessNumber, u64),
    most: (ProcessNumber, u64),
}

/// Samples of all locations.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    sums: Sums,
    processes: BTreeMap<RegionRef, Processes>,
}

impl Gathered {
    /// Adds the samples of a location. Locations of one process follow each other.
    pub(super) fn add(&mut self, process: ProcessNumber, sums: &Sums) {
        let (weights, time) = (sums.weight().max(1) as f64, sums.time() as f64);
        // Each function has its part of the processor time of the location.
        let exact = |weight: u64| (weight as f64 * (time / weights)).round() as u64;
        let spots = sums.spots.iter();
        let spots =
            spots.map(|(spot, (count, weight))| (*spot, (*count, exact(*weight)))).collect();
        let sums = Sums { spots, ..Sums::default() };
        for (spot, (_, weight)) in &sums.spots {
            let new = Processes { current: (process, 0), most: (process, 0) };
            let of = self.processes.entry(spot.function).or_insert(new);
            if of.current.0 != process {
                of.current = (process, 0);
            }
            of.current.1 += weight;
            if of.current.1 > of.most.1 {
                of.most = of.current;
            }
        }
        self.sums.join(&sums);
    }

    /// Returns the functions with most time.
    pub(super) fn named(&self, program: &ProgramTotals<'_>) -> Functions {
        let (samples, nanoseconds) = (self.sums.count(), self.sums.weight());
        let mut weights: BTreeMap<RegionRef, u64> = BTreeMap::new();
        for (spot, (_, weight)) in &self.sums.spots {
            *weights.entry(spot.function).or_default() += weight;
        }
        let mut weights: Vec<(RegionRef, u64)> = weights.into_iter().collect();
        weights.sort_by_key(|it| std::cmp::Reverse(it.1));
        weights.truncate(MOST);
        let function = |(function, weight): (RegionRef, u64)| {
            let part = weight as f64 / nanoseconds.max(1) as f64;
            let deviation = (part * (1.0 - part) / samples.max(1) as f64).sqrt();
            let times = (weight as f64, 1.96 * deviation * nanoseconds as f64);
            let (process, most) = self.processes.get(&function)?.most;
            let name = program.world.system.name(process);
            let name = name.map_or_else(|| format!("process {}", process.0), str::to_owned);
            let time = computed(program, &self.sums, function, times);
            Some(Function { time, most: (name, most) })
        };
        Functions { list: weights.into_iter().filter_map(function).collect(), nanoseconds, samples }
    }
}
