//! Reasons why an index cannot be built or read.

use std::path::PathBuf;
use std::{fmt, io};

use dwell_log::read::LogError;

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
