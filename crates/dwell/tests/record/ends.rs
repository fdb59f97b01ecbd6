//! Programs whose processes do not all reach the end of the recording. They end as they do without Dwell, and no events
//! are lost.

use std::ffi::OsStr;
use std::fs;
use std::time::{Duration, Instant};

use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, lines};
use crate::trace::Trace;

/// Runs `ends.c` without and with Dwell, which may wait two seconds for other processes. With Dwell a process is late by
/// `seconds`. Exit codes and lines must be the same. `transports` are those that UCX may use: over TCP a process that
/// waits must make progress for others.
fn ends(lab: &Lab, transports: &str, pes: u32, mode: &str, seconds: &str) -> Run {
    let program = lab.compile("tests/programs/ends.c", &["-w"]);
    let late_by = |seconds| [program.as_os_str(), OsStr::new(mode), OsStr::new(seconds)];
    let transports = format!("UCX_TLS={transports}");
    let options = ["-x", &transports, "-x", "DWELL_PEER_TIMEOUT=2s"];
    let plain = lab.oshrun(pes, &options, &late_by("0"));
    let measured = lab.measured(pes, &options, &late_by(seconds));
    assert_eq!(plain.code, measured.code, "{mode}: {plain:?}\n{measured:?}");
    assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mode}");
    measured
}

/// Compares the calls in an archive with those that `ends.c` makes.
fn has_all_calls(lab: &Lab, pes: u64) {
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    for pe in 0..pes {
        for function in ["shmem_long_p", "shmem_barrier_all"] {
            let count = trace.counts.get(&(pe, function.into())).copied().unwrap_or_default();
            assert_eq!(count.calls, 20, "{pe}: {function}");
        }
    }
}

#[test]
fn pes_that_return_or_exit_take_part_in_the_end() {
    let Some(lab) = Lab::open() else { return };
    for (transports, pes, mode, code) in [
        ("all", 2, "return", 0),
        ("tcp,self", 3, "return", 0),
        ("all", 2, "exit", 4),
        ("tcp,self", 3, "all", 0),
    ] {
        let run = ends(&lab, transports, pes, mode, "0");
        assert_eq!(run.code, Some(code), "{mode}: {run:?}");
        assert!(lab.experiment().join("traces.otf2").exists(), "{mode}: {run:?}");
        has_all_calls(&lab, pes.into());
    }
}

#[test]
fn a_pe_that_is_late_at_a_collective_end_is_waited_for() {
    let Some(lab) = Lab::open() else { return };
    let run = ends(&lab, "all", 2, "late", "4");
    assert!(lab.experiment().join("traces.otf2").exists(), "{run:?}");
    has_all_calls(&lab, 2);
}

/// A PE that exits waits no longer than the deadline, and the others do not wait for it after that.
#[test]
fn a_pe_that_exits_long_before_the_others_leaves_its_events() {
    let Some(lab) = Lab::open() else { return };
    let run = ends(&lab, "tcp,self", 3, "early", "5");
    assert!(run.stderr.contains("Next: dwell recover"), "{run:?}");
    let output = lab.dwell(&["recover".as_ref(), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    has_all_calls(&lab, 3);
}

#[test]
fn a_rank_that_is_late_at_mpi_finalize_is_waited_for() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_ends.c", &[]);
        let late_by = |seconds| [program.as_os_str(), OsStr::new(seconds)];
        let plain = mpi.run(&lab, 3, &late_by("0"));
        let variables = ["DWELL_PEER_TIMEOUT=2s".as_ref()];
        let measured = mpi.measured_with(&lab, 3, &variables, &late_by("4"));
        assert_eq!((plain.code, measured.code), (Some(0), Some(0)), "{mpi:?}: {measured:?}");
        assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mpi:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
    }
}

