//! Late replies, handler delay, late signals by active messages, and tests without polls: by hand, and in random programs
//! against a simulation that knows which message each handler received. Times are in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, VecDeque};

use dwell_analyze::{Analysis, Quantity};
use dwell_model::waits::Wait;
use otf2::enums::{LockType, RmaSyncType};
use otf2::event::{
    Enter, Leave, RmaAcquireLock, RmaGet, RmaOpCompleteNonBlocking, RmaReleaseLock, RmaRequestLock,
    RmaSync,
};
use otf2::id::{LockId, MatchingId, Rank, RegionRef};

use crate::support::{ACTIVE_MESSAGE, CALLS, Events, Thread, WINDOW as win, World};

const MAIN: RegionRef = RegionRef(0);
const REQUEST: RegionRef = RegionRef(1);
const REPLY: RegionRef = RegionRef(2);
const UNTIL: RegionRef = RegionRef(3);
const HANDLER: RegionRef = RegionRef(4);
const TEST: RegionRef = RegionRef(5);
const GET: RegionRef = RegionRef(6);
const WAIT: RegionRef = RegionRef(7);
const LOCK: RegionRef = RegionRef(8);
const UNLOCK: RegionRef = RegionRef(9);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("gex_AM_RequestShort", "layer=gasnet operation=active_message progress=always"),
    ("gex_AM_ReplyShort", "layer=gasnet operation=active_message progress=never"),
    ("GASNET_BLOCKUNTIL", "layer=gasnet operation=poll progress=always"),
    ("handler", ""),
    ("gex_Event_Test", "layer=gasnet operation=test progress=never"),
    ("gex_RMA_GetNB", "layer=gasnet operation=get mode=nonblocking progress=conditional"),
    ("gex_Event_Wait", "layer=gasnet operation=wait progress=always"),
    ("gex_HSL_Lock", "layer=gasnet operation=lock progress=never"),
    ("gex_HSL_Unlock", "layer=gasnet operation=unlock progress=never"),
];

const END: u64 = 1_000;

fn thread() -> Thread {
    Thread::default().at(0, Enter { region: MAIN })
}

/// Active messages, and the calls around them.
trait Calls: Events {
    /// Sends an active message in a call from `enter` to `enter + 2`.
    fn send(self, region: RegionRef, to: u32, checksum: u64, enter: u64) -> Self {
        let (remote, sync_type) = (Rank(to), RmaSyncType::NotifyOut);
        self.at(enter, Enter { region })
            .with(enter + 1, (ACTIVE_MESSAGE, checksum), RmaSync { win, remote, sync_type })
            .at(enter + 2, Leave { region })
    }

    /// Begins the handler of an active message.
    fn handles(self, from: u32, checksum: u64, enter: u64) -> Self {
        let (remote, sync_type) = (Rank(from), RmaSyncType::NotifyIn);
        let sync = RmaSync { win, remote, sync_type };
        self.at(enter, Enter { region: HANDLER }).with(enter, (ACTIVE_MESSAGE, checksum), sync)
    }

    fn handled(self, leave: u64) -> Self {
        self.at(leave, Leave { region: HANDLER })
    }

    fn polls(self, enter: u64) -> Self {
        self.at(enter, Enter { region: UNTIL })
    }

    fn polled(self, leave: u64) -> Self {
        self.at(leave, Leave { region: UNTIL })
    }

    /// Begins a get of a process.
    fn get(self, from: u32, enter: u64) -> Self {
        let (remote, matching_id) = (Rank(from), MatchingId(1));
        self.at(enter, Enter { region: GET })
            .at(enter, RmaGet { win, remote, bytes: 8, matching_id })
            .at(enter + 1, Leave { region: GET })
    }

    /// Adds a region that stands for this many tests. The last one may find the get complete.
    fn tests(self, calls: u64, enter: u64, leave: u64, found: bool) -> Self {
        let mut thread = self.at(enter, Enter { region: TEST });
        if found {
            let matching_id = MatchingId(1);
            thread = thread.at(leave, RmaOpCompleteNonBlocking { win, matching_id });
        }
        thread.with(leave, (CALLS, calls), Leave { region: TEST })
    }

    /// Waits for a handler-safe lock of process 0, and releases it at the end.
    fn locks(self, enter: u64, leave: u64, release: u64) -> Self {
        let (remote, lock_id, lock_type) = (Rank(0), LockId(7), LockType::Exclusive);
        self.at(enter, Enter { region: LOCK })
            .at(enter, RmaRequestLock { win, remote, lock_id, lock_type })
            .at(leave, RmaAcquireLock { win, remote, lock_id, lock_type })
            .at(leave, Leave { region: LOCK })
            .at(release, Enter { region: UNLOCK })
            .at(release, RmaReleaseLock { win, remote, lock_id })
            .at(release + 1, Leave { region: UNLOCK })
    }

