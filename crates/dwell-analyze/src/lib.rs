//! Finds wait states of one-sided communication by replaying an OTF2 archive.
//!
//! [`analyze`] reads an archive once and reports which calls waited, for how long, and for whom. [`Profile`] reads what
//! a run recorded as a profile instead of a trace, and writes the same kind of report without waits.
//!
//! ```no_run
//! use dwell_analyze::{Options, analyze};
//! use otf2::Archive;
//!
//! let archive = Archive::open("run/traces.otf2")?;
//! let analysis = analyze(&archive, &Options::default(), &|_events| {})?;
//! for finding in analysis.findings() {
//!     println!("{:.3} s: {}", finding.seconds(), finding.pattern);
//! }
//! # Ok::<(), dwell_analyze::Error>(())
//! ```

#![forbid(unsafe_code)]
// What comes from a file must not panic.
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod archive;
mod causes;
mod engine;
mod output;
mod patterns;
mod whatif;

use std::path::{Path, PathBuf};
use std::{fmt, io};

use dwell_model::layer::Layer;
use dwell_mpi::Peers;
use otf2::Archive;
use otf2::read::Definitions;

pub use archive::crowds::Crowd;
pub use archive::ids::{LocationNumber, ProcessNumber};
pub use archive::layout::Layout;
pub use archive::names::Site;
pub use archive::parties::MOST as MOST_PARTIES;
use archive::world::World;
pub use causes::{CriticalPath, CriticalStep, Delay};
pub use dwell_model::pairs::MEMBER as PAIRS;
use engine::location::Location;
use engine::matrix;
pub use engine::matrix::{Cell, Kind};
pub use engine::quantity::Quantity;
use engine::replay;
pub use engine::replay::least_memory;
use engine::transport::Transport;
pub use output::division::CallTime;
use output::findings::RunSize;
pub use output::findings::{
    Activities, Cause, Caused, Confidence, Counters, Critical, Doing, Efficiency, Entry, Evidence,
    Factors, Finding, Gain, Inefficiency, Instance, LISTED, LOOKED_AT, Meanwhile, Phase, Polling,
    ProgramPhase, Serves, Share, Step, Times, Unexplained, Unpredictable,
};
use output::own::{Own, Section};
pub use output::profile::{Calls, Profile};
use output::tree::Tree;
use output::{Replayed, division, findings, notes, own, pieces, report};

pub use whatif::{
    Change, Network, PredictError, Prediction, Range as PredictedLength, Selection,
    UnknownSelection, WhatIf,
};

use crate::archive::ids::{self, PartyNumber};

/// The dependency log: what every location did when, and who waited for whom.
///
/// [`analyze`] writes it to the directory in [`Options::log`]. It is a cache: it can be deleted, and another version of
/// Dwell may have to write it again.
pub mod log {
    pub use crate::archive::time::{Duration, Time};
    pub use crate::engine::log::read::{
        DependencyLog, LocationLog, LogError, PathStep, Piece, Segment, Step,
    };
}

/// Callback that reports progress: the argument is the number of events that were read since the previous call, over
/// all locations. The analysis calls it after each window from the thread that called [`analyze`]. The sum of all
/// arguments is [`Analysis::events`], so a caller that knows the number of events of an archive can show a percentage.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// Rule by which the replay cuts a trace into windows of time. The results do not depend on it: a question is answered
/// only when the events read so far decide it. Users keep the default; tests use the other variants to show the
/// independence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// Chooses the length of windows so that one window fits into the memory budget.
    #[default]
    Budget,
    /// Ends a window after this number of nanoseconds of the trace.
    Nanoseconds(u64),
    /// Ends a window after every event, which is slow and meant for tests of small archives.
    EveryEvent,
}

