//! A process while its events pass by: its locations and its own facts.

use std::collections::{HashMap, HashSet};

use crate::hash::Mixed;
use crate::lane::Lane;
use crate::locking::LockKey;
use crate::outstanding::Outstanding;
use crate::patterns::collectives::Under;
use crate::patterns::evidence::Ledger;
use crate::patterns::{messages, progress, signals};
use crate::polling::Loops;
use crate::regions::{Regions, Span};
use crate::world::World;

/// A process.
#[derive(Debug)]
pub(crate) struct Actor {
    /// Its number.
    pub(crate) index: u32,
    /// Number of its node.
    pub(crate) node: u32,
    pub(crate) lanes: Vec<Lane>,
    /// Place of its row in the matrix of its shard.
    pub(crate) row: usize,
    /// Whether it has but one location.
    pub(crate) alone: bool,
    /// Whether everything it did up to the horizon was recorded.
    pub(crate) seen: bool,
    /// Whether calls that may have served others were not recorded.
    pub(crate) dark: bool,
    /// When it served others for sure.
    pub(crate) sure: Regions,
    /// When it may have served others.
    pub(crate) wide: Regions,
    pub(crate) outstanding: Outstanding,
    /// Bytes of operations since the last call that completed operations at their targets.
    pub(crate) moved: u64,
    pub(crate) cases: Cases,
    /// Waits for the progress of others that are not judged yet.
    pub(crate) ledger: Ledger,
    pub(crate) signals: signals::Inbox,
    pub(crate) messages: messages::Inbox,
    pub(crate) loops: Loops,
    /// Locks that were asked for, where nobody says when they were obtained; whether exclusive.
    pub(crate) asked: HashMap<LockKey, bool, Mixed>,
    /// Windows and targets that were acted on since a lock there was asked for.
    pub(crate) acted: HashSet<(u32, u32), Mixed>,
    /// Locks on all processes under which something was completed: everybody has consented to them.
    pub(crate) consent: HashSet<LockKey, Mixed>,
    /// Calls that may have waited for several of these.
    pub(crate) several_locks: u64,
    /// Calls that took or gave back a lock, where nobody says who owns it.
    pub(crate) ownerless: u64,
    /// Operations on targets outside of a group that a collective of the group completed.
    pub(crate) outside: progress::Outside,
    /// How many collectives there were, by context.
    pub(crate) collectives: HashMap<u32, u64, Mixed>,
    /// Collectives that do not block.
    pub(crate) under: Under,
    /// Collectives among neighbours, where nobody says who the neighbours are.
    pub(crate) strangers: u64,
    /// When the last operation on a window and target was over, for fences and epochs of MPI.
    pub(crate) touched: HashMap<(u32, u32), u64, Mixed>,
}

impl Actor {
    pub(crate) fn new(world: &World, index: u32) -> Self {
        let process = world.system.processes.get(index as usize);
        let (first, count) = process.map_or((0, 0), |it| (it.first, it.count));
        Self {
            index,
            node: world.system.node(index),
            lanes: (first..first + count).map(Lane::new).collect(),
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

    /// One of its locations.
    pub(crate) fn lane_mut(&mut self, world: &World, location: u32) -> Option<&mut Lane> {
        let first = *world.system.first_of.get(self.index as usize)?;
        self.lanes.get_mut(location.checked_sub(first)? as usize)
    }

    /// Whether it is not known what the process did between the start of an operation and the region
    /// that served it or the end of the call: recording was off, or its trace ends before.
    #[inline]
    pub(crate) fn is_blind(&self, start: u64, leave: u64, served: u64) -> bool {
        self.dark || !self.seen && self.has_gap(start, leave, served)
    }

    #[inline(never)]
    fn has_gap(&self, start: u64, leave: u64, served: u64) -> bool {
        let until = served.min(leave);
        let off = |gap: &Span| gap.begin < until && gap.end > start;
        let still = |lane: &Lane| lane.off.is_some_and(|begin| begin < until);
        let silent = |lane: &Lane| still(lane) || lane.gaps.iter().any(off);
        let over = |lane: &Lane| lane.ended() && lane.now < until;
        self.lanes.iter().any(silent) || self.lanes.iter().all(over)
    }

    /// Bytes of memory for facts and questions.
    pub(crate) fn bytes(&self) -> usize {
        self.sure.bytes()
            + self.wide.bytes()
            + self.outstanding.bytes()
            + self.ledger.bytes()
            + self.messages.bytes()
            + self.signals.bytes()
    }
}

/// Cases by number; numbers are used again.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    list: Vec<Option<progress::Case>>,
    free: Vec<u32>,
}

impl Cases {
    /// A number for the next case.
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
