//! MPI as called from Fortran.
//!
//! Arguments are addresses of values, handles are integers, and indices start at 1. The error code is the last argument
//! instead of the result; programs that use `mpi_f08` may omit it, and its address is then null. Constants such as
//! `MPI_STATUS_IGNORE` and `MPI_IN_PLACE` are recognised by the addresses of variables.

use core::ffi::{CStr, c_int};
use std::sync::OnceLock;

use super::abi::{Family, abi};
use super::pmpi;
use super::shape::Kind;

/// Addresses that stand for constants.
#[derive(Debug)]
pub(crate) struct Sentinels {
    /// Addresses of `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    pub(crate) no_status: Vec<usize>,
    /// Addresses of `MPI_IN_PLACE`.
    pub(crate) in_place: Vec<usize>,
}

/// Variables of Open MPI whose addresses stand for a constant.
const STATUS_VARIABLES: [&CStr; 4] = [
    c"mpi_fortran_status_ignore_",
    c"mpi_fortran_statuses_ignore_",
    c"mpi_fortran_status_ignore",
    c"mpi_fortran_statuses_ignore",
];
const IN_PLACE_VARIABLES: [&CStr; 3] =
    [c"mpi_fortran_in_place_", c"mpi_fortran_in_place", c"MPIR_F08_MPI_IN_PLACE"];
/// Variables of MPICH that contain the address of a constant.
const STATUS_POINTERS: [&CStr; 4] = [
    c"MPI_F_STATUS_IGNORE",
    c"MPI_F_STATUSES_IGNORE",
    c"MPI_F08_STATUS_IGNORE",
    c"MPI_F08_STATUSES_IGNORE",
];
const IN_PLACE_POINTERS: [&CStr; 1] = [c"MPIR_F_MPI_IN_PLACE"];

/// Returns the addresses that stand for constants. It must be called only after MPI has started.
pub(crate) fn sentinels() -> &'static Sentinels {
    static SENTINELS: OnceLock<Sentinels> = OnceLock::new();
    SENTINELS.get_or_init(|| Sentinels {
        no_status: all(&STATUS_VARIABLES, &STATUS_POINTERS),
        in_place: all(&IN_PLACE_VARIABLES, &IN_PLACE_POINTERS),
    })
}

fn all(variables: &[&CStr], pointers: &[&CStr]) -> Vec<usize> {
    let pointed = pointers.iter().map(|name| match super::abi::variable(name) {
        0 => 0,
        // SAFETY: a variable of the library that holds an address.
        at => unsafe { (at as *const usize).read_unaligned() },
    });
    let own = variables.iter().map(|name| super::abi::variable(name));
    own.chain(pointed).filter(|address| *address != 0).collect()
}

/// Converts a handle of Fortran to that of C.
pub(crate) fn handle(kind: Kind, integer: c_int) -> usize {
    let abi = abi();
    // MPICH has the same integers in both.
    if abi.family == Family::Mpich || kind == Kind::File {
        return integer.cast_unsigned() as usize;
    }
    // SAFETY: conversions take any integer that a program may have.
    unsafe {
        match kind {
            Kind::Comm => pmpi::comm_f2c(integer),
            Kind::Datatype => pmpi::type_f2c(integer),
            Kind::Group => pmpi::group_f2c(integer),
            Kind::Message => pmpi::message_f2c(integer),
            Kind::Request => pmpi::request_f2c(integer),
            Kind::Win => pmpi::win_f2c(integer),
            Kind::File => integer.cast_unsigned() as usize,
        }
    }
}

/// Reads the error code that a call has stored, or returns 0 if the program omitted the argument.
///
/// # Safety
/// `address` is null, or the call has stored its error code there.
pub(crate) unsafe fn code_at(address: usize) -> c_int {
    if address == 0 {
        return 0;
    }
    // SAFETY: as promised.
    unsafe { (address as *const c_int).read_unaligned() }
}
