//! Parts of archives are archives: balanced, complete, and readable by other tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use otf2::{Archive, Event};
use serde_json::Value;

use super::tables::query;
use super::{analyzed, export, python, synthetic};
use crate::needs;
use crate::support::{copy, dwell, path, text};

/// Number of calls and of events of each location. Fails if enters and leaves are not balanced, or times lie outside of the span.
fn balanced(directory: &Path, span: std::ops::RangeInclusive<u64>) -> BTreeMap<u64, (u64, u64)> {
    let archive = Archive::open(directory).unwrap();
    let definitions = archive.definitions().unwrap();
    let mut found = BTreeMap::new();
    for location in definitions.locations() {
        let (mut stack, mut calls, mut count) = (Vec::new(), 0, 0);
        let (mut begun, mut sends, mut receives) = (0_i64, 0_i64, 0_i64);
        let mut events = archive.events(location.id).unwrap();
        while let Some(record) = events.next().unwrap() {
            assert!(span.contains(&record.time.0), "{} is outside of {span:?}", record.time);
            count += 1;
            match record.event {
                Event::Enter(it) => {
                    stack.push(it.region);
                    calls += 1;
                }
                Event::Leave(it) => assert_eq!(stack.pop(), Some(it.region)),
                Event::MpiCollectiveBegin(_) | Event::RmaCollectiveBegin(_) => begun += 1,
                Event::MpiCollectiveEnd(_) | Event::RmaCollectiveEnd(_) => begun -= 1,
                Event::MpiIsend(_) => sends += 1,
                Event::MpiIsendComplete(_) => sends -= 1,
                Event::MpiIrecvRequest(_) => receives += 1,
                Event::MpiIrecv(_) | Event::MpiRequestCancelled(_) => receives -= 1,
                _ => {}
            }
            assert!(begun >= 0 && sends >= 0 && receives >= 0, "something ends that did not begin");
        }
        assert!(stack.is_empty(), "calls of {:?} are left", location.id);
        assert_eq!(begun, 0, "collectives of {:?} end", location.id);
        assert_eq!(count, location.number_of_events);
        found.insert(location.id.0, (calls, count));
    }
    found
}

/// Requires that otf2-print reads an archive without complaint.
fn printed(directory: &Path) {
    if needs::tools("OTF2", &["otf2-print"]) {
        let archive = directory.join("traces.otf2");
        let output = Command::new("otf2-print").arg(&archive).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    }
}

fn info(directory: &Path) -> Value {
    serde_json::from_slice(&dwell(&["info", path(directory), "--json"]).stdout).unwrap()
}

