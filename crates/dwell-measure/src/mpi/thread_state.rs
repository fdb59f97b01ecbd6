//! State of the MPI recorder that each thread has for itself.

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

    /// Returns a new number for a request or operation.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}
