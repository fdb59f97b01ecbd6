//! Severities of random MPI archives equal an exhaustive search, to the nanosecond, for each location:
//! messages, fences, epochs, collectives that do not block, locks.
//!
//! The archives are as other tools write them: regions are known by their names. The search reads all
//! events into memory and shares nothing with the detectors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;

use dwell_analyze::{Analysis, Cut, Options, Quantity as Q, analyze};
use otf2::enums::{
    CollectiveOp, CollectiveRoot, CommFlag, GroupFlag, GroupType, LocationGroupType, LocationType,
    LockType, Paradigm, RegionFlag, RegionRole, RmaSyncLevel, RmaWinFlag,
};
use otf2::event::{
    Enter, Leave, MpiIrecv, MpiIrecvRequest, MpiRecv, MpiSend, NonBlockingCollectiveComplete,
    NonBlockingCollectiveRequest, RmaCollectiveEnd, RmaGet, RmaGroupSync, RmaOpCompleteNonBlocking,
    RmaOpCompleteRemote, RmaPut, RmaReleaseLock, RmaRequestLock,
};
use otf2::id::{
    CommRef, GroupRef, LocationGroupRef, LocationRef, LockId, MatchingId, Rank, RegionRef,
    RequestId, RmaWinRef, StringRef, SystemTreeNodeRef, Time,
};
use otf2::write::ArchiveWriter;
use otf2::{Archive, Event, List, def};

const REGIONS: &[(&str, RegionRole)] = &[
    ("main", RegionRole::Function),
    ("MPI_Send", RegionRole::Point2point),
    ("MPI_Recv", RegionRole::Point2point),
    ("MPI_Irecv", RegionRole::Point2point),
    ("MPI_Waitall", RegionRole::Point2point),
    ("MPI_Ibarrier", RegionRole::Barrier),
    ("MPI_Iallreduce", RegionRole::CollAll2all),
    ("MPI_Win_fence", RegionRole::CollAll2all),
    ("MPI_Win_post", RegionRole::Rma),
    ("MPI_Win_start", RegionRole::Rma),
    ("MPI_Win_complete", RegionRole::Rma),
    ("MPI_Win_wait", RegionRole::Rma),
    ("MPI_Win_test", RegionRole::Rma),
    ("MPI_Put", RegionRole::Rma),
    ("MPI_Get", RegionRole::Rma),
    ("MPI_Win_lock", RegionRole::Rma),
    ("MPI_Win_lock_all", RegionRole::Rma),
    ("MPI_Win_flush", RegionRole::Rma),
    ("MPI_Win_flush_all", RegionRole::Rma),
    ("MPI_Win_unlock", RegionRole::Rma),
    ("MPI_Win_unlock_all", RegionRole::Rma),
];

fn region(name: &str) -> RegionRef {
    RegionRef(REGIONS.iter().position(|row| row.0 == name).unwrap() as u32)
}

/// Windows: for fences, for epochs, for locks.
const FENCES: RmaWinRef = RmaWinRef(0);
const EPOCHS: RmaWinRef = RmaWinRef(1);
const LOCKS: RmaWinRef = RmaWinRef(2);
const WORLD: CommRef = CommRef(0);
/// The first ranks, at least two.
const SOME: CommRef = CommRef(1);
/// A group of the ranks that are bits of the number behind this.
const FIRST_GROUP: u32 = 3;

type Events = Vec<(u64, Event<'static>)>;

/// Writes an archive of processes of one location.
fn write(directory: &std::path::Path, lists: &[Events]) {
    let archive =
        ArchiveWriter::create(directory, "traces", otf2::write::Options::default()).unwrap();
    let mut counts = Vec::new();
    for (location, list) in (0..).map(LocationRef).zip(lists) {
        let mut writer = archive.events(location).unwrap();
        for (time, event) in list {
            writer.write(Time(*time), *event).unwrap();
        }
        counts.push(writer.finish().unwrap().events);
        archive.local_definitions(location).unwrap().finish().unwrap();
    }
    let mut defs = archive.global_definitions().unwrap();
    let last = lists.iter().filter_map(|list| list.last()).map(|it| it.0).max().unwrap_or(0);
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: 0,
        trace_length: last + 1,
        realtime_timestamp: u64::MAX,
    })
    .unwrap();
    let name = defs.string("").unwrap();
    for (id, &(text, region_role)) in (0..).map(RegionRef).zip(REGIONS) {
        let text = defs.string(text).unwrap();
        let paradigm = if id.0 == 0 { Paradigm::User } else { Paradigm::Mpi };
        defs.write(def::Region {
            id,
            name: text,
            canonical_name: text,
            description: name,
            region_role,
            paradigm,
            region_flags: RegionFlag::NONE,
            source_file: StringRef::UNDEFINED,
            begin_line_number: 0,
            end_line_number: 0,
        })
        .unwrap();
    }
    let (node, parent) = (SystemTreeNodeRef(0), SystemTreeNodeRef::UNDEFINED);
    defs.write(def::SystemTreeNode { id: node, name, class_name: name, parent }).unwrap();
    for (id, number_of_events) in (0..).zip(counts) {
        defs.write(def::LocationGroup {
            id: LocationGroupRef(id),
            name,
            location_group_type: LocationGroupType::Process,
            system_tree_parent: node,
            creating_location_group: LocationGroupRef::UNDEFINED,
        })
        .unwrap();
        defs.write(def::Location {
            id: LocationRef(u64::from(id)),
            name,
            location_type: LocationType::CpuThread,
            number_of_events,
            location_group: LocationGroupRef(id),
        })
        .unwrap();
    }
    let all: Vec<u64> = (0..lists.len() as u64).collect();
    let mut group = |id, group_type, members: &[u64]| {
        let (id, group_flags, paradigm) = (GroupRef(id), GroupFlag::NONE, Paradigm::Mpi);
        let members = List::from(members);
        defs.write(def::Group { id, name, group_type, paradigm, group_flags, members }).unwrap();
    };
    group(0, GroupType::CommLocations, &all);
    group(1, GroupType::CommGroup, &all);
    group(2, GroupType::CommGroup, &all[..some(lists.len())]);
    for mask in 0..1 << lists.len() {
        let members: Vec<u64> = all.iter().copied().filter(|it| mask >> it & 1 == 1).collect();
        group(FIRST_GROUP + mask as u32, GroupType::CommGroup, &members);
    }
    for (id, group) in [(WORLD, GroupRef(1)), (SOME, GroupRef(2))] {
        let (parent, flags) = (CommRef::UNDEFINED, CommFlag::NONE);
        defs.write(def::Comm { id, name, group, parent, flags }).unwrap();
    }
    for id in [FENCES, EPOCHS, LOCKS] {
        defs.write(def::RmaWin { id, name, comm: WORLD, flags: RmaWinFlag::NONE }).unwrap();
    }
    defs.finish().unwrap();
    archive.finish().unwrap();
}

