use super::super::{Caused, Crowd, Finding, Inefficiency, Share, Unexplained};
use super::*;

fn step(region: &str, line: u32) -> Step {
    Step {
        region: region.into(),
        file: Some("src/heat.c".into()),
        line: Some(line),
        caller: Some("main".into()),
        ..Step::default()
    }
}

/// A process that computes 2.7 times as long as others, which wait for it in calls of a pattern.
fn cause(pattern: &str) -> Cause {
    Cause {
        id: "A".into(),
        after: Some(step("shmem_barrier_all", 41)),
        before: Some(step("shmem_double_put", 88)),
        computing_seconds: Some(0.54),
        direct_seconds: 1.66,
        others_seconds: Some(0.2),
        processes: vec![Share { who: "PE 2".into(), seconds: 1.66, seconds_at_most: 1.66 }],
        seconds: 1.66,
        waits: vec![Caused {
            call: step("shmem_barrier_all", 30),
            call_path: 7,
            direct_seconds: 1.66,
            pattern: pattern.into(),
            seconds: 1.66,
        }],
        what: Activity::Computing,
        ..Cause::default()
    }
}

fn document(cause: Cause) -> Findings {
    Findings {
        findings: vec![Finding {
            call_path: 7,
            pattern: cause.waits[0].pattern.clone(),
            remedy: "Do what helps against this wait.".into(),
            ..Finding::default()
        }],
        causes: vec![cause],
        length_seconds: 1.3,
        run_seconds: 5.2,
        waits_seconds: 1.66,
        waits_seconds_at_most: 1.7,
        transfer_seconds: 0.1,
        ..Findings::default()
    }
}

fn judged(mut document: Findings) -> Verdict {
    document.judge();
    document.verdict
}

#[test]
fn the_first_sentence_says_what_is_lost() {
    let verdict = judged(document(cause("barrier_wait")));
    assert_eq!(
        verdict.head,
        "34 to 35 % of the process time is not computing: waiting 32 to 33 %, transfer 1.9 %."
    );
    let none = judged(Findings { run_seconds: 5.0, ..Findings::default() });
    assert_eq!(none.head, "The processes compute nearly all the time.");
    assert_eq!(none.points, []);
}

#[test]
fn a_process_that_computes_longer_is_a_load_imbalance() {
    let gain = Gain {
        seconds: Some(0.13),
        seconds_at_least: Some(0.122),
        seconds_at_most: Some(0.138),
        reason: None,
    };
    let point =
        judged(document(Cause { gain: Some(gain), ..cause("barrier_wait") })).points.remove(0);
    assert_eq!(point.kind, Kind::LoadImbalance);
    assert_eq!(point.what, "PE 2 computes 2.7 times as long as the others (heat.c:41 to 88)");
    assert_eq!(point.cost, "Others wait 1.66 s for it, 32 % of the run.");
    assert_eq!(point.gain, "122 to 138 ms of 1.30 s (9.4 to 11 %)");
    assert_eq!(point.places.len(), 2);
    // A remedy of the wait would be wrong: the flag is not raised late, the work is uneven.
    let flag = judged(document(cause("late_signal"))).points.remove(0);
    assert_eq!((flag.kind, flag.change), (Kind::LoadImbalance, point.change));
    let alone = Cause { others_seconds: None, ..cause("barrier_wait") };
    let alone = judged(document(alone)).points.remove(0);
    assert_eq!(alone.what, "only PE 2 computes (heat.c:41 to 88)");
}

#[test]
fn kinds_follow_from_what_waits_and_what_was_done() {
    let kind = |cause| judged(document(cause)).points.remove(0);
    let progress = kind(cause("wait_for_progress"));
    assert_eq!(progress.kind, Kind::MissingProgress);
    assert_eq!(progress.change, "Do what helps against this wait.");
    assert_eq!(kind(cause("lock_contention")).kind, Kind::SerialisedLock);
    let even = Cause { computing_seconds: Some(0.2), ..cause("late_signal") };
    assert_eq!(kind(even).kind, Kind::LateSignal);
    let call = |what| Cause { what, path: vec![step("shmem_get", 9)], ..cause("barrier_wait") };
    assert_eq!(kind(call(Activity::Call)).what, "PE 2 is in shmem_get at heat.c:9");
    assert_eq!(kind(call(Activity::LeavesLate)).kind, Kind::UnevenExit);
    assert_eq!(kind(call(Activity::SharesCores)).kind, Kind::SharedCores);
    assert_eq!(kind(call(Activity::Polling)).what, "PE 2 polls with shmem_get at heat.c:9");
}

#[test]
fn what_costs_most_is_first() {
    let crowd = Crowd { cores: 2, node: "n7".into(), processes: 4 };
    let document = Findings {
        crowds: vec![crowd],
        inefficient: vec![Inefficiency {
            id: 3,
            explanation: "many small transfers that block".into(),
            path: vec![step("shmem_double_g", 12)],
            pattern: "small_transfers".into(),
            seconds: 0.5,
            seconds_at_most: 0.7,
            ..Inefficiency::default()
        }],
        ready_seconds: Some(4.1),
        unexplained: vec![Unexplained {
            is_finding: true,
            path: vec![step("shmem_barrier_all", 41)],
            seconds: 0.2,
            ..Unexplained::default()
        }],
        ..document(cause("barrier_wait"))
    };
    let verdict = judged(document.clone());
    let kinds: Vec<Kind> = verdict.points.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::SharedCores, Kind::LoadImbalance, Kind::ElementWise]);
    assert_eq!(verdict.points[0].what, "4 processes share 2 cores of n7");
    assert_eq!(verdict.points[2].id, "3");
    // Processes that poll while they wait may lack their cores as long, and lose nothing by that.
    let alone = judged(Findings { ready_seconds: Some(1.7), ..document });
    assert_eq!(alone.points[0].kind, Kind::LoadImbalance);
}
