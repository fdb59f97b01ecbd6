#![allow(clippy::panic)]

mod generated;
#[path = "../../../../tests/golden.rs"]
mod golden;

use super::*;

fn share(who: &str) -> Share {
    Share { seconds: 0.25, seconds_at_most: 0.5, who: who.into() }
}

fn path() -> Vec<Step> {
    let main = Step { region: "main".into(), ..Step::default() };
    let call = Step {
        caller: Some("main".into()),
        column: Some(7),
        file: Some("/src/a.c".into()),
        line: Some(31),
        nth_on_line: None,
        region: "shmem_quiet".into(),
        through: Some("mpi4py".into()),
    };
    vec![main, call]
}

fn inefficiency(pattern: &str, evidence: Evidence) -> Inefficiency {
    Inefficiency {
        call_path: 4,
        calls: 12,
        evidence,
        explanation: "it is slow".into(),
        id: 0,
        layer: "shmem".into(),
        locations: 2,
        origins: vec![share("PE 0")],
        path: path(),
        path_seconds: 1.5,
        pattern: pattern.into(),
        remedy: "Do it otherwise.".into(),
        seconds: 0.25,
        seconds_at_most: 0.5,
        share: Some(0.125),
        share_at_most: Some(0.25),
        visits: 12,
    }
}

