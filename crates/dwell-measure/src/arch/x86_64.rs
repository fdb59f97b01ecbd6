//! x86-64 with the System V calling convention.
#![allow(unsafe_code)] // Registers are read, and the stack pointer is changed.

use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

use gimli::{CfaRule, Register, RegisterRule, UnwindContextStorage, UnwindTableRow, Vendor};

use super::{Place, words_of};
use crate::entry::Words;

/// Largest size of a page, in bytes.
pub(crate) const PAGE: usize = 4096;

std::arch::global_asm!(
    // Initial-exec: two instructions from a library that is loaded with the program.
    ".pushsection .tbss.dwell_words,\"awT\",@nobits",
    ".balign 8",
    ".globl dwell_words",
    ".hidden dwell_words",
    ".type dwell_words,@object",
    ".size dwell_words,40",
    "dwell_words: .zero 40",
    ".popsection",
    // The number of bypassed calls of threads that have no state.
    ".pushsection .bss.dwell_filtered,\"aw\",@nobits",
    ".balign 8",
    ".globl dwell_filtered",
    ".hidden dwell_filtered",
    ".type dwell_filtered,@object",
    ".size dwell_filtered,8",
    "dwell_filtered: .zero 8",
    ".popsection",
    // A page of its own, which the kernel wipes in a forked child: there recording is off.
    ".pushsection .bss.dwell_switch,\"aw\",@nobits",
    ".balign 4096",
    ".globl dwell_switch",
    ".hidden dwell_switch",
    ".type dwell_switch,@object",
    ".size dwell_switch,4096",
    "dwell_switch: .zero 4096",
    ".popsection",
);

/// Returns the address of the words of the calling thread.
#[inline(always)]
pub(crate) fn words() -> *const Words {
    let at: *const Words;
    // SAFETY: only computes the address of this thread's copy of a variable that is defined above.
    unsafe {
        std::arch::asm!(
            "mov {at}, qword ptr [rip + dwell_words@GOTTPOFF]",
            "add {at}, qword ptr fs:[0]",
            at = out(reg) at,
            options(pure, readonly, nostack),
        );
    }
    at
}

/// Returns the stack pointer, somewhere in the calling function.
#[inline(always)]
pub(crate) fn stack_pointer() -> usize {
    let at: usize;
    // SAFETY: only reads a register.
    unsafe { std::arch::asm!("mov {at}, rsp", at = out(reg) at, options(nomem, nostack)) };
    at
}

/// Stores the stack pointer. The compiler moves no access to memory across this.
#[inline(always)]
pub(crate) fn store_stack_pointer(to: &AtomicUsize) {
    // SAFETY: stores a word to where one is, in one instruction, as `AtomicUsize::store` does; without it the
    // register would be copied first.
    unsafe {
        std::arch::asm!("mov qword ptr [{to}], rsp", to = in(reg) to.as_ptr(), options(nostack, preserves_flags));
    };
}

/// Calls `perform` with `task` on the stack that ends at `end`.
///
/// # Safety
/// `perform` can be called with `task`; below `end`, which is aligned to 16 bytes, there is an unused stack.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn switch_stack(
    task: *mut c_void,
    perform: unsafe extern "C-unwind" fn(*mut c_void),
    end: *mut c_void,
) {
    // The frame pointer leads back to the caller, here and in the tables for exceptions.
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// Reads the time stamp counter.
#[inline(always)]
pub(crate) fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and it reads a register only.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Reads the counter between two readings of another clock. The system's clock waits for earlier instructions itself
/// before it reads the counter, so this one can be read as always.
pub(crate) fn counter_in_order() -> u64 {
    counter()
}

/// Returns `true` if the counter runs at a constant rate in all power states and never stops: the processor states it.
pub(crate) fn is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

/// Returns the longest time in nanoseconds that a tick of the counter may take. Time stamp counters run at more than
/// 1 GHz wherever they are invariant.
pub(crate) fn tick() -> u64 {
    1
}

/// Returns the place of the return address on the stack, from what an entry stub stored.
#[inline(always)]
pub(crate) fn return_place(stack: usize, _: usize) -> usize {
    stack
}

/// Returns the stack pointer after the return from a hooked function: behind the return address.
#[inline(always)]
pub(crate) fn stack_after_return(stack: usize) -> usize {
    stack.wrapping_add(8)
}

/// Returns the caller's frame pointer, as a function stored it that keeps one and whose return address is at `stack`.
///
/// # Safety
/// `stack` is the place of the return address of a function that has set up a frame and has not returned.
#[inline(always)]
pub(crate) unsafe fn frame_of(stack: usize, _: usize) -> usize {
    // SAFETY: as promised; the frame pointer is stored right below the return address.
    unsafe { (stack as *const usize).sub(1).read() }
}

/// Rule by which a frame is left, in one number.
///
/// | bits | meaning |
/// |---|---|
/// | 31 | the walk ends here: see [`STOP`](crate::unwind) |
/// | 30 | the end is counted from the frame pointer, not from the stack pointer |
/// | 8 … 29 | number of words from there to the end |
/// | 0 … 7 | number of words before the end at which the frame pointer was stored; 0 if it was not |
const FROM_FRAME: u32 = 1 << 30;
const FURTHEST: u32 = (1 << 22) - 1;
const STORED: u32 = 0xff;

/// Whose extensions the tables for exceptions use.
pub(crate) const TABLES: Vendor = Vendor::Default;

/// Makes the rule from a row of the tables for exceptions. Returns `None` if no rule can express it.
pub(crate) fn rule<S>(row: &UnwindTableRow<usize, S>) -> Option<u32>
where
    S: UnwindContextStorage<usize>,
{
    const FRAME: Register = Register(6);
    const STACK: Register = Register(7);
    const RETURN: Register = Register(16);
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
    let from = match register {
        STACK => 0,
        FRAME => FROM_FRAME,
        _ => return None,
    };
    if row.register(RETURN) != Some(RegisterRule::Offset(-8)) {
        return None;
    }
    let stored = match row.register(FRAME) {
        None | Some(RegisterRule::SameValue) => 0,
        Some(RegisterRule::Offset(offset)) => words_of(-offset, STORED)?,
        _ => return None,
    };
    Some(from | words_of(offset, FURTHEST)? << 8 | stored)
}

/// Leaves a frame by its rule. `read` returns a word of the stack, or `None` where it cannot be read.
#[inline]
pub(crate) fn leave(
    rule: u32,
    Place { stack, frame, .. }: Place,
    read: impl Fn(usize) -> Option<usize>,
) -> Option<Place> {
    let base = if rule & FROM_FRAME != 0 { frame } else { stack };
    let end = base.checked_add((rule >> 8 & FURTHEST) as usize * 8)?;
    let address = read(end.checked_sub(8)?)?;
    let frame = match (rule & STORED) as usize {
        0 => frame,
        before => read(end.checked_sub(8 * before)?)?,
    };
    Some(Place { address, stack: end, frame })
}

/// Returns a return address from the stack as it is: they are not signed here.
#[inline(always)]
pub(crate) fn plain(address: usize) -> usize {
    address
}
