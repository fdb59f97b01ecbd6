//! Ranking and grouping of findings, and their statements about single waits. Times are in nanoseconds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use cubex::Report;
use dwell_analyze::{Analysis, Phase, Serves};
use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteBlocking};
use otf2::id::{MatchingId, Rank, RegionRef};

use crate::support::{Events, SEQUENCE, SITE, Thread, WINDOW as win, World, barrier_end};

const MAIN: RegionRef = RegionRef(0);
const GET: RegionRef = RegionRef(1);
const QUIET: RegionRef = RegionRef(2);
const BARRIER: RegionRef = RegionRef(3);
const INIT: RegionRef = RegionRef(4);
const FINALIZE: RegionRef = RegionRef(5);
const MY_PE: RegionRef = RegionRef(6);
const WTIME: RegionRef = RegionRef(7);

const REGIONS: &[(&str, &str)] = &[
    ("main", ""),
    ("shmem_get", "layer=shmem operation=get progress=always"),
    ("shmem_quiet", "layer=shmem operation=complete_remote progress=always completes=remote"),
    ("shmem_barrier_all", "layer=shmem operation=barrier progress=always completes=remote"),
    ("shmem_init", "layer=shmem operation=initialise progress=always"),
    ("shmem_finalize", "layer=shmem operation=finalise progress=always"),
    ("shmem_my_pe", "layer=shmem operation=query progress=never"),
    ("MPI_Wtime", "layer=mpi operation=query progress=never"),
];

const MS: u64 = 1_000_000;

/// Calls of these programs.
trait Calls: Events {
    fn begin() -> Self {
        Self::default().at(0, Enter { region: MAIN })
    }

    fn end(self, time: u64) -> Self {
        self.at(time, Leave { region: MAIN })
    }

    fn get(self, region: RegionRef, target: u32, (enter, leave): (u64, u64)) -> Self {
        let (remote, matching_id) = (Rank(target), MatchingId(enter));
        self.at(enter, Enter { region })
            .at(enter, RmaGet { win, remote, bytes: 8, matching_id })
            .at(leave, RmaOpCompleteBlocking { win, matching_id })
            .at(leave, Leave { region })
    }

    /// Adds a collective over all processes.
    fn meet(self, region: RegionRef, number: u64, (enter, end): (u64, u64)) -> Self {
        let record = barrier_end(win);
        self.at(enter, Enter { region })
            .with(end, (SEQUENCE, number), record)
            .at(end, Leave { region })
    }
}

impl Calls for Thread {}

fn analyzed(processes: &[Vec<Thread>], check: impl Fn(&Analysis)) {
    World::new(REGIONS, processes).analyzed(check);
}

/// Returns the patterns of each entry.
fn patterns(analysis: &Analysis) -> Vec<Vec<&'static str>> {
    let of = |it: &dwell_analyze::Entry| analysis.findings()[it.findings.clone()].iter();
    analysis.entries().iter().map(|it| of(it).map(|it| it.pattern).collect()).collect()
}

/// A wait of 0 to 100 ms can gain more than one of 30 ms, and less than one of 60 ms.
#[test]
fn what_can_gain_most_comes_first() {
    for (sure, first) in [(30, "wait_for_progress"), (60, "barrier_wait")] {
        // The target was just leaving its call, came again, and the get ended long after that.
        let origin = Thread::begin().get(GET, 1, (10 * MS, 150 * MS));
        let origin = origin.meet(BARRIER, 0, (200 * MS, 200 * MS + sure * MS)).end(1_000 * MS);
        let target = Thread::begin()
            .at(5 * MS, Enter { region: QUIET })
            .at(10 * MS + 10, Leave { region: QUIET })
            .at(110 * MS, Enter { region: QUIET })
            .at(112 * MS, Leave { region: QUIET });
        let late = 200 * MS + sure * MS;
        let target = target.meet(BARRIER, 0, (late, late)).end(1_000 * MS);
        analyzed(&[vec![origin], vec![target]], |analysis| {
            assert_eq!(analysis.findings()[0].pattern, first, "{:?}", analysis.findings());
            let progress = analysis.findings().iter().find(|it| it.pattern == "wait_for_progress");
            let progress = progress.unwrap();
            assert_eq!((progress.nanoseconds, progress.at_most), (0, 100 * MS - 10));
            // The report has the metric that the finding names, and its value at the call path.
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("trace.cubex");
            analysis.write_report(&file).unwrap();
            let report = Report::open(&file).unwrap();
            for finding in analysis.findings() {
                let metric = report.meta().find_metric(&finding.metric);
                assert!(metric.is_some(), "the report lacks {}", finding.metric);
            }
            assert_eq!(progress.metric, "shmem_wait_for_progress_upper_bound");
        });
    }
}

