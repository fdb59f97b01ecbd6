//! Programs written by hand, with the findings that are expected in them.

mod loops;

use dwell_model::waits::Wait;

use super::*;
use crate::mpi::fence_end;

/// Writes an archive from a list of calls: rank, name, enter, leave and records.
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

/// Returns the sums of each rank, after checking that they do not depend on windows.
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
        let event = fence_end();
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
    assert_eq!(
        fences[0],
        expect(&[(Q::Wait(Wait::WaitAtFence), 40 + 15), (Q::Wait(Wait::EarlyFence), 20)])
    );
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
    assert_eq!(
        epochs[0],
        expect(&[(Q::Wait(Wait::EarlyWait), 75), (Q::Wait(Wait::LateComplete), 70)])
    );
    assert_eq!(epochs[1], expect(&[(Q::Wait(Wait::LatePost), 10)]));
}

/// Returns the completion of a non-blocking collective by its request.
fn collective_ends(
    time: u64,
    request: u64,
    collective_op: CollectiveOp,
    communicator: CommRef,
) -> (u64, Event<'static>) {
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
    (time, event.into())
}

#[test]
fn collectives_that_do_not_block() {
    let begin = |time, request| -> Events {
        let request_id = RequestId(request);
        vec![(time, NonBlockingCollectiveRequest { request_id }.into())]
    };
    let end = collective_ends;
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
    assert_eq!(waits[0], expect(&[(Q::Wait(Wait::NonBlockingWait), 40)]));
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
    let inferred =
        [(Q::Wait(Wait::LockContention), 1 + 80), (Q::Inferred(Wait::LockContention), 1 + 80)];
    assert_eq!(locks[1], expect(&inferred));
    assert_eq!(locks[0], expect(&[]));
}

fn get(time: u64, target: u32, id: u64) -> Events {
    let (win, remote, matching_id) = (LOCKS, Rank(target), MatchingId(id));
    vec![(time, RmaGet { win, remote, bytes: 8, matching_id }.into())]
}

/// The first operation with a request waits until it has the lock; the second does not.
#[test]
fn a_first_operation_that_waits_for_its_lock() {
    let (win, lock_id) = (LOCKS, LockId(0));
    let ask = |time, remote, lock_type| -> Events {
        vec![(time, RmaRequestLock { win, remote, lock_id, lock_type }.into())]
    };
    let release =
        |time, remote| -> Events { vec![(time, RmaReleaseLock { win, remote, lock_id }.into())] };
    let all = Rank(u32::MAX);
    // Nobody else has the lock, but rank 0 is away until 90.
    let directory = by_hand(
        2,
        vec![
            (1, "MPI_Win_lock_all", 10, 11, ask(10, all, LockType::Shared)),
            (1, "MPI_Rget", 20, 92, get(20, 0, 1)),
            (1, "MPI_Rget", 93, 94, get(93, 0, 2)),
            (1, "MPI_Win_unlock_all", 95, 96, release(96, all)),
            (0, "MPI_Recv", 90, 131, vec![]),
        ],
    );
    for cut in [Cut::Budget, Cut::EveryEvent] {
        let analysis = analysed(directory.path(), cut, 1);
        assert_eq!(analysis.at_location(1, Q::Wait(Wait::WaitForProgress)), 70, "{cut:?}");
        assert_eq!(analysis.at_location(1, Q::Wait(Wait::LockContention)), 0, "{cut:?}");
    }
    // Rank 0 has the lock of rank 2, which serves everyone, until 60.
    let exclusive = LockType::Exclusive;
    let waits = found(
        3,
        vec![
            (0, "MPI_Win_lock", 10, 11, ask(10, Rank(2), exclusive)),
            (0, "MPI_Win_unlock", 55, 60, release(60, Rank(2))),
            (1, "MPI_Win_lock", 12, 13, ask(12, Rank(2), exclusive)),
            (1, "MPI_Rget", 20, 62, get(20, 2, 1)),
            (1, "MPI_Win_unlock", 70, 71, release(71, Rank(2))),
            (2, "MPI_Recv", 5, 131, vec![]),
        ],
    );
    let inferred =
        [(Q::Wait(Wait::LockContention), 1 + 40), (Q::Inferred(Wait::LockContention), 1 + 40)];
    assert_eq!(waits[1], expect(&inferred));
    assert_eq!(waits[0], expect(&[]));
}

