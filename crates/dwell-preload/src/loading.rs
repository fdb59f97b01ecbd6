//! Loading and unloading of the library.
//!
//! Many processes that are not to be measured load it: shells, `tee`, whatever a wrapper script starts. So loading does
//! next to nothing, and no file is created before a runtime has started.

use dwell_measure::guard::{Entry, guarded, guarded_apart, keep_panics_silent};

/// Prepares the library. The loader calls it before the program begins.
extern "C" fn loaded() {
    keep_panics_silent();
    guarded(Entry::Load, || {
        dwell_measure::clock::prepare();
        crate::exec::prepare();
        crate::signals::prepare();
        // A library may test for functions of MPI before MPI is initialised.
        crate::mpi::hide_absent();
    });
}

/// Ends the recording when the process exits. The loader calls it, unless the process is killed.
extern "C" fn unloaded() {
    guarded_apart(Entry::Exit, dwell_measure::run::exit);
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADED: extern "C" fn() = unloaded;
