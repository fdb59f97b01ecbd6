//! The program's own code: what compilers call in functions that they instrument
//! (`-finstrument-functions`), and what `dwell.h` calls.
//!
//! With recording off each is a compare and a return.

use core::ffi::{CStr, c_char, c_void};

use dwell_measure::thread::{enter_function, enter_named, leave_function, leave_named};

/// Defines the function `$name`, which passes two arguments on to `$to`, with where it was called from and where on the
/// stack that lies behind them.
macro_rules! own_code {
    ($name:literal => $to:ident) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn stub() {
                core::arch::naked_asm!(
                    "cmp byte ptr [rip + dwell_switch], 0",
                    "je 2f",
                    "mov rdx, qword ptr [rsp]",
                    "mov rcx, rsp",
                    "jmp {to}",
                    "2:",
                    "ret",
                    to = sym $to,
                )
            }
        };
    };
}

own_code!("__cyg_profile_func_enter" => function_enter);
own_code!("__cyg_profile_func_exit" => function_exit);
own_code!("dwell_region_begin" => region_begin);
own_code!("dwell_region_end" => region_end);

extern "C-unwind" fn function_enter(
    function: *const c_void,
    site: *const c_void,
    _: usize,
    stack: usize,
) {
    enter_function(function.addr(), site.addr(), stack);
}

extern "C-unwind" fn function_exit(function: *const c_void) {
    leave_function(function.addr());
}

unsafe extern "C-unwind" fn region_begin(name: *const c_char, _: usize, site: usize, stack: usize) {
    // SAFETY: the program passes a name that ends in zero, as `dwell.h` says.
    if let Some(name) = unsafe { text(name) } {
        enter_named(name, site, stack);
    }
}

unsafe extern "C-unwind" fn region_end(name: *const c_char) {
    // SAFETY: as above.
    if let Some(name) = unsafe { text(name) } {
        leave_named(name);
    }
}

/// Names are cut here.
const LONGEST: usize = 200;

/// # Safety
/// The address is null, or that of a text that ends in zero.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: as promised.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    let bytes = bytes.get(..bytes.len().min(LONGEST))?;
    match str::from_utf8(bytes) {
        Ok(name) => Some(name),
        Err(error) => str::from_utf8(bytes.get(..error.valid_up_to())?).ok(),
    }
}
