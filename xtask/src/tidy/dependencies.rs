//! Allowed dependencies between crates.
//!
//! Data flows one way through Dwell, and so do the dependencies of its crates: nothing on the left knows anything on
//! its right. Cargo only rejects cycles; this table rejects the convenient shortcut that turns layers into a lump. It
//! is the table of `ARCHITECTURE.md`, and [`super::architecture`] keeps the two equal.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};

use super::{Check, Problem};
use crate::workspace::{Dependency, DependencyKind, Package, Workspace};

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// Name of the package.
    pub(crate) name: &'static str,
    /// Workspace crates that the package may use.
    pub(crate) may_use: MayUse,
}

/// Content of the third column of the table.
#[derive(Debug)]
pub(crate) enum MayUse {
    /// These crates only.
    Only(&'static [&'static str]),
    /// Every crate of the product except these.
    AllBut(&'static [&'static str]),
}

use MayUse::{AllBut, Only};

/// The crates of the design, including those that have no code yet.
#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    Row { name: "otf2", may_use: Only(&[]) },
    Row { name: "dwell-files", may_use: Only(&[]) },
    Row { name: "cubex", may_use: Only(&["dwell-files"]) },
    Row { name: "dwell-model", may_use: Only(&[]) },
    Row { name: "dwell-unify", may_use: Only(&["dwell-files", "dwell-model", "otf2"]) },
    Row { name: "dwell-measure", may_use: Only(&["dwell-model", "otf2", "dwell-unify"]) },
    Row { name: "dwell-preload", may_use: Only(&["dwell-model", "dwell-measure", "dwell-unify"]) },
    Row { name: "dwell-link", may_use: Only(&["dwell-model"]) },
    Row { name: "dwell-symbols", may_use: Only(&["dwell-files", "dwell-model", "otf2"]) },
    Row { name: "dwell-trace", may_use: Only(&["dwell-model", "otf2"]) },
    Row { name: "dwell-log", may_use: Only(&["dwell-files", "dwell-model", "otf2", "dwell-trace"]) },
    Row {
        name: "dwell-analyze",
        may_use: Only(&["dwell-files", "dwell-model", "dwell-mpi", "otf2", "cubex", "dwell-trace", "dwell-log"]),
    },
    Row { name: "dwell-mpi", may_use: Only(&["dwell-model"]) },
    Row { name: "dwell-report", may_use: Only(&["cubex", "dwell-files", "dwell-model"]) },
    Row { name: "dwell-synth", may_use: Only(&["dwell-files", "dwell-model", "otf2", "cubex"]) },
    Row { name: "dwell-fortran", may_use: Only(&["dwell-model"]) },
    Row {
        name: "dwell-export",
        may_use: Only(&[
            "dwell-files",
            "dwell-model",
            "otf2",
            "dwell-trace",
            "dwell-log",
            "dwell-report",
            "dwell-timeline",
        ]),
    },
    Row {
        name: "dwell-timeline",
        may_use: Only(&["dwell-files", "dwell-model", "otf2", "dwell-trace", "dwell-log", "dwell-report"]),
    },
    Row {
        name: "dwell-serve",
        may_use: Only(&["dwell-files", "dwell-model", "dwell-report", "otf2", "dwell-log", "dwell-timeline"]),
    },
    Row { name: "dwell", may_use: AllBut(&["dwell-preload"]) },
    Row { name: "dwell-fuzz", may_use: Only(&["otf2", "cubex", "dwell-fortran", "dwell-model", "dwell-unify", "dwell-report", "dwell-timeline"]) },
    Row { name: "xtask", may_use: Only(&[]) },
];

/// Crates that are not part of the product, so that "all" does not include them.
const TOOLING: &[&str] = &["dwell-fuzz", "xtask"];

/// Crates from which tests of every crate may take their input: archives, and what an analysis makes of them.
const FOR_TESTS: &[&str] = &["dwell-synth", "dwell-analyze"];

/// Crates that are published on their own and keep their dependencies few, with the external packages that each may use
/// outside of tests.
const EXTERNALS: &[(&str, &[&str])] = &[
    ("otf2", &["crc32fast", "serde"]),
    ("cubex", &["crc32fast", "flate2", "memmap2", "quick-xml"]),
];

/// Returns the row of a crate.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

impl Row {
    /// Returns the crates that the third column allows.
    pub(crate) fn allowed(&self) -> BTreeSet<&'static str> {
        match self.may_use {
            Only(names) => names.iter().copied().collect(),
            AllBut(names) => self.all_but(names),
        }
    }

    /// Returns all crates of the product except this one and those named.
    pub(crate) fn all_but(&self, names: &[&str]) -> BTreeSet<&'static str> {
        TABLE
            .iter()
            .map(|row| row.name)
            .filter(|name| *name != self.name)
            .filter(|name| !TOOLING.contains(name) && !names.contains(name))
            .collect()
    }
}

/// Checks the dependencies between the crates of the workspace.
pub(crate) fn check(workspace: &Workspace) -> Result<Check> {
    let mut problems = Vec::new();
    for package in &workspace.members {
        let found = violations(package, |name| workspace.member(name).is_some());
        problems.extend(located(workspace, package, &found)?);
    }
    let count = workspace.members.len();
    Ok(Check::done("dependencies", count, "crates", problems))
}

