//! How long single calls took: the median and the longest of each call path.
//!
//! A report has sums, and that of a profile the longest call. Other lengths of calls come from the slices of the timeline: a call lasts as long as slices that follow each other lie in
//! its call path or below. Two calls without any time between them look like one if one of them waits at the common end, and calls inside of
//! calls of a runtime have no slices. So the result is compared with the number of visits, and a call path whose calls are not all seen has none.

use std::collections::HashMap;
use std::sync::PoisonError;

use dwell_report::{CnodeId, Flavour};
use dwell_timeline::{Location, Slice, Time};

use crate::question::Fault;
use crate::run::Run;
use crate::timeline;
use crate::types::CallLengths;

/// Greatest number of slices that are looked at.
const MOST_SLICES: u64 = 20_000_000;

/// Greatest number of values of a profile that are read.
const MOST_VALUES: usize = 10_000_000;

/// Returns the lengths of the calls of all call paths where they are known. They are computed once.
pub(crate) fn lengths(run: &Run) -> Result<CallLengths, Fault> {
    let none = |state: &str, why: String| CallLengths {
        state: state.into(),
        why,
        ..CallLengths::default()
    };
    let index = match timeline::waited(run) {
        timeline::Readiness::Ready(index) => index,
        timeline::Readiness::Making => return Ok(none("making", String::new())),
        timeline::Readiness::Missing(why) => return of_profile(run, none("missing", why)),
    };
    let mut known = run.lengths.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*known {
        return Ok(known.clone());
    }
    let tree = Tree::of(run);
    let new = || Calls::new(&tree);
    let add = |calls: &mut Calls<'_>, location: Location, slice: &Slice, _: u64| {
        calls.add(location, slice);
    };
    let Some(parts) =
        index.add_up(&[index.all_locations()], index.span(), MOST_SLICES, new, add)?
    else {
        return Ok(none(
            "missing",
            "There are too many calls to look at the length of each.".into(),
        ));
    };
    let mut all: HashMap<u32, Vec<u64>> = HashMap::new();
    for mut part in parts {
        part.close(0);
        for (call, lengths) in part.lengths {
            all.entry(call).or_default().extend(lengths);
        }
    }
    let meta = run.query.meta();
    let visits = meta.find_metric("visits").filter(|it| run.query.is_readable(*it));
    let visits = visits.map(|it| run.query.totals(it)).transpose()?;
    let mut answer = none("ready", String::new());
    let mut calls: Vec<(u32, Vec<u64>)> = all.into_iter().collect();
    calls.sort_unstable_by_key(|it| it.0);
    for (call, mut lengths) in calls {
        let count = visits.as_ref().map(|it| it.get(CnodeId(call), Flavour::Exclusive));
        if count != Some(lengths.len() as f64) {
            continue;
        }
        let longest = lengths.iter().copied().max().unwrap_or(0);
        answer.calls.push(call);
        answer.median.push(Some(median(&mut lengths) / 1e9));
        answer.longest.push(longest as f64 / 1e9);
    }
    *known = Some(answer.clone());
    Ok(answer)
}

/// Adds the longest calls that a profile has. It has no medians.
fn of_profile(run: &Run, mut answer: CallLengths) -> Result<CallLengths, Fault> {
    let meta = run.query.meta();
    // Extremes cannot be added up, so that views do not offer them.
    let Some(metric) = meta.find_metric("max_time") else { return Ok(answer) };
    if meta.cnodes().len().saturating_mul(meta.locations().len()) > MOST_VALUES {
        return Ok(answer);
    }
    let values = run.query.report().values(metric)?;
    for cnode in meta.cnodes() {
        let Some(row) = values.row(cnode)? else { continue };
        let longest = meta.locations().filter_map(|it| row.number(it)).fold(0.0, f64::max);
        if longest > 0.0 && longest.is_finite() {
            answer.calls.push(cnode.0);
            answer.median.push(None);
            answer.longest.push(longest);
        }
    }
    Ok(answer)
}

