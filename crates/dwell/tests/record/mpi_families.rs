//! Every family of MPI on every library: the program prints the same, and the trace counts what the
//! program counts.

use std::ffi::OsStr;

use crate::lab::Lab;
use crate::mpi::{Mpi, lines};
use crate::trace::{Counts, Trace, said};

/// Functions whose calls depend on time, so that their output may differ from run to run.
const POLLING: &[&str] = &[
    "MPI_Test=",
    "MPI_Testall=",
    "MPI_Testany=",
    "MPI_Testsome=",
    "MPI_Iprobe=",
    "MPI_Improbe=",
    "MPI_Waitsome=",
    "MPI_Win_test=",
];

/// Returns the lines of a run that do not depend on polling, sorted.
pub(crate) fn steady(text: &str) -> Vec<String> {
    let polls = |line: &String| POLLING.iter().any(|name| line.contains(name));
    lines(text).into_iter().filter(|line| !polls(line)).collect()
}

/// Removes partitioned receives from counts, because libraries differ in the content of their status.
fn without_parts(counts: Counts) -> Counts {
    let apart = |name: &str| name == "MPI_Waitall" || name == "MPI_Wait";
    counts.into_iter().filter(|((_, name), _)| !apart(name)).collect()
}

#[test]
fn the_same_is_printed_and_the_trace_counts_it() {
    for mpi in Mpi::chosen() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_families.c", &[]);
        for ranks in [2, 4] {
            let plain = mpi.run(&lab, ranks, &[program.as_os_str()]);
            let measured = mpi.measured(&lab, ranks, &[program.as_os_str()]);
            assert_eq!(plain.code, Some(0), "{mpi:?} {plain:?}");
            assert_eq!(measured.code, Some(0), "{mpi:?} {measured:?}");
            assert_eq!(steady(&plain.stdout), steady(&measured.stdout), "{mpi:?}");
            lab.accepted_by_otf2_print(&lab.experiment());
            let trace = Trace::read(&lab.experiment());
            let program = without_parts(said(&measured.stdout));
            for (key, count) in &program {
                let recorded = trace.counts.get(key);
                assert_eq!(recorded, Some(count), "{mpi:?} {key:?}");
            }
            let known = without_parts(trace.counts);
            let others: Vec<_> = known.keys().filter(|key| !program.contains_key(*key)).collect();
            assert!(others.is_empty(), "{mpi:?}: nobody called {others:?}");
        }
    }
}

/// A wait for messages and collectives counts their bytes.
#[test]
fn waits_have_the_bytes_of_what_they_complete() {
    for mpi in Mpi::chosen() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_families.c", &[]);
        for part in ["collectives", "one_sided", "communicators"] {
            let command = [program.as_os_str(), OsStr::new(part)];
            let measured = mpi.measured(&lab, 3, &command);
            assert_eq!(measured.code, Some(0), "{mpi:?} {measured:?}");
            let trace = Trace::read(&lab.experiment());
            for (key, count) in &said(&measured.stdout) {
                assert_eq!(trace.counts.get(key), Some(count), "{mpi:?} {part} {key:?}");
            }
        }
    }
}
