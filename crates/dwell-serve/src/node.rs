//! A node of a run, with the locations on it.

use std::ops::Range;

/// A node with its locations, which need not be consecutive: launchers may deal processes out to nodes in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Locations in ascending order.
    pub(crate) parts: Vec<Range<u32>>,
}

impl Node {
    pub(crate) fn locations(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().cloned().flatten()
    }
}
