//! Known vulnerabilities of dependencies.
//!
//! The judgement belongs to cargo-audit or cargo-deny and their database. Where
//! either is missing nothing is known, and then exactly that is printed: an "ok"
//! that nobody looked for would be worse than no check.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Check, Problem};
use crate::process;
use crate::workspace::Workspace;

const NAME: &str = "advisories";

/// Lets whichever tool is installed judge the locked dependencies, offline.
pub(crate) fn check(workspace: &Workspace) -> Result<Check> {
    let Some(home) = cargo_home() else {
        return Ok(Check::not_done(NAME, "no advisory database at hand"));
    };
    let for_audit = home.join("advisory-db");
    let for_deny = home.join("advisory-dbs");
    if !for_audit.join("crates").is_dir() && !for_deny.is_dir() {
        return Ok(Check::not_done(NAME, "no advisory database at hand"));
    }
    if for_audit.join("crates").is_dir() && process::is_on_path("cargo-audit") {
        return judge(workspace, audit(&workspace.root, &for_audit));
    }
    if for_deny.is_dir() && process::is_on_path("cargo-deny") {
        return judge(workspace, deny(&workspace.root));
    }
    Ok(Check::not_done(NAME, "no tool for the advisory database at hand"))
}

fn cargo_home() -> Option<PathBuf> {
    let explicit = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    explicit.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}

fn audit(root: &Path, database: &Path) -> Command {
    let mut command = process::cargo(root);
    command.args(["audit", "--no-fetch", "--db"]).arg(database);
    command
}

fn deny(root: &Path) -> Command {
    let mut command = process::cargo(root);
    command.args(["deny", "--offline", "check", "advisories"]);
    command
}

fn judge(workspace: &Workspace, mut tool: Command) -> Result<Check> {
    println!("$ {}", process::display(&tool));
    let status = tool.status()?;
    let problems = if status.success() {
        Vec::new()
    } else {
        vec![Problem::of("Cargo.lock", format!("see the report above ({status})"))]
    };
    let count = workspace.externals.len();
    Ok(Check::done(NAME, count, "external packages", problems))
}