/// Returns a document with a value in every field, and with every kind of evidence.
fn full() -> Findings {
    let text = || "in words".to_owned();
    let (seconds_each, seconds_instead) = (1e-6, Some(2e-6));
    let doing = Doing {
        caller: Some("main".into()),
        calls: 3,
        column: None,
        file: Some("/src/a.c".into()),
        line: Some(40),
        nth_on_line: Some(2),
        on_itself: true,
        outlived: false,
        region: "shmem_get".into(),
        seconds: 0.125,
        serves_others: Serves::No,
    };
    let worst = Instance {
        begin_seconds: 0.75,
        meanwhile: Some(Meanwhile { calls: vec![doing], computing_seconds: 0.0625 }),
        on_whom: Some("PE 1".into()),
        seconds_at_most: 0.25,
        who: "PE 0".into(),
        window: Some("symmetric heap".into()),
    };
    let finding = Finding {
        call_path: 4,
        calls: 2,
        confidence: Some(Confidence::BetweenBounds),
        explanation: "it waits".into(),
        id: 0,
        latency_seconds: Some(0.0),
        layer: "shmem".into(),
        locations: 1,
        mean_seconds: Some(0.125),
        mean_seconds_at_most: Some(0.25),
        metric: "rma_progress_low".into(),
        origins: vec![share("PE 0")],
        path: path(),
        path_seconds: 1.5,
        pattern: "wait_for_progress".into(),
        phase: Phase::Run,
        remedy: "Do it otherwise.".into(),
        seconds: 0.25,
        seconds_at_most: 0.5,
        served_seconds_at_most: Some(0.0625),
        share: Some(0.125),
        share_at_most: Some(0.25),
        targets: vec![share("PE 1")],
        visits: 12,
        worst: Some(worst),
    };
    let crowd = Crowd { cores: 2, node: "node".into(), processes: 4 };
    let start = Finding { phase: Phase::StartUp, worst: None, ..finding.clone() };
    let entry = |at: u32, phase: Phase| Entry {
        gain: (at == 0).then_some(Gain {
            reason: None,
            seconds: Some(0.5),
            seconds_at_least: Some(0.25),
            seconds_at_most: Some(0.5),
        }),
        findings: vec![at],
        id: 0,
        phase,
        seconds: 0.25,
        seconds_at_most: 0.5,
        share: (phase == Phase::Run).then_some(0.125),
        share_at_most: (phase == Phase::Run).then_some(0.25),
        small: false,
    };
    let mut document = Findings {
        checksum: String::new(),
        causes: vec![Cause {
            after: path().pop(),
            before: None,
            call_path: Some(3),
            computing_seconds: Some(0.5),
            counters: Some(Counters {
                cpu_seconds: Some(Compared { others: Some(0.25), own: 0.25 }),
                reasons: vec![Reason { seconds: 0.25, why: Why::OffCore }],
                ..Counters::default()
            }),
            direct_seconds: 0.25,
            gain: None,
            id: String::new(),
            margin_seconds: 0.0,
            node: None,
            others_seconds: None,
            path: path(),
            processes: vec![share("PE 1")],
            sampled: Some(Sampled {
                exact: true,
                goes_on: true,
                on_core_seconds: 0.5,
                others_on_core_seconds: None,
                ready_seconds: Some(0.25),
                others_ready_seconds: None,
                others_samples: 0,
                parts: vec![Computed {
                    file: Some("src/heat.c".into()),
                    function: "relax".into(),
                    inside: None,
                    line: Some(88),
                    margin_seconds: 0.0625,
                    samples: 40,
                    seconds: 0.375,
                }],
                samples: 50,
            }),
            seconds: 0.375,
            share: Some(0.1875),
            spread: false,
            waits: vec![Caused {
                call: path().pop().unwrap(),
                call_path: 4,
                direct_seconds: 0.25,
                pattern: "wait_for_progress".into(),
                seconds: 0.375,
            }],
            what: Activity::Computing,
        }],
        clock_residual_seconds: Some(1e-6),
        critical_path: vec![Critical {
            call_path: 3,
            is_call: false,
            path: path(),
            seconds: 0.5,
            share: 0.5,
        }],
        crowds: vec![crowd.clone()],
        damage: vec!["7.evt ends early".into()],
        efficiency: Some(Efficiency {
            communication: 0.75,
            load_balance: 0.5,
            parallel: 0.375,
            progress: Some(0.9),
            serialisation: None,
            transfer: None,
        }),
        entries: vec![entry(0, Phase::Run), entry(1, Phase::StartUp)],
        events: 48,
        findings: vec![finding, start],
        inefficient: vec![
            inefficiency(
                "strided_elements",
                Evidence::Strided {
                    element_bytes: 8,
                    elements: 100,
                    seconds_each,
                    seconds_instead: None,
                    text: text(),
                },
            ),
            inefficiency(
                "small_transfers",
                Evidence::Small {
                    bytes_each: 8,
                    rows: 3,
                    seconds_each,
                    seconds_instead,
                    text: text(),
                },
            ),
            inefficiency(
                "completion_after_each",
                Evidence::Completion { seconds_each, text: text() },
            ),
            inefficiency(
                "blocking_in_a_row",
                Evidence::Row { bytes_each: 8, seconds_each, text: text() },
            ),
            inefficiency(
                "static_data",
                Evidence::Static { seconds_each, seconds_instead: 2e-6, text: text() },
            ),
            inefficiency(
                "hot_target",
                Evidence::HotTarget {
                    of: 100,
                    operations: 90,
                    origins: 3,
                    target: "PE 1".into(),
                    text: text(),
                },
            ),
            inefficiency(
                "many_calls_below",
                Evidence::Below {
                    all_inner_calls: 300,
                    bytes_each: 8,
                    inner_calls: 100,
                    layer: "mpi".into(),
                    region: "MPI_Get".into(),
                    seconds_each,
                    seconds_instead,
                    text: text(),
                },
            ),
            inefficiency("younger", Evidence::Other { text: text() }),
        ],
        functions: Some(FunctionTimes {
            list: vec![FunctionTime {
                file: Some("src/heat.c".into()),
                function: "relax".into(),
                inside: Some("memcpy".into()),
                line: Some(88),
                margin_seconds: 0.0625,
                most_process: "PE 1".into(),
                most_seconds: 0.25,
                samples: 40,
                seconds: 0.375,
                share: 0.75,
            }],
            samples: 50,
            seconds: 0.5,
        }),
        iterations: Some(Iterations {
            changes: vec![IterationChange {
                computing: true,
                computing_seconds: 2.1e-3,
                every: None,
                iteration: 700,
                iterations: 301,
                kind: IterationChangeKind::Step,
                seconds: 3e-3,
                text: String::new(),
                usual_computing_seconds: 1e-3,
                usual_seconds: 2e-3,
                who: Some("PE 3".into()),
            }],
            count: 1000,
            ends_with: path().remove(1),
            group: 1000,
            times: vec![IterationTimes {
                begin_seconds: 0.1,
                computing_seconds: 1e-3,
                first: 1,
                longest_computing_seconds: 1.5e-3,
                longest_who: Some("PE 3".into()),
                seconds: 2e-3,
                waits_seconds: 5e-4,
            }],
        }),
        length_seconds: 1.0,
        locations: 2,
        on_core_seconds: Some(1.5),
        not_computed: vec![NotComputed {
            calls: 0,
            pattern: "late_signal".into(),
            reason: "why".into(),
        }],
        phases: vec![ProgramPhase {
            efficiency: None,
            instances: 3,
            name: "step".into(),
            seconds: 0.5,
        }],
        polling: vec![Polling {
            calls: 900,
            layer: "shmem".into(),
            locations: 1,
            path: path(),
            seconds: 0.5,
            seconds_until_release: 0.25,
            targets: vec![share("PE 1")],
        }],
        polling_seconds: 0.5,
        processes: 2,
        ready_seconds: Some(0.125),
        run_seconds: 2.0,
        shutdown_seconds: 0.5,
        startup_seconds: 0.5,
        time_seconds: 3.0,
        transfer_seconds: 0.25,
        unexplained: vec![Unexplained {
            away_seconds: 0.25,
            call_path: 4,
            crowds: vec![crowd],
            is_finding: true,
            layer: "shmem".into(),
            locations: 1,
            longest_at: Some("PE 0".into()),
            longest_seconds: Some(0.0625),
            origins: vec![share("PE 0")],
            path: path(),
            path_seconds: 1.5,
            seconds: 0.5,
            targets: vec![share("PE 1")],
            too_few_seconds: 0.25,
            transfer_seconds: 0.125,
            visits: 12,
        }],
        unexplained_seconds: 0.5,
        verdict: Verdict::default(),
        version: VERSION,
        waits_seconds: 0.25,
        waits_seconds_at_most: 0.5,
    };
    document.number();
    document.judge();
    document
}

