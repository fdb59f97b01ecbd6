//! Differences between MPI libraries: the width of handles, the layout of a status, the values of constants.
//!
//! Three ABIs are known: that of Open MPI, which 4.x and 5.x share; that of MPICH and its derivatives such as Intel
//! MPI; and that of the standard since MPI 5, with the draft of it that Intel's `libmpi_abi` follows. The library that
//! is loaded decides, at run time.

use core::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use dwell_measure::hook::Passed;
use dwell_measure::mpi::Status;
use dwell_measure::wrap::Wrap;

use super::pmpi;
use crate::real;

/// ABI that a library follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    OpenMpi,
    Mpich,
    /// ABI that the MPI standard defines.
    Standard,
}

/// Constants and layouts of the loaded library.
#[derive(Debug)]
pub(crate) struct Abi {
    pub(crate) family: Family,
    /// Set if the library follows a draft of the standard ABI.
    is_draft: bool,
    pub(crate) comm_world: usize,
    pub(crate) comm_self: usize,
    pub(crate) comm_null: usize,
    pub(crate) win_null: usize,
    pub(crate) request_null: usize,
    pub(crate) message_null: usize,
    pub(crate) message_no_process: usize,
    pub(crate) datatype_null: usize,
    pub(crate) group_null: usize,
    pub(crate) info_null: usize,
    pub(crate) errors_return: usize,
    pub(crate) byte: usize,
    /// Value of `MPI_PROC_NULL`.
    pub(crate) no_process: c_int,
    pub(crate) root: c_int,
    pub(crate) in_place: usize,
    pub(crate) status_ignore: usize,
    pub(crate) lock_shared: c_int,
    /// Error class `MPI_ERR_TRUNCATE`: a message was longer than the receive buffer.
    truncated: c_int,
    /// Size of a status in bytes.
    pub(crate) status_size: usize,
    /// Offset of the error code in a status, in bytes.
    status_error: usize,
    /// Values of `MPI_CART`, `MPI_GRAPH` and `MPI_DIST_GRAPH`.
    pub(crate) topologies: [c_int; 3],
    /// Request that Open MPI returns for every operation that is complete at once.
    empty_request: usize,
    /// Common predefined datatypes and their sizes, at the index that [`place_of`] returns. Derived types are not kept:
    /// once freed, their handle may become that of another type.
    sizes: [(usize, u64); SIZES],
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
            *sizes.wrap_mut(place_of(datatype)) = (datatype, *size);
        }
    }
    sizes
}

/// Bytes reserved for a status, enough for all known libraries.
pub(crate) const STATUS: usize = 48;

static ABI: OnceLock<Abi> = OnceLock::new();

/// Returns the constants of the loaded library. It must be called only after a library was loaded.
#[inline]
pub(crate) fn abi() -> &'static Abi {
    ABI.get_or_init(Abi::detect)
}

impl Abi {
    fn detect() -> Self {
        match family() {
            Family::OpenMpi => Self::open_mpi(),
            Family::Mpich => Self::mpich(),
            Family::Standard if is_draft(&library_version()) => {
                Self { is_draft: true, errors_return: DRAFT_ERRORS_RETURN, ..Self::standard() }
            }
            Family::Standard => Self::standard(),
        }
    }

    fn open_mpi() -> Self {
        Self {
            family: Family::OpenMpi,
            is_draft: false,
            comm_world: variable(c"ompi_mpi_comm_world"),
            comm_self: variable(c"ompi_mpi_comm_self"),
            comm_null: variable(c"ompi_mpi_comm_null"),
            win_null: variable(c"ompi_mpi_win_null"),
            request_null: variable(c"ompi_request_null"),
            message_null: variable(c"ompi_message_null"),
            message_no_process: variable(c"ompi_message_no_proc"),
            datatype_null: variable(c"ompi_mpi_datatype_null"),
            group_null: variable(c"ompi_mpi_group_null"),
            info_null: variable(c"ompi_mpi_info_null"),
            errors_return: variable(c"ompi_mpi_errors_return"),
            byte: variable(c"ompi_mpi_byte"),
            no_process: -2,
            root: -4,
            in_place: 1,
            status_ignore: 0,
            lock_shared: 2,
            truncated: 15,
            status_size: 24,
            status_error: 8,
            topologies: [1, 2, 3],
            empty_request: variable(c"ompi_request_empty"),
            sizes: sizes(),
        }
    }

