//! How much other ways to communicate could save.

use std::collections::{BTreeMap, BTreeSet};

use otf2::Definition;
use otf2::read::Definitions;

use super::{Following, Waste};
use crate::accounts::{Calls, Sort};
use crate::paths::Path;

/// Transfers of fewer bytes than this take as long as the network needs for one, whatever their size. It is a border
/// between sizes within a factor of 8.
const SMALL: u64 = 4096;

/// The beginning of the names of windows that are static data.
const STATIC: &str = "static data";

/// Numbers of the memories that are static data of OpenSHMEM. The recorder writes them as windows of their own.
pub(crate) fn static_memory(defs: &Definitions) -> BTreeSet<u16> {
    let of = |definition: Definition<'_>| {
        let Definition::RmaWin(it) = definition else { return None };
        let name = defs.string(it.name).and_then(otf2::Str::to_str)?;
        name.starts_with(STATIC).then(|| u16::try_from(it.id.0).ok()).flatten()
    };
    defs.iter().filter_map(of).collect()
}

/// What the run shows of all processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// How long calls of each sort take that nothing holds up.
    pub(crate) times: &'a BTreeMap<Sort, Option<u64>>,
    /// Memories that are static data.
    pub(crate) static_memory: &'a BTreeSet<u16>,
}

impl Known<'_> {
    /// How long calls of a sort take that nothing holds up, if there are enough to say.
    pub(crate) fn time(&self, sort: Sort) -> Option<u64> {
        self.times.get(&sort).copied().flatten()
    }

    /// How long an operation takes that moves as many bytes in one piece. If there is none, those that move more tell how
    /// long that takes at most.
    fn in_one_piece(&self, sort: Sort) -> Option<u64> {
        sort.in_one_piece().find_map(|sort| self.time(sort))
    }

    /// How long the smallest operation takes that differs in nothing but its bytes.
    fn latency(&self, sort: Sort) -> Option<u64> {
        let smaller = (1..=sort.size().min(small())).map(|size| sort.with_size(size));
        smaller.filter_map(|sort| self.time(sort)).min()
    }

    /// How long the same operation takes on memory that is not static data.
    fn on_heap(&self, sort: Sort) -> Option<u64> {
        let of = |(other, time): (&Sort, &Option<u64>)| {
            let heap = !self.static_memory.contains(&other.memory());
            time.filter(|_| heap && sort.with_memory(other.memory()) == *other)
        };
        let (first, last) = (sort.with_memory(0).with_size(0), sort.with_memory(u16::MAX));
        self.times.range(first..=last).filter_map(of).min()
    }
}

/// The largest size of small transfers, within a factor of 8.
fn small() -> u64 {
    u64::from(crate::outstanding::magnitude(SMALL - 1))
}

/// What another way to communicate could save on a call path, over some calls. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saving {
    /// Calls that could be made otherwise.
    pub(crate) calls: u64,
    /// The calls for which the run shows how long the other way takes, and how long it would take for all of them.
    pub(crate) compared: u64,
    pub(crate) instead: u64,
    /// Rests of strided calls for which the run does not show it.
    pub(crate) unknown: u64,
    /// Both bounds of what could be saved otherwise.
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Saving {
    /// Adds that of other calls.
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.compared += other.compared;
        self.instead = self.instead.saturating_add(other.instead);
        self.unknown += other.unknown;
        self.least += other.least;
        self.most += other.most;
    }
}

/// What could be saved on the call paths of a location.
#[derive(Debug, Default)]
pub(crate) struct Savings(BTreeMap<(Path, Waste), Saving>);

