//! `dwell print` against `otf2-print`, line by line, and against itself.

mod everything;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, io};

use otf2::enums::LocationType;
use otf2::event::Enter;
use otf2::id::{LocationGroupRef, LocationRef, RegionRef, StringRef, Time};
use otf2::marker::MarkerRecord;
use otf2::snapshot::Snapshot;
use otf2::write::{ArchiveWriter, Options};
use otf2::{Definition, Event, def};
use serde_json::Value;

use crate::needs;

fn dwell(archive: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.arg("print").arg(archive).args(args);
    command.output().expect("the binary of this crate runs")
}

/// Returns the output of `dwell print` for a sound archive.
fn printed(archive: &Path, args: &[&str]) -> Vec<u8> {
    let output = dwell(archive, args);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{args:?}: {complaint}");
    output.stdout
}

/// Returns the output of `otf2-print`, or `None` if it is not installed.
fn otf2_print(archive: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("otf2-print");
    // Dates are those of the local time zone there, and of UTC here.
    command.env("TZ", "UTC").args(args).arg(archive.join("traces.otf2"));
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        output => output.expect("otf2-print runs"),
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "otf2-print {args:?}: {} {complaint}", output.status);
    assert!(complaint.is_empty(), "otf2-print {args:?}: {complaint}");
    Some(output.stdout)
}

/// Splits output into lines, without the banner and blank lines.
fn lines(text: &[u8]) -> Vec<String> {
    let lines = text.split(|&b| b == b'\n').map(|line| line.escape_ascii().to_string());
    lines.filter(|line| !line.is_empty() && line != "=== OTF2-PRINT ===").collect()
}

/// Compares the two programs. Returns the number of lines, or `None` if there is nothing to compare.
fn compare(archive: &Path, theirs: &[&str], ours: &[&str]) -> Option<usize> {
    let Some(expected) = otf2_print(archive, theirs) else {
        needs::missing("OTF2", "there is no otf2-print");
        return None;
    };
    let (expected, found) = (lines(&expected), lines(&printed(archive, ours)));
    for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
        assert_eq!(found, expected, "line {number} of {}, {ours:?}", archive.display());
    }
    assert_eq!(found.len(), expected.len(), "{}, {ours:?}", archive.display());
    Some(found.len())
}

/// A directory that is removed when the value is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("dwell-print-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What a test fails on is worth a look.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Writes the archive with every record. Returns its directory and the number of its events.
fn everything(name: &str) -> (Scratch, u64) {
    let scratch = Scratch::new(name);
    let events = everything::write(&scratch.0).expect("the archive can be written");
    (scratch, events)
}

/// Returns the archives that Score-P wrote.
fn measured() -> Vec<PathBuf> {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference");
    ["mpi_waits", "shmem_ops", "shmem_ops_tcp"].iter().map(|name| reference.join(name)).collect()
}

/// Options for the same section of both programs.
const SECTIONS: &[(&[&str], &[&str])] = &[
    (&[], &[]),
    (&["-G"], &["-s", "definitions"]),
    (&["-I"], &["-s", "anchor"]),
    (&["-M"], &["-s", "mappings"]),
    (&["-C"], &["-s", "clock-offsets"]),
    (&["-M", "-C"], &["-s", "mappings,clock-offsets"]),
    (&["-L", "1"], &["-l", "1"]),
    (&["-M", "-L", "1"], &["-s", "mappings", "-l", "1"]),
];

#[test]
fn measured_archives_look_as_in_otf2_print() {
    for archive in measured() {
        for (theirs, ours) in SECTIONS {
            if compare(&archive, theirs, ours).is_none() {
                return;
            }
        }
    }
}

#[test]
fn every_record_looks_as_in_otf2_print() {
    let (scratch, events) = everything("otf2");
    let Some(found) = compare(&scratch.0, &["--no-snapshots"], &[]) else {
        return;
    };
    assert!(found as u64 > events);
    for (theirs, ours) in &SECTIONS[1..] {
        let mut theirs = theirs.to_vec();
        theirs.push("--no-snapshots");
        compare(&scratch.0, &theirs, ours);
    }
    compare(&scratch.0, &[], &["-s", "events,snapshots"]);
    compare(&scratch.0, &["-A"], &["-s", "anchor,definitions,events,snapshots"]);
    compare(
        &scratch.0,
        &["--no-snapshots", "--time", "1000100", "1000600"],
        &["--from", "1000100", "--to", "1000600"],
    );
}

#[test]
fn the_archive_has_every_record() {
    let (scratch, _) = everything("complete");
    let mut seen = BTreeSet::new();
    for object in json(&scratch.0, &["-s", "all"]) {
        for family in ["record", "definition", "snapshot", "marker_record"] {
            if let Some(kind) = object[family].as_str() {
                seen.insert((family, kind.to_owned()));
            }
        }
    }
    for (family, kinds) in [
        ("record", Event::KINDS),
        ("definition", Definition::KINDS),
        ("snapshot", Snapshot::KINDS),
        ("marker_record", MarkerRecord::KINDS),
    ] {
        for (_, kind) in kinds {
            assert!(seen.contains(&(family, (*kind).to_owned())), "{family} {kind}");
        }
    }
}

