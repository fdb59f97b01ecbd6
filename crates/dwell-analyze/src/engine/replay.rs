//! Replays all locations once, in windows of time.
//!
//! A window has no meaning of its own. Its length follows from the memory budget; cutting elsewhere, even after every
//! event, gives the same result, since a question is answered only when the events read so far decide it, and nothing
//! is forgotten that a question can still need.

use otf2::Archive;

use crate::archive::ids::ProcessNumber;
use crate::archive::time::{Duration, Time};
use crate::archive::world::World;
use crate::engine::accounts::{Expected, Part};
use crate::engine::blame::Blame;
use crate::engine::exchange::{Answers, Outboxes, Questions};
use crate::engine::location::Location;
use crate::engine::matrix::Matrix;
use crate::engine::pattern::{Facts, Floors, Pattern, Unjudged};
use crate::engine::process::Process;
use crate::engine::shard::{Answerer, Limits, Reader, Shard};
use crate::engine::transport::{Pools, Sharding, Transport};
use crate::{Cut, Progress};

/// Least size of a location's read buffer in bytes.
const LEAST_BUFFER: u64 = 4 * 1024;
/// Greatest size of a location's read buffer in bytes. Larger ones would not be faster.
const MOST_BUFFER: u64 = otf2::read::WINDOW as u64;
/// Three times the useful size of all read buffers together in bytes. Touching more pages would cost time.
const MOST_BUFFERS: u64 = 3 << 29;
/// Memory in bytes per location for facts and questions beyond which longer windows are not faster.
const ENOUGH_ROOM: u64 = 16 * 1024;
/// Memory in bytes for the program itself, for definitions, and for memory that was freed and is not reused.
const BASE: u64 = 16 << 20;
/// Memory in bytes that a location always takes: its call tree, its reader and its operations in flight.
const PER_LOCATION: u64 = 3 * 1024;
/// Memory in bytes of an operation in flight, with what is known about it.
const BYTES_PER_OPERATION: u64 = 192;
/// Least number of operations of a process that are kept in memory.
const LEAST_OPEN: u64 = 64;
/// Least memory in bytes for the facts and questions of a window: for all locations together, and for each. With less,
/// every location would be visited for a few events only.
const LEAST_ROOM: u64 = 4 << 20;
const LEAST_ROOM_PER_LOCATION: u64 = 1024;
/// Greatest number of windows that the length of a trace is cut into. What locations keep between windows can exceed
/// any budget, and shorter windows do not help against that.
const MOST_WINDOWS: u64 = 4096;
/// First estimate of the memory in bytes that facts and questions take for an event. Later it is measured.
const BYTES_PER_EVENT: u64 = 24;
/// Least number of windows that the trace is cut into at first.
const LEAST_WINDOWS: u64 = 32;
/// Number of rounds after the last event, so that answers to answers arrive.
const LAST_ROUNDS: u32 = 8;

/// Result of a replay.
#[derive(Debug)]
pub(crate) struct Replayed<P: Pattern> {
    /// Results of each shard, in the order of their processes.
    pub(crate) parts: Vec<Results>,
    /// State of the patterns of each shard.
    patterns: Vec<P>,
    /// Facts that all shards shared.
    pub(crate) facts: P::Facts,
    pub(crate) unjudged: Vec<Unjudged>,
    sharding: Sharding,
    pub(crate) windows: u64,
    pub(crate) events: u64,
}

impl<P: Pattern> Replayed<P> {
    /// Returns the processes of all shards in order.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.parts.iter().flat_map(|part| &part.processes)
    }

    /// Returns the locations of all shards in order.
    pub(crate) fn locations(&self) -> impl Iterator<Item = &Location> {
        self.processes().flat_map(|process| &process.locations)
    }

    /// Returns the state of the patterns of the shard that owns a process.
    pub(crate) fn patterns_of(&self, process: ProcessNumber) -> Option<&P> {
        self.patterns.get(self.sharding.shard(process))
    }
}

