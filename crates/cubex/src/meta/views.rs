//! The elements of a report as a program sees them.

use crate::id::{CnodeId, GroupId, LocationId, MetricId, RegionId, SystemNodeId};
use crate::value::DataType;

use super::tables::OwnerKind;

/// A metric: something that was measured or computed for every call path and location.
///
/// A metric below another is a part of it: a viewer shows the value of the parent as its own value
/// less those of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric<'a> {
    /// Name by which tools know it, such as `time`.
    pub uniq_name: &'a str,
    /// Name that people read.
    pub disp_name: &'a str,
    /// Type of its values; [`Metric::data_type`] understands it.
    pub dtype: &'a str,
    /// Unit: `sec`, `occ`, `bytes`.
    pub uom: &'a str,
    /// Hint for values: empty or `VOID`.
    pub val: &'a str,
    /// Where it is explained.
    pub url: &'a str,
    /// What it is.
    pub descr: &'a str,
    /// How its values are stored.
    pub kind: MetricKind,
    /// Whether viewers show it.
    pub viz: VizType,
    /// Whether a viewer may convert it between inclusive and exclusive.
    pub convertible: bool,
    /// Whether a viewer may keep computed values.
    pub cacheable: bool,
}

impl Default for Metric<'_> {
    fn default() -> Self {
        Self {
            uniq_name: "",
            disp_name: "",
            dtype: "UINT64",
            uom: "",
            val: "",
            url: "",
            descr: "",
            kind: MetricKind::default(),
            viz: VizType::default(),
            convertible: true,
            cacheable: true,
        }
    }
}

impl Metric<'_> {
    /// The type of its values, unless it is one that this crate does not know.
    pub fn data_type(&self) -> Option<DataType> {
        DataType::parse(self.dtype)
    }
}

/// How the values of a metric are stored, and so what number a row has.
///
/// | kind | a value is | rows are numbered |
/// |---|---|---|
/// | `Exclusive` | of the call path without its children | parents before children, in order of the tree |
/// | `Inclusive` | of the call path with everything below | root; then, for each node in that order, all its children |
/// | `Simple` | neither | by id |
/// | others | computed from other metrics by an [`Expression`] | nothing is stored |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// Without what is called from here.
    #[default]
    Exclusive,
    /// With what is called from here.
    Inclusive,
    /// No such distinction.
    Simple,
    /// Computed after all sums.
    Postderived,
    /// Computed before sums, exclusive.
    PrederivedExclusive,
    /// Computed before sums, inclusive.
    PrederivedInclusive,
}

impl MetricKind {
    /// As it stands in `anchor.xml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exclusive => "EXCLUSIVE",
            Self::Inclusive => "INCLUSIVE",
            Self::Simple => "SIMPLE",
            Self::Postderived => "POSTDERIVED",
            Self::PrederivedExclusive => "PREDERIVED_EXCLUSIVE",
            Self::PrederivedInclusive => "PREDERIVED_INCLUSIVE",
        }
    }

    /// The reverse of [`MetricKind::name`]; cubelib takes everything unknown as exclusive.
    pub(crate) fn parse(name: &str) -> Self {
        match name {
            "INCLUSIVE" => Self::Inclusive,
            "SIMPLE" => Self::Simple,
            "POSTDERIVED" | "DERIVED" => Self::Postderived,
            "PREDERIVED_EXCLUSIVE" => Self::PrederivedExclusive,
            "PREDERIVED_INCLUSIVE" => Self::PrederivedInclusive,
            _ => Self::Exclusive,
        }
    }

    /// Whether values are computed rather than stored.
    pub fn is_derived(self) -> bool {
        !matches!(self, Self::Exclusive | Self::Inclusive | Self::Simple)
    }
}

/// Whether viewers show a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VizType {
    /// Shown.
    #[default]
    Normal,
    /// Hidden: there for the expressions of others.
    Ghost,
}

/// An expression of a derived metric in CubePL, kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expression<'a> {
    /// What it computes.
    pub kind: ExpressionKind,
    /// Attributes of its element, such as `rowwise=false`, verbatim.
    pub attributes: &'a str,
    /// The expression, such as `metric::time()/metric::visits()`.
    pub text: &'a str,
}

