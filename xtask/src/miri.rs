//! `cargo xtask miri`: tests of unsafe code and of lock-free code, run by Miri, which finds undefined behaviour and data
//! races that a processor may not show.
//!
//! Miri interprets a program and knows few calls of the C library: no file mapped into memory, no `getrlimit`,
//! `dl_iterate_phdr` or `fnmatch`, no time stamp counter, no assembly. So these are the tests that need none of them,
//! and of those only the ones that take it seconds: it is about a thousand times slower than a processor.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;
use crate::workspace::Workspace;

/// Packages and, for each, filters of names of unit tests. Everything behind `--skip` is left out.
const TESTS: &[(&str, &[&str])] = &[
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
            "together::",
            "--skip",
            "clock",
        ],
    ),
    ("dwell-unify", &["wire::"]),
];

/// Runs the tests. They need a nightly compiler with Miri, which `rustup` installs.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let nightly = || {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly", "cargo", "miri"]).current_dir(&workspace.root);
        command
    };
    ensure!(
        process::succeeds(nightly().arg("--version")),
        "there is no Miri; install it: rustup toolchain install nightly --component miri --component rust-src"
    );
    for (package, filters) in TESTS {
        let mut command = nightly();
        // Tests make temporary files and ask for the time.
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        command.env("CARGO_TARGET_DIR", workspace.target.join("miri"));
        command.args(["test", "-p", package, "--lib", "--"]).args(*filters);
        process::run(&mut command)?;
    }
    Ok(())
}
