//! Edges of the locations of a shard, sorted by location and time.
//!
//! Edges become known in no order. They are collected in memory, and a full list is sorted and moved to the scratch
//! file. At the end all of these runs are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::sync::Arc;

use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};

use crate::class::Class;
use crate::edge::{Candidate, Edge, Kind, Side};
use crate::quantity::Quantity;
use crate::scratch::Scratch;

/// Size of an edge in the scratch file, in bytes, and number of edges of a run that are read at once.
const SIZE: usize = 56;
const BLOCK: usize = 64;
/// Least number of edges that are sorted together.
const LEAST: usize = 256;

/// A sorted list in the scratch file.
#[derive(Clone, Copy, Debug)]
struct Run {
    offset: u64,
    count: usize,
}

/// Edges of a shard, at one of their ends.
#[derive(Debug)]
pub struct Edges {
    scratch: Arc<Scratch>,
    side: Side,
    list: Vec<Edge>,
    /// Number of edges that are kept in memory.
    most: usize,
    runs: Vec<Run>,
}

impl Edges {
    /// Creates an empty list that takes at most `bytes` bytes of memory.
    pub fn new(scratch: Arc<Scratch>, side: Side, bytes: u64) -> Self {
        let most = ((bytes / size_of::<Edge>() as u64) as usize).max(LEAST);
        Self { scratch, side, list: Vec::new(), most, runs: Vec::new() }
    }

    /// Adds an edge. A full list is sorted and moved to the scratch file.
    pub fn add(&mut self, edge: Edge) {
        self.list.push(edge);
        if self.list.len() >= self.most {
            self.spill();
        }
    }

    #[cold]
    #[inline(never)]
    fn spill(&mut self) {
        self.sort();
        let mut bytes = Vec::with_capacity(self.list.len() * SIZE);
        self.list.iter().for_each(|edge| bytes.extend(encode(edge)));
        let offset = self.scratch.append(&bytes);
        self.runs.push(Run { offset, count: self.list.len() });
        self.list.clear();
    }

    fn sort(&mut self) {
        let side = self.side;
        // Edges come nearly in order, which a stable sort is faster for.
        self.list.sort_by(|a, b| side.key(a).cmp(&side.key(b)).then_with(|| a.cmp(b)));
    }

    /// Returns all edges in order.
    ///
    /// # Errors
    /// Returns an error if a run cannot be read.
    pub fn merged(mut self) -> io::Result<Merged> {
        self.sort();
        let Self { scratch, side, list, runs, .. } = self;
        let mut merged = Merged { side, heads: BinaryHeap::new(), sources: Vec::new() };
        merged.add(Source::Memory(list.into_iter()))?;
        for Run { offset, count } in runs {
            let scratch = Arc::clone(&scratch);
            merged.add(Source::File { scratch, offset, left: count, read: Vec::new() })?;
        }
        Ok(merged)
    }
}

/// Encodes an edge for the scratch file.
fn encode(edge: &Edge) -> [u8; SIZE] {
    let Edge { waiter, culprit, from, to, what, kind } = *edge;
    let (flags, [whom, low, high]) = match kind {
        Kind::Certain => (0, [0; 3]),
        Kind::Among(context) => (1, [context.0.into(), 0, 0]),
        Kind::Early => (4, [0; 3]),
        Kind::Candidate(Candidate { class, target, low, high, is_aligned }) => {
            let whom = u64::from(class.0) | u64::from(target.0) << 32;
            (2 + u64::from(is_aligned), [whom, low.0, high.0])
        }
    };
    let words = [
        u64::from(waiter.0) | u64::from(culprit.0) << 32,
        from.0,
        to.0,
        what.in_log() | flags << 16,
        whom,
        low,
        high,
    ];
    let mut bytes = [0; SIZE];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes
}

