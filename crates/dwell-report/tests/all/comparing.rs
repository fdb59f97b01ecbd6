//! Comparisons of small reports, whose answers can be written down.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use cubex::{
    Cnode, Group, Location, MetaBuilder, Metric, MetricKind, Region, ReportWriter, Rows, SystemNode,
};
use dwell_report::{Comparison, Judgement, MatchedCall, Run, compare, matched_calls, series};

/// A call path of a program: name of the function, place of the call, number of its caller, and its exclusive seconds at every
/// location.
type Call = (&'static str, Option<u32>, Option<u32>, f64);

/// Writes the report of a program on some processes, which all do the same.
fn report(directory: &Path, name: &str, processes: u32, calls: &[Call]) -> Run {
    let mut meta = MetaBuilder::new();
    let (kind, convertible) = (MetricKind::Exclusive, true);
    let metric = Metric {
        uniq_name: "time",
        disp_name: "Time",
        dtype: "DOUBLE",
        uom: "sec",
        kind,
        convertible,
        ..Metric::default()
    };
    let metric = meta.metric(None, metric);
    let mut cnodes = Vec::new();
    for &(name, line, parent, _) in calls {
        let region = meta.region(Region { name, mangled_name: name, ..Region::default() });
        let parent = parent.map(|it| cnodes[it as usize]);
        let file = if line.is_some() { "/src/halo.c" } else { "" };
        cnodes.push(meta.cnode(parent, Cnode { region, file, line }));
    }
    let node = meta.system_node(None, SystemNode { name: "m", class: "machine", descr: "" });
    for rank in 0..processes {
        let name = format!("Rank {rank}");
        let group = meta.group(node, Group { name: &name, rank, ..Group::default() });
        meta.location(group, Location { name: "Master thread", ..Location::default() });
    }
    let file = directory.join(format!("{name}.cubex"));
    let writer = ReportWriter::create(&file, meta.finish().unwrap()).unwrap();
    let rows = writer.metric(metric, Rows::Spooled).unwrap();
    for (&cnode, call) in cnodes.iter().zip(calls) {
        rows.write(cnode, &vec![call.3; processes as usize][..]).unwrap();
    }
    drop(rows);
    writer.finish().unwrap();
    Run::open(name.into(), &file).unwrap()
}

fn compared(before: &[Run], after: &[Run]) -> Comparison {
    compare(before, after, &["time".into()], 0.02).unwrap()
}

/// A program with start-up, two calls of one function, and computing of some length.
fn halo(
    name: &'static str,
    init: f64,
    compute: f64,
    waits: [f64; 2],
    lines: [u32; 2],
) -> Vec<Call> {
    vec![
        (name, None, None, compute),
        ("shmem_init", Some(5), Some(0), init),
        ("shmem_long_wait_until", Some(lines[0]), Some(0), waits[0]),
        ("shmem_long_wait_until", Some(lines[1]), Some(0), waits[1]),
        ("shmem_finalize", Some(99), Some(0), init / 10.0),
    ]
}

#[test]
fn programs_may_have_other_names_and_lines() {
    let directory = tempfile::tempdir().unwrap();
    let make = |name, calls: Vec<Call>| report(directory.path(), name, 4, &calls);
    let before = make("a", halo("halo", 3.0, 1.0, [1.5, 0.5], [21, 22]));
    let after = make("b", halo("halo_fixed", 1.0, 1.0, [0.1, 0.5], [24, 25]));
    let found = compared(&[before], &[after]);
    // Start-up and shutdown do not count: 3.0, then 1.6.
    assert!((found.change() + 1.4 / 3.0).abs() < 1e-9, "{found:?}");
    assert_eq!(found.judgement, Judgement::Less);
    let [only] = found.differences.as_slice() else { panic!("{found:?}") };
    assert_eq!(only.path, "(program) / shmem_long_wait_until@halo.c:24");
    assert_eq!((only.before, only.after), (Some(6.0), Some(0.4)));
    assert!((only.share.unwrap() + 5.6 / 12.0).abs() < 1e-9);
    assert_eq!(only.judgement, Judgement::Less);
}

#[test]
fn places_match_by_line_if_there_are_more_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let calls = halo("halo", 1.0, 1.0, [0.5, 0.5], [21, 22]);
    let before = report(directory.path(), "a", 2, &calls);
    let mut calls = calls;
    calls.push(("shmem_long_wait_until", Some(10), Some(0), 0.25));
    let found = compared(&[before], &[report(directory.path(), "b", 2, &calls)]);
    let [only] = found.differences.as_slice() else { panic!("{found:?}") };
    assert_eq!(only.path, "halo / shmem_long_wait_until@halo.c:10");
    assert_eq!((only.before, only.after), (None, Some(0.5)));
}

