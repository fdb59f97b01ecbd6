//! Work that is balanced: how much of it each location keeps.
//!
//! Work can move to another process only as far as the next point at which all processes meet. A run is therefore divided
//! into rounds, which end with collectives that no process of the run leaves before all have entered, and work is balanced in
//! each round. A process that is late in one round and early in the next does not make up for it. A run without such
//! collectives is one round.

use dwell_log::needs::Need;
use dwell_log::read::LogError;
use dwell_trace::ids::LocationNumber;
use dwell_trace::shape::CollectiveShape;
use dwell_trace::world::World;

use crate::whatif::forward_log::{ForwardLog, Stretch};
use crate::whatif::rules::PathRule;
use crate::whatif::scenario::Compiled;

/// Greatest number of rounds of all locations together. If there are more, several consecutive rounds are one.
const MOST_ROUNDS: usize = 1 << 24;

/// The log of a location, and the rules of its call paths.
type Opened = Result<(ForwardLog, Vec<PathRule>), LogError>;

/// Part of the balanced work that each location keeps in each round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares(Vec<Rounds>);

/// Rounds of a location.
#[derive(Clone, Debug, Default)]
struct Rounds {
    /// Recorded end of each round but the last.
    ends: Vec<u64>,
    /// Time of balanced work in each round, and the part of it that the location keeps.
    times: Vec<u64>,
    factors: Vec<f64>,
}

impl Rounds {
    fn at(&self, time: u64) -> usize {
        self.ends.partition_point(|end| *end <= time)
    }
}

impl Shares {
    /// Finds the shares of all locations, whose logs `open` opens.
    pub(crate) fn find(
        world: &World,
        compiled: &Compiled,
        locations: u32,
        open: impl Fn(u32) -> Opened,
    ) -> Result<Self, LogError> {
        let mut list: Vec<Rounds> = Vec::new();
        // Number of collectives in a round: all processes take part in the same ones.
        let mut step = None;
        for number in 0..locations {
            let ends = ends(world, open(number)?)?;
            let step = *step.get_or_insert_with(|| {
                ((ends.len() + 1) * locations as usize).div_ceil(MOST_ROUNDS).max(1)
            });
            let ends = ends.into_iter().skip(step - 1).step_by(step).collect();
            let mut rounds = Rounds { ends, ..Rounds::default() };
            // Threads that take part in no collective follow the first thread of their process.
            let before = number.checked_sub(1).filter(|before| {
                let process = |it: u32| world.process(LocationNumber(it));
                rounds.ends.is_empty() && process(*before) == process(number)
            });
            if let Some(before) = before.and_then(|it| list.get(it as usize)) {
                rounds.ends.clone_from(&before.ends);
            }
            rounds.times = vec![0; rounds.ends.len() + 1];
            let (mut forward, rules) = open(number)?;
            let mut stretch = Stretch::default();
            while forward.next(is_call(&rules), &mut stretch)? {
                if compiled.is_balanced(&rules, &stretch)
                    && let at = rounds.at(stretch.begin)
                    && let Some(time) = rounds.times.get_mut(at)
                {
                    *time += (stretch.end - stretch.begin).saturating_sub(stretch.polling);
                }
            }
            list.push(rounds);
        }
        divide(&mut list);
        Ok(Self(list))
    }

    /// Returns the part of the work at a recorded time that a location keeps.
    pub(crate) fn factor(&self, location: u32, at: u64) -> f64 {
        let rounds = self.0.get(location as usize);
        rounds.and_then(|it| it.factors.get(it.at(at))).copied().unwrap_or(1.0)
    }
}

/// Divides the work of each round. The time of a location above the mean goes to those below it, which do this work while
/// they would wait. Where in their calls is unknown, so their times stay as they are: none of them takes longer than the
/// mean. If only one location of the run does the work, all others take a part of it.
fn divide(list: &mut [Rounds]) {
    let members = list.iter().filter(|it| it.times.iter().any(|it| *it > 0)).count();
    let count = if members == 1 { list.len() } else { members.max(1) };
    let most = list.iter().map(|it| it.times.len()).max().unwrap_or(0);
    let mut sums = vec![0_u64; most];
    for rounds in &*list {
        sums.iter_mut().zip(&rounds.times).for_each(|(sum, time)| *sum += time);
    }
    for Rounds { times, factors, .. } in list {
        let factor = |(sum, time): (&u64, &u64)| {
            (*sum as f64 / count as f64 / (*time).max(1) as f64).min(1.0)
        };
        *factors = sums.iter().zip(std::mem::take(times).iter()).map(factor).collect();
    }
}

/// Returns the recorded ends of the collectives of a location in which all processes wait for all.
fn ends(
    world: &World,
    (mut forward, rules): (ForwardLog, Vec<PathRule>),
) -> Result<Vec<u64>, LogError> {
    let mut ends = Vec::new();
    let mut stretch = Stretch::default();
    while forward.next(is_call(&rules), &mut stretch)? {
        if stretch.needs.iter().any(|need| meets(world, need)) {
            ends.push(stretch.end);
        }
    }
    Ok(ends)
}

/// Returns `true` for a collective that no process of the run leaves before all have entered.
pub(crate) fn meets(world: &World, need: &Need) -> bool {
    let all = world.system.processes.len() as u32;
    match *need {
        Need::Collective { context, shape, .. } => {
            let is_of_all = world.system.context(context).is_some_and(|it| it.size == all);
            is_of_all
                && !matches!(
                    shape,
                    CollectiveShape::FromRoot
                        | CollectiveShape::ToRoot
                        | CollectiveShape::File
                        | CollectiveShape::Prefix
                        | CollectiveShape::Neighbours
                )
        }
        _ => false,
    }
}

/// Returns a function that says which paths are calls.
fn is_call(rules: &[PathRule]) -> impl Fn(usize) -> bool {
    move |path| rules.get(path).is_some_and(|it| it.is_call)
}
