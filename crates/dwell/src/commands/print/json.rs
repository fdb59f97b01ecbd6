//! Records as JSON, one object per line.
//!
//! The first key names the family of a record, and its value the record. The fields follow under their names in the
//! record: references as numbers, or `null` for none; constants by name, or as numbers if they have none; bit sets as
//! lists. No references are resolved: a program that needs names prints the definitions too.

use otf2::enums::{CollectiveRoot, Named, Type};
use otf2::id::{AttributeRef, Id, LocationRef};
use otf2::marker::MarkerRecord;
use otf2::read::SnapshotRecord;
use otf2::value::{IoProperty, Items};
use otf2::{
    Anchor, Attribute, AttributeValue, Definition, EventRecord, List, MetricValue, Str, Value,
};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::names::Names;
use super::{Printer, Section};
use crate::terminal;

/// Prints records as JSON.
#[derive(Debug, Default)]
pub(super) struct Json;

/// Writes an object on a line of its own.
fn line(out: &mut Vec<u8>, object: &impl Serialize) {
    let begin = out.len();
    // Neither memory nor anything serialized here can fail; half a line must not stay, though.
    if serde_json::to_writer(&mut *out, object).is_err() {
        out.truncate(begin);
    } else {
        terminal::visible_json(out, begin);
        out.push(b'\n');
    }
}

/// A record as JSON: leading entries, its fields, and its attributes if its family has them.
struct Object<'a, F> {
    family: &'static str,
    record: &'static str,
    place: &'a [(&'static str, u64)],
    fields: F,
    attributes: Option<List<'a, Attribute>>,
}

impl<F: Fn(&mut dyn FnMut(&'static str, Value<'_>))> Serialize for Object<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.family, self.record)?;
        for (key, number) in self.place {
            map.serialize_entry(key, number)?;
        }
        let mut result = Ok(());
        (self.fields)(&mut |field, value| {
            if result.is_ok() {
                result = map.serialize_entry(field, &Shown(value));
            }
        });
        result?;
        if let Some(attributes) = &self.attributes {
            map.serialize_entry("attributes", &Listed(attributes))?;
        }
        map.end()
    }
}

/// A value as JSON.
struct Shown<'v>(Value<'v>);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Unsigned(number) => serializer.serialize_u64(number),
            Value::Signed(number) => serializer.serialize_i64(number),
            Value::Float(number) => serializer.serialize_f64(number),
            Value::Time(time) => serializer.serialize_u64(time.0),
            Value::Rank(rank) if rank.is_undefined() => serializer.serialize_none(),
            Value::Rank(rank) => serializer.serialize_u32(rank.0),
            Value::Root(CollectiveRoot::Rank(rank)) => serializer.serialize_u32(rank),
            Value::Root(CollectiveRoot::None) => serializer.serialize_str("NONE"),
            Value::Root(CollectiveRoot::SelfRank) => serializer.serialize_str("SELF"),
            Value::Root(CollectiveRoot::ThisGroup) => serializer.serialize_str("THIS_GROUP"),
            Value::Ref(_, id) => serializer.serialize_u64(id),
            Value::Undefined(_) => serializer.serialize_none(),
            Value::Enum { code, name } => constant(serializer, code, name),
            Value::Flags { bits, names } => flags(serializer, bits, names),
            Value::Text(text) => string(serializer, text),
            Value::Typed(value) => typed(serializer, None, value),
            Value::Attribute(Attribute { attribute, value }) => {
                let attribute = match attribute {
                    AttributeRef::UNDEFINED => Value::Undefined(AttributeRef::KIND),
                    id => Value::Ref(AttributeRef::KIND, id.raw()),
                };
                typed(serializer, Some(("attribute", attribute)), value)
            }
            Value::IoProperty(IoProperty { property, value }) => {
                let property = Value::Enum { code: property.code(), name: property.name() };
                typed(serializer, Some(("property", property)), value)
            }
            Value::Metric(MetricValue { value_type, bits }) => {
                let value = match value_type {
                    Type::Int64 => AttributeValue::Int64(bits.cast_signed()),
                    Type::Uint64 => AttributeValue::Uint64(bits),
                    Type::Double => AttributeValue::Double(f64::from_bits(bits)),
                    other => AttributeValue::Other(other, bits),
                };
                typed(serializer, None, value)
            }
            Value::List(items) => Listed(items).serialize(serializer),
            Value::Map(map) => serializer.collect_seq(map.iter()),
            // A kind of field that is newer than this file.
            _ => serializer.serialize_none(),
        }
    }
}

fn constant<S: Serializer>(
    serializer: S,
    code: u32,
    name: Option<&str>,
) -> Result<S::Ok, S::Error> {
    match name {
        Some(name) => serializer.serialize_str(name),
        None => serializer.serialize_u32(code),
    }
}

