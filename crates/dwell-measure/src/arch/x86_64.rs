//! x86-64 with the System V calling convention.
#![allow(unsafe_code)] // Registers are read, and the stack pointer is changed.

use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

use gimli::{
    CfaRule, Register, RegisterRule, UnwindContextStorage, UnwindExpression, UnwindTableRow, Vendor,
};

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

/// Returns the place at which a signal has interrupted a thread.
///
/// # Safety
/// `context` is what the kernel passed to the handler.
pub(crate) unsafe fn interrupted(context: *const libc::ucontext_t) -> Place {
    // SAFETY: as promised.
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    let register = |number: i32| registers.get(number as usize).map_or(0, |it| *it as usize);
    Place {
        address: register(libc::REG_RIP),
        stack: register(libc::REG_RSP),
        frame: register(libc::REG_RBP),
    }
}

/// Rule by which a frame is left, in one number.
///
/// | bits | meaning |
/// |---|---|
/// | 31 | the walk ends here: see [`STOP`](crate::unwind) |
/// | 30 | the end is counted from the frame pointer, not from the stack pointer |
/// | 8 … 29 | number of words from there to the end |
/// | 0 … 7 | number of words before the end at which the frame pointer was stored; 0 if it was not |
///
/// No end is 0 words away, so that number marks two kinds of frames that tables describe by expressions:
///
/// * With bit 30, the frame of a function that aligns its stack. Bits 0 to 7 are the number of words below the frame
///   pointer where the address of the end is stored; the caller's frame pointer is stored at the frame pointer.
/// * Without it, an entry of the procedure linkage table. Bits 0 to 7 are the offset in the entry from which on it has
///   pushed a word.
const FROM_FRAME: u32 = 1 << 30;
const FURTHEST: u32 = (1 << 22) - 1;
const STORED: u32 = 0xff;

const FRAME: Register = Register(6);
const STACK: Register = Register(7);

/// Register of the return address.
pub(crate) const RETURN: Register = Register(16);

/// Whose extensions the tables for exceptions use.
pub(crate) const TABLES: Vendor = Vendor::Default;

/// Makes the rule from a row of the tables for exceptions. Returns `None` if no rule can express it. `bytes` returns those
/// of an expression.
pub(crate) fn rule<'a, S>(
    row: &UnwindTableRow<usize, S>,
    bytes: impl Fn(UnwindExpression<usize>) -> Option<&'a [u8]>,
) -> Option<u32>
where
    S: UnwindContextStorage<usize>,
{
    if row.register(RETURN) != Some(RegisterRule::Offset(-8)) {
        return None;
    }
    let (register, offset) = match *row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => (register, offset),
        CfaRule::Expression(end) => {
            let frame = match row.register(FRAME) {
                Some(RegisterRule::Expression(it)) => Some(bytes(it)?),
                None | Some(RegisterRule::SameValue) => None,
                _ => return None,
            };
            return rule_of_expressions(bytes(end)?, frame);
        }
    };
    let from = match register {
        STACK => 0,
        FRAME => FROM_FRAME,
        _ => return None,
    };
    let stored = match row.register(FRAME) {
        None | Some(RegisterRule::SameValue) => 0,
        Some(RegisterRule::Offset(offset)) => words_of(-offset, STORED)?,
        _ => return None,
    };
    let words = words_of(offset, FURTHEST).filter(|it| *it > 0)?;
    Some(from | words << 8 | stored)
}

/// Makes the rule for a frame whose end, and perhaps whose caller's frame pointer, is the result of an expression.
fn rule_of_expressions(end: &[u8], frame: Option<&[u8]>) -> Option<u32> {
    match (end, frame) {
        // The word at the frame pointer and a number below 0 in one byte; the frame pointer is stored where it points.
        ([0x76, below @ 0x40..0x80, 0x06], Some([0x76, 0])) => {
            let words = words_of(i64::from(0x80 - *below), STORED)?;
            Some(FROM_FRAME | words)
        }
        // The same with a number in two bytes.
        ([0x76, low @ 0x80..=0xff, high @ 0x40..0x80, 0x06], Some([0x76, 0])) => {
            let below = 0x4000 - (i64::from(*low & 0x7f) | i64::from(*high) << 7);
            Some(FROM_FRAME | words_of(below, STORED)?)
        }
        // A word above the stack pointer, and one more from an offset of the instruction in 16 bytes on.
        ([0x77, 8, 0x80, 0, 0x3f, 0x1a, offset @ 0x30..0x40, 0x2a, 0x33, 0x24, 0x22], None) => {
            Some(u32::from(offset - 0x30))
        }
        _ => None,
    }
}

