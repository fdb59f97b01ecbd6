//! The loading and the end of the library.
//!
//! Many processes load it that are not to be measured: shells, `tee`, whatever a wrapper script
//! starts. So loading does next to nothing, and no file is made before a runtime has started.

use dwell_measure::guard::{Entry, guarded, guarded_apart, keep_panics_silent};

/// Called by the loader, before the program begins.
extern "C" fn loaded() {
    keep_panics_silent();
    guarded(Entry::Load, || {
        dwell_measure::clock::prepare();
        // A library may ask for MPI before anyone starts it.
        crate::mpi::hide_absent();
    });
}

/// Called at the end of the process, unless it is killed.
extern "C" fn unloaded() {
    guarded_apart(Entry::Exit, dwell_measure::run::exit);
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADED: extern "C" fn() = unloaded;
