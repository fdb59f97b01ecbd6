//! Formats of our own, held against their golden files: what is read from each, and what is written today.

use std::fmt::Write;

use dwell_model::profile::block::{
    self as format, HEAD, Head, LOCATION, Path, Place, SUM, sum_length,
};
use dwell_model::profile::check::check;
use dwell_model::varint;
use dwell_unify::collate::{block, part};
use dwell_unify::stream;
use dwell_unify::unify::tree::{Answer, Node};
use dwell_unify::unify::{
    Comm, CommId, Coordinates, Counter, Dimension, Group, Host, Label, Member, Module, Parameter,
    Process, Property, Region, Shared, Site, Stack, Text, Thread, Topology, Window,
};
use otf2::enums::MappingType;
use otf2::id::{LocationRef, Time};

use crate::golden;

#[test]
fn facts_of_version_1_are_read() {
    let mut text = String::new();
    let head = stream::parse(&golden::read("facts-1.facts"), |offset, fact| match fact {
        Ok(fact) => writeln!(text, "{offset} {fact:?}").unwrap(),
        Err(damage) => panic!("{offset}: {damage}"),
    });
    writeln!(text, "{:#?}", head.unwrap()).unwrap();
    golden::hold("facts-1.txt", text.as_bytes());
}

/// Ids of the archive are those of the process and something of their kind.
fn translate(space: MappingType, id: u32) -> u32 {
    id + 100 * (1 + u32::from(u8::from(space)))
}

#[test]
fn rows_of_both_versions_become_blocks_of_version_1() {
    for name in ["rows-1.rows", "rows-2.rows"] {
        become_blocks(&golden::read(name));
    }
}

/// Holds a block of two locations that have the same rows against the golden block.
fn become_blocks(rows: &[u8]) {
    assert_eq!(check(rows), Ok(()));
    let mut parts: Vec<u8> = Vec::new();
    for location in [4, 5] {
        let part = part(LocationRef(location), rows, translate).unwrap();
        varint::put(&mut parts, part.len() as u64);
        parts.extend(part);
    }
    let (first, bytes) = block(&parts).unwrap();
    assert_eq!(first, LocationRef(4));
    golden::hold("block-2.block", &bytes);
}

#[test]
fn blocks_of_all_versions_are_read() {
    for (version, sum) in [(1, 0), (2, SUM)] {
        let bytes = golden::read(&format!("block-{version}.block"));
        let head = Head::read(&bytes).unwrap();
        assert_eq!(head.length + sum as u64, bytes.len() as u64);
        assert_eq!(sum_length(&bytes), sum);
        is_read(&bytes[..head.length as usize], head);
    }
}

/// Holds what is read from a block against the golden text, which is the same for all versions.
fn is_read(bytes: &[u8], head: Head) {
    let mut text = format!("{head:?}\n");
    let (places, paths) =
        bytes[HEAD..head.tables() as usize].split_at(head.locations as usize * LOCATION);
    Place::read(places).for_each(|place| writeln!(text, "{place:?}").unwrap());
    let paths: Vec<Path> = Path::read(paths).collect();
    let ends = paths.iter().skip(1).map(|path| path.start).chain([head.partners]);
    for (path, end) in paths.iter().zip(ends) {
        writeln!(text, "{path:?}").unwrap();
        for (place, sums, counters) in format::lines(&bytes[path.start as usize..end as usize]) {
            let counters: Vec<_> = counters.iter().collect();
            writeln!(text, "  {place} {sums:?} {counters:?}").unwrap();
        }
    }
    for (place, partner) in format::partners(&bytes[head.partners as usize..]) {
        writeln!(text, "{place} {partner:?}").unwrap();
    }
    golden::hold("block-1.txt", text.as_bytes());
}

