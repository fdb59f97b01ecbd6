//! Turns the results of the replay into what users see: the call tree, findings and reports.

pub(crate) mod division;
pub(crate) mod findings;
pub(crate) mod notes;
pub(crate) mod pairs;
pub(crate) mod pieces;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod sections;
mod summed;
mod system_tree;
mod topologies;
pub(crate) mod tree;

/// Result of a replay with all patterns.
pub(crate) type Replayed = crate::engine::replay::Replayed<crate::patterns::All>;
