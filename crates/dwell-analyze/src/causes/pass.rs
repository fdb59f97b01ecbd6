//! Lets all locations go back through the dependency log, in windows of time and in rounds.
//!
//! A window bounds how far a location may be ahead of others, and so the memory for messages that they have not used yet.
//! In each round of a window every location advances until it needs a message from a location of another process of the
//! analysis.

use std::ops::Range;
use std::path::Path as FilePath;

use dwell_log::quantity::Quantity;
use dwell_log::read::{DependencyLog, LogError};
use dwell_mpi::Agreement;
use dwell_trace::ids::LocationNumber;
use dwell_trace::time::Time;
use dwell_trace::world::World;

use crate::causes::activity::{Activity, KnownPaths};
use crate::causes::history::History;
use crate::causes::queue::{PanicGuard, Queues};
use crate::causes::walk::{CostMessage, Done, Scene, Walker, Workspace};
use crate::engine::exchange::{Outboxes, outboxes};
use crate::engine::location::Location;
use crate::engine::message::Pools;
use crate::engine::paths::Path;
use crate::engine::process::Process;
use crate::engine::sharding::{Assignment, Sharding};
use crate::engine::transport::Transport;
use crate::engine::wire::Inboxes;
use crate::engine::workers::map_on;
use crate::error::Error as Failure;
use crate::options::Cut;

outboxes! {
    /// Messages to locations of other shards.
    Outgoing => Incoming {
        costs: CostMessage;
    }
}

/// Number of bytes of the log that are read in a window, over all ranks. Messages about them take at most about 20 times
/// as much memory.
const BYTES_PER_WINDOW: u64 = 8 << 20;
/// Number of messages to other workers that a worker sends together.
const BATCH: usize = 1024;

/// Greatest number of windows, if their length is given.
const MOST_WINDOWS: u64 = 64;

/// Locations of consecutive shards on their way back. Each worker has one part, within which messages are
/// delivered at once.
#[derive(Debug)]
struct Part {
    first: LocationNumber,
    walkers: Vec<Walker>,
    /// Places of locations that can advance.
    ready: Vec<usize>,
    incoming: Vec<Incoming>,
    failed: Option<LogError>,
}

impl Part {
    fn new(log: &DependencyLog, shards: &[&mut [Process]]) -> Self {
        let processes = || shards.iter().flat_map(|it| it.iter());
        let locations = || processes().flat_map(|it| it.locations.iter().map(move |one| (it, one)));
        let first = locations().next().map_or(LocationNumber(0), |it| it.1.number);
        let (mut walkers, mut failed) = (Vec::new(), None);
        for (process, location) in locations() {
            match walker(log, process, location) {
                Ok(walker) => walkers.push(walker),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        Self { first, walkers, ready: Vec::new(), incoming: Vec::new(), failed }
    }

    fn locations(&self) -> Range<LocationNumber> {
        self.first..LocationNumber(self.first.0 + self.walkers.len() as u32)
    }

    fn place(&self, location: LocationNumber) -> Option<usize> {
        let place = location.0.checked_sub(self.first.0)? as usize;
        (place < self.walkers.len()).then_some(place)
    }

    /// Lets all locations advance until they need messages from other processes of the analysis.
    fn advance(
        &mut self,
        me: usize,
        scene: Scene<'_>,
        queues: &Queues<CostMessage>,
        router: &Router<'_>,
    ) -> Outgoing {
        for incoming in std::mem::take(&mut self.incoming) {
            incoming.costs.into_messages().for_each(|message| self.receive(message));
        }
        let mut out = Outgoing::new(router.sharding, router.pools);
        let (mut sent, mut messages) = (Vec::new(), Vec::new());
        let mut workspace = Workspace::default();
        loop {
            while let Some(place) = self.ready.pop()
                && self.failed.is_none()
            {
                let Some(walker) = self.walkers.get_mut(place) else { continue };
                let mut send = |message| sent.push(message);
                self.failed = walker.go(scene, router.until, &mut workspace, &mut send).err();
                for message in sent.drain(..) {
                    match router.part(message.culprit) {
                        Some(part) if part == me => self.receive(message),
                        Some(part) => messages.push((part, message)),
                        None => out.costs.send(scene.world.process(message.culprit), message),
                    }
                }
                if messages.len() >= BATCH {
                    queues.send(messages.drain(..));
                }
            }
            if !messages.is_empty() {
                queues.send(messages.drain(..));
            }
            let Some(incoming) = queues.receive(me) else { return out };
            incoming.into_iter().for_each(|message| self.receive(message));
        }
    }

    fn receive(&mut self, message: CostMessage) {
        if let Some(place) = self.place(message.culprit)
            && let Some(walker) = self.walkers.get_mut(place)
        {
            self.ready.extend(walker.receive(message).then_some(place));
        }
    }
}

/// Finds the worker, or the outbox, for a message.
struct Router<'a> {
    sharding: Sharding,
    pools: &'a Pools,
    /// Locations of each part of this program.
    parts: &'a [Range<LocationNumber>],
    /// Time back to which locations advance.
    until: Time,
}

impl Router<'_> {
    /// Returns the part of this program that has a location.
    fn part(&self, location: LocationNumber) -> Option<usize> {
        self.parts.iter().position(|it| it.contains(&location))
    }
}

