//! Collectives: who waits for whom to arrive.
//!
//! | | |
//! |---|---|
//! | pushes | every member tells the owner of the instance when it entered and when it left |
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
//! An intercommunicator connects two groups. There, *others* are the members of the other group: data comes from
//! nobody else. Barriers, and making and freeing communicators, wait for members of both groups. Neither have a
//! completion.
//!
//! A non-blocking collective begins with the call that initiates it, and is waited for in the call that completes it:
//! there, *last enter* is the last of the initiating calls. The owner of the instance tells each member, which has to
//! know everything that its call waited for beside its messages.
//!
//! *Early fence* is the part of a wait at a fence during which operations of others on this process had yet to end.
//! Each member tells the owner of the fence which targets it acted on since the last one.

use std::collections::{BTreeMap, HashMap, VecDeque};

use dwell_log::needs::Need;
use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::roles::Traits;
use dwell_trace::shape::CollectiveShape;
use dwell_trace::system::Context;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use otf2::id::GroupRef;
use serde::{Deserialize, Serialize};

use crate::engine::accounts::{Account, Distance, Sort};
use crate::engine::booking::{Booking, Piece};
use crate::engine::deferred::Remainder;
use crate::engine::event::{Among, Collective, Event, EventKind};
use crate::engine::exchange::outboxes;
use crate::engine::hash::Mixed;
use crate::engine::location::AwaitedCollective;
use crate::engine::location_context::LocationContext;
use crate::engine::owned::{Members, Owned};
use crate::engine::pattern::{Pattern, Unjudged, Window};
use crate::engine::process::Process;
use crate::engine::transport::Message;
use crate::protocol::nonblocking::LastToBegin;
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
    /// Number of the held call if the collective completed operations outside of the group. The process then has to
    /// know when the last of the group came.
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

/// A non-blocking collective, from its beginning.
#[derive(Clone, Copy, Debug)]
struct Started {
    location: LocationNumber,
    request: u64,
    number: u32,
    began: Time,
    among: Among,
    /// The arrival once the collective is complete; `None` inside if it is not judged.
    complete: Option<Option<Arrival>>,
}

/// Non-blocking collectives of a process. Only their end says which communicator they belong to, and they may end in
/// any order. They get their sequence numbers once all that began before have ended.
#[derive(Debug, Default)]
struct InFlight {
    started: VecDeque<Started>,
    next: u32,
    counted: HashMap<ContextNumber, u64, Mixed>,
    /// Number of collectives that ended without a beginning.
    strays: u64,
}

impl InFlight {
    /// Records that a call began a collective.
    fn begin(&mut self, location: LocationNumber, request: u64, began: Time, among: Among) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.started.push_back(Started { location, request, number, began, among, complete: None });
    }

    /// Returns the number and the beginning of a collective that ends, and the members that it waits for.
    fn find(&mut self, location: LocationNumber, request: u64) -> Option<(u32, Time, Among)> {
        let is = |it: &&Started| {
            it.location == location && it.request == request && it.complete.is_none()
        };
        let found = self.started.iter().find(is).map(|it| (it.number, it.began, it.among));
        self.strays += u64::from(found.is_none());
        found
    }

    /// Records the end of a collective; `None` if it is not judged. Passes on those that can get their sequence numbers
    /// now.
    fn end(&mut self, number: u32, arrival: Option<Arrival>) -> impl Iterator<Item = Arrival> {
        if let Some(it) = self.started.iter_mut().find(|it| it.number == number) {
            it.complete = Some(arrival);
        }
        let open = self.started.iter().position(|it| it.complete.is_none());
        let over = open.unwrap_or(self.started.len());
        let counted = &mut self.counted;
        let ended = self.started.drain(..over).filter_map(|it| it.complete.flatten());
        ended.map(|mut arrival| {
            let count = counted.entry(arrival.context).or_insert(0);
            arrival.sequence = *count | NON_BLOCKING;
            *count += 1;
            arrival
        })
    }

    /// Returns the number of collectives that began.
    fn begun(&self) -> u64 {
        u64::from(self.next)
    }

    /// Returns the number of collectives that began and never ended.
    fn unfinished(&self) -> u64 {
        self.started.iter().filter(|it| it.complete.is_none()).count() as u64
    }
}

