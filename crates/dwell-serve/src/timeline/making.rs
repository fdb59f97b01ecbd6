//! The index of a run: opened where there is one, otherwise made by a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use dwell_log::read::DependencyLog;
use dwell_report::Class;
use dwell_timeline::{DIRECTORY, Index};

use crate::progress::{Slot, State};
use crate::run::Run;

/// Returns the state of the index of a run. The first call opens it or begins to make it.
pub(super) fn state(run: &Run) -> State {
    let mut slot = run.timeline.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*slot, State::Unknown) {
        *slot = begin(run);
    }
    slot.clone()
}

/// Returns the index of a run, if it is there.
pub(crate) fn index(run: &Run) -> Option<Arc<Index>> {
    match state(run) {
        State::Ready(index) => Some(index),
        _ => None,
    }
}

/// Readiness of the index of a run.
pub(crate) enum Readiness {
    Ready(Arc<Index>),
    /// The index is being made.
    Making,
    /// There is none, for this reason.
    Missing(String),
}

/// Returns the index of a run, or why there is none yet.
pub(crate) fn waited(run: &Run) -> Readiness {
    match state(run) {
        State::Ready(index) => Readiness::Ready(index),
        State::Making(..) => Readiness::Making,
        State::Missing(why) => Readiness::Missing(why),
        State::Unknown => Readiness::Missing(String::new()),
    }
}

/// Waits until the index of a run is there or cannot be made: a file that is written once has no later answer.
pub(crate) fn complete(run: &Run) {
    while matches!(state(run), State::Making(..)) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Opens the index, or begins to make it.
fn begin(run: &Run) -> State {
    let directory = run.path.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let missing = "This run has no index for a timeline.";
    if run.path.file_name().is_none_or(|name| name != "trace.cubex") {
        let why = "A timeline needs the trace: this report is not one of `dwell analyze`.";
        return State::Missing(why.into());
    }
    let Ok(print) = dwell_timeline::fingerprint(&run.path) else {
        return State::Missing(missing.into());
    };
    let place = directory.join(DIRECTORY);
    // An index that cannot be read is made anew, as `dwell timeline` does.
    if let Ok(index) = Index::open(&place, print) {
        return State::Ready(Arc::new(index));
    }
    let log = match DependencyLog::open(directory.join("dwell-dependencies")) {
        Ok(log) if log.locations() as usize == run.query.meta().locations().len() => log,
        _ => {
            let at = directory.display();
            return State::Missing(format!("{missing} Make it with: dwell timeline {at}"));
        }
    };
    let (done, all) = (Arc::new(AtomicU64::new(0)), u64::from(log.locations()));
    let work = Work { log, place, print, done: done.clone(), slot: run.timeline.clone() };
    let classes = run.query.call_classes();
    std::thread::spawn(move || work.make(&classes));
    State::Making(done, all)
}

/// The making of an index.
struct Work {
    log: DependencyLog,
    place: PathBuf,
    print: dwell_timeline::Fingerprint,
    done: Arc<AtomicU64>,
    slot: Slot,
}

impl Work {
    fn make(&self, classes: &[Class]) {
        let progress = |count| {
            self.done.fetch_add(count, Ordering::Relaxed);
        };
        let made = dwell_timeline::build(&self.log, classes, self.print, &self.place, &progress);
        let state = match made {
            Ok(index) => State::Ready(Arc::new(index)),
            Err(error) => State::Missing(error.to_string()),
        };
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
