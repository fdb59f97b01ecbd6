//! Ways to start and end MPI: by sessions, with threads, beside OpenSHMEM, from Python.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use otf2::Event;

use crate::lab::Lab;
use crate::mpi::{Mpi, lines};
use crate::needs;
use crate::trace::Trace;

#[test]
fn sessions() {
    for mpi in Mpi::all() {
        let lab = Lab::bare();
        let Some(program) = mpi.try_compile(&lab, "tests/programs/mpi_session.c", &[]) else {
            continue; // Older than MPI 4.
        };
        let plain = mpi.run(&lab, 3, &[program.as_os_str()]);
        let measured = mpi.measured(&lab, 3, &[program.as_os_str()]);
        assert_eq!((plain.code, plain.stdout), (measured.code, measured.stdout), "{mpi:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        let trace = Trace::read(&lab.experiment());
        for function in ["MPI_Session_init", "MPI_Allreduce", "MPI_Session_finalize"] {
            for pe in 0..3 {
                let count = trace.counts.get(&(pe, function.into()));
                assert_eq!(count.map(|count| count.calls), Some(1), "{mpi:?} {function}");
            }
        }
    }
}

#[test]
fn threads() {
    for mpi in Mpi::chosen() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_threads.c", &["-pthread"]);
        let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
        let measured = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mpi:?}");
        assert_eq!((plain.code, measured.code), (Some(0), Some(0)), "{mpi:?} {measured:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        let trace = Trace::read(&lab.experiment());
        for (pe, function, bytes) in [(0, "MPI_Send", 1600), (1, "MPI_Wait", 1600)] {
            let count = trace.counts[&(pe, function.to_string())];
            assert_eq!((count.calls, count.bytes), (200, bytes), "{mpi:?} {function}");
        }
        // What different threads started has different numbers.
        let mut requests = BTreeSet::new();
        for (location, pe) in trace.locations() {
            let mut events = trace.archive.events(location).unwrap();
            while let Some(record) = events.next().unwrap() {
                if let Event::MpiIrecvRequest(it) = record.event {
                    assert!(requests.insert((pe, it.request_id)), "{mpi:?} {location}");
                }
            }
        }
        assert_eq!(requests.len(), 400, "{mpi:?}");
    }
}

#[test]
fn beside_openshmem() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/mpi_hybrid.c", &[]);
    let (plain, measured) = lab.both(2, &[], &[program.as_os_str()]);
    assert_eq!((plain.code, &plain.stdout), (measured.code, &measured.stdout), "{measured:?}");
    assert_eq!(plain.code, Some(0));
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    for (function, calls) in [
        ("MPI_Init", 1),
        ("shmem_init", 1),
        ("shmem_long_p", 1),
        ("shmem_barrier_all", 2),
        ("MPI_Allreduce", 1),
        ("shmem_finalize", 1),
    ] {
        let count = trace.counts.get(&(1, function.into()));
        assert_eq!(count.map(|count| count.calls), Some(calls), "{function}");
    }
}

/// MPI is loaded by `dlopen`. `DWELL_MPI4PY` names a Python that has mpi4py, to be used with each library whose
/// launcher starts it.
#[test]
fn python() {
    let Some(python) = std::env::var_os("DWELL_MPI4PY") else {
        return needs::missing("MPI4PY", "DWELL_MPI4PY names no Python");
    };
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/mpi4py_ring.py");
    for mpi in Mpi::all() {
        let lab = Lab::bare();
        let command = [python.as_os_str(), OsStr::new(program)];
        let plain = mpi.run(&lab, 2, &command);
        if plain.code != Some(0) || !plain.stdout.contains("of 2") {
            eprintln!("skipped: {mpi:?} does not start this Python");
            continue;
        }
        let measured = mpi.measured(&lab, 2, &command);
        assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mpi:?} {measured:?}");
        let trace = Trace::read(&lab.experiment());
        // Where the library has large counts, mpi4py uses them.
        let calls = |name: &str| trace.counts.get(&(1, name.into())).map_or(0, |it| it.calls);
        assert_eq!(calls("MPI_Allreduce") + calls("MPI_Allreduce_c"), 3, "{mpi:?}");
        assert_eq!(calls("MPI_Irecv") + calls("MPI_Irecv_c"), 1, "{mpi:?}");
    }
}
