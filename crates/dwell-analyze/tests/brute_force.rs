//! Severities of random archives equal an exhaustive search, to the nanosecond, for each location.
//!
//! The search reads all events into memory, knows every region of every process, and shares nothing
//! with the detectors: no windows, no questions, no order of arrival.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;

use dwell_analyze::{Analysis, Cut, Options, Quantity, analyze};
use dwell_synth::random;
use otf2::enums::{CollectiveOp, CollectiveRoot, RmaSyncType};
use otf2::{Archive, AttributeValue, Event};

/// A record inside a call.
#[derive(Clone, Debug)]
enum Record {
    Issue { id: u64, target: usize, kind: char, fetches: bool, bytes: u64, offset: Option<u64> },
    Complete(u64),
    CompleteAll,
    Collective { end: u64, op: CollectiveOp, root: Option<usize> },
    Acquire { time: u64, owner: usize, lock: u64 },
    Release { time: u64, owner: usize, lock: u64 },
    Change(Option<u64>),
    Notify(usize),
    Notified(usize),
    Send { to: usize, tag: u32, time: u64 },
    Receive { from: usize },
}

#[derive(Clone, Debug)]
struct Call {
    enter: u64,
    leave: u64,
    meaning: String,
    records: Vec<Record>,
}

impl Call {
    fn is(&self, operation: &str) -> bool {
        self.meaning.split(' ').any(|word| word.strip_prefix("operation=") == Some(operation))
    }

    fn has(&self, word: &str) -> bool {
        self.meaning.split(' ').any(|it| it == word)
    }

    fn is_collective(&self) -> bool {
        ["barrier", "broadcast", "reduce", "all_to_all"].iter().any(|it| self.is(it))
    }
}

/// All calls of all ranks, in their order; and when each rank ended.
fn load(archive: &Archive) -> (Vec<Vec<Call>>, Vec<u64>) {
    let defs = archive.definitions().unwrap();
    let (mut ranks, mut ends) = (Vec::new(), Vec::new());
    for location in defs.locations() {
        let mut calls: Vec<Call> = Vec::new();
        let mut open: Option<Call> = None;
        let mut reader = archive.events(location.id).unwrap();
        let mut end = 0;
        while let Some(event) = reader.next().unwrap() {
            let time = event.time.0;
            end = time;
            let attribute = event.attributes.iter().next().map(|it| match it.value {
                AttributeValue::Uint64(value) => value,
                other => panic!("{other:?}"),
            });
            let record = match event.event {
                Event::Enter(it) => {
                    let region = defs.region(it.region).unwrap();
                    let meaning = defs.string(region.description);
                    if let Some(meaning) = meaning {
                        let meaning = meaning.to_string();
                        open = Some(Call { enter: time, leave: 0, meaning, records: vec![] });
                    }
                    continue;
                }
                Event::Leave(it) => {
                    let region = defs.region(it.region).unwrap();
                    if defs.string(region.description).is_some() {
                        let mut call = open.take().unwrap();
                        call.leave = time;
                        calls.push(call);
                    }
                    continue;
                }
                Event::RmaGet(it) => Record::Issue {
                    id: it.matching_id.0,
                    target: it.remote.0 as usize,
                    kind: 'g',
                    fetches: true,
                    bytes: 0,
                    offset: None,
                },
                Event::RmaPut(it) => Record::Issue {
                    id: it.matching_id.0,
                    target: it.remote.0 as usize,
                    kind: 'p',
                    fetches: false,
                    bytes: it.bytes,
                    offset: attribute,
                },
                Event::RmaAtomic(it) => Record::Issue {
                    id: it.matching_id.0,
                    target: it.remote.0 as usize,
                    kind: 'a',
                    fetches: it.bytes_received > 0,
                    bytes: it.bytes_sent,
                    offset: attribute,
                },
                Event::RmaOpCompleteBlocking(it) => Record::Complete(it.matching_id.0),
                Event::RmaOpCompleteNonBlocking(it) => Record::Complete(it.matching_id.0),
                Event::RmaOpCompleteRemote(_) => Record::CompleteAll,
                Event::RmaCollectiveEnd(it) => Record::Collective {
                    end: time,
                    op: it.collective_op,
                    root: match it.root {
                        CollectiveRoot::Rank(rank) => Some(rank as usize),
                        _ => None,
                    },
                },
                Event::RmaAcquireLock(it) => {
                    Record::Acquire { time, owner: it.remote.0 as usize, lock: it.lock_id.0 }
                }
                Event::RmaReleaseLock(it) => {
                    Record::Release { time, owner: it.remote.0 as usize, lock: it.lock_id.0 }
                }
                Event::RmaWaitChange(_) => Record::Change(attribute),
                Event::RmaSync(it) => match it.sync_type {
                    RmaSyncType::NotifyOut => Record::Notify(it.remote.0 as usize),
                    _ => Record::Notified(it.remote.0 as usize),
                },
                Event::MpiSend(it) => {
                    Record::Send { to: it.receiver.0 as usize, tag: it.msg_tag, time }
                }
                Event::MpiRecv(it) => Record::Receive { from: it.sender.0 as usize },
                _ => continue,
            };
            open.as_mut().unwrap().records.push(record);
        }
        ranks.push(calls);
        ends.push(end);
    }
    (ranks, ends)
}

