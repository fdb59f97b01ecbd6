//! Plays a run again from its dependency log, in the order of time, with changed durations.
//!
//! Every location goes through its segments. A segment takes as long as it did, without the waits of the run as it was, times
//! the factor of its rule. A call ends when what it depends on is there, and then takes what is left of its time:
//!
//! | depends on | until |
//! |---|---|
//! | members of a collective | the last of them has arrived, or the root |
//! | the target of an operation | the target is in a call that serves, after the operation began |
//! | a lock | it is free, by order of arrival |
//! | any event of another location | that location has reached the recorded time of the event |
//!
//! One thread plays a run: the state of a target or of a lock at a time depends on everything before. Memory is a few
//! kilobytes for each location.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use dwell_log::class::Class;
use dwell_log::needs::Need;
use dwell_log::piece::Piece;
use dwell_log::read::LogError;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, Ordinal, ProcessNumber};
use dwell_trace::locks::{LockKey, LockMode};
use dwell_trace::world::World;

use crate::engine::hash::Mixed;
use crate::whatif::collectives::{OpenCollectives, Participation, of_collective, of_shape};
use crate::whatif::forward_log::{Customs, ForwardLog, Stretch, is_loop};
use crate::whatif::locks::{Locks, Waiting};
use crate::whatif::presence::{Needed, Presence};
use crate::whatif::rules::PathRule;
use crate::whatif::scenario::{Compiled, Network};

/// Number of calls of a location whose begin is remembered, for operations that they began.
const REMEMBERED: usize = 256;

/// Assumptions about uncertain facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assumptions {
    /// Waits are as long as their upper bounds, and operations need their targets where there is no evidence.
    pub(crate) upper: bool,
    /// Calls that do not wait any more are as fast as the fastest of their call path.
    pub(crate) best: bool,
    /// Locks are granted in the order of the recorded run, and not in the order of arrival.
    pub(crate) locks_as_recorded: bool,
}

/// Shortest times of the calls of one path, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least {
    /// Of all calls, without their waits.
    pub(crate) rest: u64,
    /// Of calls that did not wait.
    pub(crate) unhindered: u64,
}

/// Shortest times by the signature of the call path.
pub(crate) type Shortest = HashMap<u64, Least, Mixed>;

/// Result of playing a run.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    /// Time from the first event to the last, in nanoseconds.
    pub(crate) length: u64,
    /// Time of the location with the longest run, without start-up and shutdown.
    pub(crate) run: u64,
    /// Mean time of all locations that was no wait.
    pub(crate) busy: u64,
    /// Mean time of the recorded waits that there are not any more.
    pub(crate) freed: u64,
    /// Number of locations that waited for ever.
    pub(crate) stuck: u32,
    pub(crate) shortest: Shortest,
    /// Number of times that the order in which locks were granted was not that of arrival.
    pub(crate) overtaken: u64,
    /// Number of values that each location took from shared memory.
    pub(crate) fetches: Vec<u64>,
    /// How many operations that waited needed so many calls of their target.
    pub(crate) needed: Needed,
}

/// A location while a run is played.
struct Runner {
    forward: ForwardLog,
    rules: Vec<PathRule>,
    process: ProcessNumber,
    stretch: Stretch,
    /// Recorded end of the last wait in the stretch, if it has any.
    released: Option<u64>,
    /// Begin of the stretch, and its end once it is known.
    begin: u64,
    end: Option<u64>,
    /// Number of things that the stretch waits for, and the time of the last that arrived.
    pending: u32,
    ready: u64,
    /// Time that the stretch takes at least before that, and after it.
    head: u64,
    tail: u64,
    /// Locks to acquire when nothing else is missing.
    acquires: Vec<((LockKey, u64), LockMode)>,
    /// Recorded and new begins of the last calls.
    enters: VecDeque<(u64, u64)>,
    /// Others that wait until this location has reached a recorded time.
    watchers: BinaryHeap<Reverse<(u64, u32)>>,
    has_begun: bool,
    has_ended: bool,
    /// Time without start-up and shutdown, and time without waits.
    run: u64,
    busy: u64,
    /// Time of the recorded waits that there are not any more.
    freed: u64,
    /// Number of calls on each path, for those that are joined.
    counts: HashMap<usize, u64, Mixed>,
    fetches: u64,
    /// What the call waits for, if it is an operation whose end is taken from the recorded run.
    asks: Option<Asks>,
}