fn some(ranks: usize) -> usize {
    (ranks - 1).max(2)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ it >> 31
    }

    /// Less than this.
    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    /// A short time, often 0.
    fn time(&mut self) -> u64 {
        self.next() % 12 / (1 + self.next() % 3)
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.next().is_multiple_of(one_in)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// A program that is made up call by call.
struct Program {
    random: Random,
    events: Vec<Events>,
    now: Vec<u64>,
    requests: u64,
    operations: u64,
}

impl Program {
    fn new(seed: u64, ranks: usize) -> Self {
        let begin = vec![(0, Enter { region: region("main") }.into())];
        Self {
            random: Random(seed),
            events: vec![begin; ranks],
            now: vec![0; ranks],
            requests: 0,
            operations: 0,
        }
    }

    fn ranks(&self) -> usize {
        self.now.len()
    }

    /// Computes, and says when the next call begins.
    fn compute(&mut self, rank: usize) -> u64 {
        self.now[rank] += self.random.time();
        self.now[rank]
    }

    /// A call since `now`, with records at times of their own, that ends at some time.
    fn call(&mut self, rank: usize, name: &str, records: Events, leave: u64) {
        let region = region(name);
        let events = &mut self.events[rank];
        let enter = self.now[rank];
        assert!(enter <= leave);
        events.push((enter, Enter { region }.into()));
        let mut last = enter;
        for (time, event) in records {
            assert!((last..=leave).contains(&time), "{name}");
            last = time;
            events.push((time, event));
        }
        events.push((leave, Leave { region }.into()));
        self.now[rank] = leave;
    }

    /// A short call.
    fn short(&mut self, rank: usize, name: &str, event: Option<Event<'static>>) {
        let enter = self.compute(rank);
        let at = enter + self.random.time() / 4;
        let leave = at + self.random.time() / 2;
        self.call(rank, name, event.map(|event| (at, event)).into_iter().collect(), leave);
    }

    /// Two ranks that differ.
    fn two(&mut self) -> (usize, usize) {
        let one = self.random.below(self.ranks());
        let other = (one + 1 + self.random.below(self.ranks() - 1)) % self.ranks();
        (one, other)
    }

    fn send(&mut self, from: usize, to: usize, tag: u32, ready: u64) -> u64 {
        let enter = self.compute(from);
        let receiver = Rank(to as u32);
        let event = MpiSend { receiver, communicator: WORLD, msg_tag: tag, msg_length: 8 };
        let at = enter + self.random.time() / 4;
        let until = if self.random.chance(2) { at.max(ready) } else { at };
        let leave = until + self.random.time() / 2;
        self.call(from, "MPI_Send", vec![(at, event.into())], leave);
        enter
    }

    /// Some messages to one rank, received in any order.
    fn messages(&mut self) {
        let (to, _) = self.two();
        let mut list = Vec::new();
        let ready = self.now[to] + self.random.time();
        for tag in 0..1 + self.random.below(3) as u32 {
            let from = (to + 1 + self.random.below(self.ranks() - 1)) % self.ranks();
            list.push((from, tag, self.send(from, to, tag, ready)));
        }
        self.random.shuffle(&mut list);
        self.now[to] = ready;
        for (from, tag, sent) in list {
            let enter = self.compute(to);
            let (sender, communicator) = (Rank(from as u32), WORLD);
            let event = MpiRecv { sender, communicator, msg_tag: tag, msg_length: 8 };
            let leave = enter.max(sent) + self.random.time() / 2;
            self.call(to, "MPI_Recv", vec![(leave, event.into())], leave);
        }
    }

    /// A put or get; its number.
    fn operation(&mut self, origin: usize, target: usize, win: RmaWinRef) -> u64 {
        self.operations += 1;
        let (remote, matching_id) = (Rank(target as u32), MatchingId(self.operations));
        if self.random.chance(2) {
            let event = RmaPut { win, remote, bytes: 8, matching_id };
            self.short(origin, "MPI_Put", Some(event.into()));
        } else {
            let event = RmaGet { win, remote, bytes: 8, matching_id };
            self.short(origin, "MPI_Get", Some(event.into()));
        }
        self.operations
    }

    fn fence(&mut self) {
        for rank in 0..self.ranks() {
            for _ in 0..self.random.below(3) {
                let target = self.random.below(self.ranks());
                self.operation(rank, target, FENCES);
            }
        }
        let enters: Vec<u64> = (0..self.ranks()).map(|rank| self.compute(rank)).collect();
        let last = enters.iter().copied().max().unwrap();
        for rank in 0..self.ranks() {
            let end = last + self.random.time() / 3;
            let event = RmaCollectiveEnd {
                collective_op: CollectiveOp::Barrier,
                sync_level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
                win: FENCES,
                root: CollectiveRoot::None,
                bytes_sent: 0,
                bytes_received: 0,
            };
            let leave = end + self.random.time() / 3;
            self.call(rank, "MPI_Win_fence", vec![(end, event.into())], leave);
        }
    }

    /// Some targets expose their windows, some origins access them.
    fn epoch(&mut self) {
        let mut all: Vec<usize> = (0..self.ranks()).collect();
        self.random.shuffle(&mut all);
        let cut = 1 + self.random.below(self.ranks() - 1);
        let (targets, rest) = all.split_at(cut);
        let origins = &rest[..1 + self.random.below(rest.len())];
        let mask = |list: &[usize]| list.iter().fold(0, |mask, it| mask | 1_u32 << it);
        let sync = |list: &[usize], sync_level| -> Event<'static> {
            let group = GroupRef(FIRST_GROUP + mask(list));
            RmaGroupSync { sync_level, win: EPOCHS, group }.into()
        };
        let full = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
        let mut posted = 0;
        for &target in targets {
            let enter = self.compute(target);
            posted = posted.max(enter);
            let leave = enter + self.random.time() / 3;
            let records = vec![(leave, sync(origins, RmaSyncLevel::PROCESS))];
            self.call(target, "MPI_Win_post", records, leave);
        }
        let mut completed = 0;
        for &origin in origins {
            // It waits for the posts at the start, or at the end.
            let at_once = self.random.chance(2);
            let enter = self.compute(origin);
            let leave = if at_once { enter.max(posted) } else { enter } + self.random.time() / 3;
            let records = vec![(leave, sync(targets, RmaSyncLevel::PROCESS))];
            self.call(origin, "MPI_Win_start", records, leave);
            for _ in 0..self.random.below(3) {
                let target = targets[self.random.below(targets.len())];
                self.operation(origin, target, EPOCHS);
            }
            let enter = self.compute(origin);
            completed = completed.max(enter);
            let leave = enter.max(posted) + self.random.time() / 3;
            self.call(origin, "MPI_Win_complete", vec![(leave, sync(targets, full))], leave);
        }
        for &target in targets {
            if self.random.chance(3) {
                // Tests until it is over.
                let none = Some(sync(origins, RmaSyncLevel::NONE));
                self.short(target, "MPI_Win_test", none);
                if self.now[target] >= completed {
                    self.short(target, "MPI_Win_test", Some(sync(origins, full)));
                    continue;
                }
            }
            let enter = self.compute(target);
            let leave = enter.max(completed) + self.random.time() / 3;
            self.call(target, "MPI_Win_wait", vec![(leave, sync(origins, full))], leave);
        }
    }

    /// Collectives that do not block, completed in any order, some of them together with a message.
    fn collectives(&mut self) {
        let kinds = [
            CollectiveOp::Barrier,
            CollectiveOp::Allreduce,
            CollectiveOp::Bcast,
            CollectiveOp::Reduce,
            CollectiveOp::Scan,
        ];
        let list: Vec<(CommRef, CollectiveOp, usize)> = (0..1 + self.random.below(4))
            .map(|_| {
                let comm = if self.random.chance(3) { SOME } else { WORLD };
                let op = kinds[self.random.below(kinds.len())];
                (comm, op, self.random.below(some(self.ranks())))
            })
            .collect();
        let takes_part =
            |rank: usize, comm: CommRef, ranks: usize| comm == WORLD || rank < some(ranks);
        let mut last = vec![0; list.len()];
        let mut requests: Vec<Vec<(usize, u64)>> = vec![Vec::new(); self.ranks()];
        for (rank, requests) in requests.iter_mut().enumerate() {
            for (at, &(comm, ..)) in list.iter().enumerate() {
                if !takes_part(rank, comm, self.ranks()) {
                    continue;
                }
                self.requests += 1;
                let request_id = RequestId(self.requests);
                requests.push((at, self.requests));
                let name = if self.random.chance(2) { "MPI_Ibarrier" } else { "MPI_Iallreduce" };
                let enter = self.compute(rank);
                last[at] = enter.max(last[at]);
                let leave = enter + self.random.time() / 3;
                let event = NonBlockingCollectiveRequest { request_id };
                self.call(rank, name, vec![(leave, event.into())], leave);
            }
        }
        // A message, waited for in the same call.
        let message = self.random.chance(2).then(|| self.two());
        let mut posted = 0;
        let mut sent = 0;
        if let Some((from, to)) = message {
            self.requests += 1;
            posted = self.requests;
            let event = MpiIrecvRequest { request_id: RequestId(posted) };
            self.short(to, "MPI_Irecv", Some(event.into()));
            sent = self.send(from, to, 9, 0);
        }
        for (rank, mut left) in requests.into_iter().enumerate() {
            self.random.shuffle(&mut left);
            let mut receives = message.is_some_and(|it| it.1 == rank);
            while !left.is_empty() || receives {
                let now = self.random.below(left.len() + 1).max(usize::from(!receives));
                let part: Vec<_> = left.drain(..now.min(left.len())).collect();
                let enter = self.compute(rank);
                let mut leave = enter;
                let mut records: Vec<Event<'static>> = Vec::new();
                for (at, request) in part {
                    let (communicator, collective_op, root) = list[at];
                    let rooted =
                        matches!(collective_op, CollectiveOp::Bcast | CollectiveOp::Reduce);
                    let root = match rooted {
                        true => CollectiveRoot::Rank(root as u32),
                        false => CollectiveRoot::None,
                    };
                    // Not all kinds wait for the last.
                    if self.random.chance(2) || !rooted {
                        leave = leave.max(last[at]);
                    }
                    records.push(
                        NonBlockingCollectiveComplete {
                            collective_op,
                            communicator,
                            root,
                            size_sent: 8,
                            size_received: 8,
                            request_id: RequestId(request),
                        }
                        .into(),
                    );
                }
                if receives && (left.is_empty() || self.random.chance(2)) {
                    receives = false;
                    leave = leave.max(sent);
                    let event = MpiIrecv {
                        sender: Rank(message.unwrap().0 as u32),
                        communicator: WORLD,
                        msg_tag: 9,
                        msg_length: 8,
                        request_id: RequestId(posted),
                    };
                    records.push(event.into());
                }
                self.random.shuffle(&mut records);
                let records = records.into_iter().map(|event| (leave, event)).collect();
                let leave = leave + self.random.time() / 3;
                self.call(rank, "MPI_Waitall", records, leave);
            }
        }
    }

    /// Ranks take a lock one after the other, or share it; they wait for it in some call.
    fn locks(&mut self) {
        let owner = self.random.below(self.ranks());
        let mut order: Vec<usize> = (0..self.ranks()).collect();
        self.random.shuffle(&mut order);
        order.truncate(2 + self.random.below(order.len() - 1));
        let (mut free, mut free_of_exclusive) = (0, 0);
        for rank in order {
            let all = self.random.chance(5);
            let exclusive = !all && !self.random.chance(3);
            let (win, lock_id) = (LOCKS, LockId(0));
            let remote = if all { Rank(u32::MAX) } else { Rank(owner as u32) };
            let lock_type = if exclusive { LockType::Exclusive } else { LockType::Shared };
            let granted = if exclusive { free } else { free_of_exclusive };
            // Where it waits: in the lock, the flush or the unlock.
            let place = self.random.below(3);
            let enter = self.compute(rank);
            let at = enter + self.random.time() / 4;
            let event = RmaRequestLock { win, remote, lock_id, lock_type };
            let until = if place == 0 { at.max(granted) } else { at };
            let leave = until + self.random.time() / 3;
            let name = if all { "MPI_Win_lock_all" } else { "MPI_Win_lock" };
            self.call(rank, name, vec![(at, event.into())], leave);
            let mut open = Vec::new();
            for _ in 0..self.random.below(3) {
                let target = if all { self.random.below(self.ranks()) } else { owner };
                let id = self.operation(rank, target, LOCKS);
                open.push(id);
            }
            let finish = |open: &mut Vec<u64>| -> Vec<Event<'static>> {
                let both = open.drain(..).map(MatchingId).flat_map(|matching_id| {
                    [
                        Event::from(RmaOpCompleteNonBlocking { win, matching_id }),
                        RmaOpCompleteRemote { win, matching_id }.into(),
                    ]
                });
                both.collect()
            };
            if place == 1 || self.random.chance(2) {
                let enter = self.compute(rank);
                let until = if place == 2 { enter } else { enter.max(granted) };
                let leave = until + self.random.time() / 3;
                let records = finish(&mut open).into_iter().map(|event| (leave, event)).collect();
                let name = if all { "MPI_Win_flush_all" } else { "MPI_Win_flush" };
                self.call(rank, name, records, leave);
            }
            let enter = self.compute(rank);
            let at = enter.max(granted) + self.random.time() / 3;
            let mut records: Events =
                finish(&mut open).into_iter().map(|event| (at, event)).collect();
            records.push((at, RmaReleaseLock { win, remote, lock_id }.into()));
            let leave = at + self.random.time() / 3;
            let name = if all { "MPI_Win_unlock_all" } else { "MPI_Win_unlock" };
            self.call(rank, name, records, leave);
            free = free.max(at);
            if exclusive {
                free_of_exclusive = free_of_exclusive.max(at);
            }
        }
    }

    fn finish(mut self) -> Vec<Events> {
        // All end together, so that all can be judged.
        let end = self.now.iter().copied().max().unwrap() + 1;
        for rank in 0..self.ranks() {
            self.events[rank].push((end, Leave { region: region("main") }.into()));
        }
        self.events
    }
}