/// When a rank served others: stretches of time, joined where they touch.
fn regions(calls: &[Call], me: usize, wide: bool) -> Vec<(u64, u64)> {
    let serves = |call: &&Call| {
        let word = call.has("progress=always") || wide && call.has("progress=conditional");
        let on_itself = call
            .records
            .iter()
            .any(|it| matches!(it, Record::Issue { target, .. } if *target == me));
        word && !on_itself
    };
    let mut list: Vec<(u64, u64)> = Vec::new();
    for call in calls.iter().filter(serves) {
        match list.last_mut() {
            Some(last) if last.1 == call.enter => last.1 = call.leave,
            _ => list.push((call.enter, call.leave)),
        }
    }
    list
}

/// Rank, from, until.
type Hold = (usize, u64, u64);
/// Enter, end, operation, root.
type Part = (u64, u64, CollectiveOp, Option<usize>);
type Sums = BTreeMap<Quantity, u64>;

/// A call that waited for operations.
struct Waiter<'a> {
    rank: usize,
    call: &'a Call,
    /// Target, start of the last operation there, kind.
    targets: BTreeMap<usize, (u64, char)>,
}

/// Time in [from, to] for which `covered` holds, found by looking into each gap between two edges.
fn measure(mut edges: Vec<u64>, from: u64, to: u64, covered: impl Fn(u64) -> bool) -> u64 {
    edges.extend([from, to]);
    edges.retain(|edge| (from..=to).contains(edge));
    edges.sort_unstable();
    // Twice the time, so that the middle of a gap is a whole number.
    let gaps = edges.windows(2).filter(|gap| gap[0] < gap[1] && covered(gap[0] + gap[1]));
    gaps.map(|gap| gap[1] - gap[0]).sum()
}

