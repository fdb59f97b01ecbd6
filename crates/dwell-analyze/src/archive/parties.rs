//! Parties of the communication matrix: processes, or nodes in large runs.

use crate::archive::ids::{Ordinal, PartyNumber, ProcessNumber};
use crate::archive::system::System;

/// Greatest number of processes for which the matrix lists processes. Larger runs are listed by node, so that the
/// matrix stays small enough to keep in memory and to read.
pub const MOST: usize = 1024;

/// Mapping of processes to the rows and columns of the matrix.
#[derive(Clone, Debug)]
pub(crate) struct Parties {
    /// Party of each process; `None` if every process is a party of its own.
    of: Option<Vec<PartyNumber>>,
}

impl Parties {
    pub(crate) fn of(system: &System) -> Self {
        if system.processes.len() <= MOST {
            return Self { of: None };
        }
        let of = system.processes.iter().map(|process| PartyNumber(process.node.0)).collect();
        Self { of: Some(of) }
    }

    #[inline]
    pub(crate) fn party(&self, process: ProcessNumber) -> PartyNumber {
        match &self.of {
            None => PartyNumber(process.0),
            Some(of) => of.get(process.index()).copied().unwrap_or(PartyNumber(0)),
        }
    }

    /// Returns the number of parties.
    pub(crate) fn count(&self, system: &System) -> usize {
        if self.folded() { system.nodes.len() } else { system.processes.len() }
    }

    /// Returns `true` if parties are nodes.
    pub(crate) fn folded(&self) -> bool {
        self.of.is_some()
    }
}
