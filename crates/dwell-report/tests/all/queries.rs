//! Queries held against the formula that the values of a synthetic report come from.

use std::path::Path;

use cubex::{CnodeId, GroupId, LocationId, MetricId, Report, SystemNodeId};
use dwell_report::transform::{self, CallTree};
use dwell_report::{Base, Call, Flavour, Judgement, Part, Query, Run, Summary, compare};
use dwell_synth::report::{BRANCHES, Options, generate};

const OPTIONS: Options =
    Options { locations: 150, paths: 60, metrics: 6, dense: 2, sparsity: 0.9, seed: 11 };

fn make(options: &Options, path: &Path) -> Query {
    generate(options, path, &|_| {}).unwrap();
    Query::open(path).unwrap()
}

fn parent(path: u32) -> Option<u32> {
    path.checked_sub(1).map(|before| before / BRANCHES)
}

/// Returns `true` if a call path is `root` or below it, found by going up step by step.
fn is_below(mut path: u32, root: u32) -> bool {
    loop {
        if path == root {
            return true;
        }
        match parent(path) {
            Some(up) => path = up,
            None => return false,
        }
    }
}

/// Adds exclusive values one by one from the formula of the synthetic report.
fn brute(options: &Options, metric: u32, call: Call, locations: &[u32]) -> f64 {
    let paths = (0..options.paths).filter(|&path| match call {
        Call::All => true,
        Call::Path(cnode, Flavour::Exclusive) => path == cnode.0,
        Call::Path(cnode, Flavour::Inclusive) => is_below(path, cnode.0),
    });
    let value = |path: u32, l: u32| options.value(MetricId(metric), CnodeId(path), l);
    paths.flat_map(|path| locations.iter().map(move |&l| value(path, l))).sum()
}

#[test]
fn every_combination_equals_the_formula() {
    let directory = tempfile::tempdir().unwrap();
    let query = make(&OPTIONS, &directory.path().join("a.cubex"));
    let all: Vec<u32> = (0..OPTIONS.locations).collect();
    let parts: [(Part, Vec<u32>); 5] = [
        (Part::All, all.clone()),
        (Part::Location(LocationId(7)), vec![7]),
        (Part::Group(GroupId(149)), vec![149]),
        (Part::Node(SystemNodeId(0)), all.clone()),
        (Part::Node(SystemNodeId(2)), (64..128).collect()),
    ];
    for metric in 0..OPTIONS.metrics {
        let mut calls = vec![Call::All];
        for path in (0..OPTIONS.paths).step_by(7) {
            for flavour in [Flavour::Inclusive, Flavour::Exclusive] {
                calls.push(Call::Path(CnodeId(path), flavour));
            }
        }
        for call in calls {
            for (part, locations) in &parts {
                let expected = brute(&OPTIONS, metric, call, locations);
                let value = query.value(MetricId(metric), call, *part).unwrap();
                assert_eq!(value, expected, "metric {metric}, {call:?}, {part:?}");
            }
            let row = query.row(MetricId(metric), call).unwrap();
            for &l in &[0, 63, 149] {
                assert_eq!(row[l as usize], brute(&OPTIONS, metric, call, &[l]));
            }
            assert_eq!(query.summary(MetricId(metric), call).unwrap(), Summary::of(&row));
        }
    }
}

#[test]
fn rankings_are_complete_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let query = make(&OPTIONS, &directory.path().join("a.cubex"));
    let all: Vec<u32> = (0..OPTIONS.locations).collect();
    for metric in 0..OPTIONS.metrics {
        for flavour in [Flavour::Inclusive, Flavour::Exclusive] {
            for below in [None, Some(CnodeId(2))] {
                let ranking = query.ranking(MetricId(metric), flavour, below).unwrap();
                let mut expected: Vec<(f64, u32)> = (0..OPTIONS.paths)
                    .filter(|&path| below.is_none_or(|root| is_below(path, root.0)))
                    .map(|path| {
                        (brute(&OPTIONS, metric, Call::Path(CnodeId(path), flavour), &all), path)
                    })
                    .filter(|&(value, _)| value > 0.0)
                    .collect();
                expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let found: Vec<(f64, u32)> =
                    ranking.paths.iter().map(|path| (path.value, path.cnode.0)).collect();
                assert_eq!(found, expected);
                let whole = below.map_or(Call::All, |root| Call::Path(root, Flavour::Inclusive));
                let base = Base::of(&query, MetricId(metric), below).unwrap();
                assert_eq!(base.total, brute(&OPTIONS, metric, whole, &all));
            }
        }
    }
    let at = Call::Path(CnodeId(3), Flavour::Exclusive);
    let row = query.row(MetricId(0), at).unwrap();
    let worst = query.worst_locations(&row, 5);
    assert_eq!(worst.len(), 5);
    assert_eq!(query.by_process(&row), row, "every location is a process of its own here");
    assert_eq!(worst[0].1, row.iter().copied().fold(0.0, f64::max));
    assert!(worst.windows(2).all(|pair| pair[0].1 >= pair[1].1));
}

