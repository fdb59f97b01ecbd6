//! Atomic operations: under today's names, under those from before OpenSHMEM 1.4, and non-blocking.
//!
//! | family | progress | source |
//! |---|---|---|
//! | those that fetch | always | measured |
//! | those that do not | conditional | unknown: the runtime may buffer them like `p` |
//! | non-blocking | conditional | unknown |

use super::types::{families, paired, rows};
use crate::operation::{Atomic, Operation, Progress};
use crate::table::{CType, Element, Family, Row, Symbol};

use CType::{Int, Pointer, Void};

/// `[T|void] …(T *address, [T…,] int pe)`, with as many values as the operation has operands.
const fn atomic(symbol: Symbol, element: Element, kind: Atomic) -> Row {
    let returns = if kind.fetches() { element.ctype } else { Void };
    let value = element.ctype;
    let arguments: &[CType] = match kind.operands() {
        0 => &[Pointer, Int],
        1 => &[Pointer, value, Int],
        _ => &[Pointer, value, value, Int],
    };
    let row = Row::new(symbol, Operation::Atomic(kind), returns, arguments)
        .remote(0)
        .fixed(element.size)
        .target(1 + kind.operands());
    if kind.fetches() { row.measured(Progress::Always) } else { row }
}

/// `void …(T *fetched, T *address, [T…,] int pe)`: the runtime stores the value later at `fetched`.
const fn atomic_nbi(symbol: Symbol, element: Element, kind: Atomic) -> Row {
    let value = element.ctype;
    let arguments: &[CType] = match kind.operands() {
        0 => &[Pointer, Pointer, Int],
        1 => &[Pointer, Pointer, value, Int],
        _ => &[Pointer, Pointer, value, value, Int],
    };
    Row::new(symbol, Operation::Atomic(kind), Void, arguments)
        .remote(1)
        .fixed(element.size)
        .target(2 + kind.operands())
        .non_blocking()
}

/// Functions that create the row of one kind of atomic operation each.
macro_rules! makers {
    ($( $maker:ident = $atomic:ident $kind:ident; )*) => {
        $(
            const fn $maker(symbol: Symbol, element: Element) -> Row {
                $atomic(symbol, element, Atomic::$kind)
            }
        )*
    };
}

makers! {
    set = atomic Set;
    fetch = atomic Fetch;
    swap = atomic Swap;
    compare_swap = atomic CompareSwap;
    add = atomic Add;
    increment = atomic Increment;
    fetch_add = atomic FetchAdd;
    fetch_increment = atomic FetchIncrement;
    and = atomic And;
    or = atomic Or;
    xor = atomic Xor;
    fetch_and = atomic FetchAnd;
    fetch_or = atomic FetchOr;
    fetch_xor = atomic FetchXor;
    fetch_nbi = atomic_nbi Fetch;
    swap_nbi = atomic_nbi Swap;
    compare_swap_nbi = atomic_nbi CompareSwap;
    fetch_add_nbi = atomic_nbi FetchAdd;
    fetch_increment_nbi = atomic_nbi FetchIncrement;
    fetch_and_nbi = atomic_nbi FetchAnd;
    fetch_or_nbi = atomic_nbi FetchOr;
    fetch_xor_nbi = atomic_nbi FetchXor;
}

