//! Some processes, and all state that their shard owns.
//!
//! A window goes through three steps, for all shards at once: [`Shard::play`] reads events and sends questions and
//! facts; [`Shard::answer`] answers what arrived; [`Shard::book`] books the answers and forgets what nobody can ask for
//! any more.

use std::collections::BTreeSet;

use otf2::Archive;

use crate::archive::roles::Traits;
use crate::archive::world::World;
use crate::engine::accounts::{self, Part};
use crate::engine::blame::Blame;
use crate::engine::booking::Booking;
use crate::engine::exchange::{Answered, Arrived, Desk, Mail, Pools};
use crate::engine::fast_path::Leaf;
use crate::engine::instances::WaitingCalls;
use crate::engine::location::{Location, Source};
use crate::engine::matrix::Matrix;
use crate::engine::outstanding::Op;
use crate::engine::player::{LONGEST_MESSAGE, Player};
use crate::engine::polling::Blamed;
use crate::engine::process::Process;
use crate::engine::quantity::Quantity;
use crate::patterns::collectives::{Answers, Instances};
use crate::patterns::evidence::{self, Nodes};
use crate::patterns::inefficient::Known;
use crate::patterns::locks::{self, LockLetter, Locks, What};
use crate::patterns::messages::OUTSIDE;
use crate::patterns::progress::{self, Ask, AskOne, Judged, Outcome, Questions, Watch};
use dwell_model::waits::Wait;

/// Times that all shards have to agree on at the end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Floors {
    /// No later question asks for a region that ended at or before this time.
    pub(crate) regions: u64,
    /// No lock call that is open or undecided began before this time.
    pub(crate) locks: u64,
    /// Time of the earliest event that was read last at a location which has more.
    pub(crate) next: u64,
}

impl Floors {
    pub(crate) const TOP: Self = Self { regions: u64::MAX, locks: u64::MAX, next: u64::MAX };

    pub(crate) fn min(self, other: Self) -> Self {
        Self {
            regions: self.regions.min(other.regions),
            locks: self.locks.min(other.locks),
            next: self.next.min(other.next),
        }
    }
}

/// Numbers of questions that could not be answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gaps {
    /// Number of waits for progress whose target's events are missing.
    pub(crate) progress: u64,
}

/// State of a worker while it reads events.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) mail: Mail,
    pub(crate) ops: Vec<Op>,
    pub(crate) floors: Floors,
    pub(crate) events: u64,
}

/// Some processes, and all state that they own.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) processes: Vec<Process>,
    /// Number of the first process.
    first: u32,
    pub(crate) inbox: Arrived,
    pub(crate) answers: Answered,
    asks: Vec<Ask>,
    ones: Vec<AskOne>,
    pub(crate) instances: Instances,
    locks: Locks,
    /// Messages that answers gave rise to, for the next window.
    later: Vec<LockLetter>,
    pub(crate) blame: Blame,
    pub(crate) matrix: Matrix,
    pub(crate) gaps: Gaps,
    pub(crate) floors: Floors,
}

impl Shard {
    pub(crate) fn new(world: &World, number: usize) -> Self {
        let processes = world.sharding.processes(number, world.system.processes.len());
        Self {
            first: processes.start as u32,
            processes: processes.map(|process| Process::new(world, process as u32)).collect(),
            inbox: Arrived::default(),
            answers: Answered::default(),
            asks: Vec::new(),
            ones: Vec::new(),
            instances: Instances::default(),
            locks: Locks::default(),
            later: Vec::new(),
            blame: Blame::default(),
            matrix: Matrix::default(),
            gaps: Gaps::default(),
            floors: Floors::TOP,
        }
    }

