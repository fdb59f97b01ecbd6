//! Edges: which location was waited for by which, from when to when, and by which pattern.
//!
//! A wait has one edge for each interval in which one location was waited for. Edges of one call do not overlap. Waits
//! without a known culprit have none.

use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::quantity::Quantity;

/// A stretch of a wait for one location. The event of the culprit at `to` ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    /// Location whose call needed an event of the culprit.
    pub waiter: LocationNumber,
    /// Location that was waited for, or whose event was early enough.
    pub culprit: LocationNumber,
    /// Begin of the wait; for [`Kind::Early`], the time of the event of the culprit.
    pub from: Time,
    /// End of the wait; for [`Kind::Early`], the time at which the call needed the event.
    pub to: Time,
    /// Wait of the catalogue, or [`Quantity::PollingBlamed`] for a polling loop.
    pub what: Quantity,
    /// Certainty of the wait, and the context or class that it concerns.
    pub kind: Kind,
}

/// Certainty that an edge is a wait, and the other processes that it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A wait of one location for another.
    Certain,
    /// A wait in a collective in which all members of the context wait for the last of them.
    Among(ContextNumber),
    /// Only the end of the replay decides whether this is a wait.
    Candidate(Candidate),
    /// No wait: the event of the culprit was at `from`, before the call at `to` needed it, or another event held that call
    /// up longer. Only the location that did not wait keeps it.
    Early,
}

impl Kind {
    /// Returns bounds and class of a candidate.
    pub fn candidate(self) -> Option<Candidate> {
        match self {
            Self::Candidate(candidate) => Some(candidate),
            Self::Certain | Self::Among(_) | Self::Early => None,
        }
    }
}

/// Bounds and class of an edge, until the class is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Candidate {
    /// Class of operations whose verdict decides whether the edge is a wait.
    pub class: Class,
    /// Process that the class is judged for. It is the culprit's, unless the call waited for several.
    pub target: ProcessNumber,
    /// Lower and upper bound of the wait.
    pub low: Duration,
    /// Upper bound of the wait, which may differ from the length of the edge.
    pub high: Duration,
    /// True if the operation ended so soon after its target arrived that chance does not explain it.
    pub is_aligned: bool,
}

/// Judgement on the candidates of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// There is no evidence, and ends do not follow arrivals.
    Open,
    /// There is no evidence, and ends follow arrivals.
    Dependent,
    /// There is evidence, but more operations ended with an arrival.
    Mostly,
    /// There is evidence, and more than a tenth as many operations ended with an arrival.
    Sometimes,
    /// There is evidence, and almost nothing against it.
    Independent,
}

impl Verdict {
    /// All verdicts, in the order of their numbers in the log.
    pub const ALL: [Self; 5] =
        [Self::Open, Self::Dependent, Self::Mostly, Self::Sometimes, Self::Independent];

    /// Returns the bounds of candidates, given those that follow from their targets alone, or `None` if they are not
    /// waits. Candidates whose operations ended with an arrival of their target are judged apart from others. The bounds
    /// may also be sums over many candidates.
    pub fn bounds(
        self,
        is_aligned: bool,
        (low, high): (Duration, Duration),
    ) -> Option<(Duration, Duration)> {
        match (self, is_aligned) {
            (Self::Open, _) | (Self::Dependent, false) => Some((low, high)),
            (Self::Dependent | Self::Mostly, true) => Some((high, high)),
            (Self::Sometimes, true) => Some((Duration::ZERO, high)),
            (Self::Mostly | Self::Sometimes, false) | (Self::Independent, _) => None,
        }
    }
}

/// The verdict on one class of operations of a process on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ruling {
    /// Process that issued the operations.
    pub origin: ProcessNumber,
    /// Process that the operations act on.
    pub target: ProcessNumber,
    /// Class that the operations share.
    pub class: Class,
    /// Judgement on the candidates of this class between the two processes.
    pub verdict: Verdict,
}

/// End of an edge that a location is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The location whose call waited.
    Waiter,
    /// The location was waited for.
    Culprit,
}

impl Side {
    /// Returns the location at this end of an edge.
    pub fn of(self, edge: &Edge) -> LocationNumber {
        match self {
            Self::Waiter => edge.waiter,
            Self::Culprit => edge.culprit,
        }
    }

    /// Returns what edges are sorted by first. Those that are equal are sorted by everything else.
    #[inline]
    pub fn key(self, edge: &Edge) -> (LocationNumber, Time, Time) {
        (self.of(edge), edge.to, edge.from)
    }
}
