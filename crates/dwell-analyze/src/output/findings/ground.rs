//! Data that all lists of findings are made from, computed once.

use std::collections::BTreeMap;

use otf2::read::Definitions;

use super::Step;
use super::phase::{self, Phase};
use super::sites::Sites;
use crate::archive::ids::{CallPathNumber, Ordinal, PartyNumber, ProcessNumber};
use crate::archive::world::World;
use crate::engine::location::Location;
use crate::engine::quantity::Quantity as Q;
use crate::output::Replayed;
use crate::output::tree::{Branch, Fold, Tree, node};

/// Result of a replay, with the sums that every list needs.
pub(crate) struct Ground<'a> {
    pub(super) defs: &'a Definitions,
    pub(super) world: &'a World,
    pub(super) tree: &'a Tree,
    pub(super) locations: Vec<&'a Location>,
    /// Phase of each branch of the tree.
    pub(super) phases: Vec<Phase>,
    pub(super) sites: Sites,
    /// Inclusive time of each branch over all locations. It is inclusive because a library that waits does so in the
    /// layer below.
    inclusive: Vec<u64>,
    /// Time that each party was waited for, by the signature of a call path and the kind of wait.
    blame: BTreeMap<(u64, Q), BTreeMap<PartyNumber, u64>>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(
        defs: &'a Definitions,
        world: &'a World,
        replayed: &'a Replayed,
        tree: &'a Tree,
    ) -> Self {
        let locations: Vec<&Location> = replayed.locations().collect();
        let mut blame = BTreeMap::new();
        replayed.parts.iter().for_each(|part| part.blame.add_to(&mut blame));
        let phases = phase::phases(world, tree);
        let inclusive = inclusive(&locations, tree);
        let sites = Sites::of(defs, tree);
        Self { defs, world, tree, locations, phases, sites, inclusive, blame }
    }

    /// Returns the inclusive time of a call path over all locations.
    pub(super) fn time(&self, fold: &Fold<'_>) -> u64 {
        fold.sum(&self.inclusive)
    }

    /// Returns the parties that were waited for on a call path, with the time of each.
    pub(super) fn blamed(
        &self,
        fold: &Fold<'_>,
        what: Q,
    ) -> impl Iterator<Item = (PartyNumber, u64)> {
        let of = fold.branches().filter_map(move |it| self.blame.get(&(it.signature, what)));
        of.flatten().map(|(&party, &amount)| (party, amount))
    }

    /// Returns the name of a process.
    pub(super) fn process(&self, number: ProcessNumber) -> Option<String> {
        self.world.system.processes.get(number.index()).map(|it| it.name.clone())
    }

    /// Returns the name of a party: a process, or a node if the run has too many processes.
    pub(super) fn party(&self, number: PartyNumber) -> Option<String> {
        match self.world.parties.folded() {
            true => self.world.system.nodes.get(number.index()).cloned(),
            false => self.process(ProcessNumber(number.0)),
        }
    }

    /// Returns the calls that lead to a path, the outermost first. Parameters are left out.
    pub(super) fn steps(&self, number: CallPathNumber) -> Vec<Step> {
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

/// Returns the exclusive time of a branch over all locations.
pub(super) fn own_time(locations: &[&Location], branch: &Branch) -> u64 {
    branch.members.iter().filter_map(|&at| node(locations, at)).map(|node| node.time.0).sum()
}

fn inclusive(locations: &[&Location], tree: &Tree) -> Vec<u64> {
    let mut times: Vec<u64> = tree.branches.iter().map(|it| own_time(locations, it)).collect();
    // Callers come before what they call.
    for (number, branch) in tree.branches.iter().enumerate().rev() {
        let time = times.get(number).copied().unwrap_or(0);
        if let Some(above) = branch.parent.and_then(|above| times.get_mut(above.index())) {
            *above += time;
        }
    }
    times
}