/// An operation that waits for its target as it did in the recorded run.
#[derive(Clone, Copy, Debug)]
struct Asks {
    process: ProcessNumber,
    of: (Class, bool),
    /// Number of calls that the target had entered before.
    entries: u64,
}

impl Runner {
    /// Returns the new time of a recorded time in the current stretch or before it, or `None` if it is not known yet.
    fn time_of(&self, recorded: u64) -> Option<u64> {
        if self.has_ended || self.has_begun && recorded <= self.stretch.begin {
            return Some(self.begin);
        }
        if !self.has_begun || recorded > self.stretch.end {
            return None;
        }
        if self.released.is_some_and(|released| recorded < released) {
            // Events while a call waits do not depend on the event that it waits for.
            return Some(self.begin + (recorded - self.stretch.begin));
        }
        let end = self.end?;
        let Stretch { begin, end: recorded_end, path, .. } = self.stretch;
        let is_call = self.rules.get(path).is_some_and(|it| it.is_call);
        let (new, old) = (end - self.begin, recorded_end - begin);
        Some(match is_call {
            // Events that others wait for follow the event that the call waited for.
            true => end.saturating_sub(recorded_end - recorded).max(self.begin),
            false if old == 0 => self.begin,
            false => {
                let part = u128::from(recorded - begin) * u128::from(new) / u128::from(old);
                self.begin + part as u64
            }
        })
    }
}

/// Operations that a call completes.
#[derive(Debug, Default)]
struct Moved {
    bytes: u64,
    /// Begin of the first of them, if there is any.
    began: Option<u64>,
    /// True if they need a target to progress.
    waits: bool,
}

impl Moved {
    fn add(&mut self, bytes: u32, began: u64) {
        self.bytes += u64::from(bytes);
        self.began = Some(self.began.map_or(began, |it| it.min(began)));
    }

    /// Returns the time that is left of the operations on a network, or `None` if there are none.
    fn time(&self, network: Network, now: u64) -> Option<u64> {
        let time = network.time(self.bytes);
        let over = now.saturating_sub(self.began?);
        Some(if self.waits { time } else { time.saturating_sub(over) })
    }
}

/// A run that is being played.
pub(crate) struct Simulation<'a> {
    world: &'a World,
    assumptions: Assumptions,
    compiled: &'a Compiled,
    shortest: Option<&'a Shortest>,
    customs: &'a Customs,
    runners: Vec<Runner>,
    processes: Vec<Presence>,
    collectives: OpenCollectives,
    locks: Locks,
    /// Ends of stretches, and first events.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Locations whose events have arrived, and when.
    arrived: Vec<(u32, u64)>,
    found: Shortest,
    needed: Needed,
    is_fetch: &'a dyn Fn(u64) -> bool,
    end: u64,
}

