//! `cargo xtask tidy`: checks of the structure of the project.
//!
//! Each rule of `ARCHITECTURE.md` that a program can check is a module here. Each check reports how much it examined,
//! so that a check which silently examines nothing is noticed. cargo-deny checks licences and origins of dependencies:
//! see [`crate::deny`].

mod architecture;
mod dependencies;
mod fuzz_targets;
mod layers;
mod layout;
mod links;
mod mentions;
mod modules;
pub(crate) mod sources;
mod weights;

use std::fmt;

use anyhow::{Result, bail};

use crate::prose;
use crate::workspace::Workspace;
use sources::SourceFile;

/// Runs all checks, prints a line for each, and fails if any found a problem.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let files = sources::tracked(&workspace.root)?;
    let checks = [
        dependencies::check(workspace)?,
        dependencies::check_externals(workspace),
        architecture::check(&files),
        layout::check_names(workspace),
        layout::check_lints(workspace)?,
        layout::check_modules(&files),
        layers::check(&files),
        modules::check(&files),
        links::check(&files),
        mentions::check(&files),
        prose::check(&files),
        fuzz_targets::check(workspace)?,
        sources::check_lengths(&files),
        sources::check_whitespace(&files),
        sources::check_private_paths(&files),
        weights::check(&files),
    ];
    let mut problems = 0;
    for check in &checks {
        println!("{check}");
        problems += check.problems();
    }
    if problems > 0 {
        bail!("tidy found {problems} problem(s)");
    }
    Ok(())
}

/// Result of one check: the number of things that it looked at, and the problems that it found.
#[derive(Debug)]
pub(crate) struct Check {
    name: &'static str,
    count: usize,
    what: &'static str,
    problems: Vec<Problem>,
}

/// A violation of a rule, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    file: String,
    line: Option<usize>,
    message: String,
}

impl Check {
    /// Creates the result of a check that examined `count` objects.
    pub(crate) fn done(
        name: &'static str,
        count: usize,
        what: &'static str,
        problems: Vec<Problem>,
    ) -> Check {
        Check { name, count, what, problems }
    }

    /// Returns the number of problems.
    fn problems(&self) -> usize {
        self.problems.len()
    }
}

impl Problem {
    /// Creates a problem on one line, counted from 1.
    fn at(file: &str, line: usize, message: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), line: Some(line), message: message.into() }
    }

    /// Creates a problem of a whole file or directory.
    pub(crate) fn of(file: &str, message: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), line: None, message: message.into() }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Check { name, count, what, problems } = self;
        if problems.is_empty() {
            return write!(f, "{name}: {count} {what} ok");
        }
        write!(f, "{name}: {count} {what}, {} problem(s)", problems.len())?;
        problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_prints_one_line_and_its_problems() {
        let check = Check::done("lengths", 3, "files", Vec::new());
        assert_eq!(check.to_string(), "lengths: 3 files ok");
        let problems = vec![Problem::at("a.rs", 7, "tab"), Problem::of("b", "absent")];
        let check = Check::done("lengths", 3, "files", problems);
        assert_eq!(check.to_string(), "lengths: 3 files, 2 problem(s)\n  a.rs:7: tab\n  b: absent");
        assert_eq!(check.problems(), 2);
    }
}
