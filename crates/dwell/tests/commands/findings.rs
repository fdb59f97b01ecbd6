//! `findings.json` of all recorded archives, held against its published JSON Schema and its reader.

use std::fs;
use std::path::{Path, PathBuf};

use dwell_report::findings::Findings;
use serde_json::Value;

use crate::support::{copy, dwell, path, text};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A JSON Schema, of which this checks the keywords that ours has. An unknown keyword is an error, because a keyword
/// that is ignored checks nothing.
struct Schema(Value);

impl Schema {
    fn published() -> Self {
        let text = fs::read_to_string(repository().join("docs/src/findings.schema.json")).unwrap();
        Self(serde_json::from_str(&text).unwrap())
    }

    fn check(&self, document: &Value) -> Result<(), String> {
        self.check_at("$", &self.0, document)
    }

    fn check_at(&self, at: &str, schema: &Value, value: &Value) -> Result<(), String> {
        let all = |schemas: &Value| -> Vec<Result<(), String>> {
            schemas.as_array().unwrap().iter().map(|it| self.check_at(at, it, value)).collect()
        };
        for (keyword, wanted) in schema.as_object().unwrap() {
            let holds = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "format" => true,
                "$ref" => {
                    let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    let definition = &self.0["$defs"][name];
                    self.check_at(at, definition, value)?;
                    true
                }
                "const" => wanted == value,
                "minimum" => value.as_f64().is_none_or(|it| it >= wanted.as_f64().unwrap()),
                "type" => match wanted {
                    Value::Array(kinds) => kinds.iter().any(|kind| is_a(kind, value)),
                    kind => is_a(kind, value),
                },
                "anyOf" => all(wanted).iter().any(Result::is_ok),
                "oneOf" => all(wanted).iter().filter(|it| it.is_ok()).count() == 1,
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check_at(&format!("{at}[{index}]"), wanted, item)?;
                    }
                    true
                }
                "properties" => {
                    for (name, schema) in wanted.as_object().unwrap() {
                        if let Some(field) = value.get(name) {
                            self.check_at(&format!("{at}.{name}"), schema, field)?;
                        }
                    }
                    true
                }
                "required" => wanted
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| value.get(name.as_str().unwrap()).is_some()),
                _ => return Err(format!("the schema has an unknown keyword {keyword}")),
            };
            if !holds {
                return Err(format!("{at}: {keyword} {wanted} does not hold for {value}"));
            }
        }
        Ok(())
    }
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn findings_of_all_archives_follow_the_schema_and_are_read() {
    let schema = Schema::published();
    let directory = tempfile::tempdir().unwrap();
    let mut archives = 0;
    for entry in fs::read_dir(repository().join("tests/data/archives")).unwrap() {
        let entry = entry.unwrap();
        let archive = directory.path().join(entry.file_name());
        copy(&entry.path(), &archive);
        let output = dwell(&["analyze", path(&archive), "--full", "--threads", "2"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
        let written = fs::read(archive.join("findings.json")).unwrap();
        let document: Value = serde_json::from_slice(&written).unwrap();
        schema.check(&document).unwrap_or_else(|why| panic!("{}: {why}", archive.display()));
        let read = Findings::read(&written).unwrap();
        assert!(read.to_json().unwrap().as_bytes() == written, "{}", archive.display());
        archives += 1;
    }
    assert!(archives > 20, "{archives} archives");
}

#[test]
fn documents_that_break_the_schema_are_refused() {
    let schema = Schema::published();
    let text = fs::read_to_string(repository().join("tests/data/formats/findings-2.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema.check(&document), Ok(()));
    let broken = |pointer: &str, value: Value| {
        let mut document = document.clone();
        *document.pointer_mut(pointer).unwrap() = value;
        schema.check(&document).unwrap_err()
    };
    broken("/version", 3.into());
    broken("/events", (-1).into());
    broken("/time_seconds", "long".into());
    broken("/findings/0/confidence", "certain".into());
    broken("/findings/0/path/1/line", 1.5.into());
    broken("/findings/0/worst/meanwhile/calls/0/serves_others", Value::Null);
    broken("/inefficient/0/evidence", Value::Object(serde_json::Map::new()));
    for name in document.as_object().unwrap().keys() {
        let mut without = document.clone();
        without.as_object_mut().unwrap().remove(name);
        schema.check(&without).unwrap_err();
    }
}

/// Analyses a synthetic archive and returns its findings and what was said besides.
fn analysed(archive: &Path, causes: &str) -> (Findings, String) {
    let output = dwell(&["analyze", path(archive), "--full", "--causes", causes]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let findings = Findings::read(&fs::read(archive.join("findings.json")).unwrap()).unwrap();
    (findings, text(&output.stderr))
}

#[test]
fn causes_are_searched_unless_they_cannot_be() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("run");
    let made = dwell(&["synth", "ring", "--ranks", "4", "--steps", "20", "-o", path(&archive)]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let (with, said) = analysed(&archive, "auto");
    assert!(!with.causes.is_empty() && !with.critical_path.is_empty());
    assert_eq!(said, "");
    let log = archive.join("dwell-dependencies");
    assert!(log.join("dependencies-0000").exists(), "the timeline is made from the log");
    let shown = dwell(&["timeline", path(&archive)]);
    assert!(shown.status.success() && shown.stderr.is_empty(), "{}", text(&shown.stderr));
    let (without, _) = analysed(&archive, "never");
    assert!(!log.exists(), "the log of another analysis is removed");
    assert!(without.causes.is_empty() && without.critical_path.is_empty());
    assert_eq!(without.findings, with.findings);

    // Files of others in the directory stay.
    fs::create_dir(&log).unwrap();
    fs::write(log.join("thesis.txt"), "mine").unwrap();
    assert_eq!(analysed(&archive, "always").0, with);
    analysed(&archive, "never");
    assert_eq!(fs::read_dir(&log).unwrap().count(), 1);

    // Without a place for the log there are waits, and a reason.
    fs::remove_dir_all(&log).unwrap();
    fs::write(&log, "in the way").unwrap();
    let (found, said) = analysed(&archive, "auto");
    assert_eq!(found, without);
    assert!(said.contains("causes of waits cannot be searched"), "{said}");
    let refused = dwell(&["analyze", path(&archive), "--causes", "always"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert_eq!(fs::read(&log).unwrap(), b"in the way");
}
