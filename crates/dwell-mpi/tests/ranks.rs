//! Real launchers and real libraries: the program `examples/ranks.rs` under each of them.
//!
//! Debian's Open MPI and MPICH by the names of their launchers, and those whose compilers `DWELL_MPICC` lists: their
//! launcher is `mpiexec` in the same directory.

#[allow(dead_code)] // Not every test program uses all of it.
#[path = "../../../tests/needs.rs"]
mod needs;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, thread};

/// An MPI with its launcher.
#[derive(Clone, Debug)]
struct Mpi {
    launcher: PathBuf,
    /// Start of the version strings of the libraries that a process may load under this launcher.
    version: &'static str,
}

const OPEN_MPI: &str = "Open MPI v";
const MPICH: &str = "MPICH Version";
const INTEL: &str = "Intel(R) MPI";

/// Returns every MPI that is installed.
fn all() -> Vec<Mpi> {
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
fn of_the_system(version: &str) -> Option<Mpi> {
    all().into_iter().find(|mpi| mpi.version == version && mpi.launcher.components().count() == 1)
}

/// End of a launch.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    /// All that the launcher and its processes printed.
    text: String,
    time: Duration,
}

/// Time after which a launch is ended. Deadlines in tests are far shorter.
const ENDLESS: Duration = Duration::from_secs(120);

impl Mpi {
    fn run(&self, ranks: usize, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        let mut command = Command::new(&self.launcher);
        command.args(["-np", &ranks.to_string()]).arg(program()).args(arguments);
        self.end(&mut command, variables)
    }

    /// Runs two processes of a shell, with the path of the program as `$0`.
    fn through_shell(&self, script: &str, variables: &[(&str, &str)]) -> Run {
        let mut command = Command::new(&self.launcher);
        command.args(["-np", "2", "sh", "-c", script]).arg(program());
        self.end(&mut command, variables)
    }

    fn end(&self, command: &mut Command, variables: &[(&str, &str)]) -> Run {
        command.env_remove(dwell_mpi::LIBRARY).env("RUST_BACKTRACE", "0");
        // Open MPI refuses to run as root, and more processes than cores, without these.
        command
            .envs(["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|it| (it, "1")));
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
        command.env("I_MPI_FABRICS", "shm");
        if self.version == INTEL {
            command.env("I_MPI_ROOT", self.launcher.ancestors().nth(2).unwrap());
        }
        command.envs(variables.iter().copied());
        let began = Instant::now();
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let readers = [read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap())];
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if began.elapsed() > ENDLESS => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    panic!("{command:?} did not end");
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        let time = began.elapsed();
        let text = readers.map(|reader| reader.join().unwrap()).concat();
        Run { code: status.code(), text, time }
    }
}

/// Builds `examples/ranks.rs` once and returns its path. Cargo builds examples by itself only for runs of all tests.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let tests = env::current_exe().unwrap();
        let folder = tests.ancestors().nth(2).unwrap(); // target/debug/deps/ranks-0123
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--example", "ranks"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        cargo.arg("--target-dir").arg(folder.parent().unwrap());
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success());
        folder.join("examples/ranks")
    })
}

