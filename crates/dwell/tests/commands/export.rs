//! `dwell export` as other tools see it: they read what it writes, and find what the run has.

mod cut;
mod perfetto;
mod recipes;
mod tables;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::needs;
use crate::support::{dwell, path, text};

/// Returns a Python that has packages, or `None` after it has said that they are missing.
fn python(need: &str, packages: &str) -> Option<Command> {
    let python = std::env::var_os("DWELL_PYTHON").unwrap_or_else(|| "python3".into());
    let import = Command::new(&python).args(["-c", &format!("import {packages}")]).output();
    if import.is_ok_and(|it| it.status.success()) {
        return Some(Command::new(&python));
    }
    needs::missing(need, &format!("there is no Python with {packages}"));
    None
}

/// Returns a script of this test.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/export").join(name)
}

/// Makes a synthetic archive in a directory, analyses it, and returns what is known about it.
fn synthetic(directory: &Path, args: &[&str]) -> Value {
    let output = dwell(&[&["synth"], args, &["-o", path(directory)]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    analyzed(directory);
    let truth = std::fs::read(directory.join("truth.json")).unwrap();
    serde_json::from_slice(&truth).unwrap()
}

fn analyzed(directory: &Path) {
    let output = dwell(&["analyze", path(directory)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Runs `dwell export` with arguments, and returns what it prints.
fn export(run: &Path, args: &[&str]) -> String {
    let output = dwell(&[&["export", path(run)], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}
