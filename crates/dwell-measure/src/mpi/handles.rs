//! Handles of non-blocking operations of layers over MPI, and the operations that they stand for.

use otf2::id::{MatchingId, Rank, RmaWinRef};

/// Operations that a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A window and the number of one operation.
    Operation(RmaWinRef, MatchingId),
    /// A window and a target: all operations that are outstanding there.
    Target(RmaWinRef, Rank),
}

/// Handles of a thread with operations in progress; a handle may have several.
#[derive(Debug)]
pub(super) struct Handles {
    places: [(usize, Held); 64],
}

impl Handles {
    const FREE: (usize, Held) = (0, Held::Target(RmaWinRef(0), Rank(0)));

    pub(super) const fn new() -> Self {
        Self { places: [Self::FREE; 64] }
    }

    /// Adds an operation to a handle. Returns `false` if there is no room for it.
    pub(super) fn add(&mut self, handle: usize, window: RmaWinRef, id: MatchingId) -> bool {
        self.put(handle, Held::Operation(window, id))
    }

    /// Adds all operations that are outstanding at a target to a handle.
    pub(super) fn add_target(&mut self, handle: usize, window: RmaWinRef, target: Rank) {
        let new = (handle, Held::Target(window, target));
        if !self.places.contains(&new) {
            self.put(handle, new.1);
        }
    }

    fn put(&mut self, handle: usize, held: Held) -> bool {
        let free = self.places.iter_mut().find(|place| place.0 == 0);
        free.map(|place| *place = (handle, held)).is_some()
    }

    /// Removes and returns one entry of a handle.
    pub(super) fn take(&mut self, handle: usize) -> Option<Held> {
        let place = self.places.iter_mut().find(|place| place.0 == handle && handle != 0)?;
        Some(std::mem::replace(place, Self::FREE).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: RmaWinRef = RmaWinRef(1);

    #[test]
    fn a_handle_may_stand_for_several() {
        let mut handles = Handles::new();
        assert!(
            handles.add(8, ONE, MatchingId(100))
                && handles.add(8, ONE, MatchingId(101))
                && handles.add(16, ONE, MatchingId(102))
        );
        handles.add_target(16, ONE, Rank(3));
        handles.add_target(16, ONE, Rank(3));
        assert_eq!(handles.take(8), Some(Held::Operation(ONE, MatchingId(100))));
        assert_eq!(handles.take(8), Some(Held::Operation(ONE, MatchingId(101))));
        assert_eq!(handles.take(8), None);
        assert_eq!(handles.take(16), Some(Held::Operation(ONE, MatchingId(102))));
        assert_eq!(handles.take(16), Some(Held::Target(ONE, Rank(3))));
        assert_eq!(handles.take(16), None);
        assert!(
            (0..64).all(|id| handles.add(24, ONE, MatchingId(id)))
                && !handles.add(24, ONE, MatchingId(64))
        );
    }
}
