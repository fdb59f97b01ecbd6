//! Everything about single locations that findings need, joined over all locations of all ranks.
//!
//! Threads make it from their sections, and ranks join it along a tree. It grows with the call paths of the program and
//! with the parties of its communication matrix, not with its locations or events.

use serde::{Deserialize, Serialize};

use super::causes;
use super::efficiency::{self, Efficiency};
use super::inefficient::{AllSavers, AllSavings, join_savers, join_savings, savers, savings};
use super::locations::{self, AllAffected};
use super::program_phases::{self, ProgramPhase};
use super::totals::ProgramTotals;
use crate::causes::Done;
use crate::engine::matrix;
use crate::engine::transport::{Error, Transport};
use crate::output::Replayed;
use crate::output::notes::Counts;
use crate::output::sections::{OwnLocations, Section};
use crate::patterns::inefficient::{Received, join_received, received};

/// Data about single locations that findings need. It is complete at rank 0 only.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(super) affected: AllAffected,
    pub(super) savings: AllSavings,
    pub(super) savers: AllSavers,
    /// Atomics on each party.
    pub(super) atomics: Received,
    pub(crate) counts: Counts,
    pub(super) efficiency: efficiency::Times,
    pub(super) phases: program_phases::AllTimes,
    /// Activities that others waited for.
    pub(super) causes: causes::Sums,
}

impl Summary {
    /// Joins what all ranks know. `pairs` has the part of the matrix that belongs to this rank. Returns the result at
    /// rank 0, and `None` elsewhere.
    pub(crate) fn of(
        transport: &Transport<'_>,
        program: &ProgramTotals<'_>,
        replayed: &Replayed,
        sections: &[Section],
        pairs: &matrix::Sum,
        done: Option<&[Done]>,
    ) -> Result<Option<Self>, Error> {
        let own = OwnLocations::of(replayed);
        let blame = replayed.parts.iter().map(|part| &part.blame);
        let targets = locations::targets(transport, program, blame)?;
        let found = transport.map(sections, &|section| {
            let affected = locations::of(program, &own, section);
            let counts = Counts::of(section.processes(replayed));
            let efficiency = efficiency::Times::of(program, &own, section);
            let phases = program_phases::AllTimes::of(program, &own, section);
            (affected, counts, savings(program, &own, section), efficiency, phases)
        });
        let mut efficiency = efficiency::Times::default();
        let mut phases = program_phases::AllTimes::default();
        let (mut affected, mut counts, mut all) = (targets, Counts::default(), AllSavings::new());
        for (more_affected, more_counts, more_savings, more, more_phases) in found {
            phases.join(more_phases);
            efficiency.join(more);
            locations::join(&mut affected, more_affected);
            counts.join(more_counts);
            join_savings(&mut all, more_savings);
        }
        // The savings of a process may depend on the activities of all of them.
        let all = transport.reduce("savings", all, join_savings)?;
        let all = transport.broadcast("savings of all", all)?;
        let found = transport.map(sections, &|section| savers(program, &own, section, &all));
        let mut savers = AllSavers::new();
        found.into_iter().for_each(|more| join_savers(&mut savers, more));
        let savings = AllSavings::new();
        let locations =
            replayed.parts.iter().flat_map(|it| &it.processes).flat_map(|it| &it.locations);
        let causes = causes::sums(program, locations.zip(done.unwrap_or_default()));
        let own = Self {
            affected,
            savings,
            savers,
            atomics: received(pairs),
            counts,
            efficiency,
            phases,
            causes,
        };
        let joined = transport.reduce("findings", own, Self::join)?;
        Ok(joined.map(|joined| Self { savings: all, ..joined }))
    }

    /// Returns how well the run uses its processes, or `None` if nothing was computed.
    pub(crate) fn efficiency(&self) -> Option<Efficiency> {
        self.efficiency.efficiency()
    }

    /// Returns the phases that the program declares, the longest first.
    pub(crate) fn phases(&self, program: &ProgramTotals<'_>) -> Vec<ProgramPhase> {
        self.phases.phases(program)
    }

    fn join(&mut self, more: Self) {
        locations::join(&mut self.affected, more.affected);
        join_savers(&mut self.savers, more.savers);
        join_received(&mut self.atomics, more.atomics);
        self.counts.join(more.counts);
        self.efficiency.join(more.efficiency);
        self.phases.join(more.phases);
        causes::join(&mut self.causes, more.causes);
    }
}
