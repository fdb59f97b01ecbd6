//! Locations that this rank has replayed, divided into sections for its threads.
//!
//! Results are made from two kinds of data. *Sums* over call paths can be joined: a thread makes those of its
//! section, a rank joins those of its threads, and all ranks join theirs along a tree. *Values* of single locations stay
//! at the rank that has replayed them, until they are written to the report. So no rank ever holds more than the values
//! of its own locations.

use std::ops::Range;

use dwell_trace::ids::{CallPathNumber, LocationNumber, Ordinal};

use crate::engine::location::Location;
use crate::engine::paths::{Node, Path};
use crate::engine::process::Process;
use crate::engine::transport::{Error, Transport};
use crate::output::Replayed;
use crate::output::tree::{Fold, Key, Tree};
use crate::patterns::Outcome;

/// Number of sections for each thread, so that no thread waits long for another.
const SECTIONS_PER_THREAD: usize = 4;

/// A call path at a location: the location, and the number of the path there.
pub(crate) type Member = (LocationNumber, Path);

/// The locations of this rank, which have consecutive numbers.
#[derive(Debug)]
pub(crate) struct OwnLocations<'a> {
    first: LocationNumber,
    /// Locations with the results of the patterns of their shard.
    list: Vec<(&'a Location, &'a Outcome)>,
}

impl<'a> OwnLocations<'a> {
    pub(crate) fn of(replayed: &'a Replayed) -> Self {
        let of = |process: &'a Process| &process.locations;
        let parts = replayed.parts.iter();
        let list: Vec<(&Location, &Outcome)> = parts
            .flat_map(|part| part.processes.iter().flat_map(of).map(|it| (it, &part.patterns)))
            .collect();
        let first = list.first().map_or(LocationNumber(0), |it| it.0.number);
        Self { first, list }
    }

    fn at(&self, location: LocationNumber) -> Option<(&'a Location, &'a Outcome)> {
        self.list.get(location.0.wrapping_sub(self.first.0) as usize).copied()
    }

    /// Returns a location of this rank, or `None` for those of others.
    pub(crate) fn location(&self, number: LocationNumber) -> Option<&'a Location> {
        self.at(number).map(|it| it.0)
    }

    /// Returns the results of the patterns of the shard with a location.
    pub(crate) fn patterns(&self, number: LocationNumber) -> Option<&'a Outcome> {
        self.at(number).map(|it| it.1)
    }

    /// Returns what was booked on a path of a location of this rank.
    pub(crate) fn node(&self, (location, path): Member) -> Option<&'a Node> {
        self.location(location)?.paths.get(path)
    }
}

/// Some consecutive shards of this rank, whose results one thread puts together.
#[derive(Debug)]
pub(crate) struct Section {
    /// Indices of the shards.
    parts: Range<usize>,
    /// Locations with each call path of the program, in the order of locations.
    members: Vec<Vec<Member>>,
}

impl Section {
    /// Joins the call trees of the locations of some shards.
    fn of(replayed: &Replayed, parts: Range<usize>) -> (Tree, Self) {
        let mut tree = Tree::default();
        let mut members: Vec<Vec<Member>> = Vec::new();
        // The call path of each path at this location, and at the location before, which mostly has the same ones.
        let (mut numbers, mut before): (Vec<Option<CallPathNumber>>, Vec<_>) = Default::default();
        let shards = replayed.parts.get(parts.clone()).unwrap_or_default();
        let processes = shards.iter().flat_map(|shard| &shard.processes);
        for location in processes.flat_map(|process| &process.locations) {
            std::mem::swap(&mut numbers, &mut before);
            numbers.clear();
            numbers.resize(location.paths.len(), None);
            for (path, node) in location.paths.iter() {
                let parent = numbers.get(node.parent.0 as usize).copied().flatten();
                let likely = before.get(path.0 as usize).copied().flatten();
                let key: Key = (parent, node.region, node.site, node.setting);
                let number = tree.number(key, node.signature, likely);
                if let Some(branch) = tree.branches.get_mut(number.index()) {
                    branch.totals.add(node);
                }
                if members.len() < tree.branches.len() {
                    members.resize_with(tree.branches.len(), Vec::new);
                }
                if let Some(list) = members.get_mut(number.index()) {
                    list.push((location.number, path));
                }
                if let Some(place) = numbers.get_mut(path.0 as usize) {
                    *place = Some(number);
                }
            }
        }
        (tree, Self { parts, members })
    }

    /// Replaces the numbers of call paths in this section by those of the program. `count` is the number of the latter.
    fn renumber(&mut self, numbers: impl Iterator<Item = CallPathNumber>, count: usize) {
        let mut members: Vec<Vec<Member>> = Vec::new();
        members.resize_with(count, Vec::new);
        for (number, list) in numbers.zip(std::mem::take(&mut self.members)) {
            if let Some(place) = members.get_mut(number.index()) {
                *place = list;
            }
        }
        self.members = members;
    }

    /// Returns the locations of the section with a call path, in their order.
    pub(crate) fn members(&self, path: CallPathNumber) -> &[Member] {
        self.members.get(path.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the locations of the section with any call path of a fold, in their order. A location with several of
    /// them comes several times in a row, each with the place of the call path in the fold.
    pub(crate) fn members_of(&self, fold: &Fold<'_>) -> Vec<(Member, u32)> {
        let of = |(place, path): (u32, CallPathNumber)| {
            self.members(path).iter().map(move |&member| (member, place))
        };
        let mut list: Vec<(Member, u32)> = (0..).zip(fold.numbers()).flat_map(of).collect();
        if fold.numbers().nth(1).is_some() {
            list.sort_unstable_by_key(|((location, _), place)| (*location, *place));
        }
        list
    }

    /// Returns the processes of the section.
    pub(crate) fn processes<'r>(
        &self,
        replayed: &'r Replayed,
    ) -> impl Iterator<Item = &'r Process> + use<'r> {
        let parts = replayed.parts.get(self.parts.clone()).unwrap_or_default();
        parts.iter().flat_map(|part| &part.processes)
    }
}

/// Joins the call trees of all locations of all ranks, in their order. Appending what later locations have new to the
/// tree of earlier ones is associative, so the numbers of call paths depend neither on threads nor on ranks. Returns the
/// tree, which is the same at all ranks, and the sections of this rank.
pub(crate) fn join_trees(
    transport: &Transport<'_>,
    replayed: &Replayed,
) -> Result<(Tree, Vec<Section>), Error> {
    let count = match transport.threads() {
        1 => 1,
        threads => threads * SECTIONS_PER_THREAD,
    };
    let parts = replayed.parts.len();
    let each = parts.div_ceil(count).max(1);
    let ranges = (0..parts).step_by(each).map(|first| first..(first + each).min(parts));
    let made = transport.map(ranges, &|parts| Section::of(replayed, parts));
    let mut own = Tree::default();
    let mut sections: Vec<(Vec<CallPathNumber>, Section)> = Vec::new();
    for (tree, section) in made {
        sections.push((own.append(&tree), section));
    }
    let keys: Vec<Key> = own.keys().collect();
    let all = transport.reduce("call paths", own, |tree, more| drop(tree.append(&more)))?;
    let mut tree = transport.broadcast("call paths of all", all)?;
    let numbers = tree.numbers_of(&keys);
    let count = tree.branches.len();
    let sections = transport.map(sections, &|(own, mut section)| {
        let of = |it: &CallPathNumber| numbers.get(it.index()).copied();
        section.renumber(own.iter().filter_map(of), count);
        section
    });
    Ok((tree, sections))
}
