//! What rows show: shares of classes, single slices, the critical path, and sums by call path.

use std::collections::HashMap;

use dwell_report::CnodeId;
use dwell_timeline::{CallPath, Location, Sharpness, Slice};

use crate::question::{Answer, Fault};
use crate::types::{TimelineCritical, TimelineSlices, TimelineTotal, TimelineTotals};

use super::rows::Row;
use super::{Result, View};

/// Greatest number of columns of a tile.
const MOST_COLUMNS: u32 = 4096;

/// Greatest number of slices of a row that are listed one by one.
const MOST_SLICES: usize = 3000;

/// Greatest number of steps of the critical path in an answer.
const MOST_STEPS: usize = 4000;

/// Number of columns in which the critical path is a density where it has more steps.
const DENSE_COLUMNS: usize = 512;

/// Greatest number of slices in which some calls are told from others.
const MOST_TOLD_APART: u64 = 10_000_000;

/// Greatest number of slices that are added up by call path.
const MOST_ADDED: u64 = 2_000_000;

impl View<'_> {
    /// Returns shares as bytes: for each row and column one for each class, as a part of 255. With `only`, just the time in the calls that
    /// it lists counts.
    pub(super) fn tile(&self) -> Result<Answer> {
        let span = self.span()?;
        let columns = self.parameters.number("columns")?.unwrap_or(1024).clamp(1, MOST_COLUMNS);
        let columns = columns as usize;
        let rows = self.asked()?;
        if let Some(only) = self.only()? {
            let is_it = |path: CallPath| only.get(path.0 as usize).copied().unwrap_or(false);
            let wanted = |slice: &Slice| slice.path.is_some_and(is_it);
            let rows: Vec<_> = rows.iter().map(Row::ranges).collect();
            let tile = self.index.tile_of(&rows, span, columns, MOST_TOLD_APART, &wanted)?;
            let too_many = "more happened here than calls can be told apart in: zoom in";
            return Ok(Answer::Bytes(tile.ok_or(Fault::Bad(too_many.into()))?.shares));
        }
        let sharpness = match self.parameters.get("sharp") {
            Some("1") => Sharpness::Exact,
            _ => Sharpness::Coarse,
        };
        let mut bytes = Vec::new();
        let mut rows = rows.iter().peekable();
        while let Some(row) = rows.next() {
            let [first] = row.parts.as_slice() else {
                bytes.extend(self.index.joined_row(&row.ranges(), span, columns, sharpness)?);
                continue;
            };
            // Consecutive rows of one size are one tile, whose rows are computed at the same time.
            let band = first.end - first.start;
            let mut end = first.end;
            while let Some(next) = rows.next_if(|it| match it.parts.as_slice() {
                [it] => {
                    it.start == end
                        && it.end - it.start <= band
                        && (end - first.start).is_multiple_of(band)
                }
                _ => false,
            }) {
                end += next.count();
            }
            let range = Location(first.start)..Location(end);
            bytes.extend(self.index.tile(range, band, span, columns, sharpness)?.shares);
        }
        Ok(Answer::Bytes(bytes))
    }

    pub(super) fn slices(&self) -> Result<TimelineSlices> {
        let span = self.span()?;
        let mut list = TimelineSlices::default();
        for (row, location) in (0..).zip(self.asked()?.iter().map(Row::single)) {
            let Some(location) = location else { continue };
            let slices = self.index.slices(location, span, MOST_SLICES)?;
            for slice in slices.into_iter().flatten() {
                list.row.push(row);
                list.from.push(self.after(slice.span.from));
                list.to.push(self.after(slice.span.to));
                list.call.push(slice.path.map_or(-1, |it| i64::from(it.0)) as i32);
                list.class.push(self.index.class(&slice) as u32);
                list.wait.push(slice.wait.map_or(-1, |it| it.what as i32));
                list.culprit.push(slice.wait.map_or(-1, |it| i64::from(it.culprit.0)) as i32);
            }
        }
        Ok(list)
    }

    pub(super) fn critical(&self) -> Result<TimelineCritical> {
        let span = self.span()?;
        let steps = self.index.critical_path();
        let first = steps.partition_point(|it| it.span.to <= span.from);
        let end = steps.partition_point(|it| it.span.from < span.to);
        let steps = steps.get(first..end).unwrap_or_default();
        let mut list = TimelineCritical::default();
        if steps.len() > MOST_STEPS {
            (list.omitted, list.columns) = (steps.len() as u32, DENSE_COLUMNS as u32);
            for (column, location, share) in dwell_timeline::dense(steps, span, DENSE_COLUMNS) {
                list.dense_column.push(column as u32);
                list.dense_location.push(location.0);
                list.dense_share.push(share);
            }
            return Ok(list);
        }
        for step in steps {
            list.location.push(step.location.0);
            list.from.push(self.after(step.span.from));
            list.to.push(self.after(step.span.to));
        }
        Ok(list)
    }

    /// Adds up what the rows did in the span, by call path and class.
    pub(super) fn totals(&self) -> Result<TimelineTotals> {
        let span = self.span()?;
        /// Numbers of slices and their time, by call path and class.
        type Doings = HashMap<(Option<CallPath>, u32), (u64, u64)>;
        let only = self.only()?;
        let is_wanted = |path: Option<CallPath>| {
            let of = |only: &Vec<bool>| path.and_then(|it| only.get(it.0 as usize)).copied();
            only.as_ref().is_none_or(|it| of(it).unwrap_or(false))
        };
        let ranges: Vec<_> = self.locations()?;
        let ranges: Vec<_> = ranges.iter().map(|it| Location(it.start)..Location(it.end)).collect();
        let add = |sums: &mut Doings, _: Location, slice: &Slice, time: u64| {
            if is_wanted(slice.path) {
                let sum = sums.entry((slice.path, self.index.class(slice) as u32)).or_default();
                sum.0 += 1;
                sum.1 += time;
            }
        };
        // Slices are few where time is short; a long span of a long run is in the other views.
        let Some(parts) = self.index.add_up(&ranges, span, MOST_ADDED, Doings::new, add)? else {
            return Ok(TimelineTotals { too_many: true, totals: Vec::new() });
        };
        let mut sums = Doings::new();
        for (doing, (count, time)) in parts.into_iter().flatten() {
            let sum = sums.entry(doing).or_default();
            sum.0 += count;
            sum.1 += time;
        }
        let one = |((path, class), (count, nanoseconds)): ((Option<CallPath>, u32), (u64, u64))| {
            TimelineTotal {
                call: path
                    .map(|it| it.0)
                    .filter(|it| self.run.query.meta().cnode(CnodeId(*it)).is_some()),
                class,
                count: count as f64,
                seconds: nanoseconds as f64 / 1e9,
            }
        };
        let mut totals: Vec<TimelineTotal> = sums.into_iter().map(one).collect();
        totals.sort_by(|a, b| {
            b.seconds.total_cmp(&a.seconds).then((a.call, a.class).cmp(&(b.call, b.class)))
        });
        totals.truncate(50);
        Ok(TimelineTotals { too_many: false, totals })
    }
}
