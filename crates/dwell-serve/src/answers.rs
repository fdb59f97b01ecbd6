//! The interface below `/api/v1/`: every path, and the answer to it.
//!
//! An answer depends on the path and its parameters alone, so that the same answers can be put into a file (see
//! [`crate::export`]). All numbers come from `dwell-report`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use dwell_model::waits::Wait;
use dwell_report::{
    Class, CnodeId, Flavour, Item, LocationId, MetricId, Place, Summary, Totals, outside,
};

use crate::compare;
use crate::lengths;
use crate::many::Runs;
use crate::matrix;
use crate::overview;
use crate::question::{Answer, Fault, Parameters, json};
use crate::run::{Row, Run, Selection, call};
use crate::source::{self, Line};
use crate::span;
use crate::timeline;
use crate::types::{
    self, Bars, CallPath, CallValues, Calls, FiveNumbers, LocationNames, Metric, Metrics, Spread,
    SystemFound, SystemNames, SystemTree, SystemValues, Topologies, Topology, Worst,
};

/// Version of the interface.
pub(crate) const VERSION: u32 = 1;

/// The number of rows of the system tree in one answer.
pub(crate) const CHUNK: usize = 512;

/// The largest number of bars or names in an answer.
const MOST: usize = 1024;

type Result<T> = std::result::Result<T, Fault>;

/// Answers a request: a path without `/api/v1/`, and its parameters.
pub(crate) fn answer(runs: &Runs, path: &str, query: &str) -> Result<Answer> {
    let parameters = Parameters::parse(query);
    if path == "runs" {
        return json(&list(runs));
    }
    if path == "many" {
        return json(&runs.history()?);
    }
    let rest = path.strip_prefix("runs/").ok_or(Fault::Unknown)?;
    let (id, question) = rest.split_once('/').ok_or(Fault::Unknown)?;
    let number: usize = id.parse().map_err(|_| Fault::Unknown)?;
    let run = &runs.get(number)?;
    match question {
        "overview" => json(&overview::overview(run)?),
        "compare" => {
            let with = parameters.number("with")?.ok_or(Fault::Bad("`with` is missing".into()))?;
            let other = runs.get(with as usize).map_err(|fault| match fault {
                Fault::Unknown => Fault::Bad("there is no such run".into()),
                fault => fault,
            })?;
            json(&compare::compare(run, &other)?)
        }
        "metrics" => json(&metrics(run)?),
        "calls" => json(&calls(run)),
        "calls/values" => json(&call_values(run, &parameters)?),
        "calls/lengths" => json(&lengths::lengths(run)?),
        "calls/waits" => json(&call_waits(run, &parameters)?),
        "system" => json(&system(run)),
        "system/names" => json(&system_names(run, &parameters)?),
        "system/values" => json(&system_values(run, &parameters)?),
        "system/find" => json(&system_find(run, &parameters)?),
        "spread" => json(&spread(run, &parameters)?),
        "row" => {
            let row = row(run, &parameters)?;
            let mut bytes = Vec::with_capacity(8 * row.locations.len());
            row.locations.iter().for_each(|it| bytes.extend_from_slice(&it.to_le_bytes()));
            Ok(Answer::Numbers(bytes))
        }
        "topologies" => json(&topologies(run)),
        "locations" => json(&locations(run, &parameters)?),
        "source" => {
            let is_whole = parameters.get("whole") == Some("1");
            json(&source::source(run, &place(run, &parameters)?, is_whole))
        }
        "whatif" => {
            let cause = parameters.get("cause").unwrap_or_default();
            let none = || Fault::Bad("there is no such cause, or the run cannot be played".into());
            json(&run.what_if(cause).ok_or_else(none)?)
        }
        "matrix" => json(&matrix::matrix(run, &parameters)?),
        "timeline/findings" => json(&span::findings(run, &parameters)?),
        "timeline" => timeline::answer(run, "about", &parameters),
        "bars" => json(&bars(run, &parameters)?),
        _ => match question.strip_prefix("timeline/") {
            Some(question) => timeline::answer(run, question, &parameters),
            None => Err(Fault::Unknown),
        },
    }
}