    const fn mpich() -> Self {
        Self {
            family: Family::Mpich,
            is_draft: false,
            comm_world: 0x4400_0000,
            comm_self: 0x4400_0001,
            comm_null: 0x0400_0000,
            win_null: 0x2000_0000,
            request_null: 0x2c00_0000,
            message_null: 0x2c00_0000,
            message_no_process: 0x6c00_0000,
            datatype_null: 0x0c00_0000,
            group_null: 0x0800_0000,
            info_null: 0x1c00_0000,
            errors_return: 0x5400_0001,
            byte: 0x4c00_010d,
            no_process: -1,
            root: -3,
            in_place: usize::MAX,
            status_ignore: 1,
            lock_shared: 235,
            truncated: 14,
            status_size: 20,
            status_error: 16,
            topologies: [2, 1, 3],
            empty_request: 0,
            sizes: [(0, 0); SIZES],
        }
    }

    const fn standard() -> Self {
        Self {
            family: Family::Standard,
            is_draft: false,
            comm_world: 0x101,
            comm_self: 0x102,
            comm_null: 0x100,
            win_null: 0x110,
            request_null: 0x180,
            message_null: 0x128,
            message_no_process: 0x129,
            datatype_null: 0x200,
            group_null: 0x108,
            info_null: 0x130,
            errors_return: 0x143,
            byte: 0x247,
            no_process: -3,
            root: -4,
            in_place: 1,
            status_ignore: 0,
            lock_shared: 302,
            truncated: 15,
            status_size: 32,
            status_error: 8,
            topologies: [211, 212, 213],
            empty_request: 0,
            sizes: [(0, 0); SIZES],
        }
    }

    /// Returns a remark about the ABI that follows the version of the interface in the archive; empty for ABIs of the
    /// libraries themselves.
    pub(crate) fn label(&self) -> &'static str {
        match (self.family, self.is_draft) {
            (Family::OpenMpi | Family::Mpich, _) => "",
            (Family::Standard, false) => ", standard ABI",
            (Family::Standard, true) => ", draft of the standard ABI",
        }
    }

    fn is_wide(&self) -> bool {
        self.family != Family::Mpich
    }

    /// Returns the handle in a word that was passed as an argument. Where handles are of type `int`, the upper half of
    /// the word is undefined and is masked out.
    #[inline]
    pub(crate) fn handle(&self, word: usize) -> usize {
        if self.is_wide() { word } else { word & 0xffff_ffff }
    }

    /// Reads the handle at an index of an array in the program. Returns `None` if the address of the array is null.
    #[inline]
    pub(crate) fn handle_in(&self, list: Passed, index: usize) -> Option<usize> {
        if self.is_wide() {
            list.read(index)
        } else {
            list.read(index).map(|handle: i32| handle.cast_unsigned() as usize)
        }
    }

    /// Returns `true` if the library may give this request to several operations at the same time.
    #[inline]
    pub(crate) fn is_shared_request(&self, request: usize) -> bool {
        match self.family {
            Family::OpenMpi => request == self.empty_request,
            // Handles whose kind is "built in".
            Family::Mpich | Family::Standard => request >> 30 == 1,
        }
    }

    /// Returns `true` if a status is at an address that the program passed, and `false` for `MPI_STATUS_IGNORE`.
    #[inline]
    pub(crate) fn has_status(&self, address: usize) -> bool {
        address != self.status_ignore
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
        unsafe { ((address + self.status_error) as *const c_int).read_unaligned() }
    }

    /// Returns the size of a datatype in bytes, or 0 if it is invalid.
    #[inline(always)]
    pub(crate) fn type_size(&self, datatype: usize) -> u64 {
        // MPICH writes the size of types of the language into their handles.
        if self.family == Family::Mpich && datatype >> 24 == 0x4c {
            return (datatype >> 8 & 0xff) as u64;
        }
        match *self.sizes.wrap(place_of(datatype)) {
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

/// Finds out which ABI the loaded library follows.
fn family() -> Family {
    // Libraries of the standard's ABI may bring another one of their maker with them, so the name of the
    // file that serves the program decides first.
    let file = real::find(c"PMPI_Init").map(file_of).unwrap_or_default();
    if file.contains("libmpi_abi") {
        Family::Standard
    } else if variable(c"ompi_mpi_comm_world") != 0 {
        Family::OpenMpi
    } else {
        Family::Mpich
    }
}

/// Handle of `MPI_ERRORS_RETURN` in the draft, where it and `MPI_ERRORS_ABORT` have each other's values. No other
/// constant that is used here differs.
const DRAFT_ERRORS_RETURN: usize = 0x142;

/// Returns `true` if a library with the standard ABI follows the draft, according to its version string. The version of
/// the ABI does not help: `libmpi_abi` of Intel MPI 2021.19 reports 1.0, which is that of the final one.
fn is_draft(version: &str) -> bool {
    version.starts_with("Intel(R) MPI Library 2021.")
}

/// Returns the version string of the library, which may be asked for even before `MPI_Init`.
pub(super) fn library_version() -> String {
    let mut text = vec![0_u8; 8192]; // The longest of all known libraries.
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
