//! Wait states of one-sided communication, found by replay.
//!
//! [`analyze`] reads an archive once and says which calls waited, for how long, and on whom.
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

mod accounts;
mod actor;
mod blame;
mod booking;
mod contexts;
mod counters;
mod crowds;
mod division;
mod findings;
mod hash;
mod inefficient;
mod instances;
mod lane;
mod leaf;
mod locking;
mod mail;
mod matrix;
mod metric;
mod names;
mod notes;
mod outstanding;
mod paths;
mod patterns;
mod player;
mod polling;
mod profile;
mod regions;
mod replay;
mod report;
mod role;
mod seldom;
mod shard;
mod spill;
mod system;
pub mod transport;
mod tree;
mod world;

use std::path::{Path, PathBuf};
use std::{fmt, io};

use dwell_model::layer::Layer;
use otf2::Archive;
use otf2::read::Definitions;

pub use crowds::Crowd;
pub use division::CallTime;
pub use findings::{
    Confidence, Doing, Entry, Evidence, Finding, Inefficiency, Instance, LISTED, LOOKED_AT,
    Meanwhile, Phase, Polling, Serves, Share, Step, Times, Unexplained,
};
pub use matrix::{Cell, Kind, MOST as MOST_PARTIES};
pub use metric::Quantity;
pub use names::Site;
pub use profile::{Calls, Profile};
use replay::Replayed;
pub use replay::least_memory;
use tree::Tree;
use world::World;

/// Called with the number of events that were read since the last call.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// Where windows are cut. It makes no difference to results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// So that a window fits into the memory budget.
    #[default]
    Budget,
    /// After so many nanoseconds of the trace.
    Nanoseconds(u64),
    /// After every event.
    EveryEvent,
}

/// What to do, and with how much.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Threads; 0 for as many as there are cores.
    pub threads: usize,
    /// Bytes of memory to stay within, but for results; see [`least_memory`].
    pub memory: u64,
    /// The layer to judge waits at; `None` for the outermost that has records of operations.
    pub layer: Option<Layer>,
    /// Where windows are cut.
    pub cut: Cut,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 0, memory: 2 << 30, layer: None, cut: Cut::Budget }
    }
}

