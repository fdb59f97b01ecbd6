//! Waits of known length, injected into a real program: found, as long as they were, at the right call
//! and process; and not found when there is no delay.

use std::ffi::OsStr;

use serde_json::Value;

use crate::lab::Lab;

/// Milliseconds by which PE 0 is late, five times.
const DELAY: &str = "100";

/// A transport on which a target must be in the library to serve a get.
const SOFTWARE: &[&str] = &["-x", "UCX_TLS=tcp,self"];

/// The line of the source on which a mode waits, by its comment.
fn line(mode: &str) -> u64 {
    let source = include_str!("../../../../tests/programs/delays.c");
    let mark = format!("/* WAIT {} */", mode.trim_start_matches("bulk_"));
    let at = source.lines().position(|line| line.contains(&mark));
    at.unwrap_or_else(|| panic!("no {mark}")) as u64 + 1
}

/// Seconds of a pattern at PE 1 in calls of a function from a line, by the findings of an analysis: what
/// is sure, and what is possible.
fn found(findings: &Value, pattern: &str, function: &str, line: u64) -> (f64, f64) {
    let all = findings["findings"].as_array().unwrap();
    let these = all.iter().filter(|finding| {
        let last = finding["path"].as_array().unwrap().last().unwrap();
        finding["pattern"] == pattern && last["region"] == function && last["line"] == line
    });
    let mut sum = (0.0, 0.0);
    for finding in these {
        let origins = finding["origins"].as_array().unwrap();
        let here: f64 = origins
            .iter()
            .filter(|origin| origin["who"] == "PE 1")
            .map(|origin| origin["seconds"].as_f64().unwrap())
            .sum();
        let (low, high) =
            (finding["seconds"].as_f64().unwrap(), finding["seconds_at_most"].as_f64().unwrap());
        sum.0 += here;
        sum.1 += here + (high - low);
    }
    sum
}

struct Trial {
    findings: Value,
    expected: f64,
}

fn run(lab: &Lab, options: &[&str], mode: &str, delay: &str) -> Trial {
    let program = lab.path("delays");
    if !program.exists() {
        lab.compile("tests/programs/delays.c", &["-fno-optimize-sibling-calls"]);
    }
    let arguments = [program.as_os_str(), OsStr::new(mode), OsStr::new(delay)];
    let run = lab.measured(2, options, &arguments);
    assert_eq!(run.code, Some(0), "{run:?}");
    let expected = run.stdout.strip_prefix("expected ").unwrap().trim().parse().unwrap();
    let experiment = lab.experiment();
    let output = lab.dwell(&[OsStr::new("analyze"), experiment.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(experiment.join("findings.json")).unwrap();
    Trial { findings: serde_json::from_str(&text).unwrap(), expected }
}

/// Runs with and without a delay, and holds the finding against what the program measured.
fn waits(options: &[&str], mode: &str, pattern: &str, function: &str) {
    let Some(lab) = Lab::open() else { return };
    let trial = run(&lab, options, mode, DELAY);
    let (seconds, at_most) = found(&trial.findings, pattern, function, line(mode));
    let expected = trial.expected;
    let close = |found: f64| (found - expected).abs() <= 0.05 * expected;
    assert!(expected > 0.3, "{expected}");
    assert!(
        close(seconds) || (seconds <= expected && close(at_most)),
        "{mode}: {pattern} in {function}: found {seconds} to {at_most}, expected {expected}\n{:#}",
        trial.findings
    );

    let without = run(&lab, options, mode, "0");
    let (seconds, _) = found(&without.findings, pattern, function, line(mode));
    assert!(seconds < 0.2 * expected, "{mode} without a delay: {seconds} of {expected}");
}

/// Runs with a delay that must not be booked as this pattern.
fn does_not_wait(options: &[&str], mode: &str, pattern: &str, function: &str) {
    let Some(lab) = Lab::open() else { return };
    let trial = run(&lab, options, mode, DELAY);
    let (seconds, _) = found(&trial.findings, pattern, function, line(mode));
    assert!(seconds < 0.02 * 0.5, "{mode}: {pattern}: {seconds}\n{:#}", trial.findings);
}

#[test]
fn barrier() {
    waits(&[], "barrier", "barrier_wait", "shmem_barrier_all");
}

#[test]
fn put_then_barrier_is_imbalance() {
    waits(SOFTWARE, "put_barrier", "barrier_wait", "shmem_barrier_all");
    for pattern in ["wait_for_progress", "wait_for_progress_multi"] {
        does_not_wait(SOFTWARE, "put_barrier", pattern, "shmem_barrier_all");
    }
}

#[test]
fn reduction() {
    waits(&[], "reduce", "nxn_wait", "shmem_long_sum_to_all");
}

#[test]
fn broadcast() {
    waits(&[], "broadcast", "late_broadcast", "shmem_broadcast64");
}

#[test]
fn memory() {
    waits(&[], "malloc", "wait_at_create", "shmem_malloc");
    waits(&[], "free", "wait_at_free", "shmem_free");
}

#[test]
fn lock() {
    waits(&[], "lock", "lock_contention", "shmem_set_lock");
}

#[test]
fn signal() {
    waits(&[], "signal", "late_signal", "shmem_long_wait_until");
}

#[test]
fn signal_among_bulk_puts() {
    waits(&[], "bulk_signal", "late_signal", "shmem_long_wait_until");
}

#[test]
fn progress_of_a_get() {
    waits(SOFTWARE, "get", "wait_for_progress", "shmem_long_get");
    does_not_wait(&[], "get", "wait_for_progress", "shmem_long_get");
}

#[test]
fn progress_of_an_atomic() {
    waits(SOFTWARE, "atomic", "wait_for_progress", "shmem_long_atomic_fetch_add");
    does_not_wait(&[], "atomic", "wait_for_progress", "shmem_long_atomic_fetch_add");
}

#[test]
fn progress_of_a_non_blocking_get() {
    waits(SOFTWARE, "nbi", "wait_for_progress", "shmem_quiet");
    does_not_wait(&[], "nbi", "wait_for_progress", "shmem_quiet");
}

#[test]
fn calls_that_serve_nobody() {
    waits(SOFTWARE, "deaf", "wait_for_progress", "shmem_long_get");
}
