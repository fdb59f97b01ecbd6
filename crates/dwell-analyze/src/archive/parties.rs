//! Parties of the communication matrix: processes, or nodes in large runs.

use crate::archive::system::System;

/// Greatest number of processes for which the matrix lists processes. Larger runs are listed by node, so that the
/// matrix stays small enough to keep in memory and to read.
pub const MOST: usize = 1024;

/// Mapping of processes to the rows and columns of the matrix.
#[derive(Clone, Debug)]
pub(crate) struct Parties {
    /// Party of each process; `None` if every process is a party of its own.
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

    /// Returns `true` if parties are nodes.
    pub(crate) fn folded(&self) -> bool {
        self.of.is_some()
    }
}
