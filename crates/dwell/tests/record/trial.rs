//! Waits of known length, injected into real programs: how they are run and what is asked of them.
//!
//! Every wait is injected [`ROUNDS`] times, each time from a function of its own, so that each is a
//! call path with a finding of its own, and the median is the median of single waits. One start of the
//! program does all that needs the same transport.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use serde_json::Value;

use crate::lab::{Lab, Run, rows_of_tree};

/// Seconds by which a process is late.
pub(crate) const DELAY: f64 = 0.15;

/// Number of times that each wait is injected.
const ROUNDS: usize = 5;

/// Allowed difference between a finding and what the program measured: 5 % of the delay.
const ALLOWED: f64 = 0.05 * DELAY;

/// Largest wait in seconds without a delay. A process that has to wait for a core is late by itself, by about a time
/// slice of the scheduler.
const NOTHING: f64 = 0.015;

/// Largest duration in seconds of an operation that does not need its target, and of waits found in it. Such a get
/// takes 0.01 ms.
const AT_ONCE: f64 = 0.001;

/// A program whose second process waits.
pub(crate) struct Program<'a> {
    pub(crate) lab: &'a Lab,
    /// Source file, in which the line `WAIT(mode, …)` is the one that waits. It uses `delays.h`.
    pub(crate) source: &'static str,
    /// Name of the process that waits, as its runtime names it.
    pub(crate) waiter: &'static str,
    /// Runs the program with these arguments and records it.
    pub(crate) run: &'a dyn Fn(&[&OsStr]) -> Run,
}

/// Results of one run of the program.
pub(crate) struct Trial {
    pub(crate) findings: Value,
    /// Sums of the report, by metric.
    metrics: BTreeMap<String, f64>,
    /// Seconds that the process must have waited, by mode and round.
    pub(crate) expected: BTreeMap<(String, usize), f64>,
    source: &'static str,
    waiter: &'static str,
}

/// Results with and without delay.
pub(crate) struct Trials {
    pub(crate) late: Trial,
    on_time: Trial,
}

/// Seconds of a round: the lower bound, the upper bound, and what the program measured.
#[derive(Clone, Copy, Debug)]
struct Round {
    sure: f64,
    possible: f64,
    expected: f64,
}

