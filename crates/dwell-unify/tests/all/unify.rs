//! Unification: the tree against the files, every number of processes, every order.

use std::io;

use dwell_unify::unify::tree::{Answer, Node};
use dwell_unify::unify::{
    Comm, CommId, Coordinates, Counter, Dimension, Global, Group, GroupId, Host, HostId, Label,
    Maps, Module, ModuleId, Offline, Parameter, Process, Property, Region, Run, Shared, Site,
    SiteId, Stack, Text, Thread, Topology, Unified, Upcalls, Window, block, gather, unify,
    unify_offline,
};
use fastrand::Rng;
use otf2::id::{LocationRef, Time};

use crate::threads::{Fault, no_fault, run};

/// A process as it might be: what it has differs from the others', and so does the order.
fn part(seed: u64, rank: u64, size: u64) -> (Shared, Process) {
    let mut random = Rng::with_seed(seed ^ (rank << 20));
    let mut shared = Shared::default();
    // A recorder that is off.
    if random.u64(..10) == 0 {
        return (shared, Process { rank, ..Process::default() });
    }
    let mut order: Vec<u64> = (0..40).filter(|_| random.u64(..3) > 0).collect();
    random.shuffle(&mut order);
    let mut modules = Vec::new();
    for i in order {
        match i % 5 {
            0 => {
                let path = format!("/usr/lib/lib{}.so", i % 4);
                let build_id = vec![i as u8 % 3; 20];
                modules.push(shared.add_module(Module { path, build_id }));
            }
            1 | 2 => {
                let meaning = if i % 2 == 0 { "layer=shmem operation=put" } else { "" };
                shared.add_region(Region {
                    name: format!("shmem_{i}_grün"),
                    meaning: meaning.to_owned(),
                    role: i as u8 % 4,
                    paradigm: 9,
                });
            }
            3 => {
                let at = random.usize(..modules.len() + 1);
                let module = modules.get(at).copied().unwrap_or(ModuleId::UNKNOWN);
                let site = shared.add_site(Site::at(module, 0x1000 + i * 16));
                shared.add_stack(Stack { sites: vec![site] });
                shared.add_stack(Stack { sites: vec![SiteId(0), site] });
                let name = format!("of the program {}", i % 9);
                shared.add_text(Text { text: name.clone() });
                shared.add_parameter(Parameter { name: name.clone(), kind: i as u8 % 3 });
                shared.add_counter(Counter::of_program(&name, "bytes", i as u8 % 2));
            }
            _ => {
                let group = match i % 3 {
                    0 => Group::world(9, size),
                    1 => Group::strided(9, rank % 4, 4, size.div_ceil(4)),
                    _ => Group::from_members(9, &[3, 1, 4, 1, 5, 9, 2, 6]),
                };
                let group = shared.add_group(group);
                shared.add_window(Window {
                    group,
                    comm: CommId::UNKNOWN,
                    name: String::new(),
                    context: i as u32 % 2,
                });
            }
        }
    }
    shared.add_property(Property { name: "runtime".into(), value: "Sandia".into() });
    shared.add_host(Host { name: format!("node{}", random.u64(..3)) });
    let host = shared.add_host(Host { name: format!("node{}", rank / 4) });
    let begin = 1 << 60 | random.u64(..1 << 40);
    let threads = (0..random.u64(..4))
        .map(|i| Thread {
            label: match i {
                0 => Label::Main,
                1 => Label::Numbered(random.u32(..)),
                _ => Label::Named("progress".into()),
            },
            events: random.u64(..),
            first: Time(begin + random.u64(..1000)),
            last: Time(random.u64(..)),
            lost: random.u64(..2),
            numbers: vec![random.u64(..); i as usize],
        })
        .collect();
    let process = Process {
        rank,
        host,
        pid: random.u32(..),
        name: if random.u64(..2) == 0 { String::new() } else { format!("worker {rank}") },
        begin: Time(begin),
        end: Time(begin - 5),
        threads,
        cores: vec![rank + 1],
        numbers: vec![u64::MAX, 0, rank],
    };
    (shared, process)
}

