//! Who communicates with whom: operations, bytes, time and wait for each pair.
//!
//! Above [`MOST`] processes the parties are nodes, so that the matrix stays small whatever the size of
//! the run.

use std::collections::BTreeMap;

use crate::system::System;

/// Most processes that are listed one by one.
pub const MOST: usize = 1024;

/// What the rows and columns of the matrix are.
#[derive(Clone, Debug)]
pub(crate) struct Parties {
    /// The party of each process; `None` if it is the process itself.
    of: Option<Vec<u32>>,
}

impl Parties {
    pub(crate) fn of(system: &System) -> Self {
        if system.processes.len() <= MOST {
            return Self { of: None };
        }
        let of = system.processes.iter().map(|process| process.node).collect();
        Self { of: Some(of) }
    }

    #[inline]
    pub(crate) fn party(&self, process: u32) -> u32 {
        match &self.of {
            None => process,
            Some(of) => of.get(process as usize).copied().unwrap_or(0),
        }
    }

    /// Whether parties are nodes.
    pub(crate) fn folded(&self) -> bool {
        self.of.is_some()
    }
}

/// Kind of communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Puts.
    Put,
    /// Gets.
    Get,
    /// Atomics.
    Atomic,
    /// Messages.
    Message,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Put, Self::Get, Self::Atomic, Self::Message];

    /// The name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic => "atomic",
            Self::Message => "message",
        }
    }
}

/// What went from one party to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds in the calls that issued them.
    pub time: u64,
    /// Nanoseconds of waits for the target.
    pub wait: u64,
}

/// What went from whom to whom, in order.
pub(crate) type Sum = BTreeMap<(u32, u32, Kind), Cell>;

/// Part of the matrix: the rows of some origins.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    /// By origin; targets for each kind.
    rows: Vec<(u32, [Targets; 4])>,
}

/// Cells that lie together.
const BLOCK: u32 = 16;

/// The targets of an origin: only those that it communicates with take room, and their neighbours.
#[derive(Debug, Default)]
struct Targets {
    /// First target of a block and its place, sorted.
    places: Vec<(u32, u32)>,
    blocks: Vec<[Cell; BLOCK as usize]>,
    /// What was looked up last.
    last: Option<(u32, u32)>,
}

impl Targets {
    #[inline(always)]
    fn cell(&mut self, to: u32) -> Option<&mut Cell> {
        let first = to - to % BLOCK;
        let place = match self.last {
            Some((known, place)) if known == first => place,
            _ => self.place(first),
        };
        self.blocks.get_mut(place as usize)?.get_mut((to % BLOCK) as usize)
    }

    #[inline(never)]
    fn place(&mut self, first: u32) -> u32 {
        let place = match self.places.binary_search_by_key(&first, |it| it.0) {
            Ok(at) => self.places.get(at).map_or(0, |it| it.1),
            Err(at) => {
                let place = self.blocks.len() as u32;
                self.blocks.push(Default::default());
                self.places.insert(at, (first, place));
                place
            }
        };
        self.last = Some((first, place));
        place
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &Cell)> {
        let block = |&(first, place): &(u32, u32)| {
            let cells = self.blocks.get(place as usize).into_iter().flatten();
            (first..).zip(cells)
        };
        self.places.iter().flat_map(block).filter(|(_, cell)| **cell != Cell::default())
    }
}

impl Matrix {
    /// Place of the row of a process, made if it is not there.
    pub(crate) fn row(&mut self, process: u32, parties: &Parties) -> usize {
        let party = parties.party(process);
        match self.rows.iter().position(|row| row.0 == party) {
            Some(at) => at,
            None => {
                self.rows.push((party, Default::default()));
                self.rows.len() - 1
            }
        }
    }

    /// A cell of a row.
    #[inline(always)]
    pub(crate) fn cell(&mut self, row: usize, to: u32, kind: Kind) -> Option<&mut Cell> {
        self.rows.get_mut(row)?.1.get_mut(kind as usize)?.cell(to)
    }

    /// Adds everything to a sum.
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
            targets.cell(to).unwrap().operations += 1;
        }
        let counts: Vec<_> = targets.iter().map(|(to, cell)| (to, cell.operations)).collect();
        assert_eq!(counts, [(3, 1), (16, 1), (17, 2), (4_000_000_000, 2)]);
        assert_eq!(targets.blocks.len(), 3);
    }
}
