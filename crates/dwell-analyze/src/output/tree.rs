//! Joins the call trees of all locations into one, and classifies the paths.

use std::collections::{BTreeSet, HashMap};

use dwell_log::quantity::Quantity;
use dwell_model::layer::Layer;
use dwell_model::operation::{Collective, Operation, Shape};
use dwell_model::waits::Class;
use dwell_trace::ids::{CallPathNumber, Ordinal};
use dwell_trace::names::{self, Setting};
use dwell_trace::roles::{Role, Traits};
use dwell_trace::world::World;
use otf2::id::{CallingContextRef, MetricRef, RegionRef};
use otf2::read::Definitions;
use serde::{Deserialize, Serialize};

use crate::engine::hash::Mixed;
use crate::engine::paths::Node;

/// Returns the layer of a region and the class of activity that its time belongs to.
fn class_of(role: Role) -> Option<(Layer, Class)> {
    let meaning = role.meaning?;
    let class = match meaning.operation {
        Operation::Collective(_) if meaning.layer.runs_program() => Class::Barrier,
        _ if meaning.layer.runs_program() => Class::Management,
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
        | Operation::Poll
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
        Operation::ActiveMessage
        | Operation::Send
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

/// Sums over all locations of a call path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// Exclusive time in nanoseconds.
    pub(crate) time: u64,
    pub(crate) visits: u64,
    /// Quantities with a sum above 0, in no order.
    booked: Vec<(Quantity, u64)>,
    /// Counters that had values at some location.
    counters: BTreeSet<MetricRef>,
}

impl Totals {
    /// Adds what was booked at one location.
    pub(crate) fn add(&mut self, node: &Node) {
        self.time += node.time.0;
        self.visits += node.visits;
        node.booked().for_each(|(what, amount)| self.book(what, amount));
        self.counters.extend(node.counted.iter().map(|it| it.counter));
    }

    /// Adds the sums over other locations.
    pub(crate) fn join(&mut self, more: &Self) {
        self.time += more.time;
        self.visits += more.visits;
        more.booked.iter().for_each(|&(what, amount)| self.book(what, amount));
        self.counters.extend(&more.counters);
    }

    fn book(&mut self, what: Quantity, amount: u64) {
        match self.booked.iter_mut().find(|it| it.0 == what) {
            Some((_, sum)) => *sum += amount,
            None => self.booked.push((what, amount)),
        }
    }

    /// Returns the sum of a quantity.
    pub(crate) fn get(&self, what: Quantity) -> u64 {
        self.booked.iter().find(|it| it.0 == what).map_or(0, |it| it.1)
    }

    /// Returns `true` if a counter had values.
    pub(crate) fn has_counter(&self, counter: MetricRef) -> bool {
        self.counters.contains(&counter)
    }

    /// Returns the class of the waits that were booked: the first in their order.
    fn class(&self) -> Option<Class> {
        self.booked.iter().filter_map(|(what, _)| what.wait()?.about().class).min()
    }
}

/// A call path of the program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Branch {
    pub(crate) parent: Option<CallPathNumber>,
    pub(crate) region: RegionRef,
    pub(crate) site: CallingContextRef,
    /// The parameter, if this is not a call.
    pub(crate) setting: Option<Setting>,
    pub(crate) signature: u64,
    /// Layer and class of activity; `None` for computation. Every rank finds them out itself.
    #[serde(skip)]
    pub(crate) class: Option<(Layer, Class)>,
    pub(crate) totals: Totals,
}

/// Caller, region, call site and parameter, which identify a call path.
pub(crate) type Key = (Option<CallPathNumber>, RegionRef, CallingContextRef, Option<Setting>);

impl Branch {
    fn key(&self) -> Key {
        (self.parent, self.region, self.site, self.setting)
    }

    /// Returns the name of the last step of the call path: a region, or a parameter with its value.
    pub(crate) fn name(&self, defs: &Definitions) -> String {
        match self.setting {
            Some(setting) => names::setting(defs, setting),
            None => names::region(defs, self.region),
        }
    }
}

/// The call tree of the program, or of some of its locations.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tree {
    pub(crate) branches: Vec<Branch>,
    /// Numbers of the branches, for as many of the first of them as were looked for.
    #[serde(skip)]
    found: HashMap<Key, CallPathNumber, Mixed>,
}