/// The compiler has copied the first of two barriers of a line.
#[test]
fn copies_of_a_call_are_one_entry() {
    let meet = |thread: Thread, number: u64, site: u64, (enter, end): (u64, u64)| {
        thread
            .with(enter, (SITE, site), Enter { region: BARRIER })
            .with(end, (SEQUENCE, number), barrier_end(win))
            .at(end, Leave { region: BARRIER })
    };
    let process = |early: u64| {
        let first = meet(Thread::begin(), 0, 0, ((100 - early) * MS, 100 * MS));
        let second = meet(first, 1, 1, ((200 - early) * MS, 200 * MS));
        meet(second, 2, 2, ((300 - early) * MS, 300 * MS)).end(1_000 * MS)
    };
    analyzed(&[vec![process(50)], vec![process(0)]], |analysis| {
        let found: Vec<(u64, u32)> = analysis
            .findings()
            .iter()
            .map(|it| (it.nanoseconds / MS, it.path.last().unwrap().site.as_ref().unwrap().column))
            .collect();
        assert_eq!(found, [(100, 7), (50, 30)]);
    });
}

/// The wait for the last to come and the completion after the first are two parts of one entry.
#[test]
fn a_barrier_is_one_entry() {
    let one = Thread::begin().meet(BARRIER, 0, (100 * MS, 230 * MS)).end(1_000 * MS);
    let two = Thread::begin().meet(BARRIER, 0, (200 * MS, 210 * MS)).end(1_000 * MS);
    analyzed(&[vec![one], vec![two]], |analysis| {
        assert_eq!(patterns(analysis), [["barrier_wait", "barrier_completion"]]);
        let [entry] = analysis.entries() else { panic!("{:?}", analysis.entries()) };
        assert_eq!((entry.nanoseconds, entry.at_most), (120 * MS, 120 * MS));
        let [first, second] = analysis.findings() else { panic!() };
        assert_eq!((first.nanoseconds, second.nanoseconds), (100 * MS, 20 * MS));
        // 120 ms of 2 s are not small; of 121 s they would be.
        assert!(!entry.is_small(analysis.times().run));
        assert!(entry.is_small(121_000 * MS) && !entry.is_small(119_000 * MS));
    });
}

/// Start-up and shutdown take most of this program, and wait longest; they are no part of the run.
#[test]
fn start_up_and_shutdown_are_apart() {
    let process = |late: u64| {
        Thread::begin()
            .meet(INIT, 0, (10 * MS + late * MS, 410 * MS))
            .meet(BARRIER, 1, (500 * MS + late * MS / 10, 520 * MS))
            .meet(FINALIZE, 2, (600 * MS + late * MS, 800 * MS))
            .end(1_000 * MS)
    };
    analyzed(&[vec![process(0)], vec![process(100)]], |analysis| {
        let phases: Vec<Phase> = analysis.entries().iter().map(|it| it.phase).collect();
        assert_eq!(phases, [Phase::Run, Phase::StartUp, Phase::Shutdown]);
        let waits: Vec<u64> = analysis.entries().iter().map(|it| it.nanoseconds).collect();
        assert_eq!(waits, [10 * MS, 100 * MS, 100 * MS]);
        let times = analysis.times();
        assert_eq!(times.start_up, (400 + 300) * MS);
        assert_eq!(times.shutdown, (200 + 100) * MS);
        assert_eq!(times.run, (2_000 - 700 - 300) * MS);
        assert_eq!(times.start_up + times.run + times.shutdown, analysis.time());
    });
}

/// Three of four calls wait, two of them equally long. The first of these is the worst, whoever comes first in the trace.
#[test]
fn the_worst_instance_is_the_first_of_the_longest() {
    let calls = |waits: &[(u64, u64)]| {
        let barriers = (0..).zip(waits);
        let thread = barriers.fold(Thread::begin(), |thread, (number, &(enter, end))| {
            thread.meet(BARRIER, number, (enter * MS, end * MS))
        });
        vec![thread.end(1_000 * MS)]
    };
    let one = calls(&[(100, 130), (200, 250), (400, 410), (500, 510)]);
    let two = calls(&[(130, 130), (250, 250), (350, 410), (505, 510)]);
    let three = calls(&[(130, 130), (200, 250), (360, 410), (510, 510)]);
    analyzed(&[one, two, three], |analysis| {
        let [finding] = analysis.findings() else { panic!("{:?}", analysis.findings()) };
        assert_eq!(finding.pattern, "barrier_wait");
        assert_eq!((finding.visits, finding.calls), (12, 7));
        assert_eq!(finding.nanoseconds, (30 + 50 + 50 + 50 + 40 + 10 + 5) * MS);
        let worst = finding.worst.clone().unwrap();
        assert_eq!(worst.nanoseconds, 50 * MS);
        assert_eq!(worst.begin, 200 * MS);
        assert_eq!(worst.process, "process 0");
        assert_eq!(worst.partner.as_deref(), Some("process 1"));
    });
}

