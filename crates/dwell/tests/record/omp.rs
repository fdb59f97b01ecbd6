//! OpenMP with one-sided communication: programs that count the calls of their threads themselves.
//!
//! They are compiled with GCC, whose runtime is the one that has hooks.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::process::Command;

use serde_json::Value;

use crate::lab::{Lab, Run};
use crate::mpi::Mpi;
use crate::needs;
use crate::trace::Trace;

/// Regions that calls and bodies of directives do not have.
const IDLE: &str = "idle thread";

/// The setting that records OpenMP, as a variable.
const LAYER: &str = "DWELL_LAYER=omp=on";

/// Records a program with OpenMP on two processes.
fn with_openmp(mpi: &Mpi, lab: &Lab, command: &[&OsStr]) -> Run {
    mpi.measured_with(lab, 2, &[LAYER.as_ref()], command)
}

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
            let (plain, measured) = (mpi.run(&lab, 2, &command), with_openmp(&mpi, &lab, &command));
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
    let (plain, measured) = lab.both(2, &["-x", LAYER], &command);
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
    let (plain, measured) = (mpi.run(&lab, 2, &command), with_openmp(&mpi, &lab, &command));
    same_and_counted(&lab, &plain, &measured);
}

#[test]
fn threads_that_end_leave_their_teams() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_ending.c", &["-fopenmp"]);
    let command = [program.as_os_str()];
    let (plain, measured) = (mpi.run(&lab, 2, &command), with_openmp(&mpi, &lab, &command));
    let trace = same_and_counted(&lab, &plain, &measured);
    // As many locations as there were threads at once: the first, three more, and two or fewer of each team.
    let at_most = 1 + 3 + 3 * 2;
    let of_the_first = trace.locations().iter().filter(|(_, pe)| *pe == 0).count();
    assert!((4..=at_most + 3).contains(&of_the_first), "{of_the_first}");
}

#[test]
fn objects_of_tasks_are_copied_and_exceptions_pass() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_objects.cpp", &["-fopenmp", "-lstdc++"]);
    let command = [program.as_os_str()];
    let (plain, measured) = (mpi.run(&lab, 2, &command), with_openmp(&mpi, &lab, &command));
    same_and_counted(&lab, &plain, &measured);
    // Nor do panics of the recorder reach the program, on whichever thread they are.
    for panic in ["before:9", "after:99", "user:2", "user:150", "busy:300", "register:3"] {
        let variable = format!("DWELL_TEST_PANIC={panic}");
        let panicked = mpi.measured_with(&lab, 2, &[LAYER.as_ref(), variable.as_ref()], &command);
        let sorted = |run: &Run| {
            let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!((panicked.code, sorted(&panicked)), (Some(0), sorted(&plain)), "{panic}");
    }
}

#[test]
fn openmp_is_recorded_on_request_only() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_ending.c", &["-fopenmp"]);
    let measured = mpi.measured(&lab, 2, &[program.as_os_str()]);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    let trace = Trace::read(&lab.experiment());
    assert!(trace.counts.keys().all(|(_, name)| name.starts_with("MPI_")), "{:?}", trace.counts);
    assert_eq!(trace.locations().len(), 2);
}

/// Records and analyses the program with a delay, and returns the findings, with the time that threads waited by their own clocks.
fn delayed(lab: &Lab, mpi: &Mpi, program: &OsStr, kind: &str, delay: &str) -> (Value, f64) {
    let command = [program, kind.as_ref(), "3".as_ref(), delay.as_ref(), "5".as_ref()];
    // Threads that spin in barriers would take the cores from those that are late.
    let variables = [LAYER, "OMP_WAIT_POLICY=passive"].map(OsStr::new);
    let measured = mpi.measured_with(lab, 2, &variables, &command);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    let experiment = lab.experiment();
    let mut documents = Vec::new();
    // The same findings whatever the number of threads.
    for threads in ["1", "3"] {
        let options = ["analyze", "--threads", threads].map(OsStr::new);
        let output = lab.dwell(&[&options[..], &[experiment.as_os_str()]].concat());
        assert!(output.status.success(), "{output:?}");
        documents.push(std::fs::read_to_string(experiment.join("findings.json")).unwrap());
    }
    assert_eq!(documents[0], documents[1]);
    let said = measured.stdout.lines().filter_map(|line| line.strip_prefix("waited "));
    let waited = said.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    (serde_json::from_str(&documents[0]).unwrap(), waited.sum::<f64>() / 1e9)
}

/// Time that threads waited at barriers of a name, by the findings.
fn found(findings: &Value, barrier: &str) -> f64 {
    let is_it = |it: &&Value| {
        let innermost = it["path"].as_array().unwrap().last().unwrap();
        it["metric"] == "omp_barrier_wait" && innermost["region"] == barrier
    };
    let all = findings["findings"].as_array().unwrap();
    all.iter().filter(is_it).map(|it| it["seconds"].as_f64().unwrap()).sum()
}

#[test]
fn threads_wait_at_barriers_for_the_last() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_delays.c", &["-fopenmp"]);
    let kinds =
        [("parallel", "implicit barrier"), ("barrier", "GOMP_barrier"), ("loop", "GOMP_loop_end")];
    for (kind, barrier) in kinds {
        for delay in ["40", "0"] {
            let (findings, waited) = delayed(&lab, &mpi, program.as_os_str(), kind, delay);
            // Two processes with five rounds, in each of which two threads wait.
            let (wait, within) = (found(&findings, barrier), (waited * 0.02).max(20.0 * 50e-6));
            assert!((wait - waited).abs() <= within, "{kind} {delay}: {wait} of {waited}");
            if delay == "0" {
                continue;
            }
            // The cause is the work of the threads, in the body of the directive.
            let cost = caused(&findings, "direct_seconds", barrier);
            assert!((cost - wait).abs() < 0.05 * wait, "{kind}: {cost} of {wait}");
        }
    }
}

/// Time of waits at calls of a name that are caused by computing in the body of a directive.
fn caused(findings: &Value, which: &str, call: &str) -> f64 {
    let in_body = |cause: &&Value| {
        let path = cause["path"].as_array().unwrap();
        let name = path.last().map_or("", |it| it["region"].as_str().unwrap());
        cause["what"] == "computing" && name.contains("_omp_fn")
    };
    let causes = findings["causes"].as_array().unwrap().iter().filter(in_body);
    let waits = causes.flat_map(|cause| cause["waits"].as_array().unwrap());
    let named = waits.filter(|it| it["call"]["region"] == call);
    named.map(|it| it[which].as_f64().unwrap()).sum()
}

#[test]
fn a_late_thread_is_the_cause_of_waits_in_other_processes() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/omp_delays.c", &["-fopenmp"]);
    let (findings, _) = delayed(&lab, &mpi, program.as_os_str(), "first", "40");
    let first = &findings["causes"][0];
    assert_eq!(first["processes"][0]["who"], "Rank 0", "{first}");
    // The others of the team wait for it twice 40 ms a round, and so does rank 1 in the barrier of MPI, but for the last round,
    // after which the run is over. The other threads of rank 1 have no team meanwhile. On a busy machine other causes have a part.
    let of = |call: &str| caused(&findings, "seconds", call);
    assert!((0.35..0.45).contains(&of("implicit barrier")), "{first}");
    assert!((0.1..0.25).contains(&of("MPI_Barrier")), "{first}");
    assert!((0.25..0.9).contains(&of("idle thread")), "{first}");
}