/// A lock on all processes may want the consent of each, in the call that asks for it or in the first that completes
/// something under it; later ones wait for their targets only.
#[test]
fn a_lock_on_all_waits_for_everybody() {
    const MS: u64 = 1_000_000;
    let (win, lock_id, lock_type, remote) = (LOCKS, LockId(0), LockType::Shared, Rank(u32::MAX));
    let ask = |time| -> Events {
        vec![(time, RmaRequestLock { win, remote, lock_id, lock_type }.into())]
    };
    let release = |time| -> Events { vec![(time, RmaReleaseLock { win, remote, lock_id }.into())] };
    let complete = |time, id| -> Events {
        vec![(time, RmaOpCompleteRemote { win, matching_id: MatchingId(id) }.into())]
    };
    let check = |calls: Vec<(usize, &'static str, u64, u64, Events)>, expected: [(Q, u64); 2]| {
        let directory = by_hand(3, calls);
        for cut in [Cut::Budget, Cut::EveryEvent] {
            let analysis = analysed(directory.path(), cut, 1);
            for (what, amount) in expected {
                assert_eq!(analysis.at_location(1, what), amount, "{what:?} {cut:?}");
            }
        }
    };
    // Rank 0 comes after 60 ms and stays, rank 2 after 140 ms.
    let others = || {
        vec![
            (0, "MPI_Recv", 60 * MS, 300 * MS, vec![]),
            (2, "MPI_Recv", 140 * MS, 300 * MS, vec![]),
        ]
    };
    // The lock call waits for both, until the second comes.
    let mut calls = others();
    calls.extend([
        (1, "MPI_Win_lock_all", 10 * MS, 141 * MS, ask(10 * MS)),
        (1, "MPI_Win_unlock_all", 142 * MS, 142 * MS + 1, release(142 * MS)),
    ]);
    check(
        calls,
        [
            (Q::Wait(Wait::WaitForProgressMulti), 130 * MS),
            (Q::Margin(Wait::WaitForProgressMulti), 0),
        ],
    );
    // The first flush waits for rank 0, and as its end shows for rank 2; the second not even for rank 0.
    let mut calls = others();
    calls.extend([
        (1, "MPI_Win_lock_all", 10 * MS, 10 * MS + 1, ask(10 * MS)),
        (1, "MPI_Put", 11 * MS, 11 * MS + 1, vec![(11 * MS, put(0, win, 1))]),
        (1, "MPI_Win_flush", 20 * MS, 141 * MS, complete(141 * MS, 1)),
        (1, "MPI_Put", 145 * MS, 145 * MS + 1, vec![(145 * MS, put(0, win, 2))]),
        (1, "MPI_Win_flush", 150 * MS, 160 * MS, complete(160 * MS, 2)),
        (1, "MPI_Win_unlock_all", 170 * MS, 170 * MS + 1, release(170 * MS)),
    ]);
    check(
        calls,
        [
            (Q::Wait(Wait::WaitForProgressMulti), 120 * MS),
            (Q::Margin(Wait::WaitForProgressMulti), 0),
        ],
    );
    // Under a lock that is held, rank 0 takes the data at once and acknowledges them when rank 2, its own target, comes.
    let mut calls = vec![(2, "MPI_Recv", 140 * MS, 300 * MS, vec![])];
    for rank in [0, 1] {
        let target = if rank == 0 { 2 } else { 0 };
        calls.extend([
            (rank, "MPI_Win_lock_all", MS, MS + 1, ask(MS)),
            (rank, "MPI_Put", 2 * MS, 2 * MS + 1, vec![(2 * MS, put(1 - rank as u32, win, 1))]),
            (rank, "MPI_Win_flush_all", 3 * MS, 4 * MS, complete(4 * MS, 1)),
            (rank, "MPI_Put", 10 * MS, 10 * MS + 1, vec![(10 * MS, put(target, win, 2))]),
            (rank, "MPI_Win_flush_all", 20 * MS, 141 * MS, complete(141 * MS, 2)),
            (rank, "MPI_Win_unlock_all", 170 * MS, 170 * MS + 1, release(170 * MS)),
        ]);
    }
    check(
        calls,
        [
            (Q::Wait(Wait::WaitForProgressMulti), 120 * MS),
            (Q::Margin(Wait::WaitForProgressMulti), 0),
        ],
    );
    // A flush of all waits for all targets, not only for that of the last put.
    let mut calls = others();
    calls.extend([
        (1, "MPI_Win_lock_all", 10 * MS, 10 * MS + 1, ask(10 * MS)),
        (1, "MPI_Put", 11 * MS, 11 * MS + 1, vec![(11 * MS, put(2, win, 1))]),
        (1, "MPI_Put", 12 * MS, 12 * MS + 1, vec![(12 * MS, put(0, win, 2))]),
        (1, "MPI_Win_flush_all", 20 * MS, 141 * MS, complete(141 * MS, 2)),
        (1, "MPI_Win_unlock_all", 170 * MS, 170 * MS + 1, release(170 * MS)),
    ]);
    check(
        calls,
        [
            (Q::Wait(Wait::WaitForProgressMulti), 120 * MS),
            (Q::Margin(Wait::WaitForProgressMulti), 0),
        ],
    );
}

