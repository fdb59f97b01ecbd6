//! `cargo xtask release-notes VERSION`: what CHANGELOG.md says about one version.

use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;

const CHANGELOG: &str = "CHANGELOG.md";

/// Options of `cargo xtask release-notes`.
#[derive(Args)]
pub(crate) struct Options {
    /// Version to print the notes of, such as 0.2.0, or `unreleased`
    version: String,
}

/// Prints the notes of a version.
pub(crate) fn run(options: &Options) -> Result<()> {
    let changelog = fs::read_to_string(CHANGELOG).context(CHANGELOG)?;
    println!("{}", notes(&changelog, &options.version)?);
    Ok(())
}

/// Returns the text below the heading of a version, with a paragraph in each line as releases show them best.
fn notes(changelog: &str, version: &str) -> Result<String> {
    let mut sections = changelog.split("\n## ").skip(1);
    let Some(section) = sections.find(|section| is_of(section, version)) else {
        bail!("{CHANGELOG} has no section `## {version}`");
    };
    let body = section.split_once('\n').map_or("", |(_, body)| body).trim();
    if body.is_empty() {
        bail!("{CHANGELOG} says nothing about {version}");
    }
    Ok(unwrapped(body))
}

/// Returns `true` if a section is that of a version: `0.2.0`, `[0.2.0] - 2026-11-17` or `Unreleased`.
fn is_of(section: &str, version: &str) -> bool {
    let heading = section.lines().next().unwrap_or_default();
    let name = heading.split_whitespace().next().unwrap_or_default();
    name.trim_matches(['[', ']']).eq_ignore_ascii_case(version)
}

/// Joins the lines of each paragraph and item of a list: where notes of releases are shown, a line break stays one.
fn unwrapped(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines() {
        let continues = line.starts_with("  ") && !line.trim_start().starts_with("- ");
        if continues && !joined.is_empty() {
            joined.push(' ');
            joined.push_str(line.trim_start());
        } else {
            if !joined.is_empty() {
                joined.push('\n');
            }
            joined.push_str(line);
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Changelog\n\n## Unreleased\n\n### Added\n- one\n  goes on\n- two\n\n## [0.1.0] - 2026-11-17\n\n- first\n";

    #[test]
    fn a_section_becomes_notes() -> Result<()> {
        assert_eq!(notes(TEXT, "unreleased")?, "### Added\n- one goes on\n- two");
        assert_eq!(notes(TEXT, "0.1.0")?, "- first");
        assert!(notes(TEXT, "0.1").is_err());
        Ok(())
    }

    #[test]
    fn the_changelog_has_notes() -> Result<()> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../CHANGELOG.md");
        assert!(notes(&fs::read_to_string(path)?, "unreleased")?.starts_with("### "));
        Ok(())
    }
}
