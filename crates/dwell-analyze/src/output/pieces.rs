//! Writes the values of a report, in pieces, with all threads of all ranks.
//!
//! In the file, the values of a metric are the rows of its call paths, one after the other, and a row has one value for
//! each location. A rank has the values of its own locations, which lie in every row: writing them from there would be
//! many small writes, to blocks of the file that other ranks write to as well. So each area of the file is cut into
//! [`Piece`]s, which belong to the ranks in turn. In each round all ranks send the values that they have to the owners of
//! as many pieces as there are ranks, and each owner writes its piece as a whole. A rank never holds more than one piece
//! and what it contributes to those of one round.
//!
//! Pieces begin and end at multiples of [`PIECE`] in the file, except at the ends of a metric, so that processes do not
//! write to the same block of a parallel file system. The first rank writes everything that is not a value. Clients of NFS
//! may write a whole page where a process wrote a part of it, with zeros where another client has written since. So no two
//! ranks ever write to the same page: values of others for the first and the last page of an area are sent to the first
//! rank ([`split`]).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path as FilePath;

use cubex::{ReportWriter, UnfinishedReport};
use dwell_trace::ids::{CallPathNumber, LocationNumber};
use serde::{Deserialize, Serialize};

use crate::engine::transport::Transport;
use crate::error::Error;
use crate::output::report::{self, CELL, Input, Source};
use crate::output::sections::{Member, OwnLocations, Section};
use crate::output::tree::Branch;

/// Least size of a piece in bytes, unless the values of a metric are fewer. A piece has less than three times as many.
const PIECE: u64 = 1 << 20;

/// Places of the values in the file, which the first rank sends to the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plan {
    /// Name of the unfinished file in the directory of the report.
    file: Vec<u8>,
    areas: Vec<Area>,
}

/// Place of the values of one metric.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Area {
    /// Number of the metric in the list of all metrics of the analysis.
    metric: u32,
    /// Offset of the first row in bytes.
    offset: u64,
    /// Call paths of the rows; `None` for rows of zeros.
    rows: Vec<Option<CallPathNumber>>,
}

/// Some consecutive bytes of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Index of the area.
    area: usize,
    /// First byte, and the one after the last.
    begin: u64,
    end: u64,
}

/// Cuts an area into pieces.
fn cut(area: usize, begin: u64, end: u64) -> impl Iterator<Item = Piece> {
    let mut at = begin;
    std::iter::from_fn(move || {
        let begin = at;
        at = (at + PIECE).next_multiple_of(PIECE);
        if at.saturating_add(PIECE) > end {
            at = end;
        }
        (begin < end).then_some(Piece { area, begin, end: at })
    })
}

/// Values of this rank.
struct Values<'a> {
    areas: &'a [Area],
    /// Source of the values of each area.
    sources: Vec<Source>,
    own: OwnLocations<'a>,
    sections: &'a [Section],
    /// Number of all locations.
    locations: u64,
}

/// Header of a run of values: the place of the first in its piece, and their number.
const HEAD: usize = 8;

