//! Differences between MPI libraries: the width of handles, the layout of a status, the values of constants.
//!
//! Three ABIs are known: that of Open MPI, which 4.x and 5.x share; that of MPICH and its derivatives such as Intel
//! MPI; and that of the standard since MPI 5, with the draft of it that Intel's `libmpi_abi` follows. A program that
//! was compiled without any MPI can call each of them: it finds out which one is loaded ([`Family::of`]) and passes the
//! constants of that one ([`Abi::of`]).
//!
//! Handles are words here. On 64-bit Linux a handle takes one register in every ABI, so a function that takes handles
//! has one signature for all of them. Arrays of handles and variables that hold one have [`Abi::handle_size`] bytes an
//! element.

use core::ffi::{CStr, c_int};

/// ABI that a library follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// ABI of Open MPI.
    OpenMpi,
    /// ABI of MPICH, which Intel MPI, Cray MPICH and MVAPICH share.
    Mpich,
    /// ABI that the MPI standard defines.
    Standard,
}

impl Family {
    /// Finds out the ABI from the path of the file that contains `MPI_Init` and from whether the variable
    /// [`Self::OPEN_MPI_MARK`] exists.
    ///
    /// A library with the standard ABI may load another one of the same maker, whose variables are then visible too.
    /// The name of the file therefore decides first.
    pub fn of(file: &str, has_open_mpi_mark: bool) -> Self {
        if file.contains("libmpi_abi") {
            Self::Standard
        } else if has_open_mpi_mark {
            Self::OpenMpi
        } else {
            Self::Mpich
        }
    }

    /// Variable that Open MPI alone exports.
    pub const OPEN_MPI_MARK: &CStr = c"ompi_mpi_comm_world";

    /// Variable that libraries with the ABI of MPICH export: in other ABIs `MPI_UNWEIGHTED` is a constant.
    pub const MPICH_MARK: &CStr = c"MPI_UNWEIGHTED";

    /// Names under which the loader finds libraries of each ABI, in the order in which a program should ask for them.
    /// Those with an ABI of their own come first, because Intel's `libmpi_abi` follows a draft of the standard.
    pub const FILES: &[(&str, Self)] = &[
        ("libmpi.so.40", Self::OpenMpi),
        ("libmpi.so.12", Self::Mpich),
        ("libmpich.so.12", Self::Mpich), // Debian's name for it
        ("libmpi_abi.so.1", Self::Standard),
        ("libmpi_abi.so.0", Self::Standard),
    ];
}

