//! The table of coarrays: the functions of OpenCoarrays that code compiled by gfortran calls.
//!
//! It has every function of OpenCoarrays 2.10 for gfortran 8 to 14; a test compares the table with the installed
//! library. Names are those of the library (`_gfortran_caf_get`); all of them have the same prefix.
//!
//! # What the calls are
//! * A process is an image, counted from 1 in the current team.
//! * Memory is named by a token, and a place in it by an offset in bytes or an index.
//! * `send` is complete at its target when it returns: the library flushes each one.
//! * Allocating a coarray is collective over the current team, unless it is a component.
//! * `lock` also begins a critical block. A call that passes an address for the result does not wait for the lock.
//!
//! # Progress
//! The library serves no requests by itself: the calls of MPI inside do, and they are recorded with it. So all calls
//! here are *never*, and the table of MPI says the rest.

use crate::layer::Layer;
use crate::operation::{Atomic, Collective, Operation, Progress};
use crate::table::{
    self, Arg, CType, Condition, Duty, Family, Hooks, Row, Symbol, Table, families, symbol,
};

use CType::{Int, Pointer, SizeT, UnsignedChar as Bool, Void};

/// The row of any call of the library: ranks are images, and only calls of MPI inside make progress.
const fn row(symbol: Symbol, operation: Operation, returns: CType, arguments: &[CType]) -> Row {
    Row::new(symbol, operation, returns, arguments).assumed(Progress::Never).from_one()
}

const fn collective(symbol: Symbol, which: Collective, arguments: &[CType]) -> Row {
    row(symbol, Operation::Collective(which), Void, arguments).world()
}

/// `(token, size_t offset, int image, …, int *stat, int type, int kind)`: a kind is a size in bytes.
const fn atomic(symbol: Symbol, which: Atomic, arguments: &[CType]) -> Row {
    let kind = arguments.len() as u8 - 1;
    row(symbol, Operation::Atomic(which), Void, arguments)
        .remote(0)
        .within(1)
        .target(2)
        .counted(kind, 1)
        .completes_remote()
}

/// `(token, size_t index, …)`
const fn event(symbol: Symbol, operation: Operation, arguments: &[CType]) -> Row {
    row(symbol, operation, Void, arguments).remote(0).within(1)
}