/// Returns `true` if a rule counts from the frame pointer.
pub(crate) fn is_from_frame(rule: u32) -> bool {
    rule & FROM_FRAME != 0
}

/// Leaves a frame by its rule. `read` returns a word of the stack, or `None` where it cannot be read.
#[inline]
pub(crate) fn leave(
    rule: u32,
    place: Place,
    read: impl Fn(usize) -> Option<usize>,
) -> Option<Place> {
    let Place { stack, frame, .. } = place;
    let words = (rule >> 8 & FURTHEST) as usize;
    if words == 0 {
        return leave_by_expression(rule, place, read);
    }
    let base = if rule & FROM_FRAME != 0 { frame } else { stack };
    let end = base.checked_add(words * 8)?;
    let address = read(end.checked_sub(8)?)?;
    let frame = match (rule & STORED) as usize {
        0 => frame,
        before => read(end.checked_sub(8 * before)?)?,
    };
    Some(Place { address, stack: end, frame })
}

/// Leaves a frame that the tables describe by an expression.
#[cold]
fn leave_by_expression(
    rule: u32,
    Place { address, stack, frame }: Place,
    read: impl Fn(usize) -> Option<usize>,
) -> Option<Place> {
    let number = (rule & STORED) as usize;
    if rule & FROM_FRAME != 0 {
        let end = read(frame.checked_sub(8 * number)?)?;
        return Some(Place {
            address: read(end.checked_sub(8)?)?,
            stack: end,
            frame: read(frame)?,
        });
    }
    let end = stack.checked_add(if address & 15 >= number { 16 } else { 8 })?;
    Some(Place { address: read(end.checked_sub(8)?)?, stack: end, frame })
}

/// Returns a return address from the stack as it is: they are not signed here.
#[inline(always)]
pub(crate) fn plain(address: usize) -> usize {
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack of which each word is a number of its own.
    fn word(at: usize) -> Option<usize> {
        Some(0x10_0000 + at)
    }

    #[test]
    fn functions_that_align_their_stack_have_a_rule() {
        // The address of the end is stored 24 bytes below the frame pointer, and 1,000 bytes below it.
        let near = rule_of_expressions(&[0x76, 0x68, 0x06], Some(&[0x76, 0])).unwrap();
        let far = rule_of_expressions(&[0x76, 0x98, 0x78, 0x06], Some(&[0x76, 0])).unwrap();
        let place = Place { address: 0x4000, stack: 0x800, frame: 0x1000 };
        for (rule, below) in [(near, 24), (far, 1000)] {
            let end = 0x10_1000 - below;
            let left = leave(rule, place, word).unwrap();
            assert_eq!((left.stack, left.address), (end, 0x10_0000 + end - 8));
            assert_eq!(left.frame, 0x10_1000);
        }
        assert_eq!(rule_of_expressions(&[0x76, 0x68, 0x06], None), None);
        // Above the frame pointer.
        assert_eq!(rule_of_expressions(&[0x76, 0x18, 0x06], Some(&[0x76, 0])), None);
    }

    #[test]
    fn entries_of_the_linkage_table_have_a_rule() {
        let table = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        let rule = rule_of_expressions(&table, None).unwrap();
        for (address, end) in [(0x4010, 0x808), (0x401a, 0x808), (0x401b, 0x810)] {
            let left = leave(rule, Place { address, stack: 0x800, frame: 7 }, word).unwrap();
            assert_eq!((left.stack, left.address, left.frame), (end, 0x10_0000 + end - 8, 7));
        }
    }
}