fn sends(time: u64, to: u32) -> Events {
    let (receiver, communicator) = (Rank(to), WORLD);
    vec![(time, MpiSend { receiver, communicator, msg_tag: 0, msg_length: 8 }.into())]
}

fn receives(time: u64, from: u32) -> Events {
    let (sender, communicator) = (Rank(from), WORLD);
    vec![(time, MpiRecv { sender, communicator, msg_tag: 0, msg_length: 8 }.into())]
}

#[test]
fn a_probe_waits_for_the_message_of_the_receive_behind_it() {
    let waits = found(
        2,
        vec![
            (0, "MPI_Probe", 10, 52, vec![]),
            (0, "MPI_Recv", 55, 56, receives(56, 1)),
            (1, "MPI_Send", 50, 51, sends(50, 0)),
            // The message was there before the probe.
            (1, "MPI_Send", 60, 61, sends(60, 0)),
            (0, "MPI_Probe", 70, 71, vec![]),
            (0, "MPI_Recv", 75, 76, receives(76, 1)),
        ],
    );
    assert_eq!(waits[0], expect(&[(Q::Wait(Wait::LateSender), 40)]));
    assert_eq!(waits[1], expect(&[]));
}

#[test]
fn sends_that_a_later_call_completes() {
    let start = |time, to, request| -> Events {
        let (receiver, communicator, request_id) = (Rank(to), WORLD, RequestId(request));
        let (msg_tag, msg_length) = (0, 8);
        vec![(time, MpiIsend { receiver, communicator, msg_tag, msg_length, request_id }.into())]
    };
    let complete =
        |time, request| (time, Event::from(MpiIsendComplete { request_id: RequestId(request) }));
    let post = |time, request| -> Events {
        vec![(time, MpiIrecvRequest { request_id: RequestId(request) }.into())]
    };
    let came = |time, from, request| {
        let (sender, communicator, request_id) = (Rank(from), WORLD, RequestId(request));
        let (msg_tag, msg_length) = (0, 8);
        (time, Event::from(MpiIrecv { sender, communicator, msg_tag, msg_length, request_id }))
    };
    let waits = found(
        3,
        vec![
            // Rank 0 waits from 20 to 60 for a message of rank 2, then until rank 1 receives at 90.
            (0, "MPI_Irecv", 5, 6, post(5, 1)),
            (0, "MPI_Isend", 10, 11, start(10, 1, 2)),
            (0, "MPI_Waitall", 20, 95, vec![complete(95, 2), came(95, 2, 1)]),
            (2, "MPI_Send", 60, 61, sends(60, 0)),
            (1, "MPI_Recv", 90, 94, receives(94, 0)),
            // A message that the library keeps a copy of: nobody waits.
            (0, "MPI_Isend", 100, 101, start(100, 1, 3)),
            (0, "MPI_Waitall", 102, 103, vec![complete(103, 3)]),
            (1, "MPI_Recv", 110, 111, receives(111, 0)),
        ],
    );
    assert_eq!(
        waits[0],
        expect(&[(Q::Wait(Wait::LateSender), 40), (Q::Wait(Wait::LateReceiver), 30)])
    );
    assert_eq!((&waits[1], &waits[2]), (&expect(&[]), &expect(&[])));
}

/// Size of a message that no library buffers.
const LARGE: u64 = 1 << 20;

