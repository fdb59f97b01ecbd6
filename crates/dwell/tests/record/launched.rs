//! `dwell analyze` under real launchers, which start several copies of it: the results are those of one process, and
//! no copy outlives a failure of another by much.

mod links;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::chosen::chosen;
use crate::lab;
use crate::launchers::{self, MPICH, Mpi, OPEN_MPI, Run, all, of_the_system};
use crate::needs;
use crate::support::{dwell, path, text};

const DWELL: &str = env!("CARGO_BIN_EXE_dwell");

/// Runs a launcher like [`launchers::end`], in turn with those of other tests.
fn end(command: &mut Command) -> Run {
    let _turn = lab::turn();
    launchers::end(command)
}

/// Runs a launcher like [`launchers::end_within`], in turn with those of other tests.
fn end_within(command: &mut Command, limit: Duration, meanwhile: impl FnOnce()) -> Run {
    let _turn = lab::turn();
    launchers::end_within(command, limit, meanwhile)
}

/// Everything that an analysis leaves.
#[derive(PartialEq, Eq)]
struct Results {
    report: Vec<u8>,
    findings: Vec<u8>,
    /// Standard output.
    printed: String,
    /// Messages of `dwell` on standard error.
    said: Vec<String>,
    code: Option<i32>,
}

impl Results {
    /// Takes what an analysis left in the directory of its archive.
    fn take(archive: &Path, printed: &str, notes: &str, code: Option<i32>) -> Self {
        let take = |name: &str| {
            let file = archive.join(name);
            let bytes = fs::read(&file).unwrap_or_default();
            let _ = fs::remove_file(file);
            bytes
        };
        let (report, findings) = (take("trace.cubex"), take("findings.json"));
        let said = own(notes).into_iter().map(str::to_owned).collect();
        Self { report, findings, printed: printed.to_owned(), said, code }
    }

    /// Analyses an archive with one process, which no launcher starts.
    fn alone(archive: &Path) -> Self {
        let output = dwell(&["analyze", path(archive)]);
        let (printed, notes) = (text(&output.stdout), text(&output.stderr));
        let results = Self::take(archive, &printed, &notes, output.status.code());
        assert!(printed.contains("next: dwell view"), "{notes}");
        assert!(!results.report.is_empty() && !results.findings.is_empty());
        results
    }

    /// Compares what a launch left with what one process left.
    #[track_caller]
    fn are_left_by(&self, run: &Run, archive: &Path, what: &str) {
        let found = Self::take(archive, &run.stdout, &run.stderr, run.code);
        assert_eq!(found.code, self.code, "{what}: {run:?}");
        // A process that analyses alone would find the same, but says so.
        assert_eq!(found.said, self.said, "{what}");
        assert_eq!(found.printed, self.printed, "{what}");
        assert!(found.findings == self.findings, "{what}: findings.json differs");
        assert!(found.report == self.report, "{what}: trace.cubex differs");
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
        end(&mut self.analysis(processes, archive))
    }

