//! Programs that become another one and drop this library on the way.
//!
//! `dwell run env LD_PRELOAD=other.so ./prog` becomes `env`, which replaces the variable and becomes the program: nothing
//! would be recorded, and no process would be left to say so. So the process that `dwell run` became keeps this library
//! in front, and the settings of the run if they are cleared. Calls of other processes pass unchanged: the first one
//! lives on, and reports if nothing was recorded.
//!
//! # Limits
//! The functions `execl`, `execle` and `execlp` of the C library do not go through names that could be intercepted.

use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use std::env;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use dwell_measure::guard::walled;

use crate::real;

/// A list of texts that ends with null.
type List = *const *const c_char;

type Execve = unsafe extern "C" fn(*const c_char, List, List) -> c_int;
type Execv = unsafe extern "C" fn(*const c_char, List) -> c_int;

unsafe extern "C" {
    /// The environment of the process, as the C library keeps it.
    static environ: List;
}

/// Real functions, found when the library is loaded: after a fork, looking them up could wait for a thread that the
/// child does not have.
static EXECVE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static EXECVPE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static EXECV: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static EXECVP: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Part of the environment of the process that `dwell run` became, as it was when the process began.
struct Kept {
    process: u32,
    /// The entry of `LD_PRELOAD` that names this library.
    library: Vec<u8>,
    /// Settings of the run, as `NAME=VALUE`.
    settings: Vec<CString>,
}

static KEPT: OnceLock<Kept> = OnceLock::new();

const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// The variable by which the process that `dwell run` became is known. Without it, the environment was cleared.
const WATCHER: &str = "DWELL_WATCHER";

/// Prepares the hooks, before the program begins.
pub(crate) fn prepare() {
    let functions =
        [(c"execve", &EXECVE), (c"execvpe", &EXECVPE), (c"execv", &EXECV), (c"execvp", &EXECVP)];
    for (name, place) in functions {
        place.store(real::find(name).unwrap_or(ptr::null_mut()), Ordering::Relaxed);
    }
    let process = std::process::id();
    if env::var(WATCHER).ok().and_then(|it| it.parse().ok()) != Some(process) {
        return;
    }
    let preload = env::var_os("LD_PRELOAD").unwrap_or_default();
    let mut entries = preload.as_bytes().split(|byte| matches!(byte, b':' | b' '));
    let Some(library) = entries.find(|entry| entry.ends_with(b"libdwell.so")) else { return };
    let settings = env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"DWELL_"));
    let settings = settings.filter_map(|(name, value)| {
        CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
    });
    let _ = KEPT.set(Kept { process, library: library.to_vec(), settings: settings.collect() });
}

/// An environment in which this library is kept.
struct Environment {
    list: Vec<*const c_char>,
    /// Texts that the list refers to, in addition to those of the program.
    _texts: Vec<CString>,
}

/// Returns an environment for the next program, if this is the process that `dwell run` became and the given one would
/// lose this library.
///
/// # Safety
/// The list and its texts must be valid.
unsafe fn kept(given: List) -> Option<Environment> {
    let kept = KEPT.get().filter(|kept| kept.process == std::process::id())?;
    let mut list = Vec::new();
    let (mut preload, mut cleared) = (&b""[..], true);
    for at in 0.. {
        // SAFETY: the caller promises a list that ends with null.
        let text = if given.is_null() { ptr::null() } else { unsafe { *given.add(at) } };
        if text.is_null() {
            break;
        }
        // SAFETY: the caller promises valid texts.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        cleared &= !bytes.starts_with(WATCHER.as_bytes());
        match bytes.strip_prefix(PRELOAD) {
            Some(value) => preload = value,
            None => list.push(text),
        }
    }
    let mut entries = preload.split(|byte| matches!(byte, b':' | b' '));
    if entries.any(|entry| entry == kept.library) {
        return None;
    }
    let others: &[u8] = if preload.is_empty() { b"" } else { b":" };
    let mut texts = vec![CString::new([PRELOAD, &kept.library, others, preload].concat()).ok()?];
    if cleared {
        texts.extend(kept.settings.iter().cloned());
    }
    list.extend(texts.iter().map(|text| text.as_ptr()));
    list.push(ptr::null());
    Some(Environment { list, _texts: texts })
}

/// Returns a real function, or sets the error that a system without it would give.
fn function(place: &AtomicPtr<()>) -> Option<*mut ()> {
    let found = place.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the address of the error number of this thread is valid.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
    }
    (!found.is_null()).then_some(found)
}

/// Calls a real function that takes an environment, with one in which this library is kept.
///
/// # Safety
/// As for `execve`, whose type the function in `place` must have.
unsafe fn exec(
    place: &AtomicPtr<()>,
    name: *const c_char,
    arguments: List,
    environment: List,
) -> c_int {
    let Some(found) = function(place) else { return -1 };
    // SAFETY: the caller promises the type.
    let call: Execve = unsafe { core::mem::transmute(found) };
    // SAFETY: the caller promises valid lists.
    let kept = walled(|| unsafe { kept(environment) }).flatten();
    let environment = kept.as_ref().map_or(environment, |kept| kept.list.as_ptr());
    // SAFETY: the caller promises valid arguments, and `kept` lives until the call returns.
    unsafe { call(name, arguments, environment) }
}

/// Calls `with`, a real function that takes an environment, if the library must be kept, and otherwise `without`, which
/// takes that of the process.
///
/// # Safety
/// As for `execv`, whose type the function in `without` must have; that in `with` must have the type of `execve`.
unsafe fn exec_own(
    with: &AtomicPtr<()>,
    without: &AtomicPtr<()>,
    name: *const c_char,
    arguments: List,
) -> c_int {
    // SAFETY: the environment of the process is valid.
    let kept = walled(|| unsafe { kept(environ) }).flatten();
    if let Some(kept) = &kept {
        let Some(found) = function(with) else { return -1 };
        // SAFETY: the caller promises the type, and valid arguments.
        return unsafe {
            let call: Execve = core::mem::transmute(found);
            call(name, arguments, kept.list.as_ptr())
        };
    }
    let Some(found) = function(without) else { return -1 };
    // SAFETY: the caller promises the type, and valid arguments.
    unsafe {
        let call: Execv = core::mem::transmute(found);
        call(name, arguments)
    }
}

/// Hook of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, arguments: List, environment: List) -> c_int {
    // SAFETY: as the caller of `execve` promises.
    unsafe { exec(&EXECVE, path, arguments, environment) }
}

/// Hook of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(file: *const c_char, arguments: List, environment: List) -> c_int {
    // SAFETY: as the caller of `execvpe` promises.
    unsafe { exec(&EXECVPE, file, arguments, environment) }
}

/// Hook of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: List) -> c_int {
    // SAFETY: as the caller of `execv` promises.
    unsafe { exec_own(&EXECVE, &EXECV, path, arguments) }
}

/// Hook of the function of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, arguments: List) -> c_int {
    // SAFETY: as the caller of `execvp` promises.
    unsafe { exec_own(&EXECVPE, &EXECVP, file, arguments) }
}
