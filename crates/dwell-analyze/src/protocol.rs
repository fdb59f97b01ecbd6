//! Messages that patterns send to each other.
//!
//! Some waits need two patterns: contention for a lock has to be subtracted from a wait for progress, and the call that
//! completes a non-blocking collective may complete messages as well. Patterns do not import each other, so the types of
//! these messages are here. The engine delivers them through [`Protocol`] and does not import this module.

pub(crate) mod locks;
pub(crate) mod nonblocking;
pub(crate) mod progress_wait;

use crate::engine::exchange::{self, Protocol, outboxes};
use crate::protocol::locks::{Cut, LockedCall};
use crate::protocol::nonblocking::LastToBegin;
use crate::protocol::progress_wait::Waited;

outboxes! {
    /// Questions that one pattern sends and another answers.
    Questions => Asked {
        cuts: Cut;
    }
}

outboxes! {
    /// Answers that one pattern sends to another.
    Answers => Answered {
        waited: Waited, pooled;
        begun: LastToBegin;
    }
}

/// The messages of all patterns.
#[derive(Debug)]
pub(crate) struct Messages;

impl Protocol for Messages {
    type Questions = Questions;
    type Answers = Answers;
    type Locked = LockedCall;
}

/// Outboxes of a pattern while events are read.
pub(crate) type Asking<'a, Q> = exchange::Asking<'a, Q, Questions>;

/// Outboxes of a pattern while questions are answered.
pub(crate) type Answering<'a, A> = exchange::Answering<'a, A, Answers>;

/// A call that has ended.
pub(crate) type EndedCall = crate::engine::call::EndedCall<LockedCall>;
