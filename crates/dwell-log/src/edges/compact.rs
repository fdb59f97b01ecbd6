//! Edges of one location in memory, as numbers of variable length in the order in which they became known.

use dwell_model::varint::{fold, put, take, unfold};
use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};

use crate::class::Class;
use crate::edge::{Candidate, Edge, Kind, Side};
use crate::quantity::Quantity;

/// Edges of a location. Most take about ten bytes.
#[derive(Debug, Default)]
pub(super) struct Compact {
    bytes: Vec<u8>,
    /// End of the last edge.
    last: Time,
    count: u32,
}

/// Number of bits of the state of an edge, and the states. A candidate also says whether it is aligned, and whether
/// its bounds are its length.
const STATE: u32 = 3;
const CERTAIN: u64 = 0;
const AMONG: u64 = 1;
const EARLY: u64 = 2;
const CANDIDATE: u64 = 4;
const ALIGNED: u64 = 1;
const WHOLE: u64 = 2;

impl Compact {
    /// Returns the number of edges.
    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    /// Returns the number of bytes of all edges.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an edge, of which the location is one side. Returns the number of bytes that it takes.
    #[inline]
    pub(super) fn add(&mut self, side: Side, edge: &Edge) -> usize {
        let Edge { waiter, culprit, from, to, what, kind } = *edge;
        let (own, other) = match side {
            Side::Waiter => (waiter, culprit),
            Side::Culprit => (culprit, waiter),
        };
        let length = to.0.wrapping_sub(from.0);
        let state = match kind {
            Kind::Certain => CERTAIN,
            Kind::Among(_) => AMONG,
            Kind::Early => EARLY,
            Kind::Candidate(Candidate { low, high, is_aligned, .. }) => {
                let is_whole = low.0 == length && high.0 == length;
                let (aligned, whole) = (u64::from(is_aligned), u64::from(is_whole));
                CANDIDATE | (aligned * ALIGNED) | (whole * WHOLE)
            }
        };
        let bytes = &mut self.bytes;
        let before = bytes.len();
        put(bytes, fold(to.0.wrapping_sub(self.last.0).cast_signed()));
        put(bytes, fold(length.cast_signed()));
        put(bytes, (what.in_log() << STATE) | state);
        put(bytes, fold(i64::from(other.0) - i64::from(own.0)));
        match kind {
            Kind::Certain | Kind::Early => {}
            Kind::Among(context) => put(bytes, context.0.into()),
            Kind::Candidate(Candidate { class, target, low, high, .. }) => {
                put(bytes, class.0.into());
                put(bytes, fold(i64::from(target.0) - i64::from(culprit.0)));
                if state & WHOLE == 0 {
                    put(bytes, fold(length.wrapping_sub(high.0).cast_signed()));
                    put(bytes, fold(high.0.wrapping_sub(low.0).cast_signed()));
                }
            }
        }
        self.last = to;
        self.count += 1;
        self.bytes.len() - before
    }

    /// Adds the edges of the location to a list, in the order in which they came. Returns `None` if the bytes are not those
    /// of edges.
    pub(super) fn decode(
        &self,
        side: Side,
        own: LocationNumber,
        list: &mut Vec<Edge>,
    ) -> Option<()> {
        let from = &mut self.bytes.as_slice();
        list.reserve(self.count());
        let mut last = 0_u64;
        while !from.is_empty() {
            let to = last.wrapping_add(unfold(take(from)?).cast_unsigned());
            last = to;
            let length = unfold(take(from)?).cast_unsigned();
            let head = take(from)?;
            let other = i64::from(own.0).checked_add(unfold(take(from)?))?;
            let other = LocationNumber(u32::try_from(other).ok()?);
            let (waiter, culprit) = match side {
                Side::Waiter => (own, other),
                Side::Culprit => (other, own),
            };
            let kind = match head & ((1 << STATE) - 1) {
                CERTAIN => Kind::Certain,
                AMONG => Kind::Among(ContextNumber(u32::try_from(take(from)?).ok()?)),
                EARLY => Kind::Early,
                state => {
                    let class = Class(u32::try_from(take(from)?).ok()?);
                    let target = i64::from(culprit.0).checked_add(unfold(take(from)?))?;
                    let target = ProcessNumber(u32::try_from(target).ok()?);
                    let (mut low, mut high) = (length, length);
                    if state & WHOLE == 0 {
                        high = length.wrapping_sub(unfold(take(from)?).cast_unsigned());
                        low = high.wrapping_sub(unfold(take(from)?).cast_unsigned());
                    }
                    let (low, high) = (Duration(low), Duration(high));
                    let is_aligned = state & ALIGNED != 0;
                    Kind::Candidate(Candidate { class, target, low, high, is_aligned })
                }
            };
            let what = Quantity::from_log(head >> STATE)?;
            let from = Time(to.wrapping_sub(length));
            list.push(Edge { waiter, culprit, from, to: Time(to), what, kind });
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::edge;
    use super::*;

    #[test]
    fn edges_come_back_as_they_were() {
        for side in [Side::Waiter, Side::Culprit] {
            for own in (0..12).map(LocationNumber) {
                let edges = || (0..1000).map(edge).filter(|it| side.of(it) == own);
                let mut compact = Compact::default();
                let bytes: usize = edges().map(|it| compact.add(side, &it)).sum();
                assert_eq!((compact.size(), compact.count()), (bytes, edges().count()));
                let mut list = Vec::new();
                compact.decode(side, own, &mut list).unwrap();
                assert_eq!(list, edges().collect::<Vec<_>>());
            }
        }
    }
}
