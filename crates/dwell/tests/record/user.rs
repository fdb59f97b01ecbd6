//! Code of the program: instrumented functions, named regions, phases, parameters and counters, from C, C++ and
//! Fortran.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, analysed, lines};
use crate::needs;
use crate::profile::{profile_is_trace, values};
use crate::trace::{Trace, said};

fn folder(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    path.to_str().unwrap().to_owned()
}

/// Analyses the run, which resolves names, and checks that the trace contains what the program reported.
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

/// Compiles a program together with the module for Fortran.
fn fortran(mpi: &Mpi, lab: &Lab, source: &str, options: &[&str]) -> Option<PathBuf> {
    let compiler = mpi.fortran().filter(|_| needs::tools("FORTRAN", &["gfortran"]))?;
    let program = lab.path("fortran_program");
    let mut command = Command::new(compiler);
    command.args(["-g", "-J"]).arg(lab.path("")).args(options);
    command.args([folder("include/dwell.f90"), folder(source)]);
    let output = command.arg("-o").arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

#[test]
fn regions_of_fortran() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let options = ["-finstrument-functions"];
    let Some(program) = fortran(&mpi, &lab, "tests/programs/user_code.f90", &options) else {
        return;
    };
    let command = [program.as_os_str()];
    let (plain, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
    counted(&lab, &plain, &measured);
}

/// Returns a table of `dwell report` as rows.
fn report(lab: &Lab, arguments: &[&str]) -> Vec<Value> {
    let experiment = lab.experiment();
    let mut command = vec![OsStr::new("report"), experiment.as_os_str(), OsStr::new("--json")];
    command.extend(arguments.iter().map(OsStr::new));
    let output = lab.dwell(&command);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let tables: Value = serde_json::from_slice(&output.stdout).unwrap();
    let table = tables.as_object().unwrap().values().find_map(Value::as_array);
    table.unwrap().clone()
}

/// Returns the values of a metric in the analysis of the trace, by the last steps of the call path, over all locations.
fn sums(lab: &Lab, metric: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for ((name, path, _), value) in values(&lab.experiment().join("trace.cubex")) {
        // Files have slashes too, but no at signs.
        let steps: Vec<&str> = path.split('@').map(|it| it.rsplit('/').next().unwrap()).collect();
        if name == metric {
            *sums.entry(steps[..steps.len() - 1].join("/")).or_default() += value;
        }
    }
    sums
}

#[test]
fn phases_parameters_and_counters() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let include = format!("-I{}", folder("include"));
    // By the clock of the system, so that trace and profile are the same to the nanosecond.
    let flags = ["--profile", "--trace", "--set=clock=system"].map(OsStr::new);
    for source in ["tests/programs/user_says.c", "tests/programs/user_says.cpp"] {
        let off = mpi.compile(&lab, source, &[&include, "-DDWELL_OFF"]);
        let without = mpi.run(&lab, 2, &[off.as_os_str()]);
        let program = mpi.compile(&lab, source, &[&include]);
        let command = [program.as_os_str(), OsStr::new("200")];
        let plain = mpi.run(&lab, 2, &command);
        assert_eq!(lines(&without.stdout), lines(&plain.stdout));
        let measured = mpi.measured(&lab, 2, &[&flags[..], &command].concat());
        counted(&lab, &plain, &measured);
        assert!(profile_is_trace(&lab) > 100);

        // Where parameters were set, calls are apart, and nothing is counted twice.
        let visits = sums(&lab, "visits");
        let program = program.file_name().unwrap().to_str().unwrap();
        let rank_1 = format!("{program}/all_steps/solver=cg/seed=9223372036854775808");
        for (steps, count) in [(format!("{program}/all_steps"), 4.0), (rank_1, 4.0)] {
            assert_eq!(visits.get(&format!("{steps}/step")), Some(&count), "{visits:?}");
            let at = format!("{steps}/step/instance=2/both_levels");
            assert_eq!(visits.get(&at), Some(&1.0));
            assert_eq!(visits.get(&format!("{at}/level=1")), Some(&1.0));
            assert_eq!(visits.get(&format!("{at}/level=1/solver=cg/MPI_Barrier")), Some(&1.0));
            assert_eq!(visits.get(&format!("{at}/level=0/solver=gmres/MPI_Barrier")), Some(&1.0));
        }
        assert_eq!(visits.get(&format!("{program}/level=-1/MPI_Barrier")), Some(&2.0));

        // The late step is the one that is waited in.
        let steps = report(&lab, &["--by", "step", "--top", "100"]);
        let of = |row: &Value, column: &str| row[column].as_f64().unwrap();
        let numbers: Vec<&str> = steps.iter().map(|row| row["value"].as_str().unwrap()).collect();
        assert_eq!(numbers, ["0", "1", "2", "3"]);
        assert!(steps.iter().all(|row| of(row, "visits") == 2.0), "{steps:?}");
        assert!(of(&steps[2], "waiting") > 0.1 && of(&steps[2], "longest") > 0.2, "{steps:?}");
        let waiting = steps.iter().map(|row| of(row, "waiting")).sum::<f64>();
        let all = sums(&lab, "mpi_barrier_wait").into_iter();
        let all: f64 = all.filter(|(at, _)| at.contains("/step/")).map(|(_, value)| value).sum();
        assert!(waiting >= all - 1e-9, "{waiting} of {all}");
        let levels = report(&lab, &["--by", "level", "--metric", "visits"]);
        assert_eq!(levels.len(), 3);
        assert!(of(&levels[2], "waiting") > 0.1 && levels[2]["value"] == "1", "{levels:?}");

        // One line for the barrier of all steps, in the ranking as in the analysis.
        let waits = report(&lab, &["--metric", "mpi_barrier_wait"]);
        let all_steps = waits.iter().filter(|row| {
            let path = row["call_path"].as_str().unwrap();
            path.ends_with("all_steps / step / both_levels / MPI_Barrier")
        });
        assert_eq!(all_steps.count(), 1, "{waits:?}");
        let found = fs::read(lab.experiment().join("findings.json")).unwrap();
        let found: Value = serde_json::from_slice(&found).unwrap();
        let first = &found["findings"][0];
        assert_eq!((&first["visits"], &first["locations"]), (&json!(16), &json!(2)), "{first}");
        assert!(!first["path"].to_string().contains("instance="), "{first}");

        let counters = report(&lab, &["--counters"]);
        let row = |name: &str| counters.iter().find(|row| row["counter"] == name).unwrap();
        let numbers = |name: &str| {
            let columns = ["values", "least", "mean", "largest", "sum"];
            columns.map(|column| row(name)[column].as_f64().unwrap())
        };
        assert_eq!(numbers("only_one_has_it"), [1.0, -7.0, -7.0, -7.0, -7.0]);
        assert_eq!(numbers("particles"), [8.0, -3.0, 48.5, 100.0, 388.0]);
        let [values, least, _, largest, sum] = numbers("residual");
        assert_eq!((values, least, largest), (16.0, -0.75, 1.0));
        assert!((sum - (4.0 * (1.0 + 0.5 + 1.0 / 3.0 + 0.25) - 8.0)).abs() < 1e-12);
        assert_eq!(row("only_one_has_it")["unit"], "bytes");
    }
}

#[test]
fn phases_of_fortran() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let Some(program) = fortran(&mpi, &lab, "tests/programs/user_says.f90", &[]) else { return };
    let command = [program.as_os_str()];
    let (plain, measured) = (mpi.run(&lab, 2, &command), mpi.measured(&lab, 2, &command));
    counted(&lab, &plain, &measured);
    let visits = sums(&lab, "visits");
    let at = "fortran_program/all_steps/step/instance=3/level=1/solver=cg/MPI_Barrier";
    assert_eq!(visits.get(at), Some(&2.0), "{visits:?}");
    let counters = report(&lab, &["--counters"]);
    let cells = counters.iter().find(|row| row["counter"] == "cells").unwrap();
    assert_eq!((&cells["values"], &cells["sum"]), (&json!(6), &json!(12000.0)));
}
