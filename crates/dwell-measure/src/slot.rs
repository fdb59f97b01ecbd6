//! A place of a table that threads read without a lock: an address, and a number that belongs to it.
//!
//! One thread at a time fills places, and a place is filled once. Readers may come at any time. The number is stored
//! first, and the address, by which readers know that something is there, with release ordering after it; readers load
//! in the opposite order, with acquire ordering. Without that, a reader on a weakly ordered processor could find an
//! address whose number it still sees as 0. On x86-64 both orderings are those of plain instructions.
//!
//! Atomics come from the parent module. In the library these are the processor's; `tests/all/models.rs` compiles this very
//! file with those of `loom`.

use super::atomics::{AtomicU32, AtomicUsize, Ordering};

/// A place of a table. All bits zero are an empty one.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot {
    /// 0 if nothing is here.
    address: AtomicUsize,
    number: AtomicU32,
}

impl Slot {
    /// Makes an empty place. Tables are mapped memory, which is empty at first, so only models need it.
    #[allow(dead_code)]
    pub(crate) fn empty() -> Self {
        Self { address: AtomicUsize::new(0), number: AtomicU32::new(0) }
    }

    /// Returns the address that is here; 0 if there is none.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        self.address.load(Ordering::Acquire)
    }

    /// Returns the number that belongs to an address, if it is here.
    #[inline(always)]
    pub(crate) fn number_of(&self, address: usize) -> Option<u32> {
        (self.address() == address).then(|| self.number.load(Ordering::Relaxed))
    }

    /// Fills an empty place. Callers take turns.
    pub(crate) fn fill(&self, address: usize, number: u32) {
        self.number.store(number, Ordering::Relaxed);
        self.address.store(address, Ordering::Release);
    }
}
