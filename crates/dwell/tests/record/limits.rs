//! Limits of the system that a process reaches: the recorder gives up, and the program is not affected.

use std::ffi::OsStr;
use std::path::Path;

use crate::faults::messages;
use crate::lab::{Lab, Run};
use crate::mpi::Mpi;

const SOURCE: &str = "tests/programs/file_limit.c";

/// A limit of two chunks: the files of events are as long as they may be, and every further byte is a SIGXFSZ.
const CHUNK: &str = "256K";
const LIMIT: &str = "524288";

/// Runs the program with `run`, without and with Dwell, and checks that a limit of the size of files does not affect it.
fn within_a_limit(lab: &Lab, program: &Path, run: impl Fn(&[&OsStr]) -> Run) {
    let experiment = lab.experiment();
    for (limit, calls) in [(LIMIT, "40000"), ("512", "500")] {
        let program = [program.as_os_str(), OsStr::new(limit), OsStr::new(calls)];
        let plain = run(&program);
        assert_eq!(plain.code, Some(0), "{plain:?}");
        let measured = |flags: &[&str]| {
            let _ = std::fs::remove_dir_all(&experiment);
            let dwell = [&[env!("CARGO_BIN_EXE_dwell"), "run"], flags, &["-o"]].concat();
            let dwell: Vec<&OsStr> = dwell.into_iter().map(OsStr::new).collect();
            let measured = run(&[&dwell[..], &[experiment.as_os_str()], &program].concat());
            let (code, stdout) = (measured.code, &measured.stdout);
            assert_eq!((plain.code, &plain.stdout), (code, stdout), "{flags:?} {measured:?}");
            measured
        };
        measured(&["--profile=on"]);
        let measured = measured(&["--set", &format!("chunk-size={CHUNK}")]);
        let said = messages(&measured).join("\n");
        assert!(said.contains("File too large"), "{limit} {measured:?}");
        if said.contains("Next: dwell recover") {
            let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{limit} {output:?}");
        }
        lab.accepted_by_otf2_print(&experiment);
    }
}

#[test]
fn a_limit_of_the_size_of_files_on_openshmem() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile(SOURCE, &["-DSHMEM"]);
    within_a_limit(&lab, &program, |command| lab.oshrun(2, &[], command));
}

#[test]
fn a_limit_of_the_size_of_files_on_mpi() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = mpi.compile(&lab, SOURCE, &[]);
        within_a_limit(&lab, &program, |command| mpi.run(&lab, 2, command));
    }
}
