//! Divides the time of calls of a runtime into waits, transfer and unexplained time.
//!
//! The time of a call without its waits, which count with their upper bounds, is its *rest*. Similar calls are
//! expected to take similar times, so the transfer of a call is its rest, or the fastest tenth of the rests of all calls of its
//! [`Sort`] if that is less. The remainder of the rest is unexplained.
//!
//! | calls | are compared with calls of the same |
//! |---|---|
//! | one-sided operations | layer, kind of operation, completion inside the call or not, strided or not, distance of the target, memory, bytes |
//! | all others | function, distance of the partner, size of the group, bytes |
//!
//! A distance is one of three: the own process, the own node, another node. Pairs of nodes are not kept apart, so a node
//! with a slow network shows as such. Bytes and sizes of groups are alike within a factor of 8. The bytes of a call that
//! completes operations at their targets are those of all operations since the call before that did so. With fewer than
//! [`ENOUGH`] calls of a sort, all calls of the kind of operation or of the function up to the next factor of 8 in size are
//! taken; if there are still fewer, the whole rest is unexplained.
//!
//! # In one pass
//! The fastest tenth is known at the end only, and so are many waits. Each location therefore keeps, for each call path and
//! sort, a histogram of rests: an *account*. A call that ends adds its length. A wait that is found later moves its call to
//! a lower bin. Waits for progress are judged at the end. Where they turn out to be none, their calls are moved back, all
//! that were booked on one account for one target as if they were alike. A histogram has 16 bins for each power of two,
//! each with the number and the sum of its rests, so sums are exact integers that do not depend on order.

use std::collections::BTreeMap;

use dwell_log::class::{Class, magnitude};
use dwell_log::quantity::Quantity;
use dwell_model::layer::Layer;
use dwell_trace::roles::Traits;
use dwell_trace::time::Duration;
use otf2::id::RegionRef;
use serde::{Deserialize, Serialize};

use crate::engine::matrix::Kind;
use crate::engine::paths::Path;
use crate::engine::sequences::SequenceCounts;

/// Number of calls of a sort that are needed to know how long such calls take.
pub(crate) const ENOUGH: i64 = 10;

/// Number of bins for each power of two.
const BINS: usize = 16;
/// Number of powers of two with bins of their own. The first one covers all times below [`BINS`].
const POWERS: usize = 61;

/// Number of an account at its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Account(pub(crate) u32);

impl Account {
    /// Stands for calls without an account.
    pub(crate) const NONE: Self = Self(0);
}

/// Distance between a process and the partner of its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Distance {
    /// The call has no partner.
    #[default]
    None,
    /// The partner is the process itself.
    Itself,
    /// The partner is another process of the same node.
    Node,
    /// The partner is a process of another node.
    Far,
}

/// Time at which an operation is complete at its origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum OperationEnd {
    /// After the call that issued it.
    #[default]
    Later,
    /// Inside the call that issued it, which is blocking.
    InCall,
}

impl OperationEnd {
    /// Returns the end of an operation, given whether its call has a record of the completion.
    #[inline(always)]
    pub(crate) fn of(is_in_call: bool) -> Self {
        if is_in_call { Self::InCall } else { Self::Later }
    }
}

/// Arrangement of the data that an operation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Layout {
    /// All bytes in one piece.
    Contiguous,
    /// Elements at a fixed distance from each other.
    Strided,
}

/// Calls that are compared with each other.
///
/// | bits | are |
/// |---|---|
/// | 0 to 7 | 0 for calls that move no byte, otherwise 1 + ⌊log8 of the bytes⌋ |
/// | 8 to 9 | [`Distance`] of the partner |
/// | 10 to 15 | 0 for calls without a group, otherwise 1 + ⌊log8 of its size⌋ |
/// | 16 to 31 | number of the memory of one-sided operations |
/// | 32 to 62 | region, or of one-sided operations layer, kind, whether they are complete (bit 40), and whether they are strided (bit 41) |
/// | 63 | one-sided operations |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Sort(pub(crate) u64);

