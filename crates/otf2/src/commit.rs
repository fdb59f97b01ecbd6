//! The store that makes an event part of a chunk.
//!
//! Atomics come from the parent module, so that `tests/all/models.rs` can compile this file with those of `loom`.

use super::atomics::{AtomicU8, Ordering};

/// Stores `value` so that it is visible only after all earlier stores.
#[inline(always)]
pub(crate) fn store(place: &AtomicU8, value: u8) {
    place.store(value, Ordering::Release);
}
