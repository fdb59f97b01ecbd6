//! The tables behind [`Meta`](super::Meta): plain numbers, one row for each element.
//!
//! A row has only fields that fit into 32 bits, so that the tables of a report with 294,912 locations take some 20 MB,
//! and so that the cache can write them as they are. While a document is read or built, rows stand in the order of the
//! document, `parent` is a position in that order and `number` is the number in the document; [`finish`](super::finish)
//! turns both into ids.

use crate::links::NONE;
use crate::text::{StrId, Texts};

use super::{ExpressionKind, MetricKind, VizType};

/// A field of a row: a value that fits into 32 bits.
pub(crate) trait Word: Copy {
    fn to_word(self) -> u32;
    fn from_word(word: u32) -> Option<Self>;
}

impl Word for u32 {
    fn to_word(self) -> u32 {
        self
    }
    fn from_word(word: u32) -> Option<Self> {
        Some(word)
    }
}

impl Word for StrId {
    fn to_word(self) -> u32 {
        self.0
    }
    fn from_word(word: u32) -> Option<Self> {
        Some(Self(word))
    }
}

impl Word for bool {
    fn to_word(self) -> u32 {
        u32::from(self)
    }
    fn from_word(word: u32) -> Option<Self> {
        (word < 2).then_some(word == 1)
    }
}

/// Implements [`Word`] for enums without fields.
macro_rules! words {
    ($($name:ident { $($variant:ident),* })*) => {
        $(impl Word for $name {
            fn to_word(self) -> u32 {
                self as u32
            }
            fn from_word(word: u32) -> Option<Self> {
                [$(Self::$variant),*].into_iter().find(|value| *value as u32 == word)
            }
        })*
    };
}

words! {
    MetricKind {
        Exclusive, Inclusive, Simple, Postderived, PrederivedExclusive, PrederivedInclusive
    }
    VizType { Normal, Ghost }
    ExpressionKind { Value, Init, AggregatePlus, AggregateMinus, AggregateLocations }
    OwnerKind { Report, Metric, Region, Cnode, SystemNode, Group, Location }
}

/// A row of a table, which the cache can write and read.
pub(crate) trait Record: Sized {
    /// Number of fields in the row.
    const WORDS: usize;
    fn put(&self, out: &mut Vec<u8>);
    fn take(words: impl Iterator<Item = u32>) -> Option<Self>;
}

/// Makes the row types of the tables, and their encoding in the cache.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $kind:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $name { $(pub(crate) $field: $kind),* }

            impl Record for $name {
                const WORDS: usize = [$(stringify!($field)),*].len();
                fn put(&self, out: &mut Vec<u8>) {
                    $(out.extend_from_slice(&self.$field.to_word().to_le_bytes());)*
                }
                fn take(mut words: impl Iterator<Item = u32>) -> Option<Self> {
                    Some(Self { $($field: <$kind>::from_word(words.next()?)?),* })
                }
            }
        )*
    };
}

records! {
    MetricRecord {
        number: u32, parent: u32, uniq_name: StrId, disp_name: StrId, dtype: StrId, uom: StrId,
        val: StrId, url: StrId, descr: StrId, kind: MetricKind, viz: VizType, convertible: bool,
        cacheable: bool,
    }
    ExpressionRecord { metric: u32, kind: ExpressionKind, attributes: StrId, text: StrId }
    RegionRecord {
        number: u32, name: StrId, mangled_name: StrId, paradigm: StrId, role: StrId, url: StrId,
        descr: StrId, file: StrId, begin: u32, end: u32,
    }
    CnodeRecord { number: u32, parent: u32, region: u32, file: StrId, line: u32 }
    ParameterRecord { cnode: u32, numeric: bool, key: StrId, value: StrId }
    NodeRecord { number: u32, parent: u32, name: StrId, class: StrId, descr: StrId }
    GroupRecord { number: u32, parent: u32, name: StrId, rank: u32, kind: StrId }
    LocationRecord { number: u32, parent: u32, name: StrId, rank: u32, kind: StrId }
    AttributeRecord { kind: OwnerKind, owner: u32, key: StrId, value: StrId }
    TopologyRecord { name: StrId, dimensions: u32 }
    DimensionRecord { topology: u32, name: StrId, size: u32, periodic: bool }
    /// Names the element at a position of a topology. Its coordinates are the next ones in `coordinates`, as many as
    /// the topology has dimensions.
    PlaceRecord { topology: u32, kind: OwnerKind, owner: u32 }
}

/// Kind of the element to which an attribute or a coordinate belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OwnerKind {
    Report,
    Metric,
    Region,
    Cnode,
    SystemNode,
    Group,
    Location,
}

/// An element that the document numbers.
pub(crate) trait Numbered: Copy {
    fn number(&self) -> u32;
}

/// An element that has a parent in the document.
pub(crate) trait Child: Numbered {
    fn parent(&self) -> u32;
    fn set_parent(&mut self, parent: u32);
}

macro_rules! numbered {
    ($($name:ident),*) => {
        $(impl Numbered for $name {
            fn number(&self) -> u32 {
                self.number
            }
        })*
    };
}

macro_rules! children {
    ($($name:ident),*) => {
        $(impl Child for $name {
            fn parent(&self) -> u32 {
                self.parent
            }
            fn set_parent(&mut self, parent: u32) {
                self.parent = parent;
            }
        })*
    };
}

numbered!(MetricRecord, RegionRecord, CnodeRecord, NodeRecord, GroupRecord, LocationRecord);
children!(MetricRecord, CnodeRecord, NodeRecord, GroupRecord, LocationRecord);

/// All tables of a report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) texts: Texts,
    pub(crate) heads: Heads,
    pub(crate) mirrors: Vec<u32>,
    pub(crate) metrics: Vec<MetricRecord>,
    pub(crate) expressions: Vec<ExpressionRecord>,
    pub(crate) regions: Vec<RegionRecord>,
    pub(crate) cnodes: Vec<CnodeRecord>,
    pub(crate) parameters: Vec<ParameterRecord>,
    pub(crate) nodes: Vec<NodeRecord>,
    pub(crate) groups: Vec<GroupRecord>,
    pub(crate) locations: Vec<LocationRecord>,
    pub(crate) attributes: Vec<AttributeRecord>,
    pub(crate) topologies: Vec<TopologyRecord>,
    pub(crate) dimensions: Vec<DimensionRecord>,
    pub(crate) places: Vec<PlaceRecord>,
    pub(crate) coordinates: Vec<u32>,
}

/// Texts that a report has only once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heads {
    pub(crate) version: StrId,
    pub(crate) metrics_title: StrId,
    pub(crate) program_title: StrId,
    pub(crate) system_title: StrId,
}

impl Tables {
    pub(crate) fn text(&self, id: StrId) -> &str {
        self.texts.get(id)
    }
}

/// Encodes an optional line number or parent as a word.
pub(crate) fn line_word(line: Option<u32>) -> u32 {
    line.unwrap_or(NONE)
}

/// Decodes the result of [`line_word`].
pub(crate) fn line(word: u32) -> Option<u32> {
    (word != NONE).then_some(word)
}
