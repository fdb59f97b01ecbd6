//! What some tests need beyond Rust, and what happens where it is missing.
//!
//! A test that cannot run calls [`missing`] and returns. Where the need is required (`DWELL_REQUIRE_NAME=1`, as
//! `cargo xtask ci` sets for every row of [`NEEDS`]) that fails the test. Otherwise the test passes, and the first such
//! test of a test program prints a line that says what is missing and how to get it. The line goes past the capture of
//! output, so that `cargo test` shows it.

use std::io::Write;
use std::process::Command;
use std::sync::Mutex;

/// The name of each need and what provides it. The table in CONTRIBUTING.md has the same rows.
pub(crate) const NEEDS: &[(&str, &str)] = &[
    ("OTF2", "Debian's otf2-tools libotf2-trace-dev python3 gcc"),
    ("PYCUBEXR", "pycubexr from PyPI, for python3 or the interpreter in DWELL_PYTHON"),
    ("TABLES", "pyarrow, pandas, polars and duckdb from PyPI, for python3 or DWELL_PYTHON"),
    ("PERFETTO", "perfetto and protobuf from PyPI, for python3 or DWELL_PYTHON"),
    ("SYMBOLS", "Debian's gcc g++ gfortran clang binutils dwz"),
    ("CC", "Debian's gcc"),
    ("SHMEM", "Debian's openmpi-bin libopenmpi-dev"),
    ("SHMEM4PY", "shmem4py from PyPI, for the interpreter in DWELL_SHMEM4PY"),
    ("UCX", "Debian's libucx-dev"),
    ("MPI", "Debian's openmpi-bin libopenmpi-dev mpich libmpich-dev, or a compiler in DWELL_MPICC"),
    ("INTEL_MPI", "impi-rt and impi-devel from PyPI, their mpicc in DWELL_MPICC, and I_MPI_ROOT"),
    ("FORTRAN", "Debian's gfortran"),
    ("NWCHEM", "Debian's nwchem-openmpi"),
    ("CAF", "Debian's gfortran libcoarrays-openmpi-dev openmpi-bin cmake ninja-build"),
    (
        "ARMCI",
        "Debian's libarmci-mpi-dev libglobalarrays-dev libscalapack-openmpi-dev liblapack-dev libblas-dev",
    ),
    ("GASNET", "GASNet-EX, which `cargo xtask install` builds; its directory in DWELL_GASNET"),
    ("MUSL", "Debian's musl-tools"),
    (
        "RIGHTS",
        "a user who may mount, become another user and make namespaces, and Debian's iproute2 python3",
    ),
];

/// Needs that continuous integration does without: no package that it installs provides them.
pub(crate) const EXTRAS: &[(&str, &str)] = &[
    ("MPI4PY", "mpi4py from PyPI, for the interpreter in DWELL_MPI4PY"),
    ("TRACE_PROCESSOR", "trace_processor_shell of Perfetto, its path in DWELL_TRACE_PROCESSOR"),
    ("VITE", "Debian's vite"),
    ("FLANG", "Debian's flang-22"),
];

/// Needs that were named already.
static NAMED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether a need must be there.
pub(crate) fn is_required(name: &str) -> bool {
    std::env::var_os(format!("DWELL_REQUIRE_{name}")).is_some_and(|value| value == "1")
}

/// Says that a test cannot run because something is missing.
///
/// # Panics
/// If the need is required, or is none of [`NEEDS`] and [`EXTRAS`].
pub(crate) fn missing(name: &str, why: &str) {
    let provider = NEEDS.iter().chain(EXTRAS).find(|need| need.0 == name).map(|need| need.1);
    let provider = provider.unwrap_or_else(|| panic!("{name} is not among the needs of tests"));
    assert!(!is_required(name), "DWELL_REQUIRE_{name} is set, but {why}");
    let mut named = NAMED.lock().unwrap();
    if !named.iter().any(|known| known == name) {
        named.push(name.to_owned());
        let (package, program) = (env!("CARGO_PKG_NAME"), test_program());
        let line = format!("skipped tests of {package} ({program}): {why}; they need {provider}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// Returns `true` if all these tools are installed. If one is not, calls [`missing`] for the need.
pub(crate) fn tools(need: &str, tools: &[&str]) -> bool {
    let works = |tool: &&str| {
        Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let absent = tools.iter().find(|tool| !works(tool));
    absent.inspect(|tool| missing(need, &format!("there is no {tool}"))).is_none()
}

/// Returns the name of the running test program, without the hash that Cargo adds.
fn test_program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.rsplit_once('-').map_or(stem.clone(), |(name, _)| name.to_owned())
}
