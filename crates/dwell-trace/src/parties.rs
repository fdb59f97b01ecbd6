//! Parties of the communication matrix, which are its rows and columns: processes, or nodes in large runs.

use crate::ids::{Ordinal, PartyNumber, ProcessNumber};
use crate::system::System;

/// Greatest number of processes for which the matrix lists processes. Larger runs are listed by node, so that the
/// matrix stays small enough to keep in memory and to read.
pub const MOST: usize = 1024;

impl System {
    /// Returns the party of a process.
    #[inline]
    pub fn party(&self, process: ProcessNumber) -> PartyNumber {
        PartyNumber(if self.parties_are_nodes() { self.node(process).0 } else { process.0 })
    }

    /// Returns the number of parties.
    pub fn parties(&self) -> usize {
        if self.parties_are_nodes() { self.nodes.len() } else { self.processes.len() }
    }

    /// Returns `true` if parties are nodes, and `false` if they are processes.
    #[inline]
    pub fn parties_are_nodes(&self) -> bool {
        self.processes.len() > MOST
    }

    /// Returns the name of a party, which every rank of an analysis knows.
    pub fn party_name(&self, party: PartyNumber) -> Option<&str> {
        match self.parties_are_nodes() {
            true => self.nodes.get(party.index()).map(String::as_str),
            false => self.name(ProcessNumber(party.0)),
        }
    }
}