impl Values<'_> {
    /// Returns the first value of a piece and the one after the last, counted from the beginning of the area. The ends
    /// of a piece may be within values.
    fn cells(&self, piece: Piece) -> (u64, u64) {
        let offset = self.areas.get(piece.area).map_or(0, |area| area.offset);
        ((piece.begin - offset) / CELL, (piece.end - offset).div_ceil(CELL))
    }

    /// Calls `show` for each row of a piece that has a call path: with the first value in the piece and its location,
    /// and the number of values.
    fn rows(
        &self,
        piece: Piece,
        mut show: impl FnMut(Source, CallPathNumber, usize, std::ops::Range<LocationNumber>),
    ) {
        let (Some(area), Some(&source)) =
            (self.areas.get(piece.area), self.sources.get(piece.area))
        else {
            return;
        };
        let (first, last) = self.cells(piece);
        let each = self.locations.max(1);
        for row in first / each..last.div_ceil(each) {
            let Some(&Some(path)) = area.rows.get(row as usize) else { continue };
            let begin = first.max(row * each);
            let end = last.min((row + 1) * each);
            let locations = LocationNumber((begin - row * each) as u32)
                ..LocationNumber((end - row * each) as u32);
            show(source, path, (begin - first) as usize, locations);
        }
    }

    /// Returns the values that this rank has for a piece, as runs.
    fn contribution(&self, piece: Piece) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.rows(piece, |source, path, place, locations| {
            let within = |section| part_of(Section::members(section, path), &locations);
            let parts = || self.sections.iter().map(within);
            let first = parts().find_map(|part| part.first());
            let last = parts().rev().find_map(|part| part.last());
            let (Some(first), Some(last)) = (first, last) else { return };
            let at = place + (first.0.0 - locations.start.0) as usize;
            let count = (last.0.0 - first.0.0) as usize + 1;
            bytes.extend_from_slice(&(at as u32).to_le_bytes());
            bytes.extend_from_slice(&(count as u32).to_le_bytes());
            let start = bytes.len();
            (0..count).for_each(|_| bytes.extend_from_slice(&source.none()));
            let (cells, _) = bytes.get_mut(start..).unwrap_or_default().as_chunks_mut();
            for &member in parts().flatten() {
                let cell = cells.get_mut((member.0.0 - first.0.0) as usize);
                if let (Some(cell), Some(node)) = (cell, self.own.node(member)) {
                    *cell = source.cell(node);
                }
            }
        });
        bytes
    }

    /// Puts a piece together from what all ranks have for it.
    fn assembled<'b>(
        &self,
        piece: Piece,
        parts: impl Iterator<Item = &'b [u8]>,
    ) -> Result<Vec<u8>, usize> {
        let (first, last) = self.cells(piece);
        let mut cells = vec![[0; CELL as usize]; (last - first) as usize];
        self.rows(piece, |source, _, place, locations| {
            let count = (locations.end.0 - locations.start.0) as usize;
            let row = cells.get_mut(place..place + count).unwrap_or_default();
            row.fill(source.none());
        });
        for (rank, mut rest) in parts.enumerate() {
            while !rest.is_empty() {
                let Some((head, more)) = rest.split_first_chunk::<HEAD>() else { return Err(rank) };
                let [a, b, c, d, e, f, g, h] = *head;
                let at = u32::from_le_bytes([a, b, c, d]) as usize;
                let count = u32::from_le_bytes([e, f, g, h]) as usize;
                let place = cells.get_mut(at..at.saturating_add(count));
                let values = more.split_at_checked(count.saturating_mul(CELL as usize));
                let (Some(place), Some((values, more))) = (place, values) else {
                    return Err(rank);
                };
                place.copy_from_slice(values.as_chunks().0);
                rest = more;
            }
        }
        let offset = self.areas.get(piece.area).map_or(0, |area| area.offset) + first * CELL;
        let mut bytes = cells.into_flattened();
        bytes.truncate((piece.end - offset) as usize);
        bytes.drain(..(piece.begin - offset) as usize);
        Ok(bytes)
    }
}

/// Returns the members with locations of a range.
fn part_of<'m>(members: &'m [Member], locations: &std::ops::Range<LocationNumber>) -> &'m [Member] {
    let begin = members.partition_point(|it| it.0 < locations.start);
    let end = members.partition_point(|it| it.0 < locations.end);
    members.get(begin..end).unwrap_or_default()
}

/// Size of the pages that file systems cache, in bytes; no machine has larger ones.
const PAGE: u64 = 64 << 10;

/// Bytes for a place in the file.
type Placed = (u64, Vec<u8>);

/// Divides bytes for a place in the file into those before the first page that they fill, those of whole pages, and those
/// behind.
fn split(offset: u64, bytes: &[u8]) -> [(u64, &[u8]); 3] {
    let length = bytes.len();
    let before = (offset.wrapping_neg() % PAGE).min(length as u64) as usize;
    let (before, rest) = bytes.split_at_checked(before).unwrap_or((bytes, &[]));
    let inside = rest.len() - rest.len() % PAGE as usize;
    let (inside, behind) = rest.split_at_checked(inside).unwrap_or((&[], rest));
    let at = offset + before.len() as u64;
    [(offset, before), (at, inside), (at + inside.len() as u64, behind)]
}

/// The file of the report: the first rank has made it, others open it when they write for the first time.
enum Target<'a> {
    Made(&'a ReportWriter),
    Named {
        path: &'a FilePath,
        name: OsString,
        file: Option<UnfinishedReport>,
        /// Bytes that the first rank has to write.
        edges: Vec<Placed>,
    },
}

