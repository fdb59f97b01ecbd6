//! State of the MPI recorder that each thread has for itself.

use otf2::id::{MatchingId, Rank, RmaWinRef};

use super::comms::{Comm, Near, Window};
use super::handles::Handles;
use super::pending::Pending;

/// State of the MPI recorder that each thread has for itself.
pub(crate) struct ThreadState {
    pub(super) comms: Near<Comm>,
    pub(super) windows: Near<Window>,
    pub(super) pending: Pending,
    /// Operations of layers above that a later call completes by its handle.
    pub(super) handles: Handles,
    /// The next number of a request or operation. Numbers of different threads differ: a request may be
    /// completed by another thread than started it.
    pub(super) next: u64,
    /// Set while an access region of GASNet is open.
    pub(super) in_region: bool,
}

impl ThreadState {
    pub(crate) fn new(thread: u32) -> Self {
        Self {
            comms: Near::new(),
            windows: Near::new(),
            pending: Pending::default(),
            handles: Handles::new(),
            next: u64::from(thread) << 40,
            in_region: false,
        }
    }

    /// Returns `true` if this thread has operations that are not complete.
    pub(crate) fn has_outstanding(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns a new number for a request or operation.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Returns a new number for a one-sided operation.
    pub(super) fn operation(&mut self) -> MatchingId {
        MatchingId(self.number())
    }

    /// Returns the number of an operation that shares it with others outstanding on the same window and target.
    #[inline(always)]
    pub(super) fn shared(&mut self, window: RmaWinRef, target: Rank) -> MatchingId {
        let next = &mut self.next;
        self.pending.add(window, target, || {
            *next += 1;
            MatchingId(*next - 1)
        })
    }

    /// Returns the number of an operation that is complete at the origin when its call returns.
    pub(super) fn shared_if_complete(&mut self, window: RmaWinRef, target: Rank) -> MatchingId {
        let next = &mut self.next;
        self.pending.add_complete(window, target, || {
            *next += 1;
            MatchingId(*next - 1)
        })
    }
}