fn list(runs: &Runs) -> types::Runs {
    types::Runs {
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        runs: runs.names(),
        many: runs.directory().is_some(),
    }
}

fn metrics(run: &Run) -> Result<Metrics> {
    let meta = run.query.meta();
    let total = |id: MetricId| match run.query.is_readable(id) {
        true => run.query.total(id).unwrap_or(0.0),
        false => 0.0,
    };
    let values: Vec<f64> = meta.metrics().map(total).collect();
    let value = |id: MetricId| values.get(id.index()).copied().unwrap_or(0.0);
    let one = |id: MetricId| {
        let metric = meta.metric(id)?;
        let words = Wait::of_metric(metric.uniq_name).map(Wait::about);
        // What helps in this run. The general remedy may contradict it.
        let found = words.and_then(|words| {
            let mut all = run.findings.iter().flat_map(|it| &it.findings);
            all.find(|it| it.pattern == words.id && !it.remedy.is_empty())
        });
        let remedy = found.map(|it| it.remedy.clone());
        let children: f64 = meta.metric_children(id).map(value).sum();
        Some(Metric {
            name: metric.uniq_name.into(),
            title: metric.disp_name.into(),
            unit: metric.uom.into(),
            description: metric.descr.into(),
            parent: meta.metric_parent(id).map(|it| it.0),
            readable: run.query.is_readable(id),
            in_span: span::is_known(run, id),
            value: value(id),
            own: rest(value(id), children),
            wait: words.is_some(),
            meaning: words.map(|it| it.meaning.into()),
            remedy: remedy.or_else(|| words.map(|it| it.remedy.into())),
        })
    };
    Ok(Metrics { metrics: meta.metrics().filter_map(one).collect() })
}

/// Subtracts the parts from a value. A difference that is only rounding error becomes 0.
fn rest(value: f64, parts: f64) -> f64 {
    let rest = value - parts;
    if rest.abs() < 1e-12 * value.abs() { 0.0 } else { rest }
}

fn calls(run: &Run) -> Calls {
    let meta = run.query.meta();
    let classes = run.query.call_classes();
    let mut outside: HashSet<CnodeId> = outside(meta).into_iter().map(|it| it.0).collect();
    for id in meta.cnodes_in_order() {
        if meta.cnode_parent(id).is_some_and(|it| outside.contains(&it)) {
            outside.insert(id);
        }
    }
    let one = |id: CnodeId| {
        let cnode = meta.cnode(id);
        let filled = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
        CallPath {
            name: run.query.call_name(id),
            parent: meta.cnode_parent(id).map(|it| it.0),
            key: format!("{:016x}", run.keys.get(id.index()).copied().unwrap_or(0)),
            file: cnode.and_then(|it| filled(it.file)),
            line: cnode.and_then(|it| it.line),
            class: classes.get(id.index()).map_or("compute", |it| it.name()).into(),
            outside: outside.contains(&id),
            module: meta.callee(id).and_then(|it| filled(it.file)),
        }
    };
    Calls { calls: meta.cnodes().map(one).collect() }
}

fn metric(run: &Run, parameters: &Parameters<'_>) -> Result<MetricId> {
    let number = parameters.number("metric")?.ok_or(Fault::Bad("`metric` is missing".into()))?;
    let id = MetricId(number);
    match run.query.meta().metric(id) {
        Some(_) if run.query.is_readable(id) => Ok(id),
        Some(_) => Err(Fault::Bad("the values of this metric are not stored in the report".into())),
        None => Err(Fault::Bad("there is no such metric".into())),
    }
}

fn cnode(run: &Run, parameters: &Parameters<'_>) -> Result<Option<CnodeId>> {
    let id = parameters.number("call")?.map(CnodeId);
    match id {
        Some(id) if run.query.meta().cnode(id).is_none() => {
            Err(Fault::Bad("there is no such call path".into()))
        }
        id => Ok(id),
    }
}

