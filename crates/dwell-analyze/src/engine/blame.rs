//! Sums of waits by the party that was waited for.

use std::collections::HashMap;

use crate::archive::ids::PartyNumber;
use crate::archive::time::Duration;
use crate::engine::hash::Mixed;
use crate::engine::quantity::Quantity;

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
