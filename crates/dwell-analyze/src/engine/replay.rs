//! Replays all locations once, in windows of time.
//!
//! A window has no meaning of its own. Its length follows from the memory budget; cutting elsewhere, even after every
//! event, gives the same result, since a question is answered only when the events read so far decide it, and nothing
//! is forgotten that a question can still need.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dwell_log::scratch::Scratch;
use dwell_mpi::Agreement;
use dwell_trace::ids::{LocationNumber, Ordinal, ProcessNumber};
use dwell_trace::system::{self, Place};
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use otf2::Archive;

use crate::engine::accounts::{self, Bins, Expected};
use crate::engine::blame::Blame;
use crate::engine::exchange::{EngineAnswers, EngineQuestions, Outboxes};
use crate::engine::location::{EventFile, Location};
use crate::engine::log::files;
use crate::engine::log::{Addressed, Late};
use crate::engine::matrix::Matrix;
use crate::engine::message::Pools;
use crate::engine::pattern::{Answers, Facts, Floors, Pattern, Questions, Unjudged};
use crate::engine::process::Process;
use crate::engine::recent_calls;
use crate::engine::shard::{Answerer, Files, Limits, Reader, Shard};
use crate::engine::sharding::{Assignment, Sharding};
use crate::engine::transport::{Error, Transport};
use crate::engine::wire::Inboxes;
use crate::error::Error as Failure;
use crate::options::{Cut, Progress};

/// Least size of a location's read buffer in bytes.
const LEAST_BUFFER: u64 = 4 * 1024;
/// Greatest size of a location's read buffer in bytes. Larger ones would not be faster.
const MOST_BUFFER: u64 = otf2::read::WINDOW as u64;
/// Three times the useful size of all read buffers together in bytes. Touching more pages would cost time.
const MOST_BUFFERS: u64 = 3 << 29;
/// Memory in bytes for the facts and questions of a window beyond which longer windows are not faster: for all locations
/// together, if they are few, and for each.
pub(crate) const ENOUGH_ROOM: u64 = MOST_BUFFERS / 8;
const ENOUGH_ROOM_PER_LOCATION: u64 = 16 * 1024;
/// Memory in bytes for the program itself, for definitions, and for memory that was freed and is not reused.
const BASE: u64 = 16 << 20;
/// Memory in bytes that a location always takes: its call tree, its reader, its operations in flight and its last calls.
const PER_LOCATION: u64 = 3 * 1024 + recent_calls::BYTES;
/// Memory in bytes of an operation in flight, with what is known about it.
const BYTES_PER_OPERATION: u64 = 192;
/// Least number of operations of a process that are kept in memory.
const LEAST_OPEN: u64 = 64;
/// Least memory in bytes for the facts and questions of a window: for all locations together, and for each. With less,
/// every location would be visited for a few events only.
const LEAST_ROOM: u64 = 4 << 20;
const LEAST_ROOM_PER_LOCATION: u64 = 1024;
/// Greatest number of windows that the length of a trace is cut into. The data that locations keep between windows can
/// exceed any budget, and shorter windows would not reduce them.
const MOST_WINDOWS: u64 = 4096;
/// First estimate of the memory in bytes that facts and questions take for an event. Later it is measured.
const BYTES_PER_EVENT: u64 = 24;
/// Least number of windows that the trace is cut into at first.
const LEAST_WINDOWS: u64 = 32;
/// Part of the memory that the edges of the dependency log may take, if it is written: one of this many.
const EDGES: u64 = 8;
/// Number of rounds after the last event, so that answers to answers arrive.
const LAST_ROUNDS: u32 = 8;

/// Result of a replay at one rank. Facts and waits that could not be judged are the same at all ranks; everything else is
/// about the processes that the rank has replayed.
#[derive(Debug)]
pub(crate) struct Replayed<P: Pattern> {
    /// Results of each shard of this rank, in the order of their processes.
    pub(crate) parts: Vec<Results<P::Outcome>>,
    /// Facts that all shards shared.
    pub(crate) facts: P::Facts,
    /// Waits that could not be judged, over all ranks.
    pub(crate) unjudged: Vec<Unjudged>,
    pub(crate) windows: u64,
    /// Number of events that all ranks have read.
    pub(crate) events: u64,
    /// Distribution of processes to shards, and of shards to ranks.
    pub(crate) sharding: Sharding,
    pub(crate) assignment: Assignment,
}