    /// Reads the events of all processes up to the horizon, and one beyond.
    pub(crate) fn play(
        &mut self,
        world: &World,
        archive: &Archive,
        buffer: usize,
        horizon: u64,
        stage: &mut Stage,
    ) {
        self.floors = Floors { regions: horizon, locks: horizon, next: u64::MAX };
        for letter in self.later.drain(..) {
            stage.mail.locks.send(letter.key.home(world), letter);
        }
        for actor in &mut self.processes {
            let mut lanes = std::mem::take(&mut actor.locations);
            for lane in &mut lanes {
                open(world, archive, buffer, lane);
            }
            let mail = &mut stage.mail;
            let (asks, ones) = (&mut mail.asks, &mut mail.ones);
            progress::ask_outside(actor, &mut Questions { asks, ones });
            actor.row = self.matrix.row(actor.index, &world.parties);
            let row = actor.row;
            let mut play =
                Play { world, process: actor, matrix: &mut self.matrix, row, stage, horizon };
            let next = match lanes.as_mut_slice() {
                [lane] => {
                    play.alone(lane);
                    if lane.ended() { u64::MAX } else { lane.now }
                }
                several => play.merged(several),
            };
            self.floors.next = self.floors.next.min(next);
            let under_way =
                !actor.outstanding.is_empty() || lanes.iter().any(|lane| !lane.done.is_empty());
            for lane in &mut lanes {
                stage.events += lane.count();
                for done in &lane.done {
                    // The call has yet to end, and to ask.
                    if done.known.sure.is_none() || done.known.wide.is_none() {
                        self.floors.regions = self.floors.regions.min(done.start);
                    }
                }
                for frame in &lane.stack {
                    // These calls will ask for what happened since they were entered.
                    let issues = frame.traits.has(Traits::ONE_SIDED);
                    let locks = frame.traits.has(Traits::LOCK);
                    let completes = under_way && !frame.traits.has(Traits::TOGETHER);
                    let messages = frame.enter.saturating_add(LONGEST_MESSAGE) >= horizon
                        && world.roles.get(frame.region).completes_messages();
                    if frame.judged && (issues || locks || completes || messages) {
                        self.floors.regions = self.floors.regions.min(frame.enter);
                    }
                    if locks {
                        self.floors.locks = self.floors.locks.min(frame.enter);
                    }
                }
            }
            actor.seen = !lanes.iter().all(Location::ended)
                && lanes.iter().all(|lane| lane.off.is_none() && lane.gaps.is_empty());
            actor.locations = lanes;
            actor.sure.index();
            actor.wide.index();
            self.floors.regions = self.floors.regions.min(actor.outside.start());
            let enters = actor.cases.iter().filter_map(progress::Case::locked);
            self.floors.locks = enters.fold(self.floors.locks, u64::min);
            for (op, known) in actor.outstanding.waiting() {
                let Op { start, serial, target, window, .. } = *op;
                let process = actor.index;
                stage
                    .mail
                    .watches
                    .send(target, Watch { start, serial, target, process, window, known });
            }
        }
        stage.floors = stage.floors.min(self.floors);
    }

