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
//! know everything that its call waited for (see [`super::messages`]).
//!
//! *Early fence* is the part of a wait at a fence during which operations of others on this process had yet to end.
//! Each member tells the owner of the fence which targets it acted on since the last one.

use std::collections::{BTreeMap, HashMap, VecDeque};

use dwell_model::operation::{Operation, Shape};
use otf2::enums::{CollectiveOp, CollectiveRoot};
use otf2::id::GroupRef;

use crate::archive::roles::Role;
use crate::archive::system::Context;
use crate::archive::world::World;
use crate::engine::accounts::Account;
use crate::engine::booking::Booking;
use crate::engine::hash::Mixed;
use crate::engine::quantity::Quantity;
use crate::engine::transport::{Message, Outbox};
use crate::patterns::messages::{COLLECTIVES, OUTSIDE, Sent};
use dwell_model::waits::Wait;

/// Shape of a collective, which says who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// All wait for the last; no data is moved.
    Barrier,
    /// A barrier around operations on a window.
    Fence,
    /// Creation of windows or memory.
    Create,
    /// Release of windows or memory.
    Free,
    /// All wait for all.
    All,
    /// All wait for the root.
    FromRoot,
    /// The root waits for all.
    ToRoot,
    /// Each waits for those of lower rank.
    Prefix,
    /// Each waits for its neighbours in a topology.
    Neighbours,
}

impl Way {
    /// Returns the shape of a collective, given the call around it and the record.
    pub(crate) fn of(role: Role, op: CollectiveOp, root: CollectiveRoot, window: bool) -> Self {
        let operation = role.meaning.map(|meaning| meaning.operation);
        let by_call = match operation {
            Some(Operation::Collective(which)) => Some(which.shape()),
            _ => None,
        };
        let mpi = role.layer() == Some(dwell_model::layer::Layer::Mpi);
        match op {
            CollectiveOp::CreateHandle
            | CollectiveOp::Allocate
            | CollectiveOp::CreateHandleAndAllocate => return Self::Create,
            CollectiveOp::DestroyHandle
            | CollectiveOp::Deallocate
            | CollectiveOp::DestroyHandleAndDeallocate => return Self::Free,
            CollectiveOp::Barrier if window && mpi => return Self::Fence,
            _ => {}
        }
        match operation {
            Some(Operation::Allocate | Operation::Reallocate | Operation::CreateGroup) => {
                return Self::Create;
            }
            Some(Operation::Deallocate | Operation::DestroyGroup) => return Self::Free,
            _ => {}
        }
        // On intercommunicators the root names itself, and members of its group name the group.
        let rooted = !matches!(root, CollectiveRoot::None);
        match by_call {
            Some(Shape::Neighbours) => return Self::Neighbours,
            Some(Shape::Barrier) => return Self::Barrier,
            Some(Shape::OneToAll) if rooted => return Self::FromRoot,
            Some(Shape::AllToOne) if rooted => return Self::ToRoot,
            Some(Shape::Prefix) => return Self::Prefix,
            // A reduction of coarrays may have a root.
            Some(Shape::AllToAll) if !rooted => return Self::All,
            _ => {}
        }
        match op {
            CollectiveOp::Barrier => Self::Barrier,
            CollectiveOp::Bcast | CollectiveOp::Scatter | CollectiveOp::Scatterv if rooted => {
                Self::FromRoot
            }
            CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Gatherv if rooted => {
                Self::ToRoot
            }
            CollectiveOp::Scan | CollectiveOp::Exscan => Self::Prefix,
            _ => Self::All,
        }
    }
}

/// The arrival of a member in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) context: u32,
    pub(crate) sequence: u64,
    pub(crate) process: u32,
    pub(crate) location: u32,
    /// Account on which the member's waits are booked.
    pub(crate) account: Account,
    /// Enter and leave of the call that waits.
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    /// Enter of the call that began the collective, which is the same call if it blocks.
    pub(crate) began: u64,
    pub(crate) end: u64,
    pub(crate) way: Way,
    /// Process that is the root.
    pub(crate) root: Option<u32>,
    /// Group of the process and the neighbours that send to it, if the archive has it.
    pub(crate) neighbours: Option<u32>,
    /// Number of a non-blocking collective at the process.
    pub(crate) number: Option<u32>,
    /// Number of the case if the collective completed operations outside of the group. The process then has to know
    /// when the last of the group came.
    pub(crate) outside: Option<u32>,
}

