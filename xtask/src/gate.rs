//! `cargo xtask gate`: holds `dwell compare` against runs that are known to be equal, faster or slower.
//!
//! Programs run in turn, recorded and analysed, so that what else the machine does falls on both sides. A row shows how
//! often the verdict was right. `paced` is a program whose phases are paced by the clock, and `computing` one that counts its
//! work in operations. Sets of `computing` are drawn from twenty runs of each kind, because each of them takes as long as it
//! takes; those of `paced` are runs of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::process::{self, cargo, load};
use crate::workspace::Workspace;

/// Options of `cargo xtask gate`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of pairs and of sets in each row
    #[arg(long, default_value_t = 20)]
    pairs: usize,
    /// Number of runs in a set
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Leave out the program that is paced by the clock, which the load of the machine hardly changes
    #[arg(long)]
    computing: bool,
}

/// Slowdowns of the computing program that are tried, in per cent.
const SLOWDOWNS: [u32; 4] = [2, 5, 10, 20];

/// Steps of the paced program, the microseconds of a phase of its slow PE, and those of the others.
const PACED: [&str; 3] = ["150", "9000", "3000"];

/// Programs and directories.
struct Tools {
    dwell: PathBuf,
    library: PathBuf,
    folder: PathBuf,
    paced: PathBuf,
    computing: PathBuf,
    /// Operations that take a millisecond here.
    operations: u64,
}

/// Runs all rows and prints a table. Fails if a verdict was wrong more often than it may be.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    ensure!(options.pairs > 0 && options.runs > 0, "pairs and runs are at least 1");
    let build = ["build", "--release", "-p", "dwell", "-p", "dwell-preload"];
    process::run(cargo(&workspace.root).args(build))?;
    let tools = Tools::new(workspace)?;
    println!("the load is {}\n", load());
    let mut failed = Vec::new();
    let mut row = |title: &str, right: usize, least: usize| {
        println!("{title:60} {right} of {}", options.pairs);
        if right < least {
            failed.push(title.to_owned());
        }
    };
    let all = options.pairs;
    row("computing, equal pairs: exit code 0", tools.equal(Program::Computing, options)?, all);
    if !options.computing {
        row("paced, equal pairs: exit code 0", tools.equal(Program::Paced, options)?, all);
        let title = format!("paced, sets of {}, 5 % slower: exit code 1", options.runs);
        row(&title, tools.slower_sets(options)?, all);
        let (verdict, code) = tools.fixed()?;
        println!("{:60} {verdict}, exit code {code}", "paced, the slow PE as fast as the others");
        if code != 0 || !verdict.contains("faster") {
            failed.push("the faster program".to_owned());
        }
    }
    tools.smallest(options)?;
    println!("\nthe load is {}", load());
    ensure!(failed.is_empty(), "wrong too often: {}", failed.join("; "));
    Ok(())
}

/// A program of a row.
#[derive(Clone, Copy)]
enum Program {
    Paced,
    Computing,
}

impl Tools {
    fn new(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.target.join("gate");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = fs::canonicalize(folder)?;
        let programs = Path::new("tests/programs");
        let compile = |compiler: &str, source: &str, name: &str| {
            let program = folder.join(name);
            let mut command = Command::new(compiler);
            command.args(["-O1", "-g", "-o"]).arg(&program).arg(programs.join(source));
            process::output(&mut command).map(|_| program)
        };
        let calibrate = compile("gcc", "predictions/calibrate.c", "calibrate")?;
        let paced = compile("oshcc", "paced_halo.c", "paced")?;
        let computing = compile("oshcc", "predictions/shmem.c", "computing")?;
        let operations = process::output(&mut Command::new(calibrate))?.trim().parse()?;
        let built = workspace.target.join("release");
        let (dwell, library) = (built.join("dwell"), built.join("libdwell.so"));
        Ok(Self { dwell, library, folder, paced, computing, operations })
    }

    /// Records and analyses a run that is `slower` per cent slower, and returns its directory.
    fn record(&self, name: &str, program: Program, slower: u32) -> Result<PathBuf> {
        let factor = u64::from(100 + slower);
        match program {
            Program::Paced => {
                let late = (90 * factor).to_string();
                self.start(name, "4", &[PACED[0], &late, PACED[2]], &self.paced)
            }
            Program::Computing => {
                let operations = (self.operations * factor / 100).to_string();
                self.start(name, "2", &["balanced", &operations], &self.computing)
            }
        }
    }

