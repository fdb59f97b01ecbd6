//! Reports with their call tree cut, merged or mapped to a new one.
//!
//! Often only a part of a report is of interest: the solver without its set-up, or all calls of a function from
//! whatever line. A [`CallTree`] maps each call path of a report to a call path of the new one, or leaves it out;
//! [`write()`] then writes the new report. Exclusive values move with their call paths, and inclusive values are summed
//! anew.

use std::collections::HashMap;
use std::path::Path;

use cubex::{
    Cnode, CnodeId, Meta, MetaBuilder, MetricId, MetricKind, Owner, RegionId, Report, ReportWriter,
    Result, Row, Rows, Topology,
};

use crate::path;
use crate::settings::is_setting;

/// One step of a new call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Step {
    region: RegionId,
    /// Identity of the old call path, which keeps call paths with the same region apart; `None` to merge them.
    apart: Option<CnodeId>,
}

/// A new call tree for a report, together with the mapping from the call paths of the old one.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    nodes: Vec<Node>,
    /// Index of the node that each old call path becomes, by call path id; `None` if it is left out.
    of: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    region: RegionId,
    /// First old call path that becomes this node. The node takes its source position and parameters from there.
    like: Option<CnodeId>,
}

impl CallTree {
    /// Keeps only the call tree at and below a call path, which becomes the root. Everything else is left out, and with
    /// it the time that it took.
    pub fn cut(meta: &Meta, root: CnodeId) -> Self {
        Self::build(meta, |cnode| {
            let mut steps = Vec::new();
            for ancestor in path::ancestors(meta, cnode) {
                steps.push(Step { region: meta.cnode(ancestor)?.region, apart: Some(ancestor) });
                if ancestor == root {
                    steps.reverse();
                    return Some(steps);
                }
            }
            None
        })
    }

    /// Merges all call paths that visit the same regions, whatever lines they were called from. Parameters and
    /// instances of phases disappear from the paths.
    pub fn merged(meta: &Meta) -> Self {
        Self::remapped(meta, |cnode| Some(regions(meta, cnode)))
    }

    /// Builds a call tree from a mapping: `path` returns the regions that a call path visits in the new tree, from the
    /// root on, or `None` to leave it out. Call paths with the same regions are merged; an empty list also leaves the
    /// call path out.
    pub fn remapped(meta: &Meta, path: impl Fn(CnodeId) -> Option<Vec<RegionId>>) -> Self {
        Self::build(meta, |cnode| {
            let step = |region| Step { region, apart: None };
            path(cnode).map(|regions| regions.into_iter().map(step).collect())
        })
    }

    fn build(meta: &Meta, path: impl Fn(CnodeId) -> Option<Vec<Step>>) -> Self {
        let mut tree = Self { nodes: Vec::new(), of: vec![None; meta.cnodes().len()] };
        let mut known: HashMap<(Option<usize>, Step), usize> = HashMap::new();
        for cnode in meta.cnodes_in_order() {
            let Some(steps) = path(cnode).filter(|steps| !steps.is_empty()) else { continue };
            let mut at = None;
            for step in steps {
                at = Some(*known.entry((at, step)).or_insert_with(|| {
                    tree.nodes.push(Node { parent: at, region: step.region, like: step.apart });
                    tree.nodes.len() - 1
                }));
            }
            if let Some(node) = at.and_then(|index| tree.nodes.get_mut(index)) {
                node.like.get_or_insert(cnode);
            }
            if let Some(place) = tree.of.get_mut(cnode.index()) {
                *place = at;
            }
        }
        tree
    }

    /// Returns the number of call paths in the new tree.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns `true` if every call path is left out, so that the new report has no values.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Iterates over the old call paths that become a node or, with `below`, a node at or below it.
    fn sources(&self, node: usize, below: bool) -> impl Iterator<Item = CnodeId> + '_ {
        (0..).map(CnodeId).zip(&self.of).filter_map(move |(cnode, &becomes)| {
            let becomes = becomes?;
            let parent = |&node: &usize| self.nodes.get(node)?.parent;
            let mut up = std::iter::successors(Some(becomes), parent);
            let hit = if below { up.any(|it| it == node) } else { becomes == node };
            hit.then_some(cnode)
        })
    }
}

/// Returns the regions of a call path from the root on, without instances of phases and parameters.
fn regions(meta: &Meta, cnode: CnodeId) -> Vec<RegionId> {
    let mut regions: Vec<RegionId> = path::ancestors(meta, cnode)
        .filter(|&ancestor| !is_setting(meta, ancestor))
        .filter_map(|ancestor| Some(meta.cnode(ancestor)?.region))
        .collect();
    regions.reverse();
    regions
}