    fn end(self) -> Self {
        self.at(END, Leave { region: MAIN })
    }
}

impl Calls for Thread {}

fn analyzed(processes: &[Vec<Thread>], check: impl Fn(&Analysis)) {
    let latency = [0; 2];
    World {
        regions: REGIONS,
        processes,
        per_node: 2,
        groups: &[],
        latency,
        cores: &[],
        by_context: false,
    }
    .analyzed(check);
}

fn at(analysis: &Analysis, location: usize, wait: Wait) -> u64 {
    analysis.at_location(location, Quantity::Wait(wait))
}

/// Process 1 sends a request at 100 and polls from 110 on. Process 0 computes until 300, runs the handler until 400, and
/// sends the reply there at 380.
#[test]
fn a_reply_is_late_by_the_delay_of_the_handler_and_by_its_length() {
    let target = thread().polls(290).handles(1, 7, 300).send(REPLY, 1, 8, 380).handled(400);
    let origin = thread().send(REQUEST, 0, 7, 100).polls(110).handles(0, 8, 390).handled(391);
    let processes = [vec![target.polled(401).end()], vec![origin.polled(395).end()]];
    analyzed(&processes, |analysis| {
        assert_eq!(at(analysis, 1, Wait::LateReply), 380 - 110);
        assert_eq!(at(analysis, 1, Wait::HandlerDelay), 300 - 110);
        assert_eq!(analysis.total(Quantity::Inferred(Wait::LateReply)), 0);
        // From 100 to 300, and from 380 to 390.
        assert_eq!(analysis.at_location(0, Quantity::MessageDelay), 200);
        assert_eq!(analysis.at_location(1, Quantity::MessageDelay), 10);
        // The request was sent before process 0 polled.
        assert_eq!(analysis.at_location(0, Quantity::Wait(Wait::LateSignal)), 0);
        assert_eq!(analysis.not_computed(), []);
        let [finding] = analysis.findings() else { panic!("{:?}", analysis.findings()) };
        assert_eq!(finding.pattern, "late_reply");
        assert_eq!(finding.targets.len(), 1);
    });
}

/// A message that is no reply raises a flag.
#[test]
fn a_message_that_is_sent_late_is_a_late_signal() {
    let sender = thread().send(REQUEST, 1, 7, 500).end();
    let receiver = thread().polls(100).handles(0, 7, 510).handled(520).polled(530).end();
    analyzed(&[vec![sender], vec![receiver]], |analysis| {
        assert_eq!(at(analysis, 1, Wait::LateSignal), 400);
        assert_eq!(at(analysis, 1, Wait::LateReply), 0);
    });
}

/// Process 1 serves process 2 while it waits for process 0: the last handler counts, and the time of the other does not.
#[test]
fn handlers_that_run_meanwhile_are_no_wait() {
    let target = thread().polls(290).handles(1, 7, 300).send(REPLY, 1, 8, 380).handled(400);
    let other = thread().send(REQUEST, 1, 9, 150).end();
    let origin = thread()
        .send(REQUEST, 0, 7, 100)
        .polls(110)
        .handles(2, 9, 160)
        .handled(210)
        .handles(0, 8, 390)
        .handled(391)
        .polled(395)
        .end();
    let processes = [vec![target.polled(401).end()], vec![origin], vec![other]];
    analyzed(&processes, |analysis| {
        assert_eq!(at(analysis, 1, Wait::LateReply), 380 - 110 - 50);
        assert_eq!(at(analysis, 1, Wait::HandlerDelay), 300 - 110);
        assert_eq!(analysis.total(Quantity::Inferred(Wait::LateReply)), 220);
        assert_eq!(at(analysis, 1, Wait::LateSignal), 0);
    });
}

/// Equal messages are taken in their order.
#[test]
fn equal_messages_are_matched_in_their_order() {
    let target = thread().send(REQUEST, 1, 7, 100).send(REQUEST, 1, 7, 200).end();
    let origin = thread()
        .polls(90)
        .handles(0, 7, 110)
        .handled(111)
        .polled(112)
        .polls(150)
        .handles(0, 7, 210)
        .handled(211)
        .polled(212)
        .end();
    analyzed(&[vec![target], vec![origin]], |analysis| {
        assert_eq!(at(analysis, 1, Wait::LateSignal), 10 + 50);
    });
}

