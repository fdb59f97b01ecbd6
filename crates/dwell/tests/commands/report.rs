//! `dwell report` and `dwell compare` as users and build servers see them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::needs;
use crate::support::{self, golden, path, text};

fn dwell(args: &[&str], columns: &str) -> Output {
    support::command(columns).args(args).output().unwrap()
}

fn synth(file: &Path, more: &[&str]) {
    let args = [&["synth", "report", "-o", path(file), "--locations", "70"][..], more].concat();
    let output = dwell(&args, "100");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Returns the path of a report of another tool.
fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference").join(name)
}

#[test]
fn help_says_what_report_and_compare_do() {
    for (name, args) in [
        ("help-report.txt", &["report", "--help"][..]),
        ("help-compare.txt", &["compare", "--help"]),
        ("synth-report.txt", &["synth", "report", "--help"]),
    ] {
        golden(name, &text(&dwell(args, "100").stdout));
    }
}

#[test]
fn texts_keep_to_the_width_and_have_no_colour_in_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.cubex");
    synth(&file, &["--paths", "200"]);
    for columns in ["80", "160"] {
        for args in [
            vec!["report", path(&file)],
            vec!["report", path(&file), "--tree", "time", "--top", "2"],
            vec!["report", path(&file), "--spread", "--path", "function_5"],
            vec!["report", path(&file), "--metrics"],
        ] {
            let output = dwell(&args, columns);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            let output = text(&output.stdout);
            assert!(!output.contains('\u{1b}'));
            let width = columns.parse().unwrap();
            // The first line names the file, whose path may be long.
            for line in output.lines().filter(|line| !line.contains("r.cubex")) {
                assert!(line.chars().count() <= width, "{columns}: {line}");
            }
        }
    }
    let mut coloured = support::command("80");
    coloured.env("CLICOLOR_FORCE", "1").args(["report", path(&file)]);
    let coloured = coloured.output().unwrap();
    assert!(text(&coloured.stdout).contains('\u{1b}'));
}

/// The trees of all processes add up to the tree of the program, row by row.
#[test]
fn trees_of_processes_add_up_to_that_of_the_program() {
    let file = reference("mpi_waits/scout.cubex");
    let values = |more: &[&str]| {
        let size = ["--top", "100", "--depth", "100", "--json"];
        let output =
            dwell(&[&["report", path(&file), "--tree", "time"], &size[..], more].concat(), "80");
        let tree: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut values = std::collections::BTreeMap::new();
        let mut rows: Vec<&Value> = tree["tree"].as_array().unwrap().iter().collect();
        while let Some(row) = rows.pop() {
            let call = (row["call_path"].to_string(), row["site"].to_string());
            values.insert(call, row["inclusive"].as_f64().unwrap());
            rows.extend(row["children"].as_array().into_iter().flatten());
        }
        values
    };
    let all = values(&[]);
    let each: Vec<_> = ["0", "1", "2", "3"].iter().map(|it| values(&["--locations", it])).collect();
    assert!(all.len() > 5 && each[0] != each[1], "{all:?}");
    for (call, value) in &all {
        let sum: f64 = each.iter().filter_map(|it| it.get(call)).sum();
        assert!(
            (value - sum).abs() < 1e-9 * value.abs().max(1.0),
            "{call:?}: {value} is not {sum}"
        );
    }
    assert_eq!(values(&["--locations", "0-3"]), all);
    let wrong = dwell(&["report", path(&file), "--tree", "time", "--locations", "4"], "80");
    assert!(text(&wrong.stderr).contains("locations 0 to 3"), "{wrong:?}");
}

#[test]
fn the_summary_of_a_scalasca_report() {
    let file = reference("mpi_waits/scout.cubex");
    for columns in ["80", "160"] {
        // From its directory: the path to it must not change what is printed.
        let mut command = support::command(columns);
        command.current_dir(file.parent().unwrap()).args(["report", "scout.cubex", "--top", "8"]);
        let output = command.output().unwrap();
        golden(&format!("report-scout-{columns}.txt"), &text(&output.stdout));
    }
    let tree = dwell(&["report", path(&file), "--tree", "time", "--path", "passive_target"], "100");
    golden("report-scout-tree.txt", &text(&tree.stdout));
}

