//! Some processes, and all state that their shard owns.
//!
//! A window goes through three steps, for all shards at once: [`Shard::play`] reads events and sends questions and
//! facts; [`Shard::answer`] answers what arrived; [`Shard::book`] books the answers and forgets what no later question can
//! need.

use std::sync::Arc;

use dwell_log::edge::{Edge, Kind};
use dwell_log::quantity::Quantity;
use dwell_log::scratch::Scratch;
use dwell_trace::ids::{LocationNumber, Ordinal, ProcessNumber};
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use otf2::Archive;

use crate::engine::accounts::{self, Bins, ExpectedTimes};
use crate::engine::blame::Blame;
use crate::engine::booking::{Booking, Piece};
use crate::engine::exchange::{
    self, EngineAnswered, EngineAnswers, EngineAsked, EngineQuestions, Outboxes,
};
use crate::engine::fast_path::Leaf;
use crate::engine::instances::WaitingCalls;
use crate::engine::location::{EventFile, Location, Source};
use crate::engine::location_context::LocationContext;
use crate::engine::log::ShardLog;
use crate::engine::matrix::Matrix;
use crate::engine::outstanding::Op;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{
    Answered, Answering, Answers, Asked, Asking, Conclusion, DividedCalls, Floors, Pattern,
    Questions, Unjudged, Window,
};
use crate::engine::player::Player;
use crate::engine::polling::{Blamed, Waited};
use crate::engine::process::Process;
use crate::engine::regions::Span;

/// State of a worker while it reads events.
#[derive(Debug)]
pub(crate) struct Reader<P: Pattern> {
    /// Outboxes of each pattern, of all patterns together, and of the engine.
    pub(crate) own: P::Questions,
    pub(crate) shared: Questions<P>,
    pub(crate) engine: EngineQuestions,
    pub(crate) ops: Vec<Op>,
    pub(crate) floors: Floors,
    pub(crate) events: u64,
}

/// State of a worker while it answers questions.
#[derive(Debug)]
pub(crate) struct Answerer<P: Pattern> {
    /// Outboxes of each pattern, of all patterns together, and of the engine.
    pub(crate) own: P::Answers,
    pub(crate) shared: Answers<P>,
    pub(crate) engine: EngineAnswers,
    /// Number of workers that may share the work of one shard.
    pub(crate) workers: usize,
}

/// Some processes, and all state that they own.
#[derive(Debug)]
pub(crate) struct Shard<P: Pattern> {
    pub(crate) processes: Owned<ProcessNumber, Process>,
    pub(crate) patterns: P,
    /// Messages that have arrived, of each pattern, of all patterns together, and of the engine.
    pub(crate) asked: (<P::Questions as Outboxes>::Inboxes, (Asked<P>, EngineAsked)),
    pub(crate) answered: (<P::Answers as Outboxes>::Inboxes, (Answered<P>, EngineAnswered)),
    pub(crate) blame: Blame,
    pub(crate) matrix: Matrix,
    /// Part of the dependency log, if it is wanted.
    pub(crate) log: Option<ShardLog>,
}

/// Time up to which a window reads, and the memory for doing so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) horizon: Time,
    /// Size of each location's read buffer in bytes.
    pub(crate) buffer: usize,
    /// About this many operations in flight are kept in memory for each process.
    pub(crate) most_open: usize,
}

/// Event files of the locations that this program replays.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    pub(crate) archive: &'a Archive,
    /// The first of these locations, which are numbered consecutively, and the files of all of them.
    pub(crate) first: LocationNumber,
    pub(crate) list: Vec<EventFile>,
}

impl<P: Pattern> Shard<P> {
    /// Creates the shard that owns some processes.
    pub(crate) fn new(
        world: &World,
        processes: std::ops::Range<ProcessNumber>,
        log: Option<(&Arc<Scratch>, u64)>,
    ) -> Self {
        let process = |number| {
            let mut process = Process::new(world, number);
            if let Some((scratch, _)) = log {
                process.keep_log(scratch);
            }
            process
        };
        let end = |process: ProcessNumber| {
            let process = world.system.processes.get(process.index());
            LocationNumber(process.map_or(0, |process| process.first.0 + process.count))
        };
        let first = world.system.processes.get(processes.start.index());
        let begin = first.map_or(LocationNumber(0), |it| it.first);
        let last = ProcessNumber::all(processes.clone()).next_back().map_or(begin, end);
        let members = Members { processes: processes.clone(), locations: begin..last };
        Self {
            processes: Owned::new(processes, process),
            patterns: P::new(&members),
            asked: Default::default(),
            answered: Default::default(),
            blame: Blame::default(),
            matrix: Matrix::default(),
            log: log.map(|(scratch, bytes)| ShardLog::new(scratch, begin..last, bytes)),
        }
    }

