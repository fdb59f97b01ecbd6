//! Edges: which location was waited for by which, from when to when, and by which pattern.
//!
//! A wait has one edge for each interval in which one location was waited for. Edges of one call do not overlap. Waits
//! without a known culprit have none.

use serde::{Deserialize, Serialize};

use crate::archive::ids::{ContextNumber, LocationNumber, ProcessNumber};
use crate::archive::time::{Duration, Time};
use crate::engine::outstanding::Class;
use crate::engine::quantity::Quantity;
use crate::engine::transport::Message;

/// A stretch of a wait for one location. The event of the culprit at `to` ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Edge {
    pub(crate) waiter: LocationNumber,
    pub(crate) culprit: LocationNumber,
    pub(crate) from: Time,
    pub(crate) to: Time,
    pub(crate) what: Quantity,
    pub(crate) kind: Kind,
}

/// How sure an edge is a wait, and whom else it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// A wait of one location for another.
    Certain,
    /// A wait in a collective in which all members of the context wait for the last of them.
    Among(ContextNumber),
    /// Only the end of the replay tells whether this is a wait.
    Candidate(Candidate),
    /// No wait: the event of the culprit was at `from`, before the call at `to` needed it, or another event held that call
    /// up longer. Only the location that did not wait keeps it.
    Early,
}

impl Kind {
    /// Returns bounds and class of a candidate.
    pub(crate) fn candidate(self) -> Option<Candidate> {
        match self {
            Self::Candidate(candidate) => Some(candidate),
            Self::Certain | Self::Among(_) | Self::Early => None,
        }
    }
}

impl Message for Edge {}

/// Bounds and class of an edge, until the class is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) class: Class,
    /// Process that the class is judged for. It is the culprit's, unless the call waited for several.
    pub(crate) target: ProcessNumber,
    /// Lower and upper bound of the wait.
    pub(crate) low: Duration,
    pub(crate) high: Duration,
    /// True if the operation ended so soon after its target came that chance does not explain it.
    pub(crate) is_aligned: bool,
}

/// Judgement on the candidates of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Verdict {
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
    pub(crate) const ALL: [Self; 5] =
        [Self::Open, Self::Dependent, Self::Mostly, Self::Sometimes, Self::Independent];

    /// Returns the bounds of candidates, given those that follow from their targets alone, or `None` if they are no
    /// waits. Candidates whose operations ended with an arrival of their target are judged apart from others. The bounds
    /// may also be sums over many candidates.
    pub(crate) fn bounds(
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
pub(crate) struct Ruling {
    pub(crate) origin: ProcessNumber,
    pub(crate) target: ProcessNumber,
    pub(crate) class: Class,
    pub(crate) verdict: Verdict,
}