/// Results of a shard.
#[derive(Debug)]
pub(crate) struct Results<O> {
    pub(crate) processes: Vec<Process>,
    pub(crate) blame: Blame,
    pub(crate) matrix: Matrix,
    /// Results of the patterns.
    pub(crate) patterns: O,
}

/// Parameters of a replay that do not change the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Memory budget of this program in bytes.
    pub(crate) memory: u64,
    /// Memory in bytes that a window may take if there are few locations: [`ENOUGH_ROOM`], except in tests.
    pub(crate) enough_room: u64,
    pub(crate) cut: Cut,
    /// Least number of events of a rank that gets any.
    pub(crate) events_per_rank: u64,
}

/// Chooses the length of windows.
struct Windows {
    cut: Cut,
    /// Memory in bytes for what is kept between windows and for the facts and questions of a window.
    all: u64,
    /// Part of it that helps a window, and the part that every window may use whatever else is kept.
    room: u64,
    least_room: u64,
    step: Duration,
    least_step: Duration,
}

impl Windows {
    fn new(world: &World, plan: Plan, part: &Part) -> Self {
        let (cut, length) = (plan.cut, world.length);
        let Part { all, room, least_room, .. } = *part;
        // The first window is short, since the memory for an event is not known before one has been read.
        let windows =
            (world.events.saturating_mul(BYTES_PER_EVENT) / room.max(1)).max(LEAST_WINDOWS);
        let length = if length == Duration::ZERO { 1_000_000 } else { length.0 };
        let least_step = Duration((length / MOST_WINDOWS).max(1));
        let step = Duration(length / windows).max(least_step);
        Self { cut, all, room, least_room, step, least_step }
    }