fn selection(run: &Run, parameters: &Parameters<'_>) -> Result<Selection> {
    let flavour = match parameters.get("flavour") {
        Some("exclusive") => Flavour::Exclusive,
        None | Some("inclusive") => Flavour::Inclusive,
        Some(_) => return Err(Fault::Bad("`flavour` is inclusive or exclusive".into())),
    };
    Ok(Selection {
        metric: metric(run, parameters)?,
        own: parameters.get("own") == Some("1"),
        call: call(cnode(run, parameters)?, flavour),
    })
}

fn row(run: &Run, parameters: &Parameters<'_>) -> Result<Arc<Row>> {
    let selection = selection(run, parameters)?;
    match span::row(run, parameters, selection)? {
        Some(row) => Ok(Arc::new(row)),
        None => Ok(run.row(selection)?),
    }
}

fn call_values(run: &Run, parameters: &Parameters<'_>) -> Result<CallValues> {
    let (metric, part) = (metric(run, parameters)?, part(run, parameters)?);
    if parameters.get("own") != Some("1")
        && let Some(values) = span::call_values(run, parameters, metric, part.as_deref())?
    {
        return Ok(values);
    }
    let totals = totals_in(run, metric, part.as_deref())?;
    let mut below = Vec::new();
    if parameters.get("own") == Some("1") {
        for child in run.query.meta().metric_children(metric) {
            if run.query.is_readable(child) {
                below.push(totals_in(run, child, part.as_deref())?);
            }
        }
    }
    let mut values = CallValues { calls: Vec::new(), inclusive: Vec::new(), exclusive: Vec::new() };
    for (cnode, inclusive, exclusive) in totals.iter() {
        let of = |flavour| below.iter().map(|it| it.get(cnode, flavour)).sum::<f64>();
        values.calls.push(cnode.0);
        values.inclusive.push(rest(inclusive, of(Flavour::Inclusive)));
        values.exclusive.push(rest(exclusive, of(Flavour::Exclusive)));
    }
    Ok(values)
}

/// Returns the place in the source that the request means: a function of a cause or of the run, or where a call path is
/// called.
fn place<'r>(run: &'r Run, parameters: &Parameters<'_>) -> Result<Line<'r>> {
    match parameters.number("function")? {
        Some(function) => {
            let found = match parameters.get("cause") {
                Some(cause) => Line::of_cause(run, cause, function),
                None => Line::of_function(run, function),
            };
            found.ok_or_else(|| Fault::Bad("there is no such function".into()))
        }
        None => Ok(Line::of_call(run, cnode(run, parameters)?)),
    }
}

/// Returns the locations of the row of the system tree that the request names, or `None` if it names none.
fn part(run: &Run, parameters: &Parameters<'_>) -> Result<Option<Vec<LocationId>>> {
    let Some(row) = parameters.number("row")? else { return Ok(None) };
    match run.system.item(row as usize) {
        Some(_) => Ok(Some(run.system.locations_of(row as usize))),
        None => Err(Fault::Bad("there is no such row".into())),
    }
}

/// Returns the values of a metric at all call paths, summed over some locations or over all.
fn totals_in(run: &Run, metric: MetricId, part: Option<&[LocationId]>) -> Result<Arc<Totals>> {
    Ok(match part {
        Some(locations) => Arc::new(run.query.totals_of(metric, locations)?),
        None => run.query.totals(metric)?,
    })
}

/// Adds up the waits of all kinds at each call path.
fn call_waits(run: &Run, parameters: &Parameters<'_>) -> Result<CallValues> {
    let part = part(run, parameters)?;
    let mut sums: BTreeMap<CnodeId, (f64, f64)> = BTreeMap::new();
    for metric in run.query.wait_metrics() {
        for (cnode, inclusive, exclusive) in totals_in(run, metric, part.as_deref())?.iter() {
            let sum = sums.entry(cnode).or_default();
            *sum = (sum.0 + inclusive, sum.1 + exclusive);
        }
    }
    let mut values = CallValues { calls: Vec::new(), inclusive: Vec::new(), exclusive: Vec::new() };
    for (cnode, (inclusive, exclusive)) in sums {
        values.calls.push(cnode.0);
        values.inclusive.push(inclusive);
        values.exclusive.push(exclusive);
    }
    Ok(values)
}