/// Families that exist with and without a context.
pub(super) const PAIRED: &[Family] = paired! {
    "atomic_add": add, "" amo "_atomic_add";
    "atomic_add, exact widths": add, "" amo_exact "_atomic_add";
    "atomic_inc": increment, "" amo "_atomic_inc";
    "atomic_inc, exact widths": increment, "" amo_exact "_atomic_inc";
    "atomic_fetch_add": fetch_add, "" amo "_atomic_fetch_add";
    "atomic_fetch_add, exact widths": fetch_add, "" amo_exact "_atomic_fetch_add";
    "atomic_fetch_inc": fetch_increment, "" amo "_atomic_fetch_inc";
    "atomic_fetch_inc, exact widths": fetch_increment, "" amo_exact "_atomic_fetch_inc";
    "atomic_compare_swap": compare_swap, "" amo "_atomic_compare_swap";
    "atomic_compare_swap, exact widths": compare_swap, "" amo_exact "_atomic_compare_swap";
    "atomic_fetch": fetch, "" amo "_atomic_fetch";
    "atomic_fetch": fetch, "" real "_atomic_fetch";
    "atomic_fetch, exact widths": fetch, "" amo_exact "_atomic_fetch";
    "atomic_set": set, "" amo "_atomic_set";
    "atomic_set": set, "" real "_atomic_set";
    "atomic_set, exact widths": set, "" amo_exact "_atomic_set";
    "atomic_swap": swap, "" amo "_atomic_swap";
    "atomic_swap": swap, "" real "_atomic_swap";
    "atomic_swap, exact widths": swap, "" amo_exact "_atomic_swap";
    "atomic_and": and, "" bitwise "_atomic_and";
    "atomic_and": and, "" classic "_atomic_and";
    "atomic_or": or, "" bitwise "_atomic_or";
    "atomic_or": or, "" classic "_atomic_or";
    "atomic_xor": xor, "" bitwise "_atomic_xor";
    "atomic_xor": xor, "" classic "_atomic_xor";
    "atomic_fetch_and": fetch_and, "" bitwise "_atomic_fetch_and";
    "atomic_fetch_and": fetch_and, "" classic "_atomic_fetch_and";
    "atomic_fetch_or": fetch_or, "" bitwise "_atomic_fetch_or";
    "atomic_fetch_or": fetch_or, "" classic "_atomic_fetch_or";
    "atomic_fetch_xor": fetch_xor, "" bitwise "_atomic_fetch_xor";
    "atomic_fetch_xor": fetch_xor, "" classic "_atomic_fetch_xor";
    "atomic_fetch_nbi": fetch_nbi, "" amo_all "_atomic_fetch_nbi";
    "atomic_fetch_nbi": fetch_nbi, "" real "_atomic_fetch_nbi";
    "atomic_swap_nbi": swap_nbi, "" amo_all "_atomic_swap_nbi";
    "atomic_swap_nbi": swap_nbi, "" real "_atomic_swap_nbi";
    "atomic_compare_swap_nbi": compare_swap_nbi, "" amo_all "_atomic_compare_swap_nbi";
    "atomic_fetch_add_nbi": fetch_add_nbi, "" amo_all "_atomic_fetch_add_nbi";
    "atomic_fetch_inc_nbi": fetch_increment_nbi, "" amo_all "_atomic_fetch_inc_nbi";
    "atomic_fetch_and_nbi": fetch_and_nbi, "" bitwise "_atomic_fetch_and_nbi";
    "atomic_fetch_or_nbi": fetch_or_nbi, "" bitwise "_atomic_fetch_or_nbi";
    "atomic_fetch_xor_nbi": fetch_xor_nbi, "" bitwise "_atomic_fetch_xor_nbi";
};

/// Families under the names from before OpenSHMEM 1.4, and the extensions of Open MPI. None of them has a context.
pub(super) const FAMILIES: &[Family] = families! {
    "old swap": rows!(swap, "shmem_" classic "_swap");
    "old swap": rows!(swap, "shmem_" real "_swap");
    "old cswap": rows!(compare_swap, "shmem_" classic "_cswap");
    "old fadd": rows!(fetch_add, "shmem_" classic "_fadd");
    "old finc": rows!(fetch_increment, "shmem_" classic "_finc");
    "old add": rows!(add, "shmem_" classic "_add");
    "old inc": rows!(increment, "shmem_" classic "_inc");
    "old fetch": rows!(fetch, "shmem_" classic "_fetch");
    "old fetch": rows!(fetch, "shmem_" real "_fetch");
    "old set": rows!(set, "shmem_" classic "_set");
    "old set": rows!(set, "shmem_" real "_set");
    "shmemx old swap": rows!(swap, "shmemx_" x32 "_swap");
    "shmemx old cswap": rows!(compare_swap, "shmemx_" x32 "_cswap");
    "shmemx old fadd": rows!(fetch_add, "shmemx_" x32 "_fadd");
    "shmemx old finc": rows!(fetch_increment, "shmemx_" x32 "_finc");
    "shmemx old add": rows!(add, "shmemx_" x32 "_add");
    "shmemx old inc": rows!(increment, "shmemx_" x32 "_inc");
    "shmemx old fetch": rows!(fetch, "shmemx_" x32 "_fetch");
    "shmemx old set": rows!(set, "shmemx_" x32 "_set");
    "shmemx atomic_and": rows!(and, "shmemx_" x_bitwise "_atomic_and");
    "shmemx atomic_or": rows!(or, "shmemx_" x_bitwise "_atomic_or");
    "shmemx atomic_xor": rows!(xor, "shmemx_" x_bitwise "_atomic_xor");
    "shmemx atomic_fetch_and": rows!(fetch_and, "shmemx_" x_bitwise "_atomic_fetch_and");
    "shmemx atomic_fetch_or": rows!(fetch_or, "shmemx_" x_bitwise "_atomic_fetch_or");
    "shmemx atomic_fetch_xor": rows!(fetch_xor, "shmemx_" x_bitwise "_atomic_fetch_xor");
};
