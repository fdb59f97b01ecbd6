//! ARMCI and Global Arrays over Open MPI, linked with the hooks of `dwell build flags`.
//!
//! Needs `libarmci-openmpi.a`, `libga-openmpi.a` and `mpicc.openmpi`; without them the tests say so and pass,
//! unless `DWELL_REQUIRE_ARMCI=1`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::completions::{self, Completes};
use crate::lab::{Lab, rows_of_tree};
use crate::mpi::{Mpi, analysed, lines};
use crate::needs;
use crate::trace::{Trace, said};
use crate::trial::Program;

/// Returns Open MPI and a lab, if ARMCI is installed.
pub(crate) fn open() -> Option<(Mpi, Lab)> {
    let there = ["libarmci-openmpi.a", "libga-openmpi.a"]
        .iter()
        .all(|name| Path::new("/usr/lib/x86_64-linux-gnu").join(name).exists());
    let mpi = Mpi::named("mpicc.openmpi").filter(|_| there);
    if mpi.is_none() {
        needs::missing("ARMCI", "there is no ARMCI");
    }
    Some((mpi?, Lab::bare()))
}

const ARMCI: &[&str] = &["-larmci-openmpi"];
pub(crate) const GA: &[&str] =
    &["-lga-openmpi", "-lscalapack-openmpi", "-llapack", "-lblas", "-larmci-openmpi", "-lgfortran"];

