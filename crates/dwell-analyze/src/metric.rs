//! What is booked on a call path at a location: waits, counts and volumes.

/// Something that is summed up. Waits are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Quantity {
    /// Put operations.
    Puts,
    /// Get operations.
    Gets,
    /// Atomic operations.
    Atomics,
    /// Bytes that puts and atomics sent.
    BytesPut,
    /// Bytes that gets and atomics fetched.
    BytesGet,
    /// Messages sent.
    Sends,
    /// Messages received.
    Receives,
    /// Bytes of messages sent.
    BytesSent,
    /// Bytes of messages received.
    BytesReceived,
    /// Collective operations.
    Collectives,
    /// Waits for one target to enter a call that progresses: no less than this.
    ProgressLow,
    /// By how much the upper bound of that is higher.
    ProgressMargin,
    /// Time that looks like it, of classes of operations that were seen to need no target.
    ProgressUnconfirmed,
    /// The part of the upper bound that no end of an operation with an arrival of its target supports.
    ProgressByRule,
    /// Waits for several targets: no less than this.
    ProgressMultiLow,
    /// By how much the upper bound of that is higher.
    ProgressMultiMargin,
    /// Time that looks like it, of classes of operations that were seen to need no target.
    ProgressMultiUnconfirmed,
    /// Waits for a lock that others held.
    LockContention,
    /// The part of these where it was not recorded when a lock was obtained.
    LockContentionInferred,
    /// Waits for a signal that was raised later.
    LateSignal,
    /// The part of these where the address was not recorded.
    LateSignalInferred,
    /// Waits for the last of several partners.
    LatePartner,
    /// Barriers: until the last has entered.
    BarrierWait,
    /// Barriers: from the first to end.
    BarrierCompletion,
    /// Collectives from all to all: until the last has entered.
    NxnWait,
    /// Collectives from all to all: from the first to end.
    NxnCompletion,
    /// Collectives from one to all: until the root has entered.
    LateBroadcast,
    /// Collectives from all to one: the root, until the last has entered.
    EarlyReduce,
    /// Collectives over those of lower rank: until the last of these has entered.
    EarlyScan,
    /// Making windows or shared memory: until the last has entered.
    WaitAtCreate,
    /// Freeing windows or shared memory: until the last has entered.
    WaitAtFree,
    /// Receives that began before the send.
    LateSender,
    /// The part of these during which another message was there already.
    LateSenderWrongOrder,
    /// Sends that waited for the receive.
    LateReceiver,
    /// Fences: until the last has entered.
    WaitAtFence,
    /// Access epochs that waited for the target to expose its window.
    LatePost,
    /// Exposure epochs that waited for the origins.
    EarlyWait,
    /// The part of waits at fences during which operations of others had yet to end.
    EarlyFence,
    /// The part of early waits after the last operation of the origin that came last.
    LateComplete,
    /// Calls that complete collectives which do not block: until the last has begun them.
    NonBlockingWait,
    /// Collectives that were judged without some of their members: how many.
    PartialCollectives,
    /// Calls that test one after the other: how many.
    PollingCalls,
    /// Nanoseconds from the first of these to the last. Not a wait: the process computes.
    PollingTime,
    /// Time of calls beyond their waits, as long as calls take that nothing holds up.
    Transfer,
    /// Time of calls beyond waits and transfer.
    Unexplained,
    /// The part of it that belongs to calls of which there are too few to say how long they take.
    TooFew,
}

use Quantity as Q;

impl Quantity {
    /// Every quantity, in order.
    pub const ALL: &'static [Self] = &[
        Q::Puts,
        Q::Gets,
        Q::Atomics,
        Q::BytesPut,
        Q::BytesGet,
        Q::Sends,
        Q::Receives,
        Q::BytesSent,
        Q::BytesReceived,
        Q::Collectives,
        Q::ProgressLow,
        Q::ProgressMargin,
        Q::ProgressUnconfirmed,
        Q::ProgressByRule,
        Q::ProgressMultiLow,
        Q::ProgressMultiMargin,
        Q::ProgressMultiUnconfirmed,
        Q::LockContention,
        Q::LockContentionInferred,
        Q::LateSignal,
        Q::LateSignalInferred,
        Q::LatePartner,
        Q::BarrierWait,
        Q::BarrierCompletion,
        Q::NxnWait,
        Q::NxnCompletion,
        Q::LateBroadcast,
        Q::EarlyReduce,
        Q::EarlyScan,
        Q::WaitAtCreate,
        Q::WaitAtFree,
        Q::LateSender,
        Q::LateSenderWrongOrder,
        Q::LateReceiver,
        Q::WaitAtFence,
        Q::LatePost,
        Q::EarlyWait,
        Q::EarlyFence,
        Q::LateComplete,
        Q::NonBlockingWait,
        Q::PartialCollectives,
        Q::PollingCalls,
        Q::PollingTime,
        Q::Transfer,
        Q::Unexplained,
        Q::TooFew,
    ];

    /// Waits that exclude each other, each with the quantity by which its upper bound is higher. Other quantities are
    /// counts, bounds, and parts of these.
    pub const WAITS: &'static [(Self, Option<Self>)] = &[
        (Q::ProgressLow, Some(Q::ProgressMargin)),
        (Q::ProgressMultiLow, Some(Q::ProgressMultiMargin)),
        (Q::LockContention, None),
        (Q::LateSignal, None),
        (Q::LatePartner, None),
        (Q::BarrierWait, None),
        (Q::BarrierCompletion, None),
        (Q::NxnWait, None),
        (Q::NxnCompletion, None),
        (Q::LateBroadcast, None),
        (Q::EarlyReduce, None),
        (Q::EarlyScan, None),
        (Q::WaitAtCreate, None),
        (Q::WaitAtFree, None),
        (Q::LateSender, None),
        (Q::LateReceiver, None),
        (Q::WaitAtFence, None),
        (Q::LatePost, None),
        (Q::EarlyWait, None),
        (Q::NonBlockingWait, None),
    ];

    /// Names of its metrics in the report, without the prefix of a layer; none for counts and bounds.
    pub fn metrics(self) -> Vec<&'static str> {
        crate::report::names_of(self)
    }

    /// The id of the pattern that a finding about it has; `None` for counts and for bounds.
    pub fn pattern(self) -> Option<&'static str> {
        Some(match self {
            Q::ProgressLow => "wait_for_progress",
            Q::ProgressMultiLow => "wait_for_progress_multi",
            Q::LockContention => "lock_contention",
            Q::LateSignal => "late_signal",
            Q::LatePartner => "late_partner",
            Q::BarrierWait => "barrier_wait",
            Q::BarrierCompletion => "barrier_completion",
            Q::NxnWait => "nxn_wait",
            Q::NxnCompletion => "nxn_completion",
            Q::LateBroadcast => "late_broadcast",
            Q::EarlyReduce => "early_reduce",
            Q::EarlyScan => "early_scan",
            Q::WaitAtCreate => "wait_at_create",
            Q::WaitAtFree => "wait_at_free",
            Q::LateSender => "late_sender",
            Q::LateSenderWrongOrder => "late_sender_wrong_order",
            Q::LateReceiver => "late_receiver",
            Q::WaitAtFence => "wait_at_fence",
            Q::LatePost => "late_post",
            Q::EarlyWait => "early_wait",
            Q::EarlyFence => "early_fence",
            Q::LateComplete => "late_complete",
            Q::NonBlockingWait => "nonblocking_collective_wait",
            _ => return None,
        })
    }
}
