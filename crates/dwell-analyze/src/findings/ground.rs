//! What all lists of findings are made from, computed once.

use std::collections::BTreeMap;

use otf2::read::Definitions;

use super::Step;
use super::phase::{self, Phase};
use super::sites::Sites;
use crate::lane::Lane;
use crate::metric::Quantity as Q;
use crate::replay::Replayed;
use crate::tree::{Branch, Fold, Tree, lanes, node};
use crate::world::World;

/// The result of a replay, with what every list asks of it.
pub(crate) struct Ground<'a> {
    pub(super) defs: &'a Definitions,
    pub(super) world: &'a World,
    pub(super) tree: &'a Tree,
    pub(super) lanes: Vec<&'a Lane>,
    /// The phase of each branch of the tree.
    pub(super) phases: Vec<Phase>,
    pub(super) sites: Sites,
    /// Time of each branch over all locations, with that of the calls inside: a library that waits does so in the layer
    /// below.
    inclusive: Vec<u64>,
    /// Who was waited for how long, by the signature of a call path and the kind of wait.
    blame: BTreeMap<(u64, Q), BTreeMap<u32, u64>>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(
        defs: &'a Definitions,
        world: &'a World,
        replayed: &'a Replayed,
        tree: &'a Tree,
    ) -> Self {
        let lanes: Vec<&Lane> = lanes(&replayed.shards).collect();
        let mut blame = BTreeMap::new();
        replayed.shards.iter().for_each(|shard| shard.blame.add_to(&mut blame));
        let phases = phase::phases(world, tree);
        let inclusive = inclusive(&lanes, tree);
        let sites = Sites::of(defs, tree);
        Self { defs, world, tree, lanes, phases, sites, inclusive, blame }
    }

    /// Time of a call path over all locations, with that of the calls inside.
    pub(super) fn time(&self, fold: &Fold<'_>) -> u64 {
        fold.sum(&self.inclusive)
    }

    /// Who was waited for how long on a call path.
    pub(super) fn blamed(&self, fold: &Fold<'_>, what: Q) -> impl Iterator<Item = (u32, u64)> {
        let of = fold.branches().filter_map(move |it| self.blame.get(&(it.signature, what)));
        of.flatten().map(|(&party, &amount)| (party, amount))
    }

    /// The name of a process.
    pub(super) fn process(&self, index: u32) -> Option<String> {
        self.world.system.processes.get(index as usize).map(|it| it.name.clone())
    }

    /// The name of someone who is waited for: a process, or a node where there are too many processes.
    pub(super) fn party(&self, index: u32) -> Option<String> {
        match self.world.parties.folded() {
            true => self.world.system.nodes.get(index as usize).cloned(),
            false => self.process(index),
        }
    }

    /// The calls that lead to a path, whatever parameters were set meanwhile.
    pub(super) fn steps(&self, number: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = self.tree.branches.get(number);
        while let Some(branch) = at {
            if branch.setting.is_none() {
                steps.push(self.sites.step(self.defs, branch.region, branch.site));
            }
            at = branch.parent.and_then(|parent| self.tree.branches.get(parent as usize));
        }
        steps.reverse();
        steps
    }
}

/// Time of a branch over all locations, without that of the calls inside.
pub(super) fn own_time(lanes: &[&Lane], branch: &Branch) -> u64 {
    branch.members.iter().filter_map(|&at| node(lanes, at)).map(|node| node.time).sum()
}

fn inclusive(lanes: &[&Lane], tree: &Tree) -> Vec<u64> {
    let mut times: Vec<u64> = tree.branches.iter().map(|it| own_time(lanes, it)).collect();
    // Callers come before what they call.
    for (number, branch) in tree.branches.iter().enumerate().rev() {
        let time = times.get(number).copied().unwrap_or(0);
        if let Some(above) = branch.parent.and_then(|above| times.get_mut(above as usize)) {
            *above += time;
        }
    }
    times
}
