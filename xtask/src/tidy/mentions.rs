//! Files and functions that the pages on design name.
//!
//! These pages outlive the code that they explain. A name that moved or went is the first sign that the rest of a
//! paragraph is history.

use std::collections::HashSet;

use super::links::prose;
use super::{Check, Problem, SourceFile};

/// Checks that every `path/file.rs` and `module::name` between backticks on a page of `docs/design` still exists. A name may
/// end in `…`.
pub(crate) fn check(files: &[SourceFile]) -> Check {
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    let words: HashSet<&str> =
        rust.filter_map(|file| file.text.as_deref()).flat_map(split).collect();
    let is_file = |name: &str| {
        let mut ends = files.iter().filter_map(|file| file.path.strip_suffix(name));
        ends.any(|before| before.is_empty() || before.ends_with('/'))
    };
    let is_word = |name: &str| match name.strip_suffix('…') {
        Some(start) => words.iter().any(|word| word.starts_with(start)),
        None => words.contains(name),
    };
    let mut count = 0;
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("docs/design/")) {
        for (line, text) in prose(file.text.as_deref().unwrap_or_default()) {
            for name in text.split('`').skip(1).step_by(2) {
                let parts: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
                let is_path = |part: &&&str| part.ends_with(".rs") && !part.contains(['*', '{']);
                let path = parts.iter().find(is_path);
                let is_name =
                    name.contains("::") && parts.iter().all(|part| split(part).count() == 1);
                if path.is_none() && !is_name {
                    continue;
                }
                let last = parts.last().filter(|last| !last.ends_with(".rs"));
                let gone = !path.is_none_or(|it| is_file(it)) || !last.is_none_or(|it| is_word(it));
                count += 1;
                if gone {
                    problems.push(Problem::at(&file.path, line, format!("{name}: no such name")));
                }
            }
        }
    }
    Check::done("mentions", count, "names of code in docs/design", problems)
}

/// Returns the words of a text, as names in Rust are written.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !it.is_alphanumeric() && it != '_' && it != '…')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_gone_are_found() {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: Some(text.to_owned()),
        };
        let page = "`engine/a.rs` `ngine/a.rs` `a.rs::long_name` `a.rs::lo…` `a.rs::x` `a::long_name` `a::` `b::x`\n\
                    `no` `a*.rs` `DWELL: x::y`\n";
        let files = [
            file("docs/design/a.md", page),
            file("docs/src/a.md", "`gone.rs`"),
            file("crates/a/src/engine/a.rs", "mod a { fn long_name() {} }"),
        ];
        assert_eq!(
            check(&files).to_string(),
            "mentions: 8 names of code in docs/design, 3 problem(s)\n  docs/design/a.md:1: ngine/a.rs: no such name\n  \
             docs/design/a.md:1: a.rs::x: no such name\n  docs/design/a.md:1: b::x: no such name"
        );
    }
}