impl<'a> Simulation<'a> {
    /// Prepares to play a run, given the log and the rules of each location in their order. Without `shortest`, the
    /// shortest times of calls are looked for.
    pub(crate) fn new(
        world: &'a World,
        (assumptions, compiled): (Assumptions, &'a Compiled),
        (shortest, customs): (Option<&'a Shortest>, &'a Customs),
        is_fetch: &'a dyn Fn(u64) -> bool,
        locations: impl Iterator<Item = Result<(ForwardLog, Vec<PathRule>), LogError>>,
    ) -> Result<Self, LogError> {
        let mut processes = Vec::new();
        processes.resize_with(world.system.processes.len(), Presence::default);
        let mut runners = Vec::new();
        for (number, location) in (0..).zip(locations) {
            let (forward, rules) = location?;
            let process = world.process(LocationNumber(number));
            if let Some(presence) = processes.get_mut(process.index()) {
                presence.alive += 1;
            }
            runners.push(Runner {
                forward,
                rules,
                process,
                stretch: Stretch::default(),
                released: None,
                begin: 0,
                end: None,
                pending: 0,
                ready: 0,
                head: 0,
                tail: 0,
                acquires: Vec::new(),
                enters: VecDeque::new(),
                watchers: BinaryHeap::new(),
                has_begun: false,
                has_ended: false,
                run: 0,
                busy: 0,
                freed: 0,
                counts: HashMap::default(),
                fetches: 0,
                asks: None,
            });
        }
        Ok(Self {
            world,
            assumptions,
            compiled,
            shortest,
            customs,
            runners,
            processes,
            collectives: OpenCollectives::default(),
            locks: Locks::new(assumptions.locks_as_recorded),
            queue: BinaryHeap::new(),
            arrived: Vec::new(),
            found: HashMap::default(),
            needed: Needed::default(),
            is_fetch,
            end: 0,
        })
    }

    /// Plays the run.
    pub(crate) fn play(mut self) -> Result<Played, LogError> {
        let mut first = u64::MAX;
        for place in 0..self.runners.len() as u32 {
            let Some(runner) = self.runners.get_mut(place as usize) else { continue };
            match runner.read()? {
                true => {
                    first = first.min(runner.stretch.begin);
                    self.queue.push(Reverse((runner.stretch.begin, place)));
                }
                false => self.over(place, 0),
            }
        }
        loop {
            let Some(Reverse((now, place))) = self.queue.pop() else {
                if self.serve_all() {
                    continue;
                }
                break;
            };
            let Some(runner) = self.runners.get_mut(place as usize) else { continue };
            if !runner.has_begun {
                runner.has_begun = true;
                self.enter(place, now);
            } else {
                self.leave(place, now);
                match self.runners.get_mut(place as usize).map(Runner::read) {
                    Some(Ok(true)) => self.enter(place, now),
                    Some(Ok(false)) | None => self.over(place, now),
                    Some(Err(error)) => return Err(error),
                }
            }
            self.settle();
        }
        let stuck = self.runners.iter().filter(|it| !it.has_ended).count() as u32;
        Ok(Played {
            length: self.end.saturating_sub(first.min(self.end)),
            run: self.runners.iter().map(|it| it.run).max().unwrap_or(0),
            busy: mean(self.runners.iter().map(|it| it.busy)),
            freed: mean(self.runners.iter().map(|it| it.freed)),
            stuck,
            shortest: self.found,
            overtaken: self.locks.overtaken,
            fetches: self.runners.iter().map(|it| it.fetches).collect(),
            needed: self.needed,
        })
    }

    /// Serves all operations that wait for their targets, which wait for each other: records do not show which of them
    /// continued. Returns `false` if there are none.
    fn serve_all(&mut self) -> bool {
        let latest = self.runners.iter().filter(|it| !it.has_ended).map(|it| it.begin).max();
        let Some(now) = latest else { return false };
        for presence in &mut self.processes {
            presence.serve_all(now, &mut self.arrived);
        }
        let any = !self.arrived.is_empty();
        self.settle();
        any && !self.queue.is_empty()
    }

    /// Lets locations continue whose events have arrived.
    fn settle(&mut self) {
        while let Some((place, time)) = self.arrived.pop() {
            let Some(runner) = self.runners.get_mut(place as usize) else { continue };
            runner.ready = runner.ready.max(time);
            runner.pending = runner.pending.saturating_sub(1);
            if runner.pending == 0 {
                self.proceed(place);
            }
        }
    }

    /// Ends the current stretch of a location.
    fn leave(&mut self, place: u32, now: u64) {
        let Some(runner) = self.runners.get_mut(place as usize) else { return };
        if let Some(Asks { process, of, entries }) = runner.asks.take()
            && let Some(target) = self.processes.get(process.index())
        {
            self.needed.add(of, target.entries - entries);
        }
        let Some(&rule) = runner.rules.get(runner.stretch.path) else { return };
        if !rule.is_outside {
            runner.run += now - runner.begin;
        }
        if rule.serves
            && let Some(presence) = self.processes.get_mut(runner.process.index())
        {
            presence.inside = presence.inside.saturating_sub(1);
            presence.left = Some(now);
        }
    }

    /// Ends a location.
    fn over(&mut self, place: u32, now: u64) {
        self.end = self.end.max(now);
        let Some(runner) = self.runners.get_mut(place as usize) else { return };
        runner.has_ended = true;
        runner.begin = now;
        let watchers = std::mem::take(&mut runner.watchers);
        self.arrived.extend(watchers.into_iter().map(|Reverse((_, watcher))| (watcher, now)));
        let Some(presence) = self.processes.get_mut(runner.process.index()) else { return };
        presence.alive = presence.alive.saturating_sub(1);
        if presence.alive == 0 {
            // Nobody serves them any more.
            presence.serve_all(now, &mut self.arrived);
        }
    }

    /// Begins a stretch of a location that was read, and finds out what it waits for.
    fn enter(&mut self, place: u32, now: u64) {
        let Some(runner) = self.runners.get_mut(place as usize) else { return };
        (runner.begin, runner.ready, runner.end, runner.pending) = (now, now, None, 0);
        let Some(&rule) = runner.rules.get(runner.stretch.path) else { return };
        runner.announce(runner.stretch.begin, &mut self.arrived);
        let assumptions = self.assumptions;
        let mut stretch = std::mem::take(&mut runner.stretch);
        let waited = |it: &Piece| if assumptions.upper { it.high.0 } else { it.low.0 };
        let in_waits: u64 = stretch.waits.iter().filter(|it| !is_loop(it)).map(waited).sum();
        let length = stretch.end - stretch.begin;
        let mut rest = length.saturating_sub(in_waits).saturating_sub(stretch.polling);
        let mut joined = false;
        if rule.is_call {
            runner.enters.push_back((stretch.begin, now));
            if runner.enters.len() > REMEMBERED {
                runner.enters.pop_front();
            }
            let count = (rule.joined > 1).then(|| {
                let count = runner.counts.entry(stretch.path).or_default();
                *count += 1;
                *count
            });
            joined = count.is_some_and(|it| it % rule.joined != 0);
            runner.fetches += u64::from((self.is_fetch)(rule.signature));
            let is_gone =
                |it: &&Piece| joined || it.what.wait().is_some_and(|wait| removes(&rule, wait));
            runner.freed += stretch.waits.iter().filter(is_gone).map(waited).sum::<u64>();
            rest = rest_of(self.shortest, assumptions, &rule, (rest, in_waits), joined);
            note(self.shortest.is_none(), &mut self.found, &rule, (rest, in_waits));
            if rule.serves
                && let Some(presence) = self.processes.get_mut(runner.process.index())
            {
                presence.enter(length, now, &mut self.arrived);
            }
        }
        let factor = match rule.is_call {
            true => rule.factor,
            false => {
                let of = (place, runner.process);
                rule.factor * self.compiled.factor(&runner.rules, &stretch, of)
            }
        };
        // The time after the last wait is left when what the call depends on is there. What was before can pass meanwhile.
        runner.released =
            stretch.waits.iter().filter_map(|it| released(it, assumptions.upper)).max();
        let tail = runner.released.map_or(rest, |at| stretch.end.saturating_sub(at).min(rest));
        let scaled = |time: u64| match factor == 1.0 {
            true => time,
            false => (time as f64 * factor).round() as u64,
        };
        (runner.head, runner.tail) = (scaled(rest - tail), scaled(tail));
        if rule.is_call && !joined {
            self.needs(place, now, &rule, &stretch);
        }
        self.links(place, &rule, &stretch, joined);
        let Some(runner) = self.runners.get_mut(place as usize) else { return };
        std::mem::swap(&mut runner.stretch, &mut stretch);
        if let Some(released) = runner.released {
            runner.announce(released, &mut self.arrived);
        }
        if runner.pending == 0 {
            self.proceed(place);
        }
    }

    /// Finds out which members, targets and locks a call waits for.
    fn needs(&mut self, place: u32, now: u64, rule: &PathRule, stretch: &Stretch) {
        let world = self.world;
        let mut moved = Moved::default();
        for need in &stretch.needs {
            let Some(runner) = self.runners.get_mut(place as usize) else { return };
            let me = runner.process;
            match *need {
                Need::Collective { context, sequence, shape, root } => {
                    let waits = of_shape(shape).is_none_or(|wait| !rule.without.has(wait));
                    let mut free = Vec::new();
                    let it = Participation {
                        context,
                        sequence,
                        shape,
                        root,
                        me,
                        location: place,
                        waits,
                    };
                    if self.collectives.arrive(world, it, &mut free) {
                        runner.pending += 1;
                    }
                    self.arrived.extend(free.into_iter().map(|it| (it, now)));
                }
                Need::Target { process, class, bytes, age } => {
                    if process == me {
                        continue;
                    }
                    let began = runner.began(stretch, age.0, now);
                    moved.add(bytes, began);
                    if rule.without.has(Wait::WaitForProgress) {
                        continue;
                    }
                    let waited = stretch.waited_for(|it| world.process(it) == process);
                    // A process that the call waited for by several targets is one of the edges.
                    let custom = (self.customs, world.are_near(me, process));
                    let needs = || runner.forward.targets.need(process, class, custom);
                    let upper = self.assumptions.upper;
                    if waited && upper {
                        let entries =
                            self.processes.get(process.index()).map_or(0, |it| it.entries);
                        runner.asks = Some(Asks { process, of: (class, custom.1), entries });
                    }
                    if waited && upper || !waited && !needs().unwrap_or(upper) {
                        continue;
                    }
                    let Some(presence) = self.processes.get_mut(process.index()) else { continue };
                    let arrives = began + world.latency(me, process).0;
                    let is_served = presence.inside > 0
                        || presence.alive == 0
                        || presence.left.is_some_and(|left| left > arrives);
                    if !is_served {
                        let entries = self.customs.entries(class, custom.1);
                        presence.waiting.push((place, entries));
                        runner.pending += 1;
                        moved.waits = true;
                    }
                }
                Need::Acquire { key, mode } => {
                    let is_released = stretch
                        .needs
                        .iter()
                        .any(|it| matches!(it, Need::Release { key: other } if *other == key));
                    if !is_released && !rule.without.has(Wait::LockContention) {
                        runner.acquires.push(((key, u64::from(place) % rule.split), mode));
                    }
                }
                Need::Release { key } => {
                    let split = runner.rules.iter().map(|it| it.split).max().unwrap_or(1);
                    let mut free = Vec::new();
                    for part in [0, u64::from(place) % split] {
                        self.locks.release((key, part), place, &mut free);
                    }
                    self.arrived.extend(free.into_iter().map(|it| (it, now)));
                }
            }
        }
        if let Some(network) = self.compiled.network.filter(|_| !rule.is_outside)
            && let Some(runner) = self.runners.get_mut(place as usize)
        {
            (runner.head, runner.tail) = match moved.time(network, now) {
                Some(time) => (0, time),
                None if self.assumptions.best => (0, 0),
                None => (runner.head, runner.tail),
            };
        }
    }

    /// Finds out which events of other locations a stretch waits for.
    fn links(&mut self, place: u32, rule: &PathRule, stretch: &Stretch, joined: bool) {
        let upper = self.assumptions.upper;
        let meets = stretch.needs.iter().any(
            |need| matches!(need, Need::Collective { shape, .. } if OpenCollectives::knows(*shape)),
        );
        let acquires = stretch.needs.iter().any(|need| matches!(need, Need::Acquire { .. }));
        let is_target = |it: &Piece| {
            let process = self.world.process(it.culprit);
            stretch.needs.iter().any(
                |need| matches!(need, Need::Target { process: target, .. } if *target == process),
            )
        };
        let mut wanted: Vec<(LocationNumber, u64)> = Vec::new();
        for piece in &stretch.waits {
            let wait = piece.what.wait();
            let is_gone = joined || wait.is_some_and(|wait| removes(rule, wait));
            let is_elsewhere = match wait {
                // Members and targets are counted apart.
                Some(wait) if of_collective(wait) => meets,
                // Locks go by the order of arrival, which may be another one.
                Some(Wait::LockContention) => acquires,
                _ if piece.what.is_for_progress() => !upper && is_target(piece),
                _ => false,
            };
            if let Some(at) = released(piece, upper).filter(|_| !is_gone && !is_elsewhere) {
                wanted.push((piece.culprit, at));
            }
        }
        for edge in &stretch.early {
            let wait = edge.what.wait();
            if !joined && !wait.is_some_and(|wait| removes(rule, wait)) {
                wanted.push((edge.culprit, edge.from.0));
            }
        }
        for (culprit, at) in wanted {
            if culprit.0 == place {
                continue;
            }
            let Some(other) = self.runners.get_mut(culprit.index()) else { continue };
            match other.time_of(at) {
                Some(time) => {
                    if let Some(runner) = self.runners.get_mut(place as usize) {
                        runner.ready = runner.ready.max(time);
                    }
                }
                None => {
                    other.watchers.push(Reverse((at, place)));
                    if let Some(runner) = self.runners.get_mut(place as usize) {
                        runner.pending += 1;
                    }
                }
            }
        }
    }

    /// Goes on with a stretch for which nothing is missing but locks.
    fn proceed(&mut self, place: u32) {
        let Some(runner) = self.runners.get_mut(place as usize) else { return };
        while let Some((key, mode)) = runner.acquires.pop() {
            let recorded = runner.stretch.end;
            if !self.locks.acquire(key, Waiting { location: place, mode, recorded }) {
                runner.pending = 1;
                return;
            }
        }
        let end = runner.ready.max(runner.begin + runner.head) + runner.tail;
        runner.end = Some(end);
        runner.busy += runner.head + runner.tail;
        runner.announce(runner.stretch.end, &mut self.arrived);
        self.queue.push(Reverse((end, place)));
    }
}

impl Runner {
    /// Returns the new begin of an operation that began so long before the current call.
    fn began(&self, stretch: &Stretch, age: u64, now: u64) -> u64 {
        let began = stretch.begin.saturating_sub(age);
        let began = self.enters.iter().rev().find(|it| it.0 <= began);
        began.or(self.enters.front()).map_or(now, |it| it.1)
    }