fn system(run: &Run) -> SystemTree {
    let meta = run.query.meta();
    SystemTree {
        rows: run.system.len() as u32,
        roots: run.system.roots(),
        children: run.system.children(),
        locations: meta.locations().len() as u32,
        processes: meta.groups().len() as u32,
        chunk: CHUNK as u32,
    }
}

/// Returns the rows of the chunk that the request names.
fn chunk(run: &Run, parameters: &Parameters<'_>) -> Result<std::ops::Range<usize>> {
    let number = parameters.number("chunk")?.unwrap_or(0) as usize;
    let first = number.saturating_mul(CHUNK).min(run.system.len());
    Ok(first..(first + CHUNK).min(run.system.len()))
}

fn system_names(run: &Run, parameters: &Parameters<'_>) -> Result<SystemNames> {
    let meta = run.query.meta();
    let items = chunk(run, parameters)?.filter_map(|row| run.system.item(row));
    let kind = |item: Item| match item {
        Item::Node(node) => meta.system_node(node).map_or("node", |it| it.class).to_owned(),
        Item::Group(group) => meta.group(group).map_or("process", |it| it.kind).to_owned(),
        Item::Location(location) => {
            meta.location(location).map_or("thread", |it| it.kind).to_owned()
        }
    };
    let (names, kinds) = items.map(|item| (run.query.item_name(item), kind(item))).unzip();
    Ok(SystemNames { names, kinds })
}

fn system_values(run: &Run, parameters: &Parameters<'_>) -> Result<SystemValues> {
    let range = chunk(run, parameters)?;
    let row = row(run, parameters)?;
    Ok(SystemValues { values: row.system.get(range).unwrap_or_default().to_vec() })
}

fn system_find(run: &Run, parameters: &Parameters<'_>) -> Result<SystemFound> {
    let text = parameters.get("text").unwrap_or_default().to_lowercase();
    let mut found = SystemFound { rows: Vec::new(), names: Vec::new(), more: false };
    for row in 0..run.system.len() {
        let Some(item) = run.system.item(row) else { continue };
        let name = run.query.item_name(item);
        if name.to_lowercase().contains(&text) {
            if found.rows.len() == 50 {
                found.more = true;
                break;
            }
            found.rows.push(row as u32);
            found.names.push(name);
        }
    }
    Ok(found)
}

fn five(summary: &Summary) -> FiveNumbers {
    FiveNumbers {
        count: summary.count as u32,
        min: summary.min,
        q1: summary.q1,
        median: summary.median,
        q3: summary.q3,
        max: summary.max,
        mean: summary.mean,
        imbalance: summary.imbalance(),
    }
}

fn spread(run: &Run, parameters: &Parameters<'_>) -> Result<Spread> {
    let row = row(run, parameters)?;
    let locations = Summary::of(&row.locations);
    let meta = run.query.meta();
    let processes = match meta.groups().len() == meta.locations().len() {
        true => locations,
        false => Summary::of(&run.query.by_process(&row.locations)),
    };
    let one = |(location, value): (LocationId, f64)| Worst {
        row: run.system.of_location(location).unwrap_or(0),
        location: location.0,
        name: run.query.location_name(location),
        value,
    };
    Ok(Spread {
        total: row.locations.iter().sum(),
        locations: five(&locations),
        processes: five(&processes),
        worst: run.query.worst_locations(&row.locations, 10).into_iter().map(one).collect(),
    })
}

