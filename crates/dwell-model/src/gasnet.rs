//! The table of GASNet-EX.
//!
//! It has every call of GASNet-EX 2021.3 that communicates, waits, or creates something that communication goes through.
//! Most calls are macros over inline functions, so no linker can put hooks in their place. A header that is included
//! before the program redefines them (`dwell build flags gasnet`, written by `dwell-link`). Calls of the older
//! interface, GASNet-1, are macros over these, and are recorded as these.
//!
//! # Arguments
//! Rows describe what the hook passes to the recorder: the arguments of the call, then a number that the header computes
//! where one is needed (the bytes of a list, the team of an atomic domain), then the returned value, if there is one.
//!
//! # What the calls are
//! * Ranks are those of a team. An operation is complete at its target when its event is, or when `gex_NBI_Wait` has
//!   waited for those without an event; a blocking operation is complete on return.
//! * A barrier or another collective with an event has begun on return, and ends where the program waits for the event.
//! * An active message is sent; a handler runs at the target, when that polls. Nothing tells the sender when.
//! * Handler-safe locks exclude threads and handlers of one process from each other.
//!
//! # Progress
//! Measured on GASNet-EX 2021.3 over `udp` and `smp`: calls that poll serve others (`gasnet_AMPoll`, every wait, an active
//! message, the start of a barrier), operations on another process poll too if they go through the network, and tests of
//! events never do.

use crate::layer::Layer;
use crate::operation::{Atomic, Collective, Mode, Operation, Progress};
use crate::table::{self, CType, Family, Hooks, Row, Success, Symbol, Table, families, symbol};

use CType::{Double, Float, Int, Pointer, SizeT, Uint32, Uint64, Void};

const PUT: Operation = Operation::Put;
const GET: Operation = Operation::Get;
const MESSAGE: Operation = Operation::ActiveMessage;

/// A team, an atomic domain, an event, a token: all are pointers.
const HANDLE: CType = Pointer;
const RANK: CType = Uint32;
const FLAGS: CType = Uint32;
const EVENT: CType = Pointer;

const fn row(symbol: Symbol, operation: Operation, returns: CType, arguments: &[CType]) -> Row {
    let row = Row::new(symbol, operation, returns, arguments);
    Row { completes_remote: false, ..row }
}

/// Marks a row by the type that it returns: with an event, the operation ends where the program waits for the event;
/// with a number, it blocks or ends where the program waits for all.
const fn by_event(row: Row, mode: Mode) -> Row {
    let last = row.arguments.types().len() as u8 - 1;
    let row = row.measured(Progress::Conditional);
    match (mode, row.returns) {
        (Mode::Blocking, _) => row.measured(Progress::Always),
        (_, Pointer) => row.non_blocking().handle(last),
        _ => row.non_blocking(),
    }
}

/// `(tm, rank, dest, src, nbytes, …)`, with the bytes at `bytes`
const fn put(symbol: Symbol, mode: Mode, returns: CType, bytes: u8, arguments: &[CType]) -> Row {
    let row = row(symbol, PUT, returns, arguments).context(0).target(1).remote(2).counted(bytes, 1);
    by_event(row, mode)
}

/// `(tm, dest, rank, src, nbytes, flags)`
const fn get(symbol: Symbol, mode: Mode, returns: CType) -> Row {
    let arguments = &[HANDLE, Pointer, RANK, Pointer, SizeT, FLAGS, returns];
    let row = row(symbol, GET, returns, arguments).context(0).target(2).remote(3).counted(4, 1);
    by_event(row, mode)
}

/// `(tm, rank, dstcount, dstlist, srccount, srclist, flags)`, and the bytes
const fn put_vector(symbol: Symbol, mode: Mode, returns: CType) -> Row {
    let arguments = &[HANDLE, RANK, SizeT, Pointer, SizeT, Pointer, FLAGS, SizeT, returns];
    by_event(row(symbol, PUT, returns, arguments).context(0).target(1).counted(7, 1), mode)
}

