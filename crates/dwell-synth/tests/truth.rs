//! Compares the truth of a synthetic archive with a search of the trace itself.
//!
//! The search here is deliberately plain: all events in memory, every rule as it is written down, no code shared with
//! the generator, which computes its answers from formulas.

use std::collections::HashMap;
use std::path::Path;

use dwell_synth::{Severities, Totals, random, ring, srumma};
use otf2::enums::CollectiveOp;
use otf2::{Archive, Event};

/// A call of a rank.
#[derive(Clone, Debug)]
struct Call {
    enter: u64,
    leave: u64,
    progresses: bool,
    /// Ids of the operations that complete in the call.
    completes: Vec<u64>,
    /// Time and operation of the end of the collective in the call, if there is one.
    collective: Option<(u64, CollectiveOp)>,
}

/// A rank, as the trace shows it.
#[derive(Default)]
struct Rank {
    calls: Vec<Call>,
    /// Start and target of each get, by matching id.
    gets: HashMap<u64, (u64, u64)>,
}

fn load(directory: &Path) -> (Vec<Rank>, Totals) {
    let archive = Archive::open(directory).unwrap();
    let defs = archive.definitions().unwrap();
    assert!(defs.warning().is_none());
    let mut totals = Totals::default();
    let mut ranks = Vec::new();
    for location in defs.locations() {
        let mut rank = Rank::default();
        let mut stack: Vec<Call> = Vec::new();
        let mut reader = archive.events(location.id).unwrap();
        let mut last = 0;
        while let Some(record) = reader.next().unwrap() {
            let time = record.time.0;
            assert!(time >= last, "times of a rank do not go back");
            last = time;
            totals.events += 1;
            totals.duration_ns = totals.duration_ns.max(time);
            match record.event {
                Event::Enter(enter) => {
                    let region = defs.region(enter.region).unwrap();
                    let meaning = defs.string(region.description).and_then(otf2::Str::to_str);
                    let progresses = meaning.unwrap_or("").contains("progress=always");
                    let call = Call {
                        enter: time,
                        leave: 0,
                        progresses,
                        completes: vec![],
                        collective: None,
                    };
                    stack.push(call);
                }
                Event::Leave(_) => {
                    let mut call = stack.pop().unwrap();
                    call.leave = time;
                    rank.calls.push(call);
                }
                Event::RmaGet(get) => {
                    totals.gets += 1;
                    totals.bytes_get += get.bytes;
                    let target = u64::from(get.remote.0);
                    let before = rank.gets.insert(get.matching_id.0, (time, target));
                    assert_eq!(before, None, "matching ids are unique");
                }
                Event::RmaPut(put) => {
                    totals.puts += 1;
                    totals.bytes_put += put.bytes;
                }
                Event::RmaAtomic(_) => totals.atomics += 1,
                Event::RmaAcquireLock(_) => totals.locks += 1,
                Event::MpiSend(send) => {
                    totals.messages += 1;
                    totals.bytes_sent += send.msg_length;
                }
                Event::MpiIsend(send) => {
                    totals.messages += 1;
                    totals.bytes_sent += send.msg_length;
                }
                Event::MpiCollectiveEnd(_) => totals.collectives += 1,
                Event::RmaOpCompleteNonBlocking(done) => {
                    stack.last_mut().unwrap().completes.push(done.matching_id.0);
                }
                Event::RmaCollectiveEnd(end) => {
                    totals.collectives += 1;
                    stack.last_mut().unwrap().collective = Some((time, end.collective_op));
                }
                _ => {}
            }
        }
        assert!(stack.is_empty(), "every region is left");
        rank.calls.sort_by_key(|call| call.enter);
        totals.locations += 1;
        ranks.push(rank);
    }
    (ranks, totals)
}

