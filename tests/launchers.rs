//! Real launchers of real MPIs, for tests that start several processes.
//!
//! Debian's Open MPI and MPICH by the names of their launchers, and those whose compilers `DWELL_MPICC` lists: their
//! launcher is `mpiexec` in the same directory.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use crate::needs;

/// An MPI with its launcher.
#[derive(Clone, Debug)]
pub(crate) struct Mpi {
    pub(crate) launcher: PathBuf,
    /// Start of the version strings of the libraries that a process may load under this launcher.
    pub(crate) version: &'static str,
}

pub(crate) const OPEN_MPI: &str = "Open MPI v";
pub(crate) const MPICH: &str = "MPICH Version";
pub(crate) const INTEL: &str = "Intel(R) MPI";

/// Returns every MPI that is installed.
pub(crate) fn all() -> Vec<Mpi> {
    let system = [("mpirun.openmpi", OPEN_MPI), ("mpirun.mpich", MPICH)];
    let system = system.map(|(launcher, version)| Mpi { launcher: launcher.into(), version });
    let there = |mpi: &Mpi| Command::new(&mpi.launcher).arg("--version").output().is_ok();
    let compilers = env::var_os("DWELL_MPICC").unwrap_or_default();
    let listed = env::split_paths(&compilers).filter(|path| path.is_file()).map(|compiler| {
        let beside = |name: &str| compiler.with_file_name(name);
        let version = match (beside("impi_info").is_file(), beside("ompi_info").is_file()) {
            (true, _) => INTEL,
            (_, true) => OPEN_MPI,
            _ => MPICH,
        };
        Mpi { launcher: beside("mpiexec"), version }
    });
    let found: Vec<Mpi> = system.into_iter().filter(there).chain(listed).collect();
    if found.is_empty() {
        needs::missing("MPI", "there is no launcher");
    }
    if !found.iter().any(|mpi| mpi.version == INTEL) {
        needs::missing("INTEL_MPI", "DWELL_MPICC lists no Intel MPI");
    }
    found
}

/// Returns the MPI of the system whose versions begin like this.
pub(crate) fn of_the_system(version: &str) -> Option<Mpi> {
    all().into_iter().find(|mpi| mpi.version == version && mpi.launcher.components().count() == 1)
}

/// End of a launch.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) time: Duration,
    /// Set if the launcher was killed because it had not ended in time.
    pub(crate) was_endless: bool,
}

impl Run {
    /// Returns all that the launcher and its processes printed.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Time after which a launch is ended. Deadlines in tests are far shorter.
pub(crate) const ENDLESS: Duration = Duration::from_secs(120);

impl Mpi {
    /// Returns a command that starts so many processes; the program and its arguments have to be added.
    pub(crate) fn launch(&self, processes: usize) -> Command {
        let mut command = Command::new(&self.launcher);
        command.env_remove("DWELL_MPI_LIBRARY").env("RUST_BACKTRACE", "0");
        // Open MPI refuses to run as root, and more processes than cores, without these.
        for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
            command.env(name, "1").env(format!("{name}_CONFIRM"), "1");
        }
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
        command.env("I_MPI_FABRICS", "shm");
        if self.version == INTEL {
            command.env("I_MPI_ROOT", self.launcher.ancestors().nth(2).unwrap());
        }
        command.args(["-np", &processes.to_string()]);
        command
    }
}

/// Runs a launcher until it ends.
///
/// # Panics
/// If it does not end.
pub(crate) fn end(command: &mut Command) -> Run {
    // MPICH's launcher now and then dies of a signal before it has started a process. A process that dies of one is
    // reported by its launcher, which then has output.
    let started =
        |run: &Run| run.code.is_some() || !run.stdout.is_empty() || !run.stderr.is_empty();
    let mut attempts = 0;
    loop {
        let run = end_within(command, ENDLESS, || {});
        assert!(!run.was_endless, "{command:?} did not end: {run:?}");
        attempts += 1;
        if started(&run) || attempts == 3 {
            return run;
        }
    }
}

/// Runs a launcher until it ends, but kills it and its process group after this time. Calls `meanwhile` once it runs.
pub(crate) fn end_within(command: &mut Command, limit: Duration, meanwhile: impl FnOnce()) -> Run {
    let began = Instant::now();
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn().unwrap();
    let readers = [read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap())];
    meanwhile();
    let mut was_endless = false;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if began.elapsed() > limit => {
                was_endless = true;
                kill("KILL", OsStr::new(&format!("-{}", child.id())));
                break child.wait().unwrap();
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    let time = began.elapsed();
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap());
    Run { code: status.code(), stdout, stderr, time, was_endless }
}

/// Sends a signal to a process, or to a process group if the number is negative.
pub(crate) fn kill(signal: &str, process: &OsStr) {
    let _ = Command::new("kill").arg(format!("-{signal}")).arg("--").arg(process).status();
}

fn read(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
