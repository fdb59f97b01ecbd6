//! Rows of the timeline: single locations in an order, or bands of consecutive ones.

use std::ops::Range;

use dwell_report::{Class, CnodeId, LocationId};
use dwell_timeline::Location;

use crate::question::Fault;
use crate::run::Selection;
use crate::types::{TimelineRow, TimelineRows};

use super::about::nodes;
use super::{PAGE_ROWS, Result, View};

/// Greatest number of rows in an answer.
const MOST_ROWS: u32 = 128;

impl View<'_> {
    /// Returns the rows of the view, as ranges of locations: either those that `rows` lists, such as `7.0-64`, or consecutive ones
    /// from `first` to before `end`, with `band` locations each.
    pub(super) fn ranges(&self) -> Result<Vec<Range<u32>>> {
        let all = self.index.locations();
        if let Some(list) = self.parameters.get("rows") {
            let one = |text: &str| {
                let (first, end) = match text.split_once('-') {
                    Some((first, end)) => (first.parse().ok()?, end.parse().ok()?),
                    None => {
                        let first: u32 = text.parse().ok()?;
                        (first, first.checked_add(1)?)
                    }
                };
                (first < end && end <= all).then_some(first..end)
            };
            let ranges: Option<Vec<_>> = list.split('.').map(one).collect();
            let wrong = Fault::Bad("`rows` must be numbers of locations".into());
            let mut ranges = ranges.ok_or(wrong)?;
            ranges.truncate(MOST_ROWS as usize);
            return Ok(ranges);
        }
        let first = self.parameters.number("first")?.unwrap_or(0).min(all);
        let end = self.parameters.number("end")?.unwrap_or(all).clamp(first, all);
        let least = (end - first).div_ceil(MOST_ROWS).max(1);
        let band = self.parameters.number("band")?.unwrap_or(1).max(least);
        let from = (first..end).step_by(band as usize);
        Ok(from.map(|it| it..it.saturating_add(band).min(end)).collect())
    }

    /// Returns rows in the order that `sort` names: `wait`, `blame`, `node` or `call`, which are single locations, those with most first.
    /// With `fold=node` each node is a row. `only` is a call path: locations that have not called it have no row.
    pub(super) fn arranged(&self) -> Result<Vec<Range<u32>>> {
        let sort = self.parameters.get("sort").unwrap_or("number");
        if self.parameters.get("fold") == Some("node") {
            let nodes = nodes(self.run);
            let each = nodes.len().div_ceil(PAGE_ROWS as usize).max(1);
            let some = nodes.chunks(each).filter_map(|it| it.first().zip(it.last()));
            return Ok(some.map(|(first, last)| first.first..last.first + last.count).collect());
        }
        let only = self.parameters.number("only")?;
        if sort == "number" && only.is_none() {
            return self.ranges();
        }
        let calls = match only.map(CnodeId) {
            Some(cnode) if self.run.query.meta().cnode(cnode).is_some() => {
                let metric = self.run.query.meta().metrics().find(|it| {
                    self.run.query.meta().metric(*it).is_some_and(|it| it.uniq_name == "time")
                });
                let metric = metric.ok_or(Fault::Bad("the report has no time".into()))?;
                let call = dwell_report::Call::Path(cnode, dwell_report::Flavour::Inclusive);
                Some(self.run.row(Selection { metric, own: false, call })?)
            }
            Some(_) => return Err(Fault::Bad("there is no such call path".into())),
            None => None,
        };
        let called = |it: u32| {
            let row = calls.as_ref().and_then(|calls| calls.locations.get(it as usize));
            row.map_or(0, |seconds| (seconds * 1e9) as u64)
        };
        let meta = self.run.query.meta();
        let key = |it: u32| {
            let totals = self.index.totals(Location(it));
            let value = totals.map_or(0, |(sums, blame)| match sort {
                "blame" => blame,
                "wait" => sums.get(Class::Wait as usize).copied().unwrap_or(0),
                "call" => called(it),
                _ => 0,
            });
            let group = meta.group_of_location(LocationId(it)).filter(|_| sort == "node");
            let node = group.and_then(|it| meta.node_of_group(it)).map_or(0, |it| it.0);
            (std::cmp::Reverse(value), node, it)
        };
        let all = 0..self.index.locations();
        let mut numbers: Vec<u32> = all.filter(|it| calls.is_none() || called(*it) > 0).collect();
        numbers.sort_by_cached_key(|it| key(*it));
        numbers.truncate(PAGE_ROWS as usize);
        Ok(numbers.into_iter().map(|it| it..it + 1).collect())
    }

    pub(super) fn rows(&self) -> Result<TimelineRows> {
        let ranges = match self.parameters.get("rows") {
            Some(_) => self.ranges()?,
            None => self.arranged()?,
        };
        let row = |range: Range<u32>| {
            let (mut wait, mut blame, mut time) = (0, 0, 0_u64);
            for location in range.clone() {
                if let Some((sums, blamed)) = self.index.totals(Location(location)) {
                    wait += sums.get(Class::Wait as usize).copied().unwrap_or(0);
                    time += sums.iter().sum::<u64>();
                    blame += blamed;
                }
            }
            let is_node = self.parameters.get("fold") == Some("node");
            let name = match range.len() {
                _ if is_node => self.node_names(&range),
                1 => self.name(Location(range.start)),
                _ => {
                    let last = Location(range.end.saturating_sub(1));
                    between(&self.name(Location(range.start)), &self.name(last))
                }
            };
            TimelineRow {
                first: range.start,
                end: range.end,
                name,
                seconds: time as f64 / 1e9,
                wait: wait as f64 / 1e9,
                blame: blame as f64 / 1e9,
            }
        };
        Ok(TimelineRows { rows: ranges.into_iter().map(row).collect() })
    }

    /// Returns the name of the node of a range of locations, or those of the first and the last.
    pub(super) fn node_names(&self, range: &Range<u32>) -> String {
        let meta = self.run.query.meta();
        let name = |it: u32| {
            let group = meta.group_of_location(LocationId(it));
            let node = group.and_then(|it| meta.node_of_group(it));
            node.and_then(|it| meta.system_node(it)).map_or("?", |it| it.name)
        };
        let (first, last) = (name(range.start), name(range.end.saturating_sub(1)));
        if first == last { first.to_owned() } else { between(first, last) }
    }
}

/// Names a range by its first and its last name. What both begin with is said once.
fn between(first: &str, last: &str) -> String {
    let same = |(a, b): &(char, char)| a == b && !a.is_ascii_digit();
    let common = first.chars().zip(last.chars()).take_while(same).count();
    format!("{first}–{}", last.chars().skip(common).collect::<String>())
}
