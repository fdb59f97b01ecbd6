//! Waits of known length, injected into a program of OpenSHMEM: found, as long as they were, at the right
//! call and process; and not found when there is no delay.

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::lab::Lab;
use crate::trial::{DELAY, Program, Trial, Trials};

/// Options for a transport on which a target must be in the library to make progress.
const SOFTWARE: &[&str] = &["-x", "UCX_TLS=tcp,self"];

fn lab() -> Option<Lab> {
    let lab = Lab::open()?;
    // A call at the end of a function must return to it, or it has another call path.
    lab.compile("tests/programs/delays.c", &["-fno-optimize-sibling-calls"]);
    Some(lab)
}

/// Calls `then` with the program, on this many PEs.
fn program<T>(lab: &Lab, pes: u32, options: &[&str], then: impl FnOnce(&Program<'_>) -> T) -> T {
    let path = lab.path("delays");
    let run = |words: &[&OsStr]| lab.measured(pes, options, &[&[path.as_os_str()], words].concat());
    let source = include_str!("../../../../tests/programs/delays.c");
    then(&Program { lab, source, waiter: "PE 1", run: &run })
}

fn trials(pes: u32, options: &[&str], modes: &[&str]) -> Option<Trials> {
    let lab = lab()?;
    Some(program(&lab, pes, options, |program| program.trials(modes)))
}

/// Returns trials on shared memory with 2 PEs.
fn shared() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    let modes = [
        "barrier",
        "sync",
        "reduce",
        "collect",
        "fcollect",
        "alltoall",
        "broadcast",
        "malloc",
        "free",
        "lock",
        "signal",
        "bulk_signal",
        "get",
        "static_get",
        "nbi",
        "atomic",
        "second_put",
    ];
    TRIALS.get_or_init(|| trials(2, &[], &modes)).as_ref()
}

/// Returns trials on TCP, where a target must be in the library, with 2 PEs.
fn software() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    let modes = ["put_barrier", "empty_get", "get", "nbi", "atomic", "second_put", "deaf"];
    TRIALS.get_or_init(|| trials(2, SOFTWARE, &modes)).as_ref()
}

/// Returns trials on TCP with 3 PEs.
fn three() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    TRIALS.get_or_init(|| trials(3, SOFTWARE, &["multi_get", "multi_put"])).as_ref()
}

#[test]
fn barriers() {
    let Some(trials) = shared() else { return };
    trials.find("barrier", "barrier_wait", "shmem_barrier_all", "PE 0");
    trials.find("sync", "barrier_wait", "shmem_sync", "PE 0");
}

#[test]
fn imbalance_before_barriers() {
    let Some(trials) = trials(2, &[], &["barrier"]) else { return };
    trials.find_cause("barrier", "shmem_barrier_imbalance");
}

#[test]
fn all_to_all() {
    let Some(trials) = shared() else { return };
    trials.find("reduce", "nxn_wait", "shmem_long_sum_to_all", "PE 0");
    trials.find("collect", "nxn_wait", "shmem_collect64", "PE 0");
    trials.find("fcollect", "nxn_wait", "shmem_fcollect64", "PE 0");
    trials.find("alltoall", "nxn_wait", "shmem_alltoall64", "PE 0");
}

#[test]
fn broadcast() {
    let Some(trials) = shared() else { return };
    trials.find("broadcast", "late_broadcast", "shmem_broadcast64", "PE 0");
}

#[test]
fn memory() {
    let Some(trials) = shared() else { return };
    trials.find("malloc", "wait_at_create", "shmem_malloc", "PE 0");
    trials.find("free", "wait_at_free", "shmem_free", "PE 0");
}

#[test]
fn lock() {
    let Some(trials) = shared() else { return };
    trials.find("lock", "lock_contention", "shmem_set_lock", "PE 0");
}

#[test]
fn signal() {
    let Some(trials) = shared() else { return };
    trials.find("signal", "late_signal", "shmem_long_wait_until", "PE 0");
}

