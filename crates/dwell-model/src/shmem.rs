//! The table of OpenSHMEM.
//!
//! It has every function of OpenSHMEM 1.5, the extensions of Open MPI 4.1 (`shmemx_`), the older SGI names of a few of
//! them (`start_pes`, `shmalloc`), and 36 functions that Sandia OpenSHMEM exports beyond the type tables of OpenSHMEM
//! 1.5: the bitwise team reductions of `short`, `int`, `long` and `long long`, which the table of team reduction types
//! leaves empty, and the waits and tests on several values of `short` and `unsigned short`, which are not standard AMO
//! types. Programs call them, so they are hooked.
//!
//! | module | families |
//! |---|---|
//! | `rma` | put and get: single values, blocks, strided, non-blocking, with a signal |
//! | `atomics` | atomic operations, under new and old names, non-blocking |
//! | `sync` | fence, quiet, wait, test, signals, locks |
//! | `collectives` | barrier, sync, broadcast, collect, all-to-all, reductions, on sets and on teams |
//! | `setup` | initialisation and finalisation, memory, queries, contexts, teams |
//!
//! # What is covered
//!
//! The C names. A test compares the table with the library and the headers of Open MPI's OpenSHMEM where they are
//! installed. It fails for a function that the library exports and the table lacks, unless it is on the list
//! [`NOT_HOOKED`], and for any type that differs from the header's. That library has 913 of the functions here. The
//! others came with OpenSHMEM 1.5, or are atomics for types that Open MPI leaves out, or are the 36 of Sandia
//! OpenSHMEM; those of the standard were compared once, by machine, with every synopsis in its text.
//!
//! # What is not
//!
//! * The Fortran names (`shmem_put_` and others). Debian's build of Open MPI exports none, so there is nothing to
//!   compare them with.
//! * The additions of OpenSHMEM 1.6: `ibput`, `ibget`, `signal_set`, `signal_add`, `pe_quiet`, scans, sessions,
//!   `team_ptr`, `query_initialized`. Other extensions of other implementations: Sandia OpenSHMEM has the old names of
//!   atomics (`shmem_size_swap`) for types for which the standard never had them.
//! * The type-generic names of C11 (`shmem_put`), which are macros over functions of this table and no functions
//!   themselves.
//! * [Progress](crate::operation::Progress) on more than one runtime, see [`TABLE`].
//!
//! # What Rust cannot write
//!
//! `shmem_longdouble_p`, `shmem_longdouble_g` and their forms with a context pass a `long double` [by
//! value](crate::table::Row::by_value_long_double), and `shmem_pcontrol` is
//! [variadic](crate::table::Arguments::is_variadic). They are in the table; their hooks need a stub in assembly, or
//! knowledge of the calling convention.

mod atomics;
mod collectives;
mod rma;
mod setup;
mod sync;
#[cfg(test)]
mod tests;
mod types;

use crate::layer::Layer;
use crate::operation::{Collective, Operation};
use crate::table::{self, Duty, Family, Group, Hooks, Row, Shape, Table};

/// All families, grouped by the submodule that describes them.
const CHAPTERS: &[&[Family]] = &[
    setup::FAMILIES,
    rma::PAIRED,
    rma::FAMILIES,
    atomics::PAIRED,
    atomics::FAMILIES,
    sync::FAMILIES,
    collectives::FAMILIES,
];

static ROWS: [Row; table::count(CHAPTERS)] = table::rows_of!(CHAPTERS, shaped);

/// Chooses the shape and the duty of a row whose places are complete.
const fn shaped(row: Row) -> Row {
    let places = &row.places;
    let shape = match row.operation {
        Operation::Initialise => Shape::Initialise,
        Operation::Finalise => Shape::Finalise,
        Operation::Control => Shape::Control,
        Operation::Put | Operation::Get | Operation::Atomic(_) if places.signal.is_none() => {
            Shape::Transfer
        }
        _ => Shape::Operation,
    };
    let duty = match (row.operation, places.group) {
        (Operation::Initialise, _) => Duty::Start,
        (Operation::Collective(Collective::Barrier | Collective::Sync), Group::World) => Duty::Meet,
        _ => Duty::None,
    };
    row.shape(shape).duty(duty)
}

/// Every function of OpenSHMEM that is hooked, sorted by name. Functions that the loaded library lacks are in the table
/// as well. Progress was measured on Open MPI 4.1.4 with UCX over TCP.
pub static TABLE: Table =
    Table { not_hooked: NOT_HOOKED, ..Table::new(Layer::Shmem, &ROWS, Hooks::Typed) };

/// Returns the families that the table was built from, in the order of the chapters. A name may occur more than once,
/// for typed and sized functions.
pub fn families() -> impl Iterator<Item = &'static Family> {
    CHAPTERS.iter().copied().flatten()
}

/// Functions that a library may export under names of OpenSHMEM and that are not hooked, each with the reason. The
/// coverage test fails for an exported function that is neither here nor in the table.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("_shmem_clear_lock", "internal to Open MPI: what shmem_clear_lock calls, in no header"),
    ("_shmem_set_lock", "internal to Open MPI: what shmem_set_lock calls, in no header"),
    ("_shmem_test_lock", "internal to Open MPI: what shmem_test_lock calls, in no header"),
    ("shmem_api_logger_output", "internal to Open MPI: a variable, not a function"),
    ("shmem_ds_reset", "internal to Open MPI, in no header"),
    ("shmem_internal_mutex_alloc", "internal to Open MPI: a variable, not a function"),
    ("shmem_lock_finalize", "internal to Open MPI, in no header"),
    ("shmem_lock_init", "internal to Open MPI, in no header"),
    (
        "my_pe",
        "any library may have a function of this name with other arguments, which a hook would spoil",
    ),
    (
        "num_pes",
        "any library may have a function of this name with other arguments, which a hook would spoil",
    ),
    (
        "globalexit",
        "any library may have a function of this name with other arguments, which a hook would spoil",
    ),
];
