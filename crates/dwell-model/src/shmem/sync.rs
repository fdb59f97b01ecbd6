//! Ordering and completion, waiting for a change of memory, locks.
//!
//! | family | progress | source |
//! |---|---|---|
//! | `fence` | never | measured |
//! | `quiet` | conditional | measured: an idle one serves no other process, one that completes a put does; the analysis knows which it is |
//! | `test` | never | measured |
//! | `test_all`, `test_any`, `test_some` and vectors, `signal_fetch` | conditional | unknown |
//! | `wait`, `wait_until` | always | measured: gets are served while their target waits |
//! | `wait_until_all`, `wait_until_any`, `wait_until_some` and vectors | always | assumed: they wait alike |
//! | `set_lock` | always | measured, while it waits |
//! | `test_lock`, `clear_lock` | conditional | unknown |

use super::types::{families, rows, symbol};
use crate::operation::{Operation, Progress};
use crate::table::{Arg, CType, Condition, Element, Family, Operand, Row, Success, Symbol, Watch};

use crate::table::Absent::MinusOne;
use CType::{Int, Pointer, SizeT, Uint64, Void};

const LONG: Element = Element::of(CType::Long);
const SIGNAL: Element = Element::of(Uint64);

const fn fence(symbol: Symbol) -> Row {
    Row::new(symbol, Operation::Order, Void, &[]).measured(Progress::Never)
}

const fn quiet(symbol: Symbol) -> Row {
    Row::new(symbol, Operation::CompleteRemote, Void, &[]).measured(Progress::Conditional)
}

/// `void wait(T *address, T value)`: waits until memory holds another value.
const fn wait(symbol: Symbol, element: Element) -> Row {
    let condition =
        Condition { operand: Some(Operand::Value(Arg(1))), ..Condition::one(Arg(0), element.size) };
    Row::new(symbol, Operation::WaitChange, Void, &[Pointer, element.ctype])
        .condition(condition)
        .measured(Progress::Always)
}

/// `(T *address, int comparison, T value)`
const fn compare(symbol: Symbol, operation: Operation, returns: CType, element: Element) -> Row {
    let condition = Condition {
        comparison: Some(Arg(1)),
        operand: Some(Operand::Value(Arg(2))),
        ..Condition::one(Arg(0), element.size)
    };
    Row::new(symbol, operation, returns, &[Pointer, Int, element.ctype]).condition(condition)
}

const fn wait_until(symbol: Symbol, element: Element) -> Row {
    compare(symbol, Operation::WaitChange, Void, element).measured(Progress::Always)
}

const fn test(symbol: Symbol, element: Element) -> Row {
    compare(symbol, Operation::TestChange, Int, element)
        .success(Success::NotZero)
        .measured(Progress::Never)
}

/// `uint64_t signal_wait_until(uint64_t *address, int comparison, uint64_t value)`
const fn signal_wait_until(symbol: Symbol) -> Row {
    compare(symbol, Operation::WaitChange, Uint64, SIGNAL).measured(Progress::Always)
}

/// `uint64_t signal_fetch(const uint64_t *address)`: the call only reads, and the program compares.
const fn signal_fetch(symbol: Symbol) -> Row {
    Row::new(symbol, Operation::TestChange, Uint64, &[Pointer])
        .condition(Condition::one(Arg(0), SIGNAL.size))
}

/// The operand of a wait or test on several values: one value for all of them, or one for each.
#[derive(Clone, Copy)]
enum With {
    One,
    Each,
}

/// `(T *addresses, size_t count, [size_t *indices,] const int *status, int comparison, T value)`,
/// with `T *values` in place of the last for vectors.
const fn several(
    symbol: Symbol,
    operation: Operation,
    returns: CType,
    element: Element,
    watch: Watch,
    with: With,
) -> Row {
    let last = match with {
        With::One => element.ctype,
        With::Each => Pointer,
    };
    let (arguments, mask): (&[CType], u8) = match watch {
        Watch::Some => (&[Pointer, SizeT, Pointer, Pointer, Int, last], 3),
        _ => (&[Pointer, SizeT, Pointer, Int, last], 2),
    };
    let operand = Arg(mask + 2);
    let condition = Condition {
        watch,
        count: Some(Arg(1)),
        mask: Some(Arg(mask)),
        comparison: Some(Arg(mask + 1)),
        operand: Some(match with {
            With::One => Operand::Value(operand),
            With::Each => Operand::Array(operand),
        }),
        ..Condition::one(Arg(0), element.size)
    };
    Row::new(symbol, operation, returns, arguments).condition(condition)
}

/// Functions that create rows for waits and tests on several values.
///
/// The result "none of them" is 0 for `test_all` and `some`, and the largest number for `any`, whose result is an
/// index.
macro_rules! several {
    ($( $wait:ident $test:ident $watch:ident $with:ident; )*) => {
        $(
            const fn $wait(symbol: Symbol, element: Element) -> Row {
                let returns = if matches!(Watch::$watch, Watch::All) { Void } else { SizeT };
                verdict(several(
                    symbol, Operation::WaitChange, returns, element, Watch::$watch, With::$with,
                ).assumed(Progress::Always), Watch::$watch)
            }
            const fn $test(symbol: Symbol, element: Element) -> Row {
                let returns = if matches!(Watch::$watch, Watch::All) { Int } else { SizeT };
                verdict(several(
                    symbol, Operation::TestChange, returns, element, Watch::$watch, With::$with,
                ), Watch::$watch)
            }
        )*
    };
}