/// Returns the median of numbers: of an even count the mean of both in the middle.
fn median(list: &mut [u64]) -> f64 {
    let middle = list.len() / 2;
    if list.is_empty() {
        return 0.0;
    }
    let is_even = list.len().is_multiple_of(2);
    let (below, upper, _) = list.select_nth_unstable(middle);
    match below.iter().max().filter(|_| is_even) {
        Some(lower) => {
            lower.midpoint(*upper) as f64 + if (lower ^ *upper) & 1 == 1 { 0.5 } else { 0.0 }
        }
        None => *upper as f64,
    }
}

/// The caller of each call path.
struct Tree(Vec<Option<u32>>);

impl Tree {
    fn of(run: &Run) -> Self {
        let meta = run.query.meta();
        Self(meta.cnodes().map(|it| meta.cnode_parent(it).map(|it| it.0)).collect())
    }
}

/// Lengths of the calls of some locations, whose slices come one location after the other, the last slice first.
struct Calls<'a> {
    tree: &'a Tree,
    location: Option<Location>,
    /// Call paths that are open, the outermost first, with their ends.
    open: Vec<(u32, Time)>,
    /// Begin of the last slice, and whether it is a wait.
    begin: Time,
    is_wait: bool,
    lengths: HashMap<u32, Vec<u64>>,
}

impl<'a> Calls<'a> {
    fn new(tree: &'a Tree) -> Self {
        Self {
            tree,
            location: None,
            open: Vec::new(),
            begin: Time(0),
            is_wait: false,
            lengths: HashMap::new(),
        }
    }

    fn add(&mut self, location: Location, slice: &Slice) {
        if self.location != Some(location) || slice.span.to != self.begin {
            self.close(0);
            self.location = Some(location);
        }
        let innermost = slice.path.map(|it| it.0);
        let is_same = self.open.last().map(|it| it.0) == innermost;
        if is_same && !self.open.is_empty() && slice.wait.is_none() && !self.is_wait {
            // Only waits divide a call.
            self.close(self.open.len() - 1);
            self.open.extend(innermost.map(|it| (it, slice.span.to)));
        } else if !is_same {
            let mut chain = Vec::new();
            let mut at = innermost.filter(|it| (*it as usize) < self.tree.0.len());
            while let Some(call) = at {
                chain.push(call);
                at = self.tree.0.get(call as usize).copied().flatten();
            }
            chain.reverse();
            let same = chain.iter().zip(&self.open).take_while(|(a, b)| **a == b.0).count();
            self.close(same);
            self.open.extend(chain.into_iter().skip(same).map(|it| (it, slice.span.to)));
        }
        (self.begin, self.is_wait) = (slice.span.from, slice.wait.is_some());
    }

    /// Ends the calls from a depth on: they began with the last slice.
    fn close(&mut self, depth: usize) {
        for (call, end) in self.open.drain(depth.min(self.open.len())..) {
            self.lengths.entry(call).or_default().push(end.0.saturating_sub(self.begin.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use dwell_timeline::{CallPath, Span};

    use super::*;

    #[test]
    fn calls_end_where_other_call_paths_begin() {
        // main calls f, which calls g three times, twice without time between, and then f again.
        let tree = Tree(vec![None, Some(0), Some(1)]);
        let mut calls = Calls::new(&tree);
        let slices = [
            (0, 1, 0),
            (1, 4, 1),
            (4, 5, 2),
            (5, 6, 2),
            (6, 7, 1),
            (7, 9, 2),
            (9, 12, 1),
            (12, 13, 0),
            (13, 20, 1),
        ];
        for (from, to, path) in slices.into_iter().rev() {
            let span = Span { from: Time(from), to: Time(to) };
            calls.add(Location(3), &Slice { span, path: Some(CallPath(path)), wait: None });
        }
        calls.close(0);
        assert_eq!(calls.lengths[&0], [20]);
        assert_eq!(calls.lengths[&1], [7, 11]);
        assert_eq!(calls.lengths[&2], [2, 1, 1]);
    }

    #[test]
    fn medians() {
        for (list, expected) in
            [(vec![5], 5.0), (vec![9, 1, 5], 5.0), (vec![4, 1, 9, 5], 4.5), (vec![2, 4], 3.0)]
        {
            assert_eq!(median(&mut list.clone()), expected, "{list:?}");
        }
    }
}
