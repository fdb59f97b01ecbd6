//! Put and get: single values, blocks, strided, with a signal.
//!
//! | family | progress | source |
//! |---|---|---|
//! | `p` | never | measured |
//! | `g` | always | assumed: it is a get, and waits for its answer |
//! | `put` | conditional | assumed: the runtime buffers small ones like `p`, large ones may wait |
//! | `get` | always | measured |
//! | `iput` | conditional | assumed, as put |
//! | `iget` | always | assumed: made of gets |
//! | `put_nbi` | never | measured |
//! | `get_nbi` | conditional | unknown |
//! | `put_signal`, `put_signal_nbi` | conditional | unknown |

use super::types::{families, paired, rows};
use crate::operation::{Operation, Progress};
use crate::table::{Arg, CType, Element, Family, Row, Signal, Symbol};

use CType::{Int, Pointer, PtrdiffT, SizeT, Uint64, Void};

/// `void p(T *address, T value, int pe)`
const fn p(symbol: Symbol, element: Element) -> Row {
    Row::new(symbol, Operation::Put, Void, &[Pointer, element.ctype, Int])
        .remote(0)
        .fixed(element.size)
        .target(2)
        .measured(Progress::Never)
}

/// `T g(const T *address, int pe)`
const fn g(symbol: Symbol, element: Element) -> Row {
    Row::new(symbol, Operation::Get, element.ctype, &[Pointer, Int])
        .remote(0)
        .fixed(element.size)
        .target(1)
        .assumed(Progress::Always)
}

/// `void …(T *destination, const T *source, size_t count, int pe)`
const fn block(symbol: Symbol, operation: Operation, element: Element) -> Row {
    Row::new(symbol, operation, Void, &[Pointer, Pointer, SizeT, Int])
        .counted(2, element.size)
        .target(3)
}

const fn put(symbol: Symbol, element: Element) -> Row {
    block(symbol, Operation::Put, element).remote(0)
}

const fn get(symbol: Symbol, element: Element) -> Row {
    block(symbol, Operation::Get, element).remote(1).measured(Progress::Always)
}

const fn put_nbi(symbol: Symbol, element: Element) -> Row {
    put(symbol, element).non_blocking().measured(Progress::Never)
}

const fn get_nbi(symbol: Symbol, element: Element) -> Row {
    block(symbol, Operation::Get, element).remote(1).non_blocking()
}

/// `void …(T *destination, const T *source, ptrdiff_t, ptrdiff_t, size_t count, int pe)`
const fn strided(symbol: Symbol, operation: Operation, element: Element) -> Row {
    Row::new(symbol, operation, Void, &[Pointer, Pointer, PtrdiffT, PtrdiffT, SizeT, Int])
        .strides(2, 3)
        .counted(4, element.size)
        .target(5)
}

const fn iput(symbol: Symbol, element: Element) -> Row {
    strided(symbol, Operation::Put, element).remote(0)
}

const fn iget(symbol: Symbol, element: Element) -> Row {
    strided(symbol, Operation::Get, element).remote(1).assumed(Progress::Always)
}

/// `void …(T *destination, const T *source, size_t count, uint64_t *signal, uint64_t, int, int pe)`
const fn put_signal(symbol: Symbol, element: Element) -> Row {
    let arguments = &[Pointer, Pointer, SizeT, Pointer, Uint64, Int, Int];
    Row::new(symbol, Operation::Put, Void, arguments)
        .remote(0)
        .counted(2, element.size)
        .signal(Signal { address: Arg(3), size: 8, value: Arg(4), action: Arg(5) })
        .target(6)
}

const fn put_signal_nbi(symbol: Symbol, element: Element) -> Row {
    put_signal(symbol, element).non_blocking()
}

/// Families that exist with and without a context.
pub(super) const PAIRED: &[Family] = paired! {
    "p": p, "" rma "_p";
    "g": g, "" rma "_g";
    "put": put, "" rma "_put";
    "put": put, "put" sized "";
    "get": get, "" rma "_get";
    "get": get, "get" sized "";
    "iput": iput, "" rma "_iput";
    "iput": iput, "iput" bits "";
    "iget": iget, "" rma "_iget";
    "iget": iget, "iget" bits "";
    "put_nbi": put_nbi, "" rma "_put_nbi";
    "put_nbi": put_nbi, "put" sized "_nbi";
    "get_nbi": get_nbi, "" rma "_get_nbi";
    "get_nbi": get_nbi, "get" sized "_nbi";
    "put_signal": put_signal, "" rma "_put_signal";
    "put_signal": put_signal, "put" sized "_signal";
    "put_signal_nbi": put_signal_nbi, "" rma "_put_signal_nbi";
    "put_signal_nbi": put_signal_nbi, "put" sized "_signal_nbi";
};

/// Families of the extensions of Open MPI, which have no context.
pub(super) const FAMILIES: &[Family] = families! {
    "shmemx p": rows!(p, "shmemx_" x16 "_p");
    "shmemx g": rows!(g, "shmemx_" x16 "_g");
};
