//! Lists the call paths that determine the length of the run, without start-up and shutdown.

use std::cmp::Reverse;

use dwell_log::quantity::Quantity as Q;
use dwell_trace::ids::Ordinal;

use super::phase::Phase;
use super::totals::ProgramTotals;
use super::{LISTED, Step};

/// A call path with time on the critical path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Critical {
    /// Calls from the outermost to the one on the critical path, which is the last element.
    pub path: Vec<Step>,
    /// Number of the call path in the Cube report.
    pub call_path: u32,
    /// True if it is a call of a runtime, and false if the program ran its own code.
    pub is_call: bool,
    /// Time on the critical path in nanoseconds.
    pub nanoseconds: u64,
    /// Length of the critical path without start-up and shutdown, of which the time is a part.
    pub of: u64,
}

/// Lists the call paths of the run with most time on the critical path, at most [`LISTED`] of them.
pub(crate) fn list(program: &ProgramTotals<'_>) -> Vec<Critical> {
    let mut list: Vec<Critical> = Vec::new();
    for fold in &program.folds {
        let (nanoseconds, number) = (fold.totals().get(Q::CriticalPath), fold.first());
        let is_run = program.phases.get(number.index()) == Some(&Phase::Run);
        if nanoseconds > 0 && is_run {
            let (path, is_call) = (program.steps(number), fold.class.is_some());
            list.push(Critical { path, call_path: number.0, is_call, nanoseconds, of: 0 });
        }
    }
    let of = list.iter().map(|it| it.nanoseconds).sum();
    list.iter_mut().for_each(|it| it.of = of);
    list.sort_by_key(|it| (Reverse(it.nanoseconds), it.call_path));
    list.truncate(LISTED);
    list
}
