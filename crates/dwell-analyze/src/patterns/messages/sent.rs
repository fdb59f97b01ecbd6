//! Sends, receives and posts of messages, and of events that are matched like messages.

use dwell_log::quantity::Quantity;
use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::time::Time;
use otf2::id::RmaWinRef;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::exchange::outboxes;
use crate::engine::message::Message;
use crate::protocol::nonblocking::LastToBegin;

outboxes! {
    /// Messages to the receivers of messages.
    Sending => Arrived {
        sends: Sent;
    }
}

outboxes! {
    /// Messages back to the senders of messages.
    Replying => Replied {
        ready: Ready;
    }
}

/// Kind of a message. Messages of different kinds are never matched with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Channel {
    /// Two-sided messages on a communicator.
    Messages(ContextNumber),
    /// Notifications.
    Notifications(RmaWinRef),
    /// Synchronisation between partners.
    Partners(RmaWinRef),
    /// Posts of exposure epochs, for the start of an access epoch that waits for them.
    Posts(RmaWinRef),
    /// Posts of exposure epochs, for the end of an access epoch that waits for them.
    LaterPosts(RmaWinRef),
    /// Ends of access epochs.
    Completes(RmaWinRef),
    /// Non-blocking collectives, with the process that began last.
    Collectives,
}

/// Channel, partner and tag.
pub(super) type Key = (Channel, ProcessNumber, u32);

/// A send, with the data that the receiver needs to match it with a receive and to compute how long the receive waited.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(super) receiver: ProcessNumber,
    pub(super) sender: ProcessNumber,
    /// Location of the sender.
    pub(super) location: LocationNumber,
    pub(super) channel: Channel,
    pub(super) tag: u32,
    /// Enter of the call that sent the message.
    pub(super) begin: Time,
    /// Time of the record.
    pub(super) time: Time,
    /// Sequence number of the send in its process.
    pub(super) serial: u64,
    /// True if the sender may have waited for the receiver.
    pub(super) blocking: bool,
    /// For the end of an access epoch, the end of its last operation on the receiver.
    pub(super) touched: Time,
    /// Number of messages with the same key that were sent before this one since the last, and not recorded.
    pub(super) skipped: u64,
}

impl Message for Sent {}

impl Sent {
    pub(super) fn key(&self) -> Key {
        // A collective is identified by its number; the waiting process does not know which member began last.
        let sender = match self.channel {
            Channel::Collectives => ProcessNumber::UNKNOWN,
            _ => self.sender,
        };
        (self.channel, sender, self.tag)
    }
}

/// The last process to begin a non-blocking collective counts as the sender of a message to each member.
impl From<LastToBegin> for Sent {
    fn from(message: LastToBegin) -> Self {
        let LastToBegin { member, number, last, location, began } = message;
        Self {
            receiver: member,
            sender: last,
            location,
            channel: Channel::Collectives,
            tag: number,
            begin: began,
            time: Time::BEGIN,
            serial: 0,
            blocking: false,
            touched: Time::BEGIN,
            skipped: 0,
        }
    }
}

/// Tells a sender when the receiver was ready.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(super) sender: ProcessNumber,
    pub(super) receiver: ProcessNumber,
    /// Location of the receiver.
    pub(super) location: LocationNumber,
    pub(super) serial: u64,
    pub(super) posted: Time,
}

impl Message for Ready {}

/// A message received inside a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    pub(super) sender: ProcessNumber,
    pub(super) channel: Channel,
    pub(super) tag: u32,
    pub(super) bytes: u64,
    /// Enter of the call that posted the receive.
    pub(super) posted: Time,
    /// Quantity that a wait for this message is booked as.
    pub(super) what: Quantity,
    /// Number of messages with the same key that were received before this one since the last, and not recorded.
    pub(super) skipped: u64,
    /// The probe that found the message.
    pub(super) probe: Option<Probe>,
    pub(super) polled: Option<Polled>,
}

/// The polling loop whose last probe came right before a receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polled {
    /// Number of the loop.
    pub(super) number: u32,
    /// End of the probe. A message that was sent later is not the one that the probe found.
    pub(super) leave: Time,
}

/// A call that waited until a message arrived, and did not receive it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) location: LocationNumber,
    pub(super) account: Account,
    pub(super) enter: Time,
    pub(super) leave: Time,
}

/// A receive that was posted and is not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    /// Enter of the call that posted the receive.
    pub(super) enter: Time,
    pub(super) probe: Option<Probe>,
    pub(super) polled: Option<Polled>,
}

/// A message that an open call sent, or that a later call completes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    /// Sequence number of the send in its process.
    pub(super) serial: u64,
    /// Enter of the call that sent the message.
    pub(super) begin: Time,
    pub(super) bytes: u64,
}

/// Size in bytes up to which libraries may buffer messages, so that a send need not wait for its receive. No library
/// that Dwell was tested with buffers larger messages by default.
pub(super) const MOST_KEPT: u64 = 256 * 1024;
