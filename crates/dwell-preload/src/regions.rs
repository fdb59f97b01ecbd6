//! UCX, below OpenSHMEM and MPI. Its calls are recorded as regions only, and only if a setting asks for them.

use std::sync::OnceLock;

use dwell_measure::guard::{self, guarded};
use dwell_measure::hook::Hook;
use dwell_measure::settings::Setting;

use crate::entry::Entry;
use crate::over_mpi::{REGIONS, State, Words, end};

/// Hooks that `build/` generates from the table.
#[allow(unused_parens, clippy::all, clippy::pedantic)]
mod hooks {
    use super::{Entry, Words, begin, end, is_on};

    include!(concat!(env!("OUT_DIR"), "/ucx.rs"));
}

/// Records the beginning of a call, as a region.
fn begin(hook: &'static Hook, words: Words<'_>) -> Option<State> {
    crate::over_mpi::begin(&REGIONS, hook, words)
}

/// Returns `true` if calls of UCX are recorded.
fn is_on() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    let find = || Setting::find("ucx").is_some_and(Setting::is_on);
    let wanted = || guarded(guard::Entry::Before, find).unwrap_or(false);
    dwell_measure::entry::is_on() && *WANTED.get_or_init(wanted)
}
