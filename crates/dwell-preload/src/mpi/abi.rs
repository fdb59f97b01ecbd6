//! The ABI of the loaded library: its [facts](dwell_model::mpi::abi), found at run time, and what is read by them.

use core::ffi::{CStr, c_int, c_void};
use core::ops::Deref;
use std::sync::OnceLock;

use dwell_measure::hook::Passed;
use dwell_measure::modulo::Modulo;
use dwell_measure::mpi::Status;
use dwell_model::mpi::abi::{self as model, VERSION};
pub(crate) use dwell_model::mpi::abi::{Family, STATUS};

use super::pmpi;
use crate::real;

/// Constants and layouts of the loaded library, which it derefs to, and a cache.
#[derive(Debug)]
pub(crate) struct Abi {
    facts: model::Abi,
    /// Common predefined datatypes and their sizes, at the index that [`place_of`] returns. Derived types are not kept:
    /// once freed, their handle may become that of another type.
    sizes: [(usize, u64); SIZES],
}

impl Deref for Abi {
    type Target = model::Abi;

    #[inline(always)]
    fn deref(&self) -> &model::Abi {
        &self.facts
    }
}

/// Number of entries in the cache of datatype sizes.
const SIZES: usize = 32;

/// Returns the index at which the size of a datatype is cached, before reduction to the size of the cache.
#[inline(always)]
const fn place_of(datatype: usize) -> usize {
    datatype >> 4 ^ datatype >> 9
}

/// Predefined datatypes that Open MPI exports as variables, and their sizes. The more common ones come later, because
/// of two types with the same index the later one is kept.
const TYPES: &[(&CStr, u64)] = &[
    (c"ompi_mpi_unsigned_char", 1),
    (c"ompi_mpi_short", 2),
    (c"ompi_mpi_unsigned", 4),
    (c"ompi_mpi_unsigned_long", 8),
    (c"ompi_mpi_uint64_t", 8),
    (c"ompi_mpi_int32_t", 4),
    (c"ompi_mpi_long_long_int", 8),
    (c"ompi_mpi_int64_t", 8),
    (c"ompi_mpi_float", 4),
    (c"ompi_mpi_long", 8),
    (c"ompi_mpi_char", 1),
    (c"ompi_mpi_int", 4),
    (c"ompi_mpi_byte", 1),
    (c"ompi_mpi_double", 8),
];

fn sizes() -> [(usize, u64); SIZES] {
    let mut sizes = [(0, 0); SIZES];
    for (name, size) in TYPES {
        let datatype = variable(name);
        if datatype != 0 {
            *sizes.modulo_mut(place_of(datatype)) = (datatype, *size);
        }
    }
    sizes
}

static ABI: OnceLock<Abi> = OnceLock::new();

/// Returns the constants of the loaded library. It must be called only after a library was loaded.
#[inline]
pub(crate) fn abi() -> &'static Abi {
    ABI.get_or_init(Abi::detect)
}

impl Abi {
    fn detect() -> Self {
        let file = real::find(c"PMPI_Init").map(file_of).unwrap_or_default();
        let family = Family::of(&file, variable(Family::OPEN_MPI_MARK) != 0);
        let sizes = if family == Family::OpenMpi { sizes() } else { [(0, 0); SIZES] };
        Self { facts: model::Abi::of(family, library_version, variable), sizes }
    }

    /// Reads the handle at an index of an array in the program. Returns `None` if the address of the array is null.
    #[inline]
    pub(crate) fn handle_in(&self, list: Passed, index: usize) -> Option<usize> {
        if self.handle_size() == 8 {
            list.read(index)
        } else {
            list.read(index).map(|handle: i32| handle.cast_unsigned() as usize)
        }
    }

