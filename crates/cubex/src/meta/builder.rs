//! Fills the tables: from a program through [`MetaBuilder`], from XML through [`Draft`].

use crate::error::{Error, ErrorKind, Result};
use crate::id::{CnodeId, GroupId, LocationId, MetricId, RegionId, SystemNodeId, TopologyId};
use crate::links::NONE;
use crate::text::{Interner, StrId};

use super::tables::{
    AttributeRecord, CnodeRecord, DimensionRecord, ExpressionRecord, GroupRecord, LocationRecord,
    MetricRecord, NodeRecord, OwnerKind, ParameterRecord, PlaceRecord, RegionRecord, Tables,
    TopologyRecord, line_word,
};
use super::{
    Cnode, Expression, Group, Location, Meta, Metric, Owner, Parameter, ParameterKind, Place,
    Region, SystemNode, Topology, finish,
};

/// Tables while they are being filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) tables: Tables,
    interner: Interner,
    /// `true` once there are more than 4 GiB of strings.
    full: bool,
}

impl Draft {
    /// Returns the number of a string.
    pub(crate) fn text(&mut self, text: &str) -> StrId {
        self.interner.add(text).unwrap_or_else(|| {
            self.full = true;
            StrId(0)
        })
    }

    /// Returns the filled tables, which are not checked yet.
    pub(crate) fn into_tables(mut self) -> Result<Tables> {
        if self.full {
            return Err(ErrorKind::Limit("more than 4 GiB of names").into());
        }
        self.tables.texts = self.interner.finish();
        Ok(self.tables)
    }
}

/// Collects the metadata of a report to be written: metrics, call tree, system tree and topologies.
///
/// Ids are given in the order of definition, from 0 on. A parent must be defined before its children. Locations must be
/// defined in the order in which the system tree shows them, because other readers take the columns of values in that
/// order; all other elements may come in any order. The methods themselves never fail: [`MetaBuilder::finish`] and the
/// writer report mistakes.
#[derive(Clone, Debug)]
pub struct MetaBuilder {
    draft: Draft,
    /// `true` once a coordinate had another number of dimensions than its topology.
    crooked: bool,
    /// Coordinates in the order of definition, which are sorted by topology at the end.
    places: Vec<(PlaceRecord, Vec<u32>)>,
}

impl Default for MetaBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the position that the next row of a table will have.
fn next<T>(table: &[T]) -> u32 {
    u32::try_from(table.len()).unwrap_or(NONE)
}

impl MetaBuilder {
    /// Begins the metadata of an empty report of version 4.4.
    pub fn new() -> Self {
        let mut builder = Self { draft: Draft::default(), crooked: false, places: Vec::new() };
        builder.version("4.4");
        builder
    }

    /// Sets the version of the format that the report states. The default 4.4 suits most readers; location groups of
    /// type `accelerator` need 4.7.
    pub fn version(&mut self, version: &str) {
        self.draft.tables.heads.version = self.draft.text(version);
    }

    /// Sets the titles of the metric tree, the call tree and the system tree, which viewers show above them. All are
    /// empty by default.
    pub fn titles(&mut self, metrics: &str, program: &str, system: &str) {
        self.draft.tables.heads.metrics_title = self.draft.text(metrics);
        self.draft.tables.heads.program_title = self.draft.text(program);
        self.draft.tables.heads.system_title = self.draft.text(system);
    }

    /// Adds a base address that viewers put in the place of `@mirror@` in the URLs of metrics and regions.
    pub fn mirror(&mut self, url: &str) {
        let url = self.draft.text(url);
        self.draft.tables.mirrors.push(url.0);
    }

    /// Adds an attribute to an element or to the report itself. Attributes keep their order; equal keys are not
    /// checked.
    pub fn attribute(&mut self, owner: Owner, key: &str, value: &str) {
        let (kind, owner) = owner.key();
        let (key, value) = (self.draft.text(key), self.draft.text(value));
        self.draft.tables.attributes.push(AttributeRecord { kind, owner, key, value });
    }

