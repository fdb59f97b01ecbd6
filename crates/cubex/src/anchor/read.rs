//! From the document to tables, in one pass.
//!
//! No tree of the document is built: each tag goes to its table at once, and where we are is a stack
//! of one entry a level. Elements that are unknown are left out. There are no entities but the five
//! that XML has and character references: a document type, which could define more, is refused.

use std::io::{BufRead, BufReader};

use flate2::bufread::GzDecoder;
use quick_xml::Reader;
use quick_xml::errors::Error as XmlError;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::error::{Error, ErrorKind, Result, Wrong};
use crate::links::NONE;
use crate::meta::tables::{
    AttributeRecord, CnodeRecord, DimensionRecord, ExpressionRecord, GroupRecord, LocationRecord,
    MetricRecord, NodeRecord, OwnerKind, ParameterRecord, PlaceRecord, RegionRecord, Tables,
    TopologyRecord,
};
use crate::meta::{Draft, ExpressionKind, MetricKind, VizType};
use crate::source::{Source, Window};
use crate::text::StrId;

use super::element::{Element, Field};
use super::fields::{Fields, number};
use super::metered::Metered;

/// Largest size of one tag or text, in bytes.
const PIECE: u64 = 1 << 20;
/// Largest depth of nested elements. Nothing here recurses, so this only bounds the stack of levels; call trees of
/// recursive programs can be deep.
const DEPTH: usize = 65_536;
/// Largest ratio of the size of a compressed document to that of its file. [`SMALL`] bytes are always allowed.
const RATIO: u64 = 200;
const SMALL: u64 = 4 << 20;

/// Reads the document of `size` bytes at `offset` of a source.
pub(crate) fn read(source: &Source, offset: u64, size: u64) -> Result<Tables> {
    let mut window = Window::new(source, offset, size);
    let start = window.fill_buf().map_err(Error::io)?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let most = size.saturating_mul(RATIO).saturating_add(SMALL);
        let unpacked = BufReader::with_capacity(64 * 1024, GzDecoder::new(window));
        document(Metered::new(unpacked, most))
    } else {
        document(Metered::new(window, u64::MAX))
    }
}

fn document<R: BufRead>(stream: Metered<R>) -> Result<Tables> {
    let mut reader = Reader::from_reader(stream);
    let config = reader.config_mut();
    // `<attr/>` and `<attr></attr>` are the same.
    config.expand_empty_elements = true;
    let mut parser = Parser::default();
    let mut buffer = Vec::new();
    loop {
        let at = reader.buffer_position();
        reader.get_mut().allow(PIECE);
        buffer.clear();
        let done = match reader.read_event_into(&mut buffer) {
            Ok(event) => parser.event(event).map_err(|error| error.at_byte(at))?,
            Err(error) => {
                let exceeded = reader.get_ref().exceeded;
                return Err(xml_error(error, exceeded).at_byte(at));
            }
        };
        if done {
            return parser.finish().map_err(|error| error.at_byte(at));
        }
    }
}

fn xml_error(error: XmlError, exceeded: Option<&'static str>) -> Error {
    if let XmlError::Io(error) = &error
        && let Some(wrong) = Wrong::cause(error)
    {
        return ErrorKind::Checksum(wrong.0).into();
    }
    match (error, exceeded) {
        (_, Some(what)) => ErrorKind::Limit(what).into(),
        // A damaged gzip stream is damage, not a failing disk.
        (XmlError::Io(error), _) if error.get_ref().is_some() => {
            ErrorKind::Xml(error.to_string()).into()
        }
        (XmlError::Io(error), _) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            ErrorKind::Cut.into()
        }
        (XmlError::Io(error), _) => ErrorKind::Io(error.kind().into()).into(),
        (error, _) => ErrorKind::Xml(error.to_string()).into(),
    }
}

/// The current position in the document, and the tables so far.
#[derive(Default)]
struct Parser {
    draft: Draft,
    stack: Vec<Element>,
    /// The text of the current element, collected from its pieces.
    text: String,
    /// The current metric; `cnode` and `node` are the current call path and system tree node.
    metric: Option<u32>,
    cnode: Option<u32>,
    node: Option<u32>,
    /// Verbatim attributes of the current expression; `place` is the element to which the current coordinate belongs.
    attributes: String,
    place: (Option<OwnerKind>, u32),
    /// `true` once there was a root element.
    seen: bool,
}

/// Returns the position of the row that was added last.
fn last<T>(table: &[T]) -> Option<u32> {
    u32::try_from(table.len()).ok()?.checked_sub(1)
}

