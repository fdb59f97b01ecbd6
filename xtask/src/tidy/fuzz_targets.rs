//! Checks that fuzz targets can run.
//!
//! A target that is not declared is never built, and one without a corpus spends its short time in continuous
//! integration on learning the magic bytes. Both look exactly like a target that finds nothing.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Check, Problem};
use crate::workspace::{Package, Workspace};

/// Checks that every file of `fuzz/fuzz_targets` is a program with a corpus.
pub(crate) fn check(workspace: &Workspace) -> Result<Check> {
    let fuzz = workspace.root.join("fuzz");
    let names = target_names(&fuzz.join("fuzz_targets"))?;
    let mut problems = Vec::new();
    for name in &names {
        let file = format!("fuzz/fuzz_targets/{name}.rs");
        if !is_declared(workspace.member("dwell-fuzz"), &workspace.root.join(&file)) {
            problems.push(Problem::of(&file, "is not declared as a [[bin]] of fuzz/Cargo.toml"));
        }
        if !has_entries(&fuzz.join("corpus").join(name)) {
            problems.push(Problem::of(&file, format!("fuzz/corpus/{name} is missing or empty")));
        }
    }
    Ok(Check::done("fuzz targets", names.len(), "targets", problems))
}

fn is_declared(package: Option<&Package>, source: &Path) -> bool {
    package.is_some_and(|package| {
        package.targets.iter().any(|target| target.is_bin && target.source == source)
    })
}

fn target_names(directory: &Path) -> Result<Vec<String>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).context("cannot list fuzz/fuzz_targets")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

fn has_entries(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}
