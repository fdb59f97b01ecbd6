//! Intel MPI, which has the ABI of MPICH and transports that differ in who makes progress: over shared memory an
//! operation does not need its target; over libfabric's TCP the target has to enter the library.
//!
//! What it prints and what is recorded is held by the tests of all MPI libraries; here is what only it has.

use std::ffi::OsStr;

use crate::lab::Lab;
use crate::mpi::{Mpi, analysed};
use crate::mpi_families::steady;
use crate::trace::{Trace, said};
use crate::trial::{Program, Trials};

/// Modes with operations that may need their target.
const SERVED: &[&str] = &["get", "rget", "atomic"];

/// Modes with waits that every library has.
const ALIKE: &[&str] = &["recv", "ssend", "barrier", "fence", "lock"];

/// Variables for libfabric's TCP provider, where the target makes progress in software.
const OVER_TCP: &[(&str, &str)] = &[("I_MPI_FABRICS", "ofi"), ("FI_PROVIDER", "tcp")];

fn trials(mpi: &Mpi, modes: &[&str]) -> Trials {
    let lab = Lab::bare();
    // A call at the end of a function must return to it, or it has another call path.
    let source = "tests/programs/mpi_delays.c";
    let path = mpi.compile(&lab, source, &["-fno-optimize-sibling-calls"]);
    let run = |words: &[&OsStr]| mpi.measured(&lab, 2, &[&[path.as_os_str()], words].concat());
    let source = include_str!("../../../../tests/programs/mpi_delays.c");
    Program { lab: &lab, source, waiter: "Rank 1", run: &run }.trials(modes)
}

/// Checks that waits which do not depend on the transport are found as with every other library.
fn find_what_every_library_has(trials: &Trials) {
    trials.find("recv", "late_sender", "MPI_Recv", "Rank 0");
    trials.find("ssend", "late_receiver", "MPI_Ssend", "Rank 0");
    trials.find("barrier", "barrier_wait", "MPI_Barrier", "Rank 0");
    trials.find("fence", "wait_at_fence", "MPI_Win_fence", "Rank 0");
    trials.find("lock", "lock_contention", "MPI_Win_lock|MPI_Get|MPI_Win_unlock", "Rank 0");
}

#[test]
fn over_tcp_the_target_must_make_progress() {
    let Some(mpi) = Mpi::intel() else { return };
    let trials = trials(&mpi.started_with(OVER_TCP), &[ALIKE, SERVED].concat());
    find_what_every_library_has(&trials);
    trials.find("get", "wait_for_progress", "MPI_Win_flush", "Rank 0");
    trials.find("rget", "wait_for_progress", "MPI_Wait", "Rank 0");
    trials.find("atomic", "wait_for_progress", "MPI_Win_flush", "Rank 0");
}

#[test]
fn over_shared_memory_the_target_is_not_needed() {
    let Some(mpi) = Mpi::intel() else { return };
    let trials = trials(&mpi, &[ALIKE, SERVED].concat());
    find_what_every_library_has(&trials);
    trials.at_once("get", "wait_for_progress", "MPI_Win_flush");
    trials.at_once("rget", "wait_for_progress", "MPI_Wait");
    trials.at_once("atomic", "wait_for_progress", "MPI_Win_flush");
}

/// Returns Intel MPI with its `libmpi_abi`, which follows a draft of the standard ABI.
fn with_the_abi_of_the_standard() -> Option<Mpi> {
    Mpi::intel().map(|mpi| mpi.compiled_with(&["-mpi-abi"]))
}

#[test]
fn the_abi_of_the_standard_is_recorded() {
    let Some(mpi) = with_the_abi_of_the_standard() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_families.c", &[]);
    let command = [program.as_os_str(), OsStr::new("one_sided")];
    let plain = mpi.run(&lab, 2, &command);
    let measured = mpi.measured(&lab, 2, &command);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert_eq!((plain.code, steady(&plain.stdout)), (measured.code, steady(&measured.stdout)));
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    for (key, count) in &said(&measured.stdout) {
        assert_eq!(trace.counts.get(key), Some(count), "{key:?}");
    }
    analysed(&lab, &lab.experiment());
    let info = lab.dwell(&[OsStr::new("info"), lab.experiment().as_os_str()]);
    let info = String::from_utf8(info.stdout).unwrap();
    assert!(info.contains("draft of the standard ABI"), "{info}");
}

/// In the draft, `MPI_ERRORS_RETURN` and `MPI_ERRORS_ABORT` have each other's values, so an error inside the recorder
/// would abort the program.
#[test]
fn errors_of_the_recorder_are_returned_with_the_draft_of_the_abi() {
    let Some(draft) = with_the_abi_of_the_standard() else { return };
    let native = Mpi::intel().unwrap();
    for mpi in [draft, native] {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_session.c", &[]);
        let tool = mpi.compile_tool(&lab, "tests/programs/mpi_errors_returned.c");
        let run = mpi.measured_over(&lab, &tool, 2, &[program.as_os_str()]);
        assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
        // The launcher may join lines of two processes.
        let said = |words: &str| run.stdout.matches(words).count();
        let returned = said("the tool's session returns errors");
        assert!(returned > 0 && returned == said("the tool's session"), "{mpi:?} {run:?}");
    }
}