impl Target<'_> {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> cubex::Result<()> {
        let (path, name, file, edges) = match self {
            Self::Made(writer) => return writer.write_at(offset, bytes),
            Self::Named { path, name, file, edges } => (path, name, file, edges),
        };
        let [before, inside, behind] = split(offset, bytes);
        let filled = [before, behind].into_iter().filter(|it| !it.1.is_empty());
        edges.extend(filled.map(|(offset, bytes)| (offset, bytes.to_vec())));
        if inside.1.is_empty() {
            return Ok(());
        }
        let file = match file {
            Some(file) => file,
            None => file.insert(UnfinishedReport::open(*path, name)?),
        };
        file.write_at(inside.0, inside.1)
    }

    /// Closes the file. Returns what the first rank has to write.
    fn close(self) -> Vec<Placed> {
        match self {
            Self::Made(_) => Vec::new(),
            Self::Named { edges, .. } => edges,
        }
    }
}

/// Writes the report of a replay, together with all other ranks. `pairs` is the part of the list of pairs that belongs to
/// this rank; the parts of all ranks are in the order of the ranks.
///
/// # Errors
/// If a rank cannot write the report, the first rank returns the error, and the others return `Ok`.
pub(crate) fn write(
    transport: &Transport<'_>,
    input: &Input<'_>,
    own: OwnLocations<'_>,
    sections: &[Section],
    pairs: &str,
    path: &FilePath,
) -> Result<(), Error> {
    let (rank, _) = transport.rank();
    let begun = match rank {
        0 => Some(begin(input, path)),
        _ => None,
    };
    let plan = begun.as_ref().map(|begun| begun.as_ref().ok().map(|it| it.1.clone()));
    let plan = transport.broadcast("places of values", plan)?;
    let writer = begun.transpose()?.map(|it| it.0);
    let Some(Plan { file, areas }) = plan else { return Ok(()) };
    let all = report::metrics(input.world);
    let sources = areas.iter().filter_map(|it| all.get(it.metric as usize).copied()).collect();
    let locations = input.world.system.locations() as u64;
    let values = Values { areas: &areas, sources, own, sections, locations };
    let name = OsString::from_vec(file);
    let mut target = match &writer {
        Some(writer) => Target::Made(writer),
        None => Target::Named { path, name, file: None, edges: Vec::new() },
    };
    let mut failed = write_values(transport, &values, &mut target)?;

    let sizes = transport.share("size of the list of pairs", vec![pairs.len() as u64])?;
    let reserved = writer
        .as_ref()
        .map(|writer| writer.reserve_extra(dwell_model::pairs::MEMBER, sizes.iter().sum()));
    let place = reserved.as_ref().map(|place| place.as_ref().ok().copied());
    let place = transport.broadcast("place of the list of pairs", place)?;
    failed = failed.and(reserved.transpose().map(drop));
    if let Some(place) = place.filter(|_| !pairs.is_empty()) {
        let before: u64 = sizes.iter().take(rank).sum();
        failed = failed.and_then(|()| target.write(place + before, pairs.as_bytes()));
    }
    // The first rank finishes the file after all others have closed it.
    let edges = target.close().into_iter().map(|edge| (0, edge));
    transport.scatter("edges of pieces", edges, |(offset, bytes): Placed| {
        if let (Ok(()), Some(writer)) = (&failed, &writer) {
            failed = writer.write_at(offset, &bytes);
        }
    })?;
    let reason = failed.as_ref().err().map(|error| (rank, error.to_string()));
    let reason = transport.reduce("the report", reason, |first, later| {
        *first = first.take().or(later);
    })?;
    let Some(writer) = writer else { return Ok(()) };
    failed?;
    match reason.flatten() {
        Some((rank, reason)) => Err(Error::Elsewhere { rank, reason }),
        None => Ok(writer.finish()?),
    }
}

/// Begins the report at the first rank.
fn begin(input: &Input<'_>, path: &FilePath) -> cubex::Result<(ReportWriter, Plan)> {
    let has = |source: Source, _: CallPathNumber, branch: &Branch| source.is_in(&branch.totals);
    let (writer, sheets) = report::begin(input, has, path)?;
    let mut areas = Vec::new();
    for sheet in &sheets.all {
        let Some(place) = sheet.place() else { continue };
        let row = |cnode| sheets.path(cnode).filter(|path| sheet.paths.binary_search(path).is_ok());
        let rows = place.rows.into_iter().map(row).collect();
        areas.push(Area { metric: sheet.number as u32, offset: place.offset, rows });
    }
    let file = OsStr::as_bytes(writer.temporary_name()).to_vec();
    Ok((writer, Plan { file, areas }))
}