/// Undoes [`encode`]. Returns `None` if the bytes do not encode an edge.
fn decode(bytes: &[u8; SIZE]) -> Option<Edge> {
    let mut words = [0_u64; SIZE / 8];
    for (word, place) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*place);
    }
    let [ends, from, to, what, whom, low, high] = words;
    let kind = match what >> 16 {
        0 => Kind::Certain,
        1 => Kind::Among(ContextNumber(whom as u32)),
        4 => Kind::Early,
        flags => Kind::Candidate(Candidate {
            class: Class(whom as u32),
            target: ProcessNumber((whom >> 32) as u32),
            low: Duration(low),
            high: Duration(high),
            is_aligned: flags == 3,
        }),
    };
    Some(Edge {
        waiter: LocationNumber(ends as u32),
        culprit: LocationNumber((ends >> 32) as u32),
        from: Time(from),
        to: Time(to),
        what: Quantity::from_log(what & 0xffff)?,
        kind,
    })
}

/// Edges of one run.
#[derive(Debug)]
enum Source {
    Memory(std::vec::IntoIter<Edge>),
    File {
        scratch: Arc<Scratch>,
        /// Place and number of the edges that are not read yet.
        offset: u64,
        left: usize,
        /// Edges that are read, the last first.
        read: Vec<Edge>,
    },
}

impl Source {
    fn next(&mut self) -> io::Result<Option<Edge>> {
        match self {
            Self::Memory(list) => Ok(list.next()),
            Self::File { scratch, offset, left, read } => {
                if read.is_empty() && *left > 0 {
                    let count = (*left).min(BLOCK);
                    let mut bytes = vec![0; count * SIZE];
                    scratch.read(*offset, &mut bytes)?;
                    let edges = bytes.as_chunks().0.iter().rev().map(decode);
                    let edges: Option<Vec<Edge>> = edges.collect();
                    *read = edges.ok_or(io::ErrorKind::InvalidData)?;
                    (*offset, *left) = (*offset + bytes.len() as u64, *left - count);
                }
                Ok(read.pop())
            }
        }
    }
}

/// The next edge of a source, with what it is sorted by and the place of the source.
type Head = ((LocationNumber, Time, Time), Edge, usize);

/// All edges of a shard in order.
#[derive(Debug)]
pub struct Merged {
    side: Side,
    heads: BinaryHeap<Reverse<Head>>,
    sources: Vec<Source>,
}

impl Merged {
    fn add(&mut self, mut source: Source) -> io::Result<()> {
        let place = self.sources.len();
        let side = self.side;
        self.heads.extend(source.next()?.map(|it| Reverse((side.key(&it), it, place))));
        self.sources.push(source);
        Ok(())
    }

    /// Takes the next edge, if it belongs to a location.
    ///
    /// # Errors
    /// Returns an error if a run cannot be read.
    pub fn next_of(&mut self, location: LocationNumber) -> io::Result<Option<Edge>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let Reverse(((at, ..), edge, place)) = *head;
        if at != location {
            return Ok(None);
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
    use super::*;

    fn edge(number: u64) -> Edge {
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
    fn edges_come_back_as_they_were() {
        for number in 0..1000 {
            assert_eq!(decode(&encode(&edge(number))), Some(edge(number)));
        }
        let mut bytes = encode(&edge(1));
        bytes[24..26].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(decode(&bytes), None);
    }

    #[test]
    fn order_does_not_depend_on_memory() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Arc::new(Scratch::new(directory.path()).unwrap());
        for side in [Side::Waiter, Side::Culprit] {
            let mut expected: Vec<Edge> = (0..3000).map(edge).collect();
            expected.sort_by_key(|it| (side.key(it), *it));
            for bytes in [0, 1 << 16, 1 << 30] {
                let mut edges = Edges::new(Arc::clone(&scratch), side, bytes);
                (0..3000).map(edge).for_each(|it| edges.add(it));
                let mut merged = edges.merged().unwrap();
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