/// Resources and choices of an analysis. [`Options::default`] uses all cores, 2 GiB of memory and the outermost layer.
/// None of the resources changes the results; only the layer does. The struct is non-exhaustive, so set fields of a
/// default value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Number of worker threads; 0 stands for one thread per available core.
    pub threads: usize,
    /// Memory budget in bytes. The results are not counted, and a budget below [`least_memory`] cannot be kept.
    pub memory: u64,
    /// Layer at which waits are judged. `None` selects the outermost layer that has records of operations.
    pub layer: Option<Layer>,
    /// Rule by which the trace is cut into windows.
    pub cut: Cut,
    /// Least number of events of a process of [`analyze_among`] that gets any. With fewer, sending messages would take
    /// longer than reading events.
    pub events_per_rank: u64,
    /// Directory for the dependency log, which is not written if it is `None`. The directory is made if it does not
    /// exist. A log that it has is replaced.
    pub log: Option<PathBuf>,
    /// Whether to search the dependency log for the causes of waits and the critical path, which takes longer than writing it. Without
    /// it the log is written for others to read.
    pub causes: bool,
    /// Whether to predict, from the dependency log, what the run would gain without its longest waits, and the efficiencies that
    /// need a prediction. That plays the run about 15 times, and takes several times as long as everything else.
    pub predict: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 0,
            memory: 2 << 30,
            layer: None,
            cut: Cut::Budget,
            events_per_rank: 1_000_000,
            log: None,
            causes: true,
            predict: false,
        }
    }
}

/// Reason why an archive could not be analysed or a report could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The anchor file or the definitions of the archive cannot be read.
    Archive(otf2::Error),
    /// The archive defines no location, as archives of killed runs do before `dwell recover` has completed them.
    NoLocations,
    /// A file or folder of a profile cannot be read. The path says which one.
    Profile(PathBuf, io::Error),
    /// The Cube report cannot be written.
    Report(cubex::Error),
    /// The processes that analyse together cannot communicate.
    Peers(dwell_mpi::Error),
    /// Another of the processes that analyse together could not read the definitions, or not write its part of the report.
    Elsewhere {
        /// Rank of the process.
        rank: usize,
        /// Its error, as a text.
        reason: String,
    },
    /// The result of one of several processes cannot be written alone, because the others have the values of their
    /// locations.
    InPart,
    /// The dependency log cannot be written to the directory.
    Log(PathBuf, io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Profile(path, error) | Self::Log(path, error) => {
                write!(f, "{}: {error}", path.display())
            }
            Self::Report(error) => error.fmt(f),
            Self::Peers(error) => error.fmt(f),
            Self::Elsewhere { rank, reason } => write!(f, "rank {rank}: {reason}"),
            Self::InPart => f.write_str(
                "other processes have the values of some locations, and must write them",
            ),
            Self::NoLocations => f.write_str(
                "the archive defines no locations; if its run was killed, `dwell recover` may help",
            ),
        }
    }
}

impl From<cubex::Error> for Error {
    fn from(error: cubex::Error) -> Self {
        Self::Report(error)
    }
}

impl From<dwell_mpi::Error> for Error {
    fn from(error: dwell_mpi::Error) -> Self {
        Self::Peers(error)
    }
}

impl From<otf2::Error> for Error {
    fn from(error: otf2::Error) -> Self {
        Self::Archive(error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Archive(error) => Some(error),
            Self::Profile(_, error) | Self::Log(_, error) => Some(error),
            Self::Report(error) => Some(error),
            Self::Peers(error) => Some(error),
            Self::NoLocations | Self::Elsewhere { .. } | Self::InPart => None,
        }
    }
}

/// Result of [`analyze`]: ranked findings, sums over the run, and everything that could not be judged.
///
/// The value holds the call trees and sums of all locations in memory, but no events. Its methods only read it; the
/// archive is not needed any more, also not for [`Analysis::write_report`].
#[derive(Debug)]
pub struct Analysis {
    part: Part,
    lists: Lists,
    residual: Option<u64>,
    /// The critical path, if the dependency log was written.
    critical: Option<CriticalPath>,
}

