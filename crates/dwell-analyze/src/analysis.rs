//! The result of an analysis.

use std::path::Path;

use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::crowds::{self, Crowd};
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::processor_time::{self, ProcessorTime};
use otf2::Archive;

use crate::causes::{CriticalPath, Delay};
use crate::engine::location::Location;
use crate::engine::transport::Transport;
use crate::error::Error;
use crate::iterations::{self, Iterations};
use crate::output::Replayed;
use crate::output::division::{self, CallTime};
use crate::output::findings::{
    self, Cause, Caused, Critical, Efficiency, Entry, Finding, Gain, Inefficiency, Losses, Phase,
    Polling, ProgramPhase, RunSize, Times, Unexplained,
};
use crate::output::notes::{self, NotComputed};
use crate::output::pairs::{self, Pair};
use crate::output::sections::OwnLocations;
use crate::part::Part;
use crate::samples::{self, Functions};
use crate::whatif::{Change, Selection, WhatIf};

/// Result of [`analyze`](crate::analyze): ranked findings, sums over the run, and everything that could not be judged.
///
/// The value holds the call trees and sums of all locations in memory, but no events. Its methods only read it; the
/// archive is not needed any more, also not for [`Analysis::write_report`].
#[derive(Debug)]
pub struct Analysis {
    pub(crate) part: Part,
    pub(crate) lists: Lists,
    pub(crate) residual: Option<u64>,
    /// The critical path, if the dependency log was written.
    pub(crate) critical: Option<CriticalPath>,
    /// Iterations of the run, if the dependency log was written and has them.
    pub(crate) iterations: Option<Iterations>,
    /// Predicted gain of a thread in each process that serves operations.
    pub(crate) serving_threads: Option<Gain>,
}

/// Number of entries whose gain is predicted.
const FORESEEN: usize = 5;

/// Lists that users read, at rank 0.
#[derive(Debug)]
pub(crate) struct Lists {
    counts: notes::Counts,
    ranking: findings::Ranking,
    inefficient: Vec<Inefficiency>,
    losses: Losses,
    unexplained: Vec<Unexplained>,
    polling: Vec<Polling>,
    not_computed: Vec<NotComputed>,
    damage: Vec<String>,
    causes: Vec<Cause>,
    efficiency: Option<Efficiency>,
    program_phases: Vec<ProgramPhase>,
    critical: Vec<Critical>,
    functions: Option<Functions>,
}

impl Lists {
    pub(crate) fn of(
        archive: &Archive,
        program: &findings::ProgramTotals<'_>,
        replayed: &Replayed,
        summary: findings::Summary,
    ) -> Self {
        let mut ranking = findings::rank(program, &summary);
        ranking.look(archive, program);
        let inefficient = findings::inefficient(program, &summary, ranking.times.run);
        let losses = findings::losses(program);
        let unexplained = findings::unexplained(program, &summary);
        let polling = findings::polling(program, &summary);
        let causes = findings::causes(program, &summary, ranking.times.run);
        let efficiency = summary.efficiency();
        let program_phases = summary.phases(program);
        let critical = findings::critical(program);
        let counts = summary.counts;
        let (not_computed, damage) =
            notes::collect(archive.anchor(), program, &replayed.unjudged, &counts);
        Self {
            counts,
            ranking,
            inefficient,
            losses,
            unexplained,
            polling,
            not_computed,
            damage,
            causes,
            efficiency,
            program_phases,
            critical,
            functions: None,
        }
    }
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

    /// Returns the call paths with most time on the critical path, most first, at most [`LISTED`](crate::LISTED) of them. The list is empty if
    /// the analysis did not write the dependency log.
    pub fn critical(&self) -> &[Critical] {
        &self.lists.critical
    }

