//! Tests that failed are tried a second time, alone and visibly.
//!
//! Hundreds of tests start real launchers and runtimes on a machine that does other things too. A test that loses a
//! race of its launcher should not hide the results of the remaining steps. At its end a run names the tests that
//! passed only the second time: each of them is a defect, in the test or in what it tests.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::display;

/// Largest number of failures that are tried again. More are no accident.
const MOST: usize = 4;

/// Runs the `cargo test` command that `tests` creates, and shows its output. If `chosen` has words, only tests whose
/// names contain one of them are run. Failed tests are run again. Returns the names of those that passed then.
pub(crate) fn run(tests: impl Fn() -> Command, chosen: &[&str]) -> Result<Vec<String>> {
    let mut command = tests();
    command.arg("--no-fail-fast");
    if !chosen.is_empty() {
        command.arg("--").args(chosen);
    }
    let Err((error, failed)) = show(&mut command)? else { return Ok(Vec::new()) };
    if failed.is_empty() || failed.len() > MOST {
        bail!(error);
    }
    println!("\nonce more: {}", failed.join(", "));
    let mut command = tests();
    command.args(["--", "--exact"]).args(&failed);
    match show(&mut command)? {
        Ok(()) => Ok(failed),
        Err((error, _)) => bail!(error),
    }
}

/// Description of a failure, and the names of the tests that failed.
type Failure = (String, Vec<String>);

/// Runs a command and passes its output on.
fn show(command: &mut Command) -> Result<Result<(), Failure>> {
    println!("$ {}", display(command));
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot run `{}`", display(command)))?;
    let mut failed = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            println!("{line}");
            failed.extend(failed_test(&line).map(str::to_owned));
        }
    }
    let status = child.wait()?;
    let error = || format!("`{}` failed: {status}", display(command));
    Ok(if status.success() { Ok(()) } else { Err((error(), failed)) })
}

/// Returns the name of the failed test if a line of output reports one.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &'static str) -> impl Fn() -> Command {
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", script, "test"]);
            command
        }
    }

    #[test]
    fn what_fails_once_is_told_and_what_fails_twice_fails() {
        let once = shell(
            "[ $1 = --no-fail-fast ] || exec echo again $2 $3
             echo test a::b ... FAILED; echo test c ... ok; exit 101",
        );
        assert_eq!(run(once, &[]).unwrap(), ["a::b"]);
        let twice = run(shell("echo test a::b ... FAILED; exit 101"), &[]);
        assert!(twice.unwrap_err().to_string().contains("101"));
    }

    #[test]
    fn what_does_not_compile_is_not_tried_again() {
        let error = run(shell("[ $1 = --no-fail-fast ] && exit 101"), &[]).unwrap_err();
        assert!(error.to_string().contains("--no-fail-fast"), "{error}");
    }

    #[test]
    fn what_passes_is_run_once() {
        assert!(run(shell("[ $1 = --no-fail-fast ]"), &[]).unwrap().is_empty());
        let some = shell("[ \"$*\" = '--no-fail-fast -- a:: b::' ]");
        assert!(run(some, &["a::", "b::"]).unwrap().is_empty());
    }
}
