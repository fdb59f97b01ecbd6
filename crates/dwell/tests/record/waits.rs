//! Waits of known length, injected into a real program: found, as long as they were, at the right call
//! and process; and not found when there is no delay.
//!
//! Every wait is injected [`ROUNDS`] times, each time from a function of its own, so that each is a
//! call path with a finding of its own, and the median is the median of single waits. One start of the
//! program does all that needs the same transport.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::OnceLock;

use serde_json::Value;

use crate::lab::Lab;

/// Seconds by which someone is late.
const DELAY: f64 = 0.15;

/// How often.
const ROUNDS: usize = 5;

/// What a finding may differ from what the program measured: 5 % of the delay.
const ALLOWED: f64 = 0.05 * DELAY;

/// What may be left of it where there is no delay: who has to wait for a core now and then is late by
/// itself, by about a slice of the scheduler.
const NOTHING: f64 = 0.015;

/// What an operation takes at most that needs nobody at its target, and is found at most for it. Such a
/// get takes 0.01 ms.
const AT_ONCE: f64 = 0.001;

/// A transport on which a target must be in the library to serve others.
const SOFTWARE: &[&str] = &["-x", "UCX_TLS=tcp,self"];

/// What one start of the program gave.
struct Trial {
    findings: Value,
    /// What PE 1 must have waited, by mode and round.
    expected: BTreeMap<(String, usize), f64>,
}

/// The same with and without delay.
struct Trials {
    late: Trial,
    on_time: Trial,
}

/// Seconds of a round: what is sure, what is possible, what the program measured.
#[derive(Clone, Copy, Debug)]
struct Round {
    sure: f64,
    possible: f64,
    expected: f64,
}

