//! Programs of the workspace that tasks measure, and the profile that they are built with.

use std::path::PathBuf;

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

/// Profile with which the measured programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// The release profile, which users have.
    Release,
    /// The profile of tests, which is built already after tests ran.
    Dev,
}

impl Build {
    /// Builds a program of a crate and returns its path. `target` selects it as cargo does: `--bin` or `--example`, and
    /// a name.
    pub(crate) fn program(
        self,
        workspace: &Workspace,
        package: &str,
        target: [&str; 2],
    ) -> Result<PathBuf> {
        self.run(workspace, package, &target)?;
        let [kind, name] = target;
        let folder = self.folder(workspace);
        let folder = if kind == "--example" { folder.join("examples") } else { folder };
        Ok(workspace.relative(&folder.join(name)).into())
    }

    /// Builds the library that `dwell run` preloads, and returns its path.
    pub(crate) fn library(self, workspace: &Workspace) -> Result<PathBuf> {
        self.run(workspace, "dwell-preload", &[])?;
        Ok(self.folder(workspace).join("libdwell.so"))
    }

    fn run(self, workspace: &Workspace, package: &str, target: &[&str]) -> Result<()> {
        let mut build = process::cargo(&workspace.root);
        build.args(["build", "-p", package]).args(target);
        if self == Build::Release {
            build.arg("--release");
        }
        process::run(&mut build)
    }

    fn folder(self, workspace: &Workspace) -> PathBuf {
        workspace.target.join(match self {
            Build::Release => "release",
            Build::Dev => "debug",
        })
    }
}
