//! Locations that are affected by findings on a call path: the part of findings that follows from single locations.
//!
//! The sums over call paths are known at all ranks before ([`Totals`](crate::output::tree::Totals)). They show which
//! quantities matter on which call path, so that all ranks make the same list. A process belongs to one rank,
//! so the processes with the largest shares of the program are among those with the largest shares of their ranks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_log::quantity::Quantity as Q;
use dwell_model::waits::Wait;
use dwell_trace::ids::{LocationNumber, NodeNumber, PartyNumber, ProcessNumber};
use dwell_trace::time::Duration;
use serde::{Deserialize, Serialize};

use super::LISTED;
use super::below;
use super::totals::ProgramTotals;
use crate::engine::blame::Blame;
use crate::engine::instances::Longest;
use crate::engine::transport::{Error, Transport};
use crate::output::sections::{OwnLocations, Section};
use crate::output::tree::Fold;

/// The parties with the largest shares, the largest first. Ties are decided by the upper bound, then by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Top<N>(Vec<(N, (u64, u64))>);

impl<N> Default for Top<N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<N: Copy + Ord> Top<N> {
    /// Adds a party with the lower and the upper bound of its share. A party is added only once.
    pub(crate) fn add(&mut self, party: N, share: (u64, u64)) {
        if share.1 == 0 {
            return;
        }
        let key = |&(number, share): &(N, (u64, u64))| (Reverse(share), number);
        let new = (party, share);
        let at = self.0.partition_point(|known| key(known) < key(&new));
        if at < LISTED {
            self.0.insert(at, new);
            self.0.truncate(LISTED);
        }
    }

    pub(crate) fn join(&mut self, more: Self) {
        more.0.into_iter().for_each(|(party, share)| self.add(party, share));
    }

    /// Replaces both bounds of each share. The order must stay the same.
    pub(super) fn scale(&mut self, of: impl Fn((u64, u64)) -> (u64, u64)) {
        self.0.iter_mut().for_each(|it| it.1 = of(it.1));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (N, (u64, u64))> {
        self.0.iter().copied()
    }
}

/// Adds up the shares of the locations of each process, which are consecutive.
#[derive(Debug, Default)]
pub(super) struct ByProcess {
    open: Option<(ProcessNumber, (u64, u64))>,
    top: Top<ProcessNumber>,
}

impl ByProcess {
    pub(super) fn add(&mut self, process: ProcessNumber, share: (u64, u64)) {
        match &mut self.open {
            Some((open, sum)) if *open == process => *sum = (sum.0 + share.0, sum.1 + share.1),
            open => {
                if let Some((before, sum)) = open.replace((process, share)) {
                    self.top.add(before, sum);
                }
            }
        }
    }

    pub(super) fn top(mut self) -> Top<ProcessNumber> {
        if let Some((last, sum)) = self.open {
            self.top.add(last, sum);
        }
        self.top
    }
}

/// Effect of one quantity on one call path on single locations.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Affected {
    /// Number of locations with a part in it.
    pub(super) locations: u64,
    /// Number of calls that waited, and the longest wait with its location.
    pub(super) calls: u64,
    pub(super) longest: Option<(Longest, LocationNumber)>,
    /// The greatest excess of a call over others of its class, with the place of its call path in the fold, and its
    /// location.
    pub(super) slowest: Option<(Duration, u32, LocationNumber)>,
    /// Processes with the largest shares.
    pub(super) origins: Top<ProcessNumber>,
    /// Processes or nodes that were waited for longest.
    pub(super) targets: Top<PartyNumber>,
    /// Nodes of the processes that have more processes than cores.
    pub(super) crowded: BTreeSet<NodeNumber>,
}

impl Affected {
    fn join(&mut self, more: Self) {
        self.locations += more.locations;
        self.calls += more.calls;
        more.longest.into_iter().for_each(|(longest, at)| self.wait(longest, at));
        more.slowest.into_iter().for_each(|it| self.excess(it));
        self.origins.join(more.origins);
        self.targets.join(more.targets);
        self.crowded.extend(more.crowded);
    }