/// Results of a shard.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) processes: Vec<Process>,
    pub(crate) blame: Blame,
    pub(crate) matrix: Matrix,
}

/// Parameters of a replay that do not change the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Memory budget in bytes.
    pub(crate) memory: u64,
    pub(crate) cut: Cut,
    /// Length of the trace in nanoseconds; 0 if it is unknown.
    pub(crate) length: Duration,
}

/// Chooses the length of windows.
struct Windows {
    cut: Cut,
    /// Memory in bytes for facts and questions, and the part of it that every window may use whatever else is kept.
    room: u64,
    least_room: u64,
    step: Duration,
    least_step: Duration,
}

impl Windows {
    fn new(world: &World, cut: Cut, room: u64, length: Duration) -> Self {
        let events: u64 = world.system.places.iter().map(|place| place.events).sum();
        // The first window is short, since the memory for an event is not known before one has been read.
        let windows = (events.saturating_mul(BYTES_PER_EVENT) / room.max(1)).max(LEAST_WINDOWS);
        let length = if length == Duration::ZERO { 1_000_000 } else { length.0 };
        let least_step = Duration((length / MOST_WINDOWS).max(1));
        let least_room = least_room(world.system.places.len() as u64);
        let step = Duration(length / windows).max(least_step);
        Self { cut, room, least_room, step, least_step }
    }

    /// Returns the next horizon. `kept` is the memory in bytes that was taken before the last window, and `added` the
    /// memory that the window needed besides.
    fn next(&mut self, horizon: Time, next: Time, kept: u64, added: u64) -> Time {
        match self.cut {
            Cut::EveryEvent => next.later_by(Duration(1)).max(horizon.later_by(Duration(1))),
            Cut::Nanoseconds(step) => next.max(horizon).later_by(Duration(step.max(1))),
            Cut::Budget => {
                if horizon > Time::BEGIN {
                    let room = self.room.saturating_sub(kept).max(self.least_room);
                    let fit = u128::from(self.step.0) * u128::from(room) / u128::from(added.max(1));
                    let fit = u64::try_from(fit).unwrap_or(u64::MAX);
                    let most = self.step.0.saturating_mul(2);
                    let fit = Duration(fit.clamp(self.step.0 / 2, most));
                    self.step = fit.max(self.least_step);
                }
                next.max(horizon).later_by(self.step)
            }
        }
    }
}

/// Division of the memory budget.
struct Share {
    /// Size of each location's read buffer in bytes.
    buffer: usize,
    /// Memory in bytes for facts and questions.
    room: u64,
}

impl Share {
    fn of(memory: u64, locations: u64) -> Self {
        let locations = locations.max(1);
        let fixed = locations.saturating_mul(PER_LOCATION).saturating_add(BASE);
        let rest = memory.saturating_sub(fixed);
        let buffer = (rest.min(MOST_BUFFERS) / 3 / locations).clamp(LEAST_BUFFER, MOST_BUFFER);
        let room = rest.saturating_sub(buffer.saturating_mul(locations));
        let enough = ENOUGH_ROOM.saturating_mul(locations).max(MOST_BUFFERS / 8);
        let room = room.min(enough);
        // The memory of a window is known only after it.
        let room = (room / 4 * 3).max(least_room(locations));
        Self { buffer: buffer as usize, room }
    }
}

/// Returns the smallest memory budget in bytes that [`analyze`](crate::analyze) can keep for an archive with this
/// number of locations. It grows with the locations because each needs a read buffer and the state of its replay.
pub fn least_memory(locations: usize) -> u64 {
    let each = PER_LOCATION + LEAST_BUFFER;
    let room = least_room(locations as u64).max(4 * LEAST_ROOM);
    each.saturating_mul(locations as u64).saturating_add(BASE).saturating_add(room)
}

/// Returns the least memory in bytes for the facts and questions of a window.
fn least_room(locations: u64) -> u64 {
    locations.saturating_mul(LEAST_ROOM_PER_LOCATION).max(LEAST_ROOM)
}

