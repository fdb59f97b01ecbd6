//! The fault wall: wherever the recorder panics, the program goes on as without Dwell, and the reason is kept.
//!
//! The library with assertions panics where `DWELL_TEST_PANIC` says, at the last process, for which all others wait
//! wherever processes wait for each other, or gets no memory from the allocation on that `DWELL_TEST_NO_MEMORY` says. The program goes through every entry into the recorder, on OpenSHMEM
//! and on each MPI library.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use dwell_measure::guard::Entry;

use crate::lab::{Lab, Run};
use crate::mpi::{Mpi, lines};

/// A runtime, with the program compiled for it.
struct Stage {
    lab: Lab,
    mpi: Option<Mpi>,
    program: PathBuf,
    bare: Run,
}

const SOURCE: &str = "tests/programs/guarded.c";

/// Shell script that sets the variable for the last process and then becomes the command.
const ASK: &str = r#"rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
if [ "$rank" = 1 ]; then export "$1"; fi
shift; exec "$@""#;

impl Stage {
    fn shmem() -> Option<Self> {
        Lab::open()?;
        let lab = Lab::with_faults();
        let include = format!("-I{}", Lab::repository().join("include").display());
        let program = lab.compile(SOURCE, &["-DSHMEM", "-pthread", &include]);
        Some(Self::set(lab, None, program))
    }

    fn mpi(mpi: Mpi) -> Self {
        let lab = Lab::with_faults();
        let include = format!("-I{}", Lab::repository().join("include").display());
        let program = mpi.compile(&lab, SOURCE, &["-pthread", &include]);
        Self::set(lab, Some(mpi), program)
    }

    fn set(lab: Lab, mpi: Option<Mpi>, program: PathBuf) -> Self {
        let bare = Run { code: None, stdout: String::new(), stderr: String::new() };
        let mut stage = Self { lab, mpi, program, bare };
        stage.bare = stage.run(&[stage.program.as_os_str()]);
        assert_eq!(stage.bare.code, Some(0), "{:?}", stage.bare);
        stage
    }

    fn run(&self, command: &[&OsStr]) -> Run {
        // Every process has a clock of its own, so that clocks are compared.
        let variables = [
            "env",
            "DWELL_TEST_SKEW=1000000,1000,0",
            "DWELL_CLOCK_PERIOD=1ms",
            "DWELL_PEER_TIMEOUT=3s",
        ];
        let command = [&variables.map(OsStr::new), command].concat();
        match &self.mpi {
            Some(mpi) => mpi.run(&self.lab, 2, &command),
            None => self.lab.oshrun(2, &[], &command),
        }
    }

    /// Records the program with a panic at a pass of an entry.
    fn with_panic(&self, entry: Entry, pass: u32) -> Run {
        self.with_fault(&format!("DWELL_TEST_PANIC={}:{pass}", entry.name()))
    }

    /// Records the program with a variable set for its last process.
    fn with_fault(&self, asked: &str) -> Run {
        let experiment = self.lab.experiment();
        let _ = std::fs::remove_dir_all(&experiment);
        let shell = ["sh", "-c", ASK, "sh", asked].map(OsStr::new);
        let dwell = [env!("CARGO_BIN_EXE_dwell"), "run", "-o"].map(OsStr::new);
        let what = [experiment.as_os_str(), self.program.as_os_str()];
        self.run(&[&shell[..], &dwell, &what].concat())
    }

    /// Checks that the program is not affected if the recorder gets no memory from its `n`-th allocation on.
    fn check_without_memory(&self, n: u32) {
        let run = self.with_fault(&format!("DWELL_TEST_NO_MEMORY={n}"));
        let told = format!("allocation {n} {:?}: {run:?}", self.mpi);
        assert_eq!(run.code, self.bare.code, "{told}");
        assert_eq!(program_said(&run), program_said(&self.bare), "{told}");
        // The processes say it, unless the run needs fewer allocations.
        assert!(run.stderr.contains("dwell:"), "{told}");
    }

    /// Checks that the program is not affected, and that the reason can be found.
    fn check(&self, entry: Entry, pass: u32) {
        let run = self.with_panic(entry, pass);
        let told = format!("{} pass {pass} {:?}: {run:?}", entry.name(), self.mpi);
        assert_eq!(run.code, self.bare.code, "{told}");
        assert_eq!(program_said(&run), program_said(&self.bare), "{told}");
        let (ours, others): (Vec<_>, Vec<_>) =
            run.stderr.lines().partition(|line| line.starts_with("dwell:"));
        let others: Vec<_> = others.into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines(&others.join("\n")), lines(&self.bare.stderr), "{told}");
        // A process that ends has no reader to send to.
        if entry == Entry::Exit {
            return;
        }
        let reason = format!("internal error, please report it: asked for at {}", entry.name());
        let ours = ours.join("\n");
        let recovers = ours.contains("dwell recover");
        // Whoever does not hear of the panic in time says for whom it waited.
        let waited = entry == Entry::StartTogether && ours.contains("nothing is recorded: waited");
        assert!(recovers || waited || ours.contains(&reason), "{told}");
        let experiment = self.lab.experiment();
        if recovers {
            let output = self.lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{told} {output:?}");
        }
        // Nothing begins where processes cannot agree to begin.
        if entry != Entry::StartTogether {
            let output = self.lab.dwell(&[OsStr::new("info"), experiment.as_os_str()]);
            let info = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{told} {output:?}");
            assert!(info.contains(&reason), "{told} {info}");
        }
    }
}

