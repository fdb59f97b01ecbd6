//! What a report is about: metrics, call tree, system tree. No values.
//!
//! [`Meta`] holds all of `anchor.xml` in flat tables; [`Metric`], [`Region`] and the others are rows
//! of them with their strings looked up, made when asked for. The same structs go into a
//! [`MetaBuilder`], which makes a `Meta` for a report to be written.
//!
//! ```
//! use cubex::{Cnode, Group, Location, MetaBuilder, Metric, Region, SystemNode};
//!
//! let mut builder = MetaBuilder::new();
//! let time = builder.metric(
//!     None,
//!     Metric { uniq_name: "time", disp_name: "Time", dtype: "UINT64", uom: "ns", ..Metric::default() },
//! );
//! let main = builder.region(Region { name: "main", ..Region::default() });
//! let root = builder.cnode(None, Cnode { region: main, ..Cnode::default() });
//! let machine = builder.system_node(None, SystemNode { name: "machine", ..SystemNode::default() });
//! let process = builder.group(machine, Group { name: "Rank 0", ..Group::default() });
//! builder.location(process, Location { name: "Master thread", ..Location::default() });
//! let meta = builder.finish()?;
//! assert_eq!(meta.metric(time).map(|metric| metric.uniq_name), Some("time"));
//! assert_eq!(meta.root_cnodes().collect::<Vec<_>>(), [root]);
//! # Ok::<(), cubex::Error>(())
//! ```

mod builder;
mod finish;
pub(crate) mod tables;
mod views;

use std::sync::OnceLock;

pub(crate) use builder::Draft;
pub use builder::MetaBuilder;
pub(crate) use finish::finish;
pub use views::{
    Attribute, Cnode, Coordinate, Dimension, Expression, ExpressionKind, Group, Location, Metric,
    MetricKind, Owner, Parameter, ParameterKind, Place, Region, SystemNode, Topology, VizType,
};

use crate::id::{CnodeId, GroupId, LocationId, MetricId, RegionId, SystemNodeId, TopologyId};
use crate::links::{Links, NONE};
use tables::{OwnerKind, Tables, line};

/// Metrics, call tree and system tree of a report.
#[derive(Debug)]
pub struct Meta {
    tables: Tables,
    metric_links: Links,
    cnode_links: Links,
    node_links: Links,
    group_links: Links,
    location_links: Links,
    /// For each topology, where its coordinates begin.
    starts: Vec<usize>,
    /// Row number of each call path in exclusive and in inclusive metrics.
    deep: OnceLock<Vec<u32>>,
    wide: OnceLock<Vec<u32>>,
}

/// Ids from 0 on.
fn count<T>(length: usize, id: impl Fn(u32) -> T) -> impl ExactSizeIterator<Item = T> {
    // `finish` has seen to it that tables have fewer rows than this.
    (0..u32::try_from(length).unwrap_or(NONE)).map(id)
}

impl Meta {
    pub(crate) fn new(
        tables: Tables,
        metric_links: Links,
        cnode_links: Links,
        node_links: Links,
        group_links: Links,
        location_links: Links,
    ) -> Self {
        let mut starts = Vec::with_capacity(tables.topologies.len());
        let mut start = 0;
        for (at, topology) in (0..).zip(&tables.topologies) {
            starts.push(start);
            let places = range(&tables.places, |place| place.topology, at).len();
            start += places * topology.dimensions as usize;
        }
        Self {
            tables,
            metric_links,
            cnode_links,
            node_links,
            group_links,
            location_links,
            starts,
            deep: OnceLock::new(),
            wide: OnceLock::new(),
        }
    }

    /// Version of the format, such as `4.4`.
    pub fn version(&self) -> &str {
        self.tables.text(self.tables.heads.version)
    }

    /// Title of the metric tree, usually empty.
    pub fn metrics_title(&self) -> &str {
        self.tables.text(self.tables.heads.metrics_title)
    }

    /// Title of the call tree, usually empty.
    pub fn program_title(&self) -> &str {
        self.tables.text(self.tables.heads.program_title)
    }

