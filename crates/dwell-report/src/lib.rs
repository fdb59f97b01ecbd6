//! Queries over Cube reports, as the command `dwell report` and the page in the browser ask them.
//!
//! * [`Query`]: the value of any metric, at any call path, on any part of the system.
//! * [`Summary`]: the distribution of a value over locations.
//! * [`ranking`](Query::ranking): the call paths with the largest values of a metric.
//! * [`Totals`]: sums over all locations for every call path, kept for viewers that ask repeatedly.
//! * [`Base`]: what shares refer to, the run without start-up and shutdown.
//! * [`Classes`]: the time of each location by class of activity, such as computation, puts or waits.
//! * [`Pairs`]: the communication between each pair of processes or nodes.
//! * [`System`]: the system tree as rows.
//! * [`compare`] and [`series`]: the differences between sets of runs, and runs with more and more processes.
//! * [`transform`]: a report with its call tree cut, merged or mapped to a new one.
//! * [`findings`]: the document `findings.json`, which the analysis writes beside a report.
//!
//! A query reads values from the report when it is asked. Integers are added as integers, and additions follow the
//! order of the file, so the same query on the same report has the same answer to the last bit.

#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod advice;
mod base;
mod classes;
mod compare;
pub mod findings;
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

pub use advice::{
    Facts, Gain, Meanwhile, Printed, Remedy, Serving, Settings, Tried, advice, remedies, serving,
};
pub use base::{Base, outside, share};
pub use classes::{Class, Classes};
pub use compare::{
    Comparison, Difference, Efficiencies, Extent, FunctionBeside, Growth, History,
    IterationsBeside, Judgement, MatchedCall, Member, Run, Scaling, Series, Set, Spread, THRESHOLD,
    Total, Version, VersionSeries, compare, iterations_beside, matched_calls, series, speedup,
    verdict,
};
pub use cubex::{
    CnodeId, Error, GroupId, LocationId, Meta, MetricId, Owner, Place, Result, SystemNodeId,
    TopologyId,
};
pub use dwell_model::pairs::Kind;
pub use inefficient::{Inefficient, inefficient};
pub use pairs::{Flow, Pair, Pairs};
pub use parts::{LargestWait, TimePart};
pub use query::{Call, Flavour, Part, Query};
pub use ranking::{Ranked, Ranking};
pub use settings::{Axis, Spent};
pub use summary::Summary;
pub use system::{Item, System};
pub use totals::Totals;