/// Returns the lines of the program. MPICH's transport warns there of messages of the recorder that no process receives
/// any more.
fn program_said(run: &Run) -> Vec<String> {
    lines(&run.stdout).into_iter().filter(|line| !line.contains(" UCX  WARN ")).collect()
}

/// Returns the passes of an entry at which the recorder panics.
fn passes(entry: Entry) -> &'static [u32] {
    match entry {
        Entry::Start | Entry::StartTogether | Entry::Begin | Entry::Finish => &[1],
        Entry::Exit | Entry::Load => &[1],
        Entry::Meet => &[1, 2, 5],
        Entry::Register | Entry::Sample => &[1, 2],
        Entry::Before | Entry::After | Entry::Busy | Entry::Locked => &[1, 2, 7, 40],
        Entry::User => &[1, 6],
        Entry::Control | Entry::ThreadEnd => &[1, 3],
        Entry::Close => &[1, 2, 3, 4],
        // Only with samples: see the tests of these.
        Entry::Tick => &[],
    }
}

fn sample(stage: &Stage, entries: &[Entry]) {
    for entry in entries {
        let passes = passes(*entry);
        stage.check(*entry, passes[passes.len() / 2]);
    }
}

fn whole(stage: &Stage) {
    for entry in Entry::ALL {
        passes(*entry).iter().for_each(|pass| stage.check(*entry, *pass));
    }
}

/// A measured program in Rust has its own copy of the standard library. Its panics, hooks and messages are as without
/// Dwell, and those of the recorder are silent.
#[test]
fn a_program_in_rust_keeps_its_panics() {
    for mpi in Mpi::chosen_of_the_system() {
        let lab = Lab::with_faults();
        let program = lab.path("panics");
        let mut linker = std::ffi::OsString::from("linker=");
        linker.push(mpi.compiler());
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "-C"]).arg(linker).arg("-o").arg(&program);
        let output =
            rustc.arg(Lab::repository().join("tests/programs/panics.rs")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let bare = mpi.run(&lab, 1, &[program.as_os_str()]);
        assert!(bare.stderr.contains("round 1 is odd"), "{bare:?}");
        assert_ne!(bare.code, Some(0), "{bare:?}");
        for asked in ["DWELL_TEST_PANIC=none:1", "DWELL_TEST_PANIC=before:3"] {
            let run = mpi.measured_with(&lab, 1, &[OsStr::new(asked)], &[program.as_os_str()]);
            assert_eq!(run.code, bare.code, "{asked} {run:?}");
            assert_eq!(run.stdout, bare.stdout, "{asked} {run:?}");
            // Numbers of threads and processes differ from run to run.
            let program_said = |run: &Run| {
                let said = |line: &&str| line.contains("panicked") || line.contains("round ");
                let said = |line: &&str| said(line) || line.contains("hook");
                let lines = run.stderr.lines().filter(said);
                lines.map(|line| line.replace(|c: char| c.is_ascii_digit(), "")).collect()
            };
            let (told, expected): (Vec<_>, Vec<_>) = (program_said(&run), program_said(&bare));
            assert!(expected.len() >= 5, "{bare:?}");
            assert_eq!(told, expected, "{asked} {run:?}");
        }
    }
}

#[test]
fn panics_on_openshmem() {
    let Some(stage) = Stage::shmem() else { return };
    sample(&stage, &[Entry::Begin, Entry::After, Entry::Locked, Entry::User, Entry::Finish]);
}

#[test]
fn panics_on_mpi() {
    let entries = [
        [Entry::Before, Entry::Register, Entry::Meet, Entry::Close],
        [Entry::Busy, Entry::ThreadEnd, Entry::Start, Entry::Load],
    ];
    for (mpi, entries) in Mpi::of_the_system().into_iter().zip(entries) {
        sample(&Stage::mpi(mpi), &entries);
    }
}

/// Allocations of the recorder that fail in the sample, from its first to one at the end of the run.
const FAILING: [u32; 5] = [1, 30, 120, 300, 700];

#[test]
fn no_memory_on_openshmem() {
    let Some(stage) = Stage::shmem() else { return };
    FAILING.iter().for_each(|n| stage.check_without_memory(*n));
}

#[test]
fn no_memory_on_mpi() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let stage = Stage::mpi(mpi);
    FAILING.iter().for_each(|n| stage.check_without_memory(*n));
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn no_memory_from_any_allocation_on() {
    let stages = Stage::shmem().into_iter();
    for stage in stages.chain(Mpi::of_the_system().into_iter().map(Stage::mpi)) {
        (1..200).chain((200..3000).step_by(10)).for_each(|n| stage.check_without_memory(n));
    }
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn panics_at_every_entry_on_openshmem() {
    if let Some(stage) = Stage::shmem() {
        whole(&stage);
    }
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn panics_at_every_entry_on_mpi() {
    for mpi in Mpi::chosen_of_the_system() {
        whole(&Stage::mpi(mpi));
    }
}
