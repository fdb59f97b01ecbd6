//! Programs that ask the loader for functions themselves. They are recorded, and get the answers that they get without
//! Dwell, which depend on who asks.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, lines};
use crate::needs;
use crate::trace::Trace;

fn source(name: &str) -> PathBuf {
    Lab::repository().join("tests/programs").join(name)
}

/// Compiles a program without any runtime.
fn compile(lab: &Lab, name: &str, output: &str, options: &[&str]) -> PathBuf {
    let program = lab.path(output);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-g", "-w"]).arg(source(name)).arg("-o").arg(&program).args(options);
    assert!(cc.arg("-ldl").status().unwrap().success());
    program
}

/// Checks that both runs ended well and printed the same, and that the barriers of both ranks were recorded.
fn check(lab: &Lab, plain: &Run, measured: &Run) {
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert_eq!(measured.code, Some(0), "{measured:?}");
    assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{measured:?}");
    let trace = Trace::read(&lab.experiment());
    for rank in 0..2 {
        for (name, expected) in [("MPI_Init", 1), ("MPI_Barrier", 5), ("MPI_Finalize", 1)] {
            let calls = trace.counts.get(&(rank, name.into())).map_or(0, |it| it.calls);
            assert_eq!(calls, expected, "{name} of rank {rank}: {measured:?}");
        }
    }
    lab.accepted_by_otf2_print(&lab.experiment());
}

/// Returns the file name of the MPI library that programs of this compiler are linked with.
fn library(mpi: &Mpi, lab: &Lab) -> String {
    let program = mpi.compile(lab, "tests/programs/mpi_ring.c", &[]);
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let name = listed.split_whitespace().find(|word| word.starts_with("libmpi"));
    name.unwrap_or_else(|| panic!("{listed}")).to_owned()
}

#[test]
fn functions_that_python_asks_the_library_for_are_recorded() {
    if !needs::tools("PYTHON", &["python3"]) {
        return;
    }
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let (program, library) = (source("mpi_ctypes.py"), library(&mpi, &lab));
        let command = [OsStr::new("python3"), program.as_os_str(), OsStr::new(&library)];
        let plain = mpi.run(&lab, 2, &command);
        let measured = mpi.measured(&lab, 2, &command);
        check(&lab, &plain, &measured);
    }
}

#[test]
fn plug_ins_that_prefer_their_own_libraries_are_recorded() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::bare();
        let program = compile(&lab, "loader_deep.c", "loader_deep", &[]);
        for (when, option) in
            [("now", "-Wl,-z,now"), ("now", "-Wl,-z,lazy"), ("lazy", "-Wl,-z,lazy")]
        {
            let plugin =
                mpi.compile(&lab, "tests/programs/loader_plugin.c", &["-shared", "-fPIC", option]);
            let command = [program.as_os_str(), plugin.as_os_str(), OsStr::new(when)];
            let plain = mpi.run(&lab, 2, &command);
            let measured = mpi.measured(&lab, 2, &command);
            check(&lab, &plain, &measured);
        }
    }
}

/// Runs a program alone, with or without this library in front of other preloaded ones, or behind them.
fn run_with(program: &Path, preloaded: &[&Path]) -> String {
    let list: Vec<OsString> = preloaded.iter().map(OsString::from).collect();
    let list = list.join(OsStr::new(":"));
    let output = Command::new(program).env("LD_PRELOAD", list).output().unwrap();
    assert!(output.status.success(), "{preloaded:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The meaning of `RTLD_NEXT` and `RTLD_DEFAULT` and the search path of `dlopen` depend on the caller, and `dlerror` on the
/// call before.
#[test]
fn answers_of_the_loader_are_those_that_the_caller_gets_without_dwell() {
    let lab = Lab::bare();
    compile(&lab, "loader_apart.c", "apart/loader_apart.so", &["-shared", "-fPIC"]);
    let options = ["-rdynamic", "-Wl,-rpath,$ORIGIN/apart"];
    let program = compile(&lab, "loader_semantics.c", "loader_semantics", &options);
    let plain = run_with(&program, &[]);
    assert!(plain.contains("opened 1") && plain.contains("told"), "{plain}");
    assert_eq!(run_with(&program, &[lab.library()]), plain);
    // A tool that intercepts malloc, and one that intercepts dlsym as well, in front of this library and behind it.
    for (name, more) in [("loader_tool.so", None), ("counts.so", Some("-DCOUNTS_LOOKUPS"))] {
        let options: Vec<&str> = ["-shared", "-fPIC"].into_iter().chain(more).collect();
        let tool = compile(&lab, "loader_tool.c", name, &options);
        let plain = run_with(&program, &[&tool]);
        assert_eq!(plain.contains("lookups 2"), more.is_some(), "{plain}");
        assert_eq!(run_with(&program, &[lab.library(), &tool]), plain);
        assert_eq!(run_with(&program, &[&tool, lab.library()]), plain);
    }
}