/// Constants and layouts of a library.
#[derive(Debug)]
pub struct Abi {
    /// ABI that these constants belong to.
    pub family: Family,
    /// Set if the library follows a draft of the standard ABI.
    pub is_draft: bool,
    /// Handle of `MPI_COMM_WORLD`, the communicator of all processes.
    pub comm_world: usize,
    /// Handle of `MPI_COMM_SELF`, the communicator of this process alone.
    pub comm_self: usize,
    /// Handle of `MPI_COMM_NULL`, which is not a communicator.
    pub comm_null: usize,
    /// Handle of `MPI_WIN_NULL`, which is not a window.
    pub win_null: usize,
    /// Handle of `MPI_REQUEST_NULL`, which a completed request becomes.
    pub request_null: usize,
    /// Handle of `MPI_MESSAGE_NULL`, which a received message becomes.
    pub message_null: usize,
    /// Handle of `MPI_MESSAGE_NO_PROC`, a message from `MPI_PROC_NULL`.
    pub message_no_process: usize,
    /// Handle of `MPI_DATATYPE_NULL`, which is not a datatype.
    pub datatype_null: usize,
    /// Handle of `MPI_GROUP_NULL`, which is not a group.
    pub group_null: usize,
    /// Handle of `MPI_INFO_NULL`, which stands for no hints.
    pub info_null: usize,
    /// Handle of `MPI_ERRORS_RETURN`, the error handler with which functions return their errors.
    pub errors_return: usize,
    /// Handle of `MPI_BYTE`, the datatype of uninterpreted bytes.
    pub byte: usize,
    /// Handle of `MPI_INT64_T`, the datatype of signed 64-bit numbers.
    pub int64: usize,
    /// Handle of `MPI_UINT64_T`, the datatype of unsigned 64-bit numbers.
    pub uint64: usize,
    /// Handle of `MPI_MIN`, the reduction to the least number.
    pub min: usize,
    /// Handle of `MPI_SUM`, the reduction to the sum of all numbers.
    pub sum: usize,
    /// Handle of `MPI_BOR`, the reduction to the bits that are set in any number.
    pub bits: usize,
    /// Handle of `MPI_NO_OP`, with which an atomic operation changes nothing.
    pub no_op: usize,
    /// Value of `MPI_THREAD_FUNNELED`: only the thread that initialised MPI calls it.
    pub funneled: c_int,
    /// Value of `MPI_PROC_NULL`, a rank to which nothing is sent.
    pub no_process: c_int,
    /// Value of `MPI_ROOT`, by which the root of a collective on an intercommunicator names itself.
    pub root: c_int,
    /// Address that stands for `MPI_IN_PLACE`.
    pub in_place: usize,
    /// Address that stands for `MPI_STATUS_IGNORE`.
    pub status_ignore: usize,
    /// Value of `MPI_LOCK_SHARED`, the kind of a lock that several origins may hold.
    pub lock_shared: c_int,
    /// Error class `MPI_ERR_TRUNCATE`: a message was longer than the receive buffer.
    pub truncated: c_int,
    /// Size of a status in bytes.
    pub status_size: usize,
    /// Offset of the error code in a status, in bytes.
    pub status_error: usize,
    /// Values of `MPI_CART`, `MPI_GRAPH` and `MPI_DIST_GRAPH`.
    pub topologies: [c_int; 3],
    /// Request that Open MPI returns for every operation that is complete at once; 0 in other libraries.
    pub empty_request: usize,
}

/// Size in bytes of a buffer that holds a status of any known library.
pub const STATUS: usize = 48;

/// Size in bytes of a buffer that holds the version string of any known library.
pub const VERSION: usize = 8192;

impl Abi {
    /// Returns the constants of a library.
    ///
    /// `version` is the result of `MPI_Get_library_version`, and is asked for only where it decides. `variable` returns
    /// the address of a variable of the library, or 0 if there is none: the predefined handles of Open MPI are such
    /// addresses.
    pub fn of<V: AsRef<str>>(
        family: Family,
        version: impl FnOnce() -> V,
        variable: impl Fn(&CStr) -> usize,
    ) -> Self {
        match family {
            Family::OpenMpi => Self::open_mpi(variable),
            Family::Mpich => Self::mpich(),
            Family::Standard if is_draft(version().as_ref()) => {
                Self { is_draft: true, errors_return: DRAFT_ERRORS_RETURN, ..Self::standard() }
            }
            Family::Standard => Self::standard(),
        }
    }

    fn open_mpi(variable: impl Fn(&CStr) -> usize) -> Self {
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
            int64: variable(c"ompi_mpi_int64_t"),
            uint64: variable(c"ompi_mpi_uint64_t"),
            min: variable(c"ompi_mpi_op_min"),
            sum: variable(c"ompi_mpi_op_sum"),
            bits: variable(c"ompi_mpi_op_bor"),
            no_op: variable(c"ompi_mpi_op_no_op"),
            funneled: 1,
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
            int64: 0x4c00_083a,
            uint64: 0x4c00_083e,
            min: 0x5800_0002,
            sum: 0x5800_0003,
            bits: 0x5800_0008,
            no_op: 0x5800_000e,
            funneled: 1,
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
            int64: 0x258,
            uint64: 0x259,
            min: 0x22,
            sum: 0x21,
            bits: 0x29,
            no_op: 0x3d,
            funneled: 1024,
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
        }
    }

    /// Returns a remark about the ABI that follows the version of the interface in the archive; empty for ABIs of the
    /// libraries themselves.
    pub fn label(&self) -> &'static str {
        match (self.family, self.is_draft) {
            (Family::OpenMpi | Family::Mpich, _) => "",
            (Family::Standard, false) => ", standard ABI",
            (Family::Standard, true) => ", draft of the standard ABI",
        }
    }

    /// Returns the size of a handle in bytes.
    #[inline]
    pub fn handle_size(&self) -> usize {
        if self.family == Family::Mpich { 4 } else { 8 }
    }

    /// Returns the handle in a word that was passed as an argument. Where handles are of type `int`, the upper half of
    /// the word is undefined and is masked out.
    #[inline]
    pub fn handle(&self, word: usize) -> usize {
        if self.handle_size() == 8 { word } else { word & 0xffff_ffff }
    }

    /// Returns `true` if the library may give this request to several operations at the same time.
    #[inline]
    pub fn is_shared_request(&self, request: usize) -> bool {
        match self.family {
            Family::OpenMpi => request == self.empty_request,
            // Handles whose kind is "built in".
            Family::Mpich | Family::Standard => request >> 30 == 1,
        }
    }

    /// Returns `true` if a status is at an address that the program passed, and `false` for `MPI_STATUS_IGNORE`.
    #[inline]
    pub fn has_status(&self, address: usize) -> bool {
        address != self.status_ignore
    }
}

