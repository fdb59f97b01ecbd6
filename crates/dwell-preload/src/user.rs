//! Code of the program itself: functions that compilers call in instrumented code (`-finstrument-functions`), and
//! functions that `dwell.h` calls.
//!
//! With recording off each of them is a comparison and a return.

use core::ffi::{CStr, c_char, c_void};

use dwell_measure::thread::{
    Number, ParameterValue, count, enter_function, enter_named, enter_phase, leave_function,
    leave_named, leave_phase, set,
};

own_code!("__cyg_profile_func_enter" => function_enter);
own_code!("__cyg_profile_func_exit" => function_exit);
own_code!("dwell_region_begin" => region_begin);
own_code!("dwell_region_end" => region_end);
own_code!("dwell_phase_begin" => phase_begin);
own_code!("dwell_phase_end" => phase_end);
own_code!("dwell_parameter_int" => parameter_int);
own_code!("dwell_parameter_unsigned" => parameter_unsigned);
own_code!("dwell_parameter_text" => parameter_text);
own_code!("dwell_counter_int" => counter_int);
own_code!("dwell_counter_real" => counter_real);

extern "C-unwind" fn function_enter(
    function: *const c_void,
    site: *const c_void,
    _: usize,
    _: usize,
    stack: usize,
) {
    enter_function(function.addr(), site.addr(), stack);
}

extern "C-unwind" fn function_exit(function: *const c_void) {
    leave_function(function.addr());
}

unsafe extern "C-unwind" fn region_begin(
    name: *const c_char,
    _: usize,
    _: usize,
    site: usize,
    stack: usize,
) {
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

unsafe extern "C-unwind" fn phase_begin(
    name: *const c_char,
    number: i64,
    _: usize,
    site: usize,
    stack: usize,
) {
    // SAFETY: as above.
    if let Some(name) = unsafe { text(name) } {
        enter_phase(name, number, site, stack);
    }
}

unsafe extern "C-unwind" fn phase_end(name: *const c_char) {
    // SAFETY: as above.
    if let Some(name) = unsafe { text(name) } {
        leave_phase(name);
    }
}

unsafe extern "C-unwind" fn parameter_int(
    name: *const c_char,
    value: i64,
    _: usize,
    _: usize,
    stack: usize,
) {
    // SAFETY: as above.
    if let Some(name) = unsafe { text(name) } {
        set(name, ParameterValue::Int(value), stack);
    }
}

unsafe extern "C-unwind" fn parameter_unsigned(
    name: *const c_char,
    value: u64,
    _: usize,
    _: usize,
    stack: usize,
) {
    // SAFETY: as above.
    if let Some(name) = unsafe { text(name) } {
        set(name, ParameterValue::Unsigned(value), stack);
    }
}

unsafe extern "C-unwind" fn parameter_text(
    name: *const c_char,
    value: *const c_char,
    _: usize,
    _: usize,
    stack: usize,
) {
    // SAFETY: as above, for both.
    if let (Some(name), Some(value)) = unsafe { (text(name), text(value)) } {
        set(name, ParameterValue::Text(value), stack);
    }
}

unsafe extern "C-unwind" fn counter_int(
    name: *const c_char,
    unit: *const c_char,
    value: i64,
    _: usize,
    stack: usize,
) {
    // SAFETY: as above, for both.
    if let (Some(name), unit) = unsafe { (text(name), text(unit)) } {
        count(name, unit.unwrap_or_default(), Number::Int(value), stack);
    }
}

unsafe extern "C-unwind" fn counter_real(
    name: *const c_char,
    unit: *const c_char,
    _: usize,
    _: usize,
    stack: usize,
    value: f64,
) {
    // SAFETY: as above, for both.
    if let (Some(name), unit) = unsafe { (text(name), text(unit)) } {
        count(name, unit.unwrap_or_default(), Number::Real(value), stack);
    }
}

/// Longest name in bytes. Longer names are cut.
const LONGEST: usize = 200;

/// Reads a string of the program. Returns `None` for a null pointer; what follows invalid UTF-8 is cut off.
///
/// # Safety
/// `name` is null or the address of a string that ends in zero.
pub(crate) unsafe fn text<'a>(name: *const c_char) -> Option<&'a str> {
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