impl Round {
    /// How far what was found is from what the program measured. Of two bounds the upper one counts,
    /// if the lower one is not above.
    fn error(&self) -> f64 {
        let above = (self.sure - self.expected).max(0.0);
        above.max((self.possible - self.expected).abs())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    assert_eq!(values.len(), ROUNDS);
    values.sort_by(f64::total_cmp);
    values[ROUNDS / 2]
}

/// The line of the source on which a mode waits.
fn line(mode: &str) -> u64 {
    let source = include_str!("../../../../tests/programs/delays.c");
    let mark = format!("WAIT({mode}, ");
    let at = source.lines().position(|line| line.starts_with(&mark));
    at.unwrap_or_else(|| panic!("no {mark}")) as u64 + 1
}

impl Trial {
    fn run(lab: &Lab, pes: u32, options: &[&str], delay: f64, modes: &[&str]) -> Self {
        let program = lab.path("delays");
        let delay = (delay * 1e3).to_string();
        let mut command = vec![program.as_os_str(), OsStr::new(&delay)];
        command.extend(modes.iter().map(OsStr::new));
        let run = lab.measured(pes, options, &command);
        let killed = modes.last() == Some(&"killed");
        assert_eq!(run.code == Some(0), !killed, "{run:?}");
        if killed {
            let experiment = lab.experiment();
            let output = lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
        let mut expected = BTreeMap::new();
        for line in run.stdout.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let ["expected", mode, round, seconds] = words[..] else { panic!("{line}") };
            expected.insert((mode.into(), round.parse().unwrap()), seconds.parse().unwrap());
        }
        assert_eq!(expected.len(), ROUNDS * (modes.len() - usize::from(killed)), "{run:?}");
        let experiment = lab.experiment();
        let output = lab.dwell(&[OsStr::new("analyze"), experiment.as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = std::fs::read_to_string(experiment.join("findings.json")).unwrap();
        Self { findings: serde_json::from_str(&text).unwrap(), expected }
    }

    /// What a pattern says of the rounds of a mode: at PE 1, in calls of this function from the line of
    /// the mode, and that all of a long wait is blamed on `blamed`.
    fn rounds(&self, mode: &str, pattern: &str, function: &str, blamed: &str) -> Vec<Round> {
        let round = |round: usize| {
            let caller = format!("{mode}_{round}");
            let expected = self.expected[&(mode.to_owned(), round)];
            let (mut sure, mut possible) = (0.0, 0.0);
            for finding in self.findings["findings"].as_array().unwrap() {
                let call = finding["path"].as_array().unwrap().last().unwrap();
                if finding["pattern"] != pattern || call["caller"] != *caller {
                    continue;
                }
                assert_eq!(call["region"], function, "{finding:#}");
                assert_eq!(call["line"], line(mode), "{finding:#}");
                let at = |list: &str, who: &str, field: &str| -> f64 {
                    let shares = finding[list].as_array().unwrap().iter();
                    let of = shares.filter(|share| share["who"] == who);
                    of.map(|share| share[field].as_f64().unwrap()).sum()
                };
                let here = at("origins", "PE 1", "seconds_at_most");
                sure += at("origins", "PE 1", "seconds");
                possible += here;
                if here > DELAY / 2.0 {
                    let blamed = at("targets", blamed, "seconds_at_most");
                    assert!((blamed - here).abs() < 1e-6, "{finding:#}");
                }
            }
            Round { sure, possible, expected }
        };
        (0..ROUNDS).map(round).collect()
    }
}

impl Trial {
    /// The delay is found.
    fn find(&self, mode: &str, pattern: &str, function: &str, blamed: &str) {
        let rounds = self.rounds(mode, pattern, function, blamed);
        let injected = median(rounds.iter().map(|it| it.expected).collect());
        assert!((injected - DELAY).abs() < 0.2 * DELAY, "{mode}: {rounds:?}");
        let error = median(rounds.iter().map(Round::error).collect());
        assert!(error <= ALLOWED, "{mode}, {pattern}: {rounds:?}\n{:#}", self.findings);
    }
}

impl Trials {
    fn run(pes: u32, options: &[&str], modes: &[&str]) -> Option<Self> {
        let lab = lab()?;
        let late = Trial::run(&lab, pes, options, DELAY, modes);
        Some(Self { late, on_time: Trial::run(&lab, pes, options, 0.0, modes) })
    }

    /// The delay is found, and nothing without it.
    fn find(&self, mode: &str, pattern: &str, function: &str, blamed: &str) {
        self.late.find(mode, pattern, function, blamed);
        // Who shares its core with others waits now and then anyway, by the program's own clock.
        let rounds = self.on_time.rounds(mode, pattern, function, blamed);
        let error = median(rounds.iter().map(Round::error).collect());
        let least = rounds.iter().map(|it| it.possible).fold(DELAY, f64::min);
        let right = error <= NOTHING && least <= NOTHING;
        assert!(right, "{mode}, {pattern}, without a delay: {rounds:?}");
    }

    /// The delay is there, but not for this.
    fn do_not_find(&self, mode: &str, pattern: &str, function: &str) {
        let rounds = self.late.rounds(mode, pattern, function, "nobody");
        let found = median(rounds.iter().map(|it| it.possible).collect());
        assert!(found <= AT_ONCE, "{mode}, {pattern}: {rounds:?}");
    }

    /// The operation needed nobody, and none is blamed.
    fn at_once(&self, mode: &str, pattern: &str, function: &str) {
        let rounds = self.late.rounds(mode, pattern, function, "nobody");
        let took = median(rounds.iter().map(|it| it.expected).collect());
        assert!(took <= AT_ONCE, "{mode}: {rounds:?}");
        self.do_not_find(mode, pattern, function);
    }
}

fn lab() -> Option<Lab> {
    let lab = Lab::open()?;
    // A call at the end of a function must return to it, or it has another call path.
    lab.compile("tests/programs/delays.c", &["-fno-optimize-sibling-calls"]);
    Some(lab)
}

/// On shared memory, 2 PEs.
fn shared() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    let modes = [
        "barrier",
        "sync",
        "reduce",
        "collect",
        "fcollect",
        "alltoall",
        "broadcast",
        "malloc",
        "free",
        "lock",
        "signal",
        "bulk_signal",
        "get",
        "nbi",
        "atomic",
        "second_put",
    ];
    TRIALS.get_or_init(|| Trials::run(2, &[], &modes)).as_ref()
}

/// On TCP, where a target has to be in the library, 2 PEs.
fn software() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    let modes = ["put_barrier", "get", "nbi", "atomic", "second_put", "deaf"];
    TRIALS.get_or_init(|| Trials::run(2, SOFTWARE, &modes)).as_ref()
}

/// On TCP, 3 PEs.
fn three() -> Option<&'static Trials> {
    static TRIALS: OnceLock<Option<Trials>> = OnceLock::new();
    TRIALS.get_or_init(|| Trials::run(3, SOFTWARE, &["multi_get", "multi_put"])).as_ref()
}

#[test]
fn barriers() {
    let Some(trials) = shared() else { return };
    trials.find("barrier", "barrier_wait", "shmem_barrier_all", "PE 0");
    trials.find("sync", "barrier_wait", "shmem_sync", "PE 0");
}

