//! The communication matrix as users read it.

use dwell_trace::ids::PartyNumber;
use dwell_trace::world::World;

use crate::engine::matrix::{self, Cell, Kind};

/// One row of the communication matrix: traffic of one kind from one origin to one target. The matrix covers one layer
/// only, the one at which waits are judged, so that traffic of a layer below is not counted twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Name of the origin: a process, or a node if the run has more than [`MOST_PARTIES`](crate::MOST_PARTIES) processes.
    pub origin: String,
    /// Name of the target, which is a process or a node like the origin.
    pub target: String,
    /// Kind of communication, such as puts or messages.
    pub kind: Kind,
    /// Number of operations, bytes and times of this pair.
    pub cell: Cell,
}

/// Returns the rows of the communication matrix with the names of origins and targets, ordered by the numbers of origin
/// and target and by kind.
pub(crate) fn named(world: &World, sum: &matrix::Sum) -> Vec<Pair> {
    let name = |party| world.system.party_name(party).map(str::to_owned).unwrap_or_default();
    let pair = |(&(from, to, kind), &cell): (&(PartyNumber, PartyNumber, Kind), &Cell)| Pair {
        origin: name(from),
        target: name(to),
        kind,
        cell,
    };
    sum.iter().map(pair).collect()
}

/// Formats pairs as in the member [`PAIRS`](crate::PAIRS) of a report.
pub(crate) fn csv(pairs: &[Pair]) -> String {
    dwell_model::pairs::write(pairs.iter().map(|it| dwell_model::pairs::Row {
        origin: it.origin.as_str().into(),
        target: it.target.as_str().into(),
        kind: it.kind,
        operations: it.cell.operations,
        bytes: it.cell.bytes,
        seconds: it.cell.time as f64 / 1e9,
        wait_seconds: it.cell.wait as f64 / 1e9,
    }))
}
