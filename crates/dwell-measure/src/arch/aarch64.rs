//! AArch64 with the procedure call standard of Arm (AAPCS64).
//!
//! A function gets its return address in a register, `x30`, and stores it where it likes. A function that calls others
//! has a *frame record*, to which `x29` points: the `x29` of its caller, and its return address. So frame records form a
//! list, which code of Rust on Linux always keeps (its target says "frame-pointer": "non-leaf"), and which hooks use to
//! find where they have stored their return address.
#![allow(unsafe_code)] // Registers are read, the stack pointer is changed, and frame records are read by address.

use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

use gimli::{
    CfaRule, Register, RegisterRule, UnwindContextStorage, UnwindExpression, UnwindTableRow, Vendor,
};

use super::{Place, words_of};
use crate::entry::Words;

/// Largest size of a page, in bytes. Kernels have pages of 4, 16 or 64 KiB; the last is common on large machines.
pub(crate) const PAGE: usize = 65536;

std::arch::global_asm!(
    // Initial-exec: the offset is in the table of addresses of a library that is loaded with the program.
    ".pushsection .tbss.dwell_words,\"awT\",%nobits",
    ".balign 8",
    ".globl dwell_words",
    ".hidden dwell_words",
    ".type dwell_words,%object",
    ".size dwell_words,40",
    "dwell_words: .zero 40",
    ".popsection",
    // The number of bypassed calls of threads that have no state.
    ".pushsection .bss.dwell_filtered,\"aw\",%nobits",
    ".balign 8",
    ".globl dwell_filtered",
    ".hidden dwell_filtered",
    ".type dwell_filtered,%object",
    ".size dwell_filtered,8",
    "dwell_filtered: .zero 8",
    ".popsection",
    // A page of its own, however large, which the kernel wipes in a forked child: there recording is off.
    ".pushsection .bss.dwell_switch,\"aw\",%nobits",
    ".balign 65536",
    ".globl dwell_switch",
    ".hidden dwell_switch",
    ".type dwell_switch,%object",
    ".size dwell_switch,65536",
    "dwell_switch: .zero 65536",
    ".popsection",
);

