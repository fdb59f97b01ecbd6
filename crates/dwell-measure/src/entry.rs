//! State that entry stubs and the recorder share: the switch, and a few words of each thread.
//!
//! Stubs are written in assembly, so these have fixed names and layouts. They are defined in assembly too, in
//! `arch`, because Rust's thread-locals go through a function call and Rust has no way to say that a variable has a
//! page of its own.
#![allow(unsafe_code)] // Variables defined in assembly are reached by address.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::arch::{self, PAGE};
use crate::reentrancy::Switch;

/// First field of the state of a thread, by whose address all other modules know the state. Only [`crate::thread`] knows
/// what follows it.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Anchor {
    /// The next in a list of states without a thread.
    pub(crate) next_free: AtomicPtr<Anchor>,
    /// Number of calls of this thread that bypassed their hooks, as the user asked. Stubs count here, without atomic
    /// operations: the thread is alone.
    pub(crate) filtered: AtomicU64,
}

/// Offset of the counter of bypassed calls in the state of a thread, for stubs.
pub const FILTERED: usize = std::mem::offset_of!(Anchor, filtered);

/// Largest value of the word of a thread that stands for its state and is not the address of one, for stubs: see
/// `NOT_RECORDED` in [`crate::thread`].
pub const NO_STATE: usize = 2;

/// Returns the number of bypassed calls of threads that had no state. Stubs count them.
pub(crate) fn filtered_elsewhere() -> u64 {
    // SAFETY: a word that stubs define as zero and only change by atomic additions.
    unsafe { &dwell_filtered }.load(Ordering::Relaxed)
}

/// The words of a thread. A stub stores the second to the fourth before it jumps to its hook.
#[repr(C)]
#[derive(Debug)]
pub struct Words {
    /// The state of this thread, null before its first recorded call.
    pub(crate) location: Cell<*const Anchor>,
    /// Return address of the hooked function: the call site.
    pub(crate) return_address: Cell<usize>,
    /// The stack pointer at the entry of the hooked function. On x86-64 that is where the return address lies.
    pub(crate) stack: Cell<usize>,
    /// The frame pointer of the caller, if it has one; a register like others if not.
    pub(crate) frame: Cell<usize>,
    /// Number of passes through a guard until one is [timed](crate::spent). No stub touches it.
    pub(crate) untimed: Cell<u32>,
}

unsafe extern "C" {
    static dwell_switch: [AtomicU8; 3];
    static dwell_filtered: AtomicU64;
}

/// Returns the words of the calling thread.
#[inline(always)]
pub(crate) fn words() -> &'static Words {
    // SAFETY: this thread's copy of a variable, which lives as long as the thread. Another thread cannot be given it:
    // `Words` is not `Sync`, and no reference is stored.
    unsafe { &*arch::words() }
}

/// Tells the recorder where the next hook of this thread is called from, as entry stubs do; for hooks that are reached
/// another way. `return_address` is the call site, and `frame` the caller's value of the frame pointer register.
///
/// # Safety
/// `stack` is the address of a word on the stack of this thread: on x86-64 the one where the return address lies until
/// the hooked function returns, elsewhere the stack pointer at its entry. It is read later to see whether the call is
/// still open.
pub unsafe fn called_from(return_address: usize, stack: usize, frame: usize) {
    let words = words();
    words.return_address.set(return_address);
    words.stack.set(stack);
    words.frame.set(frame);
}

/// Returns the caller's value of the frame pointer register, for [`called_from`].
///
/// # Safety
/// A function with this return address that keeps a frame pointer has called the caller of this one, and `stack` is
/// what [`called_from`] needs of it.
#[inline(always)]
pub unsafe fn frame_of(return_address: usize, stack: usize) -> usize {
    // SAFETY: as promised.
    unsafe { arch::frame_of(stack, return_address) }
}

/// Returns `true` if this process is recording. It is `false` before the start, after the end, after a failure of the
/// recorder, and in forked children.
#[inline(always)]
pub fn is_on() -> bool {
    switch().is_on()
}

/// Makes entry stubs go to their hooks, or bypass them.
pub(crate) fn turn(on: bool) {
    switch().turn(on);
}