/// Project that an MPI library stems from. A launcher starts processes for libraries of its own project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Open MPI, with its major version.
    OpenMpi(u32),
    /// MPICH or a derivative of it: Intel MPI, Cray MPICH, MVAPICH, `ParaStation` MPI.
    Mpich,
}

impl Maker {
    /// Recognises the project by the version string of a library. Returns `None` if it is none of these.
    pub fn of(version: &str) -> Option<Self> {
        const MPICHS: &[&str] = &["MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"];
        if let Some(rest) = version.strip_prefix("Open MPI v") {
            let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
            return rest.get(..end)?.parse().ok().map(Self::OpenMpi);
        }
        MPICHS.iter().any(|name| version.contains(name)).then_some(Self::Mpich)
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

#[cfg(test)]
mod tests {
    use super::{Abi, Family, Maker};

    #[test]
    fn version_strings_name_the_project() {
        let known = [
            ("Open MPI v4.1.4, package: Debian OpenMPI", Some(Maker::OpenMpi(4))),
            ("Open MPI v5.0.11, package: Open MPI", Some(Maker::OpenMpi(5))),
            ("MPICH Version:      4.0.2\nMPICH Release date:", Some(Maker::Mpich)),
            ("Intel(R) MPI Library 2021.19 for Linux* OS", Some(Maker::Mpich)),
            ("MPI VERSION    : CRAY MPICH version 8.1.9.31", Some(Maker::Mpich)),
            ("HPE MPT 2.23", None),
            ("", None),
        ];
        for (version, maker) in known {
            assert_eq!(Maker::of(version), maker, "{version}");
        }
    }

    #[test]
    fn the_file_decides_before_the_variables() {
        assert_eq!(Family::of("/opt/lib/libmpi_abi.so.1", true), Family::Standard);
        assert_eq!(Family::of("/usr/lib/libmpi.so.40", true), Family::OpenMpi);
        assert_eq!(Family::of("/usr/lib/libmpi.so.12", false), Family::Mpich);
    }

    #[test]
    fn the_draft_swaps_two_error_handlers() {
        let abi = |version: &'static str| Abi::of(Family::Standard, || version, |_| 0);
        let (standard, draft) = (abi("MPICH Version:\t5.0.2"), abi("Intel(R) MPI Library 2021.19"));
        assert_eq!((standard.errors_return, standard.label()), (0x143, ", standard ABI"));
        assert_eq!((draft.errors_return, draft.label()), (0x142, ", draft of the standard ABI"));
    }

    #[test]
    fn handles_of_type_int_lose_the_upper_half_of_the_word() {
        let abi = |family| Abi::of(family, || "", |_| 8);
        assert_eq!(abi(Family::Mpich).handle(0xdead_beef_4400_0000), 0x4400_0000);
        assert_eq!(abi(Family::OpenMpi).handle(0xdead_beef_4400_0000), 0xdead_beef_4400_0000);
    }
}
