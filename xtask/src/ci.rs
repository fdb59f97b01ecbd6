//! `cargo xtask ci`: everything that must hold before code is merged.
//!
//! The steps go from quick to slow, so that the common mistakes are known in
//! seconds, and stop at the first that fails. Packages are installed while the
//! compiler works on what needs none of them. The time of each step is printed: a
//! run has to end within 45 minutes on two quiet cores, and this is where one sees
//! which step takes them.

mod again;
pub(crate) mod gasnet;
pub(crate) mod install;
pub(crate) mod linkage;
#[allow(dead_code)] // Tests use the rest of it.
#[path = "../../tests/needs.rs"]
mod needs;
mod published;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use needs::NEEDS;

use crate::process::{self, cargo};
use crate::workspace::Workspace;
use crate::{aarch64, bench, book, deny, dist, fuzz, tidy, truth, web};

/// Seconds for each fuzz target: enough to see that it still works.
const FUZZ_SECONDS: u32 = 3;

/// Target without an operating system, for which the event encoder must build.
const BARE_TARGET: &str = "x86_64-unknown-none";

/// Options of `cargo xtask ci`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only what needs nothing but Rust, in minutes: format, lints, structure, and tests of the crates that build quickly
    #[arg(long)]
    quick: bool,
    /// Begin with this step, because those before it have passed
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// Fail if known vulnerabilities of dependencies could not be looked up, as a release must
    #[arg(long, conflicts_with = "quick")]
    require_advisories: bool,
}

/// State of a run through the steps.
struct Run<'a> {
    workspace: &'a Workspace,
    quick: bool,
    /// Number of steps to leave out.
    skipped: usize,
    require_advisories: bool,
    /// Installation of packages in the background, until it has ended.
    install: Option<install::Background>,
    /// Name and duration of each step so far.
    times: Vec<(&'static str, Duration)>,
    /// Lines to print at the end, where they are seen.
    last_lines: Vec<String>,
}

struct Step {
    name: &'static str,
    /// Set if `--quick` runs the step too.
    quick: bool,
    run: fn(&mut Run<'_>) -> Result<()>,
}

#[rustfmt::skip]
const STEPS: &[Step] = &[
    Step { name: "fmt", quick: true, run: |it| fmt(it.workspace) },
    Step { name: "clippy", quick: true, run: |it| clippy(it.workspace, it.quick) },
    Step { name: "docs", quick: false, run: |it| docs(it.workspace) },
    Step { name: "tidy", quick: true, run: |it| tidy::run(it.workspace) },
    Step { name: "no_std", quick: true, run: |it| no_std(it.workspace) },
    Step { name: "aarch64", quick: false, run: |it| aarch64::check(it.workspace, !it.quick) },
    Step { name: "build", quick: false, run: |it| build(it.workspace) },
    Step { name: "deny", quick: false, run: deny },
    Step { name: "book", quick: false, run: |it| book::check(it.workspace) },
    Step { name: "oldest-rust", quick: true, run: |it| published::oldest_rust(it.workspace) },
    Step { name: "package", quick: false, run: |it| published::package(it.workspace) },
    Step { name: "dist-sample", quick: false, run: |it| dist::sample(it.workspace) },
    // What comes after it needs the packages.
    Step { name: "install", quick: false, run: |it| it.install.take().map_or(Ok(()), install::Background::finish) },
    Step { name: "test", quick: true, run: test },
    Step { name: "test-release", quick: false, run: test_release },
    Step { name: "test-checked", quick: false, run: test_checked },
    Step { name: "book-commands", quick: false, run: |it| book_commands(it) },
    Step { name: "truth-sample", quick: false, run: |it| truth::run(it.workspace, &truth::Options::sample(None)) },
    Step { name: "truth-bounded", quick: false, run: |it| truth::run(it.workspace, &truth::Options::sample(Some("2%"))) },
    Step { name: "web", quick: false, run: |it| web::check_and_sample(it.workspace) },
    Step { name: "fuzz-smoke", quick: false, run: |it| fuzz_smoke(it.workspace) },
    Step { name: "bench-smoke", quick: false, run: |it| bench_smoke(it.workspace) },
];

/// Arguments that select all crates except the fuzz crate, which needs its own flags and a C++ compiler: see `cargo
/// xtask fuzz`.
const ALL_BUT_FUZZ: [&str; 3] = ["--workspace", "--exclude", "dwell-fuzz"];

/// Runs the steps and prints the duration of each, even if one failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let began = Instant::now();
    let skipped = match &options.from {
        None => 0,
        Some(name) => {
            let found = STEPS.iter().position(|step| step.name == name);
            let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            found
                .with_context(|| format!("no step `{name}`; the steps are {}", names.join(", ")))?
        }
    };
    let install = if options.quick { None } else { Some(install::Background::start(workspace)?) };
    let mut run = Run {
        workspace,
        quick: options.quick,
        skipped,
        require_advisories: options.require_advisories,
        install,
        times: Vec::new(),
        last_lines: Vec::new(),
    };
    let result = run.run_steps();
    println!("\n{:<12} {:>9}", "step", "seconds");
    for (name, time) in &run.times {
        println!("{name:<12} {:>9.1}", time.as_secs_f64());
    }
    println!("{:<12} {:>9.1}", "total", began.elapsed().as_secs_f64());
    println!("{}", if result.is_ok() { "ok" } else { "FAILED" });
    for line in &run.last_lines {
        println!("{line}");
    }
    result
}