    /// Returns the next horizon. `kept` is the memory in bytes that was taken before the last window, and `added` the
    /// memory that the window needed in addition.
    fn next(&mut self, horizon: Time, next: Time, kept: u64, added: u64) -> Time {
        match self.cut {
            Cut::EveryEvent => next.later_by(Duration(1)).max(horizon.later_by(Duration(1))),
            Cut::Nanoseconds(step) => next.max(horizon).later_by(Duration(step.max(1))),
            Cut::Budget => {
                if horizon > Time::BEGIN {
                    let left = self.all.saturating_sub(kept);
                    let room = left.min(self.room).max(self.least_room);
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
    /// Memory in bytes for what is kept between windows and for facts and questions, and the part of it that helps a
    /// window.
    all: u64,
    room: u64,
}

impl Share {
    /// Divides `memory` among the read buffers, what is kept and the windows of some locations. A window that may take
    /// `enough` need not be longer.
    fn of(memory: u64, enough: u64, locations: u64) -> Self {
        let locations = locations.max(1);
        let fixed = locations.saturating_mul(PER_LOCATION).saturating_add(BASE);
        let rest = memory.saturating_sub(fixed);
        let buffer = (rest.min(MOST_BUFFERS) / 3 / locations).clamp(LEAST_BUFFER, MOST_BUFFER);
        let all = rest.saturating_sub(buffer.saturating_mul(locations));
        let enough = ENOUGH_ROOM_PER_LOCATION.saturating_mul(locations).max(enough);
        // The memory of a window is known only after it.
        let all = (all / 4 * 3).max(least_room(locations));
        let room = all.min(enough / 4 * 3).max(least_room(locations));
        Self { buffer: buffer as usize, all, room }
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

/// Replays an archive. Returns the results of the shards of this rank.
pub(crate) fn replay<P: Pattern>(
    transport: &Transport<'_>,
    archive: &Archive,
    world: &World,
    plan: Plan,
    directory: Option<&Path>,
    progress: Progress<'_>,
) -> Result<Replayed<P>, Failure> {
    let scratch = directory.map(|it| open_scratch(transport, it)).transpose()?;
    // A part of the memory is for the edges of the log.
    let for_edges = if scratch.is_some() { plan.memory / EDGES } else { 0 };
    let plan = Plan { memory: plan.memory - for_edges, ..plan };
    let part = Part::of(transport, world, plan)?;
    let log = |part: &Part| {
        let shards = part.assignment.shards(part.rank).len().max(1) as u64;
        scratch.as_ref().map(|it| (it, for_edges / shards))
    };
    let Part { sharding, buffer, most_open, .. } = part;
    let mut windows = Windows::new(world, plan, &part);
    let files = part.files(transport, archive, world)?;
    let mut shards: Vec<Shard<P>> =
        part.owned(world).map(|it| Shard::new(world, it, log(&part))).collect();
    let (mut horizon, mut count, mut events, mut rounds) = (Time::BEGIN, 0, 0, 0);
    let mut ended = Ended::new(world);
    // Memory that facts and questions took at the end of the last window.
    let mut kept = 0;
    let pools = Pools::default();
    let workers = transport.threads();
    loop {
        count += 1;
        let limits = Limits { horizon, buffer, most_open };
        let readers = transport.run(
            &mut shards,
            &|| Reader {
                own: P::Questions::new(sharding, &pools),
                shared: Questions::<P>::new(sharding, &pools),
                engine: EngineQuestions::new(sharding, &pools),
                ops: Vec::new(),
                floors: Floors::TOP,
                events: 0,
            },
            &|shard: &mut Shard<P>, reader: &mut Reader<P>| {
                shard.play(world, &files, limits, reader);
            },
        );
        let read = readers.iter().map(|reader| reader.events).sum();
        let floors = readers.iter().fold(Floors::TOP, |floors, reader| floors.min(reader.floors));
        let newly_ended = ended.news(&shards);
        let (floors, read) = agree_on_window(transport, floors, read, &mut ended, newly_ended)?;
        events += read;
        progress(read);
        let sent = readers.into_iter().map(|it| (it.own, (it.shared, it.engine)));
        let (own, (shared, engine)): (_, (Vec<_>, Vec<_>)) = sent.unzip();
        let common = Questions::<P>::sort(sharding, shared).into_iter();
        let common = common.zip(EngineQuestions::sort(sharding, engine));
        let asked = P::Questions::sort(sharding, own).into_iter().zip(common).collect();
        let asked = transport.deliver("questions", &part.assignment, asked)?;
        let mut used = 0;
        for (shard, asked) in shards.iter_mut().zip(asked) {
            used += (asked.bytes() + shard.bytes()) as u64;
            shard.asked = asked;
        }

        let news = ended.are_new.then_some(ended.list.as_slice());
        let answerers = transport.run(
            &mut shards,
            &|| Answerer {
                own: P::Answers::new(sharding, &pools),
                shared: Answers::<P>::new(sharding, &pools),
                engine: EngineAnswers::new(sharding, &pools),
                workers,
            },
            &|shard: &mut Shard<P>, answerer: &mut Answerer<P>| {
                shard.answer(world, horizon, floors, news, answerer);
            },
        );
        let sent = answerers.into_iter().map(|it| (it.own, (it.shared, it.engine)));
        let (own, (shared, engine)): (_, (Vec<_>, Vec<_>)) = sent.unzip();
        let common = Answers::<P>::sort(sharding, shared).into_iter();
        let common = common.zip(EngineAnswers::sort(sharding, engine));
        let answered = P::Answers::sort(sharding, own).into_iter().zip(common).collect();
        let answered = transport.deliver("answers", &part.assignment, answered)?;
        for (shard, answered) in shards.iter_mut().zip(answered) {
            used += answered.bytes() as u64;
            shard.answered = answered;
        }
        transport.run(&mut shards, &|| (), &|shard: &mut Shard<P>, (): &mut ()| {
            shard.book(world, floors, limits);
        });

        let still = shards.iter().map(|shard| shard.bytes() as u64).sum();
        let busy = u64::from(shards.iter().any(Shard::is_busy));
        let most = vec![used.saturating_sub(kept), kept, busy];
        let agreed = transport.agree("window", Agreement { most, ..Agreement::default() })?.most;
        let [added, before, busy] = <[u64; 3]>::try_from(agreed).unwrap_or_default();
        if horizon == Time::END {
            rounds += 1;
            if rounds == LAST_ROUNDS || busy == 0 {
                let facts = conclude(transport, world, &mut shards)?;
                if let Some((directory, scratch)) = directory.zip(scratch.as_deref()) {
                    write_log(transport, world, &part, &mut shards, (directory, scratch))?;
                }
                return Ok(results(transport, world, shards, facts, (count, events), part)?);
            }
        } else if floors.next == Time::END {
            horizon = Time::END;
        } else {
            horizon = windows.next(horizon, floors.next, before, added);
            kept = still;
        }
    }
}

/// Creates the temporary file of the dependency log. Returns an error at all ranks if one cannot.
fn open_scratch(transport: &Transport<'_>, directory: &Path) -> Result<Arc<Scratch>, Failure> {
    let opened = std::fs::create_dir_all(directory).and_then(|()| Scratch::new(directory));
    let most = vec![u64::from(opened.is_err())];
    let failed = transport.agree("dependency log", Agreement { most, ..Agreement::default() })?;
    let failed = failed.most != [0];
    let elsewhere = || io::Error::other("another process cannot write there");
    let checked = opened.and_then(|it| if failed { Err(elsewhere()) } else { Ok(it) });
    Ok(Arc::new(checked.map_err(|error| Failure::Log(directory.into(), error))?))
}

/// Writes the dependency log.
fn write_log<P: Pattern>(
    transport: &Transport<'_>,
    world: &World,
    part: &Part,
    shards: &mut [Shard<P>],
    (directory, scratch): (&Path, &Scratch),
) -> Result<(), Failure> {
    let Part { sharding, assignment, .. } = part;
    let pools = Pools::default();
    let send = |shard: &mut Shard<P>, out: &mut Late| {
        let Some(log) = &mut shard.log else { return };
        for edge in log.outgoing() {
            out.releases.send(world.process(edge.culprit), edge);
        }
        for (process, ruling) in std::mem::take(&mut log.addressed) {
            out.rulings.send(process, Addressed(process, ruling));
        }
    };
    let sent = transport.run(shards, &|| Late::new(*sharding, &pools), &send);
    let arrived = transport.deliver("dependency log", assignment, Late::sort(*sharding, sent))?;
    for (shard, late) in shards.iter_mut().zip(arrived) {
        late.releases.into_messages().for_each(|edge| shard.release(edge));
        if let Some(log) = &mut shard.log {
            log.rulings.extend(late.rulings.into_messages().map(|it| (it.0, it.1)));
        }
    }
    let parts = shards.iter_mut().filter_map(|shard| {
        let log = shard.log.take()?;
        Some(files::Part { processes: shard.processes.as_mut_slice(), log })
    });
    let owner = |process: ProcessNumber| assignment.rank(sharding.shard(process));
    let written = files::write(transport, world, directory, parts.collect(), owner)?;
    // A full disk is why the log could not be read back, and not the other way round.
    let written = scratch.check().and(written);
    written.map_err(|error| Failure::Log(directory.into(), error))
}

/// Part of the replay that this program does.
#[derive(Debug)]
struct Part {
    sharding: Sharding,
    assignment: Assignment,
    rank: usize,
    /// Size of each location's read buffer in bytes.
    buffer: usize,
    /// Memory in bytes for what is kept and for a window, the part of it that helps a window, and the part that every window
    /// may use whatever else is kept: the least or the greatest of all ranks, so that all choose the same windows.
    all: u64,
    room: u64,
    least_room: u64,
    /// About this many operations in flight are kept in memory for each process.
    most_open: usize,
}

impl Part {
    fn of(transport: &Transport<'_>, world: &World, plan: Plan) -> Result<Self, Error> {
        let (rank, ranks) = transport.rank();
        let count = world.system.processes.len();
        let workers = transport.sum("threads", transport.threads() as u64)?;
        let sharding = Sharding::of(count, workers as usize);
        // A location without a promised number of events still takes time.
        let events = |process: usize| {
            let places =
                world.system.processes.get(process).map_or(0..0, system::Process::locations);
            let places = world.system.places.get(places).unwrap_or_default();
            places.iter().map(|place| place.events.max(1)).sum::<u64>()
        };
        let weight = |shard: usize| sharding.processes(shard, count).map(events).sum();
        // The first rank has read the definitions.
        let weights = (rank == 0).then(|| (0..sharding.count).map(weight).collect::<Vec<u64>>());
        let weights = transport.broadcast("events of shards", weights)?;
        let assignment = Assignment::of(&weights, ranks, plan.events_per_rank);
        let own = assignment.shards(rank).flat_map(|shard| sharding.processes(shard, count));
        let own = || own.clone().filter_map(|process| world.system.processes.get(process));
        let locations = own().map(|process| u64::from(process.count)).sum();
        let Share { buffer, all, room } = Share::of(plan.memory, plan.enough_room, locations);
        let sharding = sharding.within(room / 8);
        let each = room / 4 / own().count().max(1) as u64;
        let most_open = (each / BYTES_PER_OPERATION).max(LEAST_OPEN) as usize;
        let numbers = Agreement {
            least: vec![room, all],
            most: vec![least_room(locations)],
            ..Agreement::default()
        };
        let agreed = transport.agree("memory", numbers)?;
        let [room, all] = <[u64; 2]>::try_from(agreed.least).unwrap_or([room, all]);
        let least_room = agreed.most.first().copied().unwrap_or(0);
        Ok(Self { sharding, assignment, rank, buffer, all, room, least_room, most_open })
    }

    /// Returns the event files of the locations of this program, which the first rank has read from the definitions.
    fn files<'a>(
        &self,
        transport: &Transport<'_>,
        archive: &'a Archive,
        world: &World,
    ) -> Result<Files<'a>, Error> {
        let (_, ranks) = transport.rank();
        let of_rank = |rank: usize| {
            let processes = self.processes(rank, world);
            let processes = world.system.processes.get(processes).unwrap_or_default();
            let first = processes.first().map_or(0, |it| it.locations().start);
            let end = processes.last().map_or(0, |it| it.locations().end);
            first..end
        };
        let of_places = |rank: usize| {
            let places = world.system.places.get(of_rank(rank)).unwrap_or_default();
            let file = |place: &Place| EventFile { id: place.id, promised: place.events };
            places.iter().map(move |place| (rank, file(place)))
        };
        let mut list = Vec::new();
        transport.scatter("locations", (0..ranks).flat_map(of_places), |it| list.push(it))?;
        let first = LocationNumber(of_rank(self.rank).start as u32);
        Ok(Files { archive, first, list })
    }

    /// Returns the places of the processes of a rank in the list of all.
    fn processes(&self, rank: usize, world: &World) -> Range<usize> {
        let count = world.system.processes.len();
        let shards = self.assignment.shards(rank);
        let begin = |shard| self.sharding.processes(shard, count).start;
        begin(shards.start)..begin(shards.end)
    }

    /// Returns the processes of each shard of this program.
    fn owned(&self, world: &World) -> impl Iterator<Item = Range<ProcessNumber>> {
        let count = world.system.processes.len();
        self.assignment.shards(self.rank).map(move |shard| {
            let processes = self.sharding.processes(shard, count);
            ProcessNumber(processes.start as u32)..ProcessNumber(processes.end as u32)
        })
    }
}

/// Processes that have no events left.
struct Ended {
    /// For each process of the trace whether it has ended.
    list: Vec<bool>,
    /// True if a process has ended in this window.
    are_new: bool,
}

impl Ended {
    fn new(world: &World) -> Self {
        Self { list: vec![false; world.system.processes.len()], are_new: false }
    }

    /// Returns the processes of some shards that have ended and are not listed yet.
    fn news<P: Pattern>(&self, shards: &[Shard<P>]) -> Vec<ProcessNumber> {
        let processes = shards.iter().flat_map(|shard| shard.processes.iter());
        let ended = processes.filter(|it| it.locations.iter().all(Location::ended));
        let is_new = |it: &ProcessNumber| self.list.get(it.index()) == Some(&false);
        ended.map(|process| process.index).filter(is_new).collect()
    }

    fn add(&mut self, processes: &[ProcessNumber]) {
        for process in processes {
            self.list.get_mut(process.index()).into_iter().for_each(|it| *it = true);
        }
        self.are_new = !processes.is_empty();
    }
}

/// Agrees with the other ranks on the times of a window, on the number of events read, and on the processes that have
/// ended.
fn agree_on_window(
    transport: &Transport<'_>,
    floors: Floors,
    read: u64,
    ended: &mut Ended,
    newly_ended: Vec<ProcessNumber>,
) -> Result<(Floors, u64), Error> {
    let numbers = Agreement {
        least: vec![floors.regions.0, floors.locks.0, floors.next.0],
        sum: vec![read, newly_ended.len() as u64],
        ..Agreement::default()
    };
    let agreed = transport.agree("floors", numbers)?;
    let (least, sum) = (agreed.least, agreed.sum);
    let (&[regions, locks, next], &[read, news]) = (least.as_slice(), sum.as_slice()) else {
        return Ok((floors, read));
    };
    let newly_ended = match news {
        0 => newly_ended,
        _ => transport.share("processes that ended", newly_ended)?,
    };
    ended.add(&newly_ended);
    let floors = Floors { regions: Time(regions), locks: Time(locks), next: Time(next) };
    Ok((floors, read))
}

/// Takes the results out of the shards of this rank.
fn results<P: Pattern>(
    transport: &Transport<'_>,
    world: &World,
    shards: Vec<Shard<P>>,
    facts: P::Facts,
    (windows, events): (u64, u64),
    Part { sharding, assignment, .. }: Part,
) -> Result<Replayed<P>, Error> {
    let unjudged = unjudged(transport, world, &shards)?;
    let of = |shard: Shard<P>| {
        let Shard { processes, patterns, blame, matrix, .. } = shard;
        let (processes, patterns) = (processes.into_list(), patterns.outcome());
        Results { processes, blame, matrix, patterns }
    };
    let parts = shards.into_iter().map(of).collect();
    Ok(Replayed { parts, facts, unjudged, windows, events, sharding, assignment })
}

/// Adds up the waits that could not be judged. All shards have the same list, with other numbers of calls.
fn unjudged<P: Pattern>(
    transport: &Transport<'_>,
    world: &World,
    shards: &[Shard<P>],
) -> Result<Vec<Unjudged>, Error> {
    // A rank without shards has the list as well.
    let none = Shard::<P>::new(world, ProcessNumber(0)..ProcessNumber(0), None);
    let mut list = none.unjudged(world);
    for shard in shards {
        for (sum, one) in list.iter_mut().zip(shard.unjudged(world)) {
            sum.calls += one.calls;
        }
    }
    let sum = list.iter().map(|one| one.calls.cast_unsigned()).collect();
    let agreed =
        transport.agree("waits that are not judged", Agreement { sum, ..Agreement::default() })?;
    for (one, calls) in list.iter_mut().zip(agreed.sum) {
        one.calls = calls.cast_signed();
    }
    Ok(list)
}

/// Judges waits that need the facts of all processes, and divides the rest of the time of calls. Returns the facts.
fn conclude<P: Pattern>(
    transport: &Transport<'_>,
    world: &World,
    shards: &mut [Shard<P>],
) -> Result<P::Facts, Error> {
    let of = |shard: &mut Shard<P>, found: &mut Vec<P::Facts>| {
        found.push(shard.patterns.facts(world));
    };
    let found = transport.run(shards, &Vec::new, &of);
    let facts = P::Facts::join(transport, found.into_iter().flatten().collect())?;
    let of = |shard: &mut Shard<P>, (): &mut ()| shard.conclude(world, &facts);
    transport.run(shards, &|| (), &of);
    divide(transport, world, shards)?;
    Ok(facts)
}

/// Divides the time of calls that waits do not explain, which needs the calls of all processes.
fn divide<P: Pattern>(
    transport: &Transport<'_>,
    world: &World,
    shards: &mut [Shard<P>],
) -> Result<(), Error> {
    let of = |shard: &mut Shard<P>, found: &mut Bins| accounts::join(found, shard.rests());
    let found = transport.run(shards, &Bins::new, &of);
    let mut own = Bins::new();
    found.into_iter().for_each(|more| accounts::join(&mut own, more));
    let all = transport.reduce("times of calls", own, accounts::join)?;
    let times = Expected::of(transport.broadcast("times of all calls", all)?).times();
    let of = |shard: &mut Shard<P>, (): &mut ()| shard.divide(world, &times);
    transport.run(shards, &|| (), &of);
    Ok(())
}

#[cfg(test)]
mod tests {
    use dwell_synth::srumma;

    use super::*;
    use crate::patterns::All;

    /// Returns the number of windows of a trace, given the memory that is kept between windows and the memory that a
    /// window adds for each nanosecond.
    fn windows(kept: u64, each: u64) -> u64 {
        let (length, locations) = (1_000_000, 10_000);
        let least_room = least_room(locations);
        let (step, least_step) =
            (Duration(length / LEAST_WINDOWS), Duration(length / MOST_WINDOWS));
        let room = 16 << 20;
        let all = 2 * room;
        let mut windows = Windows { cut: Cut::Budget, all, room, least_room, step, least_step };
        let (mut horizon, mut count) = (Time::BEGIN, 0);
        while horizon.0 < length {
            let added = windows.step.0.saturating_mul(each);
            horizon = windows.next(horizon, horizon, kept, added);
            count += 1;
        }
        count
    }

    #[test]
    fn a_window_gets_what_helps_it_and_the_rest_is_for_what_is_kept() {
        let of = |memory| Share::of(memory, ENOUGH_ROOM, 8_192);
        let large = of(12 << 30);
        assert_eq!(large.room, of(24 << 30).room);
        assert!(large.all > 4 * large.room, "{} and {}", large.all, large.room);
        let small = of(1 << 20);
        assert_eq!((small.all, small.room), (least_room(8_192), least_room(8_192)));
    }

    #[test]
    fn what_is_kept_does_not_shorten_windows_for_ever() {
        // 1 GB in all, in windows of 16 MiB.
        assert!((50..200).contains(&windows(0, 1000)));
        // What is kept takes as much as helps a window, and there is memory for both.
        assert_eq!(windows(16 << 20, 1000), windows(0, 1000));
        // What is kept exceeds all memory: each window still gets a part.
        assert!((90..300).contains(&windows(1 << 30, 1000)));
        // A single nanosecond takes more than there is.
        assert!(windows(1 << 30, 1 << 40) <= MOST_WINDOWS + 10);
        assert!(windows(0, 0) < LEAST_WINDOWS);
    }

    /// In `srumma` every process waits for its row and its column of the grid, and the sums of these waits are kept until
    /// the end: 10 MB for 1,024 locations. A window may take 12.6 MB, and all of it together 1.5 GB. If what is kept counts
    /// against the window, this trace is read in 21 windows, and large ones in thousands.
    #[test]
    fn programs_with_many_partners_are_read_in_few_windows() {
        let directory = tempfile::tempdir().unwrap();
        let options = srumma::Options { ranks: 1_024, blocks: 60, rounds: 8, seed: 1 };
        srumma::generate(&options, directory.path(), &|_| {}).unwrap();
        let archive = Archive::open(directory.path()).unwrap();
        let world = World::of(archive.anchor(), &archive.definitions().unwrap(), None);
        let plan = Plan { memory: 2 << 30, enough_room: 0, cut: Cut::Budget, events_per_rank: 1 };
        let transport = Transport::new(2);
        let replayed = replay::<All>(&transport, &archive, &world, plan, None, &|_| {}).unwrap();
        assert!(replayed.windows <= 12, "{} windows", replayed.windows);
    }
}
