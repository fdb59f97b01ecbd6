//! The command line as users see it: help texts, exit codes, messages.
//!
//! `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell --test commands cli::` writes the expected texts anew; look at the difference before
//! committing it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{dwell, golden, path, text};

#[test]
fn help_says_what_each_command_does() {
    for (name, args) in [
        ("help.txt", &["--help"][..]),
        ("help-run.txt", &["run", "--help"]),
        ("help-demo.txt", &["demo", "--help"]),
        ("help-recover.txt", &["recover", "--help"]),
        ("help-score.txt", &["score", "--help"]),
        ("help-man.txt", &["man", "--help"]),
        ("help-completions.txt", &["completions", "--help"]),
        ("help-doctor.txt", &["doctor", "--help"]),
        ("help-build-sources.txt", &["build", "sources", "--help"]),
        ("help-build.txt", &["build", "--help"]),
        ("help-build-flags.txt", &["build", "flags", "--help"]),
        ("help-ls.txt", &["ls", "--help"]),
        ("help-mcp.txt", &["mcp", "--help"]),
        ("help-print.txt", &["print", "--help"]),
        ("help-info.txt", &["info", "--help"]),
        ("help-where.txt", &["where", "--help"]),
        ("help-analyze.txt", &["analyze", "--help"]),
        ("help-timeline.txt", &["timeline", "--help"]),
        ("help-whatif.txt", &["whatif", "--help"]),
        ("synth.txt", &["synth", "--help"]),
        ("synth-sor.txt", &["synth", "sor", "--help"]),
        ("synth-halo.txt", &["synth", "halo", "--help"]),
        ("synth-ring.txt", &["synth", "ring", "--help"]),
        ("synth-srumma.txt", &["synth", "srumma", "--help"]),
        ("synth-random.txt", &["synth", "random", "--help"]),
    ] {
        let output = dwell(args);
        assert!(output.status.success());
        golden(name, &text(&output.stdout));
    }
}

