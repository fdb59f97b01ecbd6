//! `dwell analyze` under real launchers, which start several copies of it: the results are those of one process, and
//! no copy outlives a failure of another by much.

#[allow(dead_code)] // Not every test program uses all of it.
#[path = "../../../tests/launchers.rs"]
mod launchers;
#[allow(dead_code)]
#[path = "../../../tests/needs.rs"]
mod needs;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use launchers::{MPICH, Mpi, OPEN_MPI, Run, all, of_the_system};
use support::{dwell, path, text};

const DWELL: &str = env!("CARGO_BIN_EXE_dwell");

/// Everything that an analysis leaves: its report, its findings and what it printed.
#[derive(PartialEq, Eq)]
struct Results {
    report: Vec<u8>,
    findings: Vec<u8>,
    printed: String,
}

impl Results {
    /// Takes what an analysis left in the directory of its archive.
    fn take(archive: &Path, printed: String) -> Self {
        let take = |name: &str| {
            let file = archive.join(name);
            let bytes = fs::read(&file).unwrap_or_default();
            let _ = fs::remove_file(file);
            bytes
        };
        Self { report: take("trace.cubex"), findings: take("findings.json"), printed }
    }

    /// Analyses an archive with one process, which no launcher starts.
    fn alone(archive: &Path) -> Self {
        let output = dwell(&["analyze", path(archive)]);
        let results = Self::take(archive, text(&output.stdout));
        assert!(results.printed.contains("next: dwell view"), "{}", text(&output.stderr));
        assert!(!results.report.is_empty() && !results.findings.is_empty());
        results
    }
}

impl Mpi {
    /// Returns a command that starts so many copies of `dwell analyze`, each of which has events to read.
    fn analysis(&self, processes: usize, archive: &Path) -> Command {
        let mut command = self.launch(processes);
        command.args([DWELL, "analyze", "--events-per-rank", "1", path(archive)]);
        command.env("COLUMNS", "100");
        command
    }

    fn analyze(&self, processes: usize, archive: &Path) -> Run {
        launchers::end(&mut self.analysis(processes, archive))
    }

    /// Compares what several processes find with what one does.
    fn finds(&self, processes: usize, archive: &Path, expected: &Results) {
        let run = self.analyze(processes, archive);
        let found = Results::take(archive, run.stdout.clone());
        let what = format!("{processes} processes of {self:?} on {}", archive.display());
        assert_eq!(run.code, Some(0), "{what}: {run:?}");
        // A process that analyses alone would find the same, but says so.
        assert_eq!(own(&run.stderr), [""; 0], "{what}");
        assert_eq!(found.printed, expected.printed, "{what}");
        assert!(found.findings == expected.findings, "{what}: findings.json differs");
        assert!(found.report == expected.report, "{what}: trace.cubex differs");
    }
}

/// Returns the messages of `dwell` itself. Launchers repeat its command line, and have messages of their own.
fn own(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("dwell: ")).collect()
}

/// Returns the launchers, and that of OpenSHMEM, which is Open MPI's by another name.
fn with_oshrun() -> Vec<Mpi> {
    let mut all = all();
    if needs::tools("SHMEM", &["oshrun"]) {
        all.push(Mpi { launcher: "oshrun".into(), version: OPEN_MPI });
    }
    all
}

/// Generates an archive of 24 processes with all operations.
fn random(folder: &Path) -> PathBuf {
    let archive = folder.join("random");
    assert!(dwell(&["synth", "random", "-o", path(&archive), "--ranks", "24"]).status.success());
    archive
}

/// Copies an archive that was recorded from a real program, because results are written beside it.
fn recorded(name: &str, folder: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/archives").join(name);
    let archive = folder.join(name);
    copy(&from, &archive);
    archive
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { fs::copy(from, to).map(drop).unwrap() }
    }
}

#[test]
fn several_processes_find_what_one_finds() {
    let folder = tempfile::tempdir().unwrap();
    let archive = random(folder.path());
    let expected = Results::alone(&archive);
    for mpi in with_oshrun() {
        for processes in [2, 5] {
            mpi.finds(processes, &archive, &expected);
        }
    }
}

