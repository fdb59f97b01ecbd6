//! Collective operations on active sets, on teams and on all processes.
//!
//! Progress is always, and assumed: none of them can return before it has heard from others. A set of one process is
//! the exception, which the recorder sees from the set. The non-blocking `shmemx_alltoall_global_nb` is conditional.
//!
//! `bytes` is what this process contributes, in one block: the total that it sends follows from the operation and the
//! size of the group. In OpenSHMEM the length of a `collect` may differ from process to process; that of the others
//! must agree.

use super::types::{families, rows, symbol};
use crate::operation::{Collective, Operation, Progress};
use crate::table::Absent::MinusOne;
use crate::table::{CType, Element, Family, Row, Success, Symbol};

use CType::{Int, Pointer, PtrdiffT, SizeT, Void};

const fn collective(symbol: Symbol, which: Collective, returns: CType, arguments: &[CType]) -> Row {
    Row::new(symbol, Operation::Collective(which), returns, arguments).assumed(Progress::Always)
}

/// `void …(int start, int log_stride, int size, long *work)`
const fn on_set(symbol: Symbol, which: Collective) -> Row {
    collective(symbol, which, Void, &[Int, Int, Int, Pointer]).active_set(0)
}

/// `void …(void)`
const fn on_all(symbol: Symbol, which: Collective) -> Row {
    collective(symbol, which, Void, &[]).world()
}

/// `void …(void *, const void *, size_t count, int root, int start, int, int, long *work)`
const fn broadcast(symbol: Symbol, element: Element) -> Row {
    let arguments = &[Pointer, Pointer, SizeT, Int, Int, Int, Int, Pointer];
    collective(symbol, Collective::Broadcast, Void, arguments)
        .counted(2, element.size)
        .root(3)
        .active_set(4)
}

/// `void …(void *, const void *, size_t count, int start, int, int, long *work)`
const fn block(symbol: Symbol, which: Collective, element: Element) -> Row {
    let arguments = &[Pointer, Pointer, SizeT, Int, Int, Int, Pointer];
    collective(symbol, which, Void, arguments).counted(2, element.size).active_set(3)
}

const fn collect(symbol: Symbol, element: Element) -> Row {
    block(symbol, Collective::AllGatherVarying, element)
}

const fn fcollect(symbol: Symbol, element: Element) -> Row {
    block(symbol, Collective::AllGather, element)
}

const fn alltoall(symbol: Symbol, element: Element) -> Row {
    block(symbol, Collective::AllToAll, element)
}

/// `void …(void *, const void *, ptrdiff_t, ptrdiff_t, size_t count, int start, int, int, long *)`
const fn alltoalls(symbol: Symbol, element: Element) -> Row {
    let arguments = &[Pointer, Pointer, PtrdiffT, PtrdiffT, SizeT, Int, Int, Int, Pointer];
    collective(symbol, Collective::AllToAll, Void, arguments)
        .strides(2, 3)
        .counted(4, element.size)
        .active_set(5)
}

/// `void …(T *, const T *, int count, int start, int, int, T *work, long *work)`
const fn to_all(symbol: Symbol, element: Element) -> Row {
    let arguments = &[Pointer, Pointer, Int, Int, Int, Int, Pointer, Pointer];
    collective(symbol, Collective::AllReduce, Void, arguments)
        .counted(2, element.size)
        .active_set(3)
}

/// `void …(void *, const void *, size_t bytes, long *counter)`: Open MPI's own, non-blocking.
const fn alltoall_global_nb(symbol: Symbol) -> Row {
    collective(symbol, Collective::AllToAll, Void, &[Pointer, Pointer, SizeT, Pointer])
        .counted(2, 1)
        .handle(3)
        .world()
        .non_blocking()
        .assumed(Progress::Conditional)
}

/// `int …(team, T *, const T *, size_t count)`, the signature of all team collectives but the strided and the
/// broadcast.
const fn team_block(symbol: Symbol, which: Collective, element: Element) -> Row {
    on_team(symbol, which, &[Pointer, Pointer, Pointer, SizeT]).counted(3, element.size)
}

const fn on_team(symbol: Symbol, which: Collective, arguments: &[CType]) -> Row {
    collective(symbol, which, Int, arguments).team(0).success(Success::Zero).absent(MinusOne)
}

const fn team_collect(symbol: Symbol, element: Element) -> Row {
    team_block(symbol, Collective::AllGatherVarying, element)
}

const fn team_fcollect(symbol: Symbol, element: Element) -> Row {
    team_block(symbol, Collective::AllGather, element)
}

const fn team_alltoall(symbol: Symbol, element: Element) -> Row {
    team_block(symbol, Collective::AllToAll, element)
}

const fn team_reduce(symbol: Symbol, element: Element) -> Row {
    team_block(symbol, Collective::AllReduce, element)
}

/// `int …(team, T *, const T *, size_t count, int root)`
const fn team_broadcast(symbol: Symbol, element: Element) -> Row {
    let arguments = &[Pointer, Pointer, Pointer, SizeT, Int];
    on_team(symbol, Collective::Broadcast, arguments).counted(3, element.size).root(4)
}

