//! Analyses an archive, alone or together with other processes.

use std::path::Path;

use dwell_log::quantity::Quantity;
use dwell_model::layer::Layer;
use dwell_mpi::Peers;
use dwell_trace::ids::LocationNumber;
use dwell_trace::world::World;
use otf2::Archive;
use otf2::read::Definitions;

use crate::analysis::{Analysis, Lists};
use crate::causes::{self, Delay};
use crate::engine::transport::Transport;
use crate::engine::{matrix, replay};
use crate::error::Error;
use crate::options::{Options, Progress};
use crate::output::{Replayed, findings, sections};
use crate::part::Part;

/// Result of [`analyze_among`] at one process: the [`Analysis`] at rank 0, and at every process the values of the
/// locations that it has analysed.
#[derive(Debug)]
pub struct Joint {
    result: AtRank,
}

#[derive(Debug)]
enum AtRank {
    First(Box<Analysis>),
    Other(Box<Part>),
}

impl Joint {
    /// Returns the result at rank 0, and `None` elsewhere. Its findings and sums are those of the whole run. Methods that
    /// return values of single locations, and [`Analysis::pairs`], know those of this process only.
    pub fn analysis(&self) -> Option<&Analysis> {
        match &self.result {
            AtRank::First(analysis) => Some(analysis),
            AtRank::Other(_) => None,
        }
    }

    /// Returns the costs of activities of the locations of this process, as [`Analysis::delays`] does.
    pub fn delays(&self) -> Option<Vec<Delay>> {
        match &self.result {
            AtRank::First(analysis) => analysis.delays(),
            AtRank::Other(part) => part.delays(),
        }
    }

    /// Returns the sum of a quantity on one call path of a location of this process, as [`Analysis::at_call_path`] does.
    pub fn at_call_path(&self, location: LocationNumber, path: usize, what: Quantity) -> u64 {
        match &self.result {
            AtRank::First(analysis) => analysis.at_call_path(location, path, what),
            AtRank::Other(part) => part.at_call_path(location, path, what),
        }
    }

    /// Writes the Cube report to `path`, as [`Analysis::write_report`] does, together with the other processes. All of
    /// them must call it, with the same path; they write to the same file, which must therefore be on a file system that
    /// their nodes share. The bytes are those that one process writes.
    ///
    /// # Errors
    /// If a process cannot write its part, rank 0 returns the error, and the others return `Ok`. [`Error::Peers`] is
    /// returned if the processes cannot communicate. There is no new report then.
    pub fn write_report(&self, peers: &mut dyn Peers, path: &Path) -> Result<(), Error> {
        let (part, notes) = match &self.result {
            AtRank::First(analysis) => (&analysis.part, analysis.notes()),
            AtRank::Other(part) => (&**part, Vec::new()),
        };
        part.write_report(&Transport::among(peers, part.threads), &notes, path)
    }
}