#[test]
fn all_to_all() {
    let Some(trials) = shared() else { return };
    trials.find("reduce", "nxn_wait", "shmem_long_sum_to_all", "PE 0");
    trials.find("collect", "nxn_wait", "shmem_collect64", "PE 0");
    trials.find("fcollect", "nxn_wait", "shmem_fcollect64", "PE 0");
    trials.find("alltoall", "nxn_wait", "shmem_alltoall64", "PE 0");
}

#[test]
fn broadcast() {
    let Some(trials) = shared() else { return };
    trials.find("broadcast", "late_broadcast", "shmem_broadcast64", "PE 0");
}

#[test]
fn memory() {
    let Some(trials) = shared() else { return };
    trials.find("malloc", "wait_at_create", "shmem_malloc", "PE 0");
    trials.find("free", "wait_at_free", "shmem_free", "PE 0");
}

#[test]
fn lock() {
    let Some(trials) = shared() else { return };
    trials.find("lock", "lock_contention", "shmem_set_lock", "PE 0");
}

#[test]
fn signal() {
    let Some(trials) = shared() else { return };
    trials.find("signal", "late_signal", "shmem_long_wait_until", "PE 0");
}

#[test]
fn signal_among_bulk_puts() {
    let Some(trials) = shared() else { return };
    trials.find("bulk_signal", "late_signal", "shmem_long_wait_until", "PE 0");
}

#[test]
fn progress_in_software() {
    let Some(trials) = software() else { return };
    trials.find("get", "wait_for_progress", "shmem_long_get", "PE 0");
    trials.find("atomic", "wait_for_progress", "shmem_long_atomic_fetch_add", "PE 0");
    trials.find("nbi", "wait_for_progress", "shmem_quiet", "PE 0");
}

#[test]
fn progress_on_shared_memory_needs_no_target() {
    let Some(trials) = shared() else { return };
    trials.at_once("get", "wait_for_progress", "shmem_long_get");
    trials.at_once("atomic", "wait_for_progress", "shmem_long_atomic_fetch_add");
    trials.at_once("nbi", "wait_for_progress", "shmem_quiet");
    trials.at_once("second_put", "wait_for_progress", "shmem_quiet");
}

#[test]
fn progress_of_several_targets() {
    let Some(trials) = three() else { return };
    // PE 2 came last; what PE 0 served half-way does not count.
    trials.find("multi_get", "wait_for_progress_multi", "shmem_quiet", "PE 2");
    trials.find("multi_put", "wait_for_progress_multi", "shmem_quiet", "PE 2");
    for mode in ["multi_get", "multi_put"] {
        trials.do_not_find(mode, "wait_for_progress", "shmem_quiet");
    }
}

#[test]
fn a_target_that_loops_on_calls_that_do_not_progress() {
    let Some(trials) = software() else { return };
    trials.find("deaf", "wait_for_progress", "shmem_long_get", "PE 0");
}

#[test]
fn put_then_barrier_is_imbalance() {
    let Some(trials) = software() else { return };
    trials.find("put_barrier", "barrier_wait", "shmem_barrier_all", "PE 0");
    for pattern in ["wait_for_progress", "wait_for_progress_multi"] {
        trials.do_not_find("put_barrier", pattern, "shmem_barrier_all");
    }
}

#[test]
fn a_second_put_after_the_first_was_served() {
    let Some(trials) = software() else { return };
    trials.find("second_put", "wait_for_progress", "shmem_quiet", "PE 0");
}

#[test]
fn a_killed_run_is_analysed_and_its_loss_stated() {
    let Some(lab) = lab() else { return };
    let trial = Trial::run(&lab, 2, &[], DELAY, &["barrier", "signal", "killed"]);
    // What was before the kill is as sure as ever.
    trial.find("barrier", "barrier_wait", "shmem_barrier_all", "PE 0");
    trial.find("signal", "late_signal", "shmem_long_wait_until", "PE 0");
    // The barrier in which PE 1 waited for the dead is no wait of 0.
    assert!(trial.findings["findings"].as_array().unwrap().iter().all(|finding| {
        let call = finding["path"].as_array().unwrap().last().unwrap();
        call["caller"] != "killed_0"
    }));
    let notes = trial.findings["not_computed"].as_array().unwrap();
    let note = |pattern: &str| {
        let found = notes.iter().find(|note| note["pattern"] == pattern);
        found.unwrap_or_else(|| panic!("{notes:#?}"))
    };
    assert_eq!(note("collectives")["calls"], 1, "{notes:#?}");
    let lost = note("all")["reason"].as_str().unwrap();
    for word in ["2 of 2 processes were cut off", "PE 0 after", "PE 1 after"] {
        assert!(lost.contains(word), "{lost}");
    }
}
