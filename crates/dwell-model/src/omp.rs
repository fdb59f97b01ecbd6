//! The table of OpenMP: the functions of GCC's runtime, libgomp, that compiled programs call.
//!
//! A directive of OpenMP becomes a call only where the runtime is needed. These make none with GCC: static loops, `nowait`,
//! `master` and `masked`, most of `atomic`, `flush`, and the end of `single`. Requests for the next iterations of a loop
//! or the next section are left alone, because programs make them for each chunk and they do not wait.
//!
//! The calls name no ranks, so they are recorded as regions only. Some of them run functions of the program, into which
//! the compiler has put the body of the directive: on every thread of a team ([`Shape::Team`]), or later, as a task
//! ([`Shape::Task`], [`Shape::TaskLoop`]). These functions are regions as well.

use crate::layer::Layer;
use crate::operation::{Collective, Operation, Progress};
use crate::table::{self, CType, Family, Hooks, Row, Shape, Symbol, Table, families, symbol};

use CType::{Int, Long, Pointer, SizeT, UnsignedInt, UnsignedLongLong, Void};

const fn row(symbol: Symbol, operation: Operation, returns: CType, arguments: &[CType]) -> Row {
    Row::new(symbol, operation, returns, arguments).assumed(Progress::Never).shape(Shape::Region)
}

/// `void (*fn)(void *), void *data, unsigned num_threads, …`.
const fn team(symbol: Symbol, returns: CType, arguments: &[CType]) -> Row {
    row(symbol, Operation::Other, returns, arguments).shape(Shape::Team)
}

/// A combined `parallel for` with a chunk size.
const fn chunked(symbol: Symbol) -> Row {
    team(symbol, Void, &[Pointer, Pointer, UnsignedInt, Long, Long, Long, Long, UnsignedInt])
}

/// A combined `parallel for` whose schedule is chosen at run time.
const fn runtime(symbol: Symbol) -> Row {
    team(symbol, Void, &[Pointer, Pointer, UnsignedInt, Long, Long, Long, UnsignedInt])
}

/// `void (void)`, or `bool (void)`, whose result is one byte of a register that the hook passes on as it is.
const fn alone(symbol: Symbol, operation: Operation, returns: CType) -> Row {
    row(symbol, operation, returns, &[])
}

/// A barrier of all threads of a team: `void (void)`, or `bool (void)`.
const fn barrier(symbol: Symbol, returns: CType) -> Row {
    alone(symbol, BARRIER, returns).shape(Shape::TeamBarrier)
}

/// A function with one argument, an address.
const fn of_address(symbol: Symbol, operation: Operation, returns: CType) -> Row {
    row(symbol, operation, returns, &[Pointer])
}

const fn task_loop(symbol: Symbol, number: CType) -> Row {
    let arguments =
        &[Pointer, Pointer, Pointer, Long, Long, UnsignedInt, SizeT, Int, number, number, number];
    row(symbol, Operation::Other, Void, arguments).shape(Shape::TaskLoop)
}

const OTHER: Operation = Operation::Other;
const BARRIER: Operation = Operation::Collective(Collective::Sync);
const LOCK: Operation = Operation::Lock;
const UNLOCK: Operation = Operation::Unlock;
const TRY: Operation = Operation::TryLock;

