//! The table of ARMCI.
//!
//! It has every function of ARMCI-MPI 0.3 that communicates, waits, or creates something that communication goes
//! through. ARMCI is linked statically, so its hooks are linked too: see `dwell-link`.
//!
//! # What the calls are
//! * Ranks are those of the world that ARMCI was started in, also where a group takes part.
//! * A blocking put or accumulate is complete at its origin on return; `Fence` and `AllFence` complete at the targets,
//!   and `Barrier` does so for every process. A blocking get is complete.
//! * `NbPut` and the like are completed by `Wait` on their handle, `WaitProc`, `WaitAll`, or a fence. The handle may be
//!   null. `SET_AGGREGATE_HANDLE` lets a handle stand for several operations.
//! * A mutex is a number at a process.
//!
//! # Progress
//! As with coarrays, the calls of MPI inside serve requests of others.

use crate::layer::Layer;
use crate::operation::{Atomic, Collective, Operation, Progress};
use crate::table::{
    self, Arg, CType, Family, Hooks, Row, Signal, Success, Symbol, Table, families, symbol,
};

use CType::{Double, Float, Handle, Int, Long, Pointer, UnsignedLong, Void};

const ACCUMULATE: Operation = Operation::Atomic(Atomic::Accumulate);

const fn row(symbol: Symbol, operation: Operation, returns: CType, arguments: &[CType]) -> Row {
    Row::new(symbol, operation, returns, arguments).assumed(Progress::Never)
}

/// `(src, dst, int bytes, int proc)`
const fn plain(symbol: Symbol, operation: Operation, arguments: &[CType]) -> Row {
    let remote = matches!(operation, Operation::Put) as u8;
    row(symbol, operation, Int, arguments).remote(remote).counted(2, 1).target(3)
}

/// `(int type, void *scale, src, dst, int bytes, int proc)`
const fn accumulate(symbol: Symbol, arguments: &[CType]) -> Row {
    row(symbol, ACCUMULATE, Int, arguments).remote(3).counted(4, 1).target(5)
}

/// `(src, int *strides, dst, int *strides, int *counts, int levels, int proc)`
const fn strided(symbol: Symbol, operation: Operation, arguments: &[CType]) -> Row {
    let remote = if matches!(operation, Operation::Put) { 2 } else { 0 };
    row(symbol, operation, Int, arguments).remote(remote).block(4, 5).target(6)
}

/// `(int type, void *scale, src, int *strides, dst, int *strides, int *counts, int levels, int proc)`
const fn accumulate_strided(symbol: Symbol, arguments: &[CType]) -> Row {
    row(symbol, ACCUMULATE, Int, arguments).remote(4).block(6, 7).target(8)
}

/// `(armci_giov_t *list, int length, int proc)`: the list holds the addresses.
const fn vector(symbol: Symbol, operation: Operation, arguments: &[CType]) -> Row {
    row(symbol, operation, Int, arguments).vectors(0, 1).target(2)
}

/// `(int type, void *scale, armci_giov_t *list, int length, int proc)`
const fn accumulate_vector(symbol: Symbol, arguments: &[CType]) -> Row {
    row(symbol, ACCUMULATE, Int, arguments).vectors(2, 3).target(4)
}

/// `(T value, void *dst, int proc)`
const fn put_value(symbol: Symbol, of: CType, arguments: &[CType]) -> Row {
    row(symbol, Operation::Put, Int, arguments).remote(1).fixed(of.size()).target(2)
}

/// `T (void *src, int proc)`
const fn get_value(symbol: Symbol, of: CType) -> Row {
    row(symbol, Operation::Get, of, &[Pointer, Int]).remote(0).fixed(of.size()).target(1)
}

/// Marks a row as non-blocking: a later call completes the operation, by the handle that is its last argument.
const fn later(row: Row) -> Row {
    let handle = row.arguments.types().len() as u8 - 1;
    row.non_blocking().handle(handle)
}

/// The flag that a put sets at the target. ARMCI has no argument that selects the action, so the value is in its
/// place.
const fn flag(address: u8) -> Signal {
    Signal { address: Arg(address), size: 4, value: Arg(address + 1), action: Arg(address + 1) }
}

