//! x86-64 with the System V calling convention.

use crate::dlsym::{DLSYM, find_dlsym};
use crate::gasp::gasp_event_notifyVA;
use crate::loader::{DEEP, DLOPEN, dlsym_of_library, find_dlopen};

/// Types of relocations that store the address of a function: `64`, `GLOB_DAT` and `JUMP_SLOT`.
pub(crate) const ADDRESSES: [u64; 3] = [1, 6, 7];

/// Defines the function `$name`, which jumps to `$hook` or, if nothing is recorded, to the target in
/// `$entries[$index]`.
macro_rules! stub {
    ($name:literal, $hook:ident, $entries:ident[$index:literal]) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn stub() {
                core::arch::naked_asm!(
                    "cmp byte ptr [rip + dwell_switch], 0",
                    "je 2f",
                    "cmp byte ptr [rip + {entries} + {bypass}], 0",
                    "jne 3f",
                    "mov r11, qword ptr [rip + dwell_words@GOTTPOFF]",
                    "mov r10, qword ptr [rsp]",
                    "mov qword ptr fs:[r11 + 8], r10",
                    "mov qword ptr fs:[r11 + 16], rsp",
                    "mov qword ptr fs:[r11 + 24], rbp",
                    "jmp {hook}",
                    "3:",
                    "mov r11, qword ptr [rip + dwell_words@GOTTPOFF]",
                    "mov r11, qword ptr fs:[r11]",
                    "cmp r11, {none}", // The thread has no state yet, or will never have one.
                    "jbe 4f",
                    "inc qword ptr [r11 + {filtered}]",
                    "2:",
                    "jmp qword ptr [rip + {entries} + {offset}]",
                    "4:",
                    "lock inc qword ptr [rip + dwell_filtered]",
                    "jmp 2b",
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
                    "mov r11, qword ptr [rip + dwell_words@GOTTPOFF]",
                    "mov r10, qword ptr [rsp]",
                    "mov qword ptr fs:[r11 + 8], r10",
                    "mov qword ptr fs:[r11 + 16], rsp",
                    "mov qword ptr fs:[r11 + 24], rbp",
                    "jmp {hook}",
                    hook = sym $hook,
                )
            }
        };
    };
}

/// Defines the hook of a function that returns a `long double`, which is in a register of the x87 unit that Rust never
/// uses. `$before` is the first half of the recorder and returns a call to be ended, or null. Up to three arguments in
/// registers are kept for the real function.
macro_rules! returns_long_double {
    ($hook:ident, $before:ident, $entries:ident[$index:literal]) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $hook() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdx",
                ".cfi_adjust_cfa_offset 8",
                "call {before}",
                "pop rdx",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "sub rsp, 24",
                ".cfi_adjust_cfa_offset 24",
                "mov qword ptr [rsp + 16], rax",
                "mov r11, qword ptr [rip + {entries} + {offset}]",
                "test r11, r11",
                "jz 2f",
                "call r11",
                "jmp 3f",
                "2:",
                "fldz", // No such function: zero, as the table says.
                "3:",
                "fstp tbyte ptr [rsp]",
                "mov rdi, qword ptr [rsp + 16]",
                "call {after}",
                "fld tbyte ptr [rsp]",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
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
/// place of that address on the stack. A floating-point argument has a register of its own, and may come last.
macro_rules! own_code {
    ($name:literal => $to:ident) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn stub() {
                core::arch::naked_asm!(
                    "cmp byte ptr [rip + dwell_switch], 0",
                    "je 2f",
                    "mov rcx, qword ptr [rsp]",
                    "mov r8, rsp",
                    "jmp {to}",
                    "2:",
                    "ret",
                    to = sym $to,
                )
            }
        };
    };
}

/// The `va_list` of the System V ABI for x86-64.
#[repr(C)]
pub(crate) struct Arguments {
    general: u32,
    floating: u32,
    overflow: *const u64,
    saved: *const u8,
}

impl Arguments {
    /// Returns the next argument that is a number or an address.
    ///
    /// # Safety
    /// The caller of the variadic function passed such an argument next.
    pub(crate) unsafe fn next(&mut self) -> u64 {
        /// Bytes of the general registers in the area of saved registers.
        const GENERAL: u32 = 48;
        // SAFETY: as promised; both areas are laid out as the ABI says.
        unsafe {
            if self.general < GENERAL {
                let value = self.saved.add(self.general as usize).cast::<u64>().read();
                self.general += 8;
                return value;
            }
            let value = self.overflow.read();
            self.overflow = self.overflow.add(1);
            value
        }
    }
}

/// Receives an event with further arguments: stores the registers, as a compiler of C does for a variadic function, makes a
/// `va_list`, and calls [`gasp_event_notifyVA`]. The first six arguments stay where they are.
///
/// | from the stack pointer | |
/// |---|---|
/// | 0 | the seventh argument: the address of the `va_list` |
/// | 8 | the `va_list` |
/// | 32 | general registers, of which none has a further argument |
/// | 80 | floating-point registers |
/// | 216 | the return address, then further arguments |
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn gasp_event_notify() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 216",
        ".cfi_adjust_cfa_offset 216",
        "test al, al",
        "je 2f",
        "movaps xmmword ptr [rsp + 80], xmm0",
        "movaps xmmword ptr [rsp + 96], xmm1",
        "movaps xmmword ptr [rsp + 112], xmm2",
        "movaps xmmword ptr [rsp + 128], xmm3",
        "movaps xmmword ptr [rsp + 144], xmm4",
        "movaps xmmword ptr [rsp + 160], xmm5",
        "movaps xmmword ptr [rsp + 176], xmm6",
        "movaps xmmword ptr [rsp + 192], xmm7",
        "2:",
        "mov dword ptr [rsp + 8], 48",
        "mov dword ptr [rsp + 12], 48",
        "lea rax, [rsp + 224]",
        "mov qword ptr [rsp + 16], rax",
        "lea rax, [rsp + 32]",
        "mov qword ptr [rsp + 24], rax",
        "lea rax, [rsp + 8]",
        "mov qword ptr [rsp], rax",
        "call {to}",
        "add rsp, 216",
        ".cfi_adjust_cfa_offset -216",
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
        "lea rax, [rdi + 1]",
        "cmp rax, 1",
        "ja {library}",
        "mov rax, qword ptr [rip + {real}]",
        "test rax, rax",
        "jnz 2f",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {find}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "2:",
        "jmp rax",
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
        "test esi, {deep_flag}",
        "jz 2f",
        "mov byte ptr [rip + {deep}], 1",
        "2:",
        "mov rax, qword ptr [rip + {real}]",
        "test rax, rax",
        "jnz 3f",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {find}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "3:",
        "jmp rax",
        ".cfi_endproc",
        deep_flag = const libc::RTLD_DEEPBIND,
        deep = sym DEEP,
        real = sym DLOPEN,
        find = sym find_dlopen,
    )
}
