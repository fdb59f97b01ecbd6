//! A table by handle: open addressing, since handles are numbers that are looked up all the time.

/// Values by handle. A handle may be there several times: libraries give the same request to every operation that was
/// complete at once.
#[derive(Debug)]
pub(crate) struct Map<V> {
    places: Vec<Option<(usize, V)>>,
    count: usize,
}

impl<V: Copy> Map<V> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), count: 0 }
    }

    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    fn home(&self, key: usize) -> usize {
        // The golden ratio spreads handles that differ in few bits; the upper ones of the product are
        // the good ones.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) & self.mask()
    }

    /// Returns the position of a handle.
    fn find(&self, key: usize) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        let mut at = self.home(key);
        loop {
            match self.places.get(at)? {
                Some((known, _)) if *known == key => return Some(at),
                Some(_) => at = (at + 1) & self.mask(),
                None => return None,
            }
        }
    }

    /// Returns the value of a handle, for changing it.
    pub(crate) fn get_mut(&mut self, key: usize) -> Option<&mut V> {
        let at = self.find(key)?;
        self.places.get_mut(at)?.as_mut().map(|(_, value)| value)
    }

    /// Returns a copy of the value of a handle.
    pub(crate) fn get(&self, key: usize) -> Option<V> {
        self.places.get(self.find(key)?)?.map(|(_, value)| value)
    }

    /// Adds a handle, a second time if it is there already.
    pub(crate) fn add(&mut self, key: usize, value: V) {
        if self.count * 2 >= self.places.len() {
            self.grow();
        }
        let mut at = self.home(key);
        while let Some(Some(_)) = self.places.get(at) {
            at = (at + 1) & self.mask();
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = Some((key, value));
            self.count += 1;
        }
    }

    /// Sets the value of a handle, in place of an older one.
    pub(crate) fn set(&mut self, key: usize, value: V) {
        match self.get_mut(key) {
            Some(known) => *known = value,
            None => self.add(key, value),
        }
    }

    /// Removes a handle and returns its value.
    pub(crate) fn take(&mut self, key: usize) -> Option<V> {
        let mut hole = self.find(key)?;
        let taken = self.places.get_mut(hole)?.take()?.1;
        self.count -= 1;
        // Entries behind it move up, unless they are at their own position.
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask();
            let Some(Some((next, _))) = self.places.get(at) else { return Some(taken) };
            let home = self.home(*next);
            let reaches = at.wrapping_sub(home) & self.mask();
            let distance = at.wrapping_sub(hole) & self.mask();
            if reaches >= distance {
                self.places.swap(at, hole);
                hole = at;
            }
        }
    }

    fn grow(&mut self) {
        let larger = (self.places.len() * 2).max(64);
        let before = std::mem::replace(&mut self.places, vec![None; larger]);
        self.count = 0;
        for (key, value) in before.into_iter().flatten() {
            self.add(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn as_a_map_does() {
        let (mut map, mut expected) = (Map::new(), HashMap::new());
        let mut random = 1_u64;
        for step in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 33) as usize % 300 * 16;
            match random >> 60 {
                0..8 => {
                    map.set(key, step);
                    expected.insert(key, step);
                }
                8..12 => assert_eq!(map.take(key), expected.remove(&key)),
                _ => assert_eq!(map.get(key), expected.get(&key).copied()),
            }
        }
        assert_eq!(map.count, expected.len());
    }

    #[test]
    fn a_handle_may_be_there_twice() {
        let mut map = Map::new();
        map.add(7, 1);
        map.add(7, 2);
        let mut both = [map.take(7), map.take(7)];
        both.sort_unstable();
        assert_eq!(both, [Some(1), Some(2)]);
        assert_eq!(map.take(7), None);
    }
}
