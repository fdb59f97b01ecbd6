//! Promises to those who use what is published: the oldest Rust that builds it, and crates that are complete.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Crates that other projects can use, each after those that it depends on.
pub(crate) const CRATES: &[&str] = &["otf2", "dwell-files", "cubex"];

/// Files that tell people or machines which Rust is needed.
const STATED_IN: &[&str] = &[
    "README.md",
    "docs/src/install.md",
    "CONTRIBUTING.md",
    ".github/workflows/ci.yml",
    ".github/workflows/nightly.yml",
    ".github/workflows/release.yml",
];

/// Checks that the project builds with the oldest Rust that `Cargo.toml` promises. If that is the one which runs this,
/// the other steps are the check. Otherwise a toolchain of that version builds the crates, if rustup has it.
pub(crate) fn oldest_rust(workspace: &Workspace) -> Result<()> {
    let oldest = promised(workspace)?;
    for file in STATED_IN {
        let text = fs::read_to_string(workspace.root.join(file)).context(*file)?;
        if !text.contains(&oldest) {
            bail!("{file} does not name Rust {oldest}, which Cargo.toml asks for");
        }
    }
    let here = process::output(Command::new("rustc").arg("--version"))?;
    if is_release(&here, &oldest) {
        println!("Rust {oldest} is the oldest that Cargo.toml promises, and runs these steps");
        return Ok(());
    }
    let mut known = Command::new("rustup");
    if !process::succeeds(known.args(["run", &oldest, "rustc", "--version"])) {
        println!("Rust {oldest} is promised and not installed here: not checked");
        return Ok(());
    }
    let mut check = Command::new("rustup");
    check.args([
        "run",
        &oldest,
        "cargo",
        "check",
        "--locked",
        "-p",
        "dwell",
        "-p",
        "dwell-preload",
    ]);
    process::run(check.arg("--target-dir").arg(workspace.target.join("oldest")))
}

/// Returns `rust-version` of the workspace, on which all crates must agree.
fn promised(workspace: &Workspace) -> Result<String> {
    let mut command = cargo(&workspace.root);
    let text = process::output(command.args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut versions: Vec<&str> =
        packages.iter().filter_map(|package| package["rust_version"].as_str()).collect();
    if versions.len() != packages.len() {
        bail!("a crate states no rust-version");
    }
    versions.sort_unstable();
    versions.dedup();
    match versions.as_slice() {
        [one] => Ok((*one).to_owned()),
        several => bail!("crates state several versions of Rust: {}", several.join(", ")),
    }
}

/// Returns `true` if the output of `rustc --version` is of a release such as `1.95`.
fn is_release(said: &str, release: &str) -> bool {
    let version = said.split_whitespace().nth(1).unwrap_or_default();
    version.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Packs the crates that can be published, and builds them from the packages alone: a file that is not packed, and a
/// dependency that only this workspace has, fail here and not at a release.
pub(crate) fn package(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(&workspace.root);
    command.args(["package", "--locked", "--allow-dirty", "--quiet"]);
    process::run(command.args(CRATES.iter().flat_map(|name| ["-p", name])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_recognised() {
        assert!(is_release("rustc 1.95.0 (59807616e 2026-04-14)", "1.95"));
        assert!(is_release("rustc 1.95.0", "1.95.0"));
        assert!(!is_release("rustc 1.951.0", "1.95"));
        assert!(!is_release("rustc 1.96.0-nightly", "1.95"));
    }
}
