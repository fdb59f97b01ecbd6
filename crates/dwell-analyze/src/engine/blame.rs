//! Sums of waits by the party that was waited for.

use std::collections::HashMap;

use dwell_log::quantity::Quantity;
use dwell_trace::ids::PartyNumber;
use dwell_trace::time::Duration;

use crate::engine::hash::Mixed;

/// Sums by path, kind of wait and party.
#[derive(Debug, Default)]
pub(crate) struct Blame {
    sums: HashMap<(u64, Quantity, PartyNumber), Duration, Mixed>,
}

impl Blame {
    #[inline]
    pub(crate) fn add(
        &mut self,
        signature: u64,
        what: Quantity,
        party: PartyNumber,
        amount: Duration,
    ) {
        *self.sums.entry((signature, what, party)).or_default() += amount;
    }

    /// Returns all sums, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ((u64, Quantity, PartyNumber), Duration)> {
        self.sums.iter().map(|(&key, &amount)| (key, amount))
    }
}
