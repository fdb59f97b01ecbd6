//! One location: the events of a thread, and of the threads that take it over later.
//!
//! A thread gets its state with its first recorded call, and gives it back when it ends; the next new thread continues
//! in the same event file. Nothing here allocates from the program's heap, since a hook may be entered from inside an
//! allocator.
//!
//! # Busy
//! A thread is *busy* while it is in the recorder: as long as there is a `Busy`, which is the only way to the state of
//! a thread, and is given back by `Busy::release`. It has no destructor, since one costs instructions in every call;
//! after a panic `abandon` does what is left to do. A signal handler that interrupts a busy thread and calls a hooked
//! function bypasses the recorder, and the call is counted. The thread that ends the recording waits until no thread is
//! busy.
//!
//! # Frames
//! Open calls are kept with the place of their return address on the stack. A call that never returned, because of
//! `longjmp`, an exception or the end of its thread, is recognised by that: the stack has been used again. It is left
//! at the time of the next call.
//!
//! # Muted
//! A call that is filtered, or made while recording is paused or has no room, is followed like any other and writes
//! nothing. Its effects on requests and communicators, and the numbers of collectives, are as they would be.
#![allow(unsafe_code)] // Locations are reached by pointers kept in thread-local words.

mod chunks;
mod location;
mod merged;
mod mute_and_profile;
mod short;

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dwell_model::layer::Layer;
use dwell_unify::definitions::attribute;
use otf2::encode::{EncodeError, Encoder, Part, Prepared};
use otf2::event::{AnyEvent, Enter, Leave};
use otf2::id::{AttributeRef, CallingContextRef, RegionRef, Time};
use otf2::{Attribute, AttributeValue, List};

use crate::arch;
use crate::busy::{Flag, Taken};
use crate::clock::Clock;
use crate::counters::Readings;
use crate::entry::{self, Anchor, Quiet, Words, keeping_errno, words};
use crate::faults::{Entry, pass};
use crate::hook::Hook;
use crate::memory::Memory;
use crate::process::{self, Process};
use crate::profile::{Counted, Profile};
use crate::unwind::Stack;
use crate::wrap::Wrap;

mod user;

pub use location::Closed;
use location::{FilePath, register};
use merged::Merged;
pub(crate) use merged::enter_again;
pub use merged::{Counted as CountedOnly, count_only};
pub(crate) use short::begin_brief;
use short::{Brief, Stretch};
pub(crate) use user::as_region;
pub use user::{
    Number, ParameterValue, count, enter_function, enter_handler, enter_named, enter_phase,
    enter_reported, handler_event, leave_function, leave_named, leave_phase, leave_reported, set,
    set_inside,
};

/// Calls inside calls that are kept apart.
const DEPTH: usize = 256;
const _: () = assert!(DEPTH.is_power_of_two() && DEPTH <= 4096);
/// Windows whose outstanding operations a thread knows; for others it assumes that there are some.
const WINDOWS: usize = 64;
/// Call sites that a thread finds without looking further.
const SITES: usize = 256;
/// Stacks are assumed to be no larger than this.
const STACK: usize = 64 << 20;

/// A location: the state of a thread, and what other threads may look at while it is in use.
///
/// It lies in mapped memory that is never unmapped.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Location {
    /// Must be the first field: pointers to the anchor are pointers to the location.
    anchor: Anchor,
    /// Says who uses the state.
    busy: Flag,
    /// Set if its thread panicked while it was busy, so that the state here may not agree with the file.
    broken: AtomicBool,
    /// Number of calls that bypassed the recorder because they came while the thread was busy.
    bypassed: AtomicU64,
    thread: UnsafeCell<Thread>,
}

impl Location {
    /// Returns the location that an anchor belongs to.
    ///
    /// # Safety
    /// The anchor is the first field of a location: all that [`Location::create`] makes are, and are never unmapped.
    #[inline(always)]
    unsafe fn of(anchor: *const Anchor) -> &'static Self {
        // SAFETY: as promised. The pointer was made from one to the whole location.
        unsafe { &*anchor.cast::<Self>() }
    }
}

