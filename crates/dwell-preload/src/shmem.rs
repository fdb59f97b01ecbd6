//! OpenSHMEM: its hooks, and messages of the recorder.
//!
//! The recorder needs five things of a runtime: rank, size, send, receive, and its name and version. OpenSHMEM has no
//! send and receive; they are built on a [mailbox](mailbox) in symmetric memory.
//!
//! A process may end its part in OpenSHMEM by returning from `main` or by `exit`, while others call `shmem_finalize`:
//! an exit handler of the runtime then finalises it. The recorder registers an exit handler too, which runs before that
//! of the runtime.

mod mailbox;

use core::ffi::{c_char, c_int};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use dwell_measure::call::{Past, begin, end, end_read, end_transfer, read, transfer};
use dwell_measure::clock::Sample;
use dwell_measure::clock_rendezvous;
use dwell_measure::control::{after_level, before_level};
use dwell_measure::counters::Wanted;
use dwell_measure::entry::is_on;
use dwell_measure::guard;
use dwell_measure::hook::{
    Address, Bytes, CallArgs, Context, Hook, Made, Passed, Rank, Transfer, Who,
};
use dwell_measure::run::{self, Ending, Runtime, before_start};
use dwell_measure::thread;
use dwell_measure::word::Seen;
use dwell_model::layer::Layer;

use crate::entry::{Entry, park};
use mailbox::Mailbox;

pub(crate) use hooks::ENTRIES;

/// Hooks that `build/` generates from the table.
#[allow(unused_parens, clippy::all, clippy::pedantic)]
// A vector stands for a `long double` where both are passed in the same registers.
#[allow(improper_ctypes_definitions)]
mod hooks {
    use super::{
        Address, Bytes, CallArgs, Context, Entry, Made, Passed, Rank, Seen, Transfer, Who,
        after_level, after_meeting, before_level, before_meeting, before_start, begin, end,
        end_read, end_transfer, finish, guard, is_on, park, read, start, transfer,
    };

    include!(concat!(env!("OUT_DIR"), "/shmem.rs"));
}

/// Begins the recording after the runtime was initialised.
fn start(hook: &'static Hook, began: Sample) {
    run::start(hook, Past { enter: began, leave: None }, Mailbox::open, about);
    // Handlers run in the reverse order of their registration, so this one finds a runtime that still works.
    if STARTED_BY.swap(std::process::id(), Ordering::Relaxed) == 0 {
        // SAFETY: the handler takes no arguments, and the library is never unloaded.
        unsafe { libc::atexit(at_exit) };
    }
}

/// Process that registered [`at_exit`]; 0 before any has. Forked children inherit the handler.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

/// Takes part in the end of the recording when a process ends by `exit` or by returning from `main`.
extern "C" fn at_exit() {
    let is_child = STARTED_BY.load(Ordering::Relaxed) != std::process::id();
    // A process that exits inside a call of the runtime, such as shmem_global_exit, cannot make others.
    if is_child || guard::walled(|| thread::is_inside(Layer::Shmem)) != Some(false) {
        return;
    }
    guard::walled_apart(finish_at_exit);
}

fn finish_at_exit() {
    let Ok(entry) = entry("shmem_finalize") else { return };
    // The exit is recorded as a call of shmem_finalize, which the runtime makes of it too. No line of the program made
    // that call, so it has no return address; what stands for one lies on the stack while the handler runs.
    let no_site = 0_usize;
    // SAFETY: the address is on the stack of this thread and stays in use until the call has been recorded.
    unsafe { dwell_measure::entry::called_from(no_site, (&raw const no_site).addr(), 0) };
    run::finish(&entry.hook, Ending::Alone, Mailbox::open);
}

/// Ends the recording before the runtime is finalised.
fn finish(hook: &'static Hook) {
    run::finish(hook, Ending::Collective, Mailbox::open);
}

/// Counts a barrier over all processes before it is entered. Returns `None` if clocks are not compared in this run.
fn before_meeting(hook: &'static Hook) -> Option<u64> {
    clock_rendezvous::before(hook.layer)
}

/// Compares clocks after a barrier over all processes. `before` is the number of such barriers before it.
fn after_meeting(before: u64) {
    clock_rendezvous::after(Layer::Shmem, before, Mailbox::open);
}

/// Looks up a real function by its name, as a pointer of the given type.
macro_rules! real {
    ($name:literal: fn($($of:ty),*) $(-> $returns:ty)?) => {{
        type Real = unsafe extern "C-unwind" fn($($of),*) $(-> $returns)?;
        $crate::shmem::real_function($name)
            // SAFETY: the function of this name has this signature, says the standard.
            .map(|at| unsafe { core::mem::transmute::<*mut (), Real>(at) })
    }};
}

use real;

fn real_function(name: &'static str) -> io::Result<*mut ()> {
    let absent = || io::Error::other(format!("this OpenSHMEM has no {name}"));
    entry(name)?.real().ok_or_else(absent)
}

/// Returns the entry of a function of the table.
fn entry(name: &'static str) -> io::Result<&'static Entry> {
    let found = ENTRIES.binary_search_by(|entry| entry.hook.row.name().cmp(name)).ok();
    let found = found.and_then(|index| ENTRIES.get(index));
    found.ok_or_else(|| io::Error::other(format!("{name} is no function of OpenSHMEM")))
}

/// Returns name, version and thread level of the runtime, for the properties of the archive.
fn about(wanted: &Wanted) -> Runtime {
    let mut runtime = Runtime::default();
    if !wanted.variables.is_empty() {
        let text = "performance variables are not recorded: OpenSHMEM has none";
        runtime.complaints.push(text.into());
    }
    if let Ok(name) = real!("shmem_info_get_name": fn(*mut c_char)) {
        let mut text = [0_u8; 256]; // SHMEM_MAX_NAME_LEN is at least this in the standard's examples.
        // SAFETY: every implementation has names no longer than 256.
        unsafe { name(text.as_mut_ptr().cast()) };
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        runtime.name = String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned();
    }
    if let Some(version) = open_mpi_version() {
        runtime.name = format!("Open MPI {version}");
    }
    if let Ok(version) = real!("shmem_info_get_version": fn(*mut c_int, *mut c_int)) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are valid for writing.
        unsafe { version(&raw mut major, &raw mut minor) };
        runtime.interface = format!("OpenSHMEM {major}.{minor}");
    }
    if let Ok(query) = real!("shmem_query_thread": fn(*mut c_int)) {
        let mut level = 0;
        // SAFETY: valid for writing.
        unsafe { query(&raw mut level) };
        let names = ["single", "funneled", "serialized", "multiple"];
        runtime.threads = names.get(level as usize).copied().unwrap_or("unknown").into();
    }
    runtime
}

/// Returns the version of Open MPI, whose OpenSHMEM gives the address of a web page as its name.
fn open_mpi_version() -> Option<String> {
    // SAFETY: the name ends in zero. The variable is an array of characters in every version that has
    // it, ended by zero.
    let text = unsafe {
        let at = libc::dlsym(libc::RTLD_DEFAULT, c"opal_version_string".as_ptr());
        (!at.is_null()).then(|| core::ffi::CStr::from_ptr(at.cast()))?
    };
    text.to_str().ok().filter(|text| text.len() < 64).map(str::to_owned)
}
