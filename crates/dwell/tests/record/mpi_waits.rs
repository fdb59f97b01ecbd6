//! Waits of known length, injected into a program of MPI: found, as long as they were, at the right call
//! and process; and not found when there is no delay.
//!
//! Open MPI and MPICH of the system stand for all: waits are a matter of events, which the other tests hold
//! equal for all libraries.

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::trial::{Program, Trials};

const OPEN_MPI: &str = "mpicc.openmpi";
const MPICH: &str = "mpicc.mpich";

/// Modes that behave alike with every library.
const ALIKE: &[&str] = &[
    "recv",
    "irecv",
    "wrong_order",
    "ssend",
    "isend",
    "probe",
    "mprobe",
    "barrier",
    "allreduce",
    "alltoall",
    "set_view",
    "bcast",
    "reduce",
    "scan",
    "ibarrier",
    "create",
    "free",
    "fence",
    "early_fence",
    "post",
    "wait",
    "lock",
];

/// Modes whose operations need their target on some transports.
const SERVED: &[&str] = &["get", "rget", "first_rget", "atomic"];

/// Modes with three ranks.
const AMONG_THREE: &[&str] = &[
    "neighbours",
    "graph",
    "other_barrier",
    "other_sum",
    "other_bcast",
    "other_reduce",
    "other_later",
];

/// Runs modes with a library and options of its launcher, on two ranks.
fn trials(compiler: &str, options: &'static [&'static str], modes: &[&str]) -> Option<Trials> {
    trials_of(2, compiler, options, modes)
}

fn trials_of(
    ranks: u32,
    compiler: &str,
    options: &'static [&'static str],
    modes: &[&str],
) -> Option<Trials> {
    let mpi = Mpi::named(compiler)?.with(options);
    let lab = Lab::bare();
    // A call at the end of a function must return to it, or it has another call path.
    let source = "tests/programs/mpi_delays.c";
    let path = mpi.compile(&lab, source, &["-fno-optimize-sibling-calls"]);
    let run = |words: &[&OsStr]| mpi.measured(&lab, ranks, &[&[path.as_os_str()], words].concat());
    let source = include_str!("../../../../tests/programs/mpi_delays.c");
    let program = Program { lab: &lab, source, waiter: "Rank 1", run: &run };
    Some(program.trials(modes))
}

/// Returns trials with Open MPI on shared memory, where no operation needs its target.
fn open_mpi() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    let modes = [ALIKE, SERVED].concat();
    TRIALS.get_or_init(|| trials(OPEN_MPI, &["-mca", "osc", "^rdma"], &modes)).as_ref()
}

/// Returns trials with Open MPI whose one-sided operations are made of messages and need their target.
fn open_mpi_in_software() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    let modes = [&["lock"], SERVED].concat();
    TRIALS.get_or_init(|| trials(OPEN_MPI, &["-mca", "osc", "pt2pt"], &modes)).as_ref()
}

/// Returns trials with Debian's MPICH, whose one-sided operations need their target. It has partitioned messages, which
/// Open MPI 4 lacks.
fn mpich() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    let modes = [ALIKE, SERVED, &["partitioned"]].concat();
    TRIALS.get_or_init(|| trials(MPICH, &[], &modes)).as_ref()
}

/// Returns trials with three ranks, on both libraries.
fn three() -> impl Iterator<Item = &'static Trials> {
    static OPEN: OnceLock<Option<Trials>> = OnceLock::new();
    static OTHER: OnceLock<Option<Trials>> = OnceLock::new();
    let options: &[&str] = &["-mca", "osc", "^rdma"];
    let open = OPEN.get_or_init(|| trials_of(3, OPEN_MPI, options, AMONG_THREE));
    let other = OTHER.get_or_init(|| trials_of(3, MPICH, &[], AMONG_THREE));
    [open.as_ref(), other.as_ref()].into_iter().flatten()
}

fn both() -> impl Iterator<Item = &'static Trials> {
    [open_mpi(), mpich()].into_iter().flatten()
}

#[test]
fn messages() {
    for trials in both() {
        trials.find("recv", "late_sender", "MPI_Recv", "Rank 0");
        trials.find("irecv", "late_sender", "MPI_Wait", "Rank 0");
        trials.find("wrong_order", "late_sender", "MPI_Recv", "Rank 0");
        trials.find_cause("wrong_order", "mpi_latesender_wo");
        trials.find("ssend", "late_receiver", "MPI_Ssend", "Rank 0");
        trials.find("isend", "late_receiver", "MPI_Wait", "Rank 0");
        trials.find("probe", "late_sender", "MPI_Probe", "Rank 0");
        trials.find("mprobe", "late_sender", "MPI_Mprobe", "Rank 0");
    }
}

