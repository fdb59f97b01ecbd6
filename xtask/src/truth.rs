//! `cargo xtask truth`: compares the waits that programs measure themselves with those that Dwell finds in them.
//!
//! The programs of `tests/programs/truth` read the clock around each call that waits, and tell each other, outside of
//! the runtime, when they do what others wait for. So each program knows how long it waited, in which line and for
//! which process, however busy the machine is. They are recorded on real runtimes and analysed. For each line that
//! waits, a row of a table shows what the program measured and what Dwell found: see [`judge`]. A row fails if the true
//! time lies outside of the bounds, or if the line or the culprit is wrong. Programs with a delay that others pass on know
//! what it costs them all; a row compares that with the first cause that Dwell lists: see [`causes`].
//!
//! A row that fails is run again, up to [`ATTEMPTS`] times in all, because a process that loses its core between a call
//! and its reading of the clock is wrong about itself. Rows that are known to fail are listed in [`known`], with the
//! reason. If one of them passes in every attempt, the command fails as well, so that the list stays true.

mod causes;
mod judge;
mod known;
mod programs;
mod runtimes;
mod spins;
mod whole;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::judge::{Extra, Row, Verdict};
use self::programs::{Kind, RUNS, Run};
use self::runtimes::Tools;
use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Largest number of attempts for a row.
const ATTEMPTS: usize = 6;

/// Percentage of the archives with targets that come and go in which the true time must lie within the bounds.
const VISITS_PERCENT: usize = 95;

/// Options of `cargo xtask truth`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only programs whose title contains all of these words: runtime, program, modes
    names: Vec<String>,
    /// Run the small part that continuous integration runs
    #[arg(long)]
    sample: bool,
    /// Print the selected runs and do not run them
    #[arg(long)]
    list: bool,
    /// Try each row only once
    #[arg(long)]
    once: bool,
    /// Record with this bound on the overhead, such as 2%: waits must be found as without it
    #[arg(long, value_name = "SHARE")]
    overhead: Option<String>,
}

impl Options {
    /// Returns options that run all programs, with a bound on the overhead if there is one.
    pub(crate) fn all(overhead: Option<&str>) -> Options {
        let overhead = overhead.map(str::to_owned);
        Options { names: Vec::new(), sample: false, list: false, once: false, overhead }
    }

    /// Returns the options of continuous integration.
    pub(crate) fn sample() -> Options {
        Options { sample: true, ..Self::all(None) }
    }

    fn wants(&self, run: &Run) -> bool {
        let title = run.title();
        (!self.sample || run.sample) && self.names.iter().all(|name| title.contains(name.as_str()))
    }
}

/// Number of rows by their outcome.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    known: usize,
    failed: Vec<String>,
    /// Number of archives with targets that come and go; the next field counts those with the true time within the
    /// bounds.
    visits: usize,
    visits_within: usize,
}

/// Runs the programs and prints the table.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let wanted: Vec<&Run> =
        RUNS.iter().chain(spins::RUNS).filter(|run| options.wants(run)).collect();
    ensure!(!wanted.is_empty(), "nothing has all of {:?} in its name", options.names);
    if options.list {
        wanted.iter().for_each(|run| println!("{}", run.title()));
        return Ok(());
    }
    process::run(cargo(&workspace.root).args(["build", "-p", "dwell", "-p", "dwell-preload"]))?;
    let folder = workspace.target.join("truth");
    let tools = Tools::new(&workspace.target.join("debug"), &folder, options.overhead.clone())?;
    let mut tally = Tally::default();
    let began = Instant::now();
    println!("{}", judge::HEAD);
    for run in wanted {
        if let Err(error) = measure(&tools, run, options, &mut tally) {
            println!("  {error:#}");
            tally.failed.push(format!("{}: {error:#}", run.title()));
        }
    }
    tally.conclude(began)
}

