//! MPI libraries to test on.
//!
//! Debian's Open MPI and MPICH by the names of their compilers, and any others that `DWELL_MPICC` lists,
//! separated by colons: their launcher is `mpiexec` in the same directory. Without any the tests say so
//! and pass, unless `DWELL_REQUIRE_MPI=1`.
//!
//! Intel MPI may be among those listed; `I_MPI_ROOT` must then be set, as its own scripts set it. Tests run it
//! over shared memory unless they ask for another fabric.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use crate::chosen::chosen;
use crate::lab::{Lab, Run};
use crate::needs;

/// An MPI library.
#[derive(Clone, Debug)]
pub(crate) struct Mpi {
    compiler: PathBuf,
    launcher: PathBuf,
    options: &'static [&'static str],
    /// Options of the compiler.
    flags: &'static [&'static str],
    /// Variables for the launcher, which passes them to the processes.
    variables: &'static [(&'static str, &'static str)],
}

/// Variables for Intel MPI over shared memory, where no operation needs its target.
const OVER_SHARED_MEMORY: &[(&str, &str)] = &[("I_MPI_FABRICS", "shm")];

impl Mpi {
    /// Returns every library that is installed.
    pub(crate) fn all() -> Vec<Self> {
        let known = [("mpicc.openmpi", "mpirun.openmpi"), ("mpicc.mpich", "mpirun.mpich")];
        let known = known.map(|(compiler, launcher)| Self::new(compiler.into(), launcher.into()));
        let listed = env::var_os("DWELL_MPICC").unwrap_or_default();
        let listed = env::split_paths(&listed).filter(|path| path.is_file()).map(|compiler| {
            let launcher = compiler.with_file_name("mpiexec");
            Self::new(compiler, launcher)
        });
        let there = |mpi: &Self| Command::new(&mpi.compiler).arg("-v").output().is_ok();
        let found: Vec<Self> = known.into_iter().filter(there).chain(listed).collect();
        if found.is_empty() {
            needs::missing("MPI", "there is no mpicc");
        }
        found
    }

    /// Returns the libraries of the system, Open MPI before MPICH.
    pub(crate) fn of_the_system() -> Vec<Self> {
        Self::all().into_iter().filter(|mpi| mpi.compiler.components().count() == 1).collect()
    }

    /// Returns the library that the running test uses, or every one if [`chosen`] says so.
    pub(crate) fn chosen() -> Vec<Self> {
        chosen(Self::all())
    }

    /// Returns the library of the system that the running test uses, or every one if [`chosen`] says so. The ways in
    /// which processes die and things go wrong do not depend on the ABI, so these libraries stand for all.
    pub(crate) fn chosen_of_the_system() -> Vec<Self> {
        chosen(Self::of_the_system())
    }

    fn new(compiler: PathBuf, launcher: PathBuf) -> Self {
        // One-sided operations of Debian's Open MPI 4.1.4 crash by themselves without this.
        let old = compiler.as_os_str() == "mpicc.openmpi";
        let options: &[&str] = if old { &["-mca", "osc", "^rdma"] } else { &[] };
        let intel = compiler.with_file_name("impi_info").is_file();
        let variables = if intel { OVER_SHARED_MEMORY } else { &[] };
        Self { compiler, launcher, options, flags: &[], variables }
    }

    /// Returns Intel MPI, if it is listed. With `DWELL_REQUIRE_INTEL_MPI=1` it must be.
    pub(crate) fn intel() -> Option<Self> {
        let found = Self::all().into_iter().find(|mpi| mpi.variables == OVER_SHARED_MEMORY);
        if found.is_none() {
            needs::missing("INTEL_MPI", "DWELL_MPICC lists no Intel MPI");
        }
        found
    }

