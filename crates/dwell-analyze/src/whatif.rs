//! What if: how long would the run have taken if something had been different?
//!
//! [`WhatIf`] plays the run again from its dependency log, with the [changes](Change) that a user asks for. It plays the run
//! without changes as well, which must give the recorded length; the difference is a part of the error bar.
//!
//! The error bar is the range over all uncertain facts: waits are as long as their lower or upper bounds; operations
//! without evidence need their targets or do not; calls that do not wait any more take the rest of their time, or are as
//! fast as the fastest of their call path.

mod balance;
mod collectives;
mod forward_log;
mod locks;
mod presence;
mod rules;
mod scenario;
mod simulate;

use std::path::Path as FilePath;

use dwell_log::read::{DependencyLog, LocationLog, LogError};
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_trace::ids::LocationNumber;

use crate::causes::failure;
use crate::engine::workers::run_on;
use crate::error::Error;
use crate::output::findings::{Cause, Gain, ProgramTotals, Unpredictable};
use balance::Shares;
pub(crate) use balance::meets;
use forward_log::Customs;
pub(crate) use forward_log::{ForwardLog, Stretch, is_loop};
pub(crate) use rules::PathRule;
pub(crate) use scenario::{CauseStretches, signatures};
pub use scenario::{Change, Network, Selection, UnknownSelection};
use scenario::{Compiled, Names};
use simulate::{Assumptions, Played, Shortest, Simulation};

/// How long a run would have taken. All times are in nanoseconds, from the first event to the last, so that start-up and
/// shutdown are included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Length of the run as it was.
    pub recorded: u64,
    /// Length of the run with the changes, and the range over everything that is uncertain; or why it cannot be predicted.
    pub predicted: Result<Range, Unpredictable>,
}

/// A predicted length with its error bar, in nanoseconds. The error bar is the range over what the records leave open, not
/// over what else a change would do to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Length that is predicted with the least that is assumed about the rest.
    pub expected: u64,
    /// Least length over everything that is uncertain.
    pub low: u64,
    /// Greatest length over everything that is uncertain.
    pub high: u64,
}

/// A run that predictions are made from. [`Analysis::what_if`](crate::Analysis::what_if) makes it, and plays the run without
/// changes twice for it: by the lower and by the upper bounds of waits. Each prediction plays the run three times more, on as
/// many threads, or one after the other where that would take more than a gigabyte. A play takes about 75 kB of memory for
/// each location.
pub struct WhatIf<'a> {
    program: ProgramTotals<'a>,
    log: DependencyLog,
    customs: Customs,
    names: Names,
    assumptions: Assumptions,
    /// The run without changes, by lower and by upper bounds of waits.
    unchanged: [Played; 2],
    recorded: u64,
}

impl<'a> WhatIf<'a> {
    /// Plays the run without changes. `recorded` is its length.
    pub(crate) fn new(
        program: ProgramTotals<'a>,
        log: &FilePath,
        causes: &[Cause],
        recorded: u64,
    ) -> Result<Self, Error> {
        let log = DependencyLog::open(log).map_err(|error| failure(&error))?;
        let names = Names::of(&program, causes);
        let none = Compiled::default();
        let mut customs = Customs::default();
        for number in (0..log.locations()).map(LocationNumber) {
            let location = log.location(number).map_err(|error| failure(&error))?;
            if let Some(location) = location {
                let me = program.world.process(number);
                customs.learn(&location, me, program.world).map_err(|error| failure(&error))?;
            }
        }
        let one = |customs: &Customs, upper: bool, locks_as_recorded: bool| {
            let assumptions = Assumptions { upper, best: false, locks_as_recorded };
            play(&program, (&log, customs), &none, assumptions, None)
                .map_err(|error| failure(&error))
        };
        let plays = |customs: &Customs, locks_as_recorded: bool| {
            let one = |upper: bool| one(customs, upper, locks_as_recorded);
            let [low, high] = side_by_side(log.locations(), [false, true], one);
            Ok::<_, Error>([low?, high?])
        };
        let mut unchanged = plays(&customs, false)?;
        // In the upper play, operations wait as they did. It shows how many calls of their targets they need.
        let [low, high] = &mut unchanged;
        if customs.learn_entries(&high.needed) {
            let again = one(&customs, false, false)?;
            match again.length.abs_diff(recorded) < low.length.abs_diff(recorded) {
                true => *low = again,
                false => customs.forget_entries(),
            }
        }
        // Some runtimes do not grant locks in the order in which they were asked for.
        let locks_as_recorded = unchanged.iter().any(|it| it.overtaken > 0);
        if locks_as_recorded {
            unchanged = plays(&customs, true)?;
        }
        let assumptions = Assumptions { locks_as_recorded, ..Assumptions::default() };
        Ok(Self { program, log, customs, names, assumptions, unchanged, recorded })
    }