/// `(T *x, int n, char *op)`
const fn reduce(symbol: Symbol, of: CType) -> Row {
    collective(symbol, Collective::AllReduce, &[Pointer, Int, Pointer]).counted(1, of.size())
}

/// `(T *x, int n, char *op, ARMCI_Group *group)`
const fn reduce_group(symbol: Symbol, of: CType) -> Row {
    let arguments = &[Pointer, Int, Pointer, Pointer];
    collective(symbol, Collective::AllReduce, arguments).counted(1, of.size()).team(3)
}

const fn collective(symbol: Symbol, which: Collective, arguments: &[CType]) -> Row {
    row(symbol, Operation::Collective(which), Void, arguments).world()
}

const PUT: Operation = Operation::Put;
const GET: Operation = Operation::Get;

const CHAPTERS: &[&[Family]] = &[families! {
    "beginning and end": &[
        row(symbol!("ARMCI_Init"), Operation::Initialise, Int, &[]),
        row(symbol!("ARMCI_Init_args"), Operation::Initialise, Int, &[Pointer, Pointer]),
        row(symbol!("ARMCI_Init_thread"), Operation::Initialise, Int, &[Int]),
        row(symbol!("ARMCI_Init_thread_comm"), Operation::Initialise, Int, &[Int, Handle]).context(1),
        row(symbol!("ARMCI_Finalize"), Operation::Finalise, Int, &[]),
        row(symbol!("ARMCI_Cleanup"), Operation::Exit, Void, &[]),
        row(symbol!("ARMCI_Error"), Operation::Exit, Void, &[Pointer, Int]),
        row(symbol!("armci_msg_abort"), Operation::Exit, Void, &[Int]),
    ];
    "memory": &[
        row(symbol!("ARMCI_Malloc"), Operation::Allocate, Int, &[Pointer, Long]).counted(1, 1).world(),
        row(symbol!("ARMCI_Malloc_memdev"), Operation::Allocate, Int, &[Pointer, Long, Pointer])
            .counted(1, 1).world(),
        row(symbol!("ARMCI_Malloc_group"), Operation::Allocate, Int, &[Pointer, Long, Pointer])
            .counted(1, 1).team(2),
        row(symbol!("ARMCI_Malloc_group_memdev"), Operation::Allocate, Int,
            &[Pointer, Long, Pointer, Pointer]).counted(1, 1).team(2),
        row(symbol!("ARMCI_Free"), Operation::Deallocate, Int, &[Pointer]).memory(0).world(),
        row(symbol!("ARMCI_Free_memdev"), Operation::Deallocate, Int, &[Pointer]).memory(0).world(),
        row(symbol!("ARMCI_Free_group"), Operation::Deallocate, Int, &[Pointer, Pointer])
            .memory(0).team(1),
        row(symbol!("ARMCI_Malloc_local"), Operation::Other, Pointer, &[Long]),
        row(symbol!("ARMCI_Free_local"), Operation::Other, Int, &[Pointer]),
        row(symbol!("ARMCI_Access_begin"), Operation::Other, Void, &[Pointer]),
        row(symbol!("ARMCI_Access_end"), Operation::Other, Void, &[Pointer]),
        row(symbol!("ARMCI_Copy"), Operation::Other, Void, &[Pointer, Pointer, Int]),
    ];
    "contiguous": &[
        plain(symbol!("ARMCI_Put"), PUT, &[Pointer, Pointer, Int, Int]),
        plain(symbol!("ARMCI_Get"), GET, &[Pointer, Pointer, Int, Int]).former(1),
        accumulate(symbol!("ARMCI_Acc"), &[Int, Pointer, Pointer, Pointer, Int, Int]),
        row(symbol!("ARMCI_Put_flag"), PUT, Int, &[Pointer, Pointer, Int, Pointer, Int, Int])
            .remote(1).counted(2, 1).target(5).signal(flag(3)),
    ];
    "strided": &[
        strided(symbol!("ARMCI_PutS"), PUT, &[Pointer, Pointer, Pointer, Pointer, Pointer, Int, Int]),
        strided(symbol!("ARMCI_GetS"), GET, &[Pointer, Pointer, Pointer, Pointer, Pointer, Int, Int]),
        accumulate_strided(symbol!("ARMCI_AccS"),
            &[Int, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, Int, Int]),
        row(symbol!("ARMCI_PutS_flag"), PUT, Int,
            &[Pointer, Pointer, Pointer, Pointer, Pointer, Int, Pointer, Int, Int])
            .remote(2).block(4, 5).target(8).signal(flag(6)),
    ];
    "vectors": &[
        vector(symbol!("ARMCI_PutV"), PUT, &[Pointer, Int, Int]),
        vector(symbol!("ARMCI_GetV"), GET, &[Pointer, Int, Int]),
        accumulate_vector(symbol!("ARMCI_AccV"), &[Int, Pointer, Pointer, Int, Int]),
    ];
    "non-blocking": &[
        later(plain(symbol!("ARMCI_NbPut"), PUT, &[Pointer, Pointer, Int, Int, Pointer])),
        later(plain(symbol!("ARMCI_NbGet"), GET, &[Pointer, Pointer, Int, Int, Pointer])),
        later(accumulate(symbol!("ARMCI_NbAcc"), &[Int, Pointer, Pointer, Pointer, Int, Int, Pointer])),
        later(strided(symbol!("ARMCI_NbPutS"), PUT,
            &[Pointer, Pointer, Pointer, Pointer, Pointer, Int, Int, Pointer])),
        later(strided(symbol!("ARMCI_NbGetS"), GET,
            &[Pointer, Pointer, Pointer, Pointer, Pointer, Int, Int, Pointer])),
        later(accumulate_strided(symbol!("ARMCI_NbAccS"),
            &[Int, Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, Int, Int, Pointer])),
        later(vector(symbol!("ARMCI_NbPutV"), PUT, &[Pointer, Int, Int, Pointer])),
        later(vector(symbol!("ARMCI_NbGetV"), GET, &[Pointer, Int, Int, Pointer])),
        later(accumulate_vector(symbol!("ARMCI_NbAccV"), &[Int, Pointer, Pointer, Int, Int, Pointer])),
    ];
    "single values": &[
        put_value(symbol!("ARMCI_PutValueInt"), Int, &[Int, Pointer, Int]),
        put_value(symbol!("ARMCI_PutValueLong"), Long, &[Long, Pointer, Int]),
        put_value(symbol!("ARMCI_PutValueFloat"), Float, &[Float, Pointer, Int]),
        put_value(symbol!("ARMCI_PutValueDouble"), Double, &[Double, Pointer, Int]),
        later(put_value(symbol!("ARMCI_NbPutValueInt"), Int, &[Int, Pointer, Int, Pointer])),
        later(put_value(symbol!("ARMCI_NbPutValueLong"), Long, &[Long, Pointer, Int, Pointer])),
        later(put_value(symbol!("ARMCI_NbPutValueFloat"), Float, &[Float, Pointer, Int, Pointer])),
        later(put_value(symbol!("ARMCI_NbPutValueDouble"), Double, &[Double, Pointer, Int, Pointer])),
        get_value(symbol!("ARMCI_GetValueInt"), Int),
        get_value(symbol!("ARMCI_GetValueLong"), Long),
        get_value(symbol!("ARMCI_GetValueFloat"), Float),
        get_value(symbol!("ARMCI_GetValueDouble"), Double),
    ];
    "atomic": &[
        // `(int operation, void *local, void *remote, int value, int proc)`
        row(symbol!("ARMCI_Rmw"), Operation::Atomic(Atomic::FetchAdd), Int,
            &[Int, Pointer, Pointer, Int, Int]).remote(2).int_or_long(0).target(4).former(1),
    ];
    "completion": &[
        row(symbol!("ARMCI_Wait"), Operation::WaitHandle, Int, &[Pointer]).handle(0),
        row(symbol!("ARMCI_Test"), Operation::TestHandle, Int, &[Pointer]).handle(0),
        row(symbol!("ARMCI_WaitProc"), Operation::CompleteLocal, Int, &[Int]).target(0),
        row(symbol!("ARMCI_WaitAll"), Operation::CompleteLocal, Int, &[]),
        row(symbol!("ARMCI_Fence"), Operation::CompleteRemote, Void, &[Int]).target(0),
        row(symbol!("ARMCI_AllFence"), Operation::CompleteRemote, Void, &[]),
        collective(symbol!("ARMCI_Barrier"), Collective::Barrier, &[]),
    ];
    "mutexes": &[
        row(symbol!("ARMCI_Create_mutexes"), Operation::Allocate, Int, &[Int]).world(),
        row(symbol!("ARMCI_Destroy_mutexes"), Operation::Deallocate, Int, &[]).world(),
        row(symbol!("ARMCI_Lock"), Operation::Lock, Void, &[Int, Int]).lock(0).target(1),
        row(symbol!("ARMCI_Unlock"), Operation::Unlock, Void, &[Int, Int]).lock(0).target(1),
        row(symbol!("ARMCIX_Create_mutexes_hdl"), Operation::Allocate, Pointer, &[Int, Pointer]).team(1),
        row(symbol!("ARMCIX_Destroy_mutexes_hdl"), Operation::Other, Int, &[Pointer]),
        // Their handle is local: no number identifies the mutex at all processes.
        row(symbol!("ARMCIX_Lock_hdl"), Operation::Other, Void, &[Pointer, Int, Int]),
        row(symbol!("ARMCIX_Trylock_hdl"), Operation::Other, Int, &[Pointer, Int, Int]),
        row(symbol!("ARMCIX_Unlock_hdl"), Operation::Other, Void, &[Pointer, Int, Int]),
    ];
    "groups": &[
        // All processes or only the members create it, depending on settings of ARMCI.
        row(symbol!("ARMCI_Group_create"), Operation::CreateGroup, Void, &[Int, Pointer, Pointer]),
        row(symbol!("ARMCI_Group_create_child"), Operation::CreateGroup, Void,
            &[Int, Pointer, Pointer, Pointer]),
        row(symbol!("ARMCI_Group_free"), Operation::DestroyGroup, Void, &[Pointer]),
        row(symbol!("ARMCIX_Group_split"), Operation::CreateGroup, Int, &[Pointer, Int, Int, Pointer])
            .team(0),
        row(symbol!("ARMCIX_Group_dup"), Operation::CreateGroup, Int, &[Pointer, Pointer]).team(0),
    ];
    "messages": &[
        row(symbol!("armci_msg_snd"), Operation::Send, Void, &[Int, Pointer, Int, Int]),
        row(symbol!("armci_msg_rcv"), Operation::Receive, Void, &[Int, Pointer, Int, Pointer, Int]),
        row(symbol!("armci_msg_rcvany"), Operation::Receive, Int, &[Int, Pointer, Int, Pointer]),
    ];
    "collectives": &[
        collective(symbol!("armci_msg_barrier"), Collective::Sync, &[]),
        collective(symbol!("armci_msg_group_barrier"), Collective::Sync, &[Pointer]).team(0),
        collective(symbol!("armci_msg_bcast"), Collective::Broadcast, &[Pointer, Int, Int])
            .counted(1, 1).root(2),
        collective(symbol!("armci_msg_brdcst"), Collective::Broadcast, &[Pointer, Int, Int])
            .counted(1, 1).root(2),
        // A scope may be fewer than all processes, so the group is not known.
        row(symbol!("armci_msg_bcast_scope"), Operation::Other, Void, &[Int, Pointer, Int, Int]),
        row(symbol!("armci_msg_group_bcast_scope"), Operation::Other, Void,
            &[Int, Pointer, Int, Int, Pointer]),
        row(symbol!("armci_msg_gop_scope"), Operation::Other, Void, &[Int, Pointer, Int, Pointer, Int]),
        row(symbol!("armci_msg_group_gop_scope"), Operation::Other, Void,
            &[Int, Pointer, Int, Pointer, Int, Pointer]),
        row(symbol!("armci_msg_sel_scope"), Operation::Other, Void,
            &[Int, Pointer, Int, Pointer, Int, Int]),
        collective(symbol!("armci_msg_sel"), Collective::AllReduce, &[Pointer, Int, Pointer, Int, Int])
            .counted(1, 1),
        reduce(symbol!("armci_msg_igop"), Int),
        reduce(symbol!("armci_msg_lgop"), Long),
        reduce(symbol!("armci_msg_llgop"), CType::LongLong),
        reduce(symbol!("armci_msg_fgop"), Float),
        reduce(symbol!("armci_msg_dgop"), Double),
        reduce_group(symbol!("armci_msg_group_igop"), Int),
        reduce_group(symbol!("armci_msg_group_lgop"), Long),
        reduce_group(symbol!("armci_msg_group_llgop"), CType::LongLong),
        reduce_group(symbol!("armci_msg_group_fgop"), Float),
        reduce_group(symbol!("armci_msg_group_dgop"), Double),
    ];
    "other": &[
        row(symbol!("ARMCI_Set_shm_limit"), Operation::Other, Void, &[UnsignedLong]),
        row(symbol!("ARMCIX_Progress"), Operation::Other, Void, &[]).success(Success::Unsaid),
    ];
}];