#[test]
fn a_process_does_not_wait_for_itself_and_missing_messages_are_counted() {
    let own = thread()
        .at(100, Enter { region: REQUEST })
        .with(
            100,
            (ACTIVE_MESSAGE, 7),
            RmaSync { win, remote: Rank(0), sync_type: RmaSyncType::NotifyOut },
        )
        .handles(0, 7, 101)
        .send(REPLY, 0, 8, 102)
        .handled(110)
        .at(111, Leave { region: REQUEST })
        .polls(200)
        .handles(0, 8, 250)
        .handled(251)
        .polled(260)
        // This one was never sent.
        .polls(300)
        .handles(1, 9, 350)
        .handled(351)
        .polled(360);
    analyzed(&[vec![own.end()], vec![thread().end()]], |analysis| {
        for wait in [Wait::LateReply, Wait::LateSignal, Wait::HandlerDelay] {
            assert_eq!(analysis.total(Quantity::Wait(wait)), 0);
        }
        let [note] = analysis.not_computed() else { panic!("{:?}", analysis.not_computed()) };
        assert_eq!((note.pattern, note.calls), ("late_reply", 1));
    });
}

#[test]
fn tests_that_cannot_find_anything_are_a_wait_of_ones_own() {
    let without = |analysis: &Analysis| at(analysis, 0, Wait::TestWithoutPoll);
    let get = || thread().get(1, 100);
    let wait = |thread: Thread| {
        let matching_id = MatchingId(1);
        thread
            .at(700, Enter { region: WAIT })
            .at(710, RmaOpCompleteNonBlocking { win, matching_id })
            .at(710, Leave { region: WAIT })
            .end()
    };
    let target = || vec![thread().polls(50).polled(900).end()];
    let alone = wait(get().tests(1_000, 200, 600, false));
    analyzed(&[vec![alone.clone()], target()], |analysis| {
        assert_eq!(without(analysis), 400);
        let finding = analysis.findings().iter().find(|it| it.pattern == "test_without_poll");
        // The process waits for itself.
        assert_eq!(finding.unwrap().targets[0].nanoseconds, 400);
    });
    // A second thread of the process polls meanwhile.
    let helper = thread().polls(300).polled(310).end();
    analyzed(&[vec![alone, helper], target()], |analysis| assert_eq!(without(analysis), 0));
    // The last test found something, or there was only one.
    let found = get().tests(1_000, 200, 600, true).end();
    analyzed(&[vec![found], target()], |analysis| assert_eq!(without(analysis), 0));
    let once = wait(get().tests(1, 200, 600, false));
    analyzed(&[vec![once], target()], |analysis| assert_eq!(without(analysis), 0));
}

/// Handler-safe locks exclude threads of one process from each other, and a thread does not wait for itself.
#[test]
fn threads_wait_for_each_others_locks() {
    let first = thread().locks(100, 101, 300).locks(400, 401, 410).end();
    let second = thread().locks(150, 310, 350).locks(500, 501, 510).end();
    analyzed(&[vec![first, second], vec![thread().end()]], |analysis| {
        assert_eq!(at(analysis, 0, Wait::LockContention), 0);
        assert_eq!(at(analysis, 1, Wait::LockContention), 300 - 150);
        assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgress)), 0);
    });
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Mail {
    from: usize,
    checksum: u64,
    /// Begin of the call that sent it, and when it is there.
    sent: u64,
    arrives: u64,
    /// Begin of the handler that sent it, if it is a reply.
    handler: Option<u64>,
}

/// A call that polls in a simulated program.
#[derive(Clone, Copy, Debug)]
struct Poll {
    enter: u64,
    /// Number of handlers that it still has to run.
    left: u64,
    /// Time of the handlers that ran in it.
    handled: u64,
    /// The message that was handled last, when its handler began, and the time of the handlers before.
    last: Option<(Mail, u64, u64)>,
}

impl Simulated {
    /// Ends the open call that polls, and adds what it waited.
    fn end_poll(&mut self, leave: u64) {
        let Some(Poll { enter, last, .. }) = self.polling.take() else { return };
        self.thread = std::mem::take(&mut self.thread).polled(leave);
        let Some((mail, begin, handled)) = last else { return };
        let wait = mail.sent.min(begin).saturating_sub(enter).saturating_sub(handled);
        let kind = if mail.handler.is_some() { Wait::LateReply } else { Wait::LateSignal };
        *self.expected.entry(kind).or_default() += wait;
        let delay = mail.handler.map_or(0, |begin| begin.saturating_sub(enter)).min(wait);
        *self.expected.entry(Wait::HandlerDelay).or_default() += delay;
    }
}

/// A process of a simulated program.
#[derive(Default)]
struct Simulated {
    thread: Thread,
    now: u64,
    steps: u64,
    inbox: VecDeque<Mail>,
    polling: Option<Poll>,
    expected: BTreeMap<Wait, u64>,
    /// Time that messages were on their way until they were handled.
    delay: u64,
}

const LATENCY: u64 = 5;

/// Threads of each process of a simulated program, and the waits and delays of each.
type Simulation = (Vec<Vec<Thread>>, Vec<(BTreeMap<Wait, u64>, u64)>);

