//! The tables of a report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cubex::{CnodeId, LocationId, Meta, MetricId, Owner};
use dwell_model::waits::Wait;
use dwell_report::findings::words::counted;
use dwell_report::findings::{Finding, Findings};
use dwell_report::{
    Axis, Base, Call, Flavour, LargestWait, Part, Query, Result, Summary, TimePart, share,
};

use crate::format;
use crate::listing::{Cell, Listing, Unit};

/// Returns the name and unit of a metric.
fn name_and_unit(meta: &Meta, metric: MetricId) -> (String, Unit) {
    meta.metric(metric).map_or_else(
        || ("?".into(), Unit::Other),
        |metric| (metric.uniq_name.to_owned(), Unit::of(metric.uom)),
    )
}

fn display_name(meta: &Meta, metric: MetricId) -> String {
    meta.metric(metric).map_or("?", |metric| metric.disp_name).to_owned()
}

fn call(below: Option<CnodeId>) -> Call {
    below.map_or(Call::All, |cnode| Call::Path(cnode, Flavour::Inclusive))
}

/// Returns a cell with the place of a call in the source.
fn site(query: &Query, cnode: CnodeId) -> Cell {
    query.call_site(cnode).map_or(Cell::Nothing, Cell::from)
}

/// Returns a cell with a part of the run, which start-up and shutdown have not.
fn part(share: Option<f64>) -> Cell {
    share.map_or(Cell::Nothing, Cell::Share)
}

/// Returns the summary that `dwell report` prints without options. `findings` are those of the report, if it has any.
pub(super) fn summary(
    query: &Query,
    (path, findings): (&Path, Option<&Findings>),
    below: Option<CnodeId>,
    top: usize,
) -> Result<Vec<Listing>> {
    let mut listings = vec![about(query, path)];
    let Some(time) = query.meta().find_metric("time") else {
        listings.push(metrics(query, below)?);
        return Ok(listings);
    };
    listings.push(time_tree(query, time, below)?);
    let waits = waits(query, findings, &Base::of(query, time, below)?, below, top)?;
    if !waits.rows.is_empty() {
        listings.push(waits);
    }
    let mut paths = ranking(query, time, below, top)?;
    paths.key = "call_paths";
    paths.is_main = true;
    paths.title = "Call paths with the most exclusive time".into();
    listings.push(paths);
    Ok(listings)
}

/// Returns general information about the report.
fn about(query: &Query, path: &Path) -> Listing {
    let meta = query.meta();
    let count = |count: usize| format::grouped(count as u64);
    // A machine is a node of the system tree too. People count those on which processes run.
    let nodes: BTreeSet<_> = meta.groups().filter_map(|group| meta.node_of_group(group)).collect();
    let counted = |number: usize, one: &str, several: &str| counted(number as u64, one, several);
    let counts = [
        counted(meta.locations().len(), "location", "locations"),
        counted(meta.groups().len(), "process", "processes"),
        counted(nodes.len(), "node", "nodes"),
        counted(meta.cnodes().len(), "call path", "call paths"),
        counted(meta.metrics().len(), "metric", "metrics"),
    ];
    let [locations, processes, nodes, paths, metrics] = counts;
    let mut rows: Vec<Vec<Cell>> = vec![
        vec!["file".into(), path.display().to_string().into()],
        vec!["system".into(), format!("{locations} in {processes} on {nodes}").into()],
        vec!["program".into(), format!("{paths}, {metrics}").into()],
    ];
    let creator = meta
        .attributes(Owner::Report)
        .find(|attribute| attribute.key.eq_ignore_ascii_case("creator"))
        .map(|attribute| attribute.value.to_owned());
    if let Some(creator) = creator {
        rows.insert(1, vec!["written by".into(), creator.into()]);
    }
    for (axis, values) in query.axes() {
        let (what, of) = match &axis {
            Axis::Phase(_) => ("phase", "instances"),
            Axis::Parameter(_) => ("parameter", "values"),
        };
        let name = axis.name();
        let text = format!("{name}, {} {of}: --by {name} shows them", count(values));
        rows.push(vec![what.into(), text.into()]);
    }
    let counters = counter_names(meta).count();
    if counters > 0 {
        let text = format!("{}: --counters shows them", count(counters));
        rows.push(vec!["counters".into(), text.into()]);
    }
    let columns = vec!["what", "is"];
    Listing { key: "report", columns, rows, headless: true, ..Listing::default() }
}

