//! Instances of collectives at the shards that own them: which member waited for which other, and for how long.

use std::collections::BTreeMap;

use dwell_log::quantity::Quantity;
use dwell_model::waits::Wait;
use dwell_trace::ids::{ContextNumber, LocationNumber, ProcessNumber};
use dwell_trace::shape::CollectiveShape;
use dwell_trace::system::Context;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;

use super::{Arrival, Touch};
use crate::engine::booking::{Booking, Piece};
use crate::engine::deferred::Remainder;
use crate::engine::pattern::Window;
use crate::protocol::Answering;
use crate::protocol::nonblocking::LastToBegin;

/// Members of one collective that have arrived, and their operations before it.
#[derive(Debug, Default)]
struct Instance {
    arrivals: Vec<Arrival>,
    touches: Vec<Touch>,
}

/// Instances whose members have not all arrived.
#[derive(Debug, Default)]
pub(super) struct Instances {
    open: BTreeMap<(ContextNumber, u64), Instance>,
    /// Number of instances that were judged without some of their members.
    pub(super) partial: u64,
}

impl Instances {
    /// Takes the operations of a member before a fence. They come with the arrival of that member and must be delivered
    /// first.
    pub(super) fn touch(&mut self, touch: Touch) {
        self.open.entry((touch.context, touch.sequence)).or_default().touches.push(touch);
    }

    /// Takes an arrival, and judges the instance if it is complete.
    pub(super) fn arrive(&mut self, world: &World, arrival: Arrival, out: &mut Answering<'_, ()>) {
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
    pub(super) fn close(&mut self, at: &Window<'_>, out: &mut Answering<'_, ()>) {
        let over = |key: &(ContextNumber, u64), it: &mut Instance| {
            at.others_have_ended(key.0, it.arrivals.iter().map(|it| it.process))
        };
        let closed: Vec<Instance> =
            self.open.extract_if(.., over).map(|(_, instance)| instance).collect();
        for instance in closed {
            self.partial += 1;
            judge(at.world, instance, Came::Some, out);
        }
    }

    pub(super) fn bytes(&self) -> usize {
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

/// Returns the first of those arrivals, whatever their order. Ties are decided by process.
fn first<'a>(list: impl IntoIterator<Item = &'a Arrival>) -> Option<Late> {
    list.into_iter().map(Late::from).min()
}

/// Returns the last of those arrivals.
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
        // A process that left before a member of its own group arrived has not waited for that member.
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

/// Returns, for each member, the last to arrive of those of lower rank.
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

/// Returns, for each member, the last to arrive of the neighbours that send to it.
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

/// Judges an instance, given the members that arrived.
fn judge(world: &World, instance: Instance, came: Came, out: &mut Answering<'_, ()>) {
    let Instance { arrivals: list, mut touches } = instance;
    // Messages arrive in any order. The result does not depend on it, since ties are decided by process and location.
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
    let is_apart = shape == CollectiveShape::File && first_end < last.enter;
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
        // One that left before the last came shows that members did not wait for all.
        let late = late.filter(|_| !is_apart);
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
            // The process that acts on others has yet to arrive, so this is a part of the wait.
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
        CollectiveShape::All | CollectiveShape::Neighbours | CollectiveShape::File => {
            Quantity::Wait(Wait::NxnWait)
        }
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
            | CollectiveShape::File
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

/// Sends the members of a non-blocking collective the process that they had to wait for, and the time at which it began.
fn send_last_to_begin(list: &[Arrival], awaited: &[Option<Late>], out: &mut Answering<'_, ()>) {
    for (it, late) in list.iter().zip(awaited) {
        let (member, number) = (it.process, it.number.unwrap_or_default());
        let last = late.map_or(member, |late| late.process);
        let location = late.map_or(it.location, |late| late.location);
        let began = late.map_or(Time::BEGIN, |late| late.began);
        out.shared.begun.send(member, LastToBegin { member, number, last, location, began });
    }
}
