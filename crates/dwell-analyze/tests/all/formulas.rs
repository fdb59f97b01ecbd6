//! Small programs with closed forms that `dwell synth` does not have: n processes, each later than the one before by a
//! fixed time. Results are equal to the nanosecond.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Analysis, Confidence, Quantity as Q};
use dwell_model::waits::Wait;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaSyncLevel};
use otf2::event::{
    Enter, Leave, RmaAcquireLock, RmaCollectiveEnd, RmaGet, RmaOpCompleteRemote, RmaPut,
    RmaReleaseLock, RmaRequestLock,
};
use otf2::id::{LockId, MatchingId, Rank, RegionRef};

use crate::support::{Events, SEQUENCE, Thread, WINDOW as win, World};

const MAIN: RegionRef = RegionRef(0);
const GET_NBI: RegionRef = RegionRef(1);
const PUT_NBI: RegionRef = RegionRef(2);
const QUIET: RegionRef = RegionRef(3);
const SET_LOCK: RegionRef = RegionRef(4);
const CLEAR_LOCK: RegionRef = RegionRef(5);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_get_nbi", "layer=shmem operation=get mode=nonblocking progress=never"),
    ("shmem_put_nbi", "layer=shmem operation=put mode=nonblocking progress=never"),
    ("shmem_quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
    ("shmem_set_lock", "layer=shmem operation=lock progress=never"),
    ("shmem_clear_lock", "layer=shmem operation=unlock progress=never"),
    ("shmem_barrier_all", "layer=shmem operation=barrier progress=always completes=remote"),
    ("shmem_sync_all", "layer=shmem operation=sync progress=always"),
    ("shmem_sum_to_all", "layer=shmem operation=all_reduce progress=always"),
    ("shmem_broadcast", "layer=shmem operation=broadcast progress=always"),
    ("reduce", "layer=shmem operation=reduce progress=always"),
    ("scan", "layer=shmem operation=scan progress=always"),
    ("shmem_malloc", "layer=shmem operation=allocate progress=always"),
    ("shmem_free", "layer=shmem operation=deallocate progress=always"),
];

const END: u64 = 200_000_000;

fn thread() -> Thread {
    Thread::default().at(0, Enter { region: MAIN })
}

fn analyzed(threads: Vec<Thread>, check: impl Fn(&Analysis)) {
    let end = |thread: Thread| vec![thread.at(END, Leave { region: MAIN })];
    let processes: Vec<_> = threads.into_iter().map(end).collect();
    World::new(REGIONS, &processes).analyzed(|it| {
        assert_eq!(it.not_computed(), []);
        check(it);
    });
}

/// Checks the value of a quantity at each process, and that no other location has any of it.
fn each(analysis: &Analysis, what: Q, expected: impl Fn(u64) -> u64) {
    for location in 0..analysis.locations() {
        let expected = expected(location as u64);
        assert_eq!(analysis.at_location(location, what), expected, "{what:?} at {location}");
    }
}

/// Process 0 puts to n others, or gets from them, and waits for all. The k-th of them comes k delays
/// later, and stays for some time.
///
/// It waits until the last of them has come, whatever the others serve meanwhile: n delays.
#[test]
fn several_targets() {
    for (targets, delay, stay) in [(2, 100, 30), (3, 100, 1), (5, 70, 69), (4, 50, 50), (3, 40, 90)]
    {
        for gets in [false, true] {
            let mut origin = thread();
            for target in 1..=targets {
                let region = if gets { GET_NBI } else { PUT_NBI };
                let (remote, bytes, matching_id) = (Rank(target), 8, MatchingId(target.into()));
                let time = 100 + u64::from(target);
                origin = origin.at(time, Enter { region });
                origin = match gets {
                    true => origin.at(time, RmaGet { win, remote, bytes, matching_id }),
                    false => origin.at(time, RmaPut { win, remote, bytes, matching_id }),
                };
                origin = origin.at(time, Leave { region });
            }
            let enter = 200;
            let leave = enter + u64::from(targets) * delay + stay + 10;
            let matching_id = MatchingId(targets.into());
            origin = origin
                .at(enter, Enter { region: QUIET })
                .at(leave, RmaOpCompleteRemote { win, matching_id })
                .at(leave, Leave { region: QUIET });
            let mut threads = vec![origin];
            for target in 1..=u64::from(targets) {
                let begin = enter + target * delay;
                threads.push(thread().call(QUIET, begin, begin + stay));
            }
            let expected = u64::from(targets) * delay;
            analyzed(threads, |analysis| {
                each(analysis, Q::Wait(Wait::WaitForProgressMulti), |rank| {
                    if rank == 0 { expected } else { 0 }
                });
                each(analysis, Q::Margin(Wait::WaitForProgressMulti), |_| 0);
                each(analysis, Q::Wait(Wait::WaitForProgress), |_| 0);
            });
        }
    }
}

