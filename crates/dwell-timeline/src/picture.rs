//! Pictures of a timeline: [text](text()) for a terminal, and [SVG](svg()).
//!
//! A [`Scene`] has all that a picture shows: rows of locations, shares of classes in columns, the longest waits of the view with
//! the locations that ended them, and the critical path. Both pictures are made from it without asking the index again.

mod svg;
mod text;

use std::ops::Range;

use dwell_model::units::seconds;
use dwell_model::waits::Wait;

use crate::alike::Alike;
use crate::classes::CLASSES;
use crate::critical::Step;
use crate::error::Result;
use crate::ids::{CallPath, Location};
use crate::index::Index;
use crate::operations::{Arrow, Joined, Operations};
use crate::pyramid::MOST_BINS;
use crate::slices::Slice;
use crate::span::{Span, Time};
use crate::tile::{Sharpness, Tile};
pub use svg::svg;
pub use text::{columns, text};

/// Greatest number of rows of a picture of a whole run. Runs with more locations have rows of several, so that a picture fits
/// into a window and a terminal.
pub const MOST_ROWS: u32 = 64;

/// Slices of a run up to which its pictures are exact, whatever they show.
const MOST_EXACT: u64 = 4_000_000;

/// Name of the locations of two groups that are not in the smaller one, if they are not consecutive.
pub const REST: &str = "All others";

/// Names of locations and calls, which the index does not have: it knows their numbers in the report.
pub trait Names {
    /// Returns the name of a location.
    fn location(&self, location: Location) -> String;
    /// Returns the name of the node whose locations these are, if they are those of one node.
    fn node(&self, _locations: &[Range<u32>]) -> Option<String> {
        None
    }
    /// Returns the name of a call with its place in the source.
    fn call(&self, path: CallPath) -> String;
}

/// Everything that a picture shows, as numbers. Different pictures of one scene show the same, and none of them needs the index
/// again.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Span of time of all columns.
    pub span: Span,
    /// First event of the run, from which times are counted.
    pub begin: Time,
    /// The locations of each row.
    pub rows: Vec<Row>,
    /// Nanoseconds of the whole run that others waited for the locations of each row, where that is more than for others.
    pub waited_for: Vec<Option<u64>>,
    /// Shares of classes in each row and column.
    pub tile: Tile,
    /// The longest waits, the longest first.
    pub waits: Vec<(Location, Slice)>,
    /// The part of the critical path in the span.
    pub critical: Vec<Step>,
    /// Operations between the rows, the longest first, where [`Scene::with_operations`] was asked for them.
    pub arrows: Vec<Arrow>,
    /// Collectives of the rows, in the order of their begins.
    pub joined: Vec<Joined>,
}

/// Locations that share a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Their numbers, in ascending order.
    pub parts: Vec<Range<u32>>,
    /// If they behave alike: the mean share of the time in which one of them does something else than the mean.
    pub differ: Option<f64>,
}

impl From<Range<u32>> for Row {
    fn from(range: Range<u32>) -> Self {
        Self { parts: vec![range], differ: None }
    }
}

impl From<Alike> for Row {
    fn from(group: Alike) -> Self {
        let mut parts: Vec<Range<u32>> = Vec::new();
        for Location(number) in &group.locations {
            match parts.last_mut() {
                Some(last) if last.end == *number => last.end += 1,
                _ => parts.push(*number..number + 1),
            }
        }
        Self { parts, differ: (group.locations.len() > 1).then_some(group.differ) }
    }
}

impl Row {
    /// Returns the number of locations.
    pub fn count(&self) -> u32 {
        self.parts.iter().map(|it| it.end - it.start).sum()
    }

    fn contains(&self, location: Location) -> bool {
        self.parts.iter().any(|it| it.contains(&location.0))
    }
}