fn search(ranks: &[Vec<Call>], ends: &[u64], per_node: usize) -> Vec<Sums> {
    let mut found: Vec<Sums> = vec![Sums::new(); ranks.len()];
    let mut add = |rank: usize, what: Quantity, amount: u64| {
        if amount > 0 {
            *found[rank].entry(what).or_default() += amount;
        }
    };

    // Holds of locks: rank, from, until, by owner and number.
    let mut holds: BTreeMap<(usize, u64), Vec<Hold>> = BTreeMap::new();
    for (rank, calls) in ranks.iter().enumerate() {
        let records = calls.iter().flat_map(|call| &call.records);
        let mut open: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        for record in records {
            match *record {
                Record::Acquire { time, owner, lock } => {
                    open.insert((owner, lock), time);
                }
                Record::Release { time, owner, lock } => {
                    let from = open.remove(&(owner, lock)).unwrap();
                    holds.entry((owner, lock)).or_default().push((rank, from, time));
                }
                _ => {}
            }
        }
        assert!(open.is_empty());
    }
    let held_by_others = |rank: usize, owner: usize, lock: u64| {
        let all = holds.get(&(owner, lock)).cloned().unwrap_or_default();
        all.into_iter().filter(|it| it.0 != rank).map(|it| (it.1, it.2)).collect::<Vec<_>>()
    };

    let sure: Vec<_> = (0..ranks.len()).map(|q| regions(&ranks[q], q, false)).collect();
    let wide: Vec<_> = (0..ranks.len()).map(|q| regions(&ranks[q], q, true)).collect();
    let first = |list: &[(u64, u64)], start: u64| list.iter().copied().find(|r| r.1 > start);

    // Which calls waited for which operations.
    let mut waiters: Vec<Waiter<'_>> = Vec::new();
    for (rank, calls) in ranks.iter().enumerate() {
        let mut outstanding: Vec<(u64, usize, u64, char, bool)> = Vec::new();
        for call in calls {
            let mut targets: BTreeMap<usize, (u64, char)> = BTreeMap::new();
            let mut wait = |target: usize, start: u64, kind: char| {
                let known = targets.entry(target).or_insert((start, kind));
                if known.0 <= start {
                    *known = (start, kind);
                }
            };
            for record in &call.records {
                match *record {
                    Record::Issue { id, target, kind, fetches, .. } if target != rank => {
                        outstanding.push((id, target, call.enter, kind, fetches));
                    }
                    Record::Complete(id) => {
                        let at = outstanding.iter().position(|op| op.0 == id);
                        // Fetched data are there; what was put may still be on its way.
                        if let Some(at) = at.filter(|&at| outstanding[at].4) {
                            let op = outstanding.remove(at);
                            wait(op.1, op.2, op.3);
                        }
                    }
                    Record::CompleteAll => {
                        for op in outstanding.drain(..) {
                            if !call.is_collective() {
                                wait(op.1, op.2, op.3);
                            }
                        }
                    }
                    Record::Acquire { owner, .. } if owner != rank => wait(owner, call.enter, 'l'),
                    _ => {}
                }
            }
            if !targets.is_empty() {
                waiters.push(Waiter { rank, call, targets });
            }
        }
    }

    // What progressed without its target.
    let node = |rank: usize| rank / per_node;
    let mut proofs: BTreeMap<(char, usize, usize), u64> = BTreeMap::new();
    let answerable = |target: usize, start: u64, leave: u64| {
        first(&sure[target], start).is_some_and(|r| r.0 < leave) || ends[target] >= leave
    };
    for it in &waiters {
        for (&target, &(start, kind)) in &it.targets {
            let leave = it.call.leave;
            let gap = first(&wide[target], start).is_none_or(|r| r.0 >= leave);
            if gap && answerable(target, start, leave) {
                let proof = proofs.entry((kind, node(it.rank), node(target))).or_insert(leave);
                *proof = leave.min(*proof);
            }
        }
    }

    for it in &waiters {
        let (enter, leave) = (it.call.enter, it.call.leave);
        let judge = |regions: &[Vec<(u64, u64)>]| {
            let mut cut: Vec<(u64, u64)> = Vec::new();
            for (&target, &(start, _)) in &it.targets {
                if let Some(region) = first(&regions[target], start)
                    && answerable(target, start, leave)
                    && region.0 < leave
                    && region.1 > enter
                {
                    cut.push((region.0.max(enter), region.1.min(leave)));
                }
            }
            let latest = cut.iter().map(|r| r.0).max().unwrap_or(enter);
            let edges = cut.iter().flat_map(|r| [r.0, r.1]).collect();
            let wait = measure(edges, enter, latest, |twice| {
                !cut.iter().any(|r| 2 * r.0 <= twice && twice <= 2 * r.1)
            });
            (wait, latest)
        };
        let ((one, at_one), (two, at_two)) = (judge(&sure), judge(&wide));
        let (mut low, mut high) = (one.min(two), one.max(two));
        // The target that came last decides whether it is confirmed.
        let begin = |target: usize, start: u64| {
            let known = answerable(target, start, leave);
            first(&sure[target], start).filter(|_| known).map_or(u64::MAX, |r| r.0)
        };
        let last = it
            .targets
            .iter()
            .map(|(&target, &(start, kind))| (begin(target, start), target, kind))
            .filter(|it| it.0 < leave)
            .max();
        let last = last
            .or_else(|| it.targets.iter().next().map(|(&target, &(_, kind))| (0, target, kind)));
        let (_, target, kind) = last.unwrap();
        let proof = proofs.get(&(kind, node(it.rank), node(target)));
        let confirmed = proof.is_none_or(|time| *time > enter);
        let lock = it.call.records.iter().find_map(|record| match *record {
            Record::Acquire { owner, lock, .. } => Some((owner, lock)),
            _ => None,
        });
        if let Some((owner, lock)) = lock {
            let held = held_by_others(it.rank, owner, lock);
            let edges = || held.iter().flat_map(|hold| [hold.0, hold.1]).collect();
            let free = |twice| !held.iter().any(|hold| 2 * hold.0 <= twice && twice <= 2 * hold.1);
            let left = |wait: u64, until: u64| {
                if wait == 0 { 0 } else { measure(edges(), enter, until, free) }
            };
            let (one, two) = (left(one, at_one), left(two, at_two));
            (low, high) = (one.min(two), one.max(two));
        }
        let multi = it.targets.len() > 1;
        let pick = |single, several| if multi { several } else { single };
        if confirmed {
            add(it.rank, pick(Quantity::ProgressLow, Quantity::ProgressMultiLow), low);
            let margin = pick(Quantity::ProgressMargin, Quantity::ProgressMultiMargin);
            add(it.rank, margin, high - low);
        } else {
            let what = pick(Quantity::ProgressUnconfirmed, Quantity::ProgressMultiUnconfirmed);
            add(it.rank, what, high);
        }
    }

    for (rank, calls) in ranks.iter().enumerate() {
        for call in calls {
            for record in &call.records {
                let Record::Acquire { owner, lock, .. } = *record else { continue };
                let held = held_by_others(rank, owner, lock);
                let edges = held.iter().flat_map(|hold| [hold.0, hold.1]).collect();
                let wait = measure(edges, call.enter, call.leave, |twice| {
                    held.iter().any(|hold| 2 * hold.0 <= twice && twice <= 2 * hold.1)
                });
                add(rank, Quantity::LockContention, wait);
            }
        }
    }

    // Signals: begin, origin, target, offset, bytes.
    let mut signals: Vec<(u64, usize, usize, u64, u64)> = Vec::new();
    for (origin, calls) in ranks.iter().enumerate() {
        for call in calls {
            for record in &call.records {
                if let Record::Issue { target, bytes, offset: Some(offset), .. } = *record {
                    signals.push((call.enter, origin, target, offset, bytes));
                }
            }
        }
    }
    for (rank, calls) in ranks.iter().enumerate() {
        for call in calls {
            for record in &call.records {
                let Record::Change(Some(address)) = *record else { continue };
                let covers = |it: &&(u64, usize, usize, u64, u64)| {
                    it.2 == rank && it.3 <= address && address < it.3 + it.4 && it.0 < call.leave
                };
                let last = signals.iter().filter(covers).max();
                if let Some(last) = last.filter(|it| it.0 > call.enter && it.1 != rank) {
                    add(rank, Quantity::LateSignal, last.0 - call.enter);
                }
            }
        }
    }

    // Notifications and messages: the n-th from one to another.
    let notes = |from: usize, to: usize| {
        let calls = ranks[from].iter();
        calls
            .flat_map(|call| call.records.iter().map(move |record| (call, record)))
            .filter(|(_, record)| matches!(record, Record::Notify(target) if *target == to))
            .map(|(call, _)| call.enter)
            .collect::<Vec<u64>>()
    };
    for (rank, calls) in ranks.iter().enumerate() {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for call in calls {
            for record in &call.records {
                let Record::Notified(from) = *record else { continue };
                let count = counts.entry(from).or_default();
                let begin = notes(from, rank)[*count];
                *count += 1;
                let wait = begin.min(call.leave).saturating_sub(call.enter);
                add(rank, Quantity::LateSignal, wait);
            }
        }
    }
    // Messages to a rank: sender, enter, leave, time of the record, tag, number from this sender.
    let sent_to = |to: usize| {
        let mut list = Vec::new();
        for (from, calls) in ranks.iter().enumerate() {
            let mut number = 0;
            for call in calls {
                for record in &call.records {
                    if let Record::Send { to: target, tag, time } = *record
                        && target == to
                    {
                        assert_eq!(tag, 0);
                        list.push((from, number, call.enter, call.leave, time));
                        number += 1;
                    }
                }
            }
        }
        list
    };
    for (rank, calls) in ranks.iter().enumerate() {
        let mut unread = sent_to(rank);
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for call in calls {
            for record in &call.records {
                let Record::Receive { from } = *record else { continue };
                let count = counts.entry(from).or_default();
                let is = |it: &(usize, usize, u64, u64, u64)| it.0 == from && it.1 == *count;
                let at = unread.iter().position(is).unwrap();
                *count += 1;
                let (_, _, enter, leave, time) = unread.remove(at);
                let wait = enter.min(call.leave).saturating_sub(call.enter);
                add(rank, Quantity::LateSender, wait);
                if wait > 0 && unread.iter().any(|it| it.4 < time) {
                    add(rank, Quantity::LateSenderWrongOrder, wait);
                }
                if call.enter > enter && leave > call.enter {
                    add(from, Quantity::LateReceiver, call.enter - enter);
                }
            }
        }
    }

    // Collectives: the n-th of each rank.
    let collectives: Vec<Vec<Part>> = ranks
        .iter()
        .map(|calls| {
            let of = |call: &Call| {
                call.records.iter().find_map(|record| match *record {
                    Record::Collective { end, op, root } => Some((call.enter, end, op, root)),
                    _ => None,
                })
            };
            calls.iter().filter_map(of).collect()
        })
        .collect();
    for number in 0..collectives[0].len() {
        let all: Vec<_> = collectives.iter().map(|of| of[number]).collect();
        let last = all.iter().map(|it| it.0).max().unwrap();
        let first_end = all.iter().map(|it| it.1).min().unwrap();
        for (rank, &(enter, end, op, root)) in all.iter().enumerate() {
            match op {
                CollectiveOp::Barrier => {
                    add(rank, Quantity::BarrierWait, last - enter);
                    add(rank, Quantity::BarrierCompletion, end - first_end);
                }
                CollectiveOp::Alltoall => {
                    add(rank, Quantity::NxnWait, last - enter);
                    add(rank, Quantity::NxnCompletion, end - first_end);
                }
                CollectiveOp::Bcast => {
                    let root = all[root.unwrap()].0;
                    add(rank, Quantity::LateBroadcast, root.saturating_sub(enter));
                }
                CollectiveOp::Reduce if root == Some(rank) => {
                    let others = (0..all.len()).filter(|it| *it != rank);
                    let last = others.map(|it| all[it].0).max().unwrap();
                    add(rank, Quantity::EarlyReduce, last.saturating_sub(enter));
                }
                _ => {}
            }
        }
    }
    found
}

