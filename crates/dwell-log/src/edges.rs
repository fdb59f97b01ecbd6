//! Edges of the locations of a shard, sorted by location and time.
//!
//! Edges become known in no order, but nearly sorted at each location. They are collected in memory, in few bytes, until they are
//! too many: then they are sorted and moved to the scratch file, as a run for each location. At the end the runs of one location
//! after the other are merged with what is in memory.

mod compact;
mod run;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use dwell_trace::ids::LocationNumber;
use dwell_trace::time::Time;

use crate::edge::{Edge, Side};
use crate::scratch::Scratch;
use compact::Compact;
use run::{Run, Source};

/// Least number of bytes that are moved to the scratch file together.
const LEAST: usize = 4096;

/// Greatest number of edges of one location that are sorted together, which takes 64 bytes for each. A process that all others
/// wait for has very many.
const MOST_SORTED: usize = 1 << 20;

/// Edges of one location: those in memory, and sorted lists in the scratch file.
#[derive(Debug, Default)]
struct Own {
    compact: Compact,
    runs: Vec<Run>,
}

impl Own {
    /// Moves the edges in memory to the scratch file. Returns their number of bytes in memory.
    fn spill(&mut self, scratch: &Scratch, side: Side, location: LocationNumber) -> usize {
        let compact = std::mem::take(&mut self.compact);
        let mut sorted = Sorted::default();
        // What was encoded here can be decoded.
        let _ = sorted.load(&compact, side, location);
        let mut bytes = Vec::with_capacity(compact.count() * run::SIZE);
        while let Some(edge) = sorted.pop() {
            bytes.extend(run::encode(&edge));
        }
        if compact.count() > 0 {
            self.runs.push(Run { offset: scratch.append(&bytes), count: compact.count() });
        }
        compact.size()
    }
}

/// Edges of a shard, at one of their ends.
#[derive(Debug)]
pub struct Edges {
    scratch: Arc<Scratch>,
    side: Side,
    /// First location of the shard, and the edges of each.
    first: LocationNumber,
    list: Vec<Own>,
    /// Number of bytes in memory, and the greatest number.
    size: usize,
    most: usize,
    most_sorted: usize,
}

impl Edges {
    /// Creates an empty list for some locations, which takes at most `bytes` bytes of memory for their edges.
    pub fn new(
        scratch: Arc<Scratch>,
        side: Side,
        locations: Range<LocationNumber>,
        bytes: u64,
    ) -> Self {
        let count = locations.end.0.saturating_sub(locations.start.0) as usize;
        let mut list = Vec::new();
        list.resize_with(count, Own::default);
        // A growing list of bytes may have room for twice as many.
        let most = (bytes as usize / 2).max(LEAST);
        let (first, most_sorted) = (locations.start, MOST_SORTED);
        Self { scratch, side, first, list, size: 0, most, most_sorted }
    }

    /// Adds an edge of one of the locations. Edges that are too many are sorted and moved to the scratch file.
    pub fn add(&mut self, edge: Edge) {
        let location = self.side.of(&edge);
        let place = location.0.wrapping_sub(self.first.0) as usize;
        let Some(own) = self.list.get_mut(place) else { return };
        self.size += own.compact.add(self.side, &edge);
        if own.compact.count() >= self.most_sorted {
            self.size -= own.spill(&self.scratch, self.side, location);
        } else if self.size >= self.most {
            self.spill();
        }
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self) {
        for (number, own) in (self.first.0..).zip(&mut self.list) {
            own.spill(&self.scratch, self.side, LocationNumber(number));
        }
        self.size = 0;
    }

    /// Returns all edges in order.
    pub fn merged(self) -> Merged {
        let Self { scratch, side, first, list, .. } = self;
        Merged {
            scratch,
            side,
            first,
            list,
            at: None,
            sorted: Sorted::default(),
            heads: BinaryHeap::new(),
            sources: Vec::new(),
        }
    }
}

/// Edges of one location in order.
#[derive(Debug, Default)]
struct Sorted {
    edges: Vec<Edge>,
    /// Ends and places of the edges that are left, the last first.
    order: Vec<(Time, u32)>,
}

impl Sorted {
    /// Takes the edges of a location instead of those before.
    fn load(&mut self, compact: &Compact, side: Side, location: LocationNumber) -> io::Result<()> {
        let Self { edges, order } = self;
        edges.clear();
        order.clear();
        compact.decode(side, location, edges).ok_or(io::ErrorKind::InvalidData)?;
        // Ends are sorted instead of edges, which are several times as large.
        order.extend((0..).zip(&*edges).map(|(place, it)| (it.to, place)));
        if !order.is_sorted() {
            order.sort_unstable();
        }
        let key = |it: &(Time, u32)| edges.get(it.1 as usize).map(|it| (side.key(it), *it));
        for same in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            same.sort_unstable_by_key(key);
        }
        order.reverse();
        Ok(())
    }

    fn peek(&self) -> Option<Edge> {
        let (_, place) = self.order.last()?;
        self.edges.get(*place as usize).copied()
    }

    fn pop(&mut self) -> Option<Edge> {
        let first = self.peek();
        self.order.pop();
        first
    }
}

