//! Commands analyse a run that was not analysed yet, take the newest run if none is named, and refuse runs that are not
//! complete.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::{self, path, text};
use crate::view::Viewing;

fn in_directory(home: &Path, args: &[&str]) -> Output {
    support::command("100").args(args).current_dir(home).output().unwrap()
}

/// Makes a run that was not analysed.
fn raw(home: &Path, name: &str) {
    let made = in_directory(home, &["synth", "sor", "-o", name, "--ranks", "4"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
}

#[test]
fn commands_analyse_the_newest_run_and_say_so_in_a_line() {
    let commands: [&[&str]; 8] = [
        &["report"],
        &["timeline"],
        &["whatif"],
        &["compare", "before", "before"],
        &["export", "-o", "run.html"],
        &["export", "--format=parquet", "-o", "tables"],
        &["export", "--format=perfetto", "-o", "trace"],
        &["timeline", "before/traces.otf2"],
    ];
    for command in commands {
        let home = tempfile::tempdir().unwrap();
        raw(home.path(), "before");
        let output = in_directory(home.path(), command);
        assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
        let said = text(&output.stderr);
        assert_eq!(said.lines().count(), 1, "{command:?}: {said}");
        assert!(
            said.contains("before") && said.contains(": not analysed yet; analysing "),
            "{said}"
        );
        let again = in_directory(home.path(), &["report", "before"]);
        let is_kept = command != ["whatif"];
        assert_eq!(again.stderr.is_empty(), is_kept, "{command:?}: {}", text(&again.stderr));
    }
}

#[test]
fn the_page_of_a_run_that_was_not_analysed_has_its_findings_and_timeline() {
    let home = tempfile::tempdir().unwrap();
    raw(home.path(), "after");
    let run = home.path().join("after");
    let viewing = Viewing::of(&[path(&run)]);
    assert!(!viewing.ask("runs/0/overview")["entries"].as_array().unwrap().is_empty());
    assert_ne!(viewing.ask("runs/0/timeline")["state"], "missing");
}

#[test]
fn what_analyze_writes_does_not_depend_on_the_command_that_asks() {
    let home = tempfile::tempdir().unwrap();
    raw(home.path(), "one");
    raw(home.path(), "two");
    assert!(in_directory(home.path(), &["analyze", "one"]).status.success());
    assert!(in_directory(home.path(), &["compare", "two", "one"]).status.success());
    for file in ["findings.json", "trace.cubex"] {
        let read = |run: &str| fs::read(home.path().join(run).join(file)).unwrap();
        assert!(read("one") == read("two"), "{file}");
    }
}

#[test]
fn runs_that_are_not_complete_are_refused_wherever_they_are_named() {
    let home = tempfile::tempdir().unwrap();
    raw(home.path(), "whole");
    fs::create_dir_all(home.path().join("killed/open")).unwrap();
    let commands: [&[&str]; 7] = [
        &["compare", "whole", "killed"],
        &["export", "whole", "-o", "run.html", "--compare", "killed"],
        &["view", "whole", "--no-browser", "--compare", "killed"],
        &["report", "killed"],
        &["timeline", "killed"],
        &["whatif", "killed"],
        &["export", "killed", "--format=parquet", "-o", "tables"],
    ];
    for command in commands {
        let output = in_directory(home.path(), command);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("next: dwell recover killed"),
            "{command:?}: {}",
            text(&output.stderr)
        );
    }
}
