//! Initialisation and finalisation, memory, queries, contexts, teams, and the remaining cache functions.
//!
//! | family | progress | source |
//! |---|---|---|
//! | `my_pe` | never | measured |
//! | other queries, cache calls, `pcontrol` | never | assumed: the answer is local |
//! | `finalize` | always | assumed: it contains a barrier |
//! | memory | conditional | assumed: a barrier, unless no bytes are asked for |
//! | everything else | conditional | unknown |

use super::types::{families, symbol};
use crate::operation::{Operation, Progress};
use crate::table::Absent::{Exit, MinusOne};
use crate::table::{Arg, CType, Family, Members, Row, Success, Symbol};

use CType::{Int, Long, Pointer, SizeT, Void};

const fn initialise(symbol: Symbol, returns: CType, arguments: &[CType]) -> Row {
    Row::new(symbol, Operation::Initialise, returns, arguments).world()
}

const fn query(symbol: Symbol, returns: CType, arguments: &[CType]) -> Row {
    Row::new(symbol, Operation::Query, returns, arguments).assumed(Progress::Never)
}

/// The rank of the calling process. Without a runtime it has none, so the hook returns -1.
const fn my_pe(symbol: Symbol) -> Row {
    query(symbol, Int, &[]).measured(Progress::Never).absent(MinusOne)
}

const fn n_pes(symbol: Symbol) -> Row {
    query(symbol, Int, &[])
}

/// Allocation in the symmetric heap, which is collective over all processes and contains a barrier.
const fn allocate(symbol: Symbol, arguments: &[CType]) -> Row {
    Row::new(symbol, Operation::Allocate, Pointer, arguments).world().completes_remote()
}

/// `void *…(size_t bytes)`
const fn malloc(symbol: Symbol) -> Row {
    allocate(symbol, &[SizeT]).counted(0, 1)
}

/// `void *…(size_t bytes, long hints)`
const fn malloc_with_hints(symbol: Symbol) -> Row {
    allocate(symbol, &[SizeT, Long]).counted(0, 1)
}

/// `void *…(size_t alignment, size_t bytes)`
const fn align(symbol: Symbol) -> Row {
    allocate(symbol, &[SizeT, SizeT]).counted(1, 1)
}

/// `void *…(void *memory, size_t bytes)`
const fn realloc(symbol: Symbol) -> Row {
    Row::new(symbol, Operation::Reallocate, Pointer, &[Pointer, SizeT])
        .memory(0)
        .counted(1, 1)
        .world()
        .completes_remote()
}

/// `void …(void *memory)`
const fn free(symbol: Symbol) -> Row {
    Row::new(symbol, Operation::Deallocate, Void, &[Pointer]).memory(0).world().completes_remote()
}

const fn cache(symbol: Symbol, arguments: &[CType]) -> Row {
    Row::new(symbol, Operation::Other, Void, arguments).assumed(Progress::Never)
}

/// A question about a team. The answer to one about no team is -1.
const fn team_query(symbol: Symbol, arguments: &[CType]) -> Row {
    query(symbol, Int, arguments).absent(MinusOne)
}

const fn create(symbol: Symbol, operation: Operation, arguments: &[CType]) -> Row {
    Row::new(symbol, operation, Int, arguments).success(Success::Zero).absent(MinusOne)
}

const STRIDED: Members = Members::Strided { start: Arg(1), stride: Arg(2), size: Arg(3) };

