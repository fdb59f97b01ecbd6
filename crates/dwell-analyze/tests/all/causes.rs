//! Causes of waits in small programs, whose answers can be written down. Times are in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Activities, Analysis, Culprits, Cut, Options, analyze};
use otf2::enums::LockType;
use otf2::event::{
    Enter, Leave, RmaAcquireLock, RmaGet, RmaOpCompleteBlocking, RmaPut, RmaReleaseLock,
    RmaWaitChange,
};
use otf2::id::{LockId, MatchingId, Rank, RegionRef, RmaWinRef};

use crate::support::{Events, OFFSET, Thread, WINDOW, World};

const MAIN: RegionRef = RegionRef(0);
const SOLVE: RegionRef = RegionRef(1);
const BARRIER: RegionRef = RegionRef(2);
const GET: RegionRef = RegionRef(3);
const ASSEMBLE: RegionRef = RegionRef(4);
const SET_LOCK: RegionRef = RegionRef(5);
const CLEAR_LOCK: RegionRef = RegionRef(6);
const PUT: RegionRef = RegionRef(7);
const WAIT_UNTIL: RegionRef = RegionRef(8);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("solve", ""),
    ("shmem_barrier_all", "layer=shmem operation=barrier progress=always completes=remote"),
    ("shmem_get", "layer=shmem operation=get progress=never"),
    ("assemble", ""),
    ("shmem_set_lock", "layer=shmem operation=lock progress=never"),
    ("shmem_clear_lock", "layer=shmem operation=unlock progress=never"),
    ("shmem_put", "layer=shmem operation=put progress=never"),
    ("shmem_long_wait_until", "layer=shmem operation=wait_change progress=always"),
];

/// Windows of the first and of the second further group.
const FIRST: RmaWinRef = RmaWinRef(1);
const SECOND: RmaWinRef = RmaWinRef(2);

/// Adds the first barrier of a window.
fn barrier(thread: Thread, win: RmaWinRef, enter: u64, leave: u64) -> Thread {
    thread.barrier_of(BARRIER, win, 0, enter, leave)
}

/// Returns a thread that is in `main` from a time on.
fn main_from(begin: u64) -> Thread {
    Thread::default().at(begin, Enter { region: MAIN })
}

/// Analyses a program, with several ways of cutting windows.
fn analyzed(threads: Vec<Thread>, groups: &[Vec<u64>], check: impl Fn(&Analysis)) {
    analyzed_on(&[], threads.into_iter().map(|it| vec![it]).collect(), groups, check);
}

/// Analyses a program whose processes have several threads, on cores that are known.
fn analyzed_on(
    cores: &[&str],
    processes: Vec<Vec<Thread>>,
    groups: &[Vec<u64>],
    check: impl Fn(&Analysis),
) {
    let end = |it: Thread| it.at(200, Leave { region: MAIN });
    let processes: Vec<Vec<Thread>> =
        processes.into_iter().map(|it| it.into_iter().map(end).collect()).collect();
    let world = World { per_node: 4, groups, cores, ..World::new(REGIONS, &processes) };
    let (directory, archive) = world.open();
    for cut in [Cut::Budget, Cut::EveryEvent, Cut::Nanoseconds(37)] {
        let mut options = Options::default();
        (options.cut, options.threads) = (cut, 2);
        options.log = Some(directory.path().join("dependencies"));
        check(&analyze(&archive, &options, &|_| {}).unwrap());
    }
}

/// Returns direct and propagated costs of each location.
fn costs(analysis: &Analysis) -> Vec<(u64, u64)> {
    let mut costs = vec![(0, 0); analysis.locations()];
    for it in analysis.delays().unwrap() {
        let sum = &mut costs[it.location.place() as usize];
        *sum = (sum.0 + it.direct, sum.1 + it.propagated);
    }
    costs
}

