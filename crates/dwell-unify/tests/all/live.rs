//! Runs that have not ended, made by hand: what their processes are in, and who waits for whom.

use std::fs;
use std::path::Path;
use std::time::Instant;

use dwell_unify::definitions::attribute;
use dwell_unify::facts::{EVENTS, Fact, OpenCall, encode_open};
use dwell_unify::live::graph::{Graph, Kind};
use dwell_unify::live::{self, About, Live};
use dwell_unify::stage;
use dwell_unify::stream::{BLOCK, Headed, RunId};
use otf2::encode::Encoder;
use otf2::enums::{
    CollectiveOp, CollectiveRoot, LockType, MeasurementMode, Paradigm, RegionRole, RmaSyncLevel,
};
use otf2::event::{
    Enter, Event, Leave, MeasurementOnOff, RmaAcquireLock, RmaCollectiveBegin, RmaCollectiveEnd,
    RmaGroupSync, RmaRequestLock,
};
use otf2::id::{GroupRef, LockId, Rank, RegionRef, RmaWinRef, Time};
use otf2::{Attribute, AttributeValue};

const CHUNK: usize = 256 * 1024;
const WIN: RmaWinRef = RmaWinRef(0);
const BARRIER: RegionRef = RegionRef(0);
const LOCK: RegionRef = RegionRef(1);
const BROADCAST: RegionRef = RegionRef(2);
const IMAGES: RegionRef = RegionRef(3);
const EXCHANGE: RegionRef = RegionRef(4);

/// Facts of a process of OpenSHMEM.
fn facts(rank: u64, size: u64) -> Vec<u8> {
    let (role, paradigm) = (u8::from(RegionRole::Function), u8::from(Paradigm::Shmem));
    let (role, paradigm) = (u64::from(role), u64::from(paradigm));
    let region = |id, name, meaning| Fact::Region { id, name, meaning, role, paradigm };
    let all = [
        Fact::Process { rank, size, pid: 1 << 30, host: "elsewhere", program: "p", layer: 0 },
        Fact::Thread { id: 0, tid: 1, files: EVENTS },
        region(0, "shmem_barrier_all", "layer=shmem operation=barrier progress=always"),
        region(1, "shmem_set_lock", "layer=shmem operation=lock progress=always"),
        region(2, "shmem_broadcastmem", "layer=shmem operation=broadcast progress=always"),
        region(4, "shmem_alltoallmem", "layer=shmem operation=all_to_all progress=always"),
        region(3, "sync images", "layer=caf operation=meet progress=always"),
        Fact::Members { group: 0, paradigm, runs: &[0, 2, 2] },
        Fact::Window { id: 0, paradigm, start: 0, stride: 1, size, context: 0 },
        Fact::Clock { recorder: 0, monotonic: 0, doubt: 0 },
    ];
    let head = Headed {
        run: RunId(7),
        size,
        rank,
        chunk_size: CHUNK as u64,
        facts: all.len() as u64,
        ..Headed::default()
    };
    let mut stream: Vec<u8> = head.fixed().into_iter().flat_map(u64::to_le_bytes).collect();
    stream.resize(BLOCK, 0);
    all.into_iter().for_each(|fact| add(&mut stream, fact));
    stream
}

/// Returns a chunk with events, one in each nanosecond from a time on. Collectives that end are numbered.
fn chunk(from: u64, events: &[Event<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::new(vec![0; CHUNK]).unwrap();
    let mut sequence = 0;
    for (time, event) in (from..).zip(events) {
        if let Event::RmaCollectiveEnd(_) = event {
            let value = AttributeValue::Uint64(sequence);
            let tag = Attribute { attribute: attribute::SEQUENCE, value };
            encoder.write_tagged(Time(time), tag, *event).unwrap();
            sequence += 1;
        } else {
            encoder.write(Time(time), *event).unwrap();
        }
    }
    encoder.memory().clone()
}

fn enter(region: RegionRef) -> Event<'static> {
    Enter { region }.into()
}

fn leave(region: RegionRef) -> Event<'static> {
    Leave { region }.into()
}

fn asks(lock: u64) -> Event<'static> {
    let (remote, lock_type) = (Rank::UNDEFINED, LockType::Exclusive);
    RmaRequestLock { win: WIN, remote, lock_id: LockId(lock), lock_type }.into()
}

fn gets(lock: u64) -> Event<'static> {
    let (remote, lock_type) = (Rank::UNDEFINED, LockType::Exclusive);
    RmaAcquireLock { win: WIN, remote, lock_id: LockId(lock), lock_type }.into()
}

/// Returns the events of a process that holds a lock and asks for another.
fn holds(lock: u64, other: u64) -> Vec<Event<'static>> {
    vec![enter(LOCK), asks(lock), gets(lock), leave(LOCK), enter(LOCK), asks(other)]
}

fn in_barrier() -> Vec<Event<'static>> {
    joins(BARRIER)
}