    /// Returns the functions in which the program computes, or `None` if the archive has no samples or the analysis did not
    /// write the dependency log.
    pub fn functions(&self) -> Option<&Functions> {
        self.lists.functions.as_ref()
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

    /// Returns the activities of processes that made others wait, the most expensive first. Only activities that cost at
    /// least 0.1 % of the run are listed. The list is empty if the analysis did not write the dependency log.
    pub fn causes(&self) -> &[Cause] {
        &self.lists.causes
    }

    /// Returns the iterations of the run with their times, and since when they take longer. `None` if the program does not
    /// repeat itself, or if the analysis did not write the dependency log.
    pub fn iterations(&self) -> Option<&Iterations> {
        self.iterations.as_ref()
    }

    /// Returns communication of the run that could take less time, apart from waits, the greatest saving first.
    /// Only what could save at least 1 % of the run is listed.
    pub fn inefficient(&self) -> &[Inefficiency] {
        &self.lists.inefficient
    }

    /// Returns the time of the run that goes neither to computing nor to waits.
    pub fn losses(&self) -> Losses {
        self.lists.losses
    }

    /// Returns the time that processes spent on cores, and ready to run without one, while they were recorded. `None` if
    /// the archive does not state it, as for runs that were killed and archives of other tools.
    pub fn processor_time(&self) -> Option<ProcessorTime> {
        processor_time::of(&self.part.defs)
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
        crowds::fullest(&self.part.defs)
    }

    /// Returns what the run would gain if each process had a thread that serves operations of others, on the cores that it
    /// has. `None` if that was not predicted: no call waits for progress, or the archive does not state the cores.
    pub fn serving_threads(&self) -> Option<Gain> {
        self.serving_threads
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

    /// Returns the costs of activities of each location that others waited for, or `None` if the analysis did not write the
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

    /// Searches the dependency log for the iterations of the run.
    pub(crate) fn find_iterations(&mut self, log: &Path) -> Result<(), Error> {
        let Part { defs, world, tree, threads, .. } = &self.part;
        let program = findings::ProgramTotals::new(defs, world, tree);
        self.iterations = iterations::find(&program, log, (self.times().run, *threads))?;
        Ok(())
    }

    /// Finds out which functions the processes computed in that others waited for, if the archive has samples.
    pub(crate) fn explain(&mut self, archive: &Archive, log: &Path) -> Result<(), Error> {
        let Part { defs, world, tree, threads, .. } = &self.part;
        let program = findings::ProgramTotals::new(defs, world, tree);
        let lists = &mut self.lists;
        lists.functions = samples::explain(&program, archive, (log, *threads), &mut lists.causes)?;
        Ok(())
    }

    /// Predicts what the run would gain without its longest waits, and the efficiencies that need a prediction.
    pub(crate) fn foresee(&mut self, log: &Path) -> Result<(), Error> {
        let what_if = self.what_if(log)?;
        let ideal = what_if.ideal()?;
        let run = self.times().run;
        let is_large = |it: &Entry| it.phase == Phase::Run && !it.is_small(run);
        let mut gains = Vec::new();
        for (place, entry) in
            self.entries().iter().enumerate().filter(|it| is_large(it.1)).take(FORESEEN)
        {
            let findings = self.findings().get(entry.findings.clone()).unwrap_or_default();
            gains.push((place, what_if.gain(&Change::without(findings))?));
        }
        let first = self.causes().first().map(|it| what_if.gain(&remedy(it))).transpose()?;
        let has_progress = self.findings().iter().any(|it| it.latency.is_some());
        let node = self.fullest_node().filter(|_| has_progress);
        let serving = node.map(|(processes, cores)| Change::serving_threads(processes, cores));
        let serving = serving.map(|changes| what_if.gain(&changes)).transpose()?;
        let serving_threads = serving.and_then(Result::ok);
        for (place, gain) in gains {
            if let Some(entry) = self.lists.ranking.entries.get_mut(place) {
                entry.gain = Some(gain);
            }
        }
        if let Some(cause) = self.lists.causes.first_mut() {
            cause.gain = first;
        }
        self.serving_threads = serving_threads;
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
        WhatIf::new(
            findings::ProgramTotals::new(defs, world, tree),
            log,
            self.causes(),
            self.length(),
        )
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

    /// Returns the processes with their names, in the order of the archive.
    pub fn process_names(&self) -> impl Iterator<Item = (ProcessNumber, &str)> {
        let system = &self.part.world.system;
        let numbers = (0..system.processes.len() as u32).map(ProcessNumber);
        numbers.filter_map(|it| Some((it, system.name(it)?)))
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
        let own = OwnLocations::of(&self.part.replayed);
        own.location(LocationNumber(number)).map_or(0, |it| booked(it, what))
    }

    /// Returns the sum of a quantity on one call path of one location. `path` is the place of the call path in
    /// [`LocationLog::paths`](crate::log::LocationLog::paths); a call path that does not exist yields 0.
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
        pairs::named(&self.part.world, &self.part.pairs)
    }

    /// Returns `true` if [`Self::pairs`] are pairs of nodes, which they are above [`MOST_PARTIES`](crate::MOST_PARTIES) processes.
    pub fn pairs_are_nodes(&self) -> bool {
        self.part.world.system.parties_are_nodes()
    }

    /// Writes the Cube report to `path`, with one value per metric, call path and location. Metrics without any value
    /// are left out. The extra member [`PAIRS`](crate::PAIRS) lists the pairs that communicate.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created or written; there is no new report then. A result of
    /// [`analyze_among`](crate::analyze_among) has the values of some locations only, so that [`Joint::write_report`](crate::Joint::write_report) has to write it.
    pub fn write_report(&self, path: &Path) -> Result<(), Error> {
        let own = self.part.locations().count();
        if own < self.locations() {
            return Err(Error::InPart);
        }
        self.part.write_report(&Transport::new(self.part.threads), &self.notes(), path)
    }

    /// Returns the texts that a report has about patterns that could not be judged.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.lists.not_computed.iter().map(ToString::to_string).collect()
    }
}

/// Returns the changes that remove the most expensive cause: work that several locations do is divided evenly over them,
/// and everything else no longer makes others wait.
fn remedy(cause: &Cause) -> Vec<Change> {
    if cause.is_shared_work() {
        return vec![Change::Balance(Selection::Cause(0))];
    }
    let without = |it: &Caused| {
        Some(Change::Without(Wait::of_id(it.pattern)?, Some(Selection::CallPath(it.call_path))))
    };
    cause.waits.iter().filter_map(without).collect()
}

/// Returns the sum of a quantity over all call paths of a location.
fn booked(location: &Location, what: Quantity) -> u64 {
    location.paths.iter().map(|(_, node)| node.get(what)).sum()
}
