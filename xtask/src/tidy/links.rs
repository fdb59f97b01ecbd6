//! Links between the Markdown files of the repository, as a forge shows them.
//!
//! `cargo xtask book` checks the book as it is rendered. This check also covers the files around it, such as README.md,
//! and takes no time.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Problem, SourceFile};

/// Checks that every link of a Markdown file to a path of the repository leads to a file or directory, and its anchor to
/// a heading.
pub(crate) fn check(files: &[SourceFile]) -> Check {
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        let mut path = file.path.as_str();
        while paths.insert(path) {
            path = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        }
    }
    let markdown: BTreeMap<&str, &str> = files
        .iter()
        .filter(|file| file.path.ends_with(".md") && !file.is_verbatim())
        .filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
        .collect();
    let mut count = 0;
    let mut problems = Vec::new();
    for (path, text) in &markdown {
        for (line, link) in links(text) {
            count += 1;
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if target.is_empty() { Some((*path).to_owned()) } else { resolve(path, target) };
            let Some(target) = target.filter(|target| paths.contains(target.as_str())) else {
                problems.push(Problem::at(path, line, format!("{link}: no such file")));
                continue;
            };
            let page = markdown.get(target.as_str()).filter(|page| !page.contains("{{#include"));
            if !anchor.is_empty() && page.is_some_and(|page| !headings(page).contains(anchor)) {
                problems.push(Problem::at(path, line, format!("{link}: no such heading")));
            }
        }
    }
    Check::done("links", count, "links of Markdown files", problems)
}

/// Yields the lines of a text that are not in a fenced block, counted from 1.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((number + 1, line))
    })
}

/// Returns the links of a text to paths in the repository, with their line numbers.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        // Text between backticks is code and contains no links.
        for piece in line.split('`').step_by(2) {
            let targets = piece.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            links.extend(targets.map(|(target, _)| (number, target)));
        }
        // A link whose text is code is cut in two by the split above.
        let after_code = line.split("`](").skip(1).filter_map(|rest| rest.split_once(')'));
        links.extend(after_code.map(|(target, _)| (number, target)));
    }
    links.retain(|(_, link)| !link.contains("://") && !link.starts_with("mailto:"));
    links.sort_unstable();
    links.dedup();
    links
}

/// Resolves a path that is relative to a file. Returns `None` if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the anchors of the headings of a page.
fn headings(page: &str) -> BTreeSet<String> {
    let titles = prose(page).filter_map(|(_, line)| line.strip_prefix('#'));
    titles.map(|title| anchor(title.trim_start_matches('#').trim())).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: Some(text.to_owned()) }
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let readme = "[a](docs/a.md#two-words) [`b`](docs) [c](docs/no.md) [d](#none)\n\
                      [e](https://example.org) `[f](no)`\n```\n[g](no)\n```\n";
        let files = [
            file("README.md", readme),
            file("docs/a.md", "# A\n## Two `words`\n[up](../README.md)"),
        ];
        let check = check(&files);
        assert_eq!(
            check.to_string(),
            "links: 5 links of Markdown files, 2 problem(s)\n  README.md:1: #none: no such heading\n  \
             README.md:1: docs/no.md: no such file"
        );
    }
}
