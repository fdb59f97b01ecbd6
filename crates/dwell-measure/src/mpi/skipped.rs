//! Messages that were not recorded.
//!
//! Messages have no numbers: a send belongs to the receive that comes as the same among those with the same
//! partner, tag and communicator. So those that are not recorded are counted, and the next one that is says
//! how many there were. Nothing is kept for others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lock::Lock;

/// Which messages: whether they are sent, communicator, partner, tag.
pub(super) type Stream = (bool, u32, u32, u32);

static COUNTS: Lock<BTreeMap<Stream, u64>> = Lock::new(BTreeMap::new());
/// How many streams have a count.
static STREAMS: AtomicUsize = AtomicUsize::new(0);

/// One more that is not recorded.
#[cold]
pub(super) fn add(stream: Stream) {
    COUNTS.with(|counts| {
        *counts.entry(stream).or_insert(0) += 1;
        STREAMS.store(counts.len(), Ordering::Relaxed);
    });
}

/// How many were not recorded before one that is, and none after this.
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
