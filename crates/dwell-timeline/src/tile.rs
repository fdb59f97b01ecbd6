//! Shares of classes for rows of locations and columns of time.

use std::ops::Range;

use dwell_report::Class;
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::block::SLICES;
use crate::cursor::Cursor;
use crate::format::SOME;
use crate::index::Index;
use crate::pyramid::{self, CELL, share};
use crate::slices::Slice;
use crate::{CLASSES, Location, Result, Span, Sums, Time};

/// Way in which a tile is computed. A page shows the coarse one at once and replaces it by the exact one, which takes longer where a
/// view has many locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharpness {
    /// At once, from bins of the pyramid. Columns are as sharp as its bins.
    Coarse,
    /// From the slices: every share is right to a part of 255.
    Exact,
}

/// Shares of classes for rows of locations and columns of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Number of rows of the tile.
    pub rows: usize,
    /// Number of columns of the tile.
    pub columns: usize,
    /// Share of each class as a part of 255, row by row and column by column: first all classes of the first column of the first row, in
    /// the order of [`dwell_report::Class::ALL`].
    pub shares: Vec<u8>,
}

impl Tile {
    /// Returns the shares of a cell, in the order of [`dwell_report::Class::ALL`].
    pub fn cell(&self, row: usize, column: usize) -> &[u8] {
        let first = (row * self.columns + column) * CLASSES;
        self.shares.get(first..first + CLASSES).unwrap_or(&[0; CLASSES])
    }
}

