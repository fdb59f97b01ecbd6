//! Programs that ask the loader for functions of a runtime themselves.
//!
//! A program that calls `dlsym` on the handle of a library gets the function of that library and not the hook, as Julia and
//! Python's `ctypes` do. So does a plug-in that was opened with `RTLD_DEEPBIND`, whose references the loader resolves among
//! its own libraries first. Both are given the hook in place of the function that the hook would call, and of no other
//! function. So the program reaches the same functions as without Dwell.
//!
//! The answers of `dlsym` to `RTLD_NEXT` and `RTLD_DEFAULT`, and the path on which `dlopen` searches, depend on who calls
//! them, and the loader learns that from the return address. So the entry points are in assembly, in `arch`, and jump to the
//! real functions. References of plug-ins are changed when the program first asks for a symbol of any library after it
//! has opened one with that flag, since only then can it call the plug-in.
//!
//! # Limits
//! Calls that a constructor of such a plug-in makes are not recorded, nor those of libraries that `dlmopen` loads into a
//! namespace of their own, nor functions that a program finds by `dlvsym`, which no runtime needs.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use dwell_measure::guard::walled;
use dwell_measure::stack;
use dwell_model::layer::layer_of_region;

use crate::dlsym::{DLSYM, Dlsym, find_dlsym, nothing, symbol};
use crate::elf::{self, File};
use crate::entry::Entry;
use crate::{mpi, over_mpi, real, regions, shmem};

/// Address of the real `dlopen`; null before its first use. The entry point in assembly reads it.
pub(crate) static DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Set once the program has opened a library with `RTLD_DEEPBIND`. The entry point in assembly sets it.
pub(crate) static DEEP: AtomicBool = AtomicBool::new(false);

/// Largest number of files whose references are changed at once.
const FILES: usize = 64;

/// Returns the real `dlopen`.
pub(crate) extern "C" fn find_dlopen() -> *mut c_void {
    // SAFETY: the name ends in zero.
    let found = unsafe { symbol(libc::RTLD_NEXT, c"dlopen") };
    let found = if found.is_null() { nothing as *mut c_void } else { found };
    DLOPEN.store(found, Ordering::Release);
    found
}

/// Hook of `dlsym` for handles of libraries.
///
/// # Safety
/// As for `dlsym`.
pub(crate) unsafe extern "C" fn dlsym_of_library(
    handle: *mut c_void,
    name: *const c_char,
) -> *mut c_void {
    if DEEP.load(Ordering::Relaxed) {
        walled(bind_deep);
    }
    // SAFETY: the program passes a name that ends in zero, or the real function would fail too.
    let hook = if name.is_null() { None } else { unsafe { hook_of(CStr::from_ptr(name)) } };
    // SAFETY: as in `symbol`. This call comes last, so that `dlerror` reports on it.
    let found = unsafe {
        let call: Dlsym = core::mem::transmute(find_dlsym());
        call(handle, name)
    };
    match hook {
        Some((real, hook)) if real == found.addr() => hook as *mut c_void,
        _ => found,
    }
}

/// Returns the address of the function that the hook of this name calls, and that of the hook. Returns `None` if there is
/// no such hook or no such function.
fn hook_of(name: &CStr) -> Option<(usize, usize)> {
    walled(|| {
        let entry = entry_of(name)?;
        let hook = own(name)?;
        Some((entry.real()?.addr(), hook))
    })
    .flatten()
}

/// Returns the entry of a hooked function.
fn entry_of(name: &CStr) -> Option<&'static Entry> {
    layer_of_region(name.to_str().ok()?)?; // Most names that programs ask for are of no runtime.
    let tables = [&shmem::ENTRIES[..], &mpi::ENTRIES, &mpi::FORTRAN, &over_mpi::CAF_ENTRIES];
    let tables = tables.into_iter().chain(regions::TABLES);
    tables.flatten().find(|entry| entry.symbol() == name)
}

/// Returns the address of a symbol of this library.
fn own(name: &CStr) -> Option<usize> {
    let mut found = None;
    elf::each(&mut |file| {
        let is_own = file.contains(DLSYM.as_ptr().addr());
        if is_own {
            // SAFETY: the file is loaded while the loader lists it.
            found = unsafe { file.symbol(name) };
        }
        is_own
    });
    found
}

/// Returns `true` if libraries were loaded since this was last asked.
fn has_new_libraries() -> bool {
    static LOADED: AtomicU64 = AtomicU64::new(0);
    let loaded = elf::loaded();
    LOADED.swap(loaded, Ordering::Relaxed) != loaded
}

/// Leads references of plug-ins that bypass hooks to them.
fn bind_deep() {
    if has_new_libraries() {
        // The list of files is too large for the stack of a small thread.
        stack::apart(stack::FOR_A_THREAD, bind_new);
    }
}

fn bind_new() {
    // Files are collected first: opening one from inside the walk could wait for a thread that waits for the walk.
    let (mut paths, mut count) = ([ptr::null::<c_char>(); FILES], 0);
    elf::each(&mut |file| {
        if let Some(place) = paths.get_mut(count)
            && !file.contains(DLSYM.as_ptr().addr())
            && bypasses(file)
        {
            *place = file.path;
            count += 1;
        }
        false
    });
    for path in paths.into_iter().take(count) {
        // SAFETY: names of loaded libraries end in zero and stay while they are loaded; the handle keeps this one so.
        unsafe {
            let handle = libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() {
                continue;
            }
            let mut found = None;
            elf::each(&mut |file| {
                let same =
                    !file.path.is_null() && CStr::from_ptr(file.path) == CStr::from_ptr(path);
                found = same.then_some(*file);
                same
            });
            if let Some(file) = found {
                bind(&file, handle);
            }
            libc::dlclose(handle);
        }
    }
}

/// Returns `true` if a file refers to a hooked function, and not by its hook.
fn bypasses(file: &File) -> bool {
    let mut found = false;
    // SAFETY: the file is loaded while the loader lists it, and references are words of its data.
    unsafe {
        file.references(&mut |it| {
            found = found
                || entry_of(it.name).is_some()
                    && own(it.name).is_some_and(|hook| hook != it.place.read());
        });
    }
    found
}

/// Leads the references of a file to functions that hooks call to the hooks.
///
/// # Safety
/// `handle` is that of the file, which it keeps loaded.
unsafe fn bind(file: &File, handle: *mut c_void) {
    // SAFETY: the file stays loaded, and references are words of its data.
    unsafe {
        file.references(&mut |it| {
            let Some((real, hook)) = hook_of(it.name) else { return };
            let now = it.place.read();
            // A reference that is not resolved yet points into the file itself.
            let is_open = file.contains(now) && symbol(handle, it.name).addr() == real;
            // Another tool that comes first stays first.
            if (now == real || is_open) && real::hook(it.name) == hook {
                file.set(it.place, hook);
            }
        });
    }
}