/// The values equal those that Scalasca itself reports, summed over everything.
#[test]
fn metrics_equal_what_scalasca_says() {
    let file = reference("mpi_waits/scout.cubex");
    let output = dwell(&["report", path(&file), "--metrics", "--json"], "100");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let value = |name: &str| {
        let rows = support::flat(&report["metrics"]);
        let row = rows.iter().find(|row| row["metric"] == name);
        row.unwrap()["value"].as_f64().unwrap()
    };
    for (name, expected) in [
        ("time", 6.410_902),
        ("visits", 954.0),
        ("mpi_barrier_wait", 1.194_610),
        ("mpi_barrier_completion", 0.001_336),
        ("mpi_latesender", 0.269_334),
        ("mpi_latereceiver", 0.120_456),
        ("mpi_earlyreduce", 0.105_628),
        ("mpi_latebroadcast", 0.541_564),
        ("mpi_wait_nxn", 0.361_190),
        ("mpi_nxn_completion", 0.000_581),
    ] {
        assert!((value(name) - expected).abs() < 6e-7, "{name}: {}", value(name));
    }
}

/// Python program that prints the exclusive value of each call path, largest first, as pyCubexR reads it.
const PYTHON: &str = r#"
import json, sys, warnings
from pycubexr import CubexParser
warnings.simplefilter("ignore")
with CubexParser(sys.argv[1]) as report:
    metric = report.get_metric_by_name(sys.argv[2])
    values = report.get_metric_values(metric)
    rows = []
    def walk(cnode, path):
        path = path + [cnode.region.name]
        own = values.cnode_values(cnode, convert_to_exclusive=True)
        rows.append([float(sum(own)), " / ".join(path)])
        for child in cnode.get_children():
            walk(child, path)
    for root in report.get_root_cnodes():
        walk(root, [])
    rows.sort(key=lambda row: -row[0])
    json.dump(rows, sys.stdout)
"#;

#[test]
fn top_call_paths_equal_those_of_pycubexr() {
    let python = std::env::var_os("DWELL_PYTHON").unwrap_or_else(|| "python3".into());
    let import = Command::new(&python).args(["-c", "import pycubexr"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        return needs::missing("PYCUBEXR", "there is no pycubexr");
    }
    for (file, metric) in [
        ("mpi_waits/scout.cubex", "time"),
        ("mpi_waits/scout.cubex", "mpi_barrier_wait"),
        ("mpi_waits/profile.cubex", "time"),
        ("mpi_waits/profile.cubex", "visits"),
        ("shmem_ops/profile.cubex", "time"),
    ] {
        let file = reference(file);
        let theirs =
            Command::new(&python).args(["-c", PYTHON, path(&file), metric]).output().unwrap();
        assert!(theirs.status.success(), "{}", text(&theirs.stderr));
        let theirs: Vec<(f64, String)> = serde_json::from_slice(&theirs.stdout).unwrap();
        let output =
            dwell(&["report", path(&file), "--metric", metric, "--top", "12", "--json"], "100");
        let ours: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ours = ours["ranking"].as_array().unwrap();
        assert!(!ours.is_empty());
        for (row, (value, name)) in ours.iter().zip(&theirs) {
            let found = row["value"].as_f64().unwrap();
            assert!((found - value).abs() <= 1e-9 * value.abs(), "{name}: {found}, {value}");
            // Parameters are ours to show; pyCubexR's path has none. Ties may come in any order.
            let mine = row["call_path"].as_str().unwrap();
            let mine = mine.split(" [").next().unwrap();
            let tied = theirs.iter().filter(|other| (other.0 - value).abs() <= 1e-12).count() > 1;
            assert!(tied || mine == name.as_str(), "{mine}, {name}");
        }
    }
}

#[test]
fn csv_and_json_hold_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.cubex");
    synth(&file, &[]);
    let args = ["report", path(&file), "--metric", "metric_1", "--top", "5"];
    let json = dwell(&[&args[..], &["--json"]].concat(), "100");
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let csv = text(&dwell(&[&args[..], &["--csv"]].concat(), "100").stdout);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("value,share,imbalance,site,call_path"));
    for (row, line) in json["ranking"].as_array().unwrap().iter().zip(lines) {
        let expected = format!(
            "{},{},{},,{}",
            row["value"],
            row["share"],
            row["imbalance"],
            row["call_path"].as_str().unwrap()
        );
        assert_eq!(line, expected);
    }
}

#[test]
fn compare_says_how_iterations_differ() {
    let directory = tempfile::tempdir().unwrap();
    let since = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kinds/since");
    let runs = ["before", "after"].map(|name| directory.path().join(name));
    runs.iter().for_each(|it| support::copy(&since, it));
    let [before, after] = [path(&runs[0]), path(&runs[1])];
    let told = text(&dwell(&["compare", before, after], "100").stdout);
    let line = "iterations: each of 100 takes as long as in the first run";
    assert!(told.contains(line), "{told}");
    let found: Value =
        serde_json::from_slice(&dwell(&["compare", before, after, "--json"], "100").stdout)
            .unwrap();
    let iterations = &found["iterations"];
    assert_eq!((&iterations["count"], &iterations["from"]), (&100.into(), &Value::Null));
    assert_eq!(iterations["before_seconds"], iterations["after_seconds"]);
}