/// Runs a program, several times if rows fail, and prints its rows.
fn measure(tools: &Tools, run: &Run, options: &Options, tally: &mut Tally) -> Result<()> {
    println!("\n{}", run.title());
    let attempts = if options.once || run.kind == Kind::Visits { 1 } else { ATTEMPTS };
    // The best attempt of a row that is to pass, the worst of one that is known to fail.
    let mut rows: BTreeMap<judge::Key, Row> = BTreeMap::new();
    for attempt in 0..attempts {
        let folder = tools.folder.join(run.folder());
        let found = match attempt_once(tools, run, &folder) {
            Err(_) if attempt + 1 < attempts => continue,
            found => found?,
        };
        // What the program did not know of, and what is not found again, was chance.
        let again = |key: &judge::Key| found.iter().any(|row| row.key == *key);
        rows.retain(|key, row| row.verdict != Verdict::Unknown || again(key));
        for row in found {
            let known = known::reason(run, &row).is_some();
            let better =
                |old: &Row| (row.verdict == Verdict::Passes) != known && old.verdict != row.verdict;
            if rows.get(&row.key).is_none_or(better) {
                rows.insert(row.key.clone(), row);
            }
        }
        let settled = |row: &Row| {
            let known = known::reason(run, row).is_some();
            (row.verdict == Verdict::Passes) != known || known::may_pass(run, row)
        };
        if rows.values().all(settled) {
            break;
        }
        if attempt + 1 < attempts {
            println!("  (again: {})", unsettled(&rows, settled));
        }
    }
    ensure!(
        !rows.is_empty() || matches!(run.kind, Kind::Balanced | Kind::Exact),
        "the program knows nothing"
    );
    let within =
        rows.values().filter(|row| row.is_progress()).all(|row| row.verdict == Verdict::Passes);
    for row in rows.values() {
        let reason = known::reason(run, row);
        println!("{row}{}", reason.map_or(String::new(), |it| format!(" (known: {it})")));
        tally.count(run, row, reason.is_some());
    }
    if run.kind == Kind::Visits {
        tally.visits += 1;
        tally.visits_within += usize::from(within);
    }
    Ok(())
}

fn unsettled(rows: &BTreeMap<judge::Key, Row>, settled: impl Fn(&Row) -> bool) -> String {
    let names: Vec<String> =
        rows.values().filter(|row| !settled(row)).map(|row| row.key.to_string()).collect();
    names.join(", ")
}

/// Records, analyses and judges one run.
fn attempt_once(tools: &Tools, run: &Run, folder: &Path) -> Result<Vec<Row>> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    tools.record(run, folder)?;
    tools.analyze(folder)?;
    let truths = judge::truths(folder)?;
    let findings = fs::read_to_string(folder.join("experiment/findings.json"))?;
    let extra = match run.kind {
        Kind::Balanced => Extra::Balanced,
        Kind::Exact => Extra::Exact,
        Kind::Waits | Kind::Visits | Kind::Causes => Extra::Allowed,
    };
    judge::judge(&truths, &findings, extra)
}

impl Tally {
    fn count(&mut self, run: &Run, row: &Row, known: bool) {
        let name = || format!("{}: {row}", run.title());
        match (row.verdict == Verdict::Passes, known) {
            (true, false) => self.passed += 1,
            (false, true) => self.known += 1,
            // Judged together, at the end.
            (false, false) if run.kind == Kind::Visits => {}
            (false, false) => self.failed.push(name()),
            (true, true) if known::may_pass(run, row) => self.passed += 1,
            (true, true) => self.failed.push(format!("{} (is known to fail, and passes)", name())),
        }
    }

    fn conclude(&self, began: Instant) -> Result<()> {
        println!(
            "\n{} rows pass, {} fail as is known, {} fail; {:.0} s",
            self.passed,
            self.known,
            self.failed.len(),
            began.elapsed().as_secs_f64()
        );
        if self.visits > 0 {
            println!(
                "targets that come and go: the truth lies within the bounds in {} of {} archives",
                self.visits_within, self.visits
            );
        }
        for row in &self.failed {
            println!("FAILED {row}");
        }
        if !self.failed.is_empty() {
            bail!("{} rows fail", self.failed.len());
        }
        ensure!(
            100 * self.visits_within >= VISITS_PERCENT * self.visits,
            "the truth lies within the bounds in less than {VISITS_PERCENT} % of the archives"
        );
        Ok(())
    }
}

/// Returns the directory of the programs.
fn sources() -> PathBuf {
    PathBuf::from("tests/programs/truth")
}
