//! The programs, the runtimes on which they run, and their arguments.

use super::runtimes::Runtime::{
    self, ArmciPt2pt, ArmciSm, Both, Coarrays, Mpich, Pt2pt, ShmemSm, ShmemTcp, Sm, Tcp, Ucx,
};

/// Requirement on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Every line that waits must be found, with the right bounds and culprit.
    Waits,
    /// As [`Self::Waits`] for targets that come and go, but only in most archives.
    Visits,
    /// Every line that waits must be found, and nothing else.
    Balanced,
    /// As [`Self::Balanced`], and no polling that the program does not know of.
    Exact,
    /// The first cause must be the delay of the only mode, which others pass on.
    Causes,
}

/// A run that is recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) runtime: Runtime,
    pub(super) program: &'static str,
    pub(super) processes: u32,
    pub(super) modes: &'static [&'static str],
    pub(super) kind: Kind,
    /// Set if all processes share one core.
    pub(super) one_core: bool,
    /// Set if continuous integration makes this run.
    pub(super) sample: bool,
}

impl Run {
    /// Returns a description of the run.
    pub(super) fn title(&self) -> String {
        let core = if self.one_core { ", one core" } else { "" };
        let Run { program, processes, .. } = self;
        format!(
            "{} {program} {} ({processes} processes{core})",
            self.runtime.name(),
            self.modes.join(" ")
        )
    }

    /// Returns a name for the files of the run.
    pub(super) fn folder(&self) -> String {
        let core = if self.one_core { "-1" } else { "" };
        let Run { program, processes, .. } = self;
        let modes = self.modes.join("+").replace([':', ','], "_");
        let modes: String = modes.chars().take(40).collect();
        format!("{}-{program}-{processes}{core}-{modes}", self.runtime.name())
    }

    pub(super) const fn sampled(self) -> Run {
        Run { sample: true, ..self }
    }

    pub(super) const fn on_one_core(self) -> Run {
        Run { one_core: true, ..self }
    }
}

pub(super) const fn waits(
    runtime: Runtime,
    program: &'static str,
    processes: u32,
    modes: &'static [&'static str],
) -> Run {
    Run { runtime, program, processes, modes, kind: Kind::Waits, one_core: false, sample: false }
}

const fn visits(
    runtime: Runtime,
    program: &'static str,
    processes: u32,
    modes: &'static [&'static str],
) -> Run {
    Run { kind: Kind::Visits, ..waits(runtime, program, processes, modes) }
}

const fn balanced(
    runtime: Runtime,
    program: &'static str,
    processes: u32,
    modes: &'static [&'static str],
) -> Run {
    Run { kind: Kind::Balanced, ..waits(runtime, program, processes, modes) }
}

pub(super) const fn exact(
    runtime: Runtime,
    program: &'static str,
    processes: u32,
    modes: &'static [&'static str],
) -> Run {
    Run { kind: Kind::Exact, ..waits(runtime, program, processes, modes) }
}

