//! Stacks of the program are small, and the recorder takes little of them.
//!
//! Limits are those of the library as people have it. Without optimisation frames are several times as large, and
//! the limits here are as well.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use crate::faults::messages;
use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, lines};

/// Stack size of the smallest threads that a system allows, and the part of it that the recorder may use.
const SMALL: &str = if cfg!(debug_assertions) { "32768" } else { "16384" };
const TAKES: u64 = if cfg!(debug_assertions) { 32 * 1024 } else { 4 * 1024 };

const SOURCE: &str = "tests/programs/small_stacks.c";

fn compile(mpi: &Mpi, lab: &Lab) -> std::path::PathBuf {
    let include = format!("-I{}", Lab::repository().join("include").display());
    mpi.compile(lab, SOURCE, &["-pthread", &include])
}

fn is_complete(run: &Run) -> bool {
    messages(run).iter().any(|line| line.contains("Next: dwell analyze"))
}

#[test]
fn threads_with_small_stacks() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile(&mpi, &lab);
        let command = [program.as_os_str(), OsStr::new("threads"), OsStr::new(SMALL)];
        let (bare, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
        assert_eq!(bare.code, Some(0), "{bare:?}");
        assert_eq!(measured.code, bare.code, "{measured:?}");
        assert_eq!(lines(&measured.stdout), lines(&bare.stdout), "{measured:?}");
        assert!(is_complete(&measured), "{measured:?}");
    }
}

/// Runs a program whose main thread has a small stack, which starting and ending a recording exceed.
fn small_main(lab: &Lab, program: &Path, run: &dyn Fn(&[&OsStr]) -> Run) {
    let script = lab.path("small.sh");
    let text = format!("#!/bin/sh\nulimit -s 128\nexec {}\n", program.display());
    std::fs::write(&script, text).unwrap();
    let shell = [OsStr::new("sh"), script.as_os_str()];
    let bare = run(&shell);
    let experiment = lab.experiment();
    let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
    let measured = run(&[&dwell[..], &[experiment.as_os_str()], &shell].concat());
    assert_eq!(bare.code, Some(0), "{bare:?}");
    assert_eq!(measured.code, bare.code, "{measured:?}");
    assert_eq!(lines(&measured.stdout), lines(&bare.stdout), "{measured:?}");
    assert!(is_complete(&measured), "{measured:?}");
}

#[test]
fn a_small_stack_on_mpi() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile(&mpi, &lab);
        small_main(&lab, &program, &|command| mpi.run(&lab, 2, command));
    }
}

#[test]
fn a_small_stack_on_openshmem() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/families.c", &[]);
    small_main(&lab, &program, &|command| lab.oshrun(2, &[], command));
}

/// Returns the bytes of stack that each call used, by its place in the program.
fn used(run: &Run) -> BTreeMap<String, u64> {
    let call = |line: &str| {
        let mut words = line.rsplitn(2, ' ');
        let bytes = words.next()?.parse().ok()?;
        Some((words.next()?.to_owned(), bytes))
    };
    run.stdout.lines().filter_map(call).collect()
}

#[test]
fn the_recorder_takes_little_stack() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile(&mpi, &lab);
        let command = [program.as_os_str(), OsStr::new("paint")];
        let bare = used(&mpi.run(&lab, 1, &command));
        assert!(bare.len() > 10, "{bare:?}");
        for setting in ["DWELL_PROFILE=off", "DWELL_PROFILE=on", "DWELL_UNWIND=20"] {
            let measured = mpi.measured_with(&lab, 1, &[OsStr::new(setting)], &command);
            assert!(measured.code == Some(0), "{measured:?}");
            let measured = used(&measured);
            assert!(measured.keys().eq(bare.keys()), "{measured:?}");
            for (call, bytes) in &measured {
                let takes = bytes.saturating_sub(bare[call]);
                assert!(takes <= TAKES, "{mpi:?} {setting} {call}: {takes} bytes");
            }
        }
    }
}