    /// Answers the questions that arrived.
    pub(crate) fn answer(
        &mut self,
        world: &World,
        horizon: u64,
        floors: Floors,
        ended: Option<&[bool]>,
        pools: &Pools,
        desk: &mut Desk,
    ) {
        let inbox = std::mem::take(&mut self.inbox);
        let (actors, first) = (&self.processes, self.first);
        let home = |process: u32| actors.get(process.wrapping_sub(first) as usize);
        let mut pending = std::mem::take(&mut self.asks);
        let mut again = Vec::new();
        let mut missed = 0;
        let mut one = |ask: &Ask, desk: &mut Desk| {
            let Some(actor) = home(ask.target) else { return };
            let origin = world.process(ask.location);
            match progress::answer(world, actor, ask, origin, horizon, &mut desk.evidence) {
                Outcome::Answered(Some(waited)) => desk.replies.waited.send(origin, waited),
                Outcome::Answered(None) => {}
                Outcome::Pending => again.push(*ask),
                Outcome::Unanswerable => missed += 1,
            }
        };
        pending.drain(..).for_each(|ask| one(&ask, desk));
        for batch in inbox.asks {
            batch.iter().for_each(|ask| one(ask, desk));
            pools.asks.take(batch);
        }
        self.asks = again;

        let mut pending = std::mem::take(&mut self.ones);
        let mut again = Vec::new();
        for ask in pending.drain(..).chain(inbox.ones.into_iter().flatten()) {
            let Some(actor) = home(ask.target()) else { continue };
            let replies = &mut desk.replies;
            let (evidence, away) = (&mut desk.evidence, &mut replies.away);
            let outcome = progress::answer_one(world, actor, &ask, horizon, evidence, away);
            let mut reply = |served: progress::Served| {
                replies.served.send(served.process, served);
            };
            match outcome {
                Outcome::Answered(served) => reply(served),
                Outcome::Pending => again.push(ask),
                Outcome::Unanswerable => {
                    missed += 1;
                    reply(ask.unanswered());
                }
            }
        }
        self.ones = again;
        self.gaps.progress += missed;
        desk.evidence.send(&mut desk.replies.evidence);
        for watch in inbox.watches.into_iter().flatten() {
            let Some(actor) = home(watch.target) else { continue };
            if let Some(seen) = progress::watch(world, actor, &watch, horizon) {
                desk.replies.seen.send(seen.process, seen);
            }
        }

        let replies = &mut desk.replies;
        let mut out = Answers { bookings: &mut replies.bookings, told: &mut replies.told };
        inbox.touches.into_iter().flatten().for_each(|touch| self.instances.touch(touch));
        for arrival in inbox.arrivals.into_iter().flatten() {
            self.instances.arrive(world, arrival, &mut out);
        }
        if let Some(ended) = ended {
            let ended = |process: u32| ended.get(process as usize).copied().unwrap_or(true);
            self.instances.close(world, &ended, &mut out);
        }
        let letters: Vec<LockLetter> = inbox.locks.into_iter().flatten().collect();
        self.locks.take(letters);
        let replies = &mut desk.replies;
        let (bookings, waited) = (&mut replies.bookings, &mut replies.waited);
        self.locks.judge(horizon, floors.locks, &mut locks::Outcome { bookings, waited });
        let home = |process: u32| process.wrapping_sub(first) as usize;
        for signal in inbox.signals.into_iter().flatten() {
            if let Some(actor) = self.processes.get_mut(home(signal.target)) {
                actor.signals.raise(signal);
            }
        }
        for sent in inbox.sends.into_iter().flatten() {
            if let Some(actor) = self.processes.get_mut(home(sent.receiver)) {
                actor.messages.arrive(sent);
            }
        }
        for actor in &mut self.processes {
            let me = actor.index;
            if !actor.messages.is_idle() {
                let bookings = &mut desk.replies.bookings;
                actor.messages.judge(me, horizon, &mut desk.replies.ready, |it| {
                    bookings.send(me, it);
                });
                for after in std::mem::take(&mut actor.messages.judged) {
                    actor.outside.learn_after(after);
                }
                for release in actor.messages.releases.drain(..) {
                    actor.loops.release(release);
                }
            }
            if !actor.signals.is_empty() {
                let frames = actor.locations.iter().flat_map(|lane| &lane.stack);
                let waits = frames.filter(|frame| frame.traits.has(Traits::WAIT_CHANGE));
                let loops = actor.locations.iter().filter_map(Location::tests_memory_since);
                let enters = waits.map(|frame| frame.enter).chain(loops);
                let open = enters.min().unwrap_or(u64::MAX);
                let bookings = &mut desk.replies.bookings;
                actor.signals.judge(me, horizon, open, |wait, what, amount, origin| {
                    let (location, account) = (wait.location, wait.account);
                    let whole = what == Quantity::Wait(Wait::LateSignal);
                    let (begin, blamed) = (wait.enter, Some(origin));
                    let left = whole.then_some(wait.leave - wait.enter);
                    let booking = Booking { location, account, what, amount, begin, blamed, left };
                    bookings.send(me, booking);
                });
                for release in actor.signals.releases.drain(..) {
                    actor.loops.release(release);
                }
            }
        }
    }

