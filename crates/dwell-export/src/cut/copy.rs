//! The second pass: copies the events of a location.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use dwell_trace::channels::{Channel, Numbers};
use dwell_trace::ids::LocationNumber;
use dwell_trace::record::{Completion, Issue, Lock, Message, Record};
use otf2::enums::{LockType, MeasurementMode};
use otf2::event::{
    Enter, Leave, MeasurementOnOff, MpiCollectiveBegin, MpiIrecvRequest, MpiRequestCancelled,
    RmaAcquireLock, RmaCollectiveBegin,
};
use otf2::id::{LocationRef, RequestId, RmaWinRef, Time};
use otf2::read::{EventRecord, Visitor};
use otf2::write::{ArchiveWriter, EventWriter};
use otf2::{Event, List};

use super::calls::Calls;
use super::count::Seen;
use super::{Source, Whole};
use crate::error::Result;

/// Copies the events of a location. Returns the number of events written, and the number of messages and collectives
/// left out.
pub(super) fn copy(
    source: &Source<'_>,
    (location, id): (LocationNumber, LocationRef),
    seen: &Seen,
    whole: &Whole,
    writer: &ArchiveWriter,
) -> Result<(u64, u64)> {
    let mut copying = Copying {
        source,
        me: location,
        seen,
        whole,
        output: writer.events(id)?,
        calls: Calls::default(),
        has_begun: false,
        has_ended: false,
        last: Time(0),
        collectives: 0,
        begun: Vec::new(),
        messages: Numbers::default(),
        receives: BTreeSet::new(),
        sends: HashSet::new(),
        issued: HashSet::new(),
        first_issued: HashMap::new(),
        locks: BTreeMap::new(),
        is_off: None,
        left_out: 0,
        failed: None,
        events: 0,
    };
    let mut reader = source.archive.events(id)?;
    let result = reader.visit_dyn(&mut copying);
    (source.progress)(copying.events);
    if let Some(error) = copying.failed.take() {
        return Err(error.into());
    }
    // The first pass has reported the damage.
    drop(result);
    copying.leave_all()?;
    let left_out = copying.left_out;
    let events = copying.output.finish()?.events;
    writer.local_definitions(id)?.finish()?;
    Ok((events, left_out))
}

/// An open collective.
#[derive(Clone, Copy, Debug)]
struct Begun {
    is_mpi: bool,
    /// True if the cut keeps the call.
    is_kept: bool,
    /// True if its begin record was copied.
    is_copied: bool,
}

struct Copying<'a> {
    source: &'a Source<'a>,
    me: LocationNumber,
    seen: &'a Seen,
    whole: &'a Whole,
    output: EventWriter,
    calls: Calls,
    has_begun: bool,
    has_ended: bool,
    /// Time of the last event that was copied.
    last: Time,
    /// Number of collectives of the span so far.
    collectives: usize,
    begun: Vec<Begun>,
    messages: Numbers,
    /// Receives that are posted, sends that were copied, operations that were copied, and the first of each window.
    receives: BTreeSet<RequestId>,
    sends: HashSet<RequestId>,
    issued: HashSet<Completion>,
    first_issued: HashMap<RmaWinRef, u64>,
    locks: BTreeMap<Lock, LockType>,
    /// Mode of the measurement, unless it is on.
    is_off: Option<MeasurementMode>,
    left_out: u64,
    failed: Option<otf2::Error>,
    events: u64,
}

