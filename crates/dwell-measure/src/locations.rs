//! The locations of a process: all of them, those without a thread, and the end of threads.
//!
//! A location is the state of a thread. This module knows only its [`Anchor`], so that the state of the process does not
//! depend on the state of its threads.
//!
//! # Invariants
//! * A location that was added is never removed and never unmapped.
//! * Nothing here allocates from the program's heap.
#![allow(unsafe_code)] // Locations are reached by pointers; the C library is called.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::entry::Anchor;
use crate::lock::Lock;
use crate::memory::Memory;

/// Largest number of locations of one process. Further threads are not recorded.
const MOST: usize = 4096;

/// The locations of a process, of which there are at most 4096.
#[derive(Debug)]
pub(crate) struct Locations {
    /// Pointers to all locations.
    places: Memory,
    count: AtomicUsize,
    free: Lock<FreeList>,
    key: libc::pthread_key_t,
}

impl Locations {
    /// Creates an empty list, with a key by which the C library reports the end of threads.
    pub(crate) fn new() -> io::Result<Self> {
        let mut key = 0;
        // SAFETY: `key` is valid for writing, the destructor has the type that is asked for.
        if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ended)) } != 0 {
            return Err(io::Error::other("no key for the end of threads"));
        }
        Ok(Self {
            places: Memory::anonymous(MOST * size_of::<*mut Anchor>())?,
            count: AtomicUsize::new(0),
            free: Lock::new(FreeList(ptr::null())),
            key,
        })
    }

    /// Returns the size of the list in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.places.len()
    }

    /// Returns `true` if there is more than one location, so that other threads must be expected.
    pub(crate) fn are_several(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 1
    }

    /// Returns a location whose thread has ended; `None` if there is none.
    pub(crate) fn reuse(&self) -> Option<*const Anchor> {
        self.free.with(FreeList::pop)
    }

    /// Adds a location that `create` makes with the id that it is given, counted from 0. Returns the id with an error
    /// if `create` fails, or if there are too many locations.
    pub(crate) fn add(
        &self,
        create: impl FnOnce(u32) -> io::Result<*const Anchor>,
    ) -> Result<*const Anchor, (u32, io::Error)> {
        let id = self.count.fetch_add(1, Ordering::Relaxed);
        let made = match self.places().get(id) {
            Some(place) => create(id as u32)
                .inspect(|location| place.store(location.cast_mut(), Ordering::Release)),
            None => Err(io::Error::other("too many threads")),
        };
        made.map_err(|error| (id as u32, error))
    }

    /// Keeps a location whose thread has ended, for the next new thread.
    ///
    /// # Safety
    /// The pointer is one that [`add`](Self::add) or [`reuse`](Self::reuse) returned, and the location is not in use.
    pub(crate) unsafe fn give_back(&self, location: *const Anchor) {
        // SAFETY: as promised.
        self.free.with(|free| unsafe { free.push(location) });
    }

    /// Iterates over all locations.
    pub(crate) fn all(&self) -> impl Iterator<Item = *const Anchor> + '_ {
        let places = self.places().iter().take(self.count.load(Ordering::Acquire));
        let pointers = places.map(|place| place.load(Ordering::Acquire).cast_const());
        pointers.filter(|location| !location.is_null())
    }

    /// Asks the C library to call `ended` with the location of the calling thread when that thread ends. `ended` is the
    /// same function in all calls.
    pub(crate) fn at_thread_end(&self, location: *const Anchor, ended: fn(*const Anchor)) {
        let _ = ENDED.set(ended);
        // SAFETY: the key was made for this list, and lives as long.
        unsafe { libc::pthread_setspecific(self.key, location.cast()) };
    }

    fn places(&self) -> &[AtomicPtr<Anchor>] {
        // SAFETY: the memory is as long as that and aligned to a page; zeros are null pointers.
        unsafe { std::slice::from_raw_parts(self.places.start().cast(), MOST) }
    }
}

static ENDED: OnceLock<fn(*const Anchor)> = OnceLock::new();

/// Callback of the C library at the end of a thread that has a location.
unsafe extern "C" fn thread_ended(location: *mut c_void) {
    if let Some(ended) = ENDED.get() {
        ended(location.cast_const().cast());
    }
}

/// List of the locations of ended threads.
#[derive(Debug)]
struct FreeList(*const Anchor);

// SAFETY: a location without a thread belongs to the thread that takes it, under a lock.
unsafe impl Send for FreeList {}

impl FreeList {
    /// # Safety
    /// The pointer is to a location, which is in no list.
    unsafe fn push(&mut self, location: *const Anchor) {
        // SAFETY: as promised; locations are never unmapped.
        unsafe { &*location }.next_free.store(self.0.cast_mut(), Ordering::Relaxed);
        self.0 = location;
    }

    fn pop(&mut self) -> Option<*const Anchor> {
        let first = self.0;
        // SAFETY: null, or a location, and these are never unmapped.
        let next = unsafe { first.as_ref() }?.next_free.load(Ordering::Relaxed);
        self.0 = next;
        Some(first)
    }
}
