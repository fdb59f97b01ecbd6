//! `cargo xtask web`: the page of the explorer.
//!
//! The built page is committed as part of `dwell-serve`, so that building Dwell does not need Node.
//! `web/package-lock.json` fixes the versions of the tools, so that all machines build the same bytes, and `--check`
//! compares the committed page with a new one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, iter};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::process::{self, cargo};
use crate::workspace::Workspace;

const SOURCE: &str = "web";
const PAGE: &str = "crates/dwell-serve/page";

/// Options of `cargo xtask web`.
#[derive(Args)]
pub(crate) struct Options {
    /// Fail if the committed page differs from what `web/` builds
    #[arg(long)]
    check: bool,
    /// Test every view in a browser
    #[arg(long)]
    test: bool,
    /// With --test: test only a sample, as continuous integration does
    #[arg(long, requires = "test")]
    sample: bool,
    /// With --test: take the screenshots of the book anew
    #[arg(long, requires = "test")]
    pictures: bool,
    /// Measure on a report of 294,912 locations, which takes 4 GB of disk
    #[arg(long)]
    scale: bool,
    /// Measure the timeline of an archive that was analysed and has its index
    #[arg(long, value_name = "DIR")]
    timeline: Option<PathBuf>,
}

/// Builds the page, and tests and measures it if the options say so.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    install(workspace)?;
    if options.check || !(options.test || options.scale || options.timeline.is_some()) {
        build(workspace, options.check)?;
    }
    if options.test {
        test(workspace, options.sample, options.pictures)?;
    }
    if options.scale {
        scale(workspace)?;
    }
    if let Some(directory) = &options.timeline {
        timeline(workspace, directory)?;
    }
    Ok(())
}

impl Options {
    /// Returns options that check the page and test all of it, or a sample.
    fn check_and_test(sample: bool) -> Options {
        let (pictures, scale, timeline) = (false, false, None);
        Options { check: true, test: true, sample, pictures, scale, timeline }
    }
}

/// Does what continuous integration needs: checks that the page is what `web/` builds, and that it works in a browser.
pub(crate) fn check_and_sample(workspace: &Workspace) -> Result<()> {
    run(workspace, &Options::check_and_test(true))
}

/// Tests every view in a browser.
pub(crate) fn test_everything(workspace: &Workspace) -> Result<()> {
    run(workspace, &Options::check_and_test(false))
}

/// Returns a command for a program of Node: that of the machine, or the one that `cargo xtask ci` installed.
fn tool(workspace: &Workspace, name: &str) -> Command {
    let own = workspace.target.join("node/bin");
    let mut command = Command::new(name);
    command.current_dir(SOURCE);
    if !process::is_on_path(name) && own.join(name).exists() {
        let path = env::var_os("PATH").unwrap_or_default();
        let all = iter::once(own).chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(all).unwrap_or(path));
    }
    command
}

/// Installs the pinned packages, unless exactly these are installed.
fn install(workspace: &Workspace) -> Result<()> {
    if !process::succeeds(tool(workspace, "npm").arg("--version")) {
        bail!("the page is built with Node: install it with npm, 20 or later");
    }
    let lock = fs::read(Path::new(SOURCE).join("package-lock.json"))?;
    let mark = Path::new(SOURCE).join("node_modules/.dwell-lock");
    if fs::read(&mark).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    process::run(tool(workspace, "npm").args(["ci", "--no-audit", "--no-fund"]))?;
    fs::write(mark, lock).context("cannot note what was installed")
}

fn build(workspace: &Workspace, check: bool) -> Result<()> {
    let before = files(Path::new(PAGE))?;
    process::run(tool(workspace, "npm").args(["run", "--silent", "build"]))?;
    let after = files(Path::new(PAGE))?;
    if check && before != after {
        let name = |path: &PathBuf| path.display().to_string();
        let all: BTreeMap<_, _> = before.iter().chain(&after).collect();
        let differing: Vec<String> = all
            .keys()
            .filter(|path| before.get(**path) != after.get(**path))
            .map(|it| name(it))
            .collect();
        bail!(
            "{PAGE} was not what {SOURCE}/ makes ({}); commit what was built now",
            differing.join(", ")
        );
    }
    for (path, bytes) in &after {
        println!("{}: {} bytes", path.display(), bytes.len());
    }
    Ok(())
}

fn files(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        files.insert(path, bytes);
    }
    Ok(files)
}

fn test(workspace: &Workspace, sample: bool, pictures: bool) -> Result<()> {
    // Some tests record programs, by the library beside the command.
    process::run(cargo(&workspace.root).args(["build", "-p", "dwell", "-p", "dwell-preload"]))?;
    let mut node = tool(workspace, "node");
    node.arg("tests/run.mjs");
    node.env("DWELL", workspace.target.join("debug/dwell"));
    if sample {
        node.arg("--sample");
    }
    if pictures {
        node.arg("--pictures");
    }
    process::run(&mut node)
}

/// Measures the speed of the page on a very large report.
fn scale(workspace: &Workspace) -> Result<()> {
    process::run(cargo(&workspace.root).args(["build", "--release", "-p", "dwell"]))?;
    let mut node = tool(workspace, "node");
    node.args(["tests/scale.mjs"]).arg(workspace.target.join("view-scale.cubex"));
    node.env("DWELL", workspace.target.join("release/dwell"));
    process::run(&mut node)
}

/// Measures the speed of the timeline on an archive, which is usually a large one.
fn timeline(workspace: &Workspace, directory: &Path) -> Result<()> {
    process::run(cargo(&workspace.root).args(["build", "--release", "-p", "dwell"]))?;
    let directory = fs::canonicalize(directory).with_context(|| directory.display().to_string())?;
    let mut node = tool(workspace, "node");
    node.args(["tests/timeline-scale.mjs"]).arg(directory);
    node.env("DWELL", workspace.target.join("release/dwell"));
    process::run(&mut node)
}
