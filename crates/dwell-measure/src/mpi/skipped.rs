//! Counts of messages that were not recorded.
//!
//! Messages have no numbers: a send matches the receive at the same position among those with the same partner, tag and
//! communicator. So messages that are not recorded are counted, and the next recorded one states the count. Streams
//! without such messages take no memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lock::Lock;

/// Key of a stream of messages: `true` for sends, communicator, partner, tag.
pub(super) type Stream = (bool, u32, u32, u32);

static COUNTS: Lock<BTreeMap<Stream, u64>> = Lock::new(BTreeMap::new());
/// Number of streams with a count.
static STREAMS: AtomicUsize = AtomicUsize::new(0);

/// Counts a message that is not recorded.
#[cold]
pub(super) fn add(stream: Stream) {
    COUNTS.with(|counts| {
        *counts.entry(stream).or_insert(0) += 1;
        STREAMS.store(counts.len(), Ordering::Relaxed);
    });
}

/// Returns the number of messages before a recorded one that were not recorded, and resets the count.
#[inline(always)]
pub(super) fn take(stream: Stream) -> u64 {
    if STREAMS.load(Ordering::Relaxed) == 0 { 0 } else { take_counted(stream) }
}

#[cold]
fn take_counted(stream: Stream) -> u64 {
    COUNTS.with(|counts| {
        let count = counts.remove(&stream).unwrap_or(0);
        STREAMS.store(counts.len(), Ordering::Relaxed);
        count
    })
}
