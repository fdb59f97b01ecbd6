//! The part of a run that lies in a span of time, for the views beside the timeline.
//!
//! The parameter `t` names a span, as two numbers of nanoseconds after the first event. Times and waits of locations and call
//! paths in it are added up from the slices of the timeline's index, exactly. What slices do not have, such as bytes, is that of
//! the whole run, and the page says so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use dwell_model::waits::Wait;
use dwell_report::{Call, Class, CnodeId, Flavour, LocationId, MetricId};
use dwell_timeline::{CallPath, Index, Location, Slice, Span, Time};

use crate::question::{Fault, Parameters};
use crate::run::{Row, Run, Selection};
use crate::timeline;
use crate::types::{CallValues, TimelineFindings};

/// Greatest number of slices that are added up for an answer.
const MOST_SLICES: u64 = 10_000_000;

type Result<T> = std::result::Result<T, Fault>;

/// What of a metric lies in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Time,
    Wait(Wait),
}

impl Wanted {
    fn has(self, slice: &Slice) -> bool {
        match self {
            Self::Time => true,
            Self::Wait(wanted) => slice.wait.is_some_and(|it| it.what == wanted),
        }
    }
}

/// Returns what slices have of a metric, or `None` if they do not have it.
fn wanted(run: &Run, metric: MetricId) -> Option<Wanted> {
    let meta = run.query.meta();
    let name = meta.metric(metric)?.uniq_name;
    if name == "time" {
        return Some(Wanted::Time);
    }
    let wait = Wait::of_metric(name).filter(|it| it.about().part_of.is_none())?;
    // Slices do not say which of several metrics a wait is booked on.
    let is_other = |it: MetricId| {
        it != metric && meta.metric(it).and_then(|it| Wait::of_metric(it.uniq_name)) == Some(wait)
    };
    let others = meta.metrics().filter(|it| is_other(*it) && run.query.is_readable(*it));
    let is_only = others.map(|it| run.query.total(it).unwrap_or(0.0)).all(|it| it == 0.0);
    is_only.then_some(Wanted::Wait(wait))
}

/// Returns `true` if a span of time can restrict a metric.
pub(crate) fn is_known(run: &Run, metric: MetricId) -> bool {
    wanted(run, metric).is_some()
}

/// Returns the index and the span that the parameters name, or `None` if they name none.
fn chosen(run: &Run, parameters: &Parameters<'_>) -> Result<Option<(Arc<Index>, Span)>> {
    let Some(text) = parameters.get("t") else { return Ok(None) };
    let Some(index) = timeline::index(run) else {
        return Err(Fault::Bad(
            "there is no timeline of this run, so that spans cannot be chosen".into(),
        ));
    };
    let parse = |text: &str| text.parse::<u64>().ok();
    let ends = text.split_once('-').and_then(|(from, to)| Some((parse(from)?, parse(to)?)));
    let (from, to) = ends.ok_or(Fault::Bad("`t` must be two numbers of nanoseconds".into()))?;
    let begin = index.span().from.0;
    let time = |after: u64| Time(begin.saturating_add(after));
    Ok(Some((index, Span { from: time(from), to: time(to.max(from)) })))
}

fn too_many() -> Fault {
    Fault::Bad(
        "more happened in this span than can be added up at once: choose a shorter one".into(),
    )
}

/// Returns the seconds of each class at each location in the span that the parameters name, or `None` if they name none: the
/// first list is that of the first class.
pub(crate) fn classes(run: &Run, parameters: &Parameters<'_>) -> Result<Option<Vec<Vec<f64>>>> {
    let Some((index, span)) = chosen(run, parameters)? else { return Ok(None) };
    let mut rows = vec![vec![0.0; index.locations() as usize]; Class::ALL.len()];
    for location in 0..index.locations() {
        let sums = index.sums(Location(location), span)?;
        for (row, sum) in rows.iter_mut().zip(sums) {
            if let Some(place) = row.get_mut(location as usize) {
                *place = sum as f64 / 1e9;
            }
        }
    }
    Ok(Some(rows))
}