/// Returns rows for all locations of a run: one for each, or one for each group that behaves alike in `span` if there are more than
/// [`MOST_ROWS`], or bands of equal size if all of these behave alike.
///
/// # Errors
/// If the index cannot be read.
pub fn rows(index: &Index, span: Span) -> Result<Vec<Row>> {
    let all = index.locations();
    if all <= MOST_ROWS {
        return Ok((0..all).map(|it| (it..it + 1).into()).collect());
    }
    let groups = index.alike(span)?;
    if groups.len() > 1 {
        return Ok(groups.into_iter().map(Row::from).collect());
    }
    let size = all.div_ceil(MOST_ROWS).next_multiple_of(index.group_size()).max(1);
    Ok((0..all).step_by(size as usize).map(|it| (it..(it + size).min(all)).into()).collect())
}

impl Scene {
    /// Looks at rows of locations in a span of time, in `columns` columns, and at the longest waits among these locations.
    /// With a finding, only its waits count.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn of(
        index: &Index,
        rows: Vec<Row>,
        span: Span,
        columns: usize,
        finding: Option<(CallPath, Wait)>,
        most_waits: usize,
    ) -> Result<Self> {
        let mut tile = Tile { rows: rows.len(), columns, shares: Vec::new() };
        let mut waits = Vec::new();
        // All events of a long run in one row take too long to look at, and bins are sharp enough there.
        let locations: u64 = rows.iter().map(|it| u64::from(it.count())).sum();
        let bins = u128::from(index.span().length()) * columns as u128;
        let is_many = locations > 4096 && index.count() > MOST_EXACT;
        let is_coarse = is_many && bins < u128::from(span.length()) * MOST_BINS as u128;
        let sharpness = if is_coarse { Sharpness::Coarse } else { Sharpness::Exact };
        let wanted = |slice: &Slice| {
            finding.is_none_or(|(path, what)| {
                slice.path == Some(path) && slice.wait.is_some_and(|it| it.what == what)
            })
        };
        for row in &rows {
            let parts = row.parts.iter().map(|it| Location(it.start)..Location(it.end));
            let parts: Vec<_> = parts.collect();
            tile.shares.extend(index.joined_row(&parts, span, columns, sharpness)?);
            for part in parts {
                waits.extend(index.worst_waits(part, span, most_waits, &wanted)?);
            }
        }
        waits.sort_by_key(|(location, it)| {
            (std::cmp::Reverse(it.span.length()), it.span.from, *location)
        });
        waits.dedup();
        waits.truncate(most_waits);
        let critical = index.critical_path().iter();
        let critical = critical.filter(|it| it.span.common(span).length() > 0).copied().collect();
        let (arrows, joined) = (Vec::new(), Vec::new());
        // Only groups are compared: among single processes the picture shows who waits for whom.
        let is_grouped = rows.iter().any(|it| it.differ.is_some());
        let locations = |row: &Row| row.parts.clone().into_iter().flatten().map(Location);
        let waited_for = |row| index.waited_for(locations(row)).filter(|_| is_grouped);
        let waited_for = rows.iter().map(waited_for).collect();
        let begin = index.span().from;
        Ok(Self { span, begin, rows, waited_for, tile, waits, critical, arrows, joined })
    }

    /// Adds operations of the rows, at most `most` arrows, and collectives as far as there are no more of them.
    #[must_use]
    pub fn with_operations(mut self, operations: &Operations, most: usize) -> Self {
        let row = |it: Location| self.row(it);
        (self.arrows, _) = operations.arrows(&row, self.span, most);
        if operations.joined.len() <= most {
            self.joined.clone_from(&operations.joined);
        }
        self
    }

    /// Returns the row that shows a location.
    fn row(&self, location: Location) -> Option<usize> {
        self.rows.iter().position(|it| it.contains(location))
    }

    /// Returns the times of the ruler: multiples of 1, 2 or 5 times a power of 10, at most `most`.
    fn ticks(&self, most: usize) -> Vec<(Time, String)> {
        let least = self.span.length() / most.max(1) as u64 + 1;
        let mut step = 1_u64;
        while step < least {
            step = match step.to_string().as_bytes().first() {
                Some(b'2') => step / 2 * 5,
                _ => step.saturating_mul(2),
            };
        }
        let from = self.span.from.0.saturating_sub(self.begin.0);
        let to = self.span.to.0.saturating_sub(self.begin.0);
        let ticks = (from.div_ceil(step)..=to / step).map(|it| it * step);
        ticks.map(|it| (Time(it + self.begin.0), tick(it, step))).collect()
    }
}