    /// Predicts the length of the run with changes, which are made all at once. Without any change the prediction is the
    /// recorded length, and its error bar what the play of the unchanged run is off by.
    ///
    /// # Errors
    /// Returns an error if a change names something that the run does not have, or if the log cannot be read.
    pub fn predict(&self, changes: &[Change]) -> Result<Prediction, PredictError> {
        let compiled =
            self.names.compile(&self.program, changes).map_err(PredictError::Selection)?;
        let compiled =
            self.balance(compiled).map_err(|error| PredictError::Log(failure(&error)))?;
        let recorded = self.recorded;
        let [low, high] = &self.unchanged;
        if low.stuck > 0 {
            let predicted = Err(Unpredictable::Incomplete(low.stuck));
            return Ok(Prediction { recorded, predicted });
        }
        let is_dynamic = is_dynamic(&low.fetches) && !changes.is_empty();
        // One value says that there is no work left.
        if is_dynamic && low.fetches.iter().any(|it| *it <= 1) {
            return Ok(Prediction { recorded, predicted: Err(Unpredictable::DynamicWork) });
        }
        let all = [(false, false), (true, false), (false, true)];
        let played = side_by_side(self.log.locations(), all, |(upper, best)| {
            let shortest = if upper { &high.shortest } else { &low.shortest };
            let assumptions = Assumptions { upper, best, ..self.assumptions };
            let log = (&self.log, &self.customs);
            play(&self.program, log, &compiled, assumptions, Some(shortest))
        });
        let mut lengths = Vec::new();
        let (mut busy, mut freed) = (low.busy, 0);
        for (played, (upper, _)) in played.into_iter().zip(all) {
            let played = played.map_err(|error| PredictError::Log(failure(&error)))?;
            if played.stuck > 0 {
                let predicted = Err(Unpredictable::Incomplete(played.stuck));
                return Ok(Prediction { recorded, predicted });
            }
            if lengths.is_empty() {
                (busy, freed) = (played.busy, played.freed);
            }
            let unchanged = if upper { high.length } else { low.length };
            // Time that the run without changes lacks is lacking here, too.
            lengths.push((recorded + played.length).saturating_sub(unchanged));
        }
        let mut expected = lengths.first().copied().unwrap_or(recorded);
        if is_dynamic {
            // Work goes to whoever is free. It is distributed as well as it was, at best evenly, and at worst as it was.
            // Processes that do not wait any more take work meanwhile.
            let idle = recorded.saturating_sub(low.busy).saturating_sub(freed);
            let part = busy as f64 / low.busy.max(1) as f64;
            let length = (idle as f64).mul_add(part, busy as f64);
            expected = (length.round() as u64).min(expected);
            lengths.extend([busy, expected]);
        }
        if !compiled.balanced.is_empty() {
            let length = self.balanced_and_served(&compiled);
            let length = length.map_err(|error| PredictError::Log(failure(&error)))?;
            expected = expected.min(length);
            lengths.push(length);
        }
        let misfit = low.length.abs_diff(recorded);
        let least = lengths.iter().copied().min().unwrap_or(expected);
        let most = lengths.iter().copied().max().unwrap_or(expected);
        let range = Range { expected, low: least.saturating_sub(misfit), high: most + misfit };
        Ok(Prediction { recorded, predicted: Ok(range) })
    }

