//! Programs that set the signal handler or the signal stack that sampling uses: see [`dwell_measure::samples`].
//!
//! The handler of samples makes way for one of the program, and a thread whose signal stack has no room for it is not
//! sampled. Nothing else is changed, and without samples these functions only call the real ones.

use core::ffi::{CStr, c_int};
use core::mem::transmute;
use core::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use dwell_measure::guard::walled;
use dwell_measure::samples;

use crate::real;

type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type Signal = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;
type Sigaltstack = unsafe extern "C" fn(*const libc::stack_t, *mut libc::stack_t) -> c_int;

/// Real functions, found when they are first called.
static SIGACTION: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static SIGNAL: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static SIGALTSTACK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Finds the real functions, before the program begins: handlers may call them.
pub(crate) fn prepare() {
    for (place, name) in
        [(&SIGACTION, c"sigaction"), (&SIGNAL, c"signal"), (&SIGALTSTACK, c"sigaltstack")]
    {
        function(place, name);
    }
}

/// Returns a real function, or sets the error that a system without it would give.
fn function(place: &AtomicPtr<()>, name: &CStr) -> Option<*mut ()> {
    let mut found = place.load(Ordering::Relaxed);
    if found.is_null() {
        found = walled(|| real::find(name)).flatten().unwrap_or(ptr::null_mut());
        place.store(found, Ordering::Relaxed);
    }
    if found.is_null() {
        // SAFETY: the address of the error number of this thread is valid.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
    }
    (!found.is_null()).then_some(found)
}

/// Hook of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    let Some(found) = function(&SIGACTION, c"sigaction") else { return -1 };
    if !action.is_null() {
        walled(|| samples::give_up(signal));
    }
    // SAFETY: it has this type, and the caller promises valid arguments.
    unsafe { transmute::<*mut (), Sigaction>(found)(signal, action, before) }
}

/// Hook of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    let Some(found) = function(&SIGNAL, c"signal") else { return libc::SIG_ERR };
    walled(|| samples::give_up(signal));
    // SAFETY: as above.
    unsafe { transmute::<*mut (), Signal>(found)(signal, handler) }
}

/// Hook of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(stack: *const libc::stack_t, before: *mut libc::stack_t) -> c_int {
    let Some(found) = function(&SIGALTSTACK, c"sigaltstack") else { return -1 };
    // SAFETY: null, or a description that the caller promises to be valid.
    if let Some(stack) = unsafe { stack.as_ref() } {
        let is_disabled = stack.ss_flags & libc::SS_DISABLE != 0;
        walled(|| samples::check_stack(stack.ss_size, is_disabled));
    }
    // SAFETY: as above.
    unsafe { transmute::<*mut (), Sigaltstack>(found)(stack, before) }
}
