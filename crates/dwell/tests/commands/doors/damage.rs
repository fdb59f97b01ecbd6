//! Damaged archives and reports: every command reports them by its exit code and in words.

use std::fs;

use dwell_model::archive::DAMAGED;
use otf2::Archive;

use super::{Home, said};

/// Overwrites the beginning of a member of a report.
fn spoil(home: &Home, from: &str, to: &str, member: &str) {
    let mut bytes = fs::read(home.path(from)).unwrap();
    let name =
        |at: &usize| bytes[*at..].starts_with(member.as_bytes()) && bytes[at + member.len()] == 0;
    let header = (0..bytes.len()).step_by(512).find(name).unwrap();
    bytes[header + 512..header + 512 + 24].fill(0xff);
    fs::write(home.path(to), bytes).unwrap();
}

#[test]
fn an_export_of_a_damaged_report_says_so() {
    let home = Home::new();
    let made =
        home.dwell(&["synth", "report", "-o", "good.cubex", "--locations", "20", "--paths", "30"]);
    assert!(made.status.success(), "{}", said(&made));
    for member in ["0.index", "0.data"] {
        spoil(&home, "good.cubex", "bad.cubex", member);
        for args in [
            &["report", "bad.cubex"][..],
            &["compare", "good.cubex", "bad.cubex"],
            &["export", "bad.cubex", "--format=html", "-o", "out.html"],
            &["export", "good.cubex", "--compare", "bad.cubex", "--format=html", "-o", "out.html"],
        ] {
            let output = home.dwell(args);
            let wanted = if args[0] == "export" { 1 } else { 2 };
            assert_eq!(output.status.code(), Some(wanted), "{member} {args:?}: {}", said(&output));
            assert!(said(&output).contains(member), "{member} {args:?}: {}", said(&output));
        }
    }
    let output = home.dwell(&["export", "good.cubex", "--format=html", "-o", "out.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(output.stderr.is_empty(), "{}", said(&output));
}

/// Deletes two bytes of the events of location 0 so that the rest of the file still consists of valid records, one fewer
/// than there were.
fn lose_an_event(home: &Home) {
    let file = home.path("run/traces/0.evt");
    let whole = fs::read(&file).unwrap();
    // A checksum would tell.
    let mut anchor = Archive::open(home.path("run")).unwrap().anchor().clone();
    anchor.properties.clear();
    fs::write(home.path("run/traces.otf2"), anchor.to_bytes()).unwrap();
    // Few places are such that a reader does not stumble; the first of them is taken.
    for at in 18..whole.len() - 2 {
        let mut bytes = whole.clone();
        bytes.drain(at..at + 2);
        fs::write(&file, bytes).unwrap();
        let archive = Archive::open(home.path("run")).unwrap();
        let mut reader = archive.events(otf2::id::LocationRef(0)).unwrap();
        let mut count = 0;
        let end = loop {
            match reader.next() {
                Ok(Some(_)) => count += 1,
                end => break end.map(drop),
            }
        };
        let stated = archive.definitions().unwrap().locations().next().unwrap().number_of_events;
        if end.is_ok() && count + 1 == stated {
            return;
        }
    }
    panic!("no two bytes hide an event");
}

#[test]
fn every_command_says_that_events_are_missing() {
    let home = Home::with_archive();
    let analyzed = home.dwell(&["analyze", "run", "--full"]);
    assert!(analyzed.status.success(), "{}", said(&analyzed));
    lose_an_event(&home);
    let missing = "its definition states";
    let says = |args: &[&str]| {
        let output = home.dwell(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(missing), "{args:?}: {}", said(&output));
    };
    says(&["info", "run"]);
    says(&["print", "run"]);
    says(&["print", "run", "--by-location"]);
    // The archive is small, so that all of it is read.
    says(&["print", "run", "--limit", "1"]);
    says(&["print", "run", "--to", "0"]);
    says(&["print", "run", "--by-location", "--limit", "1"]);
    says(&["print", "run", "--by-location", "--from", "1s"]);
    says(&["timeline", "run", "-o", "run.svg"]);
    says(&["whatif", "run"]);
    says(&["export", "run", "--format=parquet", "-o", "tables"]);
    says(&["export", "run", "--format=perfetto", "-o", "run.pftrace"]);
    says(&["export", "run", "--format=otf2", "-o", "copy"]);
    // The copy is sound by itself, and says of what it is one.
    says(&["info", "copy"]);
    let copy = Archive::open(home.path("copy")).unwrap();
    assert!(copy.anchor().property(DAMAGED).is_some_and(|it| it.contains(missing)));
    // Reports that are made from it keep the damage.
    says(&["analyze", "run", "--full"]);
    says(&["report", "run"]);
    says(&["compare", "run", "run"]);
    says(&["timeline", "run"]);
    says(&["export", "run", "--format=html", "-o", "run.html"]);
    let listed = home.dwell(&["ls"]);
    assert!(said(&listed).lines().any(|it| it.contains("run") && it.ends_with("damaged")));
}

#[test]
fn findings_that_are_gone_are_missed() {
    let home = Home::with_archive();
    let answers = |wanted: i32, words: &str| {
        for args in [&["report", "run"][..], &["compare", "run", "run"]] {
            let output = home.dwell(args);
            assert_eq!(output.status.code(), Some(wanted), "{args:?}: {}", said(&output));
        }
        let output = home.dwell(&["ls", "run"]);
        assert_eq!(said(&output).contains("damaged"), wanted == 1, "{}", said(&output));
        assert!(said(&home.dwell(&["report", "run"])).contains(words));
    };
    assert!(home.dwell(&["analyze", "run", "--full"]).status.success());
    answers(0, "");
    fs::remove_file(home.path("run/findings.json")).unwrap();
    answers(1, "findings.json: the file is missing");
    // A report that is kept alone has lost nothing.
    fs::create_dir(home.path("alone")).unwrap();
    fs::copy(home.path("run/trace.cubex"), home.path("alone/trace.cubex")).unwrap();
    let output = home.dwell(&["report", "alone/trace.cubex"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}