impl Parser {
    /// Handles an event of the XML reader. Returns `true` at the end of the document.
    fn event(&mut self, event: Event<'_>) -> Result<bool> {
        match event {
            Event::Start(tag) => self.start(&tag)?,
            Event::End(_) => self.end()?,
            Event::Text(text) => self.append(&text.xml10_content())?,
            Event::CData(text) => self.append(&text.xml10_content())?,
            Event::GeneralRef(reference) => self.reference(&reference)?,
            Event::DocType(_) => {
                return Err(ErrorKind::Xml("a document type, which no report has".into()).into());
            }
            Event::Eof => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    fn here(&self) -> Element {
        self.stack.last().copied().unwrap_or(Element::Document)
    }

    fn append(&mut self, text: &str) -> Result<()> {
        if matches!(self.here(), Element::Text(_)) {
            self.text.push_str(text);
        }
        // A text comes in pieces, so the reader's allowance does not see them add up.
        if self.text.len() as u64 > PIECE {
            return Err(ErrorKind::Limit("a tag or text of more than 1 MiB").into());
        }
        Ok(())
    }

    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<()> {
        let bad = || ErrorKind::Xml("an entity that XML does not have".into());
        let mut bytes = [0; 4];
        let name = reference.xml10_content();
        let text = match reference.resolve_char_ref() {
            Ok(Some(character)) => &*character.encode_utf8(&mut bytes),
            Ok(None) => resolve_xml_entity(&name).ok_or_else(bad)?,
            Err(error) => return Err(ErrorKind::Xml(error.to_string()).into()),
        };
        self.append(text)
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<()> {
        let parent = self.here();
        let element = parent.child(tag.name().0);
        if self.stack.len() == DEPTH {
            return Err(ErrorKind::Limit("elements nested more than 65,536 deep").into());
        }
        if parent == Element::Document && (element != Element::Cube || self.seen) {
            return Err(ErrorKind::Anchor("the root element is not one `cube`").into());
        }
        self.text.clear();
        let fields = Fields::new(tag);
        let t = &self.draft.tables;
        match element {
            Element::Cube => {
                self.seen = true;
                self.draft.tables.heads.version = self.draft.text(&fields.text("version")?);
            }
            Element::Metrics => {
                self.draft.tables.heads.metrics_title = self.draft.text(&fields.text("title")?);
            }
            Element::Program => {
                self.draft.tables.heads.program_title = self.draft.text(&fields.text("title")?);
            }
            Element::System => {
                self.draft.tables.heads.system_title = self.draft.text(&fields.text("title")?);
            }
            Element::Attr => {
                let (kind, owner) = match parent {
                    Element::Metric => (OwnerKind::Metric, self.metric),
                    Element::Region => (OwnerKind::Region, last(&t.regions)),
                    Element::Cnode => (OwnerKind::Cnode, self.cnode),
                    Element::SystemNode => (OwnerKind::SystemNode, self.node),
                    Element::Group => (OwnerKind::Group, last(&t.groups)),
                    Element::Location => (OwnerKind::Location, last(&t.locations)),
                    _ => (OwnerKind::Report, Some(0)),
                };
                let key = self.draft.text(&fields.text("key")?);
                let value = self.draft.text(&fields.text("value")?);
                let owner = owner.unwrap_or(NONE);
                self.draft.tables.attributes.push(AttributeRecord { kind, owner, key, value });
            }
            Element::Metric => {
                let ghost = fields.text("viztype")?.eq_ignore_ascii_case("ghost");
                self.draft.tables.metrics.push(MetricRecord {
                    number: fields.id()?,
                    parent: self.metric.unwrap_or(NONE),
                    uniq_name: StrId(0),
                    disp_name: StrId(0),
                    dtype: StrId(0),
                    uom: StrId(0),
                    val: StrId(0),
                    url: StrId(0),
                    descr: StrId(0),
                    kind: MetricKind::parse(&fields.text("type")?),
                    viz: if ghost { VizType::Ghost } else { VizType::Normal },
                    convertible: fields.unless_false("convertible")?,
                    cacheable: fields.unless_false("cacheable")?,
                });
                self.metric = last(&self.draft.tables.metrics);
            }
            Element::Region => {
                let record = RegionRecord {
                    number: fields.id()?,
                    name: StrId(0),
                    mangled_name: StrId(0),
                    paradigm: StrId(0),
                    role: StrId(0),
                    url: StrId(0),
                    descr: StrId(0),
                    file: self.draft.text(&fields.text("mod")?),
                    begin: fields.line("begin")?,
                    end: fields.line("end")?,
                };
                self.draft.tables.regions.push(record);
            }
            Element::Cnode => {
                let record = CnodeRecord {
                    number: fields.id()?,
                    parent: self.cnode.unwrap_or(NONE),
                    region: fields.number("calleeId")?,
                    file: self.draft.text(&fields.text("mod")?),
                    line: fields.line("line")?,
                };
                self.draft.tables.cnodes.push(record);
                self.cnode = last(&self.draft.tables.cnodes);
            }
            Element::Parameter => {
                let record = ParameterRecord {
                    cnode: self.cnode.unwrap_or(NONE),
                    numeric: fields.text("partype")? == "numeric",
                    key: self.draft.text(&fields.text("parkey")?),
                    value: self.draft.text(&fields.text("parvalue")?),
                };
                self.draft.tables.parameters.push(record);
            }
            Element::SystemNode => {
                self.draft.tables.nodes.push(NodeRecord {
                    number: fields.id()?,
                    parent: self.node.unwrap_or(NONE),
                    name: StrId(0),
                    class: StrId(0),
                    descr: StrId(0),
                });
                self.node = last(&self.draft.tables.nodes);
            }
            Element::Group => {
                let (number, parent) = (fields.id()?, self.node.unwrap_or(NONE));
                let (name, rank, kind) = (StrId(0), 0, StrId(0));
                let record = GroupRecord { number, parent, name, rank, kind };
                self.draft.tables.groups.push(record);
            }
            Element::Location => {
                let (number, parent) = (fields.id()?, last(&t.groups).unwrap_or(NONE));
                let (name, rank, kind) = (StrId(0), 0, StrId(0));
                let record = LocationRecord { number, parent, name, rank, kind };
                self.draft.tables.locations.push(record);
            }
            Element::Cart => {
                let name = self.draft.text(&fields.text("name")?);
                let dimensions = fields.number("ndims")?;
                self.draft.tables.topologies.push(TopologyRecord { name, dimensions });
            }
            Element::Dim => {
                let record = DimensionRecord {
                    topology: last(&t.topologies).unwrap_or(NONE),
                    size: fields.number("size")?,
                    periodic: fields.is_true("periodic")?,
                    name: self.draft.text(&fields.text("name")?),
                };
                self.draft.tables.dimensions.push(record);
            }
            Element::Text(Field::Coord) => self.place = place(&fields)?,
            Element::Text(Field::Cubepl | Field::CubeplInit | Field::CubeplAggr) => {
                self.attributes = fields.verbatim().to_owned();
            }
            _ => {}
        }
        self.stack.push(element);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let element = self.stack.pop();
        let t = &self.draft.tables;
        // The current element is the parent of the one that ended.
        let above = |parent: u32| (parent != NONE).then_some(parent);
        match element {
            Some(Element::Metric) => {
                let metric = self.metric.and_then(|at| t.metrics.get(at as usize));
                self.metric = metric.and_then(|metric| above(metric.parent));
            }
            Some(Element::Cnode) => {
                let cnode = self.cnode.and_then(|at| t.cnodes.get(at as usize));
                self.cnode = cnode.and_then(|cnode| above(cnode.parent));
            }
            Some(Element::SystemNode) => {
                let node = self.node.and_then(|at| t.nodes.get(at as usize));
                self.node = node.and_then(|node| above(node.parent));
            }
            Some(Element::Text(field)) => {
                let text = std::mem::take(&mut self.text);
                self.field(field, &text)?;
                self.text = text;
            }
            _ => {}
        }
        Ok(())
    }

    /// Stores a text in the field to which it belongs.
    fn field(&mut self, field: Field, text: &str) -> Result<()> {
        let parent = self.here();
        match field {
            Field::Coord => return self.coordinate(text),
            Field::Rank => {
                let rank = number(text)?;
                let t = &mut self.draft.tables;
                if parent == Element::Group {
                    t.groups.last_mut().into_iter().for_each(|group| group.rank = rank);
                } else {
                    t.locations.last_mut().into_iter().for_each(|location| location.rank = rank);
                }
                return Ok(());
            }
            _ => {}
        }
        let id = self.draft.text(text);
        let attributes = match field {
            Field::Cubepl | Field::CubeplInit | Field::CubeplAggr => {
                let attributes = std::mem::take(&mut self.attributes);
                (self.draft.text(&attributes), attributes)
            }
            _ => (StrId(0), String::new()),
        };
        let t = &mut self.draft.tables;
        let metric = self.metric.unwrap_or(NONE);
        let mut expression = |kind, attributes| {
            t.expressions.push(ExpressionRecord { metric, kind, attributes, text: id });
        };
        match field {
            Field::Mirror => t.mirrors.push(id.0),
            Field::Cubepl => expression(ExpressionKind::Value, attributes.0),
            Field::CubeplInit => expression(ExpressionKind::Init, attributes.0),
            // The attribute is the kind, so it is not kept twice.
            Field::CubeplAggr => match aggregate(&attributes.1) {
                "plus" => expression(ExpressionKind::AggregatePlus, StrId(0)),
                "minus" => expression(ExpressionKind::AggregateMinus, StrId(0)),
                _ => expression(ExpressionKind::AggregateLocations, StrId(0)),
            },
            _ => {
                let slot = match parent {
                    Element::Metric => {
                        t.metrics.get_mut(metric as usize).and_then(|it| match field {
                            Field::DispName => Some(&mut it.disp_name),
                            Field::UniqName => Some(&mut it.uniq_name),
                            Field::Dtype => Some(&mut it.dtype),
                            Field::Uom => Some(&mut it.uom),
                            Field::Val => Some(&mut it.val),
                            Field::Url => Some(&mut it.url),
                            Field::Descr => Some(&mut it.descr),
                            _ => None,
                        })
                    }
                    Element::Region => t.regions.last_mut().and_then(|it| match field {
                        Field::Name => Some(&mut it.name),
                        Field::MangledName => Some(&mut it.mangled_name),
                        Field::Paradigm => Some(&mut it.paradigm),
                        Field::Role => Some(&mut it.role),
                        Field::Url => Some(&mut it.url),
                        Field::Descr => Some(&mut it.descr),
                        _ => None,
                    }),
                    Element::SystemNode => {
                        let node = self.node.and_then(|at| t.nodes.get_mut(at as usize));
                        node.and_then(|it| match field {
                            Field::Name => Some(&mut it.name),
                            Field::Class => Some(&mut it.class),
                            Field::Descr => Some(&mut it.descr),
                            _ => None,
                        })
                    }
                    Element::Group => t.groups.last_mut().and_then(|it| match field {
                        Field::Name => Some(&mut it.name),
                        Field::Kind => Some(&mut it.kind),
                        _ => None,
                    }),
                    Element::Location => t.locations.last_mut().and_then(|it| match field {
                        Field::Name => Some(&mut it.name),
                        Field::Kind => Some(&mut it.kind),
                        _ => None,
                    }),
                    _ => None,
                };
                if let Some(slot) = slot {
                    *slot = id;
                }
            }
        }
        Ok(())
    }

    /// Adds the coordinates of an element, which are separated by blanks.
    fn coordinate(&mut self, text: &str) -> Result<()> {
        let t = &mut self.draft.tables;
        let topology = last(&t.topologies).unwrap_or(NONE);
        let width = t.topologies.last().map_or(0, |topology| topology.dimensions);
        let before = t.coordinates.len();
        for word in text.split_ascii_whitespace() {
            t.coordinates.push(number(word)?);
        }
        if (t.coordinates.len() - before) as u64 != u64::from(width) {
            let what = "a coordinate has another number of dimensions than its topology";
            return Err(ErrorKind::Anchor(what).into());
        }
        if let (Some(kind), owner) = self.place {
            t.places.push(PlaceRecord { topology, kind, owner });
        }
        Ok(())
    }

    fn finish(self) -> Result<Tables> {
        if !self.stack.is_empty() {
            return Err(ErrorKind::Cut.into());
        }
        if !self.seen {
            return Err(ErrorKind::Anchor("there is no `cube` element").into());
        }
        self.draft.into_tables()
    }
}

/// Returns the element to which a coordinate belongs.
fn place(fields: &Fields<'_>) -> Result<(Option<OwnerKind>, u32)> {
    let names = [
        ("locId", OwnerKind::Location),
        ("lgId", OwnerKind::Group),
        ("stnId", OwnerKind::SystemNode),
    ];
    for (name, kind) in names {
        let text = fields.text(name)?;
        if !text.is_empty() {
            return Ok((Some(kind), number(&text)?));
        }
    }
    Err(ErrorKind::Anchor("a coordinate belongs to nothing").into())
}

/// Returns the value of `cubeplaggrtype=plus`, with or without quotes.
fn aggregate(attributes: &str) -> &str {
    let value = attributes.split_once('=').map_or("", |(_, value)| value);
    value.trim_matches(|c: char| c == '"' || c == '\'' || c.is_whitespace())
}
