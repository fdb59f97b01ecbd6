//! Records of layers over MPI: coarrays and ARMCI.
//!
//! Their ranks are those of a communicator, so their windows are made from it, one for each layer, when an operation
//! first acts on it. Their collectives are counted with those of the communicator: all members call both in the same
//! order. Operations follow the rules of MPI (see [`dwell_model::archive`]): a record of completion is for the
//! operations of its number.

use std::sync::atomic::AtomicU32;

use dwell_model::layer::Layer;
use dwell_model::operation::{Collective, Operation};
use dwell_unify::facts::OVER_MPI;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaSyncLevel};
use otf2::id::{GroupRef, LockId, MatchingId, Rank};

use super::comms::{Comm, Window};
use super::handles::Held;
use super::pending::Completion;
use super::recorder::{Transfer, collective_op};
use crate::entry;
use crate::hook::{self, Hook, Role};
use crate::process::Process;
use crate::recorder::{Lock, LockRecord, Place, Recorder, WindowCollective};
use crate::thread::{Call, Found};
use crate::word::{Seen, Word};

impl Process {
    /// Returns the window of a layer on a communicator, and defines it when it is first asked for. There is one for
    /// each layer and communicator, and it is never freed.
    pub fn window_of_layer(&self, comm: &'static Comm, layer: Layer) -> &'static Window {
        comm.over_mpi.get_or_make(layer, || {
            let number = u64::from(OVER_MPI | layer as u32);
            Box::leak(Box::new(Window {
                number: self.define_comm_window(comm.number, number, layer.title()),
                comm,
                allocates: false,
                unit: 1,
                epochs: [const { AtomicU32::new(0) }; 2],
            }))
        })
    }
}

/// The end of a collective operation of a layer over MPI, for [`Recorder::layer_collective`]. The bytes that each
/// process sends and receives follow from it.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The operation that the call performs.
    pub operation: Operation,
    /// Rank of the root; `None` if the operation has no root.
    pub root: Option<u32>,
    /// Number of bytes that one member contributes.
    pub bytes: u64,
    /// Sequence number of this collective on its communicator, counted from 0.
    pub sequence: u64,
}

impl Recorder {
    /// Records an operation that is complete at the origin when its call returns. `place` is the offset at the target,
    /// if it matters. Returns the number of the operation.
    pub fn act(&mut self, operation: Operation, it: &Transfer, place: Option<u64>) -> MatchingId {
        let own = &mut self.thread.mpi;
        let returns = match operation {
            Operation::Get => true,
            Operation::Atomic(which) => which.fetches(),
            _ => false,
        };
        let id = if returns {
            own.operation()
        } else {
            own.shared_if_complete(it.window.number, it.target)
        };
        self.act_at(operation, it, place, id);
        id
    }

    /// Records an operation that a later call completes: the call that waits for its `handle`, or, if the handle is 0,
    /// any call that completes the operations on the target. `place` is the offset at the target, if it matters.
    pub fn start_act(
        &mut self,
        operation: Operation,
        it: &Transfer,
        place: Option<u64>,
        handle: usize,
    ) {
        let (window, number) = (it.window, it.window.number);
        let own = &mut self.thread.mpi;
        let is_get = operation == Operation::Get;
        let next = MatchingId(own.next);
        let held = handle != 0 && is_get && own.handles.add(handle, number, next);
        let id = if held {
            own.operation()
        } else {
            if handle != 0 {
                // A wait for the handle waits for all operations on this target.
                own.handles.add_target(handle, window.number, it.target);
            }
            own.shared(number, it.target)
        };
        self.act_at(operation, it, place, id);
    }

    fn act_at(&mut self, operation: Operation, it: &Transfer, place: Option<u64>, id: MatchingId) {
        match place {
            Some(offset) => self.write_access_at(operation, &it.access(id), Place::memory(offset)),
            None => self.write_access(operation, &it.access(id)),
        }
    }

    /// Records a put that notifies its target at the offset `signal` of its memory, and that is complete at the origin
    /// when its call returns. Returns the number of the operation.
    pub fn act_with_signal(&mut self, it: &Transfer, signal: u64) -> MatchingId {
        let id = self.thread.mpi.shared_if_complete(it.window.number, it.target);
        self.write_put_at(&it.access(id), Place::signal(signal));
        id
    }

    /// Records that the operation `id` is complete with the call that issued it, at its origin only or at its target as
    /// well. Completion at the target also completes earlier operations there.
    pub fn acted(&mut self, window: &Window, target: Rank, id: MatchingId, how: Completion) {
        self.write_completed_in_call(window.number, id);
        if how == Completion::Remote {
            self.write_completed_at_target(window.number, id);
            let (pending, mut at) = (&mut self.thread.mpi.pending, 0);
            while pending.complete(&mut at, window.number, Some(target), how).is_some() {}
        }
    }

    /// Records that a call has waited for a handle, and completes all operations of the handle. Writes nothing if the
    /// handle has none.
    pub fn waited(&mut self, window: &Window, handle: usize) {
        while let Some(held) = self.thread.mpi.handles.take(handle) {
            match held {
                Held::Operation(window, id) => {
                    self.write_completed_later(window, id);
                }
                Held::Target(_, target) => self.completed(window, Some(target), Completion::Local),
            }
        }
    }