impl Message for Arrival {}

impl Arrival {
    /// Returns the process whose shard keeps the instance. Instances are spread, so that no shard keeps them all.
    pub(crate) fn home(&self, world: &World) -> u32 {
        home(world, self.context, self.sequence)
    }
}

fn home(world: &World, context: u32, sequence: u64) -> u32 {
    let count = world.system.processes.len().max(1) as u64;
    (sequence.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(context)) % count) as u32
}

/// Bit in the sequence number of non-blocking collectives, which are counted apart from blocking ones.
pub(crate) const NON_BLOCKING: u64 = 1 << 63;

/// An operation of a member on the window of another before a fence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) context: u32,
    pub(crate) sequence: u64,
    pub(crate) target: u32,
    /// End of the last operation on that target.
    pub(crate) time: u64,
}

impl Message for Touch {}

impl Touch {
    /// Returns the process whose shard keeps the fence.
    pub(crate) fn home(&self, world: &World) -> u32 {
        home(world, self.context, self.sequence)
    }
}

/// The members of a communicator that a member of a collective waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Any of them.
    Members,
    /// The neighbours that send to it: a group, if the archive has it.
    Neighbours(Option<u32>),
}

/// A non-blocking collective, from its beginning.
#[derive(Clone, Copy, Debug)]
struct Started {
    location: u32,
    request: u64,
    number: u32,
    began: u64,
    among: Among,
    /// The arrival once the collective is complete; `None` inside if it is not judged.
    complete: Option<Option<Arrival>>,
}

/// Non-blocking collectives of a process. Only their end says which communicator they belong to, and they may end in
/// any order. They get their sequence numbers once all that began before have ended.
#[derive(Debug, Default)]
pub(crate) struct Under {
    started: VecDeque<Started>,
    next: u32,
    counted: HashMap<u32, u64, Mixed>,
    /// Number of collectives that ended without a beginning.
    pub(crate) strays: u64,
}

