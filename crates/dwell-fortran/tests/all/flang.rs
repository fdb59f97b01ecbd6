//! flang as the judge: its parse tree has a node for each image selector and each image control statement, and its
//! semantics accept what is inserted.
//!
//! Needs Debian's `flang-22`; without it the tests say so and pass, unless `DWELL_REQUIRE_FLANG=1`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dwell_fortran::kind::{Control, Kind, pieces};
use dwell_fortran::references::references;
use dwell_fortran::scan::{Form, scan};
use dwell_fortran::{Options, apply, instrument};

use crate::needs;

/// Image control statements by the names of their nodes.
const CONTROLS: &[(&str, Control)] = &[
    ("SyncAllStmt", Control::SyncAll),
    ("SyncImagesStmt", Control::SyncImages),
    ("SyncTeamStmt", Control::SyncTeam),
    ("SyncMemoryStmt", Control::SyncMemory),
    ("LockStmt", Control::Lock),
    ("UnlockStmt", Control::Unlock),
    ("EventPostStmt", Control::EventPost),
    ("EventWaitStmt", Control::EventWait),
    ("FormTeamStmt", Control::FormTeam),
];

fn flang(arguments: &[&str], file: &Path) -> Option<String> {
    let output = Command::new("flang-22").args(arguments).arg(file).output().unwrap();
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the numbers of image selectors and of image control statements in flang's parse tree.
fn judged(file: &Path) -> Option<BTreeMap<String, usize>> {
    let tree = flang(&["-fc1", "-fcoarray", "-fdebug-dump-parse-tree-no-sema"], file)?;
    let mut counts = BTreeMap::new();
    for line in tree.lines() {
        for word in line.split(|it: char| !it.is_ascii_alphanumeric()) {
            let is_known = word == "ImageSelector" || CONTROLS.iter().any(|known| known.0 == word);
            // The node of a statement that waits has its own name once more inside.
            if is_known {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    Some(counts)
}

/// Returns the same numbers as this crate finds them.
fn found(source: &[u8], form: Form) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for statement in &scan(source, form, "").statements {
        for piece in pieces(&statement.text) {
            let selectors = references(&statement.text, piece.kind, piece.from, piece.to).len();
            if selectors > 0 {
                *counts.entry("ImageSelector".to_owned()).or_default() += selectors;
            }
            let control = CONTROLS.iter().find(|(_, it)| piece.kind == Kind::Control(*it));
            if let Some((name, _)) = control {
                *counts.entry((*name).to_owned()).or_default() += 1;
            }
        }
    }
    counts
}

/// Returns the sources: those that other tests run, in both forms where they are valid in both, and those that only
/// flang accepts.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for from in [home.join("tests/flang"), home.join("../../tests/programs/coarrays")] {
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let both = path.parent().unwrap().ends_with("coarrays");
            if both && !matches!(&*name, "fixed.f" | "free.f90") {
                let copy = folder.join(name.replace(".f90", "_fixed.f"));
                fs::copy(&path, &copy).unwrap();
                all.push(copy);
            }
            all.push(path);
        }
    }
    let programs = ["tests/programs/caf_features.f90", "examples/halo/halo.f90"];
    all.extend(programs.iter().map(|name| home.join("../..").join(name)));
    all.sort();
    all
}

#[test]
fn flang_finds_the_same_and_accepts_the_calls() {
    if !needs::tools("FLANG", &["flang-22"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let all = sources(folder.path());
    assert!(all.len() >= 25, "{}", all.len());
    for file in all {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let (source, form) = (fs::read(&file).unwrap(), Form::of_name(&name));
        let judged = judged(&file).unwrap_or_else(|| panic!("flang does not parse {name}"));
        assert_eq!(found(&source, form), judged, "{name}");
        let check = ["-fsyntax-only", "-fcoarray"];
        // flang wants a module for the calls of C in this one, and rejects it as it is.
        if flang(&check, &file).is_none() {
            assert_eq!(name, "caf_features.f90", "flang does not accept {name}");
            continue;
        }
        let it = instrument(&source, form, &name, &Options::default());
        assert!(it.report.separated > 0, "{name}");
        let copy = folder.path().join(format!("traced_{name}"));
        fs::write(&copy, apply(&source, &it.insertions)).unwrap();
        assert!(flang(&check, &copy).is_some(), "flang does not accept {name} with calls");
    }
}