    /// Records the end of a collective operation on the window of a layer. The call must have recorded its beginning
    /// with [`window_begin`](Self::window_begin), which returned its sequence number.
    pub fn layer_collective(&mut self, window: &Window, end: &End) {
        let End { operation, root, bytes, sequence } = *end;
        let size = u64::from(window.comm.size);
        let role = Role::of(window.comm.rank, root);
        let (op, sent, received) = match operation {
            Operation::Collective(Collective::AllReduce) if root.is_some() => {
                hook::collective(Collective::Reduce, bytes, size, role)
            }
            Operation::Collective(which) => {
                let (_, sent, received) = hook::collective(which, bytes, size, role);
                (collective_op(which), sent, received)
            }
            Operation::Allocate => (CollectiveOp::Allocate, 0, 0),
            Operation::Deallocate => (CollectiveOp::Deallocate, 0, 0),
            Operation::CreateGroup => (CollectiveOp::CreateHandle, 0, 0),
            Operation::DestroyGroup => (CollectiveOp::DestroyHandle, 0, 0),
            _ => (CollectiveOp::Barrier, 0, 0),
        };
        let it = WindowCollective {
            window: window.number,
            op,
            level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
            root: root.map_or(CollectiveRoot::None, CollectiveRoot::Rank),
            sent,
            received,
            sequence,
        };
        self.write_collective_end(&it);
        self.thread.process.sample_clock_now_and_then(self.time);
    }

    /// Records a request, acquisition, refusal or release of the lock with the number `lock` at the process `target`.
    pub fn layer_lock(&mut self, window: &Window, target: Rank, lock: u64, what: LockRecord) {
        let (window, id) = (window.number, LockId(lock));
        self.write_lock(&Lock { window, target, id, kind: LockType::Exclusive }, what);
    }

    /// Records that this process notifies the process `target` at the offset `place` of its memory, without a transfer
    /// of data.
    pub fn notify(&mut self, window: &Window, target: Rank, place: u64) {
        self.write_notification(window.number, target, place);
    }

    /// Records that a call begins to wait for a notification at the offset `place` of the memory of this process.
    pub fn wait_for(&mut self, window: &Window, place: u64) {
        self.write_wait(window.number, Some(place));
    }

    /// Records that this process and some others begin to wait for each other, as in `sync images`. Members are ranks of
    /// the world. Writes nothing if there is no room to define the group.
    pub fn synchronises(&mut self, window: &Window, members: &[u64]) {
        let Some(group) = self.thread.process.group_number(members) else { return };
        let level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
        self.write_group_sync(window.number, GroupRef(group), level);
    }
}

/// Calls that read or test a word, which programs make again and again until it has changed.
impl Recorder {
    /// Begins such a call as [`enter_again`](Self::enter_again) does. The call must be ended by [`end_read`](Self::end_read).
    /// Where a profile has every call by itself, it is not part of a region of several.
    pub fn enter_to_read(hook: &'static Hook, word: Word) -> Option<Self> {
        let mut recorder = Self::enter_again(hook, word)?;
        recorder.thread.stays_single_if_aside();
        Some(recorder)
    }

    /// Returns `true` if the open call continues the region of an earlier one, so that its operation has a record.
    pub fn is_repeated(&self) -> bool {
        self.thread.is_repeated()
    }

    /// Ends a call that [`enter_to_read`](Self::enter_to_read) began, and that has `seen` this. Its region continues if it has
    /// found nothing, whatever calls of the layer below were recorded inside it. `write` writes the records of its end if it is
    /// the first of its region, or if it has found a change.
    #[allow(clippy::needless_pass_by_value)] // A call is used up by its end.
    pub fn end_read(call: Call, seen: Seen, write: impl FnOnce(&mut Self, Found)) {
        let Some(thread) = call.retaken() else { return };
        let continues = entry::is_on() && thread.is_repeated();
        let thread = if continues { Some(thread) } else { call.resumed(thread) };
        let Some(mut recorder) = thread.map(Self::now) else { return };
        if !continues {
            write(&mut recorder, Found::Unknown);
            if !recorder.thread.may_be_followed(seen) {
                return recorder.leave();
            }
        } else if recorder.thread.finds(seen) {
            recorder.thread.end_inner();
            write(&mut recorder, Found::Change);
        }
        recorder.thread.overlooks_inner_calls();
        recorder.leave_again(seen);
    }

    /// Records that the calls of a region waited for a change of the word at `place` in the memory of the process `owner`.
    pub fn waited_for_change(&mut self, window: &Window, layer: Layer, owner: Rank, place: u64) {
        self.thread.write_change(self.time, (layer, window.number), (owner.0, place));
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::super::{Members, Origin};
    use super::*;
    use crate::process::tests::plan;

    #[test]
    fn every_layer_has_a_window_of_its_own() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let process = Process::prepare(&plan(folder.path()))?;
        let members = Members { local: vec![0, 1], remote: None, rank: 0 };
        let comm = process.add_comm(usize::MAX, Origin::UNKNOWN, &members, "").unwrap();
        let layers = [Layer::Caf, Layer::Armci, Layer::GlobalArrays];
        let numbers = layers.map(|layer| process.window_of_layer(comm, layer).number);
        let [first, second, third] = numbers;
        assert!(first != second && second != third && third != first, "{numbers:?}");
        assert_eq!(layers.map(|layer| process.window_of_layer(comm, layer).number), numbers);
        Ok(())
    }
}
