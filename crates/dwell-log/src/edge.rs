//! Edges: the location that waited, the location that it waited for, the interval, and the kind of the wait.
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
    /// Not a wait: the event of the culprit was at `from`, before the call at `to` needed it, or another event delayed
    /// that call longer. The edge is kept only at the location that did not wait.
    Early,
}

impl Kind {
    /// Returns the bounds and the class of a candidate, or `None` for other kinds.
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
    /// Process that the class is judged for. It is the process of the culprit, unless the call waited for several
    /// processes.
    pub target: ProcessNumber,
    /// Lower bound of the wait.
    pub low: Duration,
    /// Upper bound of the wait, which may differ from the length of the edge.
    pub high: Duration,
    /// True if the operation ended so soon after its target entered the runtime that chance does not explain it.
    pub is_aligned: bool,
}

/// Judgement on the candidates of a class. *Evidence* is an operation of the class that the network performed without
/// help of its target. An *arrival* is the entry of a target into its runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// There is no evidence, and operations do not tend to end with an arrival.
    Open,
    /// There is no evidence, and operations tend to end with an arrival.
    Dependent,
    /// There is evidence, but it is outnumbered by operations that ended with an arrival.
    Mostly,
    /// There is evidence, and operations that ended with an arrival are more than a tenth of its number.
    Sometimes,
    /// There is evidence, and few or no operations ended with an arrival.
    Independent,
}

impl Verdict {
    /// All verdicts, in the order of their numbers in the log.
    pub const ALL: [Self; 5] =
        [Self::Open, Self::Dependent, Self::Mostly, Self::Sometimes, Self::Independent];

    /// Returns the bounds of candidates, given those that follow from their targets alone, or `None` if they are not
    /// waits. Candidates whose operations ended with an arrival of their target are judged separately. The bounds may
    /// also be sums over many candidates.
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
    /// Verdict on the operations of this class from the origin to the target.
    pub verdict: Verdict,
}

/// One of the two ends of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end at the location whose call waited.
    Waiter,
    /// The end at the location that was waited for.
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

    /// Returns the primary sort key of edges. Edges with equal keys are sorted by their other fields.
    #[inline]
    pub fn key(self, edge: &Edge) -> (LocationNumber, Time, Time) {
        (self.of(edge), edge.to, edge.from)
    }
}
