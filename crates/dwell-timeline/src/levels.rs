//! Summaries of blocks, of 64 blocks, and of 64 times as many, so that blocks need not be read.
//!
//! An entry of the lowest level represents a block, one of the next level 64 entries, and so on up to a level of at most 64.
//! Entries are stored as the blocks are, the last first. A node is what is read at once: 64 entries and their checksum.
//!
//! | bytes of an entry | are |
//! |---|---|
//! | 8 | begin of the earliest slice |
//! | 8 | place of the block behind the first of its location, times 65,536, plus its size in bytes; for other levels 0 |
//! | 8 | length of the longest wait |
//! | 8 for each class | time from that begin to the end of the location |

use crate::classes::{CLASSES, Sums};
use crate::span::Time;

/// Number of entries in a node.
pub(crate) const NODE: usize = 64;

/// Size of an entry in bytes.
pub(crate) const ENTRY: usize = 8 * (3 + CLASSES);

/// Size of a full node in bytes.
pub(crate) const NODE_BYTES: usize = NODE * ENTRY + 4;

/// Summary of a block, or of an entry of the level below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) from: Time,
    pub(crate) block: u64,
    pub(crate) longest: u64,
    pub(crate) sums: Sums,
}

impl Entry {
    fn encode(&self, to: &mut Vec<u8>) {
        let numbers = [self.from.0, self.block, self.longest].into_iter().chain(self.sums);
        numbers.for_each(|it| to.extend_from_slice(&it.to_le_bytes()));
    }

    fn decode(bytes: &[u8; ENTRY]) -> Self {
        let mut numbers = bytes.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it));
        let mut next = || numbers.next().unwrap_or(0);
        let (from, block, longest) = (Time(next()), next(), next());
        Self { from, block, longest, sums: std::array::from_fn(|_| next()) }
    }
}

/// Returns the levels above the lowest one.
pub(crate) fn above(lowest: &[Entry]) -> Vec<Vec<Entry>> {
    let mut levels: Vec<Vec<Entry>> = Vec::new();
    loop {
        let below = levels.last().map_or(lowest, Vec::as_slice);
        if below.len() <= NODE {
            return levels;
        }
        let join = |list: &[Entry]| {
            let last = *list.last()?;
            let longest = list.iter().map(|it| it.longest).max()?;
            Some(Entry { longest, block: 0, ..last })
        };
        levels.push(below.chunks(NODE).filter_map(join).collect());
    }
}

/// Appends the nodes of a level.
pub(crate) fn encode(level: &[Entry], to: &mut Vec<u8>) {
    for list in level.chunks(NODE) {
        let begin = to.len();
        list.iter().for_each(|it| it.encode(to));
        let sum = to.get(begin..).map(crc32fast::hash).unwrap_or_default();
        to.extend_from_slice(&sum.to_le_bytes());
    }
}

/// Reads the entries of a node. Returns `None` if it is damaged.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Entry>> {
    let (entries, rest) = crate::block::checked(bytes)?.as_chunks::<ENTRY>();
    rest.is_empty().then(|| entries.iter().map(Entry::decode).collect())
}

/// Numbers of entries of all levels of a location with `blocks` blocks, the lowest first.
pub(crate) fn counts(blocks: u64) -> Vec<u64> {
    let mut counts = vec![blocks];
    while let Some(&count) = counts.last()
        && count > NODE as u64
    {
        counts.push(count.div_ceil(NODE as u64));
    }
    counts
}

/// Size in bytes of the nodes of a level with `count` entries.
pub(crate) fn bytes(count: u64) -> u64 {
    let sums = count.div_ceil(NODE as u64).saturating_mul(4);
    count.saturating_mul(ENTRY as u64).saturating_add(sums)
}
