//! Compiling programs for a runtime, recording them on it, and analysing the result.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::programs::Run;
use super::sources;
use crate::process;

/// Seconds after which a program counts as hung.
const LIMIT: &str = "30";

/// Launcher for messages over TCP. UCX has to be excluded, because it would send them over shared memory.
const TCP: &[&str] =
    &["mpirun.openmpi", "-mca", "pml", "ob1", "-mca", "btl", "self,tcp", "-mca", "osc", "pt2pt"];

/// A runtime together with a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    /// OpenSHMEM of Open MPI over TCP, where targets must enter the library.
    ShmemTcp,
    /// OpenSHMEM of Open MPI over shared memory, where accesses to static data need the target and those to the heap do
    /// not.
    ShmemSm,
    /// Open MPI, one-sided communication over messages.
    Pt2pt,
    /// Open MPI over TCP, one-sided communication over messages.
    Tcp,
    /// Open MPI, windows that it allocates over shared memory, and others over messages.
    Sm,
    /// Open MPI, one-sided communication over UCX.
    Ucx,
    /// MPICH with its default transport.
    Mpich,
    /// Coarrays over Open MPI, one-sided communication over messages.
    Coarrays,
    /// OpenSHMEM over shared memory and MPI over messages, in one program.
    Both,
}

impl Runtime {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ShmemTcp => "shmem-tcp",
            Self::ShmemSm => "shmem-sm",
            Self::Pt2pt => "openmpi-pt2pt",
            Self::Tcp => "openmpi-tcp",
            Self::Sm => "openmpi-sm",
            Self::Ucx => "openmpi-ucx",
            Self::Mpich => "mpich",
            Self::Coarrays => "coarrays",
            Self::Both => "shmem-sm+openmpi-pt2pt",
        }
    }

    fn compiler(self) -> &'static str {
        match self {
            Self::ShmemTcp | Self::ShmemSm | Self::Both => "oshcc",
            Self::Pt2pt | Self::Tcp | Self::Sm | Self::Ucx => "mpicc.openmpi",
            Self::Mpich => "mpicc.mpich",
            Self::Coarrays => "gfortran",
        }
    }

    /// Returns the launcher and its options, without the number of processes.
    fn launcher(self) -> &'static [&'static str] {
        match self {
            Self::ShmemTcp => &["oshrun", "-mca", "osc", "^rdma", "-x", "UCX_TLS=tcp,self"],
            Self::ShmemSm => &["oshrun", "-mca", "osc", "^rdma", "-x", "UCX_TLS=sm,self"],
            // Without a memory hook, which crashes at the end.
            Self::Both => &["oshrun", "-mca", "osc", "pt2pt", "-mca", "memory", "^patcher"],
            Self::Pt2pt | Self::Coarrays => &["mpirun.openmpi", "-mca", "osc", "pt2pt"],
            Self::Tcp => TCP,
            Self::Sm => &["mpirun.openmpi", "-mca", "osc", "sm,pt2pt"],
            Self::Ucx => &["mpirun.openmpi", "-mca", "osc", "ucx"],
            Self::Mpich => &["mpirun.mpich"],
        }
    }
}

/// Programs and directories that recording needs.
pub(super) struct Tools {
    dwell: PathBuf,
    library: PathBuf,
    /// Directory of programs and archives.
    pub(super) folder: PathBuf,
    /// Bound on the overhead with which programs are recorded.
    overhead: Option<String>,
}

impl Tools {
    pub(super) fn new(built: &Path, folder: &Path, overhead: Option<String>) -> Result<Tools> {
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).with_context(|| format!("cannot create {}", bin.display()))?;
        let folder = fs::canonicalize(folder)?;
        let (dwell, library) = (built.join("dwell"), built.join("libdwell.so"));
        Ok(Tools { dwell, library, folder, overhead })
    }

    /// Compiles the program of a run, unless it is newer than its sources, and returns its path.
    fn compile(&self, run: &Run) -> Result<PathBuf> {
        let program = self.folder.join(format!("bin/{}.{}", run.program, run.runtime.compiler()));
        if is_newer(&program, &sources())? {
            return Ok(program);
        }
        let source = |name: &str| sources().join(name);
        let mut command = Command::new(run.runtime.compiler());
        command.args(["-g", "-O1", "-o"]).arg(&program);
        if run.runtime == Runtime::Coarrays {
            let object = self.folder.join("bin/coarray_truth.o");
            let mut glue = Command::new("gcc");
            glue.args(["-g", "-O1", "-c", "-o"]).arg(&object).arg(source("coarray_truth.c"));
            process::output(&mut glue)?;
            command.arg("-fcoarray=lib").arg(source(&format!("{}.F90", run.program)));
            command.arg(object).arg("-lcaf_openmpi");
        } else {
            command.arg(source(&format!("{}.c", run.program))).arg("-lpthread");
        }
        process::output(&mut command)?;
        Ok(program)
    }

    /// Records the program into `experiment` in a folder. The program writes its own measurements to `truth.<process>`
    /// there.
    pub(super) fn record(&self, run: &Run, folder: &Path) -> Result<()> {
        let program = self.compile(run)?;
        let mut command = Command::new("timeout");
        command.args(["-k", "3", LIMIT]);
        if run.one_core {
            command.args(["taskset", "-c", "0"]);
        }
        command.args(run.runtime.launcher()).args(["-np", &run.processes.to_string()]);
        if run.runtime != Runtime::Mpich {
            command.args(["--bind-to", "none"]);
        }
        if run.runtime == Runtime::Both {
            command.env("UCX_TLS", "sm,self");
        }
        command.arg(&self.dwell).args(["run", "-o"]).arg(folder.join("experiment"));
        if let Some(share) = &self.overhead {
            command.args(["--overhead", share]);
        }
        command.arg(program).args(run.modes);
        command.env("DWELL_LIBRARY", &self.library);
        let id = format!("{}-{}", std::process::id(), run.folder());
        command.env("TRUTH_ID", &id).env("TRUTH_OUT", folder.join("truth"));
        process::in_a_container(&mut command);
        command.stdin(std::process::Stdio::null());
        command.stdout(File::create(folder.join("stdout"))?);
        command.stderr(File::create(folder.join("stderr"))?);
        let shown = process::display(&command);
        let status = command.status().with_context(|| format!("cannot run `{shown}`"))?;
        for page in ["notes", "visits"] {
            let _ = fs::remove_file(format!("/dev/shm/truth-{id}-{page}"));
        }
        let errors = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
        ensure!(status.success(), "`{shown}` failed: {status}\n{errors}");
        Ok(())
    }

    /// Analyses the recording in a folder.
    pub(super) fn analyze(&self, folder: &Path) -> Result<()> {
        let mut command = Command::new(&self.dwell);
        command.arg("analyze").arg(folder.join("experiment"));
        let text = process::output(&mut command)?;
        fs::write(folder.join("analyze.txt"), text)?;
        Ok(())
    }
}

/// Returns `true` if a program is newer than all files of a folder.
fn is_newer(program: &Path, folder: &Path) -> Result<bool> {
    let Ok(built) = program.metadata().and_then(|it| it.modified()) else { return Ok(false) };
    for entry in fs::read_dir(folder)? {
        if entry?.metadata()?.modified()? >= built {
            return Ok(false);
        }
    }
    Ok(true)
}
