//! Files as the loader has mapped them: their symbols, and their references to symbols of other files.
//!
//! The loader lists files through a callback and holds a lock meanwhile. What is read here is read during that callback, or
//! while a handle keeps the file loaded.

use core::ffi::{CStr, c_char, c_int, c_void};

use dwell_measure::guard::walled;

use crate::arch::ADDRESSES;

/// Calls `visit` for each loaded file, in the order of loading, until it returns `true`. Panics stay inside, because the
/// loader is written in C and holds a lock.
pub(crate) fn each(visit: &mut dyn FnMut(&File) -> bool) {
    unsafe extern "C" fn step(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description, and our own pointer back.
        let enough = walled(|| unsafe {
            let visit = &mut *visit.cast::<&mut dyn FnMut(&File) -> bool>();
            File::of(&*info).is_some_and(|file| visit(&file))
        });
        c_int::from(enough.unwrap_or(true))
    }
    let mut visit = visit;
    // SAFETY: the callback has the type that is asked for, and what it is given outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(step), (&raw mut visit).cast()) };
}

/// Returns the number of files that the loader has loaded since the process began.
pub(crate) fn loaded() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        count: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description, and our own pointer back.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count = 0_u64;
    // SAFETY: the callback has the type that is asked for, and what it is given outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

/// A loaded file, with the tables that describe its symbols and its references to symbols.
#[derive(Clone, Copy)]
pub(crate) struct File {
    /// Path of the file, as the loader knows it; empty for the program.
    pub(crate) path: *const c_char,
    /// Distance between addresses in memory and in the file.
    pub(crate) base: usize,
    symbols: *const libc::Elf64_Sym,
    names: *const c_char,
    versions: *const u16,
    /// Tables by which symbols are found: that of GNU, and the older one.
    hashes: [*const u32; 2],
    /// Addresses and sizes in bytes of the two relocation tables.
    lists: [(usize, usize); 2],
    /// First address of the file in memory, and the one after its last.
    span: (usize, usize),
    /// Address and size of the memory that the loader made read-only after relocation.
    protected: (usize, usize),
}

/// A reference of a file to a function or variable of another file.
#[derive(Clone, Copy)]
pub(crate) struct Reference<'f> {
    pub(crate) name: &'f CStr,
    /// Set if the file can do without the symbol.
    pub(crate) is_weak: bool,
    /// Where the loader has stored the address.
    pub(crate) place: *mut usize,
}

const DYNAMIC_HASH: i64 = 4;
const DYNAMIC_GNU_HASH: i64 = 0x6fff_fef5;
const DYNAMIC_VERSIONS: i64 = 0x6fff_fff0;
const DYNAMIC_SYMBOLS: i64 = 6;
const DYNAMIC_STRINGS: i64 = 5;
const DYNAMIC_RELOCATIONS: i64 = 7;
const DYNAMIC_RELOCATIONS_SIZE: i64 = 8;
const DYNAMIC_CALLS: i64 = 23;
const DYNAMIC_CALLS_SIZE: i64 = 2;
const WEAK: u8 = 2;
/// Bit of a version that is not the default one.
const HIDDEN: u16 = 0x8000;

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
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let span = loaded.fold((usize::MAX, 0), |(start, end), header| {
            let at = base + header.p_vaddr as usize;
            (start.min(at), end.max(at + header.p_memsz as usize))
        });
        let mut file = Self {
            path: info.dlpi_name,
            base,
            symbols: core::ptr::null(),
            names: core::ptr::null(),
            versions: core::ptr::null(),
            hashes: [core::ptr::null(); 2],
            lists: [(0, 0); 2],
            span,
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
                DYNAMIC_VERSIONS => file.versions = address(value) as *const _,
                DYNAMIC_GNU_HASH => file.hashes[0] = address(value) as *const _,
                DYNAMIC_HASH => file.hashes[1] = address(value) as *const _,
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

    /// Returns `true` if an address is in this file.
    pub(crate) fn contains(&self, address: usize) -> bool {
        (self.span.0..self.span.1).contains(&address)
    }

    /// Returns the address of a symbol that this file defines, in its default version.
    ///
    /// # Safety
    /// The file is still loaded.
    pub(crate) unsafe fn symbol(&self, name: &CStr) -> Option<usize> {
        let [gnu, old] = self.hashes;
        // SAFETY: the tables are laid out as the ABI says, and refer to symbols of the same file.
        unsafe {
            if gnu.is_null() {
                // The second word of the older table is the number of symbols.
                let count = if old.is_null() { 0 } else { *old.add(1) };
                return (1..count as usize).find_map(|index| self.defined(index, name));
            }
            let [buckets, first, words] = [*gnu, *gnu.add(1), *gnu.add(2)].map(|it| it as usize);
            let hash = name
                .to_bytes()
                .iter()
                .fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
            // Four words of header, then a filter of words of 64 bits, then buckets, then chains.
            let table = gnu.add(4 + 2 * words);
            let mut index = *table.add((hash as usize).checked_rem(buckets)?) as usize;
            while index >= first.max(1) {
                let of_symbol = *table.add(buckets + index - first);
                if of_symbol | 1 == hash | 1
                    && let Some(found) = self.defined(index, name)
                {
                    return Some(found);
                }
                if of_symbol & 1 == 1 {
                    break;
                }
                index += 1;
            }
            None
        }
    }

    /// Returns the address of the symbol at an index if it has this name, is defined here, and has its default version.
    ///
    /// # Safety
    /// The file is still loaded and has a symbol at that index.
    unsafe fn defined(&self, index: usize, name: &CStr) -> Option<usize> {
        // SAFETY: as promised.
        unsafe {
            let symbol = *self.symbols.add(index);
            let is_default = self.versions.is_null() || *self.versions.add(index) & HIDDEN == 0;
            let found = symbol.st_shndx != 0
                && is_default
                && CStr::from_ptr(self.names.add(symbol.st_name as usize)) == name;
            found.then(|| self.base + symbol.st_value as usize)
        }
    }

    /// Calls `visit` with each reference of this file to symbols that it does not define.
    ///
    /// # Safety
    /// The file is still loaded.
    pub(crate) unsafe fn references(&self, visit: &mut dyn FnMut(Reference<'_>)) {
        for (address, bytes) in self.lists.into_iter().filter(|list| list.0 != 0) {
            let count = bytes / size_of::<libc::Elf64_Rela>();
            for index in 0..count {
                // SAFETY: the lists are as long as the file says, and refer to its own symbols.
                unsafe {
                    let reference = *(address as *const libc::Elf64_Rela).add(index);
                    let kind = reference.r_info & 0xffff_ffff;
                    if !ADDRESSES.contains(&kind) {
                        continue;
                    }
                    let symbol = *self.symbols.add((reference.r_info >> 32) as usize);
                    if symbol.st_shndx == 0 {
                        let name = CStr::from_ptr(self.names.add(symbol.st_name as usize));
                        let place = (self.base + reference.r_offset as usize) as *mut usize;
                        visit(Reference { name, is_weak: symbol.st_info >> 4 == WEAK, place });
                    }
                }
            }
        }
    }

    /// Stores an address in a reference, and lifts the write protection of its page for that time.
    ///
    /// # Safety
    /// `place` is a reference of this file that the loader has filled in, and the file is still loaded.
    pub(crate) unsafe fn set(&self, place: *mut usize, address: usize) {
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
            place.write(address);
            if protected {
                libc::mprotect(page, size, libc::PROT_READ);
            }
        }
    }
}
