//! Joins the call trees of all locations into one, and classifies the paths.

use std::collections::HashMap;

use dwell_model::layer::Layer;
use dwell_model::operation::{Collective, Operation, Shape};
use dwell_model::waits::Class;
use otf2::id::{CallingContextRef, RegionRef};
use otf2::read::Definitions;

use crate::archive::ids::{CallPathNumber, LocationNumber, Ordinal};
use crate::archive::names::{self, Setting};
use crate::archive::roles::{Role, Traits};
use crate::archive::world::World;
use crate::engine::hash::Mixed;
use crate::engine::location::Location;
use crate::engine::paths::{Node, Path};

/// Returns the layer of a region and the class of activity that its time belongs to.
fn class_of(role: Role) -> Option<(Layer, Class)> {
    let meaning = role.meaning?;
    let class = match meaning.operation {
        _ if role.epoch.is_some() => Class::RmaSync,
        operation if operation.is_one_sided() => Class::Rma,
        Operation::Order
        | Operation::CompleteLocal
        | Operation::CompleteRemote
        | Operation::Meet
        | Operation::Lock
        | Operation::Unlock
        | Operation::TryLock
        | Operation::WaitChange
        | Operation::TestChange
        | Operation::StartEpoch
        | Operation::CompleteEpoch
        | Operation::PostEpoch
        | Operation::WaitEpoch
        | Operation::TestEpoch => Class::RmaSync,
        Operation::WaitHandle | Operation::TestHandle => {
            if meaning.layer.has_messages() {
                Class::Message
            } else {
                Class::RmaSync
            }
        }
        Operation::Send
        | Operation::Receive
        | Operation::Exchange
        | Operation::Probe
        | Operation::TestProbe
        | Operation::StartHandle
        | Operation::FreeHandle => Class::Message,
        Operation::Collective(Collective::Barrier) if meaning.completes_remote => {
            // A fence of MPI is a barrier around operations.
            if meaning.layer.has_messages() { Class::RmaSync } else { Class::Barrier }
        }
        Operation::Collective(which) if which.shape() == Shape::Barrier => Class::Barrier,
        Operation::Collective(_) => Class::Collective,
        _ => Class::Management,
    };
    Some((meaning.layer, class))
}

/// A call path of the program.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) parent: Option<CallPathNumber>,
    pub(crate) region: RegionRef,
    pub(crate) site: CallingContextRef,
    /// The parameter, if this is not a call.
    pub(crate) setting: Option<Setting>,
    pub(crate) signature: u64,
    /// Layer and class of activity; `None` for computation.
    pub(crate) class: Option<(Layer, Class)>,
    /// Locations with this path and the number of the path there, in the order of locations.
    pub(crate) members: Vec<(LocationNumber, Path)>,
}

impl Branch {
    /// Returns the name of the last step of the call path: a region, or a parameter with its value.
    pub(crate) fn name(&self, defs: &Definitions) -> String {
        match self.setting {
            Some(setting) => names::setting(defs, setting),
            None => names::region(defs, self.region),
        }
    }
}

/// The call tree of the program.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) branches: Vec<Branch>,
}

impl Tree {
    /// Joins the trees of all locations, in their order.
    pub(crate) fn join(world: &World, locations: &[&Location]) -> Self {
        let mut tree = Self::default();
        type Key = (Option<CallPathNumber>, RegionRef, CallingContextRef, Option<Setting>);
        let mut found: HashMap<Key, CallPathNumber, Mixed> = HashMap::default();
        for location in locations {
            let mut map: Vec<Option<CallPathNumber>> = vec![None; location.paths.len()];
            for (path, node) in location.paths.iter() {
                let parent = map.get(node.parent.0 as usize).copied().flatten();
                let key = (parent, node.region, node.site, node.setting);
                let number = *found.entry(key).or_insert_with(|| {
                    tree.branches.push(Branch {
                        parent,
                        region: node.region,
                        site: node.site,
                        setting: node.setting,
                        signature: node.signature,
                        class: None,
                        members: Vec::new(),
                    });
                    CallPathNumber(tree.branches.len() as u32 - 1)
                });
                if let Some(branch) = tree.branches.get_mut(number.index()) {
                    branch.members.push((location.number, path));
                }
                if let Some(place) = map.get_mut(path.0 as usize) {
                    *place = Some(number);
                }
            }
        }
        tree.classify(world, locations);
        tree
    }

