//! Hides hooks of functions that the runtime lacks.
//!
//! A program may ask by the address of a weak symbol whether there is a function (mpi4py does so for all
//! of MPI 4), and finds the hook. So, once the runtime is known, such references are made what they would
//! be without us: null. They are words in the tables of loaded files that the loader has filled in.

use core::ffi::{CStr, c_int, c_void};

use dwell_measure::guard::{Entry, guarded};

/// Makes weak references to absent functions null. `hook_of` gives the address of the hook of a function
/// that the runtime lacks.
pub(crate) fn hide(hook_of: &dyn Fn(&CStr) -> Option<usize>) {
    let mut hook_of = hook_of;
    // SAFETY: the callback has the type that is asked for, and what it is given outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut hook_of).cast()) };
}

/// What the loader calls for each file. A panic stays inside: the loader is written in C and holds a lock.
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

/// A loaded file, as far as references go.
struct File {
    base: usize,
    symbols: *const libc::Elf64_Sym,
    names: *const i8,
    /// Two lists of references: address and bytes.
    lists: [(usize, usize); 2],
    /// What the loader has made read-only after it filled it in.
    protected: (usize, usize),
}

const DYNAMIC_SYMBOLS: i64 = 6;
const DYNAMIC_STRINGS: i64 = 5;
const DYNAMIC_RELOCATIONS: i64 = 7;
const DYNAMIC_RELOCATIONS_SIZE: i64 = 8;
const DYNAMIC_CALLS: i64 = 23;
const DYNAMIC_CALLS_SIZE: i64 = 2;
/// Kinds of references that are the address of a function.
const ADDRESSES: [u64; 3] = [1, 6, 7];
const WEAK: u8 = 2;

impl File {
    /// # Safety
    /// The description is one that the loader gave.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Self> {
        let base = usize::try_from(info.dlpi_addr).ok()?;
        // SAFETY: there are as many headers as is said.
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

    /// # Safety
    /// The file is loaded.
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

    /// # Safety
    /// `place` is a reference of this file that the loader has filled in.
    unsafe fn clear(&self, place: *mut usize) {
        const PAGE: usize = 4096;
        let (start, length) = self.protected;
        let protected = (start..start + length).contains(&place.addr());
        let page = (place.addr() & !(PAGE - 1)) as *mut c_void;
        // SAFETY: a page of that file, which is data.
        unsafe {
            if protected && libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return;
            }
            place.write(0);
            if protected {
                libc::mprotect(page, PAGE, libc::PROT_READ);
            }
        }
    }
}
