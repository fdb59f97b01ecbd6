//! What differs between MPI libraries: how wide handles are, where a status has what, what constants are
//! worth.
//!
//! Three are known: Open MPI's, which 4.x and 5.x share; that of MPICH and its descendants, Intel MPI among
//! them; and the one of the standard since MPI 5, with the draft of it that Intel's `libmpi_abi` follows. Which it
//! is shows when the library is loaded.

use core::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use dwell_measure::hook::Passed;
use dwell_measure::mpi::Status;
use dwell_measure::wrap::Wrap;

use super::pmpi;
use crate::real;

/// Whose conventions a library follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    OpenMpi,
    Mpich,
    /// The ABI of the standard.
    Standard,
}

/// Facts about a library.
#[derive(Debug)]
pub(crate) struct Abi {
    pub(crate) family: Family,
    /// Whether it is a draft of the ABI of the standard.
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
    /// Ranks that are none.
    pub(crate) no_process: c_int,
    pub(crate) root: c_int,
    pub(crate) in_place: usize,
    pub(crate) status_ignore: usize,
    pub(crate) lock_shared: c_int,
    /// Class of the error that a message was longer than its place.
    truncated: c_int,
    /// Bytes of a status.
    pub(crate) status_size: usize,
    /// Where a status has its error.
    status_error: usize,
    /// Kinds of topology: grid, graph, graph of neighbours.
    pub(crate) topologies: [c_int; 3],
    /// Request that every operation gets that was complete at once.
    empty_request: usize,
    /// Types that most programs use, and their sizes, by [`place_of`]. Only types that are there from the
    /// beginning: the handle of any other may stand for another type the next time.
    sizes: [(usize, u64); SIZES],
}

/// Places for types whose size is known.
const SIZES: usize = 32;

/// Where the size of a type is looked for.
#[inline(always)]
const fn place_of(datatype: usize) -> usize {
    datatype >> 4 ^ datatype >> 9
}

/// Types of C that Open MPI has as variables, and their sizes. The more usual come later: two that fall
/// on one place leave it to the later.
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

/// The longest status there is, with room to spare.
pub(crate) const STATUS: usize = 48;

static ABI: OnceLock<Abi> = OnceLock::new();

/// The facts about the library that is loaded. Only called when one is.
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

    /// The ABI, in words that stand behind the version of the interface; empty if it is the library's own.
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

    /// A handle that was passed as an argument: the upper half of a register that holds an `int` is
    /// anything.
    #[inline]
    pub(crate) fn handle(&self, word: usize) -> usize {
        if self.is_wide() { word } else { word & 0xffff_ffff }
    }

    /// Reads a handle from memory, the `index`-th of an array. `None` if there is no array.
    #[inline]
    pub(crate) fn handle_in(&self, list: Passed, index: usize) -> Option<usize> {
        if self.is_wide() {
            list.read(index)
        } else {
            list.read(index).map(|handle: i32| handle.cast_unsigned() as usize)
        }
    }

    /// Whether the library gives the same request to several operations at once.
    #[inline]
    pub(crate) fn is_shared_request(&self, request: usize) -> bool {
        match self.family {
            Family::OpenMpi => request == self.empty_request,
            // Handles whose kind is "built in".
            Family::Mpich | Family::Standard => request >> 30 == 1,
        }
    }

    /// Whether there is a status at an address that a program passed.
    #[inline]
    pub(crate) fn has_status(&self, address: usize) -> bool {
        address != self.status_ignore
    }

    /// Reads a status.
    ///
    /// # Safety
    /// The library has stored one at that address.
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

    /// Whether a call failed because a message was longer than its place: then the message has come, and
    /// there is a status.
    #[cold]
    pub(crate) fn is_truncated(&self, code: c_int) -> bool {
        let mut class = 0;
        // SAFETY: a place for the answer.
        let asked = unsafe { pmpi::error_class(code, &raw mut class) };
        asked == 0 && class == self.truncated
    }

    /// The error in a status, of a call that says that there are some.
    ///
    /// # Safety
    /// The library has stored one at that address.
    pub(crate) unsafe fn status_error(&self, address: usize) -> c_int {
        // SAFETY: as promised.
        unsafe { ((address + self.status_error) as *const c_int).read_unaligned() }
    }

    /// Bytes of an element of a type.
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

/// Which library it is.
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

/// `MPI_ERRORS_RETURN` of the draft, in which it and `MPI_ERRORS_ABORT` have each other's number. Nothing else that
/// is used here differs.
const DRAFT_ERRORS_RETURN: usize = 0x142;

/// Whether a library that has the ABI of the standard follows the draft, by what it says of itself. `libmpi_abi` of
/// Intel MPI 2021.19 says that its ABI is 1.0, which is the version of the final one.
fn is_draft(version: &str) -> bool {
    version.starts_with("Intel(R) MPI Library 2021.")
}

/// What the library says of itself. It may be asked at any time.
pub(super) fn library_version() -> String {
    let mut text = vec![0_u8; 8192]; // The longest of all known libraries.
    let mut length = 0;
    // SAFETY: places for the answers, large enough for each library.
    unsafe { pmpi::get_library_version(text.as_mut_ptr().cast(), &raw mut length) };
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned()
}

/// The name of the file that a function is in.
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

/// The address of a variable of the library: where the program sees it, which may have a copy of its own.
pub(super) fn variable(name: &CStr) -> usize {
    // SAFETY: the name ends in zero; looking it up changes nothing.
    let seen = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if seen.is_null() { real::find(name).map_or(0, <*mut ()>::addr) } else { seen.addr() }
}
