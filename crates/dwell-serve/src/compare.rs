//! Two runs next to each other: which parts belong together, and the sentence that sums them up.
//!
//! Call paths are matched as `dwell compare` matches them. Findings match if their pattern is the same and their call paths
//! match, one to one. Processes match by their names, and nodes, whose names differ from one job to the next, by their order.

use std::collections::{BTreeMap, HashMap, VecDeque};

use dwell_report::format::seconds;
use dwell_report::{
    CnodeId, Extent, Item, LocationId, Result, Spread, THRESHOLD, iterations_beside, matched_calls,
    speedup, verdict,
};

use crate::overview;
use crate::run::Run;
use crate::types::{Compared, FoundBeside, Overview};

/// Least change that the summary mentions, as a part of the time of the run.
const LEAST_CHANGE: f64 = 0.001;

/// Compares a run with another one.
pub(crate) fn compare(first: &Run, second: &Run) -> Result<Compared> {
    let calls = matched_calls(&first.query, &second.query);
    let mut places: [HashMap<CnodeId, usize>; 2] = Default::default();
    for (at, call) in calls.iter().enumerate() {
        for (places, cnodes) in places.iter_mut().zip(&call.calls) {
            places.extend(cnodes.iter().map(|it| (*it, at)));
        }
    }
    let [first_places, second_places] = &places;
    // Findings of the second run by pattern and call path, those that have not been asked for yet.
    let mut others: BTreeMap<(String, usize), VecDeque<(usize, overview::Found)>> = BTreeMap::new();
    for (at, found) in overview::found(second)?.into_iter().enumerate() {
        if let Some(&place) = found.call.as_ref().and_then(|it| second_places.get(it)) {
            others.entry((found.pattern.clone(), place)).or_default().push_back((at, found));
        }
    }
    let mut beside = |found: overview::Found| {
        let place = *first_places.get(&found.call?)?;
        let (at, other) = others.get_mut(&(found.pattern, place))?.pop_front()?;
        let overview::Found { seconds, seconds_at_most, .. } = other;
        Some(FoundBeside { finding: at as u32, seconds, seconds_at_most })
    };
    let findings = overview::found(first)?.into_iter().map(&mut beside).collect();
    let mut only_second: Vec<u32> =
        others.into_values().flatten().map(|(at, _)| at as u32).collect();
    only_second.sort_unstable();
    let numbers = |of: &[CnodeId]| of.iter().map(|it| it.0).collect();
    let (rows, locations) = system(first, second);
    Ok(Compared {
        summary: summary(first, second)?,
        parent: calls.iter().map(|it| it.parent.map(|it| it as u32)).collect(),
        first: calls.iter().map(|it| numbers(&it.calls[0])).collect(),
        second: calls.iter().map(|it| numbers(&it.calls[1])).collect(),
        findings,
        only_second,
        iterations: iterations(first, second),
        rows,
        locations,
    })
}

/// Returns the clause that compares the runs by iteration.
fn iterations(first: &Run, second: &Run) -> Option<String> {
    let of = |run: &'_ Run| run.findings.as_ref()?.iterations.clone();
    Some(iterations_beside(&of(first)?, &of(second)?)?.text)
}

/// Returns the sentence that sums the comparison up, such as `51.0 % shorter: 3.37 s, then 1.65 s; waits -1.20 s,
/// start-up -100 ms over all processes`.
fn summary(first: &Run, second: &Run) -> Result<String> {
    let extents = [Extent::of(&first.query)?, Extent::of(&second.query)?];
    let [before, after] = [&extents[0].length, &extents[1].length].map(std::slice::from_ref);
    let lengths = [extents[0].length, extents[1].length];
    let judgement = Spread::of(before, after).judge(THRESHOLD, extents[0].length);
    let mut text = verdict(lengths, judgement);
    let processes = [first, second].map(|it| it.query.meta().groups().len() as f64);
    if let Some(words) = speedup(processes, lengths) {
        text.push_str(&format!("; {words}"));
    }
    let overviews = [overview::overview(first)?, overview::overview(second)?];
    let change = |of: &dyn Fn(&Overview) -> Option<f64>| {
        let [before, after] = &overviews;
        Some(of(after)? - of(before)?)
    };
    let parts = [
        ("waits", change(&|it| it.waits)),
        ("start-up", change(&|it| Some(it.startup))),
        ("shutdown", change(&|it| Some(it.shutdown))),
    ];
    let least = LEAST_CHANGE * extents[0].time;
    let told: Vec<String> = parts
        .into_iter()
        .filter_map(|(name, change)| {
            let change = change.filter(|it| it.abs() > least)?;
            let sign = if change > 0.0 { "+" } else { "" };
            Some(format!("{name} {sign}{}", seconds(change)))
        })
        .collect();
    if !told.is_empty() {
        text.push_str(&format!("; {} over all processes", told.join(", ")));
    }
    Ok(text)
}

/// For each row of the system tree of the first run the row of the second, and the same for locations; -1 where the second run has
/// none. Returns `None` if all of them have the same numbers.
fn system(first: &Run, second: &Run) -> (Option<Vec<i32>>, Option<Vec<i32>>) {
    let name = |run: &Run, item: Item| match item {
        Item::Node(_) => None,
        item => Some(run.query.item_name(item)),
    };
    let items = |run: &Run| -> Vec<Item> {
        (0..run.system.len()).filter_map(|row| run.system.item(row)).collect()
    };
    let [ours, theirs] = [items(first), items(second)];
    let is_alike = |(a, b): (&Item, &Item)| name(first, *a) == name(second, *b);
    let same_shape = first.system.children() == second.system.children();
    if same_shape && ours.iter().zip(&theirs).all(is_alike) {
        return (None, None);
    }
    let nodes = |items: &[Item]| -> Vec<usize> {
        (0..items.len()).filter(|&at| matches!(items.get(at), Some(Item::Node(_)))).collect()
    };
    let [our_nodes, their_nodes] = [nodes(&ours), nodes(&theirs)];
    let mut rows = vec![-1_i32; ours.len()];
    let mut set = |row: usize, other: usize| {
        if let Some(place) = rows.get_mut(row) {
            *place = other as i32;
        }
    };
    if our_nodes.len() == their_nodes.len() {
        our_nodes.iter().zip(&their_nodes).for_each(|(row, other)| set(*row, *other));
    }
    let named = theirs.iter().enumerate().filter_map(|(at, it)| Some((name(second, *it)?, at)));
    let places: HashMap<String, usize> = named.collect();
    for (row, item) in ours.iter().enumerate() {
        if let Some(other) = name(first, *item).and_then(|it| places.get(&it)) {
            set(row, *other);
        }
    }
    let count = second.query.meta().locations().len() as u32;
    let their_locations: HashMap<u32, u32> = (0..count)
        .filter_map(|it| Some((second.system.of_location(LocationId(it))?, it)))
        .collect();
    let location = |it: u32| {
        let row = first.system.of_location(LocationId(it))?;
        let other = u32::try_from(*rows.get(row as usize)?).ok()?;
        their_locations.get(&other).map(|it| it.cast_signed())
    };
    let count = first.query.meta().locations().len() as u32;
    let locations = (0..count).map(|it| location(it).unwrap_or(-1)).collect();
    (Some(rows), Some(locations))
}
