//! The program's own code: instrumented functions and named regions, from C and Fortran.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::lab::{Lab, Run, have};
use crate::mpi::{Mpi, analysed, lines};
use crate::trace::{Trace, said};

fn folder(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    path.to_str().unwrap().to_owned()
}

/// Names are found by the analysis: then the trace has what the program says of itself.
fn counted(lab: &Lab, plain: &Run, measured: &Run) {
    assert_eq!(measured.code, Some(0), "{measured:?}");
    assert_eq!(lines(&plain.stdout), lines(&measured.stdout));
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    let counted = Trace::read(&lab.experiment()).counts;
    let told = said(&measured.stdout);
    assert!(!told.is_empty());
    for (what, count) in told {
        assert_eq!(counted.get(&what), Some(&count), "{what:?} {counted:?}");
    }
}

#[test]
fn instrumented_functions_and_named_regions() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let include = format!("-I{}", folder("include"));
    let options = ["-finstrument-functions", &include];
    let program = mpi.compile(&lab, "tests/programs/user_code.c", &options);
    // Deeper than functions are kept apart: calls of MPI are recorded all the same.
    for arguments in [&[][..], &["deep"]] {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let command = [&[program.as_os_str()][..], &arguments].concat();
        let (plain, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
        counted(&lab, &plain, &measured);
    }
}

#[test]
fn regions_of_fortran() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let Some(compiler) = mpi.fortran().filter(|_| have("gfortran", "DWELL_REQUIRE_FORTRAN")) else {
        return;
    };
    let lab = Lab::bare();
    let program = lab.path("user_code");
    let mut command = Command::new(compiler);
    command.args(["-g", "-J"]).arg(lab.path("")).arg("-finstrument-functions");
    command.args([folder("include/dwell.f90"), folder("tests/programs/user_code.f90")]);
    let output = command.arg("-o").arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let command = [program.as_os_str()];
    let (plain, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
    counted(&lab, &plain, &measured);
}
