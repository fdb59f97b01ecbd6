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

    fn run(self, workspace: &Workspace, package: &str, target: &[&str]) -> Result<()> {
        let mut build = process::cargo(&workspace.root);
        match self {
            Build::Release => build.args(["build", "--release", "-p", package]),
            // Tests are built for the whole workspace, and what they have built has its features.
            Build::Dev => build.args(["build", "--workspace"]),
        };
        process::run(build.args(target))
    }

    fn folder(self, workspace: &Workspace) -> PathBuf {
        workspace.target.join(match self {
            Build::Release => "release",
            Build::Dev => "debug",
        })
    }
}

/// The recorder as users have it, and the example that records calls with it.
pub(crate) struct Recorder {
    /// Library that `dwell run` preloads.
    pub(crate) library: PathBuf,
    /// Example of `dwell-measure` that records calls.
    pub(crate) record_cost: PathBuf,
}

impl Recorder {
    /// Builds both by one command: separate ones give the crates below them other features and compile those twice.
    pub(crate) fn build(workspace: &Workspace) -> Result<Recorder> {
        let mut build = process::cargo(&workspace.root);
        build.args(["build", "--release", "-p", "dwell-preload", "-p", "dwell-measure", "--lib"]);
        process::run(build.args(["--example", "record_cost"]))?;
        let folder = Build::Release.folder(workspace);
        let record_cost = folder.join("examples/record_cost");
        let record_cost = workspace.relative(&record_cost).into();
        Ok(Recorder { library: folder.join("libdwell.so"), record_cost })
    }
}
