//! A legal mix of all operations, for comparing detectors with one another.
//!
//! The run is a sequence of segments. In each, every rank does one-sided operations, sends messages and raises signals;
//! then it takes locks, waits for signals and receives what was sent to it; and a collective ends the segment. Legal
//! means that a real run could have recorded it: times of a rank do not decrease, every non-blocking operation
//! completes, no two ranks hold a lock at once, nothing is received before it was sent, no wait ends before its signal
//! was raised, no collective ends for a rank before those it depends on have entered.
//!
//! All events are kept in memory until they are written, so this is for archives of up to some ten million events.

use std::collections::HashMap;
use std::path::Path;

use otf2::enums::{
    CollectiveOp, CollectiveRoot, LockType, Paradigm, RmaAtomicType, RmaSyncLevel, RmaSyncType,
};
use otf2::event::{
    Enter, Event, Leave, MpiRecv, MpiSend, RmaAcquireLock, RmaAtomic, RmaCollectiveBegin,
    RmaCollectiveEnd, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking, RmaOpCompleteRemote,
    RmaOpTest, RmaPut, RmaReleaseLock, RmaRequestLock, RmaSync, RmaTryLock, RmaWaitChange,
};
use otf2::id::{AttributeRef, LockId, MatchingId, Rank, RegionRef, Time};
use otf2::{Attribute, AttributeValue, List};
use rayon::prelude::*;

use crate::progress::Progress;
use crate::rng::Rng;
use crate::truth::{Totals, Truth};
use crate::world::{MAIN, Program, WINDOW, WORLD, regions};

/// Options of [`generate`]. Together they determine every byte of the archive. Memory grows with `ranks` × `segments` ×
/// `operations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks, at least 2, since signals and messages need another rank. Two ranks share a node.
    pub ranks: u64,
    /// Number of segments, each of which ends with a collective of all ranks: a barrier, a broadcast, a reduction to
    /// one, or an all-to-all.
    pub segments: u64,
    /// Number of operations that each rank performs in a segment before it synchronises: puts, gets, atomic operations,
    /// waits, tests, fences and computation, chosen at random.
    pub operations: u64,
    /// Seed of all random choices. Ends of collectives carry sequence numbers if the seed is even.
    pub seed: u64,
}

/// Attribute of operations on a flag: the offset of the flag in symmetric memory.
const OFFSET: AttributeRef = AttributeRef(0);
/// Attribute of the end of a collective: its sequence number.
const SEQUENCE: AttributeRef = AttributeRef(1);

regions! {
    GET = 1 "shmem_getmem" Rma "layer=shmem operation=get progress=always";
    PUT = 2 "shmem_putmem" Rma "layer=shmem operation=put progress=conditional";
    ATOMIC = 3 "shmem_long_atomic_fetch_add" Atomic "layer=shmem operation=atomic_fetch_add progress=always";
    GET_NBI = 4 "shmem_getmem_nbi" Rma "layer=shmem operation=get mode=nonblocking progress=never";
    PUT_NBI = 5 "shmem_putmem_nbi" Rma
        "layer=shmem operation=put mode=nonblocking progress=never";
    WAIT = 6 "wait_handle" Rma "layer=shmem operation=wait progress=always";
    TEST = 7 "test_handle" Rma "layer=shmem operation=test progress=conditional";
    QUIET = 8 "shmem_quiet" Rma "layer=shmem operation=complete_remote progress=always completes=remote";
    FENCE = 9 "shmem_fence" Rma "layer=shmem operation=order progress=never";
    SET_LOCK = 10 "shmem_set_lock" Rma "layer=shmem operation=lock progress=always";
    CLEAR_LOCK = 11 "shmem_clear_lock" Rma "layer=shmem operation=unlock progress=always";
    TEST_LOCK = 12 "shmem_test_lock" Rma "layer=shmem operation=try_lock progress=always";
    WAIT_UNTIL = 13 "shmem_long_wait_until" Rma "layer=shmem operation=wait_change progress=always";
    NOTIFY = 14 "notify" Rma "layer=shmem operation=signal progress=never";
    NOTIFY_WAIT = 15 "notify_wait" Rma "layer=shmem operation=wait_change progress=always";
    SEND = 16 "MPI_Send" Point2point "layer=mpi operation=send progress=always";
    RECV = 17 "MPI_Recv" Point2point "layer=mpi operation=receive progress=always";
    BARRIER = 18 "shmem_barrier_all" Barrier "layer=shmem operation=barrier progress=always completes=remote";
    BROADCAST = 19 "shmem_broadcastmem" CollOne2all "layer=shmem operation=broadcast progress=always";
    REDUCE = 20 "reduce_to_one" CollAll2one "layer=shmem operation=reduce progress=always";
    ALLTOALL = 21 "shmem_alltoallmem" CollAll2all "layer=shmem operation=all_to_all progress=always";
    COMPUTE = 22 "compute" Function "";
}

