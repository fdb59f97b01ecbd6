//! `cargo xtask proofs`: what takes too long for every change, and of which CI runs a sample.

use anyhow::Result;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Holds the search for waits against exhaustive searches of all random archives.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let root = &workspace.root;
    process::run(cargo(root).args(["test", "-p", "dwell-analyze", "--", "--include-ignored"]))
}
