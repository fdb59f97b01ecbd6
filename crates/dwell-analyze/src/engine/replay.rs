//! Replays all locations once, in windows of time.
//!
//! A window has no meaning of its own. Its length follows from the memory budget; cutting elsewhere, even after every
//! event, gives the same result, since a question is answered only when the events read so far decide it, and nothing
//! is forgotten that a question can still need.

use std::collections::BTreeSet;

use otf2::Archive;

use crate::archive::world::World;
use crate::engine::accounts::{Expected, Part};
use crate::engine::exchange::{Desk, Mail, Pools, Replies};
use crate::engine::shard::{Floors, Shard, Stage};
use crate::engine::transport::{Outbox, Transport};
use crate::patterns::evidence::{Found, Nodes};
use crate::patterns::inefficient::Known;
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
/// Least memory in bytes for facts and questions.
const LEAST_ROOM: u64 = 4 << 20;
/// First estimate of the memory in bytes that facts and questions take for an event. Later it is measured.
const BYTES_PER_EVENT: u64 = 24;
/// Least number of windows that the trace is cut into at first.
const LEAST_WINDOWS: u64 = 32;
/// Number of rounds after the last event, so that answers to answers arrive.
const LAST_ROUNDS: u32 = 8;

/// Result of a replay.
#[derive(Debug)]
pub(crate) struct Replayed {
    pub(crate) shards: Vec<Shard>,
    /// Classes of operations between nodes that were seen to need no help of their targets.
    pub(crate) independent: BTreeSet<Nodes>,
    pub(crate) windows: u64,
    pub(crate) events: u64,
}

/// Chooses the length of windows.
struct Windows {
    cut: Cut,
    /// Memory in bytes that a window may take.
    room: u64,
    step: u64,
}

impl Windows {
    fn new(world: &World, cut: Cut, room: u64, length: u64) -> Self {
        let events: u64 = world.system.places.iter().map(|place| place.events).sum();
        // The first window is short, since the memory for an event is not known before one has been read.
        let windows = (events.saturating_mul(BYTES_PER_EVENT) / room.max(1)).max(LEAST_WINDOWS);
        let length = if length == 0 { 1_000_000 } else { length };
        Self { cut, room, step: (length / windows).max(1) }
    }