/// The next edge of a run, with its sort key and the place of the run.
type Head = ((LocationNumber, Time, Time), Edge, usize);

/// All edges of a shard in order.
#[derive(Debug)]
pub struct Merged {
    scratch: Arc<Scratch>,
    side: Side,
    first: LocationNumber,
    list: Vec<Own>,
    /// Location whose edges are taken: those of its edges that were in memory, and its runs.
    at: Option<LocationNumber>,
    sorted: Sorted,
    heads: BinaryHeap<Reverse<Head>>,
    sources: Vec<Source>,
}

impl Merged {
    /// Takes the next edge of a location. After edges of another location were taken, there are no more of this one.
    ///
    /// # Errors
    /// Returns an error if a run cannot be read.
    #[inline]
    pub fn next_of(&mut self, location: LocationNumber) -> io::Result<Option<Edge>> {
        if self.at != Some(location) {
            self.load(location)?;
        }
        if self.heads.is_empty() { Ok(self.sorted.pop()) } else { self.merge() }
    }

    #[cold]
    #[inline(never)]
    fn load(&mut self, location: LocationNumber) -> io::Result<()> {
        self.at = Some(location);
        let place = location.0.wrapping_sub(self.first.0) as usize;
        let own = self.list.get_mut(place).map(std::mem::take).unwrap_or_default();
        self.sorted.load(&own.compact, self.side, location)?;
        let source = |run| Source::new(Arc::clone(&self.scratch), run);
        self.sources = own.runs.into_iter().map(source).collect();
        self.heads.clear();
        for (place, source) in self.sources.iter_mut().enumerate() {
            self.heads.extend(source.next()?.map(|it| Reverse((self.side.key(&it), it, place))));
        }
        Ok(())
    }

    /// Takes the next edge from a run or from memory.
    fn merge(&mut self) -> io::Result<Option<Edge>> {
        let in_memory = self.sorted.peek().map(|it| (self.side.key(&it), it));
        let Some(mut head) = self.heads.peek_mut() else { return Ok(self.sorted.pop()) };
        let Reverse((key, edge, place)) = *head;
        if in_memory.is_some_and(|it| it < (key, edge)) {
            return Ok(self.sorted.pop());
        }
        let source = self.sources.get_mut(place);
        match source.map_or(Ok(None), Source::next)? {
            Some(next) => *head = Reverse((self.side.key(&next), next, place)),
            None => drop(PeekMut::pop(head)),
        }
        Ok(Some(edge))
    }
}

#[cfg(test)]
mod tests {
    use dwell_trace::ids::{ContextNumber, ProcessNumber};
    use dwell_trace::time::Duration;

    use super::*;
    use crate::class::Class;
    use crate::edge::{Candidate, Kind};
    use crate::quantity::Quantity;

    pub(super) fn edge(number: u64) -> Edge {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let (to, high) = (Time(1000 + mixed % 512), Duration(mixed % 100));
        let candidate = Candidate {
            class: Class(mixed as u32),
            target: ProcessNumber(mixed as u32 >> 3),
            low: Duration(high.0 / 2),
            high,
            is_aligned: number.is_multiple_of(4),
        };
        Edge {
            waiter: LocationNumber(mixed as u32 % 3),
            culprit: LocationNumber(7 + mixed as u32 % 5),
            from: Time(to.0 - mixed % 50),
            to,
            what: Quantity::from_log(mixed % 20).unwrap(),
            kind: match number % 4 {
                0 => Kind::Certain,
                3 => Kind::Early,
                1 => Kind::Among(ContextNumber(mixed as u32 % 7)),
                _ => Kind::Candidate(candidate),
            },
        }
    }

    #[test]
    fn order_does_not_depend_on_memory() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Arc::new(Scratch::new(directory.path()).unwrap());
        for side in [Side::Waiter, Side::Culprit] {
            let mut expected: Vec<Edge> = (0..3000).map(edge).collect();
            expected.sort_by_key(|it| (side.key(it), *it));
            for (bytes, most_sorted) in [(0, MOST_SORTED), (1 << 14, 100), (1 << 30, MOST_SORTED)] {
                let locations = LocationNumber(0)..LocationNumber(12);
                let mut edges = Edges::new(Arc::clone(&scratch), side, locations, bytes);
                edges.most_sorted = most_sorted;
                (0..3000).map(edge).for_each(|it| edges.add(it));
                let in_memory = edges.list.iter().all(|it| it.runs.is_empty());
                assert_eq!(in_memory, bytes == 1 << 30);
                let mut merged = edges.merged();
                let mut found = Vec::new();
                for location in (0..12).map(LocationNumber) {
                    while let Some(edge) = merged.next_of(location).unwrap() {
                        found.push(edge);
                    }
                }
                assert_eq!(found, expected);
            }
        }
    }
}