/// Replays an archive.
pub(crate) fn replay<P: Pattern, T: Transport>(
    transport: &T,
    archive: &Archive,
    world: &World,
    plan: Plan,
    progress: Progress<'_>,
) -> Replayed<P> {
    let Share { buffer, room } = Share::of(plan.memory, world.system.places.len() as u64);
    let count = world.system.processes.len();
    let sharding = Sharding::of(count).within(room / 8);
    let owned = |shard: usize| {
        let processes = sharding.processes(shard, count);
        ProcessNumber(processes.start as u32)..ProcessNumber(processes.end as u32)
    };
    let mut shards: Vec<Shard<P>> =
        (0..sharding.count).map(|number| Shard::new(world, owned(number))).collect();
    let mut windows = Windows::new(world, plan.cut, room, plan.length);
    let most_open = (room / 4 / count.max(1) as u64 / BYTES_PER_OPERATION).max(LEAST_OPEN) as usize;
    let (mut horizon, mut count, mut events, mut rounds) = (Time::BEGIN, 0, 0, 0);
    let mut ended_before = 0;
    // Memory that facts and questions took at the end of the last window.
    let mut kept = 0;
    let pools = Pools::default();
    loop {
        count += 1;
        let limits = Limits { horizon, buffer, most_open };
        let readers = transport.run(
            &mut shards,
            &|| Reader {
                own: P::Questions::new(sharding, &pools),
                common: Questions::new(sharding, &pools),
                ops: Vec::new(),
                floors: Floors::TOP,
                events: 0,
            },
            &|shard: &mut Shard<P>, reader: &mut Reader<P>| {
                shard.play(world, archive, limits, reader);
            },
        );
        let read: u64 = readers.iter().map(|reader| reader.events).sum();
        let floors = readers.iter().fold(Floors::TOP, |floors, reader| floors.min(reader.floors));
        let floors = Floors {
            regions: Time(transport.least(floors.regions.0)),
            locks: Time(transport.least(floors.locks.0)),
            next: Time(transport.least(floors.next.0)),
        };
        events += read;
        progress(read);
        let (own, common) = readers.into_iter().map(|reader| (reader.own, reader.common)).unzip();
        let own = P::Questions::exchange(transport, sharding, own);
        let common = Questions::exchange(transport, sharding, common);
        let mut used = 0;
        for (shard, (own, common)) in shards.iter_mut().zip(own.into_iter().zip(common)) {
            let arrived = P::Questions::bytes(&own) + Questions::bytes(&common);
            used += (arrived + shard.bytes()) as u64;
            shard.asked = (own, common);
        }

        let ended = ended(&shards);
        let now_ended = ended.iter().filter(|ended| **ended).count();
        let news = (now_ended != ended_before).then_some(ended.as_slice());
        ended_before = now_ended;
        let answerers = transport.run(
            &mut shards,
            &|| Answerer {
                own: P::Answers::new(sharding, &pools),
                common: Answers::new(sharding, &pools),
            },
            &|shard: &mut Shard<P>, answerer: &mut Answerer<P>| {
                shard.answer(world, horizon, floors, news, answerer);
            },
        );
        let (own, common) = answerers.into_iter().map(|it| (it.own, it.common)).unzip();
        let own = P::Answers::exchange(transport, sharding, own);
        let common = Answers::exchange(transport, sharding, common);
        for (shard, (own, common)) in shards.iter_mut().zip(own.into_iter().zip(common)) {
            used += (P::Answers::bytes(&own) + Answers::bytes(&common)) as u64;
            shard.answered = (own, common);
        }
        transport.run(&mut shards, &|| (), &|shard: &mut Shard<P>, (): &mut ()| {
            shard.book(world, floors, limits);
        });

        if horizon == Time::END {
            rounds += 1;
            if rounds == LAST_ROUNDS || !shards.iter().any(Shard::is_busy) {
                let facts = conclude(transport, world, &mut shards);
                return results(world, shards, facts, sharding, (count, events));
            }
        } else if floors.next == Time::END {
            horizon = Time::END;
        } else {
            horizon = windows.next(horizon, floors.next, kept, used.saturating_sub(kept));
            kept = shards.iter().map(|shard| shard.bytes() as u64).sum();
        }
    }
}