/// Returns the address of the words of the calling thread.
#[inline(always)]
pub(crate) fn words() -> *const Words {
    let at: *const Words;
    // SAFETY: only computes the address of this thread's copy of a variable that is defined above.
    unsafe {
        std::arch::asm!(
            "adrp {offset}, :gottprel:dwell_words",
            "ldr {offset}, [{offset}, :gottprel_lo12:dwell_words]",
            "mrs {at}, tpidr_el0",
            "add {at}, {at}, {offset}",
            at = out(reg) at,
            offset = out(reg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    at
}

/// Returns the stack pointer, somewhere in the calling function.
#[inline(always)]
pub(crate) fn stack_pointer() -> usize {
    let at: usize;
    // SAFETY: only reads a register.
    unsafe {
        std::arch::asm!("mov {at}, sp", at = out(reg) at, options(nomem, nostack, preserves_flags))
    };
    at
}

/// Stores the stack pointer. The compiler moves no access to memory across this. The processor may: see
/// [`reentrancy`](crate::reentrancy), whose protocol allows for it.
#[inline(always)]
pub(crate) fn store_stack_pointer(to: &AtomicUsize) {
    // SAFETY: stores a word to where one is, in one instruction, as a relaxed `AtomicUsize::store` does.
    unsafe {
        std::arch::asm!(
            "mov {at}, sp",
            "str {at}, [{to}]",
            at = out(reg) _,
            to = in(reg) to.as_ptr(),
            options(nostack, preserves_flags),
        );
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
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov sp, x2",
        "blr x1",
        "mov sp, x29",
        ".cfi_def_cfa_register sp",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}

/// Reads the virtual counter. The processor may reorder the read by a few instructions, which is less than the time of
/// a call. An instruction barrier would prevent that, but it costs more time than it corrects. The time stamp counter of
/// x86-64 is read in the same way.
#[inline(always)]
pub(crate) fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets every process read this register.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
    };
    ticks
}

/// Reads the counter between two readings of another clock. Without the barrier (`isb`), which waits for all earlier
/// instructions, the processor could read this counter before the other clock although it comes after it, and the
/// distance between both readings would be taken for shorter than it was.
pub(crate) fn counter_in_order() -> u64 {
    let ticks: u64;
    // SAFETY: as above. The compiler keeps it in order with other reads of clocks, which it takes for side effects.
    unsafe {
        std::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

/// Returns `true` if the counter runs at a constant rate in all power states and never stops: the architecture says so.
pub(crate) fn is_invariant() -> bool {
    true
}

/// Returns the longest time in nanoseconds that a tick of the counter may take: 40 ns at 25 MHz, 1 ns at 1 GHz.
pub(crate) fn tick() -> u64 {
    let hertz: u64;
    // SAFETY: Linux lets every process read this register.
    unsafe {
        std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nomem, nostack, preserves_flags))
    };
    // Firmware that forgot to set it leaves 0. The slowest counter that is used has 1 MHz.
    if hertz == 0 { 1000 } else { 1_000_000_000_u64.div_ceil(hertz).min(1000) }
}

/// Longest list of frame records between a hook and the recorder. Most lists have two; those of the start and the end of
/// a recording are longer.
const RECORDS: usize = 64;
/// Largest distance from the stack pointer at the entry of a hook to frame records of that hook and of those that it
/// calls on the same stack, in bytes.
const NEAR: usize = 64 * 1024;

/// Finds the place of the return address on the stack, from what an entry stub stored: the stack pointer before the hook
/// has set up its frame. That place is in the frame record of the hook. If no record has the return address, as after a
/// call that no stub has seen, the result is `stack`.
#[inline(always)]
pub(crate) fn return_place(stack: usize, return_address: usize) -> usize {
    record(stack, return_address).map_or(stack, |record| record + 8)
}

/// Returns the address of the frame record of the function that was entered with this stack pointer and return address.
#[inline(always)]
fn record(stack: usize, return_address: usize) -> Option<usize> {
    let mut at: usize;
    // SAFETY: only reads a register. That `x30` counts as changed makes the compiler set up the frame record of this
    // function before, so that the register is never one of the program's.
    unsafe {
        std::arch::asm!("mov {at}, x29", at = out(reg) at, out("x30") _, options(nomem, nostack, preserves_flags));
    };
    // A call that no line of the program made has no record: the list would lead into foreign functions.
    if return_address == 0 {
        return None;
    }
    for _ in 0..RECORDS {
        // SAFETY: records of functions between the hook and here, which keep them and have not returned.
        let [next, returns_to] = unsafe { (at as *const [usize; 2]).read() };
        if returns_to == return_address || plain(returns_to) == return_address {
            return Some(at);
        }
        // Each is below the next, except where one stack ends and another begins (`switch_stack`). The hook's is the last
        // below the stack pointer at its entry.
        let is_next = next > at && (next < stack || at >= stack);
        let is_back = next < stack && stack - next < NEAR;
        if !(is_next || is_back) {
            break;
        }
        at = next;
    }
    None
}

/// Returns the stack pointer after the return from a hooked function: as it was at its entry.
#[inline(always)]
pub(crate) fn stack_after_return(stack: usize) -> usize {
    stack
}

/// Returns the caller's frame pointer, as a function stored it that keeps one, and that was entered with this stack
/// pointer and return address; 0 if it cannot be found.
///
/// # Safety
/// The function has not returned, and only functions of Rust have been called since.
#[inline(always)]
pub(crate) unsafe fn frame_of(stack: usize, return_address: usize) -> usize {
    // SAFETY: the record is that of a function that has not returned.
    record(stack, return_address).map_or(0, |record| unsafe { (record as *const usize).read() })
}

/// Rule by which a frame is left, in one number. Compilers store the return address near the end of the frame (LLVM) or
/// near its beginning (GCC), and the frame pointer right before it if they store it.
///
/// | bits | meaning |
/// |---|---|
/// | 31 | the walk ends here: see [`STOP`](crate::unwind) |
/// | 30 | the end is counted from the frame pointer, not from the stack pointer |
/// | 29 | the return address is counted from there, too, and otherwise backwards from the end |
/// | 28 | the frame pointer was stored right before the return address |
/// | 20 … 27 | number of words to the return address |
/// | 0 … 19 | number of words to the end |
const FROM_FRAME: u32 = 1 << 30;
const NEAR_BASE: u32 = 1 << 29;
const STORED: u32 = 1 << 28;
const FURTHEST: u32 = (1 << 20) - 1;
const RETURN_AT: u32 = 0xff;

/// Whose extensions the tables for exceptions use: that return addresses are signed, for one.
pub(crate) const TABLES: Vendor = Vendor::AArch64;

/// Returns the place at which a signal has interrupted a thread.
///
/// # Safety
/// `context` is what the kernel passed to the handler.
pub(crate) unsafe fn interrupted(context: *const libc::ucontext_t) -> Place {
    // SAFETY: as promised.
    let registers = unsafe { &(*context).uc_mcontext };
    let frame = registers.regs.get(29).map_or(0, |it| *it as usize);
    Place { address: registers.pc as usize, stack: registers.sp as usize, frame }
}

/// Register of the return address.
pub(crate) const RETURN: Register = Register(30);

/// Makes the rule from a row of the tables for exceptions. Returns `None` if no rule can express it. Expressions are not
/// known here.
pub(crate) fn rule<'a, S>(
    row: &UnwindTableRow<usize, S>,
    _: impl Fn(UnwindExpression<usize>) -> Option<&'a [u8]>,
) -> Option<u32>
where
    S: UnwindContextStorage<usize>,
{
    const FRAME: Register = Register(29);
    const STACK: Register = Register(31);
    let CfaRule::RegisterAndOffset { register, offset: length } = *row.cfa() else { return None };
    let from = match register {
        STACK => 0,
        FRAME => FROM_FRAME,
        _ => return None,
    };
    // A function that has called another one has stored it.
    let Some(RegisterRule::Offset(returns)) = row.register(RETURN) else { return None };
    let stored = match row.register(FRAME) {
        None | Some(RegisterRule::SameValue) => 0,
        Some(RegisterRule::Offset(frame)) if frame == returns - 8 => STORED,
        _ => return None,
    };
    let place = match words_of(-returns, RETURN_AT) {
        Some(before) => before,
        None => words_of(length + returns, RETURN_AT).map(|after| after | NEAR_BASE >> 20)?,
    };
    Some(from | stored | place << 20 | words_of(length, FURTHEST)?)
}

/// Returns `true` if a rule counts from the frame pointer.
pub(crate) fn is_from_frame(rule: u32) -> bool {
    rule & FROM_FRAME != 0
}

/// Leaves a frame by its rule. `read` returns a word of the stack, or `None` where it cannot be read.
#[inline]
pub(crate) fn leave(
    rule: u32,
    Place { stack, frame, .. }: Place,
    read: impl Fn(usize) -> Option<usize>,
) -> Option<Place> {
    let base = if rule & FROM_FRAME != 0 { frame } else { stack };
    let end = base.checked_add((rule & FURTHEST) as usize * 8)?;
    let words = (rule >> 20 & RETURN_AT) as usize * 8;
    let at = if rule & NEAR_BASE != 0 { base.checked_add(words)? } else { end.checked_sub(words)? };
    let address = plain(read(at)?);
    let frame = if rule & STORED != 0 { read(at.checked_sub(8)?)? } else { frame };
    Some(Place { address, stack: end, frame })
}

/// Returns a return address from the stack without its signature (pointer authentication): distributions build programs
/// so that return addresses on the stack are signed. The instruction does nothing on processors that do not sign.
#[inline]
pub(crate) fn plain(mut address: usize) -> usize {
    // SAFETY: changes one register. By its number, `hint #7` is `xpaclri`, for assemblers that do not know it.
    unsafe {
        std::arch::asm!("hint #7", inout("x30") address, options(nomem, nostack, preserves_flags))
    };
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_both_kinds_are_left() {
        // Each word of the stack is its own address, so that the result says what was read.
        let leave = |rule| leave(rule, Place { address: 0, stack: 4096, frame: 8192 }, Some);
        // GCC: 40 words, with the frame record at the stack pointer.
        let found = leave(STORED | NEAR_BASE | 1 << 20 | 40);
        assert_eq!(found, Some(Place { address: 4104, stack: 4416, frame: 4096 }));
        // LLVM: the end is four words after the frame pointer, and the record is there.
        let found = leave(FROM_FRAME | STORED | 3 << 20 | 4);
        assert_eq!(found, Some(Place { address: 8200, stack: 8224, frame: 8192 }));
        // Without a frame pointer: the register belongs to the caller.
        let found = leave(2 << 20 | 6);
        assert_eq!(found, Some(Place { address: 4128, stack: 4144, frame: 8192 }));
    }

    #[test]
    fn signatures_are_removed() {
        let address = signatures_are_removed as fn() as usize + 8;
        let mut signed = address;
        // SAFETY: changes one register. `hint #25` is `paciasp`, which does nothing on processors that do not sign.
        unsafe { std::arch::asm!("hint #25", inout("x30") signed, options(nomem, nostack)) };
        assert_eq!(plain(signed), address);
        assert_eq!(plain(address), address);
    }

    #[test]
    fn a_function_finds_its_return_address() {
        /// Returns where its return address is, as a hook would find it; 0 if something else is there.
        #[inline(never)]
        extern "C" fn hook(stack: usize, return_address: usize) -> usize {
            let place = return_place(stack, return_address);
            // A call makes it a function that stores its return address.
            std::thread::yield_now();
            // SAFETY: a word of this thread's stack.
            let word = unsafe { std::ptr::read_volatile(place as *const usize) };
            if word == return_address { place } else { 0 }
        }
        let (place, stack): (usize, usize);
        // SAFETY: a call with the arguments that the function takes, and what is behind the call as its return address.
        unsafe {
            std::arch::asm!(
                "adr x1, 2f",
                "mov x0, sp",
                "blr x9",
                "2:",
                "mov x1, sp",
                in("x9") hook as extern "C" fn(usize, usize) -> usize,
                lateout("x0") place,
                lateout("x1") stack,
                clobber_abi("C"),
            );
        }
        assert!(place < stack && stack - place < 256, "{place:x} {stack:x}");
        // Without a record there is no other place than the stack pointer.
        assert_eq!(return_place(stack, 0), stack);
    }
}
