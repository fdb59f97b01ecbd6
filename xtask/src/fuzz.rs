//! `cargo xtask fuzz`: fuzzing of everything that reads untrusted input.
//!
//! cargo-fuzz needs a nightly compiler for its sanitizers. Coverage alone does not: LLVM's pass is available on stable,
//! and with debug assertions and overflow checks on, safe Rust turns its mistakes into panics, which a fuzzer finds. So
//! this command builds the targets itself.
//!
//! The kept corpus (`fuzz/corpus`, tracked by git) is only read. New inputs go to a scratch corpus in the target
//! directory; `--keep` merges those of them that reach new code into the kept corpus.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use crate::process;
use crate::workspace::Workspace;

/// Flags that make stable rustc emit the coverage that libFuzzer reads.
const RUSTFLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg",
    "fuzzing",
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
];

/// Number of lines of a log that are shown when its target failed.
const SHOWN_LINES: usize = 40;

/// Options of `cargo xtask fuzz`.
#[derive(Args)]
pub(crate) struct Options {
    /// Targets to fuzz; all of them if none is named
    targets: Vec<String>,
    /// Seconds to fuzz each target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Targets fuzzed side by side
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Merge inputs that reach new code into the kept corpus
    #[arg(long)]
    keep: bool,
}

impl Options {
    /// Returns options that fuzz all targets one after another.
    pub(crate) fn all(seconds: u32) -> Options {
        Options { targets: Vec::new(), seconds, jobs: 1, keep: false }
    }
}

/// Builds and fuzzes the targets; fails if any produced an artifact or broke.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let names = choose(known_targets(workspace)?, &options.targets)?;
    let program = build(workspace)?;
    let targets: Vec<Target> =
        names.into_iter().map(|name| Target::new(workspace, &program, name)).collect();
    let summaries = fuzz_all(&targets, options)?;
    print_table(&summaries);
    if options.keep {
        targets.iter().try_for_each(Target::merge)?;
    }
    let failed: Vec<&str> = summaries
        .iter()
        .filter(|summary| !summary.is_clean())
        .map(|summary| summary.name.as_str())
        .collect();
    if !failed.is_empty() {
        bail!("fuzzing found problems in: {}", failed.join(", "));
    }
    Ok(())
}

/// Returns the names of all targets, sorted: each is a file of `fuzz/src/targets`.
pub(crate) fn known_targets(workspace: &Workspace) -> Result<Vec<String>> {
    let files = entries(&workspace.root.join("fuzz/src/targets"))?;
    let stem = |file: &PathBuf| Some(file.file_stem()?.to_string_lossy().into_owned());
    Ok(files.iter().filter_map(stem).collect())
}

/// Returns the targets that were asked for, or all.
fn choose(known: Vec<String>, wanted: &[String]) -> Result<Vec<String>> {
    if let Some(name) = wanted.iter().find(|name| !known.contains(name)) {
        bail!("no fuzz target `{name}`; there are: {}", known.join(", "));
    }
    Ok(if wanted.is_empty() { known } else { wanted.to_vec() })
}

/// Builds the program that has all targets, and returns its path.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let host = host()?;
    let target = PathBuf::from(workspace.relative(&workspace.target.join("fuzz")));
    let mut command = process::cargo(&workspace.root);
    command.args(["build", "--release", "--package", "dwell-fuzz", "--features", "libfuzzer"]);
    // Naming the host as the target keeps the flags away from build scripts.
    command.args(["--target", &host, "--target-dir"]).arg(&target);
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env("RUSTFLAGS", RUSTFLAGS.join(" "));
    process::run(&mut command)?;
    Ok(target.join(host).join("release/fuzz"))
}

/// Returns the target triple of this machine.
fn host() -> Result<String> {
    let version = process::output(Command::new("rustc").arg("-vV"))?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| anyhow!("rustc -vV names no host"))
}

/// A fuzz target with its directories and files.
struct Target {
    name: String,
    program: PathBuf,
    kept: PathBuf,
    scratch: PathBuf,
    artifacts: PathBuf,
    log: PathBuf,
}

impl Target {
    fn new(workspace: &Workspace, program: &Path, name: String) -> Target {
        let fuzz = Path::new("fuzz");
        let target = PathBuf::from(workspace.relative(&workspace.target.join("fuzz")));
        Target {
            program: program.to_owned(),
            kept: fuzz.join("corpus").join(&name),
            scratch: target.join("corpus").join(&name),
            artifacts: fuzz.join("artifacts").join(&name),
            log: target.join("logs").join(format!("{name}.log")),
            name,
        }
    }

