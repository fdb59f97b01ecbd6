//! Divides a run into start-up, run and shutdown.
//!
//! A program can do little about the time that a runtime takes to start and to end, although it may be half of a short
//! run. The analysis therefore keeps both apart from the run, and states shares as shares of the run.

use dwell_model::operation::Operation;
use dwell_trace::ids::Ordinal;
use dwell_trace::world::World;

use crate::output::tree::Tree;

/// Phase of a program. The order of the variants is the order in which reports list the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Everything between start-up and shutdown, and everything outside of calls that start or end a runtime.
    Run,
    /// Calls that start a runtime (`MPI_Init`, `shmem_init`), with all calls inside them.
    StartUp,
    /// Calls that end a runtime (`MPI_Finalize`, `shmem_finalize`), with all calls inside them.
    Shutdown,
}

impl Phase {
    /// Returns the name of the phase as reports print it, for example `start-up`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::StartUp => "start-up",
            Self::Shutdown => "shutdown",
        }
    }
}

/// Time of each phase in nanoseconds, summed over all locations. Each is a sum of exclusive times of call paths, so no
/// time is counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time in calls that start a runtime, with all calls inside them.
    pub start_up: u64,
    /// Time of the run, which is all other time. Shares of findings refer to this value.
    pub run: u64,
    /// Time in calls that end a runtime, with all calls inside them.
    pub shutdown: u64,
}

/// Returns the phase of each branch of a tree, by the number of the branch.
pub(super) fn phases(world: &World, tree: &Tree) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::with_capacity(tree.branches.len());
    // Callers precede the functions that they call.
    for branch in &tree.branches {
        let above = branch.parent.and_then(|at| phases.get(at.index()).copied());
        let own = match world.roles.get(branch.region).meaning.map(|it| it.operation) {
            Some(Operation::Initialise) => Phase::StartUp,
            Some(Operation::Finalise) => Phase::Shutdown,
            _ => Phase::Run,
        };
        phases.push(above.filter(|it| *it != Phase::Run).unwrap_or(own));
    }
    phases
}

/// Sums up the exclusive time of all branches by phase.
pub(super) fn times(tree: &Tree, phases: &[Phase]) -> Times {
    let mut times = Times::default();
    for (branch, phase) in tree.branches.iter().zip(phases) {
        *match phase {
            Phase::Run => &mut times.run,
            Phase::StartUp => &mut times.start_up,
            Phase::Shutdown => &mut times.shutdown,
        } += branch.totals.time;
    }
    times
}