/// Two targets that come and go: at most the call waited while either was away before its last visit.
///
/// | from e on, in delays | first target | second target |
/// |---|---|---|
/// | away | 0 to 1, 5 to 6 | 0 to 2, 3 to 4 |
///
/// Someone was away for 0 to 2, 3 to 4 and 5 to 6: 4 delays, less than the sum (5) and than the time until the last visit
/// (6). At least it waited until the second had come, from 0 to 2.
#[test]
fn targets_that_come_and_go() {
    for delay in [10_000, 30_000] {
        let at = |delays: u64| 100 + delays * delay;
        let mut origin = thread();
        for target in 1..=2 {
            let (region, time) = (PUT_NBI, 10 + u64::from(target));
            let (remote, matching_id) = (Rank(target), MatchingId(target.into()));
            origin = origin
                .at(time, Enter { region })
                .at(time, RmaPut { win, remote, bytes: 8, matching_id })
                .at(time, Leave { region });
        }
        let leave = at(8);
        let origin = origin
            .at(at(0), Enter { region: QUIET })
            .at(leave, RmaOpCompleteRemote { win, matching_id: MatchingId(2) })
            .at(leave, Leave { region: QUIET });
        let first = thread().call(QUIET, at(1), at(5)).call(QUIET, at(6), at(9));
        let second = thread().call(QUIET, at(2), at(3)).call(QUIET, at(4), at(9));
        analyzed(vec![origin, first, second], |analysis| {
            each(analysis, Q::Wait(Wait::WaitForProgressMulti), |rank| {
                if rank == 0 { 2 * delay } else { 0 }
            });
            each(analysis, Q::Margin(Wait::WaitForProgressMulti), |rank| {
                if rank == 0 { 2 * delay } else { 0 }
            });
        });
    }
}

/// Converts microseconds to nanoseconds.
fn us(time: u64) -> u64 {
    1_000 * time
}

/// Returns an origin that puts to processes 1 and 2 and completes both in a quiet from 110 to 500 microseconds.
fn quiet_after_puts() -> Thread {
    let put = |thread: Thread, target: u32| {
        let (region, time) = (PUT_NBI, us(100 + u64::from(target)));
        let (remote, matching_id) = (Rank(target), MatchingId(target.into()));
        thread
            .at(time, Enter { region })
            .at(time, RmaPut { win, remote, bytes: 8, matching_id })
            .at(time, Leave { region })
    };
    put(put(thread(), 1), 2)
        .at(us(110), Enter { region: QUIET })
        .at(us(500), RmaOpCompleteRemote { win, matching_id: MatchingId(2) })
        .at(us(500), Leave { region: QUIET })
}

/// The last of several targets to come at all is blamed, also if another one has come again after it.
#[test]
fn a_target_that_comes_again_is_not_to_blame() {
    let comes_again = thread().call(QUIET, us(150), us(160)).call(QUIET, us(480), us(490));
    let comes_late = thread().call(QUIET, us(470), us(510));
    analyzed(vec![quiet_after_puts(), comes_again, comes_late], |analysis| {
        let findings = analysis.findings();
        let quiet = findings.iter().find(|it| it.pattern == "wait_for_progress_multi").unwrap();
        assert_eq!(quiet.nanoseconds, us(360));
        assert_eq!(quiet.targets.len(), 1);
        assert!(quiet.targets[0].who.ends_with('2'), "{:?}", quiet.targets);
    });
}

/// Several targets come at the same time, and the quiet ends long after that: chance explains that, so the wait
/// follows from the rule alone.
#[test]
fn several_targets_that_come_together_are_judged_by_rule() {
    let one = thread().call(QUIET, us(350), us(510));
    let other = thread().call(QUIET, us(350), us(520));
    analyzed(vec![quiet_after_puts(), one, other], |analysis| {
        let findings = analysis.findings();
        let quiet = findings.iter().find(|it| it.pattern == "wait_for_progress_multi").unwrap();
        assert_eq!((quiet.nanoseconds, quiet.at_most), (us(240), us(240)));
        assert_eq!(quiet.confidence, Confidence::ByRule);
    });
}

