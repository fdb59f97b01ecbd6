//! Tables that come from the report and the findings: locations, call paths, metrics, values and findings.

use dwell_files::Folder;
use dwell_report::findings::Confidence;
use dwell_report::{Call, CnodeId, Flavour, MetricId};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::error::Result;
use crate::run::Run;
use crate::table::{Cell, Finished, Part, Text};
use crate::tables::{CALL_PATHS, FINDINGS, LOCATIONS, METRICS, VALUES};

pub(crate) fn locations(run: &Run, folder: &Folder) -> Result<Finished> {
    let meta = run.query.meta();
    let mut part = Part::new(&LOCATIONS, folder)?;
    for location in meta.locations() {
        let group = meta.group_of_location(location);
        let process = group.and_then(|it| meta.group(it));
        let node = group.and_then(|it| meta.node_of_group(it)).and_then(|it| meta.system_node(it));
        let events = run.events.get(location.index()).copied().unwrap_or(0);
        part.push([
            location.0.into(),
            run.query.location_name(location).as_str().into(),
            group.map_or(0, |it| it.0).into(),
            process.map_or("", |it| it.name).into(),
            process.map_or(0, |it| it.rank).into(),
            meta.location(location).map_or(0, |it| it.rank).into(),
            node.map(|it| it.name).into(),
            events.into(),
        ])?;
    }
    part.finish()
}

pub(crate) fn call_paths(run: &Run, folder: &Folder) -> Result<Finished> {
    let meta = run.query.meta();
    let classes = run.query.call_classes();
    let mut part = Part::new(&CALL_PATHS, folder)?;
    for cnode in meta.cnodes() {
        let caller = meta.cnode_parent(cnode);
        let depth = std::iter::successors(caller, |it| meta.cnode_parent(*it)).count();
        part.push([
            cnode.0.into(),
            caller.map(|it| it.0).into(),
            run.query.call_name(cnode).as_str().into(),
            run.query.call_path(cnode).as_str().into(),
            run.query.call_site(cnode).as_deref().into(),
            classes.get(cnode.index()).map_or("", |it| it.name()).into(),
            (depth as u64).into(),
        ])?;
    }
    part.finish()
}

/// Returns the metrics whose values can be read.
fn readable(run: &Run) -> Vec<MetricId> {
    run.query.meta().metrics().filter(|it| run.query.is_readable(*it)).collect()
}

pub(crate) fn metrics(run: &Run, folder: &Folder) -> Result<Finished> {
    let meta = run.query.meta();
    let mut part = Part::new(&METRICS, folder)?;
    for id in readable(run) {
        let Some(metric) = meta.metric(id) else { continue };
        let parent = meta.metric_parent(id).and_then(|it| meta.metric(it));
        part.push([
            metric.uniq_name.into(),
            metric.disp_name.into(),
            metric.uom.into(),
            parent.map(|it| it.uniq_name).into(),
            metric.descr.into(),
        ])?;
    }
    part.finish()
}

/// Makes the values of each metric in a part of its own.
pub(crate) fn values(run: &Run, folder: &Folder) -> Result<Vec<Finished>> {
    readable(run).par_iter().map(|it| values_of(run, *it, folder)).collect()
}

fn values_of(run: &Run, id: MetricId, folder: &Folder) -> Result<Finished> {
    let mut part = Part::new(&VALUES, folder)?;
    let metric = run.query.meta().metric(id);
    let name = Text::from(metric.map_or("", |it| it.uniq_name));
    let unit = Text::from(metric.map_or("", |it| it.uom));
    let mut stored: Vec<CnodeId> = run.query.report().values(id)?.stored().collect();
    stored.sort();
    for cnode in stored {
        let row = run.query.row(id, Call::Path(cnode, Flavour::Exclusive))?;
        for (location, value) in (0_u32..).zip(row).filter(|it| it.1 != 0.0) {
            part.push([
                Cell::from(&name),
                cnode.0.into(),
                location.into(),
                value.into(),
                Cell::from(&unit),
            ])?;
        }
    }
    part.finish()
}

pub(crate) fn findings(run: &Run, folder: &Folder) -> Result<Finished> {
    let mut part = Part::new(&FINDINGS, folder)?;
    for it in &run.findings.findings {
        let worst = it.worst.as_ref();
        part.push([
            it.id.into(),
            it.pattern.as_str().into(),
            it.metric.as_str().into(),
            it.phase.name().into(),
            it.layer.as_str().into(),
            it.call_path.into(),
            it.confidence.map(Confidence::name).into(),
            it.calls.into(),
            it.visits.into(),
            it.locations.into(),
            it.seconds.into(),
            it.seconds_at_most.into(),
            it.path_seconds.into(),
            it.share.into(),
            worst.map(|it| it.seconds_at_most).into(),
            worst.map(|it| it.begin_seconds).into(),
            worst.map(|it| it.who.as_str()).into(),
            worst.and_then(|it| it.on_whom.as_deref()).into(),
            it.explanation.as_str().into(),
            it.remedy.as_str().into(),
        ])?;
    }
    part.finish()
}