impl Sort {
    const ONE_SIDED: u64 = 1 << 63;
    const STRIDED: u64 = 1 << 41;

    /// Returns the sort of calls that issue one-sided operations.
    #[inline(always)]
    pub(crate) fn operation(
        class: Class,
        size: u64,
        far: Distance,
        end: OperationEnd,
        layout: Layout,
    ) -> Self {
        let kind = u64::from(class.0 & 0xFF) | (end as u64) << 8 | (layout as u64) << 9;
        let memory = u64::from(class.0 >> 16);
        Self(Self::ONE_SIDED | kind << 32 | memory << 16 | (far as u64) << 8 | size)
    }

    /// Returns the sort of calls of a function that issues no one-sided operation.
    #[inline(always)]
    pub(crate) fn function(region: RegionRef, bytes: u64, far: Distance, members: u32) -> Self {
        let region = u64::from(region.0 & 0x7FFF_FFFF);
        let members = size(u64::from(members)).min(63);
        Self(region << 32 | members << 10 | (far as u64) << 8 | size(bytes))
    }

    /// Returns `true` if the calls issue one-sided operations.
    pub(crate) fn is_one_sided(self) -> bool {
        self.0 & Self::ONE_SIDED != 0
    }

    /// Returns `true` if the calls issue atomics.
    pub(crate) fn is_atomic(self) -> bool {
        self.is_one_sided() && self.0 >> 32 & 7 == Kind::Atomic as u64
    }

    /// Returns the size class of the calls. Each class spans a factor of 8 in bytes.
    pub(crate) fn size(self) -> u64 {
        self.0 & 0xFF
    }

    /// Returns the same sort with another class of bytes.
    pub(crate) fn with_size(self, size: u64) -> Self {
        Self(self.0 & !0xFF | size & 0xFF)
    }

    /// Returns the number of the memory that one-sided operations act on.
    pub(crate) fn memory(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Returns the sort of the same operations on another memory.
    pub(crate) fn with_memory(self, memory: u16) -> Self {
        Self(self.0 & !0xFFFF_0000 | u64::from(memory) << 16)
    }

    /// Returns `true` if the calls move elements that are not contiguous.
    pub(crate) fn is_strided(self) -> bool {
        self.0 & (Self::ONE_SIDED | Self::STRIDED) == Self::ONE_SIDED | Self::STRIDED
    }

    /// Returns the sorts of contiguous transfers of as many bytes and of more, the smallest first.
    pub(crate) fn in_one_piece(self) -> impl Iterator<Item = Self> {
        let of = Self(self.0 & !Self::STRIDED);
        (of.size()..=size(u64::MAX)).map(move |size| of.with_size(size))
    }

    /// Returns the function or kind of operation and the class of bytes, regardless of partners and memory.
    fn general(self) -> (u64, u64) {
        (self.0 >> 32, self.0 & 0xFF)
    }
}

/// Returns the size class of a number of bytes or members. Each class spans a factor of 8.
#[inline(always)]
pub(crate) fn size(of: u64) -> u64 {
    magnitude(of).into()
}

/// Returns the histogram bin of a time in nanoseconds. Bins are exact below 16 ns, and 16 of them share each power of
/// two above.
#[inline(always)]
fn bin(time: u64) -> usize {
    match (time | 15).ilog2() as usize {
        3 => time as usize,
        log => (log - 3) * BINS + ((time >> (log - 4)) as usize & (BINS - 1)),
    }
}

/// Returns the least time of a bin.
fn edge(bin: usize) -> u64 {
    match (bin / BINS, (bin % BINS) as u64) {
        (0, rest) => rest,
        (power, rest) => (BINS as u64 + rest) << (power - 1),
    }
}

/// Number and sum of the rests in a bin. A wait may be taken out of a call before the call is added, so both can be
/// negative for a while.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    count: i64,
    sum: i64,
}

/// Histogram of the rests of calls.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// Place of each power of two among the blocks, counted from 1; 0 for a power without a block.
    places: [u8; POWERS],
    blocks: Vec<[Bin; BINS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { places: [0; POWERS], blocks: Vec::new() }
    }
}

