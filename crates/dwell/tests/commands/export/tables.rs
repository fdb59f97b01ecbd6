//! Tables have the rows and sums of the run, whoever reads them.

use std::collections::BTreeMap;
use std::path::Path;

use dwell_export::TABLES;
use serde_json::{Value, json};

use super::{analyzed, export, python, script, synthetic};
use crate::support::{command, copy, dwell, path, text};

/// Reads all tables in a directory with four readers, and requires that they agree.
fn read(directory: &Path) -> Option<Value> {
    let mut python = python("TABLES", "pyarrow, pandas, polars, duckdb")?;
    let output = python.arg(script("read.py")).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (table, of) in found.as_object().unwrap() {
        for what in ["rows", "sums"] {
            let readers = of[what].as_object().unwrap();
            assert_eq!(readers.len(), 4);
            for (reader, it) in readers {
                assert_eq!(it, &readers["pyarrow"], "{table}: {what} of {reader}");
            }
        }
    }
    Some(found)
}

/// Requires that tables have the columns that the schema says.
fn check_columns(found: &Value, with_events: bool) {
    let written = TABLES.iter().filter(|it| with_events || it.name != "events");
    let names: Vec<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
    let mut wanted: Vec<&str> = written.clone().map(|it| it.name).collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    for table in written {
        let types = |name| match name {
            "INT32" => "int32",
            "INT64" => "int64",
            "DOUBLE" => "double",
            _ => "string",
        };
        let columns = table.columns.iter();
        let columns = columns.map(|it| json!([it.name, types(it.kind.name()), it.is_optional]));
        assert_eq!(found[table.name]["columns"], columns.collect::<Value>(), "{}", table.name);
    }
}

fn rows(found: &Value, table: &str) -> u64 {
    found[table]["rows"]["pyarrow"].as_u64().unwrap()
}

fn sum(found: &Value, table: &str, column: &str) -> f64 {
    found[table]["sums"]["pyarrow"][column].as_f64().unwrap()
}

