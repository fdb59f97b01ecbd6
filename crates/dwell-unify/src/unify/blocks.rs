//! Blocks of ranks, of which one process writes the files of all.
//!
//! After unification every process knows its mapping tables. In an OTF2 archive they go, with the
//! clock offsets, into a small file of their own for each location, and there is no way around the
//! files: no record could hold the tables of several locations. The only choice is which processes
//! create them.
//!
//! * *Every process its own.* No data moves. The file server gets as many clients as there are
//!   processes, all at once, each with one create, one write of some kilobytes and one close. The
//!   event file next to it costs the same again.
//! * *One process for a block of ranks.* [`gather`] brings the bytes of consecutive ranks to the first
//!   of them, over the lower rounds of the same tree. There are as many files and as many bytes, but a
//!   hundred times fewer clients. The writer must reach the directories of all: not if they are local
//!   to nodes and a block has several nodes.
//!
//! A trace that must survive its process has its files from the beginning, so for the event files the
//! choice is made long before. For the definition files [`block`] gives the size of a block so that its
//! bytes are about as many as asked for.

use std::io;

use super::tree::{Upcalls, rounds};
use super::wire::{Input, put, put_bytes};

/// Returns the number of consecutive ranks whose bytes one process should write: the largest power of two for which the
/// ranks together have at most `target` bytes, if each has `each` bytes. The result is at least 1, also where one rank
/// alone exceeds the target. All processes must pass the same numbers, because they must agree on the blocks.
///
/// ```
/// use dwell_unify::unify::block;
///
/// // 4,500 definitions of four bytes, blocks of 4 MB.
/// assert_eq!(block(4 * 4500, 4 << 20), 128);
/// assert_eq!(block(100 << 20, 4 << 20), 1);
/// ```
pub fn block(each: u64, target: u64) -> u64 {
    let ranks = (target / each.max(1)).clamp(1, 1 << 32);
    1 << ranks.ilog2()
}

/// The bytes that one process passed to [`gather`], as the first rank of its block receives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Rank of the process that passed the bytes.
    pub rank: u64,
    /// The bytes as that process passed them; they may be empty.
    pub bytes: Vec<u8>,
}

/// Brings the bytes of each process to the first rank of its block, which gets those of all ranks of the block in
/// ascending order, its own first. All other ranks get an empty list. `block` is a power of two, usually the result of
/// [`block`].
///
/// All processes must call this function, with the same `block`.
///
/// # Errors
/// If sending to the next process of the tree fails. Bytes that do not arrive, or arrive damaged, are not an error at
/// the receiver: it leaves them out, and the caller sees from the ranks of the parts which are missing.
pub fn gather(up: &mut impl Upcalls, block: u64, bytes: Vec<u8>) -> io::Result<Vec<Part>> {
    let (rank, size) = (up.rank(), up.size());
    let mut parts = vec![Part { rank, bytes }];
    for round in 0..rounds(block.max(1).min(size)) {
        let distance = 1_u64 << round;
        if rank & distance != 0 {
            let mut out = Vec::new();
            for part in &parts {
                put(&mut out, part.rank);
                put_bytes(&mut out, &part.bytes);
            }
            up.send(rank - distance, &out)?;
            return Ok(Vec::new());
        }
        let Some(peer) = rank.checked_add(distance).filter(|peer| *peer < size) else { continue };
        let Ok(message) = up.receive(peer) else { continue };
        let known = parts.len();
        if read(&message, peer, peer.saturating_add(distance), &mut parts).is_none() {
            parts.truncate(known);
        }
    }
    Ok(parts)
}

/// Reads the parts of the ranks `from .. to` from a message. Returns `None` if the message is damaged.
fn read(message: &[u8], from: u64, to: u64, parts: &mut Vec<Part>) -> Option<()> {
    let mut input = Input::new(message);
    let mut next = from;
    while input.left() > 0 {
        let rank = input.number("rank").ok()?;
        if rank < next || rank >= to {
            return None;
        }
        next = rank + 1;
        parts.push(Part { rank, bytes: input.bytes("part").ok()?.to_vec() });
    }
    Some(())
}
