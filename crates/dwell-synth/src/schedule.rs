//! Programs whose severities follow from a formula: the part of their generation that is the same for all.

use std::path::Path;

use otf2::event::{Enter, Leave};
use otf2::id::Time;
use otf2::write::EventWriter;
use rayon::prelude::*;

use crate::progress::Progress;
use crate::truth::{Severities, Totals, Truth};
use crate::world::{MAIN, Program};

/// The schedule of a run, from which all times of all ranks follow.
pub(crate) trait Schedule: Sync {
    /// Values of one step that depend on all ranks, such as the last enter of its collective.
    type Step: Sync;

    /// Returns these values for all steps. They are computed once, since each needs all ranks.
    fn steps(&self) -> Vec<Self::Step>;

    /// Returns the time of the last event that any rank can have.
    fn duration(&self) -> u64;

    /// Writes the events of rank `p` between the enter and the leave of the program, and returns their counts.
    fn write(&self, p: u64, steps: &[Self::Step], events: &mut EventWriter)
    -> otf2::Result<Totals>;

    /// Returns the severities of rank `p`, by the formulas of the module.
    fn severities(&self, p: u64, steps: &[Self::Step]) -> Severities;
}

/// Generates the archive of a program in a directory, and returns its truth.
pub(crate) fn generate(
    program: Program<'_>,
    schedule: &impl Schedule,
    directory: &Path,
    progress: Progress<'_>,
) -> otf2::Result<Truth> {
    let ranks = program.ranks;
    let archive = program.create(directory)?;
    let (steps, duration_ns) = (&schedule.steps(), schedule.duration());
    let all = vec![(); ranks as usize].into_par_iter();
    let mut truth = archive.write_from(all, progress, |rank, (), events| {
        events.write(Time(0), Enter { region: MAIN })?;
        let totals = schedule.write(rank, steps, events)?;
        events.write(Time(duration_ns), Leave { region: MAIN })?;
        Ok(Totals { duration_ns, ..totals })
    })?;
    let severities = |rank| schedule.severities(rank, steps);
    truth.add_severities((0..ranks).into_par_iter().map(severities).collect());
    Ok(truth)
}