impl Index {
    /// Returns shares for rows of `band` consecutive locations each, in columns of equal length. The last row may have
    /// fewer locations. Time before the first and after the last event of a location belongs to no class.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tile(
        &self,
        locations: Range<Location>,
        band: u32,
        span: Span,
        columns: usize,
        sharpness: Sharpness,
    ) -> Result<Tile> {
        let end = locations.end.0.min(self.locations());
        let (first, band) = (locations.start.0.min(end), band.max(1));
        let rows = (end - first).div_ceil(band) as usize;
        let row = |row: usize| {
            let from = first + row as u32 * band;
            let range = from..from.saturating_add(band).min(end);
            match sharpness {
                Sharpness::Exact => self.exact_row(range, span, columns),
                Sharpness::Coarse => self.coarse_row(range, span, columns),
            }
        };
        let parts: Vec<Vec<u8>> = (0..rows).into_par_iter().map(row).collect::<Result<_>>()?;
        Ok(Tile { rows, columns, shares: parts.concat() })
    }

    /// Returns the shares of one row of locations that need not be consecutive, as far as they can be told from the shares of each
    /// stretch: right to a part of 255, or as sharp as bins of the pyramid.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn joined_row(
        &self,
        parts: &[Range<Location>],
        span: Span,
        columns: usize,
        sharpness: Sharpness,
    ) -> Result<Vec<u8>> {
        let one = |part: &Range<Location>| {
            let range = part.start.0..part.end.0.min(self.locations());
            let count = u64::from(range.end.saturating_sub(range.start));
            let row = match sharpness {
                _ if count == 0 => Ok(Vec::new()),
                Sharpness::Exact => self.exact_row(range, span, columns),
                Sharpness::Coarse => self.coarse_row(range, span, columns),
            };
            row.map(|it| (count, it))
        };
        let rows: Vec<(u64, Vec<u8>)> = parts.par_iter().map(one).collect::<Result<_>>()?;
        let whole = rows.iter().map(|it| it.0).sum::<u64>().max(1);
        let mut sums = vec![whole / 2; columns * CLASSES];
        for (count, row) in rows {
            sums.iter_mut().zip(row).for_each(|(sum, it)| *sum += count * u64::from(it));
        }
        Ok(sums.into_iter().map(|it| (it / whole) as u8).collect())
    }

    /// Returns exact shares of the time that rows spent in `wanted` slices; other time belongs to no class. A row is a list of ranges of
    /// locations. Returns `None` if there are more than about `most` slices to look at.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tile_of(
        &self,
        rows: &[Vec<Range<Location>>],
        span: Span,
        columns: usize,
        most: u64,
        wanted: &(dyn Fn(&Slice) -> bool + Sync),
    ) -> Result<Option<Tile>> {
        let numbers = |row: &Vec<Range<Location>>| -> Vec<Location> {
            row.iter()
                .flat_map(|it| it.start.0..it.end.0.min(self.locations()))
                .map(Location)
                .collect()
        };
        let slices = |row: &Vec<Range<Location>>| {
            let of = |it: Location| match Cursor::new(self, it) {
                Some(mut cursor) => cursor.blocks_in(span),
                None => Ok(0),
            };
            numbers(row).into_iter().map(of).sum::<Result<u64>>()
        };
        let blocks: Vec<u64> = rows.par_iter().map(slices).collect::<Result<_>>()?;
        if blocks.iter().sum::<u64>().saturating_mul(SLICES as u64) > most {
            return Ok(None);
        }
        let row = |row: &Vec<Range<Location>>| {
            let locations = numbers(row);
            let mut sums = ExactRow::new(span, columns);
            for location in &locations {
                let Some(mut cursor) = Cursor::new(self, *location) else { continue };
                cursor.each(span, |slice| {
                    if wanted(slice) {
                        sums.add(slice.span.common(span), self.class(slice));
                    }
                    true
                })?;
            }
            Ok(sums.shares(locations.len().max(1) as u128))
        };
        let parts: Vec<Vec<u8>> = rows.par_iter().map(row).collect::<Result<_>>()?;
        Ok(Some(Tile { rows: rows.len(), columns, shares: parts.concat() }))
    }

    fn exact_row(&self, locations: Range<u32>, span: Span, columns: usize) -> Result<Vec<u8>> {
        let mut row = ExactRow::new(span, columns);
        let count = u128::from(locations.end - locations.start);
        for location in locations {
            let Some(mut cursor) = Cursor::new(self, Location(location)) else { continue };
            // Few slices are added one by one; of many, sums at the ends of columns are enough.
            if cursor.blocks_in(span)?.saturating_mul(SLICES as u64) <= 4 * columns as u64 {
                cursor.each(span, |slice| {
                    row.add(slice.span.common(span), self.class(slice));
                    true
                })?;
                continue;
            }
            let mut before = cursor.after(span.from)?;
            for column in 0..columns {
                let after = cursor.after(row.begin(column + 1))?;
                row.add_sums(column, &before, &after);
                before = after;
            }
        }
        Ok(row.shares(count))
    }

    fn coarse_row(&self, locations: Range<u32>, span: Span, columns: usize) -> Result<Vec<u8>> {
        let all = self.locations();
        let is_whole = |size: u32| {
            let is_end = |at: u32| at.is_multiple_of(size) || at == all;
            locations.start.is_multiple_of(size) && is_end(locations.end)
        };
        let most = self.all.header.bins as usize;
        let (level, size, bins) = if locations == (0..all) {
            (Level::All, all, most)
        } else if is_whole(self.size) {
            (Level::Group, self.size, most)
        } else if self.size > SOME && is_whole(SOME) {
            (Level::Some, SOME, pyramid::bins(all.div_ceil(SOME) as usize, most))
        } else {
            (Level::One, 1, pyramid::bins(all as usize, most))
        };
        let end = self.all.header.end;
        let mut sums = vec![[0.0_f32; CLASSES]; columns];
        let mut first = locations.start;
        while first < locations.end {
            let count = size.min(all - first);
            let row = self.row(level, first, bins)?;
            for (column, sums) in sums.iter_mut().enumerate() {
                let at = Span {
                    from: span.column(column, columns),
                    to: span.column(column + 1, columns),
                };
                if at.length() == 0 {
                    continue;
                }
                let mut bin = pyramid::bin_of(at.from, bins, end);
                let scale = count as f32 / at.length() as f32;
                let mut from = pyramid::begin(bin, bins, end);
                while bin < bins && from < at.to {
                    let to = pyramid::begin(bin + 1, bins, end);
                    let part = Span { from, to }.common(at).length() as f32 * scale;
                    let cell = row.get(bin * CELL..bin * CELL + CLASSES).unwrap_or(&[]);
                    sums.iter_mut().zip(cell).for_each(|(sum, it)| *sum += part * f32::from(*it));
                    bin += 1;
                    from = to;
                }
            }
            first += count;
        }
        let count = (locations.end - locations.start) as f32;
        Ok(sums.iter().flatten().map(|sum| (sum / count + 0.5) as u8).collect())
    }

    /// Reads a row of the pyramid.
    fn row(&self, level: Level, first: u32, bins: usize) -> Result<Vec<u8>> {
        let length = (bins * CELL) as u64;
        let whole = length + 4;
        if level == Level::All || level == Level::Group {
            let row =
                if level == Level::All { self.groups.len() as u32 } else { first / self.size };
            let at = u64::from(row).saturating_mul(whole).saturating_add(self.rows);
            return self.all.read_checked(at, length);
        }
        let outside = || self.all.damaged(0, "there is no such location");
        let group = self.groups.get((first / self.size) as usize).ok_or_else(outside)?;
        let place = u64::from(first % self.size);
        let at = match level {
            Level::One => place.saturating_mul(whole).saturating_add(group.summary.rows),
            _ => {
                let some = (place / u64::from(SOME)).saturating_mul(whole);
                some.saturating_add(group.summary.some_rows)
            }
        };
        group.part.read_checked(at, length)
    }
}