#[test]
fn compare_has_an_exit_code_for_build_servers() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (directory.path().join("a.cubex"), directory.path().join("b.cubex"));
    synth(&a, &[]);
    synth(&b, &["--seed", "2"]);
    let (a, b) = (path(&a), path(&b));

    let same = dwell(&["compare", a, a], "80");
    assert_eq!(same.status.code(), Some(0));
    assert!(text(&same.stdout).contains("no difference beyond chance"), "{}", text(&same.stdout));
    let differ = dwell(&["compare", a, b], "80");
    let told = text(&differ.stdout);
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    assert!(told.contains("59.1 s, then 56.2 s"), "{told}");
    let strict = dwell(&["compare", b, a, "--threshold", "0", "--paths"], "100");
    let lenient = dwell(&["compare", b, a, "--threshold", "1000%", "--paths"], "100");
    assert_eq!((strict.status.code(), lenient.status.code()), (Some(0), Some(0)));
    let missing = dwell(&["compare", a, "nothing.cubex"], "100");
    assert_eq!(missing.status.code(), Some(2));
    let unknown = dwell(&["compare", a, b, "--metric", "nonsense"], "100");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("no report has a metric `nonsense`"));
    let one = dwell(&["compare", a], "100");
    assert_eq!(one.status.code(), Some(2));
    assert!(text(&one.stderr).contains("name two runs"), "{}", text(&one.stderr));

    let args =
        ["compare", a, b, "--markdown", "--threshold", "0", "--metric", "metric_1", "--top", "3"];
    let markdown = text(&dwell(&args, "100").stdout);
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + 3, "{markdown}");
    assert!(rows.iter().all(|line| line.matches(" | ").count() == 6 || line.starts_with("|---")));
    let json = dwell(&["compare", a, b, "--json", "--metric", "metric_1"], "100");
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(json["differences"].as_array().unwrap().len() > 50);
    assert_eq!(json["before"]["processes"][0], 70);
    let junit = text(&dwell(&["compare", a, a, "--junit"], "100").stdout);
    assert!(junit.starts_with("<?xml") && junit.contains("failures=\"0\""), "{junit}");
    assert!(junit.contains("name=\"Length of the run\""), "{junit}");
    assert!(!junit.contains("\\u{a}") && junit.contains("shutdown\n1 run before"), "{junit}");
    let series = dwell(&["compare", "--series", a, b], "80");
    assert_eq!(series.status.code(), Some(0));
    assert!(text(&series.stdout).starts_with("processes"), "{}", text(&series.stdout));
}

#[test]
fn messages_say_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.cubex");
    synth(&file, &[]);
    let file = path(&file);
    for (args, expected) in [
        (vec!["report", file, "--metric", "nonsense"], "--metrics lists them"),
        (vec!["report", file, "--path", "nonsense"], "no call path `nonsense`"),
        (vec!["export", file, "-o", "x.cubex"], "a report needs --path PATH or --merge"),
        (vec!["export", file, "-o", "x"], "the name says no format"),
        (
            vec!["export", file, "-o", "x.html", "--merge"],
            "--path and --merge are for --format cubex",
        ),
        (vec!["report", file, "--color", "never"], "--color is gone: use NO_COLOR=1"),
        (vec!["instrument", "x.f90"], "dwell instrument is gone: use dwell build sources"),
        (vec!["report", "nothing.cubex"], "nothing.cubex"),
    ] {
        let output = dwell(&args, "100");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    let directory = dwell(&["report", path(directory.path())], "100");
    assert_eq!(directory.status.code(), Some(0), "the only report of a directory is found");
}

