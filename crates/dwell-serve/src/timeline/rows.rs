//! Rows of the timeline: single locations, bands of them, and nodes.
//!
//! A row has a key, by which the page asks for it: numbers of locations, and ranges of them without their end, joined by `+`, such as
//! `7`, `0-64` or `0+2+4-6`; or `n` with the numbers of nodes, such as `n3` or `n0-8`; or `g` with the number of a group of locations that
//! behave alike, whose members are too many for an address.

use std::iter;
use std::ops::Range;

use dwell_report::{Class, CnodeId};
use dwell_timeline::picture::REST;
use dwell_timeline::{Alike, Location};

use crate::node::Node;
use crate::question::Fault;
use crate::run::Selection;
use crate::types::{TimelineRow, TimelineRows};

use super::about::started;
use super::nodes::nodes;
use super::{PAGE_ROWS, Result, View};

/// Greatest number of rows in an answer.
const MOST_ROWS: u32 = 128;

/// Greatest number of ranges in the keys of all rows, which become part of an address.
const MOST_PARTS: usize = 2000;

/// Greatest number of ranges in the keys of the locations of open groups, which have to fit into an address.
const MOST_OPEN_PARTS: usize = 200;

/// A row of the timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Locations of the row, in ascending order and without overlaps.
    pub(super) parts: Vec<Range<u32>>,
    /// Nodes that the row stands for.
    nodes: Option<Range<u32>>,
    /// Group of locations that behave alike that the row stands for.
    group: Option<u32>,
    /// True if rows of the locations of the node or group follow. `None` for rows of neither, and of several nodes.
    is_open: Option<bool>,
}

/// Returns the numbers and locations of the rows that have one location each. If there is none, the first location of the
/// first row stands for all.
pub(super) fn single_locations(rows: &[Row]) -> Vec<(u32, Location)> {
    let singles = (0..).zip(rows).filter_map(|(number, row)| Some((number, row.single()?)));
    let mut found: Vec<(u32, Location)> = singles.collect();
    if found.is_empty() {
        let first = rows.first().and_then(|row| row.parts.first());
        found.extend(first.map(|part| (0, Location(part.start))));
    }
    found
}

