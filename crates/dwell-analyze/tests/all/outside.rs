//! Collectives of some processes that complete operations on others; polling loops; what is named
//! instead of judged. By hand, and against an exhaustive search of random archives that shares nothing
//! with the detectors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;

use dwell_analyze::{Analysis, Confidence, Cut, Options, Quantity as Q};
use dwell_model::waits::Wait;
use otf2::enums::{
    CollectiveOp, CollectiveRoot, CommFlag, GroupFlag, GroupType, LocationGroupType, LocationType,
    Paradigm, RegionFlag, RegionRole, RmaSyncLevel, RmaWinFlag,
};
use otf2::event::{
    Enter, Leave, RmaCollectiveEnd, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteRemote, RmaPut,
    RmaWaitChange,
};
use otf2::id::{
    CommRef, GroupRef, LocationGroupRef, LocationRef, MatchingId, Rank, RegionRef, RmaWinRef,
    StringRef, SystemTreeNodeRef, Time,
};
use otf2::write::ArchiveWriter;
use otf2::{Archive, Event, List, def};

use crate::support::sums;

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("get", "layer=shmem operation=get progress=always"),
    ("put", "layer=shmem operation=put progress=never"),
    ("barrier", "layer=shmem operation=barrier progress=always completes=remote"),
    ("quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
    ("test", "layer=shmem operation=test_change progress=never"),
    ("wait", "layer=shmem operation=wait_change progress=always"),
    ("iprobe", "layer=mpi operation=test_probe progress=always"),
    ("MPI_Win_sync", "layer=mpi operation=order progress=never"),
];

/// Window of all processes, and window of the first of them.
const ALL: RmaWinRef = RmaWinRef(0);
const TEAM: RmaWinRef = RmaWinRef(1);

type Events = Vec<(u64, Event<'static>)>;

fn region(name: &str) -> RegionRef {
    RegionRef(REGIONS.iter().position(|row| row.0 == name).unwrap() as u32)
}

/// Writes an archive in which each process has a node of its own.
fn write(directory: &std::path::Path, lists: &[Events], team: usize) {
    let archive =
        ArchiveWriter::create(directory, "traces", otf2::write::Options::default()).unwrap();
    let mut defs = archive.global_definitions().unwrap();
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: 0,
        trace_length: 1_000_000,
        realtime_timestamp: u64::MAX,
    })
    .unwrap();
    let name = defs.string("").unwrap();
    for (id, (text, meaning)) in (0..).map(RegionRef).zip(REGIONS) {
        let (text, description) = (defs.string(text).unwrap(), defs.string(meaning).unwrap());
        defs.write(def::Region {
            id,
            name: text,
            canonical_name: text,
            description,
            region_role: RegionRole::Function,
            paradigm: Paradigm::Shmem,
            region_flags: RegionFlag::NONE,
            source_file: StringRef::UNDEFINED,
            begin_line_number: 0,
            end_line_number: 0,
        })
        .unwrap();
    }
    for (number, list) in (0..).zip(lists) {
        let mut writer = archive.events(LocationRef(number)).unwrap();
        for (time, event) in list {
            writer.write(Time(*time), *event).unwrap();
        }
        let number_of_events = writer.finish().unwrap().events;
        archive.local_definitions(LocationRef(number)).unwrap().finish().unwrap();
        let node = SystemTreeNodeRef(number as u32);
        let (class_name, parent) = (name, SystemTreeNodeRef::UNDEFINED);
        defs.write(def::SystemTreeNode { id: node, name, class_name, parent }).unwrap();
        let group = LocationGroupRef(number as u32);
        defs.write(def::LocationGroup {
            id: group,
            name,
            location_group_type: LocationGroupType::Process,
            system_tree_parent: node,
            creating_location_group: LocationGroupRef::UNDEFINED,
        })
        .unwrap();
        let (id, location_type) = (LocationRef(number), LocationType::CpuThread);
        let location_group = group;
        let location = def::Location { id, name, location_type, number_of_events, location_group };
        defs.write(location).unwrap();
    }
    let all: Vec<u64> = (0..lists.len() as u64).collect();
    for (id, group_type, members) in [
        (0, GroupType::CommLocations, &all[..]),
        (1, GroupType::CommGroup, &all[..]),
        (2, GroupType::CommGroup, &all[..team]),
    ] {
        let (id, group_flags, paradigm) = (GroupRef(id), GroupFlag::NONE, Paradigm::Shmem);
        let members = List::from(members);
        defs.write(def::Group { id, name, group_type, paradigm, group_flags, members }).unwrap();
    }
    for (win, group) in [(ALL, GroupRef(1)), (TEAM, GroupRef(2))] {
        let (id, parent, flags) = (CommRef(win.0), CommRef::UNDEFINED, CommFlag::NONE);
        defs.write(def::Comm { id, name, group, parent, flags }).unwrap();
        let flags = RmaWinFlag::NONE;
        defs.write(def::RmaWin { id: win, name, comm: id, flags }).unwrap();
    }
    defs.finish().unwrap();
    archive.finish().unwrap();
}

