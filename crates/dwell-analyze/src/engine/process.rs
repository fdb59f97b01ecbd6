//! State of a process during the replay: its locations and the facts that it owns.

use std::collections::HashMap;

use otf2::id::RmaWinRef;

use crate::archive::ids::{LocationNumber, NodeNumber, Ordinal, ProcessNumber};
use crate::archive::time::Time;
use crate::archive::world::World;
use crate::engine::hash::Mixed;
use crate::engine::held::Held;
use crate::engine::location::Location;
use crate::engine::outstanding::Outstanding;
use crate::engine::polling::Loops;
use crate::engine::regions::{Regions, Span};

/// State of a process during the replay.
#[derive(Debug)]
pub(crate) struct Process {
    /// Number of the process.
    pub(crate) index: ProcessNumber,
    /// Number of the node that the process runs on.
    pub(crate) node: NodeNumber,
    pub(crate) locations: Vec<Location>,
    /// Place of the process's row in the communication matrix of its shard.
    pub(crate) row: usize,
    /// True if the process has exactly one location.
    pub(crate) alone: bool,
    /// True if everything that the process did up to the horizon was recorded.
    pub(crate) seen: bool,
    /// True if calls that may have progressed operations of others were not recorded.
    pub(crate) dark: bool,
    /// Times at which the process certainly progressed operations of others.
    pub(crate) sure: Regions,
    /// Times at which the process may have progressed operations of others.
    pub(crate) wide: Regions,
    pub(crate) outstanding: Outstanding,
    /// Bytes of operations since the last call that completed operations at their targets.
    pub(crate) moved: u64,
    /// Calls whose rest is judged later.
    pub(crate) held: Held,
    /// Polling loops whose releases are being determined.
    pub(crate) loops: Loops,
    /// End of the last operation on each window and target, for MPI fences and epochs.
    pub(crate) touched: HashMap<(RmaWinRef, ProcessNumber), Time, Mixed>,
}

impl Process {
    pub(crate) fn new(world: &World, index: ProcessNumber) -> Self {
        let process = world.system.processes.get(index.index());
        let (first, count) = process.map_or((0, 0), |it| (it.first.0, it.count));
        Self {
            index,
            node: world.system.node(index),
            locations: (first..first + count).map(LocationNumber).map(Location::new).collect(),
            row: 0,
            alone: count == 1,
            seen: false,
            dark: world.dark,
            sure: Regions::default(),
            wide: Regions::default(),
            outstanding: Outstanding::default(),
            moved: 0,
            held: Held::default(),
            loops: Loops::default(),
            touched: HashMap::default(),
        }
    }

    /// Returns the state of one of the process's locations, by the number of the location in the report.
    pub(crate) fn location_mut(&mut self, number: LocationNumber) -> Option<&mut Location> {
        let first = self.locations.first()?.number;
        self.locations.get_mut(number.0.wrapping_sub(first.0) as usize)
    }

    /// Returns the location that entered a call which progresses at a time: the first one, as only the process is known.
    #[inline]
    pub(crate) fn entered_at(&self, _: Time) -> LocationNumber {
        self.locations.first().map_or(LocationNumber(0), |it| it.number)
    }

    /// Returns `true` if the activity of the process is unknown at some time between the start of an operation and the
    /// region that served it or the end of the call, because recording was off or the trace ends before.
    #[inline]
    pub(crate) fn is_blind(&self, start: Time, leave: Time, served: Time) -> bool {
        self.dark || !self.seen && self.has_gap(start, leave, served)
    }

    #[inline(never)]
    fn has_gap(&self, start: Time, leave: Time, served: Time) -> bool {
        let until = served.min(leave);
        let off = |gap: &Span| gap.begin < until && gap.end > start;
        let still = |location: &Location| location.off.is_some_and(|begin| begin < until);
        let silent = |location: &Location| still(location) || location.gaps.iter().any(off);
        let over = |location: &Location| location.ended() && location.now < until;
        self.locations.iter().any(silent) || self.locations.iter().all(over)
    }

    /// Returns the memory in bytes that facts and open questions take.
    pub(crate) fn bytes(&self) -> usize {
        self.sure.bytes() + self.wide.bytes() + self.outstanding.bytes()
    }
}