/// Process 0 computes until 100. Process 1 waits for it since 10, and meets process 2, which waits since 10, at 110.
#[test]
fn a_delay_that_is_passed_on() {
    let solve = main_from(0).at(0, Enter { region: SOLVE }).at(100, Leave { region: SOLVE });
    let threads = vec![
        barrier(solve, FIRST, 100, 105),
        barrier(barrier(main_from(0), FIRST, 10, 105), SECOND, 110, 115),
        barrier(main_from(0), SECOND, 10, 115),
    ];
    analyzed(threads, &[vec![0, 1], vec![1, 2]], |analysis| {
        // Of the 100 that process 2 waits, process 1 has waited 90, was in its barrier for 5 more, and computed for 5.
        assert_eq!(costs(analysis), [(90, 90), (10, 0), (0, 0)]);
        let [first, ..] = analysis.causes() else { panic!("no cause") };
        assert_eq!(first.what, Activities::Computing);
        assert_eq!(first.path.last().unwrap().region, "solve");
        assert_eq!(first.processes[0].who, "process 0");
        assert_eq!((first.direct, first.propagated), (90, 90));
        assert_eq!(first.computing, Some((100, None)));
        assert_eq!(first.waits[0].pattern, "barrier_wait");
    });
}

/// After a barrier at 20, process 1 computes until 110, from 40 to 100 of it in `solve`; process 0 computes until 30 and waits.
/// Each stretch has what was counted between its samples, however windows are cut.
#[test]
fn counters_belong_to_stretches_of_computing() {
    // As `barrier`, with samples before its enter and leave.
    let sampled = |thread: Thread, win, times: [u64; 2], values: [[u64; 4]; 2]| {
        let [enter, leave] = times;
        let [first, last] = values;
        let mut events = barrier(Thread::default(), win, enter, leave).events;
        let end = events.split_off(2);
        let mut thread = thread.sample(enter, first);
        thread.events.append(&mut events);
        let mut thread = thread.sample(leave, last);
        thread.events.extend(end);
        thread
    };
    let waits = sampled(main_from(0), WINDOW, [10, 20], [[40, 400, 0, 3], [50, 500, 0, 3]]);
    let waits = sampled(waits, FIRST, [30, 115], [[58, 580, 0, 7], [59, 590, 0, 0]]);
    let works = sampled(main_from(0), WINDOW, [10, 20], [[100, 1000, 0, 0], [200, 2000, 0, 0]]);
    let works = works.sample(40, [210, 2100, 1, 0]).at(40, Enter { region: SOLVE });
    let works = works.sample(100, [240, 2400, 5, 0]).at(100, Leave { region: SOLVE });
    let works = sampled(works, FIRST, [110, 115], [[250, 2500, 5, 0], [999, 9999, 9, 0]]);
    analyzed(vec![waits, works], &[vec![0, 1]], |analysis| {
        let [solve, main, ..] = analysis.causes() else { panic!("{:?}", analysis.causes()) };
        assert_eq!((solve.cost(), solve.computing), (60, Some((60, None))));
        let counters = solve.counters.as_ref().unwrap();
        assert_eq!(counters.cpu_time, Some((30, None)));
        assert_eq!(counters.instructions, Some((300, None)));
        assert_eq!(counters.involuntary, Some((4, None)));
        assert_eq!(counters.cycles, None);
        assert_eq!((main.cost(), main.computing), (20, Some((30, Some(10)))));
        let counters = main.counters.as_ref().unwrap();
        assert_eq!(counters.cpu_time, Some((20, Some(8))));
        assert_eq!(counters.instructions, Some((200, Some(80))));
        assert_eq!(counters.involuntary, Some((1, Some(0))));
    });
}

/// Both compute alike, but process 1 begins at 50.
#[test]
fn a_late_start() {
    let threads =
        vec![barrier(main_from(0), WINDOW, 10, 65), barrier(main_from(50), WINDOW, 60, 65)];
    analyzed(threads, &[], |analysis| {
        assert_eq!(costs(analysis), [(0, 0), (50, 0)]);
        assert_eq!(analysis.causes()[0].what, Activities::NotStarted);
        // Process 1 runs from 50 to 200, and both are outside of the barrier for 145.
        let found = analysis.efficiency().unwrap();
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(found.load_balance, 145.0 / 145.0), "{found:?}");
        assert!(near(found.communication, 145.0 / 200.0), "{found:?}");
        assert!(near(found.parallel, 145.0 / 200.0), "{found:?}");
    });
}

