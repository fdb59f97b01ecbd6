//! Operations of a process that are not complete.
//!
//! The module keeps two kinds apart. Operations that a record may still complete by their number are kept one by one.
//! Operations that are complete at the origin, but maybe not at the target, matter only to calls that complete
//! everything, so the last of them for each target is enough.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use dwell_log::class::Class;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use otf2::id::RmaWinRef;
use serde::{Deserialize, Serialize};

use crate::engine::hash::Mixed;
use crate::engine::regions::Span;
use crate::engine::spill::{Spill, Stored};

/// Calls that complete messages and take longer than this in nanoseconds are not judged for the progress of their
/// partners: the activity of all processes during the call would have to be kept.
pub(crate) const LONGEST_MESSAGE: Duration = Duration(1_000_000_000);

/// The region of the target that served an operation, as far as it is known: among the regions that always progress,
/// and among all that may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) certain: Option<Span>,
    pub(crate) possible: Option<Span>,
}

impl Known {
    /// The activity of the target before the call may have been enough.
    pub(crate) const EARLY: Self = Self { certain: Some(Span::EARLY), possible: Some(Span::EARLY) };
}

/// Shortest call that completes operations at their origin only for which their targets are asked. Such calls are many, and
/// few of them wait.
pub(crate) const SHORTEST_AT_ORIGIN: Duration = Duration(20_000);

/// Shortest call that completes operations at their targets, and has none to complete, for which others are asked.
pub(crate) const SHORTEST_EMPTY: Duration = Duration(1_000_000);

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Sequence number, unique in the process.
    pub(crate) serial: u64,
    /// Matching id of the records, unique at its location.
    pub(crate) id: u64,
    pub(crate) location: LocationNumber,
    pub(crate) window: RmaWinRef,
    pub(crate) target: ProcessNumber,
    /// Enter of the call that issued the operation.
    pub(crate) start: Time,
    pub(crate) class: Class,
    /// Bytes that the operation moves, and those before it to the same target that complete with it. More than 4 GiB count
    /// as 4 GiB.
    pub(crate) bytes: u32,
    /// True if the operation brings data from the target. All others may be complete at the origin before they have
    /// reached their target.
    pub(crate) returns: bool,
    /// True if something is known about the region that served the operation.
    pub(crate) learned: bool,
}

impl Op {
    /// Returns the operation as one whose completion the open call waited for.
    pub(crate) fn done(&self, known: Known) -> Done {
        let Self { target, start, class, bytes, .. } = *self;
        Done { target, start, class, bytes, known }
    }
}

/// An operation whose completion the open call waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) target: ProcessNumber,
    pub(crate) start: Time,
    pub(crate) class: Class,
    pub(crate) bytes: u32,
    pub(crate) known: Known,
}

/// All outstanding operations of a process.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    serial: u64,
    /// Greater than the matching id of every operation so far.
    above: u64,
    /// True if some operation had a matching id that was not above all earlier ones.
    repeated: bool,
    open: VecDeque<Op>,
    lasting: HashMap<(RmaWinRef, ProcessNumber), Op, Mixed>,
    /// Regions that served operations, by sequence number.
    known: HashMap<u64, Known, Mixed>,
    spill: Spill,
    /// Number of operations that were moved to the file.
    pub(crate) spilled: u64,
    /// True if the file cannot take more operations.
    full: bool,
}

impl Outstanding {
    #[inline(always)]
    pub(crate) fn add(&mut self, mut op: Op) {
        op.serial = self.serial;
        self.serial += 1;
        self.repeated |= op.id < self.above || op.id == u64::MAX;
        self.above = self.above.max(op.id.saturating_add(1));
        self.open.push_back(op);
    }

    /// Returns `true` if a quick check shows that no operation here has this number.
    #[inline(always)]
    pub(crate) fn is_new(&self, id: u64) -> bool {
        id >= self.above && id < u64::MAX
    }

    /// Returns `true` if a quick check shows that all operations here have different numbers.
    #[inline(always)]
    pub(crate) fn are_distinct(&self) -> bool {
        !self.repeated
    }

    /// Adds an operation that is complete at the origin, but not at the target, from the start.
    pub(crate) fn add_last(&mut self, mut op: Op) {
        op.serial = self.serial;
        self.serial += 1;
        self.last(op);
    }

