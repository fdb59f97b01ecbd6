//! One location: the events of a thread, and of the threads that take it over later.
//!
//! A thread gets its state with its first recorded call, and gives it back when it ends; the next new thread continues
//! in the same event file. Nothing here allocates from the program's heap, since a hook may be entered from inside an
//! allocator.
//!
//! | module | contents |
//! |---|---|
//! | `chunks` | memory for events, chunk after chunk |
//! | `enter`, `leave` | calls are entered, continued after the real function, and left |
//! | `frame` | an open call |
//! | `largest` | the function whose calls fill the trace |
//! | `inner` | counting of calls inside calls of other layers |
//! | `location` | life of a location |
//! | `aggregate_polls` | aggregation of polls that find nothing |
//! | `mute_and_profile` | calls that write nothing, the profile, counters |
//! | `operations` | one-sided operations that may be outstanding, and their windows |
//! | `aggregate_short` | aggregation of short calls |
//! | `samples` | what the thread computes when its timer ends |
//! | `user` | what the program reports itself |
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

mod aggregate_polls;
mod aggregate_short;
mod aggregate_tries;
mod chunks;
mod enter;
mod frame;
mod inner;
mod largest;
mod leave;
mod location;
mod mute_and_profile;
mod operations;
mod samples;
mod team;
mod user;

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dwell_model::layer::Layer;
use otf2::encode::{EncodeError, Encoder, Prepared};
use otf2::event::AnyEvent;
use otf2::id::{AttributeRef, MatchingId, RegionRef, RmaWinRef, Time};
use otf2::{Attribute, AttributeValue};

use crate::arch;
use crate::clock::Clock;
use crate::counters::Readings;
use crate::entry::{self, Anchor, Words, keeping_errno, words};
use crate::faults::{Entry, pass};
use crate::hook::Context;
use crate::memory::Memory;
use crate::modulo::Modulo;
use crate::process::Process;
use crate::profile::{Counted, Profile};
use crate::reentrancy::{Flag, Taken};
use crate::samples::Timer;
use crate::silence::SILENT;
use crate::spent;
use crate::unwind::Stack;
use crate::wrapping::memo::Memo;

pub use aggregate_polls::Found;
use aggregate_polls::{AggregatedPolls, FoundWords, LastRead};
pub use aggregate_polls::{Counted as CountedOnly, count_only};
pub(crate) use aggregate_polls::{enter_again, go_on};
pub(crate) use aggregate_short::begin_aggregated;
use aggregate_short::{Stretch, Unframed};
use aggregate_tries::Tried;
pub use aggregate_tries::Try;
pub(crate) use aggregate_tries::go_on_completing;
pub(crate) use enter::{Held, enter, enter_at};
use enter::{Opened, missed};
pub(crate) use frame::Frame;
use frame::NO_FRAME;
use inner::InnerCalls;
use largest::FullChunks;
pub use leave::Call;
pub use location::Closed;
use location::{FilePath, register};
pub(crate) use operations::AtTarget;
use samples::Computing;
pub(crate) use samples::{begin_interval, stop_timer, stop_timers, tick};
use team::{Current, Member, Membership};
pub use team::{Regions, Running, Team, begin_barrier, begin_task, end_barrier, end_task};
pub use user::{
    Number, ParameterValue, count, enter_function, enter_handler, enter_named, enter_phase,
    enter_reported, handler_event, leave_function, leave_named, leave_phase, leave_reported, set,
    set_inside,
};
pub(crate) use user::{as_region, start_region};

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
    /// Identifies the user of the state.
    busy: Flag,
    /// Set if its thread panicked while it was busy, so that the state here may not agree with the file.
    broken: AtomicBool,
    /// Number of calls that bypassed the recorder because they came while the thread was busy.
    bypassed: AtomicU64,
    /// Timer at whose end a sample is taken, if there are samples.
    timer: Timer,
    /// Where the first thread of a team says when the team was released.
    member: Member,
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
/// and that continues. (A handler on a stack of its own may be taken for the one or for the other.)
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

/// Conditions under which calls take more than the usual steps. They are tested together.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Flags {
    /// Set if something has to be written before the next event.
    unsettled: bool,
    /// Set if the open call writes nothing.
    muted: bool,
    /// Set if the events of this location say that recording is off.
    off: bool,
    /// Set if an event needs more work than writing it: the open call is muted, or there is a profile.
    aside: bool,
    /// Set if the thread is sampled, so that processor time is read where computing ends and begins.
    samples: bool,
    /// Set if the stack above a call matters: callers are recorded, as the plan of the process says, or there are wrappers.
    unwinds: bool,
}

impl Flags {
    /// Returns `true` if a leave event needs more work than writing it.
    #[inline(always)]
    fn are_aside(self) -> bool {
        // One load.
        u16::from_ne_bytes([self.aside, self.samples].map(u8::from)) != 0
    }