impl Histogram {
    /// Adds a call with this rest.
    #[inline(always)]
    pub(crate) fn add(&mut self, time: Duration) {
        self.change(bin(time.0), 1, time.0.cast_signed());
    }

    #[inline(always)]
    fn change(&mut self, at: usize, count: i64, sum: i64) {
        let place = self.places.get(at / BINS).copied().unwrap_or(0) as usize;
        match self.blocks.get_mut(place.wrapping_sub(1)) {
            Some(block) => {
                if let Some(bin) = block.get_mut(at % BINS) {
                    bin.count += count;
                    bin.sum += sum;
                }
            }
            None => self.open(at, Bin { count, sum }),
        }
    }

    #[cold]
    #[inline(never)]
    fn open(&mut self, at: usize, first: Bin) {
        let mut block = [Bin::default(); BINS];
        if let Some(bin) = block.get_mut(at % BINS) {
            *bin = first;
        }
        self.blocks.push(block);
        if let Some(place) = self.places.get_mut(at / BINS) {
            *place = self.blocks.len() as u8;
        }
    }

    /// Moves a call with `left` nanoseconds to a lower bin, because a wait was found in it.
    pub(crate) fn take(&mut self, left: Duration, wait: Duration) {
        self.change(bin(left.0), -1, -left.0.cast_signed());
        self.add(left.saturating_sub(wait));
    }

    /// Moves `count` calls back, because their waits turned out to be none. Only the number and the sums are known, so
    /// the calls are treated as equally long.
    pub(crate) fn give_back(&mut self, count: u64, left: Duration, waits: Duration) {
        let (left, rests) = (left.0, left.saturating_sub(waits).0);
        let Some(before) = left.checked_div(count) else { return };
        let (after, count) = (rests.checked_div(count).unwrap_or(0), count.cast_signed());
        self.change(bin(after), -count, -rests.cast_signed());
        self.change(bin(before), count, left.cast_signed());
    }

    /// Returns the bins of all blocks, the shortest times first.
    fn bins(&self) -> impl Iterator<Item = (usize, Bin)> {
        let block = |(power, place): (usize, &u8)| {
            let block = self.blocks.get((*place as usize).wrapping_sub(1));
            block.into_iter().flatten().enumerate().map(move |(at, bin)| (power * BINS + at, *bin))
        };
        self.places.iter().enumerate().flat_map(block)
    }

    fn add_all(&mut self, other: &Self) {
        other.bins().for_each(|(at, bin)| self.change(at, bin.count, bin.sum));
    }

    /// Returns the time that the fastest tenth of the calls stay within, or `None` if there are fewer than [`ENOUGH`]
    /// calls.
    fn tenth(&self) -> Option<Duration> {
        let calls: i64 = self.bins().map(|(_, bin)| bin.count).sum();
        if calls < ENOUGH {
            return None;
        }
        let (mut sum, wanted) = (0, (calls + 9) / 10);
        let reached = |(_, bin): &(usize, Bin)| {
            sum += bin.count;
            sum >= wanted
        };
        self.bins().find(reached).map(|(at, _)| Duration(edge(at)))
    }

    /// Returns the sum of all rests, and the sum of the rests with each cut off at `at_most`.
    fn split(&self, Duration(at_most): Duration) -> (Duration, Duration) {
        let (mut all, mut part) = (0, 0);
        for (at, bin) in self.bins() {
            all += bin.sum;
            part += if edge(at) < at_most { bin.sum } else { bin.count * at_most.cast_signed() };
        }
        let all = u64::try_from(all).unwrap_or(0);
        (Duration(all), Duration(u64::try_from(part).unwrap_or(0).min(all)))
    }

    /// Returns a lower bound of the excess of the longest rest over `time`.
    pub(crate) fn longest_beyond(&self, time: Duration) -> Duration {
        let last = self.bins().filter(|(_, bin)| bin.count > 0).map(|(at, _)| edge(at)).last();
        Duration(last.unwrap_or(0)).saturating_sub(time)
    }

