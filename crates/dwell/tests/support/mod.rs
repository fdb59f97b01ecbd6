//! Functions that the tests of the command line share.

#![allow(dead_code)] // Each test program uses a part of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the command `dwell`, for output of this many columns that is not a terminal.
pub(crate) fn command(columns: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.env("COLUMNS", columns).env_remove("NO_COLOR");
    command
}

pub(crate) fn dwell(args: &[&str]) -> Output {
    command("100").args(args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Copies the files of a directory, and of the directories in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(std::fs::copy(&from, &to).unwrap()),
        }
    }
}

/// Compares a text with the golden file of that name. `DWELL_UPDATE_GOLDEN=1` writes it anew; look at the difference
/// before committing it.
pub(crate) fn golden(name: &str, actual: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(expected == actual, "{} differs; this is what came:\n{actual}", file.display());
}

/// Returns the rows of a tree in JSON, each before its children.
pub(crate) fn flat(tree: &serde_json::Value) -> Vec<&serde_json::Value> {
    let rows = tree.as_array().unwrap().iter();
    rows.flat_map(|row| std::iter::once(row).chain(flat(&row["children"]))).collect()
}