fn topologies(run: &Run) -> Topologies {
    let meta = run.query.meta();
    let count = meta.locations().len();
    let mut all = Vec::new();
    for id in meta.topologies() {
        let Some(topology) = meta.topology(id) else { continue };
        let width = topology.dimensions.len();
        let mut coordinates = vec![-1; count * width];
        let mut set = |location: LocationId, at: &[u32]| {
            let from = location.index() * width;
            if let Some(place) = coordinates.get_mut(from..from + width) {
                place.iter_mut().zip(at).for_each(|(place, &at)| *place = at.cast_signed());
            }
        };
        for coordinate in meta.coordinates(id) {
            match coordinate.place {
                Place::Location(location) => set(location, coordinate.at),
                Place::Group(group) => {
                    meta.locations_of(group).for_each(|it| set(it, coordinate.at));
                }
                _ => {}
            }
        }
        all.push(Topology {
            name: topology.name.into(),
            dimensions: topology.dimensions.iter().map(|it| it.name.into()).collect(),
            sizes: topology.dimensions.iter().map(|it| it.size).collect(),
            coordinates,
        });
    }
    all.extend(nodes_as_rows(run));
    Topologies { topologies: all }
}

/// Name of the grid that has a row for each node.
const NODES: &str = "nodes";

/// Returns a grid with a row for each node, if there are several and each has several locations.
fn nodes_as_rows(run: &Run) -> Option<Topology> {
    let nodes = timeline::nodes(run);
    let most = nodes.iter().map(|it| it.locations().count()).max()?;
    if nodes.len() < 2 || most < 2 {
        return None;
    }
    let mut coordinates = vec![-1; 2 * run.query.meta().locations().len()];
    for (row, node) in (0..).zip(nodes) {
        for (column, location) in (0..).zip(node.locations()) {
            let from = 2 * location as usize;
            if let Some(place) = coordinates.get_mut(from..from + 2) {
                place.copy_from_slice(&[row, column]);
            }
        }
    }
    Some(Topology {
        name: NODES.into(),
        dimensions: vec!["node".into(), "location".into()],
        sizes: vec![nodes.len() as u32, most as u32],
        coordinates,
    })
}

/// Returns the names of `count` locations from `first` on.
fn locations(run: &Run, parameters: &Parameters<'_>) -> Result<LocationNames> {
    let first = parameters.number("first")?.unwrap_or(0);
    let count = parameters.number("count")?.unwrap_or(MOST as u32).min(MOST as u32);
    let end = first.saturating_add(count).min(run.query.meta().locations().len() as u32);
    let names = (first..end).map(|it| run.query.location_name(LocationId(it))).collect();
    Ok(LocationNames { first, names })
}

