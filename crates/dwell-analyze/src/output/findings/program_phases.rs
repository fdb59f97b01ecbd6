//! How well the phases that a program declares use its processes, such as the iterations of its main loop.
//!
//! The length of a phase is the sum over its instances of the latest end minus the earliest begin at any location. A
//! phase in another phase counts in both. The number of an instance says which it is, whatever its call path.

use std::collections::BTreeMap;

use dwell_trace::ids::{CallPathNumber, LocationNumber, Ordinal};
use dwell_trace::names;
use otf2::id::RegionRef;
use serde::{Deserialize, Serialize};

use super::efficiency::Efficiency;
use super::totals::ProgramTotals;
use crate::engine::regions::Span;
use crate::output::sections::{OwnLocations, Section};

/// A phase that the program declares, with its efficiency. Communication efficiency is not divided into factors.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramPhase {
    /// Name of the phase, which may be on several call paths.
    pub name: String,
    /// Number of instances that are kept apart by their numbers.
    pub instances: u64,
    /// Sum over the instances of the latest end minus the earliest begin, in nanoseconds.
    pub length: u64,
    /// Efficiency of the locations that take part in the phase. `None` if nothing was computed, or if the phase had more
    /// instances than are kept apart, so that its length is unknown.
    pub efficiency: Option<Efficiency>,
}

/// Times of one phase over some locations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Times {
    locations: u64,
    /// Computing of all locations, and of the one that computes longest, in nanoseconds.
    computing: u64,
    longest_computing: u64,
    /// Earliest begin and latest end of each instance, by its number.
    instances: BTreeMap<Option<u64>, Span>,
    /// True if some instances are not kept apart.
    folded: bool,
}

impl Times {
    fn join(&mut self, more: Self) {
        self.locations += more.locations;
        self.computing += more.computing;
        self.longest_computing = self.longest_computing.max(more.longest_computing);
        more.instances.into_iter().for_each(|(number, span)| self.add(number, span));
        self.folded |= more.folded;
    }

    fn add(&mut self, number: Option<u64>, span: Span) {
        let known = self.instances.entry(number).or_insert(span);
        known.begin = known.begin.min(span.begin);
        known.end = known.end.max(span.end);
    }

    fn length(&self) -> u64 {
        self.instances.values().map(|it| it.end.since(it.begin).0).sum()
    }

    fn efficiency(&self) -> Option<Efficiency> {
        let mean = self.computing as f64 / self.locations.max(1) as f64;
        let (most, length) = (self.longest_computing as f64, self.length() as f64);
        (self.longest_computing > 0 && length > 0.0 && !self.folded).then(|| Efficiency {
            parallel: mean / length,
            load_balance: mean / most,
            communication: most / length,
            factors: None,
        })
    }
}

/// Times of all phases, by the numbers of their regions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct AllTimes(BTreeMap<u32, Times>);

impl AllTimes {
    /// Adds up the times of the locations of a section.
    pub(super) fn of(
        program: &ProgramTotals<'_>,
        own: &OwnLocations<'_>,
        section: &Section,
    ) -> Self {
        let mut all = Self::default();
        // Phases around each branch, of any call path.
        let mut around: Vec<Vec<u32>> = Vec::with_capacity(program.tree.branches.len());
        let mut computing: BTreeMap<u32, BTreeMap<LocationNumber, u64>> = BTreeMap::new();
        for (number, branch) in (0..).map(CallPathNumber).zip(&program.tree.branches) {
            let above = branch.parent.and_then(|it| around.get(it.index()));
            let mut inside = above.cloned().unwrap_or_default();
            let parent = branch.parent.and_then(|it| program.tree.branches.get(it.index()));
            let setting = branch.setting.filter(|it| Some(it.parameter) == program.world.instance);
            if let (Some(setting), Some(parent)) = (setting, parent) {
                let times = all.0.entry(parent.region.0).or_default();
                times.folded |= setting.value.is_none();
                for &(location, path) in section.members(number) {
                    let span = own.location(location).and_then(|it| it.paths.instance(path));
                    if let Some(span) = span {
                        times.add(setting.value, span);
                    }
                }
                if !inside.contains(&parent.region.0) {
                    inside.push(parent.region.0);
                }
            }
            for &phase in &inside {
                for &member in section.members(number) {
                    let time = own.node(member).map_or(0, |it| it.time.0);
                    let time = if branch.class.is_none() { time } else { 0 };
                    *computing.entry(phase).or_default().entry(member.0).or_default() += time;
                }
            }
            around.push(inside);
        }
        for (phase, locations) in computing {
            let times = all.0.entry(phase).or_default();
            times.locations = locations.len() as u64;
            times.computing = locations.values().sum();
            times.longest_computing = locations.values().copied().max().unwrap_or(0);
        }
        all
    }

    pub(super) fn join(&mut self, more: Self) {
        for (phase, times) in more.0 {
            self.0.entry(phase).or_default().join(times);
        }
    }

    /// Returns all phases, the longest first.
    pub(crate) fn phases(&self, program: &ProgramTotals<'_>) -> Vec<ProgramPhase> {
        let phase = |(&region, times): (&u32, &Times)| ProgramPhase {
            name: names::region(program.defs, RegionRef(region)),
            instances: times.instances.len() as u64,
            length: times.length(),
            efficiency: times.efficiency(),
        };
        let mut list: Vec<ProgramPhase> = self.0.iter().map(phase).collect();
        list.sort_by_key(|it| std::cmp::Reverse(it.length));
        list
    }
}