impl Round {
    /// Returns the difference between the finding and what the program measured. Of two bounds the upper one counts, if
    /// the lower one is not above the measurement. Where targets come and go, as they do if they share a core, the
    /// upper bound counts gaps that the lower one leaves out; within a tenth of each other, the nearer of the two
    /// counts.
    fn error(&self) -> f64 {
        let above = (self.sure - self.expected).max(0.0);
        let (upper, lower) =
            ((self.possible - self.expected).abs(), (self.expected - self.sure).abs());
        let close = self.possible - self.sure <= 0.1 * self.expected;
        above.max(if close { upper.min(lower) } else { upper })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    assert_eq!(values.len(), ROUNDS);
    values.sort_by(f64::total_cmp);
    values[ROUNDS / 2]
}

impl Program<'_> {
    /// Runs the program with this delay, and analyses it.
    pub(crate) fn trial(&self, delay: f64, modes: &[&str]) -> Trial {
        let delay = (delay * 1e3).to_string();
        let mut words = vec![OsStr::new(&delay)];
        words.extend(modes.iter().map(OsStr::new));
        let run = (self.run)(&words);
        let experiment = self.lab.experiment();
        let killed = modes.last() == Some(&"killed");
        assert_eq!(run.code == Some(0), !killed, "{run:?}");
        if killed {
            let output = self.lab.dwell(&[OsStr::new("recover"), experiment.as_os_str()]);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
        let mut expected = BTreeMap::new();
        for line in run.stdout.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let ["expected", mode, round, seconds] = words[..] else { panic!("{line}") };
            expected.insert((mode.into(), round.parse().unwrap()), seconds.parse().unwrap());
        }
        assert_eq!(expected.len(), ROUNDS * (modes.len() - usize::from(killed)), "{run:?}");
        let output =
            self.lab.dwell(&[OsStr::new("analyze"), OsStr::new("--full"), experiment.as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        if killed {
            crate::sums::hold(&experiment);
        } else {
            crate::sums::hold_with_profile(&experiment);
        }
        let text = std::fs::read_to_string(experiment.join("findings.json")).unwrap();
        let findings = serde_json::from_str(&text).unwrap();
        let words = ["--metrics", "--json"].map(OsStr::new);
        let output =
            self.lab.dwell(&[&[OsStr::new("report"), experiment.as_os_str()], &words[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = rows_of_tree(&report["metrics"]).into_iter().map(|(_, row)| row);
        let metrics = rows
            .map(|row| {
                let name = row["metric"].as_str().unwrap().trim().to_owned();
                (name, row["value"].as_f64().unwrap())
            })
            .collect();
        Trial { findings, metrics, expected, source: self.source, waiter: self.waiter }
    }

    /// Runs the program with and without delay.
    pub(crate) fn trials(&self, modes: &[&str]) -> Trials {
        Trials { late: self.trial(DELAY, modes), on_time: self.trial(0.0, modes) }
    }
}

impl Trial {
    /// Returns the line of the source on which a mode waits.
    fn line(&self, mode: &str) -> u64 {
        let mark = format!("WAIT({mode}, ");
        let at = self.source.lines().position(|line| line.starts_with(&mark));
        at.unwrap_or_else(|| panic!("no {mark}")) as u64 + 1
    }

    /// Returns the findings of a pattern for the rounds of a mode: at the waiting process, in calls of these functions
    /// (separated by bars) from the line of the mode. Checks that all of a long wait is attributed to `blamed`.
    fn rounds(&self, mode: &str, pattern: &str, functions: &str, blamed: &str) -> Vec<Round> {
        let round = |round: usize| {
            let caller = format!("{mode}_{round}");
            let expected = self.expected[&(mode.to_owned(), round)];
            let (mut sure, mut possible) = (0.0, 0.0);
            for finding in self.findings["findings"].as_array().unwrap() {
                let call = finding["path"].as_array().unwrap().last().unwrap();
                if finding["pattern"] != pattern || call["caller"] != *caller {
                    continue;
                }
                let known = functions.split('|').any(|function| call["region"] == function);
                assert!(known, "not in {functions}: {finding:#}");
                assert_eq!(call["line"], self.line(mode), "{finding:#}");
                let at = |list: &str, who: &str, field: &str| -> f64 {
                    let shares = finding[list].as_array().unwrap().iter();
                    let of = shares.filter(|share| share["who"] == who);
                    of.map(|share| share[field].as_f64().unwrap()).sum()
                };
                let here = at("origins", self.waiter, "seconds_at_most");
                sure += at("origins", self.waiter, "seconds");
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

    /// Checks that the delay is found.
    pub(crate) fn find(&self, mode: &str, pattern: &str, functions: &str, blamed: &str) {
        let rounds = self.rounds(mode, pattern, functions, blamed);
        let injected = median(rounds.iter().map(|it| it.expected).collect());
        assert!(injected >= 0.8 * DELAY, "{mode}: {rounds:?}");
        let error = median(rounds.iter().map(Round::error).collect());
        assert!(error <= ALLOWED, "{mode}, {pattern}: {rounds:?}\n{:#}", self.findings);
    }
}

impl Trials {
    /// Checks that the delay is found, and that nothing is found without it.
    pub(crate) fn find(&self, mode: &str, pattern: &str, functions: &str, blamed: &str) {
        self.late.find(mode, pattern, functions, blamed);
        // Who shares its core with others waits anyway, by the program's own clock, but never for so long.
        let rounds = self.on_time.rounds(mode, pattern, functions, blamed);
        let error = median(rounds.iter().map(Round::error).collect());
        let least = rounds.iter().map(|it| it.possible).fold(DELAY, f64::min);
        let right = error <= NOTHING && least <= 0.5 * DELAY;
        assert!(right, "{mode}, {pattern}, without a delay: {rounds:?}");
    }

    /// Checks that all of the delay of these modes (separated by bars), and of no other, has a cause that the report shows as
    /// a metric of its own.
    pub(crate) fn find_cause(&self, mode: &str, metric: &str) {
        let sum = |trial: &Trial| {
            let of = |mode: &str| {
                (0..ROUNDS).map(|round| trial.expected[&(mode.to_owned(), round)]).sum::<f64>()
            };
            let rounds = mode.split('|').map(of);
            // A metric of which there is nothing is not in the report.
            (trial.metrics.get(metric).copied().unwrap_or(0.0), rounds.sum::<f64>())
        };
        let (found, expected) = sum(&self.late);
        let allowed = ALLOWED * (ROUNDS * mode.split('|').count()) as f64;
        assert!((found - expected).abs() <= allowed, "{mode}, {metric}: {found} of {expected}");
        let (found, expected) = sum(&self.on_time);
        assert!(found <= expected + NOTHING, "{mode}, {metric}: {found} of {expected}");
    }

    /// Checks that the delay is not attributed to this pattern.
    pub(crate) fn do_not_find(&self, mode: &str, pattern: &str, functions: &str) {
        let rounds = self.late.rounds(mode, pattern, functions, "nobody");
        let found = median(rounds.iter().map(|it| it.possible).collect());
        assert!(found <= AT_ONCE, "{mode}, {pattern}: {rounds:?}");
    }

    /// Checks that the operation did not need its target, and that no process is blamed.
    pub(crate) fn at_once(&self, mode: &str, pattern: &str, functions: &str) {
        let rounds = self.late.rounds(mode, pattern, functions, "nobody");
        let took = median(rounds.iter().map(|it| it.expected).collect());
        assert!(took <= AT_ONCE, "{mode}: {rounds:?}");
        self.do_not_find(mode, pattern, functions);
    }
}