/// An event of a rank with its time, and an attribute if it has one: the offset of the flag that it concerns, or the
/// sequence number of the collective.
type Entry = (u64, Option<(AttributeRef, u64)>, Event<'static>);

/// One rank while its events are generated.
struct Process {
    rank: u64,
    rng: Rng,
    now: u64,
    next_id: u64,
    /// Ids of operations that have not completed at the origin.
    outstanding: Vec<MatchingId>,
    /// Id of the last put that no completion call has completed at its target yet.
    unfinished: Option<MatchingId>,
    collectives: u64,
    events: Vec<Entry>,
    totals: Totals,
}

impl Process {
    fn new(rank: u64, seed: u64) -> Self {
        let mut process = Self {
            rank,
            rng: Rng::new(seed, rank),
            now: 0,
            next_id: 0,
            outstanding: Vec::new(),
            unfinished: None,
            collectives: 0,
            events: Vec::new(),
            totals: Totals::default(),
        };
        process.now = process.rng.below(1_000);
        process.record(Enter { region: MAIN });
        process
    }

    fn record(&mut self, event: impl Into<Event<'static>>) {
        self.events.push((self.now, None, event.into()));
    }

    /// Advances the time of the rank: sometimes by nothing, sometimes by much.
    fn pass(&mut self) {
        self.now += match self.rng.below(8) {
            0 => 0,
            1..=5 => self.rng.range(1, 500),
            6 => self.rng.range(500, 5_000),
            _ => self.rng.range(5_000, 100_000),
        };
    }

    /// Records a call: its enter, the events that `inside` records, its leave.
    fn call(&mut self, region: RegionRef, inside: impl FnOnce(&mut Self)) {
        self.pass();
        self.record(Enter { region });
        inside(self);
        self.pass();
        self.record(Leave { region });
    }

    fn fresh_id(&mut self) -> MatchingId {
        self.next_id += 1;
        MatchingId(self.next_id - 1)
    }

    fn bytes(&mut self) -> u64 {
        1 << self.rng.below(21)
    }

    /// Chooses a rank: now and then the own one, otherwise another.
    fn other(&mut self, ranks: u64) -> Rank {
        if self.rng.below(16) == 0 {
            return Rank(self.rank as u32);
        }
        Rank(((self.rank + 1 + self.rng.below(ranks - 1)) % ranks) as u32)
    }

    fn get(&mut self, remote: Rank) -> MatchingId {
        let (bytes, matching_id) = (self.bytes(), self.fresh_id());
        self.record(RmaGet { win: WINDOW, remote, bytes, matching_id });
        self.totals.gets += 1;
        self.totals.bytes_get += bytes;
        matching_id
    }

    fn put(&mut self, remote: Rank, bytes: u64) -> MatchingId {
        let matching_id = self.fresh_id();
        self.record(RmaPut { win: WINDOW, remote, bytes, matching_id });
        self.unfinished = Some(matching_id);
        self.totals.puts += 1;
        self.totals.bytes_put += bytes;
        matching_id
    }

    fn complete(&mut self, matching_id: MatchingId) {
        self.pass();
        self.record(RmaOpCompleteBlocking { win: WINDOW, matching_id });
    }

    /// Performs one operation that needs no action of another rank.
    fn operation(&mut self, ranks: u64) {
        let remote = self.other(ranks);
        match self.rng.below(11) {
            0 | 1 => self.call(GET, |p| {
                let id = p.get(remote);
                p.complete(id);
            }),
            2 => self.call(PUT, |p| {
                let bytes = p.bytes();
                let id = p.put(remote, bytes);
                p.complete(id);
            }),
            3 => self.call(ATOMIC, |p| {
                let matching_id = p.fresh_id();
                p.record(RmaAtomic {
                    win: WINDOW,
                    remote,
                    kind: RmaAtomicType::FetchAndAdd,
                    bytes_sent: 8,
                    bytes_received: 8,
                    matching_id,
                });
                p.totals.atomics += 1;
                p.complete(matching_id);
            }),
            4 | 5 => self.call(GET_NBI, |p| {
                let id = p.get(remote);
                p.outstanding.push(id);
            }),
            6 => self.call(PUT_NBI, |p| {
                let bytes = p.bytes();
                let id = p.put(remote, bytes);
                p.outstanding.push(id);
            }),
            7 => self.wait_one(),
            8 => self.test_one(),
            9 => self.call(FENCE, |_| {}),
            _ => self.call(COMPUTE, |_| {}),
        }
    }

    fn some_outstanding(&mut self) -> Option<usize> {
        let count = self.outstanding.len();
        (count > 0).then(|| self.rng.below(count as u64) as usize)
    }

    fn wait_one(&mut self) {
        if let Some(index) = self.some_outstanding() {
            let matching_id = self.outstanding.swap_remove(index);
            self.call(WAIT, |p| {
                p.pass();
                p.record(RmaOpCompleteNonBlocking { win: WINDOW, matching_id });
            });
        }
    }

    fn test_one(&mut self) {
        if let Some(index) = self.some_outstanding() {
            let matching_id = self.outstanding[index];
            self.call(TEST, |p| p.record(RmaOpTest { win: WINDOW, matching_id }));
        }
    }

    fn quiet(&mut self) {
        self.call(QUIET, |p| {
            p.pass();
            p.finish();
        });
    }

    /// Completes all operations of the rank at their targets.
    fn finish(&mut self) {
        let last = self.outstanding.drain(..).max();
        if let Some(matching_id) = last.max(self.unfinished.take()) {
            self.record(RmaOpCompleteRemote { win: WINDOW, matching_id });
        }
    }

    /// Raises a flag at another rank, and returns the time of the put.
    fn signal(&mut self, to: u64, offset: u64) -> u64 {
        let mut raised = 0;
        self.call(PUT, |p| {
            let id = p.put(Rank(to as u32), 8);
            raised = p.now;
            if let Some(entry) = p.events.last_mut() {
                entry.1 = Some((OFFSET, offset));
            }
            p.complete(id);
        });
        raised
    }

    /// Waits until a flag is seen that is raised at the given time.
    fn await_signal(&mut self, raised: u64, offset: u64) {
        self.call(WAIT_UNTIL, |p| {
            p.record(RmaWaitChange { win: WINDOW });
            if let Some(entry) = p.events.last_mut() {
                entry.1 = Some((OFFSET, offset));
            }
            p.now = p.now.max(raised + 1);
        });
    }

    fn end(&mut self) {
        self.quiet();
        self.pass();
        self.record(Leave { region: MAIN });
        self.totals.duration_ns = self.now;
    }
}

/// The time at which each lock is free again.
type LockTimes = HashMap<(Rank, LockId), u64>;

/// Generates everything that happens in one segment.
fn segment(
    options: &Options,
    number: u64,
    processes: &mut [Process],
    rng: &mut Rng,
    held: &mut LockTimes,
) {
    let ranks = options.ranks;
    let pick = |rng: &mut Rng| {
        let from = rng.below(ranks);
        (from, (from + 1 + rng.below(ranks - 1)) % ranks)
    };
    // Sender and receiver of everything sent in this segment. The plans come first, then the ranks act on them.
    let plan = |rng: &mut Rng| (0..rng.below(ranks)).map(|_| pick(rng)).collect::<Vec<_>>();
    let (signals, notifications, messages) = (plan(rng), plan(rng), plan(rng));

    for process in processes.iter_mut() {
        for _ in 0..options.operations {
            process.operation(ranks);
        }
    }
    let offset = |index: u64| 8 * (number * ranks + index);
    let raised: Vec<u64> = (0..)
        .zip(&signals)
        .map(|(index, &(from, to))| processes[from as usize].signal(to, offset(index)))
        .collect();
    let notified: Vec<u64> = notifications
        .iter()
        .map(|&(from, to)| {
            let (remote, sync_type) = (Rank(to as u32), RmaSyncType::NotifyOut);
            let process = &mut processes[from as usize];
            process.call(NOTIFY, |p| p.record(RmaSync { win: WINDOW, remote, sync_type }));
            process.now
        })
        .collect();
    let sent: Vec<(u64, u64)> = messages
        .iter()
        .map(|&(from, to)| {
            let process = &mut processes[from as usize];
            let (msg_length, receiver) = (process.bytes(), Rank(to as u32));
            process.call(SEND, |p| {
                p.record(MpiSend { receiver, communicator: WORLD, msg_tag: 0, msg_length });
            });
            process.totals.messages += 1;
            process.totals.bytes_sent += msg_length;
            (process.now, msg_length)
        })
        .collect();

    locks(processes, rng, held);
    for ((index, &(_, to)), raised) in (0..).zip(&signals).zip(raised) {
        processes[to as usize].await_signal(raised, offset(index));
    }
    for (&(from, to), when) in notifications.iter().zip(notified) {
        let (remote, sync_type) = (Rank(from as u32), RmaSyncType::NotifyIn);
        processes[to as usize].call(NOTIFY_WAIT, |p| {
            p.now = p.now.max(when + 1);
            p.record(RmaSync { win: WINDOW, remote, sync_type });
        });
    }
    for (&(from, to), (when, msg_length)) in messages.iter().zip(sent) {
        let sender = Rank(from as u32);
        processes[to as usize].call(RECV, |p| {
            p.now = p.now.max(when + 1);
            p.record(MpiRecv { sender, communicator: WORLD, msg_tag: 0, msg_length });
        });
    }
    for process in processes.iter_mut() {
        if process.rng.below(2) == 0 {
            process.quiet();
        }
    }
    collective(options, processes, rng);
}

/// Lets some ranks take a lock one after the other, and the first rank try it.
fn locks(processes: &mut [Process], rng: &mut Rng, held: &mut LockTimes) {
    let owner = Rank(rng.below(processes.len() as u64) as u32);
    let lock_id = LockId(rng.below(4));
    let (win, remote, lock_type) = (WINDOW, owner, LockType::Exclusive);
    let mut contenders: Vec<usize> = (0..processes.len()).filter(|_| rng.below(3) == 0).collect();
    // First come, first served.
    contenders.sort_by_key(|&index| (processes[index].now, index));
    // A rank that waited in no collective may still be in the previous segment.
    let free = held.entry((owner, lock_id)).or_default();
    for index in contenders {
        let process = &mut processes[index];
        process.call(SET_LOCK, |p| {
            p.record(RmaRequestLock { win, remote, lock_id, lock_type });
            p.pass();
            p.now = p.now.max(*free);
            p.record(RmaAcquireLock { win, remote, lock_id, lock_type });
        });
        process.totals.locks += 1;
        process.call(CLEAR_LOCK, |p| p.record(RmaReleaseLock { win, remote, lock_id }));
        *free = process.now + 1;
    }
    if let Some(process) = processes.first_mut() {
        process.call(TEST_LOCK, |p| p.record(RmaTryLock { win, remote, lock_id, lock_type }));
    }
}

/// Lets all ranks take part in one collective.
fn collective(options: &Options, processes: &mut [Process], rng: &mut Rng) {
    let root = rng.below(options.ranks) as usize;
    let (region, collective_op, rooted) = match rng.below(5) {
        0 | 1 => (BARRIER, CollectiveOp::Barrier, false),
        2 => (BROADCAST, CollectiveOp::Bcast, true),
        3 => (REDUCE, CollectiveOp::Reduce, true),
        _ => (ALLTOALL, CollectiveOp::Alltoall, false),
    };
    let bytes = if collective_op == CollectiveOp::Barrier { 0 } else { 1 << rng.below(16) };
    for process in processes.iter_mut() {
        process.pass();
        process.record(Enter { region });
        process.record(RmaCollectiveBegin {});
    }
    let last = processes.iter().map(|p| p.now).max().unwrap_or(0);
    let roots = processes[root].now;
    for (index, process) in processes.iter_mut().enumerate() {
        let released = match collective_op {
            CollectiveOp::Bcast => roots,
            CollectiveOp::Reduce if index != root => 0,
            _ => last,
        };
        process.now = process.now.max(released) + 1;
        process.pass();
        if region == BARRIER {
            process.finish();
        }
        process.record(RmaCollectiveEnd {
            collective_op,
            sync_level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
            win: WINDOW,
            root: if rooted { CollectiveRoot::Rank(root as u32) } else { CollectiveRoot::None },
            bytes_sent: bytes,
            bytes_received: bytes,
        });
        if options.seed.is_multiple_of(2)
            && let Some(entry) = process.events.last_mut()
        {
            entry.1 = Some((SEQUENCE, process.collectives));
        }
        process.collectives += 1;
        process.pass();
        process.record(Leave { region });
        process.totals.collectives += 1;
    }
}

/// Generates the archive in a directory, and returns its truth, without severities: no formula is known for them. The
/// directory must not contain an archive yet. `truth.json` is not written: call [`Truth::write`] for that.
///
/// # Errors
/// If there is an archive already, or files cannot be written.
pub fn generate(
    options: &Options,
    directory: &Path,
    progress: Progress<'_>,
) -> otf2::Result<Truth> {
    let Options { ranks, segments, operations, seed } = *options;
    let program = Program {
        kind: "random",
        description: "random operations, synthetic",
        ranks,
        seed,
        options: &[("segments", segments), ("operations", operations)],
        paradigm: Paradigm::Shmem,
        paradigm_name: "OpenSHMEM",
        regions: REGIONS,
        window: "All PEs",
        attributes: &["DWELL::SYMMETRIC_OFFSET", "DWELL::SEQUENCE"],
        ranks_per_node: 2,
        ..Program::PLAIN
    };
    let archive = program.create(directory)?;
    let mut processes: Vec<Process> = (0..ranks).map(|rank| Process::new(rank, seed)).collect();
    let mut rng = Rng::new(seed, u64::MAX);
    let mut held = LockTimes::new();
    for number in 0..segments {
        segment(options, number, &mut processes, &mut rng, &mut held);
    }
    processes.iter_mut().for_each(Process::end);

    archive.write_from(processes.into_par_iter(), progress, |_, process, events| {
        for (time, attribute, event) in process.events {
            let attribute = attribute.map(|(attribute, value)| {
                [Attribute { attribute, value: AttributeValue::Uint64(value) }]
            });
            let attributes = attribute.as_ref().map_or(&[][..], |list| list);
            events.write_with(Time(time), List::from(attributes), event)?;
        }
        Ok(process.totals)
    })
}