    fn start(&self, name: &str, pes: &str, words: &[&str], program: &Path) -> Result<PathBuf> {
        let directory = self.folder.join(name);
        let mut command = Command::new("timeout");
        command.args(["-k", "3", "120", "oshrun", "-np", pes, "-mca", "osc", "^rdma"]);
        command.arg(&self.dwell).args(["run", "-o"]).arg(&directory).arg(program).args(words);
        command.env("DWELL_LIBRARY", &self.library);
        process::in_a_container(&mut command);
        process::output(&mut command)?;
        let mut analyze = Command::new(&self.dwell);
        // Only lengths and waits are compared.
        analyze.args(["analyze", "--causes", "never"]).arg(&directory);
        process::output(&mut analyze)?;
        let _ = fs::remove_dir_all(directory.join("traces"));
        Ok(directory)
    }

    /// Compares two sets of runs. Returns the first line of the answer and the exit code.
    fn compare(&self, before: &[PathBuf], after: &[PathBuf]) -> Result<(String, i32)> {
        let mut command = Command::new(&self.dwell);
        command.arg("compare").arg("--before").args(before).arg("--after").args(after);
        let output = command.env("COLUMNS", "400").output()?;
        let Some(code @ (0 | 1)) = output.status.code() else {
            bail!("dwell compare: {}", String::from_utf8_lossy(&output.stderr))
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((text.lines().next().unwrap_or_default().to_owned(), code))
    }

    /// Returns the number of pairs of equal runs that are called equal.
    fn equal(&self, program: Program, options: &Options) -> Result<usize> {
        let mut right = 0;
        for pair in 0..options.pairs {
            let both = ["a", "b"].map(|side| {
                let name = format!("equal-{}-{pair}{side}", program as u8);
                self.record(&name, program, 0)
            });
            let [a, b] = both;
            right += usize::from(self.compare(&[a?], &[b?])?.1 == 0);
        }
        Ok(right)
    }

    /// Returns the number of sets with a slowdown of 5 % that are called slower.
    fn slower_sets(&self, options: &Options) -> Result<usize> {
        let mut right = 0;
        for set in 0..options.pairs {
            let (mut before, mut after) = (Vec::new(), Vec::new());
            for run in 0..options.runs {
                before.push(self.record(&format!("set-{set}-{run}a"), Program::Paced, 0)?);
                after.push(self.record(&format!("set-{set}-{run}b"), Program::Paced, 5)?);
            }
            let (verdict, code) = self.compare(&before, &after)?;
            if code != 1 {
                println!("  {verdict}");
            }
            right += usize::from(code == 1);
        }
        Ok(right)
    }

    /// Compares the program with one in which all PEs share the work.
    fn fixed(&self) -> Result<(String, i32)> {
        let before = self.record("slow", Program::Paced, 0)?;
        let after = self.start("fixed", "4", &[PACED[0], "4500", "4500"], &self.paced)?;
        let (verdict, code) = self.compare(&[before], &[after])?;
        let verdict = verdict.split_once(": ").map_or(verdict.as_str(), |it| it.1).to_owned();
        Ok((verdict, code))
    }

    /// Prints how often each slowdown of the computing program is found.
    fn smallest(&self, options: &Options) -> Result<()> {
        const POOL: usize = 20;
        let mut pools: Vec<Vec<PathBuf>> = vec![Vec::new(); SLOWDOWNS.len() + 1];
        for run in 0..POOL {
            let kinds = std::iter::once(0).chain(SLOWDOWNS);
            for (pool, slower) in pools.iter_mut().zip(kinds) {
                let name = format!("computing-{slower}-{run}");
                pool.push(self.record(&name, Program::Computing, slower)?);
            }
        }
        let Some((equal, others)) = pools.split_first() else { return Ok(()) };
        let mut state = 1_u64;
        let mut draw = |pool: &[PathBuf]| {
            let mut rest: Vec<PathBuf> = pool.to_vec();
            let mut drawn = Vec::new();
            while drawn.len() < options.runs.min(POOL) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (state >> 33) as usize % rest.len();
                drawn.push(rest.swap_remove(at));
            }
            drawn
        };
        for (pool, slower) in others.iter().zip(SLOWDOWNS) {
            let mut found = 0;
            for _ in 0..options.pairs {
                let (before, after) = (draw(equal), draw(pool));
                found += usize::from(self.compare(&before, &after)?.1 == 1);
            }
            let title = format!("computing, sets of {}, {slower} % more work: found", options.runs);
            println!("{title:60} {found} of {}", options.pairs);
        }
        Ok(())
    }
}
