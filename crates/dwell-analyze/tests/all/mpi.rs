//! Made-up MPI programs, written as other tools record them: regions are known by their names.

use otf2::enums::{
    CollectiveOp, CollectiveRoot, CommFlag, GroupFlag, GroupType, LocationGroupType, LocationType,
    LockType, Paradigm, RegionFlag, RegionRole, RmaSyncLevel, RmaWinFlag, Type,
};
use otf2::event::{
    Enter, Leave, MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecv, MpiIrecvRequest, MpiIsend,
    MpiIsendComplete, MpiRecv, MpiSend, NonBlockingCollectiveComplete,
    NonBlockingCollectiveRequest, RmaCollectiveEnd, RmaGet, RmaGroupSync, RmaOpCompleteNonBlocking,
    RmaOpCompleteRemote, RmaPut, RmaReleaseLock, RmaRequestLock,
};
use otf2::id::{
    AttributeRef, CommRef, GroupRef, LocationGroupRef, LocationRef, LockId, MatchingId, Rank,
    RegionRef, RequestId, RmaWinRef, StringRef, SystemTreeNodeRef, Time,
};
use otf2::write::ArchiveWriter;
use otf2::{Attribute, AttributeValue, Event, List, def};

use crate::support::barrier_end;

pub(crate) const REGIONS: &[(&str, RegionRole)] = &[
    ("main", RegionRole::Function),
    ("MPI_Send", RegionRole::Point2point),
    ("MPI_Recv", RegionRole::Point2point),
    ("MPI_Irecv", RegionRole::Point2point),
    ("MPI_Isend", RegionRole::Point2point),
    ("MPI_Probe", RegionRole::Point2point),
    ("MPI_Waitall", RegionRole::Point2point),
    ("MPI_Ibarrier", RegionRole::Barrier),
    ("MPI_Iallreduce", RegionRole::CollAll2all),
    ("MPI_Ineighbor_alltoall", RegionRole::CollAll2all),
    ("MPI_Barrier", RegionRole::Barrier),
    ("MPI_Allreduce", RegionRole::CollAll2all),
    ("MPI_Bcast", RegionRole::CollOne2all),
    ("MPI_Reduce", RegionRole::CollAll2one),
    ("MPI_Neighbor_alltoall", RegionRole::CollAll2all),
    ("MPI_Win_fence", RegionRole::CollAll2all),
    ("MPI_Win_post", RegionRole::Rma),
    ("MPI_Win_start", RegionRole::Rma),
    ("MPI_Win_complete", RegionRole::Rma),
    ("MPI_Win_wait", RegionRole::Rma),
    ("MPI_Win_test", RegionRole::Rma),
    ("MPI_Put", RegionRole::Rma),
    ("MPI_Get", RegionRole::Rma),
    ("MPI_Rget", RegionRole::Rma),
    ("MPI_Win_lock", RegionRole::Rma),
    ("MPI_Win_lock_all", RegionRole::Rma),
    ("MPI_Win_flush", RegionRole::Rma),
    ("MPI_Win_flush_all", RegionRole::Rma),
    ("MPI_Win_unlock", RegionRole::Rma),
    ("MPI_Win_unlock_all", RegionRole::Rma),
    ("MPI_Test", RegionRole::Point2point),
    ("MPI_Iprobe", RegionRole::Point2point),
];

fn region(name: &str) -> RegionRef {
    RegionRef(REGIONS.iter().position(|row| row.0 == name).unwrap() as u32)
}

/// Windows: for fences, for epochs, for locks.
pub(crate) const FENCES: RmaWinRef = RmaWinRef(0);
pub(crate) const EPOCHS: RmaWinRef = RmaWinRef(1);
pub(crate) const LOCKS: RmaWinRef = RmaWinRef(2);
pub(crate) const WORLD: CommRef = CommRef(0);
/// Communicator of the first ranks, at least two.
pub(crate) const SOME: CommRef = CommRef(1);
/// Intercommunicator between rank 0 and all others.
pub(crate) const BETWEEN: CommRef = CommRef(2);
/// Stands for no window: an `RmaGroupSync` on it is written as the attribute of the next record, which names
/// neighbours.
pub(crate) const NEIGHBOURS: RmaWinRef = RmaWinRef(99);
/// Id of the first group. Group `FIRST_GROUP + n` has the ranks that are bits of `n`.
pub(crate) const FIRST_GROUP: u32 = 3;