/// Returns the events of a process that is in a collective.
fn joins(region: RegionRef) -> Vec<Event<'static>> {
    vec![enter(region), RmaCollectiveBegin {}.into()]
}

/// Returns the events of a process that was in a collective.
fn has_joined(region: RegionRef) -> Vec<Event<'static>> {
    let (collective_op, sync_level, root) =
        (CollectiveOp::Bcast, RmaSyncLevel::PROCESS, CollectiveRoot::None);
    let (win, bytes_sent, bytes_received) = (WIN, 0, 0);
    let end = RmaCollectiveEnd { collective_op, sync_level, win, root, bytes_sent, bytes_received };
    [joins(region), vec![end.into(), leave(region)]].concat()
}

/// Returns the events of an image that waits for all others.
fn meets() -> Vec<Event<'static>> {
    let sync_level = RmaSyncLevel::PROCESS;
    vec![enter(IMAGES), RmaGroupSync { sync_level, win: WIN, group: GroupRef(0) }.into()]
}

/// Writes a run of processes with these events.
fn run(folder: &Path, processes: &[Vec<Event<'_>>]) {
    let open = folder.join("open");
    fs::create_dir_all(&open).unwrap();
    for (rank, events) in processes.iter().enumerate() {
        fs::write(open.join(format!("{rank}.facts")), facts(rank as u64, processes.len() as u64))
            .unwrap();
        fs::write(open.join(format!("{rank}.0.evt")), chunk(1, events)).unwrap();
    }
}

fn read(folder: &Path) -> (Live, Graph) {
    let live = live::read(folder).unwrap();
    assert!(live.unreadable.is_empty(), "{:?}", live.unreadable);
    let graph = Graph::of(&live);
    (live, graph)
}

#[test]
fn two_that_hold_the_locks_of_each_other_are_a_certain_circle() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &[holds(1, 2), holds(2, 1), in_barrier()]);
    let (live, graph) = read(folder.path());
    assert_eq!(live.size, 3);
    assert_eq!(graph.circles, [(vec![0, 1], true)]);
    let wait = &graph.waits[&2];
    assert_eq!((wait.kind, wait.on.as_slice()), (Kind::Collective, &[0, 1][..]));
    let call = live.processes[2].threads[0].calls.last().unwrap();
    assert_eq!(call.about, [About::Collective]);
}

#[test]
fn who_has_left_a_broadcast_is_not_missing_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = [has_joined(BROADCAST), in_barrier()].concat();
    run(folder.path(), &[root, joins(BROADCAST)]);
    let (_, graph) = read(folder.path());
    assert_eq!(graph.waits[&0].on, [1]);
    assert_eq!(graph.waits[&1].on, [0; 0]);
    assert!(graph.circles.is_empty(), "{:?}", graph.circles);
    // Different collectives instead of the first are a deadlock, unless some member need not wait for all.
    run(folder.path(), &[in_barrier(), joins(EXCHANGE)]);
    assert_eq!(read(folder.path()).1.circles, [(vec![0, 1], true)]);
    run(folder.path(), &[in_barrier(), joins(BROADCAST)]);
    assert_eq!(read(folder.path()).1.circles, [(vec![0, 1], false)]);
}

#[test]
fn what_was_not_recorded_takes_the_certainty() {
    let folder = tempfile::tempdir().unwrap();
    let off = MeasurementOnOff { measurement_mode: MeasurementMode::Off };
    run(folder.path(), &[holds(1, 2), [holds(2, 1), vec![off.into()]].concat()]);
    assert_eq!(read(folder.path()).1.circles, [(vec![0, 1], false)]);
    // A second thread may release a lock.
    run(folder.path(), &[holds(1, 2), holds(2, 1)]);
    assert_eq!(read(folder.path()).1.circles, [(vec![0, 1], true)]);
    let open = folder.path().join("open");
    let mut facts = facts(0, 2);
    add(&mut facts, Fact::Thread { id: 1, tid: 2, files: EVENTS });
    fs::write(open.join("0.facts"), facts).unwrap();
    fs::write(open.join("0.1.evt"), chunk(1, &in_barrier())).unwrap();
    assert_eq!(read(folder.path()).1.circles, [(vec![0, 1], false)]);
}

#[test]
fn images_that_have_met_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    // Image 0 began later, and has left before: the clock counts events.
    let later = [has_joined(BARRIER), meets(), vec![leave(IMAGES)], in_barrier()].concat();
    run(folder.path(), &[later, meets()]);
    let (_, graph) = read(folder.path());
    assert_eq!((graph.waits[&0].on.as_slice(), graph.waits[&1].on.as_slice()), (&[1][..], &[][..]));
    run(folder.path(), &[in_barrier(), meets()]);
    assert_eq!(read(folder.path()).1.circles, [(vec![0, 1], true)]);
}

