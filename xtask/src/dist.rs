//! `cargo xtask dist`: the artefacts of a release, in `target/dist`.
//!
//! | artefact | for |
//! |---|---|
//! | `dwell-VERSION-ARCH-linux.tar.gz` | any directory of any Linux with glibc 2.17 or later |
//! | `dwell-VERSION-ARCH-linux-debug.tar.gz` | the same directory: debug information |
//! | `dwell-VERSION-py3-none-manylinux2014_ARCH.whl` | pip and other installers of Python packages |
//! | `dwell_VERSION_ARCH.deb` | Debian, Ubuntu |
//! | `dwell-VERSION-1.ARCH.rpm` | Red Hat, Alma, Rocky, SUSE |
//! | `recipes/` | Spack, `EasyBuild` and Apptainer; they install the tarball |
//! | `dwell.cdx.json` | bill of materials (`CycloneDX`) |
//! | `SHA256SUMS` | checksums of all of them |
//!
//! Nothing of the machine goes into them: neither its paths nor times, owners or the order of directories. `--check` builds
//! a second time elsewhere and compares all bytes, and installs each artefact where there is neither a compiler nor a
//! newer C library.

mod archive;
mod bom;
mod build;
mod check;
mod debian;
mod elf;
mod licences;
mod module;
mod roots;
mod rpm;
mod sample;
mod sums;
mod tree;
mod wheel;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::process::{self, cargo};
use crate::workspace::Workspace;
use tree::File;

/// Target of a build unless another is given. Artefacts for others go to `target/dist-other`.
const DEFAULT: &str = "x86_64-unknown-linux-gnu";

/// Options of `cargo xtask dist`.
#[derive(Args)]
pub(crate) struct Options {
    /// Target of the build: x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu
    #[arg(long, default_value = DEFAULT, value_name = "TRIPLE")]
    target: String,
    /// Pack stand-ins instead of optimised files, and list what was packed, as continuous integration does
    #[arg(long, conflicts_with_all = ["target", "check"])]
    sample: bool,
    /// Then check the artefacts: sizes, needed libraries, a second build in another directory, installations
    #[arg(long)]
    check: bool,
    /// Check the artefacts of an earlier run instead of building them
    #[arg(long, requires = "check")]
    no_build: bool,
    /// With --check: leave out these checks
    #[arg(long, requires = "check", value_name = "NAME", value_delimiter = ',')]
    skip: Vec<String>,
}

impl Options {
    /// Returns the options of a release that is checked in full.
    pub(crate) fn checked() -> Self {
        Self {
            target: DEFAULT.to_owned(),
            sample: false,
            check: true,
            no_build: false,
            skip: Vec::new(),
        }
    }
}

/// What is built, and where.
pub(crate) struct Product<'a> {
    workspace: &'a Workspace,
    /// Target triple.
    target: &'a str,
    version: &'a str,
    /// One sentence about the product: the description of the crate `dwell`.
    summary: &'a str,
    /// Time of the commit, in seconds since 1970.
    epoch: u64,
    /// Directory of intermediate results.
    work: PathBuf,
    /// Directory of the artefacts.
    out: PathBuf,
}

impl Product<'_> {
    /// Returns the processor's name.
    fn arch(&self) -> &str {
        self.target.split('-').next().unwrap_or_default()
    }

    /// Returns the name of the directory in the tarball.
    fn directory(&self) -> String {
        format!("dwell-{}-{}-linux", self.version, self.arch())
    }

    /// Returns the file name of the tarball.
    fn tarball(&self) -> String {
        self.directory() + ".tar.gz"
    }

    /// Returns the file name of the tarball with debug information.
    fn debug_tarball(&self) -> String {
        self.directory() + "-debug.tar.gz"
    }
}

/// Does what continuous integration needs, in seconds: packs stand-ins for the command and the library, and lets the
/// tools that will read the artefacts list them.
pub(crate) fn sample(workspace: &Workspace) -> Result<()> {
    let (version, summary) = described(workspace)?;
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let work = workspace.target.join("dist-sample");
    let out = work.join("out");
    let (version, summary, target) = (version.as_str(), summary.as_str(), target.as_str());
    sample::run(&Product { workspace, target, version, summary, epoch: 1, work, out })
}

