//! Causes of waits, as their cards on the first screen show them: what, where, when, what to do.

use dwell_report::CnodeId;
use dwell_report::findings::causes::Said;
use dwell_report::findings::{self, Activity, Findings, Point, Step};

use crate::overview::{LISTED, call_path};
use crate::run::Run;
use crate::types::{Cause, Seen};

/// The largest number of causes that are listed. They are named by letters.
const MOST_CAUSES: usize = 26;

/// Returns what processes did that made others wait.
pub(crate) fn causes(run: &Run, document: &Findings) -> Vec<Cause> {
    let metric = run.query.meta().find_metric("delay_costs").map(|it| it.0);
    let cause = |it: &findings::Cause| {
        let Said { head: _, how_long, why_longer, inside, costs, passed_on } = it.said();
        let call = it.call_path.and_then(|number| call_path(run, number, &it.path));
        let point = document.point_of(it);
        Cause {
            id: it.id.clone(),
            metric,
            call: call.map(|it| it.0),
            path: it.path.iter().map(|step| step.region.clone()).collect(),
            seconds: it.seconds,
            share: it.share,
            computes: it.what == Activity::Computing,
            how_long,
            why_longer,
            inside,
            functions: it.sampled.as_ref().map(|it| it.parts.clone()).unwrap_or_default(),
            costs,
            passed_on,
            processes: it.processes.clone(),
            places: places(run, &point),
            point,
            seen: seen(document, it),
        }
    };
    document.causes.iter().take(MOST_CAUSES).map(cause).collect()
}

/// Returns for each place of a point a call path that is called there, if the report has one.
pub(crate) fn places(run: &Run, point: &Point) -> Vec<Option<u32>> {
    point.places.iter().map(|step| called_at(run, step).map(|it| it.0)).collect()
}

/// Returns a call path of the report that ends with a call, which is told by its name and its place in the source.
fn called_at(run: &Run, step: &Step) -> Option<CnodeId> {
    let meta = run.query.meta();
    let (file, line) = (step.file.as_deref()?, step.line?);
    let is_it = |it: &CnodeId| {
        meta.cnode(*it).is_some_and(|at| at.line == Some(line) && at.file == file)
            && meta.callee(*it).is_some_and(|callee| callee.name == step.region)
    };
    meta.cnodes().find(is_it)
}

/// Returns the finding that lists the waits which a cause made longest.
fn seen(document: &Findings, cause: &findings::Cause) -> Option<Seen> {
    let waits = cause.waits.first()?;
    let is_it =
        |it: &findings::Finding| it.call_path == waits.call_path && it.pattern == waits.pattern;
    let finding = document.findings.iter().take(LISTED).position(is_it)? as u32;
    let entry = document.entries.iter().find(|it| it.findings.contains(&finding))?;
    let part = entry.findings.iter().position(|it| *it == finding)? as u32;
    Some(Seen { finding, entry: entry.id, part })
}