/// Writes a copy of a report with another call tree. Metrics, regions, the system tree, topologies, attributes and
/// extra members are kept; derived metrics keep their expressions and have no rows.
///
/// # Errors
/// Fails if the report is damaged, if the file cannot be written, or if a metric has values that cannot be added.
pub fn write(report: &Report, tree: &CallTree, path: impl AsRef<Path>) -> Result<()> {
    let meta = new_meta(report.meta(), tree)?;
    let writer = ReportWriter::create(path.as_ref(), meta)?;
    for metric in report.meta().metrics() {
        if let Some(about) = report.meta().metric(metric).filter(|it| !it.kind.is_derived()) {
            write_metric(report, tree, &writer, (metric, about.kind))?;
        }
    }
    writer.copy_extras(report)?;
    writer.finish()
}

fn write_metric(
    report: &Report,
    tree: &CallTree,
    writer: &ReportWriter,
    (metric, kind): (MetricId, MetricKind),
) -> Result<()> {
    let values = report.values(metric)?;
    let rows = writer.metric(metric, Rows::Spooled)?;
    for node in 0..tree.nodes.len() {
        let mut sum: Option<Row> = None;
        for cnode in tree.sources(node, kind == MetricKind::Inclusive) {
            let Some(row) = values.exclusive(cnode)? else { continue };
            match &mut sum {
                Some(sum) => sum.add(&row)?,
                None => sum = Some(row),
            }
        }
        if let Some(sum) = sum {
            rows.write(CnodeId(node as u32), &sum)?;
        }
    }
    Ok(())
}

/// Copies all definitions of a report except its call tree, and adds the new one.
fn new_meta(meta: &Meta, tree: &CallTree) -> Result<Meta> {
    let mut new = MetaBuilder::new();
    new.version(meta.version());
    new.titles(meta.metrics_title(), meta.program_title(), meta.system_title());
    meta.mirrors().for_each(|url| new.mirror(url));
    for id in meta.metrics() {
        let Some(metric) = meta.metric(id) else { continue };
        new.metric(meta.metric_parent(id), metric);
        meta.expressions(id).for_each(|expression| new.expression(id, expression));
    }
    meta.regions().filter_map(|id| meta.region(id)).for_each(|region| {
        new.region(region);
    });
    for node in &tree.nodes {
        let like = node.like.and_then(|cnode| meta.cnode(cnode));
        let (file, line) = like.map_or(("", None), |cnode| (cnode.file, cnode.line));
        let parent = node.parent.map(|index| CnodeId(index as u32));
        let id = new.cnode(parent, Cnode { region: node.region, file, line });
        let parameters = node.like.into_iter().flat_map(|cnode| meta.parameters(cnode));
        parameters.for_each(|parameter| new.parameter(id, parameter));
    }
    new_system(meta, &mut new);
    let mut owners = vec![Owner::Report];
    owners.extend(meta.metrics().map(Owner::Metric));
    owners.extend(meta.regions().map(Owner::Region));
    owners.extend(meta.system_nodes().map(Owner::SystemNode));
    owners.extend(meta.groups().map(Owner::Group));
    owners.extend(meta.locations().map(Owner::Location));
    for owner in owners {
        meta.attributes(owner).for_each(|it| new.attribute(owner, it.key, it.value));
    }
    new.finish()
}

/// Copies the system tree and topologies. Ids stay the same, because definitions are made in the order of their ids.
fn new_system(meta: &Meta, new: &mut MetaBuilder) {
    for id in meta.system_nodes() {
        if let Some(node) = meta.system_node(id) {
            new.system_node(meta.system_node_parent(id), node);
        }
    }
    for id in meta.groups() {
        if let (Some(node), Some(group)) = (meta.node_of_group(id), meta.group(id)) {
            new.group(node, group);
        }
    }
    for id in meta.locations() {
        if let (Some(group), Some(location)) = (meta.group_of_location(id), meta.location(id)) {
            new.location(group, location);
        }
    }
    for id in meta.topologies() {
        let topology: Option<Topology<'_>> = meta.topology(id);
        let Some(topology) = topology else { continue };
        let copy = new.topology(&topology);
        meta.coordinates(id).for_each(|it| new.coordinate(copy, it.place, it.at));
    }
}
