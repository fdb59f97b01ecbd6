//! Savings of inefficient communication, in closed form. Each test has one origin or several; their targets are in a
//! call that progresses all the time, so nobody waits. Times are in nanoseconds; the decisive ones begin a bin of the
//! histograms, so that the fastest tenth is exact.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::cell::RefCell;

use dwell_analyze::{Analysis, Evidence, Inefficiency};
use dwell_model::layer::Layer;
use otf2::enums::RmaAtomicType;
use otf2::event::{Enter, Leave, RmaAtomic, RmaGet, RmaOpCompleteBlocking, RmaPut};
use otf2::id::{MatchingId, Rank, RegionRef, RmaWinRef};

use crate::support::{BYTES, CALLS, Events, STATIC, TIME, Thread, WINDOW, World};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const IGET: RegionRef = RegionRef(2);
const PUT: RegionRef = RegionRef(3);
const ATOMIC: RegionRef = RegionRef(4);
const QUIET: RegionRef = RegionRef(5);
const WAIT: RegionRef = RegionRef(6);
const LOCK: RegionRef = RegionRef(7);
const MPI_PUT: RegionRef = RegionRef(8);
const UNLOCK: RegionRef = RegionRef(9);
const FENCE: RegionRef = RegionRef(10);
const CAF_GET: RegionRef = RegionRef(11);
const MPI_GET: RegionRef = RegionRef(12);
const CAF_BY_REF: RegionRef = RegionRef(13);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_double_get", "layer=shmem operation=get progress=always"),
    ("shmem_double_iget", "layer=shmem operation=get progress=always"),
    ("shmem_double_put", "layer=shmem operation=put progress=never"),
    ("shmem_long_atomic_fetch_inc", "layer=shmem operation=atomic_fetch_increment progress=always"),
    ("shmem_quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
    ("shmem_wait_until", "layer=shmem operation=wait_change progress=always"),
    ("MPI_Win_lock", "layer=mpi operation=lock progress=always"),
    ("MPI_Put", "layer=mpi operation=put mode=nonblocking progress=never"),
    ("MPI_Win_unlock", "layer=mpi operation=unlock progress=always completes=remote"),
    ("shmem_fence", "layer=shmem operation=order progress=never"),
    ("_gfortran_caf_get", "layer=caf operation=get progress=never"),
    ("MPI_Get", "layer=mpi operation=get mode=nonblocking progress=never"),
    ("_gfortran_caf_get_by_ref", "layer=caf operation=get progress=never"),
];

/// End of all events in nanoseconds.
const END: u64 = 100_000;

/// An origin and its present time.
struct Origin {
    thread: Thread,
    now: u64,
}

impl Origin {
    fn begin() -> Self {
        Self { thread: Thread::default().at(0, Enter { region: MAIN }), now: 1_000 }
    }

    fn compute(mut self, length: u64) -> Self {
        self.now += length;
        self
    }

    fn call(mut self, region: RegionRef, length: u64) -> Self {
        let enter = self.now;
        self.now += length;
        self.thread = self.thread.call(region, enter, self.now);
        self
    }

    /// Adds an operation that is complete when its call ends.
    fn operation(
        mut self,
        region: RegionRef,
        win: RmaWinRef,
        to: u32,
        bytes: u64,
        length: u64,
    ) -> Self {
        let (enter, leave) = (self.now, self.now + length);
        let (remote, matching_id) = (Rank(to), MatchingId(enter));
        let thread = self.thread.at(enter, Enter { region });
        let thread = match region {
            ATOMIC => {
                let (bytes_sent, bytes_received) = (bytes, bytes);
                let kind = RmaAtomicType::FetchAndIncrement;
                let it = RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id };
                thread.at(enter, it)
            }
            PUT | MPI_PUT => thread.at(enter, RmaPut { win, remote, bytes, matching_id }),
            _ => thread.at(enter, RmaGet { win, remote, bytes, matching_id }),
        };
        let thread = match region {
            MPI_PUT => thread,
            _ => thread.at(leave, RmaOpCompleteBlocking { win, matching_id }),
        };
        self.thread = thread.at(leave, Leave { region });
        self.now = leave;
        self
    }

    fn get(self, to: u32, bytes: u64, length: u64) -> Self {
        self.operation(GET, WINDOW, to, bytes, length)
    }

    fn times(self, count: u64, step: impl Fn(Self) -> Self) -> Self {
        (0..count).fold(self, |origin, _| step(origin))
    }

    fn end(self) -> Thread {
        assert!(self.now < END);
        self.thread.at(END, Leave { region: MAIN })
    }
}

