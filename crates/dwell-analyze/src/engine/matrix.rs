//! The communication matrix: operations, bytes, time and waits for each pair of origin and target.
//!
//! In runs with more than [`MOST`](dwell_trace::parties::MOST) processes the rows and columns are nodes, so that the matrix stays small.

use std::collections::BTreeMap;

pub use dwell_model::pairs::Kind;
use dwell_trace::ids::{Ordinal, PartyNumber};
use dwell_trace::parties::MOST;
use serde::{Deserialize, Serialize};

use crate::engine::transport::{Error, Transport};

/// Sums over all communication of one kind from one party to another. A pair that never communicates by this kind has
/// no cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Number of operations or messages.
    pub operations: u64,
    /// Bytes that were moved, in either direction.
    pub bytes: u64,
    /// Time in nanoseconds of the calls that issued the operations, waits included. A call with several operations
    /// counts for the kind and target of its first one.
    pub time: u64,
    /// Time in nanoseconds that the origin waited for progress of the target, by the upper bounds. Other waits are not
    /// part of it, and a profile has none.
    pub wait: u64,
}

impl Cell {
    /// Adds other communication.
    pub(crate) fn add(&mut self, more: &Self) {
        self.operations += more.operations;
        self.bytes += more.bytes;
        self.time += more.time;
        self.wait += more.wait;
    }
}

/// The whole matrix or the rows of some origins, by origin, target and kind.
pub(crate) type Sum = BTreeMap<(PartyNumber, PartyNumber, Kind), Cell>;

/// Part of the matrix: the rows of the origins of one shard.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    /// Rows in no order: the origin, and its targets for each kind.
    rows: Vec<(PartyNumber, [Targets; 4])>,
}

/// Least number of cells for each rank that gets any. They take about 1 MiB of the list of pairs.
const CELLS_PER_RANK: u64 = 16 * 1024;
/// Number of cells that are allocated together.
const BLOCK: u32 = 16;
/// Number of blocks that are found without a search: those of as many targets as a matrix of processes has.
const NEAR: usize = MOST / BLOCK as usize;

/// Targets of one origin. Only blocks with targets that the origin communicates with take memory.
#[derive(Clone, Debug)]
struct Targets {
    /// Places of the first blocks, counted from 1; 0 for those that do not exist.
    near: [u32; NEAR],
    /// First target of each further block and the place of the block, sorted by target.
    far: Vec<(u32, u32)>,
    blocks: Vec<[Cell; BLOCK as usize]>,
}

impl Default for Targets {
    fn default() -> Self {
        Self { near: [0; NEAR], far: Vec::new(), blocks: Vec::new() }
    }
}

impl Targets {
    #[inline(always)]
    fn cell(&mut self, PartyNumber(to): PartyNumber) -> Option<&mut Cell> {
        let place = match self.near.get((to / BLOCK) as usize) {
            Some(&place) if place > 0 => place - 1,
            _ => self.place(to),
        };
        self.blocks.get_mut(place as usize)?.get_mut((to % BLOCK) as usize)
    }

    /// Returns the place of the block of a target, and creates the block if it does not exist.
    #[inline(never)]
    fn place(&mut self, to: u32) -> u32 {
        let place = self.blocks.len() as u32;
        if let Some(known) = self.near.get_mut((to / BLOCK) as usize) {
            *known = place + 1;
            self.blocks.push(Default::default());
            return place;
        }
        let first = to - to % BLOCK;
        match self.far.binary_search_by_key(&first, |it| it.0) {
            Ok(at) => self.far.get(at).map_or(0, |it| it.1),
            Err(at) => {
                self.blocks.push(Default::default());
                self.far.insert(at, (first, place));
                place
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = (PartyNumber, &Cell)> {
        let near = (0..).step_by(BLOCK as usize).zip(&self.near);
        let near = near.filter(|it| *it.1 > 0).map(|(first, place)| (first, place - 1));
        let block = |(first, place): (u32, u32)| {
            let cells = self.blocks.get(place as usize).into_iter().flatten();
            PartyNumber(first).and_more().zip(cells)
        };
        let all = near.chain(self.far.iter().copied());
        all.flat_map(block).filter(|(_, cell)| **cell != Cell::default())
    }
}

impl Matrix {
    /// Returns the place of the row of a party, and creates the row if it does not exist.
    pub(crate) fn row(&mut self, party: PartyNumber) -> usize {
        match self.rows.iter().position(|row| row.0 == party) {
            Some(at) => at,
            None => {
                self.rows.push((party, Default::default()));
                self.rows.len() - 1
            }
        }
    }

    /// Returns a cell of a row, or `None` if there is no such row.
    #[inline(always)]
    pub(crate) fn cell(&mut self, row: usize, to: PartyNumber, kind: Kind) -> Option<&mut Cell> {
        self.rows.get_mut(row)?.1.get_mut(kind as usize)?.cell(to)
    }

    /// Returns the number of cells.
    pub(crate) fn len(&self) -> usize {
        self.rows.iter().flat_map(|(_, row)| row).map(|targets| targets.iter().count()).sum()
    }

    /// Returns all cells of this part with origin, target and kind, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ((PartyNumber, PartyNumber, Kind), &Cell)> {
        self.rows.iter().flat_map(|(from, row)| {
            let kinds = Kind::ALL.into_iter().zip(row);
            kinds.flat_map(move |(kind, targets)| {
                targets.iter().map(move |(to, cell)| ((*from, to, kind), cell))
            })
        })
    }
}

/// Brings the rows of each origin of all ranks together at one rank, so that no rank needs the whole matrix. Ranks get
/// consecutive origins; a small matrix belongs to the first rank. Returns the rows of this rank.
pub(crate) fn distribute<'m>(
    transport: &Transport<'_>,
    parties: usize,
    parts: impl Iterator<Item = &'m Matrix> + Clone,
) -> Result<Sum, Error> {
    let (_, ranks) = transport.rank();
    let cells: usize = parts.clone().map(Matrix::len).sum();
    let cells = transport.sum("number of pairs", cells as u64)?;
    let owners = (cells / CELLS_PER_RANK).clamp(1, ranks.max(1) as u64);
    let owner = |PartyNumber(from): PartyNumber| {
        (u64::from(from) * owners / parties.max(1) as u64).min(owners - 1) as usize
    };
    let values = parts
        .flat_map(Matrix::iter)
        .map(|((from, to, kind), &cell)| (owner(from), (from, to, kind as u8, cell)));
    let mut sum = Sum::new();
    transport.scatter("pairs", values, |(from, to, kind, cell): (_, _, u8, Cell)| {
        if let Some(&kind) = Kind::ALL.get(usize::from(kind)) {
            sum.entry((from, to, kind)).or_default().add(&cell);
        }
    })?;
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_communicates_takes_room() {
        let mut targets = Targets::default();
        for to in [4_000_000_000, 17, 3, 17, 16, 4_000_000_000] {
            targets.cell(PartyNumber(to)).unwrap().operations += 1;
        }
        let counts: Vec<_> = targets.iter().map(|(to, cell)| (to.0, cell.operations)).collect();
        assert_eq!(counts, [(3, 1), (16, 1), (17, 2), (4_000_000_000, 2)]);
        assert_eq!(targets.blocks.len(), 3);
    }
}
