//! Predictions of random programs, held against programs that were run with the change.
//!
//! The programs compute, signal each other, get from each other, hold locks and meet at barriers. [`run`] executes
//! them one nanosecond after the other, by rules that fit on a page, and shares no code with the analysis. One run makes the
//! archive that the prediction is made from; the run of the changed program says what is right, to the nanosecond.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeSet, VecDeque};

use dwell_analyze::{Change, Network, Options, Selection, analyze};
use dwell_model::waits::Wait;
use otf2::enums::LockType;
use otf2::event::{
    Enter, Leave, RmaAcquireLock, RmaGet, RmaOpCompleteBlocking, RmaPut, RmaReleaseLock,
    RmaWaitChange,
};
use otf2::id::{LockId, MatchingId, Rank};

use crate::support::{Events, OFFSET, SEQUENCE, Thread, WINDOW as win, World, barrier_end};
use crate::what_if::{BARRIER, CLEAR_LOCK, GET, MAIN, PUT, REGIONS, RELAX, SET_LOCK, WAIT_UNTIL};

/// Times in nanoseconds that calls take after the last thing they wait for.
const AFTER_SIGNAL: u64 = 7;
const AFTER_BARRIER: u64 = 11;
const AFTER_LOCK: u64 = 5;
const SHORT_CALL: u64 = 2;
const GETS_TAKE: u64 = 23;

/// Size of a get.
const BYTES: u64 = 1_000;

/// What a process does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Computes in `relax`.
    Relax(u64),
    /// Computes outside of `relax`.
    Main(u64),
    /// Adds 1 to the signals of a process.
    Signal(usize),
    /// Waits for the next signal.
    Wait,
    /// Gets from a process, which has to be in a wait or a barrier meanwhile.
    Get(usize),
    /// Waits for all processes.
    Barrier,
    /// Waits for the lock.
    Lock,
    Unlock,
}

/// How a program is run.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// Factor of the time in `relax`.
    relax: f64,
    /// Time that a get takes after the target has come.
    get: u64,
    /// Gets need no help.
    progress: bool,
}

const RECORDED: Conditions = Conditions { relax: 1.0, get: GETS_TAKE, progress: false };

/// A process that is being run.
#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    /// Enter of the current step, and its end once that is known.
    begin: u64,
    end: Option<u64>,
    signals: u64,
    ended: bool,
}

/// Runs a program, and returns the events of its processes.
fn run(program: &[Vec<Step>], conditions: Conditions) -> Vec<Thread> {
    let mut threads: Vec<Thread> =
        program.iter().map(|_| Thread::default().at(0, Enter { region: MAIN })).collect();
    let mut states: Vec<State> = program
        .iter()
        .map(|steps| State { steps: steps.iter().copied().collect(), ..State::default() })
        .collect();
    let (mut barriers, mut queue) = (0, VecDeque::new());
    let mut holder: Option<usize> = None;
    let mut began = vec![false; program.len()];
    for now in 0.. {
        // Several steps may begin and end at one instant.
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for me in 0..states.len() {
                let Some(&step) = states[me].steps.front() else {
                    if !states[me].ended {
                        states[me].ended = true;
                        let thread = std::mem::take(&mut threads[me]);
                        threads[me] = thread.at(now, Leave { region: MAIN });
                    }
                    continue;
                };
                if !began[me] {
                    began[me] = true;
                    goes_on = true;
                    (states[me].begin, states[me].end) = (now, None);
                    match step {
                        Step::Relax(time) => {
                            let time = (time as f64 * conditions.relax).round() as u64;
                            states[me].end = Some(now + time);
                        }
                        Step::Main(time) => states[me].end = Some(now + time),
                        Step::Signal(target) => {
                            states[me].end = Some(now + SHORT_CALL);
                            states[target].signals += 1;
                        }
                        Step::Unlock => {
                            holder = None;
                            states[me].end = Some(now + SHORT_CALL);
                        }
                        Step::Lock => queue.push_back(me),
                        Step::Wait | Step::Get(_) | Step::Barrier => {}
                    }
                }
                if states[me].end.is_none() {
                    let end = match step {
                        Step::Wait if states[me].signals > 0 => {
                            states[me].signals -= 1;
                            Some(now + AFTER_SIGNAL)
                        }
                        Step::Get(target) => {
                            let serves = matches!(
                                states[target].steps.front(),
                                Some(Step::Wait | Step::Barrier)
                            );
                            let is_served = serves && began[target] || states[target].ended;
                            (conditions.progress || is_served).then_some(now + conditions.get)
                        }
                        Step::Lock if holder.is_none() && queue.front() == Some(&me) => {
                            queue.pop_front();
                            holder = Some(me);
                            Some(now + AFTER_LOCK)
                        }
                        _ => None,
                    };
                    goes_on |= end.is_some();
                    states[me].end = end;
                }
                if states[me].end == Some(now) {
                    goes_on = true;
                    began[me] = false;
                    states[me].steps.pop_front();
                    let thread = std::mem::take(&mut threads[me]);
                    threads[me] = record(thread, step, states[me].begin, now, barriers);
                }
            }
            let arrived = |it: (&State, &bool)| {
                *it.1 && it.0.end.is_none() && matches!(it.0.steps.front(), Some(Step::Barrier))
            };
            if states.iter().zip(&began).all(arrived) {
                goes_on = true;
                barriers += 1;
                states.iter_mut().for_each(|it| it.end = Some(now + AFTER_BARRIER));
            }
        }
        if states.iter().all(|it| it.ended) {
            return threads;
        }
        assert!(now < 1_000_000, "the program hangs");
    }
    unreachable!("the range has no end")
}

