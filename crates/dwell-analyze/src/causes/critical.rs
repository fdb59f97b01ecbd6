//! The critical path of a run: the sequence of activities of locations that determined its length.
//!
//! The path is followed backwards. It begins with the last event of the run, at the location with the lowest number if there
//! are several. At a location it stays until a wait that ended there, and continues at the culprit of that wait at the same
//! time, because the activities of the culprit until then ended the wait. It ends at the first event of the run.
//!
//! - Waits with a lower bound of 0 do not count. Of several that ended together the one with the greatest lower bound
//!   counts, and then the one with the lowest culprit.
//! - Where the path has reached a location from another one, only waits that ended before that time count, so that it goes
//!   back in time with every step and ends.
//! - Time of the path before the first event of a location, which had not started yet, counts for the first call path of
//!   the location. A location without any region has no call path, so that its time is in the steps alone.
//!
//! The log of a location is opened when the path first reaches it, and is read once, one block at a time ([`BackwardLog`]).
//!
//! # Several ranks
//! The rank that has the location follows the path as long as it stays among its locations. Then all ranks agree where
//! it continues, which takes one round of messages each time the path leaves a rank. A step depends on the one
//! before, so that there is nothing for several threads to do.

use std::path::Path as FilePath;

use dwell_log::quantity::Quantity;
use dwell_log::read::{DependencyLog, LogError};
use dwell_mpi::Agreement;
use dwell_trace::ids::LocationNumber;
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::causes::backward_log::BackwardLog;
use crate::causes::pass::{check, open};
use crate::engine::location::Location;
use crate::engine::process::Process;
use crate::engine::transport::Transport;
use crate::error::Error as Failure;

/// Greatest number of steps that are kept.
const MOST_STEPS: u64 = 100_000;

/// A stretch of the critical path at one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CriticalStep {
    /// Time at which the path reached the location: an event of it ended a wait of the location before, or the run began.
    pub from: Time,
    /// Time at which the path left it: the location after this one waited until then, or the run ended.
    pub to: Time,
    /// Location that determined the length of the run from `from` to `to`.
    pub location: LocationNumber,
}

/// The critical path of a run: the locations that determined its length, one after the other, without gaps.
///
/// [`Quantity::CriticalPath`] has its time by call path and location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    /// The last 100,000 steps, in the order of time. Consecutive steps are at different locations.
    pub steps: Vec<CriticalStep>,
    /// Number of steps before these.
    pub omitted: u64,
    /// Length of the path, which is the time from the first event of the run to the last.
    pub length: Duration,
}

/// A place on the path.
#[derive(Clone, Copy, Debug)]
struct Position {
    location: LocationNumber,
    time: Time,
    /// Waits of the location count if they ended before this time.
    before: Time,
}

/// Message of a rank to the others after it has followed the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The location of the path belongs to another rank.
    NotHere = 0,
    /// The path has left the locations of the rank.
    Left = 1,
    /// The path has reached the first event of the run.
    Ended = 2,
    /// The log cannot be read.
    Failed = 3,
}

/// The part of the path at locations of this rank.
struct Walk<'a> {
    log: &'a DependencyLog,
    /// Locations of this rank, which are consecutive, and their logs, as far as the path has reached them.
    locations: Vec<(&'a mut Location, Option<BackwardLog>)>,
    /// First event of the run.
    begin: Time,
    steps: Steps,
}

impl Walk<'_> {
    /// Returns the place of a location among those of this rank.
    fn place(&self, location: LocationNumber) -> Option<usize> {
        let first = self.locations.first()?.0.number;
        let place = location.0.checked_sub(first.0)? as usize;
        (place < self.locations.len()).then_some(place)
    }

    /// Follows the path until it leaves the locations of this rank, and returns where. Returns `None` at the begin of the
    /// run.
    fn follow(&mut self, mut at: Position) -> Result<Option<Position>, LogError> {
        self.steps.last = None;
        while let Some(place) = self.place(at.location) {
            let Some((location, backward)) = self.locations.get_mut(place) else { break };
            let backward = match backward {
                Some(backward) => backward,
                None => {
                    let log = self.log.location(at.location)?;
                    backward.insert(BackwardLog::new(&log.ok_or_else(|| self.log.incomplete())?))
                }
            };
            let wait = backward.last_wait(at.before)?.filter(|it| it.to > self.begin);
            let from = wait.map_or(self.begin, |it| it.to);
            backward.divide((from, at.time), |path, time| {
                location.paths.book(path, Quantity::CriticalPath, time.0);
            })?;
            self.steps.add(CriticalStep { location: at.location, from, to: at.time });
            let Some(wait) = wait else { return Ok(None) };
            at = Position { location: wait.culprit, time: from, before: from };
        }
        Ok(Some(at))
    }
}

/// Steps at locations of this rank, the last first.
#[derive(Debug, Default)]
struct Steps {
    list: Vec<CriticalStep>,
    /// Number of steps of all ranks so far.
    count: u64,
    /// Location of the step that was added last, unless the path has left this rank since.
    last: Option<LocationNumber>,
}

impl Steps {
    /// Adds a step, and joins it with the one after it if that is at the same location.
    fn add(&mut self, step: CriticalStep) {
        if step.from == step.to {
            return;
        }
        if self.last.replace(step.location) != Some(step.location) {
            self.count += 1;
            self.list.extend((self.count <= MOST_STEPS).then_some(step));
        } else if self.count <= MOST_STEPS
            && let Some(last) = self.list.last_mut()
        {
            last.from = step.from;
        }
    }
}

