//! `cargo xtask ci`: everything that must hold before code is merged.
//!
//! The steps go from quick to slow, so that the common mistakes are known in
//! seconds, and stop at the first that fails. The time of each is printed: a run
//! has to end within twenty minutes on two cores, and this is where one sees
//! which step eats them.

mod install;
pub(crate) mod linkage;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use crate::process::{self, cargo};
use crate::workspace::Workspace;
use crate::{bench, fuzz, tidy, web};

/// Seconds for each fuzz target: enough to see that it still works.
const FUZZ_SECONDS: u32 = 3;

/// Without an operating system: what the event encoder must build for.
const BARE_TARGET: &str = "x86_64-unknown-none";

/// Options of `cargo xtask ci`.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave out what needs minutes: packages, fuzzing, benchmarks
    #[arg(long)]
    quick: bool,
}

struct Step {
    name: &'static str,
    /// Whether `--quick` runs it too.
    quick: bool,
    run: fn(&Workspace) -> Result<()>,
}

#[rustfmt::skip]
const STEPS: &[Step] = &[
    Step { name: "install", quick: false, run: install::run },
    Step { name: "fmt", quick: true, run: fmt },
    Step { name: "clippy", quick: true, run: clippy },
    Step { name: "docs", quick: true, run: docs },
    Step { name: "tidy", quick: true, run: tidy::run },
    Step { name: "no_std", quick: true, run: no_std },
    Step { name: "build", quick: true, run: build },
    Step { name: "test", quick: true, run: test },
    Step { name: "web", quick: false, run: web::check_and_sample },
    Step { name: "fuzz-smoke", quick: false, run: fuzz_smoke },
    Step { name: "bench-smoke", quick: false, run: bench_smoke },
];

/// The fuzz crate needs its own flags and a C++ compiler: see `cargo xtask fuzz`.
const ALL_BUT_FUZZ: [&str; 3] = ["--workspace", "--exclude", "dwell-fuzz"];

/// Runs the steps and prints what each took, also when one failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let mut times = Vec::new();
    let result = run_steps(workspace, options.quick, &mut times);
    println!("\n{:<12} {:>9}", "step", "seconds");
    let mut total = Duration::ZERO;
    for (name, time) in &times {
        println!("{name:<12} {:>9.1}", time.as_secs_f64());
        total += *time;
    }
    println!("{:<12} {:>9.1}", "total", total.as_secs_f64());
    println!("{}", if result.is_ok() { "ok" } else { "FAILED" });
    result
}

fn run_steps(
    workspace: &Workspace,
    quick: bool,
    times: &mut Vec<(&'static str, Duration)>,
) -> Result<()> {
    for step in STEPS.iter().filter(|step| step.quick || !quick) {
        println!("\n=== {}", step.name);
        let start = Instant::now();
        let result = (step.run)(workspace);
        let time = start.elapsed();
        println!("=== {}: {:.1} s", step.name, time.as_secs_f64());
        times.push((step.name, time));
        result.with_context(|| format!("step `{}`", step.name))?;
    }
    Ok(())
}

fn fmt(workspace: &Workspace) -> Result<()> {
    process::run(cargo(&workspace.root).args(["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.arg("clippy").args(ALL_BUT_FUZZ);
    command.args(["--all-targets", "--", "-D", "warnings"]);
    process::run(&mut command)
}

fn docs(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.arg("doc").args(ALL_BUT_FUZZ).arg("--no-deps");
    command.env("RUSTDOCFLAGS", "-D warnings");
    process::run(&mut command)
}

fn no_std(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.args(["build", "-p", "otf2", "--no-default-features"]);
    if has_target(BARE_TARGET) {
        command.args(["--target", BARE_TARGET]);
    } else {
        println!("{BARE_TARGET} is not installed: building for this machine instead");
    }
    process::run(&mut command)
}

/// Whether the standard library of a target is installed, with or without rustup.
fn has_target(target: &str) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]);
    process::output(&mut rustc).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
}

fn build(workspace: &Workspace) -> Result<()> {
    // As tests have it: a release build takes minutes, and links the same. `cargo xtask proofs` tests that.
    process::run(cargo(&workspace.root).args(["build", "-p", "dwell", "-p", "dwell-preload"]))?;
    let program = workspace.target.join("debug/dwell");
    linkage::check(Path::new(&workspace.relative(&program)))
}

/// Tools of others that tests may do without on a laptop, never here: `DWELL_REQUIRE_OTF2` and so on.
const REQUIRED: &[&str] = &[
    "OTF2",
    "PYCUBEXR",
    "SYMBOLS",
    "SHMEM",
    "MPI",
    "INTEL_MPI",
    "FORTRAN",
    "NWCHEM",
    "CAF",
    "ARMCI",
    "MUSL",
];

fn test(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.arg("test").args(ALL_BUT_FUZZ);
    for tool in REQUIRED {
        command.env(format!("DWELL_REQUIRE_{tool}"), "1");
    }
    command.env("PYTHONPATH", install::python_path(workspace));
    command.env("DWELL_SHMEM4PY", "python3");
    command.envs(install::mpi_variables(workspace));
    process::run(&mut command)
}

fn fuzz_smoke(workspace: &Workspace) -> Result<()> {
    fuzz::run(workspace, &fuzz::Options::smoke(FUZZ_SECONDS))
}

fn bench_smoke(workspace: &Workspace) -> Result<()> {
    bench::run(workspace, &bench::Options::smoke())
}
