//! Files that an earlier version wrote, which people keep: they are read, or refused with a sentence that says what to
//! do.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::{copy, dwell, path, text};

/// A copy of a run of `tests/data/earlier`.
fn earlier(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/earlier").join(name);
    let to = folder.path().join("run");
    copy(&from, &to);
    (folder, to)
}

/// Runs a command that must succeed, and returns what it prints.
fn succeed(words: &[&str]) -> String {
    let output = dwell(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    text(&output.stdout)
}

/// Archive, report, findings, dependency log and timeline are read by all commands that look at an analysed run.
#[test]
fn an_analysed_run_is_read() {
    let (_folder, run) = earlier("analysed");
    let run = path(&run);
    assert!(succeed(&["info", run]).contains("shmem"), "info");
    assert!(succeed(&["report", run]).contains("shmem_"), "report");
    assert!(succeed(&["timeline", run]).contains("PE 0"), "timeline");
    assert!(succeed(&["whatif", run, "--without", "wait_for_progress"]).contains("run"), "whatif");
    let known = fs::read(Path::new(run).join("findings.json")).unwrap();
    let before: serde_json::Value = serde_json::from_slice(&known).unwrap();
    // The waits that it found are those that this version finds.
    succeed(&["analyze", run]);
    let found = fs::read(Path::new(run).join("findings.json")).unwrap();
    let now: serde_json::Value = serde_json::from_slice(&found).unwrap();
    assert_eq!(before["waits_seconds"], now["waits_seconds"]);
    assert!(before["waits_seconds"].as_f64().is_some_and(|it| it > 0.0), "{before:#}");
}

/// What killed processes left becomes an archive with the events that they recorded.
#[test]
fn a_killed_run_is_recovered() {
    let (_folder, run) = earlier("killed");
    let said = succeed(&["recover", path(&run)]);
    assert!(said.contains("2 of 2 processes"), "{said}");
    assert!(said.contains("were in when they ended"), "{said}");
    assert!(succeed(&["analyze", path(&run), "--full"]).contains("MPI_Barrier"));
}

#[test]
fn a_profile_is_read() {
    let (_folder, run) = earlier("profile");
    assert!(succeed(&["report", path(&run), "--tree", "visits"]).contains("MPI_Barrier"));
}