/// Returns a run of one mode, with 4 processes: the first cause of a run is that of all its modes.
const fn causes(runtime: Runtime, program: &'static str, mode: &'static [&'static str; 1]) -> Run {
    Run { kind: Kind::Causes, ..waits(runtime, program, 4, mode) }
}

const SHMEM: &str = "shmem_waits";
const ONE_SIDED: &str = "mpi_onesided";
const MESSAGES: &str = "mpi_messages";
const COLLECTIVES: &str = "mpi_collectives";
const COARRAYS: &str = "coarray_waits";
const VISITS_SHMEM: &str = "visits_shmem";
const VISITS_MPI: &str = "visits_mpi";
const MIXED_SHMEM: &str = "mixed_shmem";
const MIXED_MPI: &str = "mixed_mpi";
const PASSED_ON_SHMEM: &str = "passed_on_shmem";
const PASSED_ON_MPI: &str = "passed_on_mpi";
const PASSED_ON_COARRAYS: &str = "passed_on_coarrays";

const SHMEM_FOUR: &[&str] = &[
    "queue",
    "chain",
    "slow_target_of_many",
    "target_in_barrier",
    "lock_queue",
    "compare_swap",
    "collectives",
    "counter_of_all",
    "word_beside_flag",
    "flag_in_put",
];
const GETS: &[&str] =
    &["get_heap", "get_static", "get_static", "get_nothing", "get_own", "get_heap", "get_static"];
const ONE_SIDED_FOUR: &[&str] = &[
    "late_post",
    "get_dynamic",
    "get_nothing",
    "get_dynamic",
    "accumulate",
    "lock_queue",
    "late_fence",
    "victim_of_victim",
    "counter",
];
const LOCKS: &[&str] = &["flush_under_lock_all", "get_under_lock", "requests", "first_request"];
const MESSAGE_MODES: &[&str] = &[
    "any_source",
    "probe",
    "matched_probe",
    "sendrecv",
    "wait_any_and_all",
    "wait_some",
    "wrong_order",
    "persistent",
    "late_issend",
    "nested",
    "large_send",
    "large_isend",
    "synchronous_send",
    "rendezvous",
    "halo",
];
const POLLING: &[&str] =
    &["poll_test", "poll_testall", "poll_iprobe", "poll_two_tests", "consensus"];
const COLLECTIVE_MODES: &[&str] = &[
    "sub_broadcast",
    "reduce",
    "scan",
    "gather",
    "scatter",
    "reduce_scatter",
    "non_blocking_reduce",
    "non_blocking_broadcast",
    "collective_and_message",
    "duplicate",
    "intercommunicator",
    "group",
];
const MIXED_SHMEM_MODES: &[&str] = &[
    "heap_and_static_gets",
    "heap_and_static_atomics",
    "small_and_large_gets",
    "early_put",
    "many_targets",
    "served_by_a_waiter",
    "signal_of_a_waiter",
    "put_then_barrier",
    "one_line_two_targets",
    "lock_of_two",
    "ring_of_flags",
];
/// Modes of programs that complete operations.
const COMPLETE_SHMEM: &[&str] =
    &["add", "set", "and", "or", "xor", "increment", "put", "static_add", "large_put", "fetch_add"];
const COMPLETE_SHMEM_TWIN: &[&str] =
    &["add:balanced", "increment:balanced", "put:balanced", "large_put:balanced"];
const COMPLETE_MPI: &[&str] = &[
    "put_flush_local",
    "accumulate_flush_local",
    "put_wait",
    "accumulate_wait",
    "accumulate_flush_local_all",
    "empty_flush_all",
];
const COMPLETE_MPI_TWIN: &[&str] = &[
    "put_flush_local:balanced",
    "accumulate_flush_local:balanced",
    "put_wait:balanced",
    "accumulate_wait:balanced",
    "accumulate_flush_local_all:balanced",
    "empty_flush_all:balanced",
];
const COMPLETE_ARMCI: &[&str] =
    &["get", "put", "accumulate", "put_wait", "accumulate_wait", "puts_fence", "empty_fence"];
const COMPLETE_ARMCI_TWIN: &[&str] = &[
    "get:balanced",
    "put:balanced",
    "accumulate:balanced",
    "put_wait:balanced",
    "accumulate_wait:balanced",
    "puts_fence:balanced",
    "empty_fence:balanced",
];
const MIXED_MPI_MODES: &[&str] = &[
    "two_windows",
    "early_put",
    "many_targets",
    "counter_of_late_receiver",
    "message_and_get",
    "pipeline",
    "tree",
    "late_in_turn",
];

/// All runs.
#[rustfmt::skip]
pub(super) const RUNS: &[Run] = &[
    // OpenSHMEM.
    waits(ShmemTcp, SHMEM, 4, SHMEM_FOUR).sampled(),
    waits(ShmemSm, SHMEM, 4, SHMEM_FOUR),
    waits(ShmemSm, SHMEM, 4, &["polling"]),
    waits(ShmemTcp, SHMEM, 2, GETS),
    waits(ShmemSm, SHMEM, 2, GETS).sampled(),
    waits(ShmemTcp, SHMEM, 2, &["large_get_of_visitor"]),
    waits(ShmemSm, SHMEM, 8, &["counter_of_all", "word_beside_flag", "chain", "lock_queue"]),
    waits(ShmemTcp, MIXED_SHMEM, 4, MIXED_SHMEM_MODES),
    waits(ShmemSm, MIXED_SHMEM, 4, MIXED_SHMEM_MODES).sampled(),
    waits(ShmemTcp, MIXED_SHMEM, 8, MIXED_SHMEM_MODES),
    waits(ShmemSm, MIXED_SHMEM, 8, MIXED_SHMEM_MODES),
    waits(ShmemSm, MIXED_SHMEM, 4, MIXED_SHMEM_MODES).on_one_core(),
    waits(Both, "two_runtimes", 3, &["in_turn", "message_and_flag"]),
    // MPI.
    waits(Pt2pt, ONE_SIDED, 4, ONE_SIDED_FOUR),
    waits(Sm, ONE_SIDED, 4, ONE_SIDED_FOUR),
    waits(Mpich, ONE_SIDED, 4, ONE_SIDED_FOUR).sampled(),
    waits(Ucx, ONE_SIDED, 4, ONE_SIDED_FOUR),
    waits(Pt2pt, ONE_SIDED, 4, LOCKS),
    waits(Sm, ONE_SIDED, 4, LOCKS),
    waits(Mpich, ONE_SIDED, 4, LOCKS),
    waits(Sm, ONE_SIDED, 4, &["shared_window"]),
    waits(Mpich, ONE_SIDED, 4, &["shared_window"]),
    waits(Mpich, ONE_SIDED, 2, &["progress_thread", "get_dynamic"]),
    waits(Mpich, ONE_SIDED, 2, &["target_writes_file"]),
    waits(Pt2pt, MESSAGES, 4, MESSAGE_MODES),
    waits(Mpich, MESSAGES, 4, MESSAGE_MODES).sampled(),
    waits(Tcp, MESSAGES, 4, MESSAGE_MODES),
    waits(Tcp, MIXED_MPI, 4, MIXED_MPI_MODES),
    waits(Mpich, MESSAGES, 4, &["partitioned"]),
    waits(Pt2pt, MESSAGES, 4, POLLING),
    waits(Mpich, MESSAGES, 4, POLLING),
    waits(Pt2pt, COLLECTIVES, 4, COLLECTIVE_MODES),
    waits(Mpich, COLLECTIVES, 4, COLLECTIVE_MODES),
    waits(Pt2pt, COLLECTIVES, 6, &["neighbours"]),
    waits(Mpich, COLLECTIVES, 6, &["neighbours"]),
    waits(Pt2pt, MIXED_MPI, 4, MIXED_MPI_MODES),
    waits(Sm, MIXED_MPI, 4, MIXED_MPI_MODES).sampled(),
    waits(Mpich, MIXED_MPI, 4, MIXED_MPI_MODES),
    waits(Mpich, MIXED_MPI, 8, MIXED_MPI_MODES),
    waits(Pt2pt, MIXED_MPI, 8, MIXED_MPI_MODES),
    waits(Mpich, MIXED_MPI, 4, MIXED_MPI_MODES).on_one_core(),
    // Completion at the origin and at targets.
    waits(ShmemTcp, "complete_shmem", 2, COMPLETE_SHMEM).sampled(),
    waits(ShmemSm, "complete_shmem", 2, COMPLETE_SHMEM),
    waits(Pt2pt, "complete_mpi", 3, COMPLETE_MPI),
    waits(Sm, "complete_mpi", 3, COMPLETE_MPI),
    waits(Ucx, "complete_mpi", 3, COMPLETE_MPI),
    waits(Mpich, "complete_mpi", 3, COMPLETE_MPI).sampled(),
    waits(ArmciPt2pt, "complete_armci", 3, COMPLETE_ARMCI),
    waits(ArmciSm, "complete_armci", 3, COMPLETE_ARMCI),
    balanced(ShmemTcp, "complete_shmem", 2, COMPLETE_SHMEM_TWIN),
    balanced(ShmemSm, "complete_shmem", 2, COMPLETE_SHMEM_TWIN),
    balanced(Pt2pt, "complete_mpi", 2, COMPLETE_MPI_TWIN),
    balanced(Sm, "complete_mpi", 2, COMPLETE_MPI_TWIN),
    balanced(Ucx, "complete_mpi", 2, COMPLETE_MPI_TWIN),
    balanced(Mpich, "complete_mpi", 2, COMPLETE_MPI_TWIN),
    balanced(ArmciPt2pt, "complete_armci", 2, COMPLETE_ARMCI_TWIN),
    balanced(ArmciSm, "complete_armci", 2, COMPLETE_ARMCI_TWIN),
    // Coarrays.
    waits(Coarrays, COARRAYS, 4, &["chain"]),
    waits(Coarrays, COARRAYS, 3, &["late_image"]),
    waits(Coarrays, COARRAYS, 3, &["after_pair"]).sampled(),
    waits(Coarrays, COARRAYS, 4, &["critical"]),
    waits(Coarrays, COARRAYS, 4, &["computing_image"]),
    // Targets that come and go.
    visits(ShmemTcp, VISITS_SHMEM, 2, &["fetch_add:heap,2000,60,500,get"]),
    visits(ShmemTcp, VISITS_SHMEM, 3, &["fetch_add:heap,5000,40,1000,get"]),
    visits(ShmemTcp, VISITS_SHMEM, 4, &["fetch_add:heap,10000,20,2000,put"]),
    visits(ShmemTcp, VISITS_SHMEM, 3, &["fetch_add:static,5000,30,1000,atomic"]),
    visits(ShmemTcp, VISITS_SHMEM, 8, &["fetch_add:heap,8000,15,2000,get"]),
    visits(ShmemTcp, VISITS_SHMEM, 3, &["fetch_add:heap,3000,40,500,get"]).on_one_core(),
    visits(ShmemTcp, VISITS_SHMEM, 3, &["quiet:5000,30,1000,get"]),
    visits(ShmemTcp, VISITS_SHMEM, 4, &["quiet:8000,20,2000,static"]),
    visits(ShmemSm, VISITS_SHMEM, 2, &["fetch_add:static,2000,60,500,static"]),
    visits(ShmemSm, VISITS_SHMEM, 3, &["fetch_add:static,5000,40,1000,static"]),
    visits(ShmemSm, VISITS_SHMEM, 4, &["fetch_add:static,10000,20,2000,get"]),
    visits(ShmemSm, VISITS_SHMEM, 8, &["fetch_add:static,8000,15,2000,static"]),
    visits(ShmemSm, VISITS_SHMEM, 3, &["fetch_add:static,3000,40,500,static"]).on_one_core(),
    visits(ShmemSm, VISITS_SHMEM, 2, &["two_threads:20000,8"]),
    visits(Mpich, VISITS_MPI, 2, &["fetch_and_op:dynamic,2000,60,500"]),
    visits(Mpich, VISITS_MPI, 4, &["fetch_and_op:dynamic,10000,20,2000"]),
    visits(Mpich, VISITS_MPI, 8, &["fetch_and_op:allocated,8000,15,2000"]),
    visits(Mpich, VISITS_MPI, 3, &["fetch_and_op:allocated,5000,30,500"]).on_one_core(),
    visits(Pt2pt, VISITS_MPI, 2, &["fetch_and_op:allocated,2000,60,500"]),
    visits(Pt2pt, VISITS_MPI, 4, &["fetch_and_op:allocated,10000,20,2000"]),
    visits(Pt2pt, VISITS_MPI, 8, &["fetch_and_op:dynamic,8000,15,2000"]),
    visits(Sm, VISITS_MPI, 3, &["fetch_and_op:dynamic,5000,30,1000"]),
    // Over shared memory the target is not needed.
    balanced(ShmemSm, VISITS_SHMEM, 3, &["fetch_add:heap,3000,200,500,get"]),
    balanced(ShmemSm, VISITS_SHMEM, 3, &["get:3000,200,500,4096,get"]),
    balanced(ShmemSm, VISITS_SHMEM, 2, &["get:2000,100,500,1000000,get"]),
    balanced(Sm, VISITS_MPI, 3, &["fetch_and_op:allocated,3000,200,500"]),
    // All do the same.
    balanced(ShmemTcp, SHMEM, 4, &["balanced"]),
    balanced(ShmemSm, SHMEM, 4, &["balanced"]),
    balanced(ShmemSm, VISITS_SHMEM, 2, &["balanced:2000,1000,60,10"]),
    balanced(Pt2pt, ONE_SIDED, 4, &["balanced"]),
    balanced(Sm, ONE_SIDED, 4, &["balanced"]),
    balanced(Ucx, ONE_SIDED, 4, &["balanced"]),
    balanced(Mpich, ONE_SIDED, 4, &["balanced"]),
    balanced(Sm, VISITS_MPI, 2, &["balanced:2000,1000,60,10"]),
    balanced(Pt2pt, COLLECTIVES, 4, &["balanced"]),
    balanced(Mpich, COLLECTIVES, 4, &["balanced"]),
    balanced(Tcp, ONE_SIDED, 4, &["balanced"]),
    balanced(Tcp, COLLECTIVES, 4, &["balanced"]),
    balanced(Tcp, MESSAGES, 4, &["balanced"]),
    balanced(Pt2pt, MESSAGES, 4, &["balanced"]),
    balanced(Mpich, MESSAGES, 4, &["balanced"]),
    balanced(Both, "two_runtimes", 3, &["balanced"]),
    balanced(Coarrays, COARRAYS, 3, &["balanced"]),
    // Delays that are passed on.
    causes(ShmemTcp, PASSED_ON_SHMEM, &["signals"]).sampled(),
    causes(ShmemTcp, PASSED_ON_SHMEM, &["pairs"]),
    causes(ShmemTcp, PASSED_ON_SHMEM, &["lock_holder"]).sampled(),
    causes(ShmemTcp, PASSED_ON_SHMEM, &["broadcast_then_sum"]),
    causes(ShmemTcp, PASSED_ON_SHMEM, &["late_target"]).sampled(),
    causes(ShmemSm, PASSED_ON_SHMEM, &["signals"]),
    causes(ShmemSm, PASSED_ON_SHMEM, &["pairs"]).sampled(),
    causes(ShmemSm, PASSED_ON_SHMEM, &["lock_holder"]),
    causes(ShmemSm, PASSED_ON_SHMEM, &["broadcast_then_sum"]),
    causes(Pt2pt, PASSED_ON_MPI, &["pipeline"]).sampled(),
    causes(Pt2pt, PASSED_ON_MPI, &["two_delays"]),
    causes(Pt2pt, PASSED_ON_MPI, &["in_time"]),
    causes(Pt2pt, PASSED_ON_MPI, &["synchronous_sends"]),
    causes(Pt2pt, PASSED_ON_MPI, &["slow_call"]),
    causes(Pt2pt, PASSED_ON_MPI, &["pairs"]),
    causes(Pt2pt, PASSED_ON_MPI, &["broadcast_then_reduce"]),
    causes(Pt2pt, PASSED_ON_MPI, &["epochs"]).sampled(),
    causes(Pt2pt, PASSED_ON_MPI, &["fences"]),
    causes(Pt2pt, PASSED_ON_MPI, &["lock_holder"]),
    causes(Pt2pt, PASSED_ON_MPI, &["late_target"]).sampled(),
    causes(Sm, PASSED_ON_MPI, &["epochs"]),
    causes(Sm, PASSED_ON_MPI, &["fences"]).sampled(),
    causes(Sm, PASSED_ON_MPI, &["lock_holder"]),
    causes(Mpich, PASSED_ON_MPI, &["pipeline"]),
    causes(Mpich, PASSED_ON_MPI, &["two_delays"]),
    causes(Mpich, PASSED_ON_MPI, &["in_time"]),
    causes(Mpich, PASSED_ON_MPI, &["synchronous_sends"]).sampled(),
    causes(Mpich, PASSED_ON_MPI, &["slow_call"]).sampled(),
    causes(Mpich, PASSED_ON_MPI, &["pairs"]),
    causes(Mpich, PASSED_ON_MPI, &["broadcast_then_reduce"]).sampled(),
    causes(Mpich, PASSED_ON_MPI, &["epochs"]),
    causes(Mpich, PASSED_ON_MPI, &["fences"]),
    causes(Mpich, PASSED_ON_MPI, &["lock_holder"]),
    causes(Mpich, PASSED_ON_MPI, &["late_target"]),
    causes(Tcp, PASSED_ON_MPI, &["pipeline"]),
    causes(Tcp, PASSED_ON_MPI, &["late_target"]),
    causes(Coarrays, PASSED_ON_COARRAYS, &["partners"]).sampled(),
    causes(Coarrays, PASSED_ON_COARRAYS, &["events"]).sampled(),
    causes(Coarrays, PASSED_ON_COARRAYS, &["lock_holder"]),
    causes(Coarrays, PASSED_ON_COARRAYS, &["late_target"]),
];
