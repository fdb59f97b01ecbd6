//! Our records as lines, in the form that `generate.py` describes.
//!
//! Values come from [`fields`](otf2::Record::fields), so what is compared is what a user of the crate
//! sees. Only names are translated here, never values.

use std::fmt::Write;
use std::ops::ControlFlow;

use otf2::id::{LocationRef, RefKind};
use otf2::read::{EventReader, EventRecord, Visitor};
use otf2::value::IoProperty;
use otf2::{Archive, Attribute, AttributeValue, List, MetricValue, Value};

/// Returns the name that a field has in the C interface, where it differs from ours.
///
/// `id` and `kind` stand for names that are keywords or would clash in Rust; lists are named after their elements,
/// where the C interface has an array for each part; the rest loses a prefix.
fn c_name<'n>(record: &str, field: &'n str) -> &'n str {
    match (record, field) {
        (_, "id") => "self",
        (_, "kind") => "type",
        ("Metric", "values") => "type_ids+metric_values",
        ("IoParadigm", "properties") => "properties+types+values",
        ("DefMarker", "group") => "marker_group",
        ("DefMarker", "category") => "marker_category",
        ("Marker", "time") => "timestamp",
        ("Header", "samples") => "number_of_samples",
        ("Header", "refs") => "refs_to_defs",
        ("Sample", "values") => "metric_samples",
        (_, same) => same,
    }
}

/// Receives the fields of a record.
type Fields<'f> = &'f mut dyn FnMut(&'static str, Value<'_>);

/// Appends the name and the fields of a record to a line.
fn record(line: &mut String, name: &str, fields: impl FnOnce(Fields<'_>)) {
    let mut shown = Vec::new();
    fields(&mut |field, value| {
        let mut text = String::new();
        show(&mut text, value);
        shown.push((c_name(name, field), text));
    });
    shown.sort();
    line.push_str(name);
    for (field, value) in shown {
        write!(line, " {field}={value}").unwrap();
    }
}

fn show(text: &mut String, value: Value<'_>) {
    match value {
        Value::Unsigned(n) => write!(text, "{n}").unwrap(),
        Value::Signed(n) => write!(text, "{n}").unwrap(),
        Value::Float(x) => write!(text, "x{:016x}", x.to_bits()).unwrap(),
        Value::Time(time) => write!(text, "{time}").unwrap(),
        Value::Rank(rank) => write!(text, "{}", rank.0).unwrap(),
        Value::Root(root) => write!(text, "{}", u32::from(root)).unwrap(),
        Value::Ref(_, n) => write!(text, "{n}").unwrap(),
        Value::Undefined(kind) => write!(text, "{}", undefined(kind)).unwrap(),
        Value::Enum { code, .. } => write!(text, "{code}").unwrap(),
        Value::Flags { bits, .. } => write!(text, "{bits}").unwrap(),
        Value::Text(string) => escape(text, string.as_bytes()),
        Value::Typed(value) => typed(text, value),
        Value::Attribute(Attribute { attribute, value }) => {
            write!(text, "{}:", attribute.0).unwrap();
            typed(text, value);
        }
        Value::Metric(MetricValue { value_type, bits }) => {
            write!(text, "{}:{bits}", u8::from(value_type)).unwrap();
        }
        Value::IoProperty(IoProperty { property, value }) => {
            write!(text, "{}:", u8::from(property)).unwrap();
            typed(text, value);
        }
        Value::List(list) => {
            text.push('[');
            let mut count = 0;
            list.each(&mut |item| {
                if count > 0 {
                    text.push(',');
                }
                count += 1;
                show(text, item);
            });
            text.push(']');
            assert_eq!(count, list.count());
        }
        Value::Map(map) => {
            text.push_str(if map.is_dense() { "dense[" } else { "sparse[" });
            for (at, (local, global)) in map.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                if map.is_dense() {
                    assert_eq!(local, at as u64);
                    write!(text, "{comma}{global}").unwrap();
                } else {
                    write!(text, "{comma}{local}>{global}").unwrap();
                }
            }
            text.push(']');
        }
        _ => panic!("a value of a new kind"),
    }
}

/// Returns the number that means *undefined*, which depends on the width of the id.
fn undefined(kind: RefKind) -> u64 {
    match kind {
        RefKind::Location => u64::MAX,
        RefKind::IoParadigm => u64::from(u8::MAX),
        _ => u64::from(u32::MAX),
    }
}

fn typed(text: &mut String, value: AttributeValue) {
    write!(text, "{}:", u8::from(value.value_type())).unwrap();
    match value {
        AttributeValue::Float(x) => write!(text, "x{:08x}", x.to_bits()).unwrap(),
        AttributeValue::Double(x) => write!(text, "x{:016x}", x.to_bits()).unwrap(),
        other => show(text, other.show()),
    }
}

fn escape(text: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").unwrap();
        }
    }
}

