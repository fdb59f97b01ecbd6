use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use dwell_model::waits::Wait;

/// Compares a file of the page with what it is made from.
fn hold(path: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, made).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(made == known, "{path} is old: set DWELL_UPDATE_GOLDEN=1 and run again");
}

fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(path);
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn types_of_the_page_are_these() {
    hold("web/src/types.ts", &super::typescript());
}

/// Returns a text of the book without its links: a page has no other one to lead to.
fn without_links(text: &str) -> String {
    let text = text.split("; [").next().unwrap_or_default();
    let mut parts = text.split('[');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (words, rest) = part.split_once("](").unwrap();
        let (_, rest) = rest.split_once(')').unwrap();
        let _ = write!(plain, "{words}{rest}");
    }
    plain
}

/// Adds the values of a type of `findings.json` or its fields, which its schema describes.
fn add(words: &mut BTreeMap<String, String>, of: &serde_json::Value) {
    let text = |it: &serde_json::Value| {
        let text = it["description"].as_str().unwrap();
        // What a file has instead is nothing for readers of the page.
        text.split("; null").next().unwrap_or(text).to_owned()
    };
    for value in of["oneOf"].as_array().into_iter().flatten() {
        words.insert(value["const"].as_str().unwrap().into(), text(value));
    }
    for (name, field) in of["properties"].as_object().into_iter().flatten() {
        words.insert(format!("efficiency: {}", name.replace('_', " ")), text(field));
    }
}

#[test]
fn the_page_explains_its_words() {
    let mut words: BTreeMap<String, String> = BTreeMap::new();
    let schema: serde_json::Value = serde_json::from_str(&read("findings.schema.json")).unwrap();
    for name in ["Kind", "Confidence", "Efficiency"] {
        add(&mut words, &schema["$defs"][name]);
    }
    for wait in Wait::ALL.iter().map(|it| it.about()) {
        words.insert(wait.title.to_lowercase(), wait.meaning.into());
    }
    // The glossary says more than a title does.
    for line in read("glossary.md").lines().filter(|it| it.starts_with("| ")).skip(2) {
        let (names, meaning) = line.trim_matches([' ', '|']).split_once(" | ").unwrap();
        for name in names.split(", ") {
            words.insert(name.to_lowercase(), without_links(meaning.trim()));
        }
    }
    let mut text = "// Made from docs/src/glossary.md, the catalogue of waits and findings.schema.json: `DWELL_UPDATE_GOLDEN=1 cargo test \
                    -p dwell-serve types`.\n\nexport const GLOSSARY: Record<string, string> = {\n"
        .to_owned();
    for (name, meaning) in &words {
        let [name, meaning] = [name, meaning].map(|it| serde_json::to_string(it).unwrap());
        let _ = writeln!(text, "  {name}: {meaning},");
    }
    text.push_str("};\n");
    hold("web/src/glossary.ts", &text);
}