impl Run<'_> {
    fn run_steps(&mut self) -> Result<()> {
        let quick = self.quick;
        if STEPS.iter().take(self.skipped).any(|step| step.name == "install") {
            self.install.take().map_or(Ok(()), install::Background::finish)?;
        }
        for step in STEPS.iter().skip(self.skipped).filter(|step| step.quick || !quick) {
            println!("\n=== {}", step.name);
            let start = Instant::now();
            let result = (step.run)(self);
            let time = start.elapsed();
            println!("=== {}: {:.1} s", step.name, time.as_secs_f64());
            self.times.push((step.name, time));
            result.with_context(|| format!("step `{}`", step.name))?;
        }
        Ok(())
    }
}

fn fmt(workspace: &Workspace) -> Result<()> {
    process::run(cargo(&workspace.root).args(["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace, quick: bool) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.arg("clippy").args(ALL_BUT_FUZZ);
    if quick {
        command.args(HEAVY.iter().flat_map(|name| ["--exclude", name]));
    }
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

/// Returns `true` if the standard library of a target is installed, with or without rustup.
fn has_target(target: &str) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target]);
    process::output(&mut rustc).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
}

/// Builds the command and the library in the profile of tests.
fn build(workspace: &Workspace) -> Result<()> {
    process::run(cargo(&workspace.root).arg("build").args(SHIPPED))?;
    let program = workspace.target.join("debug/dwell");
    linkage::check(Path::new(&workspace.relative(&program)))
}

/// Arguments that select the command and the library that it preloads.
const SHIPPED: [&str; 4] = ["-p", "dwell", "-p", "dwell-preload"];

/// Checks licences, origins and vulnerabilities of dependencies. The last line of a run says whether vulnerabilities
/// could be looked up.
fn deny(run: &mut Run<'_>) -> Result<()> {
    run.last_lines.push(deny::check(run.workspace, run.require_advisories)?);
    Ok(())
}

/// Runs all tests, without optimisation and with overflow checks, or with `--quick` those of a few crates. Programs are
/// recorded by the optimised library, which is the one that users have: the code between a program and its runtime
/// depends on optimisation more than any other, with stubs in assembly, inlined hooks and compiler fences.
fn test(run: &mut Run<'_>) -> Result<()> {
    if run.quick {
        let chosen = || QUICK.iter().flat_map(|name| ["-p", name]);
        return run.test(|command| command.arg("test").args(chosen()));
    }
    run.test(|command| command.arg("test").args(ALL_BUT_FUZZ).env("DWELL_TEST_LIBRARY", "release"))
}

/// Crates whose dependencies take longest to compile: web server, pictures, columnar files. `--quick` leaves them out.
const HEAVY: &[&str] = &["dwell", "dwell-export", "dwell-serve"];

/// Crates whose tests a newcomer can build and run in a minute or two, because they depend on few others.
const QUICK: &[&str] =
    &["otf2", "cubex", "dwell-files", "dwell-model", "dwell-unify", "dwell-report", "xtask"];

/// Tests the crates of the recorder in the release profile. `cargo xtask proofs` tests the command optimised too.
fn test_release(run: &mut Run<'_>) -> Result<()> {
    run.test(|command| {
        command.args(["test", "--release", "--tests", "-p", "otf2", "-p", "dwell-measure"]);
        command.args(["-p", "dwell-unify", "-p", "dwell-preload"])
    })
}

/// Records programs of each layer by the library with overflow checks and assertions. `cargo xtask proofs` records all
/// programs of the tests by it.
fn test_checked(run: &mut Run<'_>) -> Result<()> {
    run.test_some(EACH_LAYER, |command| command.args(["test", "-p", "dwell", "--test", "record"]))
}

/// Runs the commands of the book's pages, except of those that take minutes, and compares what they print. `cargo xtask
/// proofs` runs all.
fn book_commands(run: &Run<'_>) -> Result<()> {
    let mut command = cargo(&run.workspace.root);
    command.args(["test", "-p", "dwell", "--test", "book", "--", "--ignored", "--exact"]);
    process::run(run.with_tools(command.arg(BOOK_TEST)))
}

/// Name of the test that runs the commands of the book.
const BOOK_TEST: &str = "quick_pages_print_what_they_say";

/// Names of tests that record the calls of each layer.
const EACH_LAYER: &[&str] = &["armci::", "caf::", "events::", "mpi_families::"];

impl Run<'_> {
    /// Runs tests. Those that fail once and pass the second time are named at the end of the run.
    fn test(&mut self, arguments: impl Fn(&mut Command) -> &mut Command) -> Result<()> {
        self.test_some(&[], arguments)
    }

    /// Runs tests like [`Self::test`], but only those whose names contain one of `chosen`, unless that is empty.
    fn test_some(
        &mut self,
        chosen: &[&str],
        arguments: impl Fn(&mut Command) -> &mut Command,
    ) -> Result<()> {
        let tests = || {
            let mut command = cargo(&self.workspace.root);
            self.with_tools(arguments(&mut command));
            command
        };
        let passed_again = again::run(tests, chosen)?;
        let line = |name: &String| format!("passed only when it was tried again: {name}");
        // The last line stays the one about advisories.
        self.last_lines.splice(0..0, passed_again.iter().map(line));
        Ok(())
    }

    /// Sets the variables by which tests find external tools, and those that make missing tools an error.
    fn with_tools<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if !self.quick {
            command.envs(NEEDS.iter().map(|need| (format!("DWELL_REQUIRE_{}", need.0), "1")));
        }
        command.envs(install::variables(self.workspace))
    }
}