/// Replays an archive and returns all findings.
///
/// The function reads all events once, on as many threads as `options` allows, and reports to `progress` while it does.
/// Afterwards it reads a few intervals again to find what the partners of the worst waits did meanwhile. Missing or
/// damaged event files do not make it fail: see [`Analysis::damage`] and [`Analysis::not_computed`].
///
/// # Errors
/// Returns [`Error::Archive`] if the definitions cannot be read, and [`Error::NoLocations`] if they define no location.
pub fn analyze(
    archive: &Archive,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Analysis, Error> {
    match replay_on(&Transport::new(options.threads), archive, options, progress)?.result {
        AtRank::First(analysis) => Ok(*analysis),
        AtRank::Other(_) => Err(Error::NoLocations),
    }
}

/// Replays an archive together with the other processes of a launch, and returns all findings at rank 0. Every process
/// must call it with the same archive and options; only the number of threads and the memory, which are those of this
/// process, may differ. The result is the same as that of [`analyze`].
///
/// Each process keeps the values of the locations that it has analysed, and [`Joint::write_report`] writes them. Only
/// sums over call paths come together, along a tree.
///
/// `progress` learns the events of all processes, at each of them.
///
/// # Errors
/// Returns what [`analyze`] returns, and [`Error::Peers`] if the processes cannot communicate.
pub fn analyze_among(
    peers: &mut dyn Peers,
    archive: &Archive,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Joint, Error> {
    replay_on(&Transport::among(peers, options.threads), archive, options, progress)
}

fn replay_on(
    transport: &Transport<'_>,
    archive: &Archive,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Joint, Error> {
    let (defs, world) = read_definitions(transport, archive, options.layer)?;
    let Options { memory, cut, events_per_rank, .. } = *options;
    let enough_room = replay::ENOUGH_ROOM;
    let plan = replay::Plan { memory, enough_room, cut, events_per_rank };
    let log = options.log.as_deref();
    let mut replayed: Replayed = replay::replay(transport, archive, &world, plan, log, progress)?;
    let (mut done, mut critical) = (None, None);
    if let Some(log) = log.filter(|_| options.causes) {
        let at = (replayed.sharding, &replayed.assignment);
        let parts = replayed.parts.iter_mut();
        let mut shards: Vec<_> = parts.map(|it| it.processes.as_mut_slice()).collect();
        done = Some(causes::find(transport, &world, at, cut, log, &mut shards)?);
        critical = causes::critical_path(transport, log, &mut shards)?;
    }
    let (mut tree, sections) = sections::join_trees(transport, &replayed)?;
    tree.classify(&world);
    let matrices = replayed.parts.iter().map(|part| &part.matrix);
    let pairs = matrix::distribute(transport, world.system.parties(), matrices)?;
    let program = findings::ProgramTotals::new(&defs, &world, &tree);
    let summary =
        findings::Summary::of(transport, &program, &replayed, &sections, &pairs, done.as_deref())?;
    let lists = summary.map(|summary| Lists::of(archive, &program, &replayed, summary));
    let threads = transport.threads();
    let part = Part { defs, world, replayed, tree, sections, pairs, threads, done };
    let result = match lists {
        Some(lists) => {
            let residual = archive.anchor().property(dwell_model::archive::CLOCK_RESIDUAL);
            let residual = residual.and_then(|text| text.parse().ok());
            let mut analysis = Analysis {
                part,
                lists,
                residual,
                critical,
                iterations: None,
                serving_threads: None,
            };
            if let Some(log) = log.filter(|_| options.causes) {
                analysis.find_iterations(log)?;
                analysis.explain(archive, log)?;
            }
            if let Some(log) = log.filter(|_| options.predict) {
                analysis.foresee(log)?;
            }
            AtRank::First(Box::new(analysis))
        }
        None => AtRank::Other(Box::new(part)),
    };
    Ok(Joint { result })
}

/// Reads the definitions at the first rank, and sends the others the part that they need. Names of call paths and of locations stay
/// at the first rank.
fn read_definitions(
    transport: &Transport<'_>,
    archive: &Archive,
    layer: Option<Layer>,
) -> Result<(Definitions, World), Error> {
    let read = || {
        let defs = archive.definitions()?;
        let world = World::of(archive.anchor(), &defs, layer);
        if world.system.places.is_empty() { Err(Error::NoLocations) } else { Ok((defs, world)) }
    };
    let mut defs = Definitions::default();
    let mut failed = None;
    let own = (transport.rank().0 == 0).then(|| match read() {
        Ok((read, world)) => {
            defs = read;
            Ok(world)
        }
        Err(error) => Err(failed.insert(error).to_string()),
    });
    let world: Result<World, String> = transport.broadcast("definitions", own)?;
    match (world, failed) {
        (Ok(world), _) => Ok((defs, world)),
        (Err(_), Some(error)) => Err(error),
        (Err(reason), None) => Err(Error::Elsewhere { rank: 0, reason }),
    }
}