    /// Returns `true` if none is set.
    #[inline(always)]
    fn are_clear(self) -> bool {
        let Self { unsettled, muted, off, aside, samples, unwinds } = self;
        // The compiler makes one load of the first four, and one of the others.
        let four = [unsettled, muted, off, aside].map(u8::from);
        let two = [samples, unwinds].map(u8::from);
        u32::from_ne_bytes(four) == 0 && u16::from_ne_bytes(two) == 0
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
    /// Walks of the stack through wrappers.
    memo: Memo,
    clock: Clock,
    /// Time of the last event.
    time: u64,
    /// What samples need to know of the thread.
    computing: Computing,
    depth: usize,
    flags: Flags,
    /// Time at which a window of recording begins or ends next.
    turns_at: u64,
    /// The region that continues if the same call is made again.
    polls: AggregatedPolls,
    /// Return address of polls between which the thread sleeps, so that its processor time has to be known before.
    slow_polls: usize,
    last_read: LastRead,
    /// What the last loop over tests has found.
    found: FoundWords,
    /// The last operation that reads a word, if it is not complete.
    tried: Option<Tried>,
    /// Set if the archive says that words of other processes were polled.
    polls_words: bool,
    /// Set if no event was written for the open call yet, because the call may be aggregated.
    aggregated: bool,
    /// The open call, if it is a transfer without a frame.
    unframed: Option<Unframed>,
    /// Short calls that are aggregated.
    stretch: Stretch,
    /// Number of calls that were aggregated.
    summed: u64,
    /// The team that the thread is a member of, unless it forked the team.
    membership: Option<Membership>,
    /// Set if the open region is that of a thread without a team.
    is_idle: bool,
    /// The team whose function the thread runs.
    current_team: Option<Current>,
    /// Calls inside the open call that are counted.
    inner: InnerCalls,
    /// Number of calls inside calls of other layers that were counted.
    summed_inside: u64,
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
    pending: [(MatchingId, bool); WINDOWS],
    sites: [Place; SITES],
    /// A context, its window, and the edition it was looked up in.
    context: (Context, RmaWinRef, u32),
    /// The window whose static data were used last, and the window of these.
    statics: Option<(RmaWinRef, RmaWinRef)>,
    /// Values of counters, if there are any.
    readings: Readings,
    pub(crate) mpi: crate::mpi::thread_state::ThreadState,
    pub(crate) id: u32,
    /// Path of the file of its events. Here and not on the stack, where there may be no room for it.
    path: FilePath,
    chunks: u64,
    full_chunks: FullChunks,
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
    /// Number of calls, if short ones are aggregated.
    seen: u32,
    /// Row of the call in the profile, valid if the call around it has the row `parent`.
    row: u32,
    parent: u32,
    /// Set if calls of this place were a polling loop.
    polls: bool,
    /// Set if a loop was at this place that tested again what it had found.
    asks_for_all: bool,
    /// Encoded `Enter` and `Leave` events of the call.
    events: Option<(Prepared, Prepared)>,
}

const NO_PLACE: Place = Place {
    return_address: 0,
    region: 0,
    seen: 0,
    row: 0,
    parent: 0,
    polls: false,
    asks_for_all: false,
    events: None,
};

/// Stands for the location of a thread that is being registered, or cannot be.
const NOT_RECORDED: *const Anchor = ptr::without_provenance(entry::NO_STATE);

/// Makes the state of the calling thread busy and returns it. Returns `None` if the thread is busy already, or if
/// nothing is recorded.
#[inline(always)]
fn take(words: &Words) -> Option<Busy> {
    let mut thread = take_as_it_is(words)?;
    if thread.flags.unsettled {
        thread.settle();
    }
    Some(thread)
}

/// Makes the state of the calling thread busy as [`take`] does, and does not end a region that the next call may continue.
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
        return location == SILENT;
    }
    // SAFETY: a pointer in the words of this thread is to its own location, which is never unmapped.
    let location = unsafe { Location::of(location) };
    // SAFETY: it is the location of the calling thread.
    let Some(mut thread) = (unsafe { Busy::take(location) }) else { return true };
    if thread.flags.unsettled {
        thread.settle();
    }
    let stack = arch::stack_pointer();
    let open = thread.frames.iter().take(thread.depth);
    // A call that never returned is not one that the thread is inside of.
    let inside = thread.unframed.is_some()
        || open.filter(|frame| frame.layer == 1 << layer as u32).any(|it| it.is_alive(stack));
    thread.release();
    inside
}

impl Thread {
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
        self.frames.modulo_mut(self.depth.wrapping_sub(1))
    }

    /// Returns the frame of the call that was entered at this depth.
    #[inline(always)]
    pub(crate) fn frame_at(&self, depth: usize) -> &Frame {
        self.frames.modulo(depth)
    }

    /// Writes an event. Returns `false` if there was no room for it.
    #[cfg_attr(not(debug_assertions), inline(always))] // Without optimisation each copy would take stack.
    pub(crate) fn write(&mut self, time: u64, event: impl AnyEvent + Counted + Copy) -> bool {
        if self.flags.aside && self.set_aside(event.amount(), false) {
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
        if self.flags.aside && self.set_aside(event.amount(), true) {
            return true;
        }
        let Some(encoder) = &mut self.encoder else { return false };
        encoder.write_tagged(Time(time), tag, event).is_ok()
            || self.again(move |encoder| encoder.write_tagged(Time(time), tag, event))
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
            self.count_full_chunk();
            spent::in_chunk(|| {
                if let Err(error) = self.next_chunk() {
                    self.process.fail("no space for events", &error);
                }
                self.process.sample_clock();
            });
        });
    }
}

/// Returns where a thread looks for a call site first, in a table that is indexed [modulo](Modulo) its length.
#[inline(always)]
fn place_of(return_address: usize) -> usize {
    return_address ^ (return_address >> 8)
}
