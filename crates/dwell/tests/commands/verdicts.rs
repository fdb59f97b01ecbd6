//! The first answer, of at most 24 lines: nine runs, each with a golden file. `docs/design/verdicts.md` has what an expert said
//! of them before they were made.

use std::fs;
use std::path::{Path, PathBuf};

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