/// Results of the locations that one process has analysed, with the call tree of the program.
#[derive(Debug)]
struct Part {
    defs: Definitions,
    world: World,
    replayed: Replayed,
    /// Call tree with the sums over all locations of the program.
    tree: Tree,
    sections: Vec<Section>,
    /// Part of the communication matrix that this process writes.
    pairs: matrix::Sum,
    threads: usize,
    /// What each location did that others waited for, if the dependency log was written.
    done: Option<Vec<causes::Done>>,
}

impl Part {
    /// Returns the costs of what each location did.
    fn delays(&self) -> Option<Vec<Delay>> {
        let of = |(location, done): (&Location, &causes::Done)| Delay::of(location.number, done);
        Some(self.locations().zip(self.done.as_ref()?).flat_map(of).collect())
    }

    fn locations(&self) -> impl Iterator<Item = &Location> {
        let processes = self.replayed.parts.iter().flat_map(|part| &part.processes);
        processes.flat_map(|process| &process.locations)
    }

    fn at_call_path(&self, location: LocationNumber, path: usize, what: Quantity) -> u64 {
        let own = Own::of(&self.replayed);
        let path = u32::try_from(path).ok().map(engine::paths::Path);
        path.and_then(|path| own.node((location, path))).map_or(0, |node| node.get(what))
    }

    fn write_report(
        &self,
        transport: &Transport<'_>,
        notes: &[String],
        path: &Path,
    ) -> Result<(), Error> {
        let Self { defs, world, tree, .. } = self;
        let mut pairs = pairs_csv(&named_pairs(world, &self.pairs));
        if transport.rank().0 > 0 {
            // The list has one header.
            pairs.drain(..=dwell_model::pairs::HEADER.len());
        }
        let input = report::Input { defs, world, tree, notes };
        let own = Own::of(&self.replayed);
        pieces::write(transport, &input, own, &self.sections, &pairs, path)
    }
}

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

    /// Returns the costs of what the locations of this process did, as [`Analysis::delays`] does.
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

/// One item of the list that [`Analysis::ranked`] returns: something that costs the run time. Both variants have bounds
/// of the time that can be gained, so waits and inefficient communication can be compared.
#[derive(Clone, Copy, Debug)]
pub enum Ranked<'a> {
    /// A call path whose calls wait for other processes.
    Waits(&'a Entry),
    /// Communication that could take less time although nobody waits in it.
    Inefficient(&'a Inefficiency),
}

impl Ranked<'_> {
    /// Returns what the list is sorted by, as [`Entry::weight`] does.
    fn weight(&self, run: RunSize) -> (u64, u128) {
        match self {
            Self::Waits(it) => it.weight(run),
            Self::Inefficient(it) => (run.hundredths(run.each(it.gain())), it.gain()),
        }
    }
}

/// A pattern that could not be judged for some calls or for the whole archive. Its findings are incomplete, and output
/// must say so. Its text form is one line with the pattern, the number of calls and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotComputed {
    /// Id of the pattern as `dwell_model::waits` lists it.
    pub pattern: &'static str,
    /// Number of calls that could not be judged; 0 if the reason concerns all of them.
    pub calls: u64,
    /// Reason in words for a user, without a full stop.
    pub reason: String,
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
        let at = (replayed.sharding, &replayed.deal);
        let parts = replayed.parts.iter_mut();
        let mut shards: Vec<_> = parts.map(|it| it.processes.as_mut_slice()).collect();
        done = Some(causes::find(transport, &world, at, cut, log, &mut shards)?);
        critical = causes::critical_path(transport, log, &mut shards)?;
    }
    let (mut tree, sections) = own::join_trees(transport, &replayed)?;
    tree.classify(&world);
    let matrices = replayed.parts.iter().map(|part| &part.matrix);
    let pairs = matrix::distribute(transport, world.system.parties(), matrices)?;
    let ground = findings::Ground::new(&defs, &world, &tree);
    let summary =
        findings::Summary::of(transport, &ground, &replayed, &sections, &pairs, done.as_deref())?;
    let lists = summary.map(|summary| Lists::of(archive, &ground, &replayed, summary));
    let threads = transport.threads();
    let part = Part { defs, world, replayed, tree, sections, pairs, threads, done };
    let result = match lists {
        Some(lists) => {
            let residual = archive.anchor().property(dwell_model::archive::CLOCK_RESIDUAL);
            let residual = residual.and_then(|text| text.parse().ok());
            let mut analysis = Analysis { part, lists, residual, critical };
            if let Some(log) = log.filter(|_| options.predict) {
                analysis.foresee(log)?;
            }
            AtRank::First(Box::new(analysis))
        }
        None => AtRank::Other(Box::new(part)),
    };
    Ok(Joint { result })
}

