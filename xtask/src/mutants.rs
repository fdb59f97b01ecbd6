//! `cargo xtask mutants`: would the tests notice if the code that judges were wrong?
//!
//! cargo-mutants changes one expression of the code at a time and runs the tests. A change that no test notices has
//! *survived*. All changes of a module would take days, so a sample is drawn, always the same one for the same code: the
//! mutants whose names have the smallest hashes. `--shard K/N` runs a part of the sample, so that a nightly run ends in
//! time.
//!
//! Survivors that change nothing anyone can observe are listed in `tests/mutants.tsv`, with the reason. The score of a
//! module is the share of mutants that were noticed, among those that compile and are not listed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use crate::process;
use crate::tools::Tool;
use crate::workspace::Workspace;

/// The tool that makes the mutants.
const CARGO_MUTANTS: Tool = Tool { name: "cargo-mutants", version: "27.1.0", features: &[] };

/// The tool that runs their tests. It stops at the first test that fails, where `cargo test` would run all of them for
/// minutes.
const CARGO_NEXTEST: Tool = Tool { name: "cargo-nextest", version: "0.9.143", features: &[] };

/// Variable of nextest, and its profile in `.config/nextest.toml` that leaves out slow tests.
const PROFILE: (&str, &str) = ("NEXTEST_PROFILE", "mutants");

/// File with the survivors that are accepted: mutant, reason.
const ACCEPTED: &str = "tests/mutants.tsv";

/// Largest number of seconds that the tests of a mutant may take. Those of a mutant that loops forever take longer.
const TIMEOUT: &str = "300";

/// Part of the code whose tests are measured.
struct Module {
    name: &'static str,
    /// Crate that has it.
    package: &'static str,
    /// Files, as cargo-mutants selects them.
    files: &'static [&'static str],
    /// Crates whose tests have to notice.
    tested_by: &'static [&'static str],
    /// Share of the sample in percent, and least score in percent.
    share: usize,
    goal: f64,
}

#[rustfmt::skip]
const MODULES: &[Module] = &[
    Module { name: "recovery", package: "dwell-unify", files: &["crates/dwell-unify/src/recover.rs", "crates/dwell-unify/src/recover/**"], tested_by: &["dwell-unify", "dwell-measure"], share: 20, goal: 90.0 },
    Module { name: "patterns", package: "dwell-analyze", files: &["crates/dwell-analyze/src/patterns.rs", "crates/dwell-analyze/src/patterns/**"], tested_by: &["dwell-analyze"], share: 40, goal: 90.0 },
    Module { name: "causes", package: "dwell-analyze", files: &["crates/dwell-analyze/src/causes.rs", "crates/dwell-analyze/src/causes/**"], tested_by: &["dwell-analyze"], share: 15, goal: 0.0 },
    Module { name: "what-if", package: "dwell-analyze", files: &["crates/dwell-analyze/src/whatif.rs", "crates/dwell-analyze/src/whatif/**"], tested_by: &["dwell-analyze"], share: 15, goal: 0.0 },
    Module { name: "completion", package: "dwell-analyze", files: &["crates/dwell-analyze/src/engine/outstanding.rs"], tested_by: &["dwell-analyze"], share: 10, goal: 0.0 },
];

/// Options of `cargo xtask mutants`.
#[derive(Args)]
pub(crate) struct Options {
    /// Modules to change; all of them if none is named
    modules: Vec<String>,
    /// Mutants in the sample of all modules together
    #[arg(long, default_value_t = 300)]
    sample: usize,
    /// Run only part K of N of the sample, with K from 0
    #[arg(long, value_name = "K/N", value_parser = parse_shard, default_value = "0/1")]
    shard: (usize, usize),
    /// Mutants that are tested at the same time, each in its own copy of the project
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Print the sample and do not test it
    #[arg(long)]
    list: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { modules: Vec::new(), sample: 300, shard: (0, 1), jobs: 1, list: false }
    }
}

fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parsed.filter(|(k, n)| k < n).ok_or_else(|| "expected K/N with K below N, such as 0/4".into())
}