    /// Returns this library with further options for its compiler.
    pub(crate) fn compiled_with(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    /// Returns this library with other variables for its launcher.
    pub(crate) fn started_with(self, variables: &'static [(&'static str, &'static str)]) -> Self {
        Self { variables, ..self }
    }

    /// Returns this library with other options for its launcher.
    pub(crate) fn with(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    /// Returns its compiler for C.
    pub(crate) fn compiler(&self) -> &Path {
        &self.compiler
    }

    /// Returns its compiler for Fortran, if it has one.
    pub(crate) fn fortran(&self) -> Option<PathBuf> {
        let name = self.compiler.file_name()?.to_str()?;
        let path = self.compiler.with_file_name(name.replace("mpicc", "mpifort"));
        Command::new(&path).arg("-v").output().is_ok().then_some(path)
    }

    /// Returns a name for files that belong to this library.
    pub(crate) fn name(&self) -> String {
        self.compiler.to_string_lossy().replace('/', "_") + &self.flags.concat()
    }

    /// Compiles a program of the repository, given by its path there.
    pub(crate) fn compile(&self, lab: &Lab, source: &str, options: &[&str]) -> PathBuf {
        self.try_compile(lab, source, options).unwrap_or_else(|| panic!("{self:?}: {source}"))
    }

    /// Compiles a program like [`Mpi::compile`], but only once for all tests, and copies it.
    pub(crate) fn compile_once(&self, lab: &Lab, source: &str) -> PathBuf {
        static COMPILED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(self.program(source));
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if !compiled.contains(&kept) {
            let program = self.compile(lab, source, &[]);
            copy(&program, &kept);
            compiled.insert(kept);
            return program;
        }
        let program = lab.path(&self.program(source));
        copy(&kept, &program);
        program
    }

    /// Returns the file name of a compiled program.
    fn program(&self, source: &str) -> String {
        let stem = Path::new(source).file_stem().unwrap().to_string_lossy();
        format!("{stem}{}", self.name())
    }

    /// Compiles a program like [`Mpi::compile`]. Returns `None` if the library is too old for it.
    pub(crate) fn try_compile(&self, lab: &Lab, source: &str, options: &[&str]) -> Option<PathBuf> {
        let program = lab.path(&self.program(source));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
        let mut command = Command::new(&self.compiler);
        if source.extension() == Some(OsStr::new("cpp")) {
            // Through the compiler for C, so that the old bindings for C++ are not needed.
            command.env("OMPI_CC", "g++").env("MPICH_CC", "g++");
            command.args(["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-pthread"]);
        }
        command.args(self.flags).args(["-O1", "-g", "-w"]).arg(&source).arg("-o").arg(&program);
        let output = command.args(options).arg("-lm").output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || errors.contains("#error"), "{errors}");
        output.status.success().then_some(program)
    }

    /// Runs a command on this many processes.
    pub(crate) fn run(&self, lab: &Lab, ranks: u32, command: &[&OsStr]) -> Run {
        lab.launch(self.launcher(ranks, command), |_| false)
    }

    fn launcher(&self, ranks: u32, command: &[&OsStr]) -> Command {
        let mut launcher = Command::new(&self.launcher);
        launcher.args(["-n", &ranks.to_string()]).args(self.options).args(command);
        launcher.envs(self.variables.iter().copied());
        launcher
    }

    /// Returns its launcher for one process on each of these hosts. `agent` is a script that runs a command there like
    /// a remote shell; `here` is the address of this machine in their network.
    pub(crate) fn across(&self, hosts: &[String], agent: &Path, here: &str) -> Command {
        let mut launcher = Command::new(&self.launcher);
        launcher.args(["-n", &hosts.len().to_string()]).args(self.options);
        if self.compiler.as_os_str() == "mpicc.mpich" {
            launcher.args(["-launcher", "rsh", "-launcher-exec"]).arg(agent);
            launcher.args(["-localhost", here, "-ppn", "1", "-hosts", &hosts.join(",")]);
        } else {
            let network = format!("{here}/24");
            launcher.args(["-mca", "plm_rsh_agent"]).arg(agent);
            launcher.args(["-mca", "pml", "ob1", "-mca", "btl", "self,tcp"]);
            // Each thinks that it has its host, and so its core, for itself.
            launcher.args(["-mca", "mpi_yield_when_idle", "1"]);
            launcher.args(["-mca", "btl_tcp_if_include", &network]);
            launcher.args(["-mca", "oob_tcp_if_include", &network]);
            launcher.args(["-host", &hosts.join(",")]);
        }
        launcher
    }

    /// Returns the library with this compiler, if it is installed.
    pub(crate) fn named(compiler: &str) -> Option<Self> {
        Self::all().into_iter().find(|mpi| mpi.compiler.as_os_str() == compiler)
    }

    /// Compiles a library of the repository that intercepts MPI.
    pub(crate) fn compile_tool(&self, lab: &Lab, source: &str) -> PathBuf {
        let program = self.compile(lab, source, &["-shared", "-fPIC"]);
        let library = program.with_extension("so");
        fs::rename(program, &library).unwrap();
        library
    }

    /// Records a program with another tool between Dwell and MPI.
    pub(crate) fn measured_over(
        &self,
        lab: &Lab,
        tool: &Path,
        ranks: u32,
        command: &[&OsStr],
    ) -> Run {
        let mut preload = OsString::from("LD_PRELOAD=");
        preload.push(tool);
        let before = [OsStr::new("env"), &preload];
        lab.launch(self.measuring(lab, ranks, &before, command), |_| false)
    }

    /// Records a program with variables set for its processes.
    pub(crate) fn measured_with(
        &self,
        lab: &Lab,
        ranks: u32,
        variables: &[&OsStr],
        command: &[&OsStr],
    ) -> Run {
        let before = [&[OsStr::new("env")], variables].concat();
        lab.launch(self.measuring(lab, ranks, &before, command), |_| false)
    }

    /// Records a program into a directory that is created anew.
    pub(crate) fn measured(&self, lab: &Lab, ranks: u32, command: &[&OsStr]) -> Run {
        lab.launch(self.measuring(lab, ranks, &[], command), |_| false)
    }

    /// Records a program until it prints something, and then sends its launcher a signal.
    pub(crate) fn measured_until(
        &self,
        lab: &Lab,
        ranks: u32,
        command: &[&OsStr],
        signal: &str,
        word: &str,
    ) -> Run {
        let launcher = self.measuring(lab, ranks, &[], command);
        lab.launch_until(launcher, signal, |printed| printed.contains(word))
    }

    /// Records a program until `enough` returns `true` for what it has printed, and then kills it.
    pub(crate) fn measured_while(
        &self,
        lab: &Lab,
        ranks: u32,
        command: &[&OsStr],
        enough: impl Fn(&str) -> bool,
    ) -> Run {
        lab.launch(self.measuring(lab, ranks, &[], command), enough)
    }

    fn measuring(&self, lab: &Lab, ranks: u32, before: &[&OsStr], command: &[&OsStr]) -> Command {
        let experiment = lab.experiment();
        let _ = fs::remove_dir_all(&experiment);
        let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
        let dwell = [&dwell[..], &[experiment.as_os_str()]].concat();
        self.launcher(ranks, &[before, &dwell, command].concat())
    }
}

/// Copies a program, in another process. A program that some process has open for writing cannot be started, and a
/// child of this process that starts meanwhile would have it open.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

/// Checks that a trace can be analysed without a warning.
pub(crate) fn analysed(lab: &Lab, experiment: &Path) {
    let output = lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), experiment.as_os_str()]);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("damaged"), "{said}");
    crate::sums::hold(experiment);
}

/// Returns the lines of a text, sorted, because lines of different processes come in any order.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}
