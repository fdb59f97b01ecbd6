//! Sets of outboxes: every kind of message that a pattern sends has one of its own.
//!
//! A pattern declares its messages with [`outboxes!`](crate::engine::exchange::outboxes). The engine exchanges them
//! between shards without knowing what they are.

use std::fmt::Debug;

use dwell_log::edge::Edge;

use crate::engine::booking::Booking;
use crate::engine::deferred::Remainder;
use crate::engine::message::Pools;
use crate::engine::sharding::Sharding;
use crate::engine::wire::Inboxes;

/// Outboxes that are filled together and delivered together.
pub(crate) trait Outboxes: Send + Sized {
    /// Messages of all kinds that arrived at one shard.
    type Inboxes: Inboxes;

    /// Creates empty outboxes. Those for frequent messages take their memory from the pools.
    fn new(sharding: Sharding, pools: &Pools) -> Self;

    /// Sorts the messages of all workers by shard. Returns what they sent to each shard, in the order of the shards.
    fn sort(sharding: Sharding, sent: Vec<Self>) -> Vec<Self::Inboxes>;
}

/// A pattern that sends nothing.
impl Outboxes for () {
    type Inboxes = ();

    fn new(_: Sharding, _: &Pools) {}

    fn sort(sharding: Sharding, _: Vec<()>) -> Vec<()> {
        vec![(); sharding.count]
    }
}

/// Defines a set of outboxes and the set of inboxes that they become by delivery. The kinds of messages marked `pooled`
/// are so frequent that their memory is used again.
macro_rules! outboxes {
    ($(#[$doc:meta])* $sent:ident => $received:ident { $( $name:ident: $message:ty $(, $pooled:ident)?; )* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $sent {
            $( pub(crate) $name: $crate::engine::message::Outbox<$message>, )*
        }

        /// Messages of the kinds above that arrived at a shard.
        #[derive(Debug, Default)]
        pub(crate) struct $received {
            $( pub(crate) $name: $crate::engine::message::Inbox<$message>, )*
        }

        impl $crate::engine::exchange::Outboxes for $sent {
            type Inboxes = $received;

            fn new(
                sharding: $crate::engine::sharding::Sharding,
                pools: &$crate::engine::message::Pools,
            ) -> Self {
                let _ = pools;
                Self { $( $name: $crate::engine::exchange::outboxes!(@new sharding, pools $(, $pooled)?), )* }
            }

            fn sort(
                sharding: $crate::engine::sharding::Sharding,
                sent: Vec<Self>,
            ) -> Vec<$received> {
                let mut arrived: Vec<$received> =
                    (0..sharding.count).map(|_| $received::default()).collect();
                $( let mut $name = Vec::new(); )*
                for one in sent {
                    $( $name.push(one.$name); )*
                }
                $(
                    let inboxes = $crate::engine::message::sort(sharding, $name);
                    for (to, inbox) in arrived.iter_mut().zip(inboxes) {
                        to.$name = inbox;
                    }
                )*
                arrived
            }
        }

        impl $crate::engine::wire::Inboxes for $received {
            fn bytes(&self) -> usize {
                0 $( + self.$name.bytes() )*
            }

            fn is_empty(&self) -> bool {
                true $( && self.$name.is_empty() )*
            }

            fn write(self, to: &mut Vec<u8>) {
                $( self.$name.write(to); )*
            }

            fn read(&mut self, from: &mut &[u8]) -> Result<(), $crate::engine::wire::Garbled> {
                $( self.$name.take(from)?; )*
                Ok(())
            }
        }
    };
    (@new $sharding:ident, $pools:ident) => { $crate::engine::message::Outbox::new($sharding) };
    (@new $sharding:ident, $pools:ident, pooled) => {
        $crate::engine::message::Outbox::with_pool($sharding, &$pools.of())
    };
}
pub(crate) use outboxes;

/// Messages that patterns send to each other, as the engine knows them.
pub(crate) trait Protocol: Debug {
    /// Messages that are sent while events are read.
    type Questions: Outboxes + Debug;
    /// Messages that are sent while questions are answered.
    type Answers: Outboxes + Debug;
    /// A lock that a call waited for, which one pattern adds to the call and another takes from it.
    type Locked: Debug;
}

/// Outboxes of one pattern and of all patterns together while events are read.
pub(crate) struct Asking<'a, Q, S> {
    pub(crate) own: &'a mut Q,
    pub(crate) shared: &'a mut S,
}

/// Outboxes of one pattern, of all patterns together, and of the engine while questions are answered.
pub(crate) struct Answering<'a, A, S> {
    pub(crate) own: &'a mut A,
    pub(crate) shared: &'a mut S,
    pub(crate) engine: &'a mut EngineAnswers,
}

outboxes! {
    /// Messages of the engine while events are read.
    EngineQuestions => EngineAsked {
        releases: Edge;
    }
}

outboxes! {
    /// Messages of any pattern to the engine while questions are answered.
    EngineAnswers => EngineAnswered {
        bookings: Booking;
        edges: Edge;
        remainders: Remainder;
    }
}
