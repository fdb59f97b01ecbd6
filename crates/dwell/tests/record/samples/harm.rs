//! Programs keep their signals, stacks, threads and system calls under samples.

use std::ffi::OsStr;

use super::{Lab, Mpi};
use crate::mpi::lines;

/// Modes of `samples_harm.c` that one process goes through.
const TOGETHER: &[&str] =
    &["own", "fork", "threads", "small", "coroutine", "iterate", "allocate", "loads", "masked"];

/// Modes that a process does not survive as it was.
const ALONE: &[&str] = &["reset", "ignore", "exec", "blocked", "signalled", "waits"];

/// Runs modes without and with samples. Both must print the same and end alike. Returns what Dwell said.
fn same(mpi: &Mpi, lab: &Lab, program: &OsStr, modes: &[&str]) -> String {
    let modes: Vec<&OsStr> = modes.iter().map(OsStr::new).collect();
    let plain = mpi.run(lab, 1, &[&[program], &modes[..]].concat());
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let sampled = [OsStr::new("--sample=1000"), program];
    let run = mpi.measured(lab, 1, &[&sampled[..], &modes].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(lines(&plain.stdout), lines(&run.stdout), "{}", run.stderr);
    run.stderr
}

fn samples(lab: &Lab) -> usize {
    locations_of_samples(lab).len()
}

/// Returns the location of each sample that has a place.
pub(super) fn locations_of_samples(lab: &Lab) -> Vec<String> {
    let print = lab.dwell(&[OsStr::new("print"), lab.experiment().as_os_str()]);
    let text = String::from_utf8_lossy(&print.stdout).into_owned();
    let samples = text.lines().filter(|it| it.starts_with("CALLING_CONTEXT_SAMPLE"));
    let placed = samples.filter(|it| !it.contains("Calling Context: UNDEFINED"));
    placed.filter_map(|it| it.split_whitespace().nth(1)).map(str::to_owned).collect()
}

#[test]
fn signals_stacks_threads_and_the_loader_are_as_before() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/samples_harm.c", &["-O1", "-pthread"]);
        let program = program.as_os_str();
        same(&mpi, &lab, program, TOGETHER);
        // Two seconds of computing, in which at least half of the ticks are.
        assert!(samples(&lab) > 100, "{}", samples(&lab));
        for mode in ALONE {
            same(&mpi, &lab, program, &[mode]);
        }
    }
}

#[test]
fn no_system_call_ends_early() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/samples_harm.c", &["-O1", "-pthread"]);
        same(&mpi, &lab, program.as_os_str(), &["calls"]);
        assert!(samples(&lab) > 50, "{}", samples(&lab));
    }
}

/// Intervals that end while the recorder communicates at the start of the run are not the last ones.
#[test]
fn sampling_goes_on_after_the_start() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/samples_truth.c", &["-O1", "-g"]);
    for _ in 0..4 {
        let words = [OsStr::new("--sample=1000"), program.as_os_str(), OsStr::new("relax")];
        let run = mpi.measured(&lab, 2, &words);
        assert_eq!(run.code, Some(0), "{run:?}");
        let locations = locations_of_samples(&lab);
        for location in ["0", "1"] {
            // Rank 0 computes for 0.6 s. A busy machine ends few intervals.
            let count = locations.iter().filter(|it| *it == location).count();
            assert!(count > 10, "location {location} has {count} samples");
        }
    }
}