    /// Adds a metric and returns its id. With a `parent` it is a part of that metric, and otherwise a root of the
    /// metric tree.
    pub fn metric(&mut self, parent: Option<MetricId>, metric: Metric<'_>) -> MetricId {
        let draft = &mut self.draft;
        let record = MetricRecord {
            number: next(&draft.tables.metrics),
            parent: parent.map_or(NONE, |id| id.0),
            uniq_name: draft.text(metric.uniq_name),
            disp_name: draft.text(metric.disp_name),
            dtype: draft.text(metric.dtype),
            uom: draft.text(metric.uom),
            val: draft.text(metric.val),
            url: draft.text(metric.url),
            descr: draft.text(metric.descr),
            kind: metric.kind,
            viz: metric.viz,
            convertible: metric.convertible,
            cacheable: metric.cacheable,
        };
        draft.tables.metrics.push(record);
        MetricId(record.number)
    }

    /// Adds a CubePL expression to a derived metric. A metric can have one for each
    /// [`ExpressionKind`](super::ExpressionKind).
    pub fn expression(&mut self, metric: MetricId, expression: Expression<'_>) {
        let record = ExpressionRecord {
            metric: metric.0,
            kind: expression.kind,
            attributes: self.draft.text(expression.attributes),
            text: self.draft.text(expression.text),
        };
        self.draft.tables.expressions.push(record);
    }

    /// Adds a region, to which call paths can then refer, and returns its id.
    pub fn region(&mut self, region: Region<'_>) -> RegionId {
        let draft = &mut self.draft;
        let record = RegionRecord {
            number: next(&draft.tables.regions),
            name: draft.text(region.name),
            mangled_name: draft.text(region.mangled_name),
            paradigm: draft.text(region.paradigm),
            role: draft.text(region.role),
            url: draft.text(region.url),
            descr: draft.text(region.descr),
            file: draft.text(region.file),
            begin: line_word(region.begin),
            end: line_word(region.end),
        };
        draft.tables.regions.push(record);
        RegionId(record.number)
    }

    /// Adds a call path and returns its id. It is one call longer than `parent`, or a root of the call tree without
    /// one.
    pub fn cnode(&mut self, parent: Option<CnodeId>, cnode: Cnode<'_>) -> CnodeId {
        let record = CnodeRecord {
            number: next(&self.draft.tables.cnodes),
            parent: parent.map_or(NONE, |id| id.0),
            region: cnode.region.0,
            file: self.draft.text(cnode.file),
            line: line_word(cnode.line),
        };
        self.draft.tables.cnodes.push(record);
        CnodeId(record.number)
    }

    /// Adds a parameter to a call path. Parameters tell call paths of the same region apart and keep their order.
    pub fn parameter(&mut self, cnode: CnodeId, parameter: Parameter<'_>) {
        let record = ParameterRecord {
            cnode: cnode.0,
            numeric: parameter.kind == ParameterKind::Numeric,
            key: self.draft.text(parameter.key),
            value: self.draft.text(parameter.value),
        };
        self.draft.tables.parameters.push(record);
    }

    /// Adds a node of the system tree and returns its id. Without a `parent` the node is a root.
    pub fn system_node(
        &mut self,
        parent: Option<SystemNodeId>,
        node: SystemNode<'_>,
    ) -> SystemNodeId {
        let record = NodeRecord {
            number: next(&self.draft.tables.nodes),
            parent: parent.map_or(NONE, |id| id.0),
            name: self.draft.text(node.name),
            class: self.draft.text(node.class),
            descr: self.draft.text(node.descr),
        };
        self.draft.tables.nodes.push(record);
        SystemNodeId(record.number)
    }

