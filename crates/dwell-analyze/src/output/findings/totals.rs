//! Data that all lists of findings are made from, computed once. It follows from the call tree with its sums, so it is the
//! same at all ranks.

use std::cmp::Reverse;

use dwell_log::quantity::Quantity as Q;
use dwell_trace::ids::{CallPathNumber, Ordinal, PartyNumber, ProcessNumber};
use dwell_trace::world::World;
use otf2::id::CallingContextRef;
use otf2::read::Definitions;

use super::Step;
use super::phase::{self, Phase};
use super::sites::Sites;
use crate::output::tree::{Fold, Tree};

/// The call tree of the program, with the sums that every list needs.
pub(crate) struct ProgramTotals<'a> {
    pub(crate) defs: &'a Definitions,
    pub(crate) world: &'a World,
    pub(crate) tree: &'a Tree,
    /// Call paths without their parameters, one for all copies of a call.
    pub(super) folds: Vec<Fold<'a>>,
    /// Phase of each branch of the tree.
    pub(super) phases: Vec<Phase>,
    pub(super) sites: Sites,
    /// Inclusive time of each branch over all locations. It is inclusive because a library that waits does so in the
    /// layer below.
    inclusive: Vec<u64>,
}

impl<'a> ProgramTotals<'a> {
    pub(crate) fn new(defs: &'a Definitions, world: &'a World, tree: &'a Tree) -> Self {
        let (inclusive, sites) = (inclusive(tree), Sites::of(defs, tree));
        let (folds, phases) = (tree.folds(|it| sites.in_source(it)), phase::phases(world, tree));
        Self { defs, world, tree, folds, phases, sites, inclusive }
    }

    /// Returns the site that stands for all copies of a call in the source.
    pub(crate) fn in_source(&self, site: CallingContextRef) -> CallingContextRef {
        self.sites.in_source(site)
    }

    /// Returns the inclusive time of a call path over all locations.
    pub(super) fn time(&self, fold: &Fold<'_>) -> u64 {
        fold.sum(&self.inclusive)
    }

    /// Returns the places of the call paths of the run, without start-up and shutdown.
    pub(super) fn run(&self) -> impl Iterator<Item = (u32, &Fold<'a>)> {
        let is_run = |it: &Fold<'_>| self.phases.get(it.first().index()) == Some(&Phase::Run);
        (0..).zip(&self.folds).filter(move |(_, fold)| is_run(fold))
    }

    /// Returns the call paths of the run with atomics.
    pub(super) fn atomics(&self) -> impl Iterator<Item = (u32, &Fold<'a>)> {
        let has = |it: &Fold<'_>| it.class.is_some() && it.totals().get(Q::Atomics) > 0;
        self.run().filter(move |(_, fold)| has(fold))
    }

    /// Returns the place of the call path with atomics that takes most time.
    pub(super) fn most_atomics(&self) -> Option<usize> {
        let most = self.atomics().min_by_key(|(_, fold)| (Reverse(self.time(fold)), fold.first()));
        most.map(|(place, _)| place as usize)
    }

    /// Returns the name of a process.
    pub(super) fn process(&self, number: ProcessNumber) -> Option<String> {
        self.world.system.name(number).map(str::to_owned)
    }

    /// Returns the name of a party: a process, or a node if the run has too many processes.
    pub(super) fn party(&self, number: PartyNumber) -> Option<String> {
        self.world.system.party_name(number).map(str::to_owned)
    }

    /// Returns the calls that lead to a path, the outermost first. Parameters are left out.
    pub(crate) fn steps(&self, number: CallPathNumber) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = self.tree.branches.get(number.index());
        while let Some(branch) = at {
            if branch.setting.is_none() {
                steps.push(self.sites.step(self.defs, branch.region, branch.site));
            }
            at = branch.parent.and_then(|parent| self.tree.branches.get(parent.index()));
        }
        steps.reverse();
        steps
    }
}

fn inclusive(tree: &Tree) -> Vec<u64> {
    let mut times: Vec<u64> = tree.branches.iter().map(|it| it.totals.time).collect();
    // Callers precede the functions that they call.
    for (number, branch) in tree.branches.iter().enumerate().rev() {
        let time = times.get(number).copied().unwrap_or(0);
        if let Some(above) = branch.parent.and_then(|above| times.get_mut(above.index())) {
            *above += time;
        }
    }
    times
}