/// The state of a thread in use: it is busy until this is [released](Busy::release).
#[derive(Debug)]
#[must_use]
pub(crate) struct Busy {
    location: &'static Location,
}

impl Busy {
    /// Makes a location busy, unless it is busy already.
    ///
    /// # Safety
    /// The location belongs to the calling thread, or to a thread that does not come back: only one thread at a time
    /// tries this.
    #[inline(always)]
    unsafe fn take(location: &'static Location) -> Option<Self> {
        location.busy.take().then_some(Self { location })
    }

    /// Ends the use of the state, so that the thread is no longer busy.
    #[inline(always)]
    pub(crate) fn release(self) {
        self.location.busy.release();
    }

    /// Ends the recording of an entry.
    #[inline(always)]
    pub(crate) fn entered(self) -> Call {
        let call = Call { depth: self.depth.wrapping_sub(1), location: self.location.into() };
        self.release();
        call
    }

    /// Leaves the open call at `time` and releases the thread.
    #[inline(always)]
    pub(crate) fn leave(mut self, time: u64) {
        self.leave_last(time);
        self.release();
    }
}

impl Deref for Busy {
    type Target = Thread;

    #[inline(always)]
    fn deref(&self) -> &Thread {
        // SAFETY: the location was not busy when this was made, so this is the only way to its state now.
        unsafe { &*self.location.thread.get() }
    }
}

impl DerefMut for Busy {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Thread {
        // SAFETY: as above, and this is borrowed exclusively.
        unsafe { &mut *self.location.thread.get() }
    }
}

/// Gives back the state that the calling thread was busy with when it panicked. `guard` is the stack pointer of the
/// function that caught the panic: what was taken above it belongs to a recorder that a signal handler interrupted,
/// and that goes on. (A handler on a stack of its own may be taken for the one or for the other.)
#[cold]
pub(crate) fn abandon(guard: usize) {
    let location = words().location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    let location = unsafe { Location::of(location) };
    if (1..=guard).contains(&location.busy.user()) {
        location.broken.store(true, Ordering::Relaxed);
        location.busy.release();
    }
}