/// Sums of the columns of a row.
struct ExactRow {
    span: Span,
    /// Begins of columns, and the end of the last.
    begins: Vec<u64>,
    sums: Vec<Sums>,
    /// How many slices of each class begin to cover whole columns here, minus how many end to.
    covers: Vec<[i64; CLASSES]>,
}

impl ExactRow {
    fn new(span: Span, columns: usize) -> Self {
        let begins = (0..=columns).map(|it| span.column(it, columns).0).collect();
        let (sums, covers) = (vec![[0; CLASSES]; columns], vec![[0; CLASSES]; columns + 1]);
        Self { span, begins, sums, covers }
    }

    fn begin(&self, column: usize) -> Time {
        self.begins.get(column).map_or(self.span.to, |it| Time(*it))
    }

    /// Returns the column that contains a time of the span.
    fn column(&self, time: Time) -> usize {
        let columns = self.sums.len();
        let (part, whole) = (time.0 - self.span.from.0, self.span.length().max(1));
        let near = match part.checked_mul(columns as u64) {
            Some(scaled) => scaled / whole,
            None => (u128::from(part) * columns as u128 / u128::from(whole)) as u64,
        };
        let mut column = (near as usize).min(columns.saturating_sub(1));
        // Begins of columns are rounded down, so that a time may lie in a later one.
        while column + 1 < columns && self.begin(column + 1) <= time {
            column += 1;
        }
        column
    }

    /// Adds a part of the span.
    fn add(&mut self, part: Span, class: Class) {
        if part.length() == 0 {
            return;
        }
        let (first, last) = (self.column(part.from), self.column(Time(part.to.0 - 1)));
        if first == last {
            self.add_to(first, class, part.length());
            return;
        }
        let (after_first, begin_last) = (self.begin(first + 1), self.begin(last));
        self.add_to(first, class, after_first.0 - part.from.0);
        self.add_to(last, class, part.to.0 - begin_last.0);
        for (column, by) in [(first + 1, 1), (last, -1)] {
            if let Some(it) = self.covers.get_mut(column).and_then(|it| it.get_mut(class as usize))
            {
                *it += by;
            }
        }
    }

    fn add_to(&mut self, column: usize, class: Class, time: u64) {
        if let Some(sum) = self.sums.get_mut(column).and_then(|it| it.get_mut(class as usize)) {
            *sum = sum.saturating_add(time);
        }
    }

    /// Adds the difference of sums at both ends of a column.
    fn add_sums(&mut self, column: usize, before: &Sums, after: &Sums) {
        if let Some(sums) = self.sums.get_mut(column) {
            for ((sum, before), after) in sums.iter_mut().zip(before).zip(after) {
                *sum = sum.saturating_add(before.saturating_sub(*after));
            }
        }
    }

    /// Returns the shares of so many locations.
    fn shares(&self, locations: u128) -> Vec<u8> {
        let mut open = [0; CLASSES];
        let mut shares = Vec::with_capacity(self.sums.len() * CLASSES);
        let lengths = self.begins.windows(2).map(|it| match it {
            [from, to] => to - from,
            _ => 0,
        });
        for ((sums, covers), length) in self.sums.iter().zip(&self.covers).zip(lengths) {
            let whole = u128::from(length) * locations;
            for ((sum, open), by) in sums.iter().zip(&mut open).zip(covers) {
                *open += by;
                let covered = length.saturating_mul(u64::try_from(*open).unwrap_or(0));
                shares.push(share(sum.saturating_add(covered), whole));
            }
        }
        shares
    }
}

/// Rows of the pyramid by the number of their locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    One,
    Some,
    Group,
    All,
}