fn random_program(seed: u64) -> Vec<Events> {
    let mut program = Program::new(seed, 2 + (seed % 3) as usize);
    for _ in 0..1 + program.random.below(6) {
        match program.random.below(5) {
            0 => program.messages(),
            1 => program.fence(),
            2 => program.epoch(),
            3 => program.collectives(),
            _ => program.locks(),
        }
    }
    program.finish()
}

type Sums = BTreeMap<Q, u64>;

/// A call, with its records and their times.
#[derive(Clone, Debug)]
struct Call {
    name: &'static str,
    enter: u64,
    leave: u64,
    records: Events,
}

/// All calls but the outermost.
fn calls(events: &Events) -> Vec<Call> {
    let mut list: Vec<Call> = Vec::new();
    for (time, event) in events {
        match event {
            Event::Enter(it) => list.push(Call {
                name: REGIONS[it.region.0 as usize].0,
                enter: *time,
                leave: u64::MAX,
                records: Vec::new(),
            }),
            Event::Leave(it) if it.region.0 != 0 => list.last_mut().unwrap().leave = *time,
            Event::Leave(_) => {}
            event => list.last_mut().unwrap().records.push((*time, *event)),
        }
    }
    list.remove(0);
    list
}

/// A message, found by looking through all calls of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    begin: u64,
    from: usize,
    time: u64,
    leave: u64,
    /// The how manieth of these ranks and this tag, and the tag.
    number: usize,
    tag: u32,
}

