//! The elements of a report as a program sees them, with their strings looked up.

use crate::id::{CnodeId, GroupId, LocationId, MetricId, RegionId, SystemNodeId};
use crate::value::DataType;

use super::tables::OwnerKind;

/// A metric: a quantity that was measured or computed for every call path and location.
///
/// A metric below another is a part of it. A viewer that expands the parent shows its value less those of its children.
/// The default is a visible exclusive metric of type `UINT64` without names; a writer fills in the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric<'a> {
    /// Unique name by which tools refer to the metric, such as `time`. It must not be empty in a report that is
    /// written.
    pub uniq_name: &'a str,
    /// Name of the metric for people, such as `Time`.
    pub disp_name: &'a str,
    /// Type of the values as it is written in `anchor.xml`, such as `DOUBLE`; [`Metric::data_type`] parses it.
    pub dtype: &'a str,
    /// Unit of the values, such as `sec`, `occ` or `bytes`. Readers do not interpret it.
    pub uom: &'a str,
    /// Hint to viewers about the values: empty or `VOID`. This crate does not interpret it.
    pub val: &'a str,
    /// Address of a page that explains the metric; `@mirror@` stands for one of
    /// [`Meta::mirrors`](super::Meta::mirrors).
    pub url: &'a str,
    /// Description of the metric, as free text.
    pub descr: &'a str,
    /// Kind of the metric, which says whether its values are exclusive, inclusive, simple or derived.
    pub kind: MetricKind,
    /// Visibility of the metric in viewers. The values of hidden metrics are stored in the same way.
    pub viz: VizType,
    /// `true` if a viewer may convert the values between inclusive and exclusive. This is the default.
    pub convertible: bool,
    /// `true` if a viewer may keep computed values of the metric. This is the default.
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
    /// Returns the type of the values, or `None` if this crate does not know it. The values of such a metric cannot be
    /// read.
    pub fn data_type(&self) -> Option<DataType> {
        DataType::parse(self.dtype)
    }
}

/// Kind of a metric: what its stored values include, and how its rows are numbered.
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
    /// A value covers the call path itself, without the functions that it calls. This is the default, also for kinds
    /// that this crate does not know.
    #[default]
    Exclusive,
    /// A value covers the call path together with everything that it calls.
    Inclusive,
    /// A value belongs to the call path and is never added up along the call tree.
    Simple,
    /// A value is computed from the sums of other metrics, for example the quotient of two totals.
    Postderived,
    /// A value is computed for each call path and location first, and the results are added up as exclusive values.
    PrederivedExclusive,
    /// A value is computed for each call path and location first, and the results count as inclusive values.
    PrederivedInclusive,
}

impl MetricKind {
    /// Returns the name of the kind as it is written in `anchor.xml`, such as `EXCLUSIVE`.
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

    /// Parses the result of [`MetricKind::name`]. Unknown names are exclusive, as in cubelib.
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

    /// Returns `true` if values are computed from other metrics rather than stored. Such a metric can be neither read
    /// by [`Report::values`](crate::Report::values) nor written.
    pub fn is_derived(self) -> bool {
        !matches!(self, Self::Exclusive | Self::Inclusive | Self::Simple)
    }
}

/// Visibility of a metric in viewers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VizType {
    /// Viewers show the metric in the metric tree. This is the default.
    #[default]
    Normal,
    /// Viewers hide the metric, which exists for the expressions of derived metrics. Its members have the prefix
    /// `ghost_`.
    Ghost,
}

/// A CubePL expression of a derived metric. This crate keeps it as text and does not evaluate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expression<'a> {
    /// Purpose of the expression: the value itself, its initialisation, or a way to combine values.
    pub kind: ExpressionKind,
    /// Attributes of the XML element of the expression, such as `rowwise=false`, exactly as they are written there.
    pub attributes: &'a str,
    /// Text of the expression, such as `metric::time()/metric::visits()`.
    pub text: &'a str,
}

/// Purpose of an expression in a derived metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpressionKind {
    /// The expression computes the value of the metric; element `cubepl`.
    Value,
    /// The expression is evaluated once before the first value; element `cubeplinit`.
    Init,
    /// The expression adds two values; element `cubeplaggr` with the type `plus`.
    AggregatePlus,
    /// The expression subtracts two values; element `cubeplaggr` with the type `minus`.
    AggregateMinus,
    /// The expression combines the values of several locations into one; element `cubeplaggr` with the type `aggr`.
    AggregateLocations,
}

/// A region of the program: a function, a loop, or anything else that it enters and leaves. Fields that are not known
/// are empty, as in the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region<'a> {
    /// Name of the region for people, such as a function name without its mangling.
    pub name: &'a str,
    /// Mangled name of the region, as the linker knows it.
    pub mangled_name: &'a str,
    /// Programming model to which the region belongs, in the lower-case spelling of Score-P, such as `mpi`, `shmem` or
    /// `user`.
    pub paradigm: &'a str,
    /// Role of the region, such as `function`, `barrier` or `rma`.
    pub role: &'a str,
    /// Address of a page that explains the region; `@mirror@` stands for one of
    /// [`Meta::mirrors`](super::Meta::mirrors).
    pub url: &'a str,
    /// Description of the region, as free text.
    pub descr: &'a str,
    /// Source file of the region, or the module that contains it.
    pub file: &'a str,
    /// First line of the region in its file, or `None` if it is not known.
    pub begin: Option<u32>,
    /// Last line of the region in its file, or `None` if it is not known.
    pub end: Option<u32>,
}

