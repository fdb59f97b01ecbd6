//! Operations that are read from the middle of a trace, compared with a search through all of it that shares no code with it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use dwell_synth::{halo, random, ring};
use dwell_timeline::{Held, Joined, Location, Operation, OperationKind, Span, Time, Trace};
use otf2::enums::{CollectiveOp, GroupFlag, GroupType, LocationType, LockType, Paradigm};
use otf2::id::{CommRef, LocationGroupRef, RmaWinRef};
use otf2::{Archive, Definition, Event};

/// A record that is shown, unless a call around it has records too.
#[derive(Debug)]
struct Record {
    location: Location,
    time: Time,
    /// Number of the location's record.
    what: What,
    is_nested: bool,
}

#[derive(Debug)]
enum What {
    Operation { partner: Option<Location>, kind: OperationKind, bytes: u64, end: Option<Time> },
    Send(Key, u64, u64),
    Receive(Key, u64),
    Collective { of: (bool, u32), stated: bool, number: u64, begin: Time, is_barrier: bool },
    Acquired((u32, Option<Location>, u64), bool),
    Released((u32, Option<Location>, u64)),
}

type Key = (CommRef, Option<Location>, Option<Location>, u32);

struct Searched {
    records: Vec<Record>,
    /// Outermost calls with records, by location.
    calls: Vec<Vec<Span>>,
    end: Time,
}

struct Ranks {
    /// Locations of the members of each communicator; `None` for one that has the calling process only.
    of: HashMap<CommRef, Option<Vec<Location>>>,
    windows: HashMap<RmaWinRef, CommRef>,
    /// First location of the process of each location.
    first: Vec<Location>,
}

impl Ranks {
    fn find(&self, comm: CommRef, rank: u32, me: Location) -> Option<Location> {
        match self.of.get(&comm)? {
            Some(list) => list.get(rank as usize).copied(),
            None => Some(self.first[me.0 as usize]),
        }
    }
}

