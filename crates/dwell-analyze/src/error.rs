//! Reasons why an analysis fails.

use std::path::PathBuf;
use std::{fmt, io};

/// Reason why an archive could not be analysed or a report could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The anchor file or the definitions of the archive cannot be read.
    Archive(otf2::Error),
    /// The archive defines no location, as archives of killed runs do before `dwell recover` has completed them.
    NoLocations,
    /// A file or folder of a profile cannot be read. The path says which one.
    Profile(PathBuf, io::Error),
    /// The Cube report cannot be written.
    Report(cubex::Error),
    /// The processes that analyse together cannot communicate.
    Peers(dwell_mpi::Error),
    /// Another of the processes that analyse together could not read the definitions, or not write its part of the report.
    Elsewhere {
        /// Rank of the process.
        rank: usize,
        /// Its error, as a text.
        reason: String,
    },
    /// The result of one of several processes cannot be written alone, because the others have the values of their
    /// locations.
    InPart,
    /// The dependency log cannot be written to the directory.
    Log(PathBuf, io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Profile(path, error) | Self::Log(path, error) => {
                write!(f, "{}: {error}", path.display())
            }
            Self::Report(error) => error.fmt(f),
            Self::Peers(error) => error.fmt(f),
            Self::Elsewhere { rank, reason } => write!(f, "rank {rank}: {reason}"),
            Self::InPart => f.write_str(
                "other processes have the values of some locations, and must write them",
            ),
            Self::NoLocations => f.write_str(
                "the archive defines no locations; if its run was killed, `dwell recover` may help",
            ),
        }
    }
}

impl From<cubex::Error> for Error {
    fn from(error: cubex::Error) -> Self {
        Self::Report(error)
    }
}

impl From<dwell_mpi::Error> for Error {
    fn from(error: dwell_mpi::Error) -> Self {
        Self::Peers(error)
    }
}

impl From<otf2::Error> for Error {
    fn from(error: otf2::Error) -> Self {
        Self::Archive(error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Archive(error) => Some(error),
            Self::Profile(_, error) | Self::Log(_, error) => Some(error),
            Self::Report(error) => Some(error),
            Self::Peers(error) => Some(error),
            Self::NoLocations | Self::Elsewhere { .. } | Self::InPart => None,
        }
    }
}
