//! Imbalance before a barrier: the last process to arrive has computed longer than the one that waits.
//!
//! | | |
//! |---|---|
//! | pushes | every member sends the owner of the barrier the time that it has computed since the last one |
//! | answers | the owner, as soon as all members have arrived |
//! | books | at each member that waited, on the path of its call, blamed on the member that arrived last |
//!
//! Computing is all time outside of the calls at which waits are judged. With the enter e of a member and its computing
//! c since the previous barrier of the group, and E and C of the member that arrived last, the imbalance is the smaller of
//! E - e and C - c, and never negative. It is a part of the wait at the barrier: the rest of that wait has another
//! cause, such as a wait or a slow transfer of the last member.
//!
//! The call path of the barrier contains the phase of the program, as a function or a parameter, so the imbalance of
//! each phase has call paths of its own.

use std::collections::{BTreeMap, HashMap};

use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::shape::CollectiveShape;
use dwell_trace::system::Context;
use dwell_trace::time::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::engine::accounts::Account;
use crate::engine::booking::{Booking, Piece};
use crate::engine::event::{Collective, Event, EventKind};
use crate::engine::exchange::{EngineAnswers, outboxes};
use crate::engine::hash::Mixed;
use crate::engine::location_context::LocationContext;
use crate::engine::message::Message;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Pattern, Window};
use crate::protocol::{Answering, Asked, Asking, EndedCall};

outboxes! {
    /// Messages to the owners of barriers.
    Arriving => Arrived {
        arrivals: Arrival;
    }
}

/// The arrival of a member at a barrier.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Arrival {
    context: ContextNumber,
    sequence: u64,
    process: ProcessNumber,
    location: LocationNumber,
    account: Account,
    enter: Time,
    end: Time,
    /// Time that the member has computed since the previous barrier of the group.
    computed: Duration,
}

impl Message for Arrival {}

/// Imbalance before the barriers of the processes of a shard.
#[derive(Debug)]
pub(crate) struct Imbalance {
    members: Owned<ProcessNumber, Member>,
    /// Barriers of the open call of each location.
    open: Owned<LocationNumber, Vec<Arrival>>,
    /// Members that have arrived at barriers which are not complete, by context and sequence number.
    instances: BTreeMap<(ContextNumber, u64), Vec<Arrival>>,
}

/// Barriers of a process.
#[derive(Debug, Default)]
struct Member {
    /// Number of collectives so far, by context.
    counted: HashMap<ContextNumber, u64, Mixed>,
    /// Time that a location had computed when it entered its last barrier of a context.
    computed: HashMap<(LocationNumber, ContextNumber), Duration, Mixed>,
}

impl Pattern for Imbalance {
    type Questions = Arriving;
    type Answers = ();
    type Protocol = crate::protocol::Messages;
    type Facts = ();
    type Outcome = ();

    fn new(members: &Members) -> Self {
        Self {
            members: Owned::empty(members.processes.clone()),
            open: Owned::empty(members.locations.clone()),
            instances: BTreeMap::new(),
        }
    }

    fn on_event(
        &mut self,
        here: &mut LocationContext<'_>,
        event: &Event<'_>,
        _: &mut Asking<'_, Arriving>,
    ) {
        let EventKind::Collective(Collective { context, shape, sequence, .. }) = event.kind else {
            return;
        };
        let Some(member) = self.members.get_mut(here.process.index) else { return };
        let Some(frame) = here.judged_call() else { return };
        let counted = member.counted.entry(context).or_insert(0);
        let sequence = sequence.unwrap_or(*counted);
        *counted = sequence + 1;
        let location = here.location.number;
        let Some(open) = self.open.get_mut(location) else { return };
        // Which members of an intercommunicator a barrier waits for depends on their groups.
        let between = here.world.system.context(context).and_then(Context::sides).is_some();
        if shape != CollectiveShape::Barrier || between {
            return;
        }
        here.attend();
        let computed = here.location.computed_before(frame.enter);
        let before =
            member.computed.insert((location, context), computed).unwrap_or(Duration::ZERO);
        open.push(Arrival {
            context,
            sequence,
            process: here.process.index,
            location,
            account: Account::NONE,
            enter: frame.enter,
            end: event.time,
            computed: computed - before,
        });
    }

    fn on_leave(
        &mut self,
        here: &mut LocationContext<'_>,
        call: &mut EndedCall,
        out: &mut Asking<'_, Arriving>,
    ) {
        let Some(open) = self.open.get_mut(call.location) else { return };
        for arrival in open.drain(..) {
            let processes = here.world.system.processes.len().max(1) as u64;
            let owner = arrival.sequence.wrapping_add(u64::from(arrival.context.0)) % processes;
            let owner = ProcessNumber(owner as u32);
            out.own.arrivals.send(owner, Arrival { account: call.account, ..arrival });
        }
    }

    fn answer(
        &mut self,
        at: &mut Window<'_>,
        arrived: Arrived,
        _: &mut Asked,
        out: &mut Answering<'_, ()>,
    ) {
        for arrival in arrived.arrivals.into_messages() {
            let key = (arrival.context, arrival.sequence);
            let list = self.instances.entry(key).or_default();
            list.push(arrival);
            let size = at.world.system.context(key.0).map_or(u32::MAX, |context| context.size);
            if list.len() as u32 >= size
                && let Some(list) = self.instances.remove(&key)
            {
                judge(&list, out.engine);
            }
        }
        if at.ended.is_some() {
            // Barriers that a member will never enter are not judged.
            self.instances
                .retain(|key, list| !at.others_have_ended(key.0, list.iter().map(|it| it.process)));
        }
    }

    fn bytes(&self) -> usize {
        self.instances.values().map(|list| list.capacity() * size_of::<Arrival>() + 64).sum()
    }

    fn outcome(self) {}
}

/// Books the imbalance of a barrier that is complete.
fn judge(list: &[Arrival], out: &mut EngineAnswers) {
    let Some(last) = list.iter().max_by_key(|it| (it.enter, it.process, it.location)) else {
        return;
    };
    for it in list {
        let wait = last.enter.min(it.end).since(it.enter);
        let amount = last.computed.saturating_sub(it.computed).min(wait);
        if amount > Duration::ZERO {
            let Arrival { process, location, account, enter: begin, .. } = *it;
            let (what, culprit) = (Quantity::Wait(Wait::BarrierImbalance), Some(last.location));
            let (amount, left, piece) = (amount.0, None, Piece::None);
            let booking = Booking { location, account, what, amount, begin, culprit, piece, left };
            out.bookings.send(process, booking);
        }
    }
}