/// Returns what a query of `DuckDB` finds in the tables of a directory: names and numbers.
pub(crate) fn query(directory: &Path, query: &str) -> BTreeMap<String, Vec<i64>> {
    let code = "import duckdb, json, sys\n\
                print(json.dumps({row[0]: [int(it or 0) for it in row[1:]] for row in duckdb.sql(sys.argv[1]).fetchall()}))";
    let mut python = python("TABLES", "duckdb").unwrap();
    let output = python.args(["-c", code, query]).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn all_readers_find_what_synthetic_runs_have() {
    let directory = tempfile::tempdir().unwrap();
    for args in [
        &["random", "--ranks", "7", "--segments", "12", "--operations", "30"][..],
        &["srumma", "--ranks", "8", "--blocks", "8", "--rounds", "4"],
        &["ring", "--ranks", "8", "--steps", "20"],
        &["halo", "--ranks", "8", "--rounds", "10"],
        &["sor", "--ranks", "8", "--iterations", "20"],
    ] {
        let name = args[0];
        let run = directory.path().join(name);
        let tables = directory.path().join(format!("{name}-tables"));
        let truth = synthetic(&run, args);
        export(&run, &["--format=parquet", "-o", path(&tables), "--events"]);
        let Some(found) = read(&tables) else { return };
        check_columns(&found, true);
        let total = |of: &str| truth["totals"][of].as_i64().unwrap();
        assert_eq!(rows(&found, "locations") as i64, total("locations"), "{name}");
        assert_eq!(rows(&found, "events") as i64, total("events"), "{name}");
        assert_eq!(sum(&found, "locations", "events") as i64, total("events"), "{name}");

        let all = "SELECT kind, count(*), sum(bytes), count(completion_ns), count(call_path), count(partner) \
                   FROM 'operations.parquet' GROUP BY kind";
        let operations = query(&tables, all);
        let messages = (total("messages"), total("bytes_sent"));
        for (kind, count, bytes) in [
            ("put", total("puts"), Some(total("bytes_put"))),
            ("get", total("gets"), Some(total("bytes_get"))),
            ("atomic", total("atomics"), None),
            ("lock", total("locks"), Some(0)),
            ("send", messages.0, Some(messages.1)),
            ("receive", messages.0, Some(messages.1)),
        ] {
            let row = operations.get(kind).cloned().unwrap_or_else(|| vec![0; 5]);
            assert_eq!(row[0], count, "{name}: {kind}");
            assert!(bytes.is_none_or(|it| it == row[1]), "{name}: bytes of {kind}: {row:?}");
            assert_eq!(
                row[2..],
                [count; 3],
                "{name}: {kind} completes on a call path with a partner"
            );
        }
        let joined = query(
            &tables,
            "SELECT 'messages', count(*) FROM 'operations.parquet' s JOIN 'operations.parquet' r \
             ON s.location = r.partner AND s.partner = r.location AND s.communicator = r.communicator \
             AND s.tag = r.tag AND s.message = r.message AND s.bytes = r.bytes \
             WHERE s.kind = 'send' AND r.kind = 'receive'",
        );
        assert_eq!(joined["messages"][0], messages.0, "{name}: every send has its receive");

        // Waits have the severities of the closed form, and operations those of waits for progress and messages.
        let all = "SELECT pattern, sum(wait_ns), count(*) - count(call_path) FROM 'waits.parquet' GROUP BY pattern";
        let waits = query(&tables, all);
        assert!(waits.values().all(|it| it[1] == 0), "{name}: {waits:?}");
        // Completion times have no culprit, and parts of a wait count as the whole.
        let is_row = |it: &str| !it.ends_with("completion") && it != "late_sender_wrong_order";
        if let Some(severities) = truth["severities_ns"].as_object() {
            for (pattern, severity) in severities.iter().filter(|it| is_row(it.0)) {
                let found = waits.get(pattern).map_or(0, |it| it[0]);
                assert_eq!(Some(found), severity.as_i64(), "{name}: {pattern}");
            }
        }
        let of = |patterns: &[&str]| -> i64 {
            patterns.iter().filter_map(|it| waits.get(*it)).map(|it| it[0]).sum()
        };
        let between_two = ["late_sender", "late_receiver", "wait_for_progress", "lock_contention"];
        let several = ["wait_for_progress_multi"];
        let found_waits = sum(&found, "operations", "wait_ns") as i64;
        let (least, most) = (of(&between_two), of(&between_two) + of(&several));
        assert!((least..=most).contains(&found_waits), "{name}: {found_waits}, {least} to {most}");

        let findings: Value =
            serde_json::from_slice(&std::fs::read(run.join("findings.json")).unwrap()).unwrap();
        let list = findings["findings"].as_array().unwrap();
        assert_eq!(rows(&found, "findings"), list.len() as u64);
        let seconds: f64 = list.iter().map(|it| it["seconds"].as_f64().unwrap()).sum();
        assert!((sum(&found, "findings", "wait_s") - seconds).abs() < 1e-9);

        // The exclusive values of all call paths and locations are the total of the report.
        let values = query(
            &tables,
            "SELECT metric, sum(CASE unit WHEN 'sec' THEN round(value * 1e9) ELSE value END) \
             FROM 'values.parquet' GROUP BY metric",
        );
        let time = (findings["time_seconds"].as_f64().unwrap() * 1e9).round() as i64;
        assert_eq!(values["time"][0], time, "{name}");
        assert!(rows(&found, "metrics") >= values.len() as u64);
    }
}

#[test]
fn recorded_archives_of_all_runtimes_become_tables() {
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/archives");
    let directory = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(archives).unwrap() {
        let entry = entry.unwrap();
        if !entry.path().is_dir() {
            continue;
        }
        let name = entry.file_name().into_string().unwrap();
        let run = directory.path().join(&name);
        copy(&entry.path(), &run);
        analyzed(&run);
        let tables = run.join("tables");
        let told = export(&run, &["--format=parquet", "-o", path(&tables), "--events"]);
        let info: Value =
            serde_json::from_slice(&dwell(&["info", path(&run), "--json"]).stdout).unwrap();
        let events = info["events"].as_u64().unwrap();
        let told: String = told.chars().filter(|it| *it != ',').collect();
        assert!(told.contains(&format!("events.parquet: {events} rows")), "{name}: {told}");
        if python("TABLES", "duckdb").is_none() {
            continue;
        }
        let records = query(&tables, "SELECT event, count(*) FROM 'events.parquet' GROUP BY event");
        let info = info["records"].as_object().unwrap();
        let wanted: BTreeMap<String, Vec<i64>> =
            info.iter().map(|(name, it)| (name.clone(), vec![it.as_i64().unwrap()])).collect();
        assert_eq!(records, wanted, "{name}");
        let waits = query(
            &tables,
            "SELECT pattern, count(*) - count(call_path), sum(wait_ns) FROM 'waits.parquet' GROUP BY pattern",
        );
        let findings: Value =
            serde_json::from_slice(&std::fs::read(run.join("findings.json")).unwrap()).unwrap();
        for (pattern, it) in waits {
            assert_eq!(it[0], 0, "{name}: {pattern} has waits without a call path");
            let found = findings["findings"].as_array().unwrap().iter();
            let found = found.filter(|it| it["pattern"] == pattern.as_str());
            let seconds: f64 = found.map(|it| it["seconds"].as_f64().unwrap()).sum();
            assert!(it[1] as f64 <= seconds * 1e9 + 1.0, "{name}: {pattern}: {it:?}, {seconds}");
        }
    }
}

#[test]
fn samples_have_the_processor_time_of_functions() {
    let kinds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kinds");
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("sampled");
    copy(&kinds.join("sampled"), &run);
    analyzed(&run);
    let tables = run.join("tables");
    export(&run, &["--format=parquet", "-o", path(&tables)]);
    let findings: Value =
        serde_json::from_slice(&std::fs::read(run.join("findings.json")).unwrap()).unwrap();
    if python("TABLES", "duckdb").is_none() {
        return;
    }
    let found = query(
        &tables,
        "SELECT function, count(*), sum(cpu_ns), min(line) FROM 'samples.parquet' \
         WHERE function IS NOT NULL GROUP BY function",
    );
    let listed = findings["functions"]["list"].as_array().unwrap();
    assert!(!listed.is_empty());
    for it in listed {
        let row = &found[it["function"].as_str().unwrap()];
        let seconds = it["seconds"].as_f64().unwrap();
        assert_eq!(row[0], it["samples"].as_i64().unwrap());
        assert!((row[1] as f64 / 1e9 - seconds).abs() < 1e-6, "{it}: {row:?}");
        assert!(row[2] > 0, "{it}: {row:?}");
    }
}

#[test]
fn tables_have_the_same_bytes_for_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    synthetic(&run, &["halo", "--ranks", "12", "--rounds", "300"]);
    let mut all = Vec::new();
    for threads in ["1", "5"] {
        let tables = directory.path().join(threads);
        let args = ["export", path(&run), "--format=parquet", "-o", path(&tables), "--events"];
        let output = command("100").args(args).env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let of = |name| std::fs::read(tables.join(format!("{name}.parquet"))).unwrap();
        all.push(TABLES.iter().map(|it| of(it.name)).collect::<Vec<_>>());
    }
    for (table, (one, other)) in TABLES.iter().zip(all[0].iter().zip(&all[1])) {
        assert!(one == other, "{} depends on threads", table.name);
    }
}

#[test]
fn an_archive_without_dependency_log_is_analysed_again() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    synthetic(&run, &["ring", "--ranks", "4", "--steps", "10"]);
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    export(&run, &["--format=parquet", "-o", path(&first)]);
    std::fs::remove_dir_all(run.join("dwell-dependencies")).unwrap();
    export(&run, &["--format=parquet", "-o", path(&second)]);
    for name in ["waits.parquet", "operations.parquet"] {
        assert!(
            std::fs::read(first.join(name)).unwrap() == std::fs::read(second.join(name)).unwrap()
        );
    }
    assert!(!first.join("events.parquet").exists(), "events are written on request only");
    std::fs::remove_file(run.join("trace.cubex")).unwrap();
    let third = directory.path().join("third");
    let output = dwell(&["export", path(&run), "--format=parquet", "-o", path(&third)]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("not analysed yet"), "{}", text(&output.stderr));
    let of = |tables: &Path| std::fs::read(tables.join("waits.parquet")).unwrap();
    assert!(of(&first) == of(&third));
}