    /// Keeps the longest wait. Among equal ones it is the one that began first, then the one of the lowest location.
    fn wait(&mut self, longest: Longest, location: LocationNumber) {
        let key = |it: &(Longest, LocationNumber)| (Reverse(it.0.amount), it.0.begin, it.1);
        let one = (longest, location);
        if longest.amount > Duration::ZERO
            && self.longest.is_none_or(|known| key(&one) < key(&known))
        {
            self.longest = Some(one);
        }
    }

    /// Keeps the greatest excess. Among equal ones it is that of the first call path, then of the lowest location.
    fn excess(&mut self, one: (Duration, u32, LocationNumber)) {
        let key = |it: &(Duration, u32, LocationNumber)| (Reverse(it.0), it.1, it.2);
        if self.slowest.is_none_or(|known| key(&one) < key(&known)) {
            self.slowest = Some(one);
        }
    }
}

/// Affected locations, by the place of the fold and the quantity: a wait, [`Q::PollingTime`], [`Q::Unexplained`],
/// [`Q::Transfer`] for calls that become many calls below, or [`Q::Atomics`] for the call path that spends most time with
/// them.
pub(crate) type AllAffected = BTreeMap<(u32, Q), Affected>;

/// Adds what other locations are concerned by.
pub(super) fn join(all: &mut AllAffected, more: AllAffected) {
    for (key, one) in more {
        all.entry(key).or_default().join(one);
    }
}

/// Returns the place of each fold with a quantity that is worth a look, and these quantities.
fn aspects<'g>(program: &'g ProgramTotals<'_>) -> impl Iterator<Item = (u32, Q)> + use<'g> {
    let hot = program.most_atomics();
    let many: BTreeSet<u32> = below::many(program).iter().map(|it| it.0.place).collect();
    (0..).zip(&program.folds).flat_map(move |(place, fold)| {
        let totals = fold.totals();
        let mut list: Vec<(u32, Q)> = Vec::new();
        if fold.class.is_none() {
            return list;
        }
        for (wait, upper) in Q::waits() {
            if totals.get(Q::Wait(wait)) + upper.map_or(0, |upper| totals.get(upper)) > 0 {
                list.push((place, Q::Wait(wait)));
            }
        }
        if totals.get(Q::PollingCalls) > 0 {
            list.push((place, Q::PollingTime));
        }
        let of = [
            Q::Unexplained,
            Q::Unconfirmed(Wait::WaitForProgress),
            Q::Unconfirmed(Wait::WaitForProgressMulti),
        ];
        if of.into_iter().any(|what| totals.get(what) > 0) {
            list.push((place, Q::Unexplained));
        }
        if many.contains(&place) {
            list.push((place, Q::Transfer));
        }
        if hot == Some(place as usize) {
            list.push((place, Q::Atomics));
        }
        list
    })
}

/// Looks at all locations of a section.
pub(super) fn of(
    program: &ProgramTotals<'_>,
    own: &OwnLocations<'_>,
    section: &Section,
) -> AllAffected {
    let of = |(place, what): (u32, Q)| {
        let fold = program.folds.get(place as usize)?;
        Some(((place, what), one(program, own, section, fold, what)))
    };
    aspects(program).filter_map(of).collect()
}

fn one(
    program: &ProgramTotals<'_>,
    own: &OwnLocations<'_>,
    section: &Section,
    fold: &Fold<'_>,
    what: Q,
) -> Affected {
    let system = &program.world.system;
    let upper = Q::waits().find(|(wait, _)| what == Q::Wait(*wait)).and_then(|it| it.1);
    let mut found = Affected::default();
    let mut origins = ByProcess::default();
    let members = section.members_of(fold);
    for group in members.chunk_by(|one, next| one.0.0 == next.0.0) {
        let Some(&((number, _), _)) = group.first() else { continue };
        let Some(location) = own.location(number) else { continue };
        let process = program.world.process(number);
        let (mut least, mut most) = (0, 0);
        for &((_, path), place) in group {
            let Some(node) = location.paths.get(path) else { continue };
            let part = match what {
                Q::Atomics => (node.get(Q::Unexplained), node.get(Q::Transfer)),
                Q::Transfer => (0, node.get(Q::Transfer) + node.get(Q::Unexplained)),
                _ => (node.get(what), upper.map_or(0, |upper| node.get(upper))),
            };
            (least, most) = (least + part.0, most + part.0 + part.1);
            if what.wait().is_some() {
                let calls = location.paths.waiting(path, what);
                found.calls += calls.count;
                found.wait(calls.longest, number);
            }
            if what == Q::Unexplained && part.0 > 0 {
                found.excess((node.longest, place, number));
                let node = system.node(process);
                found.crowded.extend(system.crowds.contains_key(&node).then_some(node));
            }
        }
        found.locations += u64::from(most > 0 || what == Q::Atomics);
        origins.add(process, (least, most));
    }
    found.origins = origins.top();
    found
}

