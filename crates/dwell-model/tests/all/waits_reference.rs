//! The reference of waits in the book is made from the catalogue. `DWELL_UPDATE_GOLDEN=1` writes it anew.

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
         `mpi`, `armci`, `caf`, `gasnet`, `upc`, `ga` or `ucx`. [How sure it is](waits.md#how-sure-it-is) explains the words \
         of that line.\n",
    );
    for wait in Wait::ALL {
        let about = wait.about();
        let metrics: Vec<String> =
            about.places.iter().map(|it| format!("`…_{}`", it.metric)).collect();
        writeln!(text, "\n## {}\n\n| | |\n| --- | --- |", about.title).unwrap();
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
        row("more", &format!("[in the chapter](waits.md#{})", about.section));
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
fn links_lead_to_sections_of_the_chapter() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let chapter = fs::read_to_string(root.join("waits.md")).unwrap();
    let anchor = |title: &str| {
        let kept = title.chars().filter(|it| it.is_alphanumeric() || *it == ' ' || *it == '-');
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let titles = chapter.lines().filter_map(|line| line.strip_prefix('#'));
    let anchors: Vec<String> =
        titles.map(|title| anchor(title.trim_start_matches('#').trim())).collect();
    for wait in Wait::ALL {
        let section = wait.about().section;
        assert!(anchors.iter().any(|it| it == section), "there is no section #{section}");
    }
}