/// What an expression computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpressionKind {
    /// The value.
    Value,
    /// What must be done before the first value.
    Init,
    /// How two values are added.
    AggregatePlus,
    /// How two values are subtracted.
    AggregateMinus,
    /// How values of locations become one.
    AggregateLocations,
}

/// A region of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region<'a> {
    /// Name that people read.
    pub name: &'a str,
    /// Name as the linker knows it.
    pub mangled_name: &'a str,
    /// Programming model: `mpi`, `shmem`, `user`.
    pub paradigm: &'a str,
    /// What it does: `function`, `barrier`, `rma`.
    pub role: &'a str,
    /// Where it is explained.
    pub url: &'a str,
    /// What it is.
    pub descr: &'a str,
    /// Source file or module.
    pub file: &'a str,
    /// First line, if known.
    pub begin: Option<u32>,
    /// Last line, if known.
    pub end: Option<u32>,
}

/// A node of the call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnode<'a> {
    /// The region that is called.
    pub region: RegionId,
    /// Source file of the call, if known.
    pub file: &'a str,
    /// Line of the call, if known.
    pub line: Option<u32>,
}

impl Default for Cnode<'_> {
    fn default() -> Self {
        Self { region: RegionId(0), file: "", line: None }
    }
}

/// A parameter by which call paths of the same region are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Whether the value is a number.
    pub kind: ParameterKind,
    /// Its name.
    pub key: &'a str,
    /// Its value, as text in both cases.
    pub value: &'a str,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// The value is a number.
    Numeric,
    /// The value is text.
    Text,
}

/// A node of the system tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is: `machine`, `node`.
    pub class: &'a str,
    /// More about it.
    pub descr: &'a str,
}

/// A group of locations, usually a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// Its name.
    pub name: &'a str,
    /// Rank of the process.
    pub rank: u32,
    /// `process`, `metrics` or, since 4.7, `accelerator`.
    pub kind: &'a str,
}

impl Default for Group<'_> {
    fn default() -> Self {
        Self { name: "", rank: 0, kind: "process" }
    }
}

/// A location, usually a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of the thread in its process.
    pub rank: u32,
    /// `thread`, `gpu` or `metric`.
    pub kind: &'a str,
}

impl Default for Location<'_> {
    fn default() -> Self {
        Self { name: "", rank: 0, kind: "thread" }
    }
}

/// A key and a value that belong to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The key.
    pub key: &'a str,
    /// The value.
    pub value: &'a str,
}

/// What an attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owner {
    /// The report.
    Report,
    /// A metric.
    Metric(MetricId),
    /// A region.
    Region(RegionId),
    /// A call path.
    Cnode(CnodeId),
    /// A node of the system tree.
    SystemNode(SystemNodeId),
    /// A location group.
    Group(GroupId),
    /// A location.
    Location(LocationId),
}

impl Owner {
    pub(crate) fn key(self) -> (OwnerKind, u32) {
        match self {
            Self::Report => (OwnerKind::Report, 0),
            Self::Metric(id) => (OwnerKind::Metric, id.0),
            Self::Region(id) => (OwnerKind::Region, id.0),
            Self::Cnode(id) => (OwnerKind::Cnode, id.0),
            Self::SystemNode(id) => (OwnerKind::SystemNode, id.0),
            Self::Group(id) => (OwnerKind::Group, id.0),
            Self::Location(id) => (OwnerKind::Location, id.0),
        }
    }
}

/// A Cartesian topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its dimensions.
    pub dimensions: Vec<Dimension<'a>>,
}

/// A dimension of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension<'a> {
    /// Its name.
    pub name: &'a str,
    /// Coordinates go from 0 to one less than this.
    pub size: u32,
    /// Whether the last neighbours the first.
    pub periodic: bool,
}

/// Where in a topology something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate<'a> {
    /// What is there.
    pub place: Place,
    /// One number for each dimension.
    pub at: &'a [u32],
}

/// What has coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A location.
    Location(LocationId),
    /// A location group.
    Group(GroupId),
    /// A node of the system tree.
    SystemNode(SystemNodeId),
}