/// Returns a target that progresses operations of others all the time.
fn target() -> Thread {
    Thread::default()
        .at(0, Enter { region: MAIN })
        .call(QUIET, 0, END)
        .at(END, Leave { region: MAIN })
}

/// Returns the findings about some origins with targets after them, after checking that they do not depend on windows.
fn found(origins: Vec<Origin>, targets: usize) -> Vec<Inefficiency> {
    let mut processes: Vec<Vec<Thread>> = (0..targets).map(|_| vec![target()]).collect();
    processes.extend(origins.into_iter().map(|it| vec![it.end()]));
    let all: Vec<u64> = (0..processes.len() as u64).collect();
    let groups = &[all.clone(), all];
    let results: RefCell<Vec<Vec<Inefficiency>>> = RefCell::default();
    let (processes, cores) = (processes.as_slice(), &[][..]);
    World {
        regions: REGIONS,
        processes,
        per_node: 16,
        groups,
        latency: [0; 2],
        cores,
        by_context: false,
    }
    .analyzed(|analysis: &Analysis| {
        assert_eq!(analysis.findings(), [], "nobody waits");
        results.borrow_mut().push(analysis.inefficient().to_vec());
    });
    let results = results.into_inner();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
    results.into_iter().next().unwrap()
}

/// Returns the pattern, the calls and both bounds of each finding.
fn figures(list: &[Inefficiency]) -> Vec<(&'static str, u64, u64, u64)> {
    list.iter().map(|it| (it.pattern, it.calls, it.nanoseconds, it.at_most)).collect()
}

/// 20 calls of 1,024 ns that move 256 elements each; as many bytes in one piece take 128 ns.
#[test]
fn strided_calls() {
    let strided = |it: Origin| it.operation(IGET, WINDOW, 0, 2_048, 1_024).compute(2_000);
    let piece = |it: Origin| it.get(0, 2_048, 128).compute(1_000);
    let list = found(vec![Origin::begin().times(20, strided).times(10, piece)], 1);
    let saved = 20 * (1_024 - 128);
    assert_eq!(figures(&list), [("strided_elements", 20, saved, saved)]);
    let each = 20 * 1_024 / (20 * 256);
    let evidence =
        Evidence::Strided { elements: 20 * 256, element_bytes: 8, each, instead: Some(128) };
    assert_eq!(list[0].evidence, evidence);
    // With nothing to compare with, each call takes at least as long as one element does.
    let list = found(vec![Origin::begin().times(20, strided)], 1);
    let most = 20 * 1_024 - 20 * 1_024 / 256;
    assert_eq!(figures(&list), [("strided_elements", 20, 0, most)]);
    // Strided calls that are as fast as others.
    let fast = |it: Origin| it.operation(IGET, WINDOW, 0, 2_048, 128).compute(1_000);
    assert_eq!(found(vec![Origin::begin().times(20, fast).times(10, piece)], 1), []);
}

/// A row of 64 gets of 8 bytes and 64 ns each. A get of 4,096 bytes takes 128 ns.
#[test]
fn small_transfers() {
    let large = |it: Origin| it.get(0, 4_096, 128).compute(1_000);
    let small = |it: Origin| it.get(0, 8, 64);
    let list = found(vec![Origin::begin().times(10, large).times(64, small)], 1);
    assert_eq!(figures(&list), [("small_transfers", 63, 64 * 64 - 128, 63 * 64)]);
    let Evidence::Small { instead: Some(128), .. } = list[0].evidence else { panic!("{list:?}") };
    // Nothing larger to compare with.
    let list = found(vec![Origin::begin().times(64, small)], 1);
    assert_eq!(figures(&list), [("small_transfers", 63, 0, 63 * 64)]);
    let evidence = Evidence::Small { rows: 1, bytes: 8, each: 64, instead: None };
    assert_eq!(list[0].evidence, evidence);
    // With computing between them, or with a call that synchronises.
    let apart = |it: Origin| it.get(0, 8, 64).compute(65);
    assert_eq!(found(vec![Origin::begin().times(64, apart)], 1), []);
    let waits = |it: Origin| it.get(0, 8, 64).call(WAIT, 1);
    assert_eq!(found(vec![Origin::begin().times(64, waits)], 1), []);
    // Large transfers.
    assert_eq!(found(vec![Origin::begin().times(10, large)], 1), []);
}

