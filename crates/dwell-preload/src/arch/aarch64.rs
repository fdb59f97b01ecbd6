//! AArch64 with the procedure call standard of Arm (AAPCS64) on Linux.
//!
//! The registers `x16` and `x17` are free between a caller and the function that it calls.

use crate::dlsym::{DLSYM, find_dlsym};
use crate::gasp::gasp_event_notifyVA;
use crate::loader::{DEEP, DLOPEN, dlsym_of_library, find_dlopen};

/// Types of relocations that store the address of a function: `ABS64`, `GLOB_DAT` and `JUMP_SLOT`.
pub(crate) const ADDRESSES: [u64; 3] = [257, 1025, 1026];

/// A `long double`, which has 128 bits and is passed in a vector register. Rust has no number of this kind; a vector is
/// passed in the same way.
pub(crate) type LongDouble = core::arch::aarch64::uint8x16_t;

/// Defines the function `$name`, which jumps to `$hook` or, if nothing is recorded, to the target in
/// `$entries[$index]`.
macro_rules! stub {
    ($name:literal, $hook:ident, $entries:ident[$index:literal]) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn stub() {
                core::arch::naked_asm!(
                    "adrp x16, dwell_switch",
                    "ldrb w16, [x16, :lo12:dwell_switch]",
                    "cbz w16, 2f",
                    "adrp x16, {entries} + {bypass}",
                    "add x16, x16, :lo12:{entries} + {bypass}",
                    "ldrb w16, [x16]",
                    "cbnz w16, 3f",
                    "adrp x17, :gottprel:dwell_words",
                    "ldr x17, [x17, :gottprel_lo12:dwell_words]",
                    "mrs x16, tpidr_el0",
                    "add x16, x16, x17",
                    "mov x17, sp",
                    "stp x30, x17, [x16, #8]",
                    "str x29, [x16, #24]",
                    "b {hook}",
                    "3:",
                    "adrp x17, :gottprel:dwell_words",
                    "ldr x17, [x17, :gottprel_lo12:dwell_words]",
                    "mrs x16, tpidr_el0",
                    "ldr x16, [x16, x17]",
                    "cmp x16, #{none}", // The thread has no state yet, or will never have one.
                    "b.ls 4f",
                    "ldr x17, [x16, #{filtered}]",
                    "add x17, x17, #1",
                    "str x17, [x16, #{filtered}]",
                    "2:",
                    "adrp x16, {entries} + {offset}",
                    "add x16, x16, :lo12:{entries} + {offset}",
                    "ldr x16, [x16]",
                    "br x16",
                    "4:", // These registers pass nothing to a function.
                    "adrp x16, dwell_filtered",
                    "add x16, x16, :lo12:dwell_filtered",
                    "5:",
                    "ldxr x17, [x16]",
                    "add x17, x17, #1",
                    "stxr w9, x17, [x16]",
                    "cbnz w9, 5b",
                    "b 2b",
                    hook = sym $hook,
                    entries = sym $entries,
                    filtered = const dwell_measure::entry::FILTERED,
                    none = const dwell_measure::entry::NO_STATE,
                    offset = const $index * size_of::<$crate::entry::Entry>(),
                    bypass = const $index * size_of::<$crate::entry::Entry>()
                        + $crate::entry::Entry::BYPASS,
                )
            }
        };
    };
}

/// Defines a stub like `stub!`, for a function whose hook must be called whether anything is recorded or not.
macro_rules! stub_always {
    ($name:literal, $hook:ident, $entries:ident[$index:literal]) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn stub() {
                core::arch::naked_asm!(
                    "adrp x17, :gottprel:dwell_words",
                    "ldr x17, [x17, :gottprel_lo12:dwell_words]",
                    "mrs x16, tpidr_el0",
                    "add x16, x16, x17",
                    "mov x17, sp",
                    "stp x30, x17, [x16, #8]",
                    "str x29, [x16, #24]",
                    "b {hook}",
                    hook = sym $hook,
                )
            }
        };
    };
}

/// Defines the hook of a function that returns a `long double`, which is in a vector register and must survive the
/// second half of the recorder. `$before` is the first half and returns a call to be ended, or null. Up to three
/// arguments in registers are kept for the real function.
///
/// | from the stack pointer | |
/// |---|---|
/// | 0 | the frame record |
/// | 16 | the arguments |
/// | 40 | the call |
/// | 48 | the value |
macro_rules! returns_long_double {
    ($hook:ident, $before:ident, $entries:ident[$index:literal]) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $hook() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-64]!",
                ".cfi_def_cfa_offset 64",
                ".cfi_offset x29, -64",
                ".cfi_offset x30, -56",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "str x2, [sp, #32]",
                "bl {before}",
                "str x0, [sp, #40]",
                "ldp x0, x1, [sp, #16]",
                "ldr x2, [sp, #32]",
                "adrp x16, {entries} + {offset}",
                "add x16, x16, :lo12:{entries} + {offset}",
                "ldr x16, [x16]",
                "cbz x16, 2f",
                "blr x16",
                "b 3f",
                "2:",
                "movi v0.2d, #0", // No such function: zero, as the table says.
                "3:",
                "str q0, [sp, #48]",
                "ldr x0, [sp, #40]",
                "bl {after}",
                "ldr q0, [sp, #48]",
                "ldp x29, x30, [sp], #64",
                ".cfi_def_cfa_offset 0",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                before = sym $before,
                after = sym $crate::entry::after_long_double,
                entries = sym $entries,
                offset = const $index * size_of::<$crate::entry::Entry>()
                    + core::mem::offset_of!($crate::entry::Entry, real),
            )
        }
    };
}