const CHAPTERS: &[&[Family]] = &[families! {
    "beginning and end": &[
        row(symbol!("_gfortran_caf_init"), Operation::Initialise, Void, &[Pointer, Pointer]),
        row(symbol!("_gfortran_caf_finalize"), Operation::Finalise, Void, &[]),
        row(symbol!("_gfortran_caf_stop_numeric"), Operation::Exit, Void, &[Int, Bool]),
        row(symbol!("_gfortran_caf_stop_str"), Operation::Exit, Void, &[Pointer, SizeT, Bool]),
        row(symbol!("_gfortran_caf_error_stop"), Operation::Exit, Void, &[Int, Bool]),
        row(symbol!("_gfortran_caf_error_stop_str"), Operation::Exit, Void, &[Pointer, SizeT, Bool]),
        row(symbol!("_gfortran_caf_fail_image"), Operation::Exit, Void, &[]),
    ];
    "memory": &[
        row(symbol!("_gfortran_caf_register"), Operation::Allocate, Void,
            &[SizeT, Int, Pointer, Pointer, Pointer, Pointer, SizeT])
            .counted(0, 1).created(2).world(),
        row(symbol!("_gfortran_caf_deregister"), Operation::Deallocate, Void,
            &[Pointer, Int, Pointer, Pointer, SizeT])
            .memory(0).world(),
    ];
    "put and get": &[
        row(symbol!("_gfortran_caf_get"), Operation::Get, Void,
            &[Pointer, SizeT, Int, Pointer, Pointer, Pointer, Int, Int, Bool, Pointer])
            .remote(0).within(1).target(2).section(3, Some(4)).former(5),
        // Newer compilers pass a team behind these, which the library ignores.
        row(symbol!("_gfortran_caf_send"), Operation::Put, Void,
            &[Pointer, SizeT, Int, Pointer, Pointer, Pointer, Int, Int, Bool, Pointer, Pointer])
            .remote(0).within(1).target(2).section(3, Some(4)).completes_remote(),
        row(symbol!("_gfortran_caf_sendget"), Operation::Put, Void,
            &[Pointer, SizeT, Int, Pointer, Pointer, Pointer, SizeT, Int, Pointer, Pointer, Int, Int,
              Bool, Pointer])
            .remote(0).within(1).target(2).section(3, Some(4)).source(7).source_section(8, 9)
            .completes_remote(),
        row(symbol!("_gfortran_caf_get_by_ref"), Operation::Get, Void,
            &[Pointer, Int, Pointer, Pointer, Int, Int, Bool, Bool, Pointer, Int])
            .remote(0).target(1).reference(3, Some(2)),
        row(symbol!("_gfortran_caf_send_by_ref"), Operation::Put, Void,
            &[Pointer, Int, Pointer, Pointer, Int, Int, Bool, Bool, Pointer, Int])
            .remote(0).target(1).reference(3, Some(2)).completes_remote(),
        row(symbol!("_gfortran_caf_sendget_by_ref"), Operation::Put, Void,
            &[Pointer, Int, Pointer, Pointer, Int, Pointer, Int, Int, Bool, Pointer, Pointer, Int, Int])
            .remote(0).target(1).reference(5, None).source(4).completes_remote(),
    ];
    "synchronisation": &[
        collective(symbol!("_gfortran_caf_sync_all"), Collective::Barrier, &[Pointer, Pointer, SizeT]),
        row(symbol!("_gfortran_caf_sync_team"), Operation::Collective(Collective::Barrier), Void,
            &[Pointer, Int]).team(0),
        row(symbol!("_gfortran_caf_sync_images"), Operation::Meet, Void,
            &[Int, Pointer, Pointer, Pointer, SizeT])
            .listed(0, 1).completes_remote(),
        row(symbol!("_gfortran_caf_sync_memory"), Operation::CompleteRemote, Void,
            &[Pointer, Pointer, SizeT]),
    ];
    "locks": &[
        row(symbol!("_gfortran_caf_lock"), Operation::Lock, Void,
            &[Pointer, SizeT, Int, Pointer, Pointer, Pointer, SizeT])
            .lock(0).within(1).target(2).obtained(3),
        row(symbol!("_gfortran_caf_unlock"), Operation::Unlock, Void,
            &[Pointer, SizeT, Int, Pointer, Pointer, SizeT])
            .lock(0).within(1).target(2),
    ];
    "events": &[
        event(symbol!("_gfortran_caf_event_post"), Operation::Signal,
            &[Pointer, SizeT, Int, Pointer, Pointer, SizeT]).target(2),
        event(symbol!("_gfortran_caf_event_wait"), Operation::WaitChange,
            &[Pointer, SizeT, Int, Pointer, Pointer, SizeT])
            .condition(Condition::one(Arg(0), 8)),
        event(symbol!("_gfortran_caf_event_query"), Operation::TestChange,
            &[Pointer, SizeT, Int, Pointer, Pointer])
            .condition(Condition::one(Arg(0), 8)).former(3),
    ];
    "atomics": &[
        atomic(symbol!("_gfortran_caf_atomic_define"), Atomic::Set,
            &[Pointer, SizeT, Int, Pointer, Pointer, Int, Int]),
        atomic(symbol!("_gfortran_caf_atomic_ref"), Atomic::Fetch,
            &[Pointer, SizeT, Int, Pointer, Pointer, Int, Int]).former(3),
        atomic(symbol!("_gfortran_caf_atomic_cas"), Atomic::CompareSwap,
            &[Pointer, SizeT, Int, Pointer, Pointer, Pointer, Pointer, Int, Int]).former(3),
        // The first argument selects the operation; the old value is fetched if the program passes an address for it.
        row(symbol!("_gfortran_caf_atomic_op"), Operation::Atomic(Atomic::FetchAccumulate), Void,
            &[Int, Pointer, SizeT, Int, Pointer, Pointer, Pointer, Int, Int])
            .remote(1).within(2).target(3).former(5).counted(8, 1).completes_remote(),
    ];
    "collectives": &[
        collective(symbol!("_gfortran_caf_co_broadcast"), Collective::Broadcast,
            &[Pointer, Int, Pointer, Pointer, SizeT]).section(0, None).root(1),
        collective(symbol!("_gfortran_caf_co_sum"), Collective::AllReduce,
            &[Pointer, Int, Pointer, Pointer, SizeT]).section(0, None).root(1),
        collective(symbol!("_gfortran_caf_co_max"), Collective::AllReduce,
            &[Pointer, Int, Pointer, Pointer, Int, SizeT]).section(0, None).root(1),
        collective(symbol!("_gfortran_caf_co_min"), Collective::AllReduce,
            &[Pointer, Int, Pointer, Pointer, Int, SizeT]).section(0, None).root(1),
        collective(symbol!("_gfortran_caf_co_reduce"), Collective::AllReduce,
            &[Pointer, Pointer, Int, Int, Pointer, Pointer, Int, SizeT]).section(0, None).root(3),
    ];
    "teams": &[
        row(symbol!("_gfortran_caf_form_team"), Operation::CreateGroup, Void, &[Int, Pointer, Int])
            .created(1).world(),
        row(symbol!("_gfortran_caf_change_team"), Operation::Collective(Collective::Barrier), Void,
            &[Pointer, Int]).team(0),
        collective(symbol!("_gfortran_caf_end_team"), Collective::Barrier, &[Pointer]),
    ];
    "questions": &[
        row(symbol!("_gfortran_caf_is_present"), Operation::Query, Int, &[Pointer, Int, Pointer]),
        row(symbol!("_gfortran_caf_image_status"), Operation::Query, Int, &[Int]),
        row(symbol!("_gfortran_caf_failed_images"), Operation::Query, Void, &[Pointer, Int, Pointer]),
        row(symbol!("_gfortran_caf_stopped_images"), Operation::Query, Void, &[Pointer, Int, Pointer]),
        row(symbol!("_gfortran_caf_random_init"), Operation::Other, Void, &[Bool, Bool]),
    ];
}];