/// Adds a step to the events of a process. `barriers` is the number of barriers so far.
fn record(thread: Thread, step: Step, enter: u64, leave: u64, barriers: u64) -> Thread {
    let matching_id = MatchingId(0);
    let call = |region| thread.clone().at(enter, Enter { region });
    match step {
        Step::Main(_) => thread,
        Step::Relax(_) => call(RELAX).at(leave, Leave { region: RELAX }),
        Step::Signal(target) => {
            let put = RmaPut { win, remote: Rank(target as u32), bytes: 8, matching_id };
            call(PUT)
                .with(enter, (OFFSET, 64), put)
                .at(leave, RmaOpCompleteBlocking { win, matching_id })
                .at(leave, Leave { region: PUT })
        }
        Step::Wait => call(WAIT_UNTIL)
            .with(enter, (OFFSET, 64), RmaWaitChange { win })
            .at(leave, Leave { region: WAIT_UNTIL }),
        Step::Get(target) => {
            let get = RmaGet { win, remote: Rank(target as u32), bytes: BYTES, matching_id };
            call(GET)
                .at(enter, get)
                .at(leave, RmaOpCompleteBlocking { win, matching_id })
                .at(leave, Leave { region: GET })
        }
        Step::Barrier => {
            let end = barrier_end(win);
            call(BARRIER)
                .with(leave, (SEQUENCE, barriers - 1), end)
                .at(leave, Leave { region: BARRIER })
        }
        Step::Lock => {
            let lock_type = LockType::Exclusive;
            let acquire = RmaAcquireLock { win, remote: Rank(0), lock_id: LockId(5), lock_type };
            call(SET_LOCK).at(leave, acquire).at(leave, Leave { region: SET_LOCK })
        }
        Step::Unlock => call(CLEAR_LOCK)
            .at(enter, RmaReleaseLock { win, remote: Rank(0), lock_id: LockId(5) })
            .at(leave, Leave { region: CLEAR_LOCK }),
    }
}

/// Makes a random program of 3 or 4 processes in some rounds, each ended by a barrier.
fn program(seed: u64, has_locks: bool) -> Vec<Vec<Step>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let processes = 3 + random.usize(0..2);
    let mut program = vec![Vec::new(); processes];
    for _ in 0..4 {
        let kind = random.u64(0..if has_locks { 4 } else { 3 });
        // In a chain each process waits for the one before it.
        for (me, steps) in program.iter_mut().enumerate() {
            steps.push(Step::Main(random.u64(1..40)));
            steps.push(Step::Relax(2 * random.u64(20..1_500)));
            match kind {
                0 if me == 0 => steps.push(Step::Signal(1)),
                0 => {
                    steps.push(Step::Wait);
                    steps.push(Step::Relax(2 * random.u64(20..800)));
                    if me + 1 < processes {
                        steps.push(Step::Signal(me + 1));
                    }
                }
                // Nobody gets from a process that gets from it, so that none waits for ever.
                1 if me + 1 < processes => {
                    let target = random.usize(me + 1..processes);
                    steps.push(Step::Get(target));
                    steps.push(Step::Main(random.u64(1..300)));
                    steps.push(Step::Get(target));
                }
                1 | 2 => {}
                _ => {
                    steps.push(Step::Lock);
                    steps.push(Step::Relax(2 * random.u64(20..400)));
                    steps.push(Step::Unlock);
                }
            }
            steps.push(Step::Relax(2 * random.u64(20..500)));
            steps.push(Step::Barrier);
        }
    }
    program
}