impl Savings {
    /// Estimates what could be saved in the calls of an account, given their rests and the part of these that is transfer.
    pub(crate) fn add(&mut self, calls: &Calls, known: &Known<'_>, (all, transfer): (u64, u64)) {
        let sort = calls.sort;
        let is_static = sort.is_one_sided() && known.static_memory.contains(&sort.memory());
        if calls.following == Following::default() && !is_static && !sort.is_strided() {
            return;
        }
        let count = calls.rests.count();
        if count == 0 {
            return;
        }
        let rests = Rests { count, all, transfer };
        let mut book = |waste, saving| {
            self.0.entry((calls.path, waste)).or_default().add(saving);
        };
        if !sort.is_one_sided() {
            return book(Waste::Completion, rests.completions(calls));
        }
        if sort.is_strided() {
            let other = known.in_one_piece(sort);
            let none = Saving { calls: rests.count, unknown: rests.all, ..Saving::default() };
            book(Waste::Strided, other.map_or(none, |each| rests.otherwise(each)));
        } else {
            let Following { again, others, .. } = calls.following;
            let merges = sort.size() <= small() && !sort.is_atomic();
            if merges && again > 0 {
                book(Waste::Small, rests.merged(again, sort, known));
            }
            let overlapping =
                Following { again: if merges { 0 } else { again }, ..calls.following };
            if overlapping.again + others > 0 {
                book(Waste::Row, rests.overlapped(overlapping, sort, known));
            }
        }
        if is_static && let Some(each) = known.on_heap(sort) {
            book(Waste::Static, rests.otherwise(each));
        }
    }

    /// What could be saved on a path.
    pub(crate) fn get(&self, path: Path, waste: Waste) -> Option<&Saving> {
        self.0.get(&(path, waste))
    }
}

/// What the calls of an account take beyond their waits.
struct Rests {
    count: u64,
    all: u64,
    /// As much of it as such calls take that nothing holds up.
    transfer: u64,
}

impl Rests {
    /// The part of a time that belongs to some of the calls.
    fn part(&self, of: u64, calls: u64) -> u64 {
        part(of, (calls.min(self.count), self.count))
    }

    /// Each call could be another that takes so long. Nothing is saved unless that is at most half.
    fn otherwise(&self, each: u64) -> Saving {
        let instead = self.count.saturating_mul(each);
        let usual = if self.transfer > 0 { self.transfer } else { self.all };
        if usual < instead.saturating_mul(2) {
            return Saving::default();
        }
        Saving {
            calls: self.count,
            compared: self.count,
            instead,
            unknown: 0,
            least: self.transfer.saturating_sub(instead),
            most: self.all.saturating_sub(instead),
        }
    }

    /// All transfers of a row could be one. That takes at least as long as one of them does now, and at most as long as moving the
    /// same bytes with calls of any larger size that the run has.
    fn merged(&self, again: u64, sort: Sort, known: &Known<'_>) -> Saving {
        let rows = self.count.saturating_sub(again);
        let larger = (sort.size() + 1..).zip(1u32..).take(20);
        let in_larger = |(size, steps): (u64, u32)| {
            let each = known.time(sort.with_size(size))?;
            // As many calls as the bytes need, and one for each row at least.
            let needed = self.count.checked_shr(3 * steps).unwrap_or(0).max(rows);
            Some(needed.saturating_mul(each))
        };
        let instead = larger.filter_map(in_larger).min();
        let most = self.part(self.all, again);
        let least = instead.map_or(0, |it| self.transfer.saturating_sub(it).min(most));
        let compared = if instead.is_some() { again } else { 0 };
        let instead = instead.unwrap_or(0);
        Saving { calls: again, compared, instead, unknown: 0, least, most }
    }

    /// Operations of a row could be under way at once. That saves their latencies at least, and all of their times but the
    /// longest at most.
    fn overlapped(&self, of: Following, sort: Sort, known: &Known<'_>) -> Saving {
        let calls = of.again + of.others;
        let most = self.part(self.all, of.again) + self.part(self.all, of.others).min(of.overlap);
        let latency = known.latency(sort).unwrap_or(0).saturating_mul(calls);
        let least = self.part(self.transfer, calls).min(latency).min(most);
        Saving { calls, least, most, ..Saving::default() }
    }

    /// One completion at the end of a row could do for all of it. For few bytes that takes as long as one of them; many bytes
    /// may need the time.
    fn completions(&self, calls: &Calls) -> Saving {
        let again = calls.following.again;
        let most = self.part(self.all, again);
        let least = self.part(self.transfer, again);
        let least = if calls.sort.size() <= small() { least } else { 0 };
        Saving { calls: again, least, most, ..Saving::default() }
    }
}

/// A part of a time.
pub(crate) fn part(of: u64, (part, whole): (u64, u64)) -> u64 {
    let found = u128::from(of) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(found).unwrap_or(u64::MAX)
}