    /// Adds a location group, usually a process, to a node of the system tree and returns its id. The writer refuses a
    /// group without locations, which cubelib cannot read.
    pub fn group(&mut self, node: SystemNodeId, group: Group<'_>) -> GroupId {
        let record = GroupRecord {
            number: next(&self.draft.tables.groups),
            parent: node.0,
            name: self.draft.text(group.name),
            rank: group.rank,
            kind: self.draft.text(group.kind),
        };
        self.draft.tables.groups.push(record);
        GroupId(record.number)
    }

    /// Adds a location, usually a thread, to a location group and returns its id. The id is the column of the location
    /// in all rows of values.
    pub fn location(&mut self, group: GroupId, location: Location<'_>) -> LocationId {
        let record = LocationRecord {
            number: next(&self.draft.tables.locations),
            parent: group.0,
            name: self.draft.text(location.name),
            rank: location.rank,
            kind: self.draft.text(location.kind),
        };
        self.draft.tables.locations.push(record);
        LocationId(record.number)
    }

    /// Adds a Cartesian topology with its dimensions and returns its id. [`MetaBuilder::coordinate`] then places
    /// elements in it.
    ///
    /// ```
    /// use cubex::{Dimension, Group, Location, MetaBuilder, Place, SystemNode, Topology};
    /// let mut builder = MetaBuilder::new();
    /// let machine = builder.system_node(None, SystemNode::default());
    /// let process = builder.group(machine, Group::default());
    /// let thread = builder.location(process, Location::default());
    /// let ring = Dimension { name: "x", size: 4, periodic: true };
    /// let grid = builder.topology(&Topology { name: "Process ring", dimensions: vec![ring] });
    /// builder.coordinate(grid, Place::Location(thread), &[3]);
    /// let meta = builder.finish()?;
    /// assert_eq!(meta.coordinates(grid).next().map(|it| it.at), Some(&[3_u32][..]));
    /// # Ok::<(), cubex::Error>(())
    /// ```
    pub fn topology(&mut self, topology: &Topology<'_>) -> TopologyId {
        let id = next(&self.draft.tables.topologies);
        let name = self.draft.text(topology.name);
        let dimensions = next(&topology.dimensions);
        self.draft.tables.topologies.push(TopologyRecord { name, dimensions });
        for dimension in &topology.dimensions {
            let name = self.draft.text(dimension.name);
            let (size, periodic) = (dimension.size, dimension.periodic);
            let record = DimensionRecord { topology: id, name, size, periodic };
            self.draft.tables.dimensions.push(record);
        }
        TopologyId(id)
    }

    /// Places a location, a location group or a node of the system tree in a topology. `at` has one coordinate for each
    /// dimension, counted from 0.
    pub fn coordinate(&mut self, topology: TopologyId, place: Place, at: &[u32]) {
        let (kind, owner) = match place {
            Place::Location(id) => (OwnerKind::Location, id.0),
            Place::Group(id) => (OwnerKind::Group, id.0),
            Place::SystemNode(id) => (OwnerKind::SystemNode, id.0),
        };
        let known = self.draft.tables.topologies.get(topology.index());
        self.crooked |= known.is_none_or(|it| it.dimensions as usize != at.len());
        self.places.push((PlaceRecord { topology: topology.0, kind, owner }, at.to_vec()));
    }

    /// Checks all definitions and links the trees.
    ///
    /// # Errors
    /// Fails if an element refers to one that is not defined or that is defined after it, if a coordinate has the wrong
    /// number of dimensions, or if there are more than 4 GiB of names.
    pub fn finish(mut self) -> Result<Meta> {
        if self.crooked {
            let what = "a coordinate has another number of dimensions than its topology";
            return Err(Error::invalid(what));
        }
        self.places.sort_by_key(|(place, _)| place.topology);
        for (place, at) in self.places {
            self.draft.tables.places.push(place);
            self.draft.tables.coordinates.extend(at);
        }
        // An inconsistency that is damage in a file is a mistake of the caller here.
        finish(self.draft.into_tables()?).map_err(|error| match error.kind() {
            ErrorKind::Anchor(what) => Error::invalid(*what),
            _ => error,
        })
    }
}
