//! `cargo xtask bench otf2`: the crate `otf2` against libotf2.
//!
//! Both sides are programs with the same modes: `libotf2_bench.c` beside this
//! file, compiled here, and the example `bench` of the crate. The archives are
//! always written by libotf2, so neither side reads a layout of its own making.
//! The contract between the programs is at the top of the C file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::harness::{self, Contestant, Group};
use crate::build::Build;
use crate::process;
use crate::workspace::Workspace;

/// Number of locations, enough for two threads to share the work evenly.
const LOCATIONS: u64 = 8;

/// Seed of random events. It is fixed, so that runs are comparable.
const SEED: &str = "20240229";

/// Options of `cargo xtask bench otf2`.
#[derive(Args)]
pub(crate) struct Options {
    /// Events in each archive
    #[arg(long, default_value_t = 16_000_000)]
    events: u64,
    /// Rounds that are measured, after one to warm up
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Do not fail when a goal is missed
    #[arg(long)]
    no_goals: bool,
    /// Leave out the archive of random events
    #[arg(long)]
    regular_only: bool,
    #[arg(skip = Build::Release)]
    build: Build,
}

impl Options {
    /// Returns options for a small run without goals: see [`super::Options::smoke`].
    pub(crate) fn smoke() -> Options {
        Options {
            events: 40_000,
            rounds: 1,
            no_goals: true,
            regular_only: false,
            build: Build::Dev,
        }
    }
}

/// Builds both programs, writes the archives, measures, and fails if a goal is missed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.rounds == 0 || options.events < LOCATIONS {
        bail!("at least one round and {LOCATIONS} events are needed");
    }
    let programs = Programs::build(workspace, options.build)?;
    let groups = programs.groups(options)?;
    println!("\n{}", harness::machine());
    println!("{} rounds, alternating, after one to warm up\n", options.rounds);
    let mut missed = Vec::new();
    for group in groups {
        let comparison = group.measure(options.rounds)?;
        println!("{comparison}");
        if !comparison.meets_goal() {
            missed.push(comparison.title());
        }
    }
    if !missed.is_empty() && !options.no_goals {
        bail!("goals missed: {}", missed.join(", "));
    }
    Ok(())
}

/// The two programs, and the directory of their archives.
struct Programs {
    libotf2: PathBuf,
    ours: PathBuf,
    directory: PathBuf,
}

impl Programs {
    fn build(workspace: &Workspace, build: Build) -> Result<Programs> {
        let directory = PathBuf::from(workspace.relative(&workspace.target.join("bench")));
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        Ok(Programs {
            libotf2: build_libotf2(&directory)?,
            ours: build_ours(workspace, build)?,
            directory,
        })
    }

    fn groups(&self, options: &Options) -> Result<Vec<Group>> {
        let each = options.events / LOCATIONS;
        let regular = self.archive("regular", each)?;
        let mut groups = vec![self.read("read regular", 5.0, &regular)];
        if !options.regular_only {
            let random = self.archive("random", each)?;
            groups.push(self.read("read random", 3.0, &random));
        }
        groups.push(self.write_memory(each));
        groups.push(self.threads(&regular));
        Ok(groups)
    }

    /// Writes an archive, replacing an old one that another version of the C program may have written.
    fn archive(&self, kind: &str, events: u64) -> Result<PathBuf> {
        let directory = self.directory.join(kind);
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        let mut write = Command::new(&self.libotf2);
        write.arg("write-archive").arg(&directory);
        write.args([&LOCATIONS.to_string(), &events.to_string(), kind, SEED]);
        process::run(&mut write)?;
        Ok(directory.join("traces.otf2"))
    }

    fn read(&self, title: &'static str, goal: f64, archive: &Path) -> Group {
        let contestants = vec![
            Contestant::command("libotf2", read(&self.libotf2, archive)),
            Contestant::command("otf2 (Rust)", read(&self.ours, archive)),
        ];
        Group { title, goal, contestants }
    }

    fn write_memory(&self, events: u64) -> Group {
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command.arg("write-memory");
            command.args([&LOCATIONS.to_string(), &events.to_string(), "regular"]);
            command
        };
        Group {
            title: "write to memory",
            goal: 3.0,
            contestants: vec![
                Contestant::command("libotf2", command(&self.libotf2)),
                Contestant::command("otf2 (Rust)", command(&self.ours)),
            ],
        }
    }

    fn threads(&self, archive: &Path) -> Group {
        let command = |threads: &str| {
            let mut command = read(&self.ours, archive);
            command.args(["--threads", threads]);
            command
        };
        Group {
            title: "read regular, two threads against one",
            goal: 1.7,
            contestants: vec![
                Contestant::command("one thread", command("1")),
                Contestant::command("two threads", command("2")),
            ],
        }
    }
}

fn read(program: &Path, archive: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("read").arg(archive);
    command
}

pub(super) fn build_libotf2(directory: &Path) -> Result<PathBuf> {
    let program = directory.join("libotf2_bench");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "xtask/src/bench/libotf2_bench.c"]).arg("-lotf2").arg("-o").arg(&program);
    process::run(&mut compiler)
        .context("libotf2 is needed to compare with: `apt-get install libotf2-trace-dev gcc`")?;
    Ok(program)
}

pub(super) fn build_ours(workspace: &Workspace, build: Build) -> Result<PathBuf> {
    build.program(workspace, "otf2", ["--example", "bench"])
}
