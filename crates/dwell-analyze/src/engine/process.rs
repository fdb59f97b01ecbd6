//! State of a process during the replay: its locations and the facts that it owns.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use dwell_log::scratch::Scratch;
use dwell_trace::ids::{LocationNumber, NodeNumber, Ordinal, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::time::Time;
use dwell_trace::world::World;
use otf2::id::RmaWinRef;

use crate::engine::deferred::DeferredCalls;
use crate::engine::hash::Mixed;
use crate::engine::location::{Frame, Location};
use crate::engine::log::segments::Segments;
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
    pub(crate) certain: Regions,
    /// Times at which the process may have progressed operations of others.
    pub(crate) possible: Regions,
    pub(crate) outstanding: Outstanding,
    /// Bytes of operations since the last call that completed operations at their targets.
    pub(crate) moved: u64,
    /// Calls whose rest is judged later.
    pub(crate) deferred: DeferredCalls,
    /// Polling loops whose releases are being determined.
    pub(crate) loops: Loops,
    /// End of the last operation on each window and target, for MPI fences and epochs.
    pub(crate) touched: HashMap<(RmaWinRef, ProcessNumber), Time, Mixed>,
    /// Enters of calls that progress, with the location of each, in order. Only processes with several locations keep
    /// them, and only for the dependency log.
    pub(crate) entries: Option<VecDeque<(Time, LocationNumber)>>,
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
            certain: Regions::default(),
            possible: Regions::default(),
            outstanding: Outstanding::default(),
            moved: 0,
            deferred: DeferredCalls::default(),
            loops: Loops::default(),
            touched: HashMap::default(),
            entries: None,
        }
    }

    /// Makes the process keep what the dependency log needs.
    pub(crate) fn keep_log(&mut self, scratch: &Arc<Scratch>) {
        for location in &mut self.locations {
            location.log = Some(Box::new(Segments::new(scratch)));
        }
        self.entries = (!self.alone).then(VecDeque::new);
    }

    /// Returns the state of one of the process's locations, by the number of the location in the report.
    pub(crate) fn location_mut(&mut self, number: LocationNumber) -> Option<&mut Location> {
        let first = self.locations.first()?.number;
        self.locations.get_mut(number.0.wrapping_sub(first.0) as usize)
    }

    /// Returns the location that entered a call which progresses at a time, the first of several. Returns the first
    /// location of processes that do not keep enters.
    #[inline]
    pub(crate) fn entered_at(&self, time: Time) -> LocationNumber {
        let first = self.locations.first().map_or(LocationNumber(0), |it| it.number);
        self.entries.as_ref().map_or(first, |entries| {
            let at = entries.partition_point(|it| it.0 < time);
            let same = entries.range(at..).take_while(|it| it.0 == time);
            same.map(|it| it.1).min().unwrap_or(first)
        })
    }

    /// Forgets the enter of a call that turned out to act on its own process.
    pub(crate) fn forget_entry(&mut self, enter: Time, location: LocationNumber) {
        if let Some(entries) = &mut self.entries {
            let at = entries.partition_point(|it| it.0 < enter);
            let same = entries.range(at..).take_while(|it| it.0 == enter);
            if let Some(further) = same.map(|it| it.1).position(|it| it == location) {
                entries.remove(at + further);
            }
        }
    }

    /// Forgets the enters of calls before a time, unless they began a region that is kept.
    pub(crate) fn forget_entries(&mut self, floor: Time) {
        let kept = self.certain.oldest().min(self.possible.oldest()).min(floor);
        if let Some(entries) = &mut self.entries {
            while entries.pop_front_if(|it| it.0 < kept).is_some() {}
        }
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
        let logs = self.locations.iter().filter_map(|it| it.log.as_ref());
        let entries = self.entries.as_ref().map_or(0, VecDeque::capacity);
        self.certain.bytes()
            + self.possible.bytes()
            + self.outstanding.bytes()
            + logs.map(|log| log.bytes()).sum::<usize>()
            + entries * size_of::<(Time, LocationNumber)>()
    }
}

impl Process {
    /// Returns the properties of a call that begins now. A call that completes operations waits for their targets, and
    /// serves others meanwhile; with nothing to complete, it returns at once.
    #[inline(always)]
    pub(crate) fn serving(&self, traits: Traits) -> Traits {
        if !(traits.has(Traits::COMPLETES) && traits.has(Traits::CONDITIONAL)) {
            return traits;
        }
        traits.serving(!self.outstanding.is_empty())
    }

    /// Records that a call begins, at one of several threads, which may turn out to act on its own process.
    #[cold]
    #[inline(never)]
    pub(crate) fn doubt(&mut self, time: Time, traits: Traits, possible: bool) {
        if traits.has(Traits::ALWAYS) {
            self.certain.doubt(time);
        }
        if possible {
            self.possible.doubt(time);
        }
    }

    /// Records whether that call acts on its own process.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle(&mut self, enter: Time, traits: Traits, itself: bool) {
        let settle = |regions: &mut Regions| match itself {
            true => drop(regions.distrust(enter)),
            false => regions.trust(enter),
        };
        if traits.has(Traits::ALWAYS) {
            settle(&mut self.certain);
        }
        if traits.has(Traits::SERVES) {
            settle(&mut self.possible);
        }
    }

    /// Records whether the open call acts on another process, as an operation in it shows.
    #[inline(always)]
    pub(crate) fn certain_or_possible(&mut self, frame: &mut Frame, itself: bool) {
        let always = frame.traits.has(Traits::ALWAYS);
        if !frame.traits.has(Traits::SERVES) {
            return;
        }
        if !self.alone {
            self.settle(frame.enter, frame.traits, itself);
            if itself {
                frame.traits = frame.traits.without(Traits::SERVES);
            }
            return;
        }
        if itself {
            if always {
                self.certain.retract();
            }
            self.possible.retract();
            frame.traits = frame.traits.without(Traits::SERVES);
        } else {
            if always {
                self.certain.confirm();
            }
            self.possible.confirm();
        }
    }
}
