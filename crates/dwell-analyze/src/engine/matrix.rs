//! The communication matrix: operations, bytes, time and waits for each pair of origin and target.
//!
//! In runs with more than [`MOST`](crate::archive::parties::MOST) processes the rows and columns are nodes, so that the matrix stays small.

use std::collections::BTreeMap;

pub use dwell_model::pairs::Kind;

use serde::{Deserialize, Serialize};

use crate::archive::ids::{Ordinal, PartyNumber, ProcessNumber};
use crate::archive::parties::{MOST, Parties};

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

/// The whole matrix, by origin, target and kind.
pub(crate) type Sum = BTreeMap<(PartyNumber, PartyNumber, Kind), Cell>;

/// Part of the matrix: the rows of the origins of one shard.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Matrix {
    /// Rows in no order: the origin, and its targets for each kind.
    rows: Vec<(PartyNumber, [Targets; 4])>,
}

/// Number of cells that are allocated together.
const BLOCK: u32 = 16;
/// Number of blocks that are found without a search: those of as many targets as a matrix of processes has.
const NEAR: usize = MOST / BLOCK as usize;

/// Targets of one origin. Only blocks with targets that the origin communicates with take memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Cells", from = "Cells")]
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

/// Targets of one origin as they travel to other processes.
type Cells = Vec<(PartyNumber, Cell)>;

impl From<Targets> for Cells {
    fn from(targets: Targets) -> Self {
        targets.iter().map(|(to, cell)| (to, *cell)).collect()
    }
}

impl From<Cells> for Targets {
    fn from(cells: Cells) -> Self {
        let mut targets = Self::default();
        for (to, cell) in cells {
            targets.cell(to).into_iter().for_each(|place| *place = cell);
        }
        targets
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
    /// Returns the place of the row of a process, and creates the row if it does not exist.
    pub(crate) fn row(&mut self, process: ProcessNumber, parties: &Parties) -> usize {
        let party = parties.party(process);
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

    /// Adds all cells of this part to the whole matrix.
    pub(crate) fn add_to(&self, sum: &mut Sum) {
        for (from, row) in &self.rows {
            for (kind, targets) in Kind::ALL.into_iter().zip(row) {
                for (to, cell) in targets.iter() {
                    let total = sum.entry((*from, to, kind)).or_default();
                    total.operations += cell.operations;
                    total.bytes += cell.bytes;
                    total.time += cell.time;
                    total.wait += cell.wait;
                }
            }
        }
    }
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
