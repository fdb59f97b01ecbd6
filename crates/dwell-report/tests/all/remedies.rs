//! The book's page of remedies is made from the tables. `DWELL_UPDATE_GOLDEN=1` writes it anew.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use dwell_report::{Printed, Remedy, remedies};

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
}

/// Facts that stand in the texts, and how the page shows them.
const FACTS: &[(&str, &str)] = &[
    ("{partner}", "*process*"),
    ("{call}", "*call*"),
    ("{name}", "*call*"),
    ("{finding}", "*number*"),
    ("{cause}", "*letter*"),
    ("{on_itself}", "*calls*"),
    ("{thread}", "*setting*"),
    ("{longer}", "*n* %"),
    ("{place}", ""),
];

fn page() -> String {
    let all = remedies();
    let tried = all.iter().filter(|it| it.tried.is_some()).count();
    let mut page = format!(
        "# Remedies\n\n\
         <!-- Made from crates/dwell-report/src/advice: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-report --test all \
         remedies::` writes this page. -->\n\n\
         These are all remedies that Dwell prints. Words in *italics* are filled in from the run. {tried} of the {} were \
         measured: a program was timed before and after the remedy, without Dwell, as a whole or in the part that is named. \
         With a plus sign it took longer. `docs/performance/predictions.md` and \
         `docs/performance/inefficient.md` of the repository say how and where. The others were not measured: try the \
         remedy, and [compare](compare.md).\n",
        all.len()
    );
    for (printed, head) in [
        (
            Printed::ByFacts,
            "By facts of the run\n\nAll rows that apply to a finding are printed, in this order. A wait for progress is \
             `wait_for_progress` or `wait_for_progress_multi`.",
        ),
        (
            Printed::InGeneral,
            "In general\n\nPrinted if none of the rows above applies. Those of waits are in the [reference](waits-reference.md), \
             and here only if they were measured.",
        ),
        (
            Printed::Progress,
            "Progress\n\nChoices of `dwell whatif --progress`, which ranks them by their predicted gain.",
        ),
    ] {
        writeln!(page, "\n## {head}\n\n| when | remedy | measured |\n| --- | --- | --- |").unwrap();
        // The reference of waits has the texts of these.
        let is_here =
            |it: &&Remedy| it.printed == printed && (!it.is_of_wait || it.tried.is_some());
        for Remedy { when, text, tried, .. } in all.iter().filter(is_here) {
            let mut text = text.clone();
            FACTS.iter().for_each(|(fact, shown)| text = text.replace(fact, shown));
            let tried = tried.map(|it| format!("{}: {}", it.program, it.change));
            let tried = tried.as_deref().unwrap_or("not measured");
            writeln!(page, "| {when} | {text} | {tried} |").unwrap();
        }
    }
    page
}

#[test]
fn the_book_has_all_remedies() {
    let path = pages().join("remedies.md");
    let made = page();
    assert!(!made.contains(['{', '}']), "a fact has no text");
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "docs/src/remedies.md is old: DWELL_UPDATE_GOLDEN=1 renews it");
}

/// Measured changes are those of the pages that say how they were measured.
#[test]
fn changes_are_those_that_were_measured() {
    let read = |name: &str| fs::read_to_string(pages().join(name)).unwrap();
    let predicted = read("../performance/predictions.md");
    let inefficient = read("../performance/inefficient.md");
    for tried in remedies().into_iter().filter_map(|it| it.tried) {
        let mut lines = predicted.lines().chain(inefficient.lines());
        let has = |line: &str| line.contains(tried.program) && line.contains(tried.change);
        assert!(lines.any(has), "{tried:?}");
    }
}
