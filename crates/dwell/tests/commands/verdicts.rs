//! The first answer, of at most 24 lines: nine runs, each with a golden file. `docs/design/verdicts.md` has what an expert said
//! of them before they were made.

use std::fs;
use std::path::{Path, PathBuf};

use dwell_synth::slow::{Options, What};
use serde_json::Value;

use crate::support::{self, copy, golden, path, text};

/// Recordings, in `tests/data/verdicts`.
const RECORDED: &[&str] = &["tour", "queue", "rma", "halo", "heat", "srumma", "histogram"];

/// Sources that the verdicts show, beside the run in which a user has them.
const SOURCES: &[&str] = &[
    "examples/tour/tour.c",
    "examples/halo/halo.f90",
    "examples/heat/heat.c",
    "examples/srumma/srumma.c",
    "tests/programs/work_queue.c",
    "tests/programs/fetched_blocks.c",
    "tests/programs/histogram.c",
];

/// Runs that are too large for a recording, by the words of `dwell synth` that make them.
const MADE: &[(&str, &[&str])] = &[
    ("1024", &["srumma", "--ranks", "1024"]),
    ("4096", &["sor", "--ranks", "4096", "--iterations", "4"]),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Analyses a run in the directory `home`, and compares what is said with the golden file of its name.
fn verdict(home: &Path, name: &str) {
    let mut command = support::command("80");
    let said = command.current_dir(home).args(["analyze", name]).output().unwrap();
    let said = text(&said.stdout);
    assert!(said.lines().count() <= 24, "{name}: {} lines\n{said}", said.lines().count());
    let long = said.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "{name}");
    golden(&format!("verdict-{name}.txt"), &said);
}

#[test]
fn recorded_runs_have_the_verdict_of_their_golden_files() {
    let home = tempfile::tempdir().unwrap();
    for source in SOURCES {
        let source = repository().join(source);
        fs::copy(&source, home.path().join(source.file_name().unwrap())).unwrap();
    }
    for name in RECORDED {
        copy(&repository().join("tests/data/verdicts").join(name), &home.path().join(name));
        verdict(home.path(), name);
    }
}

#[test]
#[ignore = "slow: cargo xtask proofs"]
fn large_runs_have_the_verdict_of_their_golden_files() {
    let home = tempfile::tempdir().unwrap();
    for (name, words) in MADE {
        let run = home.path().join(name);
        let made =
            support::command("80").arg("synth").args(*words).args(["-o", path(&run)]).output();
        assert!(made.as_ref().unwrap().status.success(), "{}", text(&made.unwrap().stderr));
        verdict(home.path(), name);
    }
}

/// Analyses a run of steps in which a node is slow, without any option, and compares its causes with what the schedule says.
fn slow_node(ranks: u64, steps: u64) {
    let node = |seed| Options { ranks, steps, what: What::Node, seed };
    let found = (1..).find_map(|seed| Some((seed, node(seed).costs()?)));
    let (seed, mut costs) = found.unwrap();
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    let numbers = [ranks, steps, seed].map(|it| it.to_string());
    let mut synth = support::command("80");
    synth.args(["synth", "slow", "node", "--ranks", &numbers[0], "--steps", &numbers[1]]);
    synth.args(["--seed", &numbers[2], "-o", path(&run)]);
    assert!(synth.output().unwrap().status.success());
    let said = support::command("80").args(["analyze", path(&run), "--json"]).output().unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let cause = &said["causes"][0];
    let seconds = |it: &Value| (it["seconds"].as_f64().unwrap() * 1e9).round() as u64;
    assert_eq!(cause["what"], "computing", "{cause}");
    assert_eq!(seconds(cause), costs.iter().sum::<u64>(), "{cause}");
    costs.sort_unstable_by(|a, b| b.cmp(a));
    let most: Vec<u64> = cause["processes"].as_array().unwrap().iter().map(seconds).collect();
    assert_eq!(most, costs[..5], "{cause}");
    assert_eq!(said["iterations"]["count"], steps);
}

#[test]
fn causes_of_a_run_are_those_of_its_schedule() {
    slow_node(128, 40);
}

/// 21 million events of more processes than the search was once limited to.
#[test]
#[ignore = "slow: cargo xtask proofs"]
fn causes_of_a_large_run_are_those_of_its_schedule() {
    slow_node(16_384, 320);
}