/// The state of a thread.
pub(crate) struct Thread {
    /// Encoder of the events; `None` without a trace, and after the recording has ended.
    encoder: Option<Encoder<Memory>>,
    /// Profile of the thread; `None` without a profile, and after the recording has ended.
    profile: Option<Profile>,
    pub(crate) process: &'static Process,
    /// The stack that was unwound last.
    stack: Stack,
    clock: Clock,
    /// Time of the last event.
    time: u64,
    depth: usize,
    /// Set if the callers of a call are recorded, as the plan of the process says.
    unwinds: bool,
    /// Set if an event needs more work than writing it: the open call is muted, or there is a profile.
    aside: bool,
    /// Set if the open call writes nothing.
    muted: bool,
    /// Set if the events of this location say that recording is off.
    off: bool,
    /// When a window of recording begins or ends next.
    turns_at: u64,
    /// Set if something has to be written before the next event.
    unsettled: bool,
    /// The region that goes on if the same call is made again.
    merged: Merged,
    /// Set if nothing was written of the open call so far, because it may turn out to be short.
    held_back: bool,
    /// The open call, if it is a transfer of which nothing was written or looked up so far.
    brief: Option<Brief>,
    /// Short calls that are summed up.
    stretch: Stretch,
    /// Number of calls that were summed up.
    summed: u64,
    /// Set if operations on the window of the last operation were outstanding before it.
    was_outstanding: bool,
    /// Number and bytes of operations that are only counted.
    counted: [(u64, u64); 3],
    /// Functions of the program that were entered when there was no place left.
    skipped: u32,
    /// A bit for each layer that has an open call.
    layers: u32,
    frames: [Frame; DEPTH],
    next_id: u64,
    /// The last operation on each window, and whether it may be outstanding.
    pending: [(u64, bool); WINDOWS],
    sites: [Place; SITES],
    /// A context, its window, and the edition it was looked up in.
    context: (usize, u32, u32),
    /// The window whose static data were used last, and the window of these.
    statics: Option<(u32, u32)>,
    /// Values of counters, if there are any.
    readings: Readings,
    pub(crate) mpi: crate::mpi::thread_state::ThreadState,
    pub(crate) id: u32,
    /// Path of the file of its events. Here and not on the stack, where there may be no room for it.
    path: FilePath,
    chunks: u64,
    calls: u64,
    /// Calls that were muted.
    left_out: u64,
    /// Regions that were left when there was no room to say so.
    unleft: [RegionRef; DEPTH],
    unleft_count: usize,
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thread").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A function called from one place in the program: what is written whenever it is.
#[derive(Clone, Copy)]
struct Place {
    return_address: usize,
    region: u32,
    /// Number of calls since the last recorded one, if every Nth call is recorded; number of all calls, if short ones are
    /// summed up.
    skipped: u32,
    /// Row of the call in the profile, valid if the call around it has the row `parent`.
    row: u32,
    parent: u32,
    /// Encoded `Enter` and `Leave` events of the call.
    events: Option<(Prepared, Prepared)>,
}

const NO_PLACE: Place =
    Place { return_address: 0, region: 0, skipped: 0, row: 0, parent: 0, events: None };

/// A call that is open.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    stack: usize,
    return_address: usize,
    /// Key of the call site: its return address, or the id of a calling context.
    site: usize,
    pub(crate) region: u32,
    layer: u32,
    /// The window and operation that the call began.
    pub(crate) window: u32,
    pub(crate) id: u64,
    /// Set if the operation is complete at the origin when the call returns.
    pub(crate) blocking: bool,
    muted: bool,
    /// Rows of the call in the profile: its own, and that of the partner of its first operation.
    row: u32,
    partner: u32,
    /// When it was entered, and time in calls from here that are over.
    enter: u64,
    inside: u64,
    /// Set for the program's own code, where the place of the return address is not known.
    own_code: bool,
    /// Layers whose calls are recorded inside this frame although it is inside a call of theirs: those of a handler.
    hidden: u32,
    /// Id of the parameter plus one, if the frame stands for a value of a parameter and not for a call; otherwise 0.
    parameter: u32,
}

const NO_FRAME: Frame = Frame {
    stack: 0,
    return_address: 0,
    site: 0,
    region: 0,
    layer: 0,
    window: 0,
    id: 0,
    blocking: false,
    muted: false,
    row: 0,
    partner: 0,
    enter: 0,
    inside: 0,
    own_code: false,
    hidden: 0,
    parameter: 0,
};

/// A recorded call that has been entered. The hook must leave it after the real function has returned, on the same
/// thread.
#[derive(Debug)]
#[must_use]
pub struct Call {
    location: NonNull<Location>,
    depth: usize,
}

/// Stands for the location of a thread that is being registered, or cannot be.
const NOT_RECORDED: *const Anchor = ptr::without_provenance(1);

/// Makes the state of the calling thread busy and returns it. Returns `None` if the thread is busy already, or if
/// nothing is recorded.
#[inline(always)]
fn take(words: &Words) -> Option<Busy> {
    let mut thread = take_as_it_is(words)?;
    if thread.unsettled {
        thread.settle();
    }
    Some(thread)
}