/// Reads the whole trace.
fn search(path: &Path) -> Searched {
    let archive = Archive::open(path).unwrap();
    let definitions = archive.definitions().unwrap();
    let mut groups: BTreeMap<LocationGroupRef, BTreeSet<_>> = BTreeMap::new();
    for it in definitions.locations().filter(|it| it.location_type != LocationType::Metric) {
        groups.entry(it.location_group).or_default().insert(it.id);
    }
    let mut ids = Vec::new();
    let mut first = Vec::new();
    for list in groups.values() {
        let begin = Location(ids.len() as u32);
        ids.extend(list.iter().copied());
        first.extend(list.iter().map(|_| begin));
    }
    let number: HashMap<u64, Location> =
        ids.iter().zip(&first).map(|(id, first)| (id.0, *first)).collect();
    let mut world: HashMap<Paradigm, Vec<u64>> = HashMap::new();
    let mut ranks = Ranks { of: HashMap::new(), windows: HashMap::new(), first };
    for it in definitions.iter() {
        if let Definition::Group(it) = it
            && it.group_type == GroupType::CommLocations
        {
            world.insert(it.paradigm, it.members.iter().collect());
        }
    }
    for it in definitions.iter() {
        match it {
            Definition::Comm(comm) => {
                let group = definitions.group(comm.group).unwrap();
                if group.group_type == GroupType::CommSelf {
                    ranks.of.insert(comm.id, None);
                    continue;
                }
                let table = &world[&group.paradigm];
                let is_global = group.group_flags.contains(GroupFlag::GLOBAL_MEMBERS);
                let members: Vec<u64> = match is_global {
                    true => table.clone(),
                    false => group.members.iter().map(|it| table[it as usize]).collect(),
                };
                ranks.of.insert(comm.id, Some(members.iter().map(|it| number[it]).collect()));
            }
            Definition::RmaWin(win) => drop(ranks.windows.insert(win.id, win.comm)),
            _ => {}
        }
    }
    let name = |id| definitions.string(id).and_then(otf2::Str::to_str).unwrap_or_default();
    let attribute = |wanted: &str| {
        definitions.iter().find_map(|it| match it {
            Definition::Attribute(it) if name(it.name) == wanted => Some(it.id),
            _ => None,
        })
    };
    let (sequence, skipped) = (attribute("DWELL::SEQUENCE"), attribute("DWELL::SKIPPED"));
    let offset = definitions.clock().map_or(0, |it| it.global_offset);
    assert_eq!(definitions.clock().unwrap().timer_resolution, 1_000_000_000);
    let mut found = Searched { records: Vec::new(), calls: Vec::new(), end: Time(0) };
    // Records of all locations, then messages in the order of time.
    let mut messages: Vec<(Time, usize, u64)> = Vec::new();
    for (me, id) in (0..).map(Location).zip(&ids) {
        let mut reader = archive.events(*id).unwrap();
        // Open regions: enter, whether there were records, whether MPI has made them.
        let mut stack: Vec<(Time, bool, bool)> = Vec::new();
        let mut calls = Vec::new();
        let mut begun = Vec::new();
        let mut counts: HashMap<(bool, u32), u64> = HashMap::new();
        while let Some(record) = reader.next().unwrap() {
            let time = Time(record.time.0 - offset);
            found.end = found.end.max(time);
            let value = |wanted| {
                let it = record.attributes.iter().find(|it| Some(it.attribute) == wanted)?;
                match it.value {
                    otf2::AttributeValue::Uint64(it) => Some(it),
                    otf2::AttributeValue::Uint32(it) => Some(u64::from(it)),
                    _ => None,
                }
            };
            let depth = stack.len();
            let mut add = |what| {
                let is_nested = depth > 1 && stack[..depth - 1].iter().any(|it| it.1);
                if let Some(last) = stack.last_mut() {
                    last.1 = true;
                }
                found.records.push(Record { location: me, time, what, is_nested });
            };
            let target = |win: RmaWinRef, rank: otf2::id::Rank| {
                ranks.windows.get(&win).and_then(|it| ranks.find(*it, rank.0, me))
            };
            let mut operation = |win, rank, kind, bytes| {
                add(What::Operation { partner: target(win, rank), kind, bytes, end: None });
            };
            let lock =
                |win: RmaWinRef, rank, id: u64| (ranks.windows[&win].0, target(win, rank), id);
            match record.event {
                Event::Enter(it) => {
                    let region = definitions.region(it.region).unwrap();
                    stack.push((time, false, region.paradigm == Paradigm::Mpi));
                }
                Event::Leave(_) => {
                    let (from, has_records, _) = stack.pop().unwrap();
                    if has_records && !stack.iter().any(|it| it.1) {
                        calls.push(Span { from, to: time });
                    }
                }
                Event::RmaPut(it) => operation(it.win, it.remote, OperationKind::Put, it.bytes),
                Event::RmaGet(it) => operation(it.win, it.remote, OperationKind::Get, it.bytes),
                Event::RmaAtomic(it) => {
                    let bytes = it.bytes_sent + it.bytes_received;
                    let kind = match it.bytes_received {
                        0 => OperationKind::Update,
                        _ => OperationKind::Atomic,
                    };
                    operation(it.win, it.remote, kind, bytes);
                }
                Event::RmaCollectiveBegin(_) | Event::MpiCollectiveBegin(_) => {
                    let is_nested = depth > 1 && stack[..depth - 1].iter().any(|it| it.1);
                    if let Some(last) = stack.last_mut() {
                        last.1 = true;
                    }
                    begun.push((time, is_nested));
                }
                Event::RmaCollectiveEnd(it) => {
                    let (begin, is_nested) = begun.pop().unwrap();
                    let stated = value(sequence);
                    let of = (true, it.win.0);
                    let count = counts.entry(of).or_default();
                    let number = stated.unwrap_or(*count);
                    *count += u64::from(stated.is_none());
                    let is_barrier = it.collective_op == CollectiveOp::Barrier;
                    let stated = stated.is_some();
                    let what = What::Collective { of, stated, number, begin, is_barrier };
                    found.records.push(Record { location: me, time, what, is_nested });
                }
                Event::MpiCollectiveEnd(it) => {
                    let (begin, is_nested) = begun.pop().unwrap();
                    let of = (false, it.communicator.0);
                    let count = counts.entry(of).or_default();
                    let number = *count;
                    *count += 1;
                    let is_barrier = it.collective_op == CollectiveOp::Barrier;
                    let what = What::Collective { of, stated: false, number, begin, is_barrier };
                    found.records.push(Record { location: me, time, what, is_nested });
                }
                Event::RmaRequestLock(_) => {
                    if let Some(last) = stack.last_mut() {
                        last.1 = true;
                    }
                }
                Event::RmaAcquireLock(it) => {
                    let is_shared = it.lock_type == LockType::Shared;
                    add(What::Acquired(lock(it.win, it.remote, it.lock_id.0), is_shared));
                }
                Event::RmaReleaseLock(it) => {
                    add(What::Released(lock(it.win, it.remote, it.lock_id.0)));
                }
                Event::MpiSend(otf2::event::MpiSend {
                    receiver,
                    communicator,
                    msg_tag,
                    msg_length,
                })
                | Event::MpiIsend(otf2::event::MpiIsend {
                    receiver,
                    communicator,
                    msg_tag,
                    msg_length,
                    ..
                }) => {
                    let partner = ranks.find(communicator, receiver.0, me);
                    let own = Some(ranks.first[me.0 as usize]);
                    add(What::Send((communicator, own, partner, msg_tag), 0, msg_length));
                    messages.push((time, found.records.len() - 1, value(skipped).unwrap_or(0)));
                }
                Event::MpiRecv(otf2::event::MpiRecv { sender, communicator, msg_tag, .. })
                | Event::MpiIrecv(otf2::event::MpiIrecv {
                    sender, communicator, msg_tag, ..
                }) => {
                    let partner = ranks.find(communicator, sender.0, me);
                    let own = Some(ranks.first[me.0 as usize]);
                    add(What::Receive((communicator, partner, own, msg_tag), 0));
                    messages.push((time, found.records.len() - 1, value(skipped).unwrap_or(0)));
                }
                _ => {}
            }
        }
        found.calls.push(calls);
    }
    complete(&archive, &ids, &mut found);
    messages.sort_by_key(|it| (it.0, found.records[it.1].location));
    let mut counts: HashMap<(bool, Key), u64> = HashMap::new();
    for (_, place, skipped) in messages {
        let (key, number) = match &mut found.records[place].what {
            What::Send(key, number, _) => ((true, *key), number),
            What::Receive(key, number) => ((false, *key), number),
            _ => unreachable!(),
        };
        let count = counts.entry(key).or_default();
        *number = *count + skipped;
        *count = *number + 1;
    }
    found
}