/// Returns the metrics below time that have a notable share.
fn time_tree(query: &Query, time: MetricId, below: Option<CnodeId>) -> Result<Listing> {
    let meta = query.meta();
    let row = |part: &TimePart| {
        vec![
            Cell::Value(part.value, Unit::Seconds),
            Cell::Share(part.share),
            name_and_unit(meta, part.metric).0.into(),
            bar(part.share).into(),
            display_name(meta, part.metric).into(),
        ]
    };
    let parts = query.time_parts(time, below, LEAST_SHARE)?;
    let mut rows: Vec<Vec<Cell>> = parts.iter().map(row).collect();
    let mut levels: Vec<usize> = parts.iter().map(|part| part.depth).collect();
    if rows.len() == 1 {
        rows.extend(by_paradigm(query, time, below)?);
        levels.resize(rows.len(), 1);
    }
    Ok(Listing {
        key: "time",
        title: "Where the time of the run goes".into(),
        columns: vec!["time", "share", "metric", "", "metric_title"],
        for_programs: &["metric"],
        levels,
        rows,
        note: format!(
            "Summed up over all locations{}; parts below {} left out.",
            apart(&Base::of(query, time, below)?),
            format::percent(LEAST_SHARE)
        ),
        ..Listing::default()
    })
}

/// Says what is not part of the run, if there is anything.
fn apart(base: &Base) -> String {
    let parts = [(base.start_up, "start-up"), (base.shutdown, "shutdown")];
    let parts = parts.iter().filter(|it| it.0 > 0.0);
    let parts: Vec<String> =
        parts.map(|(seconds, name)| format!("{} of {name}", format::seconds(*seconds))).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(", without {}", parts.join(" and ")),
    }
}