/// Defines the function `$name`, which passes up to three arguments on to `$to`, followed by its return address and the
/// stack pointer. A floating-point argument has a register of its own, and may come last.
macro_rules! own_code {
    ($name:literal => $to:ident) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn stub() {
                core::arch::naked_asm!(
                    "adrp x16, dwell_switch",
                    "ldrb w16, [x16, :lo12:dwell_switch]",
                    "cbz w16, 2f",
                    "mov x3, x30",
                    "mov x4, sp",
                    "b {to}",
                    "2:",
                    "ret",
                    to = sym $to,
                )
            }
        };
    };
}

/// The `va_list` of AAPCS64.
#[repr(C)]
pub(crate) struct Arguments {
    /// The next argument on the stack.
    stack: *const u64,
    /// Ends of the areas of general and of vector registers.
    general_end: *const u8,
    vector_end: *const u8,
    /// Distances from these ends to the next argument there: negative, or 0 if there is none.
    general: i32,
    vector: i32,
}

impl Arguments {
    /// Returns the next argument that is a number or an address.
    ///
    /// # Safety
    /// The caller of the variadic function passed such an argument next.
    pub(crate) unsafe fn next(&mut self) -> u64 {
        // SAFETY: as promised; both areas are laid out as the ABI says.
        unsafe {
            if self.general < 0 {
                let value = self.general_end.offset(self.general as isize).cast::<u64>().read();
                self.general += 8;
                return value;
            }
            let value = self.stack.read();
            self.stack = self.stack.add(1);
            value
        }
    }
}

/// Receives an event with further arguments: stores the registers, as a compiler of C does for a variadic function, makes a
/// `va_list`, and calls [`gasp_event_notifyVA`] with its address, since it is larger than two words. The first six
/// arguments stay where they are.
///
/// | from the stack pointer | |
/// |---|---|
/// | 0 | the frame record |
/// | 16 | the `va_list` |
/// | 48 | the two general registers that may have further arguments |
/// | 64 | vector registers |
/// | 192 | further arguments |
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn gasp_event_notify() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-192]!",
        ".cfi_def_cfa_offset 192",
        ".cfi_offset x29, -192",
        ".cfi_offset x30, -184",
        "mov x29, sp",
        "stp x6, x7, [sp, #48]",
        "stp q0, q1, [sp, #64]",
        "stp q2, q3, [sp, #96]",
        "stp q4, q5, [sp, #128]",
        "stp q6, q7, [sp, #160]",
        "add x16, sp, #192",
        "add x17, sp, #64",
        "stp x16, x17, [sp, #16]",
        "str x16, [sp, #32]",
        "mov w16, #-16",
        "mov w17, #-128",
        "stp w16, w17, [sp, #40]",
        "add x6, sp, #16",
        "bl {to}",
        "ldp x29, x30, [sp], #192",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
        to = sym gasp_event_notifyVA,
    )
}

/// Hook of the function of the C library. The handles `RTLD_NEXT`, which is -1, and `RTLD_DEFAULT`, which is 0, are left to
/// the real function by a jump, because their meaning depends on the return address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "add x16, x0, #1",
        "cmp x16, #1",
        "b.ls 2f",
        "b {library}",
        "2:",
        "adrp x16, {real}",
        "add x16, x16, :lo12:{real}",
        "ldr x16, [x16]",
        "cbnz x16, 3f",
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "bl {find}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "3:",
        "br x16",
        ".cfi_endproc",
        library = sym dlsym_of_library,
        real = sym DLSYM,
        find = sym find_dlsym,
    )
}

/// Hook of the function of the C library, which remembers whether the flag `RTLD_DEEPBIND` was ever used. It jumps to the
/// real function, because the path on which that searches depends on the return address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "tst w1, #{deep_flag}",
        "b.eq 2f",
        "adrp x16, {deep}",
        "add x16, x16, :lo12:{deep}",
        "mov w17, #1",
        "strb w17, [x16]",
        "2:",
        "adrp x16, {real}",
        "add x16, x16, :lo12:{real}",
        "ldr x16, [x16]",
        "cbnz x16, 3f",
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "bl {find}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "3:",
        "br x16",
        ".cfi_endproc",
        deep_flag = const libc::RTLD_DEEPBIND,
        deep = sym DEEP,
        real = sym DLOPEN,
        find = sym find_dlopen,
    )
}