static ROWS: [Row; table::count(CHAPTERS)] = table::sorted(CHAPTERS);

/// Every function of ARMCI that is hooked, sorted by name. Progress is never, since only the calls of MPI inside serve
/// requests of others.
pub static TABLE: Table = Table {
    not_hooked: NOT_HOOKED,
    archives: &["armci-openmpi", "armci-mpich", "armci"],
    ..Table::new(Layer::Armci, &ROWS, Hooks::LinkedOverMpi)
};

const ASKS: &str = "returns what the library has at hand: measuring would cost more than the call";
const LOCAL: &str = "works in memory of its own process, without anybody else";
const INTERNAL: &str = "internal to ARMCI-MPI, in no header";
const TWIN: &str = "the name that tools call: the function without P is hooked";

/// Functions of the library that are not hooked, each with the reason. A `*` in a name stands for any number of
/// characters.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("PARMCI_*", TWIN),
    ("parmci_*", TWIN),
    ("ARMCII_*", INTERNAL),
    ("armci_msg_bintree", ASKS),
    ("armci_msg_reduce*", INTERNAL),
    ("armci_msg_me", ASKS),
    ("armci_msg_nproc", ASKS),
    ("armci_domain_*", ASKS),
    ("armci_timer", "reads a clock"),
    ("armci_read_strided", LOCAL),
    ("armci_write_strided", LOCAL),
    ("ARMCI_INIT_HANDLE", LOCAL),
    ("ARMCI_SET_AGGREGATE_HANDLE", LOCAL),
    ("ARMCI_UNSET_AGGREGATE_HANDLE", LOCAL),
    ("ARMCI_Absolute_id", ASKS),
    ("ARMCI_Group_get_default", ASKS),
    ("ARMCI_Group_get_world", ASKS),
    ("ARMCI_Group_rank", ASKS),
    ("ARMCI_Group_set_default", LOCAL),
    ("ARMCI_Group_size", ASKS),
    ("ARMCI_Initialized", ASKS),
    ("ARMCI_Same_node", ASKS),
    ("ARMCI_Uses_shm*", ASKS),
];

/// Returns the reason why a function is not hooked, or `None` if it is not on the list. The coverage test accepts a
/// function of the library without a hook only if it has a reason.
pub fn not_hooked(name: &str) -> Option<&'static str> {
    table::reason(NOT_HOOKED, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Mode;
    use crate::table::Bytes;

    #[test]
    fn every_place_exists_and_has_a_type_that_fits() {
        TABLE.check_places();
        assert!(TABLE.rows.iter().all(|row| not_hooked(row.name()).is_none()));
    }

    #[test]
    fn what_is_completed_later_has_a_handle() {
        for row in TABLE.rows {
            let later = row.name().starts_with("ARMCI_Nb");
            assert_eq!(row.mode == Mode::NonBlocking, later, "{}", row.name());
            let last = row.arguments.types().len() as u8 - u8::from(later);
            assert_eq!(row.places.handle, later.then_some(Arg(last)).or(row.places.handle));
        }
        let row = TABLE.find("ARMCI_NbAccS").expect("it is in the table");
        assert_eq!(row.places.bytes, Bytes::Block { counts: Arg(6), levels: Arg(7) });
    }
}