fn flags<S: Serializer>(
    serializer: S,
    bits: u32,
    names: &[(u32, &str)],
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(None)?;
    let mut rest = bits;
    for (bit, name) in names {
        if rest & bit != 0 {
            rest &= !bit;
            list.serialize_element(name)?;
        }
    }
    if rest != 0 {
        list.serialize_element(&rest)?;
    }
    list.end()
}

fn string<S: Serializer>(serializer: S, text: Str<'_>) -> Result<S::Ok, S::Error> {
    match text.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => serializer.collect_str(&text),
    }
}

/// Serialises an object with the type and the value.
fn typed<S: Serializer>(
    serializer: S,
    first: Option<(&'static str, Value<'_>)>,
    value: AttributeValue,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if let Some((key, what)) = first {
        map.serialize_entry(key, &Shown(what))?;
    }
    let of = value.value_type();
    map.serialize_entry("type", &Shown(Value::Enum { code: of.code(), name: of.name() }))?;
    map.serialize_entry("value", &Shown(value.show()))?;
    map.end()
}

/// A list as JSON.
struct Listed<'a>(&'a dyn Items);

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.count()))?;
        let mut result = Ok(());
        self.0.each(&mut |item| {
            if result.is_ok() {
                result = list.serialize_element(&Shown(item));
            }
        });
        result?;
        list.end()
    }
}

/// Contents of the anchor file as JSON.
#[derive(Serialize)]
struct AnchorLine<'a> {
    anchor: &'static str,
    version: String,
    events_chunk: u64,
    defs_chunk: u64,
    locations: u64,
    definitions: u64,
    machine: &'a str,
    creator: &'a str,
    description: &'a str,
    properties: &'a [(String, String)],
    trace_id: u64,
    snapshots: u32,
    thumbnails: u32,
}

impl Printer for Json {
    fn section(&mut self, _: &mut Vec<u8>, _: Section) {}

    fn anchor(&mut self, out: &mut Vec<u8>, anchor: &Anchor) {
        let (major, minor, bugfix) = anchor.version;
        line(
            out,
            &AnchorLine {
                anchor: "OTF2",
                version: format!("{major}.{minor}.{bugfix}"),
                events_chunk: anchor.events_chunk,
                defs_chunk: anchor.defs_chunk,
                locations: anchor.locations,
                definitions: anchor.definitions,
                machine: &anchor.machine,
                creator: &anchor.creator,
                description: &anchor.description,
                properties: &anchor.properties,
                trace_id: anchor.trace_id,
                snapshots: anchor.snapshots,
                thumbnails: anchor.thumbnails,
            },
        );
    }

    fn definition(&mut self, out: &mut Vec<u8>, _: &Names, definition: &Definition<'_>) {
        line(
            out,
            &Object {
                family: "definition",
                record: definition.name(),
                place: &[],
                fields: |visit: &mut dyn FnMut(_, Value<'_>)| definition.fields(visit),
                attributes: None,
            },
        );
    }

    fn local_definition(
        &mut self,
        out: &mut Vec<u8>,
        _: &Names,
        location: LocationRef,
        definition: &Definition<'_>,
    ) {
        line(
            out,
            &Object {
                family: "definition",
                record: definition.name(),
                place: &[("location", location.0)],
                fields: |visit: &mut dyn FnMut(_, Value<'_>)| definition.fields(visit),
                attributes: None,
            },
        );
    }

    fn event(
        &mut self,
        out: &mut Vec<u8>,
        _: &Names,
        location: LocationRef,
        record: &EventRecord<'_>,
    ) {
        line(
            out,
            &Object {
                family: "record",
                record: record.event.name(),
                place: &[
                    ("location", location.0),
                    ("time", record.time.0),
                    ("number", record.number.0),
                ],
                fields: |visit: &mut dyn FnMut(_, Value<'_>)| record.event.fields(visit),
                attributes: Some(record.attributes),
            },
        );
    }

    fn snapshot(
        &mut self,
        out: &mut Vec<u8>,
        _: &Names,
        location: LocationRef,
        record: &SnapshotRecord<'_>,
    ) {
        line(
            out,
            &Object {
                family: "snapshot",
                record: record.snapshot.name(),
                place: &[("location", location.0), ("time", record.time.0)],
                fields: |visit: &mut dyn FnMut(_, Value<'_>)| record.snapshot.fields(visit),
                attributes: Some(record.attributes),
            },
        );
    }

    fn marker(&mut self, out: &mut Vec<u8>, _: &Names, marker: &MarkerRecord<'_>) {
        line(
            out,
            &Object {
                // Not `marker`: a marker has a field of that name.
                family: "marker_record",
                record: marker.name(),
                place: &[],
                fields: |visit: &mut dyn FnMut(_, Value<'_>)| marker.fields(visit),
                attributes: None,
            },
        );
    }
}
