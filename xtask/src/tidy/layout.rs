//! Directories of crates, and their lints.
//!
//! A folder has the name of its crate, so that a name in the code is a place on disk. Lints are declared once, in the
//! root manifest, so that no crate can be laxer than others without saying so.

use std::fs;

use anyhow::{Context, Result};

use super::sources::SourceFile;
use super::{Check, Problem};
use crate::workspace::{Package, Workspace};

/// Checks that every folder under `crates/` has the name of its package.
pub(crate) fn check_names(workspace: &Workspace) -> Check {
    let crates = workspace.root.join("crates");
    let inside: Vec<&Package> = workspace
        .members
        .iter()
        .filter(|package| package.directory().starts_with(&crates))
        .collect();
    let problems = inside
        .iter()
        .filter(|package| package.directory() != crates.join(&package.name))
        .map(|package| {
            let file = workspace.relative(&package.manifest);
            let message = format!("`{}` belongs into crates/{0}", package.name);
            Problem::of(&file, message)
        })
        .collect();
    Check::done("folder names", inside.len(), "crates", problems)
}

/// The file that cargo would take for a test program under another name.
const SHARED: &str = "crates/dwell/tests/support/mod.rs";

/// Checks that a module with others in it is a file beside their folder. `mod.rs` says nothing in the tab of an editor.
pub(crate) fn check_modules(files: &[SourceFile]) -> Check {
    let rust: Vec<&SourceFile> = files.iter().filter(|it| it.is_rust()).collect();
    let named = |it: &&&SourceFile| it.path.ends_with("/mod.rs") && it.path != SHARED;
    let problem = |it: &&SourceFile| {
        let name = it.path.trim_end_matches("/mod.rs");
        Problem::of(&it.path, format!("belongs into {name}.rs"))
    };
    let problems = rust.iter().filter(named).map(problem).collect();
    Check::done("files of modules", rust.len(), "files of Rust", problems)
}

/// Checks that every crate inherits its lints from the workspace.
pub(crate) fn check_lints(workspace: &Workspace) -> Result<Check> {
    let mut problems = Vec::new();
    for package in &workspace.members {
        let file = workspace.relative(&package.manifest);
        let manifest =
            fs::read_to_string(&package.manifest).with_context(|| format!("cannot read {file}"))?;
        if !inherits_lints(&manifest) {
            problems.push(Problem::of(&file, "does not say `[lints] workspace = true`"));
        }
    }
    let count = workspace.members.len();
    Ok(Check::done("lints", count, "crates", problems))
}

/// Returns `true` if a manifest inherits lints, in one of the two usual spellings.
fn inherits_lints(manifest: &str) -> bool {
    let mut table = "";
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            table = line;
        }
        let spaceless: String = line.split_whitespace().collect();
        if (table == "[lints]" && spaceless == "workspace=true")
            || (table.is_empty() && spaceless == "lints.workspace=true")
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::inherits_lints;

    #[test]
    fn both_spellings_count_and_other_tables_do_not() {
        assert!(inherits_lints("[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"));
        assert!(inherits_lints("lints.workspace = true\n[package]\n"));
        assert!(!inherits_lints("[package]\nworkspace = true\n"));
        assert!(!inherits_lints("[lints]\n[package]\nworkspace = true\n"));
        assert!(!inherits_lints("[lints.rust]\nmissing_docs = \"warn\"\n"));
    }
}
