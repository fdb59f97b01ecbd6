//! All messages of a worker, by type.

use std::sync::Arc;

use crate::engine::booking::Booking;
use crate::engine::transport::{Batches, Outbox, Pool, Sharding, Transport};
use crate::patterns::collectives::{Arrival, Touch};
use crate::patterns::evidence::{Evidence, Found};
use crate::patterns::locks::LockLetter;
use crate::patterns::messages::{Ready, Sent};
use crate::patterns::progress::{Ask, AskOne, Away, Seen, Served, Waited, Watch};
use crate::patterns::signals::Signal;

/// Defines a set of outboxes and the set of batches that it becomes after delivery.
macro_rules! mail {
    ($(#[$doc:meta])* $sent:ident, $received:ident { $( $name:ident: $letter:ty, )* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $sent {
            $( pub(crate) $name: Outbox<$letter>, )*
        }

        impl $sent {
            pub(crate) fn new(sharding: Sharding) -> Self {
                Self { $( $name: Outbox::new(sharding), )* }
            }

            /// Delivers all messages to the shards that they are addressed to.
            pub(crate) fn exchange<T: Transport>(
                transport: &T,
                sharding: Sharding,
                sent: Vec<Self>,
            ) -> Vec<$received> {
                let mut arrived: Vec<$received> =
                    (0..sharding.count).map(|_| $received::default()).collect();
                $( let mut $name = Vec::new(); )*
                for one in sent {
                    $( $name.push(one.$name); )*
                }
                $(
                    let lists = transport.exchange(sharding, $name);
                    for (to, batches) in arrived.iter_mut().zip(lists) {
                        to.$name = batches;
                    }
                )*
                arrived
            }
        }

        /// Messages that arrived at a shard.
        #[derive(Debug, Default)]
        pub(crate) struct $received {
            $( pub(crate) $name: Batches<$letter>, )*
        }

        impl $received {
            /// Returns the memory in bytes that the messages take.
            pub(crate) fn bytes(&self) -> usize {
                0 $( + self.$name.iter().map(|it| it.capacity()).sum::<usize>()
                    * size_of::<$letter>() )*
            }
        }
    };
}

mail! {
    /// Questions and facts on their way to the shards that own their subjects.
    Mail, Arrived {
        asks: Ask,
        ones: AskOne,
        watches: Watch,
        arrivals: Arrival,
        touches: Touch,
        signals: Signal,
        sends: Sent,
        ready: Ready,
        locks: LockLetter,
    }
}

mail! {
    /// Answers on their way back.
    Replies, Answered {
        waited: Waited,
        served: Served,
        away: Away,
        seen: Seen,
        evidence: Evidence,
        bookings: Booking,
        told: Sent,
        ready: Ready,
    }
}

/// Batches for the most frequent messages, for reuse.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub(crate) asks: Arc<Pool<Ask>>,
    pub(crate) waited: Arc<Pool<Waited>>,
}

/// State of a worker while it answers questions.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) replies: Replies,
    /// Operations that progressed without help of their targets.
    pub(crate) evidence: Found,
}