/// Why an archive could not be analysed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The archive cannot be read.
    Archive(otf2::Error),
    /// It defines no location.
    NoLocations,
    /// A part of a profile cannot be read.
    Profile(PathBuf, io::Error),
    /// The report cannot be written.
    Report(cubex::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Profile(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Report(error) => error.fmt(f),
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

impl From<otf2::Error> for Error {
    fn from(error: otf2::Error) -> Self {
        Self::Archive(error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Archive(error) => Some(error),
            Self::Profile(_, error) => Some(error),
            Self::Report(error) => Some(error),
            Self::NoLocations => None,
        }
    }
}

/// What was found.
#[derive(Debug)]
pub struct Analysis {
    defs: Definitions,
    world: World,
    replayed: Replayed,
    tree: Tree,
    ranking: findings::Ranking,
    inefficient: Vec<Inefficiency>,
    unexplained: Vec<Unexplained>,
    polling: Vec<Polling>,
    not_computed: Vec<NotComputed>,
    damage: Vec<String>,
    residual: Option<u64>,
}

/// Something that a run can gain by.
#[derive(Clone, Copy, Debug)]
pub enum Ranked<'a> {
    /// A call path that waits.
    Waits(&'a Entry),
    /// Communication that could take less time.
    Inefficient(&'a Inefficiency),
}

impl Ranked<'_> {
    /// Twice what can be gained: the sum of both bounds.
    fn gain(&self) -> u128 {
        match self {
            Self::Waits(it) => u128::from(it.nanoseconds) + u128::from(it.at_most),
            Self::Inefficient(it) => it.gain(),
        }
    }
}

/// A pattern that could not be judged, wholly or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotComputed {
    /// Id of the pattern.
    pub pattern: &'static str,
    /// How many calls it concerns; 0 for all.
    pub calls: u64,
    /// Why.
    pub reason: String,
}

/// Analyses an archive.
///
/// # Errors
/// If its definitions cannot be read. Damage behind that becomes part of the result.
pub fn analyze(
    archive: &Archive,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Analysis, Error> {
    let threads = transport::Threads::new(options.threads);
    let defs = archive.definitions()?;
    let world = World::of(archive.anchor(), &defs, options.layer);
    if world.system.places.is_empty() {
        return Err(Error::NoLocations);
    }
    let length = defs.clock().map_or(0, |clock| {
        let end = clock.global_offset.saturating_add(clock.trace_length);
        world.clock.nanoseconds(end)
    });
    let (memory, cut) = (options.memory, options.cut);
    let replayed = replay::replay(&threads, archive, &world, memory, cut, length, progress);
    let tree = Tree::join(&world, &replayed.shards);
    let ground = findings::Ground::new(&defs, &world, &replayed, &tree);
    let mut ranking = findings::rank(&ground);
    ranking.look(archive, &ground);
    let inefficient = findings::inefficient(&ground, &replayed, ranking.times.run);
    let unexplained = findings::unexplained(&ground);
    let polling = findings::polling(&ground);
    let (not_computed, damage) = notes::collect(archive.anchor(), &defs, &world, &replayed);
    let residual = archive.anchor().property(dwell_model::archive::CLOCK_RESIDUAL);
    let residual = residual.and_then(|text| text.parse().ok());
    Ok(Analysis {
        defs,
        world,
        replayed,
        tree,
        ranking,
        inefficient,
        unexplained,
        polling,
        not_computed,
        damage,
        residual,
    })
}

/// Name of the extra member of a report that lists pairs, as comma-separated values.
pub const PAIRS: &str = "dwell-pairs.csv";

/// Who sent how much to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The origin: a process, or a node above [`MOST_PARTIES`] processes.
    pub origin: String,
    /// The target.
    pub target: String,
    /// The kind of communication.
    pub kind: Kind,
    /// How much.
    pub cell: Cell,
}

impl Analysis {
    /// What waits, in the order of the [entries](Self::entries).
    pub fn findings(&self) -> &[Finding] {
        &self.ranking.findings
    }

    /// Findings by call path. Those of the run come first, then those of start-up and of shutdown; in each phase, what
    /// can gain most comes first.
    pub fn entries(&self) -> &[Entry] {
        &self.ranking.entries
    }

    /// Time over all locations in start-up, run and shutdown.
    pub fn times(&self) -> Times {
        self.ranking.times
    }

    /// Communication of the run that could take less time although nobody waits, what saves most first: all that could
    /// save at least 1 % of the run.
    pub fn inefficient(&self) -> &[Inefficiency] {
        &self.inefficient
    }

    /// What a person reads of the run: call paths that wait at least 0.1 % of it, and communication that could take less
    /// time, what can gain most first.
    pub fn ranked(&self) -> Vec<Ranked<'_>> {
        let run = self.times().run;
        let large = |it: &&Entry| it.phase == Phase::Run && !it.is_small(run);
        let waits = self.entries().iter().filter(large).map(Ranked::Waits);
        let mut list: Vec<Ranked<'_>> =
            waits.chain(self.inefficient.iter().map(Ranked::Inefficient)).collect();
        // Sorting is stable: waits come before what can gain as much otherwise.
        list.sort_by_key(|it| std::cmp::Reverse(it.gain()));
        list
    }

    /// Call paths with time in calls of a runtime beyond waits and transfer, the longest first.
    pub fn unexplained(&self) -> &[Unexplained] {
        &self.unexplained
    }

    /// Nodes with more processes than cores, as far as the archive has the cores.
    pub fn crowds(&self) -> impl Iterator<Item = &Crowd> {
        self.world.system.crowds.values()
    }

    /// Loops over calls that test, the longest first.
    pub fn polling(&self) -> &[Polling] {
        &self.polling
    }

    /// How far wrong times of different nodes may be against each other, in nanoseconds, if the archive
    /// says so: where there is one clock only, it does not.
    pub fn clock_residual(&self) -> Option<u64> {
        self.residual
    }

    /// What could not be judged.
    pub fn not_computed(&self) -> &[NotComputed] {
        &self.not_computed
    }

    /// What is wrong with the archive.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Pairs of nodes, origin and target, between which some operations were seen to progress without their
    /// targets.
    pub fn independent_pairs(&self) -> usize {
        patterns::evidence::pairs(&self.replayed.independent)
    }

    /// How many events were read.
    pub fn events(&self) -> u64 {
        self.replayed.events
    }

    /// How many operations under way did not fit into memory and lay in a file for a while.
    pub fn spilled(&self) -> u64 {
        let actors = self.replayed.shards.iter().flat_map(|shard| &shard.actors);
        actors.map(|actor| actor.outstanding.spilled).sum()
    }

    /// How many windows they were read in.
    pub fn windows(&self) -> u64 {
        self.replayed.windows
    }

    /// How many locations there are.
    pub fn locations(&self) -> usize {
        self.world.system.places.len()
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.world.system.processes.len()
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.world.system.nodes.len()
    }

    /// From the first event to the last, in nanoseconds.
    pub fn length(&self) -> u64 {
        let lanes = || tree::lanes(&self.replayed.shards).filter(|lane| lane.events > 0);
        let first = lanes().filter_map(|lane| lane.first).min().unwrap_or(0);
        lanes().map(|lane| lane.now).max().unwrap_or(0).saturating_sub(first)
    }

    /// Time over all locations, in nanoseconds.
    pub fn time(&self) -> u64 {
        let nodes = tree::lanes(&self.replayed.shards).flat_map(|lane| lane.paths.iter());
        nodes.map(|(_, node)| node.time).sum()
    }

    /// What was booked of a quantity, over all call paths and locations.
    pub fn total(&self, what: Quantity) -> u64 {
        tree::lanes(&self.replayed.shards).map(|lane| booked(lane, what)).sum()
    }

    /// What was booked of a quantity at a location, over all call paths. Locations are in the order of
    /// the report.
    pub fn at_location(&self, location: usize, what: Quantity) -> u64 {
        tree::lanes(&self.replayed.shards).nth(location).map_or(0, |lane| booked(lane, what))
    }

    /// What the time of every call path in calls of a runtime is divided into, for each location.
    pub fn call_times(&self) -> Vec<CallTime> {
        let lanes = tree::lanes(&self.replayed.shards);
        lanes.flat_map(|lane| division::of(&self.world, lane)).collect()
    }

    /// How many waits were longer than what was left of their calls. If there are any, a rule of a pattern is wrong.
    pub fn waits_beyond_calls(&self) -> u64 {
        tree::lanes(&self.replayed.shards).map(|lane| lane.paths.excess).sum()
    }

    /// Pairs that communicate, in order.
    pub fn pairs(&self) -> Vec<Pair> {
        pairs(&self.world, &self.replayed)
    }

    /// Whether pairs are pairs of nodes.
    pub fn pairs_are_nodes(&self) -> bool {
        self.world.parties.folded()
    }

    /// Writes the Cube report. Its extra member [`PAIRS`] lists the pairs that communicate.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_report(&self, path: &Path) -> cubex::Result<()> {
        let notes: Vec<String> = self.not_computed.iter().map(ToString::to_string).collect();
        let pairs = pairs_csv(&self.pairs());
        let input = report::Input {
            defs: &self.defs,
            world: &self.world,
            tree: &self.tree,
            notes: &notes,
            pairs: &pairs,
        };
        report::write_replayed(&input, &self.replayed, path)
    }
}

