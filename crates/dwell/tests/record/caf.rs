//! Coarrays on OpenCoarrays over Open MPI, measured without compiling or linking anything again.
//!
//! Needs `gfortran`, `libcaf_openmpi.so` and `mpirun.openmpi`; without them the tests say so and pass, unless
//! `DWELL_REQUIRE_CAF=1`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use otf2::Event;
use serde_json::{Value, json};

use crate::coarray::{MODES, hold_delays};
use crate::lab::{Lab, rows_of_tree};
use crate::mpi::{Mpi, analysed, lines};
use crate::needs;
use crate::trace::{Trace, said};
use crate::trial::{DELAY, Program};

/// Returns Open MPI and a lab, if coarrays are installed.
pub(crate) fn open() -> Option<(Mpi, Lab)> {
    let library = Path::new("/usr/lib/x86_64-linux-gnu/libcaf_openmpi.so");
    if !library.exists() {
        needs::missing("CAF", &format!("there is no {}", library.display()));
        return None;
    }
    let mpi = Mpi::named("mpicc.openmpi").filter(|_| needs::tools("CAF", &["gfortran"]))?;
    Some((mpi, Lab::bare()))
}

pub(crate) fn compile(lab: &Lab, source: &str) -> PathBuf {
    compile_all(lab, &[source], &[])
}

/// A program of several files, named as the first of them.
fn compile_all(lab: &Lab, sources: &[&str], options: &[&str]) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = lab.path(Path::new(sources[0]).file_stem().unwrap().to_str().unwrap());
    let mut gfortran = Command::new("gfortran");
    gfortran.args(["-O1", "-g", "-fcoarray=lib"]).args(options);
    gfortran.args(sources.iter().map(|source| home.join(source))).arg("-o").arg(&program);
    let output = gfortran.arg("-lcaf_openmpi").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs a program without Dwell and with it. Both print the same, and the trace contains the calls that the program
/// counted.
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

/// The wrapper `caf` links the static library, whose functions cannot be hooked. Dwell says so and gives advice.
#[test]
fn a_static_library_of_coarrays_is_named() {
    let Some((mpi, lab)) = open() else { return };
    if Command::new("caf").arg("--version").output().is_err() {
        return needs::missing("CAF", "there is no caf");
    }
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = lab.path("static");
    let mut caf = Command::new("caf");
    caf.arg(home.join("tests/programs/caf_features.f90")).arg("-o").arg(&program);
    let output = caf.current_dir(lab.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = mpi.measured(&lab, 2, &[program.as_os_str(), OsStr::new("transfer")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&[OsStr::new("doctor"), program.as_os_str()]);
    for text in [run.stderr, String::from_utf8_lossy(&output.stdout).into_owned()] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("linked into it statically"), "{text}");
        assert!(text.contains("-lcaf_openmpi"), "{text}");
    }
    // This is not said of a program that has the shared library.
    let program = compile(&lab, "tests/programs/caf_features.f90");
    let output = lab.dwell(&[OsStr::new("doctor"), program.as_os_str()]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("statically"), "{output:?}");
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
        let rows = rows_of_tree(&report["metrics"]);
        let row = rows.iter().find(|(_, row)| row["metric"] == name).map(|(_, row)| row);
        row.unwrap_or_else(|| panic!("{name}: {report}"))["value"].as_f64().unwrap()
    };
    assert_eq!((value("caf_comms_rma_gets"), value("caf_comms_rma_puts")), (10.0, 8.0));
    assert!(value("comms_rma_gets") >= 10.0, "{report}");
}

/// Returns the rows of a tree in a report: a name and a value of each, sorted.
fn rows(lab: &Lab, view: &[&str], list: &str, [name, value]: [&str; 2]) -> Vec<(String, String)> {
    let experiment = lab.experiment();
    let words = ["report", "--json"].iter().chain(view).map(OsStr::new);
    let words: Vec<&OsStr> = words.chain([experiment.as_os_str()]).collect();
    let output = lab.dwell(&words);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = |(_, row): (usize, &Value)| (row[name].to_string(), row[value].to_string());
    let mut rows: Vec<_> = rows_of_tree(&report[list]).into_iter().map(row).collect();
    rows.sort();
    rows
}