impl Under {
    /// Records that a call began a collective.
    pub(crate) fn begin(&mut self, location: u32, request: u64, began: u64, among: Among) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.started.push_back(Started { location, request, number, began, among, complete: None });
    }

    /// Returns the number and the beginning of a collective that ends, and the members that it waits for.
    pub(crate) fn find(&mut self, location: u32, request: u64) -> Option<(u32, u64, Among)> {
        let is = |it: &&Started| {
            it.location == location && it.request == request && it.complete.is_none()
        };
        let found = self.started.iter().find(is).map(|it| (it.number, it.began, it.among));
        self.strays += u64::from(found.is_none());
        found
    }

    /// Records the end of a collective; `None` if it is not judged. Passes on those that can get their sequence numbers
    /// now.
    pub(crate) fn end(
        &mut self,
        number: u32,
        arrival: Option<Arrival>,
    ) -> impl Iterator<Item = Arrival> {
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
    pub(crate) fn begun(&self) -> u64 {
        u64::from(self.next)
    }

    /// Returns the number of collectives that began and never ended.
    pub(crate) fn unfinished(&self) -> u64 {
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
pub(crate) struct Instances {
    open: BTreeMap<(u32, u64), Instance>,
    /// Number of instances that were judged without some of their members.
    pub(crate) partial: u64,
}

/// Outboxes for answers.
pub(crate) struct Answers<'a> {
    pub(crate) bookings: &'a mut Outbox<Booking>,
    pub(crate) told: &'a mut Outbox<Sent>,
}

impl Instances {
    /// Takes the operations of a member before a fence. They come with the arrival of that member and must be delivered
    /// first.
    pub(crate) fn touch(&mut self, touch: Touch) {
        self.open.entry((touch.context, touch.sequence)).or_default().touches.push(touch);
    }

    /// Takes an arrival, and judges the instance if it is complete.
    pub(crate) fn arrive(&mut self, world: &World, arrival: Arrival, out: &mut Answers<'_>) {
        let key = (arrival.context, arrival.sequence);
        let list = &mut self.open.entry(key).or_default().arrivals;
        list.push(arrival);
        let size = world.system.context(arrival.context).map_or(0, |context| context.size);
        if list.len() as u32 >= size
            && let Some(instance) = self.open.remove(&key)
        {
            judge(world, instance, false, out);
        }
    }

    /// Judges instances that no process can join any more, given the processes that have ended.
    pub(crate) fn close(
        &mut self,
        world: &World,
        ended: &dyn Fn(u32) -> bool,
        out: &mut Answers<'_>,
    ) {
        let over = |key: &(u32, u64), it: &mut Instance| {
            let Some(context) = world.system.context(key.0) else { return true };
            let here = |process: u32| it.arrivals.iter().any(|it| it.process == process);
            match &context.members {
                Some(members) => members.iter().all(|&it| ended(it) || here(it)),
                None => (0..context.size).all(|it| ended(it) || here(it)),
            }
        };
        let closed: Vec<Instance> =
            self.open.extract_if(.., over).map(|(_, instance)| instance).collect();
        for instance in closed {
            self.partial += 1;
            judge(world, instance, true, out);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
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
    began: u64,
    process: u32,
}

impl From<&Arrival> for Late {
    fn from(it: &Arrival) -> Self {
        Self { began: it.began, process: it.process }
    }
}

/// Returns the member that each member of an instance waits for. The list is sorted by (began, process, location), so
/// that the last one does not depend on the order of messages.
fn awaited(world: &World, list: &[Arrival], way: Way, root: Option<u32>) -> Vec<Option<Late>> {
    let context = list.first().and_then(|it| world.system.context(it.context));
    let is_root = |it: &Arrival| Some(it.process) == root;
    if let Some(sides) = context.and_then(Context::sides) {
        return awaited_between(list, way, root, sides);
    }
    match way {
        Way::FromRoot => {
            let of_root = list.iter().find(|it| is_root(it)).map(Late::from);
            list.iter().map(|it| of_root.filter(|_| !is_root(it))).collect()
        }
        Way::ToRoot => {
            let last = list.iter().rfind(|it| !is_root(it)).map(Late::from);
            list.iter().map(|it| last.filter(|_| is_root(it))).collect()
        }
        Way::Prefix => prefix(list, |process| context.and_then(|it| it.rank(process))),
        Way::Neighbours => neighbours(world, list),
        _ => vec![list.last().map(Late::from); list.len()],
    }
}

/// Returns the member that each member waits for on an intercommunicator.
fn awaited_between(
    list: &[Arrival],
    way: Way,
    root: Option<u32>,
    [one, _]: &[Vec<Option<u32>>; 2],
) -> Vec<Option<Late>> {
    let mut one: Vec<u32> = one.iter().copied().flatten().collect();
    one.sort_unstable();
    let side = |it: &Arrival| usize::from(one.binary_search(&it.process).is_err());
    let last = [0, 1].map(|of| list.iter().rfind(|it| side(it) == of).map(Late::from));
    let of_other = |it: &Arrival| last.get(1 - side(it)).copied().flatten();
    let is_root = |it: &Arrival| Some(it.process) == root;
    match way {
        Way::FromRoot => {
            let of_root = list.iter().find(|it| is_root(it));
            let waits =
                |it: &Arrival| of_root.filter(|root| side(root) != side(it)).map(Late::from);
            list.iter().map(waits).collect()
        }
        Way::ToRoot => list.iter().map(|it| of_other(it).filter(|_| is_root(it))).collect(),
        Way::All => list.iter().map(of_other).collect(),
        // A process that left before a member of its own group came has not waited for that member.
        _ => {
            let before = |it: &Arrival| list.iter().rfind(|other| other.began < it.end);
            list.iter().map(|it| before(it).map(Late::from)).collect()
        }
    }
}

/// Returns, for each member, the last to come of those of lower rank.
fn prefix(list: &[Arrival], rank: impl Fn(u32) -> Option<u32>) -> Vec<Option<Late>> {
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_cached_key(|at| list.get(*at).and_then(|it| rank(it.process)));
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
    let arrival = |process: u32| {
        let end = all.partition_point(|it| it.process <= process);
        all.get(..end)?.last().copied().filter(|it| it.process == process)
    };
    let last = |it: &Arrival| {
        let group = world.system.group(GroupRef(it.neighbours?))?;
        let others = group.iter().filter(|process| **process != it.process);
        others.filter_map(|process| arrival(*process)).max()
    };
    list.iter().map(last).collect()
}

/// Judges an instance. `partial` says that some members are missing.
fn judge(world: &World, instance: Instance, partial: bool, out: &mut Answers<'_>) {
    let Instance { arrivals: mut list, touches } = instance;
    list.sort_unstable_by_key(|it| (it.began, it.process, it.location));
    let (Some(&first), Some(&last)) = (list.first(), list.last()) else { return };
    if partial {
        for it in &list {
            let Arrival { location, account, .. } = *it;
            let what = Quantity::PartialCollectives;
            let (amount, begin, blamed, left) = (1, it.enter, None, None);
            let booking = Booking { location, account, what, amount, begin, blamed, left };
            out.bookings.send(it.process, booking);
        }
    }
    let (way, root) = (first.way, list.iter().find_map(|it| it.root));
    let awaited = awaited(world, &list, way, root);
    if first.number.is_some() {
        return tell(&list, &awaited, out.told);
    }
    let first_end = list.iter().map(|it| it.end).min().unwrap_or(0);
    for it in &list {
        if let Some(tag) = it.outside {
            let (receiver, sender, context) = (it.process, last.process, OUTSIDE);
            let (begin, time, serial) = (last.enter, first_end, 0);
            let (blocking, touched) = (false, 0);
            out.told.send(
                receiver,
                Sent {
                    receiver,
                    sender,
                    context,
                    tag,
                    begin,
                    time,
                    serial,
                    blocking,
                    touched,
                    skipped: 0,
                },
            );
        }
    }
    let mut book = |it: &Arrival, what, amount: u64, blamed, left| {
        // A wait is never longer than the time in the collective.
        let amount = amount.min(it.end.saturating_sub(it.enter));
        if amount > 0 {
            let Arrival { location, account, .. } = *it;
            let begin = match Some(what) == way.completion() {
                true => it.end - amount,
                false => it.enter,
            };
            let booking = Booking { location, account, what, amount, begin, blamed, left };
            out.bookings.send(it.process, booking);
        }
        amount
    };
    let between = world.system.context(first.context).and_then(Context::sides).is_some();
    for (it, late) in list.iter().zip(awaited) {
        let until = late.map_or(0, |late| late.began.saturating_sub(it.enter));
        let left = it.leave - it.enter;
        let waited = book(it, way.wait(), until, late.map(|late| late.process), Some(left));
        if let Some(completion) = way.completion().filter(|_| !between) {
            let rest = it.end.saturating_sub(it.enter) - waited;
            let left = left - waited;
            book(it, completion, (it.end - first_end).min(rest), None, Some(left));
        }
        if way == Way::Fence {
            let touched = touches.iter().filter(|touch| touch.target == it.process);
            let over = touched.map(|touch| touch.time).max().unwrap_or(0);
            // The process that acts on others has yet to come, so this is a part of the wait.
            let pending = over.saturating_sub(it.enter).min(until);
            book(it, Quantity::Wait(Wait::EarlyFence), pending, None, None);
        }
    }
}

impl Way {
    /// Returns the quantity that a wait for others is booked as.
    fn wait(self) -> Quantity {
        match self {
            Self::Barrier => Quantity::Wait(Wait::BarrierWait),
            Self::Fence => Quantity::Wait(Wait::WaitAtFence),
            Self::Create => Quantity::Wait(Wait::WaitAtCreate),
            Self::Free => Quantity::Wait(Wait::WaitAtFree),
            Self::All | Self::Neighbours => Quantity::Wait(Wait::NxnWait),
            Self::FromRoot => Quantity::Wait(Wait::LateBroadcast),
            Self::ToRoot => Quantity::Wait(Wait::EarlyReduce),
            Self::Prefix => Quantity::Wait(Wait::EarlyScan),
        }
    }

    /// Returns the quantity that the time after the first end is booked as, if it has a name.
    fn completion(self) -> Option<Quantity> {
        match self {
            Self::Barrier => Some(Quantity::Wait(Wait::BarrierCompletion)),
            Self::All => Some(Quantity::Wait(Wait::NxnCompletion)),
            _ => None,
        }
    }
}

/// Tells the members of a non-blocking collective until when they had to wait, and for whom.
fn tell(list: &[Arrival], awaited: &[Option<Late>], told: &mut Outbox<Sent>) {
    for (it, for_whom) in list.iter().zip(awaited) {
        let (receiver, serial) = (it.process, 0);
        told.send(
            receiver,
            Sent {
                receiver,
                sender: for_whom.map_or(receiver, |it| it.process),
                context: COLLECTIVES,
                tag: it.number.unwrap_or_default(),
                begin: for_whom.map_or(0, |it| it.began),
                time: 0,
                serial,
                blocking: false,
                touched: 0,
                skipped: 0,
            },
        );
    }
}
