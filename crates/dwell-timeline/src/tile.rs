//! Shares of classes for rows of locations and columns of time.

use std::ops::Range;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::cursor::Cursor;
use crate::format::SOME;
use crate::index::Index;
use crate::pyramid::{self, CELL, share};
use crate::{CLASSES, Location, Result, Span, Sums};

/// How a tile is computed.
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
    /// Share of each class as a part of 255, row by row and column by column.
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

    fn exact_row(&self, locations: Range<u32>, span: Span, columns: usize) -> Result<Vec<u8>> {
        let mut sums: Vec<Sums> = vec![[0; CLASSES]; columns];
        let count = u128::from(locations.end - locations.start);
        for location in locations {
            let Some(mut cursor) = Cursor::new(self, Location(location)) else { continue };
            let mut before = cursor.after(span.from)?;
            for (column, sums) in sums.iter_mut().enumerate() {
                let after = cursor.after(span.column(column + 1, columns))?;
                for ((sum, before), after) in sums.iter_mut().zip(before).zip(after) {
                    *sum += before.saturating_sub(after);
                }
                before = after;
            }
        }
        let length = |column| span.column(column + 1, columns).0 - span.column(column, columns).0;
        let shares = sums.iter().enumerate().flat_map(|(column, sums)| {
            let whole = u128::from(length(column)) * count;
            sums.map(|sum| share(sum, whole))
        });
        Ok(shares.collect())
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
                while bin < bins && pyramid::begin(bin, bins, end) < at.to {
                    let (from, to) =
                        (pyramid::begin(bin, bins, end), pyramid::begin(bin + 1, bins, end));
                    let part = Span { from, to }.common(at).length() as f32 * scale;
                    let cell = row.get(bin * CELL..bin * CELL + CLASSES).unwrap_or(&[]);
                    sums.iter_mut().zip(cell).for_each(|(sum, it)| *sum += part * f32::from(*it));
                    bin += 1;
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
            return self.all.read_checked(self.rows + u64::from(row) * whole, length);
        }
        let outside = || self.all.damaged(0, "there is no such location");
        let group = self.groups.get((first / self.size) as usize).ok_or_else(outside)?;
        let place = u64::from(first % self.size);
        let at = match level {
            Level::One => group.summary.rows + place * whole,
            _ => group.summary.some_rows + place / u64::from(SOME) * whole,
        };
        group.part.read_checked(at, length)
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
