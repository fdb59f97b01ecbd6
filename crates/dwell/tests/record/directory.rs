//! The directory of a recording: whose it is, and what happens if it is in use.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::faults::messages;
use crate::lab::{Lab, Run};
use crate::mpi::Mpi;
use crate::trace::Trace;

/// A program that ends at once if its first argument is 0.
const PROGRAM: &str = "tests/programs/mpi_ring.c";

/// Starts a program with these options of `dwell run`, through a script that is run first.
fn run(mpi: &Mpi, lab: &Lab, ranks: u32, before: &str, options: &[&str], program: &Path) -> Run {
    let dwell = env!("CARGO_BIN_EXE_dwell");
    let script = format!("{before}exec {dwell} run {} \"$0\" 0", options.join(" "));
    let words = [OsStr::new("sh"), OsStr::new("-c"), OsStr::new(&script), program.as_os_str()];
    mpi.run(lab, ranks, &words)
}

/// Processes of one launch that start up to two seconds apart record into one directory, which the first of them may
/// have filled before the last asks whether it is empty.
#[test]
fn processes_that_start_late_belong_to_the_run() {
    // The process that starts last is not always the one with the largest number.
    let late = "r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; sleep $(( (r * 3) % 8 * 28 / 100 )).$(( (r * 3) % 8 * 28 % 100 )); ";
    for mpi in Mpi::chosen() {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, PROGRAM);
        let run = run(&mpi, &lab, 8, late, &["-o", "run"], &program);
        assert_eq!(run.code, Some(0), "{mpi:?} {run:?}");
        assert_eq!(messages(&run).len(), 1, "{mpi:?} {run:?}");
        assert_eq!(Trace::read(&lab.path("run")).locations().len(), 8, "{mpi:?}");
        assert!(!lab.path("run-2").exists(), "{mpi:?}");
    }
}

/// A second run with the same name is refused before the program starts, where the processes of a launch can be told
/// from others, and otherwise gets the next free name. Neither is lost.
#[test]
fn a_directory_in_use() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, PROGRAM);
        let started = run(&mpi, &lab, 2, "", &["-o", "run"], &program);
        assert_eq!(started.code, Some(0), "{mpi:?} {started:?}");
        let again = run(&mpi, &lab, 2, "", &["-o", "run"], &program);
        let said = messages(&again);
        if mpi.name().contains("openmpi") {
            assert_eq!(again.code, Some(2), "{mpi:?} {again:?}");
            assert_eq!(again.stdout, "", "the program was not started");
            assert!(said.iter().any(|it| it.contains("not empty") && it.contains("--next")));
            assert!(!lab.path("run-2").exists(), "{mpi:?}");
        } else {
            assert_eq!((again.code, &again.stdout), (Some(0), &started.stdout), "{mpi:?}");
            assert!(said.iter().any(|it| it.contains("is recorded in run-2")), "{said:?}");
        }
        let next = run(&mpi, &lab, 2, "", &["--next", "-o", "run"], &program);
        assert_eq!(next.code, Some(0), "{mpi:?} {next:?}");
        assert_eq!(messages(&next).len(), 1, "{mpi:?} {next:?}");
        let last = if mpi.name().contains("openmpi") { "run-2" } else { "run-3" };
        for name in ["run", last] {
            assert_eq!(Trace::read(&lab.path(name)).locations().len(), 2, "{mpi:?} {name}");
        }
    }
}

/// Without a launcher there is one process, and a directory in use is refused.
#[test]
fn a_directory_in_use_without_a_launcher() {
    let lab = Lab::bare();
    fs::create_dir(lab.path("used")).unwrap();
    fs::write(lab.path("used/notes.txt"), "").unwrap();
    let run = |words: &[&str]| lab.dwell(&words.iter().map(OsStr::new).collect::<Vec<_>>());
    let refused = run(&["run", "-o", "used", "echo", "started"]);
    assert_eq!((refused.status.code(), refused.stdout.as_slice()), (Some(2), &b""[..]));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("used: the directory is not empty") && said.contains("--next"), "{said}");
    let taken = run(&["run", "--next", "-o", "used", "echo", "started"]);
    assert_eq!((taken.status.code(), taken.stdout.as_slice()), (Some(0), &b"started\n"[..]));
}

/// A program of one MPI under the launcher of another: each process is alone, and the user is told why.
#[test]
fn a_launcher_that_does_not_fit() {
    let (Some(open_mpi), Some(mpich)) = (Mpi::named("mpicc.openmpi"), Mpi::named("mpicc.mpich"))
    else {
        return;
    };
    // The other way round, Open MPI starts a daemon for each process, which outlives the test.
    let lab = Lab::bare();
    let program = mpich.compile_once(&lab, PROGRAM);
    let run = run(&open_mpi, &lab, 2, "", &["-o", "run"], &program);
    let said = messages(&run);
    let told = "the launcher of Open MPI started 2 processes";
    assert_eq!(said.iter().filter(|it| it.contains(told)).count(), 1, "{said:?}");
    for name in ["run", "run-2"] {
        assert_eq!(Trace::read(&lab.path(name)).locations().len(), 1, "{said:?}");
    }
}
