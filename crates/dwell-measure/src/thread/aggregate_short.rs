//! Aggregation of short calls, so that recording takes no more than a stated part of the time.
//!
//! With `--overhead` a call that no other process depends on ([`Decision::Aggregate`](crate::filter::Decision)) may be
//! aggregated: nothing is written when it begins. If it takes at least [`Process::short`](crate::process::Process) or
//! writes a record that the analysis of other processes needs, it is written like any other call, with the time at which
//! it began. Otherwise it is added to a *stretch*: calls that follow each other within that time, from a few places of the
//! program. A stretch is written before any other event, when the next call is too far away, or when it has become long.
//! It has one region for each place, which states the number of calls and the time that they took. A stretch of one call
//! is written as that call.
//!
//! That time is the cost of recording a call, divided by the part that recording may take. So there is always enough time
//! between two written calls. The remaining cost is that of deciding about short calls.
//!
//! The first calls of each place are always recorded. So are calls inside other recorded calls, because the enter event of
//! the outer call has to be written before them.
//!
//! Transfers of a program whose own functions are not recorded are the most frequent case. They take fewer instructions,
//! because they have no frame until an event is written about them ([`Unframed`]).
#![allow(unsafe_code)] // Locations are reached by pointers kept in thread-local words.

use dwell_model::operation::{Mode, Operation};
use dwell_unify::definitions::attribute;
use otf2::event::{AnyEvent, Leave, RmaGet, RmaOpCompleteBlocking, RmaPut};
use otf2::id::{AttributeRef, MatchingId, Rank, RegionRef, Time};
use otf2::{Attribute, AttributeValue, List};

use super::inner::Inside;
use super::{
    AtTarget, Busy, Call, Frame, Location, NO_FRAME, NO_PLACE, NOT_RECORDED, Place, Thread,
    place_of,
};
use crate::arch;
use crate::entry::{self, words};
use crate::faults::{Entry, pass};
use crate::hook::{Address, Bytes, Context, Hook, Transfer};
use crate::modulo::Modulo;
use crate::profile::{Access, Amount};
use crate::reentrancy::Taken;

/// Number of calls of each place that are recorded before the first one is aggregated.
const FIRST: u32 = 100;
/// Largest number of places whose calls are in one stretch, calls inside them included.
const PLACES: usize = 24;
/// Largest length of a stretch, as a multiple of the time up to which calls are short. A process that is killed loses at
/// most one stretch.
const LONGEST: u64 = 100;

/// Aggregated calls that are not written yet.
#[derive(Debug)]
pub(super) struct Stretch {
    /// Times at which the first call began and the last one ended.
    from: u64,
    until: u64,
    calls: u64,
    /// The first call, which is written as it was if no other joins it.
    first: Single,
    /// Operation of the open call, if that may still be aggregated.
    kept: Option<Access>,
    sums: [Sum; PLACES],
    places: usize,
}

/// Contents of a stretch of one call, which is written as that call.
#[derive(Clone, Copy, Debug)]
struct Single {
    operation: Option<Access>,
    blocking: bool,
}

/// An open transfer that may be aggregated, without a frame: no event was written and no window looked up for it yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unframed {
    hook: &'static Hook,
    it: Transfer,
    enter: u64,
    region: u32,
    return_address: usize,
    /// Address of the return address on the stack.
    stack: usize,
}

