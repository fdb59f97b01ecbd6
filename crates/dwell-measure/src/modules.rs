//! The program and its libraries, with the addresses at which they are loaded.
#![allow(unsafe_code)] // The loader's list is reached through a callback with raw pointers.

use std::any::Any;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Modules that are kept in mind.
pub(crate) const MOST: usize = 256;

/// A stretch of addresses of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Difference between addresses in memory and in the file.
    pub(crate) bias: usize,
}

impl Range {
    pub(crate) fn contains(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// A module, as the loader lists it.
pub(crate) struct Loaded<'l> {
    info: &'l libc::dl_phdr_info,
}

/// A build id, copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildId {
    bytes: [u8; 32],
    len: usize,
}

impl BuildId {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Loaded<'_> {
    /// Returns the path of the module; empty for the program itself.
    pub(crate) fn path(&self) -> &str {
        if self.info.dlpi_name.is_null() {
            return "";
        }
        // SAFETY: the loader keeps the name, ended by zero, as long as the module is loaded, which it
        // is during the callback.
        unsafe { CStr::from_ptr(self.info.dlpi_name) }.to_str().unwrap_or("")
    }

    fn segments(&self) -> &[libc::Elf64_Phdr] {
        // SAFETY: the loader gives the address and number of program headers, which stay mapped.
        unsafe { std::slice::from_raw_parts(self.info.dlpi_phdr, self.info.dlpi_phnum.into()) }
    }

    fn bias(&self) -> usize {
        self.info.dlpi_addr as usize
    }

    fn range(&self, segment: &libc::Elf64_Phdr) -> Range {
        let start = self.bias().wrapping_add(segment.p_vaddr as usize);
        Range { start, end: start.wrapping_add(segment.p_memsz as usize), bias: self.bias() }
    }

    /// Returns the range from the first loaded byte of the module to its last.
    pub(crate) fn whole(&self) -> Range {
        self.spanning(|_| true)
    }

    /// Returns the range from the first writable byte to the last, which contains the static data.
    fn writable(&self) -> Range {
        self.spanning(|segment| segment.p_flags & libc::PF_W != 0)
    }

    fn spanning(&self, wanted: impl Fn(&libc::Elf64_Phdr) -> bool) -> Range {
        let loaded = self.segments().iter().filter(|segment| segment.p_type == libc::PT_LOAD);
        let wanted = loaded.filter(|segment| wanted(segment));
        let none = Range { start: usize::MAX, end: 0, bias: self.bias() };
        wanted.map(|segment| self.range(segment)).fold(none, |all, one| Range {
            start: all.start.min(one.start),
            end: all.end.max(one.end),
            bias: all.bias,
        })
    }

    /// The tables by which frames are left: all that is mapped from their header on, and where that is.
    ///
    /// # Safety
    /// The module stays loaded as long as the bytes are used.
    pub(crate) unsafe fn frame_tables(&self) -> Option<(&'static [u8], usize)> {
        let of_kind = |kind| self.segments().iter().filter(move |it| it.p_type == kind);
        let header = self.range(of_kind(libc::PT_GNU_EH_FRAME).next()?);
        let mut loaded = of_kind(libc::PT_LOAD).map(|segment| self.range(segment));
        let around = loaded.find(|range| range.contains(header.start))?;
        let length = around.end.checked_sub(header.start)?;
        // SAFETY: it is a part of a segment that is loaded, and stays so as promised.
        let bytes = unsafe { std::slice::from_raw_parts(header.start as *const u8, length) };
        Some((bytes, header.start))
    }

    /// Returns the build id, which distinguishes this build from every other.
    pub(crate) fn build_id(&self) -> BuildId {
        let notes = self.segments().iter().filter(|segment| segment.p_type == libc::PT_NOTE);
        notes
            .filter_map(|segment| {
                let at = self.range(segment);
                // SAFETY: a note segment is part of a loaded one, so it is mapped and readable.
                let bytes =
                    unsafe { std::slice::from_raw_parts(at.start as *const u8, at.end - at.start) };
                build_id_of(bytes)
            })
            .next()
            .unwrap_or_default()
    }
}

/// Finds the build id among notes: each has the lengths of its name and content and a type, four
/// bytes each, then the name and the content, both padded to four bytes.
fn build_id_of(mut notes: &[u8]) -> Option<BuildId> {
    const GNU_BUILD_ID: u32 = 3;
    loop {
        let (header, rest) = notes.split_first_chunk::<12>()?;
        let word = |at: usize| -> Option<u32> {
            Some(u32::from_ne_bytes(header.get(at..at + 4)?.try_into().ok()?))
        };
        let padded = |len: u32| (len as usize).next_multiple_of(4);
        let (name_len, len) = (word(0)?, word(4)?);
        let (name, rest) = rest.split_at_checked(padded(name_len))?;
        let (content, rest) = rest.split_at_checked(padded(len).min(rest.len()))?;
        if word(8)? == GNU_BUILD_ID && name.starts_with(b"GNU\0") {
            let content = content.get(..len as usize)?;
            let mut id = BuildId { bytes: [0; 32], len: content.len().min(32) };
            id.bytes.iter_mut().zip(content).for_each(|(to, from)| *to = *from);
            return Some(id);
        }
        notes = rest;
    }
}

