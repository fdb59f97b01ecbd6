//! Severities of random MPI archives equal an exhaustive search, to the nanosecond, for each location: messages,
//! fences, epochs, non-blocking collectives and locks.
//!
//! The archives are as other tools write them: regions are known by their names. The search reads all
//! events into memory and shares nothing with the detectors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod by_hand;

use std::collections::BTreeMap;

use dwell_analyze::{Analysis, Cut, Options, Quantity as Q};
use dwell_model::waits::Wait;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaSyncLevel};
use otf2::event::{
    MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecv, MpiIrecvRequest, MpiIsend, MpiIsendComplete,
    MpiRecv, MpiSend, NonBlockingCollectiveComplete, NonBlockingCollectiveRequest, RmaGet,
    RmaGroupSync, RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaPut, RmaReleaseLock,
    RmaRequestLock,
};
use otf2::id::{CommRef, GroupRef, LockId, MatchingId, Rank, RequestId, RmaWinRef};
use otf2::{Archive, Event};

use crate::mpi::{
    BETWEEN, EPOCHS, Events, FENCES, FIRST_GROUP, LOCKS, NEIGHBOURS, Program, REGIONS, SOME, WORLD,
    random_program, write,
};
use crate::support::sums;

type Sums = BTreeMap<Q, u64>;

/// A call with its records and their times.
#[derive(Clone, Debug)]
struct Call {
    name: &'static str,
    enter: u64,
    leave: u64,
    records: Events,
}

/// Returns all calls except the outermost.
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

