//! `cargo xtask bench`: measured against the tools that exist.
//!
//! A claim of speed is a ratio to something people know, taken in one run on one
//! machine. [`harness`] does the measuring; each other module here knows one
//! comparison.

mod analyze;
mod harness;
mod otf2;
mod overhead;

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
    /// The search for waits, against bare reading
    Analyze(analyze::Options),
    /// Reading and writing OTF2 archives, against libotf2
    Otf2(otf2::Options),
    /// What measuring costs the program that is measured
    Overhead(overhead::Options),
    /// A little of everything, without goals: see that it all works
    Smoke,
}

impl Options {
    /// Small enough for continuous integration, whose machines are too noisy
    /// for goals: it shows that everything runs and that the answers agree.
    pub(crate) fn smoke() -> Options {
        Options { benchmark: Benchmark::Smoke }
    }
}

/// How what is measured is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// As users have it.
    Release,
    /// As tests have it, which is built already where they ran.
    Dev,
}

impl Build {
    /// Builds a program of a crate, given as cargo wants it: `--bin` or `--example`, and its name.
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
        Benchmark::Smoke => {
            otf2::run(workspace, &otf2::Options::smoke())?;
            analyze::run(workspace, &analyze::Options::smoke())
        }
    }
}
