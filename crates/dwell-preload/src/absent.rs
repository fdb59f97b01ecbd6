//! Hides hooks of functions that the runtime lacks.
//!
//! A program may test the address of a weak symbol to find out whether a function exists, as mpi4py does for all of MPI
//! 4, and would find the hook. So once the runtime is known, these references are set back to what they would be
//! without the library: null. They are words in the relocated data of loaded files, which the loader has filled in.

use core::ffi::{CStr, c_char, c_int, c_void};

use dwell_measure::guard::{Entry, guarded};

use crate::arch::ADDRESSES;

/// Sets weak references to absent functions to null. `hook_of` returns the address of the hook for the name of a
/// function that the runtime lacks, and `None` for any other name.
pub(crate) fn hide(hook_of: &dyn Fn(&CStr) -> Option<usize>) {
    let mut hook_of = hook_of;
    // SAFETY: the callback has the type that is asked for, and what it is given outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut hook_of).cast()) };
}

/// Callback of the loader for each loaded file. Panics stay inside, because the loader is written in C and holds a
/// lock.
unsafe extern "C" fn each(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    hook_of: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description, and our own pointer back.
    let hidden = guarded(Entry::Load, || unsafe {
        let hook_of = *hook_of.cast::<&dyn Fn(&CStr) -> Option<usize>>();
        if let Some(file) = File::of(&*info) {
            file.hide(hook_of);
        }
    });
    c_int::from(hidden.is_none())
}

/// A loaded file, with the tables that describe its references to symbols.
struct File {
    base: usize,
    symbols: *const libc::Elf64_Sym,
    names: *const c_char,
    /// Addresses and sizes in bytes of the two relocation tables.
    lists: [(usize, usize); 2],
    /// Address and size of the memory that the loader made read-only after relocation.
    protected: (usize, usize),
}

const DYNAMIC_SYMBOLS: i64 = 6;
const DYNAMIC_STRINGS: i64 = 5;
const DYNAMIC_RELOCATIONS: i64 = 7;
const DYNAMIC_RELOCATIONS_SIZE: i64 = 8;
const DYNAMIC_CALLS: i64 = 23;
const DYNAMIC_CALLS_SIZE: i64 = 2;
const WEAK: u8 = 2;

impl File {
    /// Reads the tables of a loaded file. Returns `None` if it has no dynamic symbols.
    ///
    /// # Safety
    /// The loader passed `info` to a callback that is still running.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Self> {
        let base = usize::try_from(info.dlpi_addr).ok()?;
        // SAFETY: the loader says how many headers there are.
        let headers =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let find = |kind| headers.iter().find(|header| header.p_type == kind);
        let dynamic = find(libc::PT_DYNAMIC)?;
        let protected = find(libc::PT_GNU_RELRO)
            .map_or((0, 0), |header| (base + header.p_vaddr as usize, header.p_memsz as usize));
        let mut file = Self {
            base,
            symbols: core::ptr::null(),
            names: core::ptr::null(),
            lists: [(0, 0); 2],
            protected,
        };
        let mut entry = (base + dynamic.p_vaddr as usize) as *const [i64; 2];
        // Most files have addresses there, a few (the kernel's) distances.
        let address = |value: i64| {
            let value = value as usize;
            if value < base { base + value } else { value }
        };
        loop {
            // SAFETY: the list ends with a zero.
            let [tag, value] = unsafe { *entry };
            match tag {
                0 => break,
                DYNAMIC_SYMBOLS => file.symbols = address(value) as *const _,
                DYNAMIC_STRINGS => file.names = address(value) as *const _,
                DYNAMIC_RELOCATIONS => file.lists[0].0 = address(value),
                DYNAMIC_RELOCATIONS_SIZE => file.lists[0].1 = value as usize,
                DYNAMIC_CALLS => file.lists[1].0 = address(value),
                DYNAMIC_CALLS_SIZE => file.lists[1].1 = value as usize,
                _ => {}
            }
            // SAFETY: the end was not reached.
            entry = unsafe { entry.add(1) };
        }
        (!file.symbols.is_null() && !file.names.is_null()).then_some(file)
    }

    /// Sets the weak references of this file to absent functions to null.
    ///
    /// # Safety
    /// The file is still loaded.
    unsafe fn hide(&self, hook_of: &dyn Fn(&CStr) -> Option<usize>) {
        for (address, bytes) in self.lists.into_iter().filter(|list| list.0 != 0) {
            let count = bytes / size_of::<libc::Elf64_Rela>();
            for index in 0..count {
                // SAFETY: the lists are as long as the file says, and refer to its own symbols.
                unsafe {
                    let reference = *(address as *const libc::Elf64_Rela).add(index);
                    let kind = reference.r_info & 0xffff_ffff;
                    let symbol = *self.symbols.add((reference.r_info >> 32) as usize);
                    let weak = symbol.st_info >> 4 == WEAK && symbol.st_shndx == 0;
                    if !weak || !ADDRESSES.contains(&kind) {
                        continue;
                    }
                    let name = CStr::from_ptr(self.names.add(symbol.st_name as usize));
                    let place = (self.base + reference.r_offset as usize) as *mut usize;
                    if let Some(hook) = hook_of(name)
                        && place.read() == hook
                    {
                        self.clear(place);
                    }
                }
            }
        }
    }

    /// Sets one reference to null, and lifts the write protection of its page for that time.
    ///
    /// # Safety
    /// `place` is a reference of this file that the loader has filled in.
    unsafe fn clear(&self, place: *mut usize) {
        let (start, length) = self.protected;
        let protected = (start..start + length).contains(&place.addr());
        // SAFETY: only asks for the size of a page, which is a power of two.
        let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let page = (place.addr() & !(size - 1)) as *mut c_void;
        // SAFETY: a page of that file, which is data.
        unsafe {
            if protected && libc::mprotect(page, size, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return;
            }
            place.write(0);
            if protected {
                libc::mprotect(page, size, libc::PROT_READ);
            }
        }
    }
}