/// Calls `visit` with every module, in the order in which they were loaded, until it returns true.
/// Allocates nothing. A panic of `visit` goes around the loader, which is written in C and holds a lock.
pub(crate) fn each(visit: impl FnMut(&Loaded<'_>) -> bool) {
    struct Walk<V> {
        visit: V,
        panic: Option<Box<dyn Any + Send>>,
    }
    unsafe extern "C" fn step<V: FnMut(&Loaded<'_>) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        walk: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description, and our own pointer back.
        let (info, walk) = unsafe { (&*info, &mut *walk.cast::<Walk<V>>()) };
        let visit = AssertUnwindSafe(|| (walk.visit)(&Loaded { info }));
        match panic::catch_unwind(visit) {
            Ok(enough) => c_int::from(enough),
            Err(payload) => {
                walk.panic = Some(payload);
                1
            }
        }
    }
    fn walk<V: FnMut(&Loaded<'_>) -> bool>(walk: &mut Walk<V>) {
        // SAFETY: the callback has the type that is asked for, and `walk` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(step::<V>), (&raw mut *walk).cast()) };
    }
    let mut all = Walk { visit, panic: None };
    walk(&mut all);
    if let Some(payload) = all.panic {
        panic::resume_unwind(payload);
    }
}

/// Result of `_dl_find_object`, of which the C library has more fields on some processors.
#[repr(C)]
struct Object {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    link: *const LinkMap,
    frames: *const c_void,
    rest: [u64; 8],
}

/// The fields of `struct link_map` that the C library promises.
#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const c_char,
}

type FindObject = unsafe extern "C" fn(*const c_void, *mut Object) -> c_int;

/// The function of the C library that finds the module of an address without a lock; null if it has none.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Looks up how modules are found without the lock of the loader, which takes that lock itself.
pub(crate) fn prepare() {
    // SAFETY: the name ends in zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(found, Ordering::Relaxed);
}

/// Returns `true` if [`find`] takes no lock.
pub(crate) fn can_find() -> bool {
    !FIND_OBJECT.load(Ordering::Relaxed).is_null()
}

/// Calls `visit` with the module that contains an address, if there is one. With glibc 2.35 and later it takes no lock, so
/// that a signal handler may call it, too.
pub(crate) fn find(address: usize, mut visit: impl FnMut(&Loaded<'_>)) {
    let function = FIND_OBJECT.load(Ordering::Relaxed);
    if function.is_null() {
        return each(|module| {
            let is_here = module.whole().contains(address);
            if is_here {
                visit(module);
            }
            is_here
        });
    }
    // SAFETY: it has this type since it exists.
    let function = unsafe { std::mem::transmute::<*mut c_void, FindObject>(function) };
    let mut object = MaybeUninit::<Object>::zeroed();
    // SAFETY: there is room for the result.
    if unsafe { function(address as *const c_void, object.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: the function has filled it in.
    let object = unsafe { object.assume_init() };
    // SAFETY: an address of the module, so the module is loaded.
    if let Some(info) = unsafe { object.described() } {
        visit(&Loaded { info: &info });
    }
}

impl Object {
    /// Returns the description that `dl_iterate_phdr` would give.
    ///
    /// # Safety
    /// The module is loaded.
    unsafe fn described(&self) -> Option<libc::dl_phdr_info> {
        // SAFETY: a module begins with a mapped page, and the loader keeps its description as long as it is loaded.
        let (header, link) =
            unsafe { (self.start.cast::<libc::Elf64_Ehdr>().as_ref()?, self.link.as_ref()?) };
        if !header.e_ident.starts_with(b"\x7fELF") {
            return None;
        }
        // SAFETY: zeros are a description of nothing.
        let mut info: libc::dl_phdr_info = unsafe { MaybeUninit::zeroed().assume_init() };
        info.dlpi_addr = link.bias as u64;
        info.dlpi_name = link.name;
        info.dlpi_phdr = self.start.wrapping_byte_add(header.e_phoff as usize).cast();
        info.dlpi_phnum = header.e_phnum;
        Some(info)
    }
}

/// The writable parts of all modules: where static data are.
pub(crate) fn writable() -> [Range; MOST] {
    let mut ranges = [Range::default(); MOST];
    let mut places = ranges.iter_mut();
    each(|module| match places.next() {
        Some(place) => {
            *place = module.writable();
            false
        }
        None => true,
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_among_them() {
        let here = this_program_is_among_them as fn() as usize;
        let mut found = false;
        each(|module| {
            found |= module.whole().contains(here) && module.path().is_empty();
            false
        });
        assert!(found);
    }

    #[test]
    fn a_panic_comes_back_through_the_loader() {
        let caught = panic::catch_unwind(|| each(|_| panic!("at the first")));
        let payload = caught.expect_err("it panicked");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"at the first"));
        // The lock of the loader is free.
        let mut count = 0;
        each(|_| {
            count += 1;
            false
        });
        assert!(count > 0);
    }

    #[test]
    fn build_ids_are_found_behind_other_notes() {
        let mut notes = Vec::new();
        let mut note = |name: &[u8], of: u32, content: &[u8]| {
            for number in [name.len() as u32, content.len() as u32, of] {
                notes.extend(number.to_ne_bytes());
            }
            for part in [name, content] {
                notes.extend(part);
                notes.resize(notes.len().next_multiple_of(4), 0);
            }
        };
        note(b"GNU\0", 5, &[1; 7]);
        note(b"GNU\0", 3, &[7; 20]);
        assert_eq!(build_id_of(&notes).map(|id| id.bytes().to_vec()), Some(vec![7; 20]));
        for cut in 0..notes.len() - 20 {
            assert_eq!(build_id_of(&notes[..cut]), None);
        }
    }
}
