//! Whichever way a process dies, the trace contains everything up to its death.

use std::ffi::OsStr;
use std::fs;

use crate::lab::{Lab, Run};
use crate::trace::{Counts, Trace, said};

/// Returns the calls that every process reported in its file `said.<rank>`.
pub(crate) fn done(lab: &Lab, processes: u64) -> Counts {
    let mut all = Counts::new();
    for rank in 0..processes {
        let text = fs::read_to_string(lab.path(&format!("said.{rank}"))).unwrap_or_default();
        all.extend(said(&text));
    }
    all
}

/// Recovers an experiment and compares the trace with the reports of the processes. Everything that was complete is
/// there, and at most `more` calls of each function that were in progress.
pub(crate) fn recovered(lab: &Lab, processes: u64, more: u64, run: &Run) -> Trace {
    let experiment = lab.experiment();
    if !experiment.join("traces.otf2").exists() {
        let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}\n{run:?}");
    }
    lab.accepted_by_otf2_print(&experiment);
    let trace = Trace::read(&experiment);
    let done = done(lab, processes);
    assert!(done.len() >= 5 * processes as usize, "{done:?}\n{run:?}");
    for (key, expected) in &done {
        let found = trace.counts.get(key).copied().unwrap_or_default();
        let calls = expected.calls..=expected.calls + more;
        assert!(calls.contains(&found.calls), "{key:?}: {expected:?}, but {found:?}\n{run:?}");
        if expected.bytes > 0 && !key.1.contains("alloc") {
            assert!(found.bytes >= expected.bytes, "{key:?}: {expected:?}, but {found:?}");
        }
    }
    trace
}

fn die(mode: &str, expected: impl Fn(Option<i32>) -> bool) {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let prefix = lab.path("said");
    let arguments = [program.as_os_str(), OsStr::new(mode), OsStr::new("500"), prefix.as_os_str()];
    let plain = lab.oshrun(2, &[], &arguments);
    let measured = lab.measured(2, &[], &arguments);
    assert_eq!(plain.code, measured.code, "{plain:?}\n{measured:?}");
    assert!(expected(measured.code), "{measured:?}");
    // A PE that waits for a dead one is inside a call that it did not count.
    let trace = recovered(&lab, 2, 1, &measured);
    if mode == "kill-one" || mode == "global_exit" {
        // The program itself at both, and a barrier.
        assert!(trace.cut >= 3, "someone was inside a barrier");
    }
}

#[test]
fn normal() {
    die("normal", |code| code == Some(0));
}

#[test]
fn sigkill_of_one() {
    die("kill-one", |code| code != Some(0));
}

#[test]
fn sigkill_of_all() {
    die("kill-all", |code| code != Some(0));
}

#[test]
fn segfault() {
    die("segfault", |code| code != Some(0));
}

#[test]
fn abort() {
    die("abort", |code| code != Some(0));
}

#[test]
fn global_exit() {
    die("global_exit", |code| code == Some(7));
}

#[test]
fn exit_at_once() {
    die("_exit", |code| code == Some(5));
}

#[test]
fn exit_without_finalise() {
    die("exit", |code| code == Some(6));
}

/// Stops the launcher by a signal, as at the end of a job's time limit.
fn killed_by_launcher(mode: &str) {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let prefix = lab.path("said");
    let experiment = lab.experiment();
    let arguments = [
        OsStr::new(env!("CARGO_BIN_EXE_dwell")),
        OsStr::new("run"),
        OsStr::new("-o"),
        experiment.as_os_str(),
        program.as_os_str(),
        OsStr::new(mode),
        OsStr::new("200"),
        prefix.as_os_str(),
    ];
    let run = lab.oshrun_until(2, &[], &arguments, |printed| printed.contains("ready"));
    recovered(&lab, 2, 3, &run);
}

#[test]
fn wall_clock_kill_in_computation() {
    killed_by_launcher("hang");
}

#[test]
fn wall_clock_kill_in_communication() {
    killed_by_launcher("busy");
}