fn starts(time: u64, to: u32, request: u64, msg_length: u64) -> Events {
    let (receiver, communicator, request_id) = (Rank(to), WORLD, RequestId(request));
    let event = MpiIsend { receiver, communicator, msg_tag: 0, msg_length, request_id };
    vec![(time, event.into())]
}

fn sent(time: u64, request: u64) -> Events {
    vec![(time, MpiIsendComplete { request_id: RequestId(request) }.into())]
}

fn posts(time: u64, request: u64) -> Events {
    vec![(time, MpiIrecvRequest { request_id: RequestId(request) }.into())]
}

fn came(time: u64, from: u32, request: u64, msg_length: u64) -> Events {
    let (sender, communicator, request_id) = (Rank(from), WORLD, RequestId(request));
    let event = MpiIrecv { sender, communicator, msg_tag: 0, msg_length, request_id };
    vec![(time, event.into())]
}

fn large_recv(time: u64, from: u32) -> Events {
    let (sender, communicator) = (Rank(from), WORLD);
    vec![(time, MpiRecv { sender, communicator, msg_tag: 0, msg_length: LARGE }.into())]
}

/// Returns the waits for messages and for progress at a rank: late sender, late receiver, and both bounds of progress.
fn messages_and_progress(
    ranks: usize,
    calls: Vec<(usize, &str, u64, u64, Events)>,
    rank: usize,
) -> [u64; 4] {
    let directory = by_hand(ranks, calls);
    let of = |cut, threads| {
        let analysis = analysed(directory.path(), cut, threads);
        let at = |what| analysis.at_location(rank, what);
        let low = at(Q::Wait(Wait::WaitForProgress)) + at(Q::Wait(Wait::WaitForProgressMulti));
        let high =
            low + at(Q::Margin(Wait::WaitForProgress)) + at(Q::Margin(Wait::WaitForProgressMulti));
        [at(Q::Wait(Wait::LateSender)), at(Q::Wait(Wait::LateReceiver)), low, high]
    };
    let whole = of(Cut::Budget, 1);
    assert_eq!(of(Cut::EveryEvent, 2), whole);
    whole
}

/// A call that waits for a message and for a get: the message comes first, and the rest is judged for the get, so that the
/// two are not longer than the call.
#[test]
fn a_call_that_waits_for_a_message_and_for_an_operation() {
    let done = |time| -> Events {
        let (win, matching_id) = (LOCKS, MatchingId(1));
        vec![(time, RmaOpCompleteNonBlocking { win, matching_id }.into())]
    };
    let waits = messages_and_progress(
        3,
        vec![
            (0, "MPI_Irecv", 5, 6, posts(5, 1)),
            (0, "MPI_Rget", 10, 11, get(10, 1, 1)),
            (0, "MPI_Waitall", 20, 95, [done(95), came(95, 2, 1, 8)].concat()),
            (2, "MPI_Send", 60, 61, sends(60, 0)),
            (1, "MPI_Recv", 90, 131, vec![]),
        ],
        0,
    );
    assert_eq!(waits, [40, 0, 30, 30]);
    // Rank 2 receives at 120, rank 1 serves at 50.
    let isend = |bytes, leave| {
        vec![
            (0, "MPI_Rget", 10, 11, get(10, 1, 1)),
            (0, "MPI_Isend", 12, 13, starts(12, 2, 1, bytes)),
            (0, "MPI_Waitall", 20, leave, [sent(leave, 1), done(leave)].concat()),
            (1, "MPI_Recv", 50, 200, vec![]),
            (2, "MPI_Recv", 120, 130, receives(130, 0)),
        ]
    };
    assert_eq!(messages_and_progress(3, isend(LARGE, 125), 0), [0, 100, 0, 0]);
    // The library keeps a copy of a small message: the call does not wait for its receiver.
    assert_eq!(messages_and_progress(3, isend(8, 125), 0), [0, 0, 30, 30]);
    assert_eq!(messages_and_progress(3, isend(8, 55), 0), [0, 0, 30, 30]);
}