    /// Predicts by how much the run would be shorter with changes that it can have.
    pub(crate) fn gain(&self, changes: &[Change]) -> Result<Result<Gain, Unpredictable>, Error> {
        match self.predict(changes) {
            Ok(Prediction { recorded, predicted }) => Ok(predicted.map(|range| {
                let shorter = |length: u64| recorded.cast_signed() - length.cast_signed();
                let Range { expected, low, high } = range;
                Gain { expected: shorter(expected), low: shorter(high), high: shorter(low) }
            })),
            Err(PredictError::Log(error)) => Err(error),
            // Findings are on call paths of the run.
            Err(PredictError::Selection(_)) => Ok(Err(Unpredictable::Incomplete(0))),
        }
    }

    /// Returns the length of the run without changes, as it is played from the log. It is the recorded length, unless
    /// records contradict each other.
    ///
    /// # Errors
    /// Returns an error if locations wait for something that the archive does not have.
    pub fn unchanged(&self) -> Result<u64, Unpredictable> {
        let [low, _] = &self.unchanged;
        if low.stuck > 0 { Err(Unpredictable::Incomplete(low.stuck)) } else { Ok(low.length) }
    }

    /// Returns the times of the run without start-up and shutdown: as it was, without waits for progress, and on an ideal
    /// network as well. `None` if the run cannot be played.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub fn ideal(&self) -> Result<Option<[u64; 3]>, Error> {
        let [low, _] = &self.unchanged;
        if low.stuck > 0 {
            return Ok(None);
        }
        let mut changes = vec![
            Change::Without(Wait::WaitForProgress, None),
            Change::Without(Wait::WaitForProgressMulti, None),
        ];
        // These changes select nothing that the run may not have.
        let compile = |it: &[Change]| self.names.compile(&self.program, it).unwrap_or_default();
        let progress = compile(&changes);
        changes.push(Change::IdealNetwork);
        let network = compile(&changes);
        let run = |compiled: &Compiled| {
            let log = (&self.log, &self.customs);
            play(&self.program, log, compiled, self.assumptions, Some(&low.shortest))
        };
        let [progress, network] = side_by_side(self.log.locations(), [&progress, &network], run);
        let (progress, network) =
            (progress.map_err(|it| failure(&it))?, network.map_err(|it| failure(&it))?);
        let is_complete = progress.stuck == 0 && network.stuck == 0;
        Ok(is_complete.then_some([low.run, progress.run, network.run]))
    }

    /// Predicts the length of the run with balanced work if waits for progress cost it what they did. Which requests come
    /// while their targets compute depends on where in its calls a process does the work of others, and that is unknown.
    fn balanced_and_served(&self, compiled: &Compiled) -> Result<u64, LogError> {
        let served = |compiled: &Compiled| {
            let mut served = compiled.clone();
            served.without.add(Wait::WaitForProgress);
            served.without.add(Wait::WaitForProgressMulti);
            served
        };
        let both = [&served(&Compiled::default()), &served(compiled)];
        let [unchanged, balanced] = side_by_side(self.log.locations(), both, |compiled| {
            let log = (&self.log, &self.customs);
            let [low, _] = &self.unchanged;
            play(&self.program, log, compiled, self.assumptions, Some(&low.shortest))
        });
        let (unchanged, balanced) = (unchanged?, balanced?);
        Ok((self.recorded + balanced.length).saturating_sub(unchanged.length))
    }

    /// Finds the factors by which work is balanced.
    fn balance(&self, mut compiled: Compiled) -> Result<Compiled, LogError> {
        if compiled.balanced.is_empty() {
            return Ok(compiled);
        }
        let open = |number| open(&self.program, (&self.log, &self.customs), &compiled, number);
        compiled.shares = Shares::find(self.program.world, &compiled, self.log.locations(), open)?;
        Ok(compiled)
    }
}

