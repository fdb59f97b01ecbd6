//! A stack of the recorder's own, for work that is rare and needs more room than a thread of the program may have.
//!
//! Programs make threads with 16 KiB of stack, and start with `ulimit -s 128`. What the recorder does in every call
//! takes little of that. The start and the end of a recording and the first call of a thread take more, and talk to
//! the file system, so they run on a stack that is mapped for as long as they last.
//!
//! The calling thread stays the same: a runtime that is called from here sees the thread that called it before.
//! Unwinding passes the border, and so do debuggers, since the tables for exceptions describe it.
#![allow(unsafe_code)] // Memory is mapped, and the stack pointer changed.

use std::ffi::c_void;
use std::ptr;

use crate::arch::{PAGE, switch_stack};
use crate::entry;

/// Size of a stack for work that calls no functions of a runtime, such as registering a thread, in bytes. Pages that
/// are not used cost nothing.
pub const FOR_A_THREAD: usize = 2 << 20;
/// Size of a stack for work that calls functions of a runtime, in bytes: as much as most systems give a program.
pub const FOR_A_RUNTIME: usize = 8 << 20;

/// Runs `action` on a stack of `bytes` bytes that is mapped for this call, and returns its result. If no memory can be
/// mapped, `action` runs on the current stack. Cancellation of the thread is put off meanwhile; a panic passes through.
#[cold]
#[inline(never)]
pub fn apart<R>(bytes: usize, action: impl FnOnce() -> R) -> R {
    let action = || entry::uncancelled(action);
    let Some(stack) = Stack::map(bytes) else { return action() };
    let mut task = Task { action: Some(action), result: None };
    // SAFETY: `perform` has the type of the task that it gets, the task outlives the call, and the stack has been mapped
    // for it. Its end is aligned to a page.
    unsafe { switch_stack((&raw mut task).cast(), performer(&task), stack.end()) };
    drop(stack);
    match task {
        Task { result: Some(result), .. } => result,
        // `perform` stores a result, or unwinds and never comes back here.
        _ => unreachable!(),
    }
}

struct Task<A, R> {
    action: Option<A>,
    result: Option<R>,
}

type Perform = unsafe extern "C-unwind" fn(*mut c_void);

/// Returns the function that performs tasks of this type.
fn performer<A: FnOnce() -> R, R>(_: &Task<A, R>) -> Perform {
    perform::<A, R>
}

/// # Safety
/// `task` is a task of this type that is not used elsewhere.
unsafe extern "C-unwind" fn perform<A: FnOnce() -> R, R>(task: *mut c_void) {
    // SAFETY: as promised.
    let task = unsafe { &mut *task.cast::<Task<A, R>>() };
    task.result = task.action.take().map(|action| action());
}

/// A mapped stack with a guard page at its lower end.
struct Stack {
    at: *mut c_void,
    bytes: usize,
}

impl Stack {
    fn map(bytes: usize) -> Option<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, anywhere; nothing that exists is touched.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the first page of the mapping, which is this value's own.
        unsafe { libc::mprotect(at, PAGE, libc::PROT_NONE) };
        Some(Self { at, bytes })
    }

    fn end(&self) -> *mut c_void {
        self.at.wrapping_byte_add(self.bytes)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no code runs on it any more: this runs on another stack, on
        // the way back or when unwinding has left it.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::arch::stack_pointer;

    #[test]
    fn it_is_another_stack_and_the_same_thread() {
        let (here, thread) = (stack_pointer(), std::thread::current().id());
        let mut text = String::from("before");
        let (there, same) = apart(FOR_A_THREAD, || {
            text.push_str(" and after");
            let large = std::hint::black_box([1_u8; FOR_A_THREAD / 16]);
            assert_eq!(large.iter().map(|one| usize::from(*one)).sum::<usize>(), large.len());
            (stack_pointer(), std::thread::current().id() == thread)
        });
        assert!(here.abs_diff(there) > 32 * 1024 && same);
        assert_eq!(text, "before and after");
    }

    #[test]
    fn panics_come_back_from_it() {
        for depth in 0..3 {
            let nested = || apart(FOR_A_THREAD, || assert!(depth == 9, "from within"));
            let caught = catch_unwind(AssertUnwindSafe(|| apart(FOR_A_RUNTIME, nested)));
            let payload = caught.expect_err("it panicked");
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"from within"));
        }
    }
}
