//! Clocks that differ, as those of nodes do: the archive puts them right, as far as it says.
//!
//! The recorder makes the clock of each process wrong (`DWELL_TEST_SKEW`), so every process is a node of its
//! own as far as clocks go.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;

use otf2::Event;
use otf2::clock::Clock;
use otf2::def::{ClockOffset, Definition};
use otf2::id::{LocationRef, Time};
use otf2::read::LocalTables;

use crate::faults::Small;
use crate::lab::Lab;
use crate::mpi::Mpi;
use crate::trace::Trace;

/// Messages that were received before they were sent, and the largest violation.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    pub(crate) messages: usize,
    pub(crate) count: usize,
    pub(crate) largest: u64,
}

/// Enter and leave times of calls that sent and received, by sender and receiver.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    sent: BTreeMap<(u64, u64), Vec<(u64, u64)>>,
    received: BTreeMap<(u64, u64), Vec<(u64, u64)>>,
}

/// Error of the clocks, multiplied by the rank.
#[derive(Clone, Copy, Default)]
pub(crate) struct Skew {
    /// Offset in nanoseconds.
    pub(crate) offset: i128,
    /// Drift in parts per thousand million.
    pub(crate) drift: i128,
    /// Nanoseconds after which the drift changes its sign; 0 for never.
    pub(crate) turn: i128,
    /// Nanoseconds by which the system's clock is ahead before the recorder adds its error.
    pub(crate) ahead: i128,
}

impl Skew {
    /// Returns the value of the variable that tells the recorder about the error.
    pub(crate) fn variable(self) -> OsString {
        format!("DWELL_TEST_SKEW={},{},{}", self.offset, self.drift, self.turn).into()
    }

    /// Returns the reading of the clock of a process at a true time.
    fn shown(self, rank: u64, time: u64) -> u64 {
        let Self { offset, drift, turn, ahead } = self;
        let rank = i128::from(rank);
        let time = i128::from(time) + rank * ahead;
        let since = if turn == 0 { time } else { turn - (time % (2 * turn) - turn).abs() };
        (time + rank * offset + since * (rank * drift) / 1_000_000_000) as u64
    }