/// Lets all parts advance at the same time. Returns their messages to other processes of the analysis.
fn advance(parts: &mut [Part], scene: Scene<'_>, router: &Router<'_>) -> Vec<Outgoing> {
    let queues = Queues::new(parts.len());
    let queues = &queues;
    // No part ends before all wait for messages, so each has a thread of its own.
    map_on(parts.len(), parts.iter_mut().enumerate(), &|(me, part)| {
        let _guard = PanicGuard(queues);
        part.advance(me, scene, queues, router)
    })
}

/// Returns a location of a process at its end.
fn walker(log: &DependencyLog, process: &Process, location: &Location) -> Result<Walker, LogError> {
    let open = |number| log.location(number)?.ok_or_else(|| log.incomplete());
    let of = open(location.number)?;
    let first_thread = process.locations.first().filter(|it| it.number != location.number);
    let first_thread = first_thread.map(|it| open(it.number)).transpose()?;
    let paths = KnownPaths::new(&location.paths, |place| {
        of.paths().get(place).is_some_and(|step| step.is_judged)
    });
    let first = location.first.unwrap_or(location.now);
    Ok(Walker::new(History::new(&of, first_thread.as_ref(), first, paths)))
}

/// Books delay costs on the call paths of all locations of this rank, given the processes of each of its shards. Returns what
/// each location did that others waited for, in the order of locations.
pub(crate) fn find(
    transport: &Transport<'_>,
    world: &World,
    (sharding, assignment): (Sharding, &Assignment),
    cut: Cut,
    directory: &FilePath,
    shards: &mut [&mut [Process]],
) -> Result<Vec<Done>, Failure> {
    let log = open(transport, directory)?;
    let locations = || shards.iter().flat_map(|it| it.iter()).flat_map(|it| &it.locations);
    let begin = locations().filter_map(|it| it.first).min().unwrap_or(Time::END);
    let end = locations().map(|it| it.now).max().unwrap_or(Time::BEGIN);
    let numbers = Agreement { least: vec![begin.0], most: vec![end.0], ..Agreement::default() };
    let agreed = transport.agree("length of the run", numbers)?;
    let begin = agreed.least.first().map_or(begin, |it| Time(*it));
    let end = agreed.most.first().map_or(end, |it| Time(*it));
    let scene = Scene { world, begin };
    // Shards of each part, consecutive and about as many locations.
    let each = shards.len().div_ceil(transport.threads()).max(1);
    let mut parts: Vec<Part> =
        transport.map(shards.chunks(each), &|shards| Part::new(&log, shards));
    let ranges: Vec<Range<LocationNumber>> = parts.iter().map(Part::locations).collect();
    let length = end.since(begin).0;
    let windows = match cut {
        Cut::Budget => (log.bytes() / BYTES_PER_WINDOW).max(1),
        Cut::Nanoseconds(step) => (length / step.max(1)).clamp(1, MOST_WINDOWS),
        Cut::EveryEvent => MOST_WINDOWS,
    };
    let step = (length / windows).max(1);
    for window in (0..windows).rev() {
        let until = if window == 0 { Time::BEGIN } else { Time(begin.0 + window * step) };
        for part in &mut parts {
            part.ready = (0..part.walkers.len()).collect();
        }
        loop {
            let pools = Pools::default();
            let router = Router { sharding, pools: &pools, parts: &ranges, until };
            let sent = advance(&mut parts, scene, &router);
            check(transport, parts.iter().find_map(|it| it.failed.as_ref()))?;
            let incoming = Outgoing::sort(sharding, sent);
            let count = incoming.iter().filter(|it| !it.is_empty()).count() as u64;
            let incoming = transport.deliver("causes", assignment, incoming)?;
            let mut incoming = incoming.into_iter();
            for part in &mut parts {
                part.incoming = incoming.by_ref().take(each).collect();
            }
            if transport.sum("causes that are told", count)? == 0 {
                break;
            }
        }
    }
    let left =
        parts.iter().any(|it| it.walkers.iter().any(Walker::is_stopped)).then(|| log.incomplete());
    check(transport, left.as_ref())?;
    let walkers = parts.into_iter().flat_map(|part| part.walkers);
    let done = transport.map(walkers, &Walker::finish);
    let failed = done.iter().find_map(|it| it.as_ref().err());
    check(transport, failed)?;
    let processes = shards.iter_mut().flat_map(|it| it.iter_mut());
    let locations = processes.flat_map(|it| &mut it.locations);
    let done = done.into_iter().flatten().zip(locations);
    Ok(done.map(|(done, location)| booked(done, location)).collect())
}

