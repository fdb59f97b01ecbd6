//! `cargo xtask bench`: benchmarks against existing tools.
//!
//! A claim of speed is a ratio to something people know, taken in one run on one machine. [`harness`] does the
//! measuring; each other module here makes one comparison.

mod analyze;
mod harness;
mod otf2;
mod overhead;
mod scale;

use anyhow::Result;
use clap::{Args, Subcommand};

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
