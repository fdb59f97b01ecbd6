//! The tree of collation: parts travel up until a process has enough of them to write a block.
//!
//! ```text
//! round 0    0 ← 1   2 ← 3   4 ← 5   6 ← 7      one part each
//! round 1    0 ←———— 2       4 ←———— 6          two parts each: 0 and 4 have enough now, and write
//! round 2    0 ←———————————— 4                  no parts: all that 4 had is written
//! ```

use std::io;

use dwell_model::varint::put;
use otf2::id::LocationRef;

use super::block::{block, next};
use crate::unify::{Round, Upcalls, below, parent, rounds};

/// Callback that writes a block to its file. It gets the first location of the block and the bytes of the file.
pub type Write<'w> = &'w mut dyn FnMut(LocationRef, &[u8]) -> io::Result<()>;

/// First byte of a message to the parent, before the length of the parts and the parts themselves. `WHOLE` says that no
/// part of the sender's subtree is written yet; `CUT` says that some are, so that the rest is not next to the parts of
/// the receiver.
const WHOLE: u8 = 1;
const CUT: u8 = 2;

/// The message to a child: its rows are in blocks, or they are not.
const WRITTEN: &[u8] = &[1];
const FAILED: &[u8] = &[0];

/// Parts of consecutive locations that a process has gathered and not written yet.
#[derive(Debug)]
pub struct Heap {
    /// Bytes of parts that are worth a file.
    enough: usize,
    /// The parts, each after its length.
    parts: Vec<u8>,
    /// Set if parts of this subtree are written already.
    cut: bool,
    /// The last error of writing a block, if any.
    failure: Option<io::Error>,
    written: u64,
}

impl Heap {
    /// Makes a heap without parts, which writes a block whenever it holds `enough` bytes.
    pub fn new(enough: usize) -> Self {
        Self { enough, parts: Vec::new(), cut: false, failure: None, written: 0 }
    }

    /// Adds the part of the next location, and writes a block if the heap holds enough bytes then. Errors of writing
    /// are kept for [`check`](Self::check).
    pub fn add(&mut self, part: &[u8], write: Write<'_>) {
        put(&mut self.parts, part.len() as u64);
        self.parts.extend_from_slice(part);
        self.write_if_enough(write);
    }

    /// Adds the parts in the message of a child, whose ranks follow those gathered so far, and writes a block if the
    /// heap holds enough bytes then. Returns `false` and changes nothing if the message is damaged.
    pub fn take(&mut self, message: &[u8], write: Write<'_>) -> bool {
        let Some((kind, mut rest)) = message.split_first() else { return false };
        let Some(parts) = next(&mut rest).filter(|_| rest.is_empty()) else { return false };
        if !matches!(*kind, WHOLE | CUT) {
            return false;
        }
        if *kind == CUT {
            // The parts that follow are not adjacent to those here.
            self.write(write);
            self.cut = true;
        }
        self.parts.extend_from_slice(parts);
        self.write_if_enough(write);
        true
    }

    /// Moves all parts that are left into the message to the parent. The heap is empty afterwards.
    pub fn message(&mut self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.parts.len() + 12);
        message.push(if self.cut { CUT } else { WHOLE });
        put(&mut message, self.parts.len() as u64);
        message.append(&mut self.parts);
        message
    }

    /// Writes all parts that are left as one block; does nothing if there are none. An error is kept for
    /// [`check`](Self::check), and the parts are dropped in that case.
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

    /// Returns `true` if no parts wait to be written or sent.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of blocks that were written from this heap.
    pub fn blocks(&self) -> u64 {
        self.written
    }

    /// Reports whether all blocks could be written so far, and forgets the error.
    ///
    /// # Errors
    /// The last error of writing a block.
    pub fn check(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn write_if_enough(&mut self, write: Write<'_>) {
        if self.parts.len() >= self.enough {
            self.write(write);
        }
    }
}

/// Result of [`collate`] at one process.
#[derive(Debug)]
pub struct Collated {
    /// `Ok` if all parts of this process are in blocks. Otherwise the caller must keep the files of rows, since some
    /// rows may be nowhere else.
    pub written: io::Result<()>,
    /// Number of blocks that this process wrote.
    pub blocks: u64,
    /// Number of rounds of the tree, ⌈log2 P⌉ for P processes.
    pub rounds: u32,
    /// Bytes that this process exchanged, for each round in which it took part.
    pub traffic: Vec<Round>,
}

/// Collates the parts of all processes into blocks. All processes must call it, also those without parts, and with the
/// same `enough`: the number of bytes of parts for which a process writes a block. The locations of the processes must
/// ascend with their ranks. `write` writes one block; a process may call it never, once or several times.
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
            // The number of missing parts is unknown, so the parts that follow may not be adjacent to those here.
            heap.write(write);
        }
        children.push(taken);
    }
    let parent = match parent(rank) {
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
    let written = heap.check().and(parent);
    for (taken, round) in children.iter().zip(&mut traffic).rev() {
        let answer = if *taken && written.is_ok() { WRITTEN } else { FAILED };
        // A child that cannot be reached gets no message, and keeps its rows.
        if up.send(round.peer, answer).is_ok() {
            round.sent = answer.len() as u64;
        }
    }
    Collated { written, blocks: heap.written, rounds: rounds(size), traffic }
}
