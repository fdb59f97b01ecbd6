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

/// Compiles and links a program with the settings that GASNet was installed with.
const MAKEFILE: &str = "\
include $(GASNET)/include/$(CONDUIT)-conduit/$(CONDUIT)-seq.mak
all:
\t$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -O1 -g -w -fPIE -fno-optimize-sibling-calls $(FLAGS) -c -o $(PROGRAM).o $(SOURCE)
\t$(GASNET_LD) $(GASNET_LDFLAGS) -pie -o $(PROGRAM) $(PROGRAM).o $(GASNET_LIBS) -lm
";

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
    /// ARMCI over Open MPI, windows over shared memory.
    ArmciSm,
    /// ARMCI over Open MPI, one-sided communication over messages.
    ArmciPt2pt,
    /// GASNet over shared memory.
    GasnetSmp,
    /// GASNet over UDP.
    GasnetUdp,
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
            Self::ArmciSm => "armci-sm",
            Self::ArmciPt2pt => "armci-pt2pt",
            Self::GasnetSmp => "gasnet-smp",
            Self::GasnetUdp => "gasnet-udp",
        }
    }

    fn compiler(self) -> &'static str {
        match self {
            Self::ShmemTcp | Self::ShmemSm | Self::Both => "oshcc",
            Self::Pt2pt | Self::Tcp | Self::Sm | Self::Ucx | Self::ArmciSm | Self::ArmciPt2pt => {
                "mpicc.openmpi"
            }
            Self::Mpich => "mpicc.mpich",
            Self::Coarrays => "gfortran",
            // Makefiles of conduits call compilers; these only name the programs.
            Self::GasnetSmp => "smp",
            Self::GasnetUdp => "udp",
        }
    }

    /// Returns the launcher and its options, without the number of processes.
    fn launcher(self) -> &'static [&'static str] {
        match self {
            Self::ShmemTcp => &["oshrun", "-mca", "osc", "^rdma", "-x", "UCX_TLS=tcp,self"],
            Self::ShmemSm => &["oshrun", "-mca", "osc", "^rdma", "-x", "UCX_TLS=sm,self"],
            // Without a memory hook, which crashes at the end.
            Self::Both => &["oshrun", "-mca", "osc", "pt2pt", "-mca", "memory", "^patcher"],
            Self::Pt2pt | Self::Coarrays | Self::ArmciPt2pt => {
                &["mpirun.openmpi", "-mca", "osc", "pt2pt"]
            }
            Self::Tcp => TCP,
            Self::Sm | Self::ArmciSm => &["mpirun.openmpi", "-mca", "osc", "sm,pt2pt"],
            Self::Ucx => &["mpirun.openmpi", "-mca", "osc", "ucx"],
            Self::Mpich => &["mpirun.mpich"],
            // Programs start their processes themselves.
            Self::GasnetSmp | Self::GasnetUdp => &[],
        }
    }

    fn is_armci(self) -> bool {
        matches!(self, Self::ArmciSm | Self::ArmciPt2pt)
    }

    fn is_gasnet(self) -> bool {
        matches!(self, Self::GasnetSmp | Self::GasnetUdp)
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
        if run.runtime.is_gasnet() {
            return self.compile_with_gasnet(run, program);
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
        if run.runtime.is_armci() {
            command.arg("-fno-optimize-sibling-calls");
            command.args(self.flags("armci")?.split_whitespace());
            command.arg("-larmci-openmpi");
        }
        process::output(&mut command)?;
        Ok(program)
    }

    /// Returns flags for a compiler that Dwell prints for a runtime without a preloaded library.
    fn flags(&self, runtime: &str) -> Result<String> {
        let mut command = Command::new(&self.dwell);
        command.args(["build", "flags", runtime, "-o"]).arg(self.folder.join("bin").join(runtime));
        command.env("DWELL_LIBRARY", &self.library);
        Ok(process::output(&mut command)?.trim().to_owned())
    }

    /// Compiles a program with the settings of a conduit of GASNet.
    fn compile_with_gasnet(&self, run: &Run, program: PathBuf) -> Result<PathBuf> {
        let gasnet = self.folder.join("../gasnet");
        ensure!(gasnet.join("include").is_dir(), "`cargo xtask install` builds GASNet");
        let flags = self.flags("gasnet")?;
        let makefile = self.folder.join("bin/Makefile");
        fs::write(&makefile, MAKEFILE)?;
        let mut make = Command::new("make");
        make.arg("-sf").arg(&makefile).arg(format!("FLAGS={flags}"));
        make.arg(format!("CONDUIT={}", run.runtime.compiler()));
        make.arg(format!("GASNET={}", gasnet.display()));
        make.arg(format!("PROGRAM={}", program.display()));
        make.arg(format!("SOURCE={}", sources().join(format!("{}.c", run.program)).display()));
        process::output(&mut make)?;
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
        let processes = run.processes.to_string();
        command.args(run.runtime.launcher());
        if run.runtime.is_gasnet() {
            let apart = if run.runtime == Runtime::GasnetUdp { "1" } else { "0" };
            command.env("GASNET_PSHM_NODES", &processes).env("GASNET_SPAWNFN", "L");
            command.env("GASNET_SUPERNODE_MAXSIZE", apart);
        } else {
            command.args(["-np", &processes]);
            if run.runtime != Runtime::Mpich {
                command.args(["--bind-to", "none"]);
            }
        }
        if run.runtime == Runtime::Both {
            command.env("UCX_TLS", "sm,self");
        }
        command.arg(&self.dwell).args(["run", "-o"]).arg(folder.join("experiment"));
        if let Some(share) = &self.overhead {
            command.args(["--overhead", share]);
        }
        command.arg(program);
        if run.runtime == Runtime::GasnetUdp {
            command.arg(&processes);
        }
        command.args(run.modes);
        command.env("DWELL_LIBRARY", &self.library);
        let id = format!("{}-{}", std::process::id(), run.folder());
        command.env("TRUTH_ID", &id).env("TRUTH_OUT", folder.join("truth"));
        process::in_a_container(&mut command);
        command.stdin(std::process::Stdio::null());
        command.stdout(File::create(folder.join("stdout"))?);
        command.stderr(File::create(folder.join("stderr"))?);
        let shown = process::display(&command);
        let status = command.status().with_context(|| format!("cannot run `{shown}`"))?;
        for page in ["notes", "visits", "releases"] {
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