/// Processes in a ring put to both neighbours and complete that. One of them comes late, and all quiets end `after` it has
/// come, also those of processes that have no operation on it: the neighbours of its neighbours acknowledge nothing
/// before their own operations go on.
#[test]
fn the_targets_of_targets_hold_a_call() {
    for (processes, delay) in [(4, 30_000), (6, 50_000), (9, 80_000)] {
        let late = 2;
        for (after, held) in [(us(100), true), (us(delay / 4), false)] {
            let enter = |process: u32| us(110 + if process == late { delay } else { 0 });
            let leave = enter(late) + after;
            let ring = |process: u32| {
                let mut it = thread();
                for (number, by) in [(1, 1), (2, processes - 1)] {
                    let (remote, matching_id) =
                        (Rank((process + by) % processes), MatchingId(number));
                    let (region, time) = (PUT_NBI, enter(process) - us(10) + number);
                    it = it
                        .at(time, Enter { region })
                        .at(time, RmaPut { win, remote, bytes: 8, matching_id })
                        .at(time, Leave { region });
                }
                it.at(enter(process), Enter { region: QUIET })
                    .at(leave, RmaOpCompleteRemote { win, matching_id: MatchingId(2) })
                    .at(leave, Leave { region: QUIET })
            };
            analyzed((0..processes).map(ring).collect(), |analysis| {
                each(analysis, Q::Wait(Wait::WaitForProgressMulti), |rank| {
                    let beside = [late - 1, late + 1].contains(&(rank as u32));
                    let waits = rank as u32 != late && (held || beside);
                    if waits { us(delay) } else { 0 }
                });
                let findings = analysis.findings();
                let quiet = findings.iter().find(|it| it.pattern == "wait_for_progress_multi");
                let quiet = quiet.unwrap();
                assert!(quiet.calls < processes.into(), "{} calls waited", quiet.calls);
                let targets = &quiet.targets;
                assert!(targets.len() == 1 && targets[0].who.ends_with('2'), "{targets:?}");
            });
        }
    }
}

/// Returns a process that asks for a lock, has it at a later time, and holds it.
fn turn(enter: u64, acquired: u64, hold: u64) -> Thread {
    let (remote, lock_id, lock_type) = (Rank(0), LockId(8), LockType::Exclusive);
    thread()
        .at(enter, Enter { region: SET_LOCK })
        .at(enter, RmaRequestLock { win, remote, lock_id, lock_type })
        .at(acquired, RmaAcquireLock { win, remote, lock_id, lock_type })
        .at(acquired, Leave { region: SET_LOCK })
        .at(acquired + hold, Enter { region: CLEAR_LOCK })
        .at(acquired + hold, RmaReleaseLock { win, remote, lock_id })
        .at(acquired + hold, Leave { region: CLEAR_LOCK })
}

/// Process k holds the lock k-th, each for some time; all ask for it before the first has it. The k-th
/// waits for k holds.
#[test]
fn a_lock_in_turns() {
    for (count, hold) in [(2, 100), (3, 7), (6, 1_000)] {
        let take_turn = |rank: u64| {
            let (enter, leave) = (100 + rank, 200 + rank * hold);
            turn(enter, leave, hold)
        };
        analyzed((0..count).map(take_turn).collect(), |analysis| {
            each(analysis, Q::Wait(Wait::LockContention), |rank| rank * hold);
            each(analysis, Q::Wait(Wait::WaitForProgress), |_| 0);
        });
    }
}

/// As above, but handing the lock over takes longer than holding it. Who waits for the lock waits as well while it is
/// handed over to someone else. Each holder is blamed for its hold and for what it took to get the lock.
#[test]
fn a_lock_that_is_handed_over() {
    for (count, hold, hand_over) in [(2, 100, 300), (3, 7, 11), (5, 1_000, 1)] {
        let take_turn = |rank: u64| {
            let (enter, leave) = (100 + rank, 200 + rank * (hold + hand_over));
            turn(enter, leave, hold)
        };
        analyzed((0..count).map(take_turn).collect(), |analysis| {
            let before = |rank: u64| rank * hold + rank.saturating_sub(1) * hand_over;
            each(analysis, Q::Wait(Wait::LockContention), before);
            let findings = analysis.findings();
            let contention = findings.iter().find(|it| it.pattern == "lock_contention").unwrap();
            for share in &contention.targets {
                let holder: u64 = share.who.rsplit(' ').next().unwrap().parse().unwrap();
                let of_each = hold + if holder == 0 { 0 } else { hand_over };
                assert_eq!(share.nanoseconds, (count - 1 - holder) * of_each, "{share:?}");
            }
            assert_eq!(contention.targets.len() as u64, count - 1);
        });
    }
}

/// Amount that a collective books at a process, given the number of processes, the rank and the delay.
type Formula = fn(u64, u64, u64) -> u64;

/// Region, operation, root as a rank counted from the last, and the amounts that the collective books.
type Shape = (&'static str, CollectiveOp, Option<u64>, &'static [(Q, Formula)]);