/// A statement that becomes thousands of calls of MPI is recorded as one call of the coarray runtime with a few below it,
/// and all counts are those of a recording of every call.
#[test]
fn calls_inside_a_statement_are_counted() {
    let Some((mpi, lab)) = open() else { return };
    let program = compile(&lab, "tests/programs/caf_elements.f90");
    let command = [program.as_os_str(), OsStr::new("80"), OsStr::new("2")];
    let recorded = |inner: &str| {
        let run = mpi.measured_with(&lab, 2, &[OsStr::new(inner)], &command);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stdout.contains("sum 9600\n"), "{run:?}");
        lab.accepted_by_otf2_print(&lab.experiment());
        analysed(&lab, &lab.experiment());
        let tree = ["--tree", "visits", "--depth", "9", "--top", "1000"];
        let visits = rows(&lab, &tree, "tree", ["call_path", "own"]);
        let mut metrics = rows(&lab, &["--metrics"], "metrics", ["metric", "value"]);
        metrics.retain(|(name, _)| name.contains("comms_rma") || name.contains("bytes"));
        let trace = Trace::read(&lab.experiment());
        let mut events = 0;
        for (location, _) in trace.locations() {
            let mut reader = trace.archive.events(location).unwrap();
            while reader.next().unwrap().is_some() {
                events += 1;
            }
        }
        (events, visits, metrics, run.stderr)
    };
    let (all_events, all_visits, all_metrics, _) = recorded("DWELL_LAYER=mpi-inner=all");
    let (events, visits, metrics, said) = recorded("DWELL_LAYER=mpi-inner=first");
    // 40 times 40 elements of the other image, by two images in two rounds.
    let gets = visits.iter().filter(|(name, _)| name.ends_with("MPI_Get\""));
    assert_eq!(gets.map(|(_, calls)| calls.parse().unwrap_or(0.0)).sum::<f64>(), 6_400.0);
    assert!(!metrics.is_empty());
    assert_eq!((visits, metrics), (all_visits, all_metrics));
    assert!(events * 20 < all_events, "{events} and {all_events} events");
    assert!(said.contains("more calls inside these were counted"), "{said}");
}

/// A statement that becomes thousands of calls of MPI is a finding, with a remedy that removes it.
#[test]
fn calls_that_become_many_calls_of_mpi_are_found() {
    let Some((mpi, lab)) = open() else { return };
    let program = compile(&lab, "tests/programs/caf_elements.f90");
    let found = |option: &[&str], inner: &str| {
        let words = option.iter().chain(&["80", "20"]).map(OsStr::new);
        let command: Vec<&OsStr> = std::iter::once(program.as_os_str()).chain(words).collect();
        let run = mpi.measured_with(&lab, 2, &[OsStr::new(inner)], &command);
        assert_eq!(run.code, Some(0), "{run:?}");
        analysed(&lab, &lab.experiment());
        let text = fs::read(lab.experiment().join("findings.json")).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        let mut list = document["inefficient"].as_array().unwrap().iter();
        list.find(|it| it["pattern"] == "many_calls_below").cloned()
    };
    for inner in ["DWELL_LAYER=mpi-inner=first", "DWELL_LAYER=mpi-inner=all"] {
        let it = found(&[], inner).expect("it is found");
        let evidence = &it["evidence"];
        // 40 times 40 elements of the other image, by two images in twenty rounds.
        assert_eq!(
            (&evidence["inner_calls"], &evidence["bytes_each"]),
            (&json!(64_000), &json!(8))
        );
        assert_eq!(evidence["region"], "MPI_Get", "{it:#}");
        // Half of the statements access the own image, which takes no call of MPI.
        assert_eq!((&it["calls"], &it["layer"]), (&json!(80), &json!("caf")), "{it:#}");
        let step = it["path"].as_array().unwrap().last().unwrap();
        assert_eq!(step["region"], "_gfortran_caf_get", "{it:#}");
        assert!(it["remedy"].as_str().unwrap().contains("array of explicit shape"), "{it:#}");
        let least = it["origins"][0]["who"].as_str().unwrap();
        assert!(["Image 1", "Image 2"].contains(&least), "{it:#}");
    }
    assert_eq!(found(&["--packed"], "DWELL_LAYER=mpi-inner=first"), None);
}

