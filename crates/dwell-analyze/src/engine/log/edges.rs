//! Edges of the locations of a shard, sorted by location and time.
//!
//! Edges become known in no order. They are collected in memory, and a full list is sorted and moved to the scratch
//! file. At the end all of these runs are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::archive::ids::LocationNumber;
use crate::archive::time::Time;
use crate::engine::edge::Edge;
use crate::engine::log::scratch::Scratch;
use crate::engine::wire;

/// Number of edges of a shard that are kept in memory.
const MOST: usize = 2048;
/// Bytes of a run that are read at once, and the greatest size of an edge in bytes.
const READ: usize = 4096;
const LARGEST: usize = 96;

/// End of an edge that a location is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Side {
    /// The location waited.
    Waiter,
    /// The location was waited for.
    Culprit,
}

/// An edge at one of its locations, in the order of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub(crate) at: LocationNumber,
    pub(crate) side: Side,
    to: Time,
    from: Time,
    pub(crate) edge: Edge,
}

/// A sorted list in the scratch file.
#[derive(Clone, Copy, Debug)]
struct Run {
    offset: u64,
    length: u64,
}

/// Edges of a shard.
#[derive(Debug)]
pub(crate) struct Edges {
    scratch: Arc<Scratch>,
    list: Vec<Placed>,
    runs: Vec<Run>,
}

impl Edges {
    pub(crate) fn new(scratch: Arc<Scratch>) -> Self {
        Self { scratch, list: Vec::new(), runs: Vec::new() }
    }

    /// Adds an edge at one of its locations.
    pub(crate) fn add(&mut self, at: LocationNumber, side: Side, edge: Edge) {
        self.list.push(Placed { at, side, to: edge.to, from: edge.from, edge });
        if self.list.len() >= MOST {
            self.list.sort_unstable();
            let mut bytes = Vec::new();
            self.list.drain(..).for_each(|it| wire::write(&it, &mut bytes));
            let offset = self.scratch.append(&bytes);
            self.runs.push(Run { offset, length: bytes.len() as u64 });
        }
    }

    /// Returns the memory in bytes that the list takes.
    pub(crate) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Placed>() + self.runs.capacity() * size_of::<Run>()
    }

    /// Returns all edges in order.
    ///
    /// # Errors
    /// Returns an error if a run cannot be read.
    pub(crate) fn merged(&mut self) -> io::Result<Merged> {
        self.list.sort_unstable();
        let list = std::mem::take(&mut self.list);
        let mut merged = Merged { heads: BinaryHeap::new(), sources: Vec::new() };
        merged.add(Source::Memory(list.into_iter()))?;
        for Run { offset, length } in self.runs.drain(..) {
            let scratch = Arc::clone(&self.scratch);
            let (bytes, used) = (Vec::new(), 0);
            merged.add(Source::File { scratch, offset, left: length, bytes, used })?;
        }
        Ok(merged)
    }
}

/// Edges of one run.
#[derive(Debug)]
enum Source {
    Memory(std::vec::IntoIter<Placed>),
    File {
        scratch: Arc<Scratch>,
        /// Place and size of what is not read yet.
        offset: u64,
        left: u64,
        /// What is read, and how much of it is used.
        bytes: Vec<u8>,
        used: usize,
    },
}

impl Source {
    fn next(&mut self) -> io::Result<Option<Placed>> {
        let (scratch, offset, left, bytes, used) = match self {
            Self::Memory(list) => return Ok(list.next()),
            Self::File { scratch, offset, left, bytes, used } => {
                (scratch, offset, left, bytes, used)
            }
        };
        if bytes.len() - *used < LARGEST && *left > 0 {
            bytes.drain(..*used);
            *used = 0;
            let (old, more) = (bytes.len(), (*left).min(READ as u64));
            bytes.resize(old + more as usize, 0);
            if let Some(new) = bytes.get_mut(old..) {
                scratch.read(*offset, new)?;
            }
            (*offset, *left) = (*offset + more, *left - more);
        }
        let mut rest = bytes.get(*used..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let before = rest.len();
        let placed = wire::read(&mut rest);
        *used += before - rest.len();
        placed.map(Some).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
    }
}

/// All edges of a shard in order.
#[derive(Debug)]
pub(crate) struct Merged {
    /// The next edge of each source, with the place of the source.
    heads: BinaryHeap<Reverse<(Placed, usize)>>,
    sources: Vec<Source>,
}

impl Merged {
    fn add(&mut self, mut source: Source) -> io::Result<()> {
        let place = self.sources.len();
        self.heads.extend(source.next()?.map(|it| Reverse((it, place))));
        self.sources.push(source);
        Ok(())
    }

    /// Returns the next edge without taking it.
    pub(crate) fn peek(&self) -> Option<&Placed> {
        self.heads.peek().map(|it| &it.0.0)
    }

    /// Takes the next edge.
    ///
    /// # Errors
    /// Returns an error if a run cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Placed>> {
        let Some(Reverse((placed, place))) = self.heads.pop() else { return Ok(None) };
        if let Some(source) = self.sources.get_mut(place) {
            self.heads.extend(source.next()?.map(|it| Reverse((it, place))));
        }
        Ok(Some(placed))
    }
}