/// Shapes of collectives in which process k comes k delays late, and leaves k nanoseconds after the first.
const SHAPES: &[Shape] = &[
    ("shmem_barrier_all", CollectiveOp::Barrier, None, BARRIER),
    ("shmem_sync_all", CollectiveOp::Barrier, None, BARRIER),
    (
        "shmem_sum_to_all",
        CollectiveOp::Allreduce,
        None,
        &[
            (Q::Wait(Wait::NxnWait), |n, k, d| (n - 1 - k) * d),
            (Q::Wait(Wait::NxnCompletion), |_, k, _| k),
        ],
    ),
    // The last is the root: all others wait for it. Then the one before: the last does not.
    (
        "shmem_broadcast",
        CollectiveOp::Bcast,
        Some(0),
        &[(Q::Wait(Wait::LateBroadcast), |n, k, d| (n - 1 - k) * d)],
    ),
    (
        "shmem_broadcast",
        CollectiveOp::Bcast,
        Some(1),
        &[(Q::Wait(Wait::LateBroadcast), |n, k, d| (n - 1).saturating_sub(k + 1) * d)],
    ),
    // The last has nobody to wait for, the one before it waits for the last.
    ("reduce", CollectiveOp::Reduce, Some(0), &[(Q::Wait(Wait::EarlyReduce), |_, _, _| 0)]),
    (
        "reduce",
        CollectiveOp::Reduce,
        Some(1),
        &[(Q::Wait(Wait::EarlyReduce), |n, k, d| if k + 2 == n { d } else { 0 })],
    ),
    // Those of lower rank have come before.
    ("scan", CollectiveOp::Scan, None, &[(Q::Wait(Wait::EarlyScan), |_, _, _| 0)]),
    (
        "shmem_malloc",
        CollectiveOp::Allocate,
        None,
        &[(Q::Wait(Wait::WaitAtCreate), |n, k, d| (n - 1 - k) * d)],
    ),
    (
        "shmem_free",
        CollectiveOp::Deallocate,
        None,
        &[(Q::Wait(Wait::WaitAtFree), |n, k, d| (n - 1 - k) * d)],
    ),
];

const BARRIER: &[(Q, Formula)] = &[
    (Q::Wait(Wait::BarrierWait), |n, k, d| (n - 1 - k) * d),
    // All of them compute until they come.
    (Q::Wait(Wait::BarrierImbalance), |n, k, d| (n - 1 - k) * d),
    (Q::Wait(Wait::BarrierCompletion), |_, k, _| k),
];

/// Writes a collective of n processes that come one after the other, in the order of `late`.
fn collective(
    name: &str,
    collective_op: CollectiveOp,
    root: Option<u64>,
    late: &[u64],
    delay: u64,
) -> Vec<Thread> {
    let region = RegionRef(REGIONS.iter().position(|row| row.0 == name).unwrap() as u32);
    let last = late.len() as u64 - 1;
    let part = |&turns: &u64| {
        let (enter, end) = (100 + turns * delay, 200 + last * delay + turns);
        let record = RmaCollectiveEnd {
            collective_op,
            sync_level: RmaSyncLevel::PROCESS,
            win,
            root: root.map_or(CollectiveRoot::None, |it| CollectiveRoot::Rank((last - it) as u32)),
            bytes_sent: 8,
            bytes_received: 8,
        };
        // It leaves later: what counts is when the collective was over.
        thread()
            .at(enter, Enter { region })
            .with(end, (SEQUENCE, 0), record)
            .at(end + 50, Leave { region })
    };
    late.iter().map(part).collect()
}

#[test]
fn every_shape_of_collective() {
    for &(name, operation, root, formulas) in SHAPES {
        for (count, delay) in [(2, 100), (3, 1), (7, 1_234)] {
            let late: Vec<u64> = (0..count).collect();
            let booked: Vec<Q> = formulas.iter().map(|it| it.0).collect();
            analyzed(collective(name, operation, root, &late, delay), |analysis| {
                for &(what, formula) in formulas {
                    each(analysis, what, |rank| formula(count, rank, delay));
                }
                // And nothing else is a wait.
                for what in Wait::ALL.iter().map(|wait| Q::Wait(*wait)) {
                    if !booked.contains(&what) {
                        each(analysis, what, |_| 0);
                    }
                }
            });
        }
    }
}

/// The first comes last: process k waits for it k delays.
#[test]
fn a_scan_against_the_order() {
    for (count, delay) in [(2, 100), (5, 33)] {
        let late: Vec<u64> = (0..count).rev().collect();
        let threads = collective("scan", CollectiveOp::Scan, None, &late, delay);
        analyzed(threads, |analysis| each(analysis, Q::Wait(Wait::EarlyScan), |rank| rank * delay));
    }
}
