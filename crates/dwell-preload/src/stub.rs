//! Entry points of hooks, in assembly.
//!
//! Stable Rust cannot find out where a function will return to, which is the call site. So the name of a real function
//! belongs to a stub that stores the return address, its place on the stack and the frame pointer in three words of the
//! thread, and jumps to the hook as if the program had called the hook. The stub uses two registers in which no calling
//! convention passes arguments. With recording switched off, and for functions that a filter excludes, it jumps to the
//! real function at once.

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
                    "jne 2f",
                    "mov r11, qword ptr [rip + dwell_words@GOTTPOFF]",
                    "mov r10, qword ptr [rsp]",
                    "mov qword ptr fs:[r11 + 8], r10",
                    "mov qword ptr fs:[r11 + 16], rsp",
                    "mov qword ptr fs:[r11 + 24], rbp",
                    "jmp {hook}",
                    "2:",
                    "jmp qword ptr [rip + {entries} + {offset}]",
                    hook = sym $hook,
                    entries = sym $entries,
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
