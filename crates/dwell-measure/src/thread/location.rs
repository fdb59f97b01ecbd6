//! Life of a location: it begins with the first call of a thread, passes to another thread when that one ends, and is
//! closed with the recording.
#![allow(unsafe_code)] // Locations are reached by pointers kept in thread-local words.

use std::cell::UnsafeCell;
use std::ffi::CString;
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dwell_unify::definitions::CUT;
use dwell_unify::facts::{self, Fact};
use otf2::close::{ClosedLocation, close_events, leave_open};
use otf2::encode::Encoder;
use otf2::event::Leave;
use otf2::id::{LocationRef, MatchingId, RegionRef, RmaWinRef, Time};

use super::chunks;
use super::{
    AggregatedPolls, Busy, Computing, DEPTH, Flags, FoundWords, Frame, FullChunks, InnerCalls,
    LastRead, Location, Member, NO_FRAME, NO_PLACE, NOT_RECORDED, SITES, Stretch, Thread, WINDOWS,
    abandon,
};
use crate::counters::Readings;
use crate::entry::{self, Anchor, keeping_errno, words};
use crate::faults::pass;
use crate::guard::{self, guarded};
use crate::hook::Context;
use crate::memory::{self, Memory};
use crate::process::{self, Process};
use crate::profile::{self, Profile};
use crate::reentrancy::Flag;
use crate::samples::{self, Timer};
use crate::stack;
use crate::text::Text;
use crate::unwind::Stack;
use crate::wrapping::memo::Memo;

/// Figures of a location at the time when it was closed. A location may have served several threads, one after the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Number of the location in its process, counted from 0.
    pub id: u32,
    /// Number of calls that were recorded, in the trace or in the profile.
    pub calls: u64,
    /// Number of events in its file; 0 without a trace.
    pub events: u64,
    /// Number of calls that bypassed the recorder, because a signal handler made them while the thread was inside it.
    pub bypassed: u64,
    /// Number of calls that a filter or a pause excluded.
    pub left_out: u64,
    /// Number of calls that were aggregated because they were short.
    pub summed: u64,
    /// Number of calls inside calls of other layers that were counted.
    pub summed_inside: u64,
    /// Region of the function that made a large trace large, if there is one.
    pub largest: Option<u32>,
}

/// Gives the calling thread a location. If that panics, the thread is not recorded.
#[cold]
#[inline(never)]
pub(super) fn register(now: *const Anchor) -> Option<*const Anchor> {
    // A signal handler that comes while its thread is being registered, a thread without a location, or a call of the
    // recorder itself.
    if !now.is_null() {
        return None;
    }
    let words = words();
    words.location.set(NOT_RECORDED);
    guard::after_panic(abandon);
    pass(guard::Entry::Register);
    let process = process::current()?;
    let create = || process.take_location(|id| Location::create(process, id));
    let location = keeping_errno(|| stack::apart(stack::FOR_A_THREAD, create))?;
    process.locations.at_thread_end(location, thread_ended);
    words.location.set(location);
    // SAFETY: it is the location of this thread now, and is never unmapped.
    unsafe { Location::of(location) }.timer.start();
    Some(location)
}

// Without optimisation the compiler copies it a few times before it is where it belongs.
const _: () = assert!(size_of::<Location>() * 8 < stack::FOR_A_THREAD);