/// Reason why there is no prediction.
#[derive(Debug)]
#[non_exhaustive]
pub enum PredictError {
    /// A change names something that the run does not have.
    Selection(UnknownSelection),
    /// The dependency log cannot be read.
    Log(Error),
}

impl std::fmt::Display for PredictError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Selection(error) => error.fmt(f),
            Self::Log(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PredictError {}

/// Memory in bytes that plays of the run may take together, and that each location takes in one of them: a block of each kind
/// of records.
const MOST_MEMORY: usize = 1 << 30;
const MEMORY_OF_LOCATION: usize = 75 << 10;

/// Plays the run several times, side by side as far as memory allows.
fn side_by_side<A: Send + Copy, T: Send, const N: usize>(
    locations: u32,
    plays: [A; N],
    play: impl Fn(A) -> T + Sync,
) -> [T; N] {
    if N * locations as usize * MEMORY_OF_LOCATION > MOST_MEMORY {
        return plays.map(play);
    }
    let mut slots = plays.map(|one| (one, None));
    run_on(N, &mut slots, &|| (), &|(one, played), ()| *played = Some(play(*one)));
    slots.map(|(one, played)| played.unwrap_or_else(|| play(one)))
}

/// Returns `true` if several locations took values from shared counters, and not all the same number.
fn is_dynamic(fetches: &[u64]) -> bool {
    let mut some = fetches.iter().filter(|it| **it > 0);
    let first = some.next();
    some.any(|it| Some(it) != first)
}

/// Opens the log of a location, with rules that change nothing.
pub(crate) fn open_unchanged(
    program: &ProgramTotals<'_>,
    log: &DependencyLog,
    location: LocationNumber,
) -> Result<(ForwardLog, Vec<PathRule>), LogError> {
    let of = log.location(location)?.ok_or_else(|| log.incomplete())?;
    let rules = unchanged(program, &of);
    Ok((ForwardLog::new(&of, program.world.process(location), true)?, rules))
}

/// Opens the log of a location, with the rules for its call paths.
fn open(
    program: &ProgramTotals<'_>,
    (log, customs): (&DependencyLog, &Customs),
    compiled: &Compiled,
    number: u32,
) -> Result<(ForwardLog, Vec<PathRule>), LogError> {
    let location = LocationNumber(number);
    let of = log.location(location)?.ok_or_else(|| log.incomplete())?;
    let mut rules = unchanged(program, &of);
    rules.iter_mut().for_each(|rule| compiled.apply(rule));
    let me = program.world.process(location);
    Ok((ForwardLog::new(&of, me, customs.has_loops(location))?, rules))
}

/// Returns rules that change nothing for the call paths of a location.
pub(crate) fn unchanged(program: &ProgramTotals<'_>, log: &LocationLog) -> Vec<PathRule> {
    let roles = &program.world.roles;
    let is_outside = |region| {
        let operation = roles.get(region).meaning.map(|it| it.operation);
        matches!(operation, Some(Operation::Initialise | Operation::Finalise))
    };
    PathRule::list(log.paths(), is_outside, |site| program.in_source(site))
}

/// Plays the run once.
fn play(
    program: &ProgramTotals<'_>,
    (log, customs): (&DependencyLog, &Customs),
    compiled: &Compiled,
    assumptions: Assumptions,
    shortest: Option<&Shortest>,
) -> Result<Played, LogError> {
    let locations = 0..log.locations();
    let locations = locations.map(|number| open(program, (log, customs), compiled, number));
    let names = Names::fetches(program);
    let is_fetch = |signature: u64| names.contains(&signature);
    let known = (shortest, customs);
    Simulation::new(program.world, (assumptions, compiled), known, &is_fetch, locations)?.play()
}
