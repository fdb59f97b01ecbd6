//! Clocks that differ, as those of nodes do: the archive puts them right, as far as it says.
//!
//! The recorder makes the clock of each process wrong (`DWELL_TEST_SKEW`: nanoseconds and parts in a
//! thousand million, times the rank), so every process is a node of its own as far as clocks go.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use otf2::Event;
use otf2::read::LocalTables;

use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::trace::Trace;

/// Messages that were received before they were sent, and by how much at most.
#[derive(Debug, Default)]
struct Violations {
    messages: usize,
    count: usize,
    largest: u64,
}

/// Calls that sent and received, by sender and receiver: enter and leave.
#[derive(Debug, Default)]
struct Messages {
    sent: BTreeMap<(u64, u64), Vec<(u64, u64)>>,
    received: BTreeMap<(u64, u64), Vec<(u64, u64)>>,
}

/// Nanoseconds, and parts in a thousand million.
const SKEW: (i128, i128) = (3_000_000, 200_000);

/// The time that a clock showed which was made wrong.
fn truth(rank: u64, shown: u64) -> u64 {
    let (rank, shown) = (i128::from(rank), i128::from(shown));
    let part = 1_000_000_000;
    ((shown - rank * SKEW.0) * part / (part + rank * SKEW.1)) as u64
}

/// What a time means.
#[derive(Clone, Copy, PartialEq)]
enum Times {
    /// As every reader has it.
    Corrected,
    /// As it was written.
    Written,
    /// As it was, by a clock that is right.
    True,
}

impl Messages {
    fn read(trace: &Trace, times: Times) -> Self {
        let mut all = Self::default();
        for (location, rank) in trace.locations() {
            let tables = trace.archive.local_tables(location);
            let tables = match times {
                Times::Corrected => tables,
                _ => LocalTables { maps: tables.maps, ..LocalTables::default() },
            };
            let window = otf2::read::WINDOW;
            let mut reader = trace.archive.events_with(location, &tables, window).unwrap();
            let mut enter = 0;
            while let Some(record) = reader.next().unwrap() {
                let time = match times {
                    Times::True => truth(rank, record.time.0),
                    _ => record.time.0,
                };
                match record.event {
                    Event::Enter(_) => enter = time,
                    Event::MpiSend(it) => {
                        let key = (rank, u64::from(it.receiver.0));
                        all.sent.entry(key).or_default().push((enter, time));
                    }
                    Event::MpiRecv(it) => {
                        let key = (u64::from(it.sender.0), rank);
                        all.received.entry(key).or_default().push((enter, time));
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// Each message: its send and its receive.
    fn pairs(&self) -> impl Iterator<Item = ((u64, u64), (u64, u64))> {
        self.sent.iter().flat_map(|(pair, sends)| {
            let receives = &self.received[pair];
            assert_eq!(sends.len(), receives.len());
            sends.iter().copied().zip(receives.iter().copied())
        })
    }

    /// Those that were received before they were sent.
    fn violations(&self) -> Violations {
        let mut found = Violations::default();
        for ((_, sent), (_, received)) in self.pairs() {
            found.messages += 1;
            found.count += usize::from(received < sent);
            found.largest = found.largest.max(sent.saturating_sub(received));
        }
        found
    }

    /// How long receives waited for sends that began later, in seconds.
    fn late(&self) -> f64 {
        let wait = |((begin, _), (enter, leave)): ((u64, u64), (u64, u64))| {
            begin.min(leave).saturating_sub(enter)
        };
        self.pairs().map(wait).sum::<u64>() as f64 / 1e9
    }
}

/// Waits that the analysis finds, in seconds, by pattern.
fn waits(lab: &Lab) -> BTreeMap<String, f64> {
    let output = lab.dwell(&["analyze".as_ref(), lab.experiment().as_os_str(), "--json".as_ref()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut sums = BTreeMap::new();
    for finding in found["findings"].as_array().unwrap() {
        let seconds = finding["seconds"].as_f64().unwrap();
        *sums.entry(finding["pattern"].as_str().unwrap().to_owned()).or_insert(0.0) += seconds;
    }
    sums
}

#[test]
fn skewed_and_drifting_clocks_are_put_right() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
    let command = [program.as_os_str(), OsStr::new("150"), OsStr::new("2000")];
    let skew = format!("DWELL_TEST_SKEW={},{}", SKEW.0, SKEW.1);
    let run = mpi.measured_with(&lab, 4, &[OsStr::new(&skew)], &command);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "token 450\n"), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let property = |name: &str| -> u64 {
        let value = trace.archive.anchor().property(name);
        value.unwrap_or_else(|| panic!("{name} is missing")).parse().unwrap()
    };
    let residual = property("DWELL::CLOCK_RESIDUAL");
    let before = Messages::read(&trace, Times::Written).violations();
    let after = Messages::read(&trace, Times::Corrected).violations();
    eprintln!("before {before:?}, after {after:?}, residual {residual} ns");
    assert_eq!(before.messages, 600);
    assert!(before.count >= 140 && before.largest > 8_000_000, "{before:?}");
    // Both sides may be wrong by that much.
    assert!(after.largest <= 2 * residual, "{after:?}, {residual} ns");
    assert!(residual < 2_000_000, "{residual} ns");
    assert!(property("DWELL::LATENCY") <= residual);

    // What the analysis finds is what it would have found by clocks that are right.
    let (found, right) = (waits(&lab)["late_sender"], Messages::read(&trace, Times::True).late());
    let doubt = 600.0 * 2.0 * residual as f64 / 1e9;
    eprintln!("late senders {found} s, by true clocks {right} s, in doubt {doubt} s");
    assert!((found - right).abs() <= doubt, "{found} and {right}, in doubt {doubt}");
    assert!(right > 0.25, "processes wait 100 ms for the one that is late: {right}");

    // One node, one clock: nothing is in doubt.
    let run = mpi.measured(&lab, 2, &[program.as_os_str(), OsStr::new("20")]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let plain = Trace::read(&lab.experiment());
    assert_eq!(plain.archive.anchor().property("DWELL::CLOCK_RESIDUAL"), None);
    assert_eq!(Messages::read(&plain, Times::Corrected).violations().count, 0);
}