/// `int …(team, T *, const T *, ptrdiff_t, ptrdiff_t, size_t count)`
const fn team_alltoalls(symbol: Symbol, element: Element) -> Row {
    let arguments = &[Pointer, Pointer, Pointer, PtrdiffT, PtrdiffT, SizeT];
    on_team(symbol, Collective::AllToAll, arguments).strides(3, 4).counted(5, element.size)
}

const BYTE: Element = Element::bytes(1);

pub(super) const FAMILIES: &[Family] = families! {
    "barrier": &[
        on_set(symbol!("shmem_barrier"), Collective::Barrier),
        on_all(symbol!("shmem_barrier_all"), Collective::Barrier),
    ];
    "sync": &[
        on_set(symbol!("shmem_sync"), Collective::Sync),
        on_all(symbol!("shmem_sync_all"), Collective::Sync),
    ];
    "broadcast": rows!(broadcast, "shmem_broadcast" words "");
    "collect": rows!(collect, "shmem_collect" words "");
    "fcollect": rows!(fcollect, "shmem_fcollect" words "");
    "alltoall": rows!(alltoall, "shmem_alltoall" words "");
    "alltoalls": rows!(alltoalls, "shmem_alltoalls" words "");

    "reduce": rows!(to_all, "shmem_" integer "_and_to_all");
    "reduce": rows!(to_all, "shmem_" integer "_or_to_all");
    "reduce": rows!(to_all, "shmem_" integer "_xor_to_all");
    "reduce": rows!(to_all, "shmem_" integer "_max_to_all");
    "reduce": rows!(to_all, "shmem_" float "_max_to_all");
    "reduce": rows!(to_all, "shmem_" integer "_min_to_all");
    "reduce": rows!(to_all, "shmem_" float "_min_to_all");
    "reduce": rows!(to_all, "shmem_" integer "_sum_to_all");
    "reduce": rows!(to_all, "shmem_" float "_sum_to_all");
    "reduce": rows!(to_all, "shmem_" complex "_sum_to_all");
    "reduce": rows!(to_all, "shmem_" integer "_prod_to_all");
    "reduce": rows!(to_all, "shmem_" float "_prod_to_all");
    "reduce": rows!(to_all, "shmem_" complex "_prod_to_all");

    "shmemx reduce": rows!(to_all, "shmemx_" x16 "_and_to_all");
    "shmemx reduce": rows!(to_all, "shmemx_" x16 "_or_to_all");
    "shmemx reduce": rows!(to_all, "shmemx_" x16 "_xor_to_all");
    "shmemx reduce": rows!(to_all, "shmemx_" x16 "_max_to_all");
    "shmemx reduce": rows!(to_all, "shmemx_" x16 "_min_to_all");
    "shmemx reduce": rows!(to_all, "shmemx_" x16 "_sum_to_all");
    "shmemx reduce": rows!(to_all, "shmemx_" x16 "_prod_to_all");
    "shmemx alltoall_global_nb": &[alltoall_global_nb(symbol!("shmemx_alltoall_global_nb"))];

    "team sync": &[on_team(symbol!("shmem_team_sync"), Collective::Sync, &[Pointer])];
    "team broadcast": rows!(team_broadcast, "shmem_" rma "_broadcast");
    "team collect": rows!(team_collect, "shmem_" rma "_collect");
    "team fcollect": rows!(team_fcollect, "shmem_" rma "_fcollect");
    "team alltoall": rows!(team_alltoall, "shmem_" rma "_alltoall");
    "team alltoalls": rows!(team_alltoalls, "shmem_" rma "_alltoalls");
    "team mem": &[
        team_broadcast(symbol!("shmem_broadcastmem"), BYTE),
        team_collect(symbol!("shmem_collectmem"), BYTE),
        team_fcollect(symbol!("shmem_fcollectmem"), BYTE),
        team_alltoall(symbol!("shmem_alltoallmem"), BYTE),
        team_alltoalls(symbol!("shmem_alltoallsmem"), BYTE),
    ];
    "team reduce": rows!(team_reduce, "shmem_" team_bits "_and_reduce");
    "team reduce": rows!(team_reduce, "shmem_" team_bits "_or_reduce");
    "team reduce": rows!(team_reduce, "shmem_" team_bits "_xor_reduce");
    "team reduce, signed types": rows!(team_reduce, "shmem_" integer "_and_reduce");
    "team reduce, signed types": rows!(team_reduce, "shmem_" integer "_or_reduce");
    "team reduce, signed types": rows!(team_reduce, "shmem_" integer "_xor_reduce");
    "team reduce": rows!(team_reduce, "shmem_" rma "_max_reduce");
    "team reduce": rows!(team_reduce, "shmem_" rma "_min_reduce");
    "team reduce": rows!(team_reduce, "shmem_" rma "_sum_reduce");
    "team reduce": rows!(team_reduce, "shmem_" complex "_sum_reduce");
    "team reduce": rows!(team_reduce, "shmem_" rma "_prod_reduce");
    "team reduce": rows!(team_reduce, "shmem_" complex "_prod_reduce");
};
