//! Named pipes where files should be: refused, never waited for.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{CACHES, Home, said};

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_pipe_in_place_of_a_report_is_refused() {
    let home = Home::with_archive();
    home.dwell(&["analyze", "run"]);
    fs::rename(home.path("run/trace.cubex"), home.path("good.cubex")).unwrap();
    pipe(&home.path("run/trace.cubex"));
    for args in [
        &["report", "run"][..],
        &["view", "run", "--no-browser"],
        &["export", "run", "--format=html", "-o", "out.html"],
        &["compare", "run", "good.cubex"],
        &["compare", "good.cubex", "run"],
        &["view", "good.cubex", "--compare", "run", "--no-browser"],
    ] {
        let output = home.dwell(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains("named pipe"), "{args:?}: {}", said(&output));
    }
    // The analysis makes a report of its own in its place.
    let output = home.dwell(&["analyze", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = home.dwell(&["report", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn a_pipe_in_place_of_any_file_of_an_archive_is_no_wait() {
    let files = [
        "traces.otf2",
        "traces.def",
        "traces/0.evt",
        "traces/0.def",
        "traces.marker",
        "findings.json",
    ];
    for file in files {
        let home = Home::with_archive();
        home.dwell(&["analyze", "run"]);
        pipe(&home.path(&format!("run/{file}")));
        for args in [
            &["analyze", "run"][..],
            &["print", "run", "--all"],
            &["info", "run"],
            &["ls", "."],
            &["compare", "run", "run"],
            &["report", "run"],
            &["export", "run", "--format=html", "-o", "out.html"],
        ] {
            // That it ends is what counts; what it says is the matter of other tests.
            let output = home.dwell(args);
            assert!(output.status.code().is_some(), "{file}: {args:?}: {}", said(&output));
        }
    }
}

#[test]
fn a_pipe_in_place_of_a_cache_is_no_wait() {
    let home = Home::with_large_report();
    for name in CACHES {
        pipe(&home.path(name));
    }
    let output =
        home.dwell(&["export", "large.cubex", "--format=html", "-o", "x.html", "--max-size", "1K"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}