/// Returns the switch that entry stubs read.
#[inline(always)]
pub(crate) fn switch() -> Switch<'static> {
    // SAFETY: defined above, zero at first, and only ever used as atomic bytes.
    Switch(unsafe { &dwell_switch[0] })
}

/// Reasons for which calls are followed, but not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Quiet {
    /// The time window of the recording has not begun, or has ended.
    Window = 1,
    /// The program paused the recording.
    Paused = 2,
    /// The space for events is used up.
    Spent = 4,
}

/// Returns `true` if calls are followed, but not written. No other data depend on these bits, so they need no ordering:
/// a thread that sees them a little late writes a call more.
#[inline(always)]
pub(crate) fn is_quiet() -> bool {
    quiet().load(Ordering::Relaxed) != 0
}

/// Returns `true` if calls are followed, but not written, for this reason.
pub(crate) fn is_quiet_for(why: Quiet) -> bool {
    quiet().load(Ordering::Relaxed) & why as u8 != 0
}

/// Sets or clears a reason for which calls are not written.
pub(crate) fn hush(why: Quiet, yes: bool) {
    if yes {
        quiet().fetch_or(why as u8, Ordering::Release);
    } else {
        quiet().fetch_and(!(why as u8), Ordering::Release);
    }
}

/// Returns the byte with the reasons, on the page of the switch, which every call reads anyway.
fn quiet() -> &'static AtomicU8 {
    // SAFETY: as above.
    unsafe { &dwell_switch[1] }
}

/// Returns `true` if barriers and other collectives over all processes are counted, recorded or not.
#[inline(always)]
pub(crate) fn is_counting() -> bool {
    // The data for comparing clocks were stored before.
    counting().load(Ordering::Acquire) != 0
}

/// Begins or ends to count barriers and other collectives over all processes.
pub(crate) fn count(yes: bool) {
    counting().store(u8::from(yes), Ordering::Release);
}

fn counting() -> &'static AtomicU8 {
    // SAFETY: as above. A forked child takes part in nothing.
    unsafe { &dwell_switch[2] }
}

/// Makes sure that a forked child does not record: it shares the mapped files with its parent.
pub(crate) fn off_in_children() {
    let page = ptr::from_ref(switch().0).cast_mut().cast();
    // SAFETY: the page belongs to the switch alone, and is anonymous memory.
    if unsafe { libc::madvise(page, PAGE, libc::MADV_WIPEONFORK) } != 0 {
        extern "C" fn off() {
            turn(false);
            count(false);
        }
        // SAFETY: the handler stores two bytes. It misses children of a bare `clone`, which is why
        // it is the second choice.
        unsafe { libc::pthread_atfork(None, None, Some(off)) };
    }
}

/// Returns the `errno` of the calling thread.
pub(crate) fn errno() -> i32 {
    // SAFETY: the C library keeps one for every thread, at an address that it returns.
    unsafe { *libc::__errno_location() }
}

/// Sets the `errno` of the calling thread.
pub(crate) fn set_errno(errno: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Runs `action`, which may set `errno`, and restores `errno`, also when `action` panics. The thread is not
/// [cancelled](uncancelled) meanwhile.
#[cold]
#[inline(never)]
pub(crate) fn keeping_errno<T>(action: impl FnOnce() -> T) -> T {
    struct Before(i32);
    impl Drop for Before {
        fn drop(&mut self) {
            set_errno(self.0);
        }
    }
    let _before = Before(errno());
    uncancelled(action)
}

/// Runs `action` with `pthread_cancel` put off until it is over: file operations of the recorder would otherwise end
/// the thread where the program does not expect it, in the middle of the recorder.
pub(crate) fn uncancelled<T>(action: impl FnOnce() -> T) -> T {
    const DISABLE: c_int = 1;
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    struct Before(c_int);
    impl Drop for Before {
        fn drop(&mut self) {
            // SAFETY: a state that the C library has told; it acts on nothing by itself.
            unsafe { pthread_setcancelstate(self.0, ptr::null_mut()) };
        }
    }
    let mut before = 0;
    // SAFETY: a state that the C library knows, and a place for the one before.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
    let _before = Before(before);
    action()
}
