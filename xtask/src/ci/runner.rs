//! Runs test programs side by side.
//!
//! `cargo test` runs one test program after another, and most of the time of ours is waiting: for launchers, runtimes
//! and compilers. There are three groups:
//!
//! - Programs of [`LAUNCHING`] start parallel programs, with as many processes as there are cores. They share one slot.
//! - Tests of [`ALONE`] compare times. They run last, one at a time, with nothing else running.
//! - All other programs run at the same time as the first group.
//!
//! A test that fails is run again, alone, because a launcher may lose a race on a busy machine. A test that passes only
//! then is a defect of the test or of what it tests, and the end of a run names it. `.config/nextest.toml` describes the
//! same groups to those who use cargo-nextest.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

/// Programs that start launchers, by crate and target.
const LAUNCHING: &[&str] = &["dwell/record", "dwell/book", "dwell-mpi/ranks"];

/// Programs that take longest, which begin first.
const LONGEST: &[&str] = &["dwell-analyze/all", "dwell/commands"];

/// Tests that compare times: a program, and the beginnings of the names of tests in it.
const ALONE: &[(&str, &[&str])] = &[("dwell-serve/all", &["crowd::"])];

/// Largest number of failures that are tried again. More are not an accident.
const MOST_AGAIN: usize = 4;

/// Number of lines of a log that are shown when a program failed without naming a test.
const SHOWN_LINES: usize = 60;

/// A test program that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    /// Crate and target, such as `otf2/all`.
    name: String,
    executable: PathBuf,
    /// Directory of the crate, in which its tests run.
    directory: PathBuf,
}

/// Part of a test program that runs in one process.
#[derive(Debug, Clone)]
struct Job {
    program: Program,
    /// Arguments of the program: names of tests, or names to skip.
    arguments: Vec<String>,
}

/// Results of jobs.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    passed: usize,
    ignored: usize,
    /// Program and name of each test that failed.
    failed: Vec<(Program, String)>,
    /// Descriptions of programs that failed without naming a test.
    broken: Vec<String>,
    /// Names of tests that passed only when they were tried again.
    pub(crate) passed_again: Vec<String>,
}

/// Settings of a run.
pub(crate) struct Tests<'a> {
    pub(crate) workspace: &'a Workspace,
    /// Arguments of `cargo test` that select what is built.
    pub(crate) built: &'a [&'a str],
    /// Variables of the tests.
    pub(crate) variables: Vec<(String, std::ffi::OsString)>,
}

