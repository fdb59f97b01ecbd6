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

/// What continuous integration needs as users have it: the recorder, and programs whose instructions are counted.
pub(crate) struct Optimised {
    /// Library that `dwell run` preloads.
    pub(crate) library: PathBuf,
    /// Example of `dwell-measure` that records calls.
    pub(crate) record_cost: PathBuf,
    /// Example of `dwell-analyze` that replays archives.
    pub(crate) replay: PathBuf,
}

impl Optimised {
    /// Builds all by one command: separate ones give the crates below them other features and compile those twice.
    pub(crate) fn build(workspace: &Workspace) -> Result<Optimised> {
        let mut build = process::cargo(&workspace.root);
        build.args(["build", "--release", "-p", "dwell-preload", "-p", "dwell-measure"]);
        build.args(["-p", "dwell-analyze", "--lib", "--example", "record_cost"]);
        process::run(build.args(["--example", "replay"]))?;
        let folder = Build::Release.folder(workspace);
        let example = |name| workspace.relative(&folder.join("examples").join(name)).into();
        Ok(Optimised {
            library: folder.join("libdwell.so"),
            record_cost: example("record_cost"),
            replay: example("replay"),
        })
    }
}
