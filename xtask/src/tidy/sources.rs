//! Rules about the text of the repository.
//!
//! They cover the files that git tracks and those that it would track next (new files that are not ignored), so that a
//! person sees a problem before the commit and a fresh clone sees the same.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Check, Problem};
use crate::process;

/// Largest number of lines of a Rust file. A longer one should be split.
const LONGEST: usize = 700;

/// Longer files, each with its reason. This list should stay short.
const LONGER: &[(&str, &str)] = &[];

/// Directories of files that are compared byte for byte or fed to parsers as they are. Untidy whitespace is content
/// there.
const VERBATIM: &[&str] = &["corpus", "golden", "page", "earlier"];

/// A tracked file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Path from the root, with slashes.
    pub(crate) path: String,
    /// Content of the file, or `None` if it is not text.
    pub(crate) text: Option<String>,
}

/// Reads all tracked files.
pub(crate) fn tracked(root: &Path) -> Result<Vec<SourceFile>> {
    let mut git = Command::new("git");
    git.current_dir(root);
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listing = process::output(&mut git)?;
    let mut files: Vec<SourceFile> =
        listing.split_terminator('\0').filter_map(|path| read(root, path)).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

/// Reads a file. Returns `None` if git lists it but it is deleted or a link to a directory.
fn read(root: &Path, path: &str) -> Option<SourceFile> {
    let bytes = fs::read(root.join(path)).ok()?;
    let text = String::from_utf8(bytes).ok();
    Some(SourceFile { path: path.to_owned(), text: text.filter(|text| !text.contains('\0')) })
}

/// Returns the code of a file before its unit tests.
pub(crate) fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

impl SourceFile {
    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    pub(crate) fn is_verbatim(&self) -> bool {
        self.path.split('/').any(|part| VERBATIM.contains(&part))
    }
}

/// Checks that no Rust file is too long.
pub(crate) fn check_lengths(files: &[SourceFile]) -> Check {
    let rust: Vec<_> = files.iter().filter(|file| file.is_rust()).collect();
    let problems = rust
        .iter()
        .filter(|file| !LONGER.iter().any(|(path, _)| *path == file.path))
        .filter_map(|file| {
            let lines = file.text.as_deref().map_or(0, |text| text.lines().count());
            let message = format!("{lines} lines, more than {LONGEST}");
            (lines > LONGEST).then(|| Problem::at(&file.path, LONGEST + 1, message))
        })
        .collect();
    Check::done("file lengths", rust.len(), "files of Rust", problems)
}

/// Checks ends of lines and of files, and tabs in Rust files.
pub(crate) fn check_whitespace(files: &[SourceFile]) -> Check {
    let mut problems = Vec::new();
    let mut count = 0;
    for file in files.iter().filter(|file| !file.is_verbatim()) {
        if let Some(text) = &file.text {
            count += 1;
            problems.extend(whitespace_problems(&file.path, text, file.is_rust()));
        }
    }
    Check::done("whitespace", count, "text files", problems)
}

fn whitespace_problems(path: &str, text: &str, is_rust: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.ends_with(char::is_whitespace) {
            problems.push(Problem::at(path, index + 1, "blanks at the end of the line"));
        }
        if is_rust && line.contains('\t') {
            problems.push(Problem::at(path, index + 1, "a tab"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        let last = text.lines().count();
        problems.push(Problem::at(path, last, "no newline at the end of the file"));
    }
    problems
}

/// Checks that no path of a private machine has slipped into a file, and that no test reads a file beside the
/// repository: such a test means nothing in a clone.
pub(crate) fn check_private_paths(files: &[SourceFile]) -> Check {
    let needles = private_paths();
    let outside = outside();
    let mut problems = Vec::new();
    let mut count = 0;
    for file in files {
        let Some(text) = &file.text else { continue };
        count += 1;
        for (index, line) in text.lines().enumerate() {
            for needle in needles.iter().filter(|needle| names_path(line, needle)) {
                let message = format!("the private path {needle}");
                problems.push(Problem::at(&file.path, index + 1, message));
            }
            // From the directory of a crate, three steps up are one too many.
            if file.path.starts_with("crates/") && outside.iter().any(|it| line.contains(it)) {
                let message = "a path that leads out of the repository";
                problems.push(Problem::at(&file.path, index + 1, message));
            }
        }
    }
    Check::done("private paths", count, "text files", problems)
}

/// Returns the paths to look for, assembled here so that this file does not contain them.
fn private_paths() -> [String; 2] {
    ["work", "root"].map(|name| format!("/{name}/"))
}

/// Returns the beginnings of paths that lead from the directory of a crate out of the repository, put together so that this
/// file does not contain them.
fn outside() -> [String; 2] {
    let up = "../".repeat(3);
    [format!("join(\"{up}"), format!("\"/{up}")]
}

/// Returns `true` if a line contains the absolute path, and not merely a longer relative one.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = &line[..at];
        ends_with_flag(before) || !continues_path(before)
    })
}

/// Returns `true` if the text before a match ends in the middle of a path.
fn continues_path(before: &str) -> bool {
    before.ends_with(|c: char| c.is_alphanumeric() || "._-~*})>".contains(c))
}

/// Returns `true` if the text before a match ends with a flag such as `-I`, to which compilers attach paths.
fn ends_with_flag(before: &str) -> bool {
    let word = before.rsplit([' ', '"', '\'', '=', ',']).next();
    word.is_some_and(|word| word.len() == 2 && word.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: Some(text.to_owned()) }
    }

    #[test]
    fn long_rust_is_found_and_other_text_is_not() {
        let long = "x\n".repeat(LONGEST + 1);
        let files = [file("a.rs", &long), file("b.md", &long), file("c.rs", &long[2..])];
        let check = check_lengths(&files);
        assert_eq!(check.problems(), 1);
        assert!(check.to_string().contains("a.rs:701:"), "{check}");
    }

    #[test]
    fn whitespace_is_found_on_its_line() {
        let found = |text, is_rust| {
            whitespace_problems("f", text, is_rust)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert!(found("", true).is_empty());
        assert!(found("a\n\tb\n", false).is_empty());
        assert_eq!(found("a\nb \n", true), ["f:2: blanks at the end of the line"]);
        assert_eq!(found("a\r\n", true), ["f:1: blanks at the end of the line"]);
        assert_eq!(found("a\n\tb\n", true), ["f:2: a tab"]);
        assert_eq!(found("a\nb", true), ["f:2: no newline at the end of the file"]);
    }

    #[test]
    fn content_that_is_compared_is_left_alone() {
        let files = [file("tests/golden/a.txt", "a  "), file("fuzz/corpus/x/y", "a")];
        assert_eq!(check_whitespace(&files).problems(), 0);
    }

    #[test]
    fn private_paths_are_found_and_relative_ones_are_not() {
        let [work, _] = private_paths();
        for text in
            [format!("cd {work}x"), format!("\"{work}\""), format!("cc -I{work}x"), work.clone()]
        {
            assert_eq!(check_private_paths(&[file("a", &text)]).problems(), 1, "{text}");
        }
        for start in outside() {
            let text = format!("let data = home.{start}data\");");
            assert_eq!(check_private_paths(&[file("crates/a/b", &text)]).problems(), 1, "{text}");
            assert_eq!(check_private_paths(&[file("docs/a", &text)]).problems(), 0, "{text}");
        }
        for text in [format!("net{work}"), format!("${{DIR}}{work}"), "working".to_owned()] {
            assert_eq!(check_private_paths(&[file("a", &text)]).problems(), 0, "{text}");
        }
    }
}
