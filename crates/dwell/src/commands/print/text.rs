//! Records as lines of text, in the format of `otf2-print`.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use otf2::enums::{
    CollectiveRoot, GroupType, MarkerScope, MetricScope, Named, ParadigmProperty, Type,
};
use otf2::id::{Id, LocationRef, MetricRef, Rank, RefKind, Time};
use otf2::map::IdMapRef;
use otf2::marker::MarkerRecord;
use otf2::read::SnapshotRecord;
use otf2::snapshot::Snapshot;
use otf2::value::{IoProperty, Items};
use otf2::{
    Anchor, Attribute, AttributeValue, Definition, Event, EventRecord, List, MetricValue, Value,
};

use super::layout::{self, Frame, Layout, Row};
use super::names::{Names, Team};
use super::number::{self, general, invalid, pad_left, pad_right, unsigned};
use super::{Printer, Section};
use crate::terminal::{visible, visible_bytes};

/// Width of the first column.
const EVENT_WIDTH: usize = 32;
const DEFINITION_WIDTH: usize = 27;
const ANCHOR_WIDTH: usize = 30;
/// Width of the other columns.
const LOCATION_WIDTH: usize = 15;
const TIME_WIDTH: usize = 20;
const ID_WIDTH: usize = 12;

const RULE: &str =
    "--------------------------------------------------------------------------------\n";

/// Prints records as `otf2-print` does.
#[derive(Debug, Default)]
pub(super) struct Text {
    layouts: HashMap<&'static str, Layout>,
    fields: Fields,
    /// Set once something was printed. Sections are separated by a blank line, but none precedes the first.
    begun: bool,
}