/// Process 1 signals once, and then computes before each of three barriers. The computing before the first of them follows
/// another call, but is the same.
#[test]
fn the_first_iteration_is_no_cause_of_its_own() {
    let meet = |thread: Thread, times: [u64; 6]| {
        let rounds = (0..).zip(times.chunks(2));
        rounds.fold(thread, |it, (sequence, of)| {
            it.barrier_of(BARRIER, WINDOW, sequence, of[0], of[1])
        })
    };
    let late = |thread: Thread, sequence: u64, enter: u64| {
        let begin = enter - 38;
        let thread = thread.call(SOLVE, begin, enter);
        thread.barrier_of(BARRIER, WINDOW, sequence, enter, enter + 5)
    };
    let signals = signal(main_from(0), [0, 2], 0);
    let threads = vec![
        meet(main_from(0), [10, 45, 48, 90, 93, 135]),
        late(late(late(signals, 0, 40), 1, 85), 2, 130),
    ];
    analyzed(threads, &[], |analysis| {
        let found = computing(analysis);
        assert_eq!(found.len(), 1, "{found:?}");
        let [(name, cost, 0)] = &*found else { panic!("{found:?}") };
        assert_eq!(name, "solve");
        // The first of 30, in which process 1 was in its signal for 2 more, and 37 twice.
        assert!((100..=104).contains(cost), "{cost}");
    });
}

/// Both meet at 10. Process 1 leaves the barrier at 50, and process 0 waits for it in the next one since 14.
fn left_late() -> Vec<Vec<Thread>> {
    let meet = |leave: u64, again: u64| {
        let first = main_from(0).barrier_of(BARRIER, WINDOW, 0, 10, leave);
        vec![first.barrier_of(BARRIER, WINDOW, 1, again, 60)]
    };
    vec![meet(12, 14), meet(50, 52)]
}

#[test]
fn a_cause_is_not_a_wait_in_the_same_call() {
    analyzed_on(&[], left_late(), &[], |analysis| {
        let [cause] = analysis.causes() else { panic!("{:?}", analysis.causes()) };
        assert_eq!((cause.what, cause.direct), (Activities::LeavesLate, 38));
        assert_eq!(cause.waits[0].pattern, "barrier_wait");
    });
    analyzed_on(&["0", "0"], left_late(), &[], |analysis| {
        assert_eq!(analysis.causes()[0].what, Activities::SharesCores);
    });
}

/// This number of processes, four on each node, meet again and again. `late` says who comes late each time.
fn culprits(count: usize, late: &[usize], check: impl Fn(&Analysis)) {
    let process = |me: usize| {
        let round = |thread: Thread, (round, late): (u64, &usize)| {
            let begin = 36 * round;
            let enter = begin + if *late == me { 30 } else { 10 };
            let thread = thread.call(SOLVE, begin, enter);
            thread.barrier_of(BARRIER, WINDOW, round, enter, begin + 32)
        };
        vec![(0..).zip(late).fold(main_from(0), round)]
    };
    analyzed_on(&[], (0..count).map(process).collect(), &[], check);
}

#[test]
fn only_processes_that_stand_out_are_named() {
    // The first round has no call before it, and is a cause of its own.
    culprits(8, &[2; 4], |analysis| {
        assert_eq!(analysis.causes()[0].culprits, Culprits::Processes);
        assert_eq!(analysis.causes()[0].processes[0].who, "process 2");
    });
    culprits(8, &[4, 5, 6, 7], |analysis| {
        let cause = &analysis.causes()[0];
        assert_eq!(cause.culprits, Culprits::Node("a name".into()));
        // Three processes of the node compute for 50, and all others for 30.
        assert_eq!(cause.computing, Some((45, Some(30))));
    });
    culprits(4, &[0, 0, 1, 2, 3], |analysis| {
        assert_eq!(analysis.causes()[0].culprits, Culprits::Spread);
    });
}

