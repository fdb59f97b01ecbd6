//! The table of MPI.
//!
//! It has every function of MPI 5.0 and before that communicates, waits, or creates or ends something that
//! communication goes through: 401 names. The other functions query the library or change local state, and are on the
//! list [`NOT_HOOKED`] with the reason.
//!
//! | module | families |
//! |---|---|
//! | `messages` | point to point: blocking, non-blocking, persistent, partitioned, probes |
//! | `completion` | requests |
//! | `collectives` | collective operations |
//! | `rma` | windows, one-sided operations, epochs |
//! | `groups` | communicators, topologies, groups |
//! | `setup` | initialisation and finalisation, sessions, memory, ports |
//! | `files` | input and output |
//! | [`abi`] | differences between libraries: constants, layouts |
//! | `role` | roles of arguments, and how a row is built from them |
//!
//! A line of a family is a function and the roles of its arguments. `twins!` adds a second function for each line, the
//! one for large counts (`MPI_Send_c`).
//!
//! # One table for several libraries
//! The table has what the standard says: which argument is a communicator, which a count. The width of handles and the
//! values of constants differ between libraries and are found at run time: [`abi`] has them. A function that a library lacks has a row
//! all the same.
//!
//! # What is covered
//! A test compares the table with the headers and the symbols of the MPI libraries that are installed: each function
//! that they declare or export must be in the table with these arguments, or on the list.
//!
//! # What is not
//! The Fortran names have no rows. Extensions of an implementation (`MPIX_`) have none either, but for Open MPI 4's
//! persistent collectives. [Progress](crate::operation::Progress) was measured for few functions; where Open MPI and
//! MPICH differ it is conditional.

pub mod abi;
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
use crate::table::{self, Family, Hooks, Row, Table};

/// All families, grouped by the submodule that describes them.
const CHAPTERS: &[&[Family]] = &[
    setup::FAMILIES,
    messages::FAMILIES,
    completion::FAMILIES,
    collectives::FAMILIES,
    rma::FAMILIES,
    groups::FAMILIES,
    files::FAMILIES,
];

static ROWS: [Row; table::count(CHAPTERS)] = table::rows_of!(CHAPTERS, role::shaped);

/// Every function of MPI that is hooked, sorted by name. Functions that the loaded library lacks are in the table as
/// well. Progress was measured on MPICH 4.0.2 and Open MPI 4.1.4 (osc/pt2pt).
pub static TABLE: Table =
    Table { twin: "P", not_hooked: NOT_HOOKED, ..Table::new(Layer::Mpi, &ROWS, Hooks::Shaped) };

/// Returns the row of a function, also if another tool recorded it under the name of its profiling twin (`PMPI_Send`).
/// Returns `None` for functions that are not hooked.
pub fn find(name: &str) -> Option<&'static Row> {
    TABLE.find_twin(name)
}

const ASKS: &str =
    "asks the library for what it knows by itself: measuring would cost more than the call";
const LOCAL: &str = "works in memory of its own process, without anybody else";
const CONVERTS: &str = "converts a handle, without anybody else";
const EXTENSION: &str = "an extension of one implementation";
const CALLBACK: &str = "given to the library as a callback, not called";

/// Functions of MPI that are not hooked, each with the reason. A `*` in a name stands for any number of characters.
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

/// Returns the reason why a function is not hooked, or `None` if it is not on the list. A function of the
/// [table](TABLE) can also match an entry with a `*`, so look in the table first.
pub fn not_hooked(name: &str) -> Option<&'static str> {
    table::reason(NOT_HOOKED, name)
}
