//! The book says what the program does.
//!
//! - Commands of `console` blocks are run, and print what the book prints ([`session`]); those of `sh,run` succeed.
//! - Every option of `dwell` that the book names exists ([`options`]).
//! - The references are made from the program ([`reference`]).
//! - Messages that are explained are messages that the program has ([`messages`]).
//! - What users read has a bound, and long pages have pictures ([`size`]).
//!
//! `cargo test -p dwell --test book` checks what needs no runs. `-- --ignored` runs the commands of all pages; continuous
//! integration runs those of quick pages, alone.

#[allow(dead_code)] // The tests of recordings use all of it.
#[path = "../record/lab.rs"]
mod lab;
mod messages;
#[allow(dead_code)] // Other tests use all of it.
#[path = "../../../../tests/needs.rs"]
mod needs;
mod options;
mod output;
mod pages;
mod reference;
#[allow(dead_code)] // Its table is a page of the book.
#[path = "../../src/renamed.rs"]
mod renamed;
mod session;
mod size;
#[path = "../support/mod.rs"]
mod support;

use pages::{Kind, Page};

/// Languages of blocks that are neither commands nor their output.
const QUOTED: &[&str] =
    &["text", "json", "c", "fortran", "rust", "rust,ignore", "python", "sql", "make"];

#[test]
fn every_block_is_run_or_marked() {
    let mut problems = Vec::new();
    for page in pages::all() {
        for block in &page.blocks {
            let place = format!("{}:{}", page.name, block.line);
            match &block.kind {
                Kind::Console { reason: None, is_run: false } => problems.push(format!(
                    "{place}: `console,norun` needs a line `<!-- norun: REASON -->` before it"
                )),
                Kind::Console { .. } if !block.text.starts_with("$ ") => {
                    problems.push(format!("{place}: a console block begins with `$ `"));
                }
                Kind::Other(language) if !QUOTED.contains(&language.as_str()) => {
                    problems.push(format!("{place}: blocks of `{language}` are not known"));
                }
                Kind::Other(_) if block.text.starts_with("$ ") => {
                    problems.push(format!("{place}: commands belong into a `console` block"));
                }
                _ => {}
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
#[ignore = "measures real runs, which other tests beside it change: cargo xtask ci"]
fn quick_pages_print_what_they_say() {
    run(|page| page.is_run() && !page.is_slow());
}

#[test]
#[ignore = "takes minutes: cargo xtask proofs"]
fn slow_pages_print_what_they_say() {
    run(Page::is_slow);
}

/// Runs the commands of chosen pages. Every page that differs is named.
fn run(chosen: impl Fn(&Page) -> bool) {
    let pages: Vec<Page> = pages::all().into_iter().filter(chosen).collect();
    assert!(!pages.is_empty(), "there are no such pages");
    let problems: Vec<String> = pages.iter().flat_map(session::run).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