/// `(tm, dstcount, dstlist, rank, srccount, srclist, flags)`, and the bytes
const fn get_vector(symbol: Symbol, mode: Mode, returns: CType) -> Row {
    let arguments = &[HANDLE, SizeT, Pointer, RANK, SizeT, Pointer, FLAGS, SizeT, returns];
    by_event(row(symbol, GET, returns, arguments).context(0).target(3).counted(7, 1), mode)
}

/// `(tm, rank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags)`, and the bytes
const fn put_indexed(symbol: Symbol, mode: Mode, returns: CType) -> Row {
    let arguments =
        &[HANDLE, RANK, SizeT, Pointer, SizeT, SizeT, Pointer, SizeT, FLAGS, SizeT, returns];
    by_event(row(symbol, PUT, returns, arguments).context(0).target(1).counted(9, 1), mode)
}

/// `(tm, dstcount, dstlist, dstlen, rank, srccount, srclist, srclen, flags)`, and the bytes
const fn get_indexed(symbol: Symbol, mode: Mode, returns: CType) -> Row {
    let arguments =
        &[HANDLE, SizeT, Pointer, SizeT, RANK, SizeT, Pointer, SizeT, FLAGS, SizeT, returns];
    by_event(row(symbol, GET, returns, arguments).context(0).target(4).counted(9, 1), mode)
}

/// `(tm, rank, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, levels, flags)`, and the bytes
const fn put_strided(symbol: Symbol, mode: Mode, returns: CType) -> Row {
    let arguments = &[
        HANDLE, RANK, Pointer, Pointer, Pointer, Pointer, SizeT, Pointer, SizeT, FLAGS, SizeT,
        returns,
    ];
    let row = row(symbol, PUT, returns, arguments).context(0).target(1).remote(2).counted(10, 1);
    by_event(row, mode)
}

/// `(tm, dstaddr, dststrides, rank, srcaddr, srcstrides, elemsz, count, levels, flags)`, and the bytes
const fn get_strided(symbol: Symbol, mode: Mode, returns: CType) -> Row {
    let arguments = &[
        HANDLE, Pointer, Pointer, RANK, Pointer, Pointer, SizeT, Pointer, SizeT, FLAGS, SizeT,
        returns,
    ];
    let row = row(symbol, GET, returns, arguments).context(0).target(3).remote(4).counted(10, 1);
    by_event(row, mode)
}

/// `(ad, result_p, rank, addr, opcode, op1, op2, flags)`, and the team of the domain
const fn atomic(symbol: Symbol, of: CType, returns: CType) -> Row {
    let arguments = &[HANDLE, Pointer, RANK, Pointer, Uint32, of, of, FLAGS, HANDLE, returns];
    let operation = Operation::Atomic(Atomic::FetchAccumulate);
    let row = row(symbol, operation, returns, arguments).context(8).target(2).remote(3);
    by_event(row.former(1).fixed(of.size()), Mode::NonBlocking)
}

/// `(tm, rank, handler, nbytes, arguments, number of arguments)`: the words of a request, which the header puts together.
const fn request(symbol: Symbol) -> Row {
    row(symbol, MESSAGE, Int, &[HANDLE, RANK, Uint32, SizeT, Pointer, Uint32, Int])
        .context(0)
        .target(1)
        .counted(3, 1)
        .measured(Progress::Always)
}

/// The same for a reply, whose target is a rank of the job.
const fn reply(symbol: Symbol) -> Row {
    request(symbol).measured(Progress::Never)
}

const fn waits(symbol: Symbol, arguments: &[CType]) -> Row {
    row(symbol, Operation::WaitHandle, Void, arguments).handle(0).measured(Progress::Always)
}

const fn tests(symbol: Symbol, arguments: &[CType]) -> Row {
    let row = row(symbol, Operation::TestHandle, Int, arguments).success(Success::Zero);
    row.handle(0).measured(Progress::Never)
}

const fn starts(symbol: Symbol, which: Collective, arguments: &[CType]) -> Row {
    let row = row(symbol, Operation::Collective(which), EVENT, arguments).team(0);
    let last = arguments.len() as u8 - 1;
    row.non_blocking().handle(last).measured(Progress::Always)
}