/// Checks that crates which are published on their own use only the listed external packages.
pub(crate) fn check_externals(workspace: &Workspace) -> Check {
    let mut problems = Vec::new();
    let mut count = 0;
    for (name, allowed) in EXTERNALS {
        let Some(package) = workspace.member(name) else {
            continue;
        };
        count += 1;
        let file = workspace.relative(&package.manifest);
        for dependency in foreign(package, allowed) {
            if workspace.member(&dependency.name).is_none() {
                let message = format!("{name} may not use the external `{}`", dependency.name);
                problems.push(Problem::of(&file, message));
            }
        }
    }
    Check::done("external dependencies", count, "crates", problems)
}

/// Iterates over the dependencies outside of tests that the list does not name.
fn foreign<'a>(package: &'a Package, allowed: &'a [&str]) -> impl Iterator<Item = &'a Dependency> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Dev)
        .filter(|dependency| !allowed.contains(&dependency.name.as_str()))
}

/// A violation: the dependency that causes it, if any, and a message.
type Violation = (Option<String>, String);

fn violations(package: &Package, is_member: impl Fn(&str) -> bool) -> Vec<Violation> {
    let Some(row) = row(&package.name) else {
        let message = format!("`{}` is missing in the table of crates", package.name);
        return vec![(None, message)];
    };
    let allowed = row.allowed();
    package
        .dependencies
        .iter()
        .filter(|dependency| is_member(&dependency.name))
        .filter(|dependency| !allowed.contains(dependency.name.as_str()))
        .filter(|dependency| !is_test_input(dependency))
        .map(|dependency| {
            let message = format!("`{}` may not use `{}`", package.name, dependency.name);
            (Some(dependency.name.clone()), message)
        })
        .collect()
}

fn is_test_input(dependency: &Dependency) -> bool {
    dependency.kind == DependencyKind::Dev && FOR_TESTS.contains(&dependency.name.as_str())
}

/// Adds the line of the manifest to each violation.
fn located(workspace: &Workspace, package: &Package, found: &[Violation]) -> Result<Vec<Problem>> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let file = workspace.relative(&package.manifest);
    let manifest =
        fs::read_to_string(&package.manifest).with_context(|| format!("cannot read {file}"))?;
    Ok(found
        .iter()
        .map(|(dependency, message)| {
            let line = dependency.as_deref().and_then(|name| line_of(&manifest, name));
            Problem { file: file.clone(), line, message: message.clone() }
        })
        .collect())
}

/// Returns the line on which a manifest names a dependency, as far as a plain text search can tell.
fn line_of(manifest: &str, name: &str) -> Option<usize> {
    let asks = |line: &str| {
        line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    manifest.lines().position(asks).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, DependencyKind)]) -> Package {
        Package {
            name: name.to_owned(),
            manifest: "Cargo.toml".into(),
            dependencies: dependencies
                .iter()
                .map(|(name, kind)| Dependency { name: (*name).to_owned(), kind: *kind })
                .collect(),
        }
    }

    fn messages(package: &Package) -> Vec<String> {
        violations(package, |name| row(name).is_some())
            .into_iter()
            .map(|(_, message)| message)
            .collect()
    }

    #[test]
    fn every_name_in_the_table_has_a_row() {
        for row in TABLE {
            for name in row.allowed() {
                assert!(super::row(name).is_some(), "{name} has no row");
            }
        }
    }

    #[test]
    fn no_crate_may_use_what_may_use_it() {
        for row in TABLE {
            for name in row.allowed() {
                let other = super::row(name).expect("has a row").allowed();
                assert!(!other.contains(row.name), "{} and {name}", row.name);
            }
        }
    }

    #[test]
    fn all_three_tables_are_checked() {
        use DependencyKind::{Build, Dev, Normal};
        for kind in [Normal, Build, Dev] {
            let found = messages(&package("otf2", &[("dwell-model", kind)]));
            assert_eq!(found, ["`otf2` may not use `dwell-model`"]);
        }
        assert!(messages(&package("otf2", &[("serde", Normal)])).is_empty());
        assert!(messages(&package("dwell-measure", &[("otf2", Normal)])).is_empty());
    }

    #[test]
    fn tests_may_use_synthetic_traces_and_code_may_not() {
        let dev = package("otf2", &[("dwell-synth", DependencyKind::Dev)]);
        assert!(messages(&dev).is_empty());
        let normal = package("otf2", &[("dwell-synth", DependencyKind::Normal)]);
        assert_eq!(messages(&normal).len(), 1);
    }

    #[test]
    fn all_but_leaves_out_what_is_named_and_the_tooling() {
        let allowed = row("dwell").expect("has a row").allowed();
        assert!(allowed.contains("dwell-serve") && allowed.contains("otf2"));
        for name in ["dwell", "dwell-preload", "xtask", "dwell-fuzz"] {
            assert!(!allowed.contains(name), "{name}");
        }
    }

    #[test]
    fn a_crate_without_a_row_is_a_problem() {
        assert_eq!(
            messages(&package("dwell-utils", &[])),
            ["`dwell-utils` is missing in the table of crates"]
        );
    }

    #[test]
    fn externals_are_for_tests_or_listed() {
        let cubex = package(
            "cubex",
            &[
                ("flate2", DependencyKind::Normal),
                ("serde", DependencyKind::Normal),
                ("proptest", DependencyKind::Dev),
            ],
        );
        let found: Vec<_> = foreign(&cubex, EXTERNALS[1].1).map(|d| &d.name).collect();
        assert_eq!(found, ["serde"]);
    }

    #[test]
    fn the_line_of_a_dependency_is_found() {
        let manifest = "[dependencies]\notf2-sys = \"1\"\notf2.workspace = true\n";
        assert_eq!(line_of(manifest, "otf2"), Some(3));
        assert_eq!(line_of(manifest, "cubex"), None);
    }
}