    /// Creates a tree from the branches of a profile, which has no waits. Parents come before their children.
    pub(crate) fn of(world: &World, branches: Vec<Branch>) -> Self {
        let mut tree = Self { branches };
        tree.classify(world, &[]);
        tree
    }

    /// Classifies all branches. Calls inside a runtime call belong to it: the outermost call decides, or the one of the
    /// layer at which waits are judged.
    fn classify(&mut self, world: &World, locations: &[&Location]) {
        let mut decided: Vec<bool> = Vec::with_capacity(self.branches.len());
        for number in 0..self.branches.len() {
            let Some(branch) = self.branches.get(number) else { break };
            let role = world.roles.get(branch.region);
            let above = branch.parent.map(CallPathNumber::index);
            let is_decided = above.and_then(|at| decided.get(at).copied()).unwrap_or(false);
            let inherited = above.and_then(|at| self.branches.get(at)?.class);
            let own = class_of(role);
            let strong = match world.layer {
                None => own.is_some() && !role.traits.has(Traits::SILENT),
                some => own.is_some() && role.layer() == some,
            };
            let mut class = if is_decided { inherited } else { own.or(inherited) };
            if !is_decided && own.is_none() {
                class = inherited;
            }
            // The waits that were booked tell best what a call was for.
            if strong
                && !is_decided
                && let Some((layer, _)) = class
            {
                let booked = branch
                    .members
                    .iter()
                    .filter_map(|&(at, path)| locations.get(at.index())?.paths.get(path))
                    .flat_map(crate::engine::paths::Node::booked)
                    .filter_map(|(what, _)| what.wait()?.about().class)
                    .min();
                if let Some(booked) = booked {
                    class = Some((layer, booked));
                }
            }
            decided.push(is_decided || strong);
            if let Some(branch) = self.branches.get_mut(number) {
                branch.class = class;
            }
        }
    }
}

/// Call paths that differ only in parameters. Findings treat them as one.
#[derive(Debug)]
pub(crate) struct Fold<'t> {
    pub(crate) class: Option<(Layer, Class)>,
    branches: Vec<(CallPathNumber, &'t Branch)>,
}

impl Fold<'_> {
    /// Returns the number of the first branch.
    pub(crate) fn first(&self) -> CallPathNumber {
        self.branches.first().map_or(CallPathNumber(0), |it| it.0)
    }

    pub(crate) fn branches(&self) -> impl Iterator<Item = &Branch> {
        self.branches.iter().map(|it| it.1)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (LocationNumber, Path)> {
        self.branches().flat_map(|branch| branch.members.iter().copied())
    }

    /// Returns the sum of a value over all branches.
    pub(crate) fn sum(&self, of: &[u64]) -> u64 {
        self.branches.iter().filter_map(|it| of.get(it.0.index())).sum()
    }
}

impl Tree {
    /// Returns all call paths, joining those that differ only in parameters, in the order of the first of them.
    pub(crate) fn folds(&self) -> Vec<Fold<'_>> {
        type Key = (Option<usize>, RegionRef, CallingContextRef, Option<(Layer, Class)>);
        let (mut folds, mut found): (Vec<Fold<'_>>, HashMap<Key, usize>) = Default::default();
        // The fold of each branch. A parameter is in the fold of the call that it was set in.
        let mut of: Vec<Option<usize>> = Vec::with_capacity(self.branches.len());
        for (number, branch) in CallPathNumber(0).and_more().zip(&self.branches) {
            let above = branch.parent.and_then(|at| of.get(at.index()).copied().flatten());
            if branch.setting.is_some() {
                of.push(above);
                continue;
            }
            let key = (above, branch.region, branch.site, branch.class);
            let at = *found.entry(key).or_insert_with(|| {
                folds.push(Fold { class: branch.class, branches: Vec::new() });
                folds.len() - 1
            });
            of.push(Some(at));
            if let Some(fold) = folds.get_mut(at) {
                fold.branches.push((number, branch));
            }
        }
        folds
    }
}

/// Returns the node of a path at a location.
pub(crate) fn node<'a>(
    locations: &[&'a crate::engine::location::Location],
    at: (LocationNumber, Path),
) -> Option<&'a Node> {
    locations.get(at.0.index())?.paths.get(at.1)
}
