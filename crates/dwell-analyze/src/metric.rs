//! What is booked on a call path at a location: counts, volumes and waits.

use dwell_model::waits::{Certainty, Wait};

/// Something that is summed up for each call path and location. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// The number of put operations.
    Puts,
    /// The number of get operations.
    Gets,
    /// The number of atomic operations.
    Atomics,
    /// The bytes that puts and atomics sent.
    BytesPut,
    /// The bytes that gets and atomics fetched.
    BytesGet,
    /// The number of messages that were sent.
    Sends,
    /// The number of messages that were received.
    Receives,
    /// The bytes of messages that were sent.
    BytesSent,
    /// The bytes of messages that were received.
    BytesReceived,
    /// The number of collective operations.
    Collectives,
    /// The time of a wait; the lower bound, if a wait has two bounds.
    Wait(Wait),
    /// The difference between the upper and the lower bound of a wait that has two bounds.
    Margin(Wait),
    /// The part of a wait for which something had to be inferred: the address of a flag, or when a lock was obtained.
    Inferred(Wait),
    /// The part of the upper bound of a wait that no operation supports which ended when its target arrived.
    ByRule(Wait),
    /// Time that looks like this wait, of classes of operations that were seen to need no target.
    Unconfirmed(Wait),
    /// The number of collectives that were judged without some of their members.
    PartialCollectives,
    /// The number of calls in polling loops.
    PollingCalls,
    /// The time from the first call of each polling loop to its last. This is no wait: the process computes.
    PollingTime,
    /// The part of the time of polling loops until something happened of which it is known who caused it.
    PollingBlamed,
    /// The time of calls beyond their waits, as long as calls take that nothing holds up.
    Transfer,
    /// The time of calls beyond waits and transfer.
    Unexplained,
    /// The part of the unexplained time of calls of which there are too few to say how long they take.
    TooFew,
}

use Quantity as Q;

/// How many waits there are.
const WAITS: usize = Wait::ALL.len();

/// Quantities that belong to no wait and come before those that do.
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

/// Quantities that belong to no wait and come after those that do.
const OTHERS: [Q; 7] = [
    Q::PartialCollectives,
    Q::PollingCalls,
    Q::PollingTime,
    Q::PollingBlamed,
    Q::Transfer,
    Q::Unexplained,
    Q::TooFew,
];

impl Quantity {
    /// How many quantities there are.
    pub(crate) const COUNT: usize = COUNTS.len() + 5 * WAITS + OTHERS.len();

    /// The place of the quantity among all of them, below [`Self::COUNT`].
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
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
        }
    }

    /// Every quantity: counts, then waits with their bounds and parts, then everything else.
    pub fn all() -> impl Iterator<Item = Self> {
        let waits = [Q::Wait, Q::Margin, Q::Inferred, Q::ByRule, Q::Unconfirmed];
        let waits = waits.into_iter().flat_map(|of| Wait::ALL.iter().map(move |wait| of(*wait)));
        COUNTS.into_iter().chain(waits).chain(OTHERS)
    }

    /// Waits that exclude each other, each with the quantity by which its upper bound is higher. Waits that are part of
    /// another one are not among them.
    pub fn waits() -> impl Iterator<Item = (Wait, Option<Self>)> {
        let whole = Wait::ALL.iter().copied().filter(|wait| wait.about().part_of.is_none());
        whole.map(|wait| {
            let has_bounds = wait.about().certainty == Certainty::Visits;
            (wait, has_bounds.then_some(Q::Margin(wait)))
        })
    }

    /// The wait whose time this is; `None` for counts, and for bounds and parts of a wait.
    pub fn wait(self) -> Option<Wait> {
        match self {
            Q::Wait(wait) => Some(wait),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn every_quantity_has_its_place() {
        let places: Vec<usize> = Quantity::all().map(Quantity::index).collect();
        assert_eq!(places, (0..Quantity::COUNT).collect::<Vec<_>>());
    }
}
