//! Lets all locations go back through the dependency log, in windows of time and in rounds.
//!
//! A window bounds how far a location may be ahead of others, and so the memory for what it has told them. In each round
//! of a window every location goes on until it has to be told something by a location of another shard.

use std::path::Path as FilePath;

use dwell_mpi::Agreement;

use crate::archive::ids::LocationNumber;
use crate::archive::time::Time;
use crate::archive::world::World;
use crate::causes::activity::{Activity, KnownPaths};
use crate::causes::history::History;
use crate::causes::walk::{Cost, Scene, Stop, Told, Walker};
use crate::engine::exchange::{Outboxes, outboxes};
use crate::engine::location::Location;
use crate::engine::log::read::{DependencyLog, LogError};
use crate::engine::paths::Path;
use crate::engine::process::Process;
use crate::engine::quantity::Quantity;
use crate::engine::transport::{Deal, Pools, Sharding, Transport};
use crate::engine::wire::Inboxes;
use crate::{Cut, Error as Failure};

outboxes! {
    /// What locations tell locations of other shards.
    Telling => Heard {
        told: Told;
    }
}

/// Number of bytes of the log that are read in a window, over all ranks.
const BYTES_PER_WINDOW: u64 = 256 << 20;

/// Greatest number of windows, if their length is given.
const MOST_WINDOWS: u64 = 64;

/// Locations of a shard on their way back.
#[derive(Debug)]
struct Part {
    first: LocationNumber,
    walkers: Vec<Walker>,
    /// Places of locations that can go on.
    ready: Vec<usize>,
    heard: Heard,
    failed: Option<LogError>,
}

