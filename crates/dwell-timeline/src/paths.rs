//! Numbers call paths as the report does.
//!
//! Each location of the dependency log has call paths of its own. The report numbers those of all locations in the order
//! of locations, callers first, and so does this module.

use std::collections::{BTreeSet, HashMap};

use dwell_log::read::{DependencyLog, LocationLog, Step};
use dwell_report::Class;
use dwell_trace::ids::LocationNumber;

use crate::error::Result;
use crate::ids::CallPath;

/// Numbers of all call paths, by their callers and last steps. They are the numbers of the report, which the dependency log does
/// not have: each of its locations counts its own call paths.
#[derive(Debug, Default)]
pub struct Paths {
    /// Call paths at which waits are judged.
    judged: BTreeSet<CallPath>,
    numbers: HashMap<(Option<CallPath>, StepKey), CallPath>,
}

/// A step that can be looked up: its kind, the region or parameter, and the call site or value.
type StepKey = (u8, u32, Option<u64>);

fn key(step: Step) -> Option<StepKey> {
    match step {
        Step::Root => None,
        Step::Region(region, site) => Some((0, region.0, site.map(|it| it.0.into()))),
        Step::Parameter(parameter, value) => Some((1, parameter.0, value)),
    }
}

impl Paths {
    /// Reads the call paths of all locations of a dependency log, and numbers them.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn of(log: &DependencyLog) -> Result<Self> {
        let mut paths = Self::default();
        for number in 0..log.locations() {
            if let Some(location) = log.location(LocationNumber::new(number))? {
                paths.add(&location);
            }
        }
        Ok(paths)
    }

    fn add(&mut self, location: &LocationLog) {
        let mut own: Vec<Option<CallPath>> = Vec::new();
        for path in location.paths() {
            let above = own.get(path.caller).copied().flatten();
            let next = CallPath(self.numbers.len() as u32);
            let number =
                key(path.step).map(|key| *self.numbers.entry((above, key)).or_insert(next));
            self.judged.extend(number.filter(|_| path.is_judged));
            own.push(number);
        }
    }

    /// Returns the classes of all call paths, given those by their names. A call at which waits are judged is none of the program,
    /// whatever its name.
    pub(crate) fn classes(&self, by_name: &[Class]) -> Vec<Class> {
        let of = |(number, class): (u32, &Class)| match class {
            Class::Compute if self.judged.contains(&CallPath(number)) => Class::Runtime,
            class => *class,
        };
        (0..).zip(by_name).map(of).collect()
    }

    /// Returns the numbers of the call paths of a location, in the order of [`LocationLog::paths`], and whether waits are judged
    /// there. The root of all call paths has no number.
    pub fn numbers(&self, location: &LocationLog) -> Vec<(Option<CallPath>, bool)> {
        let mut own: Vec<(Option<CallPath>, bool)> = Vec::new();
        for path in location.paths() {
            let above = own.get(path.caller).and_then(|it| it.0);
            let number = key(path.step).and_then(|key| self.numbers.get(&(above, key)).copied());
            own.push((number, path.is_judged));
        }
        own
    }
}