/// A thread may have left its first chunk, and fill the next in a file of its own.
#[test]
fn the_chunk_that_is_being_filled_comes_last() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &[holds(1, 2), in_barrier()]);
    let events = folder.path().join("open/0.0.evt");
    let mut encoder = Encoder::new(vec![0; CHUNK]).unwrap();
    for event in holds(1, 2) {
        encoder.write(Time(1), event).unwrap();
    }
    let first = encoder.memory().clone();
    encoder.reuse(|_| Ok::<(), ()>(())).unwrap();
    for event in [gets(2), leave(LOCK)] {
        encoder.write(Time(9), event).unwrap();
    }
    // The place of the second chunk is reserved.
    fs::write(&events, [first, vec![0; CHUNK]].concat()).unwrap();
    fs::write(stage::path(&events), encoder.memory()).unwrap();
    let (live, graph) = read(folder.path());
    let thread = &live.processes[0].threads[0];
    assert_eq!((thread.calls.len(), thread.last, thread.locks.len()), (0, Some(9), 2));
    assert!(!graph.waits.contains_key(&0));
    assert_eq!(graph.roots, [(0, 1)]);
}

/// Appends a fact to the stream of a process.
fn add(facts: &mut Vec<u8>, fact: Fact<'_>) {
    let mut bytes = [0; 512];
    let (tag, length) = fact.encode(&mut bytes).unwrap();
    bytes[0] = tag;
    facts.extend(&bytes[..length]);
}

/// A call may have begun long before the last chunks, and go on to record what a layer below does.
#[test]
fn calls_around_the_last_chunks_are_known() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &[in_barrier(), in_barrier()]);
    let open = folder.path().join("open");
    // The first chunk has been read by nobody: two others follow it.
    let mut encoder = Encoder::new(vec![0; CHUNK]).unwrap();
    let mut chunks = Vec::new();
    let inner = |time| [(time, enter(LOCK)), (time + 1, leave(LOCK))];
    for part in [
        vec![(1, enter(BARRIER)), (3, RmaCollectiveBegin {}.into()), (4, enter(EXCHANGE))],
        // What was open is left, and an enter event follows that was held back.
        [vec![(5, enter(EXCHANGE)), (5, leave(EXCHANGE))], inner(6).to_vec()].concat(),
        inner(8).to_vec(),
    ] {
        for (time, event) in part {
            encoder.write(Time(time), event).unwrap();
        }
        chunks.extend(encoder.memory());
        encoder.reuse(|_| Ok::<(), ()>(())).unwrap();
    }
    fs::write(open.join("0.0.evt"), chunks).unwrap();
    let before = read(folder.path());
    assert_eq!(before.0.processes[0].threads[0].call().map(|it| it.region), None);
    let call = |region: RegionRef, since, count| OpenCall {
        region: region.0.into(),
        site: 0,
        since,
        count,
    };
    let with = |calls: &[OpenCall]| {
        let mut bytes = [0; 64];
        let used = encode_open(calls.iter().copied(), &mut bytes).unwrap();
        let mut facts = facts(0, 2);
        for first in [4, 8] {
            add(&mut facts, Fact::Open { thread: 0, first, calls: &bytes[..used] });
        }
        fs::write(open.join("0.facts"), facts).unwrap();
        read(folder.path())
    };
    let (live, graph) = with(&[call(BARRIER, 1, 1), call(EXCHANGE, 5, 1)]);
    let calls = &live.processes[0].threads[0].calls;
    let known: Vec<_> = calls.iter().map(|it| (it.region, it.since)).collect();
    assert_eq!(known, [(BARRIER, 1)]);
    assert_eq!((graph.waits[&0].kind, graph.waits[&0].on.len()), (Kind::Collective, 0));
    assert_eq!(graph.waits[&1].on, [0; 0]);
    // A region that stands for several calls polls.
    let (_, graph) = with(&[call(LOCK, 1, 7)]);
    assert_eq!((graph.waits[&0].kind, graph.roots), (Kind::Poll, vec![(0, 1)]));
}

#[test]
fn files_that_are_no_facts_are_told() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &[in_barrier()]);
    fs::write(folder.path().join("open/5.facts"), b"no").unwrap();
    let live = live::read(folder.path()).unwrap();
    assert_eq!((live.processes.len(), live.unreadable.len()), (1, 1));
    assert!(live::read(&folder.path().join("nothing")).unwrap().processes.is_empty());
}

/// One process of very many computes, and all others wait for it.
#[test]
#[ignore = "slow: cargo xtask proofs"]
fn proof_that_many_processes_are_read_quickly() {
    const MANY: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let mut processes = vec![in_barrier(); MANY];
    processes[17] = [in_barrier(), vec![leave(BARRIER)]].concat();
    run(folder.path(), &processes);
    let began = Instant::now();
    let live = live::read(folder.path()).unwrap();
    let read = began.elapsed().as_secs_f64();
    let graph = Graph::of(&live);
    let concluded = began.elapsed().as_secs_f64() - read;
    println!("{MANY} processes: read in {read:.2} s, concluded in {concluded:.2} s");
    assert_eq!(graph.roots, [(17, MANY as u64 - 1)]);
    assert!(graph.circles.is_empty());
}