/// Calls `then` with the program that waits, on this many images.
fn delays<T>(lab: &Lab, mpi: &Mpi, images: u32, then: impl FnOnce(&Program<'_>) -> T) -> T {
    let names = ["tests/programs/caf_delays.F90", "tests/programs/caf_delays.c"];
    let path = compile_all(lab, &names, &["-fno-inline", "-ffree-line-length-none"]);
    let run = |words: &[&OsStr]| mpi.measured(lab, images, &[&[path.as_os_str()], words].concat());
    let source = include_str!("../../../../tests/programs/caf_delays.F90");
    then(&Program { lab, source, waiter: "Image 2", run: &run })
}

/// Waits are found at the call of coarrays, as long as they were, and not without a delay.
#[test]
fn waits_are_found_at_the_layer_of_the_source() {
    let Some((mpi, lab)) = open() else { return };
    let trials = delays(&lab, &mpi, 2, |program| program.trials(&MODES));
    hold_delays(&trials, "_gfortran_caf_");
}

/// An image that computes makes no progress for gets of other images.
#[test]
fn an_image_that_computes_serves_nobody() {
    let Some((mpi, lab)) = open() else { return };
    let mpi = mpi.with(&["-mca", "osc", "pt2pt"]);
    let trials = delays(&lab, &mpi, 2, |program| program.trials(&["get"]));
    trials.find("get", "wait_for_progress", "_gfortran_caf_get", "Image 1");
}

/// Images 1 and 2 call `sync images` without image 3. The `sync all` that follows is one instance for all three
/// images, in the coarray layer and in MPI below it.
#[test]
fn sync_all_is_matched_after_sync_images_of_some_images() {
    let Some((mpi, lab)) = open() else { return };
    let trials = delays(&lab, &mpi, 3, |program| program.trials(&["subset"]));
    trials.find("subset", "barrier_wait", "_gfortran_caf_sync_all", "Image 3");
    let left_out = trials.late.findings["not_computed"].to_string();
    assert!(!left_out.contains("collectives"), "{left_out}");

    // The image that the program knows of waited at MPI as long as at the coarray layer.
    let trial = delays(&lab, &mpi, 3, |program| program.trial(DELAY, &["subset"]));
    let found = at_mpi(&lab);
    let seconds = waited_in_barriers(&found, "subset_", "Image 2");
    let expected: f64 = trial.expected.values().sum();
    assert!((seconds - expected).abs() <= 0.15 * expected, "{seconds} of {expected}");
    let left_out = found["not_computed"].to_string();
    assert!(!left_out.contains("collectives"), "{left_out}");
}

/// Waits are found in MPI below, and nowhere else, if an option asks for that.
#[test]
fn waits_are_found_at_mpi_if_asked_for() {
    let Some((mpi, lab)) = open() else { return };
    let trial = delays(&lab, &mpi, 2, |program| program.trial(DELAY, &["sync_all"]));
    let seconds = waited_in_barriers(&at_mpi(&lab), "sync_all_", "Image 2");
    let expected: f64 = trial.expected.values().sum();
    assert!((seconds - expected).abs() <= 0.15 * expected, "{seconds} of {expected}");
}

/// Returns the findings of the recorded run, with waits judged at calls of MPI.
fn at_mpi(lab: &Lab) -> Value {
    let experiment = lab.experiment();
    let command = ["analyze", "--layer", "mpi", "--json"].map(OsStr::new);
    let output = lab.dwell(&[&command[..], &[experiment.as_os_str()]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the seconds that a process waited in barriers of MPI below functions of the program with this prefix.
fn waited_in_barriers(found: &Value, functions: &str, waiter: &str) -> f64 {
    let barriers = found["findings"].as_array().unwrap().iter();
    let mut seconds = 0.0;
    for finding in barriers.filter(|finding| finding["pattern"] == "barrier_wait") {
        let path = finding["path"].as_array().unwrap();
        let region = path.last().unwrap()["region"].as_str().unwrap();
        assert!(region.starts_with("MPI_"), "{finding:#}");
        let mut calls = path.iter().rev().skip(1);
        let caller = calls.find_map(|call| call["caller"].as_str());
        if caller.is_some_and(|caller| caller.starts_with(functions)) {
            assert_eq!(region, "MPI_Barrier", "{finding:#}");
            let shares = finding["origins"].as_array().unwrap().iter();
            let of = shares.filter(|share| share["who"] == waiter);
            seconds += of.map(|share| share["seconds"].as_f64().unwrap()).sum::<f64>();
        }
    }
    seconds
}
