//! Reads the events of a location together with its part of the dependency log.
//!
//! The events say which operations there were, and the log says on which call path a call is and how long it waited for whom. Both
//! are read from begin to end. A judged call of the log is the next one that is entered at the same time in the same region, so that
//! calls without length do not confuse them.
//!
//! A record inside of a call whose caller has records of its own belongs to an inner layer, as a message of MPI in a call of coarrays
//! does. It is no operation here, as it is none where waits are judged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use dwell_log::read::{Piece, Segment, Step};
use dwell_model::waits::Wait;
use dwell_trace::ids::LocationNumber;
use dwell_trace::layout::Layout;
use otf2::enums::Paradigm;
use otf2::id::{CommRef, Rank, RegionRef, RmaWinRef};
use otf2::read::{Definitions, EventRecord, Visitor};
use otf2::{Definition, Event};

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

/// What is the same for all locations.
#[derive(Debug)]
pub(crate) struct Common {
    /// Regions of MPI, in which a completion concerns the operations with its number only.
    numbered: BTreeSet<RegionRef>,
}

impl Common {
    pub(crate) fn of(definitions: &Definitions) -> Self {
        let numbered = definitions.iter().filter_map(|it| match it {
            Definition::Region(region) if region.paradigm == Paradigm::Mpi => Some(region.id),
            _ => None,
        });
        Self { numbered: numbered.collect() }
    }
}