/// Returns a metric at all call paths in the span that the parameters name, of some locations or of all, or `None` if they name
/// none that can restrict it.
pub(crate) fn call_values(
    run: &Run,
    parameters: &Parameters<'_>,
    metric: MetricId,
    part: Option<&[LocationId]>,
) -> Result<Option<CallValues>> {
    let Some((index, span)) = chosen(run, parameters)? else { return Ok(None) };
    let Some(wanted) = wanted(run, metric) else { return Ok(None) };
    let add = |sums: &mut BTreeMap<CallPath, u64>, _: Location, slice: &Slice, time: u64| {
        if let Some(path) = slice.path.filter(|_| wanted.has(slice)) {
            *sums.entry(path).or_default() += time;
        }
    };
    let ranges = match part {
        Some(some) => some.iter().map(|it| Location(it.0)..Location(it.0 + 1)).collect(),
        None => vec![index.all_locations()],
    };
    let parts =
        index.add_up(&ranges, span, MOST_SLICES, BTreeMap::new, add)?.ok_or_else(too_many)?;
    let meta = run.query.meta();
    let mut exclusive = vec![0_u64; meta.cnodes().len()];
    for (path, time) in parts.into_iter().flatten() {
        if let Some(sum) = exclusive.get_mut(path.0 as usize) {
            *sum += time;
        }
    }
    let mut inclusive = exclusive.clone();
    // Callers come before what they call.
    let order: Vec<CnodeId> = meta.cnodes_in_order().collect();
    for cnode in order.into_iter().rev() {
        let own = inclusive.get(cnode.index()).copied().unwrap_or(0);
        let above = meta.cnode_parent(cnode).and_then(|it| inclusive.get_mut(it.index()));
        if let Some(above) = above {
            *above += own;
        }
    }
    let mut values = CallValues { calls: Vec::new(), inclusive: Vec::new(), exclusive: Vec::new() };
    for (call, (inclusive, exclusive)) in (0..).zip(inclusive.into_iter().zip(exclusive)) {
        if inclusive > 0 {
            values.calls.push(call);
            values.inclusive.push(inclusive as f64 / 1e9);
            values.exclusive.push(exclusive as f64 / 1e9);
        }
    }
    Ok(Some(values))
}

/// Returns the values of a selection at all locations in the span that the parameters name, or `None` if they name none that can
/// restrict it.
pub(crate) fn row(
    run: &Run,
    parameters: &Parameters<'_>,
    selection: Selection,
) -> Result<Option<Row>> {
    let Some((index, span)) = chosen(run, parameters)? else { return Ok(None) };
    let Some(wanted) = wanted(run, selection.metric).filter(|_| !selection.own) else {
        return Ok(None);
    };
    let mut nanoseconds = vec![0_u64; index.locations() as usize];
    if selection.call == Call::All && wanted == Wanted::Time {
        for (location, sum) in (0..).map(Location).zip(&mut nanoseconds) {
            *sum = index.sums(location, span)?.iter().sum();
        }
    } else {
        let below = below(run, selection.call);
        let is_inside = |path: Option<CallPath>| {
            below.as_ref().is_none_or(|it| path.is_some_and(|path| it.contains(&path)))
        };
        let add = |sums: &mut BTreeMap<Location, u64>, at: Location, slice: &Slice, time: u64| {
            if wanted.has(slice) && is_inside(slice.path) {
                *sums.entry(at).or_default() += time;
            }
        };
        let parts = index
            .add_up(&[index.all_locations()], span, MOST_SLICES, BTreeMap::new, add)?
            .ok_or_else(too_many)?;
        for (location, time) in parts.into_iter().flatten() {
            if let Some(sum) = nanoseconds.get_mut(location.0 as usize) {
                *sum = time;
            }
        }
    }
    let locations: Vec<f64> = nanoseconds.into_iter().map(|it| it as f64 / 1e9).collect();
    let system = run.system.sums(&locations);
    Ok(Some(Row { locations, system }))
}

/// Returns the call paths of a selection, or `None` for all of them.
fn below(run: &Run, call: Call) -> Option<BTreeSet<CallPath>> {
    let (first, flavour) = match call {
        Call::All => return None,
        Call::Path(cnode, flavour) => (cnode, flavour),
    };
    let mut paths = BTreeSet::from([CallPath(first.0)]);
    if flavour == Flavour::Inclusive {
        let meta = run.query.meta();
        for cnode in meta.cnodes_in_order() {
            let above = meta.cnode_parent(cnode);
            if above.is_some_and(|it| paths.contains(&CallPath(it.0))) {
                paths.insert(CallPath(cnode.0));
            }
        }
    }
    Some(paths)
}

