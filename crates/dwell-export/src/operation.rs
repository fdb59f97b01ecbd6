//! Operations of a location: puts, gets, atomics, locks and messages.

/// Kind of an operation at one location. A message is two operations: one at its sender, one at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Put,
    Get,
    Atomic,
    Lock,
    Send,
    Receive,
}

impl OperationKind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Put, Self::Get, Self::Atomic, Self::Lock, Self::Send, Self::Receive];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Atomic => "atomic",
            Self::Lock => "lock",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

/// Window of an operation, or the channel and number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Window(u32),
    /// Communicator, tag, and number of the message among those with the same sender, receiver, communicator and tag.
    Message {
        communicator: u32,
        tag: u32,
        number: Option<u64>,
    },
}

/// An operation. Times are those of the clock of the trace in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: OperationKind,
    pub(crate) location: u32,
    /// First location of the other process.
    pub(crate) partner: Option<u32>,
    /// Call path of the report.
    pub(crate) call_path: Option<u32>,
    pub(crate) bytes: u64,
    pub(crate) begin: u64,
    pub(crate) completion: Option<u64>,
    /// Bounds of the wait for the partner.
    pub(crate) wait: (u64, u64),
    pub(crate) space: Space,
}
