//! `cargo xtask aarch64`: builds for AArch64 (64-bit Arm) and runs tests there under emulation.
//!
//! The compilers of C and Rust are those of this machine, for the other processor. `qemu-user` emulates the processes that
//! a launcher starts, while the launcher itself is this machine's: launcher and processes only exchange texts and words of
//! the same size. So nothing of Debian for AArch64 is installed or run but libraries ([`root`]).
//!
//! What passes here shows that instructions, registers, calling conventions, frames and files are right. It shows nothing
//! about time, and nothing about the order in which processors with a weak memory model make stores visible: the
//! emulator runs on a stronger one. `crates/dwell-measure/tests/all/models.rs` checks that order.

mod root;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, iter};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Target of the compiler of Rust.
const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Options of `cargo xtask aarch64`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only check that the library compiles, which needs no packages
    #[arg(long, conflicts_with_all = ["list", "name"])]
    check: bool,
    /// Print the names of all groups of tests
    #[arg(long)]
    list: bool,
    /// Run only groups of tests whose names contain one of these words
    name: Vec<String>,
}

impl Options {
    /// Options that run all groups of tests.
    pub(crate) fn all() -> Self {
        Self { check: false, list: false, name: Vec::new() }
    }
}

/// Tests that run under emulation.
struct Group {
    name: &'static str,
    /// Arguments of `cargo test` that select the test program.
    program: &'static [&'static str],
    /// Names of tests; all if there is none.
    tests: &'static [&'static str],
}

const UNITS: &[&str] = &["-p", "dwell-measure", "--lib"];
const RECORD: &[&str] = &["-p", "dwell", "--test", "record"];

/// Groups of tests. Left out are tests that compare times, count instructions or compare clocks, and tests of layers and
/// compilers that [`root`] does not provide.
#[rustfmt::skip]
const GROUPS: &[Group] = &[
    Group { name: "units", program: UNITS, tests: &[] },
    Group { name: "same-output", program: RECORD, tests: &["same::every_family_in_c"] },
    Group { name: "families", program: RECORD, tests: &[
        "events::every_family_counts", "events::heat_counts", "events::groups_and_contexts",
    ] },
    Group { name: "call-sites", program: RECORD, tests: &["sites::sites_are_lines_of_the_source"] },
    Group { name: "call-paths", program: RECORD, tests: &["unwind::the_way_to_a_call_in_cpp"] },
    Group { name: "crash", program: RECORD, tests: &[
        "crash::normal", "crash::abort", "crash::exit_at_once", "crash::exit_without_finalize", "crash::global_exit",
        "crash::sigkill_of_one", "crash::sigkill_of_all",
    ] },
    Group { name: "faults", program: RECORD, tests: &[
        "faults::fork_and_exec", "faults::threads_come_and_go", "faults::signals_inside_hooks", "faults::exceptions",
        "faults::pthread_exit", "faults::cancellation", "faults::longjmp", "faults::hooks_inside_an_allocator",
    ] },
    Group { name: "samples", program: RECORD, tests: &[
        "samples::the_line_that_computes_longer_is_named", "samples::samples_survive_a_kill",
        "samples::the_program_keeps_its_handlers_and_stacks",
        "samples::harm::signals_stacks_threads_and_the_loader_are_as_before", "samples::harm::no_system_call_ends_early",
    ] },
    Group { name: "delays", program: RECORD, tests: &[
        "waits::barriers", "waits::memory", "waits::lock", "waits::signal",
    ] },
];

/// Checks that the library compiles, or runs tests and prints which groups passed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.list {
        GROUPS.iter().for_each(|group| println!("{:<12} {}", group.name, group.tests.join(" ")));
        return Ok(());
    }
    if options.check {
        return check(workspace, true);
    }
    let wanted = |group: &&Group| {
        options.name.is_empty() || options.name.iter().any(|word| group.name.contains(&**word))
    };
    let groups: Vec<&Group> = GROUPS.iter().filter(wanted).collect();
    ensure!(!groups.is_empty(), "no such group of tests; `cargo xtask aarch64 --list` lists them");
    ensure!(has_target(), "{TARGET} is not installed: rustup target add {TARGET}");
    let root = root::prepare(workspace)?;
    let mut results = Vec::new();
    for group in groups {
        let began = Instant::now();
        let mut command = cargo(&workspace.root);
        command.arg("test").args(group.program).arg("--").args(group.tests);
        if !group.tests.is_empty() {
            command.arg("--exact");
        }
        let passed = process::run(emulated(&mut command, &root)?).is_ok();
        results.push((group.name, passed, began.elapsed()));
    }
    println!("\n{:<12} {:<8} {:>8}", "group", "result", "seconds");
    for (name, passed, time) in &results {
        let result = if *passed { "passed" } else { "FAILED" };
        println!("{name:<12} {result:<8} {:>8.1}", time.as_secs_f64());
    }
    let failed = results.iter().filter(|(_, passed, _)| !passed).count();
    if failed > 0 {
        bail!("{failed} of {} groups of tests failed under emulation", results.len());
    }
    Ok(())
}

/// Checks that the library compiles. Without the standard library of the target, which `rustup` installs, this fails if
/// it is `required`, and is skipped with a message otherwise.
pub(crate) fn check(workspace: &Workspace, required: bool) -> Result<()> {
    if !has_target() {
        ensure!(!required, "{TARGET} is not installed: rustup target add {TARGET}");
        println!("{TARGET} is not installed: not checked (rustup target add {TARGET})");
        return Ok(());
    }
    let library = ["check", "-p", "dwell-preload", "--target", TARGET];
    process::run(cargo(&workspace.root).args(library).env("RUSTFLAGS", "-D warnings"))
}

/// Returns `true` if the standard library of the target is there, after an attempt to install it.
fn has_target() -> bool {
    let is_there = || {
        let mut rustc = Command::new("rustc");
        rustc.args(["--print", "target-libdir", "--target", TARGET]);
        process::output(&mut rustc).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
    };
    is_there()
        || process::succeeds(Command::new("rustup").args(["target", "add", TARGET])) && is_there()
}

/// Sets the variables for a command of cargo that builds for the target and runs what it has built under emulation.
fn emulated<'a>(command: &'a mut Command, root: &root::Root) -> Result<&'a mut Command> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = iter::once(root.compilers.clone()).chain(env::split_paths(&path));
    let path: OsString = env::join_paths(places.collect::<Vec<PathBuf>>())
        .context("a directory in PATH has a colon in its name")?;
    command
        .env("CARGO_BUILD_TARGET", TARGET)
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
        .env("DWELL_TEST_LIBRARY", "release")
        .env("DWELL_TEST_LIMIT", "600")
        // The emulator looks for libraries there, in all processes that tests start.
        .env("QEMU_LD_PREFIX", &root.libraries)
        .env("PATH", path);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_all_groups_are_there() {
        for group in GROUPS.iter().filter(|group| group.program == RECORD) {
            for name in group.tests {
                let (module, test) = name.rsplit_once("::").unwrap();
                let module = module.replace("::", "/");
                let file = format!("/../crates/dwell/tests/record/{module}.rs");
                let file = env!("CARGO_MANIFEST_DIR").to_owned() + &file;
                let text = std::fs::read_to_string(file).unwrap();
                assert!(text.contains(test), "{name}");
            }
        }
    }
}