const fn verdict(row: Row, watch: Watch) -> Row {
    match (row.returns, watch) {
        (Void, _) => row,
        (_, Watch::Any) => row.success(Success::NotMax).absent(MinusOne),
        _ => row.success(Success::NotZero),
    }
}

several! {
    wait_until_all test_all All One;
    wait_until_any test_any Any One;
    wait_until_some test_some Some One;
    wait_until_all_vector test_all_vector All Each;
    wait_until_any_vector test_any_vector Any Each;
    wait_until_some_vector test_some_vector Some Each;
}

/// `… lock(long *lock)`. A lock is a symmetric variable, whose address identifies it at every process.
const fn lock(symbol: Symbol, operation: Operation, returns: CType) -> Row {
    Row::new(symbol, operation, returns, &[Pointer]).lock(0)
}

pub(super) const FAMILIES: &[Family] = families! {
    "fence": &[fence(symbol!("shmem_fence"))];
    "ctx fence": &[fence(symbol!("shmem_ctx_fence")).in_context()];
    "quiet": &[quiet(symbol!("shmem_quiet"))];
    "ctx quiet": &[quiet(symbol!("shmem_ctx_quiet")).in_context()];

    "wait": rows!(wait, "shmem_" integer "_wait");
    "wait": &[wait(symbol!("shmem_wait"), LONG)];
    "wait_until": rows!(wait_until, "shmem_" wait "_wait_until");
    "wait_until, long": &[wait_until(symbol!("shmem_wait_until"), LONG)];
    "test": rows!(test, "shmem_" wait "_test");
    "shmemx wait": rows!(wait, "shmemx_" x32 "_wait");
    "shmemx wait_until": rows!(wait_until, "shmemx_" x32 "_wait_until");
    "signal_wait_until": &[signal_wait_until(symbol!("shmem_signal_wait_until"))];
    "signal_fetch": &[signal_fetch(symbol!("shmem_signal_fetch"))];
    "wait_until_all": rows!(wait_until_all, "shmem_" amo_all "_wait_until_all");
    "wait_until_all, short": rows!(wait_until_all, "shmem_" short "_wait_until_all");
    "wait_until_any": rows!(wait_until_any, "shmem_" amo_all "_wait_until_any");
    "wait_until_any, short": rows!(wait_until_any, "shmem_" short "_wait_until_any");
    "wait_until_some": rows!(wait_until_some, "shmem_" amo_all "_wait_until_some");
    "wait_until_some, short": rows!(wait_until_some, "shmem_" short "_wait_until_some");
    "wait_until_all_vector": rows!(wait_until_all_vector, "shmem_" amo_all "_wait_until_all_vector");
    "wait_until_all_vector, short": rows!(wait_until_all_vector, "shmem_" short "_wait_until_all_vector");
    "wait_until_any_vector": rows!(wait_until_any_vector, "shmem_" amo_all "_wait_until_any_vector");
    "wait_until_any_vector, short": rows!(wait_until_any_vector, "shmem_" short "_wait_until_any_vector");
    "wait_until_some_vector": rows!(wait_until_some_vector, "shmem_" amo_all "_wait_until_some_vector");
    "wait_until_some_vector, short": rows!(wait_until_some_vector, "shmem_" short "_wait_until_some_vector");
    "test_all": rows!(test_all, "shmem_" amo_all "_test_all");
    "test_all, short": rows!(test_all, "shmem_" short "_test_all");
    "test_any": rows!(test_any, "shmem_" amo_all "_test_any");
    "test_any, short": rows!(test_any, "shmem_" short "_test_any");
    "test_some": rows!(test_some, "shmem_" amo_all "_test_some");
    "test_some, short": rows!(test_some, "shmem_" short "_test_some");
    "test_all_vector": rows!(test_all_vector, "shmem_" amo_all "_test_all_vector");
    "test_all_vector, short": rows!(test_all_vector, "shmem_" short "_test_all_vector");
    "test_any_vector": rows!(test_any_vector, "shmem_" amo_all "_test_any_vector");
    "test_any_vector, short": rows!(test_any_vector, "shmem_" short "_test_any_vector");
    "test_some_vector": rows!(test_some_vector, "shmem_" amo_all "_test_some_vector");
    "test_some_vector, short": rows!(test_some_vector, "shmem_" short "_test_some_vector");

    // An absent lock is free: a loop over test_lock must end.
    "locks": &[
        lock(symbol!("shmem_set_lock"), Operation::Lock, Void).measured(Progress::Always),
        lock(symbol!("shmem_clear_lock"), Operation::Unlock, Void),
        lock(symbol!("shmem_test_lock"), Operation::TryLock, Int).success(Success::Zero),
    ];
};
