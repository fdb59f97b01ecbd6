//! `cargo xtask ci`: what must hold before code is merged.
//!
//! The steps go from quick to slow, so that the common mistakes are known in seconds, and stop at the first that fails.
//! Packages are installed while the compiler works on what needs none of them. The time of each step is printed: the
//! goal is 30 minutes on two quiet cores. What takes longer, or rarely fails, is in `cargo xtask proofs`.

pub(crate) mod gasnet;
pub(crate) mod install;
pub(crate) mod linkage;
#[allow(dead_code)] // Tests use the rest of it.
#[path = "../../tests/needs.rs"]
mod needs;
pub(crate) mod published;
mod runner;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use needs::NEEDS;
use runner::Tests;

use crate::background::Background;
use crate::build::Recorder;
use crate::process::{self, cargo};
use crate::steps::{self, Step};
use crate::workspace::Workspace;
use crate::{bounds, deny, dist, tidy, truth, web};

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
    /// Also look up known vulnerabilities of dependencies, and fail if that is not possible, as a release must
    #[arg(long, conflicts_with = "quick")]
    require_advisories: bool,
}

/// State of a run through the steps.
struct Run<'a> {
    workspace: &'a Workspace,
    /// Installation of packages in the background, until it has ended.
    install: RefCell<Option<Background>>,
    /// Names of tests that passed only when they were tried again.
    passed_again: RefCell<Vec<String>>,
}

impl<'a> Run<'a> {
    /// Steps of a contributor's first run, which need nothing but Rust.
    #[rustfmt::skip]
    const QUICK: &'a [Step<Self>] = &[
        Step { name: "fmt", run: |it| fmt(it.workspace) },
        Step { name: "tidy", run: |it| tidy::run(it.workspace) },
        Step { name: "clippy", run: |it| clippy(it.workspace, HEAVY) },
        Step { name: "no_std", run: |it| no_std(it.workspace) },
        Step { name: "oldest-rust", run: |it| published::oldest_rust(it.workspace) },
        Step { name: "test", run: Self::test_quickly },
    ];

    /// Steps of continuous integration.
    #[rustfmt::skip]
    const FULL: &'a [Step<Self>] = &[
        Step { name: "fmt", run: |it| fmt(it.workspace) },
        Step { name: "tidy", run: |it| tidy::run(it.workspace) },
        Step { name: "clippy", run: |it| clippy(it.workspace, &[]) },
        Step { name: "docs", run: |it| docs_of_published_crates(it.workspace) },
        Step { name: "no_std", run: |it| no_std(it.workspace) },
        Step { name: "oldest-rust", run: |it| published::oldest_rust(it.workspace) },
        Step { name: "build", run: |it| build(it.workspace) },
        Step { name: "dist-sample", run: |it| dist::sample(it.workspace) },
        // What comes after it needs the packages.
        Step { name: "install", run: |it| it.finish_install() },
        Step { name: "test", run: Self::test_all },
        Step { name: "bounds", run: |it| bounds::run(it.workspace, &bounds::Options::sample()) },
        Step { name: "book-commands", run: |it| book_commands(it.workspace) },
        Step { name: "truth-sample", run: |it| truth::run(it.workspace, &truth::Options::sample()) },
        Step { name: "web", run: |it| web::check_and_sample(it.workspace) },
    ];
}

/// Runs the steps.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let all = if options.quick { Run::QUICK } else { Run::FULL };
    let chosen = steps::beginning_with(all, options.from.as_deref())?;
    let install = if options.quick { None } else { Some(install::start(workspace)?) };
    let run = Run { workspace, install: install.into(), passed_again: RefCell::default() };
    if !chosen.iter().any(|step| step.name == "install") {
        run.finish_install()?;
    }
    let result = steps::run(chosen, &run);
    for name in run.passed_again.take() {
        println!("passed only when it was tried again: {name}");
    }
    result?;
    if options.require_advisories {
        println!("{}", deny::check(workspace, true)?);
    }
    Ok(())
}

fn fmt(workspace: &Workspace) -> Result<()> {
    process::run(cargo(&workspace.root).args(["fmt", "--all", "--check"]))
}