/// Returns time by the paradigm of the regions in which it is spent. It replaces the tree of metrics for a report that
/// does not divide its time.
fn by_paradigm(query: &Query, time: MetricId, below: Option<CnodeId>) -> Result<Vec<Vec<Cell>>> {
    let (ranking, base) =
        (query.ranking(time, Flavour::Exclusive, below)?, Base::of(query, time, below)?);
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for path in ranking.paths.iter().filter(|it| base.has(it.cnode)) {
        let region = query.meta().callee(path.cnode);
        let paradigm = region.map_or("", |region| region.paradigm);
        let paradigm = if paradigm.is_empty() { "unknown" } else { paradigm };
        *sums.entry(paradigm).or_default() += path.value;
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let row = |(paradigm, value): (&str, f64)| {
        let share = share(value, base.total);
        let title = format!("in regions of the paradigm {paradigm}");
        let time = Cell::Value(value, Unit::Seconds);
        vec![time, Cell::Share(share), Cell::Nothing, bar(share).into(), title.into()]
    };
    Ok(sums.into_iter().map(row).collect())
}

/// Smallest share of the time that the summary shows.
const LEAST_SHARE: f64 = 0.001;

/// Returns a bar of up to ten characters.
fn bar(share: f64) -> String {
    let eighths = (80.0 * share.clamp(0.0, 1.0)).round() as usize;
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    format!("{}{}", "█".repeat(eighths / 8), part[eighths % 8])
}

/// Returns the waits in the order of the findings, or the longest first if there are no findings.
fn waits(
    query: &Query,
    findings: Option<&Findings>,
    base: &Base,
    below: Option<CnodeId>,
    top: usize,
) -> Result<Listing> {
    let meta = query.meta();
    let mut found = query.largest_waits(below)?;
    let ids: BTreeMap<u32, u32> = findings
        .map(|it| it.findings.iter().map(|it| (it.call_path, it.id)).collect())
        .unwrap_or_default();
    let id = |cnode: CnodeId| ids.get(&cnode.0).copied();
    // Sorting is stable: waits of one finding stay in the order of their lengths.
    found.sort_by_key(|it| id(it.cnode).unwrap_or(u32::MAX));
    let more = found.len().saturating_sub(top);
    let mut rows = Vec::new();
    for wait in found.iter().take(top) {
        let LargestWait { metric, cnode, value, .. } = *wait;
        let row = query.row_of(metric, &wait.cnodes(), Flavour::Exclusive)?;
        let worst = query.worst_locations(&row, 1);
        let worst = worst
            .first()
            .map_or(Cell::Nothing, |&(location, _)| query.location_name(location).into());
        rows.push(vec![
            id(cnode).map_or(Cell::Nothing, |id| id.to_string().into()),
            Cell::Value(value, Unit::Seconds),
            part(base.exclusive(cnode, value)),
            display_name(meta, metric).into(),
            worst,
            site(query, cnode),
            query.call_path_folded(cnode).into(),
        ]);
    }
    let mut note = String::new();
    let first = found.first().and_then(|first| meta.metric(first.metric));
    if let Some(wait) = first.and_then(|it| Wait::of_metric(it.uniq_name)).map(Wait::about) {
        // What helps in this run. The general remedy may contradict it.
        let is_it = |it: &&Finding| {
            it.pattern == wait.id
                && found.first().is_some_and(|first| first.cnode.0 == it.call_path)
        };
        let of_run = findings.and_then(|it| it.findings.iter().find(is_it));
        let remedy = of_run.map(|it| it.remedy.as_str()).filter(|it| !it.is_empty());
        note = format!("The first: {}. {}", wait.meaning, remedy.unwrap_or(wait.remedy));
    }
    if more > 0 {
        note.push_str(&match more {
            1 => " One smaller wait is not shown; --top shows more.".to_owned(),
            _ => format!(" {more} smaller waits are not shown; --top shows more."),
        });
    }
    Ok(Listing {
        key: "waits",
        title: match ids.is_empty() {
            true => "Waits, the longest first".into(),
            false => "Waits, by the findings of dwell analyze".into(),
        },
        columns: vec!["finding", "time", "share", "wait", "worst_location", "site", "call_path"],
        rows,
        note: note.trim().to_owned(),
        ..Listing::default()
    })
}

/// Returns call paths ranked by their exclusive value of a metric.
pub(in crate::commands) fn ranking(
    query: &Query,
    metric: MetricId,
    below: Option<CnodeId>,
    top: usize,
) -> Result<Listing> {
    let (name, unit) = name_and_unit(query.meta(), metric);
    let ranking = query.ranking(metric, Flavour::Exclusive, below)?;
    let base = Base::of(query, metric, below)?;
    let mut rows = Vec::new();
    for path in ranking.paths.iter().take(top) {
        let row = query.row_of(metric, &path.cnodes(), Flavour::Exclusive)?;
        rows.push(vec![
            Cell::Value(path.value, unit),
            part(base.exclusive(path.cnode, path.value)),
            Cell::Share(Summary::of(&row).imbalance()),
            site(query, path.cnode),
            query.call_path_folded(path.cnode).into(),
        ]);
    }
    let more = ranking.paths.len().saturating_sub(top);
    Ok(Listing {
        key: "ranking",
        title: format!("Call paths by exclusive {name}"),
        columns: vec!["value", "share", "imbalance", "site", "call_path"],
        rows,
        note: if more > 0 {
            format!("{more} more call paths; --top shows them.")
        } else {
            String::new()
        },
        ..Listing::default()
    })
}

/// Returns the call tree with the values of a metric, `depth` levels deep. Only rows of call paths that are shown, and
/// of their children, are read.
pub(in crate::commands) fn tree(
    query: &Query,
    metric: MetricId,
    locations: &[LocationId],
    below: Option<CnodeId>,
    (top, depth): (usize, usize),
) -> Result<Listing> {
    let meta = query.meta();
    let (name, unit) = name_and_unit(meta, metric);
    let only = match locations {
        [] => None,
        some => Some(query.totals_of(metric, some)?),
    };
    let value = |call| match &only {
        Some(totals) => Ok(totals.value(meta, call)),
        None => query.value(metric, call, Part::All),
    };
    let inclusive = |cnode| value(Call::Path(cnode, Flavour::Inclusive));
    let roots: Vec<CnodeId> = below.map_or_else(|| meta.root_cnodes().collect(), |root| vec![root]);
    let mut stack = Vec::new();
    for root in roots.into_iter().rev() {
        stack.push((root, inclusive(root)?, 0));
    }
    let base = Base::of_values(meta, below, value)?;
    let (mut rows, mut levels, mut hidden, mut deeper) = (Vec::new(), Vec::new(), 0, 0);
    while let Some((cnode, value, level)) = stack.pop() {
        let mut children = Vec::new();
        let mut own = Cell::Value(value, unit);
        if level < depth {
            for child in meta.cnode_children(cnode).collect::<Vec<_>>() {
                children.push((child, inclusive(child)?));
            }
            let of_children: f64 = children.iter().map(|(_, value)| value).sum();
            // What rounding leaves of nothing is nothing.
            let rest = value - of_children;
            own = Cell::Value(if rest.abs() < 1e-12 * value.abs() { 0.0 } else { rest }, unit);
        } else if meta.cnode_children(cnode).next().is_some() {
            deeper += 1;
            own = Cell::Nothing;
        }
        rows.push(vec![
            Cell::Value(value, unit),
            part(base.inclusive(cnode, value)),
            own,
            site(query, cnode),
            query.call_path(cnode).into(),
            query.call_name(cnode).into(),
        ]);
        levels.push(level);
        children.retain(|&(_, value)| value > 0.0);
        children.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        hidden += children.len().saturating_sub(top);
        children.truncate(top);
        let below = children.into_iter().rev();
        stack.extend(below.map(|(child, value)| (child, value, level + 1)));
    }
    let mut note = String::new();
    if hidden > 0 {
        note.push_str(&format!(
            "{hidden} smaller children are not shown; --top shows more of each. "
        ));
    }
    if deeper > 0 {
        note.push_str(&format!("{deeper} call paths go deeper; --depth shows more."));
    }
    Ok(Listing {
        key: "tree",
        title: match locations {
            [] => format!("Call tree with {name}"),
            [one] => format!("Call tree with {name} of {}", query.location_name(*one)),
            some => format!("Call tree with {name} of {} locations", some.len()),
        },
        columns: vec!["inclusive", "share", "own", "site", "call_path", "call"],
        for_programs: &["call_path"],
        levels,
        rows,
        note: note.trim().to_owned(),
        ..Listing::default()
    })
}

/// Returns the distribution of a metric over processes and locations.
pub(super) fn locations(
    query: &Query,
    metric: MetricId,
    below: Option<CnodeId>,
    top: usize,
) -> Result<Vec<Listing>> {
    let (name, unit) = name_and_unit(query.meta(), metric);
    let whole =
        below.map_or_else(|| "the program".to_owned(), |cnode| query.call_path_with_site(cnode));
    let row = query.row(metric, call(below))?;
    let (processes, locations) = (Summary::of(&query.by_process(&row)), Summary::of(&row));
    let statistic =
        |name: &str, of: fn(&Summary) -> Cell| vec![name.into(), of(&processes), of(&locations)];
    let mut rows = vec![
        statistic("count", |s| Cell::Count(s.count as u64)),
        statistic("min", |s| Cell::Value(s.min, Unit::Other)),
        statistic("q1", |s| Cell::Value(s.q1, Unit::Other)),
        statistic("median", |s| Cell::Value(s.median, Unit::Other)),
        statistic("q3", |s| Cell::Value(s.q3, Unit::Other)),
        statistic("max", |s| Cell::Value(s.max, Unit::Other)),
        statistic("mean", |s| Cell::Value(s.mean, Unit::Other)),
        statistic("imbalance", |s| Cell::Share(s.imbalance())),
    ];
    for cell in rows.iter_mut().flatten() {
        if let Cell::Value(_, of) = cell {
            *of = unit;
        }
    }
    let summary = Listing {
        key: "spread",
        title: format!("{name} of {whole}"),
        columns: vec!["statistic", "processes", "locations"],
        rows,
        ..Listing::default()
    };
    let total: f64 = row.iter().sum();
    let worst = query.worst_locations(&row, top);
    let rows = worst
        .into_iter()
        .map(|(location, value)| {
            vec![
                Cell::Value(value, unit),
                Cell::Share(share(value, total)),
                query.location_name(location).into(),
            ]
        })
        .collect();
    let worst = Listing {
        key: "locations",
        title: "Locations with the largest values".into(),
        is_main: true,
        columns: vec!["value", "share", "location"],
        rows,
        ..Listing::default()
    };
    Ok(vec![summary, worst])
}

/// Returns all metrics with their values.
pub(in crate::commands) fn metrics(query: &Query, below: Option<CnodeId>) -> Result<Listing> {
    let meta = query.meta();
    let (mut rows, mut levels) = (Vec::new(), Vec::new());
    let mut stack: Vec<(MetricId, usize)> =
        meta.root_metrics().map(|root| (root, 0)).collect::<Vec<_>>().into_iter().rev().collect();
    while let Some((id, depth)) = stack.pop() {
        let (name, unit) = name_and_unit(meta, id);
        let value = if query.is_readable(id) {
            Cell::Value(query.value(id, call(below), Part::All)?, unit)
        } else {
            Cell::from("computed")
        };
        let uom = meta.metric(id).map_or("", |metric| metric.uom);
        rows.push(vec![value, uom.into(), display_name(meta, id).into(), name.into()]);
        levels.push(depth);
        let children: Vec<MetricId> = meta.metric_children(id).collect();
        stack.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
    }
    Ok(Listing {
        key: "metrics",
        title: "Metrics".into(),
        columns: vec!["value", "unit", "metric_title", "metric"],
        for_programs: &["metric_title"],
        levels,
        rows,
        note: "Sums over all locations; viewers such as Cube evaluate metrics marked `computed`."
            .into(),
        ..Listing::default()
    })
}

/// Returns time and waits for each instance of a phase, or each value of a parameter.
pub(super) fn by(
    query: &Query,
    name: &str,
    metric: Option<MetricId>,
    below: Option<CnodeId>,
    top: usize,
) -> Result<Option<Listing>> {
    let all = query.by(name, below)?;
    if all.is_empty() {
        return Ok(None);
    }
    let mut columns =
        vec!["value", "visits", "time", "longest", "waiting", "share", "largest_wait"];
    let mut rows = Vec::new();
    let mut of_metric = (String::new(), Unit::Other);
    if let Some(metric) = metric {
        columns.push("metric");
        of_metric = name_and_unit(query.meta(), metric);
    }
    for it in &all {
        let mut row = vec![
            it.value.clone().into(),
            Cell::Count(it.visits as u64),
            Cell::Value(it.time, Unit::Seconds),
            Cell::Value(it.longest, Unit::Seconds),
            Cell::Value(it.waiting, Unit::Seconds),
            Cell::Share(share(it.waiting, it.time)),
            it.largest_wait.clone().map_or(Cell::Nothing, Cell::from),
        ];
        let mut weight = it.time;
        if let Some(metric) = metric {
            weight = query.row_of(metric, &it.cnodes, Flavour::Inclusive)?.iter().sum();
            row.push(Cell::Value(weight, of_metric.1));
        }
        rows.push((weight, row));
    }
    let more = rows.len().saturating_sub(top);
    let mut note = String::from("longest is the time of the location with the most.");
    if more > 0 {
        // The heaviest stay, in the order of their values.
        let mut weights: Vec<f64> = rows.iter().map(|row| row.0).collect();
        weights.sort_by(|a, b| b.total_cmp(a));
        let least = weights.get(top.saturating_sub(1)).copied().unwrap_or(f64::INFINITY);
        rows.retain(|row| row.0 >= least);
        rows.truncate(top);
        note.push_str(&format!(
            " {more} more with smaller values are not shown; --top shows more."
        ));
    }
    let with =
        if of_metric.0.is_empty() { String::new() } else { format!(", with {}", of_metric.0) };
    Ok(Some(Listing {
        key: "by",
        title: format!("By {name}: {}{with}", format::grouped(all.len() as u64)),
        columns,
        rows: rows.into_iter().map(|row| row.1).collect(),
        note,
        ..Listing::default()
    }))
}

/// Prefixes of the names of metrics of a counter: the sum, the number of values, the minimum, the maximum.
const COUNTER: [&str; 4] = ["counter:", "counter_values:", "counter_least:", "counter_largest:"];

fn counter_names(meta: &Meta) -> impl Iterator<Item = &str> {
    let metrics = meta.metrics().filter_map(|metric| meta.metric(metric));
    metrics.filter_map(|metric| metric.uniq_name.strip_prefix(COUNTER[0]))
}

/// Returns the counters of the program, or `None` if it has none.
pub(super) fn counters(query: &Query, below: Option<CnodeId>) -> Result<Option<Listing>> {
    let meta = query.meta();
    let mut rows = Vec::new();
    let is_below = |cnode: CnodeId| {
        let mut up = std::iter::successors(Some(cnode), |&cnode| meta.cnode_parent(cnode));
        below.is_none_or(|below| up.any(|it| it == below))
    };
    for name in counter_names(meta) {
        let [sum, values, least, largest] =
            COUNTER.map(|prefix| meta.find_metric(&format!("{prefix}{name}")));
        let total = |metric: Option<MetricId>| match metric {
            Some(metric) => query.value(metric, call(below), Part::All),
            None => Ok(0.0),
        };
        let extreme = |metric: Option<MetricId>, of: fn(f64, f64) -> f64, from| -> Result<f64> {
            let Some(metric) = metric else { return Ok(from) };
            let stored = query.report().values(metric)?;
            let mut extreme = from;
            for cnode in meta.cnodes().filter(|&cnode| is_below(cnode)) {
                let Some(row) = stored.row(cnode)? else { continue };
                for location in meta.locations() {
                    extreme = of(extreme, row.number(location).unwrap_or(from));
                }
            }
            Ok(extreme)
        };
        let (sum_of, count) = (total(sum)?, total(values)?);
        if count == 0.0 {
            continue;
        }
        let unit = sum.and_then(|it| meta.metric(it)).map_or("", |it| it.uom);
        let shown = |value| Cell::Value(value, Unit::of(unit));
        rows.push(vec![
            name.into(),
            unit.into(),
            Cell::Count(count as u64),
            shown(extreme(least, f64::min, f64::MAX)?),
            shown(sum_of / count),
            shown(extreme(largest, f64::max, f64::MIN)?),
            shown(sum_of),
        ]);
    }
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(Listing {
        key: "counters",
        title: "Counters".into(),
        columns: vec!["counter", "unit", "values", "least", "mean", "largest", "sum"],
        rows,
        note: "Over all locations. `--metric counter:NAME` shows the sum by call path.".into(),
        ..Listing::default()
    }))
}