    /// Returns the number of calls.
    pub(crate) fn count(&self) -> u64 {
        let calls: i64 = self.bins().map(|(_, bin)| bin.count).sum();
        u64::try_from(calls).unwrap_or(0)
    }

    fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// An account: the calls of one path at one location that have the same sort.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) path: Path,
    pub(crate) sort: Sort,
    /// Next account of the same path. The last one refers to the first.
    pub(crate) next: u32,
    pub(crate) rests: Histogram,
    /// Numbers of calls that followed other calls in a row.
    pub(crate) in_sequence: SequenceCounts,
}

/// Bytes that an open call has moved so far, and the partners that it moved them with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) bytes: u64,
    pub(crate) far: Distance,
    /// Number of members of the group that acted together.
    pub(crate) members: u32,
    /// Class of the first operation that the call issued.
    pub(crate) class: Option<Class>,
    /// [`OperationEnd::InCall`] once the call has completed an operation.
    pub(crate) end: OperationEnd,
}

impl Moved {
    /// Adds bytes that were moved to or from a process. The greatest distance counts.
    pub(crate) fn add(&mut self, bytes: u64, far: Distance) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.far = self.far.max(far);
    }

    /// Returns the sort of the call.
    #[inline(always)]
    pub(crate) fn sort(&self, region: RegionRef, traits: Traits) -> Sort {
        match self.class {
            Some(class) if traits.has(Traits::ONE_SIDED) => {
                let strided = traits.has(Traits::STRIDED);
                let layout = if strided { Layout::Strided } else { Layout::Contiguous };
                Sort::operation(class, size(self.bytes), self.far, self.end, layout)
            }
            _ => Sort::function(region, self.bytes, self.far, self.members),
        }
    }
}

/// Bins of the calls of all sorts, by sort and number of the bin: the number of calls, and the sum of their rests. A part
/// of the calls may have negative ones that others make up for.
pub(crate) type Bins = BTreeMap<(Sort, u16), (i64, i64)>;

/// Adds up accounts by sort.
pub(crate) fn gather<'a>(accounts: impl Iterator<Item = &'a Calls>) -> Bins {
    let mut sums: BTreeMap<Sort, Histogram> = BTreeMap::new();
    for account in accounts.filter(|it| !it.rests.is_empty()) {
        sums.entry(account.sort).or_default().add_all(&account.rests);
    }
    let of = |(sort, all): (Sort, Histogram)| {
        let used = all.bins().filter(|(_, bin)| bin.count != 0 || bin.sum != 0);
        let one = |(at, bin): (usize, Bin)| ((sort, at as u16), (bin.count, bin.sum));
        used.map(one).collect::<Vec<_>>()
    };
    sums.into_iter().flat_map(of).collect()
}

/// Adds the bins of other calls.
pub(crate) fn join(all: &mut Bins, more: Bins) {
    for (key, (count, sum)) in more {
        let bin = all.entry(key).or_default();
        *bin = (bin.0 + count, bin.1 + sum);
    }
}

/// Times that calls of each sort need if nothing delays them.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    sorts: BTreeMap<Sort, Histogram>,
    /// Calls of the same kind or function by class of bytes, for sorts with too few calls.
    general: BTreeMap<(u64, u64), Histogram>,
}

impl Expected {
    /// Puts the bins of all processes together.
    pub(crate) fn of(bins: Bins) -> Self {
        let mut found = Self::default();
        for ((sort, bin), (count, sum)) in bins {
            found.sorts.entry(sort).or_default().change(bin.into(), count, sum);
        }
        for (sort, rests) in &found.sorts {
            let (what, size) = sort.general();
            found.general.entry((what, size)).or_default().add_all(rests);
        }
        found
    }

    /// Returns the time of a call of this sort, or `None` if there are too few calls to compare.
    fn time(&self, sort: Sort) -> Option<Duration> {
        self.sorts.get(&sort).and_then(Histogram::tenth).or_else(|| {
            let (what, size) = sort.general();
            let mut alike = Histogram::default();
            let near = self.general.range((what, 0)..=(what, size + 1));
            near.for_each(|(_, rests)| alike.add_all(rests));
            alike.tenth()
        })
    }

