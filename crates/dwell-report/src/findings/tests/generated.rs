//! Files that are generated from the types of `findings.json`: its JSON Schema, its reference in the book, and the types
//! of the page.
//! `DWELL_UPDATE_GOLDEN=1` writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use ts_rs::TS;

use super::super::*;

/// Compares a file of the repository with what today's types make of it.
fn hold(path: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("DWELL_UPDATE_GOLDEN").is_some() {
        fs::write(&file, made).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == made,
        "{path} is old: DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-report findings"
    );
}

/// Returns the schema of what is written today. A field that readers may miss in older files is required here.
fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = serde_json::to_value(generator.into_root_schema_for::<Findings>()).unwrap();
    schema["properties"]["version"]["const"] = VERSION.into();
    tidy(&mut schema);
    schema
}

/// Removes defaults, which are for readers of older files, and joins the lines of descriptions, which are broken as in
/// the source.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("default");
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => *text = text.replace('\n', " "),
                    other => tidy(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[test]
fn the_schema_is_that_of_the_types() {
    let schema = serde_json::to_string_pretty(&schema()).unwrap();
    hold("docs/src/findings.schema.json", &(schema + "\n"));
}

#[test]
fn the_book_describes_every_field() {
    hold("docs/src/findings.md", &page(&schema()));
}

/// Returns the types as TypeScript that answers of the server contain.
fn typescript() -> String {
    let head = "// Made from crates/dwell-report/src/findings: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-report findings`.";
    let types = [
        Entry::decl(),
        Gain::decl(),
        Instance::decl(),
        Meanwhile::decl(),
        Doing::decl(),
        Share::decl(),
        Phase::decl(),
        Confidence::decl(),
        Serves::decl(),
        Efficiency::decl(),
        Verdict::decl(),
        Loss::decl(),
        Sampled::decl(),
        Computed::decl(),
        FunctionTimes::decl(),
        FunctionTime::decl(),
        Iterations::decl(),
        IterationTimes::decl(),
        IterationChange::decl(),
        IterationChangeKind::decl(),
        Point::decl(),
        Kind::decl(),
        Step::decl(),
    ];
    let types = types.map(|it| format!("\n\nexport {it}")).concat();
    // What JSON brings is a number, however long. The generator leaves blanks at the ends of comment lines.
    let types = types.replace(": bigint", ": number");
    format!("{head}{types}").lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn the_page_has_the_types() {
    hold("web/src/findings.ts", &typescript());
}

const HEAD: &str = "# findings.json

<!-- Made from the types in crates/dwell-report/src/findings: `DWELL_UPDATE_GOLDEN=1 cargo test -p dwell-report findings` \
writes this page. -->

`dwell analyze` writes its findings into `findings.json` in the directory of the run; `dwell analyze --json` prints them. It is
meant for scripts and continuous integration. For example, with `jq`, the five call paths that are worth most:

```sh
jq -r '.entries[:5][] as $e | .findings[$e.findings[0]] | [$e.seconds, .pattern, .path[-1].region, .path[-1].line] | @tsv' \\
  findings.json
```

- The file is one JSON object in UTF-8, with sorted keys. [findings.schema.json](findings.schema.json) is its JSON Schema
  (draft 2020-12).
- All times are seconds, summed over all locations unless a field says otherwise. Where a wait has two bounds, `seconds` is the
  lower and `seconds_at_most` the upper one; otherwise both are equal.
- The same archive gives the same bytes, with any number of threads and processes.
- `version` increases if a field changes its meaning or is removed. Fields can be added without a new version: ignore those
  that you do not know. Dwell reads files of older versions, and reports files that are newer than itself.
";

/// Returns the page of the book.
fn page(schema: &Value) -> String {
    let mut text = HEAD.to_owned();
    writeln!(text, "\n## The document\n\n{}", description(schema)).unwrap();
    table(&mut text, schema);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        writeln!(text, "\n## {name}\n\n{}", description(definition)).unwrap();
        if let Some(kinds) = definition["anyOf"].as_array() {
            for kind in kinds {
                writeln!(text, "\n{}", description(kind)).unwrap();
                table(&mut text, kind);
            }
        } else if let Some(values) = definition["oneOf"].as_array() {
            text.push_str("\n| value | meaning |\n| --- | --- |\n");
            for value in values {
                let name = value["const"].as_str().unwrap();
                writeln!(text, "| `{name}` | {} |", description(value)).unwrap();
            }
        } else {
            table(&mut text, definition);
        }
    }
    text
}

fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_else(|| panic!("no description: {schema}"))
}

/// Adds a table of the fields of an object.
fn table(text: &mut String, object: &Value) {
    text.push_str("\n| field | type | meaning |\n| --- | --- | --- |\n");
    let fields: &Map<String, Value> = object["properties"].as_object().unwrap();
    for (name, field) in fields {
        assert!(object["required"].as_array().unwrap().contains(&name.as_str().into()), "{name}");
        writeln!(text, "| `{name}` | {} | {} |", kind(field), description(field)).unwrap();
    }
}

/// Names the type of a field, with links to the sections of other objects.
fn kind(field: &Value) -> String {
    if let Some(name) = field["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(kinds) = field["anyOf"].as_array() {
        return kinds.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &field["type"] {
        Value::Array(kinds) => {
            kinds.iter().map(|it| it.as_str().unwrap()).collect::<Vec<_>>().join(" or ")
        }
        Value::String(array) if array == "array" => format!("list of {}", kind(&field["items"])),
        kind => kind.as_str().unwrap_or_else(|| panic!("no type: {field}")).to_owned(),
    }
}