/// Reads a location from its first event to its last, and gives what it did to a sink.
pub(crate) fn walk<S: Sink>(
    run: &Run,
    common: &Common,
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
    let siblings = run.layout.siblings(location);
    let mut walker = Walker {
        run,
        common,
        me: location,
        is_alone: siblings.start.place() + 1 == siblings.end.place(),
        paths,
        segments: log.segments_in_order()?,
        waits: log.waits_in_order()?,
        next_call: None,
        next_wait: None,
        call: None,
        frames: Vec::new(),
        open: BTreeMap::new(),
        issued: 0,
        requests: HashMap::new(),
        locks: HashMap::new(),
        sends: Vec::new(),
        complete: Vec::new(),
        channels: HashMap::new(),
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

/// An open region.
#[derive(Clone, Copy, Debug)]
struct Frame {
    region: RegionRef,
    begin: u64,
    has_records: bool,
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

/// Messages that are received in the order in which they were sent.
type Channel = (bool, CommRef, u32, u32);

struct Walker<'a, S, A, B> {
    run: &'a Run,
    common: &'a Common,
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
    frames: Vec<Frame>,
    /// Operations that are not complete, by window, matching id and order.
    open: BTreeMap<(RmaWinRef, u64, u64), Operation>,
    issued: u64,
    /// Messages that are not complete, by request; a receive that is posted has a begin only.
    requests: HashMap<u64, (u64, Option<Operation>)>,
    /// Times at which locks were requested.
    locks: HashMap<(RmaWinRef, Rank, u64), u64>,
    /// Blocking sends, which are complete when their call ends, with the number of regions around the call.
    sends: Vec<(usize, Operation)>,
    /// Operations that the current call has completed.
    complete: Vec<Operation>,
    channels: HashMap<Channel, u64>,
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
                self.call = Some(Call { path, begin, end, depth: self.frames.len() });
                self.advance()?;
            }
        }
        self.frames.push(Frame { region, begin: time, has_records: false });
        Ok(())
    }

    fn leave(&mut self, time: u64) -> Result<()> {
        self.frames.pop();
        let depth = self.frames.len();
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

    /// Marks the innermost call as one with records, and returns `false` if a call around it has records of its own.
    fn is_outer(&mut self) -> bool {
        let Some((last, outer)) = self.frames.split_last_mut() else { return true };
        last.has_records = true;
        !outer.iter().any(|it| it.has_records)
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

    fn issue(
        &mut self,
        time: u64,
        kind: OperationKind,
        (win, remote): (RmaWinRef, Rank),
        bytes: u64,
        id: u64,
    ) {
        if self.is_outer() {
            let partner = self.run.layout.target(win, remote, self.me).map(LocationNumber::place);
            let operation = self.begun(kind, partner, time, Space::Window(win.0));
            self.open.insert((win, id, self.issued), Operation { bytes, ..operation });
            self.issued += 1;
        }
    }

    /// Completes operations: those with the id, and those before it as well if `is_all`.
    fn complete(&mut self, time: u64, win: RmaWinRef, id: u64, is_all: bool) -> Result<()> {
        let first = (win, if is_all { 0 } else { id }, 0);
        while let Some((key, _)) = self.open.range(first..=(win, id, u64::MAX)).next() {
            let key = *key;
            if let Some(operation) = self.open.remove(&key) {
                self.completed(Operation { completion: Some(time), ..operation })?;
            }
        }
        Ok(())
    }

    /// Returns a message that is sent or received.
    fn message(
        &mut self,
        time: u64,
        kind: OperationKind,
        (comm, rank, tag): (CommRef, Rank, u32),
        bytes: u64,
        record: &EventRecord<'_>,
    ) -> Operation {
        let partner = self.run.layout.partner(comm, rank, self.me).map(LocationNumber::place);
        let skipped = self.run.layout.skipped(record.attributes);
        let number = partner.filter(|_| self.is_alone).map(|partner| {
            let channel = (kind == OperationKind::Send, comm, partner, tag);
            let next = self.channels.entry(channel).or_default();
            let number = *next + skipped;
            *next = number + 1;
            number
        });
        let space = Space::Message { communicator: comm.0, tag, number };
        Operation { bytes, ..self.begun(kind, partner, time, space) }
    }

    fn record(&mut self, time: u64, record: &EventRecord<'_>) -> Result<()> {
        use OperationKind::{Atomic, Get, Lock, Put, Receive, Send};
        match record.event {
            Event::Enter(it) => self.enter(time, it.region)?,
            Event::Leave(_) => self.leave(time)?,
            Event::RmaPut(it) => {
                self.issue(time, Put, (it.win, it.remote), it.bytes, it.matching_id.0);
            }
            Event::RmaGet(it) => {
                self.issue(time, Get, (it.win, it.remote), it.bytes, it.matching_id.0);
            }
            Event::RmaAtomic(it) => {
                let bytes = it.bytes_sent.saturating_add(it.bytes_received);
                self.issue(time, Atomic, (it.win, it.remote), bytes, it.matching_id.0);
            }
            Event::RmaOpCompleteBlocking(it) => {
                self.complete(time, it.win, it.matching_id.0, false)?;
            }
            Event::RmaOpCompleteNonBlocking(it) => {
                self.complete(time, it.win, it.matching_id.0, false)?;
            }
            Event::RmaOpCompleteRemote(it) => {
                let region = self.frames.last().map(|it| it.region);
                let is_numbered = region.is_some_and(|it| self.common.numbered.contains(&it));
                self.complete(time, it.win, it.matching_id.0, !is_numbered)?;
            }
            Event::RmaCollectiveBegin(_) | Event::MpiCollectiveBegin(_) => {
                self.is_outer();
            }
            Event::RmaRequestLock(it) => {
                let is_outer = self.is_outer();
                if is_outer {
                    self.locks.insert((it.win, it.remote, it.lock_id.0), time);
                }
            }
            Event::RmaAcquireLock(it) => {
                let requested = self.locks.remove(&(it.win, it.remote, it.lock_id.0));
                if self.is_outer() {
                    let begin = requested.or(self.frames.last().map(|it| it.begin)).unwrap_or(time);
                    let partner = self.run.layout.target(it.win, it.remote, self.me);
                    let partner = partner.map(LocationNumber::place);
                    let lock = self.begun(Lock, partner, begin, Space::Window(it.win.0));
                    self.completed(Operation { completion: Some(time), ..lock })?;
                }
            }
            Event::RmaReleaseLock(_) => {
                self.is_outer();
            }
            Event::MpiSend(it) => {
                let at = (it.communicator, it.receiver, it.msg_tag);
                let send = self.message(time, Send, at, it.msg_length, record);
                if self.is_outer() {
                    self.sends.push((self.frames.len().saturating_sub(1), send));
                }
            }
            Event::MpiIsend(it) => {
                let at = (it.communicator, it.receiver, it.msg_tag);
                let send = self.message(time, Send, at, it.msg_length, record);
                if self.is_outer() {
                    self.requests.insert(it.request_id.0, (time, Some(send)));
                }
            }
            Event::MpiIsendComplete(it) => {
                if let Some((_, Some(send))) = self.requests.remove(&it.request_id.0) {
                    self.completed(Operation { completion: Some(time), ..send })?;
                }
            }
            Event::MpiIrecvRequest(it) => {
                self.requests.insert(it.request_id.0, (time, None));
            }
            Event::MpiRecv(it) => {
                let at = (it.communicator, it.sender, it.msg_tag);
                let receive = self.message(time, Receive, at, it.msg_length, record);
                if self.is_outer() {
                    let begin = self.frames.last().map_or(time, |it| it.begin);
                    self.completed(Operation { begin, completion: Some(time), ..receive })?;
                }
            }
            Event::MpiIrecv(it) => {
                let at = (it.communicator, it.sender, it.msg_tag);
                let posted = self.requests.remove(&it.request_id.0).map(|it| it.0);
                let receive = self.message(time, Receive, at, it.msg_length, record);
                if self.is_outer() {
                    let begin = posted.unwrap_or(time);
                    self.completed(Operation { begin, completion: Some(time), ..receive })?;
                }
            }
            Event::MpiRequestCancelled(it) => drop(self.requests.remove(&it.request_id.0)),
            _ => {}
        }
        Ok(())
    }

    /// Gives what is left to the sink.
    fn finish(mut self) -> Result<()> {
        self.end_call()?;
        let mut left: Vec<Operation> = self.open.values().copied().collect();
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
        let result = self.sink.event(time, &record).and_then(|()| self.record(time, &record));
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
