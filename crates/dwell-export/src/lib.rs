//! Runs in the formats of other tools.
//!
//! * [`parquet`] writes tables: locations, call paths, values, findings, waits, operations and events, for pandas, Polars, `DuckDB`
//!   and whatever else reads Parquet. [`TABLES`] describes their columns.
//! * [`perfetto`] writes a trace for Perfetto: calls as slices, operations and waits as flows.
//! * [`cut`] writes a part of an archive as a new archive of OTF2.
//!
//! Everything is made of what lies in the directory of an archive: the events, the report and the findings of its analysis, and the
//! dependency log. Locations are read in parallel, one after the other from its begin to its end, so that memory depends on the
//! number of threads and not on the length of the run. The same run gives the same bytes for any number of threads.

#![forbid(unsafe_code)]
// What comes from a file must not panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic))]

mod cut;
mod events;
mod operation;
mod parquet;
mod perfetto;
mod proto;
mod report;
mod run;
mod table;
mod tables;
mod walk;

use std::path::{Path, PathBuf};
use std::{fmt, io};

use dwell_analyze::log::LogError;

pub use crate::parquet::{Written, parquet};
pub use cut::{Copied, Cut, cut};
pub use perfetto::perfetto;
pub use run::Run;
pub use table::{Column, Kind, Table};
pub use tables::TABLES;

/// Reason why a run cannot be exported.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// The trace cannot be read.
    Trace(otf2::Error),
    /// The dependency log cannot be read.
    Log(LogError),
    /// The report cannot be read.
    Report(dwell_report::Error),
    /// A table cannot be written: its name and the reason.
    Parquet(&'static str, ::parquet::errors::ParquetError),
    /// A cut has no time in it: its end is not after its begin, or the run has ended before it.
    Empty,
    /// The dependency log has another number of locations than the archive, and belongs to another run.
    OtherRun,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Trace(error) => error.fmt(f),
            Self::Log(error) => error.fmt(f),
            Self::Report(error) => error.fmt(f),
            Self::Parquet(table, error) => write!(f, "the table {table}: {error}"),
            Self::Empty => f.write_str(
                "there is nothing between --from and --to, which count from the first event of the run",
            ),
            Self::OtherRun => f.write_str(
                "the archive, its report and its dependency log have different numbers of locations; analyse the archive again",
            ),
        }
    }
}

impl Error {
    /// Returns the error of a temporary file, which gets the name of the file that it is for.
    pub(crate) fn of_unnamed(error: io::Error) -> Self {
        Self::Io(PathBuf::new(), error)
    }

    /// Names the file that a temporary file is for.
    pub(crate) fn at(self, path: &Path) -> Self {
        match self {
            Self::Io(unnamed, error) if unnamed.as_os_str().is_empty() => {
                Self::Io(path.to_owned(), error)
            }
            other => other,
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::Trace(error) => Some(error),
            Self::Log(error) => Some(error),
            Self::Report(error) => Some(error),
            Self::Parquet(_, error) => Some(error),
            Self::Empty | Self::OtherRun => None,
        }
    }
}

impl From<otf2::Error> for Error {
    fn from(error: otf2::Error) -> Self {
        Self::Trace(error)
    }
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl From<dwell_report::Error> for Error {
    fn from(error: dwell_report::Error) -> Self {
        Self::Report(error)
    }
}

/// Result of an export, whose error says which part of the run could not be read or which file not be written.
pub type Result<T> = std::result::Result<T, Error>;