/// Makes the state of the calling thread busy as [`take`] does, and does not end a region that may go on.
#[inline(always)]
fn take_as_it_is(words: &Words) -> Option<Busy> {
    let mut location = words.location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        location = register(location)?;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    let location = unsafe { Location::of(location) };
    match location.busy.take_to_record(entry::switch()) {
        Taken::Yes => pass(Entry::Busy),
        Taken::Off => return None,
        Taken::Busy => {
            location.bypassed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
    }
    Some(Busy { location })
}

/// Returns `true` if the calling thread is inside a recorded call of this layer, or inside the recorder. A
/// process that exits there must not call the runtime again to end its recording.
pub fn is_inside(layer: Layer) -> bool {
    let location = words().location.get();
    if location.addr() <= NOT_RECORDED.addr() {
        return false;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    let location = unsafe { Location::of(location) };
    // SAFETY: it is the location of the calling thread.
    let Some(mut thread) = (unsafe { Busy::take(location) }) else { return true };
    if thread.unsettled {
        thread.settle();
    }
    let stack = arch::stack_pointer();
    let open = thread.frames.iter().take(thread.depth);
    // A call that never returned is not one that the thread is inside of.
    let inside = thread.brief.is_some()
        || open.filter(|frame| frame.layer == 1 << layer as u32).any(|it| it.is_alive(stack));
    thread.release();
    inside
}

/// Enters a call: the thread is busy until what is returned is released. `None` if the call is not to be recorded. If the
/// enter event is held back, [`Thread::write_held`] or [`Thread::write_held_and`] must write it before the thread is
/// released.
#[inline(always)]
pub(crate) fn enter(hook: &'static Hook) -> Option<(Busy, Option<Held>)> {
    let words = words();
    let Some(mut thread) = take_as_it_is(words) else { return missed().map(|it| (it, None)) };
    if thread.unsettled {
        thread.settle_unless_short(hook);
    }
    match thread.enter(hook, words, Thread::now, true) {
        Opened::Yes => Some((thread, None)),
        Opened::Held(held) => Some((thread, Some(held))),
        Opened::No => {
            thread.release();
            None
        }
    }
}

/// Enters a call as [`enter`] does, at the time that `time` returns.
#[inline(always)]
pub(crate) fn enter_at(hook: &'static Hook, time: impl FnOnce(&mut Thread) -> u64) -> Option<Busy> {
    let words = words();
    let Some(mut thread) = take(words) else { return missed() };
    if thread.enter(hook, words, time, false) == Opened::No {
        thread.release();
        return None;
    }
    Some(thread)
}

/// An enter event that is held back, so that it is written together with the first record of its call: the number of its
/// call site in the table of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held(usize);

/// Result of entering a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    /// The call is recorded, or followed.
    Yes,
    /// The call is recorded, and its enter event is still to be written.
    Held(Held),
    /// The call is neither recorded nor followed.
    No,
}

impl From<bool> for Opened {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

impl Thread {
    /// Enters a call. With `hold` its enter event may be held back.
    #[inline(always)]
    fn enter(
        &mut self,
        hook: &'static Hook,
        words: &Words,
        time: impl FnOnce(&mut Self) -> u64,
        hold: bool,
    ) -> Opened {
        let (stack, return_address) = (words.stack.get(), words.return_address.get());
        let layer = hook.layer_bit;
        let goes_on = self.depth == 0 && self.layers == 0 || self.nest(stack, layer);
        if !goes_on || self.depth == DEPTH {
            return Opened::No;
        }
        let region = match hook.region() {
            Some(region) => region,
            None => self.process.define_region(hook),
        };
        let time = time(self);
        self.turn_if_due(time);
        let mut site = return_address;
        if self.unwinds && self.depth == 0 {
            site = self.caller(return_address, stack, words.frame.get());
        }
        let stack = arch::return_place(stack, return_address);
        let frame = Frame { stack, return_address, site, region, layer, ..NO_FRAME };
        if self.off || hook.is_partial() {
            return self.open_partly(hook, time, frame);
        }
        if hold
            && !self.aside
            && let Some(held) = self.prepared(region, site)
        {
            self.push(Frame { enter: time, ..frame });
            self.calls += 1;
            return Opened::Held(held);
        }
        self.open(time, frame).into()
    }

    /// Returns the place of the encoded events of a call of this region from this site, if it was made before.
    #[inline(always)]
    fn prepared(&self, region: u32, site: usize) -> Option<Held> {
        let at = place_of(site);
        let place = self.sites.wrap(at);
        let known = place.return_address == site && place.region == region;
        (known && place.events.is_some()).then_some(Held(at))
    }

    /// Makes a frame the innermost open call.
    #[inline(always)]
    fn push(&mut self, frame: Frame) {
        self.layers |= frame.layer;
        if let Some(place) = self.frames.get_mut(self.depth) {
            *place = frame;
        }
        self.depth += 1;
    }

    /// Writes the enter event of the open call, which was held back, and an event of the same time behind it. Without room
    /// for them the call is muted.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn write_held_and(&mut self, held: Held, time: u64, event: impl Part) {
        for _ in 0..2 {
            let place = self.sites.wrap(held.0);
            // Both are there: an enter event is held back only if it is prepared, and nothing is written before it.
            if let (Some((enter, _)), Some(encoder)) = (&place.events, &mut self.encoder)
                && encoder.write_both(Time(time), enter, event).is_ok()
            {
                return;
            }
            self.turn_cold();
        }
        self.lose_held();
    }

    /// Continues in another chunk, as [`Thread::turn`] does, out of the way of calls that have room.
    #[cold]
    #[inline(never)]
    fn turn_cold(&mut self) {
        self.turn();
    }

    /// Writes the enter event of the open call, which was held back. Without room for it the call is muted.
    #[inline(always)]
    pub(crate) fn write_held(&mut self, time: u64) {
        let Frame { region, site, .. } = *self.frame();
        if !self.enter_region(time, region, site) {
            self.lose_held();
        }
    }

    /// Mutes the open call, since there is no room for its enter event.
    #[cold]
    #[inline(never)]
    fn lose_held(&mut self) {
        self.calls -= 1;
        self.frame().muted = true;
        self.set_muted(true);
        self.process.head.loses_call();
    }

    /// Makes the call that was entered last one that the program reports: it ends with the function around it, and calls
    /// of its layer inside it are the program's.
    pub(crate) fn is_reported(&mut self) {
        let layer = self.frame().layer;
        self.frame().own_code = true;
        self.layers &= !layer;
    }

    /// Returns to a call that was entered at this depth. Returns `false` if it is not open any more.
    #[inline(always)]
    fn returned(&mut self, depth: usize) -> bool {
        // Calls inside this one that never returned are left first.
        if self.depth <= depth || self.depth > depth + 1 && !self.leave_to(depth + 1) {
            return false;
        }
        let muted = self.frame().muted;
        if muted | self.aside {
            self.return_aside(muted);
        }
        true
    }

    /// Turns recording on or off if the time window of the recording begins or ends by now.
    #[inline(always)]
    fn turn_if_due(&mut self, time: u64) {
        if self.muted {
            self.set_muted(false);
        }
        if time >= self.turns_at || entry::is_quiet() != self.off {
            self.turn_on_or_off(time);
        }
    }

    /// Opens a call and writes its enter event, unless it is muted. Returns `false` if there was no room.
    #[inline(always)]
    fn open(&mut self, time: u64, frame: Frame) -> bool {
        let Frame { region, site, muted, .. } = frame;
        let row = if muted {
            self.mute();
            0
        } else if self.enter_region(time, region, site) {
            self.enter_path(time, region, site)
        } else {
            self.process.head.loses_call();
            return false;
        };
        self.push(Frame { row, enter: time, ..frame });
        self.calls += u64::from(!muted);
        true
    }

    /// Reads the time, which never goes back behind that of the last event.
    #[inline(always)]
    pub(crate) fn now(&mut self) -> u64 {
        self.time = self.time.max(self.clock.now());
        self.time
    }

    /// Returns the time of the last event.
    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Returns the frame of the call that was entered last.
    #[inline(always)]
    pub(crate) fn frame(&mut self) -> &mut Frame {
        self.frames.wrap_mut(self.depth.wrapping_sub(1))
    }

    /// Starts an operation on a window and returns its id.
    #[inline(always)]
    pub(crate) fn operation(&mut self, window: u32, blocking: bool, outstanding: bool) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if let Some(pending) = self.pending.get_mut(window as usize) {
            self.was_outstanding = pending.1;
            *pending = (id, pending.1 | outstanding);
        }
        let frame = self.frame();
        (frame.window, frame.id, frame.blocking) = (window, id, blocking);
        id
    }

    /// Returns the last operation of this location on a window, or `None` if no operations can be outstanding there.
    /// None is outstanding afterwards.
    pub(crate) fn complete(&mut self, window: u32) -> Option<u64> {
        match self.pending.get_mut(window as usize) {
            Some(pending) => {
                let (last, outstanding) = *pending;
                pending.1 = false;
                (outstanding || self.process.has_threads()).then_some(last)
            }
            None => Some(self.next_id.saturating_sub(1)),
        }
    }

    /// Returns the window of a context.
    #[inline(always)]
    pub(crate) fn window(&mut self, context: usize) -> u32 {
        if context == 0 {
            return 0;
        }
        let edition = self.process.windows.edition();
        let (known, window, of) = self.context;
        if known == context && of == edition {
            return window;
        }
        let window = self.process.windows.of_handle(context);
        self.context = (context, window, edition);
        window
    }

    /// Returns the window of an operation on memory at an address: that of static data, or that of the symmetric heap.
    #[inline(always)]
    pub(crate) fn window_at(&mut self, window: u32, address: usize) -> u32 {
        let is_static = self.process.symmetric.is_static(address);
        if is_static { self.static_window(window) } else { window }
    }

    /// Returns the window of the static data that belongs to a window.
    #[inline(never)]
    pub(crate) fn static_window(&mut self, window: u32) -> u32 {
        match self.statics {
            Some((of, number)) if of == window => number,
            _ => {
                let Some(of) = self.process.windows.get(window) else { return window };
                let number = self.process.window(of.of_static_data());
                self.process.has_static_windows.store(true, Ordering::Relaxed);
                self.statics = Some((window, number));
                number
            }
        }
    }

    /// Returns the window of the static data that belongs to a window, if any thread has used it.
    #[inline]
    pub(crate) fn known_static_window(&self, window: u32) -> Option<u32> {
        if !self.process.has_static_windows.load(Ordering::Relaxed) {
            return None;
        }
        match self.statics {
            Some((of, number)) if of == window => Some(number),
            _ => self.process.windows.find(self.process.windows.get(window)?.of_static_data()),
        }
    }

    /// Writes an event. Returns `false` if there was no room for it.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn write(&mut self, time: u64, event: impl AnyEvent + Counted + Copy) -> bool {
        if self.aside && self.set_aside(event.amount(), false) {
            return true;
        }
        let Some(encoder) = &mut self.encoder else { return false };
        encoder.write(Time(time), event).is_ok()
            || self.again(move |encoder| encoder.write(Time(time), event))
    }

    /// Writes an event with a number as its attribute.
    #[inline(always)]
    pub(crate) fn write_with(
        &mut self,
        time: u64,
        attribute: AttributeRef,
        number: u64,
        event: impl AnyEvent + Counted + Copy,
    ) -> bool {
        self.write_tagged(
            time,
            Attribute { attribute, value: AttributeValue::Uint64(number) },
            event,
        )
    }

    /// Writes an event with an attribute.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn write_tagged(
        &mut self,
        time: u64,
        tag: Attribute,
        event: impl AnyEvent + Counted + Copy,
    ) -> bool {
        if self.aside && self.set_aside(event.amount(), true) {
            return true;
        }
        let Some(encoder) = &mut self.encoder else { return false };
        encoder.write_tagged(Time(time), tag, event).is_ok()
            || self.again(move |encoder| encoder.write_tagged(Time(time), tag, event))
    }

    #[inline(always)]
    fn enter_region(&mut self, time: u64, region: u32, return_address: usize) -> bool {
        if self.encoder.is_none() {
            return self.profile.is_some();
        }
        let place = self.sites.wrap(place_of(return_address));
        let known = place.return_address == return_address && place.region == region;
        if let (true, Some((enter, _)), Some(encoder)) = (known, &place.events, &mut self.encoder)
            && encoder.write_prepared(Time(time), enter).is_ok()
        {
            return true;
        }
        self.enter_region_slowly(time, region, return_address)
    }

    /// Looks up the call site, and remembers the events that are written for it.
    #[cold]
    #[inline(never)]
    fn enter_region_slowly(&mut self, time: u64, region: u32, return_address: usize) -> bool {
        self.enter_program(time);
        if self.layers == 0 {
            self.sample(time);
        }
        let event = Enter { region: RegionRef(region) };
        let Some(site) = keeping_errno(|| self.process.site(return_address)) else {
            return self.write(time, event);
        };
        let value = AttributeValue::CallingContext(CallingContextRef(site));
        let site = Attribute { attribute: attribute::CALL_SITE, value };
        if let Some(encoder) = &self.encoder {
            let enter = encoder.prepare(List::from([site].as_slice()), event);
            let leave = encoder.prepare(List::default(), Leave { region: RegionRef(region) });
            let events = enter.zip(leave);
            let place = self.sites.wrap_mut(place_of(return_address));
            let known = place.return_address == return_address && place.region == region;
            if !known {
                *place = Place { return_address, region, ..NO_PLACE };
            }
            // With counters, every enter comes by here.
            place.events = events.filter(|_| self.process.counting.get().is_none());
        }
        self.write_tagged(time, site, event)
    }

    /// Writes an event that did not fit into the chunk to the next one.
    #[cold]
    #[inline(never)]
    fn again(
        &mut self,
        write: impl FnOnce(&mut Encoder<Memory>) -> Result<(), EncodeError>,
    ) -> bool {
        self.turn();
        self.encoder.as_mut().is_some_and(|encoder| write(encoder).is_ok())
    }

    /// Continues in another chunk, or ends the recording if there is none.
    fn turn(&mut self) {
        keeping_errno(|| {
            if let Err(error) = self.next_chunk() {
                self.process.fail("no space for events", &error);
            }
            self.process.sample_clock();
        });
    }

    /// Returns `true` if a call at this place of the stack is to be recorded inside those that are open. Calls that
    /// were abandoned are left first. A call inside an open call of the same layer is made by the runtime itself.
    #[cold]
    #[inline(never)]
    fn nest(&mut self, stack: usize, layer: u32) -> bool {
        self.write_brief();
        if self.held_back {
            self.write_held_back();
        }
        let open = self.frames.get(..self.depth).unwrap_or_default();
        let dead = open.iter().rev().take_while(|frame| !frame.is_alive(stack)).count();
        (dead == 0 || self.leave_to(self.depth - dead)) && self.layers & layer == 0
    }

    /// Leaves calls until `depth` are open, all at one time. Returns `false` if there was no room for the events.
    #[cold]
    fn leave_to(&mut self, depth: usize) -> bool {
        if self.unsettled {
            self.settle();
        }
        let time = self.now();
        while self.depth > depth {
            if !self.leave_last(time) {
                return false;
            }
        }
        true
    }

    /// Leaves the call that was entered last. Returns `false` if there was no room for the event: then the call stays
    /// open, and the recording has ended.
    #[inline(always)]
    fn leave_last(&mut self, time: u64) -> bool {
        let Frame { region, layer, site, muted, hidden, parameter, .. } = *self.frame();
        if muted || parameter != 0 {
            self.leave_unwritten(time);
            return true;
        }
        if self.muted {
            self.set_muted(false);
        }
        if self.aside && self.leave_aside(time) {
            return true;
        }
        let place = self.sites.wrap(place_of(site));
        // Whoever called from there, the region is what matters.
        let known = match (&place.events, &mut self.encoder) {
            (Some((_, leave)), Some(encoder)) if place.region == region => {
                encoder.write_prepared(Time(time), leave).is_ok()
            }
            _ => false,
        };
        let region = RegionRef(region);
        if !known && !self.write(time, Leave { region }) && !self.leaves_later(region) {
            return false;
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
        true
    }

    /// Leaves the call that was entered last, and writes events of the same time before its leave event. Returns `false` and
    /// does nothing if they cannot be written together.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn leave_with(&mut self, time: u64, event: impl Part) -> bool {
        let Frame { region, layer, site, muted, hidden, parameter, .. } = *self.frame();
        if muted || parameter != 0 || self.aside {
            return false;
        }
        let place = self.sites.wrap(place_of(site));
        let written = match (&place.events, &mut self.encoder) {
            (Some((_, leave)), Some(encoder)) if place.region == region => {
                encoder.write_both(Time(time), event, leave).is_ok()
            }
            _ => false,
        };
        if !written {
            return false;
        }
        self.depth -= 1;
        self.layers = self.layers & !layer | hidden;
        true
    }

    /// Notes a region that is left when there is no room to say so. Returns `false` if the recording has ended.
    #[cold]
    #[inline(never)]
    fn leaves_later(&mut self, region: RegionRef) -> bool {
        if !entry::is_quiet_for(Quiet::Spent) {
            return false;
        }
        // It is left when the file is closed.
        if let Some(place) = self.unleft.get_mut(self.unleft_count) {
            *place = region;
            self.unleft_count += 1;
        }
        true
    }

    /// Leaves every open call, at the end of its thread.
    fn leave_all(&mut self) {
        self.leave_to(0);
    }
}

