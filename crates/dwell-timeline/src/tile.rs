//! Shares of classes for rows of locations and columns of time.

use std::ops::Range;

use dwell_report::Class;
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::block::SLICES;
use crate::classes::{CLASSES, Sums};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::format::SOME;
use crate::ids::Location;
use crate::index::Index;
use crate::pyramid::{self, CELL, share};
use crate::slices::Slice;
use crate::span::{Span, Time};

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
        let range = |row: usize| {
            let from = first + row as u32 * band;
            from..from.saturating_add(band).min(end)
        };
        let parts: Vec<Vec<u8>> = match sharpness {
            Sharpness::Exact => {
                let row = |row: usize| self.exact_row(range(row), span, columns);
                (0..rows).into_par_iter().map(row).collect::<Result<_>>()?
            }
            // Without the threads that exact tiles keep busy, behind which a coarse one would wait.
            Sharpness::Coarse => {
                let row = |row: usize| self.coarse_row(range(row), span, columns);
                (0..rows).map(row).collect::<Result<_>>()?
            }
        };
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
        // The pyramid has rows of whole groups, which are read instead of those of each location.
        let at = |it: u32| it.next_multiple_of(self.size.max(1));
        let split = |it: &Range<Location>| {
            let (start, end) = (it.start.0, it.end.0.min(self.locations()));
            let first = at(start).min(end);
            let last = (end - end % self.size.max(1)).max(first);
            [start..first, first..last, last..end].map(|it| Location(it.start)..Location(it.end))
        };
        let parts = match sharpness {
            Sharpness::Coarse => parts.iter().flat_map(split).collect(),
            Sharpness::Exact => parts.to_vec(),
        };
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
        let slices = |row: &Vec<Range<Location>>| {
            self.each_of(row).into_iter().map(|it| self.blocks(it, span)).sum::<Result<u64>>()
        };
        let blocks: Vec<u64> = rows.par_iter().map(slices).collect::<Result<_>>()?;
        if blocks.iter().sum::<u64>().saturating_mul(SLICES as u64) > most {
            return Ok(None);
        }
        let row = |row: &Vec<Range<Location>>| {
            let locations = self.each_of(row);
            let mut sums = ExactRow::new(span, columns);
            for location in &locations {
                let Some(mut cursor) = Cursor::new(self, *location) else { continue };
                let mut column = columns.saturating_sub(1);
                cursor.each(span, |slice| {
                    if wanted(slice) {
                        sums.add(&mut column, slice.span.common(span), self.class(slice));
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
        let count = u128::from(locations.end - locations.start);
        // A row of many locations has no other row beside which it could be computed.
        let starts: Vec<u32> = locations.clone().step_by(SOME as usize).collect();
        let some = |first: &u32| {
            let mut row = ExactRow::new(span, columns);
            for location in *first..first.saturating_add(SOME).min(locations.end) {
                self.add_location(Location(location), &mut row)?;
            }
            Ok(row)
        };
        let rows: Vec<ExactRow> = starts.par_iter().map(some).collect::<Result<_>>()?;
        let whole = rows.into_iter().reduce(|row, more| row.joined(&more));
        Ok(whole.unwrap_or_else(|| ExactRow::new(span, columns)).shares(count))
    }

    /// Adds the time of a location.
    fn add_location(&self, location: Location, row: &mut ExactRow) -> Result<()> {
        let Some(mut cursor) = Cursor::new(self, location) else { return Ok(()) };
        let (span, columns) = (row.span, row.sums.len());
        if cursor.blocks_in(span)? <= BLOCKS_FOR_A_COLUMN * columns as u64 {
            let mut column = columns.saturating_sub(1);
            return cursor.each(span, |slice| {
                row.add(&mut column, slice.span.common(span), self.class(slice));
                true
            });
        }
        // Of many slices, sums at the ends of columns are enough.
        let mut before = cursor.after(span.from)?;
        for column in 0..columns {
            let after = cursor.after(row.begin(column + 1))?;
            row.add_sums(column, &before, &after);
            before = after;
        }
        Ok(())
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

/// Greatest number of blocks for each column that are read one after the other. Where there are more, looking up the sums at the ends of
/// columns takes less time, although each of them is read on its own.
const BLOCKS_FOR_A_COLUMN: u64 = 3;

/// Sums of the columns of a row.
struct ExactRow {
    span: Span,
    /// Begins of columns, and the end of the last.
    begins: Vec<u64>,
    sums: Vec<Sums>,
}

impl ExactRow {
    fn new(span: Span, columns: usize) -> Self {
        let begins = (0..=columns).map(|it| span.column(it, columns).0).collect();
        Self { span, begins, sums: vec![[0; CLASSES]; columns] }
    }

    fn begin(&self, column: usize) -> Time {
        self.begins.get(column).map_or(self.span.to, |it| Time(*it))
    }

    /// Adds the sums of other locations.
    fn joined(mut self, more: &Self) -> Self {
        for (own, more) in self.sums.iter_mut().zip(&more.sums) {
            own.iter_mut().zip(more).for_each(|(own, more)| *own = own.saturating_add(*more));
        }
        self
    }

    /// Adds a part of the span. Parts come with the last first; `column` is the last one for the first of them, and then the one in
    /// which the part before began.
    #[inline(always)]
    fn add(&mut self, column: &mut usize, part: Span, class: Class) {
        let mut to = part.to;
        while part.from < to {
            let begin = self.begin(*column);
            if begin < to {
                let from = begin.max(part.from);
                self.add_to(*column, class, to.0 - from.0);
                to = from;
            }
            if part.from >= begin || *column == 0 {
                return;
            }
            *column -= 1;
        }
    }

    #[inline(always)]
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

    /// Returns the shares of `locations` locations.
    fn shares(&self, locations: u128) -> Vec<u8> {
        let mut shares = Vec::with_capacity(self.sums.len() * CLASSES);
        let lengths = self.begins.windows(2).map(|it| match it {
            [from, to] => to - from,
            _ => 0,
        });
        for (sums, length) in self.sums.iter().zip(lengths) {
            let whole = u128::from(length) * locations;
            shares.extend(sums.map(|it| share(it, whole)));
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
