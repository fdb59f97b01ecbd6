//! OpenMP with one-sided communication: programs that count the calls of their threads themselves.
//!
//! They are compiled with GCC, whose runtime is the one that has hooks.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

use otf2::Event;

use crate::lab::{Lab, Run};
use crate::mpi::Mpi;
use crate::needs;
use crate::trace::Trace;

/// Regions that calls and bodies of directives do not have.
const IDLE: &str = "idle thread";

/// Holds a run with Dwell against one without: the same results, and as many calls as the program says.
fn same_and_counted(lab: &Lab, plain: &Run, measured: &Run) -> Trace {
    let said = |run: &Run, word: &str| {
        let lines = run.stdout.lines().filter(|line| line.starts_with(word));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!((plain.code, measured.code), (Some(0), Some(0)), "{measured:?}");
    assert!(!said(plain, "result ").is_empty());
    assert_eq!(said(plain, "result "), said(measured, "result "));
    assert_eq!(said(plain, "count "), said(measured, "count "));
    lab.accepted_by_otf2_print(&lab.experiment());
    let trace = Trace::read(&lab.experiment());
    let mut bodies: BTreeMap<u64, u64> = BTreeMap::new();
    for ((pe, name), count) in &trace.counts {
        // Functions of the program have no names before their addresses are looked up.
        *bodies.entry(*pe).or_default() += if name.contains("+0x") { count.calls } else { 0 };
    }
    let counts = said(plain, "count ");
    for line in &counts {
        let line = line.trim_start_matches("count ");
        let (pe, rest) = line.split_once(' ').unwrap();
        let (name, calls) = rest.rsplit_once(' ').unwrap();
        let (pe, calls): (u64, u64) = (pe.parse().unwrap(), calls.parse().unwrap());
        let found = match name {
            "body" => bodies.get(&pe).copied(),
            _ => trace.counts.get(&(pe, name.into())).map(|count| count.calls),
        };
        assert_eq!(found, Some(calls), "{name} at {pe}");
    }
    // What the program does not count, it does not call.
    for (pe, name) in trace.counts.keys() {
        let counted = |name: &str| counts.iter().any(|line| line.contains(&format!(" {name} ")));
        let is_omp = name.starts_with("GOMP_") || name.starts_with("omp_") && !name.contains('+');
        assert!(!is_omp || counted(name), "{name} at {pe}");
    }
    trace
}

#[test]
fn calls_of_all_threads_are_counted_beside_mpi() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/omp_counts.c", &["-fopenmp"]);
        for threads in ["1", "3"] {
            let command = [program.as_os_str(), OsStr::new(threads), OsStr::new("5")];
            let (plain, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
            let trace = same_and_counted(&lab, &plain, &measured);
            // Threads that wait for the next team say so, and have no calls meanwhile.
            let idle = trace.counts.get(&(0, IDLE.into())).is_some_and(|it| it.calls > 0);
            assert_eq!(idle, threads != "1", "{mpi:?}");
        }
    }
}

#[test]
fn calls_of_all_threads_are_counted_beside_openshmem() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/omp_counts.c", &["-fopenmp", "-DSHMEM"]);
    let command = [program.as_os_str(), OsStr::new("2"), OsStr::new("4")];
    let (plain, measured) = lab.both(2, &[], &command);
    same_and_counted(&lab, &plain, &measured);
}

#[test]
fn calls_of_fortran_are_counted() {
    let found = Mpi::of_the_system().into_iter().find_map(|mpi| Some((mpi.fortran()?, mpi)));
    let Some((compiler, mpi)) = found.filter(|_| needs::tools("FORTRAN", &["gfortran"])) else {
        return;
    };
    let lab = Lab::bare();
    let program = lab.path("fortran");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/omp_fortran.f90");
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-w", "-fopenmp", source, "-o"]).arg(&program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let command = [program.as_os_str()];
    let (plain, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
    same_and_counted(&lab, &plain, &measured);
}

#[test]
fn threads_that_end_leave_their_teams() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_ending.c", &["-fopenmp"]);
    let command = [program.as_os_str()];
    let (plain, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
    let trace = same_and_counted(&lab, &plain, &measured);
    // As many locations as there were threads at once: the first, three more, and two or fewer of each team.
    let at_most = 1 + 3 + 3 * 2;
    let of_the_first = trace.locations().iter().filter(|(_, pe)| *pe == 0).count();
    assert!((4..=at_most + 3).contains(&of_the_first), "{of_the_first}");
}

#[test]
fn a_setting_leaves_openmp_out() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_ending.c", &["-fopenmp"]);
    let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "--layer=omp=off", "-o"].map(OsStr::new);
    let experiment = lab.experiment();
    let command = [&dwell[..], &[experiment.as_os_str(), program.as_os_str()]].concat();
    let measured = mpi.run(&lab, 2, &command);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    let trace = Trace::read(&experiment);
    assert!(trace.counts.keys().all(|(_, name)| name.starts_with("MPI_")), "{:?}", trace.counts);
    assert_eq!(trace.locations().len(), 2);
}

/// Time in the barriers of a program by its name, at each process, in nanoseconds.
fn in_barriers(trace: &Trace) -> BTreeMap<u64, u64> {
    let mut times = BTreeMap::new();
    for (location, pe) in trace.locations() {
        let (mut open, mut events) = (Vec::new(), trace.archive.events(location).unwrap());
        while let Some(record) = events.next().unwrap() {
            match record.event {
                Event::Enter(_) => open.push(record.time.0),
                Event::Leave(it) => {
                    let length = record.time.0 - open.pop().unwrap();
                    let name = trace.region(it.region);
                    if ["implicit barrier", "GOMP_barrier", "GOMP_loop_end"].contains(&&*name) {
                        *times.entry(pe).or_default() += length;
                    }
                }
                _ => {}
            }
        }
    }
    times
}

#[test]
fn barriers_take_as_long_as_the_last_thread_is_late() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_delays.c", &["-fopenmp"]);
    for kind in ["parallel", "barrier", "loop"] {
        let command =
            [program.as_os_str(), kind.as_ref(), "3".as_ref(), "40".as_ref(), "5".as_ref()];
        let measured = mpi.measured(&lab, 2, &command);
        assert_eq!(measured.code, Some(0), "{measured:?}");
        let times = in_barriers(&Trace::read(&lab.experiment()));
        for line in measured.stdout.lines().filter_map(|line| line.strip_prefix("waited ")) {
            let (pe, waited) = line.split_once(' ').unwrap();
            let (pe, waited): (u64, u64) = (pe.parse().unwrap(), waited.parse().unwrap());
            // What the last thread takes to wake the others belongs to their barriers as well.
            let (least, most) = (waited - waited / 50, waited + waited / 50 + 20_000_000);
            assert!(
                (least..=most).contains(&times[&pe]),
                "{kind} {pe}: {} of {waited}",
                times[&pe]
            );
        }
    }
}
