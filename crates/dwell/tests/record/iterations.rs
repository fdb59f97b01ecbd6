//! Iterations are found in programs that declare none, and so is the iteration from which on a process computes longer.

use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::caf;
use crate::lab::{Lab, Run};
use crate::mpi::Mpi;

/// The program changes from this iteration on. Iterations are counted by the calls that end them, and the loop may have one
/// such call before it.
const CHANGED: u64 = 700;
const NEAR: u64 = 3;

/// On a machine whose load changes, iterations do so as well.
const ATTEMPTS: usize = 3;

/// Analyses a recording, and returns its iterations.
fn iterations(lab: &Lab, run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&[OsStr::new("analyze"), lab.experiment().as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found: Value =
        serde_json::from_slice(&fs::read(lab.experiment().join("findings.json")).unwrap()).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let since = found["verdict"]["since"].as_str().unwrap();
    let words = |it: &str| it.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains(&words(since)), "{since}: {text}");
    found["iterations"].clone()
}

/// Says what is wrong with a run in which one process computes longer from one iteration on.
fn wrong_step(found: &Value, who: &str) -> Option<String> {
    let count = found["count"].as_u64().unwrap_or_default();
    assert!((1000..=1001).contains(&count), "{found:#}");
    let is_step = |it: &&Value| it["kind"] == "step";
    let step = found["changes"].as_array().unwrap().iter().find(is_step);
    let near = |it: &Value| it["iteration"].as_u64().unwrap().abs_diff(CHANGED) <= NEAR;
    let right = step.is_some_and(|it| near(it) && it["who"] == who);
    (!right).then(|| format!("{who}: {:#}", found["changes"]))
}

/// Says which process is blamed in a run in which none changes. All may compute longer while the machine does other work.
fn invented(found: &Value) -> Option<String> {
    let blames = |it: &&Value| it["who"].is_string();
    found["changes"].as_array()?.iter().find(blames).map(|it| format!("{it:#}"))
}

fn holds(mut wrong: impl FnMut() -> Option<String>) {
    let wrong: Vec<String> = (0..ATTEMPTS).map_while(|_| wrong()).collect();
    assert!(wrong.len() < ATTEMPTS, "{wrong:#?}");
}

/// Returns a function that records the program over OpenSHMEM in a mode, and finds its iterations.
fn modes(lab: &Lab) -> impl Fn(&str) -> Value {
    let program = lab.compile("tests/programs/iterations.c", &[]);
    move |mode| {
        let options = ["--bind-to", "none", "-x", "UCX_TLS=sm,self"];
        iterations(lab, &lab.measured(2, &options, &[program.as_os_str(), OsStr::new(mode)]))
    }
}

#[test]
fn a_change_of_openshmem_is_named_by_its_iteration() {
    let Some(lab) = Lab::open() else { return };
    let run = modes(&lab);
    holds(|| wrong_step(&run("step"), "PE 1"));
    holds(|| invented(&run("even")));
}

#[test]
#[ignore = "compares times, so it needs a machine without other work"]
fn a_drift_of_a_tenth_is_found() {
    let Some(lab) = Lab::open() else { return };
    let run = modes(&lab);
    holds(|| {
        let found = run("drift");
        let changes = found["changes"].as_array().unwrap();
        let part = |it: &Value| {
            let of = |name: &str| it[name].as_f64().unwrap();
            of("computing_seconds") / of("usual_computing_seconds")
        };
        let right =
            changes.iter().any(|it| it["kind"] == "drift" && (1.04..1.2).contains(&part(it)));
        (!right).then(|| format!("{changes:#?}"))
    });
}

#[test]
fn a_change_of_mpi_is_named_by_its_iteration() {
    for mpi in Mpi::chosen_of_the_system() {
        for by in ["-DWINDOWS", "-DMESSAGES"] {
            let lab = Lab::bare();
            let program = mpi.compile(&lab, "tests/programs/iterations.c", &[by]);
            let command = [program.as_os_str(), OsStr::new("step")];
            holds(|| wrong_step(&iterations(&lab, &mpi.measured(&lab, 2, &command)), "Rank 1"));
        }
    }
}

#[test]
fn a_change_of_coarrays_is_named_by_its_iteration() {
    let Some((mpi, lab)) = caf::open() else { return };
    let program = caf::compile(&lab, "tests/programs/iterations.f90");
    let run = || mpi.measured(&lab, 2, &[program.as_os_str()]);
    holds(|| wrong_step(&iterations(&lab, &run()), "Image 2"));
}