    /// Returns the next horizon, given the memory in bytes that the last window took.
    fn next(&mut self, horizon: u64, next: u64, used: u64) -> u64 {
        match self.cut {
            Cut::EveryEvent => next.saturating_add(1).max(horizon.saturating_add(1)),
            Cut::Nanoseconds(step) => next.max(horizon).saturating_add(step.max(1)),
            Cut::Budget => {
                if horizon > 0 {
                    let fit =
                        u128::from(self.step) * u128::from(self.room) / u128::from(used.max(1));
                    let fit = u64::try_from(fit).unwrap_or(u64::MAX);
                    let most = self.step.saturating_mul(2);
                    self.step = fit.clamp(self.step / 2, most).max(1);
                }
                next.max(horizon).saturating_add(self.step)
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
        Self { buffer: buffer as usize, room: (room / 4 * 3).max(LEAST_ROOM) }
    }
}

/// Returns the smallest memory budget in bytes that [`analyze`](crate::analyze) can keep for an archive with this
/// number of locations. It grows with the locations because each needs a read buffer and the state of its replay.
pub fn least_memory(locations: usize) -> u64 {
    let each = PER_LOCATION + LEAST_BUFFER;
    each.saturating_mul(locations as u64).saturating_add(BASE + 4 * LEAST_ROOM)
}

/// Replays an archive.
pub(crate) fn replay<T: Transport>(
    transport: &T,
    archive: &Archive,
    world: &World,
    memory: u64,
    cut: Cut,
    length: u64,
    progress: Progress<'_>,
) -> Replayed {
    let Share { buffer, room } = Share::of(memory, world.system.places.len() as u64);
    let sharding = world.sharding.within(room / 8);
    let mut shards: Vec<Shard> =
        (0..sharding.count).map(|number| Shard::new(world, number)).collect();
    let mut windows = Windows::new(world, cut, room, length);
    let processes = world.system.processes.len().max(1) as u64;
    let most_open = (room / 4 / processes / BYTES_PER_OPERATION).max(LEAST_OPEN) as usize;
    let (mut horizon, mut count, mut events, mut rounds) = (0, 0, 0, 0);
    let mut ended_before = 0;
    let pools = Pools::default();
    loop {
        count += 1;
        let stages = transport.run(
            &mut shards,
            &|| Stage {
                mail: Mail {
                    asks: Outbox::with_pool(sharding, &pools.asks),
                    ..Mail::new(sharding)
                },
                ops: Vec::new(),
                floors: Floors::TOP,
                events: 0,
            },
            &|shard: &mut Shard, stage: &mut Stage| {
                shard.play(world, archive, buffer, horizon, stage);
            },
        );
        let read: u64 = stages.iter().map(|stage| stage.events).sum();
        let floors = stages.iter().fold(Floors::TOP, |floors, stage| floors.min(stage.floors));
        let floors = Floors {
            regions: transport.least(floors.regions),
            locks: transport.least(floors.locks),
            next: transport.least(floors.next),
        };
        events += read;
        progress(read);
        let mail = stages.into_iter().map(|stage| stage.mail).collect();
        let arrived = Mail::exchange(transport, sharding, mail);
        let mut used = 0;
        for (shard, inbox) in shards.iter_mut().zip(arrived) {
            used += (inbox.bytes() + shard.bytes()) as u64;
            shard.inbox = inbox;
        }

        let ended = ended(&shards);
        let now_ended = ended.iter().filter(|ended| **ended).count();
        let news = (now_ended != ended_before).then_some(ended.as_slice());
        ended_before = now_ended;
        let desks = transport.run(
            &mut shards,
            &|| Desk {
                replies: Replies {
                    waited: Outbox::with_pool(sharding, &pools.waited),
                    ..Replies::new(sharding)
                },
                evidence: Found::default(),
            },
            &|shard: &mut Shard, desk: &mut Desk| {
                shard.answer(world, horizon, floors, news, &pools, desk);
            },
        );
        let replies = desks.into_iter().map(|desk| desk.replies).collect();
        let answered = Replies::exchange(transport, sharding, replies);
        for (shard, answers) in shards.iter_mut().zip(answered) {
            used += answers.bytes() as u64;
            shard.answers = answers;
        }
        transport.run(&mut shards, &|| (), &|shard: &mut Shard, (): &mut ()| {
            shard.book(world, floors, &pools, most_open);
        });

        if horizon == u64::MAX {
            rounds += 1;
            if rounds == LAST_ROUNDS || !shards.iter().any(Shard::is_busy) {
                let independent = conclude(transport, world, &mut shards);
                return Replayed { shards, independent, windows: count, events };
            }
        } else if floors.next == u64::MAX {
            horizon = u64::MAX;
        } else {
            horizon = windows.next(horizon, floors.next, used);
        }
    }
}

/// Judges waits for progress, which needs the evidence of all processes. Returns the classes that have evidence.
fn conclude<T: Transport>(transport: &T, world: &World, shards: &mut [Shard]) -> BTreeSet<Nodes> {
    let of = |shard: &mut Shard, found: &mut BTreeSet<Nodes>| {
        found.append(&mut shard.evidence(world));
    };
    let found = transport.run(shards, &BTreeSet::new, &of);
    let nodes: BTreeSet<Nodes> =
        transport.share(found.into_iter().flatten().collect()).into_iter().collect();
    transport.run(shards, &|| (), &|shard: &mut Shard, (): &mut ()| shard.conclude(world, &nodes));
    divide(transport, world, shards);
    nodes
}

/// Divides the time of calls beside their waits, which needs the calls of all processes.
fn divide<T: Transport>(transport: &T, world: &World, shards: &mut [Shard]) {
    let of = |shard: &mut Shard, found: &mut Vec<Part>| found.append(&mut shard.rests());
    let found = transport.run(shards, &Vec::new, &of);
    let times = Expected::of(transport.share(found.into_iter().flatten().collect())).times();
    let known = Known { times: &times, static_memory: &world.static_memory };
    transport.run(shards, &|| (), &|shard: &mut Shard, (): &mut ()| shard.divide(&known));
}

/// Returns, for each process, whether it has no events left.
fn ended(shards: &[Shard]) -> Vec<bool> {
    let actors = shards.iter().flat_map(|shard| &shard.processes);
    actors
        .map(|actor| actor.locations.iter().all(crate::engine::location::Location::ended))
        .collect()
}