impl Location {
    /// Makes a new location with its files.
    fn create(process: &'static Process, id: u32) -> io::Result<*const Anchor> {
        let profile = if process.has_profile { profile::INDEX + profile::BLOCK } else { 0 };
        process.take_memory(size_of::<Self>() + profile)?;
        let profile = if process.has_profile {
            let path = format!("{}/{}.{id}.rows", process.open_files(), process.rank());
            Some(Profile::create(CString::new(path)?)?)
        } else {
            None
        };
        let mut path = FilePath::default();
        path.format(format_args!("{}/{}.{id}.evt", process.open_files(), process.rank()));
        if path.is_cut() {
            return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
        }
        let encoder = if process.has_trace {
            let chunk = process.chunk(true)?;
            let file = memory::open(path.c_str(), true)?;
            let first = chunks::first(process, &file, id, chunk)?;
            if !first.survives() {
                let (name, value) = ("SURVIVAL", "not here: the file system cannot reserve space");
                process.define(&Fact::Property { name, value })?;
            }
            let encoder = Encoder::in_part(first).map_err(io::Error::other)?;
            process.head.has_chunk();
            Some(encoder)
        } else {
            None
        };
        let files = if encoder.is_some() { facts::EVENTS } else { 0 }
            | if profile.is_some() { facts::ROWS } else { 0 };
        process.define(&Fact::Thread { id: id.into(), tid: tid(), files })?;
        let place = std::mem::ManuallyDrop::new(Memory::anonymous(size_of::<Self>())?);
        let at = place.start().cast::<Self>();
        let thread = Thread {
            encoder,
            profile,
            process,
            stack: Stack::default(),
            memo: Memo::default(),
            clock: process.clock,
            time: 0,
            computing: Computing::default(),
            depth: 0,
            flags: Flags {
                samples: samples::are_taken(),
                unwinds: process.unwind > 0,
                aside: process.has_profile | process.counting.get().is_some(),
                ..Flags::default()
            },
            turns_at: 0,
            polls: AggregatedPolls::NONE,
            slow_polls: 0,
            last_read: LastRead::default(),
            found: FoundWords::default(),
            tried: None,
            polls_words: false,
            aggregated: false,
            unframed: None,
            stretch: Stretch::NONE,
            summed: 0,
            membership: None,
            is_idle: false,
            current_team: None,
            inner: InnerCalls::of(process),
            summed_inside: 0,
            was_outstanding: false,
            counted: [(0, 0); 3],
            skipped: 0,
            layers: 0,
            frames: [NO_FRAME; DEPTH],
            next_id: 0,
            pending: [(MatchingId(0), false); WINDOWS],
            sites: [NO_PLACE; SITES],
            context: (Context::DEFAULT, RmaWinRef(0), 0),
            statics: None,
            readings: Readings::new(),
            mpi: crate::mpi::thread_state::ThreadState::new(id),
            id,
            path,
            chunks: 0,
            full_chunks: FullChunks::NONE,
            calls: 0,
            left_out: 0,
            unleft: [process::PROGRAM; DEPTH],
            unleft_count: 0,
        };
        let location = Self {
            anchor: Anchor::default(),
            busy: Flag::new(),
            broken: AtomicBool::new(false),
            bypassed: AtomicU64::new(0),
            timer: Timer::none(),
            member: Member::default(),
            thread: UnsafeCell::new(thread),
        };
        // SAFETY: the memory is large enough, aligned to a page, and not shared.
        unsafe { at.write(location) };
        Ok(at.cast_const().cast())
    }

    /// Releases this location at the end of its thread, so that a new thread may take it.
    ///
    /// # Safety
    /// The location is that of the calling thread, which makes no more calls.
    unsafe fn ended(&'static self) {
        self.timer.end();
        words().location.set(ptr::null());
        // SAFETY: it is the location of the calling thread.
        let Some(mut thread) = (unsafe { Busy::take(self) }) else {
            // A call of this thread never returned to the recorder, so no other thread may get the location.
            return;
        };
        if entry::is_on() {
            thread.leave_team();
        }
        thread.readings.hand_over();
        thread.computing = Computing::default();
        // The next thread may have a stack in the same place.
        thread.stack = Stack::default();
        thread.memo.clear();
        let process = thread.process;
        thread.release();
        // SAFETY: it was taken from that list, and its thread, which ends, has released it.
        unsafe { process.locations.give_back(ptr::from_ref(self).cast()) };
    }
}

impl Thread {
    /// Returns the figures of the calls of the location, without events.
    fn told(&self, location: &Location) -> Closed {
        let Self { id, calls, left_out, summed, summed_inside, .. } = *self;
        let bypassed = location.bypassed.load(Ordering::Relaxed);
        let largest = self.full_chunks.largest();
        let left_out = left_out + location.anchor.filtered.load(Ordering::Relaxed);
        Closed { id, calls, events: 0, bypassed, left_out, summed, summed_inside, largest }
    }

