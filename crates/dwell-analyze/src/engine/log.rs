//! Writes the dependency log while events are replayed.
//!
//! While events are read, each location writes its [segments](segments) and [the needs of its calls](dwell_log::needs)
//! to blocks. Edges are sent to the location that waited and to the one that was waited for, where they are
//! [sorted](dwell_log::edges). After the last event, the rulings on candidates are added, and everything is written to
//! [files], which [`dwell_log::read`] reads.
//!
//! The division into files and blocks follows from the trace alone, so the bytes do not depend on the threads, the
//! processes or the windows of the analysis.

pub(crate) mod files;
pub(crate) mod segments;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use dwell_log::class::Class;
use dwell_log::edge::{Edge, Kind, Ruling, Side};
use dwell_log::edges::Edges;
use dwell_log::needs::Need;
use dwell_log::scratch::Scratch;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::world::World;
use serde::{Deserialize, Serialize};

use crate::engine::exchange::outboxes;
use crate::engine::location::Location;
use crate::engine::message::Message;

outboxes! {
    /// Messages for the log after the last window.
    Late => Arrived {
        releases: Edge;
        rulings: Addressed;
    }
}

/// A ruling, and a process that needs it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Addressed(pub(crate) ProcessNumber, pub(crate) Ruling);

impl Message for Addressed {}

impl Message for Edge {}

/// The part of the log that a shard keeps.
#[derive(Debug)]
pub(crate) struct ShardLog {
    /// Edges at the locations that waited, and at those that were waited for.
    pub(crate) waits: Edges,
    pub(crate) releases: Edges,
    /// Edges of calls of this shard that were found in the current window.
    pub(crate) new_edges: Vec<Edge>,
    /// Edges that have not been sent to the locations that were waited for yet.
    outgoing: Vec<Edge>,
    /// Classes of edges whose culprit is not the process that the class is judged for. Each entry has the culprit, and
    /// the origin, target and class of the ruling.
    elsewhere: BTreeSet<(ProcessNumber, ProcessNumber, ProcessNumber, Class)>,
    /// Rulings of this shard, each with a process that needs it.
    pub(crate) addressed: BTreeSet<(ProcessNumber, Ruling)>,
    /// Rulings on edges of this shard, by the process that needs them.
    pub(crate) rulings: Vec<(ProcessNumber, Ruling)>,
}

impl ShardLog {
    /// Creates an empty log of some locations. `bytes` is the memory that edges may take.
    pub(crate) fn new(
        scratch: &Arc<Scratch>,
        locations: Range<LocationNumber>,
        bytes: u64,
    ) -> Self {
        let edges = |side| Edges::new(Arc::clone(scratch), side, locations.clone(), bytes / 2);
        Self {
            waits: edges(Side::Waiter),
            releases: edges(Side::Culprit),
            new_edges: Vec::new(),
            outgoing: Vec::new(),
            elsewhere: BTreeSet::new(),
            addressed: BTreeSet::new(),
            rulings: Vec::new(),
        }
    }

    /// Stores the edges that were found in a window, and queues those that must be sent to the locations that were
    /// waited for.
    pub(crate) fn settle(&mut self, world: &World) {
        for edge in self.new_edges.drain(..) {
            self.waits.add(edge);
            if edge.kind == Kind::Early {
                continue;
            }
            if let Some(candidate) = edge.kind.candidate() {
                let (origin, culprit) = (world.process(edge.waiter), world.process(edge.culprit));
                if culprit != candidate.target {
                    self.elsewhere.insert((culprit, origin, candidate.target, candidate.class));
                }
            }
            self.outgoing.push(edge);
        }
    }

    /// Removes and returns the edges that must be sent to the locations that were waited for.
    pub(crate) fn outgoing(&mut self) -> impl Iterator<Item = Edge> {
        self.outgoing.drain(..)
    }

    /// Returns each ruling with the processes that need it, given all rulings of the shard.
    pub(crate) fn address(&self, rulings: Vec<Ruling>) -> BTreeSet<(ProcessNumber, Ruling)> {
        let both = |it: &Ruling| [(it.origin, *it), (it.target, *it)];
        let mut list: BTreeSet<(ProcessNumber, Ruling)> = rulings.iter().flat_map(both).collect();
        let key = |it: Ruling| ((it.origin, it.target, it.class), it);
        let known: BTreeMap<_, Ruling> = rulings.into_iter().map(key).collect();
        for &(culprit, origin, target, class) in &self.elsewhere {
            let ruling = known.get(&(origin, target, class));
            list.extend(ruling.map(|ruling| (culprit, *ruling)));
        }
        list
    }

    /// Returns the memory in bytes that edges of the current window take. Edges of earlier windows have a limit of
    /// their own.
    pub(crate) fn bytes(&self) -> usize {
        (self.new_edges.capacity() + self.outgoing.capacity()) * size_of::<Edge>()
    }
}

impl Location {
    /// Adds a need of the open judged call to the log.
    pub(crate) fn open_call_needs(&mut self, me: ProcessNumber, need: Need) {
        if let Some(log) = &mut self.log {
            log.needs.add(log.calls, me, need);
        }
    }

    /// Adds a need of the judged call that ended last to the log.
    #[inline(always)]
    pub(crate) fn last_call_needed(&mut self, me: ProcessNumber, need: impl FnOnce() -> Need) {
        if let Some(log) = &mut self.log {
            log.needs.add(log.calls.saturating_sub(1), me, need());
        }
    }
}