/// Process 0 waits at a barrier for process 1, which is late because it had to wait for process 0.
#[test]
fn a_process_that_causes_its_own_wait() {
    let solve = main_from(0).at(0, Enter { region: SOLVE }).at(96, Leave { region: SOLVE });
    let (win, remote, matching_id) = (WINDOW, Rank(0), MatchingId(1));
    let get = main_from(0)
        .at(8, Enter { region: GET })
        .at(8, RmaGet { win, remote, bytes: 8, matching_id })
        .at(104, RmaOpCompleteBlocking { win, matching_id })
        .at(104, Leave { region: GET });
    let threads = vec![barrier(solve, WINDOW, 96, 130), barrier(get, WINDOW, 128, 130)];
    analyzed(threads, &[], |analysis| {
        // Since the begin, process 1 has computed for 8, waited for 88, was in the call for 8 more, and computed for 24. A
        // quarter of this is the wait of process 0.
        assert_eq!(costs(analysis), [(88, 22), (10, 0)]);
        let [first, ..] = analysis.causes() else { panic!("no cause") };
        assert_eq!(first.path.last().unwrap().region, "solve");
        let waits: Vec<(&str, u64, u64)> =
            first.waits.iter().map(|it| (it.pattern, it.direct, it.propagated)).collect();
        assert_eq!(waits, [("wait_for_progress", 88, 0), ("barrier_wait", 0, 22)]);
    });
}

/// Returns the names of functions that compute, with the costs of all processes.
fn computing(analysis: &Analysis) -> Vec<(String, u64, u64)> {
    let is = |it: &&dwell_analyze::Cause| it.what == Activities::Computing;
    let name = |it: &dwell_analyze::Cause| it.path.last().unwrap().region.clone();
    let causes = analysis.causes().iter().filter(is);
    causes.map(|it| (name(it), it.direct, it.propagated)).collect()
}

/// Process 1 comes to a barrier at 100, after 60 in one function and 40 in another. Process 0 has computed for 10 in `main`,
/// and waits for 90.
#[test]
fn two_causes_of_one_wait() {
    let late = main_from(0).call(SOLVE, 0, 60).call(ASSEMBLE, 60, 100);
    let threads = vec![barrier(main_from(0), WINDOW, 10, 105), barrier(late, WINDOW, 100, 105)];
    analyzed(threads, &[], |analysis| {
        assert_eq!(costs(analysis), [(0, 0), (90, 0)]);
        // 60 and 40 parts of 90.
        let expected = [("solve".into(), 54, 0), ("assemble".into(), 36, 0)];
        assert_eq!(computing(analysis), expected);
    });
}

/// Processes 1 and 2 wait for 90 and 50. Process 1 has computed for 10 in `solve` and process 2 for 50, process 0 for 100.
#[test]
fn waits_of_several_at_one_barrier() {
    let of = |until: u64| barrier(main_from(0).call(SOLVE, 0, until), WINDOW, until, 105);
    analyzed(vec![of(100), of(10), of(50)], &[], |analysis| {
        assert_eq!(costs(analysis), [(140, 0), (0, 0), (0, 0)]);
        assert_eq!(computing(analysis), [("solve".into(), 140, 0)]);
    });
}

