//! Traces of Perfetto have the calls, waits and operations of the run.

use std::path::Path;

use serde_json::Value;

use super::{analyzed, export, python, script, synthetic};
use crate::needs;
use crate::support::{command, copy, dwell, path, text};

/// Reads a trace of Perfetto, or returns `None` if nothing can.
fn read(file: &Path) -> Option<Value> {
    let mut python = python("PERFETTO", "perfetto.protos.perfetto.trace.perfetto_trace_pb2")?;
    python.arg(script("read_perfetto.py")).arg(file);
    match std::env::var_os("DWELL_TRACE_PROCESSOR") {
        Some(processor) => drop(python.arg(processor)),
        None => needs::missing("TRACE_PROCESSOR", "DWELL_TRACE_PROCESSOR is not set"),
    }
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn sum(of: &Value, prefix: &str) -> i64 {
    let all = of.as_object().unwrap().iter();
    all.filter(|it| it.0.starts_with(prefix)).map(|it| it.1.as_i64().unwrap()).sum()
}

#[test]
fn a_trace_of_perfetto_has_all_calls_waits_and_operations() {
    let directory = tempfile::tempdir().unwrap();
    for args in [
        &["random", "--ranks", "7", "--segments", "12", "--operations", "30"][..],
        &["ring", "--ranks", "8", "--steps", "20"],
        &["srumma", "--ranks", "8", "--blocks", "8", "--rounds", "4"],
    ] {
        let name = args[0];
        let run = directory.path().join(name);
        let truth = synthetic(&run, args);
        let file = directory.path().join(format!("{name}.pftrace"));
        export(&run, &["--format=perfetto", "-o", path(&file)]);
        let Some(found) = read(&file) else { return };
        let total = |of: &str| truth["totals"][of].as_i64().unwrap();
        let tables = directory.path().join(format!("{name}-tables"));
        let told = export(&run, &["--format=parquet", "-o", path(&tables)]);
        let told = told.lines().find_map(|it| it.split_once("waits.parquet: ")).unwrap().1;
        let waits: i64 = told.replace(',', "").trim_end_matches(" rows").parse().unwrap();
        let info: Value =
            serde_json::from_slice(&dwell(&["info", path(&run), "--json"]).stdout).unwrap();
        assert_eq!(sum(&found["slices"], "call: "), info["records"]["Enter"].as_i64().unwrap());
        assert_eq!(sum(&found["slices"], "wait: "), waits, "{name}");
        assert_eq!(sum(&found["instants"], "wait: "), waits, "{name}");
        let operations = total("puts") + total("gets") + total("atomics");
        let instants = 2 * operations + total("locks") + 2 * total("messages");
        assert_eq!(sum(&found["instants"], "operation: "), instants, "{name}");
        assert_eq!(sum(&found["bytes"], "get"), 2 * total("bytes_get"), "{name}");
        assert_eq!(sum(&found["bytes"], "send"), total("bytes_sent"), "{name}");
        let flows = operations + total("messages") + waits;
        assert_eq!(found["flows"].as_i64().unwrap(), flows, "{name}");
        assert_eq!((&found["flows_without_end"], &found["open"]), (&0.into(), &0.into()));
        assert!(found["depth"].as_u64().unwrap() > 1, "calls are nested");
        assert_eq!(found["threads"].as_array().unwrap().len() as i64, total("locations"));
        assert_eq!(found["first"], 0, "times count from the first event");
        let span = info["last_time"].as_i64().unwrap() - info["first_time"].as_i64().unwrap();
        assert_eq!(found["last"].as_i64().unwrap(), span);
    }
}

#[test]
fn recorded_archives_become_traces_of_perfetto_whose_bytes_do_not_depend_on_threads() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["shmem-and-mpi", "openmpi-tcp-mixed", "coarrays-critical", "armci-waits"] {
        let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/archives");
        let run = directory.path().join(name);
        copy(&archives.join(name), &run);
        analyzed(&run);
        let mut all = Vec::new();
        for threads in ["1", "3"] {
            let file = run.join(format!("{threads}.pftrace"));
            let args = ["export", path(&run), "--format=perfetto", "-o", path(&file)];
            let output = command("100").args(args).env("RAYON_NUM_THREADS", threads).output();
            let output = output.unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
            all.push(std::fs::read(&file).unwrap());
        }
        assert!(all[0] == all[1], "{name} depends on threads");
        let Some(found) = read(&run.join("1.pftrace")) else { return };
        let info: Value =
            serde_json::from_slice(&dwell(&["info", path(&run), "--json"]).stdout).unwrap();
        let enters = info["records"]["Enter"].as_i64().unwrap();
        assert_eq!(sum(&found["slices"], "call: "), enters, "{name}");
        assert_eq!(found["open"], 0, "{name}");
    }
}

#[test]
fn samples_are_instants_with_the_function_and_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kinds");
    let run = directory.path().join("sampled");
    copy(&kinds.join("sampled"), &run);
    analyzed(&run);
    let file = directory.path().join("sampled.pftrace");
    export(&run, &["--format=perfetto", "-o", path(&file)]);
    let bytes = std::fs::read(&file).unwrap();
    let has = |name: &str| bytes.windows(name.len()).any(|it| it == name.as_bytes());
    assert!(has("relax at samples.c:3"), "the name is interned");
    let Some(found) = read(&file) else { return };
    assert!(sum(&found["instants"], "sample: relax") > 20, "{}", found["instants"]);
}