/// Every definition must be the one that its id in the run names.
fn assert_maps(local: &Shared, maps: &Maps, global: &Shared) {
    assert_eq!(maps.counts(), local.counts());
    let at = |map: &[u32], i: usize| map[i] as usize;
    for (i, host) in local.hosts().iter().enumerate() {
        assert_eq!(*host, global.hosts()[at(maps.hosts.as_slice(), i)]);
    }
    for (i, property) in local.properties().iter().enumerate() {
        assert_eq!(*property, global.properties()[at(maps.properties.as_slice(), i)]);
    }
    for (i, region) in local.regions().iter().enumerate() {
        assert_eq!(*region, global.regions()[at(maps.regions.as_slice(), i)]);
    }
    for (i, module) in local.modules().iter().enumerate() {
        assert_eq!(*module, global.modules()[at(maps.modules.as_slice(), i)]);
    }
    for (i, site) in local.sites().iter().enumerate() {
        let other = &global.sites()[at(maps.sites.as_slice(), i)];
        assert_eq!(site.offset, other.offset);
        assert_eq!(local.module(site.module), global.module(other.module));
    }
    for (i, group) in local.groups().iter().enumerate() {
        assert_eq!(*group, global.groups()[at(maps.groups.as_slice(), i)]);
    }
    for (i, window) in local.windows().iter().enumerate() {
        let other = &global.windows()[at(maps.windows.as_slice(), i)];
        assert_eq!((&window.name, window.context), (&other.name, other.context));
        assert_eq!(local.group(window.group), global.group(other.group));
    }
}

/// Rows and prefix sums against what went in.
fn assert_rows(parts: &[(Shared, Process)], global: &Global) {
    let mut location = 0;
    let mut rows = global.processes();
    for (shared, process) in parts {
        let (first, row) = rows.next().expect("a row for every process");
        assert_eq!(first, LocationRef(location));
        assert_eq!(global.shared().host(row.host), shared.host(process.host));
        assert_eq!(Process { host: process.host, ..row }, *process);
        location += process.threads.len() as u64;
    }
    assert!(rows.next().is_none());
    assert_eq!(global.locations(), location);
}

#[test]
fn the_tree_and_the_files_agree_for_every_number_of_processes() {
    for size in 1..=64 {
        let parts: Vec<_> = (0..size).map(|rank| part(size * 7, rank, size)).collect();
        let (maps, firsts, global) = unify_offline(parts.iter().cloned());
        assert_rows(&parts, &global);
        assert_eq!(global.size(), size);
        assert_eq!(global.missing(), []);

        let unified: Vec<Unified> = run(size, no_fault, |up| {
            let (shared, process) = parts[up.rank as usize].clone();
            unify(up, shared, Process { rank: 99, ..process }).expect("no fault")
        });
        let depth = (0..).find(|k| 1 << k >= size).expect("a logarithm");
        for (rank, one) in unified.iter().enumerate() {
            assert_eq!(one.rounds, depth, "{size} processes");
            assert_eq!(one.maps, maps[rank]);
            assert_maps(&parts[rank].0, &one.maps, global.shared());
            assert_eq!(one.first_location, firsts[rank]);
            assert_eq!(one.locations, global.locations());
            assert_eq!(one.definitions, global.shared().counts().total() as u64);
            assert_eq!(one.global.is_some(), rank == 0);
        }
        // Rank 0 has a partner in every round, and nobody is in more rounds than it.
        assert_eq!(unified[0].traffic.len(), depth as usize);
        let all: u64 = unified.iter().flat_map(|one| &one.traffic).map(|round| round.sent).sum();
        let other: u64 =
            unified.iter().flat_map(|one| &one.traffic).map(|round| round.received).sum();
        assert_eq!(all, other);
        let from_tree = unified[0].global.as_ref().expect("at rank 0");
        assert_eq!(from_tree.shared().encode(), global.shared().encode());
        assert_eq!(*from_tree, global);
    }
}

