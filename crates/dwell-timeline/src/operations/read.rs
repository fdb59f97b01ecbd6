//! The records of one location: those of a span, and the numbers of messages and collectives before it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use dwell_trace::channels::{Channel, Numbers};
use dwell_trace::ids::LocationNumber;
use dwell_trace::operations::{Calls, Completes, InFlight};
use dwell_trace::record::{self, Access, Collective, Gathering, Issue, Record};
use otf2::enums::{CollectiveOp, LockType};
use otf2::id::RmaWinRef;
use otf2::read::{EventRecord, Visitor};

use super::{Operation, OperationKind, Trace};
use crate::ids::Location;
use crate::span::{Span, Time};

/// Number of events after a span in which operations of the span may complete.
const MORE: u32 = 4096;

/// Numbers of messages and collectives up to some event of a location.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) messages: Numbers,
    pub(super) collectives: HashMap<Gathering, u64>,
}

/// A lock: communicator of its window, location and number.
pub(super) type Lock = (u32, Option<Location>, u64);

/// Something that has meaning only together with records of other locations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) time: Time,
    /// False for records of inner layers, which only count.
    pub(super) is_shown: bool,
    pub(super) kind: NoteKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum NoteKind {
    Message { channel: Channel, bytes: u64, skipped: u64 },
    Collective { of: Gathering, number: Option<u64>, begin: Time, is_together: bool },
    Acquired(Lock, bool),
    Released(Lock),
}

/// Records that were read at a location.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) operations: Vec<Issued>,
    /// Records that completed all operations of the process on a window.
    pub(super) completions: Vec<(Time, RmaWinRef)>,
    pub(super) notes: Vec<Note>,
    /// Number of the event before the first that was read.
    pub(super) start: u64,
}

/// A put, get or atomic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    operation: Operation,
    window: RmaWinRef,
    completion: Option<Time>,
}

impl Issued {
    /// Returns the operation, given completions at other threads of the process, in the order of time.
    pub(super) fn completed_among(self, others: &[(Time, RmaWinRef)]) -> Operation {
        let begin = self.operation.span.from;
        let mut later =
            others.get(others.partition_point(|it| it.0 < begin)..).unwrap_or_default().iter();
        let other = later.find(|it| it.1 == self.window).map(|it| it.0);
        let to = self.completion.into_iter().chain(other).min().unwrap_or(begin);
        Operation { span: Span { from: begin, to }, ..self.operation }
    }
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
    pub(super) calls: Calls,
    /// Begins of the collectives that are open; a collective of one layer may consist of those of another.
    pub(super) begun: Vec<(Time, bool)>,
    /// Places of the operations that are not complete.
    pub(super) flight: InFlight<usize>,
    pub(super) found: Found,
}

impl Reading<'_> {
    fn issue(&mut self, time: Time, issue: Issue) {
        if !self.calls.has_record() || time >= self.span.to {
            return;
        }
        let Issue { access, window, remote, bytes, id, .. } = issue;
        if let Some(partner) = self.trace.layout.target(window, remote, self.me) {
            let kind = match access {
                Access::Put => OperationKind::Put,
                Access::Get => OperationKind::Get,
                Access::Atomic if issue.returns => OperationKind::Atomic,
                Access::Atomic => OperationKind::Update,
            };
            let (origin, partner) = (Location(self.me.place()), Location(partner.place()));
            self.flight.issue(window, id, self.found.operations.len());
            let span = Span { from: time, to: time };
            let operation = Operation { kind, origin, partner, span, bytes };
            self.found.operations.push(Issued { operation, window, completion: None });
        }
    }

    fn complete(&mut self, time: Time, completes: Completes) {
        if let Completes::All(window) = completes {
            self.found.completions.push((time, window));
        }
        while let Some(place) = self.flight.complete(completes) {
            if let Some(it) = self.found.operations.get_mut(place) {
                it.completion = Some(time);
            }
        }
    }

    fn end_collective(&mut self, time: Time, collective: &Collective, number: Option<u64>) {
        if let Some((begin, is_shown)) = self.begun.pop()
            && begin < self.span.to
        {
            let is_together = collective.operation == CollectiveOp::Barrier;
            let kind = NoteKind::Collective { of: collective.of, number, begin, is_together };
            self.found.notes.push(Note { time, is_shown, kind });
        }
    }

    fn note(&mut self, time: Time, is_shown: bool, kind: NoteKind) {
        if time < self.span.to {
            self.found.notes.push(Note { time, is_shown, kind });
        }
    }

    fn lock(&self, lock: record::Lock) -> Option<Lock> {
        let layout = &self.trace.layout;
        let target = layout.target(lock.window, lock.remote, self.me);
        Some((layout.window(lock.window)?, target.map(|it| Location(it.place())), lock.lock.0))
    }

    fn message(&mut self, time: Time, record: &Record, skipped: u64) {
        if let Some((channel, message)) = Channel::of(&self.trace.layout, record, self.me) {
            let is_shown = self.calls.has_record();
            self.note(time, is_shown, NoteKind::Message { channel, bytes: message.bytes, skipped });
        }
    }
}

impl Visitor for Reading<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let time = Time(self.trace.layout.time(record.time).nanoseconds());
        self.events += 1;
        if time >= self.span.to {
            self.after += 1;
            if self.flight.is_empty() && self.begun.is_empty() || self.after > MORE {
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
        let layout = &self.trace.layout;
        let what = Record::of(&record.event);
        match what {
            Record::Enter(region) => self.calls.enter(region, layout.time(record.time)),
            Record::Leave => self.calls.leave(),
            Record::Issue(issue) => self.issue(time, issue),
            Record::CompleteLocal(it) => self.complete(time, Completes::Numbered(it)),
            Record::CompleteRemote(it) => {
                let call = self.calls.last().map(|it| it.region);
                self.complete(time, layout.completes(call, it));
            }
            Record::CollectiveBegin => {
                let is_shown = self.calls.has_record();
                self.begun.push((time, is_shown));
            }
            Record::CollectiveEnd(it) => {
                self.end_collective(time, &it, layout.sequence(it.of, record.attributes));
            }
            Record::LockRequest(..) => drop(self.calls.has_record()),
            Record::LockAcquire(lock, mode) => {
                let is_shown = self.calls.has_record();
                if let Some(lock) = self.lock(lock) {
                    self.note(time, is_shown, NoteKind::Acquired(lock, mode == LockType::Shared));
                }
            }
            Record::LockRelease(lock) => {
                let is_shown = self.calls.has_record();
                if let Some(lock) = self.lock(lock) {
                    self.note(time, is_shown, NoteKind::Released(lock));
                }
            }
            Record::Send(_) | Record::Receive(_) => {
                self.message(time, &what, layout.skipped(record.attributes));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
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
        let layout = &self.trace.layout;
        let what = Record::of(&record.event);
        match what {
            Record::CollectiveEnd(it) if layout.sequence(it.of, record.attributes).is_none() => {
                *self.counts.collectives.entry(it.of).or_default() += 1;
            }
            Record::Send(_) | Record::Receive(_) => {
                if let Some((channel, _)) = Channel::of(layout, &what, self.me) {
                    self.counts.messages.next(channel, layout.skipped(record.attributes));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