    /// Returns the true time at which the clock of a process had a reading.
    fn truth(self, rank: u64, shown: u64) -> u64 {
        // Clocks rise, so half of what is left is wrong.
        let (mut low, mut high) = (0, 2 * shown);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.shown(rank, middle) < shown {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Interpretation of the times in a trace.
#[derive(Clone, Copy)]
pub(crate) enum Times {
    /// Corrected, as every reader sees them.
    Corrected,
    /// Uncorrected, as they were written.
    Written,
    /// True times, computed from the error that was injected.
    True(Skew),
}

/// Calls `then` with rank, time and event for the records of each location, in the order in which they were written.
pub(crate) fn each(trace: &Trace, times: Times, mut then: impl FnMut(u64, u64, &Event<'_>)) {
    for (location, rank) in trace.locations() {
        let tables = trace.archive.local_tables(location);
        let tables = match times {
            Times::Corrected => tables,
            _ => LocalTables { maps: tables.maps, ..LocalTables::default() },
        };
        let window = otf2::read::WINDOW;
        let mut reader = trace.archive.events_with(location, &tables, window).unwrap();
        while let Some(record) = reader.next().unwrap() {
            let time = match times {
                Times::True(skew) => skew.truth(rank, record.time.0),
                _ => record.time.0,
            };
            then(rank, time, &record.event);
        }
    }
}

/// Returns enter and leave times of calls of some functions, by rank.
fn calls(trace: &Trace, times: Times, functions: &[&str]) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let mut all: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    each(trace, times, |rank, time, event| match event {
        Event::Enter(it) if functions.contains(&trace.region(it.region).as_str()) => {
            all.entry(rank).or_default().push((time, time));
        }
        Event::Leave(it) if functions.contains(&trace.region(it.region).as_str()) => {
            all.get_mut(&rank).unwrap().last_mut().unwrap().1 = time;
        }
        _ => {}
    });
    all
}

impl Messages {
    pub(crate) fn read(trace: &Trace, times: Times) -> Self {
        let mut all = Self::default();
        let mut enter = 0;
        each(trace, times, |rank, time, event| match event {
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
        });
        all
    }

    /// Iterates over the messages: enter and leave times of the send and of the receive.
    fn pairs(&self) -> impl Iterator<Item = ((u64, u64), (u64, u64))> {
        self.sent.iter().flat_map(|(pair, sends)| {
            let receives = &self.received[pair];
            assert_eq!(sends.len(), receives.len());
            sends.iter().copied().zip(receives.iter().copied())
        })
    }

    /// Finds the messages that were received before they were sent.
    pub(crate) fn violations(&self) -> Violations {
        let mut found = Violations::default();
        for ((_, sent), (_, received)) in self.pairs() {
            found.messages += 1;
            found.count += usize::from(received < sent);
            found.largest = found.largest.max(sent.saturating_sub(received));
        }
        found
    }

    /// Returns the seconds that receives waited for sends that began later.
    pub(crate) fn late(&self) -> f64 {
        let wait = |((begin, _), (enter, leave)): ((u64, u64), (u64, u64))| {
            begin.min(leave).saturating_sub(enter)
        };
        self.pairs().map(wait).sum::<u64>() as f64 / 1e9
    }
}

/// Returns the waits that the analysis finds, in seconds by pattern.
pub(crate) fn waits(lab: &Lab) -> BTreeMap<String, f64> {
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

/// Returns a number from the properties of an archive.
pub(crate) fn property(trace: &Trace, name: &str) -> u64 {
    let value = trace.archive.anchor().property(name);
    value.unwrap_or_else(|| panic!("{name} is missing")).parse().unwrap()
}

/// Returns the clock offsets of a location, as the archive contains them.
fn offsets(trace: &Trace, location: LocationRef) -> Vec<(u64, i64)> {
    let mut reader = trace.archive.local_definitions(location).unwrap().unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        if let Definition::ClockOffset(it) = record {
            all.push((it.time.0, it.offset));
        }
    }
    all
}

/// Returns `true` if the clocks were compared in every half period of the drift. A machine that pauses for that long
/// proves nothing.
pub(crate) fn is_followed(trace: &Trace, skew: Skew) -> bool {
    let gaps = |location| {
        let all = offsets(trace, location);
        all.windows(2).map(|pair| pair[1].0 - pair[0].0).skip(1).max().unwrap_or(0)
    };
    let longest = trace.locations().into_iter().map(|it| gaps(it.0)).max().unwrap_or(0);
    let followed = i128::from(longest) < skew.turn / 2;
    if !followed {
        eprintln!("skipped: {longest} ns between two measurements");
    }
    followed
}

/// Returns the largest difference between times of a trace and true times, if clocks are corrected by the offsets that
/// `keep` selects. The program and the call that starts its runtime began before clocks could be compared.
pub(crate) fn furthest(trace: &Trace, skew: Skew, keep: impl Fn(usize, usize) -> bool) -> u64 {
    let mut furthest = 0;
    for (location, rank) in trace.locations() {
        let all = offsets(trace, location);
        let mut clock = Clock::default();
        for (at, (time, offset)) in all.iter().enumerate().filter(|(at, _)| keep(*at, all.len())) {
            let (time, offset) = (Time(*time), *offset);
            assert!(clock.push(&ClockOffset { time, offset, standard_deviation: 0.0 }), "{at}");
        }
        let maps = trace.archive.local_tables(location).maps;
        let tables = LocalTables { maps, ..LocalTables::default() };
        let mut reader = trace.archive.events_with(location, &tables, otf2::read::WINDOW).unwrap();
        for _ in 0..2 {
            assert!(matches!(reader.next().unwrap().unwrap().event, Event::Enter(_)));
        }
        while let Some(record) = reader.next().unwrap() {
            let truth = skew.truth(rank, record.time.0);
            furthest = furthest.max(clock.correct(record.time).0.abs_diff(truth));
        }
    }
    furthest
}

/// A clock whose drift changes its sign is followed by comparing clocks during the run, in barriers and other
/// collectives.
#[test]
fn clocks_that_do_not_drift_evenly_are_followed() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
    // Far more than any clock, so that it shows beside what a busy machine adds to round trips.
    let skew =
        Skew { offset: 3_000_000, drift: 70_000_000, turn: 1_200_000_000, ..Skew::default() };
    let command = [program.as_os_str(), "800".as_ref(), "2000".as_ref(), "3".as_ref()];
    let variables = [skew.variable(), "DWELL_CLOCK_PERIOD=30ms".into()];
    let variables: Vec<&OsStr> = variables.iter().map(OsString::as_os_str).collect();
    let run = mpi.measured_with(&lab, 3, &variables, &command);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "token 1600\n"), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let residual = property(&trace, "DWELL::CLOCK_RESIDUAL");
    let counts = trace.locations().into_iter().map(|it| offsets(&trace, it.0).len());
    let counts: Vec<usize> = counts.collect();
    if !is_followed(&trace, skew) {
        return;
    }
    let followed = furthest(&trace, skew, |_, _| true);
    let ends = furthest(&trace, skew, |at, len| at == 0 || at + 1 == len);
    eprintln!(
        "{counts:?} offsets, off by {followed} ns, by {ends} ns with the first and the last, residual {residual} ns"
    );
    // On a busy machine round trips are long, and the residual states how far wrong times may be because of that.
    assert!(followed <= residual && followed < ends, "{followed}, {residual}, {ends}");

    let (found, right) =
        (waits(&lab)["late_sender"], Messages::read(&trace, Times::True(skew)).late());
    let doubt = 2400.0 * 2.0 * residual as f64 / 1e9;
    assert!((found - right).abs() <= doubt, "{found} and {right}, in doubt {doubt}");
}

/// Processes compare clocks, here on a duplicate of `MPI_COMM_WORLD`, whatever each of them records: nothing for now,
/// some groups of calls, until the budget is used up, until the disk is full, no thread at all.
#[test]
fn processes_meet_whatever_they_record() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let Some(disk) = Small::mount(&lab, "500k") else { return };
    let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
    let script = lab.path("each.sh");
    let each = format!(
        "#!/bin/sh\ncase $OMPI_COMM_WORLD_RANK$PMI_RANK in\n\
             1) export DWELL_PAUSED=on DWELL_CALLS=-collective ;;\n\
             2) export DWELL_MAX_SIZE=300K/process ;;\n\
             3) export DWELL_SCRATCH={} ;;\n\
             4) export DWELL_MEMORY=1 DWELL_FOR=1ms ;;\nesac\nexec \"$@\"\n",
        disk.0.display()
    );
    fs::write(&script, each).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let command = [program.as_os_str(), "300".as_ref(), "0".as_ref(), "-1".as_ref(), "40".as_ref()];
    let variables = ["DWELL_TEST_SKEW=3000000,200000", "DWELL_CLOCK_PERIOD=20ms"];
    let before = [&variables.map(OsStr::new)[..], &[script.as_os_str()]].concat();
    let chunk = ["DWELL_CHUNK_SIZE=256K".as_ref()];
    let run = mpi.measured_with(&lab, 5, &[&chunk[..], &before].concat(), &command);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "token 1200\n"), "{run:?}");
    assert!(run.stderr.contains("No space left on device"), "{run:?}");
    assert!(run.stderr.contains("--max-size") && run.stderr.contains("--memory"), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let met = trace.counts.get(&(0, "Dwell compares clocks".into())).map(|it| it.calls);
    eprintln!("{}: met {met:?} times", mpi.name());
    assert!(met.is_some_and(|times| times >= 3), "{met:?}, {run:?}");
}

