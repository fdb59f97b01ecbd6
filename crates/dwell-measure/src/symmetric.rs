//! Symmetric addresses: from an address to a number that is the same at every process.
//!
//! The symmetric heap is counted from the first block that the program obtained, since allocations
//! are collective. Static data are counted from where their program or library was loaded.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::modules::{self, MOST, Range};

/// Offsets of static data have this bit.
const STATIC: u64 = 1 << 63;

/// Addresses of symmetric memory in this process.
#[derive(Debug)]
pub(crate) struct Symmetric {
    /// The first block of the heap; 0 while there is none.
    origin: AtomicUsize,
    /// Lowest address of the heap seen so far, and the end of the highest.
    low: AtomicUsize,
    high: AtomicUsize,
    /// Writable parts of the program and its libraries, in the order in which they were loaded.
    statics: [Range; MOST],
}

impl Symmetric {
    pub(crate) fn new() -> Self {
        Self {
            origin: AtomicUsize::new(0),
            low: AtomicUsize::new(usize::MAX),
            high: AtomicUsize::new(0),
            statics: modules::writable(),
        }
    }

    /// Registers a block of the symmetric heap.
    pub(crate) fn allocated(&self, address: usize, bytes: u64) {
        if address == 0 {
            return;
        }
        let _ = self.origin.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
        self.low.fetch_min(address, Ordering::Relaxed);
        let end = address.saturating_add(usize::try_from(bytes).unwrap_or(0));
        // A thread that sees this end also sees the origin and a beginning that belongs to it.
        self.high.fetch_max(end, Ordering::Release);
    }

    /// Returns the symmetric offset of an address.
    #[inline]
    pub(crate) fn offset(&self, address: usize) -> u64 {
        self.heap_offset(address).unwrap_or_else(|| self.elsewhere(address))
    }

    /// Returns the symmetric offset of an address of the heap, or `None` for any other address.
    #[inline(always)]
    pub(crate) fn heap_offset(&self, address: usize) -> Option<u64> {
        let high = self.high.load(Ordering::Acquire);
        let heap = self.low.load(Ordering::Relaxed)..high;
        heap.contains(&address).then(|| self.heap(address))
    }

    /// Returns `true` if an address is one of static data, and not of the symmetric heap.
    #[inline]
    pub(crate) fn is_static(&self, address: usize) -> bool {
        let heap = self.low.load(Ordering::Relaxed)..self.high.load(Ordering::Relaxed);
        !heap.contains(&address) && self.is_in_module(address)
    }

    #[cold]
    fn is_in_module(&self, address: usize) -> bool {
        self.statics.iter().any(|range| range.contains(address))
    }

    fn heap(&self, address: usize) -> u64 {
        address.wrapping_sub(self.origin.load(Ordering::Relaxed)) as u64 & !STATIC
    }

    #[cold]
    fn elsewhere(&self, address: usize) -> u64 {
        match (0..).zip(&self.statics).find(|(_, range)| range.contains(address)) {
            Some((place, range)) => {
                let offset = address.wrapping_sub(range.bias) as u64;
                STATIC | place << 48 | offset & ((1 << 48) - 1)
            }
            // A part of the heap that was obtained before recording began.
            None => self.heap(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static HERE: AtomicUsize = AtomicUsize::new(1);

    #[test]
    fn the_heap_is_counted_from_its_first_block() {
        let symmetric = Symmetric::new();
        symmetric.allocated(0, 100);
        symmetric.allocated(0xFF00_0000_1000, 64);
        symmetric.allocated(0xFF00_0000_0800, 64);
        assert_eq!(symmetric.offset(0xFF00_0000_1010), 0x10);
        let below = symmetric.offset(0xFF00_0000_0800);
        assert_eq!(below, 0x800_u64.wrapping_neg() & !STATIC);
    }

    #[test]
    fn static_data_are_counted_from_their_module() {
        let symmetric = Symmetric::new();
        let address = (&raw const HERE) as usize;
        let offset = symmetric.offset(address);
        assert_ne!(offset & STATIC, 0);
        assert_eq!(symmetric.offset(address + 4), offset + 4);
        assert!(symmetric.is_static(address));
        symmetric.allocated(0xFF00_0000_1000, 64);
        assert!(!symmetric.is_static(0xFF00_0000_1000));
        assert!(!symmetric.is_static(0xFF00_0000_0000));
    }
}