impl Copying<'_> {
    /// Advances to the next collective of the span. Returns `true` if it is in the span at all of its members, and
    /// counts it as left out otherwise.
    fn takes_collective(&mut self) -> bool {
        let place = self.collectives;
        self.collectives += 1;
        let known = self.seen.collectives.get(place).copied().flatten();
        let takes = known.is_none_or(|(of, number)| {
            self.whole.collectives.get(&of).is_some_and(|it| it.contains(&number))
        });
        self.left_out += u64::from(!takes);
        takes
    }

    /// Begins the span: enters the open calls, begins the open collectives, acquires the held locks and posts the
    /// pending receives.
    fn begin(&mut self) -> otf2::Result<()> {
        self.has_begun = true;
        let from = self.source.span.from;
        self.last = from;
        if let Some(measurement_mode) = self.is_off {
            self.output.write(from, MeasurementOnOff { measurement_mode })?;
        }
        for frame in self.calls.kept() {
            let attributes = List::from(frame.attributes.as_slice());
            self.output.write_with(from, attributes, Enter { region: frame.region })?;
            for parameter in &frame.parameters {
                self.output.write(from, *parameter)?;
            }
        }
        for index in 0..self.begun.len() {
            let is_kept = self.begun.get(index).is_some_and(|it| it.is_kept);
            let is_copied = is_kept && self.takes_collective();
            let Some(it) = self.begun.get_mut(index) else { continue };
            it.is_copied = is_copied;
            match (is_copied, it.is_mpi) {
                (true, true) => self.output.write(from, MpiCollectiveBegin {})?,
                (true, false) => self.output.write(from, RmaCollectiveBegin {})?,
                (false, _) => {}
            }
        }
        for (&Lock { window: win, remote, lock: lock_id }, &lock_type) in &self.locks {
            self.output.write(from, RmaAcquireLock { win, remote, lock_id, lock_type })?;
        }
        for &request_id in &self.receives {
            self.output.write(from, MpiIrecvRequest { request_id })?;
        }
        Ok(())
    }

    /// Leaves the calls that are open at the end of the span.
    fn leave_all(&mut self) -> otf2::Result<()> {
        if !self.has_begun {
            return Ok(());
        }
        let end = if self.has_ended { self.source.span.to } else { self.last };
        for frame in self.calls.kept().rev() {
            self.output.write(end, Leave { region: frame.region })?;
        }
        Ok(())
    }

    fn write(&mut self, record: &EventRecord<'_>) -> otf2::Result<()> {
        self.last = record.time.max(self.last);
        self.output.write_with(self.last, record.attributes, record.event)
    }

    /// Keeps track of posted receives, held locks and pauses of the recording, before the span and in it.
    fn follow(&mut self, what: &Record, event: &Event<'_>) {
        match *what {
            Record::ReceivePost(request) => drop(self.receives.insert(request)),
            Record::Receive(Message { request: Some(request), .. }) => {
                self.receives.remove(&request);
            }
            Record::Cancel(request) => drop(self.receives.remove(&request)),
            Record::LockAcquire(lock, mode) => drop(self.locks.insert(lock, mode)),
            Record::LockRelease(lock) => drop(self.locks.remove(&lock)),
            _ => match *event {
                Event::MeasurementOnOff(it) => {
                    let is_on = it.measurement_mode == MeasurementMode::On;
                    self.is_off = (!is_on).then_some(it.measurement_mode);
                }
                _ => self.calls.parameter(event),
            },
        }
    }

    /// Reads an event after the span, as long as collectives are open.
    fn after(&mut self, record: &EventRecord<'_>) -> otf2::Result<ControlFlow<()>> {
        self.has_ended = true;
        match record.event {
            Event::MpiCollectiveBegin(_) | Event::RmaCollectiveBegin(_) => {
                self.begun.push(Begun { is_mpi: false, is_kept: false, is_copied: false });
            }
            Event::MpiCollectiveEnd(_) | Event::RmaCollectiveEnd(_) => {
                let ended = self.begun.pop();
                if ended.is_some_and(|it| it.is_copied) {
                    let to = self.source.span.to;
                    self.output.write_with(to, record.attributes, record.event)?;
                }
            }
            _ => {}
        }
        Ok(match self.begun.iter().any(|it| it.is_copied) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    }

    fn record(&mut self, record: &EventRecord<'_>) -> otf2::Result<ControlFlow<()>> {
        let Source { layout, span, chosen, .. } = self.source;
        if !self.has_begun && record.time >= span.from {
            self.begin()?;
        }
        if record.time >= span.to {
            if !self.has_ended && !self.begun.iter().any(|it| it.is_copied) {
                self.has_ended = true;
                return Ok(ControlFlow::Break(()));
            }
            return self.after(record);
        }
        let is_inside = self.has_begun;
        match record.event {
            Event::Enter(it) => {
                if self.calls.enter(chosen, it.region, record.attributes) && is_inside {
                    self.write(record)?;
                }
                return Ok(ControlFlow::Continue(()));
            }
            Event::Leave(_) => {
                if self.calls.leave() && is_inside {
                    self.write(record)?;
                }
                return Ok(ControlFlow::Continue(()));
            }
            Event::MpiCollectiveBegin(_) | Event::RmaCollectiveBegin(_) => {
                let is_mpi = matches!(record.event, Event::MpiCollectiveBegin(_));
                let is_kept = self.calls.is_kept(chosen);
                let is_copied = is_kept && is_inside && self.takes_collective();
                self.begun.push(Begun { is_mpi, is_kept, is_copied });
                if is_copied {
                    self.write(record)?;
                }
                return Ok(ControlFlow::Continue(()));
            }
            Event::MpiCollectiveEnd(_) | Event::RmaCollectiveEnd(_) => {
                if self.begun.pop().is_some_and(|it| it.is_copied) {
                    self.write(record)?;
                }
                return Ok(ControlFlow::Continue(()));
            }
            _ => {}
        }
        let what = Record::of(&record.event);
        self.follow(&what, &record.event);
        let number = Channel::of(layout, &what, self.me).map(|(channel, _)| {
            (channel, self.messages.next(channel, layout.skipped(record.attributes)))
        });
        if !is_inside || !self.calls.is_kept(chosen) {
            return Ok(ControlFlow::Continue(()));
        }
        let is_cut = number.is_some_and(|(of, number)| !self.whole.has_other_end(of, number));
        self.left_out += u64::from(is_cut);
        match what {
            Record::Receive(message) if is_cut => {
                if let Some(request_id) = message.request {
                    self.last = record.time.max(self.last);
                    self.output.write(self.last, MpiRequestCancelled { request_id })?;
                }
            }
            _ if is_cut => {}
            Record::Send(message) => {
                self.sends.extend(message.request);
                self.write(record)?;
            }
            Record::SendComplete(request) => {
                if self.sends.remove(&request) {
                    self.write(record)?;
                }
            }
            Record::Issue(it) => {
                let Issue { window, id, .. } = it;
                self.issued.insert(Completion { window, id });
                let first = self.first_issued.entry(window).or_insert(id);
                *first = id.min(*first);
                self.write(record)?;
            }
            Record::CompleteLocal(it) => {
                if self.issued.remove(&it) {
                    self.write(record)?;
                }
            }
            // The record may complete earlier operations as well, and operations that are already complete at their
            // origin.
            Record::CompleteRemote(it) => {
                if self.first_issued.get(&it.window).is_some_and(|first| it.id >= *first) {
                    self.write(record)?;
                }
            }
            _ if matches!(record.event, Event::Unknown(_)) => {}
            _ => self.write(record)?,
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Visitor for Copying<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        self.events += 1;
        match self.record(&record) {
            Ok(flow) => flow,
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