    /// Books answers. At most about `most_open` operations in flight are kept in memory for each process.
    pub(crate) fn book(&mut self, world: &World, floors: Floors, pools: &Pools, most_open: usize) {
        let answers = std::mem::take(&mut self.answers);
        let first = self.first;
        let home = |process: u32| process.wrapping_sub(first) as usize;
        let of = |location: u32| home(world.process(location));
        let actors = &mut self.processes;
        for batch in answers.waited {
            for waited in &batch {
                if let Some(actor) = actors.get_mut(of(waited.location)) {
                    progress::keep(actor, waited);
                }
            }
            pools.waited.take(batch);
        }
        for away in answers.away.into_iter().flatten() {
            if let Some(actor) = actors.get_mut(home(away.process)) {
                progress::note_away(actor, &away);
            }
        }
        for served in answers.served.into_iter().flatten() {
            let Some(actor) = actors.get_mut(home(served.process)) else { continue };
            match progress::gather(actor, &served) {
                Some(Judged::Wait(waited)) => progress::keep(actor, &waited),
                Some(Judged::Locked(waited, key, waiting)) => {
                    let process = actor.index;
                    let what = What::Progress(waiting, waited);
                    self.later.push(LockLetter { key, process, what });
                }
                None => {}
            }
        }
        for evidence in answers.evidence.into_iter().flatten() {
            if let Some(actor) = actors.get_mut(home(evidence.origin)) {
                actor.ledger.learn(&evidence);
            }
        }
        for seen in answers.seen.into_iter().flatten() {
            if let Some(actor) = actors.get_mut(home(seen.process)) {
                progress::learn(actor, &seen);
            }
        }
        for booking in answers.bookings.into_iter().flatten() {
            let Booking { location, account, what, amount, begin, blamed, left } = booking;
            let Some(actor) = actors.get_mut(of(location)) else { continue };
            let Some(lane) = actor.lane_mut(world, location) else { continue };
            let Some(path) = lane.paths.calls(account).map(|calls| calls.path) else { continue };
            lane.paths.book(path, what, amount);
            if what.wait().is_some() {
                lane.paths.waited(path, what, WaitingCalls::one(amount, begin, blamed));
            }
            if let Some(left) = left {
                lane.paths.take_wait(account, amount, left);
            }
            if let Some(party) = blamed.map(|process| world.parties.party(process)) {
                let signature = lane.paths.get(path).map_or(0, |node| node.signature);
                self.blame.add(signature, what, party, amount);
            }
        }
        for told in answers.told.into_iter().flatten() {
            match actors.get_mut(home(told.receiver)) {
                Some(actor) if told.context == OUTSIDE => {
                    actor.outside.learn(told.tag, told.begin, told.time);
                }
                Some(actor) => actor.messages.arrive(told),
                None => {}
            }
        }
        for ready in answers.ready.into_iter().flatten() {
            if let Some(actor) = actors.get_mut(home(ready.sender)) {
                actor.messages.ready(ready);
            }
        }
        // Questions that wait here will look again.
        let asks = self.asks.iter().map(|ask| ask.start);
        let ones = self.ones.iter().map(AskOne::start);
        let floor = asks.chain(ones).fold(floors.regions, u64::min);
        // Regions that ended shortly before an operation are no evidence, and may belong to a visit.
        let floor = floor.saturating_sub(world.longest_latency().max(progress::APART));
        for actor in actors {
            for blamed in std::mem::take(&mut actor.loops.blamed) {
                let Blamed { location, path, culprit, time } = blamed;
                let Some(lane) = actor.lane_mut(world, location) else { continue };
                lane.paths.book(path, Quantity::PollingBlamed, time);
                let signature = lane.paths.get(path).map_or(0, |node| node.signature);
                let party = world.parties.party(culprit);
                self.blame.add(signature, Quantity::PollingBlamed, party, time);
            }
            actor.sure.forget(floor);
            actor.wide.forget(floor);
            actor.outstanding.spill(most_open);
        }
    }

    /// Returns the classes of operations for which there is evidence here.
    pub(crate) fn evidence(&self, world: &World) -> BTreeSet<Nodes> {
        evidence::nodes(world, &self.processes)
    }

    /// Judges the waits for progress of all processes, by the evidence of all shards.
    pub(crate) fn conclude(&mut self, world: &World, nodes: &BTreeSet<Nodes>) {
        for actor in &mut self.processes {
            evidence::conclude(world, actor, nodes, &mut self.blame, &mut self.matrix);
        }
    }

    /// Returns the rests of the calls of all processes, added up by sort.
    pub(crate) fn rests(&self) -> Vec<Part> {
        let lanes = self.processes.iter().flat_map(|actor| &actor.locations);
        accounts::gather(lanes.flat_map(|lane| lane.paths.accounts()))
    }

    /// Divides the time of calls, given the time that calls of each sort need.
    pub(crate) fn divide(&mut self, known: &Known<'_>) {
        for lane in self.processes.iter_mut().flat_map(|actor| &mut actor.locations) {
            lane.paths.divide(known);
        }
    }

    /// Returns `true` if there are messages or questions left that another round could settle.
    pub(crate) fn is_busy(&self) -> bool {
        !self.later.is_empty()
            || self.processes.iter().any(|it| !it.messages.is_settled() || !it.outside.is_empty())
    }

    /// Returns the memory in bytes that facts and questions take.
    pub(crate) fn bytes(&self) -> usize {
        let actors: usize = self.processes.iter().map(Process::bytes).sum();
        actors
            + self.instances.bytes()
            + self.locks.bytes()
            + self.asks.capacity() * size_of::<Ask>()
            + self.ones.capacity() * size_of::<AskOne>()
    }
}