const BLOCKING: Mode = Mode::Blocking;
const LATER: Mode = Mode::NonBlocking;

const CHAPTERS: &[&[Family]] = &[
    families! {
        "start and end": &[
            row(symbol!("gex_Client_Init"), Operation::Initialise, Int,
                &[Pointer, Pointer, Pointer, Pointer, Pointer, Pointer, FLAGS, Int])
                .measured(Progress::Always),
            row(symbol!("gasnet_exit"), Operation::Finalise, Void, &[Int]).measured(Progress::Always),
            row(symbol!("gex_Segment_Attach"), Operation::Allocate, Int, &[Pointer, HANDLE, SizeT, Int])
                .team(1).counted(2, 1).measured(Progress::Always),
            row(symbol!("gasnet_attach"), Operation::Allocate, Int,
                &[Pointer, Int, SizeT, SizeT, HANDLE, Int])
                .team(4).counted(2, 1).measured(Progress::Always),
            row(symbol!("gex_EP_RegisterHandlers"), Operation::Other, Int,
                &[HANDLE, Pointer, SizeT, Int]).measured(Progress::Never),
        ];
        "teams": &[
            row(symbol!("gex_TM_Split"), Operation::CreateGroup, SizeT,
                &[Pointer, HANDLE, Int, Int, Pointer, SizeT, FLAGS, SizeT]).team(1)
                .measured(Progress::Always),
            row(symbol!("gex_TM_Create"), Operation::CreateGroup, SizeT,
                &[Pointer, SizeT, HANDLE, Pointer, SizeT, Pointer, SizeT, FLAGS, SizeT]).team(2)
                .measured(Progress::Always),
            row(symbol!("gex_TM_Destroy"), Operation::DestroyGroup, Int,
                &[HANDLE, Pointer, FLAGS, Int]).team(0).measured(Progress::Always),
        ];
        "put": &[
            put(symbol!("gex_RMA_PutBlocking"), BLOCKING, Int, 4,
                &[HANDLE, RANK, Pointer, Pointer, SizeT, FLAGS, Int]),
            put(symbol!("gex_RMA_PutNB"), LATER, EVENT, 4,
                &[HANDLE, RANK, Pointer, Pointer, SizeT, Pointer, FLAGS, EVENT]),
            put(symbol!("gex_RMA_PutNBI"), LATER, Int, 4,
                &[HANDLE, RANK, Pointer, Pointer, SizeT, Pointer, FLAGS, Int]),
            put(symbol!("gex_RMA_PutBlockingVal"), BLOCKING, Int, 4,
                &[HANDLE, RANK, Pointer, Uint64, SizeT, FLAGS, Int]),
            put(symbol!("gex_RMA_PutNBVal"), LATER, EVENT, 4,
                &[HANDLE, RANK, Pointer, Uint64, SizeT, FLAGS, EVENT]),
            put(symbol!("gex_RMA_PutNBIVal"), LATER, Int, 4,
                &[HANDLE, RANK, Pointer, Uint64, SizeT, FLAGS, Int]),
        ];
        "get": &[
            get(symbol!("gex_RMA_GetBlocking"), BLOCKING, Int),
            get(symbol!("gex_RMA_GetNB"), LATER, EVENT),
            get(symbol!("gex_RMA_GetNBI"), LATER, Int),
            by_event(row(symbol!("gex_RMA_GetBlockingVal"), GET, Uint64,
                &[HANDLE, RANK, Pointer, SizeT, FLAGS, Uint64])
                .context(0).target(1).remote(2).counted(3, 1), BLOCKING),
        ];
        "vectors": &[
            put_vector(symbol!("gex_VIS_VectorPutBlocking"), BLOCKING, Int),
            put_vector(symbol!("gex_VIS_VectorPutNB"), LATER, EVENT),
            put_vector(symbol!("gex_VIS_VectorPutNBI"), LATER, Int),
            get_vector(symbol!("gex_VIS_VectorGetBlocking"), BLOCKING, Int),
            get_vector(symbol!("gex_VIS_VectorGetNB"), LATER, EVENT),
            get_vector(symbol!("gex_VIS_VectorGetNBI"), LATER, Int),
            put_indexed(symbol!("gex_VIS_IndexedPutBlocking"), BLOCKING, Int),
            put_indexed(symbol!("gex_VIS_IndexedPutNB"), LATER, EVENT),
            put_indexed(symbol!("gex_VIS_IndexedPutNBI"), LATER, Int),
            get_indexed(symbol!("gex_VIS_IndexedGetBlocking"), BLOCKING, Int),
            get_indexed(symbol!("gex_VIS_IndexedGetNB"), LATER, EVENT),
            get_indexed(symbol!("gex_VIS_IndexedGetNBI"), LATER, Int),
            put_strided(symbol!("gex_VIS_StridedPutBlocking"), BLOCKING, Int),
            put_strided(symbol!("gex_VIS_StridedPutNB"), LATER, EVENT),
            put_strided(symbol!("gex_VIS_StridedPutNBI"), LATER, Int),
            get_strided(symbol!("gex_VIS_StridedGetBlocking"), BLOCKING, Int),
            get_strided(symbol!("gex_VIS_StridedGetNB"), LATER, EVENT),
            get_strided(symbol!("gex_VIS_StridedGetNBI"), LATER, Int),
        ];
        "atomics": &[
            atomic(symbol!("gex_AD_OpNB_I32"), CType::Int32, EVENT),
            atomic(symbol!("gex_AD_OpNB_U32"), Uint32, EVENT),
            atomic(symbol!("gex_AD_OpNB_I64"), CType::Int64, EVENT),
            atomic(symbol!("gex_AD_OpNB_U64"), Uint64, EVENT),
            atomic(symbol!("gex_AD_OpNB_FLT"), Float, EVENT),
            atomic(symbol!("gex_AD_OpNB_DBL"), Double, EVENT),
            atomic(symbol!("gex_AD_OpNBI_I32"), CType::Int32, Int),
            atomic(symbol!("gex_AD_OpNBI_U32"), Uint32, Int),
            atomic(symbol!("gex_AD_OpNBI_I64"), CType::Int64, Int),
            atomic(symbol!("gex_AD_OpNBI_U64"), Uint64, Int),
            atomic(symbol!("gex_AD_OpNBI_FLT"), Float, Int),
            atomic(symbol!("gex_AD_OpNBI_DBL"), Double, Int),
        ];
    },
    families! {
        "completion": &[
            waits(symbol!("gex_Event_Wait"), &[EVENT]),
            waits(symbol!("gex_Event_WaitSome"), &[Pointer, SizeT, FLAGS]),
            waits(symbol!("gex_Event_WaitAll"), &[Pointer, SizeT, FLAGS]),
            tests(symbol!("gex_Event_Test"), &[EVENT, Int]),
            tests(symbol!("gex_Event_TestSome"), &[Pointer, SizeT, FLAGS, Int]),
            tests(symbol!("gex_Event_TestAll"), &[Pointer, SizeT, FLAGS, Int]),
            Row { completes_remote: true, ..row(symbol!("gex_NBI_Wait"), Operation::CompleteRemote, Void,
                &[Uint32, FLAGS, Uint32]).measured(Progress::Always) },
            row(symbol!("gex_NBI_Test"), Operation::TestHandle, Int, &[Uint32, FLAGS, Uint32, Int])
                .success(Success::Zero).measured(Progress::Never),
            row(symbol!("gex_NBI_BeginAccessRegion"), Operation::Other, Void, &[FLAGS])
                .measured(Progress::Never),
            row(symbol!("gex_NBI_EndAccessRegion"), Operation::Other, EVENT, &[FLAGS, EVENT])
                .handle(1).measured(Progress::Never),
        ];
        "collectives": &[
            row(symbol!("gex_Coll_BarrierBlocking"), Operation::Collective(Collective::Sync), Void,
                &[HANDLE, FLAGS]).team(0).measured(Progress::Always),
            starts(symbol!("gex_Coll_BarrierNB"), Collective::Sync, &[HANDLE, FLAGS, EVENT]),
            starts(symbol!("gex_Coll_BroadcastNB"), Collective::Broadcast,
                &[HANDLE, RANK, Pointer, Pointer, SizeT, FLAGS, EVENT]).root(1).counted(4, 1),
            starts(symbol!("gex_Coll_ReduceToOneNB"), Collective::Reduce,
                &[HANDLE, RANK, Pointer, Pointer, Uint32, SizeT, SizeT, Uint32, Pointer, Pointer, FLAGS, EVENT])
                .root(1).product(5, 6),
            starts(symbol!("gex_Coll_ReduceToAllNB"), Collective::AllReduce,
                &[HANDLE, Pointer, Pointer, Uint32, SizeT, SizeT, Uint32, Pointer, Pointer, FLAGS, EVENT])
                .product(4, 5),
            // The split-phase barrier of GASNet-1, which one process cannot begin twice.
            row(symbol!("gasnet_barrier_notify"), Operation::Collective(Collective::Sync), Void,
                &[Int, Int, HANDLE]).team(2).non_blocking().measured(Progress::Conditional),
            row(symbol!("gasnet_barrier"), Operation::Collective(Collective::Sync), Int,
                &[Int, Int, HANDLE, Int]).team(2).measured(Progress::Always),
            row(symbol!("gasnet_barrier_wait"), Operation::WaitHandle, Int, &[Int, Int, HANDLE, Int])
                .team(2).measured(Progress::Always),
            row(symbol!("gasnet_barrier_try"), Operation::TestHandle, Int, &[Int, Int, HANDLE, Int])
                .team(2).success(Success::Zero).measured(Progress::Always),
        ];
        "active messages": &[
            request(symbol!("gex_AM_RequestShort")),
            request(symbol!("gex_AM_RequestMedium")),
            request(symbol!("gex_AM_RequestLong")),
            reply(symbol!("gex_AM_ReplyShort")),
            reply(symbol!("gex_AM_ReplyMedium")),
            reply(symbol!("gex_AM_ReplyLong")),
            // Messages with negotiated payload, whose target the call that prepared them has named.
            request(symbol!("gex_AM_CommitRequestMedium")),
            request(symbol!("gex_AM_CommitRequestLong")),
            reply(symbol!("gex_AM_CommitReplyMedium")),
            reply(symbol!("gex_AM_CommitReplyLong")),
        ];
        "polling": &[
            row(symbol!("gasnet_AMPoll"), Operation::Poll, Int, &[Int]).measured(Progress::Always),
            row(symbol!("GASNET_BLOCKUNTIL"), Operation::Poll, Void, &[]).measured(Progress::Always),
        ];
        "handler-safe locks": &[
            row(symbol!("gex_HSL_Lock"), Operation::Lock, Void, &[Pointer]).lock(0)
                .measured(Progress::Never),
            row(symbol!("gex_HSL_Trylock"), Operation::TryLock, Int, &[Pointer, Int]).lock(0)
                .success(Success::Zero).measured(Progress::Never),
            row(symbol!("gex_HSL_Unlock"), Operation::Unlock, Void, &[Pointer]).lock(0)
                .measured(Progress::Never),
        ];
    },
];

