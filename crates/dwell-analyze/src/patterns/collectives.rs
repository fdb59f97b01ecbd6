//! Collectives: which members wait for the arrival of which others.
//!
//! | | |
//! |---|---|
//! | pushes | every member sends the owner of the instance the times at which it entered and left |
//! | answers | the owner, as soon as all members have arrived, or no other member can |
//! | books | at each member, on the path of its call |
//!
//! An instance is a context and the sequence number of the collective in it. A member "leaves" at the time of the
//! collective-end record, not of the leave of its call.
//!
//! | shape | wait | completion |
//! |---|---|---|
//! | barrier, fence, making and freeing | last enter - e | end - first end (barriers) |
//! | all to all | last enter - e | end - first end |
//! | one to all | enter of the root - e, not for the root | |
//! | all to one | root only: last enter of the others - e | |
//! | prefix | last enter of those of lower rank - e | |
//! | neighbours | last enter of the neighbours that send to the process - e | |
//!
//! An intercommunicator connects two groups. There, *others* are the members of the other group: data comes only
//! from them. Barriers, and making and freeing communicators, wait for members of both groups. Neither have a
//! completion.
//!
//! A non-blocking collective begins with the call that initiates it, and is waited for in the call that completes it:
//! there, *last enter* is the last of the initiating calls. The owner of the instance sends it to each member, which
//! compares it with the messages that its call waited for.
//!
//! *Early fence* is the part of a wait at a fence during which operations of others on this process had yet to end.
//! Each member sends the owner of the fence the targets that it acted on since the last one.

mod in_flight;
mod instances;

use std::collections::HashMap;

use dwell_log::needs::Need;
use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::shape::CollectiveShape;
use dwell_trace::time::Time;
use dwell_trace::world::World;
use otf2::id::GroupRef;
use serde::{Deserialize, Serialize};

use self::in_flight::InFlight;
use self::instances::Instances;
use crate::engine::accounts::{Account, Distance, Sort};
use crate::engine::event::{Among, Collective, Event, EventKind};
use crate::engine::exchange::outboxes;
use crate::engine::hash::Mixed;
use crate::engine::location::AwaitedCollective;
use crate::engine::location_context::LocationContext;
use crate::engine::message::Message;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::protocol::{Answering, Asked, Asking, EndedCall};

outboxes! {
    /// Messages to the owner of an instance.
    Arriving => Arrived {
        arrivals: Arrival;
        touches: Touch;
    }
}

/// Waits in collectives of the processes of a shard.
#[derive(Debug)]
pub(crate) struct Collectives {
    instances: Instances,
    members: Owned<ProcessNumber, Member>,
    /// Collectives that the open call of each location took part in.
    open: Owned<LocationNumber, Vec<Arrival>>,
}

/// Collectives of a process.
#[derive(Debug, Default)]
struct Member {
    /// Number of collectives so far, by context.
    counted: HashMap<ContextNumber, u64, Mixed>,
    /// Non-blocking collectives in flight.
    in_flight: InFlight,
    /// Number of neighbourhood collectives whose neighbours are not recorded.
    strangers: u64,
}

impl Pattern for Collectives {
    type Questions = Arriving;
    type Answers = ();
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = ();

