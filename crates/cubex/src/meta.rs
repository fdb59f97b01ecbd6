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

/// The metadata of a report: its metrics, call tree, system tree and topologies, without values.
///
/// A `Meta` cannot be changed. It is checked when it is made, so all trees are free of cycles and all ids that it gives
/// lead to an element. Ids of another report, or out of range, give `None` or an empty iterator.
#[derive(Debug)]
pub struct Meta {
    tables: Tables,
    metric_links: Links,
    cnode_links: Links,
    node_links: Links,
    group_links: Links,
    location_links: Links,
    /// Index of the first coordinate of each topology.
    starts: Vec<usize>,
    /// Row number of each call path in exclusive metrics; `wide` holds those of inclusive metrics. Both are computed
    /// when first needed.
    deep: OnceLock<Vec<u32>>,
    wide: OnceLock<Vec<u32>>,
}

/// Iterates over ids from 0 on.
fn count<T>(length: usize, id: impl Fn(u32) -> T) -> impl ExactSizeIterator<Item = T> {
    // `finish` has checked that tables have fewer rows than this.
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

    /// Returns the version of the Cube format that the report states, such as `4.4`.
    pub fn version(&self) -> &str {
        self.tables.text(self.tables.heads.version)
    }

    /// Returns the title of the metric tree, which viewers show above it. It is usually empty.
    pub fn metrics_title(&self) -> &str {
        self.tables.text(self.tables.heads.metrics_title)
    }

    /// Returns the title of the call tree, which viewers show above it. It is usually empty.
    pub fn program_title(&self) -> &str {
        self.tables.text(self.tables.heads.program_title)
    }

    /// Returns the title of the system tree, which viewers show above it. It is usually empty.
    pub fn system_title(&self) -> &str {
        self.tables.text(self.tables.heads.system_title)
    }

    /// Iterates over the base addresses that viewers put in the place of `@mirror@` in the URLs of metrics and regions.
    pub fn mirrors(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tables.mirrors.iter().map(|&mirror| self.tables.text(crate::text::StrId(mirror)))
    }

    /// Iterates over the attributes of an element, or of the report itself, in the order of the document. Elements of
    /// all kinds but topologies can have attributes.
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

    /// Iterates over the ids of all metrics, in rising order.
    pub fn metrics(&self) -> impl ExactSizeIterator<Item = MetricId> + use<> {
        count(self.tables.metrics.len(), MetricId)
    }

    /// Returns the metric with this id, or `None` if the report has no such metric.
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

    /// Returns the metric with this unique name, such as `time`, or `None` if the report has no such metric. The search
    /// goes through all metrics, so callers should keep the id.
    pub fn find_metric(&self, uniq_name: &str) -> Option<MetricId> {
        self.metrics().find(|&id| self.metric(id).is_some_and(|it| it.uniq_name == uniq_name))
    }

    /// Iterates over the roots of the metric tree: metrics that are not part of another.
    pub fn root_metrics(&self) -> impl Iterator<Item = MetricId> + '_ {
        self.metric_links.children(NONE).map(MetricId)
    }

    /// Iterates over the children of a metric, which are parts of it, in the order of the document.
    pub fn metric_children(&self, id: MetricId) -> impl Iterator<Item = MetricId> + '_ {
        self.metric_links.children(id.0).map(MetricId)
    }

    /// Returns the parent of a metric, of which it is a part, or `None` for a root.
    pub fn metric_parent(&self, id: MetricId) -> Option<MetricId> {
        self.tables.metrics.get(id.index()).and_then(|it| line(it.parent)).map(MetricId)
    }

    /// Iterates over the CubePL expressions of a derived metric. Other metrics have none.
    pub fn expressions(&self, id: MetricId) -> impl ExactSizeIterator<Item = Expression<'_>> {
        range(&self.tables.expressions, |it| it.metric, id.0).iter().map(|it| Expression {
            kind: it.kind,
            attributes: self.tables.text(it.attributes),
            text: self.tables.text(it.text),
        })
    }

    /// Returns the number of a metric in the document, by which its members are named.
    pub(crate) fn metric_number(&self, id: MetricId) -> Option<u32> {
        self.tables.metrics.get(id.index()).map(|it| it.number)
    }

    /// Iterates over the ids of all regions, in rising order.
    pub fn regions(&self) -> impl ExactSizeIterator<Item = RegionId> + use<> {
        count(self.tables.regions.len(), RegionId)
    }

    /// Returns the region with this id, or `None` if the report has no such region.
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

    /// Iterates over the ids of all call paths, in rising order. [`Meta::cnodes_in_order`] gives them in the order of
    /// the call tree.
    pub fn cnodes(&self) -> impl ExactSizeIterator<Item = CnodeId> + use<> {
        count(self.tables.cnodes.len(), CnodeId)
    }

    /// Returns the call path with this id, or `None` if the report has no such call path.
    pub fn cnode(&self, id: CnodeId) -> Option<Cnode<'_>> {
        let record = self.tables.cnodes.get(id.index())?;
        let file = self.tables.text(record.file);
        Some(Cnode { region: RegionId(record.region), file, line: line(record.line) })
    }

    /// Returns the region in which a call path ends: the function that is called.
    pub fn callee(&self, id: CnodeId) -> Option<Region<'_>> {
        self.region(RegionId(self.tables.cnodes.get(id.index())?.region))
    }

    /// Iterates over the roots of the call tree. A report of a whole program usually has one, a report with threads or
    /// tasks several.
    pub fn root_cnodes(&self) -> impl Iterator<Item = CnodeId> + '_ {
        self.cnode_links.children(NONE).map(CnodeId)
    }

    /// Iterates over the children of a call path, which are one call longer, in the order of the document.
    pub fn cnode_children(&self, id: CnodeId) -> impl Iterator<Item = CnodeId> + '_ {
        self.cnode_links.children(id.0).map(CnodeId)
    }

    /// Returns the parent of a call path, which is one call shorter, or `None` for a root.
    pub fn cnode_parent(&self, id: CnodeId) -> Option<CnodeId> {
        self.tables.cnodes.get(id.index()).and_then(|it| line(it.parent)).map(CnodeId)
    }

    /// Iterates over a call path and everything below it, parents before their children. The iterator is empty if there
    /// is no such call path.
    pub fn cnodes_below(&self, id: CnodeId) -> impl Iterator<Item = CnodeId> + '_ {
        let known = id.index() < self.tables.cnodes.len();
        known.then(|| self.cnode_links.below(id.0)).into_iter().flatten().map(CnodeId)
    }

    /// Iterates over all call paths in the order of the call tree, parents before their children.
    pub fn cnodes_in_order(&self) -> impl Iterator<Item = CnodeId> + '_ {
        self.cnode_links.all().map(CnodeId)
    }

    /// Iterates over the parameters of a call path, in the order of the document.
    pub fn parameters(&self, id: CnodeId) -> impl ExactSizeIterator<Item = Parameter<'_>> {
        range(&self.tables.parameters, |it| it.cnode, id.0).iter().map(|it| Parameter {
            kind: if it.numeric { ParameterKind::Numeric } else { ParameterKind::Text },
            key: self.tables.text(it.key),
            value: self.tables.text(it.value),
        })
    }

    /// Returns the row numbers of all call paths in metrics of this kind, which the table in [`MetricKind`] explains.
    /// They are computed at the first call and kept. Readers and writers of values use them; callers need them only to
    /// interpret an index themselves.
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

    /// Iterates over the ids of all nodes of the system tree, in rising order.
    pub fn system_nodes(&self) -> impl ExactSizeIterator<Item = SystemNodeId> + use<> {
        count(self.tables.nodes.len(), SystemNodeId)
    }

    /// Returns the node of the system tree with this id, or `None` if there is no such node.
    pub fn system_node(&self, id: SystemNodeId) -> Option<SystemNode<'_>> {
        let record = self.tables.nodes.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(SystemNode {
            name: text(record.name),
            class: text(record.class),
            descr: text(record.descr),
        })
    }

    /// Iterates over the roots of the system tree, usually a single machine.
    pub fn root_system_nodes(&self) -> impl Iterator<Item = SystemNodeId> + '_ {
        self.node_links.children(NONE).map(SystemNodeId)
    }

    /// Iterates over the nodes directly below a node of the system tree. Its location groups are not among them; see
    /// [`Meta::groups_of`].
    pub fn system_node_children(
        &self,
        id: SystemNodeId,
    ) -> impl Iterator<Item = SystemNodeId> + '_ {
        self.node_links.children(id.0).map(SystemNodeId)
    }

    /// Returns the parent of a node of the system tree, or `None` for a root.
    pub fn system_node_parent(&self, id: SystemNodeId) -> Option<SystemNodeId> {
        self.tables.nodes.get(id.index()).and_then(|it| line(it.parent)).map(SystemNodeId)
    }

    /// Iterates over the ids of all location groups, in rising order.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = GroupId> + use<> {
        count(self.tables.groups.len(), GroupId)
    }

    /// Returns the location group with this id, usually a process, or `None` if there is no such group.
    pub fn group(&self, id: GroupId) -> Option<Group<'_>> {
        let record = self.tables.groups.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(Group { name: text(record.name), rank: record.rank, kind: text(record.kind) })
    }

    /// Iterates over the location groups that belong to a node of the system tree itself, without those of nodes below
    /// it.
    pub fn groups_of(&self, id: SystemNodeId) -> impl Iterator<Item = GroupId> + '_ {
        self.group_links.children(id.0).map(GroupId)
    }

    /// Returns the node of the system tree to which a location group belongs, usually the compute node on which a
    /// process ran.
    pub fn node_of_group(&self, id: GroupId) -> Option<SystemNodeId> {
        self.tables.groups.get(id.index()).map(|it| SystemNodeId(it.parent))
    }

    /// Iterates over the ids of all locations, in rising order. This is also the order of the columns in rows of
    /// values.
    pub fn locations(&self) -> impl ExactSizeIterator<Item = LocationId> + use<> {
        count(self.tables.locations.len(), LocationId)
    }

    /// Returns the location with this id, usually a thread, or `None` if there is no such location.
    pub fn location(&self, id: LocationId) -> Option<Location<'_>> {
        let record = self.tables.locations.get(id.index())?;
        let text = |id| self.tables.text(id);
        Some(Location { name: text(record.name), rank: record.rank, kind: text(record.kind) })
    }

    /// Iterates over the locations of a location group, usually the threads of a process.
    pub fn locations_of(&self, id: GroupId) -> impl Iterator<Item = LocationId> + '_ {
        self.location_links.children(id.0).map(LocationId)
    }

    /// Returns the location group of a location, usually the process of a thread.
    pub fn group_of_location(&self, id: LocationId) -> Option<GroupId> {
        self.tables.locations.get(id.index()).map(|it| GroupId(it.parent))
    }

    /// Iterates over the ids of all topologies, in rising order. Many reports have none.
    pub fn topologies(&self) -> impl ExactSizeIterator<Item = TopologyId> + use<> {
        count(self.tables.topologies.len(), TopologyId)
    }

    /// Returns the topology with this id and its dimensions, or `None` if there is no such topology.
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

    /// Iterates over the coordinates of a topology: which location, group or node is at which position.
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

/// The row numbers of all call paths in metrics of one kind. [`Meta::row_numbers`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct RowNumbers<'a> {
    /// Row numbers by call path id, or `None` if they equal the ids.
    rows: Option<&'a [u32]>,
    count: usize,
}

impl RowNumbers<'_> {
    /// Returns the row number of a call path, or `None` if there is no such call path.
    #[inline]
    pub fn get(self, id: CnodeId) -> Option<u32> {
        match self.rows {
            Some(rows) => rows.get(id.index()).copied(),
            None => (id.index() < self.count).then_some(id.0),
        }
    }
}

/// Returns the rows of a sorted table that have this key.
fn range<T, K: Ord + Copy>(table: &[T], key: impl Fn(&T) -> K, wanted: K) -> &[T] {
    let start = table.partition_point(|row| key(row) < wanted);
    let rest = table.get(start..).unwrap_or_default();
    let length = rest.partition_point(|row| key(row) == wanted);
    rest.get(..length).unwrap_or_default()
}