    /// Closes the event file and returns the figures of the location. Only for the thread that has ended the recording
    /// and waited until this thread was not busy.
    fn close(&mut self, location: &Location) -> io::Result<Closed> {
        if self.flags.unsettled {
            self.settle();
        }
        self.write_unframed();
        if self.aggregated {
            self.write_aggregated();
        }
        self.leave_idle();
        let none = self.told(location);
        let now = self.now();
        if self.profile.is_some() {
            self.leave_paths(now);
        }
        if let Some(profile) = self.profile.take() {
            profile.close(now)?;
        }
        if self.encoder.is_none() {
            return Ok(none);
        }
        // The regions that are open, the program itself the first. A chunk that was full when there was
        // no space for another has no room for them.
        let time = now;
        let depth = std::mem::take(&mut self.depth);
        let is_written = |frame: &&Frame| !frame.muted && frame.parameter == 0;
        let calls = self.frames.iter().take(depth).filter(is_written);
        let calls = calls.map(|frame| RegionRef(frame.region));
        // Innermost first they were left, outermost first they are listed.
        let unleft = self.unleft.iter().take(self.unleft_count).rev().copied();
        let calls = calls.chain(unleft);
        let mut open: Vec<RegionRef> = std::iter::once(process::PROGRAM).chain(calls).collect();
        // If recording ended early, calls that were open then are marked: the time at which they were left is unknown.
        let broken = location.broken.load(Ordering::Relaxed);
        let early = broken || self.process.failure().is_some();
        let Some(mut encoder) = self.encoder.take() else { return Ok(none) };
        if encoder.events() == 0 {
            open.clear();
        }
        while let Some(region) = open.pop_if(|_| !early) {
            if encoder.write(Time(time), Leave { region }).is_err() {
                open.push(region);
                break;
            }
        }
        let last = encoder.last_time();
        // A full chunk that could not be copied has no room for an end mark.
        let full = encoder.used() == encoder.memory().len();
        let finished = encoder.finish();
        let staged = finished.memory.is_copied() && finished.memory.survives();
        if broken && staged {
            return Ok(Closed { events: self.mend()?, ..none });
        }
        let file = memory::open(self.path.c_str(), false)?;
        finished.memory.save(&file, finished.used)?;
        if staged {
            self.unstage();
        }
        let chunk = finished.memory.len() as u64;
        let bytes = self.chunks * chunk + chunk.min(finished.used as u64);
        file.set_len(bytes)?;
        let (location, times) = (LocationRef(self.id.into()), Some((last, last)));
        if broken || full {
            return Ok(Closed { events: self.mend()?, ..none });
        }
        let events = finished.events;
        let path = Path::new(self.path.as_str());
        let (cut_bytes, left) = (0, 0);
        let mut closed = ClosedLocation { location, events, times, bytes, cut_bytes, left, open };
        if leave_open(path, chunk, &mut closed, CUT).is_err() {
            // On a full disk regions stay open, but no event is lost.
            file.set_len(bytes)?;
            closed.events = events;
        }
        Ok(Closed { events: closed.events, ..none })
    }

    /// Closes the event file by what is in it, whatever the recorder was about to do when it panicked. Returns the
    /// number of events.
    fn mend(&self) -> io::Result<u64> {
        self.put_back()?;
        let (path, chunk) = (Path::new(self.path.as_str()), self.process.chunk_size());
        let location = LocationRef(self.id.into());
        let (mut closed, _) = close_events(path, location, chunk).map_err(io::Error::other)?;
        leave_open(path, chunk, &mut closed, CUT).map_err(io::Error::other)?;
        Ok(closed.events)
    }
}

/// Releases the location of a thread that ends.
fn thread_ended(location: *const Anchor) {
    guarded(guard::Entry::ThreadEnd, || {
        // SAFETY: the value was set by this thread, in `register`, and locations are never unmapped. The thread ends.
        unsafe { Location::of(location).ended() };
    });
}

impl Process {
    /// Ends the recording of all threads and closes their files. Waits a while for threads that are
    /// inside the recorder. Returns the figures of each location, or the error with which it could not be closed.
    pub fn end(&self) -> Vec<io::Result<Closed>> {
        samples::end();
        self.switch_off();
        if let Err(error) = guard::check_memory() {
            self.fail("no memory for the recorder", &error);
        }
        guarded(guard::Entry::Sample, || self.sample_clock());
        // SAFETY: locations are never unmapped, recording is off, and processes end once.
        self.locations.all().map(|it| unsafe { close(Location::of(it)) }).collect()
    }
}

/// Closes a location once its thread is not busy. A thread that stays busy is left alone: a reader of the archive mends
/// its file.
///
/// # Safety
/// The recording has been switched off for all to see, and one thread at a time does this.
unsafe fn close(location: &'static Location) -> io::Result<Closed> {
    for _ in 0..1000 {
        // The thread does not come back to the state while recording is off.
        if location.busy.take_from_owner() {
            let mut thread = Busy { location };
            let closed = guarded(guard::Entry::Close, || thread.close(location));
            let mended = || {
                let events = guarded(guard::Entry::Close, || thread.mend());
                let events = events.unwrap_or_else(|| Err(guard::error()))?;
                Ok(Closed { events, ..thread.told(location) })
            };
            let closed = closed.unwrap_or_else(mended);
            thread.release();
            return closed;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Err(io::Error::other("a thread did not stop recording"))
}

fn tid() -> u64 {
    // The function `gettid` is in glibc since 2.30 only.
    // SAFETY: a system call without arguments.
    unsafe { libc::syscall(libc::SYS_gettid) }.cast_unsigned()
}

/// The path of a file, as long as the system allows.
pub(super) type FilePath = Text<{ libc::PATH_MAX as usize }>;
