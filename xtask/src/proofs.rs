//! `cargo xtask proofs`: checks that take too long for every change, or rarely fail. Continuous integration runs a sample
//! of them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::ci::{self, gasnet, install, linkage, published};
use crate::process::{self, cargo};
use crate::steps::{self, Step};
use crate::workspace::Workspace;
use crate::{aarch64, bench, book, bounds, cluster, deny, dist, fuzz, sanitize, truth, web};

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u32 = 30;

/// Options of `cargo xtask proofs`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only these steps; all of them if none is named
    names: Vec<String>,
    /// Begin with this step
    #[arg(long, value_name = "STEP", conflicts_with = "names")]
    from: Option<String>,
    /// Print the names of the steps and do not run them
    #[arg(long)]
    list: bool,
}

/// The steps, ordered such that failures are found early.
#[rustfmt::skip]
const STEPS: &[Step<Workspace>] = &[
    Step { name: "docs", run: |it| ci::docs(it, &["--workspace"]) },
    Step { name: "deny", run: |it| deny::check(it, false).map(|line| println!("{line}")) },
    Step { name: "book", run: book::check },
    Step { name: "package", run: published::package },
    Step { name: "png", run: |it| test(it, &["-p", "dwell", "--features", "png", "--bin", "dwell", "png::"]) },
    Step { name: "sanitize", run: sanitize::run },
    Step { name: "flang", run: flang },
    Step { name: "random-archives", run: |it| test(it, &["-p", "dwell-analyze", "--", "--include-ignored"]) },
    Step { name: "release-tests", run: release_tests },
    Step { name: "every-mpi", run: every_mpi },
    Step { name: "assertions", run: |it| test(it, &["-p", "dwell", "--test", "record"]) },
    Step { name: "kills", run: kills },
    Step { name: "damage", run: |it| test(it, &["--release", "-p", "dwell", "--test", "commands", "doors::silent::proof", "--", "--ignored", "--nocapture"]) },
    Step { name: "verdicts", run: |it| test(it, &["--release", "-p", "dwell", "--test", "commands", "verdicts::", "--", "--ignored"]) },
    Step { name: "fault-wall", run: |it| test(it, &["-p", "dwell", "--test", "record", "wall::", "--", "--ignored"]) },
    Step { name: "samples", run: samples },
    Step { name: "fixed-form", run: |it| test(it, &["-p", "dwell", "--test", "record", "coarray::", "--", "--ignored"]) },
    Step { name: "launchers", run: |it| test(it, &["--release", "-p", "dwell", "--test", "record", "launched::", "--", "--ignored"]) },
    Step { name: "cluster", run: |it| cluster::run(it, &cluster::Options::default()) },
    Step { name: "gasnet-counts", run: gasnet_counts },
    Step { name: "book-commands", run: |it| test(it, &["-p", "dwell", "--test", "book", "--", "--include-ignored"]) },
    Step { name: "bounds", run: |it| bounds::run(it, &bounds::Options::default()) },
    Step { name: "truth", run: |it| truth::run(it, &truth::Options::all(None)) },
    Step { name: "truth-bounded", run: |it| truth::run(it, &truth::Options::all(Some("2%"))) },
    Step { name: "web", run: web::test_everything },
    Step { name: "bench", run: |it| bench::run(it, &bench::Options::smoke()) },
    Step { name: "fuzz", run: |it| fuzz::run(it, &fuzz::Options::all(FUZZ_SECONDS)) },
    Step { name: "aarch64", run: |it| aarch64::run(it, &aarch64::Options::all()) },
    Step { name: "dist", run: |it| dist::run(it, &dist::Options::checked()) },
];

/// Runs the steps that the options select, or prints their names.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.list {
        println!("{}", steps::names(STEPS));
        return Ok(());
    }
    if let Some(name) = options.names.iter().find(|name| !STEPS.iter().any(|it| it.name == **name))
    {
        bail!("no step `{name}`; the steps are {}", steps::names(STEPS));
    }
    let wanted = |step: &&Step<_>| {
        options.names.is_empty() || options.names.iter().any(|it| it == step.name)
    };
    let chosen = steps::beginning_with(STEPS, options.from.as_deref())?;
    steps::run(chosen.iter().filter(wanted), workspace)
}

/// Runs tests with these arguments of `cargo test`, with all that continuous integration installs.
fn test(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    process::run(&mut tests(workspace, arguments))
}

fn tests(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = cargo(&workspace.root);
    command.arg("test").args(arguments).envs(ci::variables(workspace));
    command
}

/// Compares what is found in Fortran source with what flang finds.
fn flang(workspace: &Workspace) -> Result<()> {
    install::flang()?;
    let mut command = tests(workspace, &["-p", "dwell-fortran", "--test", "all", "flang::"]);
    process::run(command.env("DWELL_REQUIRE_FLANG", "1"))
}

/// Runs the tests of the recorder, of archives and of the command in the release profile, as users have them.
fn release_tests(workspace: &Workspace) -> Result<()> {
    let crates = ["otf2", "dwell-measure", "dwell-unify", "dwell-preload", "dwell"];
    let crates: Vec<&str> = crates.iter().flat_map(|name| ["-p", name]).collect();
    test(workspace, &[&["--release", "--tests"], &crates[..]].concat())?;
    let program = workspace.target.join("release/dwell");
    linkage::check(Path::new(&workspace.relative(&program)))
}

/// Runs each test that starts processes with every MPI library, and records by the optimised library.
fn every_mpi(workspace: &Workspace) -> Result<()> {
    for arguments in [&["-p", "dwell-mpi"][..], &["-p", "dwell", "--test", "record"]] {
        let mut command = tests(workspace, arguments);
        process::run(command.env("DWELL_TEST_MPI", "all").env("DWELL_TEST_LIBRARY", "release"))?;
    }
    Ok(())
}

/// Recovers runs that were killed and damaged at random, in the release profile.
fn kills(workspace: &Workspace) -> Result<()> {
    let record =
        ["--release", "-p", "dwell", "--test", "record", "damage::proof", "--", "--ignored"];
    test(workspace, &record)?;
    let staged =
        ["--release", "-p", "dwell-measure", "--test", "all", "staged::", "--", "--ignored"];
    test(workspace, &staged)
}

/// Rounds of the programs that know which of their functions take longer: about 200 runs.
const SAMPLED_ROUNDS: &str = "16";

/// Samples programs until it is known how often an amount is inside its margin.
fn samples(workspace: &Workspace) -> Result<()> {
    let mut command = tests(workspace, &["-p", "dwell", "--test", "record", "samples::truth"]);
    process::run(command.env("DWELL_ROUNDS", SAMPLED_ROUNDS))
}

/// Compares recordings with the counts of calls and bytes that GASNet with assertions keeps itself.
fn gasnet_counts(workspace: &Workspace) -> Result<()> {
    gasnet::install_debug(workspace)?;
    let record = ["-p", "dwell", "--test", "record", "gasnet::", "--", "--ignored"];
    let mut command = tests(workspace, &record);
    process::run(command.env("DWELL_GASNET_DEBUG", gasnet::debug_directory(workspace)))
}