fn attributes(line: &mut String, list: &List<'_, Attribute>) {
    line.push(' ');
    show(line, Value::List(list));
}

/// Returns the line of an event.
pub(crate) fn event(location: LocationRef, event: &EventRecord<'_>) -> String {
    let mut line = format!("E {location} {} {} ", event.number, event.time);
    record(&mut line, event.event.name(), |visit| event.event.fields(visit));
    attributes(&mut line, &event.attributes);
    line
}

/// Returns the lines of all events that the reader has not given yet.
pub(crate) fn rest(reader: &mut EventReader) -> Vec<String> {
    let mut lines = Vec::new();
    let location = reader.location();
    while let Some(record) = reader.next().unwrap() {
        lines.push(event(location, &record));
    }
    lines
}

/// Collects the lines of events, up to a requested number.
pub(crate) struct Lines {
    pub(crate) location: LocationRef,
    pub(crate) lines: Vec<String>,
    pub(crate) most: usize,
}

impl Visitor for Lines {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        self.lines.push(event(self.location, &record));
        if self.lines.len() < self.most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Returns the lines of all events of the locations, one location after the other.
pub(crate) fn events(archive: &Archive, locations: &[u64]) -> Vec<String> {
    let mut lines = Vec::new();
    for &location in locations {
        let location = LocationRef(location);
        let mine = rest(&mut archive.events(location).unwrap());
        lines.extend(mine);
    }
    lines
}

/// Returns the lines of all snapshot records of the locations.
pub(crate) fn snapshots(archive: &Archive, locations: &[u64]) -> Vec<String> {
    let mut lines = Vec::new();
    for &location in locations {
        let Some(mut reader) = archive.snapshots(LocationRef(location)).unwrap() else {
            continue;
        };
        while let Some(snapshot) = reader.next().unwrap() {
            let mut line = format!("S {location} {} ", snapshot.time);
            record(&mut line, snapshot.snapshot.name(), |visit| snapshot.snapshot.fields(visit));
            attributes(&mut line, &snapshot.attributes);
            lines.push(line);
        }
    }
    lines
}

/// Returns the lines of all global definitions.
pub(crate) fn global_definitions(archive: &Archive) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reader = archive.global_definitions().unwrap();
    while let Some(definition) = reader.next().unwrap() {
        let mut line = "D ".to_owned();
        record(&mut line, definition.name(), |visit| definition.fields(visit));
        lines.push(line);
    }
    lines
}

/// Returns the lines of all local definitions of the locations.
pub(crate) fn local_definitions(archive: &Archive, locations: &[u64]) -> Vec<String> {
    let mut lines = Vec::new();
    for &location in locations {
        let Some(mut reader) = archive.local_definitions(LocationRef(location)).unwrap() else {
            continue;
        };
        while let Some(definition) = reader.next().unwrap() {
            let mut line = format!("L {location} ");
            record(&mut line, definition.name(), |visit| definition.fields(visit));
            lines.push(line);
        }
    }
    lines
}

/// Returns the lines of all markers.
pub(crate) fn markers(archive: &Archive) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(mut reader) = archive.markers().unwrap() {
        while let Some(marker) = reader.next().unwrap() {
            let mut line = "M ".to_owned();
            record(&mut line, marker.name(), |visit| marker.fields(visit));
            lines.push(line);
        }
    }
    lines
}

/// Returns the lines of all thumbnails.
pub(crate) fn thumbnails(archive: &Archive) -> Vec<String> {
    let mut lines = Vec::new();
    for number in 0..archive.anchor().thumbnails {
        let mut reader = archive.thumbnail(number).unwrap();
        while let Some(thumbnail) = reader.next().unwrap() {
            let mut line = format!("T {number} ");
            record(&mut line, thumbnail.name(), |visit| thumbnail.fields(visit));
            lines.push(line);
        }
    }
    lines
}

/// Returns the contents of the anchor, one line for each field.
pub(crate) fn anchor(archive: &Archive) -> Vec<String> {
    let anchor = archive.anchor();
    let (major, minor, bugfix) = anchor.version;
    let mut lines = vec![
        format!("A chunks {} {}", anchor.events_chunk, anchor.defs_chunk),
        format!(
            "A counts {} {} {} {}",
            anchor.locations, anchor.definitions, anchor.snapshots, anchor.thumbnails
        ),
        format!("A version {major} {minor} {bugfix}"),
        format!("A trace {}", anchor.trace_id),
    ];
    let mut text = |head: String, value: &str| {
        let mut line = head;
        escape(&mut line, value.as_bytes());
        lines.push(line);
    };
    text("A machine ".into(), &anchor.machine);
    text("A creator ".into(), &anchor.creator);
    text("A description ".into(), &anchor.description);
    for (name, value) in &anchor.properties {
        text(format!("A property {name} "), value);
    }
    lines
}
