//! What a program may call: `include/dwell.h` and `include/dwell.f90` look for these at run
//! time, so that a program needs not be linked with the library.

use dwell_measure::control;

/// Stops writing down calls.
#[unsafe(no_mangle)]
extern "C" fn dwell_pause() {
    control::pause();
}

/// Goes on.
#[unsafe(no_mangle)]
extern "C" fn dwell_resume() {
    control::resume();
}
