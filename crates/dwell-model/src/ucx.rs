//! The table of UCX: put, get, atomics, completion and messages of UCP.
//!
//! OpenSHMEM and MPI are built on UCX on many machines. It knows endpoints and no ranks, so its calls are recorded as
//! regions only, inside those of the layer above: they show what a slow put consists of. Programs hardly ever call UCX
//! themselves, and each call of a layer above makes several of its calls, so it is recorded only on request.
//!
//! `ucp_worker_progress` is left out, because every process that waits calls it in a loop.

use crate::layer::Layer;
use crate::operation::{Atomic, Operation, Progress};
use crate::table::{self, CType, Family, Hooks, Row, Shape, Symbol, Table, families, symbol};

use CType::{Int, Pointer, SizeT, Uint32, Uint64};

const fn row(symbol: Symbol, operation: Operation, returns: CType, arguments: &[CType]) -> Row {
    let row = Row::new(symbol, operation, returns, arguments).assumed(Progress::Conditional);
    let row = row.shape(Shape::Region);
    Row { completes_remote: false, ..row }
}

/// `ucs_status_ptr_t (…)`: the call returns at once, and the request that it returns completes later.
const fn later(symbol: Symbol, operation: Operation, arguments: &[CType]) -> Row {
    row(symbol, operation, Pointer, arguments).non_blocking()
}

const PUT: Operation = Operation::Put;
const GET: Operation = Operation::Get;
const ATOMIC: Operation = Operation::Atomic(Atomic::FetchAccumulate);
const FLUSH: Operation = Operation::CompleteRemote;

const CHAPTERS: &[&[Family]] = &[families! {
    "put and get": &[
        row(symbol!("ucp_put"), PUT, Int, &[Pointer, Pointer, SizeT, Uint64, Pointer]),
        row(symbol!("ucp_get"), GET, Int, &[Pointer, Pointer, SizeT, Uint64, Pointer]),
        row(symbol!("ucp_put_nbi"), PUT, Int, &[Pointer, Pointer, SizeT, Uint64, Pointer]).non_blocking(),
        row(symbol!("ucp_get_nbi"), GET, Int, &[Pointer, Pointer, SizeT, Uint64, Pointer]).non_blocking(),
        later(symbol!("ucp_put_nb"), PUT, &[Pointer, Pointer, SizeT, Uint64, Pointer, Pointer]),
        later(symbol!("ucp_get_nb"), GET, &[Pointer, Pointer, SizeT, Uint64, Pointer, Pointer]),
        later(symbol!("ucp_put_nbx"), PUT, &[Pointer, Pointer, SizeT, Uint64, Pointer, Pointer]),
        later(symbol!("ucp_get_nbx"), GET, &[Pointer, Pointer, SizeT, Uint64, Pointer, Pointer]),
    ];
    "atomics": &[
        row(symbol!("ucp_atomic_post"), ATOMIC, Int, &[Pointer, Int, Uint64, SizeT, Uint64, Pointer]),
        later(symbol!("ucp_atomic_fetch_nb"), ATOMIC,
            &[Pointer, Int, Uint64, Pointer, SizeT, Uint64, Pointer, Pointer]),
        later(symbol!("ucp_atomic_op_nbx"), ATOMIC,
            &[Pointer, Int, Pointer, SizeT, Uint64, Pointer, Pointer]),
    ];
    "completion": &[
        row(symbol!("ucp_worker_fence"), Operation::Order, Int, &[Pointer]),
        row(symbol!("ucp_worker_flush"), FLUSH, Int, &[Pointer]),
        row(symbol!("ucp_ep_flush"), FLUSH, Int, &[Pointer]),
        later(symbol!("ucp_worker_flush_nb"), FLUSH, &[Pointer, Uint32, Pointer]),
        later(symbol!("ucp_ep_flush_nb"), FLUSH, &[Pointer, Uint32, Pointer]),
        later(symbol!("ucp_worker_flush_nbx"), FLUSH, &[Pointer, Pointer]),
        later(symbol!("ucp_ep_flush_nbx"), FLUSH, &[Pointer, Pointer]),
    ];
    "messages": &[
        later(symbol!("ucp_tag_send_nbx"), Operation::Send, &[Pointer, Pointer, SizeT, Uint64, Pointer]),
        later(symbol!("ucp_tag_recv_nbx"), Operation::Receive,
            &[Pointer, Pointer, SizeT, Uint64, Uint64, Pointer]),
        later(symbol!("ucp_am_send_nbx"), Operation::Send,
            &[Pointer, Uint32, Pointer, SizeT, Pointer, SizeT, Pointer]),
    ];
}];

static ROWS: [Row; table::count(CHAPTERS)] = table::sorted(CHAPTERS);

/// The hooked functions of UCX's UCP interface, sorted by name. Their calls are recorded as regions only, and only on
/// request.
pub static TABLE: Table = Table::new(Layer::Ucx, &ROWS, Hooks::Regions);
