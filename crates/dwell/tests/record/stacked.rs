//! A runtime that is built on another one, both of which have hooks. Calls of the recorder through the upper one are not
//! recorded at the lower one, and the call that starts the upper one is.

use otf2::Event;

use crate::lab::Lab;
use crate::mpi::{Mpi, lines};
use crate::trace::Trace;

/// Checks that the call that starts the upper runtime contains the one that starts the lower one, on each process.
fn check_start(trace: &Trace) {
    for (location, pe) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        let (mut open, mut found) = (Vec::new(), false);
        while let Some(record) = reader.next().unwrap() {
            match record.event {
                Event::Enter(it) => {
                    open.push(trace.region(it.region));
                    found |= open.ends_with(&["shmem_init".to_owned(), "MPI_Init".to_owned()]);
                }
                Event::Leave(_) => _ = open.pop(),
                _ => {}
            }
        }
        assert!(found, "MPI_Init is not in shmem_init on process {pe}");
    }
}

#[test]
fn calls_of_the_recorder_are_not_recorded_where_openshmem_is_built_on_mpi() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let library = mpi.compile_tool(&lab, "tests/programs/shmem_over_mpi.c");
        let options = [library.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
        let program = mpi.compile(&lab, "tests/programs/over_mpi.c", &options);
        let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
        let measured = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(plain.code, Some(0), "{plain:?}");
        assert_eq!((plain.code, lines(&plain.stdout)), (measured.code, lines(&measured.stdout)));
        assert!(!measured.stderr.contains("lost"), "{measured:?}");
        let trace = Trace::read(&lab.experiment());
        for rank in 0..2 {
            let calls =
                |name: &str| trace.counts.get(&(rank, name.into())).map_or(0, |it| it.calls);
            let expected = [
                ("shmem_init", 1),
                ("shmem_putmem", 7),
                ("shmem_malloc", 1),
                ("shmem_barrier_all", 3),
                ("shmem_finalize", 1),
                ("MPI_Init", 1),
                ("MPI_Put", 7),
                ("MPI_Win_flush", 7),
                // In shmem_init, shmem_malloc and the three.
                ("MPI_Barrier", 5),
                ("MPI_Iprobe", 0),
            ];
            for (name, expected) in expected {
                assert_eq!(calls(name), expected, "{name} of rank {rank}, {mpi:?}: {measured:?}");
            }
        }
        check_start(&trace);
        lab.accepted_by_otf2_print(&lab.experiment());
    }
}
