//! Calls that complete operations at their targets and have none to complete.
//!
//! Most libraries return at once. Some ask all processes of the window whether everything has arrived, as a component of
//! Open MPI does in `MPI_Win_flush_all`, and wait until each of them has entered the library. No record says so, and the
//! call has no record of its window. So a long call of this kind asks every process that it may have waited for, and is a
//! wait only if such calls end with the arrivals of others.

use std::collections::BTreeSet;

use dwell_log::class::Class;
use dwell_model::layer::{Layer, Ranks};
use dwell_model::operation::Operation;
use dwell_trace::ids::ProcessNumber;
use dwell_trace::locks::{LockKey, LockOwner};
use dwell_trace::roles::{Role, Traits};
use dwell_trace::system::Context;

use crate::engine::event::{Event, EventKind};
use crate::engine::location_context::LocationContext;
use crate::engine::outstanding::{Done, Known, SHORTEST_EMPTY};
use crate::protocol::EndedCall;

/// Returns `true` for calls that complete operations at their targets and wait for no member of a group. OpenSHMEM is left
/// out: its quiet returns at once if there is nothing to complete.
pub(super) fn completes(role: &Role) -> bool {
    role.meaning.is_some_and(|it| {
        it.operation == Operation::CompleteRemote && it.layer.ranks() == Ranks::Communicators
    })
}

/// Returns `true` for a long call that may have completed operations and completed none.
#[inline]
pub(super) fn is_long(call: &EndedCall) -> bool {
    call.leave - call.enter >= SHORTEST_EMPTY
        && call.operation == Some(Operation::CompleteRemote)
        && call.done.is_empty()
        && call.locked.is_empty()
        && !call.frame.traits.has(Traits::TOGETHER)
        && call.layer.is_some_and(|it| it.ranks() == Ranks::Communicators)
}

/// Locks on windows that a process holds. Under these it may complete operations of MPI.
#[derive(Debug, Default)]
pub(super) struct Access {
    locks: BTreeSet<LockKey>,
}

impl Access {
    pub(super) fn note(&mut self, here: &LocationContext<'_>, event: &Event<'_>) {
        match event.kind {
            EventKind::LockRequested { key, .. } if here.judged_call().is_some() => {
                self.locks.insert(key);
            }
            EventKind::LockReleased { key } => {
                self.locks.remove(&key);
            }
            _ => {}
        }
    }

    /// Returns the processes that a long call without operations may have waited for.
    pub(super) fn members(&self, here: &LocationContext<'_>, call: &EndedCall) -> Vec<Done> {
        let system = &here.world.system;
        let mut members: BTreeSet<ProcessNumber> = BTreeSet::new();
        if !is_long(call) {
            return Vec::new();
        }
        if call.layer.is_some_and(Layer::has_messages) {
            for key in &self.locks {
                match key.owner {
                    LockOwner::Process(owner) => members.extend([owner]),
                    LockOwner::All => {
                        let context = system.window(key.window).and_then(|it| system.context(it.0));
                        members.extend(context.into_iter().flat_map(Context::processes));
                    }
                }
            }
        } else {
            members.extend((0..system.processes.len() as u32).map(ProcessNumber));
        }
        members.remove(&here.process.index);
        let (class, known) = (Class::empty(call.layer), Known::default());
        let asked = |target| Done { target, start: call.enter, class, bytes: 0, known };
        members.into_iter().map(asked).collect()
    }
}
