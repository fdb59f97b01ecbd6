//! The questions that the page asks about a timeline, for exported files, which have the answers.

use std::collections::BTreeSet;

use dwell_model::waits::Wait;
use dwell_timeline::{CallPath, Index, Time};

use super::about::started;
use super::making::state;
use super::{PAGE_ROWS, View, whole};
use crate::progress::State;
use crate::question::Parameters;
use crate::run::Run;

/// Number of instances whose timelines an exported file has.
const EXPORTED_INSTANCES: usize = 100;

/// Number of columns of tiles in an exported file, which the page knows too.
const EXPORTED_COLUMNS: usize = 1024;

/// Greatest numbers of arrows of the page, without a finding and with one.
const PAGE_ARROWS: (u32, u32) = (60, 2000);

/// Returns the questions that the page asks for the whole run and, if they are wanted, for the worst instances of its findings, in the form
/// in which it asks them: an exported file has the answers.
pub(crate) fn questions(run: &Run, instances: bool) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    let State::Ready(index) = state(run) else { return list };
    let locations = index.locations();
    let (begin, length) = (index.span().from.0, index.span().length());
    let opens = index.opened(started(run, &index)).from.0.saturating_sub(begin);
    // Many locations are in groups that behave alike.
    let groups = if locations > PAGE_ROWS { alike_keys(run, &index) } else { None };
    let rows = match &groups {
        Some(keys) => format!("rows={}", keys.join(".")),
        None => format!("band=1&end={locations}&first=0"),
    };
    let asked = if groups.is_some() { "sort=alike" } else { rows.as_str() };
    list.push(("timeline/rows", asked.to_owned()));
    list.push(("timeline/whole", String::new()));
    let tile = |rows: &str, from: u64, to: u64| {
        let columns = EXPORTED_COLUMNS;
        sorted(&format!("{rows}&columns={columns}&from={from}&sharp=1&to={to}"))
    };
    // The page computes all else from a timeline that is there as a whole.
    let is_whole = whole::has_all(&index);
    if !is_whole {
        let strip = format!("band={locations}&end={locations}&first=0");
        list.push(("timeline/tile", tile(&strip, 0, length)));
    }
    let mut view = |rows: &str, from: u64, to: u64, finding: &str, most: u32| {
        if is_whole {
            return;
        }
        let span = format!("from={from}&to={to}");
        list.push(("timeline/tile", tile(rows, from, to)));
        list.push(("timeline/critical", span.clone()));
        list.push(("timeline/waits", sorted(&format!("{rows}&{span}&most={most}{finding}"))));
        list.push(("timeline/slices", sorted(&format!("{rows}&{span}"))));
    };
    view(&rows, opens, length, "", PAGE_ARROWS.0);
    if opens > 0 {
        view(&rows, 0, length, "", PAGE_ARROWS.0);
    }
    let findings = run.findings.iter().flat_map(|it| &it.findings);
    let known = findings.filter_map(|it| {
        let what = *Wait::ALL.iter().find(|wait| wait.about().id == it.pattern)?;
        let instances = index.instances(CallPath(it.call_path), what)?;
        Some((format!("&call={}&pattern={}", it.call_path, it.pattern), instances))
    });
    let known: Vec<_> = known.take(if instances { EXPORTED_INSTANCES } else { 0 }).collect();
    let each = EXPORTED_INSTANCES / known.len().max(1);
    let mut more: Vec<(&'static str, String)> = Vec::new();
    for (finding, instances) in known {
        let named = finding.trim_start_matches('&').to_owned();
        more.push(("timeline/instances", named));
        for it in instances.worst.iter().take(each) {
            let after = |it: Time| it.0.saturating_sub(begin);
            let (from, to) = (after(it.call.from), after(it.call.to));
            let by = to.saturating_sub(from) / 2 + 1;
            let (from, to) = (from.saturating_sub(by), (to + by).min(length));
            if is_whole {
                continue;
            }
            let mut rows = rows.clone();
            if let Some(keys) = &groups {
                let (own, other) = (it.location.0, it.culprit.0);
                more.push(("timeline/rows", format!("rows={own}.{other}")));
                // Each row once: either of the two may be a group of its own.
                let mut all = vec![own.to_string(), other.to_string()];
                all.extend(keys.iter().cloned());
                let mut seen = BTreeSet::new();
                all.retain(|it| seen.insert(it.clone()));
                rows = format!("rows={}", all.join("."));
            }
            view(&rows, from, to, &finding, PAGE_ARROWS.1);
            let middle = after(it.span.from).midpoint(after(it.span.to));
            more.push(("timeline/at", format!("location={}&time={middle}", it.location.0)));
        }
    }
    list.extend(more);
    list
}

/// Returns the keys of the rows of groups that behave alike, as the page has them.
fn alike_keys(run: &Run, index: &Index) -> Option<Vec<String>> {
    let parameters = Parameters::parse("sort=alike");
    let view = View { run, index, parameters: &parameters };
    view.rows().ok().map(|it| it.rows.into_iter().map(|it| it.key).collect())
}

/// Returns parameters in the order in which the page writes them: by name.
fn sorted(query: &str) -> String {
    let mut parts: Vec<&str> = query.split('&').collect();
    parts.sort_unstable();
    parts.join("&")
}
