//! Sorted lists of edges in the scratch file, each edge in as many bytes.

use std::io;
use std::sync::Arc;

use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::time::{Duration, Time};

use crate::class::Class;
use crate::edge::{Candidate, Edge, Kind};
use crate::quantity::Quantity;
use crate::scratch::Scratch;

/// Size of an edge in the scratch file, in bytes, and number of edges of a run that are read at once.
pub(super) const SIZE: usize = 56;
const BLOCK: usize = 64;

/// A sorted list in the scratch file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) offset: u64,
    pub(super) count: usize,
}

/// Edges of a run that are left.
#[derive(Debug)]
pub(super) struct Source {
    scratch: Arc<Scratch>,
    /// Edges that are not read yet.
    run: Run,
    /// Edges that are read, the last first.
    read: Vec<Edge>,
}

impl Source {
    pub(super) fn new(scratch: Arc<Scratch>, run: Run) -> Self {
        Self { scratch, run, read: Vec::new() }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Edge>> {
        let Run { offset, count: left } = self.run;
        if self.read.is_empty() && left > 0 {
            let count = left.min(BLOCK);
            let mut bytes = vec![0; count * SIZE];
            self.scratch.read(offset, &mut bytes)?;
            let edges = bytes.as_chunks().0.iter().rev().map(decode);
            let edges: Option<Vec<Edge>> = edges.collect();
            self.read = edges.ok_or(io::ErrorKind::InvalidData)?;
            self.run = Run { offset: offset + bytes.len() as u64, count: left - count };
        }
        Ok(self.read.pop())
    }
}

/// Encodes an edge for the scratch file.
pub(super) fn encode(edge: &Edge) -> [u8; SIZE] {
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

#[cfg(test)]
mod tests {
    use super::super::tests::edge;
    use super::*;

    #[test]
    fn edges_come_back_as_they_were() {
        for number in 0..1000 {
            assert_eq!(decode(&encode(&edge(number))), Some(edge(number)));
        }
        let mut bytes = encode(&edge(1));
        bytes[24..26].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(decode(&bytes), None);
    }
}
