//! The memory that a step of a test takes, for tests of readers that must stay within a bound whatever the bytes.
//!
//! A test program that includes this module counts all its allocations, by thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the live bytes of the current thread, and their maximum.
struct Counting;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

fn count(change: impl FnOnce(usize) -> usize) {
    // A thread that is ending has no counters any more: nothing to count then.
    let _ = LIVE.try_with(|live| {
        live.set(change(live.get()));
        let _ = MOST.try_with(|most| most.set(most.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system allocator unchanged; counting allocates nothing.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|live| live.wrapping_add(layout.size()));
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(|live| live.wrapping_sub(layout.size()));
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a step, and returns its result and the most bytes by which the live memory of this thread grew meanwhile.
pub(crate) fn grown<T>(step: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    MOST.set(before);
    let result = step();
    (result, MOST.get().saturating_sub(before))
}