/// Tests the sample, and prints survivors and scores. Fails if a module has a lower score than its goal.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if let Some(name) = options.modules.iter().find(|it| !MODULES.iter().any(|m| m.name == **it)) {
        let names: Vec<_> = MODULES.iter().map(|module| module.name).collect();
        bail!("no module `{name}`; there are: {}", names.join(", "));
    }
    let tool = CARGO_MUTANTS.install(workspace)?;
    let text = fs::read_to_string(workspace.root.join(ACCEPTED)).context(ACCEPTED)?;
    let accepted = accepted(&text)?;
    let mut missed = Vec::new();
    for module in MODULES {
        if !options.modules.is_empty() && !options.modules.iter().any(|it| it == module.name) {
            continue;
        }
        let all = list(&tool, workspace, module)?;
        let total = all.len();
        let sample = sample(all, options.sample * module.share / 100, options.shard);
        println!("{}: {} of {total} mutants", module.name, sample.len());
        if options.list {
            sample.iter().for_each(|name| println!("  {name}"));
            continue;
        }
        let tally = test(&tool, workspace, module, &sample, options)?.without(&accepted);
        println!("{}: {tally}", module.name);
        if tally.score() < module.goal {
            missed.push(format!(
                "{} ({:.0} %, goal {:.0} %)",
                module.name,
                tally.score(),
                module.goal
            ));
        }
    }
    ensure!(missed.is_empty(), "too many mutants survive: {}", missed.join(", "));
    Ok(())
}

/// Functions that estimate memory. They decide when something is moved to a file, and results do not depend on it.
const ESTIMATES: &str = "::bytes";

/// Returns the names of all mutants of a module, except those of [`ESTIMATES`].
fn list(tool: &Path, workspace: &Workspace, module: &Module) -> Result<Vec<String>> {
    let mut command = mutants(tool, workspace, module);
    let text = process::output(command.args(["--list", "--json"]))?;
    let all: Vec<Value> = serde_json::from_str(&text).context("the list of mutants is not JSON")?;
    let name = |it: &Value| it["name"].as_str().map(str::to_owned);
    let names = all.iter().map(|it| name(it).context("a mutant without a name"));
    names.filter(|it| !it.as_ref().is_ok_and(|it| it.contains(ESTIMATES))).collect()
}

fn mutants(tool: &Path, workspace: &Workspace, module: &Module) -> Command {
    let mut command = Command::new(tool);
    command.current_dir(&workspace.root).args(["mutants", "--package", module.package]);
    command.args(module.files.iter().flat_map(|file| ["--file", file]));
    command
}

/// Returns a part of the `size` mutants with the smallest hashes. Lines and columns do not count, so that a change
/// elsewhere in a file leaves the sample as it is.
fn sample(mut all: Vec<String>, size: usize, (part, parts): (usize, usize)) -> Vec<String> {
    all.sort_by_key(|name| (hash(key(name)), name.clone()));
    all.truncate(size);
    all.into_iter().skip(part).step_by(parts).collect()
}

/// Returns the name of a mutant without its path and position: `crates/a/src/b.rs:1:2: replace …` becomes `replace …`.
fn key(name: &str) -> &str {
    name.split_once(": ").map_or(name, |(_, what)| what)
}

/// Returns a hash (FNV-1a) that is the same in all builds.
fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Runs the tests with each mutant.
fn test(
    tool: &Path,
    workspace: &Workspace,
    module: &Module,
    sample: &[String],
    options: &Options,
) -> Result<Tally> {
    let output = workspace.target.join("mutants").join(module.name);
    fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    let mut command = mutants(tool, workspace, module);
    command.args(["--no-shuffle", "--colors", "never", "--timeout", TIMEOUT, "--output"]);
    command.arg(&output).args(["--jobs", &options.jobs.to_string()]);
    command.args(module.tested_by.iter().flat_map(|name| ["--test-package", name]));
    command.args(["--baseline", "run", "--test-tool", "nextest"]).env(PROFILE.0, PROFILE.1);
    // Cargo looks for nextest in the path.
    let nextest = CARGO_NEXTEST.install(workspace)?;
    let places = std::env::var_os("PATH").unwrap_or_default();
    let own = nextest.parent().filter(|it| !it.as_os_str().is_empty()).map(Path::to_owned);
    let places = own.into_iter().chain(std::env::split_paths(&places));
    command.env("PATH", std::env::join_paths(places).context("PATH")?);
    command.args(sample.iter().flat_map(|name| ["--re".to_owned(), exactly(name)]));
    let status = command.status().with_context(|| format!("cannot run {}", tool.display()))?;
    // 2: some survived; 3: some took too long. Both are results.
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo-mutants failed: {status}");
    Tally::read(&output.join("mutants.out"))
}