/// Returns the length of a run.
fn length(threads: Vec<Thread>) -> u64 {
    written(threads, |analysis, _| analysis.length())
}

/// Writes an archive, analyses it, and hands over the analysis with the log.
fn written<T>(
    threads: Vec<Thread>,
    use_it: impl FnOnce(&dwell_analyze::Analysis, &std::path::Path) -> T,
) -> T {
    let processes: Vec<Vec<Thread>> = threads.into_iter().map(|it| vec![it]).collect();
    let world = World::new(REGIONS, &processes);
    let (directory, archive) = world.open();
    let log = directory.path().join("log");
    let mut options = Options::default();
    (options.threads, options.log) = (1, Some(log.clone()));
    let analysis = analyze(&archive, &options, &|_| {}).unwrap();
    use_it(&analysis, &log)
}

/// Returns `true` if two processes request the lock at the same time. Which of them gets it is chance, and a run in
/// which it was the other has calls of other lengths.
fn requests_meet(program: &[Vec<Step>]) -> bool {
    let mut known = BTreeSet::new();
    for steps in program {
        let (mut barriers, mut time) = (0, 0);
        for step in steps {
            match step {
                Step::Relax(it) | Step::Main(it) => time += it,
                Step::Barrier => (barriers, time) = (barriers + 1, 0),
                Step::Lock if !known.insert((barriers, time)) => return true,
                _ => {}
            }
        }
    }
    false
}

/// Predicts changes of random programs, and runs them with the changes.
fn check(seeds: std::ops::Range<u64>, has_locks: bool) {
    let relax = || Selection::Named("relax".into());
    let network = |latency, bandwidth| Change::Network(Network { latency, bandwidth });
    let progress = Change::Without(Wait::WaitForProgress, None);
    let several = Change::Without(Wait::WaitForProgressMulti, None);
    let cases: [(&str, Vec<Change>, Conditions); 6] = [
        ("unchanged", vec![], RECORDED),
        ("half", vec![Change::Scale(relax(), 0.5)], Conditions { relax: 0.5, ..RECORDED }),
        ("double", vec![Change::Scale(relax(), 2.0)], Conditions { relax: 2.0, ..RECORDED }),
        ("none", vec![Change::Scale(relax(), 0.0)], Conditions { relax: 0.0, ..RECORDED }),
        ("progress", vec![progress, several], Conditions { progress: true, ..RECORDED }),
        // 1,000 bytes take 2,000.
        ("network", vec![network(100, 0.5e9)], Conditions { get: 2_100, ..RECORDED }),
    ];
    for seed in seeds {
        let program = program(seed, has_locks);
        if requests_meet(&program) {
            continue;
        }
        let recorded = run(&program, RECORDED);
        let truths: Vec<u64> = cases.iter().map(|it| length(run(&program, it.2))).collect();
        written(recorded, |analysis, log| {
            let what_if = analysis.what_if(log).unwrap();
            // Without a wait for progress nothing in the run tells whether gets need their targets.
            let findings = analysis.findings();
            let has_gets = program.iter().flatten().any(|it| matches!(it, Step::Get(_)));
            let tells = !has_gets || findings.iter().any(|it| it.pattern == "wait_for_progress");
            for ((name, changes, _), truth) in cases.iter().zip(truths) {
                let found = what_if.predict(changes).unwrap().predicted.unwrap();
                assert!(
                    found.expected == truth || !tells,
                    "seed {seed}, {name}: {truth} {found:?}\n{program:?}"
                );
                assert!(
                    (found.low..=found.high).contains(&truth),
                    "seed {seed}, {name}: {found:?}"
                );
            }
        });
    }
}

#[test]
fn programs_without_locks() {
    check(0..40, false);
}

#[test]
fn programs_with_locks() {
    check(100..140, true);
}
