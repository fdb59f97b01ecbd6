//! The `dlsym` of the C library, behind the one that this library exports.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::elf;

/// The type of `dlsym`.
pub(crate) type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Address of the real `dlsym`; null before its first use. The entry point in assembly reads it.
pub(crate) static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Returns the real `dlsym`: the next one in the order of loading. No function of the loader finds it, because other
/// interposed ones would be skipped.
pub(crate) extern "C" fn find_dlsym() -> *mut c_void {
    let known = DLSYM.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let (mut passed_own, mut found) = (false, None);
    elf::each(&mut |file| {
        if file.contains(DLSYM.as_ptr().addr()) {
            passed_own = true;
        } else if passed_own {
            // SAFETY: the file is loaded while the loader lists it.
            found = unsafe { file.symbol(c"dlsym") };
        }
        found.is_some()
    });
    let found = found.map_or(nothing as *mut c_void, |at| at as *mut c_void);
    DLSYM.store(found, Ordering::Release);
    found
}

/// Stands for a function of the loader that no library has, and fails.
pub(crate) extern "C" fn nothing() -> *mut c_void {
    ptr::null_mut()
}

/// Asks the loader for a symbol, for the recorder: the answer is never replaced.
///
/// # Safety
/// As for `dlsym`.
#[inline(never)] // The loader takes the return address for that of the caller, which must be in this library.
pub(crate) unsafe fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: it has the type of `dlsym`, also if it is `nothing`, which ignores its arguments.
    let call: Dlsym = unsafe { core::mem::transmute(find_dlsym()) };
    // SAFETY: as the caller promises.
    let found = unsafe { call(handle, name.as_ptr()) };
    // A use after the call, so that it does not become a jump.
    core::hint::black_box(found)
}
