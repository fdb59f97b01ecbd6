//! All letters of a worker, by what they are.

use std::sync::Arc;

use crate::booking::Booking;
use crate::patterns::collectives::{Arrival, Touch};
use crate::patterns::evidence::{Evidence, Found};
use crate::patterns::locks::LockLetter;
use crate::patterns::messages::{Ready, Sent};
use crate::patterns::progress::{Ask, AskOne, Away, Seen, Served, Waited, Watch};
use crate::patterns::signals::Signal;
use crate::transport::{Batches, Pool, Post, Sharding, Transport};

/// Makes a set of posts, and the same set after it has travelled.
macro_rules! mail {
    ($(#[$doc:meta])* $sent:ident, $received:ident { $( $name:ident: $letter:ty, )* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $sent {
            $( pub(crate) $name: Post<$letter>, )*
        }

        impl $sent {
            pub(crate) fn new(sharding: Sharding) -> Self {
                Self { $( $name: Post::new(sharding), )* }
            }

            /// Hands everything to the shards it is for.
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

        /// What arrived at a shard.
        #[derive(Debug, Default)]
        pub(crate) struct $received {
            $( pub(crate) $name: Batches<$letter>, )*
        }

        impl $received {
            /// Bytes of memory.
            pub(crate) fn bytes(&self) -> usize {
                0 $( + self.$name.iter().map(|it| it.capacity()).sum::<usize>()
                    * size_of::<$letter>() )*
            }
        }
    };
}

mail! {
    /// Questions and facts, on their way to their homes.
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
    /// Answers, on their way back.
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

/// Memory for the letters of which there are most.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub(crate) asks: Arc<Pool<Ask>>,
    pub(crate) waited: Arc<Pool<Waited>>,
}

/// What a worker has in hand while it answers.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) replies: Replies,
    /// Operations that needed no help of their targets.
    pub(crate) evidence: Found,
}