    /// Reads the events of all processes up to the horizon, and one beyond.
    pub(crate) fn play(
        &mut self,
        world: &World,
        files: &Files<'_>,
        limits: Limits,
        reader: &mut Reader<P>,
    ) {
        let Limits { horizon, buffer, .. } = limits;
        let patterns = &mut self.patterns;
        patterns.begin_window(world, &mut reader.asking());
        for edge in self.log.iter_mut().flat_map(ShardLog::outgoing) {
            reader.engine.releases.send(world.process(edge.culprit), edge);
        }
        for process in self.processes.iter_mut() {
            let mut locations = std::mem::take(&mut process.locations);
            for location in &mut locations {
                open(files, buffer, location);
                location.paths.settle();
            }
            for rest in process.deferred.ready() {
                patterns.judge_rest(process, &rest, &mut reader.asking());
            }
            process.row = self.matrix.row(world.system.party(process.index));
            let matrix = &mut self.matrix;
            let mut play = Play { world, process, patterns, matrix, reader, horizon };
            let next = match locations.as_mut_slice() {
                [location] => {
                    play.alone(location);
                    if location.ended() { Time::END } else { location.now }
                }
                several => play.merged(several),
            };
            for location in &mut locations {
                reader.events += location.count();
            }
            process.seen = !locations.iter().all(Location::ended)
                && locations.iter().all(|it| it.off.is_none() && it.gaps.is_empty());
            process.locations = locations;
            process.certain.index();
            process.possible.index();
            let floors = patterns.end_window(world, process, horizon, &mut reader.asking());
            let floors = Floors { next: floors.next.min(next), ..floors };
            reader.floors = reader.floors.min(floors);
        }
    }

    /// Answers the questions that arrived.
    pub(crate) fn answer(
        &mut self,
        world: &World,
        horizon: Time,
        floors: Floors,
        ended: Option<&[bool]>,
        answerer: &mut Answerer<P>,
    ) {
        let (own, (mut shared, engine)) = std::mem::take(&mut self.asked);
        for edge in engine.releases.into_messages() {
            self.release(edge);
        }
        let processes = &mut self.processes;
        let workers = answerer.workers;
        let edges = self.log.as_mut().map(|log| &mut log.new_edges);
        let mut window = Window { world, processes, horizon, floors, ended, workers, edges };
        let Answerer { own: answers, shared: also, engine, .. } = answerer;
        let mut out: Answering<'_, P> = exchange::Answering { own: answers, shared: also, engine };
        self.patterns.answer(&mut window, own, &mut shared, &mut out);
    }

    /// Books answers.
    pub(crate) fn book(&mut self, world: &World, floors: Floors, limits: Limits) {
        let Limits { horizon, most_open, .. } = limits;
        let (own, (mut shared, engine)) = std::mem::take(&mut self.answered);
        let processes = &mut self.processes;
        let edges = self.log.as_mut().map(|log| &mut log.new_edges);
        let (ended, workers) = (None, 1);
        let mut window = Window { world, processes, horizon, floors, ended, workers, edges };
        let since = self.patterns.book(&mut window, own, &mut shared);
        for booking in engine.bookings.into_messages() {
            self.book_one(world, booking);
        }
        if let Some(log) = &mut self.log {
            log.new_edges.extend(engine.edges.into_messages());
        }
        for remainder in engine.remainders.into_messages() {
            if let Some(process) = self.processes.get_mut(remainder.process) {
                process.deferred.learn(&remainder);
            }
        }
        let floor = since.min(floors.regions);
        for process in self.processes.iter_mut() {
            for blamed in std::mem::take(&mut process.loops.blamed) {
                let Blamed { location, path, culprit, time, rest } = blamed;
                let Some(location) = process.location_mut(location) else { continue };
                let signature = location.paths.get(path).map_or(0, |node| node.signature);
                let party = world.system.party(world.process(culprit));
                location.paths.book(path, Quantity::PollingBlamed, time.0);
                if rest.0 > 0 {
                    self.blame.add(signature, Quantity::PollingBlamed, party, rest);
                }
            }
            for waited in std::mem::take(&mut process.loops.waits) {
                let Waited { location, path, account, culprit, when, time } = waited;
                let Some(location) = process.location_mut(location).filter(|_| time.0 > 0) else {
                    continue;
                };
                let (what, by) = (Quantity::POLLING, world.process(culprit));
                location.paths.book(path, what, time.0);
                location.paths.waited(path, what, WaitingCalls::one(time, when.begin, Some(by)));
                location.paths.take_wait(account, time, when.end - when.begin);
                let signature = location.paths.get(path).map_or(0, |node| node.signature);
                self.blame.add(signature, what, world.system.party(by), time);
            }
            for (waiter, culprit, Span { begin: from, end: to }) in
                std::mem::take(&mut process.loops.released)
            {
                let (what, kind) = (Quantity::PollingBlamed, Kind::Certain);
                let edge = Edge { waiter, culprit, from, to, what, kind };
                self.log.iter_mut().for_each(|log| log.new_edges.push(edge));
            }
            process.certain.forget(floor);
            process.possible.forget(floor);
            process.forget_entries(floor);
            process.outstanding.spill(most_open);
        }
        if let Some(log) = &mut self.log {
            log.settle(world);
        }
    }