/// A message, found by searching all calls of all ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    begin: u64,
    from: usize,
    time: u64,
    /// Request that completes the message; 0 if the call itself does.
    request: u64,
    /// Sequence number among the messages with these ranks and this tag, and the tag.
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

    /// Returns all messages to a rank.
    fn sent_to(&self, to: usize) -> Vec<Message> {
        let mut list: Vec<Message> = Vec::new();
        for (from, calls) in self.ranks.iter().enumerate() {
            for call in calls {
                for (time, record) in &call.records {
                    let (receiver, tag, request) = match record {
                        Event::MpiSend(it) => (it.receiver, it.msg_tag, 0),
                        Event::MpiIsend(it) => (it.receiver, it.msg_tag, it.request_id.0),
                        _ => continue,
                    };
                    if receiver.0 as usize == to {
                        let same = list.iter().filter(|it| it.from == from && it.tag == tag);
                        let number = same.count();
                        let (begin, time) = (call.enter, *time);
                        list.push(Message { begin, from, time, request, number, tag });
                    }
                }
            }
        }
        list
    }

    /// Returns, by rank, when the collectives that a record completes began.
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

    /// Returns the time until which a call that completes a collective had to wait.
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
            CollectiveOp::Alltoall => {
                let begins = |call: &&Call| {
                    call.records.iter().any(|(_, record)| {
                        matches!(record, Event::NonBlockingCollectiveRequest(it)
                            if it.request_id == end.request_id)
                    })
                };
                let list = neighbours(self.ranks[rank].iter().find(begins).unwrap());
                latest(&|it| it != rank && list.contains(&it))
            }
            _ => latest(&|_| true),
        }
    }

    fn messages_and_collectives(&mut self) {
        // When receives of messages were posted, by the rank that sent them, its call and the request.
        let mut posts: Vec<(usize, u64, u64, u64)> = Vec::new();
        // Until when each call waited for messages and collectives.
        let mut untils: Vec<Vec<u64>> = Vec::new();
        for rank in 0..self.ranks.len() {
            let mut unread = self.sent_to(rank);
            let mut read: BTreeMap<(usize, u32), usize> = BTreeMap::new();
            let mut until_of = Vec::new();
            let mut probe: Option<Call> = None;
            for call in &self.ranks[rank].to_vec() {
                if call.name == "MPI_Probe" {
                    probe = Some(call.clone());
                }
                let posts_one = |(_, record): &(u64, Event<'static>)| {
                    matches!(record, Event::MpiIrecvRequest(_))
                };
                if call.records.iter().any(posts_one) {
                    assert!(probe.is_none(), "probes are for receives that block");
                }
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
                    posts.push((from, message.begin, message.request, posted));
                    if let (Event::MpiRecv(_), Some(probe)) = (record, probe.take())
                        && message.begin < probe.leave
                    {
                        let late = message.begin.saturating_sub(probe.enter);
                        self.add(rank, Q::Wait(Wait::LateSender), late);
                    }
                }
                let until = collective.clamp(call.enter, call.leave);
                self.add(rank, Q::Wait(Wait::NonBlockingWait), until - call.enter);
                until_of.push(until);
                if let Some(message) = last {
                    let late = message.begin.min(call.leave).saturating_sub(until);
                    *until_of.last_mut().unwrap() += late;
                    self.add(rank, Q::Wait(Wait::LateSender), late);
                    if unread.iter().any(|it| it.time < message.time) {
                        self.add(rank, Q::Wait(Wait::LateSenderWrongOrder), late);
                    }
                }
            }
            untils.push(until_of);
        }
        for (rank, calls) in self.ranks.iter().enumerate() {
            for (call, until) in calls.iter().zip(&untils[rank]) {
                let mut last = 0;
                for (_, record) in &call.records {
                    let of = |&&(from, begin, request, _): &&(usize, u64, u64, u64)| match record {
                        Event::MpiSend(_) => (from, begin, request) == (rank, call.enter, 0),
                        Event::MpiIsendComplete(it) => (from, request) == (rank, it.request_id.0),
                        _ => false,
                    };
                    let posted = posts.iter().find(of).map_or(0, |it| it.3);
                    if posted > call.enter && posted < call.leave {
                        last = last.max(posted);
                    }
                }
                let late = last.saturating_sub(*until);
                if late > 0 {
                    *self.found[rank].entry(Q::Wait(Wait::LateReceiver)).or_default() += late;
                }
            }
        }
    }

    /// Judges blocking collectives: the n-th of each member of a communicator is one collective.
    fn meetings(&mut self) {
        let end = |call: &Call| {
            call.records.iter().find_map(|(time, record)| match record {
                Event::MpiCollectiveEnd(it) => Some((*time, *it)),
                _ => None,
            })
        };
        let mut waits: Vec<(usize, Q, u64)> = Vec::new();
        for comm in [WORLD, SOME, BETWEEN] {
            let on = |call: &&Call| end(call).is_some_and(|it| it.1.communicator == comm);
            let of = |rank: usize| -> Vec<&Call> { self.ranks[rank].iter().filter(on).collect() };
            for number in 0..of(0).len() {
                let all: Vec<(usize, &Call)> = (0..self.ranks.len())
                    .filter_map(|rank| Some((rank, *of(rank).get(number)?)))
                    .collect();
                let root = all.iter().find_map(|(rank, call)| match end(call)?.1.root {
                    CollectiveRoot::SelfRank => Some(*rank),
                    CollectiveRoot::Rank(it) if comm == BETWEEN => {
                        Some(if *rank == 0 { it as usize + 1 } else { 0 })
                    }
                    CollectiveRoot::Rank(it) => Some(it as usize),
                    _ => None,
                });
                let between = comm == BETWEEN;
                for &(rank, call) in &all {
                    let until = end(call).unwrap().0;
                    let apart = |it: usize| !between || (rank == 0) != (it == 0);
                    let latest = |is: &dyn Fn(usize, &Call) -> bool| {
                        let others = all.iter().filter(|it| is(it.0, it.1));
                        others.map(|it| it.1.enter).max().unwrap_or(0)
                    };
                    let list = neighbours(call);
                    let (what, last) = match call.name {
                        "MPI_Barrier" if between => {
                            (Q::Wait(Wait::BarrierWait), latest(&|_, it| it.enter < until))
                        }
                        "MPI_Barrier" => (Q::Wait(Wait::BarrierWait), latest(&|_, _| true)),
                        "MPI_Allreduce" => (Q::Wait(Wait::NxnWait), latest(&|it, _| apart(it))),
                        "MPI_Bcast" => (
                            Q::Wait(Wait::LateBroadcast),
                            latest(&|it, _| Some(it) == root && apart(it)),
                        ),
                        "MPI_Reduce" if Some(rank) == root => {
                            (Q::Wait(Wait::EarlyReduce), latest(&|it, _| it != rank && apart(it)))
                        }
                        "MPI_Neighbor_alltoall" => {
                            (Q::Wait(Wait::NxnWait), latest(&|it, _| list.contains(&it)))
                        }
                        _ => continue,
                    };
                    waits.push((rank, what, last.min(until).saturating_sub(call.enter)));
                }
            }
        }
        waits.into_iter().for_each(|(rank, what, amount)| self.add(rank, what, amount));
    }

    /// Judges fences: the n-th fence of each rank is one fence.
    fn fences(&mut self) {
        let is = |call: &&Call| call.name == "MPI_Win_fence";
        let count = self.ranks[0].iter().filter(is).count();
        for number in 0..count {
            let fence = |rank: usize| self.ranks[rank].iter().filter(is).nth(number).unwrap();
            let all: Vec<Call> = (0..self.ranks.len()).map(|rank| fence(rank).clone()).collect();
            let last = all.iter().map(|it| it.enter).max().unwrap();
            for rank in 0..all.len() {
                self.add(rank, Q::Wait(Wait::WaitAtFence), last - all[rank].enter);
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
                self.add(rank, Q::Wait(Wait::EarlyFence), pending);
            }
        }
    }

    /// Judges epochs: the n-th post of a target to an origin belongs to the n-th access of the origin to it.
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
                            waits.push((rank, Q::Wait(Wait::LatePost), last.saturating_sub(enter)));
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
                        waits.push((rank, Q::Wait(Wait::EarlyWait), early));
                        let before =
                            |call: &&Call| acts_on(call, rank, EPOCHS) && call.leave <= last;
                        let acts = self.ranks[origin].iter().filter(before);
                        let acted = acts.map(|call| call.leave).max().unwrap_or(0);
                        let idle = last.min(leave).saturating_sub(acted.max(enter));
                        waits.push((rank, Q::Wait(Wait::LateComplete), idle));
                    }
                    _ => {}
                }
            }
        }
        waits.into_iter().for_each(|(rank, what, amount)| self.add(rank, what, amount));
    }

    fn locks(&mut self) {
        /// A lock that was requested and released. Without an owner it is a lock on all processes.
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
            self.add(rank, Q::Wait(Wait::LockContention), time);
            self.add(rank, Q::Inferred(Wait::LockContention), time);
        }
    }
}