/// Begins a [`Transfer`] that is aggregated if it is short. Its parts are passed one by one, because a call passes these
/// in registers and a larger value in memory. Returns `None` if the call has to be begun in the ordinary way.
#[inline(never)]
pub(crate) fn begin_aggregated(
    hook: &'static Hook,
    target: Rank,
    bytes: Bytes,
    address: Address,
    context: Context,
) -> Option<Call> {
    let words = words();
    let location = words.location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return None;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    let location = unsafe { Location::of(location) };
    if location.busy.take_to_record(entry::switch()) != Taken::Yes {
        return None;
    }
    let mut thread = Busy { location };
    let return_address = words.return_address.get();
    let Some(region) = thread.may_be_aggregated(hook, return_address) else {
        thread.release();
        return None;
    };
    pass(Entry::Busy);
    let enter = thread.now();
    if thread.flags.unsettled
        && (thread.stretch.calls == 0 || enter - thread.stretch.until > thread.process.short)
    {
        thread.settle();
    }
    let stack = words.stack.get();
    let it = Transfer { target, bytes, address, context };
    let unframed = Unframed { hook, it, enter, region, return_address, stack };
    thread.unframed = Some(unframed);
    thread.layers = hook.layer_bit;
    let call = Call { location: location.into(), depth: 0 };
    thread.release();
    Some(call)
}

impl Busy {
    /// Ends a call that [`begin_aggregated`] began, if it is still one and short. Otherwise it has to be ended in the ordinary
    /// way.
    #[inline]
    pub(crate) fn end_aggregated(mut self) -> Option<Self> {
        let Some(Unframed { hook, it, enter, region, return_address, .. }) = self.unframed else {
            return Some(self);
        };
        let time = self.now();
        let length = time - enter;
        if length >= self.process.short {
            self.write_unframed();
            return Some(self);
        }
        let place = self.place_in_stretch(return_address, region);
        if self.stretch.calls == 0 {
            let operation = self.unframed.map(|unframed| self.operation_of(&unframed));
            let blocking = hook.meaning.mode == Mode::Blocking;
            self.stretch.from = enter;
            self.stretch.first = Single { operation, blocking };
        }
        self.unframed = None;
        self.layers = 0;
        self.add_to_stretch(place, length, it.bytes, time);
        self.release();
        None
    }
}

/// Sums of the calls of one place.
#[derive(Clone, Copy, Debug)]
struct Sum {
    site: usize,
    region: u32,
    calls: u64,
    time: u64,
    bytes: u64,
    /// Number plus one of the place inside whose calls these were made; 0 for calls of the program.
    outer: usize,
}

const NO_SUM: Sum = Sum { site: 0, region: 0, calls: 0, time: 0, bytes: 0, outer: 0 };

impl Stretch {
    pub(super) const NONE: Self = Self {
        from: 0,
        until: 0,
        calls: 0,
        first: Single { operation: None, blocking: false },
        kept: None,
        sums: [NO_SUM; PLACES],
        places: 0,
    };

    /// Returns the number of a place of the program, or `None` if there is no room for a further one.
    #[inline]
    fn place(&mut self, site: usize, region: u32, outer: usize) -> Option<usize> {
        let known = self.sums.get(..self.places).unwrap_or_default();
        let is_it = |sum: &Sum| sum.site == site && sum.region == region && sum.outer == outer;
        let found = known.iter().position(is_it);
        if found.is_some() {
            return found;
        }
        let new = self.places;
        *self.sums.get_mut(new)? = Sum { site, region, outer, ..NO_SUM };
        self.places += 1;
        Some(new)
    }

    /// Adds calls that were made inside a call of the place `outer`.
    fn add_inside(&mut self, outer: usize, inside: &Inside) {
        let Inside { site, region, calls, time, bytes } = *inside;
        let place = self.place(site, region, outer + 1);
        if let Some(sum) = place.and_then(|place| self.sums.get_mut(place)) {
            sum.calls += calls;
            sum.time += time;
            sum.bytes += bytes;
        }
    }
}

impl Thread {
    /// Returns `true` if a call of this place may be aggregated.
    #[inline]
    pub(super) fn is_aggregated(&mut self, region: u32, site: usize) -> bool {
        // The enter event of a recorded caller has to be written before the calls inside it.
        if self.layers != 0 || self.encoder.is_none() {
            return false;
        }
        let place = self.sites.modulo_mut(place_of(site));
        if place.return_address != site || place.region != region {
            *place = Place { return_address: site, region, ..NO_PLACE };
        }
        place.seen = place.seen.saturating_add(1);
        place.seen > FIRST
    }

