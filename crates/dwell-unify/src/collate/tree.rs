//! Parts on their way up the tree, until there are enough of them.
//!
//! ```text
//! round 0    0 ← 1   2 ← 3   4 ← 5   6 ← 7      a part each
//! round 1    0 ←———— 2       4 ←———— 6          two each: 0 and 4 have enough now, and write
//! round 2    0 ←———————————— 4                  "all of mine is written"
//! ```

use std::io;

use dwell_model::profile::block::put;
use otf2::id::LocationRef;

use super::block::{block, next};
use crate::unify::{Round, Upcalls, above, below, rounds};

/// Who writes a block: its first location, and the bytes of the file.
pub type Write<'w> = &'w mut dyn FnMut(LocationRef, &[u8]) -> io::Result<()>;

/// First byte of a message up, before the length of the parts and these: whether something of the ranks behind the sender is written already.
const WHOLE: u8 = 1;
const CUT: u8 = 2;

/// The message down.
const WRITTEN: &[u8] = &[1];
const FAILED: &[u8] = &[0];

/// Parts of consecutive locations that are not written yet.
#[derive(Debug)]
pub struct Heap {
    /// Bytes that are worth a file.
    enough: usize,
    /// Each behind its length.
    parts: Vec<u8>,
    /// Whether others from here on were written.
    cut: bool,
    /// Why some could not be written.
    failure: Option<io::Error>,
    written: u64,
}

impl Heap {
    /// Nothing yet. So many bytes are worth a file.
    pub fn new(enough: usize) -> Self {
        Self { enough, parts: Vec::new(), cut: false, failure: None, written: 0 }
    }

    /// Adds the part of the next location.
    pub fn add(&mut self, part: &[u8], write: Write<'_>) {
        put(part.len() as u64, &mut self.parts);
        self.parts.extend_from_slice(part);
        self.write_if_enough(write);
    }

    /// Takes in the message of the ranks that follow. Whether it was one.
    pub fn take(&mut self, message: &[u8], write: Write<'_>) -> bool {
        let Some((kind, mut rest)) = message.split_first() else { return false };
        let Some(parts) = next(&mut rest).filter(|_| rest.is_empty()) else { return false };
        if !matches!(*kind, WHOLE | CUT) {
            return false;
        }
        if *kind == CUT {
            // What follows is not next to what is here.
            self.write(write);
            self.cut = true;
        }
        self.parts.extend_from_slice(parts);
        self.write_if_enough(write);
        true
    }

    /// The message up the tree, with all that is left.
    pub fn message(&mut self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.parts.len() + 12);
        message.push(if self.cut { CUT } else { WHOLE });
        put(self.parts.len() as u64, &mut message);
        message.append(&mut self.parts);
        message
    }

    /// Writes what is left.
    pub fn write(&mut self, write: Write<'_>) {
        if self.parts.is_empty() {
            return;
        }
        let parts = std::mem::take(&mut self.parts);
        let written = block(&parts)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "damaged rows"))
            .and_then(|(first, bytes)| {
                drop(parts);
                write(first, &bytes)
            });
        match written {
            Ok(()) => self.written += 1,
            Err(error) => self.failure = Some(error),
        }
        self.cut = true;
    }

    /// Whether nothing is left in it.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many blocks were written from it.
    pub fn blocks(&self) -> u64 {
        self.written
    }

    /// Whether all that was to be written was.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn write_if_enough(&mut self, write: Write<'_>) {
        if self.parts.len() >= self.enough {
            self.write(write);
        }
    }
}

/// What a process has in the end.
#[derive(Debug)]
pub struct Collated {
    /// Whether all that this process gave is in blocks.
    pub written: io::Result<()>,
    /// How many blocks it wrote.
    pub blocks: u64,
    /// How many rounds the tree had.
    pub rounds: u32,
    /// What this process did in each of the rounds that it took part in.
    pub traffic: Vec<Round>,
}

/// Brings parts into blocks. All processes must call it, those that have none too; ranks have their locations
/// in the order of ranks. So many bytes of parts are `enough` for a block, at all processes.
pub fn collate(
    up: &mut impl Upcalls,
    parts: impl IntoIterator<Item = Vec<u8>>,
    enough: usize,
    write: Write<'_>,
) -> Collated {
    let (rank, size) = (up.rank(), up.size());
    let mut heap = Heap::new(enough);
    for part in parts {
        heap.add(&part, write);
    }
    let mut traffic = Vec::new();
    let mut children = Vec::new();
    for peer in below(rank, size) {
        let message = up.receive(peer).unwrap_or_default();
        traffic.push(Round { peer, sent: 0, received: message.len() as u64 });
        let taken = heap.take(&message, write);
        if !taken {
            // Nobody knows what is missing, so what follows may not be next to what is here.
            heap.write(write);
        }
        children.push(taken);
    }
    let above = match above(rank) {
        None => {
            heap.write(write);
            Ok(())
        }
        Some(peer) => {
            let message = heap.message();
            let sent = up.send(peer, &message);
            // Even if it could not be sent: the process above will answer that nothing came.
            let answer = up.receive(peer);
            let length =
                |it: &io::Result<Vec<u8>>| it.as_ref().map_or(0, |bytes| bytes.len() as u64);
            traffic.push(Round { peer, sent: message.len() as u64, received: length(&answer) });
            sent.and(answer).and_then(|answer| match answer == WRITTEN {
                true => Ok(()),
                false => Err(io::Error::other("the rows of this process were not written")),
            })
        }
    };
    let written = heap.check().and(above);
    for (taken, round) in children.iter().zip(&mut traffic).rev() {
        let answer = if *taken && written.is_ok() { WRITTEN } else { FAILED };
        // A child that cannot be reached is told nothing, and keeps its rows.
        if up.send(round.peer, answer).is_ok() {
            round.sent = answer.len() as u64;
        }
    }
    Collated { written, blocks: heap.written, rounds: rounds(size), traffic }
}