fn read(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Run {
    #[track_caller]
    fn succeeded(&self, ranks: usize, version: &str) {
        let said = format!("{ranks} ranks agree over ");
        assert!(self.code == Some(0) && self.text.contains(&said), "{self:?}");
        assert!(self.text.contains(version), "{self:?}");
    }

    #[track_caller]
    fn failed(&self, message: &str) {
        assert!(self.code != Some(0) && self.text.contains(message), "{message}: {self:?}");
    }
}

#[test]
fn all_pairs_exchange_bytes_under_every_launcher() {
    for mpi in all() {
        for ranks in [1, 2, 3, 8] {
            mpi.run(ranks, &["exchange", "rounds=10"], &[]).succeeded(ranks, mpi.version);
        }
    }
}

/// The limit of MPI is 2 GiB a message. Here it is far lower, so that every message is cut.
#[test]
fn long_messages_are_cut() {
    for mpi in all() {
        for piece in ["piece=61", "piece=4093"] {
            mpi.run(3, &["exchange", piece, "rounds=4"], &[]).succeeded(3, mpi.version);
        }
    }
}

/// Where a library has the ABI of the standard beside its own, that serves too. Intel's follows a draft.
#[test]
fn libraries_with_the_abi_of_the_standard() {
    let beside =
        |mpi: &Mpi| mpi.launcher.parent()?.parent().map(|root| root.join("lib/libmpi_abi.so.1"));
    for mpi in all() {
        let Some(library) = beside(&mpi).filter(|path| path.is_file()) else { continue };
        let library = library.to_str().unwrap();
        let run = mpi.run(3, &["exchange", "rounds=3"], &[(dwell_mpi::LIBRARY, library)]);
        run.succeeded(3, mpi.version);
        assert!(run.text.contains(library), "{run:?}");
    }
}

/// Launchers of MPICH and its derivatives start processes of each other's libraries.
#[test]
fn derivatives_of_mpich_share_their_launchers() {
    if of_the_system(MPICH).is_none() {
        return;
    }
    for mpi in all().iter().filter(|mpi| mpi.version == INTEL) {
        let library = [(dwell_mpi::LIBRARY, "libmpich.so.12")];
        mpi.run(2, &["exchange", "rounds=3"], &library).succeeded(2, MPICH);
    }
}

const DEADLINE: &str = "timeout=4";
/// A launch with the deadline of 4 s ends within this time, on a busy machine too.
const SOON: Duration = Duration::from_secs(40);

#[test]
fn a_rank_that_fails_ends_all_with_a_message() {
    let ways = [
        ("message", "rank 2 of 3 on"),
        ("message", "traces/3.evt: location 3: the file is damaged"),
        ("panic", "this process panics"),
        ("error", "this process cannot go on"),
        ("killed", ""),
    ];
    for mpi in all() {
        for (way, message) in ways {
            let run = mpi.run(3, &["fail", way, "timeout=100"], &[]);
            run.failed(message);
            assert!(run.time < SOON, "{mpi:?} {way}: {run:?}");
        }
    }
}

#[test]
fn ranks_that_do_not_come_are_waited_for_until_the_deadline() {
    for mpi in all() {
        let run = mpi.run(3, &["fail", "stuck", DEADLINE], &[]);
        run.failed("not all processes came to `questions` within 4 s");
        assert!(run.time < SOON, "{mpi:?}: {run:?}");
        let run = mpi.run(3, &["fail", "before", DEADLINE], &[]);
        run.failed("not all processes came to `MPI_Init` within 4 s");
        assert!(run.time < SOON, "{mpi:?}: {run:?}");
    }
}

#[test]
fn ranks_at_different_steps_notice_it() {
    for mpi in all() {
        let run = mpi.run(3, &["fail", "step", "timeout=100"], &[]);
        run.failed("this process is at `questions`, and rank 2 is not");
    }
}

#[test]
fn launcher_and_library_of_different_mpis() {
    let (Some(open_mpi), Some(mpich)) = (of_the_system(OPEN_MPI), of_the_system(MPICH)) else {
        return;
    };
    let run = open_mpi.run(2, &["exchange"], &[(dwell_mpi::LIBRARY, "libmpich.so.12")]);
    run.failed("belongs to MPICH or a derivative of it, but the launcher of Open MPI");
    assert_eq!(run.text.matches("belongs to").count(), 1, "one process says it: {run:?}");
    let run = mpich.run(2, &["exchange"], &[(dwell_mpi::LIBRARY, "libmpi.so.40")]);
    run.failed("belongs to Open MPI 4, but the launcher of MPICH or Intel MPI");
    run.failed("set DWELL_MPI_LIBRARY to the libmpi.so of the launcher's");
}

/// Where the variables do not tell the launcher's maker, MPI tells how many processes it knows.
#[test]
fn processes_that_are_alone_in_their_worlds_notice_it() {
    let (Some(_), Some(mpich)) = (of_the_system(OPEN_MPI), of_the_system(MPICH)) else { return };
    // A step of Slurm with two tasks, as far as variables show it, whose PMI this library does not know.
    let script = "unset PMI_RANK PMI_SIZE PMI_FD; export SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=$MPI_LOCALRANKID; \
                  exec \"$0\" exchange timeout=60";
    let run = mpich.through_shell(script, &[(dwell_mpi::LIBRARY, "libmpi.so.40")]);
    run.failed("the launcher started 2 processes, but");
    run.failed("knows 1: the two do not belong together");
}

#[test]
fn files_that_are_not_mpi_are_refused() {
    let Some(mpi) = of_the_system(MPICH).or_else(|| of_the_system(OPEN_MPI)) else { return };
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let named = |library: &str| mpi.run(2, &["exchange"], &[(dwell_mpi::LIBRARY, library)]);
    named(text.to_str().unwrap()).failed("it is not a 64-bit ELF file");
    named("libc.so.6").failed("it is not an MPI library with MPI 3: it has no MPI_Abort");
    named("/nonexistent/libmpi.so").failed("/nonexistent/libmpi.so: No such file");
}