#[test]
fn the_order_of_merging_does_not_matter() {
    let size = 48;
    let parts: Vec<_> = (0..size).map(|rank| part(1, rank, size)).collect();
    let (_, _, expected) = unify_offline(parts.iter().cloned());
    let bytes = expected.shared().encode();
    let mut random = Rng::with_seed(5);
    for _ in 0..200 {
        // Files in any order.
        let mut order: Vec<usize> = (0..parts.len()).collect();
        random.shuffle(&mut order);
        let mut offline = Offline::default();
        for &i in &order {
            offline.add(&parts[i].0, parts[i].1.clone());
        }
        let mut global = offline.finish();
        assert_eq!(global, expected);
        for (shared, _) in &parts {
            let maps = global.locate(shared).expect("all definitions are there");
            assert_maps(shared, &maps, global.shared());
        }
        // Pairs in any order, with the list of either side as the base.
        let mut lists: Vec<Shared> = order.iter().map(|&i| parts[i].0.clone()).collect();
        while lists.len() > 1 {
            let at = random.usize(..lists.len());
            let taken = lists.swap_remove(at);
            let at = random.usize(..lists.len());
            lists[at].merge(&taken);
            if random.u64(..4) == 0 {
                let (sorted, maps) = lists[at].clone().canonical();
                assert_maps(&lists[at], &maps, &sorted);
                lists[at] = sorted;
            }
            if random.u64(..4) == 0 {
                lists[at] = Shared::decode(&lists[at].encode()).expect("what was encoded");
            }
        }
        let last = lists.pop().expect("one list");
        assert_eq!(last.canonical().0.encode(), bytes);
    }
}

#[test]
fn the_result_does_not_depend_on_how_many_share_it() {
    // All processes have the same definitions, each in its own order.
    let shared = |rank: u64| {
        let mut random = Rng::with_seed(rank);
        let mut order: Vec<u64> = (0..50).collect();
        random.shuffle(&mut order);
        let mut shared = Shared::default();
        for i in order {
            let module = Module { path: format!("lib{}", i % 3), build_id: Vec::new() };
            let module = shared.add_module(module);
            shared.add_site(Site::at(module, i));
        }
        shared
    };
    let expected = shared(0).canonical().0.encode();
    for size in 1..=64 {
        let unified = run(size, no_fault, |up| {
            unify(up, shared(up.rank), Process::default()).expect("no fault")
        });
        let global = unified[0].global.as_ref().expect("at rank 0");
        assert_eq!(global.shared().encode(), expected);
    }
}

#[test]
fn those_who_recorded_nothing_join() {
    let unified =
        run(5, no_fault, |up| unify(up, Shared::default(), Process::default()).expect("no fault"));
    let global = unified[0].global.as_ref().expect("at rank 0");
    assert_eq!(global.locations(), 0);
    assert_eq!(global.processes().count(), 5);
    assert!(global.processes().all(|(_, process)| process.host == HostId::UNKNOWN));
    assert!(unified.iter().all(|one| one.maps.counts().total() == 0));
}

#[test]
fn nobody_waits_in_vain_when_lines_fail() {
    let size = 21;
    let parts: Vec<_> = (0..size).map(|rank| part(3, rank, size)).collect();
    for seed in 0..300 {
        let fault = |rank: u64| -> Fault {
            let mut random = Rng::with_seed(seed << 32 | rank);
            Box::new(move |bytes| match random.u64(..24) {
                0 => true,
                1 => {
                    bytes.truncate(random.usize(..bytes.len()));
                    false
                }
                _ => false,
            })
        };
        let results = run(size, fault, |up| {
            let (shared, process) = parts[up.rank as usize].clone();
            unify(up, shared, process)
        });
        let root = results[0].as_ref().expect("rank 0 has a result");
        let global = root.global.as_ref().expect("at rank 0");
        let missing = global.missing();
        let rows: Vec<(LocationRef, Process)> = global.processes().collect();
        for (rank, result) in results.iter().enumerate() {
            let lost = missing.iter().any(|range| range.contains(&(rank as u64)));
            assert!(!(lost && result.is_ok()));
            let Ok(one) = result else { continue };
            assert_maps(&parts[rank].0, &one.maps, global.shared());
            let row = rows.iter().find(|(_, row)| row.rank == rank as u64).expect("a row");
            assert_eq!(one.first_location, row.0);
        }
        assert_eq!(missing.iter().map(|range| range.end - range.start).sum::<u64>(), {
            size - rows.len() as u64
        });
    }
}

