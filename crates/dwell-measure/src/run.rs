//! The beginning and the end of a recording.
//!
//! Both are collective: they talk to the other processes through the program's own runtime, between the
//! start of the runtime and its end. Whatever fails at one process, it still takes part, so that the others do not wait
//! for it in vain; and no process waits for another one without end, unless the runtime would do so too
//! ([`deadline`](dwell_unify::deadline)).
//!
//! An archive is completed only if all processes take part in all of it. Otherwise everything stays where `dwell
//! recover` looks for it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use dwell_unify::unify::parent;

use crate::counters::Variable;
use crate::handshake::{self, Agreement};
use crate::report;
use crate::settings::Settings;

mod conclude;
mod finish;
mod outer;
mod start;

pub use finish::{ends_program, exit, finish};
pub use outer::before_start;
pub use start::start;

/// Description of a runtime, as it reports itself. The archive has its fields as properties of the run.
#[derive(Debug, Default)]
pub struct Runtime {
    /// Name and version of the runtime, as it states them.
    pub name: String,
    /// Name and version of the standard that the runtime implements.
    pub interface: String,
    /// Level of thread support that the runtime granted to the program, in words; `unknown` if it named another level.
    pub threads: String,
    /// Performance variables that are wanted and that the runtime has.
    pub variables: Vec<Variable>,
    /// Messages for the user about performance variables, which rank 0 prints.
    pub complaints: Vec<String>,
}

/// State of a recording from the agreement of the processes to its end.
#[derive(Debug)]
struct Recording {
    agreement: Agreement,
    settings: Settings,
    /// Size of an event chunk, in bytes.
    chunk: u64,
    /// Directory of the files of this process while they are written.
    open_files: PathBuf,
    /// Reason for which this process could not begin to record.
    failure: Option<String>,
    /// Nodes that have another directory under the name of the experiment directory, as far as this process knows.
    without_directory: BTreeSet<String>,
}

impl Recording {
    /// Tells the user why the archive is not complete, and what to do.
    fn report_incomplete(&self, why: &io::Error) {
        let directory = &self.agreement.directory;
        match self.settings.scratch.is_none() && !self.without_directory.is_empty() {
            true => {
                let kept = handshake::beside(Path::new(directory), self.agreement.run);
                report::apart(directory, &self.without_directory, &kept);
            }
            false => report::incomplete(directory, self.scratch(), why),
        }
    }

    /// Returns the directory of the files of this process, if that is not in the experiment directory.
    fn scratch(&self) -> Option<&Path> {
        self.settings.scratch.is_some().then_some(self.open_files.as_path())
    }
}

/// Role of this process at the end of the run, once it has been able to reach the others.
#[derive(Debug)]
enum Part {
    /// The process has nothing to contribute, because its recording could not begin, but the others wait for it.
    Bystander {
        /// Nanoseconds that the process waits for others.
        timeout: u64,
    },
    /// The process has recorded.
    Recorder(Box<Recording>),
}

static PART: Mutex<Option<Part>> = Mutex::new(None);
static STARTED: AtomicBool = AtomicBool::new(false);

fn set_part(part: Part) {
    if let Ok(mut mine) = PART.lock() {
        *mine = Some(part);
    }
}

fn take_part() -> Option<Part> {
    PART.lock().ok().and_then(|mut part| part.take())
}

/// The way in which a process comes to the end of its recording. It decides for how long the process waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Through a collective call of the runtime, such as `MPI_Finalize`: the call would wait for all processes by
    /// itself, and so does the recorder.
    Collective,
    /// Through its own exit: other processes may come late or never, so the recorder waits for them within the
    /// deadline.
    Alone,
}

/// Largest duration of a comparison of clocks, in nanoseconds, where no period is set.
const COMPARISON: u64 = 100_000_000;

/// Returns `true` if this process reports a failure that concerns all processes to the user. Rank 0 does, and its
/// children in the tree do if they cannot reach it.
fn speaks(rank: u64, error: &io::Error) -> bool {
    rank == 0 || parent(rank) == Some(0) && error.kind() == io::ErrorKind::TimedOut
}