#[derive(Debug, Default)]
struct Instance {
    arrivals: Vec<Arrival>,
    touches: Vec<Touch>,
}

/// Instances whose members have not all arrived.
#[derive(Debug, Default)]
struct Instances {
    open: BTreeMap<(ContextNumber, u64), Instance>,
    /// Number of instances that were judged without some of their members.
    partial: u64,
}

impl Instances {
    /// Takes the operations of a member before a fence. They come with the arrival of that member and must be delivered
    /// first.
    fn touch(&mut self, touch: Touch) {
        self.open.entry((touch.context, touch.sequence)).or_default().touches.push(touch);
    }

    /// Takes an arrival, and judges the instance if it is complete.
    fn arrive(&mut self, world: &World, arrival: Arrival, out: &mut Answering<'_, ()>) {
        let key = (arrival.context, arrival.sequence);
        let list = &mut self.open.entry(key).or_default().arrivals;
        list.push(arrival);
        let size = world.system.context(arrival.context).map_or(0, |context| context.size);
        if list.len() as u32 >= size
            && let Some(instance) = self.open.remove(&key)
        {
            judge(world, instance, Came::All, out);
        }
    }

    /// Judges instances that no process can join any more, because all others have ended.
    fn close(&mut self, at: &Window<'_>, out: &mut Answering<'_, ()>) {
        let over = |key: &(ContextNumber, u64), it: &mut Instance| {
            at.misses_nobody(key.0, it.arrivals.iter().map(|it| it.process))
        };
        let closed: Vec<Instance> =
            self.open.extract_if(.., over).map(|(_, instance)| instance).collect();
        for instance in closed {
            self.partial += 1;
            judge(at.world, instance, Came::Some, out);
        }
    }

    fn bytes(&self) -> usize {
        let bytes = |it: &Instance| {
            it.arrivals.capacity() * size_of::<Arrival>()
                + it.touches.capacity() * size_of::<Touch>()
                + 64
        };
        self.open.values().map(bytes).sum()
    }
}

/// A member that others wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    began: Time,
    process: ProcessNumber,
    location: LocationNumber,
}

impl From<&Arrival> for Late {
    fn from(it: &Arrival) -> Self {
        Self { began: it.began, process: it.process, location: it.location }
    }
}

/// Returns the first of those arrivals to come, whatever their order. Ties are decided by process.
fn first<'a>(list: impl IntoIterator<Item = &'a Arrival>) -> Option<Late> {
    list.into_iter().map(Late::from).min()
}

/// Returns the last of those arrivals to come.
fn last<'a>(list: impl IntoIterator<Item = &'a Arrival>) -> Option<Late> {
    list.into_iter().map(Late::from).max()
}

/// Returns the member that each member of an instance waits for.
fn awaited(
    world: &World,
    list: &[Arrival],
    shape: CollectiveShape,
    root: Option<ProcessNumber>,
) -> Vec<Option<Late>> {
    let context = list.first().and_then(|it| world.system.context(it.context));
    let is_root = |it: &&Arrival| Some(it.process) == root;
    if let Some(sides) = context.and_then(Context::sides) {
        return awaited_between(list, shape, root, sides);
    }
    match shape {
        CollectiveShape::FromRoot => {
            let of_root = first(list.iter().filter(is_root));
            list.iter().map(|it| of_root.filter(|_| !is_root(&it))).collect()
        }
        CollectiveShape::ToRoot => {
            let last = last(list.iter().filter(|it| !is_root(it)));
            list.iter().map(|it| last.filter(|_| is_root(&it))).collect()
        }
        CollectiveShape::Prefix => prefix(context, list),
        CollectiveShape::Neighbours => neighbours(world, list),
        _ => vec![last(list); list.len()],
    }
}