/// A call path: a node of the call tree, which stands for the calls that lead to it from the root. The default refers
/// to region 0 and has no source position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnode<'a> {
    /// The region that is called. [`Meta::callee`](super::Meta::callee) looks it up.
    pub region: RegionId,
    /// Source file of the call, or empty if it is not known.
    pub file: &'a str,
    /// Line of the call, or `None` if it is not known.
    pub line: Option<u32>,
}

impl Default for Cnode<'_> {
    fn default() -> Self {
        Self { region: RegionId(0), file: "", line: None }
    }
}

/// A parameter of a call path, which tells it from other call paths of the same region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Type of the value: a number or a text.
    pub kind: ParameterKind,
    /// Name of the parameter.
    pub key: &'a str,
    /// Value of the parameter as text, also if [`kind`](Self::kind) says that it is a number.
    pub value: &'a str,
}

/// Type of the value of a parameter. The value itself is text for both types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// The value is a number, written as text; `numeric` in `anchor.xml`.
    Numeric,
    /// The value is any text; `string` in `anchor.xml`.
    Text,
}

/// A node of the system tree: a machine, a rack, a compute node or another part of the hardware. Location groups hang
/// below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemNode<'a> {
    /// Name of the node, such as a host name.
    pub name: &'a str,
    /// Class of the node, such as `machine` or `node`.
    pub class: &'a str,
    /// Description of the node, as free text; usually empty.
    pub descr: &'a str,
}

/// A location group, usually a process with its threads. The default is a `process` of rank 0 without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// Name of the group, such as `MPI Rank 0`.
    pub name: &'a str,
    /// Rank of the process in its program, counted from 0.
    pub rank: u32,
    /// Type of the group as it is written in `anchor.xml`: `process`, `metrics` or, since version 4.7, `accelerator`.
    pub kind: &'a str,
}

impl Default for Group<'_> {
    fn default() -> Self {
        Self { name: "", rank: 0, kind: "process" }
    }
}

/// A location, usually a thread of a process. Each location is a column in every row of values. The default is a
/// `thread` of rank 0 without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// Name of the location, such as `Master thread`.
    pub name: &'a str,
    /// Number of the thread in its process, counted from 0.
    pub rank: u32,
    /// Type of the location as it is written in `anchor.xml`: `thread`, `gpu` or `metric`.
    pub kind: &'a str,
}

impl Default for Location<'_> {
    fn default() -> Self {
        Self { name: "", rank: 0, kind: "thread" }
    }
}

/// An attribute: a key and a value that a tool attached to an element or to the report. Viewers show them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Key of the attribute, such as `Creator`.
    pub key: &'a str,
    /// Value of the attribute, as text.
    pub value: &'a str,
}

/// The element to which an attribute belongs. Topologies have no attributes. The id must be one of the same report or
/// builder; [`MetaBuilder::finish`](super::MetaBuilder::finish) refuses others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owner {
    /// The attribute belongs to the report as a whole.
    Report,
    /// The attribute belongs to this metric.
    Metric(MetricId),
    /// The attribute belongs to this region.
    Region(RegionId),
    /// The attribute belongs to this call path.
    Cnode(CnodeId),
    /// The attribute belongs to this node of the system tree.
    SystemNode(SystemNodeId),
    /// The attribute belongs to this location group.
    Group(GroupId),
    /// The attribute belongs to this location.
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

/// A Cartesian topology, which arranges locations, groups or nodes in a grid. Viewers draw values on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology<'a> {
    /// Name of the topology, which may be empty.
    pub name: &'a str,
    /// Dimensions of the topology, in the order of the coordinates.
    pub dimensions: Vec<Dimension<'a>>,
}

/// One dimension of a topology, such as one axis of a process grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension<'a> {
    /// Name of the dimension, which may be empty.
    pub name: &'a str,
    /// Number of positions in the dimension: coordinates go from 0 to one less than this. The writer refuses
    /// coordinates beyond it.
    pub size: u32,
    /// `true` if the dimension wraps around, so that its last position neighbours the first.
    pub periodic: bool,
}

/// The position of one element in a topology. Neither reading nor writing checks that positions are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate<'a> {
    /// The element at this position.
    pub place: Place,
    /// The coordinates of the element, one for each dimension.
    pub at: &'a [u32],
}

/// An element that can have coordinates in a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A location, usually a thread, is at the position.
    Location(LocationId),
    /// A location group, usually a process, is at the position.
    Group(GroupId),
    /// A node of the system tree is at the position.
    SystemNode(SystemNodeId),
}