/// Takes the results out of all shards.
fn results<P: Pattern>(
    world: &World,
    shards: Vec<Shard<P>>,
    facts: P::Facts,
    sharding: Sharding,
    (windows, events): (u64, u64),
) -> Replayed<P> {
    let unjudged = shards.iter().flat_map(|shard| shard.unjudged(world)).collect();
    let of = |shard: Shard<P>| {
        let Shard { processes, patterns, blame, matrix, .. } = shard;
        (Results { processes: processes.into_list(), blame, matrix }, patterns)
    };
    let (parts, patterns) = shards.into_iter().map(of).unzip();
    Replayed { parts, patterns, facts, unjudged, sharding, windows, events }
}

/// Judges waits that need the facts of all processes, and divides the rest of the time of calls. Returns the facts.
fn conclude<P: Pattern, T: Transport>(
    transport: &T,
    world: &World,
    shards: &mut [Shard<P>],
) -> P::Facts {
    let of = |shard: &mut Shard<P>, found: &mut Vec<P::Facts>| {
        found.push(shard.patterns.found(world));
    };
    let found = transport.run(shards, &Vec::new, &of);
    let facts = P::Facts::join(transport, found.into_iter().flatten().collect());
    let of = |shard: &mut Shard<P>, (): &mut ()| shard.conclude(world, &facts);
    transport.run(shards, &|| (), &of);
    divide(transport, world, shards);
    facts
}

/// Divides the time of calls beside their waits, which needs the calls of all processes.
fn divide<P: Pattern, T: Transport>(transport: &T, world: &World, shards: &mut [Shard<P>]) {
    let of = |shard: &mut Shard<P>, found: &mut Vec<Part>| found.append(&mut shard.rests());
    let found = transport.run(shards, &Vec::new, &of);
    let times = Expected::of(transport.share(found.into_iter().flatten().collect())).times();
    let of = |shard: &mut Shard<P>, (): &mut ()| shard.divide(world, &times);
    transport.run(shards, &|| (), &of);
}

/// Returns, for each process, whether it has no events left.
fn ended<P: Pattern>(shards: &[Shard<P>]) -> Vec<bool> {
    let processes = shards.iter().flat_map(|shard| shard.processes.iter());
    processes.map(|process| process.locations.iter().all(Location::ended)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of windows of a trace, given the memory that is kept between windows and the memory that a
    /// window adds for each nanosecond.
    fn windows(kept: u64, each: u64) -> u64 {
        let (length, locations) = (1_000_000, 10_000);
        let least_room = least_room(locations);
        let (step, least_step) =
            (Duration(length / LEAST_WINDOWS), Duration(length / MOST_WINDOWS));
        let room = 16 << 20;
        let mut windows = Windows { cut: Cut::Budget, room, least_room, step, least_step };
        let (mut horizon, mut count) = (Time::BEGIN, 0);
        while horizon.0 < length {
            let added = windows.step.0.saturating_mul(each);
            horizon = windows.next(horizon, horizon, kept, added);
            count += 1;
        }
        count
    }

    #[test]
    fn what_is_kept_does_not_shorten_windows_for_ever() {
        // 1 GB in all, in windows of 16 MiB.
        assert!((50..200).contains(&windows(0, 1000)));
        // What is kept exceeds all memory: each window still gets a part.
        assert!((90..300).contains(&windows(1 << 30, 1000)));
        // A single nanosecond takes more than there is.
        assert!(windows(1 << 30, 1 << 40) <= MOST_WINDOWS + 10);
        assert!(windows(0, 0) < LEAST_WINDOWS);
    }
}
