//! Channels of messages. On a channel, messages are received in the order in which they were sent, so that the third send
//! belongs to the third receive.

use std::collections::HashMap;

use otf2::id::CommRef;

use crate::ids::LocationNumber;
use crate::layout::Layout;
use crate::record::{Message, Record};

/// One end of a channel: direction, communicator, first locations of both processes, and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// True for the end that sends.
    pub is_send: bool,
    /// Communicator of the messages.
    pub communicator: CommRef,
    /// First location of the process that sends.
    pub sender: LocationNumber,
    /// First location of the process that receives.
    pub receiver: LocationNumber,
    /// Tag of the messages.
    pub tag: u32,
}

impl Channel {
    /// Returns the channel of a message that a record of a location sends or receives. Other records have none, nor have
    /// messages whose partner is not defined.
    #[inline]
    pub fn of(layout: &Layout, record: &Record, me: LocationNumber) -> Option<(Self, Message)> {
        let (is_send, message) = match *record {
            Record::Send(message) => (true, message),
            Record::Receive(message) => (false, message),
            _ => return None,
        };
        let Message { communicator, tag, .. } = message;
        let partner = layout.partner(communicator, message.partner, me)?;
        let own = layout.siblings(me).start;
        let (sender, receiver) = if is_send { (own, partner) } else { (partner, own) };
        Some((Self { is_send, communicator, sender, receiver, tag }, message))
    }

    /// Returns the end that sends to this one, or receives from it.
    #[must_use]
    pub fn other_end(self) -> Self {
        Self { is_send: !self.is_send, ..self }
    }
}

/// Numbers of the messages at the ends of channels.
#[derive(Clone, Debug, Default)]
pub struct Numbers(HashMap<Channel, u64>);

impl Numbers {
    /// Returns the number of the next message on a channel, before which some were not recorded.
    pub fn next(&mut self, channel: Channel, skipped: u64) -> u64 {
        let next = self.0.entry(channel).or_default();
        let number = *next + skipped;
        *next = number + 1;
        number
    }

    /// Iterates over the channels that have messages, with the number of the next one.
    pub fn iter(&self) -> impl Iterator<Item = (Channel, u64)> + '_ {
        self.0.iter().map(|(channel, next)| (*channel, *next))
    }
}