/// Waits for progress are judged at the end; the calls that waited are counted then.
#[test]
fn calls_that_waited_for_progress_are_counted() {
    let origin = Thread::begin()
        .get(GET, 1, (10 * MS, 110 * MS + 100))
        .get(GET, 1, (300 * MS, 300 * MS + 100))
        .get(GET, 1, (400 * MS, 510 * MS + 100))
        .end(1_000 * MS);
    let target = Thread::begin()
        .at(110 * MS, Enter { region: QUIET })
        .at(320 * MS, Leave { region: QUIET })
        .at(510 * MS, Enter { region: QUIET })
        .at(520 * MS, Leave { region: QUIET })
        .end(1_000 * MS);
    analyzed(&[vec![origin], vec![target]], |analysis| {
        let [finding] = analysis.findings() else { panic!("{:?}", analysis.findings()) };
        assert_eq!((finding.visits, finding.calls, finding.nanoseconds), (3, 2, 210 * MS));
        let worst = finding.worst.clone().unwrap();
        assert_eq!((worst.begin, worst.nanoseconds), (400 * MS, 110 * MS));
        assert_eq!(
            (worst.process.as_str(), worst.partner.as_deref()),
            ("process 0", Some("process 1"))
        );
    });
}

/// Gets of a process from itself progress nothing for others, and a call that was open before counts from the begin of
/// the wait. The result is equal whether the location is read from its first event or from the middle.
#[test]
fn what_the_partner_did_meanwhile() {
    let origin = Thread::begin().get(GET, 1, (10 * MS, 100 * MS + 100));
    // Where calls are made inside of others, the location is read from its first event on.
    let nested =
        origin.clone().at(150 * MS, Enter { region: QUIET }).call(WTIME, 151 * MS, 152 * MS);
    let nested = nested.at(160 * MS, Leave { region: QUIET }).end(200 * MS);
    let target = Thread::begin()
        .at(5 * MS, Enter { region: MY_PE })
        .at(15 * MS, Leave { region: MY_PE })
        .get(GET, 1, (20 * MS, 23 * MS))
        .get(GET, 1, (30 * MS, 34 * MS))
        .at(100 * MS, Enter { region: QUIET })
        .at(120 * MS, Leave { region: QUIET })
        .end(200 * MS);
    for origin in [origin.end(200 * MS), nested] {
        analyzed(&[vec![origin], vec![target.clone()]], |analysis| {
            let [finding] = analysis.findings() else { panic!("{:?}", analysis.findings()) };
            let worst = finding.worst.clone().unwrap();
            assert_eq!((worst.begin, worst.nanoseconds), (10 * MS, 90 * MS));
            let meanwhile = worst.meanwhile.unwrap();
            assert_eq!(meanwhile.computing, (90 - 5 - 7) * MS);
            let calls = meanwhile.calls.iter();
            let calls: Vec<_> = calls
                .map(|it| (it.call.region.as_str(), it.count, it.nanoseconds / MS, it.serves))
                .collect();
            let expected =
                [("shmem_get", 2, 7, Serves::NotOnItself), ("shmem_my_pe", 1, 5, Serves::Never)];
            assert_eq!(calls, expected);
        });
    }
}

/// Calls that progress by the tables, but that an operation outlived ten times or more, did not serve it.
#[test]
fn calls_that_an_operation_outlived_are_named() {
    for (calls, serves) in [(12, Serves::Outlived), (9, Serves::Always)] {
        let origin = Thread::begin().get(GET, 1, (10 * MS, 200 * MS)).end(300 * MS);
        let mut target = Thread::begin();
        for at in 0..calls {
            let begin = (20 + 5 * at) * MS;
            target = target.get(GET, 2, (begin, begin + 1_000));
        }
        let target = target.call(QUIET, 199 * MS, 200 * MS).end(300 * MS);
        let third = Thread::begin().end(300 * MS);
        analyzed(&[vec![origin], vec![target], vec![third]], |analysis| {
            let mut findings = analysis.findings().iter();
            let finding = findings.find(|it| it.origins[0].who == "process 0").unwrap();
            let meanwhile = finding.worst.clone().unwrap().meanwhile.unwrap();
            let mut doing = meanwhile.calls.iter();
            let gets = doing.find(|it| it.call.region == "shmem_get").unwrap();
            assert_eq!((gets.count, gets.serves), (calls, serves));
        });
    }
}

/// A partner that is inside one call all the time has no event in the interval.
#[test]
fn a_partner_that_was_in_one_call_all_the_time() {
    let one = Thread::begin().meet(BARRIER, 0, (10 * MS, 110 * MS)).end(200 * MS);
    let two = Thread::begin()
        .at(5 * MS, Enter { region: MY_PE })
        .at(100 * MS, Leave { region: MY_PE })
        .meet(BARRIER, 0, (100 * MS, 110 * MS))
        .end(200 * MS);
    analyzed(&[vec![one], vec![two]], |analysis| {
        let worst = analysis.findings()[0].worst.clone().unwrap();
        let meanwhile = worst.meanwhile.unwrap();
        assert_eq!(meanwhile.computing, 0);
        let [only] = meanwhile.calls.as_slice() else { panic!("{meanwhile:?}") };
        assert_eq!((only.call.region.as_str(), only.nanoseconds), ("shmem_my_pe", 90 * MS));
    });
}