/// Returns the waits for progress and in barriers of each rank, by exhaustive search.
fn search(ranks: &[Rank]) -> Vec<Severities> {
    let mut found = vec![Severities::default(); ranks.len()];
    for (severities, rank) in found.iter_mut().zip(ranks) {
        for call in &rank.calls {
            let [id] = call.completes[..] else { continue };
            let (start, target) = rank.gets[&id];
            let progress = ranks[target as usize].calls.iter().filter(|c| c.progresses);
            let Some(region) = progress.filter(|c| c.leave > start).min_by_key(|c| c.enter) else {
                continue;
            };
            if region.enter > call.enter && region.enter < call.leave {
                severities.wait_for_progress += region.enter - call.enter;
            }
        }
    }
    let barriers: Vec<Vec<&Call>> = ranks
        .iter()
        .map(|rank| {
            let is_barrier = |c: &&Call| matches!(c.collective, Some((_, CollectiveOp::Barrier)));
            rank.calls.iter().filter(is_barrier).collect()
        })
        .collect();
    for round in 0..barriers[0].len() {
        let calls: Vec<&Call> = barriers.iter().map(|of_rank| of_rank[round]).collect();
        let end = |call: &Call| call.collective.unwrap().0;
        let last_enter = calls.iter().map(|call| call.enter).max().unwrap();
        let first_end = calls.iter().map(|call| end(call)).min().unwrap();
        for (severities, call) in found.iter_mut().zip(&calls) {
            severities.barrier_wait += last_enter - call.enter;
            severities.barrier_completion += end(call) - first_end;
        }
    }
    found
}

#[test]
fn srumma_severities_equal_a_search_of_the_trace() {
    for (ranks, blocks, rounds, seed) in
        [(2, 3, 2, 1), (3, 5, 1, 2), (7, 4, 2, 3), (12, 9, 3, 4), (16, 16, 2, 5), (36, 7, 1, 6)]
    {
        let directory = tempfile::tempdir().unwrap();
        let options = srumma::Options { ranks, blocks, rounds, seed };
        let truth = srumma::generate(&options, directory.path(), &|_| {}).unwrap();
        let (trace, counted) = load(directory.path());
        let totals = Totals { event_bytes: truth.totals.event_bytes, ..counted };
        assert_eq!(truth.totals, totals, "{options:?}");
        assert_eq!(truth.totals.gets, ranks * blocks * rounds * 2);
        assert_eq!(truth.severities_ns_by_rank, search(&trace), "{options:?}");
        let sum = truth.severities_ns.unwrap();
        assert!(sum.wait_for_progress > 0 && sum.barrier_wait > 0, "{options:?}");
    }
}

#[test]
fn random_totals_equal_a_count_of_the_trace() {
    for seed in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let options = random::Options { ranks: 2 + seed % 7, segments: 5, operations: 20, seed };
        let truth = random::generate(&options, directory.path(), &|_| {}).unwrap();
        let (_, counted) = load(directory.path());
        let totals = Totals { event_bytes: truth.totals.event_bytes, ..counted };
        assert_eq!(truth.totals, totals, "{options:?}");
    }
}

#[test]
fn ring_totals_equal_a_count_of_the_trace() {
    for (ranks, steps, seed) in [(2, 5, 1), (3, 20, 2), (8, 13, 3)] {
        let directory = tempfile::tempdir().unwrap();
        let options = ring::Options { ranks, steps, seed };
        let truth = ring::generate(&options, directory.path(), &|_| {}).unwrap();
        let (_, counted) = load(directory.path());
        let totals = Totals { event_bytes: truth.totals.event_bytes, ..counted };
        assert_eq!(truth.totals, totals, "{options:?}");
        // Two of five ways send two messages.
        let messages = (0..steps).map(|step| if step % 5 < 3 { 1 } else { 2 }).sum::<u64>();
        assert_eq!(totals.messages, ranks * messages);
        assert_eq!(totals.collectives, ranks * (steps / ring::BARRIER_EVERY));
    }
}