struct Search<'a> {
    ranks: &'a [Vec<Call>],
    found: Vec<Sums>,
}

impl Search<'_> {
    fn add(&mut self, rank: usize, what: Q, amount: u64) {
        if amount > 0 {
            *self.found[rank].entry(what).or_default() += amount;
        }
    }

    /// All messages to a rank.
    fn sent_to(&self, to: usize) -> Vec<Message> {
        let mut list: Vec<Message> = Vec::new();
        for (from, calls) in self.ranks.iter().enumerate() {
            for call in calls {
                for (time, record) in &call.records {
                    let Event::MpiSend(it) = record else { continue };
                    if it.receiver.0 as usize == to {
                        let tag = it.msg_tag;
                        let same = list.iter().filter(|it| it.from == from && it.tag == tag);
                        let number = same.count();
                        let (begin, leave, time) = (call.enter, call.leave, *time);
                        list.push(Message { begin, from, time, leave, number, tag });
                    }
                }
            }
        }
        list
    }

    /// When the collectives that a record completes were begun, by rank.
    fn begun(&self, rank: usize, request: u64) -> (CommRef, BTreeMap<usize, u64>) {
        // Communicator and number of each that a rank began, in that order.
        let of = |rank: usize| {
            let mut list: Vec<(u64, u64, CommRef)> = Vec::new();
            for call in &self.ranks[rank] {
                for (_, record) in &call.records {
                    let Event::NonBlockingCollectiveRequest(it) = record else { continue };
                    let all = self.ranks[rank].iter().flat_map(|call| &call.records);
                    let comm = all.clone().find_map(|(_, record)| match record {
                        Event::NonBlockingCollectiveComplete(end) => {
                            (end.request_id == it.request_id).then_some(end.communicator)
                        }
                        _ => None,
                    });
                    list.push((it.request_id.0, call.enter, comm.unwrap()));
                }
            }
            list
        };
        let mine = of(rank);
        let (_, _, comm) = *mine.iter().find(|it| it.0 == request).unwrap();
        let on = |list: Vec<(u64, u64, CommRef)>| -> Vec<(u64, u64, CommRef)> {
            list.into_iter().filter(|it| it.2 == comm).collect()
        };
        let number = on(mine).iter().position(|it| it.0 == request).unwrap();
        let begun =
            (0..self.ranks.len()).filter_map(|rank| Some((rank, on(of(rank)).get(number)?.1)));
        (comm, begun.collect())
    }

    /// Until when a call that completes a collective had to wait.
    fn decisive(&self, rank: usize, end: &NonBlockingCollectiveComplete) -> u64 {
        let (_, begun) = self.begun(rank, end.request_id.0);
        let root = match end.root {
            CollectiveRoot::Rank(rank) => rank as usize,
            _ => usize::MAX,
        };
        let latest = |is: &dyn Fn(usize) -> bool| {
            begun.iter().filter(|it| is(*it.0)).map(|it| *it.1).max().unwrap_or(0)
        };
        match end.collective_op {
            CollectiveOp::Bcast if rank == root => 0,
            CollectiveOp::Bcast => begun[&root],
            CollectiveOp::Reduce if rank == root => latest(&|it| it != root),
            CollectiveOp::Reduce => 0,
            CollectiveOp::Scan => latest(&|it| it < rank),
            _ => latest(&|_| true),
        }
    }

    fn messages_and_collectives(&mut self) {
        for rank in 0..self.ranks.len() {
            let mut unread = self.sent_to(rank);
            let mut read: BTreeMap<(usize, u32), usize> = BTreeMap::new();
            for call in &self.ranks[rank].to_vec() {
                let (mut last, mut collective): (Option<Message>, u64) = (None, 0);
                for (_, record) in &call.records {
                    let (from, tag, posted) = match record {
                        Event::NonBlockingCollectiveComplete(it) => {
                            collective = collective.max(self.decisive(rank, it));
                            continue;
                        }
                        Event::MpiRecv(it) => (it.sender, it.msg_tag, call.enter),
                        Event::MpiIrecv(it) => {
                            let posts = |call: &&Call| {
                                call.records.iter().any(|(_, record)| {
                                    matches!(record, Event::MpiIrecvRequest(post)
                                        if post.request_id == it.request_id)
                                })
                            };
                            let post = self.ranks[rank].iter().find(posts).unwrap();
                            (it.sender, it.msg_tag, post.enter)
                        }
                        _ => continue,
                    };
                    let from = from.0 as usize;
                    let number = read.entry((from, tag)).or_default();
                    let is = |it: &Message| (it.from, it.tag, it.number) == (from, tag, *number);
                    let message = unread.remove(unread.iter().position(is).unwrap());
                    *number += 1;
                    last = last.max(Some(message));
                    if posted > message.begin && message.leave > posted {
                        self.add(from, Q::LateReceiver, posted - message.begin);
                    }
                }
                let until = collective.clamp(call.enter, call.leave);
                self.add(rank, Q::NonBlockingWait, until - call.enter);
                if let Some(message) = last {
                    let late = message.begin.min(call.leave).saturating_sub(until);
                    self.add(rank, Q::LateSender, late);
                    if unread.iter().any(|it| it.time < message.time) {
                        self.add(rank, Q::LateSenderWrongOrder, late);
                    }
                }
            }
        }
    }

    /// The n-th fence of each rank is one fence.
    fn fences(&mut self) {
        let is = |call: &&Call| call.name == "MPI_Win_fence";
        let count = self.ranks[0].iter().filter(is).count();
        for number in 0..count {
            let fence = |rank: usize| self.ranks[rank].iter().filter(is).nth(number).unwrap();
            let all: Vec<Call> = (0..self.ranks.len()).map(|rank| fence(rank).clone()).collect();
            let last = all.iter().map(|it| it.enter).max().unwrap();
            for rank in 0..all.len() {
                self.add(rank, Q::WaitAtFence, last - all[rank].enter);
                // Operations of others on this rank before their part of this fence. Those before the
                // fence before are over: they do not matter.
                let mut until = 0;
                for other in (0..all.len()).filter(|other| *other != rank) {
                    for call in &self.ranks[other] {
                        let here = acts_on(call, rank, FENCES);
                        if here && call.leave <= all[other].enter {
                            until = until.max(call.leave);
                        }
                    }
                }
                let pending = until.saturating_sub(all[rank].enter);
                self.add(rank, Q::EarlyFence, pending);
            }
        }
    }

    /// The n-th post of a target to an origin belongs to the n-th access of the origin to it.
    fn epochs(&mut self) {
        // When a rank was in calls of a name that are for some other rank.
        let of = |rank: usize, names: &[&str], partner: usize| -> Vec<(u64, u64)> {
            let is = |call: &&Call| names.contains(&call.name) && partners(call).contains(&partner);
            self.ranks[rank].iter().filter(is).map(|call| (call.enter, call.leave)).collect()
        };
        let mut waits: Vec<(usize, Q, u64)> = Vec::new();
        for (rank, calls) in self.ranks.iter().enumerate() {
            for call in calls {
                let (enter, leave) = (call.enter, call.leave);
                let number = |names: &[&str], partner| {
                    let list = of(rank, names, partner);
                    list.iter().position(|it| *it == (enter, leave)).unwrap()
                };
                match call.name {
                    "MPI_Win_start" | "MPI_Win_complete" => {
                        let posted = |&target: &usize| {
                            of(target, &["MPI_Win_post"], rank)[number(&[call.name], target)].0
                        };
                        let last = partners(call).iter().map(posted).max().unwrap();
                        if last < leave {
                            waits.push((rank, Q::LatePost, last.saturating_sub(enter)));
                        }
                    }
                    "MPI_Win_wait" | "MPI_Win_test" if !partners(call).is_empty() => {
                        let names = ["MPI_Win_wait", "MPI_Win_test"];
                        let completed = |&origin: &usize| {
                            let at = number(&names, origin);
                            (of(origin, &["MPI_Win_complete"], rank)[at].0, origin)
                        };
                        let (last, origin) = partners(call).iter().map(completed).max().unwrap();
                        let early = last.min(leave).saturating_sub(enter);
                        waits.push((rank, Q::EarlyWait, early));
                        let before =
                            |call: &&Call| acts_on(call, rank, EPOCHS) && call.leave <= last;
                        let acts = self.ranks[origin].iter().filter(before);
                        let acted = acts.map(|call| call.leave).max().unwrap_or(0);
                        let idle = last.min(leave).saturating_sub(acted.max(enter));
                        waits.push((rank, Q::LateComplete, idle));
                    }
                    _ => {}
                }
            }
        }
        waits.into_iter().for_each(|(rank, what, amount)| self.add(rank, what, amount));
    }

    fn locks(&mut self) {
        /// A lock that was asked for and given back. Without an owner it is on all.
        #[derive(Clone, Copy)]
        struct Held {
            rank: usize,
            owner: Option<u32>,
            exclusive: bool,
            request: u64,
            release: u64,
        }
        let owner = |remote: Rank| (!remote.is_undefined()).then_some(remote.0);
        let mut held: Vec<Held> = Vec::new();
        // Calls that may have waited: rank, which hold, from, until.
        let mut waits: Vec<(usize, usize, u64, u64)> = Vec::new();
        for (rank, calls) in self.ranks.iter().enumerate() {
            let mut open: Option<usize> = None;
            let mut targets: BTreeMap<u64, usize> = BTreeMap::new();
            for call in calls {
                let mut acted = false;
                for (time, record) in &call.records {
                    match record {
                        Event::RmaRequestLock(it) => {
                            open = Some(held.len());
                            held.push(Held {
                                rank,
                                owner: owner(it.remote),
                                exclusive: it.lock_type == LockType::Exclusive,
                                request: call.enter,
                                release: u64::MAX,
                            });
                            waits.push((rank, held.len() - 1, call.enter, call.leave));
                        }
                        Event::RmaPut(it) if it.win == LOCKS => {
                            targets.insert(it.matching_id.0, it.remote.0 as usize);
                        }
                        Event::RmaGet(it) if it.win == LOCKS => {
                            targets.insert(it.matching_id.0, it.remote.0 as usize);
                        }
                        Event::RmaOpCompleteRemote(it) => {
                            acted |= targets[&it.matching_id.0] != rank
                                || held[open.unwrap()].owner.is_none();
                        }
                        Event::RmaReleaseLock(_) => {
                            let it = open.take().unwrap();
                            held[it].release = *time;
                            waits.push((rank, it, call.enter, *time));
                        }
                        _ => {}
                    }
                }
                if acted && call.name.starts_with("MPI_Win_flush") {
                    waits.push((rank, open.unwrap(), call.enter, call.leave));
                }
            }
        }
        // Who had given a lock back before it was obtained.
        let before = |one: &Held, two: &Held| {
            (one.release, one.rank, one.owner.unwrap_or(u32::MAX))
                < (two.release, two.rank, two.owner.unwrap_or(u32::MAX))
        };
        let begin = |it: &Held| {
            let excludes = |other: &&Held| match it.exclusive {
                true => other.owner == it.owner || other.owner.is_none(),
                false => other.owner == it.owner && other.exclusive,
            };
            let earlier = held.iter().filter(|other| before(other, it)).filter(excludes);
            earlier.map(|other| other.release).max().unwrap_or(0).max(it.request)
        };
        let mut found: Vec<(usize, u64)> = Vec::new();
        for &(rank, mine, from, until) in &waits {
            let mine = held[mine];
            let conflicts = |it: &&Held| {
                it.rank != rank
                    && (mine.exclusive || it.exclusive)
                    && (it.owner == mine.owner || it.owner.is_none() || mine.owner.is_none())
            };
            // Each nanosecond for itself.
            let covered = |at: &u64| {
                let now = |it: &Held| begin(it) <= *at && *at < it.release;
                held.iter().filter(conflicts).any(now)
            };
            found.push((rank, (from..until).filter(covered).count() as u64));
        }
        for (rank, time) in found {
            self.add(rank, Q::LockContention, time);
            self.add(rank, Q::LockContentionInferred, time);
        }
    }
}