    /// Takes an edge that a location of this shard is the culprit of.
    pub(crate) fn release(&mut self, edge: Edge) {
        if let Some(log) = &mut self.log {
            log.releases.add(edge);
        }
    }

    /// Books an amount on a call path of the process that waited.
    fn book_one(&mut self, world: &World, booking: Booking) {
        let Booking { location, account, what, amount, begin, culprit, piece, left } = booking;
        let blamed = culprit.map(|culprit| world.process(culprit));
        if let Some(log) = &mut self.log
            && let Some(culprit) = culprit.filter(|_| piece != Piece::None)
        {
            let kind = match piece {
                Piece::OfAll(context) => Kind::Among(context),
                Piece::None | Piece::OfTwo => Kind::Certain,
            };
            let (waiter, from, to) = (location, begin, begin.later_by(Duration(amount)));
            log.new_edges.push(Edge { waiter, culprit, from, to, what, kind });
        }
        let process = self.processes.get_mut(world.process(location));
        let Some(location) = process.and_then(|it| it.location_mut(location)) else { return };
        let Some(path) = location.paths.calls(account).map(|calls| calls.path) else { return };
        location.paths.book(path, what, amount);
        if what.wait().is_some() {
            location.paths.waited(path, what, WaitingCalls::one(Duration(amount), begin, blamed));
        }
        if let Some(left) = left {
            location.paths.take_wait(account, Duration(amount), left);
        }
        if let Some(party) = blamed.map(|process| world.system.party(process)) {
            let signature = location.paths.get(path).map_or(0, |node| node.signature);
            self.blame.add(signature, what, party, Duration(amount));
        }
    }

    /// Judges what could not be judged before, by the facts of all shards.
    pub(crate) fn conclude(&mut self, world: &World, facts: &P::Facts) {
        let Self { processes, patterns, blame, matrix, log, .. } = self;
        processes.iter_mut().flat_map(|it| &mut it.locations).for_each(|it| it.paths.settle());
        let mut found = log.is_some().then(Vec::new);
        let rulings = found.as_mut();
        patterns.conclude(&mut Conclusion { world, processes, blame, matrix, rulings }, facts);
        if let Some((log, found)) = log.as_mut().zip(found) {
            log.addressed = log.address(found);
        }
    }

    /// Returns the rests of the calls of all processes, added up by sort.
    pub(crate) fn rests(&self) -> Bins {
        let locations = self.processes.iter().flat_map(|process| &process.locations);
        accounts::gather(locations.flat_map(|location| location.paths.accounts()))
    }

    /// Divides the time of calls, given the time that calls of each sort need.
    pub(crate) fn divide(&mut self, world: &World, times: &ExpectedTimes) {
        let patterns = &mut self.patterns;
        for location in self.processes.iter_mut().flat_map(|process| &mut process.locations) {
            let number = location.number;
            location.paths.divide(times, |calls, rest, transfer| {
                let calls = DividedCalls { calls, rest, transfer };
                patterns.on_division(world, number, &calls, times);
            });
        }
    }

    /// Returns `true` if there are messages or questions left that another round could settle.
    pub(crate) fn is_busy(&self) -> bool {
        self.patterns.is_busy() || self.processes.iter().any(|it| !it.deferred.is_empty())
    }

    /// Returns the memory in bytes that facts and questions take.
    pub(crate) fn bytes(&self) -> usize {
        let processes: usize = self.processes.iter().map(Process::bytes).sum();
        let log = self.log.as_ref().map_or(0, ShardLog::bytes);
        processes + self.patterns.bytes() + log
    }

    /// Returns the waits that could not be judged.
    pub(crate) fn unjudged(&self, world: &World) -> Vec<Unjudged> {
        let mut list = Vec::new();
        self.patterns.unjudged(self.processes.as_slice(), world, &mut list);
        list
    }
}

impl<P: Pattern> Reader<P> {
    fn asking(&mut self) -> Asking<'_, P> {
        exchange::Asking { own: &mut self.own, shared: &mut self.shared }
    }
}

