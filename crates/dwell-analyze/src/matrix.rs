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
    pub(crate) count: u32,
}

impl Parties {
    pub(crate) fn of(system: &System) -> Self {
        if system.processes.len() <= MOST {
            return Self { of: None, count: system.processes.len() as u32 };
        }
        let of = system.processes.iter().map(|process| process.node).collect();
        Self { of: Some(of), count: system.nodes.len() as u32 }
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

/// Part of the matrix: the rows of some origins.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    /// By origin; a list of targets for each kind that it uses.
    rows: Vec<(u32, [Vec<Cell>; 4])>,
    count: usize,
}

impl Matrix {
    /// Place of the row of a process, made if it is not there.
    pub(crate) fn row(&mut self, process: u32, parties: &Parties) -> usize {
        let party = parties.party(process);
        self.count = parties.count as usize;
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
        let cells = self.rows.get_mut(row)?.1.get_mut(kind as usize)?;
        if cells.is_empty() {
            cells.resize(self.count, Cell::default());
        }
        cells.get_mut(to as usize)
    }

    /// Adds everything to a sum.
    pub(crate) fn add_to(&self, sum: &mut BTreeMap<(u32, u32, Kind), Cell>) {
        for (from, row) in &self.rows {
            for (kind, cells) in Kind::ALL.into_iter().zip(row) {
                for (to, cell) in (0..).zip(cells) {
                    if *cell != Cell::default() {
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
}