/// Whether a call acts on a window of a rank.
fn acts_on(call: &Call, rank: usize, win: RmaWinRef) -> bool {
    call.records.iter().any(|(_, record)| match record {
        Event::RmaPut(it) => it.win == win && it.remote.0 as usize == rank,
        Event::RmaGet(it) => it.win == win && it.remote.0 as usize == rank,
        _ => false,
    })
}

/// The ranks that a call of an epoch is for.
fn partners(call: &Call) -> Vec<usize> {
    let group = call.records.iter().find_map(|(_, record)| match record {
        Event::RmaGroupSync(it) if it.sync_level != RmaSyncLevel::NONE => Some(it.group.0),
        _ => None,
    });
    let mask = group.map_or(0, |group| group - FIRST_GROUP);
    (0..32).filter(|rank| mask >> rank & 1 == 1).collect()
}

fn search(lists: &[Events]) -> Vec<Sums> {
    let ranks: Vec<Vec<Call>> = lists.iter().map(calls).collect();
    let found = vec![Sums::new(); ranks.len()];
    let mut search = Search { ranks: &ranks, found };
    search.messages_and_collectives();
    search.fences();
    search.epochs();
    search.locks();
    search.found
}

const WAITS: &[Q] = &[
    Q::LateSender,
    Q::LateSenderWrongOrder,
    Q::LateReceiver,
    Q::WaitAtFence,
    Q::EarlyFence,
    Q::LatePost,
    Q::EarlyWait,
    Q::LateComplete,
    Q::NonBlockingWait,
    Q::LockContention,
    Q::LockContentionInferred,
];