/// Returns how long the call of each finding waited in the span that the parameters name.
pub(crate) fn findings(run: &Run, parameters: &Parameters<'_>) -> Result<TimelineFindings> {
    let wrong = || Fault::Bad("`t` is missing".into());
    let (index, span) = chosen(run, parameters)?.ok_or_else(wrong)?;
    type Waits = BTreeMap<(CallPath, Wait), u64>;
    let add = |sums: &mut Waits, _: Location, slice: &Slice, time: u64| {
        if let (Some(path), Some(waiting)) = (slice.path, slice.wait) {
            *sums.entry((path, waiting.what)).or_default() += time;
        }
    };
    let parts = index
        .add_up(&[index.all_locations()], span, MOST_SLICES, Waits::new, add)?
        .ok_or_else(too_many)?;
    let mut sums = Waits::new();
    for (finding, time) in parts.into_iter().flatten() {
        *sums.entry(finding).or_default() += time;
    }
    let seconds = run.findings.iter().flat_map(|it| &it.findings).map(|it| {
        let what = *Wait::ALL.iter().find(|wait| wait.about().id == it.pattern)?;
        // Waits whose end no process is known to have caused are not waits of the timeline.
        index.instances(CallPath(it.call_path), what)?;
        Some(sums.get(&(CallPath(it.call_path), what)).map_or(0.0, |it| *it as f64 / 1e9))
    });
    Ok(TimelineFindings { seconds: seconds.collect() })
}

/// Returns the call path and the kind of wait of a finding.
fn wait_of_finding(run: &Run, at: u32) -> Result<(Option<CallPath>, Wait)> {
    let finding = run.findings.as_ref().and_then(|it| it.findings.get(at as usize));
    let found = finding.and_then(|it| {
        let what = *Wait::ALL.iter().find(|wait| wait.about().id == it.pattern)?;
        Some((Some(CallPath(it.call_path)), what))
    });
    found.ok_or(Fault::Bad("there is no such finding".into()))
}

/// Returns how long parties waited for each other, in nanoseconds: in the span that the parameters name, or in the whole run if they
/// want all waits (`waits=1`), or `None` if they want neither. `finding` restricts it to one finding. `names` are the parties of
/// the communication matrix: processes or nodes.
pub(crate) fn waits_between(
    run: &Run,
    parameters: &Parameters<'_>,
    names: &[String],
) -> Result<Option<HashMap<(u32, u32), u64>>> {
    let whole = || {
        let index = timeline::index(run).filter(|_| parameters.get("waits") == Some("1"))?;
        let span = index.span();
        Some((index, span))
    };
    let Some((index, span)) = chosen(run, parameters)?.or_else(whole) else { return Ok(None) };
    let only = match parameters.number("finding")? {
        Some(at) => Some(wait_of_finding(run, at)?),
        None => None,
    };
    let meta = run.query.meta();
    let numbers: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let party = |it: LocationId| {
        let group = meta.group_of_location(it)?;
        let node = || meta.node_of_group(group).and_then(|it| meta.system_node(it));
        let own = meta.group(group).and_then(|it| numbers.get(it.name));
        own.or_else(|| numbers.get(node()?.name)).copied()
    };
    let parties: Vec<Option<u32>> = meta.locations().map(party).collect();
    let party = |it: Location| parties.get(it.0 as usize).copied().flatten();
    type Waits = HashMap<(u32, u32), u64>;
    let add = |sums: &mut Waits, location: Location, slice: &Slice, time: u64| {
        let wait = slice.wait.filter(|it| only.is_none_or(|only| (slice.path, it.what) == only));
        let culprit = wait.and_then(|it| party(it.culprit));
        if let (Some(waiter), Some(culprit)) = (party(location), culprit) {
            *sums.entry((waiter, culprit)).or_default() += time;
        }
    };
    let parts = index
        .add_up(&[index.all_locations()], span, MOST_SLICES, Waits::new, add)?
        .ok_or_else(too_many)?;
    let mut sums = Waits::new();
    for (pair, time) in parts.into_iter().flatten() {
        *sums.entry(pair).or_default() += time;
    }
    Ok(Some(sums))
}