/// More processes than the trace has: some have nothing to read.
#[test]
fn a_recorded_trace() {
    let folder = tempfile::tempdir().unwrap();
    let archive = recorded("openmpi-pt2pt-one-sided", folder.path());
    let expected = Results::alone(&archive);
    for mpi in all() {
        mpi.finds(3, &archive, &expected);
    }
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_that_every_number_of_processes_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/archives");
    let mut archives = vec![random(folder.path())];
    for entry in fs::read_dir(data).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        archives.push(recorded(entry.file_name().to_str().unwrap(), folder.path()));
    }
    for (index, archive) in archives.iter().enumerate() {
        let expected = Results::alone(archive);
        let counts: &[usize] = if index == 0 { &[1, 2, 3, 4, 8, 16] } else { &[2, 4] };
        for mpi in with_oshrun() {
            counts.iter().for_each(|processes| mpi.finds(*processes, archive, &expected));
        }
    }
}

/// Without enough events for two, the others take part with nothing.
#[test]
fn a_small_trace_with_the_default_number_of_events() {
    let folder = tempfile::tempdir().unwrap();
    let archive = random(folder.path());
    let expected = Results::alone(&archive);
    for mpi in all() {
        let mut command = mpi.launch(3);
        let run = launchers::end(command.args([DWELL, "analyze", path(&archive)]));
        assert_eq!((run.code, own(&run.stderr)), (Some(0), vec![]), "{mpi:?}: {run:?}");
        assert!(Results::take(&archive, run.stdout) == expected, "{mpi:?}");
    }
}

#[test]
fn an_error_of_a_launch_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    for mpi in with_oshrun() {
        let run = mpi.analyze(3, &folder.path().join("missing"));
        assert_eq!(run.code, Some(2), "{mpi:?}: {run:?}");
        let said = own(&run.stderr);
        assert!(matches!(said[..], [line] if line.contains("missing")), "{mpi:?}: {run:?}");
    }
}

/// Name of the rank of a process in a script, under any launcher.
const RANK: &str = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}";

/// Two processes have a working directory in which there is no such archive, as on nodes without a shared file system.
#[test]
fn processes_without_the_files_are_named_with_their_host() {
    let folder = tempfile::tempdir().unwrap();
    let archive = random(folder.path());
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    let script = format!("[ {RANK} = 0 ] || cd elsewhere; exec {DWELL} analyze random");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let lack = format!("random: 2 of 3 processes cannot open it, on {}: ", host.trim());
    for mpi in all() {
        let mut command = mpi.launch(3);
        command.args(["sh", "-c", &script]).current_dir(folder.path());
        let run = launchers::end(&mut command);
        assert_eq!(run.code, Some(2), "{mpi:?}: {run:?}");
        let said = own(&run.stderr);
        assert!(matches!(said[..], [line] if line.contains(&lack)), "{mpi:?}: {run:?}");
        assert!(run.stderr.contains("on a file system that their nodes share"), "{run:?}");
    }
    assert!(!archive.join("findings.json").exists());
}

/// A library that does not belong to the launcher is named before it aborts processes or leaves each alone.
#[test]
fn a_library_that_does_not_fit_the_launcher() {
    let (Some(open_mpi), Some(mpich)) = (of_the_system(OPEN_MPI), of_the_system(MPICH)) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let archive = random(folder.path());
    let cases = [
        (
            &open_mpi,
            "libmpich.so.12",
            "belongs to MPICH or a derivative of it, but the launcher of Open MPI",
        ),
        (&mpich, "libmpi.so.40", "belongs to Open MPI 4, but the launcher of MPICH or Intel MPI"),
        (&mpich, "libc.so.6", "it is not an MPI library with MPI 3"),
    ];
    for (mpi, library, message) in cases {
        let run = launchers::end(mpi.analysis(3, &archive).args(["--mpi", library]));
        assert_eq!(run.code, Some(2), "{mpi:?}: {run:?}");
        let said = own(&run.stderr);
        assert!(matches!(said[..], [line] if line.contains(message)), "{mpi:?}: {run:?}");
        let named = launchers::end(mpi.analysis(3, &archive).env("DWELL_MPI_LIBRARY", library));
        assert_eq!((named.code, own(&named.stderr)), (Some(2), said), "{mpi:?}: {named:?}");
    }
    assert!(!archive.join("findings.json").exists());
}
