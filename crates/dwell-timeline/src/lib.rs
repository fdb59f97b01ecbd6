//! The activities of all locations of a run over time: an index next to the archive, and the queries of a timeline.
//!
//! [`build`] makes the index from the dependency log of an analysis, and [`Index`] answers from it:
//!
//! * [`Index::tile`]: shares of classes of activity for rows of locations and columns of time, either at once from a
//!   pyramid of bins or exactly from prefix sums.
//! * [`Index::tile_of`]: the same for some calls only, and [`Index::joined_row`] for locations that are not consecutive.
//! * [`Index::alike`]: groups of locations that behave alike over time.
//! * [`Index::slices`]: the activities of one location, in order.
//! * [`Index::worst_waits`]: the longest waits in any rectangle of locations and time.
//! * [`Index::instances`]: the worst instances of a finding, the worst first.
//! * [`Index::meanwhile`]: the activities of a location in a span of time, by call path.
//! * [`Index::critical_path`]: which location determined the length of the run when.
//!
//! [`Trace::operations`] reads from the trace which operations went from one location to another, and [`Trace::samples`] the values of
//! counters.
//!
//! The index is a cache: it can be deleted, and is made again. Its bytes depend on the log alone, not on the number of
//! threads. Numbers of locations and call paths are those of the report.
//!
//! [`picture`] makes pictures of it: text for a terminal, and SVG.

#![forbid(unsafe_code)]
// Data from a file must not cause a panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic))]

mod alike;
mod block;
mod build;
mod classes;
mod critical;
mod cursor;
mod error;
mod format;
mod ids;
mod index;
mod instances;
mod levels;
mod operations;
mod paths;
pub mod picture;
mod pyramid;
mod slices;
mod span;
mod tile;
mod worst;

pub use alike::{Alike, is_start};
pub use build::build;
pub use classes::{CLASSES, Sums};
pub use critical::{Step, dense};
pub use error::{Error, Result};
pub use format::{Fingerprint, fingerprint};
pub use ids::{CallPath, Location};
pub use index::{Doing, Index};
pub use instances::{Instances, MOST_INSTANCES};
pub use operations::{
    Arrow, Computing, Counter, Held, Joined, Operation, OperationKind, Operations, Sample, Trace,
};
pub use paths::Paths;
pub use pyramid::least_of_code;
pub use slices::{Instance, Slice, Waiting};
pub use span::{Span, Time};
pub use tile::{Sharpness, Tile};

/// Name of the directory that has the index. It lies in the directory of the archive, next to its report, and can be deleted at any
/// time.
pub const DIRECTORY: &str = "dwell-timeline";