pub(super) const FAMILIES: &[Family] = families! {
    "initialise": &[
        initialise(symbol!("shmem_init"), Void, &[]),
        initialise(symbol!("shmem_init_thread"), Int, &[Int, Pointer])
            .success(Success::Zero)
            .absent(MinusOne),
    ];
    "finalise": &[
        Row::new(symbol!("shmem_finalize"), Operation::Finalise, Void, &[])
            .world()
            .completes_remote()
            .assumed(Progress::Always),
    ];
    "exit": &[
        Row::new(symbol!("shmem_global_exit"), Operation::Exit, Void, &[Int])
            .absent(Exit(Arg(0))),
    ];
    "query": &[
        my_pe(symbol!("shmem_my_pe")),
        n_pes(symbol!("shmem_n_pes")),
        query(symbol!("shmem_query_thread"), Void, &[Pointer]),
        query(symbol!("shmem_pe_accessible"), Int, &[Int]),
        query(symbol!("shmem_addr_accessible"), Int, &[Pointer, Int]),
        query(symbol!("shmem_ptr"), Pointer, &[Pointer, Int]),
        query(symbol!("shmem_info_get_version"), Void, &[Pointer, Pointer]),
        query(symbol!("shmem_info_get_name"), Void, &[Pointer]),
    ];
    "memory": &[
        malloc(symbol!("shmem_malloc")),
        allocate(symbol!("shmem_calloc"), &[SizeT, SizeT]).product(0, 1),
        align(symbol!("shmem_align")),
        realloc(symbol!("shmem_realloc")),
        free(symbol!("shmem_free")),
    ];
    "malloc_with_hints": &[malloc_with_hints(symbol!("shmem_malloc_with_hints"))];
    "shmemx malloc_with_hint": &[malloc_with_hints(symbol!("shmemx_malloc_with_hint"))];
    "contexts": &[
        create(symbol!("shmem_ctx_create"), Operation::CreateContext, &[Long, Pointer]).created(1),
        // Operations outstanding on a context are completed before the context is destroyed.
        Row::new(symbol!("shmem_ctx_destroy"), Operation::DestroyContext, Void, &[Pointer])
            .context(0)
            .completes_remote(),
    ];
    "cache": &[
        cache(symbol!("shmem_set_cache_inv"), &[]),
        cache(symbol!("shmem_set_cache_line_inv"), &[Pointer]),
        cache(symbol!("shmem_clear_cache_inv"), &[]),
        cache(symbol!("shmem_clear_cache_line_inv"), &[Pointer]),
        cache(symbol!("shmem_udcflush"), &[]),
        cache(symbol!("shmem_udcflush_line"), &[Pointer]),
    ];
    // The names that SGI gave them, before OpenSHMEM existed.
    "SGI": &[
        initialise(symbol!("start_pes"), Void, &[Int]),
        my_pe(symbol!("_my_pe")),
        n_pes(symbol!("_num_pes")),
        malloc(symbol!("shmalloc")),
        align(symbol!("shmemalign")),
        realloc(symbol!("shrealloc")),
        free(symbol!("shfree")),
    ];

    "teams": &[
        team_query(symbol!("shmem_team_my_pe"), &[Pointer]),
        team_query(symbol!("shmem_team_n_pes"), &[Pointer]),
        team_query(symbol!("shmem_team_get_config"), &[Pointer, Long, Pointer]),
        team_query(symbol!("shmem_team_translate_pe"), &[Pointer, Int, Pointer]),
        team_query(symbol!("shmem_ctx_get_team"), &[Pointer, Pointer]).context(0),
        create(
            symbol!("shmem_team_split_strided"),
            Operation::CreateGroup,
            &[Pointer, Int, Int, Int, Pointer, Long, Pointer],
        )
        .team(0)
        .members(STRIDED)
        .created(6),
        create(
            symbol!("shmem_team_split_2d"),
            Operation::CreateGroup,
            &[Pointer, Int, Pointer, Long, Pointer, Pointer, Long, Pointer],
        )
        .team(0)
        .members(Members::Grid { width: Arg(1) })
        .created(4)
        .also_created(7),
        Row::new(symbol!("shmem_team_destroy"), Operation::DestroyGroup, Void, &[Pointer]).team(0),
        // Each member creates its own context; the team says which processes the context reaches.
        create(
            symbol!("shmem_team_create_ctx"),
            Operation::CreateContext,
            &[Pointer, Long, Pointer],
        )
        .team(0)
        .created(2),
    ];
    "pcontrol": &[
        Row::new(symbol!("shmem_pcontrol"), Operation::Control, Void, &[Int])
            .variadic()
            .assumed(Progress::Never),
    ];
};
