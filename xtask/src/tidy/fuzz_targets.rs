//! Checks that fuzz targets can run.
//!
//! A target that is not declared is never built, and one without a corpus spends its time on learning the magic bytes.
//! Both look exactly like a target that finds nothing.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Check, Problem};
use crate::fuzz::known_targets;
use crate::workspace::Workspace;

/// File that declares the targets.
const DECLARED_IN: &str = "fuzz/src/lib.rs";

/// Checks that every file of `fuzz/src/targets` is declared and has a corpus.
pub(crate) fn check(workspace: &Workspace) -> Result<Check> {
    let names = known_targets(workspace)?;
    let text = fs::read_to_string(workspace.root.join(DECLARED_IN)).context(DECLARED_IN)?;
    let declared = declared(&text);
    let mut problems = Vec::new();
    for name in &names {
        let file = format!("fuzz/src/targets/{name}.rs");
        if !declared.contains(&name.as_str()) {
            problems.push(Problem::of(&file, format!("is not declared in {DECLARED_IN}")));
        }
        if !has_entries(&workspace.root.join("fuzz/corpus").join(name)) {
            problems.push(Problem::of(&file, format!("fuzz/corpus/{name} is missing or empty")));
        }
    }
    Ok(Check::done("fuzz targets", names.len(), "targets", problems))
}

/// Returns the names in `targets!(…)`.
fn declared(text: &str) -> Vec<&str> {
    let list = text.split_once("\ntargets!(").and_then(|(_, rest)| rest.split_once(')'));
    list.map_or(Vec::new(), |(names, _)| names.split(',').map(str::trim).collect())
}

fn has_entries(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    #[test]
    fn declared_targets_are_read() {
        let text = "macro_rules! targets {}\ntargets!(one, two,\n  three);\n";
        assert_eq!(super::declared(text), ["one", "two", "three"]);
        assert!(super::declared("").is_empty());
    }
}