impl Frame {
    /// Moves the place that tells whether the call is still open to a word that holds the return address.
    pub(crate) fn outlives_its_hook(&mut self, place: usize) {
        self.stack = place;
    }

    /// Returns `true` if the call is still on the stack, seen from a call whose return address is at `stack`.
    fn is_alive(&self, stack: usize) -> bool {
        if self.own_code {
            // What it calls is where the recorder was called from it, or below.
            return stack <= self.stack || stack - self.stack >= STACK;
        }
        // Where the new call is, or below it on the same stack, nothing old can be.
        let used_again = self.stack <= stack && stack - self.stack < STACK;
        // SAFETY: it was the stack of this thread when the call was entered, and stacks stay mapped
        // while their threads run. What is there now may be anything: any bits are a number.
        !used_again
            && arch::plain(unsafe { ptr::read_volatile(self.stack as *const usize) })
                == self.return_address
    }
}

impl Call {
    /// Makes the thread busy again, to record how the call ended. Returns `None` if the recording has ended meanwhile.
    #[inline(always)]
    pub(crate) fn returned(&self) -> Option<Busy> {
        self.resumed(self.retaken()?)
    }

    /// Continues the call, whose thread is busy. Returns `None` if the recording has ended meanwhile.
    #[inline(always)]
    pub(crate) fn resumed(&self, mut thread: Busy) -> Option<Busy> {
        if !entry::is_on() || !thread.returned(self.depth) {
            thread.release();
            return None;
        }
        Some(thread)
    }