    /// Compares what several processes find with what one does.
    fn finds(&self, processes: usize, archive: &Path, expected: &Results) {
        let run = self.analyze(processes, archive);
        let what = format!("{processes} processes of {self:?} on {}", archive.display());
        expected.are_left_by(&run, archive, &what);
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
    for mpi in chosen(all()) {
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
    for mpi in chosen(all()) {
        let mut command = mpi.launch(3);
        let run = end(command.args([DWELL, "analyze", path(&archive)]));
        expected.are_left_by(&run, &archive, &format!("{mpi:?}"));
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
    for mpi in chosen(all()) {
        let mut command = mpi.launch(3);
        command.args(["sh", "-c", &script]).current_dir(folder.path());
        let run = end(&mut command);
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
        let run = end(mpi.analysis(3, &archive).env("DWELL_MPI_LIBRARY", library));
        assert_eq!(run.code, Some(2), "{mpi:?}: {run:?}");
        let said = own(&run.stderr);
        assert!(matches!(said[..], [line] if line.contains(message)), "{mpi:?}: {run:?}");
    }
    assert!(!archive.join("findings.json").exists());
}

/// As where the nodes of a job do not have the same installation: one of them has no such library. Open MPI ends the other
/// processes at once; Hydra lets them wait in `MPI_Init` until the deadline.
#[test]
fn a_library_that_one_node_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let archive = random(folder.path());
    let script = format!(
        "if [ {RANK} = 2 ]; then export DWELL_MPI_LIBRARY=/nonexistent/libmpi.so \
         MPI_LOCALRANKID=0 OMPI_COMM_WORLD_LOCAL_RANK=0; fi; \
         DWELL_PEER_TIMEOUT={DEADLINE} exec {DWELL} analyze {}",
        path(&archive)
    );
    for mpi in [OPEN_MPI, MPICH].into_iter().filter_map(of_the_system) {
        let run = end(mpi.launch(3).args(["sh", "-c", &script]));
        assert!(run.code != Some(0), "{mpi:?}: {run:?}");
        let said = own(&run.stderr);
        let lacks = |line: &str| line.contains("rank 2 on ") && line.contains("/nonexistent/");
        assert!(said.iter().any(|line| lacks(line)), "{mpi:?}: {run:?}");
        assert!(run.time < 2 * SOON, "{mpi:?}: {run:?}");
    }
}

/// Files of the last locations, which the last process reads, are cut, empty or gone.
#[test]
fn damage_that_another_process_finds() {
    let folder = tempfile::tempdir().unwrap();
    let archive = random(folder.path());
    let events = |location: u32| archive.join(format!("traces/{location}.evt"));
    let bytes = fs::read(events(20)).unwrap();
    fs::write(events(20), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(events(21), "").unwrap();
    fs::remove_file(events(22)).unwrap();
    let expected = Results::alone(&archive);
    assert_eq!(expected.code, Some(1));
    assert!(expected.printed.contains("20.evt"), "{}", expected.printed);
    for mpi in chosen(all()) {
        mpi.finds(3, &archive, &expected);
    }
}

#[test]
fn results_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let archive = random(folder.path());
    fs::create_dir_all(archive.join("trace.cubex/in-the-way")).unwrap();
    for mpi in chosen(all()) {
        let run = mpi.analyze(3, &archive);
        assert_eq!(run.code, Some(2), "{mpi:?}: {run:?}");
        let said = own(&run.stderr);
        assert!(matches!(said[..], [line] if line.contains("trace.cubex")), "{mpi:?}: {run:?}");
    }
}

/// Seconds after which processes give up in tests of that.
const DEADLINE: u64 = 5;
/// Time after a failure within which all processes have ended: the deadline and 10 s.
const SOON: Duration = Duration::from_secs(DEADLINE + 10);

/// Lengths of archives for what has to happen in the middle of an analysis. A fast machine may end one before that, so
/// the next is longer.
const SEGMENTS: [u32; 3] = [64, 256, 1024];

/// Generates an archive whose analysis takes a while, unless it exists.
fn long(folder: &Path, segments: u32) -> PathBuf {
    let archive = folder.join(format!("long-{segments}"));
    if !archive.exists() {
        let segments = segments.to_string();
        let long = ["--ranks", "24", "--operations", "100", "--segments", &segments];
        let made = dwell(&[&["synth", "random", "-o", path(&archive)][..], &long].concat());
        assert!(made.status.success());
    }
    archive
}

/// An analysis of which one process got a signal while it read events.
struct Hit {
    run: Run,
    /// Time from the signal until every other process had ended.
    took: Duration,
}

impl Mpi {
    /// Lets three processes analyse, and sends one of them a signal while it reads events.
    fn hit(&self, folder: &Path, signal: &str, victim: usize) -> Hit {
        for segments in SEGMENTS {
            let archive = long(folder, segments);
            let own = tempfile::tempdir_in(folder).unwrap();
            let script = format!(
                "echo $$ > {0}/new-{RANK} && mv {0}/new-{RANK} {0}/{RANK} && \
                 DWELL_PEER_TIMEOUT={DEADLINE} exec {DWELL} analyze --events-per-rank 1 {1}",
                path(own.path()),
                path(&archive)
            );
            let mut hit = None;
            let mut command = self.launch(3);
            command.args(["sh", "-c", &script]);
            let run = end_within(&mut command, launchers::ENDLESS, || {
                if reads_events(&own.path().join(victim.to_string())) {
                    launchers::kill(signal, OsStr::new(&process(own.path(), victim).unwrap()));
                    hit = Some(Instant::now());
                }
            });
            if let Some(hit) = hit.filter(|_| run.code != Some(0)) {
                let others = (0..3).filter(|rank| *rank != victim);
                while others
                    .clone()
                    .any(|rank| process(own.path(), rank).is_some_and(|it| is_running(&it)))
                {
                    assert!(hit.elapsed() < launchers::ENDLESS, "{self:?}: {run:?}");
                    thread::sleep(Duration::from_millis(20));
                }
                let took = hit.elapsed();
                // The launcher has ended a process that was stopped, or it would stay for ever.
                if let Some(stopped) = process(own.path(), victim).filter(|it| is_running(it)) {
                    launchers::kill("KILL", OsStr::new(&stopped));
                    eprintln!("{self:?}: the launcher left a process that was stopped");
                }
                eprintln!("{self:?}: {signal} to rank {victim}: {:?} in {took:?}", run.code);
                return Hit { run, took };
            }
        }
        panic!("{self:?}: the analysis always ended before the signal");
    }
}

/// Returns the number of the process that wrote its own into a file named after its rank.
fn process(folder: &Path, rank: usize) -> Option<String> {
    let number = fs::read_to_string(folder.join(rank.to_string())).ok()?;
    Some(number.trim().to_owned())
}

/// Returns `true` if a process exists that runs `dwell`. One that has ended and was not yet waited for has no program.
fn is_running(process: &str) -> bool {
    fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|program| program == Path::new(DWELL))
}

/// Waits until the process whose number a file has reads events. Returns `false` if it ended before that was seen.
fn reads_events(file: &Path) -> bool {
    let began = Instant::now();
    let mut ran = false;
    while began.elapsed() < launchers::ENDLESS {
        let number = fs::read_to_string(file).unwrap_or_default();
        let opened = fs::read_dir(format!("/proc/{}/fd", number.trim())).into_iter().flatten();
        let events = |link: PathBuf| link.extension().is_some_and(|extension| extension == "evt");
        if opened.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(events)) {
            return true;
        }
        let runs = is_running(number.trim());
        if ran && !runs {
            return false;
        }
        ran |= runs;
        thread::sleep(Duration::from_millis(1));
    }
    false
}

