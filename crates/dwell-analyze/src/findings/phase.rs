//! Start-up, run and shutdown: when in the life of a program a call is made.
//!
//! Starting and ending a runtime is nothing that a program can do much about, and takes half of a short run. So it is
//! kept apart from the run, and shares are shares of the run.

use dwell_model::operation::Operation;

use super::ground::own_time;
use crate::lane::Lane;
use crate::tree::Tree;
use crate::world::World;

/// A part of the life of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Everything between start-up and shutdown.
    Run,
    /// Calls that start a runtime (`MPI_Init`, `shmem_init`), with everything inside of them.
    StartUp,
    /// Calls that end a runtime (`MPI_Finalize`, `shmem_finalize`), with everything inside of them.
    Shutdown,
}

impl Phase {
    /// The name of the phase in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::StartUp => "start-up",
            Self::Shutdown => "shutdown",
        }
    }
}

/// Time over all locations in each phase, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time in calls that start a runtime.
    pub start_up: u64,
    /// Time of the run.
    pub run: u64,
    /// Time in calls that end a runtime.
    pub shutdown: u64,
}

/// The phase of each call path of a tree.
pub(super) fn phases(world: &World, tree: &Tree) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::with_capacity(tree.branches.len());
    // Callers come before what they call.
    for branch in &tree.branches {
        let above = branch.parent.and_then(|at| phases.get(at as usize).copied());
        let own = match world.roles.get(branch.region).meaning.map(|it| it.operation) {
            Some(Operation::Initialise) => Phase::StartUp,
            Some(Operation::Finalise) => Phase::Shutdown,
            _ => Phase::Run,
        };
        phases.push(above.filter(|it| *it != Phase::Run).unwrap_or(own));
    }
    phases
}

/// Time in each phase.
pub(super) fn times(lanes: &[&Lane], tree: &Tree, phases: &[Phase]) -> Times {
    let mut times = Times::default();
    for (branch, phase) in tree.branches.iter().zip(phases) {
        *match phase {
            Phase::Run => &mut times.run,
            Phase::StartUp => &mut times.start_up,
            Phase::Shutdown => &mut times.shutdown,
        } += own_time(lanes, branch);
    }
    times
}
