//! What may be shipped with Dwell, and where it may come from.
//!
//! Dwell is under MIT or Apache-2.0 and goes into the address space of other
//! people's programs: a dependency with a stronger licence would bind them. And
//! a build must be repeatable in ten years: every package comes from crates.io,
//! which keeps what it once published, never from a branch of a repository.

use super::{Check, Problem, spdx};
use crate::workspace::{Package, Workspace};

/// Licences that ask for no more than a notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Licences for one package only. libFuzzer is for tests and is never shipped.
const ALLOWED_FOR: &[(&str, &str)] = &[("libfuzzer-sys", "NCSA")];

/// How cargo names crates.io, whichever protocol or mirror serves it.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks the licence of every external package.
pub(crate) fn check(workspace: &Workspace) -> Check {
    let problems = problems_of(&workspace.externals, licence_problem);
    let count = workspace.externals.len();
    Check::done("licences", count, "external packages", problems)
}

/// Checks the origin of every external package.
pub(crate) fn check_sources(workspace: &Workspace) -> Check {
    let problems = problems_of(&workspace.externals, source_problem);
    let count = workspace.externals.len();
    Check::done("sources", count, "external packages", problems)
}

fn problems_of(packages: &[Package], rule: fn(&Package) -> Option<String>) -> Vec<Problem> {
    packages
        .iter()
        .filter_map(|package| {
            let name = format!("{} {}", package.name, package.version);
            rule(package).map(|message| Problem::of(&name, message))
        })
        .collect()
}

fn licence_problem(package: &Package) -> Option<String> {
    let Some(expression) = &package.license else {
        return Some("states no licence expression".to_owned());
    };
    match spdx::satisfiable(expression, |licence| is_allowed(&package.name, licence)) {
        Ok(true) => None,
        Ok(false) => Some(format!("its licence `{expression}` is not allowed")),
        Err(error) => Some(error.to_string()),
    }
}

fn is_allowed(package: &str, licence: &str) -> bool {
    ALLOWED.contains(&licence) || ALLOWED_FOR.contains(&(package, licence))
}

fn source_problem(package: &Package) -> Option<String> {
    match package.source.as_deref() {
        Some(CRATES_IO) => None,
        Some(source) => Some(format!("comes from {source} rather than crates.io")),
        None => Some("comes from a directory outside the workspace".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, license: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            manifest: "Cargo.toml".into(),
            dependencies: Vec::new(),
            targets: Vec::new(),
        }
    }

    #[test]
    fn ncsa_is_for_libfuzzer_alone() {
        let expression = Some("(MIT OR Apache-2.0) AND NCSA");
        assert_eq!(licence_problem(&package("libfuzzer-sys", expression, None)), None);
        assert!(licence_problem(&package("other", expression, None)).is_some());
    }

    #[test]
    fn a_package_without_a_licence_is_a_problem() {
        assert!(licence_problem(&package("x", None, None)).is_some());
        assert!(licence_problem(&package("x", Some("MIT OR"), None)).is_some());
        assert_eq!(licence_problem(&package("x", Some("MIT"), None)), None);
    }

    #[test]
    fn only_crates_io_is_a_source() {
        assert_eq!(source_problem(&package("x", None, Some(CRATES_IO))), None);
        for source in [
            None,
            Some("git+https://github.com/a/b#0123"),
            Some("registry+https://example.org/index"),
        ] {
            assert!(source_problem(&package("x", None, source)).is_some());
        }
    }
}
