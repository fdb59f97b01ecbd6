//! Calls that complete operations, in small programs with closed forms: atomics without a result, completion at the origin
//! only, and calls that have nothing to complete. Times are in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Analysis, Quantity as Q};
use dwell_model::waits::Wait;
use otf2::enums::{LockType, RmaAtomicType};
use otf2::event::{
    Enter, Event, Leave, RmaAtomic, RmaOpCompleteBlocking, RmaOpCompleteNonBlocking,
    RmaOpCompleteRemote, RmaPut, RmaRequestLock,
};
use otf2::id::{LockId, MatchingId, Rank, RegionRef};

use crate::support::{Events, Thread, WINDOW as win, World};

const MAIN: RegionRef = RegionRef(0);
const ATOMIC: RegionRef = RegionRef(1);
const QUIET: RegionRef = RegionRef(2);
const START: RegionRef = RegionRef(3);
const FLUSH_LOCAL: RegionRef = RegionRef(4);
const FLUSH: RegionRef = RegionRef(5);
const LOCK_ALL: RegionRef = RegionRef(6);
const BLOCKING: RegionRef = RegionRef(7);
const ALL_FENCE: RegionRef = RegionRef(8);
const SERVE: RegionRef = RegionRef(9);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_long_atomic_add", "layer=shmem operation=atomic_add progress=conditional"),
    ("shmem_quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
    ("MPI_Put", "layer=mpi operation=put mode=nonblocking progress=never"),
    ("MPI_Win_flush_local", "layer=mpi operation=complete_local progress=always"),
    ("MPI_Win_flush", "layer=mpi operation=complete_remote progress=always completes=remote"),
    ("MPI_Win_lock_all", "layer=mpi operation=lock progress=conditional"),
    ("ARMCI_Put", "layer=armci operation=put progress=never"),
    ("ARMCI_AllFence", "layer=armci operation=complete_remote progress=never completes=remote"),
    ("MPI_Barrier", "layer=mpi operation=other progress=always"),
];

const MS: u64 = 1_000_000;
/// Time between the begins of two rounds, and number of them.
const ROUND: u64 = 100 * MS;
const ROUNDS: u64 = 8;
const END: u64 = (ROUNDS + 1) * ROUND;

/// Returns the time in round k until the target comes.
fn delay(round: u64) -> u64 {
    20 * MS + 3 * MS * round
}

/// Time from the arrival of the target to the end of a call that waited for it.
const LATE: u64 = 40_000;

fn thread() -> Thread {
    Thread::default().at(0, Enter { region: MAIN })
}

/// Returns a target that comes for a short time in each of the rounds, `after` the begin of the round.
fn target(after: impl Fn(u64) -> u64) -> Thread {
    (1..=ROUNDS).fold(thread(), |thread, round| {
        let begin = round * ROUND + after(round);
        thread.call(SERVE, begin, begin + MS / 2)
    })
}

/// An operation without a result.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Put,
    Atomic(RmaAtomicType, u64),
}

const ALL: [Act; 3] = [
    Act::Put,
    // Add, set, and, or, xor; and increment, which sends no operand.
    Act::Atomic(RmaAtomicType::Accumulate, 8),
    Act::Atomic(RmaAtomicType::Increment, 0),
];

impl Act {
    fn record(self, target: u32, id: u64) -> Event<'static> {
        let (remote, matching_id) = (Rank(target), MatchingId(id));
        match self {
            Self::Put => RmaPut { win, remote, bytes: 8, matching_id }.into(),
            Self::Atomic(kind, bytes_sent) => {
                let bytes_received = 0;
                RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id }.into()
            }
        }
    }
}