/// Opens the events of a location when they are first needed.
fn open(world: &World, archive: &Archive, buffer: usize, lane: &mut Location) {
    if !matches!(lane.source, Source::Unopened) {
        return;
    }
    let Some(place) = world.system.places.get(lane.number as usize) else { return };
    let tables = archive.local_tables(place.id);
    lane.damage.errors.extend(tables.warnings.iter().map(ToString::to_string));
    lane.source = match archive.events_with(place.id, &tables, buffer) {
        Ok(reader) => Source::Open(Box::new(reader)),
        Err(error) => {
            lane.damage.errors.push(error.to_string());
            Source::Ended
        }
    };
}

/// State while the events of a process are read.
struct Play<'a> {
    world: &'a World,
    process: &'a mut Process,
    matrix: &'a mut Matrix,
    row: usize,
    stage: &'a mut Stage,
    horizon: u64,
}

impl Play<'_> {
    fn player<'b>(&'b mut self, lane: &'b mut Location) -> Player<'b> {
        Player {
            world: self.world,
            process: self.process,
            location: lane,
            mail: &mut self.stage.mail,
            matrix: self.matrix,
            row: self.row,
            horizon: self.horizon,
            ops: &mut self.stage.ops,
            leaf: Leaf::ABSENT,
        }
    }

    /// Reads the events of a process with one location.
    fn alone(&mut self, lane: &mut Location) {
        while lane.now < self.horizon || lane.first.is_none() {
            let Source::Open(mut reader) = std::mem::take(&mut lane.source) else {
                lane.source = Source::Ended;
                return;
            };
            if lane.first.is_none() {
                let first = reader.peek_time().ok().flatten().map_or(0, |time| time.0);
                lane.first = Some(self.world.clock.nanoseconds(first));
            }
            let mut player = self.player(lane);
            let visited = reader.visit(&mut player);
            player.unfold();
            match visited {
                Ok(true) => lane.source = Source::Open(reader),
                Ok(false) => {
                    lane.read = reader.position().0;
                    self.end(lane);
                }
                Err(error) => {
                    lane.read = reader.position().0;
                    // Events after the damage are read; calls that were open have ended.
                    lane.damage.errors.push(error.to_string());
                    match reader.skip_chunk() {
                        Ok(true) => lane.source = Source::Open(reader),
                        _ => self.end(lane),
                    }
                }
            }
        }
    }

    /// Reads the events of a process with several locations in the order of time, ties by location. Returns the time of
    /// the next event.
    fn merged(&mut self, lanes: &mut [Location]) -> u64 {
        loop {
            let mut next: Option<(u64, usize)> = None;
            for (index, lane) in lanes.iter_mut().enumerate() {
                let Source::Open(reader) = &mut lane.source else { continue };
                let time = match reader.peek_time() {
                    Ok(Some(time)) => self.world.clock.nanoseconds(time.0).max(lane.now),
                    Ok(None) => {
                        lane.read = reader.position().0;
                        self.end(lane);
                        continue;
                    }
                    Err(error) => {
                        lane.damage.errors.push(error.to_string());
                        self.end(lane);
                        continue;
                    }
                };
                if next.is_none_or(|(least, _)| time < least) {
                    next = Some((time, index));
                }
            }
            let Some((time, index)) = next else { return u64::MAX };
            if time >= self.horizon {
                return time;
            }
            let Some(lane) = lanes.get_mut(index) else { return u64::MAX };
            lane.first.get_or_insert(time);
            let Source::Open(mut reader) = std::mem::take(&mut lane.source) else {
                return u64::MAX;
            };
            let mut player = self.player(lane);
            let shown = reader.next().map(|record| {
                if let Some(record) = record {
                    let _ = otf2::read::Visitor::event(&mut player, record);
                }
            });
            match shown {
                Ok(()) => lane.source = Source::Open(reader),
                Err(error) => {
                    lane.damage.errors.push(error.to_string());
                    self.end(lane);
                }
            }
        }
    }

    /// Ends all open calls of a location that has no more events.
    fn end(&mut self, lane: &mut Location) {
        lane.source = Source::Ended;
        let now = lane.now;
        let calls = lane.stack.iter().filter(|frame| !frame.setting);
        lane.damage.unmatched += calls.count() as u64;
        while !lane.stack.is_empty() {
            self.player(lane).close(now);
        }
        if let Some(run) = lane.polls.take() {
            self.process.loops.end(lane.number, run);
        }
    }
}
