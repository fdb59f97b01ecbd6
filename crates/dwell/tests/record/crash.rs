//! Whichever way a process dies, the trace contains everything up to its death.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::faults::messages;
use crate::lab::{Lab, Run};
use crate::trace::{Counts, Trace, said};

/// Defines a test for each row: its name, the mode of the program, and a pattern of exit codes. The test calls the
/// function `die` of the module in which the macro is used.
macro_rules! deaths {
    ($($name:ident: $mode:literal => $codes:pat,)*) => {$(
        #[test]
        fn $name() {
            die($mode, |code| matches!(code, $codes));
        }
    )*};
}
pub(crate) use deaths;

/// Defines the tests of deaths that no runtime has a say in.
macro_rules! deaths_of_any_runtime {
    () => {
        $crate::crash::deaths! {
            normal: "normal" => Some(0),
            sigkill_of_one: "kill-one" => None | Some(1..),
            sigkill_of_all: "kill-all" => None | Some(1..),
            segfault: "segfault" => None | Some(1..),
            abort: "abort" => None | Some(1..),
            exit_at_once: "_exit" => Some(5),
            exit_without_finalize: "exit" => Some(6),
        }
    };
}
pub(crate) use deaths_of_any_runtime;

/// Returns the command line of a program that dies: how, after how many iterations, and the prefix of the files to
/// which its processes report.
pub(crate) fn dying<'c>(
    program: &'c Path,
    mode: &'c str,
    iterations: &'c str,
    reports: &'c Path,
) -> [&'c OsStr; 4] {
    [program.as_os_str(), OsStr::new(mode), OsStr::new(iterations), reports.as_os_str()]
}

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

/// Checks that one line says where the trace of a run is that the program ended by this function, and what to do.
pub(crate) fn told_once(lab: &Lab, run: &Run, function: &str) {
    let said = messages(run);
    assert_eq!(said.len(), 1, "{run:?}");
    let directory = lab.experiment();
    let directory = directory.file_name().unwrap().to_str().unwrap();
    let next = format!("ended by {function}. Next: dwell recover {directory}");
    assert!(said[0].ends_with(&next), "{run:?}");
}

fn die(mode: &str, expected: impl Fn(Option<i32>) -> bool) {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let reports = lab.path("said");
    let command = dying(&program, mode, "500", &reports);
    let plain = lab.oshrun(2, &[], &command);
    let measured = lab.measured(2, &[], &command);
    assert_eq!(plain.code, measured.code, "{plain:?}\n{measured:?}");
    assert!(expected(measured.code), "{measured:?}");
    if ["global_exit", "exit_by_all"].contains(&mode) {
        told_once(&lab, &measured, "shmem_global_exit");
    }
    // A PE that waits for a dead one is inside a call that it did not count.
    let trace = recovered(&lab, 2, 1, &measured);
    if mode == "kill-one" || mode == "global_exit" {
        // The program itself at both, and a barrier.
        assert!(trace.cut >= 3, "someone was inside a barrier");
    }
}

/// Sums of short calls are kept in memory for a while. Recovery says that the last ones are lost, and nothing of that
/// where none were kept.
#[test]
fn recovery_says_that_sums_are_lost() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let (reports, experiment) = (lab.path("said"), lab.experiment());
    let command = dying(&program, "kill-all", "500", &reports);
    for bound in [&["--overhead", "2%"][..], &[]] {
        let options: Vec<&OsStr> = bound.iter().map(OsStr::new).collect();
        let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
        let words = [&dwell[..], &[experiment.as_os_str()], &options, &command].concat();
        let _ = fs::remove_dir_all(&experiment);
        let run = lab.oshrun(2, &[], &words);
        let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}\n{run:?}");
        assert_eq!(text.contains("summed up for --overhead"), !bound.is_empty(), "{text}");
    }
}

deaths_of_any_runtime!();
deaths! {
    global_exit: "global_exit" => Some(7),
    global_exit_of_all: "exit_by_all" => Some(7),
}

/// Stops the launcher by a signal, as at the end of a job's time limit.
fn killed_by_launcher(mode: &str) {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/die.c", &[]);
    let (reports, experiment) = (lab.path("said"), lab.experiment());
    let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
    let command = dying(&program, mode, "200", &reports);
    let arguments = [&dwell[..], &[experiment.as_os_str()], &command].concat();
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