/// Returns the lower bound, the margin and the unexplained time of waits for progress at the first process. No other
/// location has any, and the dependency log has the same.
fn found(threads: Vec<Thread>) -> [u64; 3] {
    let end = |thread: Thread| vec![thread.at(END, Leave { region: MAIN })];
    let processes: Vec<_> = threads.into_iter().map(end).collect();
    let all = std::cell::RefCell::new(Vec::new());
    World::new(REGIONS, &processes).analyzed(|it: &Analysis| {
        assert_eq!(it.not_computed(), []);
        let waits = [Wait::WaitForProgress, Wait::WaitForProgressMulti];
        let sum = |of: fn(Wait) -> Q| {
            let sum = waits.map(|wait| it.at_location(0, of(wait))).iter().sum::<u64>();
            assert_eq!(sum, waits.map(|wait| it.total(of(wait))).iter().sum::<u64>());
            sum
        };
        all.borrow_mut().push([sum(Q::Wait), sum(Q::Margin), sum(Q::Unconfirmed)]);
    });
    let all = all.into_inner();
    assert!(all.iter().all(|it| *it == all[0]), "{all:?}");
    all[0]
}

fn sum(of: impl Fn(u64) -> u64) -> u64 {
    (1..=ROUNDS).map(of).sum()
}

/// In every round process 0 makes an atomic, or puts, and completes it with a quiet. The call that issues it blocks until
/// its data has left, which takes no time.
///
/// All wait until the target comes, in the quiet: the sum of the delays. They begin 200 before.
#[test]
fn atomics_without_a_result_are_outstanding_until_a_quiet() {
    for act in ALL {
        let origin = (1..=ROUNDS).fold(thread(), |thread, round| {
            let (begin, matching_id) = (round * ROUND, MatchingId(round));
            let leave = begin + delay(round) + LATE;
            thread
                .at(begin - 200, Enter { region: ATOMIC })
                .at(begin - 200, act.record(1, round))
                .at(begin - 100, RmaOpCompleteBlocking { win, matching_id })
                .at(begin - 100, Leave { region: ATOMIC })
                .at(begin, Enter { region: QUIET })
                .at(leave, RmaOpCompleteRemote { win, matching_id })
                .at(leave, Leave { region: QUIET })
        });
        assert_eq!(found(vec![origin, target(delay)]), [sum(delay), 0, 0], "{act:?}");
    }
}

/// Returns process 0, which in every round issues an operation and completes it at the origin, `until` the given time of the
/// round; in the call itself, or in a call of its own after it. Then it completes it at the target.
fn at_origin(act: Act, blocks: bool, until: impl Fn(u64) -> u64) -> Thread {
    (1..=ROUNDS).fold(thread(), |thread, round| {
        let (begin, matching_id) = (round * ROUND, MatchingId(round));
        let leave = begin + until(round);
        let thread = match blocks {
            true => thread
                .at(begin, Enter { region: BLOCKING })
                .at(begin, act.record(1, round))
                .at(leave, RmaOpCompleteBlocking { win, matching_id })
                .at(leave, Leave { region: BLOCKING }),
            false => thread
                .at(begin - 200, Enter { region: START })
                .at(begin - 200, act.record(1, round))
                .at(begin - 100, Leave { region: START })
                .at(begin, Enter { region: FLUSH_LOCAL })
                .at(leave, RmaOpCompleteNonBlocking { win, matching_id })
                .at(leave, Leave { region: FLUSH_LOCAL }),
        };
        let region = if blocks { ALL_FENCE } else { FLUSH };
        thread
            .at(leave + 10, Enter { region })
            .at(leave + 500, RmaOpCompleteRemote { win, matching_id })
            .at(leave + 500, Leave { region })
    })
}

/// Every call that completes at the origin ends right after its target has come: the sum of the delays.
#[test]
fn completion_at_the_origin_is_a_wait_if_it_ends_with_arrivals() {
    for (act, blocks) in ALL.into_iter().flat_map(|act| [(act, false), (act, true)]) {
        let origin = at_origin(act, blocks, |round| delay(round) + LATE);
        assert_eq!(found(vec![origin, target(delay)]), [sum(delay), 0, 0], "{act:?} {blocks}");
    }
}