fn json(archive: &Path, args: &[&str]) -> Vec<Value> {
    let args = [args, &["--json"]].concat();
    let text = String::from_utf8(printed(archive, &args)).expect("JSON is UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn number(object: &Value, key: &str) -> u64 {
    object[key].as_u64().expect(key)
}

#[test]
fn json_has_every_event_in_order() {
    let (scratch, events) = everything("json");
    let all = json(&scratch.0, &[]);
    assert_eq!(all.len() as u64, events);
    let order = |object: &Value| {
        (number(object, "time"), number(object, "location"), number(object, "number"))
    };
    assert!(all.iter().map(order).is_sorted());

    let put = all.iter().find(|object| object["record"] == "RmaPut" && object["remote"].is_null());
    let put = put.expect("a put to nowhere");
    assert!(put["win"].is_number() && put["matching_id"].is_number());
    assert!(put["attributes"].is_array());
    let create = all.iter().find(|object| {
        object["record"] == "IoCreateHandle"
            && object["status_flags"].as_array().is_some_and(|flags| flags.len() == 2)
    });
    assert_eq!(create.expect("two flags")["status_flags"][0], "CLOSE_ON_EXEC");
}

#[test]
fn filters_select_what_they_say() {
    let (scratch, _) = everything("filters");
    let all = json(&scratch.0, &[]);
    let expect = |args: &[&str], wanted: &dyn Fn(&Value) -> bool| {
        let found = json(&scratch.0, args);
        let expected: Vec<_> = all.iter().filter(|object| wanted(object)).cloned().collect();
        assert!(!expected.is_empty(), "{args:?} selects nothing");
        assert!(found == expected, "{args:?}: {} found, {} expected", found.len(), expected.len());
    };
    let location = |object: &Value| number(object, "location");
    let time = |object: &Value| number(object, "time");
    let big = everything::LOCATIONS[2].0;
    expect(&["-l", "1"], &|object| location(object) == 1);
    expect(&["-l", "0,1"], &|object| location(object) < 2);
    expect(&["-l", "0-1000", "-l", "0"], &|object| location(object) < 2);
    expect(&["-l", &big.to_string()], &|object| location(object) == big);
    expect(&["-r", "RmaGet"], &|object| object["record"] == "RmaGet");
    expect(&["-r", "rma_get", "-r", "PARAMETER_INT64"], &|object| {
        object["record"] == "RmaGet" || object["record"] == "ParameterInt"
    });
    expect(&["--from", "1000200", "--to", "1000300"], &|object| {
        (1_000_200..=1_000_300).contains(&time(object))
    });
    // The clock has a nanosecond a tick, and the trace begins at 1,000,000.
    expect(&["--from", "0.5us", "--to", "0.001ms"], &|object| {
        (1_000_500..=1_001_000).contains(&time(object))
    });
    for from in ["0", "1000000", "1000777", "1001500"] {
        let least: u64 = from.parse().expect("a number");
        expect(&["-l", "1", "--from", from, "-r", "Enter"], &|object| {
            location(object) == 1 && time(object) >= least && object["record"] == "Enter"
        });
    }
    let mut sorted = all.clone();
    sorted.sort_by_key(|object| (location(object), number(object, "number")));
    assert!(json(&scratch.0, &["--by-location"]) == sorted);
    assert!(json(&scratch.0, &["--limit", "10"]) == all[..10]);
    assert!(json(&scratch.0, &["--limit", "0"]).is_empty());
}

#[test]
fn text_and_json_have_the_same_records() {
    let (scratch, _) = everything("both");
    for args in [
        &["--by-location"][..],
        &["-s", "definitions"],
        &["-s", "markers"],
        &["-s", "snapshots", "--by-location"],
    ] {
        let objects = json(&scratch.0, args).len();
        let text = printed(&scratch.0, args);
        let records = lines(&text).iter().filter(|line| !line.starts_with([' ', '=', '-'])).count();
        // The line of column titles is none.
        assert_eq!(records - 1, objects, "{args:?}");
    }
}

/// Writes the archive with every record and damages one of its files.
fn damaged(name: &str, file: &str, harm: impl FnOnce(&Path)) -> (Scratch, u64) {
    let (scratch, events) = everything(name);
    harm(&scratch.0.join(file));
    (scratch, events)
}

fn cut(path: &Path) {
    let bytes = fs::read(path).expect("the file is there");
    fs::write(path, &bytes[..bytes.len() / 2]).expect("the file can be written");
}

/// Runs `dwell print` and checks exit code and messages. Returns the lines of output.
fn check(archive: &Path, args: &[&str], code: i32, says: &str) -> Vec<String> {
    let output = dwell(archive, args);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {complaint}");
    assert!(complaint.contains(says), "{args:?}: {complaint}");
    lines(&output.stdout)
}

#[test]
fn damage_is_told_and_the_rest_is_printed() {
    let merged = &["--json"][..];
    let by_location = &["--json", "--by-location"][..];

    let (archive, events) = damaged("cut", "traces/1.evt", cut);
    for args in [merged, by_location] {
        let says = "traces/1.evt: location 1: byte ";
        let printed = check(&archive.0, args, 1, says).len() as u64;
        assert!(events / 3 * 2 < printed && printed < events, "{printed} of {events}");
        check(&archive.0, args, 1, "dwell: warning: ");
    }
    check(&archive.0, &["-l", "0"], 0, "");

    let remove = |path: &Path| fs::remove_file(path).expect("the file is there");
    let (archive, events) = damaged("gone", "traces/1.evt", remove);
    for args in [merged, by_location] {
        let printed = check(&archive.0, args, 1, "traces/1.evt").len() as u64;
        assert_eq!(printed, events / 3 * 2);
    }

    let (archive, _) = damaged("local", "traces/1.def", cut);
    for args in [merged, by_location, &["-s", "mappings"]] {
        assert!(check(&archive.0, args, 1, "traces/1.def").len() > 3);
    }

    let (archive, _) = damaged("global", "traces.def", cut);
    let printed = check(&archive.0, &["-s", "definitions"], 1, "traces.def");
    assert!(printed.iter().any(|line| line.starts_with("STRING ")));
}

/// Number of events of the long archive.
const LONG: u64 = 80_000;

/// Writes an archive of one location whose events fill several chunks.
fn long(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let write = || {
        let options = Options { events_chunk: 256 << 10, ..Options::default() };
        let archive = ArchiveWriter::create(&scratch.0, "traces", options)?;
        let id = LocationRef(0);
        let mut events = archive.events(id)?;
        for number in 0..LONG {
            events.write(Time(1_000 + number), Enter { region: RegionRef(number as u32) })?;
        }
        let number_of_events = events.finish()?.events;
        let mut defs = archive.global_definitions()?;
        defs.write(def::Location {
            id,
            name: StringRef::UNDEFINED,
            location_type: LocationType::CpuThread,
            number_of_events,
            location_group: LocationGroupRef::UNDEFINED,
        })?;
        defs.finish()?;
        archive.finish()
    };
    write().expect("the archive can be written");
    scratch
}

#[test]
fn a_long_location_is_searched_by_time() {
    let archive = long("long");
    for first in [0_u64, 1_000, 1_001, 30_000, 45_678, 80_999, 81_000, 300_000] {
        let found = json(&archive.0, &["--from", &first.to_string(), "--to", "60000"]);
        let times: Vec<_> = found.iter().map(|object| number(object, "time")).collect();
        let expected: Vec<_> = (first.max(1_000)..=60_000).collect();
        assert!(times == expected, "from {first}: {} found", times.len());
    }
}

#[test]
fn what_stands_behind_damage_is_printed() {
    let archive = long("behind");
    let path = archive.0.join("traces/0.evt");
    let mut bytes = fs::read(&path).expect("the file is there");
    let at = (2 << 18) + 5_000;
    bytes[at..at + 64].fill(0xFF);
    fs::write(&path, bytes).expect("the file can be written");
    for args in [&["--json"][..], &["--json", "--from", "20000"]] {
        let printed = check(&archive.0, args, 1, "traces/0.evt: location 0: byte ");
        assert!(printed.last().is_some_and(|line| line.contains(":80999,")), "{args:?}");
        let first = if args.len() == 2 { 1_000 } else { 20_000 };
        assert!(printed.len() as u64 > (1_000 + LONG - first) / 2);
        assert!((printed.len() as u64) < 1_000 + LONG - first);
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let (scratch, _) = everything("errors");
    let nothing = scratch.0.join("nothing");
    assert!(check(&nothing, &[], 2, "nothing").is_empty());
    assert!(check(&scratch.0, &["-l", "77"], 2, "no location 77").is_empty());
    assert!(check(&scratch.0, &["-r", "RmaGot"], 2, "RmaGot").is_empty());
    assert!(check(&scratch.0, &["--from", "soon"], 2, "soon").is_empty());
}

#[test]
fn the_help_explains_every_option() {
    let output = Command::new(env!("CARGO_BIN_EXE_dwell")).args(["print", "--help"]).output();
    let help = String::from_utf8(output.expect("help is printed").stdout).expect("UTF-8");
    for option in [
        "--sections",
        "clock-offsets",
        "--locations",
        "--by-location",
        "--from",
        "--to",
        "--record",
        "--limit",
        "--json",
        "Examples:",
    ] {
        assert!(help.contains(option), "{option}");
    }
}