pub(crate) type Events = Vec<(u64, Event<'static>)>;

/// Writes an archive of processes of one location.
pub(crate) fn write(directory: &std::path::Path, lists: &[Events]) {
    let archive =
        ArchiveWriter::create(directory, "traces", otf2::write::Options::default()).unwrap();
    let mut counts = Vec::new();
    for (location, list) in (0..).map(LocationRef).zip(lists) {
        let mut writer = archive.events(location).unwrap();
        let mut neighbours = None;
        for (time, event) in list {
            match (event, neighbours.take()) {
                (Event::RmaGroupSync(it), _) if it.win == NEIGHBOURS => neighbours = Some(it.group),
                (event, Some(group)) => {
                    let (attribute, value) = (AttributeRef(0), AttributeValue::Group(group));
                    let list = [Attribute { attribute, value }];
                    writer.write_with(Time(*time), List::from(&list[..]), *event).unwrap();
                }
                (event, None) => writer.write(Time(*time), *event).unwrap(),
            }
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
        let rank = defs.string(&format!("Rank {id}")).unwrap();
        defs.write(def::LocationGroup {
            id: LocationGroupRef(id),
            name: rank,
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
    let others = (1_u32 << lists.len()) - 2;
    let [group_a, group_b] = [1, others].map(|mask| GroupRef(FIRST_GROUP + mask));
    let (id, common_communicator, flags) = (BETWEEN, WORLD, CommFlag::NONE);
    defs.write(def::InterComm { id, name, group_a, group_b, common_communicator, flags }).unwrap();
    let text = defs.string("DWELL::NEIGHBOURS").unwrap();
    let (id, kind) = (AttributeRef(0), Type::Group);
    defs.write(def::Attribute { id, name: text, description: name, kind }).unwrap();
    for id in [FENCES, EPOCHS, LOCKS] {
        defs.write(def::RmaWin { id, name, comm: WORLD, flags: RmaWinFlag::NONE }).unwrap();
    }
    defs.finish().unwrap();
    archive.finish().unwrap();
}

fn some(ranks: usize) -> usize {
    (ranks - 1).max(2)
}

/// Returns the record that ends a fence.
pub(crate) fn fence_end() -> RmaCollectiveEnd {
    let sync_level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
    RmaCollectiveEnd { sync_level, ..barrier_end(FENCES) }
}

struct Random(dwell_synth::Rng);

impl Random {
    /// Returns a random number below a limit.
    fn below(&mut self, most: usize) -> usize {
        (self.0.next_u64() % most as u64) as usize
    }

    /// Returns a short time, often 0.
    fn time(&mut self) -> u64 {
        self.0.next_u64() % 12 / (1 + self.0.next_u64() % 3)
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.0.next_u64().is_multiple_of(one_in)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// A program that is made up call by call.
pub(crate) struct Program {
    random: Random,
    events: Vec<Events>,
    pub(crate) now: Vec<u64>,
    requests: u64,
    operations: u64,
}

impl Program {
    pub(crate) fn new(seed: u64, ranks: usize) -> Self {
        let begin = vec![(0, Enter { region: region("main") }.into())];
        Self {
            random: Random(dwell_synth::Rng::seeded(seed)),
            events: vec![begin; ranks],
            now: vec![0; ranks],
            requests: 0,
            operations: 0,
        }
    }

    fn ranks(&self) -> usize {
        self.now.len()
    }

    /// Lets a rank compute, and returns the time at which its next call begins.
    fn compute(&mut self, rank: usize) -> u64 {
        self.now[rank] += self.random.time();
        self.now[rank]
    }

    /// Adds a call since `now`, with records at times of their own.
    pub(crate) fn call(&mut self, rank: usize, name: &str, records: Events, leave: u64) {
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

    /// Adds a short call.
    fn short(&mut self, rank: usize, name: &str, event: Option<Event<'static>>) {
        let enter = self.compute(rank);
        let at = enter + self.random.time() / 4;
        let leave = at + self.random.time() / 2;
        self.call(rank, name, event.map(|event| (at, event)).into_iter().collect(), leave);
    }

    /// Returns two different ranks.
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

    /// Adds a send that a later call completes. Returns its enter and its request.
    fn start_send(&mut self, from: usize, to: usize, tag: u32) -> (u64, u64) {
        self.requests += 1;
        let enter = self.compute(from);
        let (receiver, request_id) = (Rank(to as u32), RequestId(self.requests));
        let (communicator, msg_tag, msg_length) = (WORLD, tag, 8);
        let event = MpiIsend { receiver, communicator, msg_tag, msg_length, request_id };
        let leave = enter + self.random.time() / 3;
        self.call(from, "MPI_Isend", vec![(enter, event.into())], leave);
        (enter, self.requests)
    }

    /// Adds some messages to one rank, received in any order, some after a probe.
    fn messages(&mut self) {
        let (to, _) = self.two();
        let mut list = Vec::new();
        let mut open: Vec<Vec<u64>> = vec![Vec::new(); self.ranks()];
        let ready = self.now[to] + self.random.time();
        for tag in 0..1 + self.random.below(3) as u32 {
            let from = (to + 1 + self.random.below(self.ranks() - 1)) % self.ranks();
            if self.random.chance(2) {
                let (sent, request) = self.start_send(from, to, tag);
                open[from].push(request);
                list.push((from, tag, sent));
            } else {
                list.push((from, tag, self.send(from, to, tag, ready)));
            }
        }
        self.random.shuffle(&mut list);
        self.now[to] = ready;
        let mut posted = ready;
        for &(from, tag, sent) in &list {
            let enter = self.compute(to);
            if self.random.chance(3) {
                let leave = enter.max(sent) + self.random.time() / 2;
                self.call(to, "MPI_Probe", vec![], leave);
            }
            let enter = self.compute(to);
            posted = enter;
            let (sender, communicator) = (Rank(from as u32), WORLD);
            let event = MpiRecv { sender, communicator, msg_tag: tag, msg_length: 8 };
            let leave = enter.max(sent) + self.random.time() / 2;
            self.call(to, "MPI_Recv", vec![(leave, event.into())], leave);
        }
        for (rank, list) in open.into_iter().enumerate() {
            if list.is_empty() {
                continue;
            }
            let answer = self.random.chance(3).then(|| {
                self.requests += 1;
                let request = self.requests;
                let event = MpiIrecvRequest { request_id: RequestId(request) };
                self.short(rank, "MPI_Irecv", Some(event.into()));
                (self.send(to, rank, 7, 0), request)
            });
            let enter = self.compute(rank);
            let until = if self.random.chance(3) { enter } else { enter.max(posted) };
            let until = until.max(answer.map_or(0, |it| it.0));
            let leave = until + self.random.time() / 3;
            let complete = |it: u64| MpiIsendComplete { request_id: RequestId(it) }.into();
            let mut records: Vec<Event<'static>> = list.into_iter().map(complete).collect();
            if let Some((_, request)) = answer {
                let (sender, communicator, request_id) =
                    (Rank(to as u32), WORLD, RequestId(request));
                let (msg_tag, msg_length) = (7, 8);
                let event = MpiIrecv { sender, communicator, msg_tag, msg_length, request_id };
                records.push(event.into());
            }
            self.random.shuffle(&mut records);
            let records = records.into_iter().map(|event| (leave, event)).collect();
            self.call(rank, "MPI_Waitall", records, leave);
        }
    }

    /// Adds a put or get, and returns its number.
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
            let event = fence_end();
            let leave = end + self.random.time() / 3;
            self.call(rank, "MPI_Win_fence", vec![(end, event.into())], leave);
        }
    }

    /// Lets some targets expose their windows and some origins access them.
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

    /// Returns a group of neighbours of a rank, the rank itself included.
    fn neighbours(&mut self, rank: usize) -> Event<'static> {
        let mask = self.random.below(1 << self.ranks()) | 1 << rank;
        let (sync_level, win) = (RmaSyncLevel::NONE, NEIGHBOURS);
        RmaGroupSync { sync_level, win, group: GroupRef(FIRST_GROUP + mask as u32) }.into()
    }

    /// Adds a blocking collective: among all or some ranks, between two groups, or among neighbours.
    fn meeting(&mut self) {
        let (communicator, kinds): (_, &[_]) = match self.random.below(4) {
            0 => (WORLD, &["MPI_Neighbor_alltoall"]),
            1 => (SOME, &["MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce"]),
            2 => (WORLD, &["MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce"]),
            _ => (BETWEEN, &["MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce"]),
        };
        let name = kinds[self.random.below(kinds.len())];
        let members = if communicator == SOME { some(self.ranks()) } else { self.ranks() };
        let root = self.random.below(members);
        let enters: Vec<u64> = (0..members).map(|rank| self.compute(rank)).collect();
        let last = enters.iter().copied().max().unwrap();
        for (rank, enter) in enters.into_iter().enumerate() {
            // Some do not wait for the last.
            let until = if self.random.chance(3) { enter } else { last };
            let end = until + self.random.time() / 3;
            let mut records = Vec::new();
            if name == "MPI_Neighbor_alltoall" {
                records.push((enter, self.neighbours(rank)));
            }
            records.push((enter, MpiCollectiveBegin {}.into()));
            let (collective_op, rooted) = match name {
                "MPI_Barrier" => (CollectiveOp::Barrier, false),
                "MPI_Bcast" => (CollectiveOp::Bcast, true),
                "MPI_Reduce" => (CollectiveOp::Reduce, true),
                "MPI_Allreduce" => (CollectiveOp::Allreduce, false),
                _ => (CollectiveOp::Alltoall, false),
            };
            let root = match communicator {
                _ if !rooted => CollectiveRoot::None,
                BETWEEN if rank == root => CollectiveRoot::SelfRank,
                BETWEEN if (rank == 0) == (root == 0) => CollectiveRoot::ThisGroup,
                // Ranks of the other group are counted from 0.
                BETWEEN => CollectiveRoot::Rank(root.saturating_sub(1) as u32),
                _ => CollectiveRoot::Rank(root as u32),
            };
            let (size_sent, size_received) = (8, 8);
            let event =
                MpiCollectiveEnd { collective_op, communicator, root, size_sent, size_received };
            records.push((end, event.into()));
            let leave = end + self.random.time() / 3;
            self.call(rank, name, records, leave);
        }
    }

    /// Adds non-blocking collectives, completed in any order, some of them together with a message.
    fn collectives(&mut self) {
        let kinds = [
            CollectiveOp::Barrier,
            CollectiveOp::Allreduce,
            CollectiveOp::Bcast,
            CollectiveOp::Reduce,
            CollectiveOp::Scan,
            CollectiveOp::Alltoall,
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
            for (at, &(comm, op, _)) in list.iter().enumerate() {
                if !takes_part(rank, comm, self.ranks()) {
                    continue;
                }
                self.requests += 1;
                let request_id = RequestId(self.requests);
                requests.push((at, self.requests));
                let mut name =
                    if self.random.chance(2) { "MPI_Ibarrier" } else { "MPI_Iallreduce" };
                let enter = self.compute(rank);
                last[at] = enter.max(last[at]);
                let leave = enter + self.random.time() / 3;
                let mut records = Vec::new();
                if op == CollectiveOp::Alltoall {
                    name = "MPI_Ineighbor_alltoall";
                    records.push((leave, self.neighbours(rank)));
                }
                records.push((leave, NonBlockingCollectiveRequest { request_id }.into()));
                self.call(rank, name, records, leave);
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

    /// Lets ranks acquire a lock one after the other, or share it. Each waits for it in some call.
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
            let at = enter + self.random.time();
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

    pub(crate) fn finish(mut self) -> Vec<Events> {
        // All end together, so that all can be judged.
        let end = self.now.iter().copied().max().unwrap() + 1;
        for rank in 0..self.ranks() {
            self.events[rank].push((end, Leave { region: region("main") }.into()));
        }
        self.events
    }
}

pub(crate) fn random_program(seed: u64) -> Vec<Events> {
    let mut program = Program::new(seed, 2 + (seed % 3) as usize);
    for _ in 0..1 + program.random.below(6) {
        match program.random.below(6) {
            5 => program.meeting(),
            0 => program.messages(),
            1 => program.fence(),
            2 => program.epoch(),
            3 => program.collectives(),
            _ => program.locks(),
        }
    }
    program.finish()
}