#[test]
fn version_2_is_written_and_read() {
    golden::hold("findings-2.json", full().to_json().unwrap().as_bytes());
    assert_eq!(Findings::read(&golden::read("findings-2.json")), Ok(full()));
}

#[test]
fn version_1_is_read() {
    let read = Findings::read(&golden::read("findings-1.json")).unwrap();
    assert_eq!(read.entries.len(), read.findings.len());
    golden::hold("findings-1.txt", format!("{read:#?}\n").as_bytes());
}

#[test]
fn upper_bounds_that_a_file_lacks_are_the_lower_ones() {
    let json = br#"{"version": 1, "findings": [{"seconds": 2.0, "origins": [{"who": "PE 0", "seconds": 1.5}]}]}"#;
    let read = Findings::read(json).unwrap();
    assert_eq!(read.findings[0].seconds_at_most, 2.0);
    assert_eq!(read.findings[0].origins[0].seconds_at_most, 1.5);
    assert_eq!((read.waits_seconds, read.waits_seconds_at_most), (2.0, 2.0));
}

#[test]
fn keys_are_sorted() {
    let json = full().to_json().unwrap();
    let sorted: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json, serde_json::to_string_pretty(&sorted).unwrap() + "\n");
}

#[test]
fn a_changed_byte_is_noticed() {
    let json = full().to_json().unwrap().into_bytes();
    for at in 0..json.len() {
        let mut changed = json.clone();
        changed[at] ^= 1;
        // Only the name of the checksum may change, or spaces around it: the rest is as it was.
        let read = Findings::read(&changed);
        assert!(read.is_err() || read == Ok(full()), "byte {at}");
    }
}

#[test]
fn errors_state_the_version_and_what_to_do() {
    let error = |json: &str| Findings::read(json.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error(r#"{"version": 3, "findings": {}}"#),
        "findings.json has version 3, and this dwell reads versions up to 2: run `dwell analyze` again, \
         or use the dwell that wrote it"
    );
    for (json, begin) in [
        (r#"{"version": 2, "findings": 7}"#, "findings.json has version 2 and cannot be read ("),
        (r#"{"findings": []}"#, "findings.json states no version and cannot be read ("),
        ("[1]", "findings.json states no version and cannot be read ("),
        ("", "findings.json states no version and cannot be read ("),
    ] {
        let error = error(json);
        assert!(
            error.starts_with(begin) && error.ends_with("): run `dwell analyze` again"),
            "{error}"
        );
    }
}
