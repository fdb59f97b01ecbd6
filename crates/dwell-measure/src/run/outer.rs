//! Calls that start a runtime around the call that begins the recording.
//!
//! Where one runtime is built on another, `shmem_init` calls `MPI_Init`, which begins the recording. The outer call was
//! entered before, so it is entered in the archive when the recording begins, at the time of which its hook took note, and
//! is left when it returns.
#![allow(unsafe_code)] // A call is kept as a word, and the place of an earlier call on the stack is told to the recorder.

use std::sync::Mutex;

use crate::clock::{self, Sample};
use crate::entry::{self, words};
use crate::guard::{Entry, guarded};
use crate::hook::Hook;
use crate::thread::{Call, enter_at};

/// A call that starts a runtime and has not returned.
#[derive(Clone, Copy, Debug)]
struct Outer {
    hook: &'static Hook,
    began: Sample,
    /// Identifies the thread that made the call: the address of its words.
    thread: usize,
    /// Return address, stack pointer and frame pointer, as the entry stub stored them.
    caller: [usize; 3],
    /// The recorded call as a word; 0 if it was not entered.
    call: usize,
}

static OUTER: Mutex<Vec<Outer>> = Mutex::new(Vec::new());

fn this_thread() -> usize {
    std::ptr::from_ref(words()).addr()
}

/// Must be called in the hook of a function that starts a runtime, before the real function. Returns the time.
pub fn before_start(hook: &'static Hook) -> Sample {
    let began = clock::sample();
    guarded(Entry::Load, || {
        let now = words();
        let caller = [now.return_address.get(), now.stack.get(), now.frame.get()];
        let thread = this_thread();
        let [_, stack, _] = caller;
        if let Ok(mut all) = OUTER.lock() {
            // The stack grows downwards, so a call whose place is not above this one has failed and returned.
            all.retain(|it| it.thread != thread || it.caller[1] > stack);
            all.push(Outer { hook, began, thread, caller, call: 0 });
        }
    });
    began
}

/// Enters the calls around the one with this hook, which begins the recording.
pub(super) fn enter(hook: &'static Hook) {
    let thread = this_thread();
    let Ok(mut all) = OUTER.lock() else { return };
    let is_outer = |it: &&mut Outer| it.thread == thread && it.hook.layer != hook.layer;
    for outer in all.iter_mut().filter(is_outer) {
        let now = words();
        let before = [now.return_address.get(), now.stack.get(), now.frame.get()];
        let [return_address, stack, frame] = outer.caller;
        // SAFETY: the outer call has not returned, so its place on the stack is in use.
        unsafe { entry::called_from(return_address, stack, frame) };
        let began = outer.began.skewed();
        let entered = enter_at(outer.hook, |thread| thread.process.clock.of(began));
        if let Some(thread) = entered {
            outer.call = thread.entered().into_word().expose_provenance();
        }
        let [return_address, stack, frame] = before;
        // SAFETY: as the entry stub of the inner call stored them.
        unsafe { entry::called_from(return_address, stack, frame) };
    }
}

/// Ends the call with this hook, after the real function has returned. Returns `true` if it had been entered and is left
/// now.
pub(super) fn leave(hook: &'static Hook) -> bool {
    let thread = this_thread();
    let Ok(mut all) = OUTER.lock() else { return false };
    let is = |it: &Outer| it.thread == thread && std::ptr::eq(it.hook, hook);
    let Some(at) = all.iter().rposition(is) else { return false };
    let Some(outer) = all.drain(at..).next() else { return false };
    drop(all);
    // SAFETY: the word came from `into_word` and was taken out of the list, so it is used once.
    let Some(call) =
        (unsafe { Call::from_word(std::ptr::with_exposed_provenance_mut(outer.call)) })
    else {
        return false;
    };
    if let Some(mut thread) = call.returned() {
        let now = thread.now();
        thread.leave(now);
    }
    true
}