/// Simulates processes that send requests, compute, and poll until some handlers have run. Returns threads and waits.
fn simulate(seed: u64) -> Simulation {
    let mut random = fastrand::Rng::with_seed(seed);
    let count = 2 + random.u64(..4) as usize;
    let mut all: Vec<Simulated> =
        (0..count).map(|_| Simulated { thread: thread(), ..Simulated::default() }).collect();
    loop {
        // The next thing that happens is the next step of a process, or a message at one that polls.
        let when = |it: &Simulated| match (&it.polling, it.inbox.front()) {
            (None, _) => (it.steps < 12).then_some(it.now),
            (Some(_), mail) => mail.map(|mail| it.now.max(mail.arrives)),
        };
        let next = (0..count).filter_map(|at| Some((when(&all[at])?, at))).min();
        let Some((now, me)) = next else { break };
        let send = |from: usize, to: usize, checksum, sent, handler, all: &mut [Simulated]| {
            let mail = Mail { from, checksum, sent, arrives: sent + LATENCY, handler };
            let at =
                all[to].inbox.partition_point(|it| (it.arrives, it.from) <= (mail.arrives, from));
            all[to].inbox.insert(at, mail);
        };
        all[me].now = now;
        if all[me].polling.is_some() {
            let mail = all[me].inbox.pop_front().unwrap();
            let length = 10 + random.u64(..40);
            let mut of =
                std::mem::take(&mut all[me].thread).handles(mail.from as u32, mail.checksum, now);
            // Some requests are answered, sooner or later in the handler.
            if mail.handler.is_none() && random.u64(..4) > 0 {
                let sent = now + 1 + random.u64(..length - 4);
                let checksum = 10 + random.u64(..2);
                of = of.send(REPLY, mail.from as u32, checksum, sent);
                send(me, mail.from, checksum, sent, Some(now), &mut all);
            }
            let it = &mut all[me];
            it.delay += now - mail.sent;
            it.thread = of.handled(now + length);
            it.now = now + length;
            let poll = it.polling.as_mut().unwrap();
            poll.last = Some((mail, now, poll.handled));
            poll.left -= 1;
            poll.handled += length;
        } else {
            all[me].steps += 1;
            let mut of = std::mem::take(&mut all[me].thread);
            match random.u64(..3) {
                0 => all[me].now += random.u64(..200),
                1 => {
                    let to = (me + 1 + random.u64(..count as u64 - 1) as usize) % count;
                    let checksum = random.u64(..2);
                    of = of.send(REQUEST, to as u32, checksum, now);
                    send(me, to, checksum, now, None, &mut all);
                    all[me].now += 3;
                }
                _ => {
                    of = of.polls(now);
                    all[me].polling = Some(Poll {
                        enter: now,
                        left: 1 + random.u64(..3),
                        handled: 0,
                        last: None,
                    });
                    all[me].now += 1;
                }
            }
            all[me].thread = of;
        }
        let it = &mut all[me];
        if it.polling.is_some_and(|poll| poll.left == 0) {
            it.end_poll(it.now);
            it.now += 1;
        }
    }
    // Calls that nobody ends are open at the end, and their last handler may have waited too.
    let end = all.iter().map(|it| it.now).max().unwrap_or(0) + 1;
    all.iter_mut().for_each(|it| it.end_poll(end));
    let close = |it: &mut Simulated| {
        vec![std::mem::take(&mut it.thread).at(end + 1, Leave { region: MAIN })]
    };
    let threads = all.iter_mut().map(close).collect();
    (threads, all.into_iter().map(|it| (it.expected, it.delay)).collect())
}

/// Checks random programs, and that each of the waits occurs.
fn check(seeds: std::ops::Range<u64>) {
    let mut sums: BTreeMap<Wait, u64> = BTreeMap::new();
    for seed in seeds {
        let (processes, expected) = simulate(seed);
        analyzed(&processes, |analysis| {
            for (process, (expected, delay)) in expected.iter().enumerate() {
                let found = analysis.at_location(process, Quantity::MessageDelay);
                assert_eq!(found, *delay, "seed {seed}, process {process}");
                for wait in [Wait::LateReply, Wait::HandlerDelay, Wait::LateSignal] {
                    let expected = expected.get(&wait).copied().unwrap_or(0);
                    assert_eq!(
                        at(analysis, process, wait),
                        expected,
                        "seed {seed}, process {process}, {wait:?}"
                    );
                }
            }
        });
        for (wait, amount) in expected.iter().flat_map(|it| &it.0) {
            *sums.entry(*wait).or_default() += amount;
        }
    }
    for wait in [Wait::LateReply, Wait::HandlerDelay, Wait::LateSignal] {
        assert!(sums[&wait] > 0, "{wait:?} never occurred");
    }
}

#[test]
fn random_programs_equal_a_simulation() {
    check(0..60);
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn more_random_programs_equal_a_simulation() {
    check(60..1_500);
}
