//! Tools from crates.io that tasks run, each of a fixed version so that all machines agree.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// A program that `cargo install` builds.
pub(crate) struct Tool {
    /// Name of the package, and of its program.
    pub(crate) name: &'static str,
    /// The only version that is used.
    pub(crate) version: &'static str,
    /// Arguments of `cargo install` that choose its features.
    pub(crate) features: &'static [&'static str],
}

impl Tool {
    /// Returns the path of the program, which is built from crates.io if neither the machine nor the target directory
    /// has this version.
    pub(crate) fn install(&self, workspace: &Workspace) -> Result<PathBuf> {
        let place = workspace.target.join("tools");
        let own = place.join("bin").join(self.name);
        for program in [PathBuf::from(self.name), own.clone()] {
            // Some commands of cargo want to be called as cargo does.
            let as_command = self.name.strip_prefix("cargo-");
            let says = |words: &[&str]| {
                let said = process::output(Command::new(&program).args(words).arg("--version"));
                said.is_ok_and(|said| is_version(&said, self.version))
            };
            if says(&[]) || as_command.is_some_and(|name| says(&[name])) {
                return Ok(program);
            }
        }
        let mut install = cargo(&workspace.root);
        // Without optimisation and debug information it is built in half of the time, and still done in a second.
        install.args(["install", "--locked", "--debug", "--force", "--quiet", "--root"]);
        install.arg(&place).args(self.features).env("CARGO_PROFILE_DEV_DEBUG", "false");
        process::run(install.arg(format!("{}@{}", self.name, self.version)))?;
        Ok(own)
    }
}

/// Returns `true` if the first line, such as `mdbook v0.5.4` or `cargo-nextest 0.9.143 (60fa45f63 2026-08-04)`, has this
/// version behind the name.
fn is_version(said: &str, version: &str) -> bool {
    said.split_whitespace().nth(1).is_some_and(|it| it.trim_start_matches('v') == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_a_letter_or_not() {
        assert!(is_version("mdbook v0.5.4\n", "0.5.4"));
        assert!(is_version("cargo-deny 0.20.2", "0.20.2"));
        assert!(is_version(
            "cargo-nextest 0.9.143 (60fa45f63 2026-08-04)\nrelease: 0.9.143",
            "0.9.143"
        ));
        assert!(!is_version("mdbook v0.5.41", "0.5.4"));
        assert!(!is_version("", "0.5.4"));
    }
}