/// Reads the definitions at the first rank, and tells the others what they need. Names of call paths and of locations stay
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

/// Number of entries whose gain is predicted.
const FORESEEN: usize = 5;

/// Lists that users read, at rank 0.
#[derive(Debug)]
struct Lists {
    counts: notes::Counts,
    ranking: findings::Ranking,
    inefficient: Vec<Inefficiency>,
    unexplained: Vec<Unexplained>,
    polling: Vec<Polling>,
    not_computed: Vec<NotComputed>,
    damage: Vec<String>,
    causes: Vec<Cause>,
    efficiency: Option<Efficiency>,
    program_phases: Vec<ProgramPhase>,
    critical: Vec<Critical>,
}

impl Lists {
    fn of(
        archive: &Archive,
        ground: &findings::Ground<'_>,
        replayed: &Replayed,
        summary: findings::Summary,
    ) -> Self {
        let mut ranking = findings::rank(ground, &summary);
        ranking.look(archive, ground);
        let inefficient = findings::inefficient(ground, &summary, ranking.times.run);
        let unexplained = findings::unexplained(ground, &summary);
        let polling = findings::polling(ground, &summary);
        let causes = findings::causes(ground, &summary, ranking.times.run);
        let efficiency = summary.efficiency();
        let program_phases = summary.phases(ground);
        let critical = findings::critical(ground);
        let counts = summary.counts;
        let (not_computed, damage) =
            notes::collect(archive.anchor(), ground, &replayed.unjudged, &counts);
        Self {
            counts,
            ranking,
            inefficient,
            unexplained,
            polling,
            not_computed,
            damage,
            causes,
            efficiency,
            program_phases,
            critical,
        }
    }
}

/// One row of the communication matrix: traffic of one kind from one origin to one target. The matrix covers one layer
/// only, the one at which waits are judged, so that traffic of a layer below is not counted twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Name of the origin: a process, or a node if the run has more than [`MOST_PARTIES`] processes.
    pub origin: String,
    /// Name of the target, which is a process or a node like the origin.
    pub target: String,
    /// Kind of communication, such as puts or messages.
    pub kind: Kind,
    /// Number of operations, bytes and times of this pair.
    pub cell: Cell,
}

impl Analysis {
    /// Returns all findings in the order of the [entries](Self::entries), so that each entry is a range of this slice.
    pub fn findings(&self) -> &[Finding] {
        &self.lists.ranking.findings
    }

    /// Returns the findings grouped by call path. Entries of the run come first, then those of start-up and of
    /// shutdown; within a phase, the greatest expected gain comes first.
    pub fn entries(&self) -> &[Entry] {
        &self.lists.ranking.entries
    }

    /// Returns the time of start-up, run and shutdown in nanoseconds, each summed over all locations. Shares of
    /// findings refer to the run, because a program can do little about start-up and shutdown.
    pub fn times(&self) -> Times {
        self.lists.ranking.times
    }

    /// Returns the call paths with most time on the critical path, most first, at most [`LISTED`] of them. The list is empty if
    /// the analysis did not write the dependency log.
    pub fn critical(&self) -> &[Critical] {
        &self.lists.critical
    }

    /// Returns how well the run uses its processes, or `None` if nothing was computed in it.
    pub fn efficiency(&self) -> Option<Efficiency> {
        self.lists.efficiency
    }

