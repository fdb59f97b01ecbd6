//! A list of definitions in which none occurs twice.
//!
//! The position of a definition is its id, and a position never changes: what is added comes last.
//! Looking up is by a table of hashes in addition to the list, so that a string is kept once. The hash decides
//! where something is found, never its position.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

const EMPTY: u32 = u32::MAX;

/// A list of distinct definitions with a hash table for looking them up; see the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    items: Vec<T>,
    /// Hash and position of items. The number of slots is a power of two, and at most half of them are in use.
    slots: Vec<(u32, u32)>,
    /// Number of items that the slots contain. A list that is only read needs no slots.
    indexed: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { items: Vec::new(), slots: Vec::new(), indexed: 0 }
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, slots: Vec::new(), indexed: 0 }
    }
}

impl<T: PartialEq> PartialEq for Table<T> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<T: Eq> Eq for Table<T> {}

impl<T> Table<T> {
    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    pub(super) fn into_items(self) -> Vec<T> {
        self.items
    }

    pub(super) fn get(&self, position: u32) -> Option<&T> {
        self.items.get(position as usize)
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the bytes of memory of the list and its slots, without the heap memory that the items own.
    pub(super) fn memory(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.slots.capacity() * size_of::<(u32, u32)>()
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// Returns the position of `item`, and adds it at the end if the list does not have it.
    ///
    /// The item is looked for at `guess` first. Lists that are merged are sorted, apart from what earlier merging
    /// added: the next item is most often next to the last one, and need not be hashed.
    pub(super) fn place(&mut self, item: Cow<'_, T>, guess: u32) -> u32 {
        if self.get(guess) == Some(&item) {
            return guess;
        }
        self.index();
        let hash = hash_of(&*item);
        let slot = match self.find(hash, &item) {
            Ok(position) => return position,
            Err(slot) => slot,
        };
        let position = u32::try_from(self.items.len()).unwrap_or(EMPTY);
        if position != EMPTY {
            self.items.push(item.into_owned());
            self.indexed = self.items.len();
            if let Some(free) = self.slots.get_mut(slot) {
                *free = (hash, position);
            }
        }
        position
    }

    /// Returns the position of `item`, or `None` if the list does not have it.
    pub(super) fn position(&mut self, item: &T) -> Option<u32> {
        self.index();
        self.find(hash_of(item), item).ok()
    }

    /// Returns the position of `item`, or as an error the slot that it would take.
    fn find(&self, hash: u32, item: &T) -> Result<u32, usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        loop {
            match self.slots.get(slot) {
                Some(&(known, position)) if position != EMPTY => {
                    if known == hash && self.get(position) == Some(item) {
                        return Ok(position);
                    }
                }
                _ => return Err(slot),
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Makes room for one more item, and adds the items that the slots do not contain yet.
    fn index(&mut self) {
        let need = (self.items.len() + 1).next_power_of_two() * 2;
        if self.slots.len() < need {
            let old = std::mem::replace(&mut self.slots, vec![(0, EMPTY); need.max(16)]);
            for (hash, position) in old {
                if position != EMPTY {
                    self.insert(hash, position);
                }
            }
        }
        while self.indexed < self.items.len() {
            if let Some(item) = self.items.get(self.indexed) {
                let hash = hash_of(item);
                // Of equal ones, which only a damaged list has, the first is found.
                if self.find(hash, item).is_err() {
                    self.insert(hash, self.indexed as u32);
                }
            }
            self.indexed += 1;
        }
    }

    fn insert(&mut self, hash: u32, position: u32) {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        while let Some(entry) = self.slots.get_mut(slot) {
            if entry.1 == EMPTY {
                *entry = (hash, position);
                return;
            }
            slot = (slot + 1) & mask;
        }
    }
}

fn hash_of<T: Hash>(item: &T) -> u32 {
    let mut hasher = Mix(0);
    item.hash(&mut hasher);
    let hash = hasher.finish();
    (hash >> 32) as u32 ^ hash as u32
}

/// A multiplicative hash, eight bytes at a time, the same in every process.
struct Mix(u64);

impl Mix {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(part) {
                *to = *from;
            }
            self.word(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.word(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.word(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.word(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.word(number as u64);
    }

    fn finish(&self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ (hash >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_kept_once_and_keeps_its_place() {
        let mut table = Table::default();
        for number in 0..10_000_u64 {
            let text = format!("region {}", number % 1000);
            let position = table.place(Cow::Owned(text), 0);
            assert_eq!(u64::from(position), number % 1000);
        }
        assert_eq!(table.len(), 1000);
        assert_eq!(table.position(&"region 999".to_owned()), Some(999));
        assert_eq!(table.position(&"region 1000".to_owned()), None);
    }

    #[test]
    fn a_list_with_duplicates_finds_the_first() {
        let mut table = Table::from(vec![5_u64, 7, 5, 9]);
        assert_eq!(table.position(&5), Some(0));
        assert_eq!(table.place(Cow::Owned(9), 3), 3);
        assert_eq!(table.place(Cow::Owned(1), EMPTY), 4);
    }
}