const CHAPTERS: &[&[Family]] = &[families! {
    "parallel": &[
        team(symbol!("GOMP_parallel"), Void, &[Pointer, Pointer, UnsignedInt, UnsignedInt]),
        team(symbol!("GOMP_parallel_reductions"), UnsignedInt,
            &[Pointer, Pointer, UnsignedInt, UnsignedInt]),
        team(symbol!("GOMP_parallel_sections"), Void,
            &[Pointer, Pointer, UnsignedInt, UnsignedInt, UnsignedInt]),
        chunked(symbol!("GOMP_parallel_loop_static")),
        chunked(symbol!("GOMP_parallel_loop_dynamic")),
        chunked(symbol!("GOMP_parallel_loop_guided")),
        chunked(symbol!("GOMP_parallel_loop_nonmonotonic_dynamic")),
        chunked(symbol!("GOMP_parallel_loop_nonmonotonic_guided")),
        runtime(symbol!("GOMP_parallel_loop_runtime")),
        runtime(symbol!("GOMP_parallel_loop_nonmonotonic_runtime")),
        runtime(symbol!("GOMP_parallel_loop_maybe_nonmonotonic_runtime")),
    ];
    "barriers": &[
        barrier(symbol!("GOMP_barrier"), Void),
        barrier(symbol!("GOMP_barrier_cancel"), SizeT),
        barrier(symbol!("GOMP_loop_end"), Void),
        barrier(symbol!("GOMP_loop_end_cancel"), SizeT),
        barrier(symbol!("GOMP_sections_end"), Void),
        barrier(symbol!("GOMP_sections_end_cancel"), SizeT),
    ];
    "mutual exclusion": &[
        alone(symbol!("GOMP_critical_start"), LOCK, Void),
        alone(symbol!("GOMP_critical_end"), UNLOCK, Void),
        of_address(symbol!("GOMP_critical_name_start"), LOCK, Void),
        of_address(symbol!("GOMP_critical_name_end"), UNLOCK, Void),
        alone(symbol!("GOMP_atomic_start"), LOCK, Void),
        alone(symbol!("GOMP_atomic_end"), UNLOCK, Void),
        alone(symbol!("GOMP_ordered_start"), OTHER, Void),
        alone(symbol!("GOMP_ordered_end"), OTHER, Void),
        alone(symbol!("GOMP_single_start"), OTHER, SizeT),
        alone(symbol!("GOMP_single_copy_start"), OTHER, Pointer),
        of_address(symbol!("GOMP_single_copy_end"), OTHER, Void),
    ];
    "tasks": &[
        row(symbol!("GOMP_task"), OTHER, Void,
            &[Pointer, Pointer, Pointer, Long, Long, SizeT, UnsignedInt, Pointer, Int, Pointer])
            .shape(Shape::Task),
        task_loop(symbol!("GOMP_taskloop"), Long),
        task_loop(symbol!("GOMP_taskloop_ull"), UnsignedLongLong),
        alone(symbol!("GOMP_taskwait"), OTHER, Void),
        of_address(symbol!("GOMP_taskwait_depend"), OTHER, Void),
        alone(symbol!("GOMP_taskyield"), OTHER, Void),
        alone(symbol!("GOMP_taskgroup_start"), OTHER, Void),
        alone(symbol!("GOMP_taskgroup_end"), OTHER, Void),
    ];
    "locks": &[
        of_address(symbol!("omp_set_lock"), LOCK, Void),
        of_address(symbol!("omp_unset_lock"), UNLOCK, Void),
        of_address(symbol!("omp_test_lock"), TRY, Int),
        of_address(symbol!("omp_set_nest_lock"), LOCK, Void),
        of_address(symbol!("omp_unset_nest_lock"), UNLOCK, Void),
        of_address(symbol!("omp_test_nest_lock"), TRY, Int),
        of_address(symbol!("omp_set_lock_"), LOCK, Void),
        of_address(symbol!("omp_unset_lock_"), UNLOCK, Void),
        of_address(symbol!("omp_test_lock_"), TRY, Int),
        of_address(symbol!("omp_set_nest_lock_"), LOCK, Void),
        of_address(symbol!("omp_unset_nest_lock_"), UNLOCK, Void),
        of_address(symbol!("omp_test_nest_lock_"), TRY, Int),
    ];
}];

static ROWS: [Row; table::count(CHAPTERS)] = table::sorted(CHAPTERS);

/// The hooked functions of libgomp, sorted by name. Their calls are recorded as regions only.
pub static TABLE: Table =
    Table { not_hooked: NOT_HOOKED, ..Table::new(Layer::Omp, &ROWS, Hooks::Regions) };

/// The barrier at the end of a parallel region, which is no call of the program: the threads of the team arrive there from
/// the function that they ran.
pub static IMPLICIT_BARRIER: Row = row(symbol!("implicit barrier"), BARRIER, Void, &[]);

/// A thread that the runtime keeps for the next team, between the end of one team and the beginning of the next.
pub static IDLE: Row = row(symbol!("idle thread"), BARRIER, Void, &[]);

/// Functions of libgomp without hooks, with the reason. The first matching pattern counts.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("GOMP_PLUGIN_*", "for plug-ins of the runtime"),
    ("GOMP_offload_*", "registers code for accelerators"),
    ("GOMP_target*", "target regions are not recorded yet"),
    ("GOMP_teams*", "teams of one thread each, one after the other"),
    ("GOMP_parallel_*start", "what GCC before 4.9 called"),
    ("GOMP_parallel_end", "what GCC before 4.9 called"),
    ("GOMP_doacross_*", "variadic, and called in every iteration"),
    ("GOMP_loop_end_nowait", "does not wait"),
    ("GOMP_loop_*", "requests for iterations, made for each chunk"),
    ("GOMP_sections_end_nowait", "does not wait"),
    ("GOMP_sections*", "requests for a section"),
    ("GOMP_scope_start", "does not wait"),
    ("GOMP_cancel*", "cancellation"),
    ("GOMP_task_reduction_*", "bookkeeping of reductions"),
    ("GOMP_taskgroup_reduction_*", "bookkeeping of reductions"),
    ("GOMP_workshare_task_reduction_*", "bookkeeping of reductions"),
    ("GOMP_alloc", "memory"),
    ("GOMP_free", "memory"),
    ("GOMP_error", "prints a message"),
    ("GOMP_warning", "prints a message"),
    (
        "omp_*",
        "does not wait: asks or sets a value, makes or destroys a lock, gives or takes memory",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_arguments() {
        TABLE.check_places();
    }
}