fn analysed(directory: &std::path::Path, cut: Cut, threads: usize) -> Analysis {
    let mut options = Options::default();
    (options.cut, options.threads) = (cut, threads);
    sums::analyze(&Archive::open(directory).unwrap(), &options)
}

/// Returns a call with its records.
fn call(name: &str, enter: u64, leave: u64, records: Events) -> Events {
    let region = region(name);
    let mut events = vec![(enter, Enter { region }.into())];
    events.extend(records);
    events.push((leave, Leave { region }.into()));
    events
}

fn main_of(calls: Vec<Events>, end: u64) -> Events {
    call("main", 0, end, calls.into_iter().flatten().collect())
}

fn put(time: u64, target: u32, id: u64, bytes: u64) -> Events {
    let (win, remote, matching_id) = (ALL, Rank(target), MatchingId(id));
    vec![
        (time, RmaPut { win, remote, bytes, matching_id }.into()),
        (time, RmaOpCompleteBlocking { win, matching_id }.into()),
    ]
}

fn get(enter: u64, leave: u64, target: u32, id: u64) -> Events {
    let (win, remote, matching_id) = (ALL, Rank(target), MatchingId(id));
    vec![
        (enter, RmaGet { win, remote, bytes: 8, matching_id }.into()),
        (leave, RmaOpCompleteBlocking { win, matching_id }.into()),
    ]
}

/// Returns the records of a barrier that ends at some time, after this operation if there is one.
fn barrier(end: u64, win: RmaWinRef, last: Option<u64>) -> Events {
    let complete = last.map(|id| {
        let matching_id = MatchingId(id);
        (end, RmaOpCompleteRemote { win: ALL, matching_id }.into())
    });
    let event = RmaCollectiveEnd {
        collective_op: CollectiveOp::Barrier,
        sync_level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
        win,
        root: CollectiveRoot::None,
        bytes_sent: 0,
        bytes_received: 0,
    };
    complete.into_iter().chain([(end, event.into())]).collect()
}

#[test]
fn a_barrier_waits_for_a_target_outside() {
    // 0 puts to 1, which is in the team, and to 2, which is not and comes at 80. The last of the team
    // comes at 50, all are through at 90.
    let lists = [
        main_of(
            vec![
                call("put", 10, 11, put(10, 1, 1, 8)),
                call("put", 12, 13, put(12, 2, 2, 8)),
                call("barrier", 20, 91, barrier(90, TEAM, Some(2))),
            ],
            100,
        ),
        main_of(vec![call("barrier", 50, 90, barrier(90, TEAM, None))], 100),
        main_of(vec![call("get", 80, 85, get(80, 85, 1, 1))], 100),
    ];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &lists, 2);
    for (cut, threads) in [(Cut::Budget, 1), (Cut::EveryEvent, 1), (Cut::EveryEvent, 7)] {
        let analysis = analysed(directory.path(), cut, threads);
        let at = |what| analysis.at_location(0, what);
        assert_eq!(
            (at(Q::Wait(Wait::BarrierWait)), at(Q::Wait(Wait::WaitForProgress))),
            (30, 30),
            "{cut:?}"
        );
        assert_eq!(analysis.total(Q::Wait(Wait::WaitForProgress)), 30);
        assert!(analysis.not_computed().is_empty(), "{:?}", analysis.not_computed());
        let finding = analysis.findings().iter().find(|it| it.pattern == "wait_for_progress");
        let metric = &finding.unwrap().metric;
        assert_eq!(metric, "shmem_sync_collective_wait_for_progress");
        assert_eq!(finding.unwrap().latency, Some(0));
    }
}

