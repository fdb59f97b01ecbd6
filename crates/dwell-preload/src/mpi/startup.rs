//! Initialisation and finalisation of MPI.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dwell_measure::call::Past;
use dwell_measure::clock::Sample;
use dwell_measure::counters::Wanted;
use dwell_measure::guard::{Entry, guarded};
use dwell_measure::hook::Hook;
use dwell_measure::process;
use dwell_measure::run::{self, Ending, Runtime};
use dwell_model::layer::Layer;

use super::abi::{Family, abi, library_version};
use super::channel::{self, Channel};
use super::hooks::ENTRIES;
use super::{groups, pmpi, sessions, variables};
use crate::{absent, real};

/// Number of calls that initialised MPI or a session.
static STARTS: AtomicU32 = AtomicU32::new(0);

/// Set if the recording began in a function that initialises the world model, such as `MPI_Init`.
static WORLD: AtomicBool = AtomicBool::new(false);

/// Prepares the hook of a function that initialises MPI. The returned time and number of earlier calls are passed to
/// [`start`].
pub(super) fn before_start(hook: &'static Hook) -> (Sample, u32) {
    let starts = STARTS.load(Ordering::Relaxed);
    if starts == 0 {
        guarded(Entry::Load, hide_absent);
    }
    (run::before_start(hook), starts)
}

/// Hides hooks of functions that no loaded library has.
pub(crate) fn hide_absent() {
    absent::hide(&|name| {
        let name = name.to_str().ok()?;
        let at = ENTRIES.binary_search_by(|entry| entry.hook.row.name().cmp(name)).ok()?;
        let entry = ENTRIES.get(at).filter(|entry| entry.real().is_none())?;
        Some(real::hook(entry.hook.row.symbol.c_str()))
    });
}

/// Begins the recording after MPI was initialised. Where the function of one language calls that of another, only the
/// inner one counts.
pub(super) fn start(hook: &'static Hook, (began, before): (Sample, u32)) {
    if STARTS.fetch_add(1, Ordering::Relaxed) != before {
        return;
    }
    // Intel MPI says that the world is there as soon as there is a session, which is what the call creates.
    if !is_running() || (hook.row.places.created.is_some() && before == 0) {
        return sessions::began(
            hook,
            Past { enter: began, leave: Some(dwell_measure::clock::sample()) },
        );
    }
    WORLD.store(true, Ordering::Relaxed);
    run::start(hook, Past { enter: began, leave: None }, Channel::open, about);
    if let Some(process) = process::current().filter(|process| process.is_this()) {
        groups::begin(process, abi().comm_world, true);
    }
}

/// Ends the recording before MPI or its last session is finalised.
pub(super) fn finish(hook: &'static Hook) {
    if sessions::is_ours() {
        if sessions::ended() {
            end(hook);
            sessions::close();
        }
    } else if is_running() && hook.row.places.ended.is_none() {
        // The call ends MPI as a whole, and not one of its sessions.
        end(hook);
    }
}

fn end(hook: &'static Hook) {
    if run::finish(hook, Ending::Collective, Channel::open) {
        channel::free_own();
    }
}

/// Begins the recording in a function that creates a communicator from a group. In a program that uses sessions only,
/// this is where processes first communicate.
pub(super) fn meet(group: usize) {
    if channel::has_own() || WORLD.load(Ordering::Relaxed) {
        return;
    }
    let Some((hook, began)) = sessions::first() else { return };
    let abi = abi();
    let Some(comm) = sessions::open(abi.handle(group)) else { return };
    channel::set_own(comm);
    run::start(hook, began, Channel::open, about);
    if let Some(process) = process::current().filter(|process| process.is_this()) {
        groups::begin(process, comm, false);
    }
}

/// Compares clocks after a collective that synchronises all processes. `before` is the number of such calls before it.
pub(super) fn met(before: u64) {
    dwell_measure::clock_rendezvous::after(Layer::Mpi, before, Channel::open);
}

/// Returns `true` between the initialisation and the finalisation of the world model.
fn is_running() -> bool {
    let (mut began, mut ended) = (0, 0);
    // SAFETY: both may be asked at any time.
    unsafe {
        pmpi::initialized(&raw mut began);
        pmpi::finalized(&raw mut ended);
    }
    began != 0 && ended == 0
}

/// Returns name, version and thread level of the library, for the properties of the archive, and its performance variables
/// that are wanted.
fn about(wanted: &Wanted) -> Runtime {
    let mut runtime = Runtime::default();
    (runtime.variables, runtime.complaints) = variables::find(wanted);
    let (mut major, mut minor) = (0, 0);
    // SAFETY: places for the answers.
    unsafe { pmpi::get_version(&raw mut major, &raw mut minor) };
    runtime.name = name(&library_version());
    runtime.interface = format!("MPI {major}.{minor}{}", abi().label());
    let names = ["single", "funneled", "serialized", "multiple"];
    runtime.threads = names.get(thread_level()).copied().unwrap_or("unknown").into();
    runtime
}

/// Index of `MPI_THREAD_MULTIPLE` among the thread levels.
pub(super) const MULTIPLE: usize = 3;

/// Returns the thread level that the library provides: 0 for `MPI_THREAD_SINGLE`, 3 for [`MULTIPLE`].
pub(super) fn thread_level() -> usize {
    let mut level = 0;
    // SAFETY: a place for the answer.
    unsafe { pmpi::query_thread(&raw mut level) };
    if abi().family == Family::Standard {
        level /= 1024;
        level = if level == 4 { 3 } else { level };
    }
    usize::try_from(level).unwrap_or(MULTIPLE)
}

/// Shortens a version string to name and version. The strings are long, such as `Open MPI v4.1.4, package: …`, or have
/// several lines of which the first is `MPICH Version:      4.0.2`.
fn name(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = line.split(',').next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "Version:").collect();
    words.join(" ").replace(" v", " ")
}
