//! One-sided operations that are not complete.
//!
//! Operations of a thread on one window and target share a number until they are complete, as other tools
//! have it: a flush then is one record, however many operations it completes.

use otf2::id::{MatchingId, Rank, RmaWinRef};

use crate::modulo::Modulo;

/// Extent to which operations on a window are complete. `MPI_Win_flush_local` gives the first and `MPI_Win_flush` the
/// second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The operations are complete at the origin: their buffers may be used again.
    Local,
    /// The operations are complete at the targets as well.
    Remote,
}

/// Operations on one window and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) window: RmaWinRef,
    pub(super) target: Rank,
    pub(super) id: MatchingId,
    /// Set if some of the operations may not be complete at the origin.
    local: bool,
}

/// All operations of a thread that are not complete.
#[derive(Debug, Default)]
pub(super) struct Pending {
    list: Vec<Entry>,
    /// Positions where targets were found last.
    near: [u16; 32],
}

impl Pending {
    /// Returns `true` if all operations are complete.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number for an operation on a window and target: that of others outstanding there, or `new`.
    #[inline]
    pub(super) fn add(
        &mut self,
        window: RmaWinRef,
        target: Rank,
        new: impl FnOnce() -> MatchingId,
    ) -> MatchingId {
        let near = self.near.modulo_mut((window.0 ^ target.0) as usize);
        let is = |entry: &Entry| entry.window == window && entry.target == target;
        if let Some(entry) = self.list.get_mut(usize::from(*near)).filter(|entry| is(entry)) {
            entry.local = true;
            return entry.id;
        }
        if let Some((at, entry)) = (0..).zip(&mut self.list).find(|(_, entry)| is(entry)) {
            *near = at;
            entry.local = true;
            return entry.id;
        }
        *near = self.list.len() as u16;
        let id = new();
        self.list.push(Entry { window, target, id, local: true });
        id
    }

    /// Returns the number for an operation that is complete at the origin when its call returns: that of others
    /// outstanding there, if these are complete at the origin too, or `new`.
    pub(super) fn add_complete(
        &mut self,
        window: RmaWinRef,
        target: Rank,
        new: impl FnOnce() -> MatchingId,
    ) -> MatchingId {
        let is = |entry: &&Entry| entry.window == window && entry.target == target;
        match self.list.iter().find(is) {
            Some(entry) if entry.local => new(),
            Some(entry) => entry.id,
            None => {
                let id = new();
                self.list.push(Entry { window, target, id, local: false });
                id
            }
        }
    }

    /// Completes operations on a window, for one target or for all, from the entry at `at` on. Returns the number of the
    /// next outstanding operations, and `true` if they were outstanding at the origin too. Operations that are complete
    /// at the origin only stay in the list.
    #[inline]
    pub(super) fn complete(
        &mut self,
        at: &mut usize,
        window: RmaWinRef,
        target: Option<Rank>,
        how: Completion,
    ) -> Option<(MatchingId, bool)> {
        loop {
            let entry = self.list.get_mut(*at)?;
            if entry.window != window || target.is_some_and(|target| target != entry.target) {
                *at += 1;
                continue;
            }
            let (id, local) = (entry.id, std::mem::take(&mut entry.local));
            if how == Completion::Remote {
                self.list.swap_remove(*at);
                return Some((id, local));
            }
            *at += 1;
            if local {
                return Some((id, local));
            }
        }
    }

    /// Removes operations on a window that `is` selects by the number of the window. Returns that number and theirs.
    pub(super) fn take(
        &mut self,
        is: impl Fn(RmaWinRef) -> bool,
    ) -> Option<(RmaWinRef, MatchingId)> {
        let at = self.list.iter().position(|entry| is(entry.window))?;
        let entry = self.list.swap_remove(at);
        Some((entry.window, entry.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(pending: &mut Pending, target: Option<u32>, how: Completion) -> Vec<(u64, bool)> {
        let (mut list, mut at) = (Vec::new(), 0);
        let target = target.map(Rank);
        while let Some((id, local)) = pending.complete(&mut at, RmaWinRef(1), target, how) {
            list.push((id.0, local));
        }
        list.sort_unstable();
        list
    }

    #[test]
    fn a_number_for_each_target_until_it_is_complete() {
        let mut pending = Pending::default();
        let mut next = 10..;
        let mut add = |pending: &mut Pending, window, target| {
            let new = || MatchingId(next.next().unwrap_or(0));
            pending.add(RmaWinRef(window), Rank(target), new).0
        };
        assert_eq!([add(&mut pending, 1, 0), add(&mut pending, 1, 5)], [10, 11]);
        assert_eq!([add(&mut pending, 1, 0), add(&mut pending, 2, 0)], [10, 12]);
        assert_eq!(completed(&mut pending, Some(5), Completion::Remote), [(11, true)]);
        assert_eq!(add(&mut pending, 1, 5), 13);
        assert_eq!(completed(&mut pending, None, Completion::Local), [(10, true), (13, true)]);
        assert_eq!(completed(&mut pending, None, Completion::Local), []);
        assert_eq!(completed(&mut pending, None, Completion::Remote), [(10, false), (13, false)]);
        assert_eq!(completed(&mut pending, None, Completion::Remote), []);
        assert_eq!(add(&mut pending, 2, 0), 12);
    }
}
