//! Links that someone placed where Dwell writes are replaced or refused, never written through.

use std::fs;
use std::os::unix::fs::symlink;

use super::{CACHES, Home, MINE, is_regular, names, said};

#[test]
fn analyze_replaces_links_where_its_results_go() {
    let home = Home::with_archive();
    for name in ["trace.cubex", "findings.json", "trace.cubex.part", "trace.cubex.dwell-cache"] {
        home.plant(&format!("run/{name}"));
    }
    let output = home.dwell(&["analyze", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(home.victim(), MINE);
    for name in ["trace.cubex", "findings.json"] {
        assert!(is_regular(&home.path(&format!("run/{name}"))), "{name}");
    }
    let left: Vec<_> = names(&home.path("run"))
        .into_iter()
        .filter(|it| it.contains(".dwell-") && it.ends_with(".part"))
        .collect();
    assert_eq!(left, [""; 0], "temporary files are gone");
}

#[test]
fn caches_of_large_reports_replace_links() {
    let home = Home::with_large_report();
    CACHES.iter().for_each(|name| home.plant(name));
    let output =
        home.dwell(&["export", "large.cubex", "--format=html", "-o", "x.html", "--max-size", "1K"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(home.victim(), MINE);
    for name in &CACHES[..2] {
        assert!(is_regular(&home.path(name)), "{name}: the report is large enough for it");
    }
}

#[test]
fn outputs_that_a_person_names_are_never_written_through_a_link() {
    let home = Home::with_archive();
    let output = home.dwell(&["analyze", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for args in [
        &["export", "run", "--format=html", "-o", "link"][..],
        &["export", "run", "--format=cubex", "--merge", "-o", "link"],
        &["synth", "report", "-o", "link"],
    ] {
        home.plant("link");
        let output = home.dwell(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains("link"), "{args:?}: {}", said(&output));
        assert_eq!(home.victim(), MINE, "{args:?}");
    }
    // A file is replaced.
    fs::write(home.path("file"), "old").unwrap();
    let output = home.dwell(&["export", "run", "--format=html", "-o", "file"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(fs::read_to_string(home.path("file")).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn a_synthetic_archive_is_not_written_through_links() {
    let home = Home::new();
    fs::create_dir(home.path("run")).unwrap();
    home.plant("run/truth.json");
    let output = home.dwell(&["synth", "sor", "-o", "run", "--ranks", "2", "--iterations", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(home.victim(), MINE);
    fs::remove_dir_all(home.path("run")).unwrap();
    fs::create_dir_all(home.path("elsewhere")).unwrap();
    fs::create_dir(home.path("run")).unwrap();
    symlink(home.path("elsewhere"), home.path("run/traces")).unwrap();
    let output = home.dwell(&["synth", "sor", "-o", "run", "--ranks", "2", "--iterations", "1"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!(names(&home.path("elsewhere")), [""; 0]);
}
