//! Regions that stand for many calls of a polling loop. Times are in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dwell_analyze::{Analysis, Quantity};
use dwell_model::archive::POLLS_WORDS;
use dwell_model::waits::Wait;
use otf2::enums::RmaAtomicType;
use otf2::event::{
    Enter, Leave, RmaAtomic, RmaGet, RmaOpCompleteBlocking, RmaOpCompleteRemote, RmaWaitChange,
};
use otf2::id::{MatchingId, Rank, RegionRef};

use crate::support::{CALLS, Events, OFFSET, OWNER, Thread, WINDOW as win, World};

const MAIN: RegionRef = RegionRef(0);
const G: RegionRef = RegionRef(1);
const PUT: RegionRef = RegionRef(2);
const FETCH: RegionRef = RegionRef(3);
const TEST: RegionRef = RegionRef(4);
const MPI_GET: RegionRef = RegionRef(6);
const FLUSH: RegionRef = RegionRef(7);
const ACCUMULATE: RegionRef = RegionRef(8);
const SYNC: RegionRef = RegionRef(9);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_long_g", "layer=shmem operation=get progress=always"),
    ("shmem_long_p", "layer=shmem operation=put progress=never"),
    ("shmem_long_atomic_fetch", "layer=shmem operation=fetch progress=always"),
    ("shmem_long_test", "layer=shmem operation=test_change progress=conditional"),
    (POLLS_WORDS, "layer=shmem operation=wait_change progress=always"),
    ("MPI_Get", "layer=mpi operation=get mode=nonblocking progress=conditional"),
    ("MPI_Win_flush", "layer=mpi operation=complete_remote progress=always completes=remote"),
    (
        "MPI_Accumulate",
        "layer=mpi operation=atomic_accumulate mode=nonblocking progress=conditional",
    ),
    ("MPI_Win_sync", "layer=mpi operation=order progress=conditional"),
];

fn thread() -> Thread {
    Thread::default().at(0, Enter { region: MAIN })
}

trait Calls: Events {
    fn end(self) -> Self {
        self.at(1_000, Leave { region: MAIN })
    }

    /// Adds a loop of gets of the word at offset 64 of process 0, which ended because the word had changed if `found`.
    fn reads(self, calls: u64, found: bool, enter: u64, leave: u64) -> Self {
        let (remote, matching_id) = (Rank(0), MatchingId(enter));
        let thread = self
            .at(enter, Enter { region: G })
            .at(enter, RmaGet { win, remote, bytes: 8, matching_id })
            .at(enter + 1, RmaOpCompleteBlocking { win, matching_id });
        let change = RmaWaitChange { win };
        let thread = match found {
            true => thread.add((leave, vec![(OFFSET, 64), (OWNER, 0)], change.into())),
            false => thread,
        };
        thread.with(leave, (CALLS, calls), Leave { region: G })
    }

    /// Adds a call that reads the word and changes nothing.
    fn fetches(self, enter: u64) -> Self {
        let (remote, matching_id) = (Rank(0), MatchingId(enter));
        let kind = RmaAtomicType::FetchAndAdd;
        let (bytes_sent, bytes_received) = (0, 8);
        let it = RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id };
        self.at(enter, Enter { region: FETCH })
            .with(enter, (OFFSET, 64), it)
            .at(enter + 1, RmaOpCompleteBlocking { win, matching_id })
            .at(enter + 1, Leave { region: FETCH })
    }
}

impl Calls for Thread {}

fn analyzed(processes: &[Vec<Thread>], check: impl Fn(&Analysis)) {
    World::new(REGIONS, processes).analyzed(check);
}

/// Returns the waits in loops and who was waited for, and checks that nothing else waits and no time is missing.
fn polling(analysis: &Analysis) -> Vec<(u64, Vec<(String, u64)>)> {
    assert_eq!(analysis.total(Quantity::Wait(Wait::WaitForProgress)), 0);
    assert_eq!(analysis.total(Quantity::Wait(Wait::LateSignal)), 0);
    let found = analysis.findings().iter().filter(|it| it.pattern == "polling");
    let of = |it: &dwell_analyze::Share| (it.who.clone(), it.nanoseconds);
    found.map(|it| (it.nanoseconds, it.targets.iter().map(of).collect())).collect()
}

