//! Lists polling loops whose time is not a wait: nobody was seen to end them, or the process may have computed between
//! their calls.

use dwell_log::quantity::Quantity as Q;
use dwell_model::layer::Layer;
use dwell_model::waits::Wait;
use dwell_trace::ids::CallPathNumber;

use super::summary::Summary;
use super::totals::ProgramTotals;
use super::{Share, Step, shares};

/// Polling loops of one call path that ask again and again whether something has happened, as far as their time is not a
/// wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polling {
    /// Layer of the calls that test, such as OpenSHMEM or MPI.
    pub layer: Layer,
    /// Number of calls that belong to a loop, which means that a call before or after them tests as well and no other
    /// call lies between.
    pub calls: u64,
    /// Time in nanoseconds from the first call of a loop to the last, without waits, summed over all loops and locations.
    pub nanoseconds: u64,
    /// Part of `nanoseconds` until another process ended the loop. Only loops for which that process is known count.
    pub until_release: u64,
    /// Calls from the outermost to the one that tests, which is the last element.
    pub path: Vec<Step>,
    /// Number of locations with such loops.
    pub locations: u64,
    /// Processes or nodes that ended the loops, the one with the longest loops first, and the time until then. The list
    /// has at most [`LISTED`](super::LISTED) elements, and is empty if neither a message nor an address identifies the
    /// process.
    pub targets: Vec<Share>,
}

/// Part of the time of loops, as a divisor, from which on it is listed.
const LEAST: u64 = 10;

/// Lists the polling loops by call path, the longest first.
pub(crate) fn polling(program: &ProgramTotals<'_>, summary: &Summary) -> Vec<Polling> {
    let mut list: Vec<(CallPathNumber, Polling)> = Vec::new();
    for (place, fold) in (0..).zip(&program.folds) {
        let number = fold.first();
        let Some((layer, _)) = fold.class else { continue };
        let Some(concerned) = summary.affected.get(&(place, Q::PollingTime)) else { continue };
        let totals = fold.totals();
        let (time, waits) = (totals.get(Q::PollingTime), totals.get(Q::Wait(Wait::Polling)));
        let nanoseconds = time.saturating_sub(waits);
        if nanoseconds < time / LEAST {
            continue;
        }
        let polling = Polling {
            layer,
            calls: totals.get(Q::PollingCalls),
            nanoseconds,
            until_release: totals.get(Q::PollingBlamed).saturating_sub(waits),
            path: program.steps(number),
            locations: concerned.locations,
            targets: shares(&concerned.targets, |index| program.party(index)),
        };
        list.push((number, polling));
    }
    list.sort_by_key(|(number, it)| (std::cmp::Reverse(it.nanoseconds), *number));
    list.into_iter().map(|(_, it)| it).collect()
}
