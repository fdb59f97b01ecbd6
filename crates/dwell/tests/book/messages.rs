//! Messages that the page for troubleshooting explains are messages that the program has.

use std::fs;
use std::path::Path;

use crate::lab::Lab;
use crate::pages;

/// Appends the Rust sources below a directory to `text`, with strings that are continued on the next line joined.
fn sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let file = fs::read_to_string(&path).unwrap();
            let mut pieces = file.split("\\\n");
            text.push_str(pieces.next().unwrap_or_default());
            pieces.for_each(|piece| text.push_str(piece.trim_start()));
        }
    }
}

/// Splits a message at what differs from run to run.
fn fixed_parts(message: &str) -> impl Iterator<Item = &str> {
    message
        .split('…')
        .map(|part| part.trim_matches([' ', ':', '.', '?']))
        .filter(|part| part.len() > 2)
}

#[test]
fn messages_that_are_explained_exist() {
    let mut program = String::new();
    for krate in fs::read_dir(Lab::repository().join("crates")).unwrap() {
        let source = krate.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut program);
        }
    }
    let program = program.replace('`', "");
    let page = fs::read_to_string(pages::directory().join("troubleshooting.md")).unwrap();
    let mut count = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let cell = line.split(" | ").next().unwrap_or(line);
        for part in cell.split('`').step_by(2).flat_map(fixed_parts) {
            count += 1;
            assert!(program.contains(part), "no message of the program contains {part:?}");
        }
    }
    assert!(count > 30, "only {count} messages were found");
}