/// Comparing clocks takes a small part of the run however often it is asked for, even where processes share cores.
#[test]
fn comparing_clocks_takes_a_small_part_of_the_run() {
    let Some(mpi) = Mpi::named("mpicc.mpich") else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
    let command = [program.as_os_str(), "1500".as_ref(), "0".as_ref(), "1".as_ref()];
    let variables = ["DWELL_TEST_SKEW=1000000,1000", "DWELL_CLOCK_PERIOD=1ms"].map(OsStr::new);
    let run = mpi.measured_with(&lab, 3, &variables, &command);
    assert_eq!(run.code, Some(0), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let compared = calls(&trace, Times::Written, &["Dwell compares clocks"]);
    let (mut first, mut last) = (BTreeMap::new(), BTreeMap::new());
    each(&trace, Times::Written, |rank, time, _| {
        first.entry(rank).or_insert(time);
        last.insert(rank, time);
    });
    for (rank, meetings) in compared {
        let spent: u64 = meetings.iter().map(|(enter, leave)| leave - enter).sum();
        let share = spent as f64 / (last[&rank] - first[&rank]) as f64;
        eprintln!("rank {rank}: {} meetings, {:.2} % of the run", meetings.len(), 100.0 * share);
        assert!(meetings.len() >= 3, "{meetings:?}");
        // Comparisons take 1 %; in between rank 0 says four times when the next one is.
        assert!(share < 0.05, "rank {rank}: {share}");
    }
}

/// Returns how long the first process waited for the last, in seconds: at barriers, and for a flag.
fn one_sided(trace: &Trace, times: Times) -> (f64, f64) {
    let barriers = calls(trace, times, &["shmem_barrier_all", "shmem_finalize"]);
    let (at_0, at_1) = (barriers[&0].iter(), barriers[&1].iter());
    let waited = at_0.zip(at_1).map(|(one, other)| one.0.abs_diff(other.0)).sum::<u64>();
    let waits = calls(trace, times, &["shmem_long_wait_until"]).remove(&1).unwrap();
    let raised = calls(trace, times, &["shmem_long_p"]).remove(&0).unwrap();
    assert_eq!((waits.len(), raised.len()), (5, 5));
    let late = waits
        .iter()
        .zip(raised)
        .map(|((enter, leave), (raised, _))| raised.min(*leave).saturating_sub(*enter));
    (waited as f64 / 1e9, late.sum::<u64>() as f64 / 1e9)
}

/// Waits for signals and at barriers of OpenSHMEM are as long as with correct clocks.
#[test]
fn waits_of_openshmem_by_clocks_that_differ() {
    let Some(lab) = Lab::open() else { return };
    let program = lab.compile("tests/programs/delays.c", &["-fno-optimize-sibling-calls"]);
    let skew = Skew { offset: 30_000_000, drift: 20_000_000, turn: 800_000_000, ..Skew::default() };
    let variable = skew.variable();
    let options = ["-x", variable.to_str().unwrap(), "-x", "DWELL_CLOCK_PERIOD=40ms"];
    let words = ["40", "barrier", "signal"].map(OsStr::new);
    let run = lab.measured(2, &options, &[&[program.as_os_str()], &words[..]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let residual = property(&trace, "DWELL::CLOCK_RESIDUAL");
    if !is_followed(&trace, skew) {
        return;
    }
    let furthest = furthest(&trace, skew, |_, _| true);
    assert!(furthest <= residual, "{furthest} and {residual}");
    let right = one_sided(&trace, Times::True(skew));
    let found = waits(&lab);
    let found = (found["barrier_wait"], found["late_signal"]);
    let barriers = calls(&trace, Times::Corrected, &["shmem_barrier_all"])[&0].len() as f64;
    let doubt = 2.0 * residual as f64 / 1e9;
    eprintln!(
        "barriers and signals: {found:?} s, by true clocks {right:?} s, residual {residual} ns"
    );
    assert!(
        (found.0 - right.0).abs() <= (barriers + 1.0) * doubt,
        "{found:?}, {right:?}, {residual}"
    );
    assert!((found.1 - right.1).abs() <= 5.0 * doubt, "{found:?}, {right:?}, {residual}");
    assert!(right.0 > 0.15 && right.1 > 0.1, "five waits of 40 ms each: {right:?}");
    // Written as they were, clocks say something else.
    let written = one_sided(&trace, Times::Written);
    assert!((written.0 - right.0).abs() > 0.05, "{written:?}, {right:?}");
    lab.accepted_by_otf2_print(&lab.experiment());
}

#[test]
fn skewed_and_drifting_clocks_are_put_right() {
    let Some(mpi) = Mpi::of_the_system().into_iter().next() else { return };
    let lab = Lab::bare();
    let program = mpi.compile(&lab, "tests/programs/mpi_ring.c", &[]);
    let command = [program.as_os_str(), OsStr::new("150"), OsStr::new("2000")];
    let skew = Skew { offset: 3_000_000, drift: 200_000, turn: 0, ..Skew::default() };
    let run = mpi.measured_with(&lab, 4, &[&skew.variable()], &command);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "token 450\n"), "{run:?}");
    let trace = Trace::read(&lab.experiment());
    let residual = property(&trace, "DWELL::CLOCK_RESIDUAL");
    let before = Messages::read(&trace, Times::Written).violations();
    let after = Messages::read(&trace, Times::Corrected).violations();
    eprintln!("before {before:?}, after {after:?}, residual {residual} ns");
    assert_eq!(before.messages, 600);
    assert!(before.count >= 140 && before.largest > 8_000_000, "{before:?}");
    // Both sides may be wrong by that much.
    assert!(after.largest <= 2 * residual, "{after:?}, {residual} ns");
    // A busy machine makes round trips long, but not as long as clocks are wrong.
    assert!(residual < before.largest, "{residual} ns, {before:?}");
    assert!(property(&trace, "DWELL::LATENCY") <= residual);

    // What the analysis finds is what it would have found by clocks that are right.
    let (found, right) =
        (waits(&lab)["late_sender"], Messages::read(&trace, Times::True(skew)).late());
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