#[test]
fn nobody_waits_in_vain_when_bytes_are_flipped() {
    let size = 13;
    let parts: Vec<_> = (0..size).map(|rank| part(4, rank, size)).collect();
    for seed in 0..300 {
        let fault = |rank: u64| -> Fault {
            let mut random = Rng::with_seed(seed << 32 | rank);
            Box::new(move |bytes| {
                if random.u64(..6) == 0 {
                    let at = random.usize(..bytes.len());
                    bytes[at] ^= 1 << random.u64(..8);
                }
                false
            })
        };
        let results = run(size, fault, |up| {
            let (shared, process) = parts[up.rank as usize].clone();
            unify(up, shared, process)
        });
        let root = results[0].as_ref().expect("rank 0 has a result");
        let global = root.global.as_ref().expect("at rank 0");
        assert!(global.processes().count() <= size as usize);
    }
}

#[test]
fn an_impossible_rank_is_an_error() {
    struct Nowhere;
    impl Upcalls for Nowhere {
        fn rank(&self) -> u64 {
            3
        }
        fn size(&self) -> u64 {
            3
        }
        fn send(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
            unreachable!()
        }
        fn receive(&mut self, _: u64) -> io::Result<Vec<u8>> {
            unreachable!()
        }
    }
    assert!(unify(&mut Nowhere, Shared::default(), Process::default()).is_err());
}

#[test]
fn files_may_be_missing_or_claim_the_same_rank() {
    let ranks = [7, 2, 5, 2];
    let parts = ranks.map(|rank| {
        let threads = vec![Thread::default(); rank as usize];
        (Shared::default(), Process { rank, pid: 100 + rank as u32, threads, ..Process::default() })
    });
    let (_, firsts, global) = unify_offline(parts);
    assert_eq!(firsts, [9, 0, 4, 2].map(LocationRef));
    assert_eq!(global.missing(), [0..2, 3..5, 6..7]);
    let order: Vec<u64> = global.processes().map(|(_, process)| process.rank).collect();
    assert_eq!(order, [2, 2, 5, 7]);
}

#[test]
fn references_to_nothing_become_unknown() {
    let mut shared = Shared::default();
    let id = shared.add_site(Site::at(ModuleId(0), 1));
    assert_eq!(shared.site(id).map(|site| site.module), Some(ModuleId::UNKNOWN));
    assert_eq!(Shared::decode(&shared.encode()), Ok(shared));
}

#[test]
fn blocks_are_gathered_at_their_first_rank() {
    for size in 1..=20_u64 {
        for rounds in 0..6 {
            let block = 1 << rounds;
            let gathered = run(size, no_fault, |up| {
                gather(up, block, vec![up.rank as u8; up.rank as usize]).expect("no fault")
            });
            for (rank, parts) in (0..).zip(gathered) {
                let expected =
                    if rank % block == 0 { rank..(rank + block).min(size) } else { 0..0 };
                assert!(parts.iter().map(|part| part.rank).eq(expected));
                assert!(
                    parts
                        .iter()
                        .all(|part| part.bytes == vec![part.rank as u8; part.rank as usize])
                );
            }
        }
    }
    assert_eq!(block(0, 0), 1);
    assert_eq!(block(1, u64::MAX), 1 << 32);
}

fn sample() -> Node {
    let parts: Vec<_> = (0..6).map(|rank| part(12, rank, 6)).collect();
    let mut nodes = parts.into_iter().map(|(shared, process)| Node::leaf(shared, process).0);
    let mut first = nodes.next().expect("a node");
    for node in nodes {
        first.take(node);
    }
    first
}

#[test]
fn every_truncation_is_an_error() {
    let node = sample();
    let bytes = node.encode();
    assert!(Node::decode(&bytes, 0, 6).is_ok());
    assert!(Node::decode(&bytes, 0, 5).is_err());
    assert!(Node::decode(&bytes, 1, 6).is_err());
    for end in 0..bytes.len() {
        assert!(Node::decode(&bytes[..end], 0, 6).is_err(), "{end} of {} bytes", bytes.len());
    }
    let counts = node.counts();
    let (answer, global) = node.finish(6);
    let bytes = answer.encode();
    assert_eq!(Answer::decode(&bytes, &counts).expect("whole"), answer);
    for end in 0..bytes.len() {
        assert!(Answer::decode(&bytes[..end], &counts).is_err());
    }
    let bytes = global.shared().encode();
    for end in 0..bytes.len() {
        assert!(Shared::decode(&bytes[..end]).is_err());
    }
    let maps = answer.maps().encode();
    assert_eq!(Maps::decode(&maps, &counts).as_ref(), Ok(answer.maps()));
    for end in 0..maps.len() {
        assert!(Maps::decode(&maps[..end], &counts).is_err());
    }
}