/// Writes all values, each rank some pieces. Returns the first error of this rank in writing.
fn write_values(
    transport: &Transport<'_>,
    values: &Values<'_>,
    target: &mut Target<'_>,
) -> Result<cubex::Result<()>, Error> {
    let (rank, ranks) = transport.rank();
    let pieces: Vec<Piece> = (0..)
        .zip(values.areas)
        .flat_map(|(at, area)| {
            let bytes = area.rows.len() as u64 * values.locations * CELL;
            cut(at, area.offset, area.offset + bytes)
        })
        .collect();
    if let (Target::Made(writer), 1) = (&*target, ranks) {
        let written = transport.map(pieces, &|piece| {
            let bytes =
                values.assembled(piece, [values.contribution(piece).as_slice()].into_iter());
            writer.write_at(piece.begin, &bytes.unwrap_or_default())
        });
        return Ok(written.into_iter().collect());
    }
    let mut failed = Ok(());
    let mut into = Vec::new();
    for round in pieces.chunks(ranks.max(1)) {
        let mut out = transport.map(round.iter().copied(), &|piece| values.contribution(piece));
        out.resize_with(ranks, Vec::new);
        transport.exchange("values", &mut out, &mut into)?;
        let Some(&piece) = round.get(rank) else { continue };
        let parts = into.iter().map(Vec::as_slice);
        let bytes = values.assembled(piece, parts).map_err(|rank| {
            let reason = "values do not fit into their piece".into();
            dwell_mpi::Error::Garbled { rank, reason }
        })?;
        failed = failed.and_then(|()| target.write(piece.begin, &bytes));
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use super::{PAGE, PIECE, Piece, cut, split};

    fn sizes(begin: u64, end: u64) -> Vec<u64> {
        let pieces: Vec<Piece> = cut(3, begin, end).collect();
        assert!(pieces.iter().all(|piece| piece.area == 3));
        assert!(pieces.windows(2).all(|pair| pair[0].end == pair[1].begin));
        assert!(pieces.windows(2).all(|pair| pair[0].end % PIECE == 0));
        assert_eq!(pieces.first().map_or(begin, |it| it.begin), begin);
        assert_eq!(pieces.last().map_or(end, |it| it.end), end);
        pieces.iter().map(|piece| piece.end - piece.begin).collect()
    }

    #[test]
    fn whole_pages_are_written_and_edges_are_sent() {
        let page = PAGE as usize;
        let bytes: Vec<u8> = (0..4 * page).map(|at| at as u8).collect();
        for offset in [0, 1, PAGE - 1, PAGE, 7 * PAGE + 10] {
            for length in [0, 1, page - 1, page, page + 1, 2 * page - 10, 3 * page + 5] {
                let parts = split(offset, &bytes[..length]);
                assert_eq!(parts.map(|it| it.1).concat(), bytes[..length]);
                let [before, inside, behind] = parts;
                assert_eq!((before.0, before.0 + before.1.len() as u64), (offset, inside.0));
                assert_eq!(inside.0 + inside.1.len() as u64, behind.0);
                assert!(before.1.len() < page && behind.1.len() < page);
                assert_eq!(inside.1.len() % page, 0);
                assert!(inside.1.is_empty() || inside.0 % PAGE == 0);
            }
        }
        // A page is PIECE at most, so pieces that end at multiples of it have no edges there.
        assert_eq!(PIECE % PAGE, 0);
    }

    #[test]
    fn pieces_are_large_and_aligned() {
        assert_eq!(sizes(10, 10), [0; 0]);
        assert_eq!(sizes(10, 11), [1]);
        assert_eq!(sizes(10, PIECE), [PIECE - 10]);
        assert_eq!(sizes(10, 2 * PIECE + 10), [2 * PIECE]);
        assert_eq!(sizes(PIECE, 4 * PIECE), [PIECE; 3]);
        assert_eq!(sizes(10, 3 * PIECE), [2 * PIECE - 10, PIECE]);
        for begin in [0, 1, PIECE - 1, PIECE, PIECE + 1] {
            for end in [begin + PIECE, begin + 3 * PIECE, begin + 10 * PIECE - 1] {
                let within = |size: u64| (PIECE..3 * PIECE).contains(&size);
                assert!(sizes(begin, end).into_iter().all(within), "{begin} {end}");
            }
        }
    }
}