    /// Reads a status.
    ///
    /// # Safety
    /// The library has stored a status at `address`.
    pub(crate) unsafe fn status(&self, address: usize) -> Status {
        // SAFETY: as promised, it is as large as this library has it.
        let word = |offset: usize| unsafe { ((address + offset) as *const c_int).read_unaligned() };
        let number = |offset: usize| u64::from(word(offset).cast_unsigned());
        match self.family {
            Family::OpenMpi => Status {
                source: word(0),
                tag: word(4),
                cancelled: word(12) != 0,
                bytes: number(16) | number(20) << 32,
            },
            Family::Mpich => Status {
                source: word(8),
                tag: word(12),
                cancelled: word(4) & 1 != 0,
                bytes: number(0) | (number(4) >> 1) << 32,
            },
            Family::Standard => {
                let (mut bytes, mut cancelled) = (0_i64, 0);
                // SAFETY: a status of this library, and places for the answers.
                unsafe {
                    pmpi::get_count_c(address, self.byte, &raw mut bytes);
                    pmpi::test_cancelled(address, &raw mut cancelled);
                }
                let bytes = u64::try_from(bytes).unwrap_or(0);
                Status { source: word(0), tag: word(4), cancelled: cancelled != 0, bytes }
            }
        }
    }

    /// Returns `true` if a call failed because a message was longer than the receive buffer. The message has then
    /// arrived nevertheless, and the status is valid.
    #[cold]
    pub(crate) fn is_truncated(&self, code: c_int) -> bool {
        let mut class = 0;
        // SAFETY: a place for the answer.
        let asked = unsafe { pmpi::error_class(code, &raw mut class) };
        asked == 0 && class == self.truncated
    }

    /// Reads the error code in a status, after a call that returned `MPI_ERR_IN_STATUS`.
    ///
    /// # Safety
    /// The library has stored a status with an error code at `address`.
    pub(crate) unsafe fn status_error(&self, address: usize) -> c_int {
        // SAFETY: as promised.
        unsafe { ((address + self.facts.status_error) as *const c_int).read_unaligned() }
    }

    /// Returns `true` for a datatype of the language that is known to be one, and not a derived one.
    #[inline(always)]
    pub(crate) fn is_of_language(&self, datatype: usize) -> bool {
        match self.family {
            Family::OpenMpi => datatype != 0 && self.sizes.modulo(place_of(datatype)).0 == datatype,
            Family::Mpich => datatype >> 24 == 0x4c,
            // Handles of the standard lie below the first page of memory.
            Family::Standard => datatype < 0x1000,
        }
    }

    /// Returns the size of a datatype in bytes, or 0 if it is invalid.
    #[inline(always)]
    pub(crate) fn type_size(&self, datatype: usize) -> u64 {
        // MPICH writes the size of types of the language into their handles.
        if self.family == Family::Mpich && datatype >> 24 == 0x4c {
            return (datatype >> 8 & 0xff) as u64;
        }
        match *self.sizes.modulo(place_of(datatype)) {
            (known, size) if known == datatype && known != 0 => size,
            _ => self.ask_for_size(datatype),
        }
    }

    #[inline(never)]
    fn ask_for_size(&self, datatype: usize) -> u64 {
        if datatype == self.datatype_null {
            return 0;
        }
        let mut size = 0;
        // SAFETY: a type that the program passes to the library in the same moment.
        let code = unsafe { pmpi::type_size(datatype, &raw mut size) };
        if code == 0 { u64::try_from(size).unwrap_or(0) } else { 0 }
    }
}

/// Returns the version string of the library, which may be asked for even before `MPI_Init`.
pub(super) fn library_version() -> String {
    let mut text = vec![0_u8; VERSION];
    let mut length = 0;
    // SAFETY: places for the answers, large enough for each library.
    unsafe { pmpi::get_library_version(text.as_mut_ptr().cast(), &raw mut length) };
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned()
}

/// Returns the path of the file that contains a function; empty if it is not known.
fn file_of(function: *mut ()) -> String {
    // SAFETY: zeros are a `Dl_info`, and the loader fills it in; its name ends in zero.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(function.cast_const().cast::<c_void>(), &raw mut info) == 0
            || info.dli_fname.is_null()
        {
            return String::new();
        }
        CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()
    }
}

/// Returns the address of a variable of the library as the program sees it, which may be a copy in the executable.
/// Returns 0 if there is none.
pub(super) fn variable(name: &CStr) -> usize {
    // SAFETY: the name ends in zero; looking it up changes nothing.
    let seen = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if seen.is_null() { real::find(name).map_or(0, <*mut ()>::addr) } else { seen.addr() }
}