    fn new(members: &Members) -> Self {
        Self {
            instances: Instances::default(),
            members: Owned::empty(members.processes.clone()),
            open: Owned::empty(members.locations.clone()),
        }
    }

    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        out: &mut Asking<'_, Arriving>,
    ) {
        let Some(member) = self.members.get_mut(here.process.index) else { return };
        match event.kind {
            EventKind::Collective(it) => {
                if let Some(open) = self.open.get_mut(here.location.number) {
                    member.arrive(here, event.time, &it, open, out);
                }
            }
            EventKind::CollectiveBegun { request, enter, among } => {
                member.in_flight.begin(here.location.number, request, enter, among);
            }
            EventKind::CollectiveCompleted { context, shape, root, request } => {
                let of = Collective {
                    context,
                    shape,
                    root,
                    fence: None,
                    sequence: None,
                    neighbours: None,
                    deferred: None,
                };
                member.complete(here, event.time, request, of, out);
            }
            _ => {}
        }
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        out: &mut Asking<'_, Arriving>,
    ) {
        let Some(open) = self.open.get_mut(call.location) else { return };
        let (account, leave) = (call.account, call.leave);
        for arrival in open.drain(..) {
            if let Some(number) = arrival.deferred {
                here.process.deferred.leave(number, account, leave - arrival.enter);
            }
            let owner = arrival.owner(here.world);
            out.own.arrivals.send(owner, Arrival { account, leave, ..arrival });
        }
    }

    fn answer(
        &mut self,
        at: &mut Window<'_>,
        arrived: Arrived,
        _: &mut Asked,
        out: &mut Answering<'_, ()>,
    ) {
        arrived.touches.into_messages().for_each(|touch| self.instances.touch(touch));
        for arrival in arrived.arrivals.into_messages() {
            self.instances.arrive(at.world, arrival, out);
        }
        if at.ended.is_some() {
            self.instances.close(at, out);
        }
    }

    fn bytes(&self) -> usize {
        self.instances.bytes()
    }

    fn unjudged(&self, processes: &[Process], world: &World, list: &mut Vec<Unjudged>) {
        let sum = |of: fn(&Member) -> u64| self.members.iter().map(of).sum::<u64>();
        list.push(Unjudged::new(
            20,
            "collectives",
            self.instances.partial,
            "some members are not in the archive; the others were judged without them",
        ));
        list.push(Unjudged::new(
            50,
            "nonblocking_collective_wait",
            sum(|it| it.in_flight.unfinished() + it.in_flight.strays),
            "collectives that do not block began or ended in the archive, but not both",
        ));
        list.push(Unjudged::new(
            60,
            "nxn_wait",
            sum(|it| it.strangers),
            "they are neighbourhood collectives, and the archive does not say who the neighbours are",
        ));
        // Older tools write no records for these calls.
        let locations = processes.iter().flat_map(|process| &process.locations);
        let nodes = locations.flat_map(|location| location.paths.iter().map(|(_, node)| node));
        let begin = nodes.filter(|node| world.roles.traits(node.region).has(Traits::BEGINS));
        let begun: u64 = begin.map(|node| node.visits).sum();
        let reason = "they began collectives, and there is no record of which";
        let recorded = sum(|it| it.in_flight.begun());
        let calls = begun.cast_signed() - recorded.cast_signed();
        let of = Unjudged::new(100, "nonblocking_collective_wait", 0, reason);
        list.push(Unjudged { calls, ..of });
    }

    fn outcome(self) {}
}

impl Member {
    /// Notes that the open call took part in a collective.
    fn arrive(
        &mut self,
        here: &mut LocationContext<'_>,
        time: Time,
        of: &Collective,
        open: &mut Vec<Arrival>,
        out: &mut Asking<'_, Arriving>,
    ) {
        let Collective { context, shape, neighbours, .. } = *of;
        let Some(frame) = here.judged_call() else { return };
        here.attend();
        let enter = frame.enter;
        self.strangers += u64::from(shape == CollectiveShape::Neighbours && neighbours.is_none());
        let counted = self.counted.entry(context).or_insert(0);
        let sequence = of.sequence.unwrap_or(*counted);
        *counted = sequence + 1;
        if let Some(window) = of.fence {
            let touched = here.process.touched.extract_if(|key, _| key.0 == window);
            for ((_, target), time) in touched {
                let touch = Touch { context, sequence, target, time };
                out.own.touches.send(touch.owner(here.world), touch);
            }
        }
        let (me, root) = (here.process.index, here.root(context, of.root));
        here.location.open_call_needs(me, Need::Collective { context, sequence, shape, root });
        open.push(Arrival {
            context,
            sequence,
            process: me,
            location: here.location.number,
            account: Account::NONE,
            enter,
            leave: time,
            began: enter,
            end: time,
            shape,
            root,
            neighbours,
            number: None,
            deferred: of.deferred,
        });
    }