/// Returns the time by class of processes or nodes, sorted by one class.
fn bars(run: &Run, parameters: &Parameters<'_>) -> Result<Bars> {
    let (query, meta) = (&run.query, run.query.meta());
    let from = parameters.number("from")?.unwrap_or(0) as usize;
    let count = (parameters.number("count")?.unwrap_or(256) as usize).min(MOST);
    let in_span = span::classes(run, parameters)?;
    let whole = match &in_span {
        Some(rows) => rows.iter().map(|row| row.iter().sum()).collect(),
        None => query.class_totals()?,
    };
    let names = Class::ALL.iter().map(|it| it.name().to_owned()).collect();
    if count == 0 {
        // The totals need no data of single locations.
        let (names_of, numbers, values) = (Vec::new(), Vec::new(), Vec::new());
        let count = meta.groups().len() as u32;
        return Ok(Bars {
            classes: names,
            searched: run.is_searched(),
            whole,
            count,
            names: names_of,
            numbers,
            values,
            step: 1,
            least_wait: Vec::new(),
            most_wait: Vec::new(),
        });
    }
    let classes = match in_span {
        Some(_) => None,
        None => Some(run.classes()?),
    };
    let row = |class: Class| match (&in_span, &classes) {
        (Some(rows), _) => rows.get(class as usize).map_or(&[][..], Vec::as_slice),
        (None, Some(classes)) => classes.row(class),
        (None, None) => &[],
    };
    let by_node = parameters.get("by") == Some("node");
    let nodes: Vec<usize> = match by_node {
        true => meta
            .groups()
            .map(|group| meta.node_of_group(group).map_or(0, dwell_report::SystemNodeId::index))
            .collect(),
        false => Vec::new(),
    };
    let used: Vec<usize> = match by_node {
        true => {
            let mut used = nodes.clone();
            used.sort_unstable();
            used.dedup();
            used
        }
        false => (0..meta.groups().len()).collect(),
    };
    let fold = |processes: Vec<f64>| match by_node {
        false => processes,
        true => {
            let mut sums = vec![0.0; meta.system_nodes().len()];
            for (node, value) in nodes.iter().zip(processes) {
                if let Some(sum) = sums.get_mut(*node) {
                    *sum += value;
                }
            }
            sums
        }
    };
    let all: Vec<Vec<f64>> = Class::ALL
        .iter()
        .map(|&class| match row(class) {
            [] => Vec::new(),
            row => fold(query.by_process(row)),
        })
        .collect();
    let value =
        |class: usize, at: usize| all.get(class).and_then(|it| it.get(at)).copied().unwrap_or(0.0);
    let mut order = used;
    let bands = parameters.number("bands")?.unwrap_or(0).min(MOST as u32) as usize;
    if let Some(sort) = parameters.get("sort").filter(|it| *it != "number") {
        let class = Class::ALL.iter().position(|it| it.name() == sort);
        let of = |at: usize| match class {
            Some(class) => value(class, at),
            None => (0..all.len()).map(|class| value(class, at)).sum(),
        };
        let by = |a: &usize, b: &usize| of(*b).total_cmp(&of(*a)).then(a.cmp(b));
        // Only the bars of this answer need be sorted; bands are of all.
        let end = from.saturating_add(count);
        if end < order.len() && bands == 0 {
            order.select_nth_unstable_by(end, by);
            order.get_mut(..end).unwrap_or_default().sort_by(by);
        } else {
            order.sort_by(by);
        }
    }
    let name = |&at: &usize| match by_node {
        true => meta.system_node(dwell_report::SystemNodeId(at as u32)).map_or("?", |it| it.name),
        false => meta.group(dwell_report::GroupId(at as u32)).map_or("?", |it| it.name),
    };
    if bands > 0 && order.len() > bands {
        let step = order.len().div_ceil(bands);
        let waiting = Class::ALL.iter().position(|it| *it == Class::Wait).unwrap_or(0);
        let groups: Vec<&[usize]> = order.chunks(step).collect();
        let mean = |class: usize, group: &[usize]| {
            group.iter().map(|&at| value(class, at)).sum::<f64>() / group.len().max(1) as f64
        };
        let extreme = |by: fn(f64, f64) -> f64, begin: f64| -> Vec<f64> {
            let one = |group: &&[usize]| group.iter().map(|&at| value(waiting, at)).fold(begin, by);
            groups.iter().map(one).collect()
        };
        let title = |group: &&[usize]| match (group.first(), group.last()) {
            (Some(first), Some(last)) if first != last => {
                format!("{} … {}", name(first), name(last))
            }
            (Some(only), _) => name(only).to_owned(),
            _ => String::new(),
        };
        return Ok(Bars {
            classes: names,
            searched: run.is_searched(),
            whole,
            count: order.len() as u32,
            names: groups.iter().map(title).collect(),
            numbers: groups.iter().filter_map(|it| Some(*it.first()? as u32)).collect(),
            values: (0..all.len())
                .map(|class| groups.iter().map(|group| mean(class, group)).collect())
                .collect(),
            step: step as u32,
            least_wait: extreme(f64::min, f64::INFINITY),
            most_wait: extreme(f64::max, 0.0),
        });
    }
    let shown: Vec<usize> = order.iter().copied().skip(from).take(count).collect();
    Ok(Bars {
        classes: names,
        searched: run.is_searched(),
        whole,
        count: order.len() as u32,
        names: shown.iter().map(|at| name(at).to_owned()).collect(),
        numbers: shown.iter().map(|&at| at as u32).collect(),
        values: (0..all.len())
            .map(|class| shown.iter().map(|&at| value(class, at)).collect())
            .collect(),
        step: 1,
        least_wait: Vec::new(),
        most_wait: Vec::new(),
    })
}