    /// Returns the phases that the program declares, such as the iterations of its main loop, with their efficiencies. The
    /// longest is first. The list is empty if the program declares none.
    pub fn program_phases(&self) -> &[ProgramPhase] {
        &self.lists.program_phases
    }

    /// Returns what processes did in the run that made others wait, what cost most first. Only what costs at least 0.1 % of
    /// the run is listed. The list is empty if the analysis did not write the dependency log.
    pub fn causes(&self) -> &[Cause] {
        &self.lists.causes
    }

    /// Returns communication of the run that could take less time although nobody waits, the greatest saving first.
    /// Only what could save at least 1 % of the run is listed.
    pub fn inefficient(&self) -> &[Inefficiency] {
        &self.lists.inefficient
    }

    /// Returns the ranking that users read: call paths that wait for at least 0.1 % of the run, and inefficient
    /// communication, the greatest expected gain first. Start-up and shutdown are left out; see [`Self::entries`] for
    /// them.
    pub fn ranked(&self) -> Vec<Ranked<'_>> {
        let run = self.times().run;
        let large = |it: &&Entry| it.phase == Phase::Run && !it.is_small(run);
        let waits = self.entries().iter().filter(large).map(Ranked::Waits);
        let mut list: Vec<Ranked<'_>> =
            waits.chain(self.lists.inefficient.iter().map(Ranked::Inefficient)).collect();
        // Sorting is stable: waits come before what can gain as much otherwise.
        let size = self.size();
        list.sort_by_key(|it| std::cmp::Reverse(it.weight(size)));
        list
    }

    /// Returns call paths with time in runtime calls that neither waits nor transfer explain, the longest first. Only
    /// those with [`Unexplained::is_finding`] are large enough to report one by one.
    pub fn unexplained(&self) -> &[Unexplained] {
        &self.lists.unexplained
    }

    /// Returns the nodes with more processes than cores. An archive that does not record the cores of its processes has
    /// none, and neither have archives of other tools.
    pub fn crowds(&self) -> impl Iterator<Item = &Crowd> {
        self.part.world.system.crowds.values()
    }

    /// Returns the numbers of processes and of cores of the node with the fewest cores for each process, or `None` if the
    /// archive does not say which cores processes may use.
    pub fn fullest_node(&self) -> Option<(u32, u32)> {
        archive::crowds::fullest(&self.part.defs)
    }

    /// Returns loops over calls that test for completion or for a change of memory, the longest first. Their time is
    /// not part of any finding.
    pub fn polling(&self) -> &[Polling] {
        &self.lists.polling
    }

    /// Returns the largest error of clock synchronisation between nodes in nanoseconds. `None` if the archive does not
    /// state it, as for runs with a single clock.
    pub fn clock_residual(&self) -> Option<u64> {
        self.residual
    }

    /// Returns the patterns that could not be judged, wholly or in part, with the reason for each.
    pub fn not_computed(&self) -> &[NotComputed] {
        &self.lists.not_computed
    }

    /// Returns the defects of the archive, such as an event file that ends early: the first 20 as one text each, and
    /// the number of all others as the last text. Empty if there is none.
    pub fn damage(&self) -> &[String] {
        &self.lists.damage
    }

    /// Returns the number of pairs of nodes, origin and target, for which the archive shows that some operations
    /// progress without help of their targets.
    pub fn independent_pairs(&self) -> usize {
        self.part.replayed.facts.progress.pairs()
    }

    /// Returns the costs of what each location did that others waited for, or `None` if the analysis did not write the
    /// dependency log. Costs at all locations add up to the lower bounds of all waits whose culprits are known, and to the
    /// polling loops whose releases are.
    pub fn delays(&self) -> Option<Vec<Delay>> {
        self.part.delays()
    }

    /// Returns the critical path, or `None` if the analysis did not write the dependency log. The sum of
    /// [`Quantity::CriticalPath`] over all call paths and locations is its length, which is [`Self::length`].
    pub fn critical_path(&self) -> Option<&CriticalPath> {
        self.critical.as_ref()
    }

    fn size(&self) -> RunSize {
        RunSize { length: self.length(), locations: self.locations() as u64 }
    }

    /// Predicts what the run would gain without its longest waits, and the efficiencies that need a prediction.
    fn foresee(&mut self, log: &Path) -> Result<(), Error> {
        let what_if = self.what_if(log)?;
        let ideal = what_if.ideal()?;
        let run = self.times().run;
        let is_large = |it: &Entry| it.phase == Phase::Run && !it.is_small(run);
        let mut gains = Vec::new();
        for (place, entry) in
            self.entries().iter().enumerate().filter(|it| is_large(it.1)).take(FORESEEN)
        {
            let findings = self.findings().get(entry.findings.clone()).unwrap_or_default();
            gains.push((place, what_if.gain(findings)?));
        }
        for (place, gain) in gains {
            if let Some(entry) = self.lists.ranking.entries.get_mut(place) {
                entry.gain = Some(gain);
            }
        }
        let size = self.size();
        self.lists.ranking.sort(size);
        if let Some(efficiency) = &mut self.lists.efficiency {
            efficiency.factors =
                ideal.and_then(|ideal| findings::Factors::of(efficiency.communication, ideal));
        }
        Ok(())
    }

    /// Prepares predictions of how long the run would have taken if something had been different, given the directory of the
    /// dependency log that this analysis has written.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub fn what_if(&self, log: &Path) -> Result<WhatIf<'_>, Error> {
        let Part { defs, world, tree, .. } = &self.part;
        WhatIf::new(findings::Ground::new(defs, world, tree), log, self.causes(), self.length())
    }

    /// Returns the number of events that were read, over all locations.
    pub fn events(&self) -> u64 {
        self.part.replayed.events
    }

    /// Returns the number of operations in flight that did not fit into the memory budget and were moved to a temporary
    /// file. A large number means that more memory would make the analysis faster.
    pub fn spilled(&self) -> u64 {
        self.lists.counts.spilled
    }

    /// Returns the number of calls that issued operations and that the replay could not judge in one step. Most programs
    /// have few of them. A test compares the number with what synthetic programs must have, because each of these calls
    /// takes several times as long to analyse.
    pub fn slow_calls(&self) -> u64 {
        self.lists.counts.slow_calls
    }

    /// Returns the number of windows of time that the trace was cut into.
    pub fn windows(&self) -> u64 {
        self.part.replayed.windows
    }

    /// Returns the number of locations that the archive defines, with and without events.
    pub fn locations(&self) -> usize {
        self.part.world.system.places.len()
    }

    /// Returns the number of processes, which are the location groups of the archive.
    pub fn processes(&self) -> usize {
        self.part.world.system.processes.len()
    }

    /// Returns the number of nodes that processes ran on. A node that the archive does not name counts as well.
    pub fn nodes(&self) -> usize {
        self.part.world.system.nodes.len()
    }

    /// Returns the time from the first event to the last over all locations, in nanoseconds; 0 for an archive without
    /// events.
    pub fn length(&self) -> u64 {
        self.lists.counts.length().0
    }

    /// Returns the exclusive time of all call paths over all locations, in nanoseconds. With several locations it
    /// exceeds [`Self::length`], the time that a clock on the wall would show.
    pub fn time(&self) -> u64 {
        self.part.tree.branches.iter().map(|branch| branch.totals.time).sum()
    }

    /// Returns the sum of a quantity over all call paths and locations, in nanoseconds, bytes or operations as the
    /// quantity defines.
    pub fn total(&self, what: Quantity) -> u64 {
        self.part.tree.branches.iter().map(|branch| branch.totals.get(what)).sum()
    }

    /// Returns the sum of a quantity over all call paths of one location. `location` counts from 0 in the order of the
    /// report; a number without a location yields 0.
    pub fn at_location(&self, location: usize, what: Quantity) -> u64 {
        let Ok(number) = u32::try_from(location) else { return 0 };
        let own = Own::of(&self.part.replayed);
        own.location(ids::LocationNumber(number)).map_or(0, |it| booked(it, what))
    }

    /// Returns the sum of a quantity on one call path of one location. `path` is the place of the call path in
    /// [`LocationLog::paths`](log::LocationLog::paths); a call path that does not exist yields 0.
    pub fn at_call_path(&self, location: LocationNumber, path: usize, what: Quantity) -> u64 {
        self.part.at_call_path(location, path, what)
    }

    /// Returns, for every call path of a runtime at every location, how its time divides into waits, transfer and
    /// unexplained time. Tests compare these sums with the time between enters and leaves.
    pub fn call_times(&self) -> Vec<CallTime> {
        let locations = self.part.locations();
        locations.flat_map(|location| division::of(&self.part.world, location)).collect()
    }

    /// Returns the number of waits that were longer than the time left in their calls. Any value but 0 means that a
    /// rule of a pattern is wrong.
    pub fn waits_beyond_calls(&self) -> u64 {
        self.lists.counts.excess
    }

    /// Returns all pairs that communicate, ordered by origin, target and kind. Each call names the pairs anew, so keep
    /// the result if you need it twice.
    pub fn pairs(&self) -> Vec<Pair> {
        named_pairs(&self.part.world, &self.part.pairs)
    }

    /// Returns `true` if [`Self::pairs`] are pairs of nodes, which they are above [`MOST_PARTIES`] processes.
    pub fn pairs_are_nodes(&self) -> bool {
        self.part.world.system.parties_are_nodes()
    }

    /// Writes the Cube report to `path`, with one value per metric, call path and location. Metrics without any value
    /// are left out. The extra member [`PAIRS`] lists the pairs that communicate.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created or written; there is no new report then. A result of
    /// [`analyze_among`] has the values of some locations only, so that [`Joint::write_report`] has to write it.
    pub fn write_report(&self, path: &Path) -> Result<(), Error> {
        let own = self.part.locations().count();
        if own < self.locations() {
            return Err(Error::InPart);
        }
        self.part.write_report(&Transport::new(self.part.threads), &self.notes(), path)
    }

    /// Returns the texts that a report has about patterns that could not be judged.
    fn notes(&self) -> Vec<String> {
        self.lists.not_computed.iter().map(ToString::to_string).collect()
    }
}

