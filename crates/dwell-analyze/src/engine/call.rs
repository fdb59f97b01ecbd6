//! Calls at which waits are judged, as patterns see them.

use dwell_log::class::Class;
use dwell_model::layer::Layer;
use dwell_model::operation::Operation;
use dwell_trace::ids::{LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use otf2::id::RmaWinRef;
use otf2::{Attribute, List};

use crate::engine::accounts::Account;
use crate::engine::location::Frame;
use crate::engine::matrix::Kind;
use crate::engine::outstanding::Done;

/// An operation that the open call issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issued<'a> {
    pub(crate) kind: Kind,
    pub(crate) layer: Option<Layer>,
    pub(crate) window: RmaWinRef,
    pub(crate) target: ProcessNumber,
    /// Bytes that the operation sent.
    pub(crate) sent: u64,
    /// Call around the operation.
    pub(crate) frame: Frame,
    pub(crate) attributes: List<'a, Attribute>,
}

/// A call that issued and completed one operation, or completed one of an earlier call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedCall {
    pub(crate) process: ProcessNumber,
    pub(crate) location: LocationNumber,
    pub(crate) account: Account,
    pub(crate) enter: Time,
    pub(crate) leave: Time,
    pub(crate) target: ProcessNumber,
    /// Enter of the call that issued the operation.
    pub(crate) start: Time,
    pub(crate) class: Class,
    /// True if the call completes earlier operations.
    pub(crate) completes: bool,
}

/// A call that has ended. `L` describes a lock that it waited for.
#[derive(Debug)]
pub(crate) struct EndedCall<L> {
    pub(crate) frame: Frame,
    pub(crate) layer: Option<Layer>,
    pub(crate) operation: Option<Operation>,
    pub(crate) location: LocationNumber,
    pub(crate) account: Account,
    pub(crate) enter: Time,
    pub(crate) leave: Time,
    /// Operations that the call completed and that no pattern has taken yet.
    pub(crate) done: Vec<Done>,
    /// Operations that the call completed at their origin, if it completed none at their targets.
    pub(crate) at_origin: Vec<Done>,
    /// True if the call waited for something else first, so that `done` does not explain it.
    pub(crate) claimed: bool,
    /// Locks that the call waited for.
    pub(crate) locked: Vec<L>,
}
