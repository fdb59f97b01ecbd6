//! Quantities that the replay books on a call path at a location: counts, volumes and waits.

use dwell_model::waits::{Certainty, Wait};
use serde::{Deserialize, Serialize};

/// Something that the replay sums up for each call path and location. Times are in nanoseconds, volumes in bytes.
///
/// [`Analysis::total`](crate::Analysis::total) and [`Analysis::at_location`](crate::Analysis::at_location) return the
/// sums. All quantities are integers, so sums depend neither on the number of threads nor on the order in which waits
/// become known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u16", try_from = "u16")]
pub enum Quantity {
    /// Number of put operations that calls on the path issued.
    Puts,
    /// Number of get operations that calls on the path issued.
    Gets,
    /// Number of atomic operations that calls on the path issued, accumulates included.
    Atomics,
    /// Bytes that puts and atomics sent from the origin to their targets.
    BytesPut,
    /// Bytes that gets and atomics fetched from their targets.
    BytesGet,
    /// Number of two-sided messages that were sent.
    Sends,
    /// Number of two-sided messages that were received.
    Receives,
    /// Bytes of two-sided messages that were sent.
    BytesSent,
    /// Bytes of two-sided messages that were received.
    BytesReceived,
    /// Number of collective operations that the location took part in.
    Collectives,
    /// Time of a wait in nanoseconds. If the wait has two bounds, this is the lower one.
    Wait(Wait),
    /// Difference between the upper and the lower bound of a wait, in nanoseconds. Only waits that the catalogue gives
    /// two bounds have a margin.
    Margin(Wait),
    /// Part of a wait that the analysis inferred, because the records do not contain the address of a flag or the time
    /// at which a lock was obtained.
    Inferred(Wait),
    /// Part of the upper bound of a wait that follows from the progress rule alone: no operation supports it by ending
    /// just when its target arrived.
    ByRule(Wait),
    /// Time that looks like this wait, but of operations whose class was seen to progress without help of the target.
    /// The analysis does not count it as a wait.
    Unconfirmed(Wait),
    /// Number of collectives that were judged although events of some members are missing, so that their waits are
    /// lower bounds.
    PartialCollectives,
    /// Number of calls that belong to polling loops.
    PollingCalls,
    /// Time from the first call of each polling loop to its last. Reports do not show it as a wait, because the process
    /// runs its own code between the calls.
    PollingTime,
    /// Part of the time of polling loops until something ended them whose cause is known, such as a message or a put.
    PollingBlamed,
    /// Time of calls beyond their waits, up to the time that calls of the same class need if nothing delays them.
    Transfer,
    /// Time of calls beyond waits and transfer, which nothing in the archive explains.
    Unexplained,
    /// Part of the unexplained time in calls that are too few of their class to know how long such calls take.
    TooFew,
    /// Waits of others that what the location did on the path caused, by lower bounds.
    DelayDirect,
    /// Waits of others that it caused through locations which waited for this one and passed the delay on.
    DelayPropagated,
    /// Time by which waits of others that it caused directly may be longer than their lower bounds.
    DelayMargin,
    /// Time in which what the location did on the path determined the length of the run: it is on the critical path.
    CriticalPath,
    /// Time from the calls that sent active messages to the begin of their handlers, on the paths of the handlers. Nobody
    /// need have waited meanwhile.
    MessageDelay,
    /// Time of long calls that completed operations during which operations of other processes were at this one, so that the
    /// calls may have served them.
    Serving,
}

use Quantity as Q;

/// Number of waits in the catalogue.
const WAITS: usize = Wait::ALL.len();

/// Quantities that belong to no wait and precede those that do.
const COUNTS: [Q; 10] = [
    Q::Puts,
    Q::Gets,
    Q::Atomics,
    Q::BytesPut,
    Q::BytesGet,
    Q::Sends,
    Q::Receives,
    Q::BytesSent,
    Q::BytesReceived,
    Q::Collectives,
];

/// Quantities that belong to no wait and follow those that do.
const OTHERS: [Q; 13] = [
    Q::PartialCollectives,
    Q::PollingCalls,
    Q::PollingTime,
    Q::PollingBlamed,
    Q::Transfer,
    Q::Unexplained,
    Q::TooFew,
    Q::DelayDirect,
    Q::DelayPropagated,
    Q::DelayMargin,
    Q::CriticalPath,
    Q::MessageDelay,
    Q::Serving,
];

impl Quantity {
    /// Wait in a polling loop.
    pub const POLLING: Self = Self::Wait(Wait::Polling);