/// Lets clippy judge all crates but these.
fn clippy(workspace: &Workspace, excluded: &[&str]) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.args(["clippy", "--workspace", "--all-targets"]);
    command.args(excluded.iter().flat_map(|name| ["--exclude", name]));
    process::run(command.args(["--", "-D", "warnings"]))
}

/// Makes the documentation of the crates that other projects use. `cargo xtask proofs` makes that of all crates.
fn docs_of_published_crates(workspace: &Workspace) -> Result<()> {
    docs(workspace, &published::CRATES.iter().flat_map(|name| ["-p", name]).collect::<Vec<_>>())
}

/// Makes the documentation of some crates, without warnings.
pub(crate) fn docs(workspace: &Workspace, crates: &[&str]) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.args(["doc", "--no-deps"]).args(crates).env("RUSTDOCFLAGS", "-D warnings");
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

/// Builds all test programs, the command and the libraries, so that the time of the tests is that of running them.
fn build(workspace: &Workspace) -> Result<()> {
    process::run(cargo(&workspace.root).args(["test", "--workspace", "--no-run"]))?;
    let shipped = ["build", "-p", "dwell", "-p", "dwell-preload"];
    process::run(cargo(&workspace.root).args(shipped))?;
    Recorder::build(workspace)?;
    let program = workspace.target.join("debug/dwell");
    linkage::check(Path::new(&workspace.relative(&program)))
}

/// Crates whose dependencies take longest to compile: web server, columnar files. `--quick` leaves them out.
const HEAVY: &[&str] = &["dwell", "dwell-export", "dwell-serve"];

/// Crates whose tests a newcomer can build and run in a minute or two, because they depend on few others.
const LIGHT: &[&str] =
    &["otf2", "cubex", "dwell-files", "dwell-model", "dwell-unify", "dwell-report", "xtask"];

/// Runs the commands of the book's pages, except of those that take minutes, and compares what they print. `cargo xtask
/// proofs` runs all.
fn book_commands(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(&workspace.root);
    // Of the whole workspace, so that what is built already has the right features.
    command.args(["test", "--workspace", "--test", "book", "--", "--ignored", "--exact"]);
    process::run(command.arg(BOOK_TEST).envs(variables(workspace)))
}

/// Name of the test that runs the commands of the book.
const BOOK_TEST: &str = "quick_pages_print_what_they_say";

/// Returns the variables by which tests find external tools, and those that make missing tools an error.
pub(crate) fn variables(workspace: &Workspace) -> Vec<(String, OsString)> {
    let required = NEEDS.iter().map(|need| (format!("DWELL_REQUIRE_{}", need.0), "1".into()));
    let places = install::variables(workspace).into_iter();
    required.chain(places.map(|(name, value)| (name.to_owned(), value))).collect()
}

impl Run<'_> {
    /// Waits for the end of the installation, if it has not ended.
    fn finish_install(&self) -> Result<()> {
        self.install.take().map_or(Ok(()), Background::finish)
    }

    /// Runs the tests of a few crates with what the machine has.
    fn test_quickly(&self) -> Result<()> {
        let built: Vec<&str> = LIGHT.iter().flat_map(|name| ["-p", name]).collect();
        self.test(&built, Vec::new())
    }

    /// Runs all tests, without optimisation and with overflow checks. Programs are recorded by the optimised library,
    /// which is the one that users have: the code between a program and its runtime depends on optimisation more than
    /// any other, with stubs in assembly, inlined hooks and compiler fences.
    fn test_all(&self) -> Result<()> {
        let mut variables = variables(self.workspace);
        let library = Recorder::build(self.workspace)?.library;
        variables.push(("DWELL_TEST_LIBRARY".into(), library.into()));
        self.test(&["--workspace"], variables)
    }

    fn test(&self, built: &[&str], variables: Vec<(String, OsString)>) -> Result<()> {
        let outcome = Tests { workspace: self.workspace, built, variables }.run()?;
        self.passed_again.borrow_mut().extend(outcome.passed_again);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
