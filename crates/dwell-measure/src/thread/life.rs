//! How a location begins and ends: with the first call of a thread, with the thread, with the recording.
#![allow(unsafe_code)] // States are reached by pointers kept in thread-local words.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};

use otf2::close::{ClosedLocation, leave_open};
use otf2::encode::Encoder;
use otf2::event::Leave;
use otf2::id::{LocationRef, RegionRef, Time};

use super::{CUT, DEPTH, Frame, NO_FRAME, NO_PLACE, NOT_RECORDED, SITES, Thread, WINDOWS};
use crate::entry::{self, Quiet, keeping_errno, words};
use crate::facts::Fact;
use crate::memory::{self, Memory};
use crate::process::{self, Process};
use crate::profile::Profile;
use crate::text::Text;
use crate::unwind::Stack;

/// What a location had when it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its number in the process.
    pub id: u32,
    /// Recorded calls.
    pub calls: u64,
    /// Events.
    pub events: u64,
    /// Calls that went past the recorder.
    pub bypassed: u64,
    /// Calls that were not to be recorded.
    pub left_out: u64,
    /// Calls that there was no room for.
    pub lost: u64,
}

/// Gives the calling thread a state.
#[cold]
#[inline(never)]
pub(super) fn register(now: *mut Thread) -> Option<*mut Thread> {
    // A signal handler that comes while its thread is being registered, or a thread without state.
    if now == NOT_RECORDED {
        return None;
    }
    let words = words();
    words.thread.set(NOT_RECORDED);
    let process = process::current()?;
    let thread = keeping_errno(|| process.take_thread(|id| Thread::create(process, id)))?;
    process.at_thread_end(thread.cast());
    words.thread.set(thread);
    Some(thread)
}

impl Thread {
    /// A new location, with its file.
    fn create(process: &'static Process, id: u32) -> io::Result<*mut Self> {
        process.take_memory()?;
        let profile = if process.has_profile {
            let mut path = Text::<1024>::default();
            path.format(format_args!("{}/{}.{id}.rows", process.open_files(), process.rank()));
            Some(Profile::create(path.c_str().to_owned())?)
        } else {
            None
        };
        let encoder = if process.has_trace {
            let chunk = process.chunk(true)?;
            let path = events(process, id);
            let file = memory::open(path.c_str(), true)?;
            let first = Memory::of_file(&file, 0, chunk)?;
            if !first.survives() {
                let (name, value) = ("SURVIVAL", "not here: the file system cannot reserve space");
                process.define(&Fact::Property { name, value })?;
            }
            Some(Encoder::new(first).map_err(io::Error::other)?)
        } else {
            None
        };
        process.define(&Fact::Thread { id: id.into(), tid: tid() })?;
        let place = std::mem::ManuallyDrop::new(Memory::anonymous(size_of::<Self>())?);
        let at = place.as_ptr().cast_mut().cast::<Self>();
        let thread = Self {
            busy: AtomicBool::new(false),
            encoder,
            profile,
            process,
            stack: Stack::default(),
            clock: process.clock,
            time: 0,
            depth: 0,
            aside: process.has_profile,
            muted: false,
            off: false,
            turns_at: 0,
            skipped: 0,
            layers: 0,
            frames: [NO_FRAME; DEPTH],
            next_id: 0,
            pending: [(0, false); WINDOWS],
            sites: [NO_PLACE; SITES],
            context: (0, 0, 0),
            mpi: crate::mpi::Own::new(id),
            id,
            chunks: 0,
            calls: 0,
            left_out: 0,
            lost: 0,
            unleft: [process::PROGRAM; DEPTH],
            unleft_count: 0,
            bypassed: AtomicU64::new(0),
            next_free: ptr::null_mut(),
        };
        // SAFETY: the memory is large enough, aligned to a page, and nobody else's.
        unsafe { at.write(thread) };
        Ok(at)
    }