impl Tests<'_> {
    /// Builds the programs and runs them. Fails if a test fails twice.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let began = Instant::now();
        let programs = self.build()?;
        println!("{} test programs built in {:.1} s", programs.len(), seconds(began));
        let began = Instant::now();
        let outcome = self.run_programs(programs);
        println!("tests ran for {:.1} s", seconds(began));
        println!(
            "{} passed, {} failed, {} skipped",
            outcome.passed,
            outcome.failed.len(),
            outcome.ignored
        );
        if !outcome.failed.is_empty() || !outcome.broken.is_empty() {
            let failed =
                outcome.failed.iter().map(|(program, test)| format!("{}: {test}", program.name));
            let all: Vec<String> = failed.chain(outcome.broken.iter().cloned()).collect();
            bail!("tests failed: {}", all.join(", "));
        }
        Ok(outcome)
    }

    /// Builds the test programs and returns them.
    fn build(&self) -> Result<Vec<Program>> {
        let mut cargo = process::cargo(&self.workspace.root);
        cargo
            .arg("test")
            .args(self.built)
            .args(["--no-run", "--message-format=json-render-diagnostics"]);
        println!("$ {}", process::display(&cargo));
        let output = cargo.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
        if !output.status.success() {
            bail!("`{}` failed: {}", process::display(&cargo), output.status);
        }
        let text =
            String::from_utf8(output.stdout).context("cargo wrote something other than UTF-8")?;
        Ok(text.lines().filter_map(program).collect())
    }

    fn run_programs(&self, programs: Vec<Program>) -> Outcome {
        let alone: Vec<Job> = programs.iter().filter_map(Self::alone).collect();
        let (launching, mut others): (Vec<Job>, Vec<Job>) =
            programs.into_iter().map(Self::together).partition(Job::is_launching);
        others.sort_by_key(|job| !LONGEST.contains(&job.program.name.as_str()));
        let outcome = Mutex::new(Outcome::default());
        let (launching, others) = (queue(launching), queue(others));
        let helpers = thread::available_parallelism().map_or(1, usize::from).max(2) - 1;
        thread::scope(|scope| {
            scope.spawn(|| {
                self.drain(&launching, &outcome);
                self.drain(&others, &outcome);
            });
            for _ in 0..helpers {
                scope.spawn(|| self.drain(&others, &outcome));
            }
        });
        self.drain(&queue(alone), &outcome);
        let mut outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.run_again(&mut outcome);
        outcome
    }

    /// Returns the job of a program without the tests that have to run alone.
    fn together(program: Program) -> Job {
        let skipped = alone(&program).iter().flat_map(|name| ["--skip", name]);
        let arguments = skipped.map(str::to_owned).collect();
        Job { program, arguments }
    }

    /// Returns the job with those tests of a program that have to run alone, if it has any.
    fn alone(program: &Program) -> Option<Job> {
        let names = alone(program);
        if names.is_empty() {
            return None;
        }
        let arguments = names.iter().copied().chain(["--test-threads=1"]).map(str::to_owned);
        Some(Job { program: program.clone(), arguments: arguments.collect() })
    }

    /// Runs jobs of a queue until it is empty.
    fn drain(&self, jobs: &Mutex<VecDeque<Job>>, outcome: &Mutex<Outcome>) {
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        while let Some(job) = next() {
            let result = self.run_job(&job);
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            outcome.add(&job, result);
        }
    }

    /// Runs failed tests again, one at a time.
    fn run_again(&self, outcome: &mut Outcome) {
        if outcome.failed.len() > MOST_AGAIN {
            return;
        }
        for (program, test) in std::mem::take(&mut outcome.failed) {
            println!("\nonce more: {}: {test}", program.name);
            let arguments = vec!["--exact".to_owned(), test.clone()];
            let job = Job { program, arguments };
            let again = self.run_job(&job);
            let passed = again.as_ref().is_ok_and(|ran| ran.failed.is_empty() && ran.passed == 1);
            if passed {
                outcome.passed_again.push(format!("{}: {test}", job.program.name));
            }
            outcome.add(&job, again);
        }
    }

    /// Runs a job and reads its results from the log.
    fn run_job(&self, job: &Job) -> Result<Ran> {
        let folder = self.workspace.target.join("test-logs");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(job.program.name.replace('/', "-") + ".log");
        let log = File::create(&path).with_context(|| path.display().to_string())?;
        let mut command = Command::new(&job.program.executable);
        command.current_dir(&job.program.directory).args(&job.arguments);
        command.env("CARGO_MANIFEST_DIR", &job.program.directory);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let began = Instant::now();
        let status =
            command.status().with_context(|| format!("cannot run {}", job.program.name))?;
        let text = fs::read(&path).with_context(|| path.display().to_string())?;
        let ran = Ran::read(&String::from_utf8_lossy(&text), began.elapsed());
        if !status.success() && ran.failed.is_empty() {
            bail!("{status}\n{}", process::last_lines(&ran.text, SHOWN_LINES));
        }
        Ok(ran)
    }
}

impl Job {
    fn is_launching(&self) -> bool {
        LAUNCHING.contains(&self.program.name.as_str())
    }
}

impl Outcome {
    /// Adds the results of a job, and prints them.
    fn add(&mut self, job: &Job, result: Result<Ran>) {
        let name = &job.program.name;
        match result {
            Ok(ran) => {
                self.passed += ran.passed;
                self.ignored += ran.ignored;
                let failed = ran.failed.len();
                let time = ran.time.as_secs_f64();
                if ran.passed + failed > 0 {
                    println!("{time:>7.1} s  {name}: {} passed, {failed} failed", ran.passed);
                }
                // What tests could not do here goes past the capture of output.
                let missing = ran.text.lines().filter(|line| line.starts_with("skipped tests of"));
                missing.for_each(|line| println!("{line}"));
                if failed > 0 {
                    println!("{}", ran.text);
                }
                self.failed.extend(ran.failed.into_iter().map(|test| (job.program.clone(), test)));
            }
            Err(error) => {
                println!("{name}: {error:#}");
                self.broken.push(name.clone());
            }
        }
    }
}