#[test]
fn signal_among_bulk_puts() {
    let Some(trials) = shared() else { return };
    trials.find("bulk_signal", "late_signal", "shmem_long_wait_until", "PE 0");
}

#[test]
fn progress_in_software() {
    let Some(trials) = software() else { return };
    trials.find("get", "wait_for_progress", "shmem_long_get", "PE 0");
    trials.find("atomic", "wait_for_progress", "shmem_long_atomic_fetch_add", "PE 0");
    trials.find("nbi", "wait_for_progress", "shmem_quiet", "PE 0");
}

#[test]
fn progress_on_shared_memory_needs_no_target() {
    let Some(trials) = shared() else { return };
    trials.at_once("get", "wait_for_progress", "shmem_long_get");
    trials.at_once("atomic", "wait_for_progress", "shmem_long_atomic_fetch_add");
    trials.at_once("nbi", "wait_for_progress", "shmem_quiet");
    trials.at_once("second_put", "wait_for_progress", "shmem_quiet");
}

/// Gets from the symmetric heap show that they do not need their target, and prove nothing about static data.
#[test]
fn progress_of_static_data_on_shared_memory() {
    let Some(trials) = shared() else { return };
    trials.find("static_get", "wait_for_progress", "shmem_long_get", "PE 0");
}

/// Gets of 0 bytes do not need their target, and prove nothing about others.
#[test]
fn progress_after_empty_gets() {
    let Some(trials) = software() else { return };
    trials.find("empty_get", "wait_for_progress", "shmem_long_get", "PE 0");
}

#[test]
fn progress_of_several_targets() {
    let Some(trials) = three() else { return };
    // PE 2 came last; what PE 0 served half-way does not count.
    trials.find("multi_get", "wait_for_progress_multi", "shmem_quiet", "PE 2");
    trials.find("multi_put", "wait_for_progress_multi", "shmem_quiet", "PE 2");
    for mode in ["multi_get", "multi_put"] {
        trials.do_not_find(mode, "wait_for_progress", "shmem_quiet");
    }
}

#[test]
fn a_target_that_loops_on_calls_that_do_not_progress() {
    let Some(trials) = software() else { return };
    trials.find("deaf", "wait_for_progress", "shmem_long_get", "PE 0");
}

#[test]
fn put_then_barrier_is_imbalance() {
    let Some(trials) = software() else { return };
    trials.find("put_barrier", "barrier_wait", "shmem_barrier_all", "PE 0");
    for pattern in ["wait_for_progress", "wait_for_progress_multi"] {
        trials.do_not_find("put_barrier", pattern, "shmem_barrier_all");
    }
}

#[test]
fn a_second_put_after_the_first_was_served() {
    let Some(trials) = software() else { return };
    trials.find("second_put", "wait_for_progress", "shmem_quiet", "PE 0");
}

#[test]
fn a_killed_run_is_analysed_and_its_loss_stated() {
    let Some(lab) = lab() else { return };
    let trial = program(&lab, 2, &[], |program| -> Trial {
        program.trial(DELAY, &["barrier", "signal", "killed"])
    });
    // What was before the kill is as sure as ever.
    trial.find("barrier", "barrier_wait", "shmem_barrier_all", "PE 0");
    trial.find("signal", "late_signal", "shmem_long_wait_until", "PE 0");
    // The barrier in which PE 1 waited for the dead is not a wait of 0.
    assert!(trial.findings["findings"].as_array().unwrap().iter().all(|finding| {
        let call = finding["path"].as_array().unwrap().last().unwrap();
        call["caller"] != "killed_0"
    }));
    let notes = trial.findings["not_computed"].as_array().unwrap();
    let note = |pattern: &str| {
        let found = notes.iter().find(|note| note["pattern"] == pattern);
        found.unwrap_or_else(|| panic!("{notes:#?}"))
    };
    assert_eq!(note("collectives")["calls"], 1, "{notes:#?}");
    let lost = note("all")["reason"].as_str().unwrap();
    for word in ["2 of 2 processes were cut off", "PE 0 after", "PE 1 after"] {
        assert!(lost.contains(word), "{lost}");
    }
}