/// A partitioned message is sent when its last partition is ready, however early it was started.
#[test]
fn partitioned_messages() {
    let Some(trials) = mpich() else { return };
    trials.find("partitioned", "late_sender", "MPI_Wait", "Rank 0");
}

#[test]
fn collectives() {
    for trials in both() {
        trials.find("barrier", "barrier_wait", "MPI_Barrier", "Rank 0");
        trials.find("allreduce", "nxn_wait", "MPI_Allreduce", "Rank 0");
        trials.find("set_view", "nxn_wait", "MPI_File_set_view", "Rank 0");
        trials.find("alltoall", "nxn_wait", "MPI_Alltoall", "Rank 0");
        trials.find("bcast", "late_broadcast", "MPI_Bcast", "Rank 0");
        trials.find("reduce", "early_reduce", "MPI_Reduce", "Rank 0");
        trials.find("scan", "early_scan", "MPI_Scan", "Rank 0");
        trials.find("ibarrier", "nonblocking_collective_wait", "MPI_Wait", "Rank 0");
    }
}

/// Only the neighbours that send to a rank are waited for, although another comes later.
#[test]
fn neighbourhood_collectives() {
    for trials in three() {
        trials.find("neighbours", "nxn_wait", "MPI_Neighbor_alltoall", "Rank 2");
        trials.find("graph", "nonblocking_collective_wait", "MPI_Wait", "Rank 2");
    }
}

#[test]
fn collectives_on_intercommunicators() {
    for trials in three() {
        trials.find("other_barrier", "barrier_wait", "MPI_Barrier", "Rank 2");
        trials.find("other_sum", "nxn_wait", "MPI_Allreduce", "Rank 2");
        trials.find("other_bcast", "late_broadcast", "MPI_Bcast", "Rank 2");
        trials.find("other_reduce", "early_reduce", "MPI_Reduce", "Rank 2");
        trials.find("other_later", "nonblocking_collective_wait", "MPI_Wait", "Rank 2");
    }
}

#[test]
fn windows() {
    for trials in both() {
        trials.find("create", "wait_at_create", "MPI_Win_allocate", "Rank 0");
        trials.find("free", "wait_at_free", "MPI_Win_free", "Rank 0");
    }
}

#[test]
fn epochs() {
    for trials in both() {
        trials.find("fence", "wait_at_fence", "MPI_Win_fence", "Rank 0");
        trials.find("early_fence", "wait_at_fence", "MPI_Win_fence", "Rank 0");
        trials.find_cause("early_fence", "mpi_rma_early_fence");
        trials.find("post", "late_post", "MPI_Win_start|MPI_Put|MPI_Win_complete", "Rank 0");
        trials.find("wait", "early_wait", "MPI_Win_wait", "Rank 0");
        trials.find_cause("wait", "mpi_rma_late_complete");
    }
}

/// Libraries differ in where they wait for a lock: some wait only when they must hold it.
#[test]
fn locks() {
    for trials in both().chain(open_mpi_in_software()) {
        let calls = "MPI_Win_lock|MPI_Get|MPI_Win_unlock";
        trials.find("lock", "lock_contention", calls, "Rank 0");
    }
}

#[test]
fn progress_in_software() {
    for trials in [mpich(), open_mpi_in_software()].into_iter().flatten() {
        trials.find("get", "wait_for_progress", "MPI_Win_flush", "Rank 0");
        trials.find("rget", "wait_for_progress", "MPI_Wait", "Rank 0");
        trials.find("atomic", "wait_for_progress", "MPI_Win_flush", "Rank 0");
    }
}

/// Open MPI's component pt2pt waits for the lock in the first operation with a request; MPICH and shared memory do not.
#[test]
fn operations_that_wait_for_their_lock() {
    if let Some(trials) = open_mpi_in_software() {
        trials.find("first_rget", "wait_for_progress", "MPI_Rget", "Rank 0");
    }
    for trials in both() {
        trials.at_once("first_rget", "wait_for_progress", "MPI_Rget");
    }
}

#[test]
fn progress_on_shared_memory_needs_no_target() {
    let Some(trials) = open_mpi() else { return };
    trials.at_once("get", "wait_for_progress", "MPI_Win_flush");
    trials.at_once("rget", "wait_for_progress", "MPI_Wait");
    trials.at_once("atomic", "wait_for_progress", "MPI_Win_flush");
}