/// Fields of a record in the order of the file. Lines often need another order.
#[derive(Debug, Default)]
struct Fields {
    cells: Vec<(&'static str, Cell)>,
    text: Vec<u8>,
}

/// A field that is formatted, or one that can be formatted only when later fields are known.
#[derive(Debug)]
enum Cell {
    Text(Range<usize>),
    Rank(Rank),
    Root(CollectiveRoot),
}

/// Values of earlier fields of a record that determine how later ones are shown.
#[derive(Debug, Default)]
struct Context {
    /// Location of the record.
    location: Option<LocationRef>,
    /// Object to whose ranks the record refers.
    team: Team,
    metric: Option<MetricRef>,
    group_type: Option<GroupType>,
    /// Kind of definition to which the id of a scope refers.
    scope: Option<RefKind>,
    paradigm: u32,
    property: Option<ParadigmProperty>,
    /// Set if the record defines a paradigm, so that the constant is shown rather than its name.
    defines_paradigm: bool,
}

type Visit<'v> = &'v mut dyn FnMut(&'static str, Value<'_>);

impl Text {
    /// Writes the fields of a record after the columns of its line.
    fn fields(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        record: &'static str,
        mut context: Context,
        visit: impl FnOnce(Visit<'_>),
    ) {
        let Some(layout) = self.layouts.get(record) else {
            return;
        };
        if layout.pieces.is_empty() {
            return;
        }
        let Fields { cells, text } = &mut self.fields;
        cells.clear();
        text.clear();
        visit(&mut |field, value| {
            let begin = text.len();
            let cell = match value {
                Value::Rank(rank) => Cell::Rank(rank),
                Value::Root(root) => Cell::Root(root),
                other => {
                    context.note(field, &other);
                    Field { names, context: &context, name: field }.write(text, other);
                    Cell::Text(begin..text.len())
                }
            };
            cells.push((field, cell));
        });
        for &(before, field) in &layout.pieces {
            line.extend_from_slice(before.as_bytes());
            let cell = field.and_then(|field| cells.iter().find(|cell| cell.0 == field));
            match cell.map(|cell| &cell.1) {
                Some(Cell::Text(range)) => line.extend_from_slice(&text[range.clone()]),
                Some(Cell::Rank(rank)) => context.rank(line, names, *rank),
                Some(Cell::Root(root)) => context.root(line, names, *root),
                None => {}
            }
        }
    }

    fn title(&mut self, rows: &[Row], record: &'static str) -> &'static str {
        self.layouts.entry(record).or_insert_with(|| Layout::of(rows, record)).title
    }

    /// Writes a line with a title, a location and a time.
    fn stamped(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        (location, time): (LocationRef, Time),
        record: &'static str,
        visit: impl FnOnce(Visit<'_>),
    ) {
        let title = self.title(layout::EVENTS, record);
        let start = line.len();
        line.extend_from_slice(title.as_bytes());
        pad_right(line, start, EVENT_WIDTH);
        line.push(b' ');
        let start = line.len();
        unsigned(line, location.0);
        pad_left(line, start, LOCATION_WIDTH);
        line.push(b' ');
        let start = line.len();
        timestamp(line, time);
        pad_left(line, start, TIME_WIDTH);
        line.extend_from_slice(b"  ");
        let context = Context { location: Some(location), ..Context::default() };
        self.fields(line, names, record, context, visit);
        line.push(b'\n');
    }

    /// Writes the line of a record that a later version of the format introduced.
    fn unknown(line: &mut Vec<u8>, location: LocationRef, time: Time) {
        let _ = writeln!(
            line,
            "{:EVENT_WIDTH$} {:LOCATION_WIDTH$} {:TIME_WIDTH$}",
            "UNKNOWN", location.0, time.0
        );
    }

    /// Writes a line with a title and an id.
    fn defined(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        (id, context): (Option<u64>, Context),
        record: &'static str,
        visit: impl FnOnce(Visit<'_>),
    ) {
        let title = self.title(layout::DEFINITIONS, record);
        let start = line.len();
        line.extend_from_slice(title.as_bytes());
        pad_right(line, start, DEFINITION_WIDTH);
        line.push(b' ');
        let start = line.len();
        if let Some(id) = id {
            unsigned(line, id);
        }
        pad_left(line, start, ID_WIDTH);
        line.extend_from_slice(b"  ");
        self.fields(line, names, record, context, visit);
        line.push(b'\n');
    }
}

impl Printer for Text {
    fn section(&mut self, line: &mut Vec<u8>, section: Section) {
        let (title, blank, first, second) = match section {
            Section::Anchor => {
                let blank = if self.begun { "\n" } else { "" };
                let _ = writeln!(line, "{blank}Content of OTF2 anchor file:");
                self.begun = true;
                return;
            }
            Section::Definitions => ("Global Definitions", true, "Definition", "ID"),
            Section::LocalDefinitions => {
                ("Per Location Definitions", true, "Definition", "Location")
            }
            Section::Markers => ("Markers", true, "Marker", "ID"),
            Section::Events => ("Events", false, "Event", "Location"),
            Section::Snapshots => ("Snapshots", false, "Snapshot", "Location"),
        };
        if blank && self.begun {
            line.push(b'\n');
        }
        self.begun = true;
        let _ = writeln!(line, "=== {title} {:=<1$}", "", 75 - title.len());
        let _ = if blank {
            writeln!(line, "\n{first:DEFINITION_WIDTH$} {second:>ID_WIDTH$}  Attributes")
        } else {
            writeln!(
                line,
                "{first:EVENT_WIDTH$} {second:>LOCATION_WIDTH$} {:>TIME_WIDTH$}  Attributes",
                "Timestamp"
            )
        };
        line.extend_from_slice(RULE.as_bytes());
    }

    fn anchor(&mut self, line: &mut Vec<u8>, anchor: &Anchor) {
        let mut row = |label: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(line, "{label:ANCHOR_WIDTH$} {}", visible(&value.to_string()));
        };
        let (major, minor, bugfix) = anchor.version;
        row("Version", &format_args!("{major}.{minor}.{bugfix}"));
        row("Chunk size events", &anchor.events_chunk);
        row("Chunk size definitions", &anchor.defs_chunk);
        // Archives of any other kind cannot be opened.
        row("File substrate", &"POSIX");
        row("Compression", &"NONE");
        row("Number of locations", &anchor.locations);
        row("Number of global definitions", &anchor.definitions);
        row("Machine name", &anchor.machine);
        row("Creator", &anchor.creator);
        row("Description", &anchor.description);
        row("Number of properties", &anchor.properties.len());
        for (name, value) in &anchor.properties {
            row("Property name", name);
            row("Property value", value);
        }
        row("Trace identifier", &format_args!("{:x}", anchor.trace_id));
        row("Number of snapshots", &anchor.snapshots);
        row("Number of thumbnails", &anchor.thumbnails);
    }

    fn definition(&mut self, line: &mut Vec<u8>, names: &Names, definition: &Definition<'_>) {
        let mut context = Context::default();
        let id = match definition {
            Definition::Unknown(_) => {
                let _ = writeln!(line, "{:DEFINITION_WIDTH$}", "UNKNOWN");
                return;
            }
            Definition::Paradigm(paradigm) => {
                context.defines_paradigm = true;
                Some(u64::from(paradigm.paradigm.code()))
            }
            other => other.key().map(|key| key.1),
        };
        let head = (id, context);
        self.defined(line, names, head, definition.name(), |visit| definition.fields(visit));
    }

    fn local_definition(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        location: LocationRef,
        definition: &Definition<'_>,
    ) {
        let head = (Some(location.0), Context::default());
        self.defined(line, names, head, definition.name(), |visit| definition.fields(visit));
    }

    fn event(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        location: LocationRef,
        record: &EventRecord<'_>,
    ) {
        let EventRecord { time, event, attributes, .. } = record;
        match event {
            Event::Unknown(_) => Self::unknown(line, location, *time),
            event => {
                let head = (location, *time);
                self.stamped(line, names, head, event.name(), |visit| event.fields(visit));
            }
        }
        attribute_line(line, names, *attributes);
    }

    fn snapshot(
        &mut self,
        line: &mut Vec<u8>,
        names: &Names,
        location: LocationRef,
        record: &SnapshotRecord<'_>,
    ) {
        let SnapshotRecord { snapshot, attributes, .. } = record;
        // The line of a record is that of its event, with the time of the event.
        let mut time = record.time;
        snapshot.fields(&mut |field, value| {
            if let ("orig_event_time", Value::Time(original)) = (field, value) {
                time = original;
            }
        });
        match snapshot {
            Snapshot::Unknown(_) => Self::unknown(line, location, time),
            snapshot => {
                let head = (location, time);
                self.stamped(line, names, head, snapshot.name(), |visit| snapshot.fields(visit));
            }
        }
        attribute_line(line, names, *attributes);
    }

    fn marker(&mut self, line: &mut Vec<u8>, names: &Names, marker: &MarkerRecord<'_>) {
        let id = match marker {
            MarkerRecord::DefMarker(kind) => Some(u64::from(kind.id.0)),
            _ => None,
        };
        let head = (id, Context::default());
        self.defined(line, names, head, marker.name(), |visit| marker.fields(visit));
    }
}

/// Writes the line of the attributes of a record, if it has any.
fn attribute_line(line: &mut Vec<u8>, names: &Names, attributes: List<'_, Attribute>) {
    if attributes.is_empty() {
        return;
    }
    let indent = EVENT_WIDTH + LOCATION_WIDTH + TIME_WIDTH + 4;
    line.resize(line.len() + indent, b' ');
    line.extend_from_slice(b"ADDITIONAL ATTRIBUTES: ");
    let mut separator = "";
    for Attribute { attribute, value } in attributes {
        line.extend_from_slice(separator.as_bytes());
        line.push(b'(');
        names.narrow_reference(line, RefKind::Attribute, attribute.raw());
        line.extend_from_slice(b"; ");
        type_name(line, value.value_type());
        line.extend_from_slice(b"; ");
        typed_value(line, names, value);
        line.push(b')');
        separator = ", ";
    }
    line.push(b'\n');
}

fn timestamp(out: &mut Vec<u8>, time: Time) {
    match time.0 {
        u64::MAX => out.extend_from_slice(b"UNDEFINED"),
        ticks => unsigned(out, ticks),
    }
}

fn type_name(out: &mut Vec<u8>, of: Type) {
    constant(out, of.code(), of.name());
}

/// Writes the name of a constant, or that the code is invalid.
fn constant(out: &mut Vec<u8>, code: u32, name: Option<&str>) {
    match name {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => invalid(out, u64::from(code)),
    }
}

/// Writes a value whose type is shown elsewhere.
fn typed_value(out: &mut Vec<u8>, names: &Names, value: AttributeValue) {
    let context = Context::default();
    Field { names, context: &context, name: "" }.write(out, value.show());
}

fn flags(out: &mut Vec<u8>, bits: u32, names: &[(u32, &str)]) {
    if bits == 0 {
        out.extend_from_slice(b"NONE");
        return;
    }
    let mut separator = "{";
    let mut rest = bits;
    for (bit, name) in names {
        if rest & bit != 0 {
            rest &= !bit;
            let _ = write!(out, "{separator}{name}");
            separator = ", ";
        }
    }
    if rest != 0 {
        let _ = write!(out, "{separator}INVALID <0x{rest:x}>");
    }
    out.push(b'}');
}

fn id_map(out: &mut Vec<u8>, map: IdMapRef<'_>) {
    let (mut separator, end) = if map.is_dense() { (b'[', b']') } else { (b'{', b'}') };
    for (local, global) in map.iter() {
        out.push(separator);
        if !map.is_dense() {
            unsigned(out, local);
            out.extend_from_slice(b"=>");
        }
        match global {
            u64::MAX => out.extend_from_slice(b"UNDEFINED"),
            global => unsigned(out, global),
        }
        separator = b',';
    }
    out.push(end);
}

/// Returns the bits of a value whose type is wrong.
fn bits(value: AttributeValue) -> u64 {
    match (value, value.show()) {
        (AttributeValue::Float(number), _) => u64::from(number.to_bits()),
        (_, Value::Unsigned(number) | Value::Ref(_, number)) => number,
        (_, Value::Signed(number)) => number.cast_unsigned(),
        (_, Value::Float(number)) => number.to_bits(),
        (AttributeValue::Location(_), _) => u64::MAX,
        _ => u64::from(u32::MAX),
    }
}

fn metric_scope(scope: MetricScope) -> Option<RefKind> {
    match scope {
        MetricScope::Location => Some(RefKind::Location),
        MetricScope::LocationGroup => Some(RefKind::LocationGroup),
        MetricScope::SystemTreeNode => Some(RefKind::SystemTreeNode),
        MetricScope::Group => Some(RefKind::Group),
        _ => None,
    }
}

fn marker_scope(scope: MarkerScope) -> Option<RefKind> {
    match scope {
        MarkerScope::Location => Some(RefKind::Location),
        MarkerScope::LocationGroup => Some(RefKind::LocationGroup),
        MarkerScope::SystemTreeNode => Some(RefKind::SystemTreeNode),
        MarkerScope::Group => Some(RefKind::Group),
        MarkerScope::Comm => Some(RefKind::Comm),
        _ => None,
    }
}

impl Context {
    /// Stores the values that later fields need.
    fn note(&mut self, field: &'static str, value: &Value<'_>) {
        match *value {
            Value::Ref(RefKind::Metric, id) => {
                self.metric = u32::try_from(id).ok().map(MetricRef);
            }
            Value::Ref(kind, id) => {
                if let Some(team) = Team::from_ref(kind, id) {
                    self.team = team;
                }
            }
            Value::Enum { code, .. } => {
                let byte = u8::try_from(code).unwrap_or(u8::MAX);
                match field {
                    "group_type" => self.group_type = Some(byte.into()),
                    "metric_scope" => self.scope = metric_scope(byte.into()),
                    "scope" => self.scope = marker_scope(byte.into()),
                    "paradigm" => self.paradigm = code,
                    "property" => self.property = Some(byte.into()),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn rank(&self, out: &mut Vec<u8>, names: &Names, rank: Rank) {
        if rank.is_undefined() {
            out.extend_from_slice(b"UNDEFINED");
        } else {
            names.rank(out, self.team, self.location, rank.0);
        }
    }

    fn root(&self, out: &mut Vec<u8>, names: &Names, root: CollectiveRoot) {
        match root {
            CollectiveRoot::Rank(rank) => self.rank(out, names, Rank(rank)),
            CollectiveRoot::None => out.extend_from_slice(b"NONE"),
            CollectiveRoot::SelfRank => out.extend_from_slice(b"SELF"),
            CollectiveRoot::ThisGroup => out.extend_from_slice(b"THIS_GROUP"),
        }
    }
}

/// A field that is being written.
struct Field<'a> {
    names: &'a Names,
    context: &'a Context,
    name: &'static str,
}

impl Field<'_> {
    /// Writes the value of the field. For most fields its kind decides how; a few names mean more.
    fn write(&self, out: &mut Vec<u8>, value: Value<'_>) {
        match value {
            Value::Unsigned(number) => self.unsigned(out, number),
            Value::Signed(i64::MIN) if self.name == "exit_status" => {
                out.extend_from_slice(b"UNDEFINED");
            }
            Value::Signed(number) => {
                let _ = match self.name {
                    "offset" => write!(out, "{number:+}"),
                    _ => write!(out, "{number}"),
                };
            }
            Value::Float(number) => general(out, number),
            // Only those of events can be undefined.
            Value::Time(Time(time)) if self.name == "time" => unsigned(out, time),
            Value::Time(time) => timestamp(out, time),
            Value::Rank(rank) => self.context.rank(out, self.names, rank),
            Value::Root(root) => self.context.root(out, self.names, root),
            // Markers are defined beside the archive; they have no name.
            Value::Ref(RefKind::Marker, id) => unsigned(out, id),
            Value::Ref(kind, id) => self.names.reference(out, kind, id),
            // Too narrow a number for `otf2-print` to take it for undefined.
            Value::Undefined(RefKind::IoParadigm) => invalid(out, u64::from(u8::MAX)),
            Value::Undefined(_) => out.extend_from_slice(b"UNDEFINED"),
            Value::Enum { code, name } => match self.name {
                "model" | "paradigm" if !self.context.defines_paradigm => {
                    self.names.paradigm(out, code, name);
                }
                "value_type" => {
                    let known = name.filter(|name| ["UINT64", "INT64", "DOUBLE"].contains(name));
                    constant(out, code, known);
                }
                _ => constant(out, code, name),
            },
            Value::Flags { bits, names } => flags(out, bits, names),
            Value::Text(text) => {
                out.push(b'"');
                out.extend_from_slice(&visible_bytes(text.as_bytes()));
                out.push(b'"');
            }
            Value::Typed(value) => self.typed(out, value),
            Value::List(items) => self.list(out, items),
            Value::Map(map) => id_map(out, map),
            // These occur in lists only.
            _ => {}
        }
    }

    fn unsigned(&self, out: &mut Vec<u8>, number: u64) {
        match (self.name, number) {
            ("unwind_distance", number) if number == u64::from(u32::MAX) => {
                out.extend_from_slice(b"UNDEFINED");
            }
            ("realtime_timestamp", u64::MAX) => out.extend_from_slice(b"UNDEFINED"),
            ("realtime_timestamp", number) => number::date(out, number),
            ("scope" | "scope_ref", id) => match self.context.scope {
                Some(kind) => self.names.wide_reference(out, kind, id),
                None => self.plain(out, id),
            },
            _ => unsigned(out, number),
        }
    }

    fn plain(&self, out: &mut Vec<u8>, id: u64) {
        match id {
            u64::MAX => out.extend_from_slice(b"UNDEFINED"),
            id => unsigned(out, id),
        }
    }

    /// Writes the type and the value of a property.
    fn typed(&self, out: &mut Vec<u8>, value: AttributeValue) {
        let mut with_type = |of: &dyn Fn(&mut Vec<u8>), what: &dyn Fn(&mut Vec<u8>)| {
            out.extend_from_slice(b"Type: ");
            of(out);
            out.extend_from_slice(b", Value: ");
            what(out);
        };
        let of = |out: &mut Vec<u8>| type_name(out, value.value_type());
        let mismatch = |text: &'static str| {
            move |out: &mut Vec<u8>| {
                let _ = write!(out, "{text} <{}>", bits(value));
            }
        };
        match (self.context.property, value) {
            (None, _)
            | (
                Some(ParadigmProperty::CommNameTemplate | ParadigmProperty::RmaWinNameTemplate),
                AttributeValue::String(_),
            ) => with_type(&of, &|out| typed_value(out, self.names, value)),
            (Some(ParadigmProperty::RmaOnly), AttributeValue::Uint8(truth)) => {
                let name = match truth {
                    0 => Some("FALSE"),
                    1 => Some("TRUE"),
                    _ => None,
                };
                with_type(&|out| out.extend_from_slice(b"BOOLEAN"), &|out| {
                    constant(out, u32::from(truth), name);
                });
            }
            (Some(ParadigmProperty::Unlisted(_)), _) => {
                with_type(&of, &mismatch("UNKNOWN PROPERTY"));
            }
            (Some(_), _) => with_type(&of, &mismatch("TYPE MISMATCH")),
        }
    }

    fn list(&self, out: &mut Vec<u8>, items: &dyn Items) {
        let row = layout::LISTS.iter().find(|row| row.0 == self.name);
        let &(_, one, many, frame) = row.unwrap_or(&("", "Item", "Items", Frame::Counted));
        let noun = if items.count() == 1 { one } else { many };
        if frame != Frame::Tuple {
            unsigned(out, items.count() as u64);
            out.push(b' ');
        }
        out.extend_from_slice(noun.as_bytes());
        let (mut separator, end) = match frame {
            Frame::Counted => (": ", ""),
            Frame::CountedTuple | Frame::Tuple => {
                out.extend_from_slice(b": (");
                ("", ")")
            }
        };
        let mut index = 0;
        items.each(&mut |item| {
            out.extend_from_slice(separator.as_bytes());
            match item {
                Value::Metric(value) => self.metric(out, index, value),
                Value::IoProperty(property) => self.io_property(out, property),
                Value::Unsigned(member) if self.name == "members" => self.member(out, member),
                other => self.write(out, other),
            }
            separator = ", ";
            index += 1;
        });
        out.extend_from_slice(end.as_bytes());
    }

    /// Writes a member of a group.
    fn member(&self, out: &mut Vec<u8>, member: u64) {
        let kind = match self.context.group_type {
            Some(GroupType::Locations | GroupType::CommLocations) => RefKind::Location,
            Some(GroupType::Regions) => RefKind::Region,
            Some(GroupType::Metric) => RefKind::MetricMember,
            Some(GroupType::CommGroup) if member != u64::MAX => {
                let location = self.names.paradigm_location(self.context.paradigm, member);
                return self.names.rank_at(out, member, location);
            }
            _ => return self.plain(out, member),
        };
        self.names.wide_reference(out, kind, member);
    }

    /// Writes a value of a metric event.
    fn metric(
        &self,
        out: &mut Vec<u8>,
        index: usize,
        MetricValue { value_type, bits }: MetricValue,
    ) {
        let members = self.context.metric.map(|metric| self.names.metric_members(metric));
        out.push(b'(');
        match members.and_then(|members| members.get(index)) {
            Some(&member) => self.names.narrow_reference(out, RefKind::MetricMember, member),
            None => out.extend_from_slice(b"INVALID"),
        }
        out.extend_from_slice(b"; ");
        if matches!(value_type, Type::Int64 | Type::Uint64 | Type::Double) {
            type_name(out, value_type);
        } else {
            invalid(out, u64::from(value_type.code()));
        }
        out.extend_from_slice(b"; ");
        match value_type {
            Type::Int64 => drop(write!(out, "{}", bits.cast_signed())),
            Type::Uint64 => unsigned(out, bits),
            Type::Double => general(out, f64::from_bits(bits)),
            _ => drop(write!(out, "{bits:08x}")),
        }
        out.push(b')');
    }

    /// Writes a property of an I/O paradigm.
    fn io_property(&self, out: &mut Vec<u8>, IoProperty { property, value }: IoProperty) {
        out.push(b'(');
        constant(out, property.code(), property.name());
        out.extend_from_slice(b"; ");
        type_name(out, value.value_type());
        out.extend_from_slice(b"; ");
        match (property.name(), value) {
            (Some(_), AttributeValue::String(_)) => typed_value(out, self.names, value),
            (Some(_), _) => drop(write!(out, "TYPE MISMATCH <{}>", bits(value))),
            (None, _) => drop(write!(out, "UNKNOWN I/O PROPERTY <{}>", bits(value))),
        }
        out.push(b')');
    }
}