/// Names pairs, ordered by origin, target and kind.
fn named_pairs(world: &World, sum: &matrix::Sum) -> Vec<Pair> {
    let name = |party| world.system.party_name(party).map(str::to_owned).unwrap_or_default();
    let pair = |(&(from, to, kind), &cell): (&(PartyNumber, PartyNumber, Kind), &Cell)| Pair {
        origin: name(from),
        target: name(to),
        kind,
        cell,
    };
    sum.iter().map(pair).collect()
}

/// Formats pairs as the member [`PAIRS`] of a report has them.
fn pairs_csv(pairs: &[Pair]) -> String {
    dwell_model::pairs::write(pairs.iter().map(|it| dwell_model::pairs::Row {
        origin: it.origin.as_str().into(),
        target: it.target.as_str().into(),
        kind: it.kind,
        operations: it.cell.operations,
        bytes: it.cell.bytes,
        seconds: it.cell.time as f64 / 1e9,
        wait_seconds: it.cell.wait as f64 / 1e9,
    }))
}

/// Returns the sum of a quantity over all call paths of a location.
fn booked(location: &Location, what: Quantity) -> u64 {
    location.paths.iter().map(|(_, node)| node.get(what)).sum()
}

impl fmt::Display for NotComputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calls {
            0 => write!(f, "{}: not computed: {}", self.pattern, self.reason),
            calls => write!(f, "{}: not computed for {calls} calls: {}", self.pattern, self.reason),
        }
    }
}