fn sums(analysis: &Analysis) -> Vec<Sums> {
    let of = |location| {
        let at = |&what| (what, analysis.at_location(location, what));
        WAITS.iter().map(at).filter(|(_, amount)| *amount > 0).collect()
    };
    (0..analysis.locations()).map(of).collect()
}

fn analysed(directory: &std::path::Path, cut: Cut, threads: usize) -> Analysis {
    let archive = Archive::open(directory).unwrap();
    let mut options = Options::default();
    (options.cut, options.threads) = (cut, threads);
    let analysis = analyze(&archive, &options, &|_| {}).unwrap();
    assert!(analysis.damage().is_empty(), "{:?}", analysis.damage());
    assert!(analysis.not_computed().is_empty(), "{:?}", analysis.not_computed());
    analysis
}

/// Compares one trace, and adds up what was found in it.
fn check(seed: u64, totals: &mut Sums) {
    let lists = random_program(seed);
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &lists);
    let expected = search(&lists);
    let mut ways = vec![(Cut::Budget, 1), (Cut::EveryEvent, 1)];
    if seed.is_multiple_of(50) {
        ways.extend([(Cut::EveryEvent, 2), (Cut::Nanoseconds(7), 7), (Cut::EveryEvent, 7)]);
    }
    for (cut, threads) in ways {
        let found = sums(&analysed(directory.path(), cut, threads));
        for (rank, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "seed {seed}, rank {rank}, {cut:?}, {threads} threads");
        }
    }
    for (what, amount) in expected.iter().flatten() {
        *totals.entry(*what).or_default() += amount;
    }
}