/// Finds the completion of every operation: the first record that has its window and says so.
fn complete(archive: &Archive, ids: &[otf2::id::LocationRef], found: &mut Searched) {
    let definitions = archive.definitions().unwrap();
    let offset = definitions.clock().map_or(0, |it| it.global_offset);
    for (me, id) in (0..).map(Location).zip(ids) {
        let own = found.records.iter_mut().filter(|it| it.location == me);
        let mut own: Vec<&mut Record> =
            own.filter(|it| matches!(it.what, What::Operation { .. })).collect();
        // Windows and numbers of operations until now, and whether they are complete.
        let mut open: Vec<(RmaWinRef, u64, bool)> = Vec::new();
        let mut stack = Vec::new();
        let mut reader = archive.events(*id).unwrap();
        while let Some(record) = reader.next().unwrap() {
            let (win, number, is_all) = match record.event {
                Event::Enter(it) => {
                    stack.push(definitions.region(it.region).unwrap().paradigm);
                    continue;
                }
                Event::Leave(_) => {
                    stack.pop();
                    continue;
                }
                Event::RmaPut(it) => {
                    open.push((it.win, it.matching_id.0, false));
                    continue;
                }
                Event::RmaGet(it) => {
                    open.push((it.win, it.matching_id.0, false));
                    continue;
                }
                Event::RmaAtomic(it) => {
                    open.push((it.win, it.matching_id.0, false));
                    continue;
                }
                Event::RmaOpCompleteBlocking(it) => (it.win, it.matching_id.0, false),
                Event::RmaOpCompleteNonBlocking(it) => (it.win, it.matching_id.0, false),
                Event::RmaOpCompleteRemote(it) => {
                    (it.win, it.matching_id.0, stack.last() != Some(&Paradigm::Mpi))
                }
                _ => continue,
            };
            for (place, it) in open.iter_mut().enumerate() {
                let ends = it.0 == win && !it.2 && (it.1 == number || is_all && it.1 < number);
                if let What::Operation { end, .. } = &mut own[place].what
                    && ends
                {
                    it.2 = true;
                    *end = Some(Time(record.time.0 - offset));
                }
            }
        }
    }
}

