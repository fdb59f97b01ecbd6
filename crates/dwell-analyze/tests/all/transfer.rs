//! Transfer and unexplained time of random archives equal an exhaustive search, to the nanosecond, for each location.
//!
//! Processes get from each other, ask for their number, and meet in barriers. No call serves others, so nobody waits for
//! progress, and the waits of a call are those of its barrier. The search compares every call with every other, and shares
//! nothing with the accounts of the analysis.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::Quantity;
use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteBlocking};
use otf2::id::{MatchingId, Rank, RegionRef};

use crate::support::{Events, SEQUENCE, Thread, WINDOW as win, World, barrier_end};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const GET_NBI: RegionRef = RegionRef(2);
const MY_PE: RegionRef = RegionRef(3);
const BARRIER: RegionRef = RegionRef(4);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_get", "layer=shmem operation=get progress=never"),
    ("shmem_get_nbi", "layer=shmem operation=get mode=nonblocking progress=never"),
    ("shmem_my_pe", "layer=shmem operation=query progress=never"),
    ("shmem_barrier_all", "layer=shmem operation=barrier progress=never"),
];

const PER_NODE: usize = 2;

/// Calls that are compared: the function or kind of operation, the distance of the target, the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sort {
    what: RegionRef,
    distance: Option<u32>,
    size: u32,
}

/// A call, and what is left of it beside its waits.
#[derive(Clone, Copy, Debug)]
struct Call {
    process: usize,
    sort: Sort,
    rest: u64,
}

struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0.u64(..most)
    }

    /// A time of any magnitude, up to about a millisecond.
    fn time(&mut self) -> u64 {
        let bits = self.below(20);
        (1 << bits) + self.below(1 << bits)
    }
}

/// Returns the number of times that a number can be divided by 8 before it is 0.
fn eights(mut bytes: u64) -> u32 {
    let mut count = 0;
    while bytes > 0 {
        bytes /= 8;
        count += 1;
    }
    count
}

/// Generates a program, and returns the rests of its calls.
fn program(seed: u64) -> (Vec<Vec<Thread>>, Vec<Call>) {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let processes = 2 + random.below(5) as usize;
    let mut threads: Vec<Thread> =
        (0..processes).map(|_| Thread::default().at(0, Enter { region: MAIN })).collect();
    let mut now = vec![0; processes];
    let mut calls = Vec::new();
    let mut id = 0;
    for sequence in 0..2 + random.below(12) {
        for process in 0..processes {
            let mut thread = std::mem::take(&mut threads[process]);
            for _ in 0..random.below(8) {
                let enter = now[process] + random.time();
                let length = random.time();
                let leave = enter + length;
                now[process] = leave;
                let sort = if random.below(3) == 0 {
                    thread = thread.call(MY_PE, enter, leave);
                    Sort { what: MY_PE, distance: None, size: 0 }
                } else {
                    let region = if random.below(3) == 0 { GET_NBI } else { GET };
                    let target = random.below(processes as u64) as usize;
                    let bytes = [0, 1, 7, 8, 64, 500, 512, 1 << 20][random.below(8) as usize];
                    id += 1;
                    let (remote, matching_id) = (Rank(target as u32), MatchingId(id));
                    thread = thread
                        .at(enter, Enter { region })
                        .at(enter, RmaGet { win, remote, bytes, matching_id });
                    if region == GET {
                        thread = thread.at(leave, RmaOpCompleteBlocking { win, matching_id });
                    }
                    thread = thread.at(leave, Leave { region });
                    let distance = match target {
                        it if it == process => 0,
                        it if it / PER_NODE == process / PER_NODE => 1,
                        _ => 2,
                    };
                    Sort { what: region, distance: Some(distance), size: eights(bytes) }
                };
                calls.push(Call { process, sort, rest: length });
            }
            threads[process] = thread;
        }
        let enters: Vec<u64> = now.iter().map(|it| it + random.time()).collect();
        let last = *enters.iter().max().unwrap();
        let ends: Vec<u64> = enters.iter().map(|_| last + random.time()).collect();
        let first_end = *ends.iter().min().unwrap();
        for process in 0..processes {
            let (enter, end) = (enters[process], ends[process]);
            let leave = end + random.below(50);
            let record = barrier_end(win);
            threads[process] = std::mem::take(&mut threads[process])
                .at(enter, Enter { region: BARRIER })
                .with(end, (SEQUENCE, sequence), record)
                .at(leave, Leave { region: BARRIER });
            now[process] = leave;
            // It waits for the last to come, and then leaves later than the first.
            let rest = (leave - enter) - (last - enter) - (end - first_end);
            let sort = Sort { what: BARRIER, distance: None, size: 0 };
            calls.push(Call { process, sort, rest });
        }
    }
    let end = now.iter().max().unwrap() + 1;
    let threads = threads.into_iter().map(|it| vec![it.at(end, Leave { region: MAIN })]);
    (threads.collect(), calls)
}

/// Returns the fastest tenth of some rests, rounded down to 5 significant bits, or `None` if there are fewer than 10.
fn tenth(mut rests: Vec<u64>) -> Option<u64> {
    rests.sort_unstable();
    let nth = rests.len().div_ceil(10);
    let it = *rests.get(nth.checked_sub(1)?).filter(|_| rests.len() >= 10)?;
    let bits = 64 - it.leading_zeros();
    let dropped = bits.saturating_sub(5);
    Some(it >> dropped << dropped)
}

/// Returns transfer, unexplained time, and the part of it in too few calls, for each process.
fn search(processes: usize, calls: &[Call]) -> Vec<[u64; 3]> {
    let mut found = vec![[0; 3]; processes];
    for call in calls {
        let rests = |alike: &dyn Fn(&Sort) -> bool| -> Vec<u64> {
            calls.iter().filter(|it| alike(&it.sort)).map(|it| it.rest).collect()
        };
        let usual = tenth(rests(&|it| *it == call.sort)).or_else(|| {
            tenth(rests(&|it| it.what == call.sort.what && it.size <= call.sort.size + 1))
        });
        let transfer = usual.map_or(0, |it| it.min(call.rest));
        let [all, unexplained, too_few] = &mut found[call.process];
        *all += transfer;
        *unexplained += call.rest - transfer;
        *too_few += if usual.is_none() { call.rest } else { 0 };
    }
    found
}

#[test]
fn random_archives_equal_a_search() {
    let quantities = [Quantity::Transfer, Quantity::Unexplained, Quantity::TooFew];
    let mut totals = [0; 3];
    for seed in 0..40 {
        let (processes, calls) = program(seed);
        let expected = search(processes.len(), &calls);
        let world = World { per_node: PER_NODE, ..World::new(REGIONS, &processes) };
        world.analyzed(|analysis| {
            for (process, expected) in expected.iter().enumerate() {
                let found = quantities.map(|what| analysis.at_location(process, what));
                assert_eq!(found, *expected, "seed {seed}, process {process}");
            }
        });
        for of in &expected {
            totals.iter_mut().zip(of).for_each(|(sum, it)| *sum += it);
        }
    }
    assert!(totals.iter().all(|it| *it > 0), "{totals:?}");
}