    /// Notes that the open call completed a non-blocking collective.
    fn complete(
        &mut self,
        here: &mut LocationContext<'_>,
        time: Time,
        request: u64,
        of: Collective,
        out: &mut Asking<'_, Arriving>,
    ) {
        let Some(&frame) = here.location.stack.last() else { return };
        let location = here.location.number;
        let found = self.in_flight.find(location, request);
        let Some((number, began, among)) = found else { return };
        let (shape, neighbours) = match among {
            Among::Members => (of.shape, None),
            Among::Neighbours(group) => (CollectiveShape::Neighbours, group),
        };
        self.strangers += u64::from(among == Among::Neighbours(None) && frame.judged);
        // The waits of the call are booked with its messages; this account is for counts only.
        let counts = Sort::function(frame.region, 0, Distance::None, 0);
        let arrival = Arrival {
            context: of.context,
            sequence: 0,
            process: here.process.index,
            location,
            account: here.location.paths.account(frame.path, counts),
            enter: frame.enter,
            leave: time,
            began,
            end: time,
            shape,
            root: here.root(of.context, of.root),
            neighbours,
            number: Some(number),
            deferred: None,
        };
        for arrival in self.in_flight.end(number, frame.judged.then_some(arrival)) {
            out.own.arrivals.send(arrival.owner(here.world), arrival);
        }
        if here.note() {
            here.location.awaited.push(AwaitedCollective { number, began });
        }
    }
}

/// The arrival of a member in a collective.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Arrival {
    pub(crate) context: ContextNumber,
    pub(crate) sequence: u64,
    pub(crate) process: ProcessNumber,
    pub(crate) location: LocationNumber,
    /// Account on which the member's waits are booked.
    pub(crate) account: Account,
    /// Enter and leave of the call that waits.
    pub(crate) enter: Time,
    pub(crate) leave: Time,
    /// Enter of the call that began the collective, which is the same call if it blocks.
    pub(crate) began: Time,
    pub(crate) end: Time,
    pub(crate) shape: CollectiveShape,
    /// Process that is the root.
    pub(crate) root: Option<ProcessNumber>,
    /// Group of the process and the neighbours that send to it, if the archive has it.
    pub(crate) neighbours: Option<GroupRef>,
    /// Number of a non-blocking collective at the process.
    pub(crate) number: Option<u32>,
    /// Number of the deferred call if the collective completed operations outside of the group. The process then has to
    /// know when the last of the group arrived.
    pub(crate) deferred: Option<u32>,
}

impl Message for Arrival {}

impl Arrival {
    /// Returns the process whose shard keeps the instance. Instances are spread, so that no shard keeps them all.
    pub(crate) fn owner(&self, world: &World) -> ProcessNumber {
        owner(world, self.context, self.sequence)
    }
}

fn owner(world: &World, context: ContextNumber, sequence: u64) -> ProcessNumber {
    let count = world.system.processes.len().max(1) as u64;
    let mixed = sequence.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(context.0));
    ProcessNumber((mixed % count) as u32)
}

/// Bit in the sequence number of non-blocking collectives, which are counted apart from blocking ones.
pub(crate) const NON_BLOCKING: u64 = 1 << 63;

/// An operation of a member on the window of another before a fence.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Touch {
    pub(crate) context: ContextNumber,
    pub(crate) sequence: u64,
    pub(crate) target: ProcessNumber,
    /// End of the last operation on that target.
    pub(crate) time: Time,
}

impl Message for Touch {}

impl Touch {
    /// Returns the process whose shard keeps the fence.
    pub(crate) fn owner(&self, world: &World) -> ProcessNumber {
        owner(world, self.context, self.sequence)
    }
}