/// Returns the member that each member waits for on an intercommunicator.
fn awaited_between(
    list: &[Arrival],
    shape: CollectiveShape,
    root: Option<ProcessNumber>,
    [one, _]: &[Vec<Option<ProcessNumber>>; 2],
) -> Vec<Option<Late>> {
    let mut one: Vec<ProcessNumber> = one.iter().copied().flatten().collect();
    one.sort_unstable();
    let side = |process: ProcessNumber| usize::from(one.binary_search(&process).is_err());
    let last = [0, 1].map(|of| last(list.iter().filter(|it| side(it.process) == of)));
    let of_other = |it: &Arrival| last.get(1 - side(it.process)).copied().flatten();
    let is_root = |it: &&Arrival| Some(it.process) == root;
    match shape {
        CollectiveShape::FromRoot => {
            let of_root = first(list.iter().filter(is_root));
            let waits =
                |it: &Arrival| of_root.filter(|root| side(root.process) != side(it.process));
            list.iter().map(waits).collect()
        }
        CollectiveShape::ToRoot => {
            list.iter().map(|it| of_other(it).filter(|_| is_root(&it))).collect()
        }
        CollectiveShape::All => list.iter().map(of_other).collect(),
        // A process that left before a member of its own group came has not waited for that member.
        _ => {
            let mut all: Vec<Late> = list.iter().map(Late::from).collect();
            all.sort_unstable();
            let before = |it: &Arrival| {
                let count = all.partition_point(|other| other.began < it.end);
                all.get(..count)?.last().copied()
            };
            list.iter().map(before).collect()
        }
    }
}

/// Returns, for each member, the last to come of those of lower rank.
fn prefix(context: Option<&Context>, list: &[Arrival]) -> Vec<Option<Late>> {
    let processes = context.into_iter().flat_map(Context::processes);
    let mut ranks: Vec<(ProcessNumber, u32)> = processes.zip(0..).collect();
    ranks.sort_unstable();
    let rank = |process: ProcessNumber| {
        let at = ranks.partition_point(|it| it.0 < process);
        ranks.get(at).filter(|it| it.0 == process).map(|it| it.1)
    };
    let mut order: Vec<usize> = (0..list.len()).collect();
    let key = |it: &Arrival| (rank(it.process), it.began, it.process, it.location);
    order.sort_by_cached_key(|at| list.get(*at).map(key));
    let mut awaited = vec![None; list.len()];
    let mut latest: Option<Late> = None;
    for at in order {
        let (Some(it), Some(place)) = (list.get(at), awaited.get_mut(at)) else { continue };
        *place = latest;
        latest = latest.max(Some(it.into()));
    }
    awaited
}

/// Returns, for each member, the last to come of the neighbours that send to it.
fn neighbours(world: &World, list: &[Arrival]) -> Vec<Option<Late>> {
    let mut all: Vec<Late> = list.iter().map(Late::from).collect();
    all.sort_unstable_by_key(|it| (it.process, it.began));
    let arrival = |process: ProcessNumber| {
        let end = all.partition_point(|it| it.process <= process);
        all.get(..end)?.last().copied().filter(|it| it.process == process)
    };
    let last = |it: &Arrival| {
        let group = world.system.group(it.neighbours?)?;
        let others = group.iter().filter(|process| **process != it.process);
        others.filter_map(|process| arrival(*process)).max()
    };
    list.iter().map(last).collect()
}

/// Members of a collective that are in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    All,
    Some,
}