/// What a test program printed.
#[derive(Debug)]
struct Ran {
    passed: usize,
    ignored: usize,
    failed: Vec<String>,
    time: Duration,
    text: String,
}

impl Ran {
    fn read(text: &str, time: Duration) -> Ran {
        let result = text.lines().find_map(|line| line.strip_prefix("test result: "));
        let count = |what: &str| {
            let mut parts = result.unwrap_or_default().split([';', '.']).map(str::trim);
            parts.find_map(|part| part.strip_suffix(what)?.trim().parse().ok()).unwrap_or(0)
        };
        Ran {
            passed: count("passed"),
            ignored: count("ignored"),
            failed: text.lines().filter_map(failed_test).map(str::to_owned).collect(),
            time,
            text: text.to_owned(),
        }
    }
}

/// Returns the name of the failed test if a line of output reports one.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Returns the test program that a message of cargo describes, if it describes one.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"] == true;
    let executable = message["executable"].as_str().filter(|_| is_test)?;
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = directory.file_name().and_then(OsStr::to_str)?;
    let target = message["target"]["name"].as_str()?;
    let unit = message["target"]["kind"][0] != "test";
    let target = if unit { "unit" } else { target };
    Some(Program {
        name: format!("{package}/{target}"),
        executable: executable.into(),
        directory: directory.to_owned(),
    })
}

/// Returns the beginnings of the names of tests of a program that have to run alone.
fn alone(program: &Program) -> &'static [&'static str] {
    ALONE.iter().find(|(name, _)| *name == program.name).map_or(&[], |(_, tests)| tests)
}

fn queue(jobs: Vec<Job>) -> Mutex<VecDeque<Job>> {
    Mutex::new(jobs.into())
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Runs a script as a test program, and returns the outcome.
    fn outcome(script: &str) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        let executable = folder.path().join("program");
        fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
        let (root, target) = (folder.path().to_owned(), folder.path().to_owned());
        let workspace = Workspace { root, target, members: Vec::new() };
        let tests = Tests { workspace: &workspace, built: &[], variables: Vec::new() };
        let directory = folder.path().to_owned();
        tests.run_programs(vec![Program { name: "x/y".into(), executable, directory }])
    }

    const RESULT: &str = "echo 'test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured'";

    #[test]
    fn a_test_that_passes_the_second_time_is_named() {
        let again = "[ \"$1\" = --exact ] && exec echo 'test result: ok. 1 passed; 0 failed;'";
        let it = outcome(&format!("{again}\necho test a::b ... FAILED; {RESULT}; exit 101"));
        assert_eq!(it.passed_again, ["x/y: a::b"]);
        assert_eq!((it.passed, it.ignored, it.failed.len(), it.broken.len()), (2, 2, 0, 0));
    }

    #[test]
    fn a_test_that_fails_twice_has_failed() {
        let it = outcome(&format!("echo test a::b ... FAILED; {RESULT}; exit 101"));
        assert_eq!(it.failed.len(), 1);
        assert!(it.passed_again.is_empty());
    }

    #[test]
    fn a_program_that_dies_has_failed() {
        let it = outcome("kill -SEGV $$");
        assert_eq!(it.broken, ["x/y"]);
    }

    #[test]
    fn messages_of_cargo_name_test_programs() {
        let of = |kind: &str, test: bool| {
            program(&format!(
                r#"{{"manifest_path":"/w/crates/otf2/Cargo.toml","executable":"/t/x-1","profile":
                   {{"test":{test}}},"target":{{"name":"all","kind":["{kind}"]}}}}"#
            ))
        };
        assert_eq!(of("test", true).map(|it| it.name), Some("otf2/all".into()));
        assert_eq!(of("lib", true).map(|it| it.name), Some("otf2/unit".into()));
        assert_eq!(of("bin", false), None);
        assert_eq!(program("not JSON"), None);
    }
}
