//! Patterns of waiting, each the implementation of [`Pattern`] in a file of its own.
//!
//! A pattern knows the location whose events are read, the processes of its shard, and the messages that it sends. It
//! does not know other patterns, windows of time beyond the horizon up to which events are known, threads or files.
//! Adding one takes its file, its line in the list below, and its row in the catalogue of `dwell_model::waits`.

mod active_messages;
mod collectives;
mod imbalance;
pub(crate) mod inefficient;
mod locks;
mod messages;
mod progress;
mod signals;
mod teams;
mod test_without_poll;

use dwell_trace::ids::LocationNumber;
use dwell_trace::time::Time;
use dwell_trace::world::World;

use crate::engine::accounts::ExpectedTimes;
use crate::engine::call::{CompletedCall, Issued};
use crate::engine::deferred::Rest;
use crate::engine::event::Event;
use crate::engine::exchange::Outboxes;
use crate::engine::location_context::LocationContext;
use crate::engine::matrix::Kind;
use crate::engine::message::Pools;
use crate::engine::owned::Members;
use crate::engine::pattern::{Conclusion, DividedCalls, Facts, Floors, Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::engine::sharding::Sharding;
use crate::engine::transport::{Error, Transport};
use crate::engine::wire::{Garbled, Inboxes};
use crate::protocol::{Answered, Answering, Asked, Asking, EndedCall};

/// Defines a list of patterns, which is a pattern itself: it passes every call on to its members in order.
macro_rules! list {
    ($( $name:ident: $pattern:ty, )*) => {
        /// All patterns, in the order in which they judge a call that has ended.
        #[derive(Debug)]
        pub(crate) struct All {
            $( pub(crate) $name: $pattern, )*
        }

        /// Numbers of the patterns in the list.
        #[allow(non_camel_case_types)]
        enum Place {
            $( $name, )*
        }

        /// Outboxes of all patterns while events are read.
        #[derive(Debug)]
        pub(crate) struct Questions {
            $( $name: <$pattern as Pattern>::Questions, )*
        }

        /// Outboxes of all patterns while questions are answered.
        #[derive(Debug)]
        pub(crate) struct Answers {
            $( $name: <$pattern as Pattern>::Answers, )*
        }

        /// Questions to all patterns that arrived at a shard.
        #[derive(Debug, Default)]
        pub(crate) struct Questioned {
            $( $name: <<$pattern as Pattern>::Questions as Outboxes>::Inboxes, )*
        }

        /// Answers to all patterns that arrived at a shard.
        #[derive(Debug, Default)]
        pub(crate) struct Replied {
            $( $name: <<$pattern as Pattern>::Answers as Outboxes>::Inboxes, )*
        }

        /// Results of all patterns other than the severities booked on call paths. Most have none.
        #[derive(Debug)]
        #[allow(dead_code)]
        pub(crate) struct Outcome {
            $( pub(crate) $name: <$pattern as Pattern>::Outcome, )*
        }

        /// Facts of all patterns that every shard needs to know.
        #[derive(Debug, Default)]
        pub(crate) struct Found {
            $( pub(crate) $name: <$pattern as Pattern>::Facts, )*
        }

        list!(@outboxes Questions, Questioned { $( $name: <$pattern as Pattern>::Questions, )* });
        list!(@outboxes Answers, Replied { $( $name: <$pattern as Pattern>::Answers, )* });

        impl Facts for Found {
            fn join(transport: &Transport<'_>, parts: Vec<Self>) -> Result<Self, Error> {
                $( let mut $name = Vec::new(); )*
                for part in parts {
                    $( $name.push(part.$name); )*
                }
                Ok(Self { $( $name: Facts::join(transport, $name)?, )* })
            }
        }

        impl Pattern for All {
            type Questions = Questions;
            type Answers = Answers;
            type Protocol = crate::protocol::Messages;
            type Facts = Found;
            type Outcome = Outcome;

            fn new(members: &Members) -> Self {
                Self { $( $name: Pattern::new(members), )* }
            }

            #[inline(always)]
            fn needs_operations(world: &World, kind: Kind) -> bool {
                false $( || <$pattern>::needs_operations(world, kind) )*
            }

            fn begin_window(&mut self, world: &World, out: &mut Asking<'_, Questions>) {
                let Asking { own, shared } = out;
                $( self.$name.begin_window(world, &mut Asking { own: &mut own.$name, shared }); )*
            }

            fn judge_rest(&mut self, process: &Process, rest: &Rest, out: &mut Asking<'_, Questions>) {
                let Asking { own, shared } = out;
                $( self.$name.judge_rest(process, rest, &mut Asking { own: &mut own.$name, shared }); )*
            }

            fn on_event(
                &mut self,
                here: &mut LocationContext<'_>,
                event: &Event<'_>,
                out: &mut Asking<'_, Questions>,
            ) {
                let Asking { own, shared } = out;
                $(
                    here.pattern = 1 << Place::$name as u16;
                    self.$name.on_event(here, event, &mut Asking { own: &mut own.$name, shared });
                )*
            }

            fn on_issue(
                &mut self,
                here: &mut LocationContext<'_>,
                operation: &Issued<'_>,
                out: &mut Asking<'_, Questions>,
            ) {
                let Asking { own, shared } = out;
                $(
                    here.pattern = 1 << Place::$name as u16;
                    self.$name.on_issue(here, operation, &mut Asking { own: &mut own.$name, shared });
                )*
            }

            #[inline(always)]
            fn on_complete(&mut self, call: CompletedCall, out: &mut Asking<'_, Questions>) {
                let Asking { own, shared } = out;
                $( self.$name.on_complete(call, &mut Asking { own: &mut own.$name, shared }); )*
            }

            fn on_leave(
                &mut self,
                here: &mut LocationContext<'_>,
                call: &mut EndedCall,
                out: &mut Asking<'_, Questions>,
            ) {
                let Asking { own, shared } = out;
                $(
                    let is_noted = call.frame.seen_by & (1 << Place::$name as u16) != 0;
                    if is_noted || <$pattern>::judges(here, call) {
                        self.$name.on_leave(here, call, &mut Asking { own: &mut own.$name, shared });
                    }
                )*
            }

            fn end_window(
                &mut self,
                world: &World,
                process: &Process,
                horizon: Time,
                out: &mut Asking<'_, Questions>,
            ) -> Floors {
                let Asking { own, shared } = out;
                let floors = Floors::TOP;
                $(
                    let out = &mut Asking { own: &mut own.$name, shared };
                    let floors = floors.min(self.$name.end_window(world, process, horizon, out));
                )*
                floors
            }

            fn answer(
                &mut self,
                at: &mut Window<'_>,
                asked: Questioned,
                for_all: &mut Asked,
                out: &mut Answering<'_, Answers>,
            ) {
                let Answering { own, shared, engine } = out;
                $(
                    let out = &mut Answering { own: &mut own.$name, shared, engine };
                    self.$name.answer(at, asked.$name, for_all, out);
                )*
            }

            fn book(&mut self, at: &mut Window<'_>, answered: Replied, shared: &mut Answered) -> Time {
                let since = Time::END;
                $( let since = since.min(self.$name.book(at, answered.$name, shared)); )*
                since
            }

            fn facts(&self, world: &World) -> Found {
                Found { $( $name: self.$name.facts(world), )* }
            }

            fn conclude(&mut self, at: &mut Conclusion<'_>, facts: &Found) {
                $( self.$name.conclude(at, &facts.$name); )*
            }

            fn on_division(
                &mut self,
                world: &World,
                location: LocationNumber,
                calls: &DividedCalls<'_>,
                times: &ExpectedTimes,
            ) {
                $( self.$name.on_division(world, location, calls, times); )*
            }

            fn is_busy(&self) -> bool {
                false $( || self.$name.is_busy() )*
            }

            fn bytes(&self) -> usize {
                0 $( + self.$name.bytes() )*
            }

            fn unjudged(&self, processes: &[Process], world: &World, list: &mut Vec<Unjudged>) {
                $( self.$name.unjudged(processes, world, list); )*
            }

            fn outcome(self) -> Outcome {
                Outcome { $( $name: self.$name.outcome(), )* }
            }
        }
    };
    (@outboxes $sent:ident, $received:ident { $( $name:ident: $boxes:ty, )* }) => {
        impl Outboxes for $sent {
            type Inboxes = $received;

            fn new(sharding: Sharding, pools: &Pools) -> Self {
                Self { $( $name: Outboxes::new(sharding, pools), )* }
            }

            fn sort(sharding: Sharding, sent: Vec<Self>) -> Vec<$received> {
                let mut arrived: Vec<$received> =
                    (0..sharding.count).map(|_| $received::default()).collect();
                $( let mut $name = Vec::new(); )*
                for one in sent {
                    $( $name.push(one.$name); )*
                }
                $(
                    let inboxes = <$boxes as Outboxes>::sort(sharding, $name);
                    for (to, inbox) in arrived.iter_mut().zip(inboxes) {
                        to.$name = inbox;
                    }
                )*
                arrived
            }
        }

        impl Inboxes for $received {
            fn bytes(&self) -> usize {
                0 $( + self.$name.bytes() )*
            }

            fn is_empty(&self) -> bool {
                true $( && self.$name.is_empty() )*
            }

            fn write(self, to: &mut Vec<u8>) {
                $( self.$name.write(to); )*
            }

            fn read(&mut self, from: &mut &[u8]) -> Result<(), Garbled> {
                $( self.$name.read(from)?; )*
                Ok(())
            }
        }
    };
}

list! {
    test_without_poll: test_without_poll::TestWithoutPoll,
    active_messages: active_messages::ActiveMessages,
    collectives: collectives::Collectives,
    imbalance: imbalance::Imbalance,
    messages: messages::Messages,
    signals: signals::Signals,
    locks: locks::Locks,
    teams: teams::Teams,
    progress: progress::Progress,
    inefficient: inefficient::Inefficient,
}