/// Compiles a program with the flags that Dwell prints, or without.
pub(crate) fn compile(
    mpi: &Mpi,
    lab: &Lab,
    source: &str,
    runtime: Option<&str>,
    libraries: &[&str],
) -> PathBuf {
    let mut options: Vec<String> = Vec::new();
    if let Some(runtime) = runtime {
        let folder = lab.path("hooks");
        let command = ["build", "flags", runtime, "-o"].map(OsStr::new);
        let output = lab.dwell(&[&command[..], &[folder.as_os_str()]].concat());
        assert!(output.status.success(), "{output:?}");
        options.push(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    options.extend(libraries.iter().map(|&library| library.to_owned()));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let program = mpi.compile(lab, source, &options);
    let name = lab.path(if runtime.is_some() { "hooked" } else { "plain" });
    std::fs::rename(program, &name).unwrap();
    name
}

/// Compiles a program of ARMCI with hooks.
pub(crate) fn hooked(mpi: &Mpi, lab: &Lab, source: &str) -> PathBuf {
    compile(mpi, lab, source, Some("armci"), ARMCI)
}

/// Runs a program that was linked without hooks, with hooks, and measured. All three print the same, and the trace
/// contains the calls that the program counted.
pub(crate) fn same_and_counted(
    mpi: &Mpi,
    lab: &Lab,
    plain: &Path,
    hooked: &Path,
    arguments: &[&str],
) {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let hooked = [&[hooked.as_os_str()][..], &arguments].concat();
    let plain = mpi.run(lab, 2, &[&[plain.as_os_str()][..], &arguments].concat());
    assert_eq!(plain.code, Some(0), "{arguments:?} {plain:?}");
    let unmeasured = mpi.run(lab, 2, &hooked);
    let measured = mpi.measured(lab, 2, &hooked);
    for run in [&unmeasured, &measured] {
        assert_eq!(run.code, plain.code, "{arguments:?} {run:?}");
        assert_eq!(lines(&plain.stdout), lines(&run.stdout), "{arguments:?}");
    }
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    let counted = Trace::read(&lab.experiment()).counts;
    // Who does how much may differ from run to run: then it is said elsewhere.
    let told = said(&(measured.stdout + &measured.stderr));
    assert!(!told.is_empty(), "{arguments:?} says nothing of itself");
    for (what, count) in told {
        assert_eq!(counted.get(&what), Some(&count), "{arguments:?} {what:?}");
    }
}

#[test]
fn every_family_does_the_same_and_is_counted() {
    let Some((mpi, lab)) = open() else { return };
    let source = "tests/programs/armci_families.c";
    let plain = compile(&mpi, &lab, source, None, ARMCI);
    let hooked = compile(&mpi, &lab, source, Some("armci"), ARMCI);
    same_and_counted(&mpi, &lab, &plain, &hooked, &[]);
}

#[test]
fn programs_do_the_same_and_are_counted() {
    let Some((mpi, lab)) = open() else { return };
    let programs: [(&str, &str, &[&str], &[&str]); 3] = [
        ("examples/ga-dgemm/ga-dgemm.c", "ga", GA, &["--count", "64", "2"]),
        ("tests/programs/ga_tasks.c", "ga", GA, &["12"]),
        ("examples/armci-sor/armci-sor.c", "armci", ARMCI, &["--count", "32", "5"]),
    ];
    for (source, runtime, libraries, arguments) in programs {
        let plain = compile(&mpi, &lab, source, None, libraries);
        let hooked = compile(&mpi, &lab, source, Some(runtime), libraries);
        same_and_counted(&mpi, &lab, &plain, &hooked, arguments);
    }
}

/// Returns the values of a tree of calls: depth, name, and inclusive and exclusive seconds.
fn tree(lab: &Lab) -> Vec<(usize, String, f64, f64)> {
    let experiment = lab.experiment();
    let command = ["report", "--tree", "time", "--top", "1000", "--json"].map(OsStr::new);
    let output = lab.dwell(&[&command[..], &[experiment.as_os_str()]].concat());
    assert!(output.status.success(), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |row: &Value, name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{row}"));
    rows_of_tree(&json["tree"])
        .into_iter()
        .map(|(depth, row)| {
            let name = row["call"].as_str().unwrap().to_owned();
            (depth, name, number(row, "inclusive"), number(row, "own"))
        })
        .collect()
}

/// Application, Global Arrays, ARMCI and MPI are one tree, and time is counted once.
#[test]
fn four_layers_in_one_tree() {
    let Some((mpi, lab)) = open() else { return };
    compile(&mpi, &lab, "examples/ga-dgemm/ga-dgemm.c", Some("ga"), GA);
    let run = mpi.measured(&lab, 2, &["./hooked", "64", "2"].map(OsStr::new));
    assert_eq!(run.code, Some(0), "{run:?}");
    analysed(&lab, &lab.experiment());
    let rows = tree(&lab);
    let mut open: Vec<&str> = Vec::new();
    let mut found = false;
    for (depth, name, _, _) in &rows {
        open.truncate(*depth);
        open.push(name);
        let layers = ["hooked", "GA_Dgemm", "ARMCI_", "MPI_"];
        found |= open.len() == 4 && open.iter().zip(layers).all(|(name, of)| name.starts_with(of));
    }
    assert!(found, "{rows:?}");
    let (whole, own): (f64, f64) = (rows[0].2, rows.iter().map(|row| row.3).sum());
    assert!((whole - own).abs() < 1e-6 * whole, "{whole} {own}");
}

/// Waits are found at ARMCI, as long as they were, and not without a delay.
#[test]
fn waits_are_found_at_armci() {
    let Some((mpi, lab)) = open() else { return };
    // A component of Open MPI in which the target has to help.
    let mpi = mpi.with(&["-mca", "osc", "pt2pt"]);
    let libraries = [&["-fno-optimize-sibling-calls"], ARMCI].concat();
    compile(&mpi, &lab, "tests/programs/armci_delays.c", Some("armci"), &libraries);
    let run =
        |words: &[&OsStr]| mpi.measured(&lab, 2, &[&[OsStr::new("./hooked")], words].concat());
    let source = include_str!("../../../../tests/programs/armci_delays.c");
    let program = Program { lab: &lab, source, waiter: "Rank 1", run: &run };
    let trials = program.trials(&["barrier", "sum", "lock", "get", "fence"]);
    trials.find("barrier", "barrier_wait", "ARMCI_Barrier", "Rank 0");
    trials.find("sum", "nxn_wait", "armci_msg_lgop", "Rank 0");
    trials.find("lock", "lock_contention", "ARMCI_Lock", "Rank 0");
    trials.find("get", "wait_for_progress", "ARMCI_Get", "Rank 0");
    trials.find("fence", "wait_for_progress", "ARMCI_Fence", "Rank 0");
}

/// Puts that complete in another order than they were issued.
#[test]
fn operations_complete_when_the_trace_says_so() {
    let Some((mpi, lab)) = open() else { return };
    let programs = [
        ("tests/programs/completions_armci.c", "armci", ARMCI),
        ("tests/programs/completions_ga.c", "ga", GA),
    ];
    for (source, runtime, libraries) in programs {
        compile(&mpi, &lab, source, Some(runtime), libraries);
        let run = mpi.measured(&lab, 3, &[OsStr::new("./hooked")]);
        assert_eq!(run.code, Some(0), "{run:?}");
        completions::agree(&lab, 2, Completes::Numbered);
    }
}