/// The launcher notices it, ends the others and says which process it was or how it ended.
#[test]
fn a_process_that_is_killed_ends_the_analysis() {
    let folder = tempfile::tempdir().unwrap();
    for mpi in chosen(all()) {
        for victim in [0, 2] {
            let Hit { run, took } = mpi.hit(folder.path(), "KILL", victim);
            assert!(took < SOON, "{mpi:?}: {took:?}: {run:?}");
            let said = run.text().to_lowercase();
            let ways = ["signal 9", "signal: 9", "exit code: 9"];
            assert!(ways.iter().any(|way| said.contains(way)), "{mpi:?}: {run:?}");
        }
    }
}

/// No launcher notices it. The others give up after the deadline and say so.
fn stopped(folder: &Path, mpi: &Mpi, victim: usize) {
    let Hit { run, took } = mpi.hit(folder, "STOP", victim);
    assert!(took < SOON, "{mpi:?}: {took:?}: {run:?}");
    let said = own(&run.stderr);
    let first = if victim == 0 { "dwell: rank 1 of 3 on " } else { "dwell: rank 0 of 3 on " };
    let late = |line: &&str| line.starts_with(first) && line.contains("within 5 s");
    assert!(said.iter().any(late), "{mpi:?}: {run:?}");
}

#[test]
fn a_process_that_is_stopped_is_waited_for_until_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    chosen(all()).iter().for_each(|mpi| stopped(folder.path(), mpi, 2));
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_that_any_process_may_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    for mpi in all() {
        (0..3).for_each(|victim| stopped(folder.path(), &mpi, victim));
    }
}