/// Checks that no two ranks hold a lock at once, and that nothing is received before it was sent.
#[test]
fn random_traces_are_legal() {
    for seed in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let options = random::Options { ranks: 6, segments: 8, operations: 10, seed };
        random::generate(&options, directory.path(), &|_| {}).unwrap();
        let archive = Archive::open(directory.path()).unwrap();
        let locations =
            archive.definitions().unwrap().locations().map(|l| l.id).collect::<Vec<_>>();
        let mut merged = archive.merged(locations, 1 << 20);
        let mut holders: HashMap<(u32, u64), u64> = HashMap::new();
        let mut outstanding: HashMap<(u64, u64), u64> = HashMap::new();
        let mut in_flight: HashMap<(u32, u32), u64> = HashMap::new();
        while let Some((location, record)) = merged.next().unwrap() {
            match record.event {
                Event::RmaAcquireLock(lock) => {
                    let before = holders.insert((lock.remote.0, lock.lock_id.0), location.0);
                    assert_eq!(before, None, "seed {seed}: a lock is held once");
                }
                Event::RmaReleaseLock(lock) => {
                    let holder = holders.remove(&(lock.remote.0, lock.lock_id.0));
                    assert_eq!(holder, Some(location.0), "seed {seed}: who holds it releases it");
                }
                Event::MpiSend(send) => {
                    *in_flight.entry((location.0 as u32, send.receiver.0)).or_default() += 1;
                }
                Event::MpiRecv(receive) => {
                    let count = in_flight.get_mut(&(receive.sender.0, location.0 as u32)).unwrap();
                    *count = count.checked_sub(1).expect("received what was sent");
                }
                Event::RmaGet(get) => {
                    outstanding.insert((location.0, get.matching_id.0), record.time.0);
                }
                Event::RmaPut(put) => {
                    outstanding.insert((location.0, put.matching_id.0), record.time.0);
                }
                Event::RmaAtomic(atomic) => {
                    outstanding.insert((location.0, atomic.matching_id.0), record.time.0);
                }
                Event::RmaOpCompleteBlocking(done) => {
                    outstanding.remove(&(location.0, done.matching_id.0)).unwrap();
                }
                Event::RmaOpCompleteNonBlocking(done) => {
                    outstanding.remove(&(location.0, done.matching_id.0)).unwrap();
                }
                Event::RmaOpCompleteRemote(_) => {
                    outstanding.retain(|(origin, _), _| *origin != location.0);
                }
                _ => {}
            }
        }
        assert!(holders.is_empty() && outstanding.is_empty(), "seed {seed}: all ends well");
        assert!(in_flight.values().all(|&count| count == 0), "seed {seed}: all was received");
    }
}

/// Checks that the same options give the same bytes, for any number of threads.
#[test]
fn bytes_do_not_depend_on_threads() {
    let bytes = |threads: usize| {
        let directory = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let [srumma, random, ring] =
            ["srumma", "random", "ring"].map(|name| directory.path().join(name));
        pool.install(|| {
            let options = srumma::Options { ranks: 24, blocks: 10, rounds: 2, seed: 9 };
            srumma::generate(&options, &srumma, &|_| {}).unwrap();
            let options = random::Options { ranks: 9, segments: 4, operations: 15, seed: 9 };
            random::generate(&options, &random, &|_| {}).unwrap();
            let options = ring::Options { ranks: 9, steps: 12, seed: 9 };
            ring::generate(&options, &ring, &|_| {}).unwrap();
        });
        let mut files = Vec::new();
        for root in [&srumma, &random, &ring] {
            for folder in [root.clone(), root.join("traces")] {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_file() {
                        let name = path.strip_prefix(directory.path()).unwrap().to_owned();
                        files.push((name, std::fs::read(path).unwrap()));
                    }
                }
            }
        }
        files.sort();
        files
    };
    let one = bytes(1);
    assert!(one.len() > 60);
    assert!(one == bytes(2) && one == bytes(7));
}
