//! `cargo xtask proofs`: checks that take too long for every change, of which continuous integration runs a sample.

use std::path::Path;

use anyhow::Result;

use crate::ci::{gasnet, install, linkage};
use crate::process::{self, cargo};
use crate::workspace::Workspace;
use crate::{aarch64, dist, fuzz, sanitize, truth};

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u32 = 30;

/// Runs tests under Miri and ThreadSanitizer, holds what is found in Fortran source against flang, compares the search
/// for wait states with exhaustive searches of all random archives, recovers runs that were killed and damaged at random,
/// records all programs by the library with assertions, runs all commands of the book, tests the command in the release
/// profile, analyses under all launchers with many numbers of processes, compares waits with what programs know of them
/// while short calls are summed up, fuzzes all targets, runs tests for AArch64 under emulation, and builds and installs
/// the artefacts of a release.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    sanitize::run(workspace)?;
    let root = &workspace.root;
    install::flang()?;
    let judged = ["test", "-p", "dwell-fortran", "--test", "all", "flang::"];
    process::run(cargo(root).args(judged).env("DWELL_REQUIRE_FLANG", "1"))?;
    process::run(cargo(root).args(["test", "-p", "dwell-analyze", "--", "--include-ignored"]))?;
    let record = ["test", "-p", "dwell", "--test", "record"];
    // Continuous integration runs the analyses by several processes, which record nothing; their proofs come below.
    let recorded = ["--", "--skip", "launched::"];
    process::run(cargo(root).args(record).args(recorded).envs(install::variables(workspace)))?;
    let book = ["test", "-p", "dwell", "--test", "book", "--", "--include-ignored"];
    process::run(cargo(root).args(book).envs(install::variables(workspace)))?;
    // GASNet with assertions counts calls and bytes itself.
    gasnet::install_debug(workspace)?;
    let statistics = ["--", "--ignored", "gasnet::"];
    let place = gasnet::debug_directory(workspace);
    process::run(cargo(root).args(record).args(statistics).env("DWELL_GASNET_DEBUG", place))?;
    let users = ["-p", "dwell", "-p", "dwell-preload"];
    process::run(cargo(root).args(["build", "--release"]).args(users))?;
    // What is killed and damaged at random must be as users have it, too.
    let kills = ["--test", "record", "--", "--ignored", "damage::proof"];
    process::run(cargo(root).args(["test", "--release", "-p", "dwell"]).args(kills))?;
    let kills = ["--test", "all", "--", "--ignored", "staged::proof"];
    process::run(cargo(root).args(["test", "--release", "-p", "dwell-measure"]).args(kills))?;
    let program = workspace.target.join("release/dwell");
    linkage::check(Path::new(&workspace.relative(&program)))?;
    process::run(cargo(root).args(["test", "--release", "-p", "otf2"]).args(users))?;
    // A panic of the recorder at every entry, on every runtime.
    let wall =
        ["test", "--release", "-p", "dwell", "--test", "record", "wall::", "--", "--ignored"];
    process::run(cargo(root).args(wall))?;
    let launched =
        ["test", "--release", "-p", "dwell", "--test", "record", "launched::", "--", "--ignored"];
    process::run(cargo(root).args(launched).envs(install::variables(workspace)))?;
    // Short calls are summed up, and every wait is still found.
    truth::run(workspace, &truth::Options::bounded(Some("2%")))?;
    fuzz::run(workspace, &fuzz::Options::all(FUZZ_SECONDS))?;
    aarch64::run(workspace, &aarch64::Options::all())?;
    dist::run(workspace, &dist::Options::checked())
}