impl Row {
    fn of(parts: Vec<Range<u32>>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Returns the row of these locations, which are in ascending order.
    fn of_numbers(numbers: &[u32]) -> Self {
        let mut parts: Vec<Range<u32>> = Vec::new();
        for &number in numbers {
            match parts.last_mut() {
                Some(last) if last.end == number => last.end += 1,
                _ => parts.push(number..number + 1),
            }
        }
        Self::of(parts)
    }

    /// Returns the number of locations.
    pub(super) fn count(&self) -> u32 {
        self.parts.iter().map(|it| it.end - it.start).sum()
    }

    /// Returns the location of a row that has only one and does not stand for a node.
    pub(super) fn single(&self) -> Option<Location> {
        let first = self.parts.first()?.start;
        (self.count() == 1 && self.nodes.is_none() && self.group.is_none())
            .then_some(Location(first))
    }

    /// Returns all locations of the row as ranges.
    pub(super) fn ranges(&self) -> Vec<Range<Location>> {
        self.parts.iter().map(|it| Location(it.start)..Location(it.end)).collect()
    }

    fn key(&self) -> String {
        let range = |it: &Range<u32>| match it.end - it.start {
            1 => it.start.to_string(),
            _ => format!("{}-{}", it.start, it.end),
        };
        match (&self.nodes, self.group) {
            (Some(nodes), _) => format!("n{}", range(nodes)),
            (None, Some(group)) => format!("g{group}"),
            (None, None) => self.parts.iter().map(range).collect::<Vec<_>>().join("+"),
        }
    }

    /// Reads a key.
    fn parse(text: &str, all: u32, nodes: &[Node], groups: &[Alike]) -> Option<Self> {
        let range = |text: &str| {
            let (first, end) = match text.split_once('-') {
                Some((first, end)) => (first.parse().ok()?, end.parse().ok()?),
                None => {
                    let first: u32 = text.parse().ok()?;
                    (first, first.checked_add(1)?)
                }
            };
            (first < end).then_some(first..end)
        };
        if let Some(text) = text.strip_prefix('n') {
            let wanted = range(text)?;
            return Self::of_nodes(wanted.clone(), nodes.get(as_places(&wanted))?);
        }
        if let Some(number) = text.strip_prefix('g') {
            let number = number.parse().ok()?;
            return groups.get(number as usize).map(|it| Self::of_group(number, it));
        }
        let parts = text.split('+').map(range).collect::<Option<Vec<_>>>()?;
        let is_rising = parts.windows(2).all(|it| match it {
            [before, next] => before.end <= next.start,
            _ => true,
        });
        (is_rising && parts.last().is_some_and(|it| it.end <= all)).then_some(Self::of(parts))
    }

    /// Returns the row of a group. A location that is unlike all others is a row like any other.
    fn of_group(number: u32, group: &Alike) -> Self {
        let locations: Vec<u32> = group.locations.iter().map(|it| it.0).collect();
        let group = (locations.len() > 1).then_some(number);
        Self { group, is_open: group.map(|_| false), ..Self::of_numbers(&locations) }
    }

    /// Returns the row of consecutive nodes.
    fn of_nodes(numbers: Range<u32>, nodes: &[Node]) -> Option<Self> {
        let mut locations: Vec<u32> = nodes.iter().flat_map(Node::locations).collect();
        locations.sort_unstable();
        (!nodes.is_empty()).then(|| Self { nodes: Some(numbers), ..Self::of_numbers(&locations) })
    }
}

fn as_places(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Divides locations into bands of equal size, a power of two, such that there are at most `most`.
fn bands(numbers: &[u32], most: usize) -> Vec<Row> {
    let mut band = 1;
    while numbers.len().div_ceil(band) > most.max(1) {
        band *= 2;
    }
    numbers.chunks(band).map(Row::of_numbers).collect()
}

impl View<'_> {
    /// Returns the rows of the view: either those whose keys `rows` lists, separated by full stops, or consecutive ones from `first` to
    /// before `end`, with `band` locations each.
    pub(super) fn asked(&self) -> Result<Vec<Row>> {
        let all = self.index.locations();
        if let Some(list) = self.parameters.get("rows") {
            let keys = list.split('.').take(MOST_ROWS as usize);
            let nodes = if list.contains('n') { nodes(self.run) } else { &[] };
            let groups = if list.contains('g') { self.alike()? } else { &[] };
            let rows = keys.map(|it| Row::parse(it, all, nodes, groups));
            let wrong = Fault::Bad("`rows` must be numbers of locations, nodes or groups".into());
            return rows.collect::<Option<Vec<_>>>().ok_or(wrong);
        }
        let first = self.parameters.number("first")?.unwrap_or(0).min(all);
        let end = self.parameters.number("end")?.unwrap_or(all).clamp(first, all);
        let least = (end - first).div_ceil(MOST_ROWS).max(1);
        let band = self.parameters.number("band")?.unwrap_or(1).max(least);
        let from = (first..end).step_by(band as usize);
        let band = |it: u32| iter::once(it..it.saturating_add(band).min(end)).collect();
        Ok(from.map(band).map(Row::of).collect())
    }

    /// Returns the locations of all rows, each once: a node and its processes may both have a row.
    pub(super) fn locations(&self) -> Result<Vec<Range<u32>>> {
        let mut parts: Vec<_> = self.asked()?.into_iter().flat_map(|it| it.parts).collect();
        parts.sort_by_key(|it| (it.start, it.end));
        parts.dedup_by(|next, before| {
            let joins = next.start <= before.end;
            if joins {
                before.end = before.end.max(next.end);
            }
            joins
        });
        Ok(parts)
    }

    /// Returns for each call path whether `only` names it or one that calls it, or `None` if the parameters do not restrict calls.
    pub(super) fn only(&self) -> Result<Option<Vec<bool>>> {
        let Some(chosen) = self.chosen_calls()? else { return Ok(None) };
        let meta = self.run.query.meta();
        let mut is_inside = vec![false; meta.cnodes().len()];
        for cnode in meta.cnodes_in_order() {
            let above = meta.cnode_parent(cnode).and_then(|it| is_inside.get(it.index()));
            let is_it = above.copied().unwrap_or(false) || chosen.contains(&cnode);
            if let Some(place) = is_inside.get_mut(cnode.index()) {
                *place = is_it;
            }
        }
        Ok(Some(is_inside))
    }

    /// Returns the call paths that `only` lists, separated by full stops.
    fn chosen_calls(&self) -> Result<Option<Vec<CnodeId>>> {
        let Some(list) = self.parameters.get("only") else { return Ok(None) };
        let meta = self.run.query.meta();
        let one =
            |text: &str| text.parse().ok().map(CnodeId).filter(|it| meta.cnode(*it).is_some());
        let chosen = list.split('.').map(one).collect::<Option<Vec<_>>>();
        chosen.map(Some).ok_or(Fault::Bad("there is no such call path".into()))
    }

    /// Returns how long each location was in the calls that `only` lists, or `None` if the parameters do not restrict calls.
    fn called(&self) -> Result<Option<Vec<f64>>> {
        let Some(chosen) = self.chosen_calls()? else { return Ok(None) };
        let meta = self.run.query.meta();
        let metric = meta.find_metric("time").ok_or(Fault::Bad("the report has no time".into()))?;
        let mut sums = vec![0.0; self.index.locations() as usize];
        for cnode in chosen {
            let call = dwell_report::Call::Path(cnode, dwell_report::Flavour::Inclusive);
            let row = self.run.row(Selection { metric, own: false, call })?;
            sums.iter_mut().zip(&row.locations).for_each(|(sum, it)| *sum += it);
        }
        Ok(Some(sums))
    }

    /// Returns rows in the order that `sort` names, and the number of locations that have a row or would have one if there were
    /// room. `wait`, `blame` and `call` are single locations, those with most first; with `node` the processes of each node follow its own
    /// row. Locations that have not called what `only` lists have no row.
    fn arranged(&self) -> Result<(Vec<Row>, usize)> {
        let sort = self.parameters.get("sort").unwrap_or("number");
        let called = self.called()?;
        if sort == "number" && called.is_none() {
            let rows = self.asked()?;
            let count = rows.iter().map(|it| it.count() as usize).sum();
            return Ok((rows, count));
        }
        let time = |it: u32| {
            called.as_ref().map_or(1.0, |it_| it_.get(it as usize).copied().unwrap_or(0.0))
        };
        let all = 0..self.index.locations();
        let mut numbers: Vec<u32> = all.filter(|it| time(*it) > 0.0).collect();
        let count = numbers.len();
        match sort {
            "node" => return Ok((self.grouped(&|it| time(it) > 0.0)?, count)),
            "alike" => return Ok((self.groups()?, self.index.locations() as usize)),
            "number" => {
                let rows = bands(&numbers, PAGE_ROWS as usize);
                if rows.iter().map(|it| it.parts.len()).sum::<usize>() <= MOST_PARTS {
                    return Ok((rows, count));
                }
            }
            _ => {}
        }
        let key = |it: u32| {
            let totals = self.index.totals(Location(it));
            let value = totals.map_or(0, |(sums, blame)| match sort {
                "blame" => blame,
                "wait" => sums.get(Class::Wait as usize).copied().unwrap_or(0),
                "call" => (time(it) * 1e9) as u64,
                _ => 0,
            });
            (std::cmp::Reverse(value), it)
        };
        numbers.sort_by_cached_key(|it| key(*it));
        numbers.truncate(PAGE_ROWS as usize);
        Ok((numbers.into_iter().map(|it| Row::of_numbers(&[it])).collect(), count))
    }

    /// Returns a row for each node, and behind it those of its locations if the node is open: if `open` lists it or is `all`. Without
    /// `open` all are, as far as there is room. `nodes` restricts them to a range.
    fn grouped(&self, has_row: &dyn Fn(u32) -> bool) -> Result<Vec<Row>> {
        let all = nodes(self.run);
        let range = match self.parameters.get("nodes").map(|it| it.split_once('-')) {
            None => 0..all.len() as u32,
            Some(ends) => {
                let ends = ends.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                let wrong = || Fault::Bad("`nodes` must be two numbers of nodes".into());
                let (first, end) = ends.ok_or_else(wrong)?;
                first..end
            }
        };
        let wrong = || Fault::Bad("there are no such nodes".into());
        let shown = all.get(as_places(&range)).ok_or_else(wrong)?;
        let each = shown.len().div_ceil(PAGE_ROWS as usize).max(1) as u32;
        if each > 1 {
            let one = |(number, list): (u32, &[Node])| {
                let first = range.start + number * each;
                Row::of_nodes(first..first + list.len() as u32, list)
            };
            return Ok((0..).zip(shown.chunks(each as usize)).filter_map(one).collect());
        }
        let lists = shown.iter().map(|it| it.locations().filter(|it| has_row(*it)).collect());
        let lists: Vec<(u32, Vec<u32>)> =
            range.zip(lists).filter(|it: &(u32, Vec<u32>)| !it.1.is_empty()).collect();
        let (headers, locations) = (lists.len(), lists.iter().map(|it| it.1.len()).sum::<usize>());
        let open: Vec<bool> = match self.parameters.get("open") {
            None => vec![headers + locations <= PAGE_ROWS as usize; headers],
            Some("all") => vec![true; headers],
            Some(text) => {
                let listed: Vec<u32> = text.split('.').filter_map(|it| it.parse().ok()).collect();
                lists.iter().map(|it| listed.contains(&it.0)).collect()
            }
        };
        let opened = || lists.iter().zip(&open).filter(|it| *it.1).map(|it| it.0.1.len());
        let room = (PAGE_ROWS as usize).saturating_sub(headers).max(opened().count());
        let mut band = 1;
        while opened().map(|it| it.div_ceil(band)).sum::<usize>() > room {
            band *= 2;
        }
        let mut rows = Vec::new();
        for ((number, list), is_open) in lists.iter().zip(open) {
            let nodes = Some(*number..*number + 1);
            rows.push(Row { nodes, is_open: Some(is_open), ..Row::of_numbers(list) });
            if is_open {
                rows.extend(list.chunks(band).map(Row::of_numbers));
            }
        }
        Ok(rows)
    }

    /// Returns the groups of locations that behave alike after the start-up, which are found once.
    fn alike(&self) -> Result<&[Alike]> {
        if let Some(groups) = self.run.alike.get() {
            return Ok(groups);
        }
        let span = self.index.opened(started(self.run, self.index));
        let groups = self.index.alike(span)?;
        Ok(self.run.alike.get_or_init(|| groups))
    }

    /// Returns a row for each group of locations that behave alike, and behind it those of its locations if `open` lists it. Without
    /// `open` the only group is open.
    fn groups(&self) -> Result<Vec<Row>> {
        let groups = self.alike()?;
        let open = self.parameters.get("open").unwrap_or(if groups.len() == 1 { "0" } else { "" });
        let open: Vec<u32> = open.split('.').filter_map(|it| it.parse().ok()).collect();
        let room = (PAGE_ROWS as usize).saturating_sub(groups.len()) / open.len().max(1);
        let mut rows = Vec::new();
        for (number, group) in (0..).zip(groups) {
            let row = Row::of_group(number, group);
            let is_open = row.group.is_some() && open.contains(&number);
            let locations: Vec<u32> = row.parts.iter().cloned().flatten().collect();
            rows.push(Row { is_open: row.is_open.map(|_| is_open), ..row });
            if is_open {
                rows.extend(bands(&locations, room));
            }
        }
        // Members of a group that are nowhere consecutive are many stretches, and an address names the first of them only.
        let mut parts = 0;
        rows.retain(|row| {
            parts += if row.group.is_some() { 0 } else { row.parts.len() };
            parts <= MOST_OPEN_PARTS
        });
        Ok(rows)
    }

    pub(super) fn rows(&self) -> Result<TimelineRows> {
        let (rows, of) = match self.parameters.get("rows") {
            Some(_) => (self.asked()?, 0),
            None => self.arranged()?,
        };
        let nodes = nodes(self.run);
        // Of two groups, the larger one.
        let most = self.run.alike.get().filter(|it| it.len() == 2);
        let is_rest = |row: &Row| {
            most.is_some_and(|it| it.iter().any(|it| it.locations.len() < row.count() as usize))
        };
        let one = |row: &Row| {
            let (mut wait, mut blame, mut time) = (0_u64, 0_u64, 0_u64);
            for location in row.parts.iter().cloned().flatten() {
                if let Some((sums, blamed)) = self.index.totals(Location(location)) {
                    let waited = sums.get(Class::Wait as usize).copied().unwrap_or(0);
                    wait = waited.saturating_add(wait);
                    time = sums.iter().copied().fold(time, u64::saturating_add);
                    blame = blamed.saturating_add(blame);
                }
            }
            let first = row.parts.first().map_or(0, |it| it.start);
            let end = row.parts.last().map_or(0, |it| it.end);
            // A group that is a node has its name.
            let of_group =
                row.group.and_then(|_| nodes.iter().position(|it| it.parts == row.parts));
            let of_group = of_group.map(|it| it as u32..it as u32 + 1);
            let names =
                match row.nodes.clone().or(of_group).and_then(|it| nodes.get(as_places(&it))) {
                    Some(nodes) => {
                        let name =
                            |it: Option<&Node>| it.map_or(String::new(), |it| it.name.clone());
                        (name(nodes.first()), name(nodes.last()))
                    }
                    None => {
                        let last = Location(end.saturating_sub(1));
                        (self.name(Location(first)), self.name(last))
                    }
                };
            let is_whole = row.parts.len() < 2;
            TimelineRow {
                key: row.key(),
                first,
                end,
                count: row.count(),
                parts: match is_whole {
                    true => Vec::new(),
                    false => row.parts.iter().flat_map(|it| [it.start, it.end]).collect(),
                },
                node: row.nodes.as_ref().map(|it| it.start).or(row.group),
                nodes: row.nodes.as_ref().map_or(0, |it| it.end - it.start),
                differ: row
                    .group
                    .and_then(|it| self.run.alike.get()?.get(it as usize))
                    .map(|it| it.differ),
                open: row.is_open,
                name: match (names.0 == names.1, is_whole) {
                    (true, _) => names.0,
                    (false, false) if row.group.is_some() && is_rest(row) => REST.into(),
                    (false, false) if row.nodes.is_none() && row.group.is_none() => {
                        format!("{} of {}", row.count(), between(&names.0, &names.1))
                    }
                    _ => between(&names.0, &names.1),
                },
                seconds: time as f64 / 1e9,
                wait: wait as f64 / 1e9,
                blame: blame as f64 / 1e9,
                waited_for: self
                    .index
                    .waited_for(row.parts.iter().cloned().flatten().map(Location))
                    .is_some(),
            }
        };
        Ok(TimelineRows { rows: rows.iter().map(one).collect(), of: of as u32 })
    }
}

/// Names a range by its first and its last name. What both begin with is said once.
fn between(first: &str, last: &str) -> String {
    let same = |(a, b): &(char, char)| a == b && !a.is_ascii_digit();
    let common = first.chars().zip(last.chars()).take_while(same).count();
    format!("{first}–{}", last.chars().skip(common).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_nodes() -> Vec<Node> {
        let node = |name: &str, parts: Vec<Range<u32>>| Node { name: name.into(), parts };
        // Processes that were dealt out to nodes in turn.
        vec![node("a", vec![0..1, 2..3, 4..5]), node("b", vec![1..2, 3..4])]
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        for key in ["7", "0-64", "0+2+4-6", "n1", "n0-2"] {
            let row = Row::parse(key, 64, &two_nodes(), &[]).unwrap();
            assert_eq!(row.key(), key);
        }
        let row = Row::parse("n0", 64, &two_nodes(), &[]).unwrap();
        assert_eq!((row.parts, row.nodes), (vec![0..1, 2..3, 4..5], Some(0..1)));
        let both = Row::parse("n0-2", 64, &two_nodes(), &[]).unwrap();
        assert_eq!(Row::of(both.parts.clone()).key(), "0-5");
        assert_eq!(both.single(), None);
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        for key in ["", "-", "5-5", "6-5", "64", "0-65", "4+2", "0-3+2", "n", "n2", "n0-3", "n1-1"]
        {
            assert_eq!(Row::parse(key, 64, &two_nodes(), &[]), None, "{key}");
        }
    }

    #[test]
    fn bands_have_the_size_of_a_power_of_two() {
        let numbers: Vec<u32> = (0..130).collect();
        let rows = bands(&numbers, 64);
        assert_eq!(rows.len(), 33);
        assert_eq!(rows[0].key(), "0-4");
        assert_eq!(rows[32].key(), "128-130");
    }
}
