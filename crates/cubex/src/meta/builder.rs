//! Filling the tables: from a program through [`MetaBuilder`], from XML through [`Draft`].

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

/// Tables that are being filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) tables: Tables,
    interner: Interner,
    /// There were more than 4 GiB of strings.
    full: bool,
}

impl Draft {
    /// The number of a string.
    pub(crate) fn text(&mut self, text: &str) -> StrId {
        self.interner.add(text).unwrap_or_else(|| {
            self.full = true;
            StrId(0)
        })
    }

    /// The filled tables, not yet checked.
    pub(crate) fn into_tables(mut self) -> Result<Tables> {
        if self.full {
            return Err(ErrorKind::Limit("more than 4 GiB of names").into());
        }
        self.tables.texts = self.interner.finish();
        Ok(self.tables)
    }
}

/// Collects metrics, call tree and system tree of a report to be written.
///
/// Ids are given in the order of definition, from 0 on. Parents are defined before their children;
/// beyond that any order will do for all but locations, which must be defined in the order in which
/// the system tree shows them, because other readers take their columns in that order. Mistakes are
/// reported by [`MetaBuilder::finish`] and by the writer.
#[derive(Clone, Debug)]
pub struct MetaBuilder {
    draft: Draft,
    /// A coordinate had another number of dimensions than its topology.
    crooked: bool,
    /// Coordinates by topology, brought together at the end.
    places: Vec<(PlaceRecord, Vec<u32>)>,
}

impl Default for MetaBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// The position that the next row of a table will have.
fn next<T>(table: &[T]) -> u32 {
    u32::try_from(table.len()).unwrap_or(NONE)
}

impl MetaBuilder {
    /// An empty report, version 4.4.
    pub fn new() -> Self {
        let mut builder = Self { draft: Draft::default(), crooked: false, places: Vec::new() };
        builder.version("4.4");
        builder
    }

    /// Version of the format. 4.4 is what most readers take; accelerators need 4.7.
    pub fn version(&mut self, version: &str) {
        self.draft.tables.heads.version = self.draft.text(version);
    }

    /// Titles of the three trees.
    pub fn titles(&mut self, metrics: &str, program: &str, system: &str) {
        self.draft.tables.heads.metrics_title = self.draft.text(metrics);
        self.draft.tables.heads.program_title = self.draft.text(program);
        self.draft.tables.heads.system_title = self.draft.text(system);
    }

    /// An address that stands for `@mirror@`.
    pub fn mirror(&mut self, url: &str) {
        let url = self.draft.text(url);
        self.draft.tables.mirrors.push(url.0);
    }

    /// An attribute of an element or of the report.
    pub fn attribute(&mut self, owner: Owner, key: &str, value: &str) {
        let (kind, owner) = owner.key();
        let (key, value) = (self.draft.text(key), self.draft.text(value));
        self.draft.tables.attributes.push(AttributeRecord { kind, owner, key, value });
    }

    /// A metric, part of `parent` if there is one.
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

    /// An expression of a derived metric.
    pub fn expression(&mut self, metric: MetricId, expression: Expression<'_>) {
        let record = ExpressionRecord {
            metric: metric.0,
            kind: expression.kind,
            attributes: self.draft.text(expression.attributes),
            text: self.draft.text(expression.text),
        };
        self.draft.tables.expressions.push(record);
    }

    /// A region.
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

    /// A call path, one step longer than `parent`.
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

    /// A parameter of a call path.
    pub fn parameter(&mut self, cnode: CnodeId, parameter: Parameter<'_>) {
        let record = ParameterRecord {
            cnode: cnode.0,
            numeric: parameter.kind == ParameterKind::Numeric,
            key: self.draft.text(parameter.key),
            value: self.draft.text(parameter.value),
        };
        self.draft.tables.parameters.push(record);
    }

    /// A node of the system tree.
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

    /// A location group of a node of the system tree.
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

    /// A location of a group.
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

    /// A topology.
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

    /// Where in a topology something is: one number for each dimension.
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

    /// Checks everything and makes the trees.
    ///
    /// # Errors
    /// If something refers to what is not defined, or to what is defined after it.
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
        // What would be damage in a file is a mistake here.
        finish(self.draft.into_tables()?).map_err(|error| match error.kind() {
            ErrorKind::Anchor(what) => Error::invalid(*what),
            _ => error,
        })
    }
}