const WAITS: &[Quantity] = &[
    Quantity::ProgressLow,
    Quantity::ProgressMargin,
    Quantity::ProgressUnconfirmed,
    Quantity::ProgressMultiLow,
    Quantity::ProgressMultiMargin,
    Quantity::ProgressMultiUnconfirmed,
    Quantity::LockContention,
    Quantity::LateSignal,
    Quantity::BarrierWait,
    Quantity::BarrierCompletion,
    Quantity::NxnWait,
    Quantity::NxnCompletion,
    Quantity::LateBroadcast,
    Quantity::EarlyReduce,
    Quantity::LateSender,
    Quantity::LateSenderWrongOrder,
    Quantity::LateReceiver,
];

fn sums(analysis: &Analysis) -> Vec<Sums> {
    (0..analysis.locations())
        .map(|location| {
            let at = |&what| (what, analysis.at_location(location, what));
            WAITS.iter().map(at).filter(|(_, amount)| *amount > 0).collect()
        })
        .collect()
}

/// Compares one trace, and adds up what was found in it.
fn check(seed: u64, totals: &mut Sums) {
    let directory = tempfile::tempdir().unwrap();
    let (ranks, operations) = (2 + seed % 7, seed * 7 % 23);
    let options = random::Options { ranks, segments: 1 + seed % 6, operations, seed };
    random::generate(&options, directory.path(), &|_| {}).unwrap();
    let archive = Archive::open(directory.path()).unwrap();
    let (calls, ends) = load(&archive);
    let expected = search(&calls, &ends, 2);
    // Now and then also cut otherwise: the searches of both kinds must agree anyhow.
    let cuts = match seed % 8 {
        0 => vec![Cut::Budget, Cut::EveryEvent],
        1 => vec![Cut::Budget, Cut::Nanoseconds(1 + seed * 37)],
        _ => vec![Cut::Budget],
    };
    for cut in cuts {
        let mut options = Options::default();
        (options.cut, options.threads) = (cut, 1 + seed as usize % 3);
        let analysis = analyze(&archive, &options, &|_| {}).unwrap();
        let found = sums(&analysis);
        for (rank, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "seed {seed}, rank {rank}, {cut:?}");
        }
        assert_eq!(found.len(), expected.len());
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
        assert!(totals.get(what).is_some_and(|sum| *sum > 0), "{what:?} never occurred");
    }
}

#[test]
fn random_traces_equal_a_search() {
    check_all(0..260);
}

#[test]
fn more_random_traces_equal_a_search() {
    check_all(260..520);
}