/// Process 2 reads a word of process 0 until process 1 changes it.
#[test]
fn a_loop_over_a_word_waits_for_who_changed_it() {
    let put = |enter| thread().put_to(PUT, 1, 0, 64, enter).end();
    let waits = |loops: Thread, put: Thread| {
        let threads = [vec![thread().end()], vec![put], vec![loops.end()]];
        let all = std::sync::Mutex::new(Vec::new());
        analyzed(&threads, |analysis| all.lock().unwrap().push(polling(analysis)));
        let all = all.into_inner().unwrap();
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{all:?}");
        all[0].clone()
    };
    let by = |time| vec![(time, vec![("process 1".to_owned(), time)])];
    assert_eq!(waits(thread().reads(40, true, 100, 320), put(300)), by(200));
    // A call that reads the same word did not change it.
    let reader = thread().put_to(PUT, 1, 0, 64, 300).fetches(310).end();
    assert_eq!(waits(thread().reads(40, true, 100, 320), reader), by(200));
    // An interrupted loop is one wait.
    let interrupted = thread().reads(40, false, 100, 200).reads(40, true, 205, 320);
    assert_eq!(waits(interrupted, put(300)), by(100 + 95));
    // Too few calls, a loop that found nothing, and a word that had changed before.
    assert_eq!(waits(thread().reads(4, true, 100, 320), put(300)), []);
    assert_eq!(waits(thread().reads(40, false, 100, 320), put(300)), []);
    assert_eq!(waits(thread().reads(40, true, 100, 320), put(50)), []);
}

/// The same for a test of memory of the process itself, whose calls were merged.
#[test]
fn a_merged_loop_of_tests_is_a_wait() {
    let tests = thread().at(100, Enter { region: TEST });
    let tests = tests.with(320, (OFFSET, 64), RmaWaitChange { win });
    let tests = tests.with(320, (CALLS, 40), Leave { region: TEST }).end();
    let put = thread().put_to(PUT, 1, 0, 64, 300).end();
    analyzed(&[vec![tests], vec![put]], |analysis| {
        assert_eq!(polling(analysis), [(200, vec![("process 1".to_owned(), 200)])]);
        assert!(analysis.polling().is_empty() || analysis.polling()[0].nanoseconds == 20);
    });
}

/// A loop that makes stores of others visible and reads them is polling, which is counted once.
#[test]
fn a_merged_loop_of_win_sync_is_polling() {
    let waits = thread().at(100, Enter { region: SYNC });
    let waits = waits.with(320, (CALLS, 40), Leave { region: SYNC }).end();
    analyzed(&[vec![waits], vec![thread().end()]], |analysis| {
        let found: Vec<(u64, u64)> =
            analysis.polling().iter().map(|it| (it.calls, it.nanoseconds)).collect();
        assert_eq!(found, [(40, 220)]);
    });
}

/// A loop of tries of two calls of MPI, an operation and its flush, which are a region each.
#[test]
fn a_loop_of_two_calls_is_one_wait() {
    let (remote, matching_id) = (Rank(0), MatchingId(7));
    let loops = |found: bool| {
        let thread = thread()
            .at(100, Enter { region: MPI_GET })
            .at(100, RmaGet { win, remote, bytes: 8, matching_id })
            .with(310, (CALLS, 40), Leave { region: MPI_GET })
            .at(312, Enter { region: FLUSH })
            .at(320, RmaOpCompleteRemote { win, matching_id });
        let thread = match found {
            true => thread.add((320, vec![(OFFSET, 64), (OWNER, 0)], RmaWaitChange { win }.into())),
            false => thread,
        };
        thread.with(320, (CALLS, 40), Leave { region: FLUSH }).end()
    };
    let accumulates = |offset| {
        let (kind, bytes_sent, bytes_received) = (RmaAtomicType::Accumulate, 8, 0);
        let matching_id = MatchingId(9);
        let it = RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id };
        let call = thread().at(300, Enter { region: ACCUMULATE });
        let call = call.with(300, (OFFSET, offset), it).at(301, Leave { region: ACCUMULATE });
        call.at(302, Enter { region: FLUSH })
            .at(303, RmaOpCompleteRemote { win, matching_id })
            .at(303, Leave { region: FLUSH })
            .end()
    };
    let waits = |found, offset| {
        let threads = [vec![thread().end()], vec![accumulates(offset)], vec![loops(found)]];
        let all = std::sync::Mutex::new(Vec::new());
        analyzed(&threads, |analysis| all.lock().unwrap().push(polling(analysis)));
        let all = all.into_inner().unwrap();
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{all:?}");
        all[0].clone()
    };
    assert_eq!(waits(true, 64), [(200, vec![("process 1".to_owned(), 200)])]);
    // It found nothing, or who changed the word is unknown.
    assert_eq!(waits(false, 64), []);
    assert_eq!(waits(true, 72), []);
}