#[test]
fn a_loop_of_tests_is_polling() {
    let test = |enter| call("test", enter, enter + 2, vec![]);
    // Five tests in a row, a put, one test alone; two more in a row, which are too few.
    let calls = vec![
        test(10),
        test(15),
        test(20),
        test(25),
        test(30),
        call("put", 40, 41, put(40, 1, 1, 8)),
        test(50),
        call("put", 60, 61, put(60, 1, 2, 8)),
        test(70),
        test(75),
    ];
    let lists = [main_of(calls, 100), main_of(vec![], 100)];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &lists, 2);
    for cut in [Cut::Budget, Cut::EveryEvent] {
        let analysis = analysed(directory.path(), cut, 1);
        let [polling] = analysis.polling() else { panic!("{:?}", analysis.polling()) };
        assert_eq!((polling.calls, polling.nanoseconds), (5, 22));
        assert_eq!(polling.path.last().unwrap().region, "test");
        assert!(analysis.findings().is_empty(), "{:?}", analysis.findings());
    }
}

/// Calls at several sites that repeat in turn are one loop; a site that occurs once is not part of one.
#[test]
fn a_loop_may_ask_at_several_sites() {
    let ask = |name, enter| call(name, enter, enter + 2, vec![]);
    let calls = vec![
        // From 10 to 42.
        ask("test", 10),
        ask("iprobe", 15),
        ask("test", 20),
        ask("iprobe", 25),
        ask("test", 30),
        ask("iprobe", 40),
        // Asks once.
        ask("MPI_Win_sync", 50),
        call("put", 55, 56, put(55, 1, 1, 8)),
        // Each asks once.
        ask("test", 60),
        ask("iprobe", 62),
        call("put", 65, 66, put(65, 1, 2, 8)),
        ask("MPI_Win_sync", 70),
        ask("MPI_Win_sync", 73),
        ask("MPI_Win_sync", 75),
        ask("MPI_Win_sync", 77),
        ask("MPI_Win_sync", 79),
    ];
    let lists = [main_of(calls, 100), main_of(vec![], 100)];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &lists, 2);
    for cut in [Cut::Budget, Cut::EveryEvent] {
        let analysis = analysed(directory.path(), cut, 1);
        let found: Vec<(&str, u64, u64)> = analysis
            .polling()
            .iter()
            .map(|it| (it.path.last().unwrap().region.as_str(), it.calls, it.nanoseconds))
            .collect();
        let expected = [("iprobe", 3, 5 + 5 + 10), ("test", 3, 2 + 5 + 5), ("MPI_Win_sync", 5, 11)];
        assert_eq!(found, expected, "{cut:?}");
        assert!(analysis.findings().is_empty(), "{:?}", analysis.findings());
    }
}

#[test]
fn what_a_large_put_may_have_raised_is_named() {
    let change = RmaWaitChange { win: ALL }.into();
    let lists = [
        main_of(vec![call("wait", 10, 50, vec![(10, change)])], 100),
        main_of(vec![call("put", 40, 41, put(40, 0, 1, 65))], 100),
    ];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &lists, 2);
    let analysis = analysed(directory.path(), Cut::EveryEvent, 1);
    assert_eq!(analysis.total(Q::Wait(Wait::LateSignal)), 0);
    let [note] = analysis.not_computed() else { panic!("{:?}", analysis.not_computed()) };
    assert_eq!((note.pattern, note.calls), ("late_signal", 1));
}