fn fuzz_smoke(workspace: &Workspace) -> Result<()> {
    fuzz::run(workspace, &fuzz::Options::smoke(FUZZ_SECONDS))
}

fn bench_smoke(workspace: &Workspace) -> Result<()> {
    bench::run(workspace, &bench::Options::smoke())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_each_layer_are_there() -> Result<()> {
        for name in EACH_LAYER {
            let module = name.trim_end_matches(':');
            let file = format!("/../crates/dwell/tests/record/{module}.rs");
            let text = std::fs::read_to_string(env!("CARGO_MANIFEST_DIR").to_owned() + &file)?;
            assert!(text.contains("#[test]"), "{file}");
        }
        Ok(())
    }

    #[test]
    fn the_test_of_the_book_is_there() -> Result<()> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/dwell/tests/book/main.rs");
        let text = std::fs::read_to_string(file)?;
        assert!(text.contains(&format!("fn {BOOK_TEST}()")));
        Ok(())
    }

    #[test]
    fn the_guide_names_all_needs_of_tests() -> Result<()> {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../CONTRIBUTING.md");
        let guide = std::fs::read_to_string(guide)?;
        for (name, _) in NEEDS {
            let variable = format!("`DWELL_REQUIRE_{name}=1`");
            assert!(guide.contains(&variable), "{variable}");
        }
        Ok(())
    }
}
