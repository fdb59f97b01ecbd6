//! Time of the run that goes neither to computing nor to waits.

use dwell_log::quantity::Quantity as Q;
use dwell_model::waits::Wait;

use super::totals::ProgramTotals;

/// Time in calls of runtimes that is not a wait, summed over all locations, without start-up and shutdown, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Time that calls need if nothing delays them.
    pub transfer: u64,
    /// Time that neither waits nor transfers explain.
    pub unexplained: u64,
    /// Time of polling loops that is not a wait. It overlaps the other two: calls of these loops transfer, too.
    pub polling: u64,
}

/// Adds up the losses of the run.
pub(crate) fn losses(program: &ProgramTotals<'_>) -> Losses {
    let mut losses = Losses::default();
    for (_, fold) in program.run() {
        let totals = fold.totals();
        losses.transfer += totals.get(Q::Transfer);
        losses.unexplained += totals.get(Q::Unexplained);
        losses.polling +=
            totals.get(Q::PollingTime).saturating_sub(totals.get(Q::Wait(Wait::Polling)));
    }
    losses
}
