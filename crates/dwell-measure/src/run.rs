//! The beginning and the end of a recording.
//!
//! Both are collective: they talk to the other processes through the program's own runtime, between the
//! start of the runtime and its end. Whatever fails at one process, it still takes part, so that the others do not wait
//! for it in vain; and no process waits for another one without end, unless the runtime would do so too
//! ([`patience`](dwell_unify::patience)).
//!
//! An archive is completed only if all processes take part in all of it. Otherwise everything stays where `dwell
//! recover` looks for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use dwell_unify::unify::above;

use crate::agree::Agreement;
use crate::settings::Settings;

mod conclude;
mod finish;
mod start;

pub use finish::{exit, finish};
pub use start::start;

/// What a runtime says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// Its name and version, as it calls itself.
    pub name: String,
    /// The standard that it follows.
    pub interface: String,
    /// How the program may use threads.
    pub threads: String,
}

/// A recording, from the agreement on.
#[derive(Debug)]
struct Recording {
    agreement: Agreement,
    settings: Settings,
    /// Bytes of an event chunk.
    chunk: u64,
    /// Where this process has its files while they are written.
    open_files: PathBuf,
    /// What this process failed at before it began.
    failure: Option<String>,
}

impl Recording {
    /// Where this process has its files, if not in the experiment directory.
    fn scratch(&self) -> Option<&Path> {
        self.settings.scratch.is_some().then_some(self.open_files.as_path())
    }
}

/// What this process does at the end of the run, once it has been able to talk to the others.
#[derive(Debug)]
enum Part {
    /// It has nothing to give, because its recording could not begin, but the others wait for it.
    Bystander {
        /// How many nanoseconds it waits for others.
        timeout: u64,
    },
    /// It has recorded.
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

/// How a process comes to the end of its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a call of the runtime that is collective: it would wait for all processes by itself, and so does the recorder.
    Collective,
    /// By its own exit: other processes may come late or never, so they are waited for within the deadline.
    Alone,
}

/// Nanoseconds that a comparison of clocks takes at most, where nothing says how often clocks are compared.
const COMPARISON: u64 = 100_000_000;

/// Whether a process tells the user of a failure that concerns all processes. Rank 0 does, and if it cannot be reached
/// its neighbours in the tree do.
fn speaks(rank: u64, error: &io::Error) -> bool {
    rank == 0 || above(rank) == Some(0) && error.kind() == io::ErrorKind::TimedOut
}