impl Tree {
    /// Returns the number of a call path, and adds the path if it is new. If the number that is likely is right, nothing
    /// is looked up.
    pub(crate) fn number(
        &mut self,
        key: Key,
        signature: u64,
        likely: Option<CallPathNumber>,
    ) -> CallPathNumber {
        let is_right = |it: &CallPathNumber| {
            self.branches.get(it.index()).is_some_and(|branch| branch.key() == key)
        };
        if let Some(number) = likely.filter(is_right) {
            return number;
        }
        let (parent, region, site, setting) = key;
        let branches = &mut self.branches;
        *self.found.entry(key).or_insert_with(|| {
            branches.push(Branch {
                parent,
                region,
                site,
                setting,
                signature,
                class: None,
                totals: Totals::default(),
            });
            CallPathNumber(branches.len() as u32 - 1)
        })
    }

    /// Adds the call paths of later locations. Returns the number of each here.
    pub(crate) fn append(&mut self, later: &Self) -> Vec<CallPathNumber> {
        let mut numbers: Vec<CallPathNumber> = Vec::with_capacity(later.branches.len());
        for branch in &later.branches {
            let parent = branch.parent.and_then(|it| numbers.get(it.index()).copied());
            let (_, region, site, setting) = branch.key();
            let number = self.number((parent, region, site, setting), branch.signature, None);
            if let Some(own) = self.branches.get_mut(number.index()) {
                own.totals.join(&branch.totals);
            }
            numbers.push(number);
        }
        numbers
    }

    /// Returns the keys that identify the branches, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.branches.iter().map(Branch::key)
    }

    /// Returns the numbers of the call paths of a tree that was appended to this one, given its keys.
    pub(crate) fn numbers_of(&mut self, keys: &[Key]) -> Vec<CallPathNumber> {
        if self.found.len() < self.branches.len() {
            let numbers = CallPathNumber(0).and_more();
            self.found = self.branches.iter().map(Branch::key).zip(numbers).collect();
        }
        let mut numbers: Vec<CallPathNumber> = Vec::with_capacity(keys.len());
        for &(parent, region, site, setting) in keys {
            let parent = parent.and_then(|it| numbers.get(it.index()).copied());
            let found = self.found.get(&(parent, region, site, setting)).copied();
            numbers.push(found.unwrap_or(CallPathNumber(u32::MAX)));
        }
        numbers
    }

    /// Creates a tree from the branches of a profile, which has no waits. Parents precede their children.
    pub(crate) fn of(world: &World, branches: Vec<Branch>) -> Self {
        let mut tree = Self { branches, ..Self::default() };
        tree.classify(world);
        tree
    }

    /// Classifies all branches. Calls inside a runtime call belong to it: the outermost call decides, or the one of the
    /// layer at which waits are judged.
    pub(crate) fn classify(&mut self, world: &World) {
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
                // A function that such a call runs computes for the program.
                class = inherited.filter(|(layer, _)| !layer.runs_program());
            }
            // The waits that were booked show best what a call was for.
            if strong
                && !is_decided
                && let Some((layer, _)) = class
            {
                let booked = branch.totals.class();
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

/// Call paths that differ only in parameters, or in copies of a call that the compiler made. Findings treat them as one.
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

    /// Returns the numbers of all branches.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = CallPathNumber> {
        self.branches.iter().map(|it| it.0)
    }

    /// Returns the sums over all locations of all branches.
    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.branches().for_each(|branch| totals.join(&branch.totals));
        totals
    }

    /// Returns the sum of a value over all branches.
    pub(crate) fn sum(&self, of: &[u64]) -> u64 {
        self.branches.iter().filter_map(|it| of.get(it.0.index())).sum()
    }
}

impl Tree {
    /// Returns all call paths, joining those that differ only in parameters or in call sites that `same` maps to one, in the
    /// order of the first of them.
    pub(crate) fn folds(
        &self,
        same: impl Fn(CallingContextRef) -> CallingContextRef,
    ) -> Vec<Fold<'_>> {
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
            let key = (above, branch.region, same(branch.site), branch.class);
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
