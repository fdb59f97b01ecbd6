//! All automation of the project, as one Rust program.
//!
//! People and continuous integration run the same code, so neither can drift from the other, and no step depends on the
//! dialect of a shell. Each subcommand has a file; this one only parses the command line.

mod aarch64;
mod background;
mod bench;
mod book;
mod bounds;
mod build;
mod ci;
mod cluster;
mod deny;
mod dist;
mod evaluate;
mod fuzz;
mod gate;
mod instructions;
mod mutants;
mod predict;
mod process;
mod proofs;
mod prose;
mod release_notes;
mod same;
mod sanitize;
mod statistics;
mod steps;
mod tables;
mod tidy;
mod tools;
mod truth;
mod web;
mod workspace;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Automation of the Dwell project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// Subcommands, one variant each.
#[derive(Subcommand)]
enum Task {
    /// Build for AArch64 (64-bit Arm) and run tests under emulation
    Aarch64(aarch64::Options),
    /// Check the structure of the project: dependencies between crates, files
    Tidy,
    /// Check licences, origins and known vulnerabilities of dependencies
    Deny(deny::Options),
    /// Build the book and check its links
    Book(book::Options),
    /// Count the instructions of hot paths, and hold them against tests/instructions.tsv
    Bounds(bounds::Options),
    /// Build the artefacts of a release: tarball, wheel, Debian package, recipes, checksums
    Dist(dist::Options),
    /// Run what continuous integration runs
    Ci(ci::Options),
    /// Repeat the evaluations of the papers on which Dwell is built, on this machine
    Evaluate(evaluate::Options),
    /// Start a cluster on this machine with Slurm and `GlusterFS`, and try Dwell on it
    Cluster(cluster::Options),
    /// Install the packages that tests need
    Install,
    /// Run tests of unsafe and lock-free code under Miri and ThreadSanitizer
    Sanitize,
    /// Hold dwell compare against runs that are known to be equal, faster or slower
    Gate(gate::Options),
    /// Compare predictions of `dwell whatif` with runs in which the remedy was applied
    Predict(predict::Options),
    /// Run the proofs that take too long for every change: all random archives, all MPI libraries, artefacts of a release
    Proofs(proofs::Options),
    /// Measure the doc comments: words, vague beginnings, labels
    Prose(prose::Options),
    /// Fuzz the readers of untrusted input
    Fuzz(fuzz::Options),
    /// Change single expressions of the code that judges, and count the changes that no test notices
    Mutants(mutants::Options),
    /// Print what the changelog says about a version
    ReleaseNotes(release_notes::Options),
    /// Measure speed and overhead, compared with existing tools
    Bench(bench::Options),
    /// Analyse a fixed set of archives with the code of two commits, and compare the results
    Same(same::Options),
    /// Measure SRUMMA and SOR, and print the tables of the book
    Tables(tables::Options),
    /// Compare the waits that test programs measure themselves with those that Dwell finds
    Truth(truth::Options),
    /// Build the page of the explorer; --check compares it with the committed one, --test tests it in a browser
    Web(web::Options),
}

/// Runs the subcommand. An error is printed without a backtrace, which would only show this program.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<()> {
    let workspace = Workspace::load()?;
    // From here on paths are relative to the root: short to read, and the same
    // for everybody.
    std::env::set_current_dir(&workspace.root).context("cannot enter the workspace")?;
    match task {
        Task::Aarch64(options) => aarch64::run(&workspace, options),
        Task::Tidy => tidy::run(&workspace),
        Task::Deny(options) => deny::run(&workspace, options),
        Task::Book(options) => book::run(&workspace, options),
        Task::Bounds(options) => bounds::run(&workspace, options),
        Task::Dist(options) => dist::run(&workspace, options),
        Task::Ci(options) => ci::run(&workspace, options),
        Task::Cluster(options) => cluster::run(&workspace, options),
        Task::Evaluate(options) => evaluate::run(&workspace, options),
        Task::Install => ci::install::run(&workspace),
        Task::Sanitize => sanitize::run(&workspace),
        Task::Gate(options) => gate::run(&workspace, options),
        Task::Predict(options) => predict::run(&workspace, options),
        Task::Proofs(options) => proofs::run(&workspace, options),
        Task::Prose(options) => prose::run(&workspace, options),
        Task::Fuzz(options) => fuzz::run(&workspace, options),
        Task::Mutants(options) => mutants::run(&workspace, options),
        Task::ReleaseNotes(options) => release_notes::run(options),
        Task::Bench(options) => bench::run(&workspace, options),
        Task::Same(options) => same::run(&workspace, options),
        Task::Tables(options) => tables::run(&workspace, options),
        Task::Truth(options) => truth::run(&workspace, options),
        Task::Web(options) => web::run(&workspace, options),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
