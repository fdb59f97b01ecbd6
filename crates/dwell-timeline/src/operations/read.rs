//! The records of one location: those of a span, and the numbers of messages and collectives before it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use dwell_trace::ids::LocationNumber;
use dwell_trace::layout::Layout;
use otf2::Event;
use otf2::enums::{CollectiveOp, LockType};
use otf2::id::{CommRef, RegionRef, RmaWinRef};
use otf2::read::{EventRecord, Visitor};

use super::{Operation, OperationKind, Trace};
use crate::ids::Location;
use crate::span::{Span, Time};

/// Number of events after a span in which operations of the span may complete.
const MORE: u32 = 4096;

/// Numbers of messages and collectives up to some event of a location.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) messages: HashMap<Channel, u64>,
    pub(super) collectives: HashMap<Gathering, u64>,
}

/// Messages that are received in the order in which they were sent: direction, communicator, processes and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Channel {
    pub(super) is_send: bool,
    pub(super) communicator: CommRef,
    pub(super) sender: Location,
    pub(super) receiver: Location,
    pub(super) tag: u32,
}

/// What the members of a collective share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Gathering {
    Communicator(CommRef),
    Window(RmaWinRef),
}

/// A lock: communicator of its window, location and number.
pub(super) type Lock = (u32, Option<Location>, u64);

/// Something that has meaning only together with records of other locations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) time: Time,
    /// False for records of inner layers, which only count.
    pub(super) is_shown: bool,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Message { channel: Channel, bytes: u64, skipped: u64 },
    Collective { of: Gathering, number: Option<u64>, begin: Time, is_together: bool },
    Acquired(Lock, bool),
    Released(Lock),
}

/// What was read of a location.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) operations: Vec<Operation>,
    pub(super) notes: Vec<Note>,
    /// Number of the event before the first that was read.
    pub(super) start: u64,
}
/// An open region: whether it has records of operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    region: RegionRef,
    has_records: bool,
}

/// Reads the records of a location.
pub(super) struct Reading<'a> {
    pub(super) trace: &'a Trace,
    pub(super) me: LocationNumber,
    pub(super) span: Span,
    /// Events that all locations have read, and how many they may.
    pub(super) read: &'a AtomicU64,
    pub(super) most: u64,
    pub(super) events: u64,
    /// Events after the span.
    pub(super) after: u32,
    pub(super) frames: Vec<Frame>,
    /// Begins of the collectives that are open; a collective of one layer may consist of those of another.
    pub(super) begun: Vec<(Time, bool)>,
    /// Operations that are not complete: window, matching id and place.
    pub(super) open: Vec<(RmaWinRef, u64, usize)>,
    pub(super) found: Found,
}

impl Reading<'_> {
    /// Marks the innermost call as one with records, and returns `false` if a call around it has records of its own.
    fn is_shown(&mut self) -> bool {
        let Some((last, outer)) = self.frames.split_last_mut() else { return true };
        last.has_records = true;
        !outer.iter().any(|it| it.has_records)
    }

    fn issue(
        &mut self,
        time: Time,
        kind: OperationKind,
        (win, remote): (RmaWinRef, otf2::id::Rank),
        bytes: u64,
        id: u64,
    ) {
        if !self.is_shown() || time >= self.span.to {
            return;
        }
        if let Some(partner) = self.trace.layout.target(win, remote, self.me) {
            let (origin, partner) = (Location(self.me.place()), Location(partner.place()));
            self.open.push((win, id, self.found.operations.len()));
            let span = Span { from: time, to: time };
            self.found.operations.push(Operation { kind, origin, partner, span, bytes });
        }
    }

    /// Ends operations: those with the id, and those before it as well if `is_all`.
    fn complete(&mut self, time: Time, window: RmaWinRef, id: u64, is_all: bool) {
        let operations = &mut self.found.operations;
        self.open.retain(|&(win, own, place)| {
            let ends = win == window && (own == id || is_all && own < id);
            if ends && let Some(it) = operations.get_mut(place) {
                it.span.to = time;
            }
            !ends
        });
    }

    fn note(&mut self, time: Time, is_shown: bool, what: What) {
        if time < self.span.to {
            self.found.notes.push(Note { time, is_shown, what });
        }
    }

    fn lock(&self, win: RmaWinRef, remote: otf2::id::Rank, id: u64) -> Option<Lock> {
        let target = self.trace.layout.target(win, remote, self.me);
        Some((self.trace.layout.window(win)?, target.map(|it| Location(it.place())), id))
    }
}

