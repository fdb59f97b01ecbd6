//! Samples name the function and the line that compute where others wait, and change nothing else.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::lab::Lab;
use crate::mpi::{Mpi, analysed, lines};

mod harm;
mod truth;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/samples.c")
}

/// Returns the number of the line with a mark.
fn line(mark: &str) -> u64 {
    let text = fs::read_to_string(source()).unwrap();
    let mark = format!("/* {mark} */");
    text.lines().position(|line| line.contains(&mark)).unwrap() as u64 + 1
}

fn compile(mpi: &Mpi, lab: &Lab) -> PathBuf {
    compiled(mpi, lab, &["-g"])
}

fn compiled(mpi: &Mpi, lab: &Lab, options: &[&str]) -> PathBuf {
    let program = lab.path("samples");
    let mut command = Command::new(mpi.compiler());
    command.args(["-O1", "-w"]).args(options).arg(source()).arg("-o").arg(&program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs a mode without and with samples, which must have the same output, and returns what Dwell said and found.
fn sampled(mpi: &Mpi, lab: &Lab, program: &Path, mode: &str) -> (String, Value) {
    let words = [program.as_os_str(), OsStr::new(mode)];
    let plain = mpi.run(lab, 2, &words);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let run = mpi.measured(lab, 2, &[&[OsStr::new("--sample")], &words[..]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(lines(&plain.stdout), lines(&run.stdout), "{mode}");
    lab.accepted_by_otf2_print(&lab.experiment());
    analysed(lab, &lab.experiment());
    let findings = fs::read(lab.experiment().join("findings.json")).unwrap();
    (run.stderr, serde_json::from_slice(&findings).unwrap())
}

/// Records and analyses a mode until rank 1 is the one that computes longest, as it is unless another program takes its core
/// away from the other rank.
fn of_late_rank(mpi: &Mpi, lab: &Lab, program: &Path, mode: &str) -> Value {
    let late = |findings: &Value| {
        let causes = findings["causes"].as_array().unwrap();
        let cause = causes.iter().find(|it| it["what"] == "computing");
        cause.is_some_and(|it| it["processes"][0]["who"] == "Rank 1")
    };
    let mut attempts = (0..5).map(|_| sampled(mpi, lab, program, mode).1);
    attempts.find(late).expect("rank 1 is late in one of five runs")
}

/// Returns the point of the verdict about the first cause that is computing.
fn of_computing(findings: &Value) -> &Value {
    let causes = findings["causes"].as_array().unwrap();
    let cause = causes.iter().find(|it| it["what"] == "computing").unwrap();
    let points = findings["verdict"]["points"].as_array().unwrap();
    points.iter().find(|it| it["id"] == cause["id"]).unwrap()
}

/// Returns the functions that are named for the first cause that is computing.
fn parts(findings: &Value) -> Vec<(String, u64, f64)> {
    let causes = findings["causes"].as_array().unwrap();
    let cause = causes.iter().find(|it| it["what"] == "computing").unwrap();
    let parts = cause["sampled"]["parts"].as_array().unwrap().iter();
    let part = |it: &Value| {
        let name = it["function"].as_str().unwrap().to_owned();
        (name, it["line"].as_u64().unwrap_or(0), it["seconds"].as_f64().unwrap())
    };
    parts.map(part).collect()
}

/// Holds what the timeline says of the late rank against the records of its samples.
fn is_found_in_the_timeline(lab: &Lab) {
    let trace = dwell_timeline::Trace::open(&lab.experiment(), 4).unwrap();
    let rank = dwell_timeline::Location(1);
    let of = |from, to| {
        let span =
            dwell_timeline::Span { from: dwell_timeline::Time(from), to: dwell_timeline::Time(to) };
        trace.computing(rank, span, u64::MAX).unwrap()
    };
    let all = of(0, u64::MAX);
    let count = harm::locations_of_samples(lab).iter().filter(|it| *it == "1").count() as u64;
    assert_eq!(all.iter().map(|it| it.samples).sum::<u64>(), count, "{all:?}");
    assert!(all[0].place.starts_with("relax at samples.c:"), "{all:?}");
    assert!(of(0, 1).is_empty());
}

#[test]
fn the_line_that_computes_longer_is_named() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = compile(&mpi, &lab);
    let findings = of_late_rank(&mpi, &lab, &program, "late");
    let found = parts(&findings);
    let Some((function, at, _)) = found.first() else { panic!("{findings:#}") };
    assert_eq!((function.as_str(), at.abs_diff(line("RELAX")) <= 1), ("relax", true), "{found:?}");
    let said = of_computing(&findings)["inside"].as_str().unwrap();
    assert!(said.contains("relax at samples.c"), "{said}");
    // The same function takes most time of the whole run, most of it at the late rank.
    let functions = &findings["functions"];
    let list = functions["list"].as_array().unwrap();
    let (first, seconds) = (&list[0], |it: &Value| it["seconds"].as_f64().unwrap());
    assert_eq!(first["function"], "relax", "{functions:#}");
    assert_eq!(first["most_process"], "Rank 1", "{functions:#}");
    assert!(first["most_seconds"].as_f64().unwrap() <= seconds(first), "{functions:#}");
    let sum: f64 = list.iter().map(seconds).sum();
    assert!((sum - seconds(functions)).abs() < 1e-6, "{functions:#}");

    is_found_in_the_timeline(&lab);

    // Memory is copied by the C library, which the program called.
    let findings = of_late_rank(&mpi, &lab, &program, "copies");
    let found = parts(&findings);
    let (function, at) = found.first().map(|it| (it.0.as_str(), it.1)).unwrap();
    assert_eq!(function, "pack", "{found:?}");
    assert!(at.abs_diff(line("PACK")) <= 1, "{found:?}");

    // Nobody computes longer, but one sleeps.
    let findings = of_late_rank(&mpi, &lab, &program, "sleeps");
    let said = of_computing(&findings)["inside"].as_str().unwrap();
    assert!(said.contains("not on a core"), "{said}");
}

/// The C library may have lines where the program has none, but what starts the program is not what computes.
#[test]
fn a_function_without_lines_is_named() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = compiled(&mpi, &lab, &[]);
    let findings = of_late_rank(&mpi, &lab, &program, "late");
    let found = parts(&findings);
    assert_eq!(found.first().map(|it| it.0.as_str()), Some("relax"), "{findings:#}");
}

#[test]
fn the_program_keeps_its_handlers_and_stacks() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = compile(&mpi, &lab);
    // The signal that the program sends to itself is the only one that its handler gets.
    let (said, _) = sampled(&mpi, &lab, &program, "handler");
    assert!(said.contains("the program handles SIGURG itself"), "{said}");
    let (said, _) = sampled(&mpi, &lab, &program, "stack");
    assert!(said.contains("threads without samples: 1"), "{said}");
}

#[test]
fn a_panic_in_a_sample_ends_the_recording_only() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::with_faults();
    let program = compile(&mpi, &lab);
    let words = [program.as_os_str(), OsStr::new("late")];
    let plain = mpi.run(&lab, 2, &words);
    let asked = [OsStr::new("DWELL_TEST_PANIC=tick:3")];
    let command = [&[OsStr::new("--sample=1000")], &words[..]].concat();
    let run = mpi.measured_with(&lab, 2, &asked, &command);
    assert_eq!((run.code, lines(&run.stdout)), (plain.code, lines(&plain.stdout)), "{run:?}");
    assert!(run.stderr.contains("asked for at tick"), "{run:?}");
}

#[test]
fn samples_survive_a_kill() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = compile(&mpi, &lab);
    let run =
        mpi.measured(&lab, 2, &[OsStr::new("--sample"), program.as_os_str(), OsStr::new("dies")]);
    assert_ne!(run.code, Some(0), "{run:?}");
    let output = lab.dwell(&[OsStr::new("recover"), lab.experiment().as_os_str()]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let print = lab.dwell(&[OsStr::new("print"), lab.experiment().as_os_str()]);
    let text = String::from_utf8_lossy(&print.stdout).into_owned();
    // Half a second of computing, without a call.
    let samples = text.lines().filter(|line| line.starts_with("CALLING_CONTEXT_SAMPLE")).count();
    assert!(samples >= 20, "{samples} samples");
    assert!(text.contains("relax"), "{samples} samples");
}
