//! Hides hooks of functions that the runtime lacks.
//!
//! A program may test the address of a weak symbol to find out whether a function exists, as mpi4py does for all of MPI
//! 4, and would find the hook. So once the runtime is known, these references are set back to what they would be
//! without the library: null. They are words in the relocated data of loaded files, which the loader has filled in.

use core::ffi::CStr;

use crate::elf;

/// Sets weak references to absent functions to null. `hook_of` returns the address of the hook for the name of a
/// function that the runtime lacks, and `None` for any other name.
pub(crate) fn hide(hook_of: &dyn Fn(&CStr) -> Option<usize>) {
    elf::each(&mut |file| {
        // SAFETY: the file is loaded while the loader lists it, and references are words of its data.
        unsafe {
            file.references(&mut |it| {
                if it.is_weak && hook_of(it.name).is_some_and(|hook| it.place.read() == hook) {
                    file.set(it.place, 0);
                }
            });
        }
        false
    });
}
