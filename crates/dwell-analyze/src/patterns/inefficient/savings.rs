//! Estimates how much time other ways to communicate could save.

use std::collections::{BTreeMap, BTreeSet};

use dwell_trace::time::Duration;
use serde::{Deserialize, Serialize};

use super::Waste;
use crate::engine::accounts::{Calls, ExpectedTimes, Sort};
use crate::engine::paths::Path;
use crate::engine::sequences::SequenceCounts;

/// Size in bytes below which the time of a transfer is the latency of the network. It is a boundary between size
/// classes, each of which spans a factor of 8.
const SMALL: u64 = 4096;

/// Facts about the whole run that estimates are based on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) times: &'a ExpectedTimes,
    /// Numbers of memories that are static data.
    pub(crate) static_memory: &'a BTreeSet<u16>,
}

impl Known<'_> {
    fn time(&self, sort: Sort) -> Option<Duration> {
        self.times.of(sort)
    }

    /// Returns the time of a contiguous transfer of the same number of bytes. If the run has none, larger transfers
    /// give an upper bound.
    fn in_one_piece(&self, sort: Sort) -> Option<Duration> {
        sort.in_one_piece().find_map(|sort| self.time(sort))
    }

    /// Returns the time of the fastest operation that differs only in having fewer bytes.
    fn latency(&self, sort: Sort) -> Option<Duration> {
        let smaller = (1..=sort.size().min(small())).map(|size| sort.with_size(size));
        smaller.filter_map(|sort| self.time(sort)).min()
    }

    /// Returns the time of the same operation on memory that is not static data.
    fn on_heap(&self, sort: Sort) -> Option<Duration> {
        let of = |(other, time): (&Sort, &Option<Duration>)| {
            let heap = !self.static_memory.contains(&other.memory());
            time.filter(|_| heap && sort.with_memory(other.memory()) == *other)
        };
        let (first, last) = (sort.with_memory(0).with_size(0), sort.with_memory(u16::MAX));
        self.times.range(first..=last).filter_map(of).min()
    }
}

/// Returns the largest class of bytes that counts as small.
fn small() -> u64 {
    u64::from(dwell_log::class::magnitude(SMALL - 1))
}

/// Time that another way to communicate could save over some calls, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saving {
    /// Number of calls that could be made in another way.
    pub(crate) calls: u64,
    /// Number of calls for which the run shows how long the other way takes, and the time it would take for all of
    /// them.
    pub(crate) compared: u64,
    pub(crate) instead: Duration,
    /// Time without waits of strided calls for which the run has no contiguous calls to compare with.
    pub(crate) unknown: Duration,
    /// Lower and upper bound of the saving for all other calls.
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

impl Saving {
    /// Adds the saving over other calls.
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.compared += other.compared;
        self.instead = self.instead.saturating_add(other.instead);
        self.unknown += other.unknown;
        self.least += other.least;
        self.most += other.most;
    }
}

/// Savings on the call paths of a location, by kind.
#[derive(Debug, Default)]
pub(crate) struct Savings(BTreeMap<(Path, Waste), Saving>);

impl Savings {
    /// Estimates the saving in the calls of an account, given their time without waits and the part of it that is
    /// transfer.
    pub(crate) fn add(
        &mut self,
        calls: &Calls,
        known: &Known<'_>,
        (all, transfer): (Duration, Duration),
    ) {
        let sort = calls.sort;
        let is_static = sort.is_one_sided() && known.static_memory.contains(&sort.memory());
        if calls.in_sequence == SequenceCounts::default() && !is_static && !sort.is_strided() {
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
            let SequenceCounts { again, others, .. } = calls.in_sequence;
            let merges = sort.size() <= small() && !sort.is_atomic();
            if merges && again > 0 {
                book(Waste::Small, rests.merged(again, sort, known));
            }
            let overlapping =
                SequenceCounts { again: if merges { 0 } else { again }, ..calls.in_sequence };
            if overlapping.again + others > 0 {
                book(Waste::Sequence, rests.overlapped(overlapping, sort, known));
            }
        }
        if is_static && let Some(each) = known.on_heap(sort) {
            book(Waste::Static, rests.otherwise(each));
        }
    }

