//! A report with its call tree cut, merged or mapped anew.
//!
//! What a report is asked for is often a part of it: the solver without its set-up, or all calls of a
//! function whatever line they come from. A [`CallTree`] says for each call path of a report which
//! call path of the new one it becomes, or that it is left out; [`write()`] then writes the new
//! report. Exclusive values move with their call paths, and inclusive ones are summed up anew.

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
    /// Tells call paths of one region apart that stay apart.
    apart: Option<CnodeId>,
}

/// A new call tree for a report.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    nodes: Vec<Node>,
    /// The node that each old call path becomes.
    of: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    region: RegionId,
    /// The old call path it is most like: the first that becomes it.
    like: Option<CnodeId>,
}

impl CallTree {
    /// The call tree below a call path, which becomes the root. All else is left out.
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

    /// The same call tree with all call paths as one that visit the same regions, whatever lines
    /// they come from and whatever parameters they have.
    pub fn merged(meta: &Meta) -> Self {
        Self::remapped(meta, |cnode| Some(regions(meta, cnode)))
    }

    /// A call tree of your own: `path` says for each call path which regions it visits in the new
    /// tree, from the root on, or that it is left out. Call paths with the same regions become one.
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

    /// Number of call paths.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The old call paths that a node, and with `below` all nodes below it, stand for.
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

/// The regions of a call path, from the root on.
fn regions(meta: &Meta, cnode: CnodeId) -> Vec<RegionId> {
    let mut regions: Vec<RegionId> = path::ancestors(meta, cnode)
        .filter(|&ancestor| !is_setting(meta, ancestor))
        .filter_map(|ancestor| Some(meta.cnode(ancestor)?.region))
        .collect();
    regions.reverse();
    regions
}

/// Writes a report like another with a new call tree.
///
/// # Errors
/// If the report is damaged, the file cannot be written, or a metric has values that cannot be added.
pub fn write(report: &Report, tree: &CallTree, path: impl AsRef<Path>) -> Result<()> {
    let meta = new_meta(report.meta(), tree)?;
    let writer = ReportWriter::create(path.as_ref(), meta)?;
    for metric in report.meta().metrics() {
        let kind = report.meta().metric(metric).map(|metric| metric.kind);
        if kind.is_some_and(|kind| !kind.is_derived()) {
            write_metric(report, tree, &writer, metric, kind == Some(MetricKind::Inclusive))?;
        }
    }
    writer.copy_extras(report)?;
    writer.finish()
}

fn write_metric(
    report: &Report,
    tree: &CallTree,
    writer: &ReportWriter,
    metric: MetricId,
    inclusive: bool,
) -> Result<()> {
    let values = report.values(metric)?;
    let rows = writer.metric(metric, Rows::Spooled)?;
    for node in 0..tree.nodes.len() {
        let mut sum: Option<Row> = None;
        for cnode in tree.sources(node, inclusive) {
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

/// Everything of a report but its call tree, with a new one.
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

/// The system tree and topologies as they are. Ids stay, because all are defined in the order of
/// their ids.
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