/// 16 rows of a get of 512 ns and one of 1,024 ns from another target, of 64 KiB each.
#[test]
fn operations_in_a_row() {
    let row = |it: Origin| it.get(0, 65_536, 512).get(1, 65_536, 1_024).compute(3_000);
    let list = found(vec![Origin::begin().times(16, row)], 2);
    assert_eq!(figures(&list), [("blocking_in_a_row", 16, 0, 16 * 512)]);
    let evidence = Evidence::Row { bytes: 65_536, each: 768 };
    assert_eq!(list[0].evidence, evidence);
    // The latency of a get is 64 ns.
    let small = |it: Origin| it.get(0, 8, 64).compute(1_000);
    let list = found(vec![Origin::begin().times(10, small).times(16, row)], 2);
    assert_eq!(figures(&list), [("blocking_in_a_row", 16, 16 * 64, 16 * 512)]);
    // With computing between them.
    let apart =
        |it: Origin| it.get(0, 65_536, 512).compute(513).get(1, 65_536, 1_024).compute(2_000);
    assert_eq!(found(vec![Origin::begin().times(16, apart)], 2), []);
    // Atomics are in a row as well, and are not small transfers.
    let atomics = |it: Origin| it.operation(ATOMIC, WINDOW, 0, 8, 64);
    let list = found(vec![Origin::begin().times(50, atomics)], 1);
    assert_eq!(figures(&list), [("blocking_in_a_row", 49, 49 * 64, 49 * 64)]);
}

/// 20 quiets of 128 ns after single puts.
#[test]
fn completions_after_each_operation() {
    let put = |it: Origin| it.operation(PUT, WINDOW, 0, 8, 16);
    let pair = |it: Origin| put(it).call(QUIET, 128);
    let list = found(vec![Origin::begin().times(20, pair)], 1);
    assert_eq!(figures(&list), [("completion_after_each", 19, 19 * 128, 19 * 128)]);
    assert_eq!(list[0].evidence, Evidence::Completion { each: 128 });
    let fences = |it: Origin| put(it).call(FENCE, 128);
    let list = found(vec![Origin::begin().times(20, fences)], 1);
    assert_eq!(figures(&list), [("completion_after_each", 19, 19 * 128, 19 * 128)]);
    // Data and flag; computing; a wait for another process.
    let flag = |it: Origin| put(put(it).compute(20)).call(QUIET, 128);
    assert_eq!(found(vec![Origin::begin().times(20, flag)], 1), []);
    let apart = |it: Origin| put(it).call(QUIET, 128).compute(200);
    assert_eq!(found(vec![Origin::begin().times(20, apart)], 1), []);
    let waits = |it: Origin| put(it).call(QUIET, 128).call(WAIT, 1);
    assert_eq!(found(vec![Origin::begin().times(20, waits)], 1), []);
}

/// Form in which calls inside a call of another layer are recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inner {
    /// Each call with its records.
    All,
    /// The first call, and one region for all others with their number and their bytes.
    Counted,
}

impl Origin {
    /// Adds a call of the coarray runtime that gets data by this many calls of MPI with as many bytes and nanoseconds each.
    fn section(self, calls: u64, sizes: (u64, u64), inner: Inner) -> Self {
        self.section_by(CAF_GET, calls, sizes, inner)
    }

    fn section_by(
        mut self,
        region: RegionRef,
        calls: u64,
        (bytes, each): (u64, u64),
        inner: Inner,
    ) -> Self {
        let (enter, win, remote) = (self.now, WINDOW, Rank(0));
        let matching_id = MatchingId(enter);
        let whole = RmaGet { win, remote, bytes: calls * bytes, matching_id };
        self.thread = self.thread.at(enter, Enter { region }).at(enter, whole);
        let recorded = if inner == Inner::All { calls } else { 1 };
        for _ in 0..recorded {
            let begin = self.now;
            self.now += each;
            let (win, matching_id) = (RmaWinRef(1), MatchingId(begin));
            let part = RmaGet { win, remote, bytes, matching_id };
            let thread = self.thread.at(begin, Enter { region: MPI_GET }).at(begin, part);
            self.thread = thread.at(self.now, Leave { region: MPI_GET });
        }
        if recorded < calls {
            let (begin, more) = (self.now, calls - recorded);
            self.now += more * each;
            let sums = vec![(CALLS, more), (TIME, more * each), (BYTES, more * bytes)];
            let leave = (self.now, sums, Leave { region: MPI_GET }.into());
            self.thread = self.thread.at(begin, Enter { region: MPI_GET }).add(leave);
        }
        let end = RmaOpCompleteBlocking { win, matching_id };
        self.thread = self.thread.at(self.now, end).at(self.now, Leave { region });
        self
    }
}