/// One process hangs in the file system at the end: the others give up at the deadline, `MPI_Finalize` works for all of
/// them, and recovery finds everything.
#[test]
fn a_process_that_hangs_at_the_end_is_not_waited_for() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let slow = mpi.compile_tool(&lab, "tests/programs/slow_rename.c");
        let program = mpi.compile(&lab, "tests/programs/mpi_ends.c", &[]);
        let command = [program.as_os_str(), "0".as_ref()];
        let plain = mpi.run(&lab, 3, &command);
        let preload = format!("LD_PRELOAD={}", slow.display());
        let variables =
            ["DWELL_PEER_TIMEOUT=3s", "SLOW_RANK=1", "SLOW_SECONDS=6", &preload].map(OsStr::new);
        let measured = mpi.measured_with(&lab, 3, &variables, &command);
        assert_eq!((plain.code, measured.code), (Some(0), Some(0)), "{mpi:?}: {measured:?}");
        // MPICH's transport may warn of messages that a process sent and that are not waited for any more.
        let printed = lines(&measured.stdout);
        assert!(lines(&plain.stdout).iter().all(|line| printed.contains(line)), "{measured:?}");
        let said = "waited 3s for process 1 at the end of the recording. Next: dwell recover";
        assert_eq!(measured.stderr.matches(said).count(), 1, "{mpi:?}: {measured:?}");
        let output = lab.dwell(&["recover".as_ref(), lab.experiment().as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{mpi:?}: {output:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        let trace = Trace::read(&lab.experiment());
        for rank in 0..3 {
            let count = trace.counts.get(&(rank, "MPI_Allreduce".into()));
            assert_eq!(count.map(|count| count.calls), Some(20), "{mpi:?}: {rank}");
        }
    }
}

/// Only one of two processes is measured: it gives up at the deadline, and the program runs on.
#[test]
fn a_process_that_is_not_measured_is_not_waited_for() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_ends.c", &[]);
        let plain = mpi.run(&lab, 2, &[program.as_os_str(), "0".as_ref()]);
        let dwell = [OsStr::new(env!("CARGO_BIN_EXE_dwell")), "run".as_ref()];
        let with = [&["env".as_ref(), "DWELL_PEER_TIMEOUT=3s".as_ref()], &dwell[..]].concat();
        let rest = [program.as_os_str(), ":".as_ref(), "-n".as_ref(), "1".as_ref()];
        let command = [&with[..], &rest, &[program.as_os_str()]].concat();
        let began = Instant::now();
        let measured = mpi.run(&lab, 1, &command);
        assert_eq!((plain.code, measured.code), (Some(0), Some(0)), "{mpi:?}: {measured:?}");
        // MPICH's transport may warn of the communicator that is never made.
        let printed = lines(&measured.stdout);
        assert!(lines(&plain.stdout).iter().all(|line| printed.contains(line)), "{measured:?}");
        assert!(measured.stderr.contains("nothing is recorded: waited 3s"), "{measured:?}");
        assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
        let left = fs::read_dir(lab.path(".")).unwrap().flatten();
        assert!(left.into_iter().all(|it| !it.file_name().to_string_lossy().starts_with("dwell-")));
    }
}

/// The command serves until it is ended, which takes the exit code of the launcher; so only what is printed counts.
#[test]
fn the_page_of_a_run_opens_when_the_program_has_ended() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("examples/tour/tour.c", &[]);
    let dwell = OsStr::new(env!("CARGO_BIN_EXE_dwell"));
    let words = ["run", "--view", "--output", "experiment"].map(OsStr::new);
    let command = [&[dwell], &words[..], &[program.as_os_str()]].concat();
    let run = lab.oshrun_until(2, &[], &command, |printed| printed.contains("/#code="));
    assert!(run.stdout.starts_with("20 steps of 2 PEs\nhttp://127.0.0.1:"), "{run:?}");
    assert!(run.stderr.contains("not analysed yet; analysing"), "{run:?}");
    assert!(lab.experiment().join("findings.json").exists());
}