    /// Opens a call that is aggregated if it is short. Nothing is written for now.
    #[inline]
    pub(super) fn open_aggregated(&mut self, time: u64, frame: Frame) {
        if self.stretch.calls > 0 && time - self.stretch.until > self.process.short {
            self.settle();
        }
        let row = self.enter_path(time, frame.region, frame.site);
        self.push(Frame { row, enter: time, ..frame });
        self.stretch.kept = None;
        self.aggregated = true;
        self.flags.aside = true;
    }

    /// Writes the events that were deferred, unless the next event is a call that may join the stretch.
    #[cold]
    #[inline(never)]
    pub(super) fn settle_unless_short(&mut self, hook: &Hook) {
        if self.stretch.calls == 0 || !hook.is_aggregated() || self.layers != 0 {
            if self.inner.are_pending() {
                self.now();
            }
            self.settle();
        }
    }

    /// Keeps the operation of the open call, which may be aggregated. Returns `false` if it cannot be kept: then the call
    /// is written now, and the caller has to write the event.
    #[inline]
    pub(super) fn keeps(&mut self, amount: Option<Amount>) -> bool {
        let operation = amount.and_then(|amount| amount.access());
        if operation.is_some() && self.stretch.kept.is_none() {
            self.stretch.kept = operation;
            return true;
        }
        self.write_aggregated();
        false
    }

    /// Writes the beginning of the open call, of which nothing was written so far.
    #[cold]
    #[inline(never)]
    pub(super) fn write_aggregated(&mut self) {
        self.aggregated = false;
        self.set_muted(false);
        // Calls inside it follow its enter event.
        let inside = self.inner.keep();
        if self.flags.unsettled {
            self.settle();
        }
        self.flags.unsettled = inside > 0;
        self.inner.put_back(inside);
        let Frame { enter, region, site, id, .. } = *self.frame();
        if !self.enter_region(enter, region, site) {
            self.frame().muted = true;
            self.set_muted(true);
            self.process.head.loses_call();
            return;
        }
        self.calls += 1;
        if let Some(operation) = self.stretch.kept.take() {
            self.count(&operation.into());
            self.write_operation(enter, operation, id);
        }
    }

    /// Writes an operation as its call would have done, past the profile.
    fn write_operation(&mut self, time: u64, operation: Access, matching_id: MatchingId) {
        let Access { is_put, window: win, target: remote, bytes: Bytes(bytes) } = operation;
        let none = List::default();
        match is_put {
            true => self.write_event(time, none, RmaPut { win, remote, bytes, matching_id }),
            false => self.write_event(time, none, RmaGet { win, remote, bytes, matching_id }),
        };
    }

    /// Writes the beginning of the open call, which returns now, if it is too long to be aggregated. Records of its end
    /// follow.
    #[inline]
    pub(super) fn write_aggregated_if_long(&mut self) {
        if self.now() - self.frame().enter >= self.process.short {
            self.write_aggregated();
        }
    }

    /// Writes an event past the profile, which has counted it already. Returns `false` if there was no room for it.
    pub(crate) fn write_event(
        &mut self,
        time: u64,
        tags: List<'_, Attribute>,
        event: impl AnyEvent + Copy,
    ) -> bool {
        let Some(encoder) = &mut self.encoder else { return false };
        encoder.write_with(Time(time), tags, event).is_ok()
            || self.again(|encoder| encoder.write_with(Time(time), tags, event))
    }