#[test]
fn call_paths_are_found_by_their_ends() {
    let directory = tempfile::tempdir().unwrap();
    let query = make(&OPTIONS, &directory.path().join("a.cubex"));
    let text = query.call_path(CnodeId(22));
    assert_eq!(text, "function_0 / function_1 / function_5 / function_22");
    for wanted in
        [text.as_str(), "function_22", "function_5/function_22", " function_5 / function_22 "]
    {
        assert_eq!(query.find_paths(wanted), [CnodeId(22)], "{wanted}");
    }
    assert!(query.find_paths("function_1 / function_22").is_empty());
    assert!(query.find_paths("").is_empty());
}

/// Opens a report for a comparison.
fn opened(path: &Path) -> Run {
    Run::open("run".into(), path).unwrap()
}

/// Returns the names of all metrics.
fn all_metrics(query: &Query) -> Vec<String> {
    let meta = query.meta();
    meta.metrics().map(|id| meta.metric(id).unwrap().uniq_name.to_owned()).collect()
}

#[test]
fn a_report_does_not_differ_from_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let metrics = all_metrics(&make(&OPTIONS, &path));
    let comparison = compare(&[opened(&path)], &[opened(&path)], &metrics, 0.0).unwrap();
    assert!(comparison.is_empty());
    assert_eq!(comparison.totals.len() as u32, OPTIONS.metrics);
    assert_eq!((comparison.worse().count(), comparison.change()), (0, 0.0));
}

/// Writes a copy of a report with one exclusive row multiplied by a factor.
fn rewrite(report: &Report, output: &Path, at: CnodeId, factor: f64) {
    let meta = report.meta();
    let writer = cubex::ReportWriter::create(output, std::sync::Arc::clone(meta)).unwrap();
    for metric in meta.metrics() {
        let rows = writer.metric(metric, cubex::Rows::Spooled).unwrap();
        let values = report.values(metric).unwrap();
        let extra: Vec<f64> = match values.exclusive(at).unwrap() {
            Some(row) if metric == MetricId(0) => {
                let number = |l| row.number(LocationId(l)).unwrap() * (factor - 1.0);
                (0..row.len() as u32).map(number).collect()
            }
            _ => vec![0.0; meta.locations().len()],
        };
        for cnode in values.stored().collect::<Vec<_>>() {
            let row = values.row(cnode).unwrap().unwrap();
            let changed = is_below(at.0, cnode.0);
            let value = |l: u32| {
                row.number(LocationId(l)).unwrap() + if changed { extra[l as usize] } else { 0.0 }
            };
            let row: Vec<f64> = (0..row.len() as u32).map(value).collect();
            rows.write(cnode, &row).unwrap();
        }
    }
    writer.finish().unwrap();
}

#[test]
fn the_slower_call_path_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let [old, new] = ["a.cubex", "b.cubex"].map(|name| directory.path().join(name));
    let before = make(&OPTIONS, &old);
    rewrite(before.report(), &new, CnodeId(13), 50.0);
    let metrics = all_metrics(&before);
    let comparison = compare(&[opened(&old)], &[opened(&new)], &metrics, 0.02).unwrap();
    let first = &comparison.differences[0];
    assert_eq!(first.path, before.call_path(CnodeId(13)));
    assert_eq!((first.metric.as_str(), first.judgement), ("time", Judgement::More));
    assert!((first.relative() - 49.0).abs() < 1e-9, "{}", first.relative());
    let significant = comparison.differences.iter().filter(|it| it.relative().abs() > 1e-9);
    assert_eq!(significant.count(), 1, "only its own time, not that of its callers");
    assert_eq!(comparison.worse().count(), 1);
    let strict = compare(&[opened(&old)], &[opened(&new)], &metrics, 0.9).unwrap();
    assert_eq!(strict.worse().count(), 0, "below the threshold");
    let back = compare(&[opened(&new)], &[opened(&old)], &metrics, 0.02).unwrap();
    assert_eq!(back.differences[0].judgement, Judgement::Less);
    assert_eq!(back.worse().count(), 0);
}