/// A large message that both sides know of needs the progress of the partner. What the partner did before may have been
/// enough, so there is no lower bound, unless the call that waits is the last to tell of the message.
#[test]
fn a_large_message_needs_its_partner() {
    // Rank 1 sends at 10 and comes again at 90.
    let receives = |bytes| {
        vec![
            (0, "MPI_Irecv", 5, 6, posts(5, 1)),
            (1, "MPI_Isend", 10, 11, starts(10, 0, 2, bytes)),
            (0, "MPI_Waitall", 20, 95, came(95, 1, 1, bytes)),
            (1, "MPI_Waitall", 90, 96, sent(96, 2)),
        ]
    };
    assert_eq!(messages_and_progress(2, receives(LARGE), 0), [0, 0, 0, 70]);
    assert_eq!(messages_and_progress(2, receives(8), 0), [0; 4]);
    let blocking = vec![
        (1, "MPI_Isend", 10, 11, starts(10, 0, 2, LARGE)),
        (0, "MPI_Recv", 20, 95, large_recv(95, 1)),
        (1, "MPI_Waitall", 90, 96, sent(96, 2)),
    ];
    assert_eq!(messages_and_progress(2, blocking, 0), [0, 0, 70, 70]);
    // Rank 0 posts at 30, which rank 1 waits for, and comes again at 90.
    let receiver = vec![
        (1, "MPI_Isend", 10, 11, starts(10, 0, 2, LARGE)),
        (1, "MPI_Waitall", 20, 95, sent(95, 2)),
        (0, "MPI_Irecv", 30, 31, posts(30, 1)),
        (0, "MPI_Waitall", 90, 96, came(96, 1, 1, LARGE)),
    ];
    assert_eq!(messages_and_progress(2, receiver, 1), [0, 10, 0, 60]);
}

/// Messages that came while their sender was away show that messages of their size need nobody.
#[test]
fn a_large_message_that_needs_nobody() {
    let calls = vec![
        (1, "MPI_Isend", 10, 11, starts(10, 0, 2, LARGE)),
        (0, "MPI_Recv", 20, 95, large_recv(95, 1)),
        (1, "MPI_Waitall", 90, 96, sent(96, 2)),
        (1, "MPI_Isend", 100, 101, starts(100, 0, 3, LARGE)),
        (0, "MPI_Recv", 110, 130, large_recv(130, 1)),
        (1, "MPI_Waitall", 190, 196, sent(196, 3)),
    ];
    assert_eq!(messages_and_progress(2, calls, 0), [0; 4]);
}

fn meets(
    (enter, end): (u64, u64),
    neighbours: Option<u32>,
    collective_op: CollectiveOp,
    communicator: CommRef,
    root: CollectiveRoot,
) -> Events {
    let (size_sent, size_received, sync_level) = (8, 8, RmaSyncLevel::NONE);
    let group = |mask| GroupRef(FIRST_GROUP + mask);
    let sync = |mask| RmaGroupSync { sync_level, win: NEIGHBOURS, group: group(mask) };
    let mut records: Events = neighbours.map(|it| (enter, sync(it).into())).into_iter().collect();
    records.push((enter, MpiCollectiveBegin {}.into()));
    let event = MpiCollectiveEnd { collective_op, communicator, root, size_sent, size_received };
    records.push((end, event.into()));
    records
}

/// In a row: rank 0 is the neighbour of rank 1, rank 1 of both, rank 2 of rank 1. Rank 2 comes last.
#[test]
fn neighbours_wait_for_neighbours() {
    let (op, none) = (CollectiveOp::Alltoall, CollectiveRoot::None);
    let call = |rank, enter, leave, neighbours| {
        let records = meets((enter, leave), Some(neighbours), op, WORLD, none);
        (rank, "MPI_Neighbor_alltoall", enter, leave, records)
    };
    let calls = vec![call(0, 10, 35, 0b011), call(1, 30, 95, 0b111), call(2, 90, 96, 0b110)];
    let waits = found(3, calls);
    assert_eq!(waits[0], expect(&[(Q::Wait(Wait::NxnWait), 20)]));
    assert_eq!(waits[1], expect(&[(Q::Wait(Wait::NxnWait), 60)]));
    assert_eq!(waits[2], expect(&[]));
}

#[test]
fn neighbours_that_nobody_names_are_not_computed() {
    let (op, none) = (CollectiveOp::Alltoall, CollectiveRoot::None);
    let call = |rank, enter, leave| {
        let records = meets((enter, leave), None, op, WORLD, none);
        (rank, "MPI_Neighbor_alltoall", enter, leave, records)
    };
    let directory = by_hand(2, vec![call(0, 10, 95), call(1, 90, 96)]);
    let archive = Archive::open(directory.path()).unwrap();
    let analysis = sums::analyze(&archive, &Options::default());
    assert!(sums(&analysis).iter().all(Sums::is_empty));
    let [left] = analysis.not_computed() else { panic!("{:?}", analysis.not_computed()) };
    assert_eq!((left.pattern, left.calls), ("nxn_wait", 2));
}

