//! Call paths of programs that are not instrumented: from the stack, up to `main`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::Lab;
use crate::mpi::{Mpi, analysed, lines};
use crate::needs;
use crate::profile::{profile_is_trace, values};

const FLAGS: [&str; 2] = ["--unwind", "32"];

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(name);
    path.to_str().unwrap().to_owned()
}

/// Compiles a program in the usual way: optimised, without frame pointers.
fn compile(lab: &Lab, compiler: &Path, name: &str, options: &[&str], output: &str) -> PathBuf {
    let program = lab.path(output);
    let mut command = Command::new(compiler);
    command.env("OMPI_CC", if name.ends_with("cpp") { "g++" } else { "gcc" });
    command.env("MPICH_CC", if name.ends_with("cpp") { "g++" } else { "gcc" });
    command.args(["-O2", "-g", "-w", "-fomit-frame-pointer", "-pthread"]).arg(source(name));
    command.args(["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]).arg("-o").arg(&program);
    let output = command.args(options).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Returns the number of visits of each call path, over all locations, in the analysis of the last run.
fn visits(lab: &Lab) -> BTreeMap<String, f64> {
    let mut visits = BTreeMap::new();
    for ((name, path, _), value) in values(&lab.experiment().join("trace.cubex")) {
        // Files have slashes too, but no at signs.
        let steps: Vec<&str> = path.split('@').map(|it| it.rsplit('/').next().unwrap()).collect();
        if name == "visits" && value > 0.0 {
            *visits.entry(steps[1..steps.len() - 1].join("/")).or_default() += value;
        }
    }
    visits
}

/// Runs a program without and with Dwell, and returns the visits of its call paths.
fn measured(mpi: &Mpi, lab: &Lab, program: &Path, flags: &[&str]) -> BTreeMap<String, f64> {
    let plain = mpi.run(lab, 2, &[program.as_os_str()]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    let run = mpi.measured(lab, 2, &[&flags[..], &[program.as_os_str()]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(lines(&plain.stdout), lines(&run.stdout));
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    lab.accepted_by_otf2_print(&lab.experiment());
    visits(lab)
}

#[test]
fn the_way_to_a_call_in_cpp() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let compiler = mpi.compiler();
    let library = ["-DLIBRARY", "-shared", "-fPIC"];
    compile(&lab, compiler, "unwound.cpp", &library, "libunwound.so");
    let folder = format!("-L{}", lab.path("").display());
    let options = [folder.as_str(), "-lunwound", "-Wl,-rpath,$ORIGIN"];
    let program = compile(&lab, compiler, "unwound.cpp", &options, "unwound");

    // As ever: the program, and what it calls.
    let default = measured(&mpi, &lab, &program, &["--trace"]);
    assert_eq!(default.get("MPI_Barrier"), Some(&6.0), "{default:?}");
    assert!(default.keys().all(|path| !path.contains('/')), "{default:?}");

    let both = ["--profile", "--trace", "--set=clock=system"];
    let found = measured(&mpi, &lab, &program, &[&FLAGS[..], &both].concat());
    let expected = [
        ("main/work(int*)/by_itself(int*)/MPI_Barrier", 6.0),
        ("main/work(int*)/by_itself(int*)/inlined/MPI_Bcast", 6.0),
        ("main/work(int*)/in_a_library/MPI_Allreduce", 6.0),
        ("main/work(int*)/throws(int*)/MPI_Scan", 6.0),
        ("main/MPI_Init_thread", 2.0),
        ("main/MPI_Finalize", 2.0),
    ];
    for (path, visits) in expected {
        assert_eq!(found.get(path), Some(&visits), "{path} {found:?}");
    }
    // Through the C library, whatever its functions are called.
    let back = |path: &&String| {
        path.starts_with("main/work(int*)/")
            && path.ends_with("/compare(void const*, void const*)/MPI_Reduce")
    };
    let through: f64 = found.keys().filter(back).map(|path| found[path]).sum();
    assert_eq!(through, 6.0, "{found:?}");
    // A thread begins elsewhere.
    let threads = found.keys().filter(|path| path.ends_with("/MPI_Exscan"));
    assert!(threads.clone().count() > 0 && threads.clone().all(|path| !path.contains("main/")));
    assert!(profile_is_trace(&lab) > 50);

    // No further than it was told to look.
    let near = measured(&mpi, &lab, &program, &["--unwind", "2"]);
    assert_eq!(near.get("work(int*)/by_itself(int*)/MPI_Barrier"), Some(&6.0), "{near:?}");
}

#[test]
fn the_way_to_a_call_in_c_and_fortran() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = compile(&lab, mpi.compiler(), "unwound.c", &[], "unwound");
    let found = measured(&mpi, &lab, &program, &FLAGS);
    let probed = found.get("main/deep/deep/deep/inlined/MPI_Iprobe");
    assert_eq!(probed, Some(&2.0), "{found:?}");
    let Some(compiler) = mpi.fortran().filter(|_| needs::tools("FORTRAN", &["gfortran"])) else {
        return;
    };
    let program = lab.path("fortran_program");
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-fno-inline"]).arg(source("unwound.f90")).arg("-o").arg(&program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = measured(&mpi, &lab, &program, &FLAGS);
    let barrier = found.get("main/unwound/outer/outer/outer/inner/MPI_Barrier");
    assert_eq!(barrier, Some(&2.0), "{found:?}");
}

#[test]
fn the_way_through_functions_that_align_their_stack() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    for (compiler, options) in [("gcc", &["-O3", "-flto"][..]), ("clang", &["-O3"])] {
        if !needs::tools("CLANG", &[compiler]) {
            continue;
        }
        let lab = Lab::bare();
        let program = lab.path("realigned");
        let mut command = Command::new(mpi.compiler());
        command.env("OMPI_CC", compiler).env("MPICH_CC", compiler);
        command.args(options).arg("-g").arg(source("realigned.c"));
        let output = command.arg("-o").arg(&program).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found = measured(&mpi, &lab, &program, &FLAGS);
        let barrier = found.get("main/solver/kernel/inner/MPI_Barrier");
        assert_eq!(barrier, Some(&20.0), "{compiler}: {found:?}");
    }
}
