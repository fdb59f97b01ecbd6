//! `cargo xtask bench`: benchmarks against existing tools.
//!
//! A claim of speed is a ratio to something people know, taken in one run on one machine. [`harness`] does the
//! measuring; each other module here makes one comparison.

mod analyze;
mod harness;
mod otf2;
mod overhead;
mod scale;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::process;
use crate::workspace::Workspace;

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// The search for wait states, compared with merely reading the archive
    Analyze(analyze::Options),
    /// Reading and writing OTF2 archives, compared with libotf2
    Otf2(otf2::Options),
    /// Overhead of recording, for single calls and for whole programs
    Overhead(overhead::Options),
    /// Cost of the analysis for each of several processes: bytes, messages, reads and memory
    Scale(scale::Options),
    /// A little of everything without goals, to see that it works
    Smoke,
}

impl Options {
    /// Returns options small enough for continuous integration, whose machines are too noisy for goals. Such a run
    /// shows that everything works and that the contestants compute the same.
    pub(crate) fn smoke() -> Options {
        Options { benchmark: Benchmark::Smoke }
    }
}

/// Profile with which the measured programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// The release profile, which users have.
    Release,
    /// The profile of tests, which is built already after tests ran.
    Dev,
}

impl Build {
    /// Builds a program of a crate and returns its path. `target` selects it as cargo does: `--bin` or `--example`, and
    /// a name.
    fn program(self, workspace: &Workspace, package: &str, target: [&str; 2]) -> Result<PathBuf> {
        let mut build = process::cargo(&workspace.root);
        build.args(["build", "-p", package]).args(target);
        if self == Build::Release {
            build.arg("--release");
        }
        process::run(&mut build)?;
        let folder = workspace.target.join(match self {
            Build::Release => "release",
            Build::Dev => "debug",
        });
        let [kind, name] = target;
        let folder = if kind == "--example" { folder.join("examples") } else { folder };
        Ok(workspace.relative(&folder.join(name)).into())
    }
}

/// Runs one benchmark.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    match &options.benchmark {
        Benchmark::Analyze(options) => analyze::run(workspace, options),
        Benchmark::Otf2(options) => otf2::run(workspace, options),
        Benchmark::Overhead(options) => overhead::run(workspace, options),
        Benchmark::Scale(options) => scale::run(workspace, options),
        Benchmark::Smoke => {
            otf2::run(workspace, &otf2::Options::smoke())?;
            analyze::run(workspace, &analyze::Options::smoke())
        }
    }
}
