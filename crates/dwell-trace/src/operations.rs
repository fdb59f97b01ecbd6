//! Operations of a process that are in flight, and which records complete them.
//!
//! A completion at the origin names its operation. So does a completion at the target in layers with
//! [communicators](dwell_model::layer::Ranks::Communicators): MPI, ARMCI, coarrays and GASNet. In OpenSHMEM it completes
//! everything that the process has issued on the window, at any of its threads.

use std::collections::BTreeMap;

use otf2::id::{RegionRef, RmaWinRef};

use crate::record::Completion;
use crate::roles::{Roles, is_numbered};
use crate::time::Time;

/// Operations that a record completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completes {
    /// Those that the location has issued with this number.
    Numbered(Completion),
    /// All that the process has issued on a window.
    All(RmaWinRef),
}

impl Roles {
    /// Returns what a completion at the target completes that is recorded in a call of a region.
    pub fn completes(&self, call: Option<RegionRef>, completion: Completion) -> Completes {
        match call.and_then(|region| self.layer(region)) {
            Some(layer) if is_numbered(layer) => Completes::Numbered(completion),
            _ => Completes::All(completion.window),
        }
    }
}

/// Operations of a location that are in flight.
#[derive(Debug)]
pub struct InFlight<T> {
    /// By window, number and order.
    open: BTreeMap<(RmaWinRef, u64, u64), T>,
    issued: u64,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { open: BTreeMap::new(), issued: 0 }
    }
}

impl<T> InFlight<T> {
    /// Adds an operation that was issued with this number on a window.
    pub fn issue(&mut self, window: RmaWinRef, id: u64, operation: T) {
        self.open.insert((window, id, self.issued), operation);
        self.issued += 1;
    }

    /// Removes and returns one of the operations that a record completes, in the order of their numbers, or `None` if
    /// there is none left.
    pub fn complete(&mut self, completes: Completes) -> Option<T> {
        let (window, ids) = match completes {
            Completes::Numbered(it) => (it.window, it.id..=it.id),
            Completes::All(window) => (window, 0..=u64::MAX),
        };
        let own = (window, *ids.start(), 0)..=(window, *ids.end(), u64::MAX);
        let key = *self.open.range(own).next()?.0;
        self.open.remove(&key)
    }

    /// Returns `true` if nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Iterates over what is in flight.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.open.values()
    }
}

/// Calls of a location that are open.
#[derive(Debug, Default)]
pub struct Calls {
    open: Vec<Call>,
}

/// A call that was entered and not left.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Region of the call.
    pub region: RegionRef,
    /// Time at which it was entered.
    pub begin: Time,
    /// True if it has records of communication.
    has_records: bool,
}

impl Calls {
    /// Enters a call of a region, inside of those that are open.
    pub fn enter(&mut self, region: RegionRef, begin: Time) {
        self.open.push(Call { region, begin, has_records: false });
    }

    /// Leaves the innermost call.
    pub fn leave(&mut self) {
        self.open.pop();
    }

    /// Returns the innermost call.
    pub fn last(&self) -> Option<Call> {
        self.open.last().copied()
    }

    /// Returns the number of open calls.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Notes that the innermost call has a record of communication. Returns `false` if a call around it has records of its
    /// own: the record then belongs to an inner layer, as a message of MPI in a call of coarrays does, and is not shown as
    /// communication of the program.
    pub fn has_record(&mut self) -> bool {
        let Some((last, outer)) = self.open.split_last_mut() else { return true };
        last.has_records = true;
        !outer.iter().any(|it| it.has_records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: RmaWinRef = RmaWinRef(1);
    const OTHER: RmaWinRef = RmaWinRef(2);

    fn all(flight: &mut InFlight<char>, completes: Completes) -> String {
        std::iter::from_fn(|| flight.complete(completes)).collect()
    }

    #[test]
    fn a_number_completes_its_operations_and_a_window_all_of_them() {
        let mut flight = InFlight::default();
        for (window, id, name) in [(ONE, 1, 'a'), (OTHER, 1, 'b'), (ONE, 2, 'c'), (ONE, 1, 'd')] {
            flight.issue(window, id, name);
        }
        let numbered = Completes::Numbered(Completion { window: ONE, id: 1 });
        assert_eq!(all(&mut flight, numbered), "ad");
        assert_eq!(all(&mut flight, numbered), "");
        assert_eq!(all(&mut flight, Completes::All(ONE)), "c");
        assert_eq!(all(&mut flight, Completes::All(OTHER)), "b");
        assert!(flight.is_empty());
    }

    #[test]
    fn records_inside_a_call_with_records_belong_to_another_layer() {
        let mut calls = Calls::default();
        assert!(calls.has_record());
        calls.enter(RegionRef(1), Time::BEGIN);
        calls.enter(RegionRef(2), Time::BEGIN);
        assert!(calls.has_record());
        calls.leave();
        assert!(calls.has_record());
        calls.enter(RegionRef(2), Time::BEGIN);
        assert!(!calls.has_record());
    }
}