/// Output for programs has trees with children, and one table in each file of comma-separated values.
#[test]
fn tables_for_programs() {
    let file = reference("mpi_waits/scout.cubex");
    let csv = |options: &[&str]| {
        let output = dwell(&[&["report", path(&file), "--csv"], options].concat(), "100");
        let lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
        // Texts in quotes may have commas.
        let cells = |line: &String| -> usize {
            line.split('"').step_by(2).map(|part| part.matches(',').count()).sum()
        };
        assert!(lines.iter().all(|line| cells(line) == cells(&lines[0])), "{lines:?}");
        assert!(lines.iter().all(|line| !line.contains('█')), "{lines:?}");
        lines
    };
    assert_eq!(csv(&[])[0], "value,share,imbalance,site,call_path");
    assert_eq!(csv(&["--spread"])[0], "value,share,location");
    assert_eq!(csv(&["--metrics"])[0], "level,value,unit,metric_title,metric");
    let tree = csv(&["--tree", "time", "--top", "1000", "--depth", "100"]);
    assert_eq!(tree[0], "level,inclusive,share,own,site,call_path,call");
    let options = ["report", path(&file), "--json", "--tree", "time", "--top", "1000"];
    let json = dwell(&[&options[..], &["--depth", "100"]].concat(), "100");
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let rows = support::flat(&json["tree"]);
    assert_eq!(rows.len() + 1, tree.len());
    for row in rows {
        let call = row["call"].as_str().unwrap();
        assert_eq!(call, call.trim());
        assert!(row["call_path"].as_str().unwrap().ends_with(call));
        let sum: f64 = row["children"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["inclusive"].as_f64().unwrap())
            .sum();
        let (whole, own) = (row["inclusive"].as_f64().unwrap(), row["own"].as_f64().unwrap());
        assert!((sum + own - whole).abs() < 1e-9, "{call}: {sum} and {own} of {whole}");
    }
}

/// The page about tables of a report lists the columns of every table.
#[test]
fn the_page_lists_the_columns_of_tables() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/report.md");
    let page = std::fs::read_to_string(page).unwrap();
    let file = reference("mpi_waits/scout.cubex");
    for options in
        [&[][..], &["--metric", "time"], &["--tree", "time"], &["--spread"], &["--metrics"]]
    {
        let output = dwell(&[&["report", path(&file), "--json"], options].concat(), "100");
        let tables: Value = serde_json::from_slice(&output.stdout).unwrap();
        for (name, rows) in tables.as_object().unwrap() {
            let mark = format!("| `{name}`");
            let line = page.lines().find(|line| line.contains(&mark)).unwrap_or_default();
            let columns = line.split('|').nth(4).unwrap_or_default();
            let mut listed: Vec<&str> =
                columns.split(", ").map(|it| it.trim().trim_matches('`')).collect();
            listed.sort_unstable();
            let row = rows[0].as_object().unwrap();
            let made: Vec<&str> =
                row.keys().map(String::as_str).filter(|it| *it != "children").collect();
            assert_eq!(listed, made, "{name}");
        }
    }
}

/// Makes an archive of a solver or of another kind, and analyses it.
fn analysed(directory: &Path, kind: &str, ranks: &str) -> PathBuf {
    let archive = directory.join(format!("{kind}{ranks}"));
    for args in
        [&["synth", kind, "--ranks", ranks, "-o", path(&archive)][..], &["analyze", path(&archive)]]
    {
        let output = dwell(args, "100");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    archive
}

#[test]
fn runs_with_different_numbers_of_processes_are_compared_by_process() {
    let directory = tempfile::tempdir().unwrap();
    let [two, four] = ["2", "4"].map(|ranks| analysed(directory.path(), "sor", ranks));
    let output = text(&dwell(&["compare", path(&two), path(&four)], "200").stdout);
    assert!(output.contains("2 processes before and 4 after: a speedup of 1.00"), "{output}");
    assert!(output.contains("waits of each process: "), "{output}");
    assert!(output.contains("(finding 1 before, 1 after)"), "{output}");
    let same = text(&dwell(&["compare", path(&two), path(&two)], "200").stdout);
    assert!(!same.contains("speedup") && same.contains("waits over all locations"), "{same}");
}

#[test]
fn a_series_has_the_waits_of_every_run_whatever_their_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let runs =
        [("ring", "2"), ("sor", "4")].map(|(kind, ranks)| analysed(directory.path(), kind, ranks));
    let [a, b] = [path(&runs[0]), path(&runs[1])];
    let output = dwell(&["compare", "--series", a, b, "--json"], "100");
    let series: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (run, row) in runs.iter().zip(series["runs"].as_array().unwrap()) {
        let findings = std::fs::read(run.join("findings.json")).unwrap();
        let findings: Value = serde_json::from_slice(&findings).unwrap();
        let [waits, time] =
            ["waits_seconds", "run_seconds"].map(|it| findings[it].as_f64().unwrap());
        let waiting = row["waiting"].as_f64().unwrap();
        assert!(waits > 0.0 && (waiting - waits / time).abs() < 1e-9, "{row}: {waits} of {time}");
    }
}