/// Returns `true` if a call acts on a window of a rank.
fn acts_on(call: &Call, rank: usize, win: RmaWinRef) -> bool {
    call.records.iter().any(|(_, record)| match record {
        Event::RmaPut(it) => it.win == win && it.remote.0 as usize == rank,
        Event::RmaGet(it) => it.win == win && it.remote.0 as usize == rank,
        _ => false,
    })
}

/// Returns the ranks that a call of an epoch names.
fn partners(call: &Call) -> Vec<usize> {
    let group = call.records.iter().find_map(|(_, record)| match record {
        Event::RmaGroupSync(it) if it.sync_level != RmaSyncLevel::NONE => Some(it.group.0),
        _ => None,
    });
    let mask = group.map_or(0, |group| group - FIRST_GROUP);
    (0..32).filter(|rank| mask >> rank & 1 == 1).collect()
}

/// Returns the neighbours that a call names.
fn neighbours(call: &Call) -> Vec<usize> {
    let group = call.records.iter().find_map(|(_, record)| match record {
        Event::RmaGroupSync(it) if it.win == NEIGHBOURS => Some(it.group.0),
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
    search.meetings();
    search.fences();
    search.epochs();
    search.locks();
    search.found
}

const WAITS: &[Q] = &[
    Q::Wait(Wait::LateSender),
    Q::Wait(Wait::LateSenderWrongOrder),
    Q::Wait(Wait::LateReceiver),
    Q::Wait(Wait::BarrierWait),
    Q::Wait(Wait::NxnWait),
    Q::Wait(Wait::LateBroadcast),
    Q::Wait(Wait::EarlyReduce),
    Q::Wait(Wait::WaitAtFence),
    Q::Wait(Wait::EarlyFence),
    Q::Wait(Wait::LatePost),
    Q::Wait(Wait::EarlyWait),
    Q::Wait(Wait::LateComplete),
    Q::Wait(Wait::NonBlockingWait),
    Q::Wait(Wait::LockContention),
    Q::Inferred(Wait::LockContention),
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
    let analysis = sums::analyze(&archive, &options);
    assert!(analysis.damage().is_empty(), "{:?}", analysis.damage());
    assert!(analysis.not_computed().is_empty(), "{:?}", analysis.not_computed());
    analysis
}

/// Checks that metrics below a metric never exceed it, at every call path and location.
fn parts_fit(analysis: &Analysis, path: &std::path::Path) {
    analysis.write_report(path).unwrap();
    let report = cubex::Report::open(path).unwrap();
    let meta = report.meta();
    for parent in meta.metrics() {
        let parts: Vec<_> =
            meta.metric_children(parent).map(|child| report.values(child).unwrap()).collect();
        let whole = report.values(parent).unwrap();
        for cnode in meta.cnodes().filter(|_| !parts.is_empty()) {
            for location in meta.locations() {
                let at = |values: &cubex::Values<'_>| {
                    let row = values.row(cnode).unwrap();
                    let seconds = row.and_then(|row| row.number(location)).unwrap_or(0.0);
                    (seconds * 1e9).round() as u64
                };
                let name = meta.metric(parent).unwrap().uniq_name;
                assert!(parts.iter().map(at).sum::<u64>() <= at(&whole), "{name} at {cnode:?}");
            }
        }
    }
}

/// Compares one trace, and adds its findings to the totals.
fn check(seed: u64, totals: &mut Sums) {
    let lists = random_program(seed);
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &lists);
    let expected = search(&lists);
    let mut ways = vec![(Cut::Budget, 1), (Cut::EveryEvent, 1)];
    if seed.is_multiple_of(10) {
        let analysis = analysed(directory.path(), Cut::Budget, 1);
        parts_fit(&analysis, &directory.path().join("trace.cubex"));
    }
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

/// Checks many traces, and that every wait occurs in them.
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
#[ignore = "slow: cargo xtask proofs"]
fn more_random_traces_equal_a_search() {
    check_all(600..1200);
}