/// 20 sections of 100 elements of 8 bytes, each of which takes a call of MPI of 8 ns.
#[test]
fn calls_that_become_many_calls_below() {
    let sections = |inner| {
        let one = move |it: Origin| it.section(100, (8, 8), inner).compute(2_000);
        Origin::begin().times(20, one)
    };
    let most = 20 * 792;
    for inner in [Inner::All, Inner::Counted] {
        let list = found(vec![sections(inner)], 1);
        assert_eq!(figures(&list), [("many_calls_below", 20, 0, most)]);
        let evidence = Evidence::Below {
            region: "MPI_Get".into(),
            layer: Layer::Mpi,
            inner: 2_000,
            bytes: 8,
            all: 2_000,
            each: 800,
            instead: None,
        };
        assert_eq!(list[0].evidence, evidence);
        assert_eq!(list[0].path.last().unwrap().region, "_gfortran_caf_get");
        assert_eq!((list[0].locations, list[0].origins[0].at_most), (1, most));
    }
    // The same bytes by one call of MPI take 64 ns.
    let piece = |it: Origin| it.section_by(CAF_BY_REF, 1, (800, 64), Inner::All).compute(1_000);
    let other = Origin::begin().times(20, piece);
    let list = found(vec![sections(Inner::Counted), other], 1);
    assert_eq!(figures(&list), [("many_calls_below", 20, 20 * (800 - 64), most)]);
    // A few calls, and calls that move much.
    let few = |it: Origin| it.section(8, (8, 100), Inner::All).compute(2_000);
    assert_eq!(found(vec![Origin::begin().times(20, few)], 1), []);
    let large = |it: Origin| it.section(100, (4_096, 8), Inner::All).compute(2_000);
    assert_eq!(found(vec![Origin::begin().times(20, large)], 1), []);
}

/// A lock of MPI for every operation.
#[test]
fn locks_for_each_operation() {
    let put = |it: Origin| it.operation(MPI_PUT, WINDOW, 0, 8, 16);
    let pair = |it: Origin| put(it.call(LOCK, 32)).call(UNLOCK, 128);
    let list = found(vec![Origin::begin().times(20, pair)], 1);
    assert_eq!(figures(&list), [("completion_after_each", 19, 19 * 128, 19 * 128)]);
    let all = |it: Origin| it.call(LOCK, 32).times(20, put).call(UNLOCK, 128);
    assert_eq!(found(vec![all(Origin::begin())], 1), []);
}

/// Three processes make 50 atomics of 100 ns each, all on one process.
#[test]
fn a_hot_target() {
    let one = |it: Origin, to| it.operation(ATOMIC, WINDOW, to, 8, 96).compute(1_000);
    let on = |to| Origin::begin().times(50, |it| one(it, to));
    let list = found(vec![on(0), on(0), on(0)], 1);
    // With an even spread each of the four would receive 37 of the 150.
    let saved = 150 * 96 * (150 - 37) / 150;
    assert_eq!(figures(&list), [("hot_target", 150, 0, saved)]);
    let target = "process 0".to_owned();
    let evidence = Evidence::HotTarget { target, operations: 150, of: 150, origins: 3 };
    assert_eq!(list[0].evidence, evidence);
    assert_eq!(found(vec![on(0), on(1), on(2), on(3)], 4), []);
}

/// 20 gets of 1,024 ns from static data; from the symmetric heap they take 128 ns.
#[test]
fn static_data() {
    let from = |win, length| move |it: Origin| it.operation(GET, win, 0, 8, length).compute(2_000);
    let origin = Origin::begin().times(20, from(STATIC, 1_024)).times(10, from(WINDOW, 128));
    let list = found(vec![origin], 1);
    let saved = 20 * (1_024 - 128);
    assert_eq!(figures(&list), [("static_data", 20, saved, saved)]);
    let same = Origin::begin().times(20, from(STATIC, 128)).times(10, from(WINDOW, 128));
    assert_eq!(found(vec![same], 1), []);
    // Nothing to compare with.
    assert_eq!(found(vec![Origin::begin().times(20, from(STATIC, 1_024))], 1), []);
}

/// Savings below 1 % of the run are not reported, and the greatest saving comes first, before waits that cost less.
#[test]
fn ranked_by_what_can_be_gained() {
    let strided = |it: Origin| it.operation(IGET, WINDOW, 0, 2_048, 1_024).compute(2_000);
    let few = found(vec![Origin::begin().times(1, strided)], 1);
    assert_eq!(few, []);
    let pair = |it: Origin| it.operation(PUT, WINDOW, 0, 8, 16).call(QUIET, 128);
    let both = found(vec![Origin::begin().times(20, pair).compute(5_000).times(20, strided)], 1);
    let patterns: Vec<_> = both.iter().map(|it| it.pattern).collect();
    assert_eq!(patterns, ["strided_elements", "completion_after_each"]);
}