/// Builds the artefacts, and checks them if the options say so.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.sample {
        process::run(cargo(&workspace.root).args(["build", "--locked", "-p", "dwell"]))?;
        return sample(workspace);
    }
    let (version, summary) = described(workspace)?;
    let product = Product {
        workspace,
        target: &options.target,
        version: &version,
        summary: &summary,
        epoch: epoch(&workspace.root)?,
        work: workspace.target.join("dist-build").join(&options.target),
        out: workspace.target.join(if options.target == DEFAULT { "dist" } else { "dist-other" }),
    };
    if !options.no_build {
        let built = build::build(&product)?;
        let runs = runnable(&product, &built.program)?;
        pack(&product, &built, &runs)?;
    }
    if options.check {
        check::run(&product, &options.skip)?;
    }
    Ok(())
}

/// Packs all artefacts. `runs` is a `dwell` that this machine can run.
fn pack(product: &Product<'_>, built: &build::Built, runs: &Path) -> Result<()> {
    fs::create_dir_all(&product.out)?;
    let files = tree::installation(product, &built.program, &built.library, runs)?;
    let [program, library] = &built.debug;
    let debug = [
        File::read("bin/dwell.debug", 0o644, program)?,
        File::read("lib/libdwell.so.debug", 0o644, library)?,
    ];
    let root = product.directory() + "/";
    let packed = |files: &[File]| archive::gzip(&archive::tar(files, &root, product.epoch)?);
    let tarball = packed(&files)?;
    let mut artefacts = module::recipes(product, &sums::hex(&sums::sha256(&tarball)))?;
    let mut add = |name: &str, bytes: Vec<u8>| {
        artefacts.push(File { path: name.to_owned(), mode: 0o644, bytes });
    };
    add(&product.tarball(), tarball);
    add(&product.debug_tarball(), packed(&debug)?);
    add(&wheel::name(product), wheel::write(product, &files)?);
    add(&debian::name(product), debian::write(product, &files, build::GLIBC)?);
    add(&rpm::name(product), rpm::write(product, &files, build::GLIBC)?);
    let bill = files.iter().find(|file| file.path.ends_with(bom::NAME));
    add(bom::NAME, bill.context("no bill of materials")?.bytes.clone());
    artefacts.sort_by(|a, b| a.path.cmp(&b.path));
    let line = |file: &File| format!("{}  {}\n", sums::hex(&sums::sha256(&file.bytes)), file.path);
    let sums: String = artefacts.iter().map(line).collect();
    artefacts.push(File::text("SHA256SUMS", 0o644, &sums));
    tree::write(&artefacts, &product.out)?;
    println!("{}:", product.workspace.relative(&product.out));
    for file in &artefacts {
        println!("{:>12} {}", file.bytes.len(), file.path);
    }
    Ok(())
}

/// Returns a `dwell` that this machine can run: the one that was built, or one of a debug build if that is for another
/// processor.
fn runnable(product: &Product<'_>, built: &Path) -> Result<PathBuf> {
    if product.arch() == std::env::consts::ARCH {
        return Ok(built.to_owned());
    }
    process::run(cargo(&product.workspace.root).args(["build", "--locked", "-p", "dwell"]))?;
    Ok(product.workspace.target.join("debug/dwell"))
}

/// Returns version and description of the command.
fn described(workspace: &Workspace) -> Result<(String, String)> {
    let mut command = cargo(&workspace.root);
    command.args(["metadata", "--format-version", "1", "--no-deps"]);
    let text = process::output(&mut command)?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let package = packages.iter().find(|package| package["name"] == "dwell");
    let package = package.context("no package dwell")?;
    let field = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    Ok((field("version"), field("description")))
}

/// Returns the time that files have in archives: `SOURCE_DATE_EPOCH`, or the time of the commit.
fn epoch(root: &Path) -> Result<u64> {
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        return text.parse().context("SOURCE_DATE_EPOCH is no number of seconds");
    }
    let mut git = Command::new("git");
    let text = process::output(git.current_dir(root).args(["log", "-1", "--format=%ct"]))?;
    let seconds = text.trim().parse().context("git log has no time")?;
    ensure!(seconds > 0, "the commit has no time");
    Ok(seconds)
}
