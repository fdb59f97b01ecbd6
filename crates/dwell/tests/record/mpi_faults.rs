//! Programs of MPI that are difficult to record run as without Dwell, whatever goes wrong in the recorder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;

use otf2::Event;

use crate::faults::{Small, limited, messages};
use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, analysed, lines};
use crate::trace::Trace;

/// Runs modes of the program without and with Dwell, all in one run each.
fn modes(mpi: &Mpi, lab: &Lab, modes: &[&str]) -> (Run, Trace) {
    let program = mpi.compile_once(lab, "tests/programs/mpi_faults.cpp");
    let modes = modes.iter().map(OsStr::new);
    let command: Vec<&OsStr> = [program.as_os_str()].into_iter().chain(modes).collect();
    let plain = mpi.run(lab, 2, &command);
    let measured = mpi.measured(lab, 2, &command);
    assert_eq!(plain.code, Some(0), "{mpi:?} {plain:?}");
    assert_eq!((plain.code, &plain.stdout), (measured.code, &measured.stdout), "{measured:?}");
    assert_eq!(messages(&measured).len(), 1, "{mpi:?} {measured:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    (measured, Trace::read(&lab.experiment()))
}

fn calls(trace: &Trace, pe: u64, function: &str) -> u64 {
    trace.counts.get(&(pe, function.into())).map_or(0, |count| count.calls)
}

#[test]
fn ways_in_and_out_of_calls() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let (_, trace) =
            modes(&mpi, &lab, &["fork", "exception", "longjmp", "pcontrol", "signals"]);
        for pe in 0..2 {
            assert_eq!(calls(&trace, pe, "MPI_Send"), 20, "{mpi:?}: longjmp left all of them");
            assert_eq!(calls(&trace, pe, "MPI_Pcontrol"), 4, "{mpi:?}");
            assert_eq!(calls(&trace, pe, "MPI_Allreduce"), 3 + 20 + 20 + 2 + 1, "{mpi:?}");
        }
    }
}

/// The recorder opens a file in the first call of a thread. That would be a cancellation point, which the call itself
/// is not.
#[test]
fn a_thread_that_is_to_be_cancelled() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_cancel.c", &["-pthread"]);
        let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
        let measured = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert!(plain.stdout.contains("came back 1, went on 0, cancelled 1"), "{plain:?}");
        assert_eq!((plain.code, plain.stdout), (measured.code, measured.stdout), "{mpi:?}");
        analysed(&lab, &lab.experiment());
        let probes = |pe| calls(&Trace::read(&lab.experiment()), pe, "MPI_Iprobe");
        assert_eq!([probes(0), probes(1)], [3, 3], "{mpi:?}");
    }
}

/// The recorder treats calls inside of callbacks as those of the library. Objects that they create and free are
/// nevertheless distinguished.
#[test]
fn callbacks_that_call_mpi() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let (_, trace) = modes(&mpi, &lab, &["callbacks"]);
        let mut alone = 0;
        for (location, _) in trace.locations() {
            let mut events = trace.archive.events(location).unwrap();
            while let Some(record) = events.next().unwrap() {
                let Event::MpiCollectiveEnd(it) = record.event else { continue };
                let group = trace.definitions.comm(it.communicator).unwrap().group;
                let itself = trace.definitions.group(group).unwrap().members.len() < 2;
                alone += u32::from(itself && it.size_sent > 0);
            }
        }
        // A sum of one's own in each round, and one with what a callback made in every other.
        assert_eq!(alone, 2 * (20 + 10), "{mpi:?}");
    }
}

