//! All strings of a report, each kept once.
//!
//! A report of 294,912 processes has two million strings, most of them the same few ("Master thread", "process", the
//! empty string). They lie end to end in one buffer, and tables hold their numbers. Number 0 is the empty string.

use std::hash::{BuildHasher, RandomState};

/// Number of a string in [`Texts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StrId(pub(crate) u32);

/// All strings end to end, and the end of each.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    bytes: String,
    ends: Vec<u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { bytes: String::new(), ends: vec![0] }
    }
}

impl Texts {
    /// Returns the string with this number, or the empty string if there is none.
    pub(crate) fn get(&self, id: StrId) -> &str {
        let index = id.0 as usize;
        let end = self.ends.get(index).copied().unwrap_or(0);
        let start = index.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns all bytes and the end of each string, for the cache.
    pub(crate) fn parts(&self) -> (&str, &[u32]) {
        (&self.bytes, &self.ends)
    }

    /// Makes the strings from the result of [`Texts::parts`], or returns `None` if the parts do not fit together.
    pub(crate) fn from_parts(bytes: String, ends: Vec<u32>) -> Option<Self> {
        let rising = ends.windows(2).all(|pair| matches!(pair, [a, b] if a <= b));
        let sound = ends.first() == Some(&0)
            && rising
            && ends.last().copied() == u32::try_from(bytes.len()).ok()
            && ends.iter().all(|&end| bytes.is_char_boundary(end as usize));
        sound.then_some(Self { bytes, ends })
    }
}

/// Gives equal strings equal numbers while the tables are filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    texts: Texts,
    /// Hash table with open addressing: the number of a string, or 0 for a free slot.
    slots: Vec<u32>,
    hasher: RandomState,
}

impl Interner {
    /// Returns the number of `text`, or `None` once there are 4 GiB of strings.
    pub(crate) fn add(&mut self, text: &str) -> Option<StrId> {
        if text.is_empty() {
            return Some(StrId(0));
        }
        if self.texts.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.find(text)?;
        let known = self.slots.get(slot).copied()?;
        if known != 0 {
            return Some(StrId(known));
        }
        let end = u32::try_from(self.texts.bytes.len().checked_add(text.len())?).ok()?;
        let id = u32::try_from(self.texts.ends.len()).ok()?;
        self.texts.bytes.push_str(text);
        self.texts.ends.push(end);
        *self.slots.get_mut(slot)? = id;
        Some(StrId(id))
    }

    /// Returns the slot that holds `text`, or the free one where it belongs.
    fn find(&self, text: &str) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = self.hasher.hash_one(text) as usize & mask;
        // Half of the slots are free, so this ends.
        loop {
            let id = self.slots.get(slot).copied()?;
            if id == 0 || self.texts.get(StrId(id)) == text {
                return Some(slot);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.slots = vec![0; (self.slots.len() * 2).max(64)];
        for id in 1..self.texts.ends.len() as u32 {
            let slot = self.find(self.texts.get(StrId(id)));
            if let Some(slot) = slot.and_then(|slot| self.slots.get_mut(slot)) {
                *slot = id;
            }
        }
    }

    pub(crate) fn finish(self) -> Texts {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_equal_numbers() {
        let mut interner = Interner::default();
        let ids: Vec<_> = (0..1000).map(|i| interner.add(&format!("{}", i % 300))).collect();
        assert_eq!(interner.add(""), Some(StrId(0)));
        let texts = interner.finish();
        assert_eq!(texts.parts().1.len(), 301);
        for (i, id) in ids.iter().enumerate() {
            assert_eq!(texts.get(id.unwrap()), format!("{}", i % 300));
        }
        assert_eq!(texts.get(StrId(5000)), "");
        let (bytes, ends) = texts.parts();
        assert!(Texts::from_parts(bytes.into(), ends.into()).is_some());
        assert!(Texts::from_parts("é".into(), vec![0, 1, 2]).is_none());
        assert!(Texts::from_parts("ab".into(), vec![0, 2, 1, 2]).is_none());
    }
}
