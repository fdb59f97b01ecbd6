//! The fault wall: a panic of the recorder ends the recording, never the program.
//!
//! Whatever the program enters the recorder through is wrapped in [`guarded`]. A panic behind it switches the
//! recording of the process off, keeps the first reason, and returns `None`; the program continues as it would
//! without Dwell.
//!
//! # Invariants
//! * A guard is around recording only. The function that the program called runs outside of every guard, so
//!   that C++ exceptions, `pthread_exit` and cancellation pass through hooks as they came.
//! * A guard is placed in a Rust function below the stubs in assembly and below functions that C calls, so that
//!   unwinding ends before it meets a frame that it cannot leave.
//! * What unwinding leaves behind can be used by others: a thread is no longer [busy](crate::thread), locks are
//!   released, `errno` is what it was when the panic began.
//! * Whatever the recorder does behind a guard that could act on `pthread_cancel` runs with cancellation put off
//!   ([`entry`]), because a thread must not end inside a guard.
//! * The start and the end of a recording consist of steps that all processes take together. Those that
//!   concern one process alone have guards of their own: a process in which one of them fails takes part
//!   in all others.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::arch;
use crate::entry;
pub use crate::faults::Entry;
use crate::faults::pass;
use crate::process::{self, Failure};
use crate::spent;
use crate::stack;
use crate::text::Text;

/// Runs a part of the recorder behind the wall. Returns `None` if it panicked: then the recording of this process is
/// over, and the program continues. In test builds `entry` names the place at which a panic can be requested.
#[inline(always)]
pub fn guarded<T>(entry: Entry, action: impl FnOnce() -> T) -> Option<T> {
    walled(move || {
        pass(entry);
        let is_hook = matches!(entry, Entry::Before | Entry::After | Entry::User);
        let began = if is_hook { spent::begin() } else { 0 };
        let result = action();
        spent::end(began);
        result
    })
}

/// Runs a part of the recorder behind the wall, as [`guarded`] does, without a place for requested panics. It is for
/// work that consists of guarded parts.
#[inline(always)]
pub fn walled<T>(action: impl FnOnce() -> T) -> Option<T> {
    // A panic ends the recording, so data that it leaves incomplete are not used again.
    match panic::catch_unwind(AssertUnwindSafe(action)) {
        Ok(result) => Some(result),
        Err(payload) => {
            caught(payload, arch::stack_pointer());
            None
        }
    }
}

/// Runs a part of the recorder behind the wall, as [`guarded`] does. `None` means either that it panicked or that it
/// had nothing to return.
#[inline(always)]
pub fn guarded_option<T>(entry: Entry, action: impl FnOnce() -> Option<T>) -> Option<T> {
    guarded(entry, action).flatten()
}

/// Runs a part of the recorder behind the wall, as [`guarded`] does, on a stack of the recorder's own. It is for work
/// that is rare, needs room, or calls functions of a runtime.
#[cold]
#[inline(never)]
pub fn guarded_apart(entry: Entry, action: impl FnOnce()) {
    guarded(entry, || stack::apart(stack::FOR_A_RUNTIME, action));
}

/// Runs work that consists of [`guarded`] parts behind the wall, on a stack of the recorder's own. A panic between the
/// parts ends the recording, as in [`walled`].
#[cold]
#[inline(never)]
pub fn walled_apart(action: impl FnOnce()) {
    walled(|| stack::apart(stack::FOR_A_RUNTIME, action));
}

/// Returns the message of the first panic of the recorder, with its place in the source; `None` if it never panicked.
/// The text is at most 255 bytes long.
pub fn reason() -> Option<&'static str> {
    REASON.get().map(Text::as_str)
}

/// Returns the message of the first panic as an error, for the other processes and the user. Without one it says only
/// that there was an internal error.
pub fn error() -> io::Error {
    io::Error::other(reason().unwrap_or("internal error"))
}

/// Ends the recording because there is no memory for the recorder. The allocator calls it, so it neither allocates nor
/// waits for anything. What was recorded stays in its files, for `dwell recover`.
#[cold]
pub fn out_of_memory() {
    if NO_MEMORY.swap(true, Ordering::Relaxed) {
        return;
    }
    entry::turn(false);
    if let Some(process) = process::current().filter(|process| process.is_this()) {
        process.head.loses_calls_uncounted();
    }
}

/// Fails if the recorder has been [out of memory](out_of_memory), so that it should not begin anything.
///
/// # Errors
/// That there is no memory.
pub(crate) fn check_memory() -> io::Result<()> {
    match NO_MEMORY.load(Ordering::Relaxed) {
        true => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
        false => Ok(()),
    }
}

static NO_MEMORY: AtomicBool = AtomicBool::new(false);

/// Makes panics of this copy of the standard library silent, and keeps the place of the first one. Only for
/// `libdwell.so`, whose copy is its own: a measured program that is written in Rust has another one.
pub fn keep_panics_silent() {
    panic::set_hook(Box::new(note));
}

/// Sets the function that releases the state of a thread which panicked while it used that state. Its argument is the
/// stack pointer of the function that caught the panic. The first call counts: threads set it before the first of them
/// has a state.
pub(crate) fn after_panic(abandon: fn(usize)) {
    let _ = ABANDON.set(abandon);
}

static ABANDON: OnceLock<fn(usize)> = OnceLock::new();
static REASON: OnceLock<Text<256>> = OnceLock::new();

thread_local! {
    /// Value of `errno` when the panic began.
    static ERRNO: Cell<Option<i32>> = const { Cell::new(None) };
}

/// Keeps the message and the place of a panic, and `errno`, for the end of the run. This is the panic hook of the
/// recorder: it runs before the stack is unwound.
fn note(info: &PanicHookInfo<'_>) {
    ERRNO.set(Some(entry::errno()));
    let message = info.payload_as_str().unwrap_or("no message");
    let mut text = Text::default();
    text.format(format_args!("internal error, please report it: {message}"));
    if let Some(place) = info.location() {
        text.format(format_args!(" ({}:{})", place.file(), place.line()));
    }
    let _ = REASON.set(text);
}

/// Ends the recording because of a panic that the function with this stack pointer has caught.
#[cold]
#[inline(never)]
fn caught(payload: Box<dyn Any + Send>, guard: usize) {
    entry::turn(false);
    if let Some(abandon) = ABANDON.get() {
        abandon(guard);
    }
    // A second panic has nothing to add.
    let _ = panic::catch_unwind(AssertUnwindSafe(|| {
        let reason = REASON.get_or_init(|| {
            let mut text = Text::default();
            let message = payload.downcast_ref::<&str>().copied();
            let message = message.or(payload.downcast_ref::<String>().map(String::as_str));
            text.format(format_args!("internal error, please report it: "));
            text.format(format_args!("{}", message.unwrap_or("no message")));
            text
        });
        if let Some(process) = process::current().filter(|process| process.is_this()) {
            process.stop(Failure { what: reason.as_str(), errno: 0 });
        }
    }));
    // To drop it could panic once more.
    std::mem::forget(payload);
    if let Some(errno) = ERRNO.take() {
        entry::set_errno(errno);
    }
}