#[test]
fn only_the_path_of_a_partial_collective_is_a_lower_bound() {
    // A barrier of all, then one of the team that 1 never reaches.
    let lists = [
        main_of(
            vec![
                call("barrier", 10, 30, barrier(30, ALL, None)),
                call("wait", 30, 60, call("barrier", 40, 50, vec![])),
                call("barrier", 70, 80, barrier(80, TEAM, None)),
            ],
            100,
        ),
        main_of(vec![call("barrier", 20, 30, barrier(30, ALL, None))], 90),
    ];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &lists, 2);
    let analysis = analysed(directory.path(), Cut::Budget, 1);
    assert_eq!(analysis.total(Q::PartialCollectives), 1);
    let [finding] = analysis.findings() else { panic!("{:?}", analysis.findings()) };
    // Both are on one path here, so it is one.
    assert_eq!((finding.nanoseconds, finding.confidence), (10, Confidence::LowerBound));
    let whole = [lists[1].clone(), lists[1].clone()];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &whole, 2);
    assert_eq!(analysed(directory.path(), Cut::Budget, 1).total(Q::PartialCollectives), 0);
}

/// A call that waited for targets: its interval, and start and kind of the last operation on each target.
struct Waiter {
    rank: usize,
    enter: u64,
    leave: u64,
    targets: BTreeMap<usize, (u64, char)>,
}

/// A random program with its waits, and the regions in which each rank progressed operations of others.
struct Made {
    lists: Vec<Events>,
    team: usize,
    waiters: Vec<Waiter>,
    regions: Vec<Vec<(u64, u64)>>,
}

fn make(seed: u64) -> Made {
    let mut random = fastrand::Rng::with_seed(seed);
    let ranks = 3 + random.usize(..3);
    let team = 2 + random.usize(..ranks - 2);
    let mut now = vec![0; ranks];
    let mut calls: Vec<Vec<Events>> = vec![Vec::new(); ranks];
    let mut outstanding: Vec<Vec<(usize, u64)>> = vec![Vec::new(); ranks];
    let mut served: Vec<Vec<(u64, u64)>> = vec![Vec::new(); ranks];
    let (mut waiters, mut id) = (Vec::new(), 0);
    for _ in 0..4 + random.u64(..20) {
        if random.u64(..3) == 0 {
            let (win, size) = if random.u64(..3) == 0 { (ALL, ranks) } else { (TEAM, team) };
            // Something to complete, outside if there is an outside.
            let some = (0..size).filter(|_| size < ranks).flat_map(|rank| [rank; 3]);
            for rank in some.filter(|_| random.u64(..3) > 0).collect::<Vec<_>>() {
                let target = size + random.usize(..(ranks - size));
                let enter = now[rank] + random.u64(..20);
                id += 1;
                calls[rank].push(call("put", enter, enter + 1, put(enter, target as u32, id, 8)));
                outstanding[rank].push((target, enter));
                now[rank] = enter + 1;
            }
            let enters: Vec<u64> = (0..size).map(|rank| now[rank] + random.u64(..20)).collect();
            let last = *enters.iter().max().unwrap();
            let through = last + random.u64(..70);
            let ends: Vec<u64> = enters.iter().map(|_| through + random.u64(..5)).collect();
            let first_end = *ends.iter().min().unwrap();
            for rank in 0..size {
                let mut targets = BTreeMap::new();
                let any = (!outstanding[rank].is_empty()).then_some(id);
                for (target, start) in outstanding[rank].drain(..) {
                    if target >= size {
                        targets.insert(target, (start, 'p'));
                    }
                }
                if !targets.is_empty() && last < first_end {
                    waiters.push(Waiter { rank, enter: last, leave: first_end, targets });
                }
                let leave = ends[rank] + random.u64(..3);
                let records = barrier(ends[rank], win, any);
                calls[rank].push(call("barrier", enters[rank], leave, records));
                served[rank].push((enters[rank], leave));
                now[rank] = leave;
            }
            continue;
        }
        let rank = random.usize(..ranks);
        let target = (rank + 1 + random.usize(..ranks - 1)) % ranks;
        let enter = now[rank] + random.u64(..40);
        if random.u64(..4) == 0 && !outstanding[rank].is_empty() {
            let leave = enter + random.u64(..40);
            let complete = RmaOpCompleteRemote { win: ALL, matching_id: MatchingId(id) };
            calls[rank].push(call("quiet", enter, leave, vec![(leave, complete.into())]));
            served[rank].push((enter, leave));
            let all = outstanding[rank].drain(..);
            let targets = all.map(|(target, start)| (target, (start, 'p'))).collect();
            waiters.push(Waiter { rank, enter, leave, targets });
            now[rank] = leave;
            continue;
        }
        id += 1;
        if random.u64(..3) == 0 {
            let leave = enter + random.u64(..30);
            calls[rank].push(call("get", enter, leave, get(enter, leave, target as u32, id)));
            served[rank].push((enter, leave));
            let targets = BTreeMap::from([(target, (enter, 'g'))]);
            waiters.push(Waiter { rank, enter, leave, targets });
            now[rank] = leave;
        } else {
            let leave = enter + random.u64(..3);
            calls[rank].push(call("put", enter, leave, put(enter, target as u32, id, 8)));
            outstanding[rank].push((target, enter));
            now[rank] = leave;
        }
    }
    let end = now.iter().max().unwrap() + 1;
    let lists = calls.into_iter().map(|calls| main_of(calls, end)).collect();
    // Stretches that touch are one.
    let joined = |list: Vec<(u64, u64)>| {
        let mut regions: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in list {
            match regions.last_mut() {
                Some(last) if last.1 == begin => last.1 = end,
                _ => regions.push((begin, end)),
            }
        }
        regions
    };
    Made { lists, team, waiters, regions: served.into_iter().map(joined).collect() }
}

