//! Imbalance before barriers: by hand, and against a search in random programs. Times are in nanoseconds.
//!
//! The search knows how long each process computed because the programs are made from these times, and shares nothing
//! with the analysis, which has to find them from enters and leaves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::Quantity;
use dwell_model::waits::Wait;
use otf2::event::{Enter, Leave};
use otf2::id::RegionRef;

use crate::support::{Events, SEQUENCE, Thread, WINDOW as win, World, barrier_end};

const MAIN: RegionRef = RegionRef(0);
const MY_PE: RegionRef = RegionRef(1);
const BARRIER: RegionRef = RegionRef(2);
const SOLVE: RegionRef = RegionRef(3);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_my_pe", "layer=shmem operation=query progress=never"),
    ("shmem_barrier_all", "layer=shmem operation=barrier progress=never"),
    ("solve", ""),
];

/// What a process does before a barrier: it computes, is in other calls of the runtime, and computes again.
#[derive(Clone, Copy)]
struct Step {
    computes: u64,
    calls: u64,
    computes_again: u64,
}

/// Returns the threads of a program, and the imbalance of each process. The outer list has the steps of each barrier, by
/// process.
fn program(barriers: &[Vec<Step>]) -> (Vec<Vec<Thread>>, Vec<u64>) {
    let processes = barriers[0].len();
    let begin = || Thread::default().at(0, Enter { region: MAIN });
    let mut threads: Vec<Thread> = (0..processes).map(|_| begin()).collect();
    let (mut now, mut imbalance) = (vec![0; processes], vec![0; processes]);
    for (sequence, steps) in (0..).zip(barriers) {
        let computed: Vec<u64> = steps.iter().map(|it| it.computes + it.computes_again).collect();
        let enters: Vec<u64> =
            (0..processes).map(|at| now[at] + computed[at] + steps[at].calls).collect();
        let last = (0..processes).max_by_key(|at| (enters[*at], *at)).unwrap();
        let leave = enters[last] + 10;
        for at in 0..processes {
            let Step { computes, calls, .. } = steps[at];
            let call = now[at] + computes;
            let end = barrier_end(win);
            let mut thread = std::mem::take(&mut threads[at]);
            // Functions of the program are computing, whether they contain calls or not.
            thread = thread.at(now[at], Enter { region: SOLVE });
            if calls > 0 {
                thread = thread.call(MY_PE, call, call + calls);
            }
            threads[at] = thread
                .at(enters[at], Leave { region: SOLVE })
                .at(enters[at], Enter { region: BARRIER })
                .with(leave, (SEQUENCE, sequence), end)
                .at(leave, Leave { region: BARRIER });
            let wait = enters[last] - enters[at];
            imbalance[at] += computed[last].saturating_sub(computed[at]).min(wait);
            now[at] = leave;
        }
    }
    let end = now[0] + 1;
    let threads = threads.into_iter().map(|it| vec![it.at(end, Leave { region: MAIN })]);
    (threads.collect(), imbalance)
}

/// Checks the imbalance of each process, cut at any time and with any number of threads. Returns the sum.
fn check(barriers: &[Vec<Step>], name: &str) -> u64 {
    let (processes, expected) = program(barriers);
    let world = World { per_node: 2, ..World::new(REGIONS, &processes) };
    world.analyzed(|analysis| {
        for (at, expected) in expected.iter().enumerate() {
            let of = |wait| analysis.at_location(at, Quantity::Wait(wait));
            assert_eq!(of(Wait::BarrierImbalance), *expected, "{name}, process {at}");
            assert!(of(Wait::BarrierImbalance) <= of(Wait::BarrierWait), "{name}, process {at}");
        }
    });
    expected.iter().sum()
}

#[test]
fn only_computing_is_imbalance() {
    let step = |computes, calls, computes_again| Step { computes, calls, computes_again };
    // Process 1 comes 70 later: it computed 30 longer, and was in other calls for 40.
    assert_eq!(check(&[vec![step(100, 0, 0), step(60, 40, 70)]], "both"), 30);
    // It comes later only because of its calls, although it computed less.
    assert_eq!(check(&[vec![step(100, 0, 0), step(20, 200, 10)]], "calls"), 0);
    // It computed 100 longer, but the other comes only 40 before it.
    assert_eq!(check(&[vec![step(0, 60, 0), step(100, 0, 0)]], "less than the wait"), 40);
    // Each barrier counts from the one before.
    let barriers = [vec![step(100, 0, 0), step(0, 0, 0)], vec![step(0, 0, 0), step(100, 0, 0)]];
    assert_eq!(check(&barriers, "two"), 200);
}

#[test]
fn random_programs_equal_a_search() {
    let mut seed = 1u64;
    let mut below = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let mut sum = 0;
    for program in 0..30 {
        let processes = 2 + below(5);
        let barriers: Vec<Vec<Step>> = (0..1 + below(6))
            .map(|_| {
                let step = |_| Step {
                    computes: below(1000),
                    calls: below(4) * below(500),
                    computes_again: below(300),
                };
                (0..processes).map(step).collect()
            })
            .collect();
        sum += check(&barriers, &format!("program {program}"));
    }
    assert!(sum > 0);
}
