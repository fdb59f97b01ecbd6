//! The table of MPI.
//!
//! Every function of MPI 5.0 and before that communicates, waits, or makes or ends something that
//! communication goes through: 401 names. The rest asks the library for what it knows or keeps, and is on
//! the list [`NOT_HOOKED`] with the reason.
//!
//! | module | families |
//! |---|---|
//! | `messages` | point to point: blocking, non-blocking, persistent, partitioned, probes |
//! | `completion` | requests |
//! | `collectives` | collective operations |
//! | `rma` | windows, one-sided operations, epochs |
//! | `groups` | communicators, topologies, groups |
//! | `setup` | beginning and end, sessions, memory, ports |
//! | `files` | input and output |
//! | `role` | what arguments are, and how a row is made from that |
//!
//! A line of a family is a function and the roles of its arguments. `twins!` makes a second function of
//! each line, for large counts (`MPI_Send_c`).
//!
//! # One table for several libraries
//! The table has what the standard says: which argument is a communicator, which a count. How wide a
//! handle is and what a constant is worth differs between libraries and is found at run time. A function
//! that a library lacks has a row all the same.
//!
//! # What is covered
//! A test holds the table against the headers and the symbols of whichever MPI libraries are installed: a
//! function that they declare or export is in the table, or on the list; and has these arguments.
//!
//! # What is not
//! The Fortran names. What an implementation has beyond the standard (`MPIX_`), but for Open MPI 4's
//! persistent collectives. [Progress](crate::operation::Progress) was measured for few functions; where
//! Open MPI and MPICH differ it is conditional.

mod collectives;
mod completion;
mod files;
mod groups;
mod messages;
mod rma;
mod role;
mod setup;
#[cfg(test)]
mod tests;

use crate::layer::Layer;
use crate::table::{self, Family, Row, Table};

/// Everything, in chapters of families.
const CHAPTERS: &[&[Family]] = &[
    setup::FAMILIES,
    messages::FAMILIES,
    completion::FAMILIES,
    collectives::FAMILIES,
    rma::FAMILIES,
    groups::FAMILIES,
    files::FAMILIES,
];

static ROWS: [Row; table::count(CHAPTERS)] = table::sorted(CHAPTERS);

/// Every function of MPI that is hooked.
pub static TABLE: Table = Table {
    layer: Layer::Mpi,
    measured_on: "MPICH 4.0.2 and Open MPI 4.1.4 (osc/pt2pt)",
    rows: &ROWS,
};

/// The families that the table was made from.
pub fn families() -> impl Iterator<Item = &'static Family> {
    CHAPTERS.iter().copied().flatten()
}

/// The row of a function that is named as other tools name it, by the profiling twin (`PMPI_Send`) for
/// instance.
pub fn find(name: &str) -> Option<&'static Row> {
    TABLE.find(name).or_else(|| TABLE.find(name.strip_prefix('P')?))
}

const ASKS: &str =
    "asks the library for what it knows by itself: measuring would cost more than the call";
const LOCAL: &str = "works in memory of its own process, without anybody else";
const CONVERTS: &str = "converts a handle, without anybody else";
const EXTENSION: &str = "an extension of one implementation";
const CALLBACK: &str = "given to the library as a callback, not called";

/// Functions of MPI that are left alone, each with the reason. A `*` stands for any letters.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("MPI_T_*", "for tools, not for programs"),
    ("MPI_Wtime", "reads a clock, many times a second in some programs"),
    ("MPI_Wtick", "reads a clock"),
    ("MPI_Abi_*", ASKS),
    ("MPI_*_c2f", CONVERTS),
    ("MPI_*_f2c", CONVERTS),
    ("MPI_*_fromint", CONVERTS),
    ("MPI_*_toint", CONVERTS),
    ("MPI_Status_*", LOCAL),
    ("MPI_Aint_*", LOCAL),
    ("MPI_Get_address", LOCAL),
    ("MPI_Address", LOCAL),
    ("MPI_Type_*", LOCAL),
    ("MPI_Op_*", LOCAL),
    ("MPI_Info_*", LOCAL),
    ("MPI_Pack*", LOCAL),
    ("MPI_Unpack*", LOCAL),
    ("MPI_Reduce_local*", LOCAL),
    ("MPI_Errhandler_*", LOCAL),
    ("MPI_*_errhandler", LOCAL),
    ("MPI_Error_*", ASKS),
    ("MPI_Add_error_*", LOCAL),
    ("MPI_Remove_error_*", LOCAL),
    ("MPI_*_keyval", LOCAL),
    ("MPI_*_attr", LOCAL),
    ("MPI_Attr_*", LOCAL),
    ("MPI_Keyval_*", LOCAL),
    ("MPI_Register_datarep*", LOCAL),
    ("MPI_Get_count*", ASKS),
    ("MPI_Get_elements*", ASKS),
    ("MPI_Get_version", ASKS),
    ("MPI_Get_library_version", ASKS),
    ("MPI_Get_processor_name", ASKS),
    ("MPI_Get_hw_resource_info", ASKS),
    ("MPI_Comm_rank", ASKS),
    ("MPI_Comm_size", ASKS),
    ("MPI_Comm_compare", ASKS),
    ("MPI_Comm_group", ASKS),
    ("MPI_Comm_test_inter", ASKS),
    ("MPI_Comm_remote_*", ASKS),
    ("MPI_Comm_get_*", ASKS),
    ("MPI_*_get_name", ASKS),
    ("MPI_*_set_name", LOCAL),
    ("MPI_*_get_info", ASKS),
    ("MPI_*_set_info", LOCAL),
    ("MPI_Initialized", ASKS),
    ("MPI_Finalized", ASKS),
    ("MPI_Query_thread", ASKS),
    ("MPI_Is_thread_main", ASKS),
    ("MPI_Test_cancelled", ASKS),
    ("MPI_Cart_coords", ASKS),
    ("MPI_Cart_get", ASKS),
    ("MPI_Cart_map", ASKS),
    ("MPI_Cart_rank", ASKS),
    ("MPI_Cart_shift", ASKS),
    ("MPI_Cartdim_get", ASKS),
    ("MPI_Dims_create", LOCAL),
    ("MPI_Graph_get", ASKS),
    ("MPI_Graph_map", ASKS),
    ("MPI_Graph_neighbors*", ASKS),
    ("MPI_Graphdims_get", ASKS),
    ("MPI_Dist_graph_neighbors*", ASKS),
    ("MPI_Topo_test", ASKS),
    ("MPI_Group_rank", ASKS),
    ("MPI_Group_size", ASKS),
    ("MPI_Group_compare", ASKS),
    ("MPI_Group_translate_ranks", ASKS),
    ("MPI_Session_get_*", ASKS),
    ("MPI_Win_get_*", ASKS),
    ("MPI_Win_shared_query*", ASKS),
    ("MPI_File_get_*", ASKS),
    ("MPI_CONVERSION_FN_NULL*", CALLBACK),
    ("MPI_*DUP_FN", CALLBACK),
    ("MPI_*NULL_COPY_FN", CALLBACK),
    ("MPI_*NULL_DELETE_FN", CALLBACK),
    ("MPI_*_F90", "part of a Fortran module of Open MPI"),
    ("MPIX_*", EXTENSION),
    ("MPI_F_*", "a variable, not a function"),
];

/// Why a function is not hooked, if it is on the list.
pub fn not_hooked(name: &str) -> Option<&'static str> {
    table::reason(NOT_HOOKED, name)
}