/// The twin: it takes half as long as the target is away, or ends at any time after the target came, or the target serves
/// all the time. Nothing is claimed, and no time is unexplained for that reason.
#[test]
fn completion_at_the_origin_is_no_wait_if_it_ends_at_any_time() {
    for (act, blocks) in ALL.into_iter().flat_map(|act| [(act, false), (act, true)]) {
        let early = at_origin(act, blocks, |round| delay(round) / 2);
        // The fences complete what the target has not served: they wait in their own right, if anything.
        let fences = found(vec![early, target(|round| delay(round) / 2)]);
        assert_eq!(fences, [0, 0, 0], "{act:?} {blocks}");
        let late = at_origin(act, blocks, |round| 2 * delay(round));
        assert_eq!(found(vec![late, target(delay)]), [0, 0, 0], "{act:?} {blocks}");
        let served = at_origin(act, blocks, |round| delay(round) + LATE);
        let present = (1..=ROUNDS).fold(thread(), |thread, round| {
            thread.call(SERVE, round * ROUND - 300, round * ROUND + ROUND / 2)
        });
        assert_eq!(found(vec![served, present]), [0, 0, 0], "{act:?} {blocks}");
    }
}

/// Calls that ended while the target was away show that this class does not wait. A few that end with an arrival by chance
/// are no waits then.
#[test]
fn evidence_outweighs_a_few_arrivals() {
    let until = |round: u64| if round == 3 { delay(round) + LATE } else { delay(round) / 2 };
    let of = |round: u64| if round == 3 { delay(round) } else { delay(round) / 2 + 1 };
    for blocks in [false, true] {
        // The target comes right after the call ended, for the fence; only in round 3 before.
        let [low, ..] = found(vec![at_origin(Act::Put, blocks, until), target(of)]);
        assert_eq!(low, 0, "{blocks}");
    }
}

/// Returns process 0, which in every round calls something that completes operations, and has none. `until` is the time of
/// the round at which the call ends.
fn empty(region: RegionRef, until: impl Fn(u64) -> u64) -> Thread {
    let (remote, lock_id, lock_type) = (Rank::UNDEFINED, LockId(0), LockType::Shared);
    let thread = match region {
        FLUSH => thread()
            .at(10, Enter { region: LOCK_ALL })
            .at(10, RmaRequestLock { win, remote, lock_id, lock_type })
            .at(20, Leave { region: LOCK_ALL }),
        _ => thread(),
    };
    (1..=ROUNDS).fold(thread, |thread, round| {
        let begin = round * ROUND;
        thread.call(region, begin, begin + until(round))
    })
}

/// A flush without operations ends right after the last of the others has come, who come one after the other.
#[test]
fn an_empty_flush_waits_for_all_if_it_ends_with_the_last() {
    for region in [FLUSH, ALL_FENCE] {
        for others in [1, 2, 5] {
            let mut threads = vec![empty(region, |round| delay(round) + LATE)];
            for other in 1..=others {
                threads.push(target(move |round| delay(round) * other / others));
            }
            assert_eq!(found(threads), [sum(delay), 0, 0], "{region:?} {others}");
        }
    }
}

/// The twin: the others are inside the runtime, or it ends at any time.
#[test]
fn an_empty_flush_that_waits_for_nobody() {
    for region in [FLUSH, ALL_FENCE] {
        let until = |round: u64| delay(round) + LATE;
        let present = (1..=ROUNDS).fold(thread(), |thread, round| {
            thread.call(SERVE, round * ROUND - 300, round * ROUND + ROUND / 2)
        });
        assert_eq!(found(vec![empty(region, until), present]), [0, 0, 0], "{region:?}");
        let any = empty(region, |round| 2 * delay(round));
        assert_eq!(found(vec![any, target(delay)]), [0, 0, 0], "{region:?}");
        let alone = empty(region, |round| delay(round) / 2);
        assert_eq!(found(vec![alone, target(delay)]), [0, 0, 0], "{region:?}");
    }
}