    /// The thread that had this state has ended: the next new one may have it.
    ///
    /// # Safety
    /// `thread` is a state that its thread, which calls this, no longer uses.
    unsafe fn ended(thread: *mut Self) {
        words().thread.set(ptr::null_mut());
        // SAFETY: as promised, nobody else uses it.
        let state = unsafe { &mut *thread };
        state.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        if entry::is_on() {
            state.leave_all();
        }
        state.release();
        state.process.give_thread(thread);
    }

    /// Ends the events and returns how many there are, how many calls, and the time of the last.
    /// Only for whoever has ended the recording and waited until this thread was not busy.
    fn close(&mut self) -> io::Result<Closed> {
        let none = Closed { id: self.id, calls: 0, events: 0, bypassed: 0, left_out: 0, lost: 0 };
        let (calls, bypassed) = (self.calls, self.bypassed.load(Ordering::Relaxed));
        let none = Closed { calls, bypassed, left_out: self.left_out, lost: self.lost, ..none };
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
        // Where recording ended early, what was open then is marked.
        let spent = entry::is_quiet_for(Quiet::Spent);
        let Some(mut encoder) = self.encoder.take() else { return Ok(none) };
        if encoder.events() == 0 {
            open.clear();
        }
        while let Some(region) = open.pop_if(|_| !spent) {
            if encoder.write(Time(time), Leave { region }).is_err() {
                open.push(region);
                break;
            }
        }
        let last = encoder.last_time();
        let finished = encoder.finish();
        let path = events(self.process, self.id);
        let file = memory::open(path.c_str(), false)?;
        finished.memory.save(&file, finished.used)?;
        let chunk = finished.memory.len() as u64;
        let bytes = self.chunks * chunk + finished.used as u64;
        file.set_len(bytes)?;
        let (location, times) = (LocationRef(self.id.into()), Some((last, last)));
        let mut closed =
            ClosedLocation { location, events: finished.events, times, bytes, cut: 0, open };
        let path = std::path::Path::new(path.as_str());
        leave_open(path, chunk, &mut closed, CUT).map_err(|e| io::Error::other(e.to_string()))?;
        Ok(Closed { events: closed.events, ..none })
    }
}

/// What the C library calls at the end of a thread that has a state.
pub(crate) unsafe extern "C" fn at_thread_end(thread: *mut c_void) {
    // SAFETY: the value was set by this thread, in `register`.
    unsafe { Thread::ended(thread.cast()) };
}

/// States of ended threads, one behind the other.
#[derive(Debug)]
pub(crate) struct FreeList(*mut Thread);

// SAFETY: states without a thread belong to whoever takes them, under a lock.
unsafe impl Send for FreeList {}

impl FreeList {
    pub(crate) const EMPTY: Self = Self(ptr::null_mut());

    pub(crate) fn push(&mut self, thread: *mut Thread) {
        // SAFETY: its thread has ended, and gives it away here.
        unsafe { (*thread).next_free = self.0 };
        self.0 = thread;
    }

    pub(crate) fn pop(&mut self) -> Option<*mut Thread> {
        let first = self.0;
        if first.is_null() {
            return None;
        }
        // SAFETY: states are never unmapped, and this one belongs to the list.
        self.0 = unsafe { (*first).next_free };
        Some(first)
    }
}

/// Closes a location, once its thread is not busy. A thread that stays busy is left alone: its file
/// is mended by whoever reads the archive.
///
/// # Safety
/// `thread` is a state made by [`Thread::create`], and the recording has been switched off for all
/// to see.
pub(crate) unsafe fn close(thread: *mut Thread) -> io::Result<Closed> {
    for _ in 0..1000 {
        // SAFETY: states are never unmapped.
        if unsafe { !(*thread).busy.load(Ordering::Acquire) } {
            // SAFETY: its thread does not come back while recording is off.
            return unsafe { (*thread).close() };
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Err(io::Error::other("a thread did not stop recording"))
}

fn tid() -> u64 {
    // SAFETY: a system call without arguments.
    unsafe { libc::gettid() }.cast_unsigned().into()
}

/// The path of the event file of a location.
pub(super) fn events(process: &Process, id: u32) -> Text<1024> {
    let mut path = Text::default();
    path.format(format_args!("{}/{}.{id}.evt", process.open_files(), process.rank()));
    path
}
