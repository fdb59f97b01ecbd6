//! The reference of waits in the book is made from the catalogue. `DWELL_UPDATE_GOLDEN=1` writes it anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use dwell_model::waits::{Certainty, TREE, Wait};

fn certainty(wait: Wait) -> &'static str {
    match wait.about().certainty {
        Certainty::Records => "exact",
        Certainty::Members => "exact, or lower bound",
        Certainty::Inference => "exact, or inferred",
        Certainty::Visits => "exact, by rule, or between bounds",
    }
}

fn reference() -> String {
    let mut text = String::from(
        "# Reference of waits\n\n\
         <!-- Made from the catalogue of waits in dwell-model: \
         `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-model --test all waits_reference::` writes this page. -->\n\n\
         The call that waits is entered at *e* and left at *x*. In names of metrics, `…` stands for the layer: `shmem`, \
         `mpi`, `armci`, `caf`, `gasnet`, `upc`, `ga`, `ucx` or `omp`. [How sure it is](waits.md#how-sure-it-is) explains the words \
         of that line. `docs/design/waits.md` in the repository has the complete rules.\n\n\
         In the pictures, grey is computing, blue is inside a call, and hatched is the wait.\n",
    );
    let chapter = chapter();
    let mut shown = BTreeSet::new();
    for wait in Wait::ALL {
        let about = wait.about();
        let metrics: Vec<String> =
            about.places.iter().map(|it| format!("`…_{}`", it.metric)).collect();
        writeln!(text, "\n## {}\n", about.title).unwrap();
        let picture = section(&chapter, about.section).and_then(picture);
        if let Some(picture) = picture.filter(|it| shown.insert(it.clone())) {
            writeln!(text, "{picture}\n").unwrap();
        }
        text.push_str("| | |\n| --- | --- |\n");
        let mut row = |name: &str, value: &str| writeln!(text, "| {name} | {value} |").unwrap();
        row("id", &format!("`{}`", about.id));
        row("what happens", about.meaning);
        row("what is measured", about.measured);
        row("in `trace.cubex`", &metrics.join(", "));
        if let Some(whole) = about.part_of {
            row("part of", &format!("`{}`; no finding of its own", whole.about().id));
        }
        row("how sure", certainty(*wait));
        row("what to do", about.remedy);
    }
    text.push_str("\n## The tree of metrics\n\nBelow each layer of a report, without the name of the layer:\n\n```text\n");
    for group in TREE.iter().filter(|it| it.depth > 0) {
        writeln!(text, "{:indent$}{}", "", group.metric, indent = 2 * (group.depth - 1)).unwrap();
        for (depth, _, place) in group.waits() {
            writeln!(text, "{:indent$}{}", "", place.metric, indent = 2 * (depth - 1)).unwrap();
        }
    }
    text.push_str("```\n");
    text
}

#[test]
fn the_book_has_the_catalogue() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let path = root.join("waits-reference.md");
    let made = reference();
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "docs/src/waits-reference.md is old: DWELL_UPDATE_GOLDEN=1 renews it");
}

#[test]
fn every_wait_has_a_section_of_the_chapter() {
    let chapter = chapter();
    for wait in Wait::ALL {
        let name = wait.about().section;
        assert!(section(&chapter, name).is_some(), "there is no section #{name}");
    }
}

/// Reads the chapter that has the complete rules.
fn chapter() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design");
    fs::read_to_string(root.join("waits.md")).unwrap()
}

/// Returns what follows a title of the chapter, up to the next title, by the anchor of the title.
fn section<'a>(chapter: &'a str, anchor: &str) -> Option<&'a str> {
    let is_title = |title: &str| {
        let kept = title.chars().filter(|it| it.is_alphanumeric() || *it == ' ' || *it == '-');
        kept.collect::<String>().to_lowercase().replace(' ', "-") == anchor
    };
    let sections = chapter.split("\n#").map(|it| it.trim_start_matches('#').trim_start());
    let mut parts = sections.filter_map(|it| it.split_once('\n'));
    parts.find(|(title, _)| is_title(title.trim())).map(|(_, text)| text)
}

/// Returns the first picture of a section, as a page of the book shows it.
fn picture(section: &str) -> Option<String> {
    let line = section.lines().find(|line| line.starts_with("!["))?;
    Some(line.replace("../src/", ""))
}
