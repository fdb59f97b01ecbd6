//! What each location of a run did when: an index beside the archive, and the questions that a timeline asks it.
//!
//! [`build`] makes the index from the dependency log of an analysis, and [`Index`] answers from it:
//!
//! * [`Index::tile`]: shares of classes of activity for rows of locations and columns of time, either at once from a
//!   pyramid of bins or exactly from prefix sums.
//! * [`Index::tile_of`]: the same for some calls only, and [`Index::joined_row`] for locations that are not consecutive.
//! * [`Index::slices`]: what one location did, one thing after the other.
//! * [`Index::worst_waits`]: the longest waits in any rectangle of locations and time.
//! * [`Index::instances`]: the worst instances of a finding, the worst first.
//! * [`Index::meanwhile`]: what a location did in a span of time, by call path.
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
// What comes from a file must not panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic))]

mod block;
mod build;
mod critical;
mod cursor;
mod format;
mod index;
mod instances;
mod levels;
mod operations;
mod paths;
pub mod picture;
mod pyramid;
mod slices;
mod tile;
mod worst;

use std::path::PathBuf;
use std::{fmt, io};

use dwell_analyze::log::LogError;

pub use build::build;
pub use critical::Step;
pub use format::{Fingerprint, fingerprint};
pub use index::{Doing, Index};
pub use instances::{Instances, MOST_INSTANCES};
pub use operations::{Arrow, Counter, Joined, Operation, OperationKind, Operations, Sample, Trace};
pub use paths::Paths;
pub use pyramid::least_of_code;
pub use slices::{Instance, Slice, Waiting};
pub use tile::{Sharpness, Tile};

/// Name of the directory that has the index. It lies in the directory of the archive, beside its report, and can be deleted at any
/// time.
pub const DIRECTORY: &str = "dwell-timeline";

/// Number of classes of activity, waiting among them. Sums and shares have a value for each.
pub const CLASSES: usize = dwell_report::Class::ALL.len();

/// Nanoseconds of each class, in the order of [`dwell_report::Class::ALL`].
pub type Sums = [u64; CLASSES];

/// A point in time: nanoseconds by the clock of the trace. [`Index::span`] has the first one, from which people count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// Number of a location, counted from 0 in the order of the report, in which the locations of a process are consecutive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(pub u32);

/// Number of a call path, which is the same in the report that the analysis has written with the dependency log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallPath(pub u32);

/// A span of time, without its end. Spans that touch have no time in common, so that sums over parts of a span add up to that of the
/// whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Begin of the span, which belongs to it.
    pub from: Time,
    /// End of the span, which does not belong to it.
    pub to: Time,
}

impl Span {
    /// Returns the length in nanoseconds.
    pub fn length(self) -> u64 {
        self.to.0.saturating_sub(self.from.0)
    }

    /// Returns the common part of two spans, which may be empty.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        let from = self.from.max(other.from);
        Self { from, to: self.to.min(other.to).max(from) }
    }

    /// Returns the time that divides the span into columns of equal length: the begin of a column.
    pub fn column(self, column: usize, columns: usize) -> Time {
        let part = u128::from(self.length()) * column as u128 / columns.max(1) as u128;
        Time(self.from.0 + part as u64)
    }
}

/// Reason why an index cannot be built or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// The dependency log cannot be read.
    Log(LogError),
    /// The trace in a directory cannot be read.
    Trace(PathBuf, otf2::Error),
    /// A file does not have the bytes that an index has.
    Damaged {
        /// File with the damage.
        path: PathBuf,
        /// Offset in bytes at which the reader noticed.
        offset: u64,
        /// Reason in words, without a full stop.
        reason: &'static str,
    },
    /// The index belongs to another report or to another version of Dwell, and has to be made again.
    Stale(PathBuf),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Log(error) => error.fmt(f),
            Self::Trace(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Damaged { path, offset, reason } => {
                let path = path.display();
                write!(
                    f,
                    "{path}: at byte {offset}: {reason}; delete the file, which is made again"
                )
            }
            Self::Stale(path) => {
                write!(f, "{}: the index belongs to another analysis", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::Log(error) => Some(error),
            Self::Trace(_, error) => Some(error),
            Self::Damaged { .. } | Self::Stale(_) => None,
        }
    }
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

/// Result of reading or building an index.
pub type Result<T> = std::result::Result<T, Error>;