    /// Returns the times of all sorts that occur.
    pub(crate) fn times(&self) -> ExpectedTimes {
        ExpectedTimes(self.sorts.keys().map(|&sort| (sort, self.time(sort))).collect())
    }
}

/// Nanoseconds that a call of each sort takes if nothing delays it; `None` for sorts with too few calls to decide.
#[derive(Debug)]
pub(crate) struct ExpectedTimes(BTreeMap<Sort, Option<Duration>>);

impl ExpectedTimes {
    /// Returns the nanoseconds that a call of a sort takes if nothing delays it, or `None` if the run had too few such
    /// calls to decide.
    pub(crate) fn of(&self, sort: Sort) -> Option<Duration> {
        self.0.get(&sort).copied().flatten()
    }

    /// Returns the times of the sorts in a range, in their order.
    pub(crate) fn range(
        &self,
        sorts: std::ops::RangeInclusive<Sort>,
    ) -> impl Iterator<Item = (&Sort, &Option<Duration>)> {
        self.0.range(sorts)
    }
}

impl Calls {
    /// Divides the rests of the account into the quantities that are booked on its path.
    pub(crate) fn divide(&self, expected: Option<Duration>) -> [(Quantity, Duration); 3] {
        let (all, transfer) = self.rests.split(expected.unwrap_or_default());
        let unexplained = all - transfer;
        let few = if expected.is_none() { unexplained } else { Duration::ZERO };
        [
            (Quantity::Transfer, transfer),
            (Quantity::Unexplained, unexplained),
            (Quantity::TooFew, few),
        ]
    }
}

/// Returns the class of operations of a call, which its [`Sort`] is made from.
#[inline(always)]
pub(crate) fn class(layer: Option<Layer>, kind: Kind, memory: u16) -> Class {
    Class::of(layer, kind, memory, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(rests: &Histogram, at_most: u64) -> (u64, u64) {
        let (all, part) = rests.split(Duration(at_most));
        (all.0, part.0)
    }

    #[test]
    fn bins_have_edges_and_order() {
        for time in (0..5_000).chain((0..64).map(|log| 1 << log)).chain([u64::MAX]) {
            let at = bin(time);
            assert!(edge(at) <= time, "{time}");
            assert!(edge(at).saturating_add(edge(at) >> 4) >= time, "{time}");
            assert!(at / BINS < POWERS, "{time}");
        }
        assert!((0..5_000).map(bin).is_sorted());
    }

    #[test]
    fn a_tenth_needs_ten() {
        let mut rests = Histogram::default();
        (1..=9).for_each(|time| rests.add(Duration(100 * time)));
        assert_eq!(rests.tenth(), None);
        rests.add(Duration(1_000));
        assert_eq!(rests.tenth(), Some(Duration(100)));
        rests.add(Duration(50));
        // The second of eleven, as the lower edge of its bin.
        assert_eq!(rests.tenth(), Some(Duration(edge(bin(100)))));
        assert_eq!(split(&rests, 100), (5_550, 50 + 1_000));
        // A wait of 900 leaves 100 of the longest.
        rests.take(Duration(1_000), Duration(900));
        assert_eq!(split(&rests, 100), (4_650, 50 + 1_000));
    }

    #[test]
    fn waits_that_are_none_go_back() {
        let mut rests = Histogram::default();
        for length in [700, 90, 90, 90] {
            rests.add(Duration(length));
        }
        for _ in 0..3 {
            rests.take(Duration(90), Duration(60));
        }
        assert_eq!(split(&rests, 50), (700 + 90, 50 + 90));
        rests.give_back(3, Duration(270), Duration(180));
        assert_eq!(split(&rests, 50), (700 + 270, 4 * 50));
        rests.give_back(0, Duration(0), Duration(0));
        assert_eq!(split(&rests, 50), (700 + 270, 4 * 50));
    }
}