type Sums = BTreeMap<Q, u64>;

/// Returns the waits of each rank, and the number of barriers that waited for targets outside of their group.
fn search(made: &Made) -> (Vec<Sums>, u64) {
    let mut barriers = 0;
    let first = |target: usize, start: u64| {
        made.regions[target].iter().copied().find(|region| region.1 > start)
    };
    let mut evidence: BTreeMap<(char, usize, usize), u64> = BTreeMap::new();
    for it in &made.waiters {
        for (&target, &(start, kind)) in &it.targets {
            if first(target, start).is_none_or(|region| region.0 >= it.leave) {
                *evidence.entry((kind, it.rank, target)).or_default() += 1;
            }
        }
    }
    // Class, how long at least and at most, how unlikely by chance, whether for several.
    type Seen = ((char, usize, usize), u64, u64, u64, bool);
    let mut waits: Vec<Seen> = Vec::new();
    for it in &made.waiters {
        let regions: Vec<(u64, u64, usize, char)> = it
            .targets
            .iter()
            .filter_map(|(&target, &(start, kind))| {
                let region = first(target, start)?;
                (region.0 < it.leave).then_some((region.0, region.1, target, kind))
            })
            .collect();
        let inside = regions.iter().filter(|region| region.1 > it.enter);
        let latest = inside.map(|region| region.0).max().unwrap_or(0);
        let low = latest.saturating_sub(it.enter);
        let Some(&(begin, _, target, kind)) = regions.iter().max_by_key(|it| (it.0, it.2)) else {
            continue;
        };
        // Nobody is away for so long that it comes twice, so each is away until it comes.
        let away = regions.iter().map(|region| region.0.saturating_sub(it.enter));
        let high = away.sum::<u64>().min(begin.saturating_sub(it.enter)).max(low);
        let late = it.leave - begin;
        let multi = it.targets.len() > 1;
        let unlikely = match high > 0 && high >= 19 * late {
            true => (((late + high) as f64 / late as f64).ln() * 1e3) as u64,
            false => 0,
        };
        if high > 0 {
            barriers += u64::from(kind == 'p');
            waits.push(((kind, it.rank, target), low, high, unlikely, multi));
        }
    }
    let mut found = vec![Sums::new(); made.lists.len()];
    for &(class, low, high, unlikely, multi) in &waits {
        let alike = || waits.iter().filter(|it| it.0 == class);
        let aligned = || alike().filter(|it| it.3 > 0);
        let (one, all) = (aligned().map(|it| it.2), alike().map(|it| it.2));
        let depends = one.sum::<u64>() * 5 >= all.sum::<u64>() * 4
            && aligned().map(|it| it.3).sum::<u64>() >= 4_600;
        let counter = if depends && unlikely > 0 { aligned().count() as u64 } else { 0 };
        let (low, high, rest) = match evidence.get(&class).copied().unwrap_or(0) {
            0 => (low, high, 0),
            own if counter > own => (low, high, 0),
            own if counter * 10 > own => (0, high, 0),
            _ => (0, 0, high),
        };
        let names = match multi {
            false => [
                Q::Wait(Wait::WaitForProgress),
                Q::Margin(Wait::WaitForProgress),
                Q::Unconfirmed(Wait::WaitForProgress),
            ],
            true => [
                Q::Wait(Wait::WaitForProgressMulti),
                Q::Margin(Wait::WaitForProgressMulti),
                Q::Unconfirmed(Wait::WaitForProgressMulti),
            ],
        };
        for (what, amount) in names.into_iter().zip([low, high - low, rest]) {
            if amount > 0 {
                *found[class.1].entry(what).or_default() += amount;
            }
        }
    }
    (found, barriers)
}

