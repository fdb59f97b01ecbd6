//! Layers whose calls are recorded as regions only, such as UCX below OpenSHMEM and MPI.
//!
//! Everything about them is in their tables. UCX is recorded only if the setting `layer` says so; all others are recorded
//! always.

use std::sync::OnceLock;

use dwell_measure::guard::{self, guarded};
use dwell_measure::hook::Hook;
use dwell_measure::settings::records_layer;
use dwell_measure::thread::{begin_barrier, end_barrier};

use crate::entry::Entry;
use crate::omp::{Kind, Task, Team};
use crate::over_mpi::{REGIONS, State, Words, end};

/// Defines the functions that the hooks of one table call.
macro_rules! region_hooks {
    ($name:literal) => {
        #[allow(unused_imports)]
        use super::{Entry, Kind, Task, Team, Words, begin, begin_barrier, end, end_barrier};

        fn is_on() -> bool {
            static WANTED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
            super::is_on($name, &WANTED)
        }
    };
}

/// Hooks that `build/` generates from the tables, with a module for each table.
#[allow(unused_parens, clippy::all, clippy::pedantic)]
mod hooks {
    use super::{Entry, Kind, Task, Team, Words, begin, begin_barrier, end, end_barrier, is_on};

    include!(concat!(env!("OUT_DIR"), "/regions.rs"));
}

pub(crate) use hooks::TABLES;

/// Records the beginning of a call, as a region.
fn begin(hook: &'static Hook, words: Words<'_>) -> Option<State> {
    crate::over_mpi::begin(&REGIONS, hook, words)
}

/// Returns `true` if calls of a layer are recorded now. `wanted` keeps the answer of the settings.
fn is_on(layer: &'static str, wanted: &OnceLock<bool>) -> bool {
    let ask = || guarded(guard::Entry::Before, || records_layer(layer)).unwrap_or(false);
    dwell_measure::entry::is_on() && *wanted.get_or_init(ask)
}
