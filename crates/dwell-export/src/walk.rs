//! Reads the events of a location together with its part of the dependency log.
//!
//! The events say which operations there were, and the log says on which call path a call is and how long it waited for which process. Both
//! are read from begin to end. A judged call of the log is the next one that is entered at the same time in the same region, so that
//! calls without length do not confuse them.
//!
//! A record inside of a call whose caller has records of its own belongs to an inner layer, as a message of MPI in a call of coarrays
//! does. Such records are skipped, as in the wait analysis.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::vec;

use dwell_log::piece::Piece;
use dwell_log::read::{Segment, Step};
use dwell_model::waits::Wait;
use dwell_trace::channels::{Channel, Numbers};
use dwell_trace::completions::OfAll;
use dwell_trace::ids::LocationNumber;
use dwell_trace::layout::Layout;
use dwell_trace::operations::{Calls, Completes, InFlight};
use dwell_trace::record::{Access, Issue, Lock, Message, Record};
use dwell_trace::time::Time;
use otf2::Event;
use otf2::id::{RegionRef, RequestId};
use otf2::read::{EventRecord, Visitor};

use crate::error::{Error, Result};
use crate::operation::{Operation, OperationKind, Space};
use crate::run::Run;

/// Receives what a location did.
pub(crate) trait Sink {
    /// Receives an event. The time is that of the clock of the trace in nanoseconds.
    fn event(&mut self, time: u64, record: &EventRecord<'_>) -> Result<()>;

    /// Receives an operation once its completion and its wait are known, or after the last event.
    fn operation(&mut self, operation: &Operation) -> Result<()>;

    /// Receives a wait, and the call that waited: its call path, begin and end.
    fn wait(&mut self, wait: &Piece, call: Option<(Option<u32>, u64, u64)>) -> Result<()>;
}

/// Reads a location from its first event to its last, and gives what it did to a sink.
pub(crate) fn walk<S: Sink>(
    run: &Run,
    location: LocationNumber,
    sink: &mut S,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<()> {
    let Some(id) = run.layout.id(location) else { return Ok(()) };
    let Some(log) = run.log.location(location)? else { return Ok(()) };
    let numbers = run.paths.numbers(&log);
    let paths = log.paths().iter().zip(&numbers);
    let paths: Vec<JudgedPath> = paths
        .map(|(path, number)| JudgedPath {
            number: number.0.map(|it| it.0),
            region: match path.step {
                Step::Region(region, _) if number.1 => Some(region),
                _ => None,
            },
        })
        .collect();
    let mut walker = Walker {
        run,
        me: location,
        is_alone: run.layout.is_alone(location),
        paths,
        segments: log.segments_in_order()?,
        waits: log.waits_in_order()?,
        next_call: None,
        next_wait: None,
        call: None,
        calls: Calls::default(),
        flight: InFlight::default(),
        elsewhere: run.completions_elsewhere(location).into_iter().peekable(),
        requests: HashMap::new(),
        locks: HashMap::new(),
        sends: Vec::new(),
        complete: Vec::new(),
        messages: Numbers::default(),
        sink,
        failed: None,
        events: 0,
        progress,
    };
    walker.advance()?;
    walker.next_wait = walker.waits.next().transpose()?;
    let mut reader = run.archive.events(id)?;
    let result = reader.visit_dyn(&mut walker);
    if let Some(error) = walker.failed.take() {
        return Err(error);
    }
    if let Err(error) = result {
        run.damage.add(location, &error);
    }
    walker.finish()
}

/// A call path of the log: its number in the report, and its region if waits are judged there.
#[derive(Clone, Copy, Debug)]
struct JudgedPath {
    number: Option<u32>,
    region: Option<RegionRef>,
}

/// A call at which waits are judged.
#[derive(Clone, Copy, Debug)]
struct Call {
    path: Option<u32>,
    begin: u64,
    end: u64,
    /// Number of regions around it.
    depth: usize,
}

struct Walker<'a, S, A, B> {
    run: &'a Run,
    me: LocationNumber,
    /// True if the process has no other thread.
    is_alone: bool,
    paths: Vec<JudgedPath>,
    segments: A,
    waits: B,
    /// The next judged call of the log, and its region.
    next_call: Option<(Segment, RegionRef)>,
    next_wait: Option<Piece>,
    call: Option<Call>,
    calls: Calls,
    /// Operations that are not complete.
    flight: InFlight<Operation>,
    /// Completions at other threads that concern the operations of this one, from the next event on.
    elsewhere: Peekable<vec::IntoIter<OfAll>>,
    /// Messages that are not complete, by request; a receive that is posted has a begin only.
    requests: HashMap<RequestId, (u64, Option<Operation>)>,
    /// Times at which locks were requested.
    locks: HashMap<Lock, u64>,
    /// Blocking sends, which are complete when their call ends, with the number of regions around the call.
    sends: Vec<(usize, Operation)>,
    /// Operations that the current call has completed.
    complete: Vec<Operation>,
    messages: Numbers,
    sink: &'a mut S,
    failed: Option<Error>,
    events: u64,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl<S, A, B> Walker<'_, S, A, B>
where
    S: Sink,
    A: Iterator<Item = std::result::Result<Segment, dwell_log::read::LogError>>,
    B: Iterator<Item = std::result::Result<Piece, dwell_log::read::LogError>>,
{
    /// Finds the next judged call of the log.
    fn advance(&mut self) -> Result<()> {
        self.next_call = None;
        for segment in self.segments.by_ref() {
            let segment = segment?;
            if let Some(region) = self.paths.get(segment.path).and_then(|it| it.region) {
                self.next_call = Some((segment, region));
                break;
            }
        }
        Ok(())
    }

    fn enter(&mut self, time: u64, region: RegionRef) -> Result<()> {
        if self.call.is_none() {
            while self.next_call.is_some_and(|it| it.0.begin.nanoseconds() < time) {
                self.advance()?;
            }
            if let Some((segment, _)) =
                self.next_call.filter(|it| it.0.begin.nanoseconds() == time && it.1 == region)
            {
                let path = self.paths.get(segment.path).and_then(|it| it.number);
                let (begin, end) = (time, segment.end.nanoseconds());
                self.call = Some(Call { path, begin, end, depth: self.calls.depth() });
                self.advance()?;
            }
        }
        self.calls.enter(region, Time::from_nanoseconds(time));
        Ok(())
    }

    fn leave(&mut self, time: u64) -> Result<()> {
        self.calls.leave();
        let depth = self.calls.depth();
        while let Some((_, operation)) = self.sends.pop_if(|it| it.0 >= depth) {
            self.completed(Operation { completion: Some(time), ..operation })?;
        }
        if self.call.is_some_and(|it| it.depth >= depth) {
            self.end_call()?;
        }
        Ok(())
    }

    /// Ends the current call: gives its waits and the operations that it has completed to the sink.
    fn end_call(&mut self) -> Result<()> {
        let Some(call) = self.call.take() else { return Ok(()) };
        while let Some(piece) = self.next_wait.filter(|it| it.to.nanoseconds() <= call.end) {
            self.next_wait = self.waits.next().transpose()?;
            let Some(what) = piece.what.wait() else { continue };
            let is_inside = piece.to.nanoseconds() > call.begin;
            let around = is_inside.then_some((call.path, call.begin, call.end));
            self.sink.wait(&piece, around)?;
            if is_inside && !piece.is_among_all() {
                self.attribute(&piece, what);
            }
        }
        for operation in self.complete.drain(..) {
            self.sink.operation(&operation)?;
        }
        Ok(())
    }

    /// Adds a wait to the first operation of the call that it belongs to.
    fn attribute(&mut self, piece: &Piece, what: Wait) {
        let culprit = self.run.first_of_process(piece.culprit);
        let is_lock = what.whole() == Wait::LockContention;
        let own = self.complete.iter_mut().filter(|it| match it.kind {
            OperationKind::Lock => is_lock || it.partner == Some(culprit),
            _ => !is_lock && it.partner == Some(culprit),
        });
        if let Some(operation) = own.min_by_key(|it| it.begin) {
            operation.wait.0 = operation.wait.0.saturating_add(piece.low.nanoseconds());
            operation.wait.1 = operation.wait.1.saturating_add(piece.high.nanoseconds());
        }
    }

    fn begun(
        &self,
        kind: OperationKind,
        partner: Option<u32>,
        time: u64,
        space: Space,
    ) -> Operation {
        Operation {
            kind,
            location: self.me.place(),
            partner,
            call_path: self.call.and_then(|it| it.path),
            bytes: 0,
            begin: time,
            completion: None,
            wait: (0, 0),
            space,
        }
    }

    fn completed(&mut self, operation: Operation) -> Result<()> {
        if self.call.is_some() {
            self.complete.push(operation);
            return Ok(());
        }
        self.sink.operation(&operation)
    }

    fn issue(&mut self, time: u64, issue: Issue) {
        if self.calls.has_record() {
            let kind = match issue.access {
                Access::Put => OperationKind::Put,
                Access::Get => OperationKind::Get,
                Access::Atomic => OperationKind::Atomic,
            };
            let Issue { window, remote, bytes, id, .. } = issue;
            let partner = self.run.layout.target(window, remote, self.me);
            let partner = partner.map(LocationNumber::place);
            let operation = self.begun(kind, partner, time, Space::Window(window.0));
            self.flight.issue(window, id, Operation { bytes, ..operation });
        }
    }

    fn complete(&mut self, time: u64, completes: Completes) -> Result<()> {
        while let Some(operation) = self.flight.complete(completes) {
            self.completed(Operation { completion: Some(time), ..operation })?;
        }
        Ok(())
    }

    /// Completes operations that other threads have completed before a time.
    fn complete_elsewhere(&mut self, time: u64) -> Result<()> {
        let before = |it: &OfAll| it.time.nanoseconds() <= time;
        while let Some(OfAll { time, window, .. }) = self.elsewhere.next_if(before) {
            let completion = Some(time.nanoseconds());
            while let Some(operation) = self.flight.complete(Completes::All(window)) {
                // The call that waited for it is not one of this location.
                self.sink.operation(&Operation { completion, ..operation })?;
            }
        }
        Ok(())
    }

    /// Returns a message that is sent or received.
    fn message(
        &mut self,
        time: u64,
        what: &Record,
        message: Message,
        record: &EventRecord<'_>,
    ) -> Operation {
        let Message { communicator, tag, bytes, .. } = message;
        let is_send = matches!(what, Record::Send(_));
        let kind = if is_send { OperationKind::Send } else { OperationKind::Receive };
        let layout = &self.run.layout;
        let channel = Channel::of(layout, what, self.me).map(|it| it.0);
        let partner = channel.map(|it| if it.is_send { it.receiver } else { it.sender }.place());
        // Threads of a process have no common order of messages.
        let number = channel
            .filter(|_| self.is_alone)
            .map(|channel| self.messages.next(channel, layout.skipped(record.attributes)));
        let space = Space::Message { communicator: communicator.0, tag, number };
        Operation { bytes, ..self.begun(kind, partner, time, space) }
    }

    fn record(&mut self, time: u64, record: &EventRecord<'_>) -> Result<()> {
        let what = Record::of(&record.event);
        match what {
            Record::Enter(region) => self.enter(time, region)?,
            Record::Leave => self.leave(time)?,
            Record::Issue(issue) => self.issue(time, issue),
            Record::CompleteLocal(it) => self.complete(time, Completes::Numbered(it))?,
            Record::CompleteRemote(it) => {
                let call = self.calls.last().map(|it| it.region);
                self.complete(time, self.run.layout.completes(call, it))?;
            }
            Record::CollectiveBegin | Record::LockRelease(_) => {
                self.calls.has_record();
            }
            Record::LockRequest(lock, _) => {
                if self.calls.has_record() {
                    self.locks.insert(lock, time);
                }
            }
            Record::LockAcquire(lock, _) => {
                let requested = self.locks.remove(&lock);
                if self.calls.has_record() {
                    let begin = requested.or(self.enter_of_call()).unwrap_or(time);
                    let partner = self.run.layout.target(lock.window, lock.remote, self.me);
                    let partner = partner.map(LocationNumber::place);
                    let space = Space::Window(lock.window.0);
                    let lock = self.begun(OperationKind::Lock, partner, begin, space);
                    self.completed(Operation { completion: Some(time), ..lock })?;
                }
            }
            Record::Send(message) => {
                let send = self.message(time, &what, message, record);
                if self.calls.has_record() {
                    match message.request {
                        Some(request) => drop(self.requests.insert(request, (time, Some(send)))),
                        None => self.sends.push((self.calls.depth().saturating_sub(1), send)),
                    }
                }
            }
            Record::SendComplete(request) => {
                if let Some((_, Some(send))) = self.requests.remove(&request) {
                    self.completed(Operation { completion: Some(time), ..send })?;
                }
            }
            Record::ReceivePost(request) => drop(self.requests.insert(request, (time, None))),
            Record::Receive(message) => {
                let begin = match message.request {
                    Some(request) => self.requests.remove(&request).map(|it| it.0),
                    None => self.enter_of_call(),
                };
                let receive = self.message(time, &what, message, record);
                if self.calls.has_record() {
                    let begin = begin.unwrap_or(time);
                    self.completed(Operation { begin, completion: Some(time), ..receive })?;
                }
            }
            Record::Cancel(request) => drop(self.requests.remove(&request)),
            Record::CollectiveEnd(_) | Record::Other => {}
        }
        Ok(())
    }

    /// Returns the time at which the innermost call was entered.
    fn enter_of_call(&self) -> Option<u64> {
        self.calls.last().map(|it| it.begin.nanoseconds())
    }

    /// Gives what is left to the sink.
    fn finish(mut self) -> Result<()> {
        self.end_call()?;
        self.complete_elsewhere(u64::MAX)?;
        let mut left: Vec<Operation> = self.flight.iter().copied().collect();
        left.extend(self.requests.values().filter_map(|it| it.1));
        left.extend(self.sends.iter().map(|it| it.1));
        left.sort_by_key(|it| (it.begin, it.partner, it.bytes));
        left.iter().try_for_each(|it| self.sink.operation(it))?;
        while let Some(piece) = self.next_wait.take() {
            if piece.what.wait().is_some() {
                self.sink.wait(&piece, None)?;
            }
            self.next_wait = self.waits.next().transpose()?;
        }
        (self.progress)(self.events);
        Ok(())
    }
}

/// Number of events after which progress is told.
const TOLD: u64 = 65_536;

impl<S, A, B> Visitor for Walker<'_, S, A, B>
where
    S: Sink,
    A: Iterator<Item = std::result::Result<Segment, dwell_log::read::LogError>>,
    B: Iterator<Item = std::result::Result<Piece, dwell_log::read::LogError>>,
{
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        self.events += 1;
        if self.events == TOLD {
            (self.progress)(TOLD);
            self.events = 0;
        }
        let time = self.run.layout.time(record.time).nanoseconds();
        let result = self
            .complete_elsewhere(time)
            .and_then(|()| self.sink.event(time, &record))
            .and_then(|()| self.record(time, &record));
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Returns the first location of the process that a record names, and its bytes.
pub(crate) fn partner_and_bytes(
    layout: &Layout,
    me: LocationNumber,
    event: &Event<'_>,
) -> (Option<u32>, Option<u64>) {
    let at = |win, rank| layout.target(win, rank, me).map(LocationNumber::place);
    let with = |comm, rank| layout.partner(comm, rank, me).map(LocationNumber::place);
    match event {
        Event::RmaPut(it) => (at(it.win, it.remote), Some(it.bytes)),
        Event::RmaGet(it) => (at(it.win, it.remote), Some(it.bytes)),
        Event::RmaAtomic(it) => {
            (at(it.win, it.remote), Some(it.bytes_sent.saturating_add(it.bytes_received)))
        }
        Event::RmaSync(it) => (at(it.win, it.remote), None),
        Event::RmaRequestLock(it) => (at(it.win, it.remote), None),
        Event::RmaAcquireLock(it) => (at(it.win, it.remote), None),
        Event::RmaTryLock(it) => (at(it.win, it.remote), None),
        Event::RmaReleaseLock(it) => (at(it.win, it.remote), None),
        Event::RmaCollectiveEnd(it) => {
            (None, Some(it.bytes_sent.saturating_add(it.bytes_received)))
        }
        Event::MpiCollectiveEnd(it) => (None, Some(it.size_sent.saturating_add(it.size_received))),
        Event::MpiSend(it) => (with(it.communicator, it.receiver), Some(it.msg_length)),
        Event::MpiIsend(it) => (with(it.communicator, it.receiver), Some(it.msg_length)),
        Event::MpiRecv(it) => (with(it.communicator, it.sender), Some(it.msg_length)),
        Event::MpiIrecv(it) => (with(it.communicator, it.sender), Some(it.msg_length)),
        _ => (None, None),
    }
}