/// Judges an instance, given the members that came.
fn judge(world: &World, instance: Instance, came: Came, out: &mut Answering<'_, ()>) {
    let Instance { arrivals: list, mut touches } = instance;
    // Messages come in any order. The result does not depend on it, since ties are decided by process and location.
    let order = |it: &&Arrival| (it.began, it.process, it.location);
    let (first, last) = (list.iter().min_by_key(order), list.iter().max_by_key(order));
    let (Some(&first), Some(&last)) = (first, last) else { return };
    if came == Came::Some {
        for it in &list {
            let Arrival { location, account, .. } = *it;
            let what = Quantity::PartialCollectives;
            let (amount, begin, culprit, left, piece) = (1, it.enter, None, None, Piece::None);
            let booking = Booking { location, account, what, amount, begin, culprit, piece, left };
            out.engine.bookings.send(it.process, booking);
        }
    }
    let says_root = list.iter().filter(|it| it.root.is_some());
    let (shape, root) = (first.shape, says_root.min_by_key(order).and_then(|it| it.root));
    let awaited = awaited(world, &list, shape, root);
    if first.number.is_some() {
        return send_last_to_begin(&list, &awaited, out);
    }
    let first_end = list.iter().map(|it| it.end).min().unwrap_or(Time::BEGIN);
    for it in &list {
        if let Some(number) = it.deferred {
            let (process, from, until) = (it.process, last.enter, first_end);
            out.engine.remainders.send(process, Remainder { process, number, from, until });
        }
    }
    let between = world.system.context(first.context).and_then(Context::sides).is_some();
    let mut book = |it: &Arrival, what, amount: Duration, culprit, left: Option<Duration>| {
        // A wait is never longer than the time in the collective.
        let amount = amount.min(it.end.since(it.enter));
        if amount > Duration::ZERO {
            let Arrival { location, account, .. } = *it;
            let begin = match Some(what) == completion(shape) {
                true => it.end - amount,
                false => it.enter,
            };
            let piece = match (left, all_wait_for_all(shape) && !between) {
                (None, _) => Piece::None,
                (Some(_), false) => Piece::OfTwo,
                (Some(_), true) => Piece::OfAll(it.context),
            };
            let amount = amount.0;
            let booking = Booking { location, account, what, amount, begin, culprit, piece, left };
            out.engine.bookings.send(it.process, booking);
        }
        amount
    };
    touches.sort_unstable_by_key(|touch| (touch.target, touch.time));
    for (it, late) in list.iter().zip(awaited) {
        let until = late.map_or(Duration::ZERO, |late| late.began.since(it.enter));
        let left = it.leave - it.enter;
        let waited = book(it, wait(shape), until, late.map(|late| late.location), Some(left));
        if let Some(completion) = completion(shape).filter(|_| !between) {
            let rest = it.end.since(it.enter) - waited;
            let left = left - waited;
            book(it, completion, (it.end - first_end).min(rest), None, Some(left));
        }
        if shape == CollectiveShape::Fence {
            let count = touches.partition_point(|touch| touch.target <= it.process);
            let touch = touches.get(..count).and_then(<[Touch]>::last);
            let touch = touch.filter(|touch| touch.target == it.process);
            let over = touch.map_or(Time::BEGIN, |touch| touch.time);
            // The process that acts on others has yet to come, so this is a part of the wait.
            let pending = over.since(it.enter).min(until);
            book(it, Quantity::Wait(Wait::EarlyFence), pending, None, None);
        }
    }
}

/// Returns the quantity that a wait for others in a collective is booked as.
fn wait(shape: CollectiveShape) -> Quantity {
    match shape {
        CollectiveShape::Barrier => Quantity::Wait(Wait::BarrierWait),
        CollectiveShape::Fence => Quantity::Wait(Wait::WaitAtFence),
        CollectiveShape::Create => Quantity::Wait(Wait::WaitAtCreate),
        CollectiveShape::Free => Quantity::Wait(Wait::WaitAtFree),
        CollectiveShape::All | CollectiveShape::Neighbours => Quantity::Wait(Wait::NxnWait),
        CollectiveShape::FromRoot => Quantity::Wait(Wait::LateBroadcast),
        CollectiveShape::ToRoot => Quantity::Wait(Wait::EarlyReduce),
        CollectiveShape::Prefix => Quantity::Wait(Wait::EarlyScan),
    }
}

/// Returns `true` for collectives in which every member waits for the last of all.
fn all_wait_for_all(shape: CollectiveShape) -> bool {
    matches!(
        shape,
        CollectiveShape::Barrier
            | CollectiveShape::Fence
            | CollectiveShape::Create
            | CollectiveShape::Free
            | CollectiveShape::All
    )
}

/// Returns the quantity that the time after the first end is booked as, if it has a name.
fn completion(shape: CollectiveShape) -> Option<Quantity> {
    match shape {
        CollectiveShape::Barrier => Some(Quantity::Wait(Wait::BarrierCompletion)),
        CollectiveShape::All => Some(Quantity::Wait(Wait::NxnCompletion)),
        _ => None,
    }
}

/// Tells the members of a non-blocking collective until when they had to wait, and for whom.
fn send_last_to_begin(list: &[Arrival], awaited: &[Option<Late>], out: &mut Answering<'_, ()>) {
    for (it, late) in list.iter().zip(awaited) {
        let (member, number) = (it.process, it.number.unwrap_or_default());
        let last = late.map_or(member, |late| late.process);
        let location = late.map_or(it.location, |late| late.location);
        let began = late.map_or(Time::BEGIN, |late| late.began);
        out.shared.begun.send(member, LastToBegin { member, number, last, location, began });
    }
}
