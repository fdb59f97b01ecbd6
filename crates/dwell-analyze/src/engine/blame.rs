//! Sums of waits by the party that was waited for.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::archive::ids::PartyNumber;
use crate::archive::time::Duration;
use crate::engine::hash::Mixed;
use crate::engine::quantity::Quantity;

/// Sums by path, kind of wait and party.
#[derive(Debug, Default, Serialize, Deserialize)]
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

    /// Adds all sums to the sums of the run.
    pub(crate) fn add_to(&self, sum: &mut BTreeMap<(u64, Quantity), BTreeMap<PartyNumber, u64>>) {
        for (&(signature, what, party), amount) in &self.sums {
            *sum.entry((signature, what)).or_default().entry(party).or_default() += amount.0;
        }
    }
}
