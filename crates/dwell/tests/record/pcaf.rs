//! Co-Array Fortran before Fortran 2008: synchronisation by calls, by source, and the monitoring interface PCAF, from
//! Fortran and from C.
//!
//! The Fortran needs the same as the tests of coarrays by source.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_model::layer::Layer;

use crate::caf::open;
use crate::coarray::{operations, succeeded};
use crate::lab::Lab;
use crate::mpi::{Mpi, lines};
use crate::trace::Trace;

fn run(lab: &Lab, program: &str, arguments: &[&OsStr]) {
    let mut command = Command::new(program);
    succeeded(&command.args(arguments).current_dir(lab.path("")).output().unwrap());
}

pub(crate) fn object(lab: &Lab, source: &str) -> PathBuf {
    let source = Lab::repository().join(source);
    let name = format!("{}.o", Path::new(&source).file_name().unwrap().to_string_lossy());
    let object = lab.path(&name);
    let words = ["-O1", "-g", "-c"].map(OsStr::new);
    let (compiler, options): (_, &[&str]) = match name.contains(".f90") {
        true => ("gfortran", &["-fcoarray=lib"]),
        false => ("cc", &[]),
    };
    let options: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
    let rest = [source.as_os_str(), "-o".as_ref(), object.as_os_str()];
    run(lab, compiler, &[&words[..], &options, &rest].concat());
    object
}

pub(crate) fn linked(lab: &Lab, objects: &[&Path]) -> PathBuf {
    let program = lab.path("program");
    let mut words: Vec<&OsStr> = objects.iter().map(|it| it.as_os_str()).collect();
    words.extend(["-lcaf_openmpi".as_ref(), "-o".as_ref(), program.as_os_str()]);
    run(lab, "gfortran", &words);
    program
}

/// Runs a program of two images under Dwell and returns what was recorded.
fn recorded(mpi: &Mpi, lab: &Lab, program: &Path) -> Trace {
    let plain = mpi.run(lab, 2, &[program.as_os_str()]);
    assert_eq!((plain.code, lines(&plain.stdout)), (Some(0), lines("done\n")), "{plain:?}");
    let measured = mpi.measured(lab, 2, &[program.as_os_str()]);
    assert_eq!((measured.code, &measured.stdout), (Some(0), &plain.stdout), "{measured:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    Trace::read(&lab.experiment())
}

/// Holds the numbers of calls of both images against a list.
fn counts(trace: &Trace, expected: &[(&str, u64)]) {
    for image in 0..2 {
        for (name, calls) in expected {
            let counted = trace.counts.get(&(image, format!("coarray_{name}")));
            assert_eq!(counted.map_or(0, |it| it.calls), *calls, "{name} of image {image}");
        }
    }
}

#[test]
fn synchronisation_by_calls_is_recorded() {
    let Some((mpi, lab)) = open() else { return };
    let procedures = object(&lab, "tests/programs/caf_procedures.f90");
    let source = Lab::repository().join("tests/programs/caf_sync_calls.f90");
    let mut dwell = Command::new(env!("CARGO_BIN_EXE_dwell"));
    dwell.args(["build", "--", "gfortran", "-g", "-fcoarray=lib", "-c"]).arg(source);
    dwell.args(["-o", "calls.o"]).current_dir(lab.path(""));
    let said = succeeded(&dwell.env("XDG_CACHE_HOME", lab.path("cache")).output().unwrap());
    assert!(said.contains("11 statements with coarrays, 11 separated"), "{said}");
    let program = linked(&lab, &[&lab.path("calls.o"), &procedures]);
    let trace = recorded(&mpi, &lab, &program);
    let expected = [("sync_all", 2), ("sync_images", 3), ("sync_memory", 1), ("sync_file", 1)];
    counts(&trace, &expected);
    counts(&trace, &[("critical", 1), ("end_critical", 1), ("put", 1), ("get", 1)]);
}

#[test]
fn pcaf_from_fortran() {
    let Some((mpi, lab)) = open() else { return };
    let sources = ["include/pcaf.c", "include/pcaf.f90", "tests/programs/pcaf_figure.f90"];
    let objects = sources.map(|source| object(&lab, source));
    let trace = recorded(&mpi, &lab, &linked(&lab, &objects.each_ref().map(PathBuf::as_path)));
    let expected = [("sync_all", 2), ("sync_images", 3), ("sync_memory", 1), ("sync_file", 1)];
    counts(&trace, &expected);
    counts(&trace, &[("critical", 1), ("end_critical", 1), ("put", 2), ("get", 2)]);
    let all = operations(&trace, Layer::Coarray);
    // 512 elements of 4 bytes, then 5 of 8; and 2 and 3 elements of an unknown size.
    assert_eq!(all.get(&(0, "put", 1)), Some(&(2, 512 * 4 + 5 * 8)), "{all:?}");
    assert_eq!(all.get(&(1, "get", 0)), Some(&(2, 5)), "{all:?}");
}

#[test]
fn pcaf_from_c() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let include = Lab::repository().join("include");
    let options =
        [format!("-I{}", include.display()), include.join("pcaf.c").display().to_string()];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let program = mpi.compile(&lab, "tests/programs/pcaf.c", &options);
    let trace = recorded(&mpi, &lab, &program);
    let expected = [("sync_all", 1), ("sync_images", 1), ("critical", 1), ("end_critical", 1)];
    counts(&trace, &expected);
    let all = operations(&trace, Layer::Coarray);
    assert_eq!(all.get(&(0, "put", 1)), Some(&(2, 513 * 8)), "{all:?}");
    assert_eq!(all.get(&(1, "get", 0)), Some(&(2, 3 + 16)), "{all:?}");
}