    /// Returns the index of the quantity in the order of [`Self::all`].
    #[inline(always)]
    pub fn index(self) -> usize {
        let of = |kind: usize, wait: Wait| COUNTS.len() + kind * WAITS + wait as usize;
        let other = |number: usize| COUNTS.len() + 5 * WAITS + number;
        match self {
            Q::Puts => 0,
            Q::Gets => 1,
            Q::Atomics => 2,
            Q::BytesPut => 3,
            Q::BytesGet => 4,
            Q::Sends => 5,
            Q::Receives => 6,
            Q::BytesSent => 7,
            Q::BytesReceived => 8,
            Q::Collectives => 9,
            Q::Wait(wait) => of(0, wait),
            Q::Margin(wait) => of(1, wait),
            Q::Inferred(wait) => of(2, wait),
            Q::ByRule(wait) => of(3, wait),
            Q::Unconfirmed(wait) => of(4, wait),
            Q::PartialCollectives => other(0),
            Q::PollingCalls => other(1),
            Q::PollingTime => other(2),
            Q::PollingBlamed => other(3),
            Q::Transfer => other(4),
            Q::Unexplained => other(5),
            Q::TooFew => other(6),
            Q::DelayDirect => other(7),
            Q::DelayPropagated => other(8),
            Q::DelayMargin => other(9),
            Q::CriticalPath => other(10),
            Q::MessageDelay => other(11),
            Q::Serving => other(12),
        }
    }

    /// Returns every quantity once: counts first, then waits with their bounds and parts, then everything else. The
    /// order is that of the cells in which the replay sums them up.
    pub fn all() -> impl Iterator<Item = Self> {
        let waits = [Q::Wait, Q::Margin, Q::Inferred, Q::ByRule, Q::Unconfirmed];
        let waits = waits.into_iter().flat_map(|of| Wait::ALL.iter().map(move |wait| of(*wait)));
        COUNTS.into_iter().chain(waits).chain(OTHERS)
    }

    /// Returns the waits that exclude each other, each with the quantity that has to be added for its upper bound, or
    /// `None` if it has no bounds. Waits that are a part of another one are left out, so the sum of all is no more than
    /// the time.
    pub fn waits() -> impl Iterator<Item = (Wait, Option<Self>)> {
        let whole = Wait::ALL.iter().copied().filter(|wait| wait.about().part_of.is_none());
        whole.map(|wait| {
            let has_bounds = wait.about().certainty == Certainty::Visits;
            (wait, has_bounds.then_some(Q::Margin(wait)))
        })
    }

    /// Returns the number of the kind of an edge in the dependency log: the place of its wait in the catalogue, counted
    /// from 1, and 0 for polling loops.
    pub fn in_log(self) -> u64 {
        match self {
            Q::Wait(wait) => wait as u64 + 1,
            _ => 0,
        }
    }

    /// Returns the quantity of a number in the log, as [`Self::in_log`] gives it, or `None` if no wait has it.
    pub fn from_log(number: u64) -> Option<Self> {
        match number.checked_sub(1) {
            Some(place) => Wait::ALL.get(usize::try_from(place).ok()?).copied().map(Q::Wait),
            None => Some(Q::PollingBlamed),
        }
    }

    /// Returns `true` for waits for the progress of one or several targets.
    pub fn is_for_progress(self) -> bool {
        self.wait().is_some_and(|wait| wait.about().certainty == Certainty::Visits)
    }

    /// Returns the wait whose time this quantity is. `None` for counts, and for bounds and parts of a wait.
    pub fn wait(self) -> Option<Wait> {
        match self {
            Q::Wait(wait) => Some(wait),
            _ => None,
        }
    }
}

/// A quantity travels to other processes as its place in the order of [`Quantity::all`].
impl From<Quantity> for u16 {
    fn from(quantity: Quantity) -> Self {
        quantity.index() as Self
    }
}

impl TryFrom<u16> for Quantity {
    type Error = &'static str;

    fn try_from(place: u16) -> Result<Self, Self::Error> {
        Self::all().nth(place.into()).ok_or("there is no such quantity")
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn every_quantity_has_its_place() {
        let places: Vec<usize> = Quantity::all().map(Quantity::index).collect();
        assert_eq!(places, (0..places.len()).collect::<Vec<_>>());
        for quantity in Quantity::all() {
            assert_eq!(Quantity::try_from(u16::from(quantity)), Ok(quantity));
        }
        assert!(Quantity::try_from(places.len() as u16).is_err());
        for quantity in Quantity::all().filter(|it| it.wait().is_some()) {
            assert_eq!(Quantity::from_log(quantity.in_log()), Some(quantity));
        }
        assert_eq!(
            Quantity::from_log(Quantity::PollingBlamed.in_log()),
            Some(Quantity::PollingBlamed)
        );
        assert_eq!(Quantity::from_log(places.len() as u64), None);
    }
}