#[test]
fn a_cut_report_has_the_values_below_its_root() {
    let directory = tempfile::tempdir().unwrap();
    let query = make(&OPTIONS, &directory.path().join("a.cubex"));
    let output = directory.path().join("cut.cubex");
    let tree = CallTree::cut(query.meta(), CnodeId(2));
    transform::write(query.report(), &tree, &output).unwrap();
    let cut = Query::open(&output).unwrap();
    let below: Vec<u32> = (0..OPTIONS.paths).filter(|&path| is_below(path, 2)).collect();
    assert_eq!(cut.meta().cnodes().len(), below.len());
    for path in below {
        let old = CnodeId(path);
        let name = query.call_name(old);
        let [new] = cut.find_paths(&name)[..] else { panic!("one `{name}`") };
        for metric in query.meta().metrics() {
            for flavour in [Flavour::Inclusive, Flavour::Exclusive] {
                let expected = query.row(metric, Call::Path(old, flavour)).unwrap();
                assert_eq!(cut.row(metric, Call::Path(new, flavour)).unwrap(), expected);
            }
        }
    }
}

#[test]
fn remapped_call_paths_keep_their_sum() {
    let directory = tempfile::tempdir().unwrap();
    let query = make(&OPTIONS, &directory.path().join("a.cubex"));
    let meta = query.meta();
    // Two flat functions: one for even numbers, one for odd; and the root is left out.
    let tree = CallTree::remapped(meta, |cnode| {
        let region = |number| meta.regions().nth(number).unwrap();
        (cnode.0 > 0).then(|| vec![region((cnode.0 % 2) as usize)])
    });
    assert_eq!(tree.len(), 2);
    let output = directory.path().join("flat.cubex");
    transform::write(query.report(), &tree, &output).unwrap();
    let flat = Query::open(&output).unwrap();
    let all: Vec<u32> = (0..OPTIONS.locations).collect();
    for metric in 0..OPTIONS.metrics {
        let odd: f64 = (0..OPTIONS.paths)
            .filter(|path| path % 2 == 1)
            .map(|path| {
                brute(&OPTIONS, metric, Call::Path(CnodeId(path), Flavour::Exclusive), &all)
            })
            .sum();
        let [one] = flat.find_paths("function_1")[..] else { panic!("one function_1") };
        let at = Call::Path(one, Flavour::Inclusive);
        assert_eq!(flat.value(MetricId(metric), at, Part::All).unwrap(), odd);
    }
    let merged = CallTree::merged(meta);
    assert_eq!(merged.len(), meta.cnodes().len(), "nothing here visits the same regions twice");
}

/// Sub-metrics are parts of the metric above them, so subtracting them leaves what belongs to none of them.
#[test]
fn the_own_value_of_a_metric_is_without_its_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.cubex");
    let mut meta = cubex::MetaBuilder::new();
    let metric =
        |uniq_name| cubex::Metric { uniq_name, dtype: "DOUBLE", uom: "sec", ..Default::default() };
    let time = meta.metric(None, metric("time"));
    let parts = ["barrier_wait", "late_signal"].map(|name| meta.metric(Some(time), metric(name)));
    let region = meta.region(cubex::Region { name: "main", ..Default::default() });
    let main = meta.cnode(None, cubex::Cnode { region, ..Default::default() });
    let node = meta.system_node(None, cubex::SystemNode { name: "node", class: "node", descr: "" });
    let group = meta.group(node, cubex::Group::default());
    for _ in 0..2 {
        meta.location(group, cubex::Location::default());
    }
    let writer = cubex::ReportWriter::create(&path, meta.finish().unwrap()).unwrap();
    for (metric, row) in [(time, [10.0, 6.0]), (parts[0], [1.0, 2.0]), (parts[1], [0.5, 0.0])] {
        writer.metric(metric, cubex::Rows::All).unwrap().write(main, &row).unwrap();
    }
    writer.finish().unwrap();
    let query = Query::open(&path).unwrap();
    assert_eq!(query.value(time, Call::All, Part::All).unwrap(), 16.0);
    assert_eq!(query.own_value(time, Call::All, Part::All).unwrap(), 12.5);
    let first = Part::Location(LocationId(0));
    assert_eq!(query.own_value(time, Call::All, first).unwrap(), 8.5);
    assert_eq!(query.own_value(parts[0], Call::All, Part::All).unwrap(), 3.0);
    assert_eq!(
        query.by_process(&query.row(time, Call::All).unwrap()),
        [16.0],
        "two threads of one"
    );
}