/// Finds the parties that were waited for. Each rank adds up the sums of all ranks for some of the call paths, so that no
/// rank needs those of all. Returns the largest of these.
pub(super) fn targets<'b>(
    transport: &Transport<'_>,
    program: &ProgramTotals<'_>,
    blame: impl Iterator<Item = &'b Blame>,
) -> Result<AllAffected, Error> {
    let (_, ranks) = transport.rank();
    let mut places: HashMap<u64, Vec<u32>> = HashMap::new();
    for (place, fold) in (0..).zip(&program.folds) {
        for branch in fold.branches().filter(|_| fold.class.is_some()) {
            places.entry(branch.signature).or_default().push(place);
        }
    }
    let mut own: BTreeMap<(u32, Q, PartyNumber), u64> = BTreeMap::new();
    for ((signature, what, party), amount) in blame.flat_map(Blame::iter) {
        for &place in places.get(&signature).into_iter().flatten() {
            *own.entry((place, what, party)).or_default() += amount.0;
        }
    }
    let rank_of = |place: u32| place as usize % ranks.max(1);
    let mut sums: BTreeMap<(u32, Q), BTreeMap<PartyNumber, u64>> = BTreeMap::new();
    let values = own.into_iter().map(|(key, amount)| (rank_of(key.0), (key, amount)));
    transport.scatter("who was waited for", values, |((place, what, party), amount)| {
        *sums.entry((place, what)).or_default().entry(party).or_default() += amount;
    })?;

    let mut found = AllAffected::new();
    for (place, what) in aspects(program).filter(|it| rank_of(it.0) == transport.rank().0) {
        // Quantities of the lower bound, and those that only the upper bound has.
        let (both, above): (&[Q], Option<Q>) = match what {
            Q::Wait(wait) => (&[what], Q::waits().find(|it| it.0 == wait).and_then(|it| it.1)),
            Q::PollingTime => (&[Q::PollingBlamed], None),
            Q::Unexplained => {
                let progress = Q::Unconfirmed(Wait::WaitForProgress);
                (&[progress, Q::Unconfirmed(Wait::WaitForProgressMulti)], None)
            }
            _ => continue,
        };
        let mut parties: BTreeMap<PartyNumber, (u64, u64)> = BTreeMap::new();
        let of = |what: Q| sums.get(&(place, what)).into_iter().flatten();
        for (&party, amount) in both.iter().copied().flat_map(of) {
            let sum = parties.entry(party).or_default();
            *sum = (sum.0 + amount, sum.1 + amount);
        }
        for (&party, more) in above.into_iter().flat_map(of) {
            parties.entry(party).or_default().1 += more;
        }
        let targets = &mut found.entry((place, what)).or_default().targets;
        parties.into_iter().for_each(|(party, share)| targets.add(party, share));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_shares_do_not_depend_on_how_they_are_joined() {
        let share = |party: u32| (u64::from(party * 7 % 5), 10 + u64::from(party * 11 % 3));
        let of = |parties: std::ops::Range<u32>| {
            let mut top = Top::default();
            parties.for_each(|party| top.add(ProcessNumber(party), share(party)));
            top
        };
        let all = of(0..40);
        let mut expected: Vec<_> = (0..40).map(|it| (ProcessNumber(it), share(it))).collect();
        expected.sort_by_key(|&(number, share)| (Reverse(share), number));
        assert!(all.iter().eq(expected.into_iter().take(LISTED)));
        for cut in 0..=40 {
            let mut first = of(0..cut);
            first.join(of(cut..40));
            assert_eq!(first, all);
        }
        let mut none = Top::default();
        none.add(ProcessNumber(1), (0, 0));
        assert_eq!(none, Top::default());
    }
}