#[test]
fn calls_in_one_line_match_by_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let make = |name, waits: &[f64]| {
        let mut calls: Vec<Call> =
            vec![("halo", None, None, 1.0), ("shmem_init", Some(5), Some(0), 1.0)];
        calls.extend(waits.iter().map(|it| ("shmem_quiet", Some(21), Some(0), *it)));
        report(directory.path(), name, 2, &calls)
    };
    let (before, after) = (make("a", &[0.5, 0.25]), make("b", &[0.5, 1.0]));
    let found = compared(std::slice::from_ref(&before), std::slice::from_ref(&after));
    let [only] = found.differences.as_slice() else { panic!("{found:?}") };
    assert_eq!(only.path, "halo / shmem_quiet@halo.c:21 (call 2 on this line)");
    assert_eq!((only.before, only.after), (Some(0.5), Some(2.0)));
    // Of three calls and two it is not known which is which: they are compared as one.
    let more = make("c", &[0.5, 0.25, 0.125]);
    let matched = matched_calls(&before.query, &more.query);
    let last = matched.last().unwrap();
    assert_eq!((last.calls[0].len(), last.calls[1].len()), (2, 3));
}

#[test]
fn all_call_paths_are_matched_with_start_up() {
    let directory = tempfile::tempdir().unwrap();
    let make = |name, calls: Vec<Call>| report(directory.path(), name, 4, &calls);
    let before = make("a", halo("halo", 3.0, 1.0, [0.5, 0.5], [21, 22]));
    let mut calls = halo("halo_fixed", 1.0, 1.0, [0.1, 0.5], [24, 25]);
    calls.push(("shmem_quiet", Some(30), Some(0), 0.5));
    let after = make("b", calls);
    let matched = matched_calls(&before.query, &after.query);
    let numbers = |it: &MatchedCall| {
        it.calls.clone().map(|list| list.iter().map(|it| it.0).collect::<Vec<_>>())
    };
    let mut pairs: Vec<_> = matched.iter().map(numbers).collect();
    pairs.sort();
    let one = |it: u32| [vec![it], vec![it]];
    assert_eq!(pairs, [[vec![], vec![5]], one(0), one(1), one(2), one(3), one(4)]);
    assert!(matched.iter().all(|it| it.parent.is_none_or(|it| it == 0)));
}

#[test]
fn sets_of_runs_are_judged_by_their_spread() {
    let directory = tempfile::tempdir().unwrap();
    let set = |name: &str, lengths: [f64; 5]| -> Vec<Run> {
        let one = |(number, length): (usize, f64)| {
            let name = format!("{name}{number}");
            report(directory.path(), &name, 2, &halo("halo", 1.0, length, [0.0; 2], [21, 22]))
        };
        lengths.into_iter().enumerate().map(one).collect()
    };
    let before = set("a", [1.00, 1.01, 0.99, 1.005, 0.995]);
    let slower = compared(&before, &set("b", [1.05, 1.06, 1.04, 1.055, 1.045]));
    assert!(slower.is_slower());
    assert!((slower.change() - 0.05).abs() < 1e-9);
    assert!((0.02..0.05).contains(&slower.resolution), "{}", slower.resolution);
    // One run was disturbed.
    let same = compared(&before, &set("c", [1.00, 1.012, 0.991, 1.5, 0.994]));
    assert_eq!(same.judgement, Judgement::Same);
    assert!(same.resolution > 0.3, "{}", same.resolution);
}

/// The work of `solve` is the same in total, and `exchange` takes the same time at every process, so that it grows in total.
#[test]
fn a_series_shows_what_stops_scaling() {
    let directory = tempfile::tempdir().unwrap();
    let run = |processes: u32| {
        let calls: [Call; 3] = [
            ("halo", None, None, 0.0),
            ("solve", Some(7), Some(0), 8.0 / f64::from(processes)),
            ("exchange", Some(8), Some(0), 0.1),
        ];
        report(directory.path(), &format!("p{processes}"), processes, &calls)
    };
    let runs = vec![run(8), run(2), run(4)];
    let found = series(&runs, 0.02).unwrap();
    let processes: Vec<usize> = found.runs.iter().map(|it| it.processes).collect();
    assert_eq!(processes, [2, 4, 8]);
    let last = &found.runs[2];
    assert!((last.length - 1.1).abs() < 1e-9);
    assert!((last.speedup - 4.1 / 1.1).abs() < 1e-9);
    assert!((last.scaling - 4.1 / 4.4).abs() < 1e-9);
    let [only] = found.growing.as_slice() else { panic!("{found:?}") };
    assert_eq!(only.path, "halo / exchange@halo.c:8");
    // From 0.2 to 0.4 s of 8.4.
    assert_eq!(only.first, 1);
    assert!((only.share - 0.6 / 8.8).abs() < 1e-9);
}
