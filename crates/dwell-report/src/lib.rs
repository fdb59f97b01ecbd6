//! Queries over reports: what a person or a program asks of one.
//!
//! * [`Query`]: the value of any metric, at any call path, on any part of the system.
//! * [`Summary`]: how a value is spread over locations.
//! * [`ranking`](Query::ranking): the call paths with the most of something.
//! * [`Totals`]: every call path over all locations, kept for viewers that ask again.
//! * [`Classes`]: what the time of each location is spent for.
//! * [`Pairs`]: who communicates with whom.
//! * [`System`]: the system tree as rows.
//! * [`compare`]: two reports, matched by metric and call path.
//! * [`transform`]: a report with its call tree cut, merged or mapped anew.
//!
//! Values are read from the report when they are asked for. Integers are added as integers, and the
//! order of additions is that of the file, so the same question has the same answer to the last bit.

#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod advice;
mod classes;
mod compare;
pub mod format;
mod inefficient;
mod pairs;
mod parts;
mod path;
mod query;
mod ranking;
mod settings;
mod summary;
mod sums;
mod system;
mod totals;
pub mod transform;

pub use advice::{Facts, Meanwhile, advice};
pub use classes::{Class, Classes};
pub use compare::{Change, Comparison, Difference, compare};
pub use cubex::{
    CnodeId, Error, GroupId, LocationId, Meta, MetricId, Owner, Place, Result, SystemNodeId,
    TopologyId,
};
pub use inefficient::{Inefficient, inefficient};
pub use pairs::{Flow, KINDS, PAIRS, Pair, Pairs};
pub use parts::{LargestWait, TimePart, share};
pub use query::{Call, Flavour, Part, Query};
pub use ranking::{Ranked, Ranking};
pub use settings::{Axis, Spent};
pub use summary::Summary;
pub use system::{Item, System};
pub use totals::Totals;