/// Follows the critical path, and books its time on the call paths of all locations of this rank, given the processes of
/// each of its shards. Returns the path at rank 0, and `None` elsewhere.
pub(crate) fn critical_path(
    transport: &Transport<'_>,
    directory: &FilePath,
    shards: &mut [&mut [Process]],
) -> Result<Option<CriticalPath>, Failure> {
    let log = open(transport, directory)?;
    let processes = shards.iter_mut().flat_map(|it| it.iter_mut());
    let locations = processes.flat_map(|it| &mut it.locations).map(|it| (it, None)).collect();
    let mut walk = Walk { log: &log, locations, begin: Time::END, steps: Steps::default() };
    let (begin, mut at) = ends(transport, &walk)?;
    walk.begin = begin;
    let length = at.time.since(begin);
    let mut failed = None;
    loop {
        let (mut outcome, mut next) = (Outcome::NotHere, at);
        if walk.place(at.location).is_some() {
            match walk.follow(at) {
                Ok(Some(position)) => (outcome, next) = (Outcome::Left, position),
                Ok(None) => outcome = Outcome::Ended,
                Err(error) => (outcome, failed) = (Outcome::Failed, Some(error)),
            }
        }
        let is_here = outcome != Outcome::NotHere;
        let own = [next.location.0.into(), next.time.0, walk.steps.count];
        let most = own.map(|it| if is_here { it } else { 0 });
        let most = [outcome as u64].into_iter().chain(most).collect();
        let agreed =
            transport.agree("critical path", Agreement { most, ..Agreement::default() })?;
        let &[outcome, location, time, count] = agreed.most.as_slice() else { break };
        walk.steps.count = count;
        if outcome != Outcome::Left as u64 {
            if outcome == Outcome::NotHere as u64 && length > Duration::ZERO {
                failed = Some(log.incomplete());
            }
            break;
        }
        let (location, time) = (LocationNumber(location as u32), Time(time));
        at = Position { location, time, before: time };
    }
    check(transport, failed.as_ref())?;
    let Steps { list, count, .. } = walk.steps;
    let mut steps = Vec::new();
    let own = list.into_iter().map(|step| (0, step));
    transport.scatter("steps of the critical path", own, |step| steps.push(step))?;
    steps.sort_unstable();
    let omitted = count.saturating_sub(MOST_STEPS);
    Ok((transport.rank().0 == 0).then_some(CriticalPath { steps, omitted, length }))
}

/// Returns the time of the first event of the run, and the position of the last.
fn ends(transport: &Transport<'_>, walk: &Walk<'_>) -> Result<(Time, Position), Failure> {
    let step = "ends of the critical path";
    let locations = || walk.locations.iter().map(|it| &*it.0).filter(|it| it.first.is_some());
    let begin = locations().filter_map(|it| it.first).min().unwrap_or(Time::END);
    let end = locations().map(|it| it.now).max().unwrap_or(Time::BEGIN);
    let (least, most) = (vec![begin.0], vec![end.0]);
    let agreed = transport.agree(step, Agreement { least, most, ..Agreement::default() })?;
    let begin = agreed.least.first().map_or(begin, |it| Time(*it));
    let end = agreed.most.first().map_or(end, |it| Time(*it));
    let last = locations().find(|it| it.now == end).map_or(u32::MAX, |it| it.number.0);
    let least = vec![last.into()];
    let agreed = transport.agree(step, Agreement { least, ..Agreement::default() })?;
    let last = agreed.least.first().map_or(last, |it| *it as u32);
    // Waits may end with the last event.
    let before = Time(end.0.saturating_add(1));
    Ok((begin, Position { location: LocationNumber(last), time: end, before }))
}

#[cfg(test)]
mod tests {
    use super::{CriticalStep, MOST_STEPS, Steps};
    use dwell_trace::ids::LocationNumber;
    use dwell_trace::time::Time;

    /// Steps of one nanosecond, at these locations, the last first.
    fn steps(locations: impl DoubleEndedIterator<Item = u32> + Clone) -> Steps {
        let mut steps = Steps::default();
        let mut to = locations.clone().count() as u64;
        for location in locations {
            let (location, from) = (LocationNumber(location), Time(to - 1));
            steps.add(CriticalStep { location, from, to: Time(to) });
            to -= 1;
        }
        steps
    }

    fn step(location: u32, from: u64, to: u64) -> CriticalStep {
        CriticalStep { location: LocationNumber(location), from: Time(from), to: Time(to) }
    }

    #[test]
    fn steps_at_one_location_are_joined() {
        let mut found = steps([3, 3, 1, 3, 3, 3].into_iter());
        assert_eq!(found.list, [step(3, 4, 6), step(1, 3, 4), step(3, 0, 3)]);
        assert_eq!(found.count, 3);
        // A step without length is none.
        found.add(step(7, 0, 0));
        assert_eq!((found.list.len(), found.count), (3, 3));
        // The path was elsewhere.
        found.last = None;
        found.add(step(3, 0, 1));
        assert_eq!((found.list.len(), found.count), (4, 4));
    }

    #[test]
    fn the_last_steps_are_kept() {
        let most = MOST_STEPS as u32;
        // Twice the last location that is kept, once before the first that is not.
        let kept = steps((0..most).chain([most - 1, most, most - 1]));
        assert_eq!(kept.list.len() as u64, MOST_STEPS);
        assert_eq!(kept.count, MOST_STEPS + 2);
        assert_eq!(kept.list.last(), Some(&step(most - 1, 2, 4)));
    }
}