/// The program sees the same errors. Messages that arrived or left are recorded, and no others.
#[test]
fn errors_that_are_returned() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let (run, trace) = modes(&mpi, &lab, &["errors"]);
        assert!(run.stdout.contains("handler: "), "{run:?}");
        let mut sent = BTreeMap::new();
        for (location, pe) in trace.locations() {
            let mut events = trace.archive.events(location).unwrap();
            while let Some(record) = events.next().unwrap() {
                match record.event {
                    Event::MpiSend(it) => *sent.entry((1 - pe, it.msg_tag)).or_insert(0) += 1,
                    Event::MpiRecv(it) => *sent.entry((pe, it.msg_tag)).or_insert(0) -= 1,
                    Event::MpiIrecv(it) => *sent.entry((pe, it.msg_tag)).or_insert(0) -= 1,
                    _ => {}
                }
            }
        }
        assert_eq!(sent.len(), 2 * 6, "{mpi:?} {sent:?}");
        assert!(sent.values().all(|left| *left == 0), "{mpi:?} {sent:?}");
    }
}

#[test]
fn sixteen_threads() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let (_, trace) = modes(&mpi, &lab, &["threads"]);
        // Thread t sends 25 messages of t + 1 numbers.
        let bytes = 25 * 4 * (16 * 17 / 2);
        for pe in 0..2 {
            for function in ["MPI_Send", "MPI_Wait"] {
                let count = trace.counts[&(pe, function.to_string())];
                assert_eq!((count.calls, count.bytes), (16 * 25, bytes), "{mpi:?} {function}");
            }
        }
        assert_eq!(trace.locations().len(), 2 * 17, "{mpi:?}");
    }
}

/// Without space, directory or descriptors for the recorder the program is not affected.
#[test]
fn a_recorder_in_trouble() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile_once(&lab, "tests/programs/mpi_die.c");
        let prefix = lab.path("said");
        let [normal, iterations] = ["normal", "3000"].map(OsStr::new);
        let program = [program.as_os_str(), normal, iterations, prefix.as_os_str()];
        let run = |wrapper: &[&OsStr], directory: &OsStr, options: &[&str]| {
            let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
            let options: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
            let command = [wrapper, &dwell, &[directory], &options, &program].concat();
            let run = mpi.run(&lab, 2, &command);
            assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{mpi:?} {run:?}");
            messages(&run).join("\n")
        };
        let file = lab.path("file");
        fs::write(&file, "").unwrap();
        let said = run(&[], file.join("x").as_os_str(), &[]);
        assert!(said.contains("nothing is recorded") && said.contains("file/x"), "{said}");

        let script = limited(&lab, "-n 64");
        let said = run(&[script.as_os_str()], lab.path("few").as_os_str(), &[]);
        assert_eq!(said.lines().count(), 1, "{said}");
        lab.accepted_by_otf2_print(&lab.path("few"));

        let Some(disk) = Small::mount(&lab, "100k") else { continue };
        let said = run(&[], disk.0.join("x").as_os_str(), &[]);
        assert!(said.contains("No space left on device"), "{said}");

        disk.enlarge("900k");
        let experiment = disk.0.join("y");
        let said = run(&[], experiment.as_os_str(), &["--set", "chunk-size=256K"]);
        assert!(said.contains("No space left on device"), "{said}");
        disk.holds_calls(&lab, &experiment, &said);
    }
}

/// A program that spawns another. Not every library can do that under every launcher.
#[test]
fn a_program_that_starts_another() {
    for mpi in Mpi::of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, "tests/programs/mpi_spawn.c", &[]);
        let plain = mpi.run(&lab, 2, &[program.as_os_str()]);
        let measured = mpi.measured(&lab, 2, &[program.as_os_str()]);
        assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{mpi:?} {measured:?}");
        if plain.code != Some(0) {
            eprintln!("skipped: {mpi:?} starts no other programs here");
            continue;
        }
        assert_eq!(measured.code, Some(0), "{mpi:?} {measured:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        analysed(&lab, &lab.experiment());
        let trace = Trace::read(&lab.experiment());
        assert_eq!(calls(&trace, 0, "MPI_Comm_spawn"), 1, "{mpi:?}");
        assert_eq!(trace.locations().len(), 2, "{mpi:?}");
    }
}