#[test]
fn a_span_of_a_run_is_an_archive_with_the_waits_of_the_run() {
    let directory = tempfile::tempdir().unwrap();
    for args in [
        &["ring", "--ranks", "8", "--steps", "40"][..],
        &["sor", "--ranks", "8", "--iterations", "30"],
        &["srumma", "--ranks", "8", "--blocks", "8", "--rounds", "6"],
        &["halo", "--ranks", "8", "--rounds", "10"],
        &["random", "--ranks", "7", "--segments", "12", "--operations", "30"],
    ] {
        let name = args[0];
        let (run, part) =
            (directory.path().join(name), directory.path().join(format!("{name}-part")));
        synthetic(&run, args);
        let about = info(&run);
        let (first, last) =
            (about["first_time"].as_u64().unwrap(), about["last_time"].as_u64().unwrap());
        let (from, to) = ((last - first) / 10 * 3, (last - first) / 10 * 7);
        let times = (format!("{from}ns"), format!("{to}ns"));
        export(&run, &["--format=otf2", "-o", path(&part), "--from", &times.0, "--to", &times.1]);
        let found = balanced(&part, first + from..=first + to);
        assert!(found.values().all(|it| it.0 > 1), "{name}: {found:?}");
        printed(&part);
        let records = info(&part)["records"].clone();
        let count = |of: &str| records[of].as_u64().unwrap_or(0);
        let (sent, received) =
            (count("MpiSend") + count("MpiIsend"), count("MpiRecv") + count("MpiIrecv"));
        assert!(received <= sent, "{name}: messages have both ends");
        assert!(name != "ring" || received == sent && sent > 0, "{name}: {sent}, {received}");
        analyzed(&part);
        if python("TABLES", "duckdb").is_none() {
            continue;
        }
        // Waits whose calls lie in the span, and began late enough for what they waited for to lie there too.
        let (all, cut) = (directory.path().join("all"), directory.path().join("cut"));
        export(&run, &["--format=parquet", "-o", path(&all)]);
        export(&part, &["--format=parquet", "-o", path(&cut)]);
        let patterns =
            "('late_sender', 'late_receiver', 'nxn_wait', 'barrier_wait', 'late_partner')";
        let waits = |table: &Path, later: u64| {
            let (least, most) = ((to - from) / 10, (to - from) / 10 * 9);
            query(
                directory.path(),
                &format!(
                    "SELECT concat_ws(' ', pattern, location, on_location, from_ns - {later}, to_ns - {later}), wait_ns \
                     FROM '{}/waits.parquet' WHERE pattern IN {patterns} \
                     AND call_begin_ns - {later} BETWEEN {least} AND {most} AND call_end_ns - {later} <= {most}",
                    table.display()
                ),
            )
        };
        let (expected, found) = (waits(&all, from), waits(&cut, 0));
        assert!(!expected.is_empty(), "{name}");
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_cut_without_limits_is_the_archive() {
    let directory = tempfile::tempdir().unwrap();
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/archives");
    for name in ["shmem-and-mpi", "openmpi-tcp-mixed", "coarrays-critical", "armci-waits"] {
        let (run, part) =
            (directory.path().join(name), directory.path().join(format!("{name}-part")));
        copy(&archives.join(name), &run);
        let told = export(&run, &["--format=otf2", "-o", path(&part)]);
        let (before, after) = (info(&run), info(&part));
        for of in ["events", "records", "locations", "first_time", "last_time", "creator"] {
            assert_eq!(after[of], before[of], "{name}: {of}: {told}");
        }
        printed(&part);
        analyzed(&part);
        analyzed(&run);
        let waits = |it: &Path| {
            let bytes = std::fs::read(it.join("findings.json")).unwrap();
            serde_json::from_slice::<Value>(&bytes).unwrap()["findings"].clone()
        };
        assert_eq!(waits(&part), waits(&run), "{name}");
    }
}

#[test]
fn locations_and_calls_are_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let (run, part) = (directory.path().join("run"), directory.path().join("part"));
    synthetic(&run, &["random", "--ranks", "6", "--segments", "10", "--operations", "20"]);
    export(
        &run,
        &["--format=otf2", "-o", path(&part), "--locations", "1-2,4", "--regions", "shmem_get*"],
    );
    let found = balanced(&part, 0..=u64::MAX);
    let with_events: Vec<u64> = found.iter().filter(|it| it.1.1 > 0).map(|it| *it.0).collect();
    assert_eq!(with_events, [1, 2, 4]);
    assert_eq!(found.len(), 6, "definitions are kept");
    let records = info(&part)["records"].clone();
    let names: Vec<&String> = records.as_object().unwrap().keys().collect();
    assert_eq!(names, ["Enter", "Leave", "RmaGet", "RmaOpCompleteBlocking"]);
    printed(&part);
    analyzed(&part);

    let analysed = dwell(&["analyze", path(&part)]);
    assert!(text(&analysed.stderr).contains("locations have no events: partners are missing"));
    let again = dwell(&["export", path(&run), "--format=otf2", "-o", path(&part)]);
    assert_eq!(again.status.code(), Some(2), "an archive is not overwritten");
    let late = directory.path().join("late");
    let output = dwell(&["export", path(&run), "--format=otf2", "-o", path(&late), "--from", "1h"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!late.exists(), "nothing is written: {}", text(&output.stderr));
}

#[test]
fn a_damaged_archive_is_exported_up_to_the_damage() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    synthetic(&run, &["halo", "--ranks", "4", "--rounds", "40"]);
    let file = run.join("traces/2.evt");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0xee);
    std::fs::write(&file, bytes).unwrap();
    let (tables, trace) = (directory.path().join("tables"), directory.path().join("run.pftrace"));
    let part = directory.path().join("part");
    for args in [
        ["--format=parquet", "-o", path(&tables)],
        ["--format=perfetto", "-o", path(&trace)],
        ["--format=otf2", "-o", path(&part)],
    ] {
        let output = dwell(&[&["export", path(&run)], &args[..]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert!(told.contains("damaged: ") && told.contains("2.evt"), "{args:?}: {told}");
    }
    let found = balanced(&part, 0..=u64::MAX);
    // Nothing of a chunk with a wrong checksum is used.
    assert!(found.get(&2).map_or(0, |it| it.1) < found[&1].1, "{found:?}");
}
