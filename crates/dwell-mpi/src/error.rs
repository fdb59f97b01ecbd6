//! The error of this crate.

use std::fmt;
use std::path::PathBuf;

use dwell_model::mpi::abi::Maker;

use crate::launch::Launcher;

/// Variable that names the MPI library to load.
pub const LIBRARY: &str = "DWELL_MPI_LIBRARY";

/// Reason why processes could not work together. Its text form says what happened, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No MPI library was found that fits the launcher.
    NoLibrary {
        /// Launcher that started this process.
        launcher: Launcher,
        /// Files that were examined and refused, with the reason.
        refused: Vec<(PathBuf, String)>,
    },
    /// A file is not an MPI library that can be used.
    Unsuitable {
        /// The file.
        path: PathBuf,
        /// Explanation for the user.
        reason: String,
    },
    /// Library and launcher belong to different MPIs, so that each process would be alone or be aborted.
    Mismatch {
        /// The library.
        path: PathBuf,
        /// Project of the library.
        maker: Maker,
        /// Launcher that started this process.
        launcher: Launcher,
    },
    /// MPI knows another number of processes than the launcher.
    OtherSize {
        /// The library.
        path: PathBuf,
        /// Number of processes that MPI knows.
        known: usize,
        /// Number of processes that the launcher says.
        started: usize,
    },
    /// A function of MPI failed.
    Failed {
        /// Name of the function.
        function: &'static str,
        /// The explanation of the library.
        reason: String,
    },
    /// Other processes did not take part within the time allowed.
    Late {
        /// Name of the step that this process waited in.
        step: &'static str,
        /// Time allowed, in seconds.
        seconds: u64,
    },
    /// Another process is at another step.
    Apart {
        /// Name of the step that this process is in.
        step: &'static str,
        /// The other process, if it is known.
        rank: Option<usize>,
    },
    /// A message from another process cannot be understood.
    Garbled {
        /// The process that sent it.
        rank: usize,
        /// Description of the damage.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLibrary { launcher, refused } => {
                write!(out, "no MPI library was found that fits {launcher}")?;
                for (path, reason) in refused {
                    write!(out, "; {}: {reason}", path.display())?;
                }
                write!(
                    out,
                    "; set {LIBRARY} to the path of libmpi.so of the same MPI as the launcher"
                )
            }
            Self::Unsuitable { path, reason } => write!(
                out,
                "{}: {reason}; set {LIBRARY} to the path of libmpi.so of the same MPI as the launcher",
                path.display()
            ),
            Self::Mismatch { path, maker, launcher } => {
                let made = match maker {
                    Maker::OpenMpi(major) => format!("Open MPI {major}"),
                    Maker::Mpich => "MPICH or a derivative of it".into(),
                };
                let path = path.display();
                write!(
                    out,
                    "{path} belongs to {made}, but {launcher} started this process; use the mpirun of the library's \
                     installation, or set {LIBRARY} to the libmpi.so of the launcher's"
                )
            }
            Self::OtherSize { path, known, started } => write!(
                out,
                "the launcher started {started} processes, but {} knows {known}: the two do not belong together; \
                 use the launcher of the library's installation, or set {LIBRARY} to the libmpi.so of the launcher's",
                path.display()
            ),
            Self::Failed { function, reason } => write!(out, "{function} failed: {reason}"),
            Self::Late { step, seconds } => write!(
                out,
                "not all processes came to `{step}` within {seconds} s; one may have failed, be stopped or be out of \
                 reach (DWELL_PEER_TIMEOUT=30m allows more time)"
            ),
            Self::Apart { step, rank } => {
                let other = rank.map_or("another one".into(), |rank| format!("rank {rank}"));
                write!(
                    out,
                    "this process is at `{step}`, and {other} is not; do all run the same dwell?"
                )
            }
            Self::Garbled { rank, reason } => write!(out, "message from rank {rank}: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