/// Opens the events of a location when they are first needed.
fn open(files: &Files<'_>, buffer: usize, location: &mut Location) {
    if !matches!(location.source, Source::Unopened) {
        return;
    }
    let place = location.number.index().checked_sub(files.first.index());
    location.file = place.and_then(|place| files.list.get(place).copied());
    let Some(EventFile { id, promised }) = location.file else { return };
    let tables = files.archive.local_tables(id);
    location.damage.errors.extend(tables.warnings.iter().map(ToString::to_string));
    location.source = match files.archive.events_with(id, &tables, buffer) {
        Ok(reader) => Source::Open(Box::new(reader.expecting(promised))),
        Err(error) => {
            location.damage.errors.push(error.to_string());
            Source::Ended
        }
    };
}

/// State while the events of a process are read.
struct Play<'a, P: Pattern> {
    world: &'a World,
    process: &'a mut Process,
    patterns: &'a mut P,
    matrix: &'a mut Matrix,
    reader: &'a mut Reader<P>,
    horizon: Time,
}

impl<P: Pattern> Play<'_, P> {
    fn player<'b>(&'b mut self, location: &'b mut Location) -> Player<'b, P> {
        let row = self.process.row;
        Player {
            here: LocationContext {
                world: self.world,
                process: self.process,
                location,
                matrix: self.matrix,
                row,
                pattern: 0,
            },
            patterns: self.patterns,
            own: &mut self.reader.own,
            shared: &mut self.reader.shared,
            horizon: self.horizon,
            ops: &mut self.reader.ops,
            leaf: Leaf::ABSENT,
        }
    }

    /// Reads the events of a process with one location.
    fn alone(&mut self, location: &mut Location) {
        while location.now < self.horizon || location.first.is_none() {
            let Source::Open(mut reader) = std::mem::take(&mut location.source) else {
                location.source = Source::Ended;
                return;
            };
            if location.first.is_none() {
                let first = reader.peek_time().unwrap_or_else(|error| {
                    location.damage.errors.push(error.to_string());
                    None
                });
                let first = first.unwrap_or(otf2::id::Time(0));
                location.begin(self.world.clock.time(first));
            }
            let mut player = self.player(location);
            let visited = reader.visit(&mut player);
            player.unfold();
            match visited {
                Ok(true) => location.source = Source::Open(reader),
                Ok(false) => {
                    location.read = reader.position().0;
                    self.end(location);
                }
                Err(error) => {
                    location.read = reader.position().0;
                    // Events after the damage are read; calls that were open have ended.
                    location.damage.errors.push(error.to_string());
                    match reader.skip_chunk() {
                        Ok(true) => location.source = Source::Open(reader),
                        _ => self.end(location),
                    }
                }
            }
        }
    }

    /// Reads the events of a process with several locations in the order of time, ties by location. Returns the time of
    /// the next event.
    fn merged(&mut self, locations: &mut [Location]) -> Time {
        loop {
            let mut next: Option<(Time, usize)> = None;
            for (index, location) in locations.iter_mut().enumerate() {
                let Source::Open(reader) = &mut location.source else { continue };
                let time = match reader.peek_time() {
                    Ok(Some(time)) => self.world.clock.time(time).max(location.now),
                    Ok(None) => {
                        location.read = reader.position().0;
                        self.end(location);
                        continue;
                    }
                    Err(error) => {
                        location.damage.errors.push(error.to_string());
                        self.end(location);
                        continue;
                    }
                };
                if next.is_none_or(|(least, _)| time < least) {
                    next = Some((time, index));
                }
            }
            let Some((time, index)) = next else { return Time::END };
            if time >= self.horizon {
                return time;
            }
            let Some(location) = locations.get_mut(index) else { return Time::END };
            if location.first.is_none() {
                location.begin(time);
            }
            let Source::Open(mut reader) = std::mem::take(&mut location.source) else {
                return Time::END;
            };
            let mut player = self.player(location);
            let shown = reader.next().map(|record| {
                if let Some(record) = record {
                    let _ = otf2::read::Visitor::event(&mut player, record);
                }
            });
            match shown {
                Ok(()) => location.source = Source::Open(reader),
                Err(error) => {
                    location.damage.errors.push(error.to_string());
                    self.end(location);
                }
            }
        }
    }

    /// Ends all open calls of a location that has no more events.
    fn end(&mut self, location: &mut Location) {
        location.source = Source::Ended;
        let now = location.now;
        let calls = location.stack.iter().filter(|frame| !frame.setting);
        location.damage.unmatched += calls.count() as u64;
        while !location.stack.is_empty() {
            self.player(location).close(now);
        }
        if let Some(run) = location.polls.take() {
            self.process.loops.end(location.number, run);
        }
    }
}