    fn read(&mut self) -> Result<bool, LogError> {
        let rules = &self.rules;
        let is_call = |path: usize| rules.get(path).is_some_and(|it| it.is_call);
        self.forward.next(is_call, &mut self.stretch)
    }

    /// Notifies others that this location has reached a recorded time.
    fn announce(&mut self, recorded: u64, arrived: &mut Vec<(u32, u64)>) {
        while let Some(&Reverse((at, watcher))) = self.watchers.peek() {
            let Some(time) = self.time_of(at).filter(|_| at <= recorded) else { return };
            arrived.push((watcher, time));
            self.watchers.pop();
        }
    }
}

/// Returns the mean of times, or 0 if there are none.
fn mean(times: impl ExactSizeIterator<Item = u64>) -> u64 {
    let count = (times.len() as u64).max(1);
    times.sum::<u64>() / count
}

/// Returns the recorded time at which the culprit of a wait ended it, or `None` if it may be none.
fn released(piece: &Piece, upper: bool) -> Option<u64> {
    match (upper, is_loop(piece)) {
        (true, _) | (_, true) => (piece.high.0 > 0).then_some(piece.to.0),
        // A lower bound that is less than the wait begins with it.
        _ => (piece.low.0 > 0).then_some((piece.from + piece.low).0),
    }
}

/// Returns `true` if a rule removes a wait. Waits for one and for several targets go together.
fn removes(rule: &PathRule, wait: Wait) -> bool {
    let multi = wait == Wait::WaitForProgressMulti && rule.without.has(Wait::WaitForProgress);
    rule.without.has(wait) || multi
}

/// Returns the time of a call without its waits, given that time and the time of the waits in the recorded run.
fn rest_of(
    shortest: Option<&Shortest>,
    assumptions: Assumptions,
    rule: &PathRule,
    (rest, waits): (u64, u64),
    joined: bool,
) -> u64 {
    let Some(least) = shortest.and_then(|it| it.get(&rule.signature)) else { return rest };
    if joined {
        // What remains of an operation that another one carries is its data: at best nothing, and at worst what it takes
        // longer than the fastest.
        return if assumptions.upper { rest.saturating_sub(least.rest) } else { 0 };
    }
    if waits == 0 || rule.without.is_empty() {
        return rest;
    }
    match assumptions.best {
        true => rest.min(least.rest),
        // After a wait, a part of the operation may have been over; without the wait it takes its whole time.
        false if least.unhindered < u64::MAX => rest.max(least.unhindered.min(rest + waits)),
        false => rest,
    }
}

/// Notes the time of a call, if the shortest times are looked for.
fn note(wanted: bool, found: &mut Shortest, rule: &PathRule, (rest, waits): (u64, u64)) {
    if !wanted {
        return;
    }
    let none = Least { rest: u64::MAX, unhindered: u64::MAX };
    let least = found.entry(rule.signature).or_insert(none);
    least.rest = least.rest.min(rest);
    if waits == 0 {
        least.unhindered = least.unhindered.min(rest);
    }
}