/// Process 0 has a lock until 100, and process 1 from then on until 150. Process 1 waits since 20, and process 2 since 40.
#[test]
fn three_holders_of_a_lock() {
    let (win, remote, lock_id, lock_type) = (WINDOW, Rank(0), LockId(5), LockType::Exclusive);
    let set = |thread: Thread, enter: u64, leave: u64| {
        thread
            .at(enter, Enter { region: SET_LOCK })
            .at(leave, RmaAcquireLock { win, remote, lock_id, lock_type })
            .at(leave, Leave { region: SET_LOCK })
    };
    let clear = |thread: Thread, enter: u64| {
        thread
            .at(enter, Enter { region: CLEAR_LOCK })
            .at(enter, RmaReleaseLock { win, remote, lock_id })
            .at(enter + 1, Leave { region: CLEAR_LOCK })
    };
    let first = clear(set(main_from(0), 0, 5).call(SOLVE, 5, 60).call(ASSEMBLE, 60, 100), 100);
    let second = clear(set(main_from(0), 20, 105).call(SOLVE, 105, 150), 150);
    let third = clear(set(main_from(0), 40, 155), 160);
    analyzed(vec![first, second, third], &[], |analysis| {
        // Process 0 makes process 1 wait for 80, process 2 for 60. From 100 on process 1 makes process 2 wait for 50, of which
        // it spends 5 in its own call. Nothing is passed on: what counts is what a holder did meanwhile.
        assert_eq!(costs(analysis), [(140, 0), (50, 0), (0, 0)]);
        // Of process 0: 40 in `assemble` for each; 40 and 20 in `solve`. Of process 1: 45 in `solve`.
        let sum = |name: &str| {
            let of = computing(analysis);
            of.iter().filter(|it| it.0 == name).map(|it| it.1).sum::<u64>()
        };
        assert_eq!((sum("solve"), sum("assemble")), (60 + 45, 80));
    });
}

/// Adds a put that signals process 0.
fn signal(thread: Thread, [enter, leave]: [u64; 2], id: u64) -> Thread {
    let (win, remote, matching_id) = (WINDOW, Rank(0), MatchingId(id));
    thread
        .at(enter, Enter { region: PUT })
        .with(enter, (OFFSET, 64), RmaPut { win, remote, bytes: 8, matching_id })
        .at(leave, RmaOpCompleteBlocking { win, matching_id })
        .at(leave, Leave { region: PUT })
}

/// Adds a wait for such a signal.
fn wait(thread: Thread, enter: u64, leave: u64) -> Thread {
    thread
        .at(enter, Enter { region: WAIT_UNTIL })
        .with(enter, (OFFSET, 64), RmaWaitChange { win: WINDOW })
        .at(leave, Leave { region: WAIT_UNTIL })
}

/// Process 1 solves until 100 and meets process 0. A new thread of process 0 begins at 110, and waits from 120 until process 1
/// signals at 180.
#[test]
fn a_thread_begins_where_its_process_synchronised() {
    let first = barrier(main_from(0), WINDOW, 10, 105);
    let second = wait(main_from(110), 120, 185);
    let late = barrier(main_from(0).call(SOLVE, 0, 100), WINDOW, 100, 105);
    let late = signal(late.call(ASSEMBLE, 105, 180), [180, 182], 0);
    analyzed_on(&[], vec![vec![first, second], vec![late]], &[], |analysis| {
        // Since 100 process 1 was in the barrier for 5 and computed for 75: 4 and 56 of the 60 that the thread waits.
        assert_eq!(computing(analysis), [("solve".into(), 90, 0), ("assemble".into(), 56, 0)]);
    });
}

/// Process 1 signals in a call from 50 to 70, and at 150. Process 0 waits for both: in a call from 10 to 65, and from 80 on.
#[test]
fn a_call_that_straddles_the_last_synchronisation() {
    let signals = signal(main_from(0).call(SOLVE, 0, 50), [50, 70], 0);
    let signals = signal(signals.call(ASSEMBLE, 70, 150), [150, 152], 1);
    let waits = wait(wait(main_from(0), 10, 65), 80, 155);
    analyzed(vec![waits, signals], &[], |analysis| {
        // A signal counts from the enter of its call. Process 0 waits for 40, for which process 1 computed, and for 70. Since 50
        // process 1 was in its call for 20, and computed for 80; process 0 was in its call and in `main` for 15 each.
        assert_eq!(costs(analysis), [(0, 0), (40 + 70, 0)]);
        assert_eq!(computing(analysis), [("assemble".into(), 56, 0), ("solve".into(), 40, 0)]);
        let call = analysis.causes().iter().find(|it| it.what == Activities::Call).unwrap();
        assert_eq!((call.path.last().unwrap().region.as_str(), call.direct), ("shmem_put", 14));
    });
}