/// Whatever can be read of damaged bytes can be used like sound definitions, and stays small.
#[test]
fn flipped_bytes_do_no_harm() {
    let node = sample();
    let counts = node.counts();
    let good = node.encode();
    let answer = node.clone().finish(6).0.encode();
    let mut random = Rng::with_seed(8);
    for at in 0..good.len() {
        for _ in 0..10 {
            let mut bytes = good.clone();
            bytes[at] = random.u8(..);
            if random.u64(..2) == 0 {
                let also = random.usize(..bytes.len());
                bytes[also] ^= 1 << random.u64(..8);
            }
            let Ok(other) = Node::decode(&bytes, 0, 6) else { continue };
            let mut mine = node.clone();
            let child = mine.take(other);
            let (answer, global) = mine.finish(12);
            let _ = answer.of_child(&child).encode();
            assert!(global.memory() < 400 * (good.len() + bytes.len()), "{}", global.memory());
            let _ = (global.missing(), global.processes().count(), global.shared().encode());
        }
    }
    for at in 0..answer.len() {
        for value in 0..=255 {
            let mut bytes = answer.clone();
            bytes[at] = value;
            let _ = Answer::decode(&bytes, &counts);
        }
    }
}

#[test]
fn noise_is_an_error_or_harmless() {
    let mut random = Rng::with_seed(77);
    for _ in 0..100_000 {
        let mut bytes: Vec<u8> = (0..random.u64(..60)).map(|_| random.u8(..)).collect();
        // Small numbers get further.
        let mask = [0xff, 0x7f, 0x0f, 0x03][random.usize(..4)];
        bytes.iter_mut().for_each(|byte| *byte &= mask);
        bytes.insert(0, 1);
        if let Ok(shared) = Shared::decode(&bytes) {
            assert!(shared.memory() < 4096 + 200 * bytes.len());
            let (sorted, _) = shared.canonical();
            assert_eq!(Shared::decode(&sorted.encode()), Ok(sorted));
        }
        let _ = Node::decode(&bytes, 0, 4);
    }
}

#[test]
fn the_layout_is_version_7() {
    let mut shared = Shared::default();
    shared.add_host(Host { name: "n1".into() });
    shared.add_host(Host { name: "n2".into() });
    shared.add_property(Property { name: "a".into(), value: "b".into() });
    shared.add_region(Region { name: "put".into(), meaning: "m".into(), role: 2, paradigm: 3 });
    let module = shared.add_module(Module { path: "x".into(), build_id: vec![0xab] });
    shared.add_site(Site::at(ModuleId::UNKNOWN, 16));
    let (function, wrapper) = ("f".into(), "w".into());
    shared.add_site(Site { module, offset: 8, function, wrapper });
    let group = shared.add_group(Group::strided(9, 4, 2, 300));
    let remote = GroupId::UNKNOWN;
    let comm = shared.add_comm(Comm { group, remote, name: "c".into(), identity: 7 });
    shared.add_window(Window { group, comm, name: "w".into(), context: 5 });
    shared.add_parameter(Parameter { name: "p".into(), kind: 1 });
    shared.add_counter(Counter::of_program("c", "B", 10));
    shared.add_text(Text { text: "t".into() });
    shared.add_text(Text { text: "tu".into() });
    shared.add_stack(Stack { sites: vec![SiteId(1)] });
    shared.add_stack(Stack { sites: vec![SiteId(1), SiteId(0)] });
    let dimensions = vec![Dimension { size: 3, is_periodic: true }];
    let topology = shared.add_topology(Topology { comm, name: "g".into(), dimensions });
    shared.add_coordinates(Coordinates { topology, rank: 2, at: vec![1] });
    #[rustfmt::skip]
    let golden = [
        7,
        2, 0, 2, b'n', b'1', 1, 1, b'2',
        1, 0, 1, b'a', 0, 1, b'b',
        1, 0, 3, b'p', b'u', b't', 0, 1, b'm', 2, 3,
        1, 0, 1, b'x', 1, 0xab,
        2, 0, 32, 0, 0, 0, 0, 2, 15, 0, 1, b'f', 0, 1, b'w',
        1, 9, 1, 0xac, 0x02, 8, 2,
        1, 2, 0, 0, 1, b'c', 7,
        1, 2, 2, 0, 1, b'w', 5,
        1, 0, 1, b'p', 1,
        1, 0, 1, 0, 1, b'c', 0, 1, b'B', 10, 3, 17,
        2, 0, 1, b't', 1, 1, b'u',
        2, 0, 1, 1, 1, 1, 0,
        1, 2, 0, 1, b'g', 1, 7,
        1, 2, 4, 1, 1,
    ];
    assert_eq!(shared.encode(), golden);
    assert_eq!(Shared::decode(&golden), Ok(shared));
    let mut other = golden;
    other[0] = 1;
    assert!(Shared::decode(&other).is_err());
}