impl Searched {
    /// Returns the begin of the outermost call with records at a time, or that time.
    fn begin(&self, location: Location, time: Time) -> Time {
        let calls = self.calls.get(location.0 as usize);
        let call = calls.and_then(|it| it.iter().find(|it| it.from <= time && time < it.to));
        call.map_or(time, |it| it.from)
    }

    fn operations(&self, wanted: &BTreeSet<Location>, span: Span) -> (Vec<Operation>, Vec<Joined>) {
        let is_all = wanted.len() == self.calls.len();
        let begins: HashMap<Location, Time> =
            wanted.iter().map(|it| (*it, self.begin(*it, span.from))).collect();
        let read: Vec<&Record> = self
            .records
            .iter()
            .filter(|it| begins.get(&it.location).is_some_and(|begin| it.time >= *begin))
            .collect();
        let mut list = Vec::new();
        let mut joined: BTreeMap<_, (Vec<(Location, Span)>, bool)> = BTreeMap::new();
        for it in read.iter().filter(|it| !it.is_nested) {
            let origin = it.location;
            match &it.what {
                What::Operation { partner: Some(partner), kind, bytes, end }
                    if it.time < span.to =>
                {
                    let to = end.unwrap_or(it.time);
                    let at = Span { from: it.time, to };
                    let (kind, partner, bytes) = (*kind, *partner, *bytes);
                    list.push(Operation { kind, origin, partner, span: at, bytes });
                }
                What::Send(key, number, bytes) if it.time < span.to => {
                    let received = read.iter().find(|other| {
                        matches!(&other.what, What::Receive(own, n) if own == key && n == number)
                    });
                    if let Some(received) = received
                        && received.time < span.to
                        && received.time >= it.time
                    {
                        let at = Span { from: it.time, to: received.time };
                        let (kind, partner) = (OperationKind::Message, received.location);
                        list.push(Operation { kind, origin, partner, span: at, bytes: *bytes });
                    }
                }
                What::Collective { of, stated, number, begin, is_barrier }
                    if *begin >= begins[&origin] && *begin < span.to =>
                {
                    let entry = joined.entry((of, stated, number)).or_default();
                    entry.0.push((origin, Span { from: *begin, to: it.time }));
                    entry.1 |= is_barrier;
                }
                What::Acquired(lock, false) if is_all => {
                    let inside = |it: &&&Record| it.time >= span.from && it.time < span.to;
                    if it.time >= span.to || it.time < span.from {
                        continue;
                    }
                    let released = read.iter().filter(inside).filter(|other| {
                        matches!(&other.what, What::Released(own) if own == lock)
                            && other.time <= it.time
                            && !other.is_nested
                    });
                    let last = released.max_by_key(|it| (it.time, it.location));
                    let Some(last) = last.filter(|it| it.location != origin) else { continue };
                    let between = read.iter().filter(inside).any(|other| {
                        matches!(&other.what, What::Acquired(own, _) if own == lock)
                            && !other.is_nested
                            && other.time >= last.time
                            && (other.time, other.location) < (it.time, origin)
                    });
                    if !between {
                        let at = Span { from: last.time, to: it.time };
                        let (kind, from) = (OperationKind::Lock, last.location);
                        list.push(Operation {
                            kind,
                            origin: from,
                            partner: origin,
                            span: at,
                            bytes: 0,
                        });
                    }
                }
                _ => {}
            }
        }
        let overlaps = |it: Span| it.from < span.to && it.to >= span.from;
        list.retain(|it| overlaps(it.span));
        list.sort();
        let holds = |(members, is_barrier): &(Vec<(Location, Span)>, bool)| {
            let last = members.iter().map(|it| it.1.from).max();
            let first = members.iter().map(|it| it.1.to).min();
            members.len() > 1
                && members.iter().any(|it| overlaps(it.1))
                && (!is_barrier || last <= first)
        };
        let joined = joined.into_values().filter(holds).map(|it| Joined { members: it.0 });
        let mut joined: Vec<Joined> = joined.collect();
        joined.sort();
        (list, joined)
    }