/// Every wait occurs in each of these.
fn check_all(seeds: std::ops::Range<u64>) {
    let mut totals = Sums::new();
    for seed in seeds {
        check(seed, &mut totals);
    }
    for what in WAITS {
        assert!(totals.get(what).is_some_and(|sum| *sum > 100), "{what:?} hardly occurred");
    }
}

#[test]
fn random_traces_equal_a_search() {
    check_all(0..600);
}

#[test]
fn more_random_traces_equal_a_search() {
    check_all(600..1200);
}

/// A program of calls that are given: rank, name, enter, leave, records.
fn by_hand(ranks: usize, calls: Vec<(usize, &str, u64, u64, Events)>) -> tempfile::TempDir {
    let mut program = Program::new(0, ranks);
    for (rank, name, enter, leave, records) in calls {
        program.now[rank] = enter;
        program.call(rank, name, records, leave);
    }
    let directory = tempfile::tempdir().unwrap();
    let lists = program.finish();
    write(directory.path(), &lists);
    directory
}

/// What was found at each rank, the same for any windows.
fn found(ranks: usize, calls: Vec<(usize, &str, u64, u64, Events)>) -> Vec<Sums> {
    let directory = by_hand(ranks, calls);
    let whole = sums(&analysed(directory.path(), Cut::Budget, 1));
    assert_eq!(sums(&analysed(directory.path(), Cut::EveryEvent, 2)), whole);
    whole
}

fn expect(list: &[(Q, u64)]) -> Sums {
    list.iter().copied().collect()
}

