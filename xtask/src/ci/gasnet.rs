//! GASNet-EX for tests, built from the sources inside a crate.
//!
//! No Debian package has GASNet. The crate `gex-sys` carries the sources of GASNet-EX 2021.3, so Cargo fetches them,
//! from whatever registry the machine uses, and verifies them. The crate itself builds a single conduit for
//! single-threaded clients. Here its sources are built for the conduits that run on one machine, `smp`, `udp` and `mpi`,
//! for both thread modes that clients use (`SEQ` and `PAR`). Nothing of them is part of this repository.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use anyhow::{Context, Result, bail};

use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Version of the crate, and the checksum by which the registry identifies its contents.
const VERSION: &str = "0.1.0";
const CHECKSUM: &str = "4a2e6d287b0720fd495be5cff864f67142d79dae3bbe7087c21a1b77c6879c47";

/// Settings of the build: what runs on one machine, in as few variants as tests need.
const CONFIGURE: &[&str] = &[
    "--enable-smp",
    "--enable-udp",
    "--enable-mpi",
    "--with-mpi-cc=mpicc.openmpi",
    "--disable-ibv",
    "--disable-ucx",
    "--disable-ofi",
    "--disable-aries",
    "--enable-seq",
    "--enable-par",
    "--disable-parsync",
];

/// Settings of the build with assertions, which counts calls and bytes itself.
const CONFIGURE_DEBUG: &[&str] = &[
    "--enable-debug",
    "--enable-smp",
    "--enable-udp",
    "--disable-mpi",
    "--disable-ibv",
    "--disable-ucx",
    "--disable-ofi",
    "--disable-aries",
    "--enable-seq",
    "--disable-par",
    "--disable-parsync",
];

/// Fragments of makefiles that complete installations have; the last that are built.
const LAST: &str = "include/mpi-conduit/mpi-par.mak";
const LAST_DEBUG: &str = "include/udp-conduit/udp-seq.mak";

/// Returns the directory into which GASNet is installed.
pub(crate) fn directory(workspace: &Workspace) -> PathBuf {
    workspace.target.join("gasnet")
}

/// Returns the directory into which GASNet with assertions is installed.
pub(crate) fn debug_directory(workspace: &Workspace) -> PathBuf {
    workspace.target.join("gasnet-debug")
}

/// Builds GASNet, unless it is there.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let place = directory(workspace);
    install_at(workspace, &place, LAST, (CONFIGURE, &["seq", "par"]))
}

/// Builds GASNet with assertions, unless it is there. It counts calls and bytes, with which traces are compared.
pub(crate) fn install_debug(workspace: &Workspace) -> Result<()> {
    let place = debug_directory(workspace);
    install_at(workspace, &place, LAST_DEBUG, (CONFIGURE_DEBUG, &["seq"]))
}

/// Builds GASNet with these settings for these thread modes, unless the directory has what is built last.
fn install_at(
    workspace: &Workspace,
    place: &Path,
    last: &str,
    settings: (&[&str], &[&str]),
) -> Result<()> {
    if place.join(last).is_file() {
        println!("present: GASNet");
        return Ok(());
    }
    let work = workspace.target.join("gasnet-build");
    // What an earlier attempt left is of no use.
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| work.display().to_string())?;
    }
    build(&work, place, settings).context("GASNet could not be built for tests")?;
    fs::remove_dir_all(&work).with_context(|| work.display().to_string())
}

/// Fetches, configures, builds and installs. The directory `work` is for intermediate files.
fn build(work: &Path, place: &Path, (settings, modes): (&[&str], &[&str])) -> Result<()> {
    let sources = work.join("sources");
    let objects = work.join("objects");
    fs::create_dir_all(&objects).with_context(|| objects.display().to_string())?;
    let fetched = fetch(work)?;
    // Files of the registry must not be changed, and a copy by cp(1) keeps their modes.
    process::run(Command::new("cp").arg("-r").arg(fetched).arg(&sources))?;
    quietly(Command::new("./Bootstrap").current_dir(&sources), work)?;
    let mut configure = Command::new(sources.join("configure"));
    configure.current_dir(&objects).args(settings).arg(format!("--prefix={}", place.display()));
    quietly(&mut configure, work)?;
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    // Both thread modes are compiled into the same object files, so only conduits can be built side by side.
    for mode in modes {
        let mut make = Command::new("make");
        make.current_dir(&objects).arg(format!("-j{jobs}")).arg(mode);
        // Hooks are found at run time by programs that are position-independent.
        quietly(make.args(["MANUAL_CFLAGS=-fPIE", "MANUAL_CXXFLAGS=-fPIE"]), work)?;
    }
    let mut install = Command::new("make");
    quietly(install.current_dir(&objects).arg("install"), work)
}

/// Lets Cargo fetch the crate, and returns the directory with the sources of GASNet in it.
fn fetch(work: &Path) -> Result<PathBuf> {
    let package = work.join("fetch");
    fs::create_dir_all(package.join("src")).with_context(|| package.display().to_string())?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\ngex-sys = \"={VERSION}\"\n"
    );
    fs::write(package.join("Cargo.toml"), manifest)?;
    fs::write(package.join("src/lib.rs"), "")?;
    process::run(cargo(&package).args(["fetch", "--quiet"]))?;
    // Cargo has compared what it fetched with the checksum that it writes down.
    let lock = fs::read_to_string(package.join("Cargo.lock"))?;
    if !lock.contains(&format!("checksum = \"{CHECKSUM}\"")) {
        bail!(
            "the registry has another gex-sys {VERSION} than the one that tests were written for"
        );
    }
    let metadata = process::output(cargo(&package).args(["metadata", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let found = packages.iter().find(|package| package["name"] == "gex-sys");
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|path| Path::new(path).parent());
    Ok(folder.context("cargo metadata does not know gex-sys")?.join("gasnet"))
}

/// Runs a command that writes thousands of lines, and shows the last ones only if it fails.
fn quietly(command: &mut Command, work: &Path) -> Result<()> {
    println!("$ {}", process::display(command));
    let log = work.join("log");
    let output = fs::File::create(&log).with_context(|| log.display().to_string())?;
    let status = command.stdout(output.try_clone()?).stderr(output).status();
    let status = status.with_context(|| format!("cannot run `{}`", process::display(command)))?;
    if !status.success() {
        let text = fs::read(&log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.get(lines.len().saturating_sub(30)..).unwrap_or_default();
        bail!("`{}` failed: {status}\n{}", process::display(command), last.join("\n"));
    }
    Ok(())
}