    /// Returns the exclusive locks that are held in a span, each with the begin and end of what was read or the span.
    fn held(&self, wanted: &BTreeSet<Location>, span: Span) -> Vec<Held> {
        let mut list = Vec::new();
        for &location in wanted {
            let begin = self.begin(location, span.from);
            let is_own = |it: &&Record| {
                it.location == location && !it.is_nested && it.time >= begin && it.time < span.to
            };
            let own: Vec<&Record> = self.records.iter().filter(is_own).collect();
            for (at, it) in own.iter().enumerate() {
                match &it.what {
                    What::Acquired(lock, false) => {
                        let next = own[at + 1..].iter().find(|it| about(it, lock));
                        let is_again = next.is_some_and(|it| matches!(it.what, What::Acquired(..)));
                        let to = next.map_or(span.to, |it| it.time);
                        if !is_again {
                            list.push(Held { location, span: Span { from: it.time, to } });
                        }
                    }
                    What::Released(lock) => {
                        let before = own[..at].iter().rev().find(|it| about(it, lock));
                        if !before.is_some_and(|it| matches!(it.what, What::Acquired(..))) {
                            let from = span.from.min(it.time);
                            list.push(Held { location, span: Span { from, to: it.time } });
                        }
                    }
                    _ => {}
                }
            }
        }
        list.retain(|it| it.span.from < span.to && it.span.to >= span.from);
        list.sort_by_key(|it| (it.span, it.location));
        list
    }
}

/// Returns `true` if a record acquires or releases a lock.
fn about(record: &Record, lock: &(u32, Option<Location>, u64)) -> bool {
    matches!(&record.what, What::Acquired(own, _) | What::Released(own) if own == lock)
}

/// Counts of what was compared: each kind of operation, collectives, and held locks.
type Compared = [usize; 8];