/// Pairs that communicate, in order.
fn pairs(world: &World, replayed: &Replayed) -> Vec<Pair> {
    let mut sum = matrix::Sum::new();
    replayed.shards.iter().for_each(|shard| shard.matrix.add_to(&mut sum));
    named_pairs(world, &sum)
}

fn named_pairs(world: &World, sum: &matrix::Sum) -> Vec<Pair> {
    let system = &world.system;
    let name = |party: u32| {
        let found = match world.parties.folded() {
            true => system.nodes.get(party as usize).cloned(),
            false => system.processes.get(party as usize).map(|it| it.name.clone()),
        };
        found.unwrap_or_default()
    };
    let pair = |(&(from, to, kind), &cell): (&(u32, u32, Kind), &Cell)| Pair {
        origin: name(from),
        target: name(to),
        kind,
        cell,
    };
    sum.iter().map(pair).collect()
}

/// Pairs as comma-separated values; times are seconds.
fn pairs_csv(pairs: &[Pair]) -> String {
    let mut text = String::from("origin,target,kind,operations,bytes,seconds,wait_seconds\n");
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    for Pair { origin, target, kind, cell } in pairs {
        let Cell { operations, bytes, time, wait } = *cell;
        let (origin, target, kind) = (quoted(origin), quoted(target), kind.name());
        let (time, wait) = (time as f64 / 1e9, wait as f64 / 1e9);
        let row = format!("{origin},{target},{kind},{operations},{bytes},{time},{wait}\n");
        text.push_str(&row);
    }
    text
}

/// What was booked of a quantity at a location.
fn booked(lane: &lane::Lane, what: Quantity) -> u64 {
    lane.paths.iter().map(|(_, node)| node.get(what)).sum()
}

impl fmt::Display for NotComputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calls {
            0 => write!(f, "{}: not computed: {}", self.pattern, self.reason),
            calls => write!(f, "{}: not computed for {calls} calls: {}", self.pattern, self.reason),
        }
    }
}
