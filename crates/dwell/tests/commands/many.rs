//! Directories of runs: which version became slower and why, with the same figures on every surface.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::support::{dwell, path, text};
use crate::view::Viewing;

/// Makes runs of three versions with 2 and 4 processes, two of each. From the third version on one rank drifts away.
fn results(home: &Path) -> String {
    for (version, what) in [("v9", "phase"), ("v10", "phase"), ("v11", "drift")] {
        for (processes, seed) in [("2", "1"), ("2", "2"), ("4", "3"), ("4", "4")] {
            let run = home.join(format!("results/{version}/p{processes}-{seed}"));
            let how = ["--ranks", processes, "--seed", seed, "--steps", "24"];
            let made = dwell(&[&["synth", "slow", what, "-o", path(&run)][..], &how].concat());
            assert!(made.status.success(), "{}", text(&made.stderr));
        }
    }
    path(&home.join("results")).to_owned()
}

fn json(args: &[&str]) -> Value {
    let output = dwell(args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_version_that_became_slower_is_named_with_its_cause_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let results = results(home.path());
    let history = json(&["compare", "--series", &results, "--json"]);
    let verdicts: Vec<_> = history["versions"].as_array().unwrap().iter().collect();
    let of = |what: &str| verdicts.iter().map(|it| it[what].as_str().unwrap()).collect::<Vec<_>>();
    // In the order of numbers, as none of them has a time.
    assert_eq!(of("version"), ["v9", "v10", "v11"]);
    assert_eq!(of("verdict"), ["same", "same", "slower"]);
    let verdict = history["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("v11 takes 2"), "{verdict}");
    assert!(verdict.contains("longer than v10 with 2 to 4 processes"), "{verdict}");
    assert!(verdict.contains("Load imbalance: "), "{verdict}");

    // Lengths are those of a comparison of the same runs.
    let runs = |version: &str| ["1", "2"].map(|seed| format!("{results}/{version}/p2-{seed}"));
    let ([a, b], [c, d]) = (runs("v10"), runs("v11"));
    let beside = dwell(&["compare", "--json", "--before", &a, &b, "--after", &c, &d]);
    let beside: Value = serde_json::from_slice(&beside.stdout).unwrap();
    let sets = history["sets"].as_array().unwrap();
    let set = |version: &str| {
        sets.iter().find(|it| it["version"] == version && it["processes"] == 2).unwrap()
    };
    assert_eq!(set("v10")["length_seconds"], beside["before"]["length_seconds"]);
    assert_eq!(set("v11")["length_seconds"], beside["after"]["length_seconds"]);

    let terminal = text(&dwell(&["compare", "--series", &results]).stdout);
    assert!(terminal.starts_with("12 runs: v11 takes 2"), "{terminal}");
    assert!(!terminal.contains("-0 %"), "{terminal}");
    let markdown = text(&dwell(&["compare", "--series", &results, "--markdown"]).stdout);
    assert_eq!(markdown.lines().next(), Some(format!("**{verdict}**").as_str()));

    let page = home.path().join("page.html");
    let output = dwell(&["export", &results, "-o", path(&page)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(page.with_extension("md")).unwrap(), markdown);
    let badge = fs::read_to_string(page.with_extension("svg")).unwrap();
    assert!(badge.contains("% slower</text>"), "{badge}");

    let server = Viewing::of(&[&results]);
    let many = server.ask("many");
    assert_eq!(many["verdict"], verdict);
    assert_eq!(many["runs"].as_array().unwrap().len(), 12);
    for (own, set) in many["sets"].as_array().unwrap().iter().zip(sets) {
        assert_eq!((&own["length"], &own["change"]), (&set["length_seconds"], &set["change"]));
    }
    // Any run can be looked at, and any two of them beside each other.
    let shown = many["versions"][2]["shown_by"].as_array().unwrap();
    let [before, after] = [0, 1].map(|it| shown[it].as_str().unwrap());
    let compared = server.ask(&format!("runs/{before}/compare?with={after}"));
    assert!(compared["summary"].is_string(), "{compared}");
}

#[test]
fn links_out_of_the_directory_and_runs_that_cannot_be_read_stop_nobody() {
    let home = tempfile::tempdir().unwrap();
    let results = home.path().join("results");
    let elsewhere = home.path().join("elsewhere");
    for (run, seed) in [(results.join("good"), "1"), (elsewhere.clone(), "2")] {
        let made = dwell(&["synth", "slow", "drift", "-o", path(&run), "--seed", seed]);
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    symlink(&elsewhere, results.join("linked")).unwrap();
    fs::create_dir_all(results.join("bad\u{1b}[31m")).unwrap();
    fs::write(results.join("bad\u{1b}[31m/traces.otf2"), "nothing").unwrap();
    let server = Viewing::of(&[path(&results)]);
    let many = server.ask("many");
    let names: Vec<_> = many["runs"].as_array().unwrap().iter().collect();
    let names: Vec<_> = names.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["good", "bad\u{1b}[31m"]);
    assert!(many["runs"][1]["note"].as_str().unwrap().starts_with("cannot be read"), "{many}");
    assert!(!elsewhere.join("trace.cubex").exists(), "what a link leads to is not analysed");
    let output = dwell(&["compare", "--series", path(&results)]);
    assert!(!text(&output.stdout).contains('\u{1b}'));
    assert!(!text(&output.stderr).contains('\u{1b}'));
}
