//! Lookup of the real function behind a hook.

use core::ffi::{CStr, c_char, c_int, c_void};

use dwell_measure::stack;

use crate::dlsym;

/// Largest number of loaded libraries that are searched one by one.
const LIBRARIES: usize = 512;

/// Finds the function of this name that the program would have called without this library.
///
/// That is the next one in the order of loading, so that other tools between the program and the runtime keep working.
/// A runtime that was loaded by `dlopen` with local scope is not in that order; then all loaded libraries are searched.
pub(crate) fn find(name: &CStr) -> Option<*mut ()> {
    // SAFETY: the name ends in zero; looking it up changes nothing.
    let next = unsafe { dlsym::symbol(libc::RTLD_NEXT, name) };
    if next.is_null() {
        // The list of libraries is too large for the stack of a small thread.
        stack::apart(stack::FOR_A_THREAD, || find_anywhere(name))
    } else {
        Some(next.cast())
    }
}

fn find_anywhere(name: &CStr) -> Option<*mut ()> {
    let mut names = Names { at: [core::ptr::null(); LIBRARIES], count: 0 };
    // Their names are collected first: opening a library from inside the walk could wait for a
    // thread that waits for the walk.
    // SAFETY: the callback has the type that is asked for, and `names` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut names).cast()) };
    let here = here(name);
    names.at.iter().take(names.count).find_map(|library| {
        // SAFETY: names of loaded libraries end in zero and stay while they are loaded.
        unsafe {
            let handle = libc::dlopen(*library, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() {
                return None;
            }
            let found = dlsym::symbol(handle, name);
            libc::dlclose(handle); // It was loaded before and stays so.
            (!found.is_null() && found != here).then_some(found.cast())
        }
    })
}

/// Returns the address of the hook of this name, as the program sees it.
pub(crate) fn hook(name: &CStr) -> usize {
    here(name).addr()
}

/// Returns the first symbol of this name in the global scope, which is the hook.
fn here(name: &CStr) -> *mut c_void {
    // SAFETY: as above.
    unsafe { dlsym::symbol(libc::RTLD_DEFAULT, name) }
}

struct Names {
    at: [*const c_char; LIBRARIES],
    count: usize,
}

unsafe extern "C" fn collect(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    names: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description, and our own pointer back.
    let (info, names) = unsafe { (&*info, &mut *names.cast::<Names>()) };
    let Some(place) = names.at.get_mut(names.count) else { return 1 };
    *place = info.dlpi_name;
    names.count += 1;
    0
}