    /// Makes the thread busy again.
    #[inline(always)]
    pub(crate) fn retaken(&self) -> Option<Busy> {
        // SAFETY: locations are never unmapped.
        let location = unsafe { self.location.as_ref() };
        // SAFETY: a call is left by the thread that entered it, to which the location belongs.
        let thread = unsafe { Busy::take(location) }?;
        pass(Entry::Busy);
        Some(thread)
    }

    /// Turns the call into a word, for hooks in assembly, which keep it across the real function. Locations are aligned
    /// to pages, so the depth of the call fits into the low bits.
    pub fn into_word(self) -> *mut c_void {
        self.location.as_ptr().map_addr(|at| at | self.depth).cast()
    }

    /// Turns a word back into a call; a null word is none.
    ///
    /// # Safety
    /// The word came from [`Call::into_word`], and is used once.
    pub unsafe fn from_word(word: *mut c_void) -> Option<Self> {
        let depth = word.addr() & (DEPTH - 1);
        let location = NonNull::new(word.cast::<Location>().map_addr(|at| at & !(DEPTH - 1)))?;
        Some(Self { location, depth })
    }
}

/// Returns where a thread looks for a call site first, in a table that [wraps](Wrap).
#[inline(always)]
fn place_of(return_address: usize) -> usize {
    return_address ^ (return_address >> 8)
}

/// Counts a call that bypasses the recorder, if that is because of its thread.
#[cold]
#[inline(never)]
fn missed() -> Option<Busy> {
    if words().location.get() == NOT_RECORDED
        && let Some(process) = process::current()
    {
        process.misses_call();
    }
    None
}