/// A process that has a definition of each kind.
fn process(rank: u64) -> (Shared, Process) {
    let mut shared = Shared::default();
    let host = shared.add_host(Host { name: format!("node{}", rank / 2) });
    shared.add_property(Property { name: "RUNTIME".into(), value: "Sandia".into() });
    shared.add_region(Region {
        name: format!("shmem_put{}", 8 << rank),
        meaning: "layer=shmem operation=put".into(),
        role: 3,
        paradigm: 9,
    });
    let module = shared.add_module(Module { path: "/bin/heat".into(), build_id: vec![7; 20] });
    let outer = shared.add_site(Site::at(module, 0x1000));
    let inner = shared.add_site(Site::at(module, 0x1080 + rank));
    let script =
        shared.add_module(Module { path: "/home/me/heat.py".into(), build_id: Vec::new() });
    let (function, wrapper) = (format!("step{rank}"), "mpi4py".into());
    shared.add_site(Site { module: script, offset: 12, function, wrapper });
    shared.add_stack(Stack { sites: vec![outer, inner] });
    let group = shared.add_group(Group::strided(9, rank % 2, 2, 2));
    let name = String::from("row");
    let comm = shared.add_comm(Comm { group, remote: group, name, identity: 1 << 40 | rank });
    shared.add_window(Window { group, comm, name: "heap".into(), context: 1 });
    shared.add_window(Window { group, comm: CommId::UNKNOWN, name: String::new(), context: 0 });
    shared.add_parameter(Parameter { name: "size".into(), kind: 1 });
    shared.add_counter(Counter::of_program("residual", "1", 10));
    let (name, unit) = ("cpu_time".into(), "ns".into());
    let members = vec![Member { name, unit, kind: 4, source: 2, mode: 0 }];
    shared.add_counter(Counter { members, is_sampled: true });
    shared.add_text(Text { text: "grün".into() });
    let dimension = |size| Dimension { size, is_periodic: size == 2 };
    let dimensions = vec![dimension(2), dimension(300)];
    shared.add_topology(Topology { comm, name: "rows".into(), dimensions: dimensions.clone() });
    let topology = Topology { comm: CommId::UNKNOWN, name: "grid".into(), dimensions };
    let topology = shared.add_topology(topology);
    shared.add_coordinates(Coordinates { topology, rank, at: vec![rank as u32 % 2, 299] });
    let thread = |label, events| Thread {
        label,
        events,
        first: Time(1_010),
        last: Time(90_000 + rank),
        lost: rank,
        numbers: vec![rank, 300],
    };
    let process = Process {
        rank,
        host,
        pid: 4000 + rank as u32,
        name: format!("worker {rank}"),
        begin: Time(1_000),
        end: Time(100_000),
        threads: vec![
            thread(Label::Main, 50),
            thread(Label::Numbered(1), 6),
            thread(Label::Named("progress".into()), 7),
        ],
        cores: vec![1 << rank],
        numbers: vec![11, 0, rank],
    };
    (shared, process)
}

/// The message of ranks 2 and 3 of four, and the answers to both.
#[test]
fn messages_are_written_as_version_5_says() {
    let leaf = |rank| {
        let (shared, process) = process(rank);
        Node::leaf(shared, process).0
    };
    let (mut second, mut first) = (leaf(2), leaf(0));
    second.take(leaf(3));
    golden::hold("gathered-5.message", &second.encode());
    first.take(leaf(1));
    let child = first.take(second);
    let (answer, _) = first.finish(4);
    golden::hold("accepted-5.message", &answer.of_child(&child).encode());
    golden::hold("refused-5.message", &Answer::refusal());
}

#[test]
fn messages_of_version_5_are_read() {
    let node = Node::decode(&golden::read("gathered-5.message"), 2, 4).unwrap();
    let answer = Answer::decode(&golden::read("accepted-5.message"), &node.counts()).unwrap();
    let refused = Answer::decode(&golden::read("refused-5.message"), &node.counts());
    let mut text = format!("{refused:?}\n{answer:?}\n");
    let (_, global) = node.finish(4);
    let shared = global.shared();
    list(&mut text, shared.hosts());
    list(&mut text, shared.properties());
    list(&mut text, shared.regions());
    list(&mut text, shared.modules());
    list(&mut text, shared.sites());
    list(&mut text, shared.groups());
    list(&mut text, shared.comms());
    list(&mut text, shared.windows());
    list(&mut text, shared.parameters());
    list(&mut text, shared.counters());
    list(&mut text, shared.texts());
    list(&mut text, shared.stacks());
    list(&mut text, shared.topologies());
    list(&mut text, shared.coordinates());
    for (location, process) in global.processes() {
        writeln!(text, "{location:?} {process:?}").unwrap();
    }
    golden::hold("messages-5.txt", text.as_bytes());
}

/// Adds definitions to a text, one a line.
fn list<T: std::fmt::Debug>(text: &mut String, definitions: &[T]) {
    definitions.iter().for_each(|it| writeln!(text, "{it:?}").unwrap());
}
