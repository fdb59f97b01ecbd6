//! Records of GASNet that no layer over MPI has: operations that are completed by kind, and active messages.
//!
//! `gex_NBI_Wait` waits for all operations of some kinds that have no event: gets, puts, or atomic operations, on whatever
//! team. Between `gex_NBI_BeginAccessRegion` and `gex_NBI_EndAccessRegion` such operations belong to the event that the
//! latter returns. As with MPI, outstanding operations on one window and target share a number.

use dwell_model::operation::Operation;
use dwell_unify::definitions::attribute;
use otf2::enums::RmaSyncType;
use otf2::event::RmaSync;
use otf2::id::{MatchingId, RmaWinRef};

use super::comms::Window;
use super::recorder::Transfer;
use super::requests::{Request, Requests, What};
use crate::recorder::Recorder;

/// Kinds of operations that a call can wait for, as bits. A call that waits for several kinds at once combines them with
/// [`and`](Self::and).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u32);

/// Place of the kind in the number of a window, by which outstanding operations are looked up. Windows never have
/// numbers that large.
const SHIFT: u32 = 28;

impl Kinds {
    /// No kind at all, for a call that waits for nothing.
    pub const NONE: Self = Self(0);
    /// Gets, also those of vectors and strided sections, which `gex_NBI_Wait` waits for if it is asked for gets or for all
    /// kinds.
    pub const GETS: Self = Self(1);
    /// Puts, also those of vectors and strided sections. Their data are at the target once a call has waited for this
    /// kind.
    pub const PUTS: Self = Self(2);
    /// Atomic operations, with or without a result. GASNet calls this kind read-modify-write, and waits for it apart from
    /// puts.
    pub const ATOMICS: Self = Self(4);
    /// Operations of any kind inside an access region.
    const REGION: Self = Self(8);

    /// Returns the kind of an operation.
    fn of(operation: Operation) -> Self {
        match operation {
            Operation::Get => Self::GETS,
            Operation::Atomic(_) => Self::ATOMICS,
            _ => Self::PUTS,
        }
    }

    /// Returns the kinds of both, for a call that waits for more than one kind. The order of the two does not matter.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn key(self, window: RmaWinRef) -> RmaWinRef {
        RmaWinRef(window.0 & ((1 << SHIFT) - 1) | self.0 << SHIFT)
    }
}

impl Recorder {
    /// Records an operation that a later call completes with all others of its kind, or an event if an access region
    /// is open.
    pub fn start_implicit(&mut self, operation: Operation, it: &Transfer) {
        let own = &mut self.thread.mpi;
        let kind = if own.in_region { Kinds::REGION } else { Kinds::of(operation) };
        let id = own.shared(kind.key(it.window.number), it.target);
        self.write_access(operation, &it.access(id));
    }

    /// Records that all operations of these kinds are complete at their targets, on all windows. Operations with an event of
    /// their own, and those of an access region, are not among them.
    pub fn completed_kinds(&mut self, kinds: Kinds) {
        while let Some((window, id)) = self.take_implicit(kinds) {
            self.write_completed_later(window, id);
            self.write_completed_at_target(window, id);
        }
    }

    /// Records that an operation is complete at its origin and its target in the call that started it, as every blocking
    /// operation of GASNet is when its call returns.
    pub fn completed_own(&mut self, window: &Window, id: MatchingId) {
        let win = window.number;
        self.write_completed_in_call(win, id);
        self.write_completed_at_target(win, id);
    }

    /// Begins an access region: operations without an event that follow belong to the event of its end, whatever their
    /// kind. Regions do not nest.
    pub fn begin_region(&mut self) {
        self.thread.mpi.in_region = true;
    }

    /// Ends an access region, whose operations are complete when `event` is.
    pub fn end_region(&mut self, event: Option<usize>) {
        self.thread.mpi.in_region = false;
        let Some(event) = event else { return self.completed_kinds(Kinds::REGION) };
        while let Some((window, id)) = self.take_implicit(Kinds::REGION) {
            Requests::add(event, Request::started(What::Implicit { window }, id.0), true);
        }
    }

    /// Removes operations of these kinds that share a number: the number of their window, and theirs.
    fn take_implicit(&mut self, kinds: Kinds) -> Option<(RmaWinRef, MatchingId)> {
        let (key, id) = self.thread.mpi.pending.take(|key| key.0 >> SHIFT & kinds.0 != 0)?;
        Some((RmaWinRef(key.0 & ((1 << SHIFT) - 1)), id))
    }

    /// Records that the call sends an active message to the process `target`, with a checksum that the record of its
    /// handler has too. If it has a payload, the payload is recorded as a put.
    pub fn send_active(&mut self, it: &Transfer, checksum: u64) {
        if it.bytes > 0 {
            let id = MatchingId(self.number());
            self.write_put(&it.access(id));
            self.write_completed_in_call(it.window.number, id);
        }
        let (win, remote) = (it.window.number, it.target);
        let event = RmaSync { win, remote, sync_type: RmaSyncType::NotifyOut };
        self.write_with(attribute::ACTIVE_MESSAGE, checksum, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_kinds_are_told_apart() {
        let keys: Vec<u32> = [Kinds::GETS, Kinds::PUTS, Kinds::ATOMICS, Kinds::REGION]
            .into_iter()
            .flat_map(|kind| [0, 1, 77].map(|window| kind.key(RmaWinRef(window)).0))
            .collect();
        let mut different = keys.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), keys.len());
        assert_eq!(Kinds::of(Operation::Get), Kinds::GETS);
    }
}