    /// Title of the system tree, usually empty.
    pub fn system_title(&self) -> &str {
        self.tables.text(self.tables.heads.system_title)
    }

    /// Addresses that stand for `@mirror@` in the URLs of metrics and regions.
    pub fn mirrors(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tables.mirrors.iter().map(|&mirror| self.tables.text(crate::text::StrId(mirror)))
    }

    /// Attributes of an element or of the report itself, in their order.
    pub fn attributes(&self, owner: Owner) -> impl ExactSizeIterator<Item = Attribute<'_>> {
        let key = owner.key();
        let all = &self.tables.attributes;
        range(all, |attribute| (attribute.kind, attribute.owner), key).iter().map(|attribute| {
            Attribute {
                key: self.tables.text(attribute.key),
                value: self.tables.text(attribute.value),
            }
        })
    }

    /// Every metric.
    pub fn metrics(&self) -> impl ExactSizeIterator<Item = MetricId> + use<> {
        count(self.tables.metrics.len(), MetricId)
    }

    /// A metric.
    pub fn metric(&self, id: MetricId) -> Option<Metric<'_>> {
        let record = self.tables.metrics.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(Metric {
            uniq_name: text(record.uniq_name),
            disp_name: text(record.disp_name),
            dtype: text(record.dtype),
            uom: text(record.uom),
            val: text(record.val),
            url: text(record.url),
            descr: text(record.descr),
            kind: record.kind,
            viz: record.viz,
            convertible: record.convertible,
            cacheable: record.cacheable,
        })
    }

    /// The metric of that unique name.
    pub fn find_metric(&self, uniq_name: &str) -> Option<MetricId> {
        self.metrics().find(|&id| self.metric(id).is_some_and(|it| it.uniq_name == uniq_name))
    }

    /// Metrics that are no part of another.
    pub fn root_metrics(&self) -> impl Iterator<Item = MetricId> + '_ {
        self.metric_links.children(NONE).map(MetricId)
    }

    /// Metrics that are parts of this one.
    pub fn metric_children(&self, id: MetricId) -> impl Iterator<Item = MetricId> + '_ {
        self.metric_links.children(id.0).map(MetricId)
    }

    /// The metric that this one is a part of.
    pub fn metric_parent(&self, id: MetricId) -> Option<MetricId> {
        self.tables.metrics.get(id.index()).and_then(|it| line(it.parent)).map(MetricId)
    }

    /// The expressions of a derived metric.
    pub fn expressions(&self, id: MetricId) -> impl ExactSizeIterator<Item = Expression<'_>> {
        range(&self.tables.expressions, |it| it.metric, id.0).iter().map(|it| Expression {
            kind: it.kind,
            attributes: self.tables.text(it.attributes),
            text: self.tables.text(it.text),
        })
    }

    /// The number of a metric in the document, which names its members.
    pub(crate) fn metric_number(&self, id: MetricId) -> Option<u32> {
        self.tables.metrics.get(id.index()).map(|it| it.number)
    }

    /// Every region.
    pub fn regions(&self) -> impl ExactSizeIterator<Item = RegionId> + use<> {
        count(self.tables.regions.len(), RegionId)
    }

    /// A region.
    pub fn region(&self, id: RegionId) -> Option<Region<'_>> {
        let record = self.tables.regions.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(Region {
            name: text(record.name),
            mangled_name: text(record.mangled_name),
            paradigm: text(record.paradigm),
            role: text(record.role),
            url: text(record.url),
            descr: text(record.descr),
            file: text(record.file),
            begin: line(record.begin),
            end: line(record.end),
        })
    }

    /// Every call path.
    pub fn cnodes(&self) -> impl ExactSizeIterator<Item = CnodeId> + use<> {
        count(self.tables.cnodes.len(), CnodeId)
    }

    /// A call path.
    pub fn cnode(&self, id: CnodeId) -> Option<Cnode<'_>> {
        let record = self.tables.cnodes.get(id.index())?;
        let file = self.tables.text(record.file);
        Some(Cnode { region: RegionId(record.region), file, line: line(record.line) })
    }

    /// The region that a call path ends in.
    pub fn callee(&self, id: CnodeId) -> Option<Region<'_>> {
        self.region(RegionId(self.tables.cnodes.get(id.index())?.region))
    }

    /// The roots of the call tree.
    pub fn root_cnodes(&self) -> impl Iterator<Item = CnodeId> + '_ {
        self.cnode_links.children(NONE).map(CnodeId)
    }

    /// The call paths one step longer.
    pub fn cnode_children(&self, id: CnodeId) -> impl Iterator<Item = CnodeId> + '_ {
        self.cnode_links.children(id.0).map(CnodeId)
    }

    /// The call path one step shorter.
    pub fn cnode_parent(&self, id: CnodeId) -> Option<CnodeId> {
        self.tables.cnodes.get(id.index()).and_then(|it| line(it.parent)).map(CnodeId)
    }

    /// A call path and everything below it, parents before their children.
    pub fn cnodes_below(&self, id: CnodeId) -> impl Iterator<Item = CnodeId> + '_ {
        let known = id.index() < self.tables.cnodes.len();
        known.then(|| self.cnode_links.below(id.0)).into_iter().flatten().map(CnodeId)
    }

    /// All call paths in the order of the call tree, parents before their children.
    pub fn cnodes_in_order(&self) -> impl Iterator<Item = CnodeId> + '_ {
        self.cnode_links.all().map(CnodeId)
    }

    /// Parameters of a call path, in their order.
    pub fn parameters(&self, id: CnodeId) -> impl ExactSizeIterator<Item = Parameter<'_>> {
        range(&self.tables.parameters, |it| it.cnode, id.0).iter().map(|it| Parameter {
            kind: if it.numeric { ParameterKind::Numeric } else { ParameterKind::Text },
            key: self.tables.text(it.key),
            value: self.tables.text(it.value),
        })
    }

    /// For each call path its row number in metrics of a kind; see the table in
    /// [`MetricKind`].
    pub fn row_numbers(&self, kind: MetricKind) -> RowNumbers<'_> {
        let rows = match kind {
            MetricKind::Inclusive | MetricKind::PrederivedInclusive => {
                Some(self.wide.get_or_init(|| self.cnode_links.wide()).as_slice())
            }
            MetricKind::Exclusive | MetricKind::PrederivedExclusive => {
                Some(self.deep.get_or_init(|| self.cnode_links.deep()).as_slice())
            }
            MetricKind::Simple | MetricKind::Postderived => None,
        };
        RowNumbers { rows, count: self.tables.cnodes.len() }
    }

    /// Every node of the system tree.
    pub fn system_nodes(&self) -> impl ExactSizeIterator<Item = SystemNodeId> + use<> {
        count(self.tables.nodes.len(), SystemNodeId)
    }

    /// A node of the system tree.
    pub fn system_node(&self, id: SystemNodeId) -> Option<SystemNode<'_>> {
        let record = self.tables.nodes.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(SystemNode {
            name: text(record.name),
            class: text(record.class),
            descr: text(record.descr),
        })
    }

    /// The roots of the system tree.
    pub fn root_system_nodes(&self) -> impl Iterator<Item = SystemNodeId> + '_ {
        self.node_links.children(NONE).map(SystemNodeId)
    }

    /// The nodes below a node of the system tree.
    pub fn system_node_children(
        &self,
        id: SystemNodeId,
    ) -> impl Iterator<Item = SystemNodeId> + '_ {
        self.node_links.children(id.0).map(SystemNodeId)
    }

    /// The node above a node of the system tree.
    pub fn system_node_parent(&self, id: SystemNodeId) -> Option<SystemNodeId> {
        self.tables.nodes.get(id.index()).and_then(|it| line(it.parent)).map(SystemNodeId)
    }

    /// Every location group.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = GroupId> + use<> {
        count(self.tables.groups.len(), GroupId)
    }

    /// A location group.
    pub fn group(&self, id: GroupId) -> Option<Group<'_>> {
        let record = self.tables.groups.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(Group { name: text(record.name), rank: record.rank, kind: text(record.kind) })
    }

    /// The groups that belong to a node of the system tree itself.
    pub fn groups_of(&self, id: SystemNodeId) -> impl Iterator<Item = GroupId> + '_ {
        self.group_links.children(id.0).map(GroupId)
    }

    /// The node of the system tree that a group belongs to.
    pub fn node_of_group(&self, id: GroupId) -> Option<SystemNodeId> {
        self.tables.groups.get(id.index()).map(|it| SystemNodeId(it.parent))
    }

    /// Every location, which is every column of values.
    pub fn locations(&self) -> impl ExactSizeIterator<Item = LocationId> + use<> {
        count(self.tables.locations.len(), LocationId)
    }

    /// A location.
    pub fn location(&self, id: LocationId) -> Option<Location<'_>> {
        let record = self.tables.locations.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(Location { name: text(record.name), rank: record.rank, kind: text(record.kind) })
    }

    /// The locations of a group.
    pub fn locations_of(&self, id: GroupId) -> impl Iterator<Item = LocationId> + '_ {
        self.location_links.children(id.0).map(LocationId)
    }

    /// The group of a location.
    pub fn group_of_location(&self, id: LocationId) -> Option<GroupId> {
        self.tables.locations.get(id.index()).map(|it| GroupId(it.parent))
    }

    /// Every topology.
    pub fn topologies(&self) -> impl ExactSizeIterator<Item = TopologyId> + use<> {
        count(self.tables.topologies.len(), TopologyId)
    }

    /// A topology.
    pub fn topology(&self, id: TopologyId) -> Option<Topology<'_>> {
        let record = self.tables.topologies.get(id.index())?;
        let dimensions = range(&self.tables.dimensions, |it| it.topology, id.0);
        Some(Topology {
            name: self.tables.text(record.name),
            dimensions: dimensions
                .iter()
                .map(|it| Dimension {
                    name: self.tables.text(it.name),
                    size: it.size,
                    periodic: it.periodic,
                })
                .collect(),
        })
    }

    /// Where in a topology things are.
    pub fn coordinates(&self, id: TopologyId) -> impl Iterator<Item = Coordinate<'_>> {
        let t = &self.tables;
        let places = range(&t.places, |place| place.topology, id.0);
        let before = self.starts.get(id.index()).copied().unwrap_or(0);
        let width = t.topologies.get(id.index()).map_or(0, |it| it.dimensions as usize);
        places.iter().enumerate().map(move |(at, place)| {
            let start = before + at * width;
            Coordinate {
                place: match place.kind {
                    OwnerKind::SystemNode => Place::SystemNode(SystemNodeId(place.owner)),
                    OwnerKind::Group => Place::Group(GroupId(place.owner)),
                    _ => Place::Location(LocationId(place.owner)),
                },
                at: t.coordinates.get(start..start + width).unwrap_or_default(),
            }
        })
    }
}

/// Row numbers of call paths; see [`Meta::row_numbers`].
#[derive(Clone, Copy, Debug)]
pub struct RowNumbers<'a> {
    /// By id; nothing means that they are the ids.
    rows: Option<&'a [u32]>,
    count: usize,
}

impl RowNumbers<'_> {
    /// The row number of a call path; nothing if there is no such path.
    #[inline]
    pub fn get(self, id: CnodeId) -> Option<u32> {
        match self.rows {
            Some(rows) => rows.get(id.index()).copied(),
            None => (id.index() < self.count).then_some(id.0),
        }
    }
}

/// The rows of a sorted table that have a key.
fn range<T, K: Ord + Copy>(table: &[T], key: impl Fn(&T) -> K, wanted: K) -> &[T] {
    let start = table.partition_point(|row| key(row) < wanted);
    let rest = table.get(start..).unwrap_or_default();
    let length = rest.partition_point(|row| key(row) == wanted);
    rest.get(..length).unwrap_or_default()
}