/// Returns a regular expression that matches this text and nothing else. Only what has a meaning is escaped: `\<` and
/// `\>` would be the limits of a word.
fn exactly(text: &str) -> String {
    let escape = |c: char| match c {
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
            format!("\\{c}")
        }
        _ => c.to_string(),
    };
    format!("^{}$", text.chars().map(escape).collect::<String>())
}

/// Reads the list of accepted survivors: `mutant<TAB>reason` in each line.
fn accepted(text: &str) -> Result<BTreeMap<String, String>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once('\t') {
            Some((mutant, reason)) if !reason.trim().is_empty() => {
                Ok((mutant.into(), reason.into()))
            }
            _ => bail!("{ACCEPTED}: no reason in `{line}`"),
        })
        .collect()
}

/// Outcome of the mutants of a module.
#[derive(Debug, Default)]
struct Tally {
    noticed: usize,
    unviable: usize,
    accepted: usize,
    survivors: Vec<String>,
}

impl Tally {
    /// Reads the lists that cargo-mutants writes.
    fn read(directory: &Path) -> Result<Tally> {
        let lines = |name: &str| -> Result<Vec<String>> {
            let path: PathBuf = directory.join(name);
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Tally {
            // A test that never ends has noticed something, too.
            noticed: lines("caught.txt")?.len() + lines("timeout.txt")?.len(),
            unviable: lines("unviable.txt")?.len(),
            accepted: 0,
            survivors: lines("missed.txt")?,
        })
    }

    /// Returns the tally without survivors that are accepted.
    fn without(mut self, accepted: &BTreeMap<String, String>) -> Tally {
        let before = self.survivors.len();
        self.survivors.retain(|name| !accepted.contains_key(key(name)));
        self.accepted = before - self.survivors.len();
        self
    }

    /// Returns the share of mutants that were noticed, in percent.
    fn score(&self) -> f64 {
        let judged = self.noticed + self.survivors.len();
        if judged == 0 { 100.0 } else { 100.0 * self.noticed as f64 / judged as f64 }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { noticed, unviable, accepted, survivors } = self;
        let (score, count) = (self.score(), survivors.len());
        write!(f, "{noticed} noticed, {count} survived ({score:.1} %), ")?;
        write!(f, "{accepted} accepted, {unviable} do not compile")?;
        survivors.iter().try_for_each(|name| write!(f, "\n  survived: {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_does_not_depend_on_lines() {
        let at =
            |line: usize| (0..50).map(|n| format!("a.rs:{}:1: replace f{n}", line + n)).collect();
        let keys =
            |line| sample(at(line), 10, (0, 1)).iter().map(|it| key(it).to_owned()).collect();
        let (one, other): (Vec<_>, Vec<_>) = (keys(1), keys(900));
        assert_eq!(one, other);
        assert_eq!(one.len(), 10);
    }

    #[test]
    fn shards_are_the_whole_sample() {
        let all = || (0..50).map(|n| format!("a.rs:1:1: replace f{n}")).collect::<Vec<_>>();
        let mut parts: Vec<_> = (0..3).flat_map(|part| sample(all(), 20, (part, 3))).collect();
        let mut whole = sample(all(), 20, (0, 1));
        parts.sort();
        whole.sort();
        assert_eq!(parts, whole);
    }

    #[test]
    fn survivors_need_a_reason() {
        assert_eq!(accepted("# head\nreplace + with *\tonly a size hint\n").unwrap().len(), 1);
        assert!(accepted("replace + with *\n").is_err());
        let survivors = vec!["a.rs:1:2: replace + with *".to_owned(), "a.rs:3:2: replace x".into()];
        let tally = Tally { noticed: 9, survivors, ..Tally::default() };
        let tally = tally.without(&accepted("replace + with *\treason").unwrap());
        assert_eq!((tally.accepted, tally.survivors.len()), (1, 1));
        assert!((tally.score() - 90.0).abs() < 1e-9);
    }

    #[test]
    fn expressions_match_names_exactly() {
        assert_eq!(exactly("a.rs:1: + with *"), r"^a\.rs:1: \+ with \*$");
        assert_eq!(exactly("f -> Vec<u8> with []"), r"^f -> Vec<u8> with \[\]$");
    }
}
