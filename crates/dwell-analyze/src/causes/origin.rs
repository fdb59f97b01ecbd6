//! Waits that cause costs.

use dwell_log::quantity::Quantity;
use serde::{Deserialize, Serialize};

/// Call path and kind of the waits whose length a cost is, however often it was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// Signature of the path of the call that waited.
    pub(crate) site: u64,
    pub(crate) what: Quantity,
}

/// Costs in nanoseconds by their origins. A program waits at few places, so this is a short list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Costs(Vec<(Origin, u64)>);

impl Costs {
    /// Returns all costs.
    pub(crate) fn list(&self) -> &[(Origin, u64)] {
        &self.0
    }

    /// Forgets everything, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn add(&mut self, origin: Origin, amount: u64) {
        match self.0.iter_mut().find(|it| it.0 == origin) {
            Some(it) => it.1 += amount,
            None => self.0.push((origin, amount)),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Origin, u64)> {
        self.0.iter().copied()
    }
}
