//! State of a process during the replay: its locations and the facts that it owns.

use std::collections::{HashMap, HashSet};

use crate::archive::world::World;
use crate::engine::hash::Mixed;
use crate::engine::location::Location;
use crate::engine::locking::LockKey;
use crate::engine::outstanding::Outstanding;
use crate::engine::polling::Loops;
use crate::engine::regions::{Regions, Span};
use crate::patterns::collectives::Under;
use crate::patterns::evidence::Ledger;
use crate::patterns::{messages, progress, signals};

/// State of a process during the replay.
#[derive(Debug)]
pub(crate) struct Process {
    /// Number of the process.
    pub(crate) index: u32,
    /// Number of the node that the process runs on.
    pub(crate) node: u32,
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
    pub(crate) cases: Cases,
    /// Waits for progress of other processes that are not judged yet.
    pub(crate) ledger: Ledger,
    pub(crate) signals: signals::Inbox,
    pub(crate) messages: messages::Inbox,
    pub(crate) loops: Loops,
    /// Locks that were requested and whose time of acquisition is not recorded; true for exclusive ones.
    pub(crate) asked: HashMap<LockKey, bool, Mixed>,
    /// Windows and targets with operations since a lock on them was requested.
    pub(crate) acted: HashSet<(u32, u32), Mixed>,
    /// Locks on all processes under which an operation was completed, which shows that every process has granted them.
    pub(crate) consent: HashSet<LockKey, Mixed>,
    /// Number of calls that may have waited for several of these locks.
    pub(crate) several_locks: u64,
    /// Number of calls that acquired or released a lock whose owner is not recorded.
    pub(crate) ownerless: u64,
    /// Operations on targets outside of a group that a collective of the group completed.
    pub(crate) outside: progress::Outside,
    /// Number of collectives so far, by context.
    pub(crate) collectives: HashMap<u32, u64, Mixed>,
    /// Non-blocking collectives in flight.
    pub(crate) under: Under,
    /// Number of neighbourhood collectives whose neighbours are not recorded.
    pub(crate) strangers: u64,
    /// End of the last operation on each window and target, for MPI fences and epochs.
    pub(crate) touched: HashMap<(u32, u32), u64, Mixed>,
}

impl Process {
    pub(crate) fn new(world: &World, index: u32) -> Self {
        let process = world.system.processes.get(index as usize);
        let (first, count) = process.map_or((0, 0), |it| (it.first, it.count));
        Self {
            index,
            node: world.system.node(index),
            locations: (first..first + count).map(Location::new).collect(),
            row: 0,
            alone: count == 1,
            seen: false,
            dark: world.dark,
            sure: Regions::default(),
            wide: Regions::default(),
            outstanding: Outstanding::default(),
            moved: 0,
            cases: Cases::default(),
            ledger: Ledger::default(),
            signals: signals::Inbox::default(),
            messages: messages::Inbox::default(),
            loops: Loops::default(),
            asked: HashMap::default(),
            acted: HashSet::default(),
            consent: HashSet::default(),
            several_locks: 0,
            ownerless: 0,
            outside: progress::Outside::default(),
            collectives: HashMap::default(),
            under: Under::default(),
            strangers: 0,
            touched: HashMap::default(),
        }
    }

    /// Returns the state of one of the process's locations, by the number of the location in the report.
    pub(crate) fn lane_mut(&mut self, world: &World, location: u32) -> Option<&mut Location> {
        let first = *world.system.first_of.get(self.index as usize)?;
        self.locations.get_mut(location.checked_sub(first)? as usize)
    }

    /// Returns `true` if the activity of the process is unknown at some time between the start of an operation and the
    /// region that served it or the end of the call, because recording was off or the trace ends before.
    #[inline]
    pub(crate) fn is_blind(&self, start: u64, leave: u64, served: u64) -> bool {
        self.dark || !self.seen && self.has_gap(start, leave, served)
    }

    #[inline(never)]
    fn has_gap(&self, start: u64, leave: u64, served: u64) -> bool {
        let until = served.min(leave);
        let off = |gap: &Span| gap.begin < until && gap.end > start;
        let still = |lane: &Location| lane.off.is_some_and(|begin| begin < until);
        let silent = |lane: &Location| still(lane) || lane.gaps.iter().any(off);
        let over = |lane: &Location| lane.ended() && lane.now < until;
        self.locations.iter().any(silent) || self.locations.iter().all(over)
    }

    /// Returns the memory in bytes that facts and open questions take.
    pub(crate) fn bytes(&self) -> usize {
        self.sure.bytes()
            + self.wide.bytes()
            + self.outstanding.bytes()
            + self.ledger.bytes()
            + self.messages.bytes()
            + self.signals.bytes()
    }
}

/// Open cases by number. Numbers of closed cases are used again.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    list: Vec<Option<progress::Case>>,
    free: Vec<u32>,
}

impl Cases {
    /// Returns the number that the next case will get.
    pub(crate) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.list.len() as u32)
    }

    pub(crate) fn put(&mut self, number: u32, case: progress::Case) {
        self.free.pop();
        match self.list.get_mut(number as usize) {
            Some(place) => *place = Some(case),
            None => self.list.push(Some(case)),
        }
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut progress::Case> {
        self.list.get_mut(number as usize)?.as_mut()
    }

    pub(crate) fn take(&mut self, number: u32) -> Option<progress::Case> {
        let case = self.list.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(case)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &progress::Case> {
        self.list.iter().flatten()
    }
}