fn put(target: u32, win: RmaWinRef, id: u64) -> Event<'static> {
    RmaPut { win, remote: Rank(target), bytes: 8, matching_id: MatchingId(id) }.into()
}

#[test]
fn a_fence_that_is_early() {
    let end = |time| -> Events {
        let event = RmaCollectiveEnd {
            collective_op: CollectiveOp::Barrier,
            sync_level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
            win: FENCES,
            root: CollectiveRoot::None,
            bytes_sent: 0,
            bytes_received: 0,
        };
        vec![(time, event.into())]
    };
    // Rank 0 is there at 10, rank 1 puts to it until 30 and comes at 50; it puts to itself until 40.
    let fences = found(
        2,
        vec![
            (0, "MPI_Win_fence", 10, 60, end(55)),
            (1, "MPI_Put", 20, 30, vec![(20, put(0, FENCES, 1))]),
            (1, "MPI_Put", 35, 40, vec![(35, put(1, FENCES, 2))]),
            (1, "MPI_Win_fence", 50, 60, end(55)),
            // Nothing was put before the second.
            (0, "MPI_Win_fence", 70, 90, end(90)),
            (1, "MPI_Win_fence", 85, 90, end(90)),
        ],
    );
    assert_eq!(fences[0], expect(&[(Q::WaitAtFence, 40 + 15), (Q::EarlyFence, 20)]));
    assert_eq!(fences[1], expect(&[]));
}

#[test]
fn an_epoch_that_is_completed_late() {
    let sync = |time, mask: u32| -> Events {
        let sync_level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
        let group = GroupRef(FIRST_GROUP + mask);
        vec![(time, RmaGroupSync { sync_level, win: EPOCHS, group }.into())]
    };
    let epochs = found(
        2,
        vec![
            (0, "MPI_Win_post", 15, 16, sync(16, 0b10)),
            (1, "MPI_Win_start", 5, 17, sync(17, 0b01)),
            (1, "MPI_Put", 20, 30, vec![(20, put(0, EPOCHS, 1))]),
            (0, "MPI_Win_wait", 25, 101, sync(101, 0b10)),
            (1, "MPI_Win_complete", 100, 101, sync(101, 0b01)),
        ],
    );
    // From 25 to 30 something was still put; after that nothing was left to wait for.
    assert_eq!(epochs[0], expect(&[(Q::EarlyWait, 75), (Q::LateComplete, 70)]));
    assert_eq!(epochs[1], expect(&[(Q::LatePost, 10)]));
}

#[test]
fn collectives_that_do_not_block() {
    let begin = |time, request| -> Events {
        let request_id = RequestId(request);
        vec![(time, NonBlockingCollectiveRequest { request_id }.into())]
    };
    let end = |time, request, collective_op, communicator| {
        let (request_id, root) = (RequestId(request), CollectiveRoot::None);
        let (size_sent, size_received) = (0, 0);
        let event = NonBlockingCollectiveComplete {
            collective_op,
            communicator,
            root,
            size_sent,
            size_received,
            request_id,
        };
        (time, Event::from(event))
    };
    let (barrier, reduce) = (CollectiveOp::Barrier, CollectiveOp::Allreduce);
    // Two are begun by both and completed in another order; rank 1 begins at 40 and 60.
    let waits = found(
        2,
        vec![
            (0, "MPI_Ibarrier", 10, 11, begin(11, 1)),
            (0, "MPI_Iallreduce", 12, 13, begin(13, 2)),
            (0, "MPI_Waitall", 20, 62, vec![end(62, 2, reduce, WORLD)]),
            (0, "MPI_Waitall", 70, 71, vec![end(71, 1, barrier, WORLD)]),
            (1, "MPI_Ibarrier", 40, 41, begin(41, 1)),
            (1, "MPI_Iallreduce", 60, 61, begin(61, 2)),
            (1, "MPI_Waitall", 65, 66, vec![end(66, 1, barrier, WORLD), end(66, 2, reduce, WORLD)]),
        ],
    );
    assert_eq!(waits[0], expect(&[(Q::NonBlockingWait, 40)]));
    assert_eq!(waits[1], expect(&[]));
}

#[test]
fn a_lock_that_is_waited_for_in_the_flush() {
    let (win, lock_id, lock_type) = (LOCKS, LockId(0), LockType::Exclusive);
    let ask = |time| -> Events {
        vec![(time, RmaRequestLock { win, remote: Rank(2), lock_id, lock_type }.into())]
    };
    let release =
        |time| -> Events { vec![(time, RmaReleaseLock { win, remote: Rank(2), lock_id }.into())] };
    let matching_id = MatchingId(1);
    let locks = found(
        3,
        vec![
            (0, "MPI_Win_lock", 10, 11, ask(10)),
            (0, "MPI_Win_unlock", 100, 110, release(110)),
            (1, "MPI_Win_lock", 20, 21, ask(20)),
            (1, "MPI_Put", 22, 23, vec![(22, put(2, win, 1))]),
            (
                1,
                "MPI_Win_flush",
                30,
                112,
                vec![
                    (112, RmaOpCompleteNonBlocking { win, matching_id }.into()),
                    (112, RmaOpCompleteRemote { win, matching_id }.into()),
                ],
            ),
            (1, "MPI_Win_unlock", 120, 130, release(130)),
            // The owner serves everyone, so that nobody waits for it.
            (2, "MPI_Recv", 5, 131, vec![]),
        ],
    );
    // Rank 0 had it from 10 to 110: one in the lock, 80 in the flush.
    let inferred = [(Q::LockContention, 1 + 80), (Q::LockContentionInferred, 1 + 80)];
    assert_eq!(locks[1], expect(&inferred));
    assert_eq!(locks[0], expect(&[]));
}