impl Visitor for Reading<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let time = Time(self.trace.layout.time(record.time).nanoseconds());
        self.events += 1;
        if time >= self.span.to {
            self.after += 1;
            if self.open.is_empty() && self.begun.is_empty() || self.after > MORE {
                return ControlFlow::Break(());
            }
        }
        if self.events == 4096 {
            let before = self.read.fetch_add(4096, Ordering::Relaxed);
            self.events = 0;
            if before + 4096 > self.most {
                return ControlFlow::Break(());
            }
        }
        match record.event {
            Event::Enter(it) => self.frames.push(Frame { region: it.region, has_records: false }),
            Event::Leave(_) => drop(self.frames.pop()),
            Event::RmaPut(it) => {
                let at = (it.win, it.remote);
                self.issue(time, OperationKind::Put, at, it.bytes, it.matching_id.0);
            }
            Event::RmaGet(it) => {
                let at = (it.win, it.remote);
                self.issue(time, OperationKind::Get, at, it.bytes, it.matching_id.0);
            }
            Event::RmaAtomic(it) => {
                let bytes = it.bytes_sent.saturating_add(it.bytes_received);
                let at = (it.win, it.remote);
                self.issue(time, OperationKind::Atomic, at, bytes, it.matching_id.0);
            }
            Event::RmaOpCompleteBlocking(it) => {
                self.complete(time, it.win, it.matching_id.0, false);
            }
            Event::RmaOpCompleteNonBlocking(it) => {
                self.complete(time, it.win, it.matching_id.0, false);
            }
            Event::RmaOpCompleteRemote(it) => {
                let region = self.frames.last().map(|it| it.region);
                let is_numbered = region.is_some_and(|it| self.trace.numbered.contains(&it));
                self.complete(time, it.win, it.matching_id.0, !is_numbered);
            }
            Event::RmaCollectiveBegin(_) | Event::MpiCollectiveBegin(_) => {
                let is_shown = self.is_shown();
                self.begun.push((time, is_shown));
            }
            Event::RmaCollectiveEnd(it) => {
                if let Some((begin, is_shown)) = self.begun.pop()
                    && begin < self.span.to
                {
                    let number = self.trace.layout.sequence(record.attributes);
                    let is_together = it.collective_op == CollectiveOp::Barrier;
                    let of = Gathering::Window(it.win);
                    let what = What::Collective { of, number, begin, is_together };
                    self.found.notes.push(Note { time, is_shown, what });
                }
            }
            Event::MpiCollectiveEnd(it) => {
                if let Some((begin, is_shown)) = self.begun.pop()
                    && begin < self.span.to
                {
                    let is_together = it.collective_op == CollectiveOp::Barrier;
                    let of = Gathering::Communicator(it.communicator);
                    let what = What::Collective { of, number: None, begin, is_together };
                    self.found.notes.push(Note { time, is_shown, what });
                }
            }
            Event::RmaRequestLock(_) => drop(self.is_shown()),
            Event::RmaAcquireLock(it) => {
                let is_shown = self.is_shown();
                if let Some(lock) = self.lock(it.win, it.remote, it.lock_id.0) {
                    let is_shared = it.lock_type == LockType::Shared;
                    self.note(time, is_shown, What::Acquired(lock, is_shared));
                }
            }
            Event::RmaReleaseLock(it) => {
                let is_shown = self.is_shown();
                if let Some(lock) = self.lock(it.win, it.remote, it.lock_id.0) {
                    self.note(time, is_shown, What::Released(lock));
                }
            }
            other => {
                if let Some((channel, bytes)) = channel(&self.trace.layout, &other, self.me) {
                    let is_shown = self.is_shown();
                    let skipped = self.trace.layout.skipped(record.attributes);
                    self.note(time, is_shown, What::Message { channel, bytes, skipped });
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the channel of a message that was sent or received, and its bytes.
#[inline(always)]
fn channel(layout: &Layout, event: &Event<'_>, me: LocationNumber) -> Option<(Channel, u64)> {
    let (is_send, rank, communicator, tag, bytes) = match event {
        Event::MpiSend(it) => (true, it.receiver, it.communicator, it.msg_tag, it.msg_length),
        Event::MpiIsend(it) => (true, it.receiver, it.communicator, it.msg_tag, it.msg_length),
        Event::MpiRecv(it) => (false, it.sender, it.communicator, it.msg_tag, it.msg_length),
        Event::MpiIrecv(it) => (false, it.sender, it.communicator, it.msg_tag, it.msg_length),
        _ => return None,
    };
    let partner = Location(layout.partner(communicator, rank, me)?.place());
    let own = Location(layout.siblings(me).start.place());
    let (sender, receiver) = if is_send { (own, partner) } else { (partner, own) };
    Some((Channel { is_send, communicator, sender, receiver, tag }, bytes))
}

/// Counts messages and collectives of a location.
pub(super) struct Counting<'a> {
    pub(super) trace: &'a Trace,
    pub(super) me: LocationNumber,
    /// Last event that counts.
    pub(super) until: u64,
    pub(super) counts: Counts,
}

impl Visitor for Counting<'_> {
    #[inline(always)]
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        if record.number.0 > self.until {
            return ControlFlow::Break(());
        }
        match &record.event {
            Event::MpiCollectiveEnd(it) => {
                let of = Gathering::Communicator(it.communicator);
                *self.counts.collectives.entry(of).or_default() += 1;
            }
            Event::RmaCollectiveEnd(it)
                if self.trace.layout.sequence(record.attributes).is_none() =>
            {
                *self.counts.collectives.entry(Gathering::Window(it.win)).or_default() += 1;
            }
            Event::MpiSend(_) | Event::MpiIsend(_) | Event::MpiRecv(_) | Event::MpiIrecv(_) => {
                let layout = &self.trace.layout;
                if let Some((channel, _)) = channel(layout, &record.event, self.me) {
                    let more = layout.skipped(record.attributes) + 1;
                    *self.counts.messages.entry(channel).or_default() += more;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