static ROWS: [Row; table::count(CHAPTERS)] = table::rows_of!(CHAPTERS, shaped);

/// Tokens and teams are remembered whether their creation is recorded or not: the first coarrays are allocated before
/// the program begins.
const fn shaped(row: Row) -> Row {
    match row.operation {
        Operation::Allocate | Operation::CreateGroup => row.duty(Duty::Remember),
        _ => row,
    }
}

/// Every function of coarrays that is hooked, sorted by name. Progress is never, since only the calls of MPI inside
/// serve requests of others.
pub static TABLE: Table =
    Table { not_hooked: NOT_HOOKED, ..Table::new(Layer::Caf, &ROWS, Hooks::OverMpi) };

const ASKS: &str = "returns a number that the library has at hand: measuring would cost more";
const INTERNAL: &str = "internal to OpenCoarrays, called by no compiler";

/// Functions that the library exports and that are not hooked, each with the reason. The coverage test fails for an
/// exported function that is neither here nor in the table.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("_gfortran_caf_this_image", ASKS),
    ("_gfortran_caf_num_images", ASKS),
    ("_gfortran_caf_team_number", ASKS),
    ("_gfortran_caf_get_communicator", ASKS),
    ("_gfortran_caf_is_contiguous", "looks at a descriptor in memory of its own process"),
    ("finalize_internal", INTERNAL),
    ("mutex_lock", INTERNAL),
    ("mutex_unlock", INTERNAL),
    ("selectType", INTERNAL),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_exists_and_has_a_type_that_fits() {
        TABLE.check_places();
    }

    #[test]
    fn images_are_counted_from_one() {
        assert!(TABLE.rows.iter().all(|row| row.places.first_rank == 1));
    }
}
