//! `cargo xtask sanitize`: tests of unsafe and lock-free code under Miri and ThreadSanitizer, which find undefined
//! behaviour and data races that a processor may not show.
//!
//! Miri interprets a program and knows few calls of the C library: no file mapped into memory, no `getrlimit`,
//! `dl_iterate_phdr` or `fnmatch`, no time stamp counter, no assembly. So it runs the tests that need none of them, and
//! of those only the ones that take it seconds: it is about a thousand times slower than a processor. It looks at one
//! order of the threads.
//!
//! ThreadSanitizer watches all tests of the recorder's library as they run, except those that change to another stack,
//! which it does not follow. It sees races only between threads that really meet.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;
use crate::workspace::Workspace;

/// Packages and, for each, filters of names of unit tests for Miri. Names behind `--skip` are left out.
const UNDER_MIRI: &[(&str, &[&str])] = &[
    ("otf2", &["encode::", "store::"]),
    (
        "dwell-measure",
        &[
            "lock::tests",
            "memory_without_a_file",
            "build_ids_are_found",
            "windows::",
            "mpi::comms",
            "mpi::handles",
            "mpi::pending",
            "call::",
            "recorder_collectives::",
            "--skip",
            "clock",
        ],
    ),
    ("dwell-unify", &["wire::"]),
];

/// The only platform on which this project uses ThreadSanitizer.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Runs the tests. They need a nightly compiler with Miri and the source of the standard library, which `rustup`
/// installs.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let nightly = |target: &str| {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo"]).current_dir(&workspace.root);
        command.env("CARGO_TARGET_DIR", workspace.target.join(target));
        command
    };
    ensure!(
        process::succeeds(nightly("miri").args(["miri", "--version"])),
        "there is no Miri; install it: rustup toolchain install nightly --component miri --component rust-src"
    );
    for (package, filters) in UNDER_MIRI {
        let mut command = nightly("miri");
        // Tests make temporary files and ask for the time.
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        command.args(["miri", "test", "-p", package, "--lib", "--"]).args(*filters);
        process::run(&mut command)?;
    }
    let mut command = nightly("thread-sanitizer");
    // The standard library must be built with it as well, or its own synchronisation looks like races.
    command.env("RUSTFLAGS", "-Zsanitizer=thread").args(["test", "-Zbuild-std"]);
    command.args(["--target", PLATFORM, "-p", "dwell-measure", "--lib", "--", "--skip", "stack::"]);
    process::run(&mut command)
}