    /// Returns `true` if no operation is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.lasting.is_empty() && self.spill.is_empty()
    }

    /// Removes and returns the operation with this number. The search starts from both ends, since operations usually
    /// complete in order or in reverse order.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        location: LocationNumber,
        window: RmaWinRef,
        id: u64,
    ) -> Option<Op> {
        let is = |op: &Op| op.id == id && op.window == window && op.location == location;
        if self.open.front().is_some_and(is) {
            return self.open.pop_front();
        }
        if self.open.back().is_some_and(is) {
            return self.open.pop_back();
        }
        if self.open.is_empty() && self.spill.is_empty() {
            return None;
        }
        self.search(location, window, id)
    }

    #[inline(never)]
    fn search(&mut self, location: LocationNumber, window: RmaWinRef, id: u64) -> Option<Op> {
        let is = |op: &Op| op.id == id && op.window == window && op.location == location;
        let count = self.open.len();
        for near in 0..count.div_ceil(2) {
            if self.open.get(near).is_some_and(is) {
                return self.open.remove(near);
            }
            let far = count - 1 - near;
            if self.open.get(far).is_some_and(is) {
                return self.open.remove(far);
            }
        }
        let stored = self.spill.take(location, window, id)?;
        Some(self.fetch(stored))
    }

    /// Returns an operation that was read back from the spill file, and keeps what was already known about its target.
    fn fetch(&mut self, (mut op, known): Stored) -> Op {
        op.learned = true;
        self.known.insert(op.serial, known);
        op
    }

    /// Moves operations into the file if there are more than `most`, choosing those about which everything is known.
    pub(crate) fn spill(&mut self, most: usize) {
        if self.open.len() <= most || self.full {
            return;
        }
        let mut all = Vec::new();
        let mut keep = VecDeque::new();
        for op in std::mem::take(&mut self.open) {
            let known = self.known.get(&op.serial).filter(|_| op.learned);
            match known.filter(|known| known.certain.is_some() && known.possible.is_some()) {
                Some(known) => all.push((op, *known)),
                None => keep.push_back(op),
            }
        }
        match self.spill.write(&mut all) {
            Ok(()) => {
                self.spilled += all.len() as u64;
                for (op, _) in &all {
                    self.known.remove(&op.serial);
                }
                self.known.shrink_to_fit();
                self.open = keep;
            }
            Err(_) => {
                // Using too much memory is better than having no result.
                self.full = true;
                self.open = all.into_iter().map(|(op, _)| op).chain(keep).collect();
                self.open.make_contiguous().sort_by_key(|op| op.serial);
            }
        }
    }

    /// Keeps an operation that is complete at the origin, but not at the target.
    pub(crate) fn last(&mut self, op: Op) {
        let known = match self.lasting.entry((op.window, op.target)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(op);
                return;
            }
        };
        let bytes = if known.serial == op.serial { 0 } else { known.bytes };
        let bytes = bytes.saturating_add(op.bytes);
        let over = if known.serial <= op.serial { std::mem::replace(known, op) } else { op };
        known.bytes = bytes;
        if over.learned && over.serial != op.serial {
            self.known.remove(&over.serial);
        }
    }

    /// Removes the operations with this number, which a record of another tool completes at the target.
    pub(crate) fn take_numbered(
        &mut self,
        location: LocationNumber,
        window: RmaWinRef,
        id: u64,
        into: &mut Vec<Op>,
    ) {
        while let Some(op) = self.take(location, window, id) {
            into.push(op);
        }
        let is = |op: &Op| op.window == window && op.id == id && op.location == location;
        into.extend(self.lasting.extract_if(|_, op| is(op)).map(|(_, op)| op));
    }

    /// Removes all operations of a window, or of all windows. Of those in the file, only the decisive ones are
    /// returned.
    pub(crate) fn take_all(&mut self, window: Option<RmaWinRef>, into: &mut Vec<Op>) {
        for stored in self.spill.take_all(window) {
            let op = self.fetch(stored);
            into.push(op);
        }
        let is = |op: &Op| window.is_none_or(|window| op.window == window);
        if self.open.iter().all(is) {
            into.extend(self.open.drain(..));
        } else {
            let open = std::mem::take(&mut self.open);
            for op in open {
                if is(&op) {
                    into.push(op);
                } else {
                    self.open.push_back(op);
                }
            }
        }
        if !self.lasting.is_empty() {
            into.extend(self.lasting.extract_if(|_, op| is(op)).map(|(_, op)| op));
        }
    }

    /// Returns all outstanding operations about which not everything is known, with what is known.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&Op, Known)> {
        let all = self.open.iter().chain(self.lasting.values());
        let all = all.map(|op| (op, self.known_so_far(op)));
        all.filter(|(_, known)| known.certain.is_none() || known.possible.is_none())
    }

    /// Returns an operation as one that is complete at its origin. It stays here until it is complete at its target.
    pub(crate) fn done_at_origin(&self, op: &Op) -> Done {
        Done { class: op.class.at_origin(), ..op.done(self.known_so_far(op)) }
    }

    fn known_so_far(&self, op: &Op) -> Known {
        let known = self.known.get(&op.serial).filter(|_| op.learned);
        known.copied().unwrap_or_default()
    }

    /// Returns what is known about an operation that is complete, and forgets it.
    pub(crate) fn known(&mut self, op: &Op) -> Known {
        if op.learned {
            self.known.remove(&op.serial).unwrap_or_default()
        } else {
            Known::default()
        }
    }

    /// Records what was found out about an operation.
    pub(crate) fn learn(
        &mut self,
        serial: u64,
        window: RmaWinRef,
        target: ProcessNumber,
        found: Known,
    ) {
        let all = &mut self.known;
        let mut note = |op: &mut Op| {
            op.learned = true;
            let known = all.entry(op.serial).or_default();
            known.certain = known.certain.or(found.certain);
            known.possible = known.possible.or(found.possible);
        };
        // Sequence numbers rise from front to back.
        let at = self.open.partition_point(|op| op.serial < serial);
        match self.open.get_mut(at) {
            Some(op) if op.serial == serial => note(op),
            _ => {
                if let Some(op) = self.lasting.get_mut(&(window, target))
                    && op.serial == serial
                {
                    note(op);
                }
            }
        }
    }

    /// Returns the memory in bytes that the operations take.
    pub(crate) fn bytes(&self) -> usize {
        (self.open.capacity() + self.lasting.capacity()) * size_of::<Op>()
            + self.known.capacity() * size_of::<(u64, Known)>()
            + self.spill.bytes()
    }
}
