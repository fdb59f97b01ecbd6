//! Coarrays on OpenCoarrays over Open MPI, measured without compiling or linking anything again.
//!
//! Needs `gfortran`, `libcaf_openmpi.so` and `mpirun.openmpi`; without them the tests say so and pass, unless
//! `DWELL_REQUIRE_CAF=1`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use otf2::Event;
use serde_json::Value;

use crate::lab::{Lab, have};
use crate::mpi::{Mpi, analysed, lines};
use crate::trace::{Trace, said};

/// Open MPI and a lab, if there are coarrays.
fn open() -> Option<(Mpi, Lab)> {
    const REQUIREMENT: &str = "DWELL_REQUIRE_CAF";
    let library = Path::new("/usr/lib/x86_64-linux-gnu/libcaf_openmpi.so");
    if !library.exists() {
        let required = std::env::var_os(REQUIREMENT).is_some_and(|value| value == "1");
        assert!(!required, "{REQUIREMENT} is set, but there is no {}", library.display());
        eprintln!("skipped: there are no coarrays");
        return None;
    }
    let mpi = Mpi::named("mpicc.openmpi").filter(|_| have("gfortran", REQUIREMENT))?;
    Some((mpi, Lab::bare()))
}

fn compile(lab: &Lab, source: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
    let program = lab.path(path.file_stem().unwrap().to_str().unwrap());
    let mut gfortran = Command::new("gfortran");
    gfortran.args(["-O1", "-g", "-fcoarray=lib"]).arg(path).arg("-o").arg(&program);
    let output = gfortran.arg("-lcaf_openmpi").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs a program without Dwell and with it: it does the same, and the trace has what it says of itself.
fn same_and_counted(mpi: &Mpi, lab: &Lab, images: u32, command: &[&OsStr]) {
    let plain = mpi.run(lab, images, command);
    assert_eq!(plain.code, Some(0), "{command:?} {plain:?}");
    let measured = mpi.measured(lab, images, command);
    assert_eq!(measured.code, plain.code, "{command:?} {measured:?}");
    assert_eq!(lines(&plain.stdout), lines(&measured.stdout), "{command:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    let counted = Trace::read(&lab.experiment()).counts;
    let told = said(&measured.stdout);
    assert!(!told.is_empty(), "{command:?} says nothing of itself");
    for (what, count) in told {
        assert_eq!(counted.get(&what), Some(&count), "{command:?} {what:?}");
    }
}

#[test]
fn every_feature_does_the_same_and_is_counted() {
    let Some((mpi, lab)) = open() else { return };
    let program = compile(&lab, "tests/programs/caf_features.f90");
    same_and_counted(&mpi, &lab, 2, &[program.as_os_str()]);
}

#[test]
fn a_halo_with_four_ways_to_synchronise() {
    let Some((mpi, lab)) = open() else { return };
    let program = compile(&lab, "examples/halo/halo.f90");
    let command = [program.as_os_str(), OsStr::new("--count"), OsStr::new("1")];
    same_and_counted(&mpi, &lab, 4, &command);
}

/// Calls of MPI stand inside calls of coarrays, and no call of coarrays inside another.
#[test]
fn mpi_is_inside() {
    let Some((mpi, lab)) = open() else { return };
    let program = compile(&lab, "tests/programs/caf_features.f90");
    let run = mpi.measured(&lab, 2, &[program.as_os_str(), OsStr::new("transfer")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let mut inside = BTreeSet::new();
    for (location, _) in trace.locations() {
        let mut reader = trace.archive.events(location).unwrap();
        let mut open: Vec<String> = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            match record.event {
                Event::Enter(enter) => {
                    let name = trace.region(enter.region);
                    if let Some(above) = open.last() {
                        inside.insert((above.clone(), name.clone()));
                    }
                    open.push(name);
                }
                Event::Leave(_) => drop(open.pop()),
                _ => {}
            }
        }
    }
    let has = |above: &str, name: &str| inside.contains(&(above.to_string(), name.to_string()));
    assert!(has("_gfortran_caf_get", "MPI_Get"), "{inside:?}");
    assert!(has("_gfortran_caf_send", "MPI_Put"), "{inside:?}");
    assert!(has("_gfortran_caf_sync_all", "MPI_Barrier"), "{inside:?}");
    let caf = |name: &str| name.starts_with("_gfortran_caf_");
    assert!(!inside.iter().any(|(above, name)| caf(above) && caf(name)), "{inside:?}");

    // Each layer is counted by itself: five gets and four puts of each image.
    analysed(&lab, &lab.experiment());
    let experiment = lab.experiment();
    let command = ["report", "--metrics", "--json"].map(OsStr::new);
    let output = lab.dwell(&[&command[..], &[experiment.as_os_str()]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let value = |name: &str| {
        let rows = report["metrics"].as_array().unwrap();
        let row = rows.iter().find(|row| row["metric"].as_str().unwrap().trim() == name);
        row.unwrap_or_else(|| panic!("{name}: {report}"))["value"].as_f64().unwrap()
    };
    assert_eq!((value("caf_comms_rma_gets"), value("caf_comms_rma_puts")), (10.0, 8.0));
    assert!(value("comms_rma_gets") >= 10.0, "{report}");
}

/// Milliseconds by which image 2 is late.
const DELAY: f64 = 300.0;

fn seconds(findings: &Value, pattern: &str, function: &str) -> f64 {
    let all = findings["findings"].as_array().unwrap().iter();
    let these = all.filter(|finding| {
        let last = finding["path"].as_array().unwrap().last().unwrap();
        finding["pattern"] == pattern && last["region"] == function
    });
    these
        .inspect(|finding| {
            let last = finding["path"].as_array().unwrap().last().unwrap();
            let file = last["file"].as_str().unwrap_or_default();
            assert!(function.starts_with("MPI_") || file.ends_with(".f90"), "{last}");
            // The call took at least as long as it waited.
            assert!(finding["path_seconds"].as_f64() >= finding["seconds"].as_f64(), "{finding}");
        })
        .flat_map(|finding| finding["origins"].as_array().unwrap())
        .filter(|origin| origin["who"] == "Rank 0")
        .map(|origin| origin["seconds"].as_f64().unwrap())
        .sum()
}

fn findings(mpi: &Mpi, lab: &Lab, program: &Path, kind: &str, delay: &str, more: &[&str]) -> Value {
    let command = [program.as_os_str(), OsStr::new(kind), OsStr::new(delay)];
    let run = mpi.measured(lab, 2, &command);
    assert_eq!(run.code, Some(0), "{run:?}");
    let experiment = lab.experiment();
    let more: Vec<&OsStr> = more.iter().map(OsStr::new).collect();
    let output = lab.dwell(&[&[OsStr::new("analyze"), experiment.as_os_str()][..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(experiment.join("findings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Waits are found at the call of coarrays, as long as they were, and not without a delay.
#[test]
fn waits_are_found_at_the_layer_of_the_source() {
    let Some((mpi, lab)) = open() else { return };
    let program = compile(&lab, "tests/programs/caf_delays.f90");
    let cases = [
        ("sync_all", "barrier_wait", "_gfortran_caf_sync_all"),
        ("sync_images", "late_partner", "_gfortran_caf_sync_images"),
        ("event", "late_signal", "_gfortran_caf_event_wait"),
        ("lock", "lock_contention", "_gfortran_caf_lock"),
        ("broadcast", "late_broadcast", "_gfortran_caf_co_broadcast"),
        ("sum", "nxn_wait", "_gfortran_caf_co_sum"),
    ];
    for (kind, pattern, function) in cases {
        // In one of three tries: the machine may be busy with something else.
        let expected = DELAY / 1000.0;
        let mut tries = (0..3).map(|_| {
            let all = findings(&mpi, &lab, &program, kind, &DELAY.to_string(), &[]);
            seconds(&all, pattern, function)
        });
        let is_right = |found: f64| (found - expected).abs() <= 0.05 * expected;
        assert!(tries.any(is_right), "{kind} was not found, or not as long as it was");
        let without = findings(&mpi, &lab, &program, kind, "0", &[]);
        let without = seconds(&without, pattern, function);
        assert!(without < 0.2 * expected, "{kind} without a delay: {without}");
    }
}

/// At MPI, which is below, if that is asked for; and then nowhere else.
#[test]
fn waits_are_found_at_mpi_if_asked_for() {
    let Some((mpi, lab)) = open() else { return };
    let program = compile(&lab, "tests/programs/caf_delays.f90");
    let delay = DELAY.to_string();
    let all = findings(&mpi, &lab, &program, "sync_all", &delay, &["--layer", "mpi"]);
    let found = seconds(&all, "barrier_wait", "MPI_Barrier");
    assert!((found - DELAY / 1000.0).abs() <= 0.15 * DELAY / 1000.0, "{found}");
    assert_eq!(seconds(&all, "barrier_wait", "_gfortran_caf_sync_all"), 0.0);
}