    fn fuzz(&self, seconds: u32) -> Result<Summary> {
        for directory in [&self.kept, &self.scratch, &self.artifacts] {
            create(directory)?;
        }
        create(self.log.parent().unwrap_or(Path::new(".")))?;
        let before = entries(&self.artifacts)?;
        let status = self.spawn(seconds)?;
        let log =
            fs::read(&self.log).with_context(|| format!("cannot read {}", self.log.display()))?;
        let log = String::from_utf8_lossy(&log);
        let artifacts: Vec<PathBuf> =
            entries(&self.artifacts)?.difference(&before).cloned().collect();
        let summary = Summary {
            name: self.name.clone(),
            executions: statistic(&log, "number_of_executed_units"),
            per_second: statistic(&log, "average_exec_per_sec"),
            new_units: statistic(&log, "new_units_added"),
            artifacts,
            failed: !status.success(),
        };
        if !summary.is_clean() {
            eprintln!("{}: {status}; the end of {}:", self.name, self.log.display());
            eprintln!("{}", process::last_lines(&log, SHOWN_LINES));
        }
        Ok(summary)
    }

    /// Returns the program with this target chosen.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("DWELL_FUZZ_TARGET", &self.name);
        command
    }

    fn spawn(&self, seconds: u32) -> Result<ExitStatus> {
        let mut command = self.command();
        command.arg(format!("-max_total_time={seconds}"));
        command.args(["-rss_limit_mb=2048", "-timeout=10", "-print_final_stats=1"]);
        command.arg(self.artifact_prefix());
        // libFuzzer writes to the first directory and only reads the others.
        command.arg(&self.scratch).arg(&self.kept);
        println!("$ {}", process::display(&command));
        let log = File::create(&self.log)
            .with_context(|| format!("cannot create {}", self.log.display()))?;
        command.stdout(log.try_clone()?).stderr(log);
        command.status().with_context(|| format!("cannot run {}", self.program.display()))
    }

    /// Copies scratch inputs that reach new code into the kept corpus.
    fn merge(&self) -> Result<()> {
        let before = entries(&self.kept)?.len();
        let mut command = self.command();
        command.args(["-merge=1", "-rss_limit_mb=2048", "-timeout=10"]);
        command.arg(self.artifact_prefix());
        command.arg(&self.kept).arg(&self.scratch);
        process::output(&mut command)?;
        let after = entries(&self.kept)?.len();
        println!("{}: the kept corpus grew from {before} to {after} inputs", self.name);
        Ok(())
    }

    fn artifact_prefix(&self) -> String {
        format!("-artifact_prefix={}/", self.artifacts.display())
    }
}

fn create(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))
}

fn entries(directory: &Path) -> Result<BTreeSet<PathBuf>> {
    let listing =
        fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    listing.map(|entry| Ok(entry?.path())).collect()
}

/// Fuzzes all targets, `jobs` at a time. Results are in the order of the targets.
fn fuzz_all(targets: &[Target], options: &Options) -> Result<Vec<Summary>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, targets.len().max(1)) {
            scope.spawn(|| {
                while let Some(index) = take(&next, targets.len()) {
                    let result = targets[index].fuzz(options.seconds);
                    results
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take(next: &AtomicUsize, end: usize) -> Option<usize> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index < end).then_some(index)
}

/// Result of fuzzing one target.
struct Summary {
    name: String,
    executions: Option<u64>,
    per_second: Option<u64>,
    new_units: Option<u64>,
    artifacts: Vec<PathBuf>,
    failed: bool,
}

impl Summary {
    fn is_clean(&self) -> bool {
        !self.failed && self.artifacts.is_empty()
    }
}

/// Reads a number from the final statistics of libFuzzer.
fn statistic(log: &str, name: &str) -> Option<u64> {
    let start = format!("stat::{name}:");
    log.lines()
        .rev()
        .find_map(|line| line.strip_prefix(&start))
        .and_then(|number| number.trim().parse().ok())
}

fn print_table(summaries: &[Summary]) {
    let number = |value: Option<u64>| value.map_or("?".to_owned(), |value| value.to_string());
    println!(
        "\n{:<24} {:>12} {:>10} {:>10} {:>8}",
        "target", "executions", "per s", "new units", "crashes"
    );
    for summary in summaries {
        println!(
            "{:<24} {:>12} {:>10} {:>10} {:>8}",
            summary.name,
            number(summary.executions),
            number(summary.per_second),
            number(summary.new_units),
            summary.artifacts.len()
        );
        for artifact in &summary.artifacts {
            println!("  {}", artifact.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_statistics_are_read() {
        let log = "noise\nstat::number_of_executed_units: 2281107\n\
                   stat::average_exec_per_sec:     1140553\n";
        assert_eq!(statistic(log, "number_of_executed_units"), Some(2_281_107));
        assert_eq!(statistic(log, "average_exec_per_sec"), Some(1_140_553));
        assert_eq!(statistic(log, "new_units_added"), None);
    }

    #[test]
    fn a_failure_without_artifact_is_not_clean() {
        let summary = Summary {
            name: "x".to_owned(),
            executions: None,
            per_second: None,
            new_units: None,
            artifacts: Vec::new(),
            failed: true,
        };
        assert!(!summary.is_clean());
    }
}