    /// Returns the saving of one kind on a path, if there is any.
    pub(crate) fn get(&self, path: Path, waste: Waste) -> Option<&Saving> {
        self.0.get(&(path, waste))
    }
}

/// Time of the calls of an account without their waits.
struct Rests {
    count: u64,
    all: Duration,
    /// Part of `all` that the calls would have needed if nothing had delayed them.
    transfer: Duration,
}

impl Rests {
    /// Returns the proportional part of a time that belongs to some of the calls.
    fn part(&self, of: Duration, calls: u64) -> Duration {
        part(of, (calls.min(self.count), self.count))
    }

    /// Estimates the saving if each call were replaced by one that takes the time `each`. The saving is 0 unless that
    /// is at most half of the present time.
    fn otherwise(&self, each: Duration) -> Saving {
        let instead = each.times(self.count);
        let usual = if self.transfer > Duration::ZERO { self.transfer } else { self.all };
        if usual < instead.times(2) {
            return Saving::default();
        }
        Saving {
            calls: self.count,
            compared: self.count,
            instead,
            unknown: Duration::ZERO,
            least: self.transfer.saturating_sub(instead),
            most: self.all.saturating_sub(instead),
        }
    }

    /// Estimates the saving if all transfers of a row were merged into one, which would remove `again` calls. The
    /// merged transfer takes at least as long as one of them does now, and at most as long as moving the same bytes
    /// with any larger calls of this run.
    fn merged(&self, again: u64, sort: Sort, known: &Known<'_>) -> Saving {
        let rows = self.count.saturating_sub(again);
        let larger = (sort.size() + 1..).zip(1u32..).take(20);
        let in_larger = |(size, steps): (u64, u32)| {
            let each = known.time(sort.with_size(size))?;
            // Each step to a larger class is a factor of 8 in bytes. The number of calls is the one that the bytes
            // need, and at least one for each row.
            let needed = self.count.checked_shr(3 * steps).unwrap_or(0).max(rows);
            Some(each.times(needed))
        };
        let instead = larger.filter_map(in_larger).min();
        let most = self.part(self.all, again);
        let least = instead.map_or(Duration::ZERO, |it| self.transfer.saturating_sub(it).min(most));
        let compared = if instead.is_some() { again } else { 0 };
        let instead = instead.unwrap_or_default();
        Saving { calls: again, compared, instead, unknown: Duration::ZERO, least, most }
    }

    /// Estimates the saving if the operations of a row were in flight together. That saves at least their latencies,
    /// and at most all of their times except the longest.
    fn overlapped(&self, of: SequenceCounts, sort: Sort, known: &Known<'_>) -> Saving {
        let calls = of.again + of.others;
        let most = self.part(self.all, of.again) + self.part(self.all, of.others).min(of.overlap);
        let latency = known.latency(sort).unwrap_or_default().times(calls);
        let least = self.part(self.transfer, calls).min(latency).min(most);
        Saving { calls, least, most, ..Saving::default() }
    }

    /// Estimates the saving if one completion at the end of a row replaced all completions of the row. For few bytes it
    /// takes as long as one of them; for many bytes it may take as long as all of them.
    fn completions(&self, calls: &Calls) -> Saving {
        let again = calls.in_sequence.again;
        let most = self.part(self.all, again);
        let least = self.part(self.transfer, again);
        let least = if calls.sort.size() <= small() { least } else { Duration::ZERO };
        Saving { calls: again, least, most, ..Saving::default() }
    }
}

/// Returns `of` times `part` divided by `whole`. A `whole` of 0 counts as 1.
pub(crate) fn part(of: Duration, (part, whole): (u64, u64)) -> Duration {
    let found = u128::from(of.0) * u128::from(part) / u128::from(whole.max(1));
    Duration(u64::try_from(found).unwrap_or(u64::MAX))
}
