//! `cargo xtask book`: the book as a website, in `target/book`.
//!
//! mdBook renders `docs/src`. A warning of mdBook fails the task, and so does a link of the rendered pages that leads
//! to no file or to no heading, and a chapter that the table of contents does not list. Links to other sites are not
//! followed: no build may depend on them.

mod links;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::process;
use crate::tools::Tool;
use crate::workspace::Workspace;

/// The renderer, without its server and its watching of files.
const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    features: &["--no-default-features", "--features", "search"],
};

const SOURCE: &str = "docs";

/// Options of `cargo xtask book`.
#[derive(Args)]
pub(crate) struct Options {
    /// Show the book in a browser
    #[arg(long)]
    open: bool,
}

/// Builds the book, checks it, and opens it if the options say so.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    check(workspace)?;
    if options.open {
        let browser = env::var_os("BROWSER").unwrap_or_else(|| "xdg-open".into());
        process::run(Command::new(browser).arg(workspace.target.join("book/index.html")))?;
    }
    Ok(())
}

/// Builds the book and checks its chapters and links.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    listed(Path::new(SOURCE))?;
    let mdbook = MDBOOK.install(workspace)?;
    let place = workspace.target.join("book");
    build(&mdbook, &place)?;
    let count = links::check(&place)?;
    println!("{}: {count} links ok", workspace.relative(&place));
    Ok(())
}

/// Runs mdBook. It reports problems as warnings and succeeds; here each of them is an error.
fn build(mdbook: &Path, place: &Path) -> Result<()> {
    let mut command = Command::new(mdbook);
    command.args(["build", SOURCE, "--dest-dir"]).arg(place).env("NO_COLOR", "1");
    println!("$ {}", process::display(&command));
    let output = command.output().context("cannot run mdbook")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let problems: Vec<&str> = said.lines().filter(|line| is_problem(line)).collect();
    if !output.status.success() || !problems.is_empty() {
        bail!("mdbook: {}\n{said}", output.status);
    }
    Ok(())
}

/// Returns `true` if a line of the output of mdBook is more than information.
fn is_problem(line: &str) -> bool {
    line.split_whitespace().take(3).any(|word| {
        let word = word.trim_matches(|it: char| !it.is_ascii_alphabetic());
        matches!(word, "WARN" | "ERROR")
    })
}

/// Checks that the table of contents lists every chapter.
fn listed(source: &Path) -> Result<()> {
    let chapters = source.join("src");
    let summary = fs::read_to_string(chapters.join("SUMMARY.md"))?;
    let known: BTreeSet<&str> = targets(&summary).collect();
    for entry in fs::read_dir(&chapters)? {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_chapter = path.extension() == Some(OsStr::new("md")) && name != "SUMMARY.md";
        if is_chapter && !known.contains(name) {
            bail!("docs/src/SUMMARY.md does not list {name}");
        }
    }
    Ok(())
}

/// Yields the targets of the links of a Markdown text that has one link a line at most.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| Some(line.split_once("](")?.1.split_once(')')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_mdbook_are_recognised() {
        assert!(is_problem(" WARN unclosed HTML tag `<a>` found in `about.md`"));
        assert!(is_problem("2026-11-17 03:00:00 [ERROR] (mdbook_core): no such chapter"));
        assert!(!is_problem(" INFO Book building has started"));
    }

    #[test]
    fn the_table_of_contents_is_read() {
        let text = "# Summary\n\n[About](about.md)\n- [Waits](waits.md)\n  - [More](more.md)\n";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["about.md", "waits.md", "more.md"]);
    }

    #[test]
    fn the_table_of_contents_lists_every_chapter() -> Result<()> {
        listed(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs"))
    }
}
