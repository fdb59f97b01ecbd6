//! A wait between two locations, as the log states it when its class has been judged.

use dwell_trace::ids::{ContextNumber, LocationNumber};
use dwell_trace::time::{Duration, Time};

use crate::edge::{Edge, Kind, Ruling};
use crate::quantity::Quantity;

/// A wait of one location for another, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// Location whose call waited.
    pub waiter: LocationNumber,
    /// Location that was waited for.
    pub culprit: LocationNumber,
    /// Time since which it was waited for.
    pub from: Time,
    /// Time of the event of the culprit that ended the wait, or the end of the call if that was earlier.
    pub to: Time,
    /// Kind of the wait.
    pub what: Quantity,
    /// Lower bound of the wait. It is less than the time from `from` to `to` if the culprit had several visits, or if another
    /// wait of the same call covers a part.
    pub low: Duration,
    /// Upper bound of the wait.
    pub high: Duration,
    /// Context of the collective, if all its members waited for the last of them.
    pub among: Option<ContextNumber>,
}

impl Piece {
    /// Returns the middle between the bounds of the wait, which is above 0 if the wait may be.
    pub fn middle(&self) -> Duration {
        self.low + Duration((self.high - self.low).0.div_ceil(2))
    }

    /// Returns `true` if the location waited in a collective in which all members wait for the last of them.
    pub fn is_among_all(&self) -> bool {
        self.among.is_some()
    }
}

impl Piece {
    /// Joins an edge with the ruling on it. Returns `None` if the ruling says that it is not a wait.
    pub(crate) fn judged(edge: &Edge, ruling: Option<&Ruling>) -> Option<Self> {
        let Edge { waiter, culprit, from, to, what, kind } = *edge;
        let (low, high) = match (kind.candidate(), ruling) {
            (Some(it), Some(ruling)) => ruling.verdict.bounds(it.is_aligned, (it.low, it.high))?,
            _ => (to.since(from), to.since(from)),
        };
        let among = match kind {
            Kind::Among(context) => Some(context),
            Kind::Certain | Kind::Candidate(_) => None,
            Kind::Early => return None,
        };
        Some(Self { waiter, culprit, from, to, what, low, high, among })
    }
}
