//! Functions with which a program pauses and resumes recording. `include/dwell.h` and `include/dwell.f90` look them up
//! at run time, so that programs need not be linked with the library.

use dwell_measure::control;

/// Pauses recording on this process, as `dwell.h` documents.
#[unsafe(no_mangle)]
extern "C" fn dwell_pause() {
    control::pause();
}

/// Resumes recording after [`dwell_pause`].
#[unsafe(no_mangle)]
extern "C" fn dwell_resume() {
    control::resume();
}