/// Makes a small archive and returns its directory.
fn srumma(directory: &Path) -> PathBuf {
    let archive = directory.join("srumma");
    let output = dwell(&["synth", "srumma", "-o", path(&archive), "--ranks", "6", "--blocks", "5"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "silent when not on a terminal");
    archive
}

#[test]
fn info_counts_what_synth_made() {
    let directory = tempfile::tempdir().unwrap();
    let archive = srumma(directory.path());
    let output = dwell(&["info", path(&archive), "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "silent when not on a terminal");
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    let truth = std::fs::read(archive.join("truth.json")).unwrap();
    let truth: Value = serde_json::from_slice(&truth).unwrap();
    assert_eq!(info["locations"], truth["totals"]["locations"]);
    assert_eq!(info["events"], truth["totals"]["events"]);
    assert_eq!(info["records"]["RmaGet"], truth["totals"]["gets"]);
    assert_eq!(info["bytes"]["events"], truth["totals"]["event_bytes"]);
    assert_eq!(info["last_time"], truth["totals"]["duration_ns"]);
    assert_eq!(info["damage_count"], 0);
    for threads in ["1", "2", "7"] {
        let again = dwell(&["info", path(&archive), "--json", "--threads", threads]);
        assert_eq!(again.stdout, output.stdout, "{threads} threads");
    }
}

#[test]
fn info_for_a_person() {
    let directory = tempfile::tempdir().unwrap();
    let archive = srumma(directory.path());
    let output = dwell(&["info", path(&archive)]);
    golden("info.txt", &text(&output.stdout).replace(path(&archive), "ARCHIVE"));
}

#[test]
fn info_names_damage_and_says_so_in_its_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let archive = srumma(directory.path());
    let events = archive.join("traces/4.evt");
    let bytes = std::fs::read(&events).unwrap();
    std::fs::write(&events, &bytes[..bytes.len() / 2]).unwrap();
    std::fs::remove_file(archive.join("traces/5.evt")).unwrap();

    let output = dwell(&["info", path(&archive)]);
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stdout);
    assert!(report.contains("traces/4.evt: location 4: byte "), "{report}");
    assert!(report.contains("the file ends without an end mark"), "{report}");
    assert!(report.contains("traces/5.evt: location 5: no such file"), "{report}");
    assert!(!report.contains("sound"), "{report}");
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let nothing = directory.path().join("nothing");
    for (args, expected) in [
        (vec!["info", path(&nothing)], "nothing: no such file or directory"),
        (vec!["info", path(directory.path())], "no `.otf2` file here"),
        (vec!["print", path(directory.path())], "no `.otf2` file here"),
    ] {
        let output = dwell(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let message = text(&output.stderr);
        assert!(message.starts_with("dwell: ") && message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(message.matches(expected).count(), 1, "{message}");
    }

    let archive = srumma(directory.path());
    let again = dwell(&["synth", "random", "-o", path(&archive)]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("there is an archive already"));
}

/// `head` closes the pipe when it has seen enough, which is not an error.
#[test]
fn a_closed_pipe_is_quiet() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("srumma");
    let ranks = ["--ranks", "64", "--blocks", "50"];
    dwell(&[&["synth", "srumma", "-o", path(&archive)][..], &ranks].concat());
    let command = format!(
        "set -o pipefail; {} print {} | head -n 3",
        env!("CARGO_BIN_EXE_dwell"),
        archive.display()
    );
    let output = Command::new("bash").args(["-c", &command]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn analyze_finds_what_synth_made() {
    let directory = tempfile::tempdir().unwrap();
    let archive = srumma(directory.path());
    let output = dwell(&["analyze", path(&archive), "--full"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "silent when not on a terminal");
    let said = text(&output.stdout);
    assert!(said.contains("1. ARMCI_Wait waits"), "{said}");
    assert!(said.contains("to do     Let the target make calls that progress"), "{said}");
    assert!(archive.join("trace.cubex").exists());
    let json = dwell(&["analyze", path(&archive), "--json", "--threads", "3", "--memory", "1M"]);
    let found: Value = serde_json::from_slice(&json.stdout).unwrap();
    let written = std::fs::read(archive.join("findings.json")).unwrap();
    assert_eq!(written, json.stdout);
    let truth = std::fs::read(archive.join("truth.json")).unwrap();
    let truth: Value = serde_json::from_slice(&truth).unwrap();
    let first = &found["findings"][0];
    assert_eq!(first["pattern"], "wait_for_progress");
    let nanoseconds = (first["seconds"].as_f64().unwrap() * 1e9).round();
    assert_eq!(Some(nanoseconds), truth["severities_ns"]["wait_for_progress"].as_f64());
    // Its transfers are long: that the targets were needed follows from the rule alone.
    assert_eq!(first["confidence"], "by rule");
    let nothing = dwell(&["analyze", path(&directory.path().join("nowhere"))]);
    assert_eq!(nothing.status.code(), Some(2));
}

/// Names that findings and the page have are names of metrics, too.
#[test]
fn report_knows_the_names_of_findings() {
    let directory = tempfile::tempdir().unwrap();
    let archive = srumma(directory.path());
    let report = |metric: &str| {
        let output = dwell(&["report", path(&archive), "--metric", metric]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(report("wait_for_progress").contains("_wait_for_progress"));
    let none = dwell(&["report", path(&archive), "--metric", "late_signl"]);
    assert!(text(&none.stderr).contains("did you mean `late_signal`?"), "{}", text(&none.stderr));
}

#[test]
fn unknown_options_of_run_are_no_programs() {
    let of = "dwell run has no such option";
    for (words, said) in [
        (&["--outptu", "x", "./heat"][..], format!("--outptu: {of}; did you mean --output?")),
        (&["--labl=x", "./heat"], format!("--labl: {of}; did you mean --label=…?")),
        (
            &["-np", "4", "./heat", "100"],
            format!("-np: {of}; the launcher starts the processes: mpirun -np 4 dwell run ./heat"),
        ),
        (&["-x", "./heat"], format!("-x: {of}; dwell run --help lists them")),
        (&["./heat", "-n", "4"], "./heat: no such program".into()),
    ] {
        let output = dwell(&[&["run"][..], words].concat());
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stderr), format!("dwell: {said}\n"));
    }
}

#[test]
fn timelines_show_who_waits_when() {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    let name = run.to_str().unwrap();
    let ok = |arguments: &[&str]| {
        let output = dwell(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    ok(&["synth", "sor", "--ranks", "4", "-o", name]);
    let list = ok(&["analyze", name, "--full"]);
    let text = ok(&["timeline", name]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(
        text.contains("Rank 3") && text.contains('#') && text.contains("which meanwhile"),
        "{text}"
    );
    // The index is there now, and says the same.
    assert_eq!(ok(&["timeline", name]), text);
    let worst = ok(&["timeline", name, "--finding", "1:2"]);
    assert!(worst.contains("instance 2 of"), "{worst}");
    // Numbers are those of the list.
    for number in ["1", "2"] {
        let line = list.lines().find_map(|it| it.strip_prefix(&format!("{number}. "))).unwrap();
        let call = line.split_whitespace().next().unwrap();
        let head = ok(&["timeline", name, "--finding", number]);
        assert!(head.lines().next().unwrap().contains(call), "{line}: {head}");
    }
    let none = dwell(&["timeline", name, "--finding", "99"]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("there is no finding 99"));
    let late = dwell(&["timeline", name, "--from", "1h"]);
    assert!(String::from_utf8_lossy(&late.stderr).contains("the span is empty"));
    let file = home.path().join("picture.svg");
    ok(&["timeline", name, "-o", file.to_str().unwrap(), "--locations", "1,2"]);
    let picture = std::fs::read_to_string(&file).unwrap();
    assert!(
        picture.starts_with("<svg") && picture.contains("Rank 2") && !picture.contains("Rank 3")
    );
}

/// A pipe that no process writes to and a device that never ends are refused as sources, and as included files.
#[test]
fn build_reads_regular_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.f90");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (source, what) in [(path(&pipe), "a named pipe"), ("/dev/zero", "a device")] {
        let output = dwell(&["build", "sources", "--form=free", source]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(what), "{output:?}");
    }
    let source = folder.path().join("main.f90");
    std::fs::write(&source, "program p\n  include 'pipe.f90'\nend program\n").unwrap();
    assert!(dwell(&["build", "sources", path(&source)]).status.success());
}