const WAITS: [Q; 4] = [
    Q::Wait(Wait::WaitForProgress),
    Q::Wait(Wait::WaitForProgressMulti),
    Q::Unconfirmed(Wait::WaitForProgress),
    Q::Unconfirmed(Wait::WaitForProgressMulti),
];

#[test]
fn random_traces_equal_a_search() {
    // The last kinds are too rare for a sample.
    check(0..600, &WAITS[..3]);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn more_random_traces_equal_a_search() {
    check(600..1_200, &WAITS[..3]);
}

fn check(seeds: std::ops::Range<u64>, occur: &[Q]) {
    let mut totals = Sums::new();
    let mut collectives = 0;
    for seed in seeds {
        let made = make(seed);
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &made.lists, made.team);
        let (expected, barriers) = search(&made);
        collectives += barriers;
        let mut ways = vec![(Cut::Budget, 1), (Cut::EveryEvent, 1)];
        if seed % 50 == 7 {
            ways.extend([(Cut::EveryEvent, 2), (Cut::Nanoseconds(11), 7)]);
        }
        for (cut, threads) in ways {
            let analysis = analysed(directory.path(), cut, threads);
            for (rank, expected) in expected.iter().enumerate() {
                let at = |what| (what, analysis.at_location(rank, what));
                let found: Sums = WAITS.map(at).into_iter().filter(|it| it.1 > 0).collect();
                assert_eq!(&found, expected, "seed {seed}, rank {rank}, {cut:?}, {threads}");
            }
            let doubtful: u64 = analysis.unexplained().iter().map(|it| it.away).sum();
            let sum = |what| expected.iter().filter_map(|it| it.get(&what)).sum::<u64>();
            assert_eq!(
                doubtful,
                sum(Q::Unconfirmed(Wait::WaitForProgress))
                    + sum(Q::Unconfirmed(Wait::WaitForProgressMulti))
            );
        }
        for (what, amount) in expected.iter().flatten() {
            *totals.entry(*what).or_default() += amount;
        }
    }
    assert!(collectives > 50, "{collectives}");
    for what in occur {
        assert!(totals.get(what).is_some_and(|sum| *sum > 0), "{what:?} never occurred");
    }
}