/// Books the costs of a location, and adds what was counted at it.
fn booked(mut done: Done, location: &mut Location) -> Done {
    let counted = location.tally.take().map(|mut it| it.finish()).unwrap_or_default();
    let activity = |(path, before, after)| Activity { path, before, after };
    done.counted = counted.into_iter().map(|(it, counts)| (activity(it), counts)).collect();
    // Time outside of all calls counts for the program.
    let path = |it: Activity| match it {
        Activity::NOT_STARTED => Path(1),
        it => it.path.max(Path(1)),
    };
    for (activity, _, cost) in &done.costs {
        location.paths.book(path(*activity), Quantity::DelayDirect, cost.direct);
        location.paths.book(path(*activity), Quantity::DelayPropagated, cost.propagated);
    }
    for (activity, margin) in &done.margins {
        location.paths.book(path(*activity), Quantity::DelayMargin, *margin);
    }
    done
}

/// Opens the dependency log. Returns an error at all ranks if one cannot open it.
pub(super) fn open(
    transport: &Transport<'_>,
    directory: &FilePath,
) -> Result<DependencyLog, Failure> {
    let log = DependencyLog::open(directory);
    check(transport, log.as_ref().err())?;
    log.map_err(|error| failure(&error))
}

/// Returns the error of an analysis that cannot read the log.
pub(crate) fn failure(error: &LogError) -> Failure {
    let (path, error) = error.parts();
    Failure::Log(path.into(), error)
}

/// Returns an error at all ranks if one has any.
pub(super) fn check(transport: &Transport<'_>, failed: Option<&LogError>) -> Result<(), Failure> {
    let most = vec![u64::from(failed.is_some())];
    let agreed = transport.agree("dependency log", Agreement { most, ..Agreement::default() })?;
    match (failed, agreed.most.as_slice()) {
        (_, [0]) => Ok(()),
        (Some(error), _) => Err(failure(error)),
        (None, _) => {
            Err(Failure::Elsewhere { rank: 0, reason: "the dependency log cannot be read".into() })
        }
    }
}