#[test]
fn groups_are_the_same_however_they_were_made() {
    let world = Group::world(1, 294_912);
    assert_eq!(world.runs(), [Run { start: 0, stride: 1, count: 294_912 }]);
    assert_eq!(world, Group::collect(1, 0..294_912));
    assert_ne!(world, Group::world(2, 294_912));
    assert_eq!(Group::world(1, 0), Group::empty(1));
    assert_eq!(Group::world(1, 1), Group::strided(1, 0, 77, 1));
    assert_eq!(Group::strided(1, 9, -3, 4), Group::from_members(1, &[9, 6, 3, 0]));
    assert_eq!(Group::strided(1, 5, 0, 4), Group::from_members(1, &[5, 5, 5, 5]));
    // A world too large to be written out.
    assert_eq!(Group::world(1, u64::MAX).size(), u64::MAX);

    // Rows, columns and rectangles of a grid of 48 x 20.
    for row in 0..20 {
        let members: Vec<u64> = (0..48).map(|column| row * 48 + column).collect();
        let group = Group::from_members(1, &members);
        assert_eq!(group, Group::strided(1, row * 48, 1, 48));
        assert_eq!(group.runs().len(), 1);
    }
    for column in 0..48 {
        let members: Vec<u64> = (0..20).map(|row| row * 48 + column).collect();
        let group = Group::from_members(1, &members);
        assert_eq!(group, Group::strided(1, column, 48, 20));
        assert_eq!(group.runs().len(), 1);
    }
    let rectangle = Group::collect(1, (2..7).flat_map(|row| (10..20).map(move |c| row * 48 + c)));
    assert_eq!(rectangle.runs().len(), 5);
}

#[test]
fn groups_of_any_members_return() {
    let mut random = Rng::with_seed(31);
    for round in 0..5000 {
        // Runs, strides and single members in any mix, some wild.
        let mut runs = Vec::new();
        for _ in 0..random.u64(..6) {
            let wild = random.u64(..50) == 0;
            runs.push(Run {
                start: if wild { random.u64(..) } else { random.u64(..12) },
                stride: if wild { random.i64(..) } else { random.u64(..5) as i64 - 2 },
                count: random.u64(..9),
            });
        }
        let members: Vec<u64> = runs
            .iter()
            .flat_map(|run| {
                (0..run.count).map(|i| run.start.wrapping_add((run.stride as u64).wrapping_mul(i)))
            })
            .collect();
        let group = Group::from_runs(6, runs);
        assert_eq!(group, Group::from_members(6, &members), "round {round}");
        assert_eq!(group, Group::from_runs(6, group.runs().iter().copied()));
        assert!(group.members().eq(members.iter().copied()));
        assert_eq!(group.size(), members.len() as u64);
        for (place, member) in (0..).zip(&members) {
            assert_eq!(group.member(place), Some(*member));
        }
        assert_eq!(group.member(group.size()), None);
        let mut shared = Shared::default();
        shared.add_group(group.clone());
        let again = Shared::decode(&shared.encode()).expect("what was encoded");
        assert_eq!(again.groups(), [group]);
    }
}

#[test]
fn the_size_of_a_group_on_its_way_is_constant() {
    for size in [16, 4096, 294_912, 1_000_000] {
        assert!(Group::world(1, size).travelling_bytes() <= 7);
        assert!(Group::strided(1, size - 4, 1, 4).travelling_bytes() <= 8);
        assert!(Group::strided(1, 17, 512, size / 512).travelling_bytes() <= 9);
    }
}