impl Part {
    fn new(log: &DependencyLog, processes: &[Process]) -> Self {
        let locations = || processes.iter().flat_map(|process| &process.locations);
        let first = locations().next().map_or(LocationNumber(0), |it| it.number);
        let (mut walkers, mut failed) = (Vec::new(), None);
        for location in locations() {
            match walker(log, location) {
                Ok(walker) => walkers.push(walker),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        Self { first, walkers, ready: Vec::new(), heard: Heard::default(), failed }
    }

    fn place(&self, location: LocationNumber) -> Option<usize> {
        let place = location.0.checked_sub(self.first.0)? as usize;
        (place < self.walkers.len()).then_some(place)
    }

    /// Lets all locations go on that can.
    fn advance(&mut self, scene: Scene<'_>, until: Time, out: &mut Telling) {
        for told in std::mem::take(&mut self.heard).told.into_messages() {
            self.hear(told);
        }
        let mut tells = Vec::new();
        while let Some(place) = self.ready.pop()
            && self.failed.is_none()
        {
            let Some(walker) = self.walkers.get_mut(place) else { continue };
            self.failed = walker.go(scene, until, &mut |told| tells.push(told)).err();
            for told in tells.drain(..) {
                match self.place(told.culprit) {
                    Some(_) => self.hear(told),
                    None => out.told.send(scene.world.process(told.culprit), told),
                }
            }
        }
    }

    fn hear(&mut self, told: Told) {
        if let Some(place) = self.place(told.culprit)
            && let Some(walker) = self.walkers.get_mut(place)
        {
            // One that has reached the end of the window needs this in the next.
            if walker.last == Stop::Missing {
                self.ready.push(place);
            }
            walker.hear(told);
        }
    }
}

/// Returns a location at its end.
fn walker(log: &DependencyLog, location: &Location) -> Result<Walker, LogError> {
    let of = log.location(location.number)?;
    let of = of.ok_or_else(|| log.incomplete())?;
    let paths = KnownPaths::new(&location.paths, |place| {
        of.paths().get(place).is_some_and(|step| step.is_judged)
    });
    let first = location.first.unwrap_or(location.now);
    Ok(Walker::new(History::new(&of, first, paths)))
}

/// Costs of what one location did. The numbers of paths are those of the location in the dependency log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Location that others waited for.
    pub location: LocationNumber,
    /// Call path on which it was, and `None` before its first event.
    pub path: Option<usize>,
    /// Calls before and after it, if it was computing. 0 stands for none.
    pub between: (usize, usize),
    /// Waits of others for the location that this caused, in nanoseconds, by their lower bounds.
    pub direct: u64,
    /// Waits for others that waited for the location, and passed on its delay.
    pub propagated: u64,
    /// Time by which the waits of others for the location may be longer than their lower bounds.
    pub margin: u64,
}

/// Books delay costs on the call paths of all locations of this rank, given the processes of each of its shards. Returns the
/// costs of everything that each location did.
pub(crate) fn find(
    transport: &Transport<'_>,
    world: &World,
    (sharding, deal): (Sharding, &Deal),
    cut: Cut,
    directory: &FilePath,
    shards: &mut [&mut [Process]],
) -> Result<Vec<Delay>, Failure> {
    let log = DependencyLog::open(directory);
    check(transport, log.as_ref().err())?;
    let log = log.map_err(|error| failure(&error))?;
    let locations = || shards.iter().flat_map(|it| it.iter()).flat_map(|it| &it.locations);
    let begin = locations().filter_map(|it| it.first).min().unwrap_or(Time::END);
    let end = locations().map(|it| it.now).max().unwrap_or(Time::BEGIN);
    let numbers = Agreement { least: vec![begin.0], most: vec![end.0], ..Agreement::default() };
    let agreed = transport.agree("length of the run", numbers)?;
    let begin = agreed.least.first().map_or(begin, |it| Time(*it));
    let end = agreed.most.first().map_or(end, |it| Time(*it));
    let scene = Scene { world, begin };
    let mut parts: Vec<Part> = shards.iter().map(|it| Part::new(&log, it)).collect();
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
            let advance = |part: &mut Part, out: &mut Telling| part.advance(scene, until, out);
            let sent = transport.run(&mut parts, &|| Telling::new(sharding, &pools), &advance);
            check(transport, parts.iter().find_map(|it| it.failed.as_ref()))?;
            let heard = Telling::sort(sharding, sent);
            let count = heard.iter().filter(|it| !it.is_empty()).count() as u64;
            let heard = transport.deliver("causes", deal, heard)?;
            parts.iter_mut().zip(heard).for_each(|(part, heard)| part.heard = heard);
            if transport.sum("causes that are told", count)? == 0 {
                break;
            }
        }
    }
    let is_left = |it: &Walker| it.last == Stop::Missing;
    let left = parts.iter().any(|it| it.walkers.iter().any(is_left)).then(|| log.incomplete());
    check(transport, left.as_ref())?;
    let mut delays = Vec::new();
    for (part, processes) in parts.into_iter().zip(shards) {
        let locations = processes.iter_mut().flat_map(|process| &mut process.locations);
        for (walker, location) in part.walkers.into_iter().zip(locations) {
            book(walker, location, &mut delays);
        }
    }
    Ok(delays)
}

/// Books the costs of a location.
fn book(walker: Walker, location: &mut Location, delays: &mut Vec<Delay>) {
    for (activity, cost) in walker.costs {
        let Activity { path, before, after } = activity;
        let Cost { direct, propagated, margin } = cost;
        let has_started = activity != Activity::NOT_STARTED;
        delays.push(Delay {
            location: location.number,
            path: has_started.then_some(path.0 as usize),
            between: (before.0 as usize, after.0 as usize),
            direct,
            propagated,
            margin,
        });
        // What lies outside of all calls counts for the program.
        let path = if has_started { path.max(Path(1)) } else { Path(1) };
        location.paths.book(path, Quantity::DelayDirect, direct);
        location.paths.book(path, Quantity::DelayPropagated, propagated);
        location.paths.book(path, Quantity::DelayMargin, margin);
    }
}

fn failure(error: &LogError) -> Failure {
    let (path, error) = error.parts();
    Failure::Log(path.into(), error)
}

/// Returns an error at all ranks if one has any.
fn check(transport: &Transport<'_>, failed: Option<&LogError>) -> Result<(), Failure> {
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