static ROWS: [Row; table::count(CHAPTERS)] = table::sorted(CHAPTERS);

/// Every call of GASNet-EX that is hooked, sorted by name. Progress was measured over `udp`, where operations need their
/// target, and over `smp`, where they do not.
pub static TABLE: Table =
    Table { not_hooked: NOT_HOOKED, ..Table::new(Layer::Gasnet, &ROWS, Hooks::Included) };

const ASKS: &str = "returns what the library has at hand: measuring would cost more than the call";
const LOCAL: &str = "works in memory of its own process, without anybody else";
const NEGOTIATED: &str = "moves nothing: the message is recorded where it is committed";
const OVER: &str = "a macro over calls that are hooked";

/// Calls that are not hooked, each with the reason. A `*` in a name stands for any number of characters.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("gex_AD_Create", LOCAL),
    ("gex_AD_Destroy", LOCAL),
    ("gex_AD_Query*", ASKS),
    ("gex_AM_Cancel*", NEGOTIATED),
    ("gex_AM_CommitReplyLong*", OVER),
    ("gex_AM_CommitReplyMedium*", OVER),
    ("gex_AM_CommitRequestLong*", OVER),
    ("gex_AM_CommitRequestMedium*", OVER),
    ("gex_AM_LUB*", ASKS),
    ("gex_AM_Max*", ASKS),
    ("gex_AM_Prepare*", NEGOTIATED),
    ("gex_AM_RequestShort*", OVER),
    ("gex_AM_RequestMedium*", OVER),
    ("gex_AM_RequestLong*", OVER),
    ("gex_AM_ReplyShort*", OVER),
    ("gex_AM_ReplyMedium*", OVER),
    ("gex_AM_ReplyLong*", OVER),
    ("gex_AM_SrcDesc*", ASKS),
    ("gex_Client_Query*", ASKS),
    ("gex_EP_BindSegment", LOCAL),
    ("gex_EP_Create", LOCAL),
    ("gex_EP_PublishBoundSegment", "tells others of a segment, once for each device"),
    ("gex_EP_Query*", ASKS),
    ("gex_Event_QueryLeaf", ASKS),
    ("gex_HSL_Destroy", LOCAL),
    ("gex_HSL_Init", LOCAL),
    ("gex_Segment_Create", LOCAL),
    ("gex_Segment_Query*", ASKS),
    ("gex_System_*", ASKS),
    ("gex_TM_Pair", LOCAL),
    ("gex_TM_Query*", ASKS),
    ("gex_TM_Translate*", ASKS),
    ("gex_Token_*", ASKS),
    ("gex_VIS_SetPeerCompletionHandler", LOCAL),
    ("gex_*_SetCData", LOCAL),
    ("gasnet_AMGetMsgSource", ASKS),
    ("gasnet_AMMax*", ASKS),
    ("gasnet_AMReply*", OVER),
    ("gasnet_AMRequest*", OVER),
    ("gasnet_Error*", ASKS),
    ("gasnet_QueryGexObjects", ASKS),
    ("gasnet_barrier_result", ASKS),
    ("gasnet_begin_nbi_accessregion", OVER),
    ("gasnet_coll_*", "the older interface of collectives, which GASNet is about to remove"),
    ("gasnet_end_nbi_accessregion", OVER),
    ("gasnet_getMax*", ASKS),
    ("gasnet_getNodeInfo", ASKS),
    ("gasnet_getSegmentInfo", ASKS),
    ("gasnet_getenv", ASKS),
    ("gasnet_get*", OVER),
    ("gasnet_hold_interrupts", LOCAL),
    ("gasnet_hsl_*", OVER),
    ("gasnet_init", OVER),
    ("gasnet_memset*", "moves no data, and has no counterpart in GASNet-EX"),
    ("gasnet_mynode", ASKS),
    ("gasnet_nodes", ASKS),
    ("gasnet_put*", OVER),
    ("gasnet_resume_interrupts", LOCAL),
    ("gasnet_set_waitmode", LOCAL),
    ("gasnet_try_syncnb*", OVER),
    ("gasnet_wait_syncnb*", OVER),
];

/// Returns the reason why a call is not hooked, or `None` if it is not on the list.
pub fn not_hooked(name: &str) -> Option<&'static str> {
    table::reason(NOT_HOOKED, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_exists_and_has_a_type_that_fits() {
        TABLE.check_places();
    }

    #[test]
    fn the_returned_value_is_the_last_word() {
        for row in TABLE.rows.iter().filter(|row| row.returns != Void) {
            assert_eq!(row.arguments.types().last(), Some(&row.returns), "{}", row.name());
        }
    }

    #[test]
    fn operations_with_an_event_have_it_as_their_handle() {
        for row in TABLE.rows.iter().filter(|row| row.returns == EVENT) {
            let last = row.arguments.types().len() - 1;
            assert_eq!(row.places.handle.map(table::Arg::index), Some(last), "{}", row.name());
        }
    }
}