    /// Aggregates the open call and leaves it, if it is short. Otherwise writes its beginning and returns `false`: then the
    /// caller has to write its end.
    #[inline]
    pub(super) fn aggregate(&mut self, time: u64) -> bool {
        let Frame { enter, region, site, layer, hidden, window, blocking, .. } = *self.frame();
        let length = time - enter;
        if length >= self.process.short {
            self.write_aggregated();
            return false;
        }
        self.aggregated = false;
        self.flags.aside = self.profile.is_some();
        let operation = self.stretch.kept.take();
        if operation.is_some() {
            // Its number is free again, and a call that completes what is outstanding need not complete it.
            self.next_id -= 1;
            if let Some(pending) = self.pending.get_mut(window.0 as usize) {
                pending.1 = self.was_outstanding;
            }
        }
        self.book(operation, time);
        if self.inner.are_pending() && self.stretch.places + 1 + self.inner.places() > PLACES {
            let inside = self.inner.keep();
            self.settle();
            self.inner.put_back(inside);
        }
        let place = self.place_in_stretch(site, region);
        if self.inner.are_pending() {
            self.take_inner(length, |thread, inside| thread.stretch.add_inside(place, &inside));
        }
        if self.stretch.calls == 0 {
            self.stretch.from = enter;
            self.stretch.first = Single { operation, blocking };
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
        self.add_to_stretch(place, length, operation.map_or(Bytes(0), |it| it.bytes), time);
        true
    }

    /// Returns the number of a place of the program in the stretch. If the stretch has no room for it, another one begins.
    #[inline]
    fn place_in_stretch(&mut self, site: usize, region: u32) -> usize {
        if let Some(place) = self.stretch.place(site, region, 0) {
            return place;
        }
        self.settle();
        self.stretch.place(site, region, 0).unwrap_or(0)
    }

    /// Adds a call that ends now to the stretch, which has to know its first call already.
    #[inline]
    fn add_to_stretch(&mut self, place: usize, length: u64, bytes: Bytes, time: u64) {
        if let Some(sum) = self.stretch.sums.get_mut(place) {
            sum.calls += 1;
            sum.time += length;
            sum.bytes += bytes.0;
        }
        self.stretch.calls += 1;
        self.stretch.until = time;
        self.summed += 1;
        self.flags.unsettled = true;
        if time - self.stretch.from >= LONGEST * self.process.short {
            self.settle();
        }
    }

    /// Returns the region of a call that may be [`Unframed`], and counts it.
    #[inline]
    fn may_be_aggregated(&mut self, hook: &Hook, return_address: usize) -> Option<u32> {
        let region = hook.region()?;
        let usual = self.depth == 0
            && self.layers == 0
            && !self.flags.aside
            && !self.flags.unwinds
            && self.encoder.is_some()
            && self.polls.until == 0
            && self.time < self.turns_at
            && entry::is_quiet() == self.flags.off
            && !self.flags.off;
        let place = self.sites.modulo_mut(place_of(return_address));
        let known = place.return_address == return_address && place.region == region;
        if !usual || !known || place.seen < FIRST {
            return None;
        }
        place.seen = place.seen.saturating_add(1);
        Some(region)
    }

    /// Returns the operation of a call.
    #[cold]
    #[inline(never)]
    fn operation_of(&mut self, unframed: &Unframed) -> Access {
        let Unframed { hook, it, .. } = *unframed;
        let Transfer { target, bytes, address, context } = it;
        let window = self.window(context);
        let window = self.window_at(window, address);
        let is_put = hook.meaning.operation == Operation::Put;
        Access { is_put, window, target, bytes }
    }

    /// Gives the open call, if it is [`Unframed`], a frame and writes its beginning.
    #[cold]
    #[inline(never)]
    pub(super) fn write_unframed(&mut self) {
        let Some(unframed) = self.unframed.take() else { return };
        self.layers = 0;
        if self.flags.unsettled {
            self.settle();
        }
        let Unframed { hook, enter, region, return_address, .. } = unframed;
        let stack = arch::return_place(unframed.stack, return_address);
        let (site, layer) = (return_address, hook.layer_bit);
        let frame = Frame { stack, return_address, site, region, layer, ..NO_FRAME };
        if !self.open(enter, frame) {
            return;
        }
        let operation = self.operation_of(&unframed);
        let at_target = if operation.is_put { AtTarget::Outstanding } else { AtTarget::Complete };
        let id = self.operation(operation.window, hook.meaning.mode, at_target);
        self.write_operation(enter, operation, id);
    }

    /// Aggregates the open call, whose own operation is complete, if it is short. Otherwise returns `false`: then the caller
    /// has to write the completion and the end of the call.
    #[inline]
    pub(crate) fn aggregate_complete(&mut self, time: u64) -> bool {
        self.aggregated && self.stretch.kept.is_some() && self.aggregate(time)
    }

    /// Adds an aggregated call to the profile, if there is one.
    fn book(&mut self, operation: Option<Access>, time: u64) {
        if self.profile.is_some() {
            if let Some(amount) = operation.map(Amount::from) {
                self.count(&amount);
            }
            self.leave_path(time);
        }
    }

    /// Writes the stretch, if there is one.
    pub(super) fn end_stretch(&mut self) {
        let Stretch { from, until, calls, first, places, .. } = self.stretch;
        if calls == 0 {
            return;
        }
        (self.stretch.calls, self.stretch.places) = (0, 0);
        let sums = self.stretch.sums;
        let sums = sums.get(..places).unwrap_or_default();
        if let ([sum], 1) = (sums, calls) {
            self.summed -= 1;
            return self.write_single(*sum, first, from, until);
        }
        self.write_sums(sums, 0, (from, until));
    }

    /// Writes the places inside `outer`, each with a part of the time that is as long as its calls took in proportion.
    fn write_sums(&mut self, sums: &[Sum], outer: usize, (from, until): (u64, u64)) {
        let all: u64 = sums.iter().filter(|sum| sum.outer == outer).map(|sum| sum.time).sum();
        let (mut begin, mut before) = (from, 0);
        for (place, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.outer == outer) {
            before += sum.time;
            let part = u128::from(until - from) * u128::from(before) / u128::from(all.max(1));
            let end = if before == all { until } else { from + part as u64 };
            self.write_sum(sums, place, (begin, end));
            begin = end;
        }
    }

    fn write_single(&mut self, sum: Sum, first: Single, from: u64, until: u64) {
        let Sum { region, site, .. } = sum;
        if !self.enter_region(from, region, site) {
            return self.process.head.loses_call();
        }
        self.calls += 1;
        let Single { operation, blocking } = first;
        let none = List::default();
        if let Some(operation) = operation {
            // Other operations may have had its number meanwhile, but none that was written.
            let matching_id = MatchingId(self.next_id);
            self.next_id += 1;
            self.write_operation(from, operation, matching_id);
            if let Some(pending) = self.pending.get_mut(operation.window.0 as usize) {
                *pending = (matching_id, pending.1 | operation.is_put);
            }
            if blocking {
                let win = operation.window;
                self.write_event(until, none, RmaOpCompleteBlocking { win, matching_id });
            }
        }
        self.write_event(until, none, Leave { region: RegionRef(region) });
    }

    fn write_sum(&mut self, sums: &[Sum], place: usize, (begin, end): (u64, u64)) {
        let Some(Sum { site, region, calls, time, bytes, outer }) = sums.get(place).copied() else {
            return;
        };
        if !self.enter_region(begin, region, site) {
            return self.process.head.loses_call();
        }
        if outer == 0 {
            self.write_sums(sums, place + 1, (begin, end.min(begin + time)));
        }
        self.leave_sum(end, Inside { site, region, calls, time, bytes });
    }

    /// Leaves a region that stands for several calls, and states their number, time and bytes.
    pub(super) fn leave_sum(&mut self, end: u64, sum: Inside) {
        let number = |attribute: AttributeRef, number| Attribute {
            attribute,
            value: AttributeValue::Uint64(number),
        };
        let attributes = [
            number(attribute::CALLS, sum.calls),
            number(attribute::TIME_IN_CALLS, sum.time),
            number(attribute::BYTES_IN_CALLS, sum.bytes),
        ];
        let attributes = List::from(attributes.as_slice());
        self.write_event(end, attributes, Leave { region: RegionRef(sum.region) });
    }
}