fn check(path: &Path, seed: u64) -> Compared {
    let searched = search(path);
    let trace = Trace::open(path, 64).unwrap();
    let count = searched.calls.len() as u32;
    assert_eq!(trace.locations(), count);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut below = |end: u64| random.u64(..end.max(1));
    let mut compared = Compared::default();
    for round in 0..40 {
        let length = searched.end.0 + 1;
        let from = if round == 0 { 0 } else { below(length) };
        let short = length >> below(10);
        let to = if round == 0 { length } else { from + 1 + below(short) };
        let span = Span { from: Time(from), to: Time(to) };
        let (first, end) = match round % 3 {
            0 => (0, count),
            _ => {
                let first = below(count.into()) as u32;
                (first, first + 1 + below(u64::from(count - first)) as u32)
            }
        };
        let begin = |it: Location| searched.begin(it, span.from);
        let rows = [Location(first)..Location(end)];
        let mut found = trace.operations(&rows, span, &begin, u64::MAX).unwrap();
        assert!(!found.too_many && !found.uncounted);
        found.list.sort();
        found.joined.sort();
        // All threads of the processes.
        let mut wanted: BTreeSet<Location> = BTreeSet::new();
        let layout =
            dwell_trace::layout::Layout::of(&Archive::open(path).unwrap().definitions().unwrap());
        for it in first..end {
            let all = layout.siblings(dwell_analyze::LocationNumber::new(it));
            wanted.extend((all.start.place()..all.end.place()).map(Location));
        }
        let (list, joined) = searched.operations(&wanted, span);
        assert_eq!(found.list, list, "{path:?} {span:?} {rows:?}");
        assert_eq!(found.joined, joined, "{path:?} {span:?} {rows:?}");
        list.iter().for_each(|it| compared[it.kind as usize] += 1);
        let held = searched.held(&wanted, span);
        assert_eq!(found.held, held, "{path:?} {span:?} {rows:?}");
        compared[6] += joined.len();
        compared[7] += held.len();
        arrows(&found, span, count);
        if !list.is_empty() {
            assert!(trace.operations(&rows, span, &begin, 0).unwrap().too_many);
        }
    }
    compared
}

/// Bundles lose no operation between rows.
fn arrows(found: &dwell_timeline::Operations, span: Span, count: u32) {
    let row = |it: Location| (it.0 < count).then_some(it.0 as usize / 2);
    let between = found.list.iter().filter(|it| row(it.origin) != row(it.partner));
    let (number, bytes) = between.fold((0, 0), |sum, it| (sum.0 + 1, sum.1 + it.bytes));
    for most in [usize::MAX, 4 * (count * count) as usize] {
        let (arrows, said) = found.arrows(&row, span, most);
        assert_eq!(said, number, "{most}");
        assert_eq!(arrows.iter().map(|it| it.count).sum::<u64>(), number);
        assert_eq!(arrows.iter().map(|it| it.bytes).sum::<u64>(), bytes);
        assert!(arrows.len() <= most && (most < usize::MAX || arrows.len() as u64 == number));
        let lengths = arrows.iter().map(|it| it.operation.span.length());
        assert!(lengths.clone().is_sorted_by(|a, b| a >= b));
    }
}

fn add(sum: &mut Compared, more: Compared) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

#[test]
fn synthetic_traces() {
    let mut compared = Compared::default();
    for seed in 0..6 {
        let directory = tempfile::tempdir().unwrap();
        let options = random::Options { ranks: 2 + seed, segments: 5, operations: 12, seed };
        random::generate(&options, directory.path(), &|_| ()).unwrap();
        add(&mut compared, check(directory.path(), seed));
    }
    let directory = tempfile::tempdir().unwrap();
    halo::generate(&halo::Options { ranks: 5, rounds: 3, seed: 1 }, directory.path(), &|_| ())
        .unwrap();
    add(&mut compared, check(directory.path(), 7));
    let directory = tempfile::tempdir().unwrap();
    ring::generate(&ring::Options { ranks: 4, steps: 30, seed: 1 }, directory.path(), &|_| ())
        .unwrap();
    add(&mut compared, check(directory.path(), 8));
    // All of their atomics return something.
    compared[OperationKind::Update as usize] = usize::MAX;
    assert!(compared.iter().all(|it| *it > 20), "{compared:?}");
}

#[test]
fn recorded_traces() {
    let archives = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/archives"));
    let mut compared = Compared::default();
    for (seed, archive) in std::fs::read_dir(archives).unwrap().enumerate() {
        let archive = archive.unwrap().path();
        if archive.join("traces.otf2").exists() {
            add(&mut compared, check(&archive, seed as u64));
        }
    }
    assert!(compared.iter().all(|it| *it > 20), "{compared:?}");
}