/// Returns the name of a row.
fn label(rows: &[Row], row: &Row, names: &dyn Names) -> String {
    if let [one, other] = rows
        && row.differ.is_some()
        && row.parts.len() > 1
        && row.count() > one.count().min(other.count())
    {
        return REST.into();
    }
    if let Some(node) = row.differ.and_then(|_| names.node(&row.parts)) {
        return node;
    }
    let start = row.parts.first().map_or(0, |it| it.start);
    let end = row.parts.last().map_or(0, |it| it.end);
    let first = names.location(Location(start));
    match row.count() {
        1 => first,
        count => {
            let last = names.location(Location(end.saturating_sub(1)));
            // A common beginning of both names is written once.
            let common: usize = first
                .char_indices()
                .zip(last.chars())
                .take_while(|((_, a), b)| a == b && !a.is_ascii_digit())
                .map(|((_, a), _)| a.len_utf8())
                .sum();
            let whole = format!("{first}–{}", last.get(common..).unwrap_or(&last));
            if count == end - start { whole } else { format!("{count} of {whole}") }
        }
    }
}

/// Formats a time of the ruler in a unit and with as many digits as its step needs.
fn tick(nanoseconds: u64, step: u64) -> String {
    let (unit, name) = match nanoseconds.max(step) {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let mut digits = 0;
    let mut rest = step % unit;
    let mut part = unit;
    while rest > 0 && digits < 9 {
        part /= 10;
        digits += 1;
        rest = step % part.max(1);
    }
    format!("{:.digits$} {name}", nanoseconds as f64 / unit as f64)
}

/// Returns sentences about the longest waits: which location waited where, for which other, and its activity meanwhile.
///
/// # Errors
/// If the index cannot be read.
pub fn explained(
    index: &Index,
    names: &dyn Names,
    waits: &[(Location, Slice)],
) -> Result<Vec<String>> {
    let time = |nanoseconds: u64| seconds(nanoseconds as f64 / 1e9);
    let begin = index.span().from.0;
    let mut list = Vec::new();
    for (location, slice) in waits {
        let Some(waiting) = slice.wait else { continue };
        let who = names.location(*location);
        let call = slice.path.map_or_else(|| "no call".into(), |it| names.call(it));
        let whom = names.location(waiting.culprit);
        let (length, at) =
            (time(slice.span.length()), time(slice.span.from.0.saturating_sub(begin)));
        let mut text = format!("{who} waits {length} from {at} in {call} for {whom}");
        let doing = index.meanwhile(waiting.culprit, slice.span)?;
        let said: Vec<String> = doing
            .iter()
            .take(3)
            .map(|it| {
                let what = match (it.class, it.path) {
                    (dwell_report::Class::Compute, Some(path)) => {
                        format!("computes in {}", names.call(path))
                    }
                    (dwell_report::Class::Wait, Some(path)) => {
                        format!("waits in {}", names.call(path))
                    }
                    (_, Some(path)) => format!("is in {}", names.call(path)),
                    (_, None) => "is outside of all regions".into(),
                };
                format!("{what} ({})", time(it.nanoseconds))
            })
            .collect();
        if !said.is_empty() {
            text = format!("{text}, which meanwhile {}", said.join(", "));
        }
        list.push(text);
    }
    Ok(list)
}

/// Returns the class with the largest share of a cell, or `None` if the cell is nearly empty.
fn largest(cell: &[u8]) -> Option<usize> {
    let place = (0..CLASSES).max_by_key(|it| (cell.get(*it), std::cmp::Reverse(*it)))?;
    (cell.get(place).is_some_and(|it| *it >= 8)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::tick;

    #[test]
    fn times_of_the_ruler_have_units() {
        assert_eq!(tick(0, 500_000_000), "0 ms");
        assert_eq!(tick(1_500_000_000, 500_000_000), "1.5 s");
        assert_eq!(tick(20_000, 10_000), "20 µs");
        assert_eq!(tick(1_002_500_000, 2_500_000), "1.0025 s");
        assert_eq!(tick(7, 1), "7 ns");
    }
}
