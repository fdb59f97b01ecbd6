//! Call sites: from return address to a small number, once for the whole process.
//!
//! A table that only grows, in memory of fixed size. Looking up takes no lock; a new site is
//! written to the stream first and then put into the table, so that no event names a site that the
//! stream does not know.
#![allow(unsafe_code)] // The table is typed memory from a mapping.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::memory::Memory;
use crate::slot::Slot;

/// Places of the table.
const PLACES: usize = 1 << 16;
/// Sites that are kept apart; any others are recorded without their site.
pub(crate) const MOST: u32 = (PLACES / 2) as u32;

/// The sites of a process.
#[derive(Debug)]
pub(crate) struct Sites {
    memory: Memory,
    count: AtomicU32,
}

impl Sites {
    pub(crate) fn new() -> io::Result<Self> {
        let memory = Memory::anonymous(PLACES * size_of::<Slot>())?;
        Ok(Self { memory, count: AtomicU32::new(0) })
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.len()
    }

    fn places(&self) -> &[Slot] {
        // SAFETY: the memory is as long as that and aligned to a page, all bits zero are a `Slot`,
        // and it is only ever used as this.
        unsafe { std::slice::from_raw_parts(self.memory.start().cast(), PLACES) }
    }

    /// Returns the places where an address may be, in the order in which they are tried.
    fn path(&self, address: usize) -> impl Iterator<Item = &Slot> {
        let start = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - 16);
        let (before, from) = self.places().split_at(start % PLACES);
        from.iter().chain(before)
    }

    /// Returns the number of a site, or `None` if it is not known.
    pub(crate) fn find(&self, address: usize) -> Option<u32> {
        let place = self.path(address).find(|place| {
            let there = place.address();
            there == address || there == 0
        })?;
        place.number_of(address)
    }

    /// Returns `true` if no more sites are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= MOST
    }

    /// Adds a site after `define` has written it to the stream, and returns its number. Callers must take turns.
    /// Returns `None` if there are too many sites already, or if the site could not be written.
    pub(crate) fn add(&self, address: usize, define: impl FnOnce(u32) -> bool) -> Option<u32> {
        let id = self.count.load(Ordering::Relaxed);
        self.add_numbered(address, || define(id).then_some(id))
    }

    /// Adds a site as [`Sites::add`] does, with the number that `define` returns.
    pub(crate) fn add_numbered(
        &self,
        address: usize,
        define: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        if let Some(id) = self.find(address) {
            return Some(id); // Another thread was quicker.
        }
        let count = self.count.load(Ordering::Relaxed);
        if count >= MOST || address == 0 {
            return None;
        }
        let id = define()?;
        self.path(address).find(|place| place.address() == 0)?.fill(address, id);
        self.count.store(count + 1, Ordering::Relaxed);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_numbered_in_turn() -> io::Result<()> {
        let sites = Sites::new()?;
        for id in 0..MOST {
            let address = 0x5555_0000_0000 + 5 * id as usize;
            assert_eq!(sites.find(address), None);
            assert_eq!(sites.add(address, |given| given == id), Some(id));
            assert_eq!(sites.add(address, |_| panic!("it is known")), Some(id));
            assert_eq!(sites.find(address), Some(id));
        }
        assert!(sites.is_full());
        assert_eq!(sites.add(1, |_| true), None, "the table is full");
        Ok(())
    }

    #[test]
    fn what_could_not_be_written_down_is_no_site() -> io::Result<()> {
        let sites = Sites::new()?;
        assert_eq!(sites.add(42, |_| false), None);
        assert_eq!(sites.add(42, |_| true), Some(0));
        Ok(())
    }
}