/// Returns the patterns that could not be judged in a program, with the numbers of calls.
fn not_computed(ranks: usize, calls: Vec<(usize, &str, u64, u64, Events)>) -> Vec<(&str, u64)> {
    let directory = by_hand(ranks, calls);
    let archive = Archive::open(directory.path()).unwrap();
    let analysis = sums::analyze(&archive, &Options::default());
    analysis.not_computed().iter().map(|it| (it.pattern, it.calls)).collect()
}

/// Older tools write no records for calls that begin collectives.
#[test]
fn collectives_that_begin_without_a_record_are_not_computed() {
    let begun = |rank, enter| (rank, "MPI_Ibarrier", enter, enter + 1, vec![]);
    let found = not_computed(2, vec![begun(0, 5), begun(1, 7), begun(0, 9)]);
    assert_eq!(found, [("nonblocking_collective_wait", 3)]);
}

/// A flush may have waited for each of two locks.
#[test]
fn flushes_under_several_locks_are_not_computed() {
    let (win, lock_id, lock_type) = (LOCKS, LockId(0), LockType::Exclusive);
    let lock = |enter, target: u32| {
        let ask = RmaRequestLock { win, remote: Rank(target), lock_id, lock_type };
        (0, "MPI_Win_lock", enter, enter + 1, vec![(enter, ask.into())])
    };
    let puts = |enter, target| (0, "MPI_Put", enter, enter + 1, vec![(enter, put(target, win, 1))]);
    let matching_id = MatchingId(1);
    let complete = vec![
        (90, RmaOpCompleteNonBlocking { win, matching_id }.into()),
        (90, RmaOpCompleteRemote { win, matching_id }.into()),
    ];
    let calls = vec![
        lock(10, 1),
        lock(20, 2),
        puts(30, 1),
        puts(40, 2),
        (0, "MPI_Win_flush_all", 50, 90, complete),
        (1, "MPI_Recv", 5, 95, vec![]),
        (2, "MPI_Recv", 5, 95, vec![]),
    ];
    assert_eq!(not_computed(3, calls), [("lock_contention", 1)]);
}

/// Rank 0 meets ranks 1 and 2. Rank 2 comes at 90, rank 1 at 40, rank 0 at 10.
#[test]
fn two_groups_wait_for_each_other() {
    let enters = [10, 40, 90];
    let waits = |name, op, roots: [CollectiveRoot; 3]| {
        let call = |rank: usize| {
            let enter = enters[rank];
            (rank, name, enter, 100, meets((enter, 99), None, op, BETWEEN, roots[rank]))
        };
        found(3, (0..3).map(call).collect())
    };
    let none = [CollectiveRoot::None; 3];
    let all = waits("MPI_Allreduce", CollectiveOp::Allreduce, none);
    assert_eq!(all, [expect(&[(Q::Wait(Wait::NxnWait), 80)]), expect(&[]), expect(&[])]);
    let barrier = waits("MPI_Barrier", CollectiveOp::Barrier, none);
    let (first, second) =
        (expect(&[(Q::Wait(Wait::BarrierWait), 80)]), expect(&[(Q::Wait(Wait::BarrierWait), 50)]));
    assert_eq!(barrier, [first, second, expect(&[])]);
    // The root is rank 1, the first of its group.
    let roots = [CollectiveRoot::Rank(0), CollectiveRoot::SelfRank, CollectiveRoot::ThisGroup];
    let broadcast = waits("MPI_Bcast", CollectiveOp::Bcast, roots);
    assert_eq!(
        broadcast,
        [expect(&[(Q::Wait(Wait::LateBroadcast), 30)]), expect(&[]), expect(&[])]
    );
    let roots = [CollectiveRoot::SelfRank, CollectiveRoot::Rank(0), CollectiveRoot::Rank(0)];
    let reduction = waits("MPI_Reduce", CollectiveOp::Reduce, roots);
    assert_eq!(reduction, [expect(&[(Q::Wait(Wait::EarlyReduce), 80)]), expect(&[]), expect(&[])]);
}
