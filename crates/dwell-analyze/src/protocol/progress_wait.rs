//! A wait for progress of other processes, with its bounds.

use dwell_log::class::Class;
use dwell_log::edge::{Candidate, Edge, Kind};
use dwell_log::quantity::Quantity;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::message::Message;

/// Message to the origin of an operation: how long its call waited for the target to progress. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Waited {
    pub(crate) location: LocationNumber,
    pub(crate) account: Account,
    pub(crate) target: ProcessNumber,
    pub(crate) class: Class,
    /// Time at which the call began to wait, and at which the target arrived last.
    pub(crate) enter: Time,
    pub(crate) until: Time,
    /// Location of the target that arrived last.
    pub(crate) culprit: LocationNumber,
    /// Lower and upper bound of the wait.
    pub(crate) low: Duration,
    pub(crate) high: Duration,
    /// Time of the call that other waits do not explain.
    pub(crate) left: Duration,
    /// Unlikelihood of an end so soon after the target arrived, or 0.
    pub(crate) aligned: u32,
    /// True for several targets; `target` is the one that arrived last.
    pub(crate) multi: bool,
    /// True for a further part of a wait that is counted already.
    pub(crate) goes_on: bool,
}

impl Message for Waited {}

impl Waited {
    /// Returns the edge from the begin of the wait to the last visit of the target, with these bounds.
    pub(crate) fn edge(&self, what: Quantity, low: Duration, high: Duration) -> Edge {
        let Self { location: waiter, culprit, enter: from, until: to, class, target, .. } = *self;
        let is_aligned = self.aligned > 0;
        let kind = Kind::Candidate(Candidate { class, target, low, high, is_aligned });
        Edge { waiter, culprit, from, to, what, kind }
    }

    /// Returns the part of the wait that is not contention, or `None` if nothing is left. `left` gives the part of a
    /// time from the begin of the wait that others did not hold the lock, `free` that part of the whole call. A call in
    /// which others held the lock may have ended because of them. `held` is the time in the call during which they held
    /// it, of which `booked` is a wait of the call already.
    pub(crate) fn without_contention(
        self,
        left: impl Fn(Duration) -> Duration,
        free: Duration,
        (held, booked): (Duration, Duration),
    ) -> Option<Self> {
        let high = self.high.min(free);
        let low = left(self.low).min(high);
        let aligned = if held > Duration::ZERO { 0 } else { self.aligned };
        let left = self.left.saturating_sub(booked);
        (high > Duration::ZERO).then_some(Self { low, high, left, aligned, ..self })
    }
}
