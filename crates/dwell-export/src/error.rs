//! Reasons why a run cannot be exported.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use dwell_log::read::LogError;

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
