//! OpenSHMEM: its hooks, and what the recorder asks of it.
//!
//! The recorder needs six things of a runtime: rank, size, send, receive, barrier, and a word about
//! itself. OpenSHMEM has no send and receive; they are made from a mailbox in symmetric memory, which
//! exists only while the recorder starts and while it ends, and between where processes meet to compare
//! clocks.

use core::ffi::{c_char, c_int, c_long, c_void};
use std::io;
use std::sync::atomic::{AtomicPtr, Ordering, fence};

use dwell_measure::call::{Past, begin, end, end_transfer, transfer};
use dwell_measure::clock::Sample;
use dwell_measure::control::{after_level, before_level};
use dwell_measure::entry::is_on;
use dwell_measure::hook::{Facts, Hook, Made, Who};
use dwell_measure::meet;
use dwell_measure::run::{self, Runtime};
use dwell_measure::unify::Upcalls;
use dwell_model::layer::Layer;

use crate::entry::{Entry, park};

pub(crate) use hooks::ENTRIES;

/// Made from the table by `build/`.
#[allow(unused_parens, clippy::all, clippy::pedantic)]
mod hooks {
    use super::{
        Entry, Facts, Made, Who, after_level, after_meeting, before_level, before_meeting,
        before_start, begin, end, end_transfer, finish, is_on, park, start, transfer,
    };

    include!(concat!(env!("OUT_DIR"), "/shmem.rs"));
}

/// What the hook of a function that starts the runtime does first.
fn before_start() -> Sample {
    dwell_measure::clock::sample()
}

/// What it does last.
fn start(hook: &'static Hook, began: Sample) {
    run::start(hook, Past { enter: began, leave: None }, Mailbox::open, about);
}

/// What the hook of a function that ends the runtime does first.
fn finish(hook: &'static Hook) {
    run::finish(hook, Mailbox::open);
}

/// What the hook of a barrier of all processes does first.
fn before_meeting(hook: &'static Hook) -> Option<u64> {
    meet::before(hook.layer)
}

/// What it does last.
fn after_meeting(before: Option<u64>) {
    if let Some(before) = before {
        meet::after(Layer::Shmem, before, Mailbox::open);
    }
}

/// A real function, by its name, as a pointer of the right type.
macro_rules! real {
    ($name:literal: fn($($of:ty),*) $(-> $returns:ty)?) => {{
        type Real = unsafe extern "C-unwind" fn($($of),*) $(-> $returns)?;
        real_function($name)
            // SAFETY: the function of this name has this signature, says the standard.
            .map(|at| unsafe { core::mem::transmute::<*mut (), Real>(at) })
    }};
}

fn real_function(name: &'static str) -> io::Result<*mut ()> {
    let found = ENTRIES.binary_search_by(|entry| entry.hook.row.name().cmp(name)).ok();
    found
        .and_then(|index| ENTRIES.get(index)?.real())
        .ok_or_else(|| io::Error::other(format!("this OpenSHMEM has no {name}")))
}

/// Bytes that travel at once.
const PIECE: usize = 64 * 1024;
/// Bits that have the length of a piece.
const BITS: u32 = 20;
/// A flag for each distance between partners and each direction.
const FLAGS: usize = 128;
/// `SHMEM_CMP_NE` of every implementation since 1.0: not equal.
const NOT_EQUAL: c_int = 1;

/// Symmetric memory, the same at every process.
///
/// Flags are never lowered: a runtime may store a value twice, and between the two it would be lowered in vain. Each
/// value is a new one, and what was seen last is kept.
#[repr(C)]
struct Shared {
    /// Set by a sender at its receiver: the number of a piece, and its bytes in the lowest [`BITS`].
    ready: [c_long; FLAGS],
    /// Set by a receiver at its sender: the same, once the piece was taken.
    taken: [c_long; FLAGS],
    /// Set by who tells a number: twice that, and in the lowest bit which of two turns it is.
    told: [c_long; FLAGS],
    /// Values of these that this process has seen.
    seen_ready: [c_long; FLAGS],
    seen_taken: [c_long; FLAGS],
    seen_told: [c_long; FLAGS],
    /// Pieces that this process has sent, and numbers that it has told.
    sent: [c_long; FLAGS],
    tells: [c_long; FLAGS],
    /// Pieces of this process, for its receivers to get.
    piece: [u8; PIECE],
}

/// The mailbox that was kept, so that meetings leave the program's symmetric memory alone.
static KEPT: AtomicPtr<Shared> = AtomicPtr::new(core::ptr::null_mut());

/// Messages over OpenSHMEM: a sender puts a piece into its own mailbox and raises a flag at the
/// receiver, which gets the piece and raises a flag in return.
struct Mailbox {
    rank: u64,
    size: u64,
    shared: *mut Shared,
    getmem: unsafe extern "C-unwind" fn(*mut c_void, *const c_void, usize, c_int),
    p: unsafe extern "C-unwind" fn(*mut c_long, c_long, c_int),
    quiet: unsafe extern "C-unwind" fn(),
    wait_until: unsafe extern "C-unwind" fn(*mut c_long, c_int, c_long),
    barrier: unsafe extern "C-unwind" fn(),
    free: unsafe extern "C-unwind" fn(*mut c_void),
}

impl Mailbox {
    /// Makes a mailbox, or opens the one that was kept. All processes do so together.
    fn open() -> io::Result<Self> {
        let rank = real!("shmem_my_pe": fn() -> c_int)?;
        let size = real!("shmem_n_pes": fn() -> c_int)?;
        let malloc = real!("shmem_malloc": fn(usize) -> *mut c_void)?;
        let mut mailbox = Self {
            rank: 0,
            size: 0,
            shared: core::ptr::null_mut(),
            getmem: real!("shmem_getmem": fn(*mut c_void, *const c_void, usize, c_int))?,
            p: real!("shmem_long_p": fn(*mut c_long, c_long, c_int))?,
            quiet: real!("shmem_quiet": fn())?,
            wait_until: real!("shmem_long_wait_until": fn(*mut c_long, c_int, c_long))?,
            barrier: real!("shmem_barrier_all": fn())?,
            free: real!("shmem_free": fn(*mut c_void))?,
        };
        // SAFETY: the runtime is between its start and its end; memory that it gives is as large as
        // was asked for, and zeros are a `Shared`.
        unsafe {
            mailbox.rank = u64::from(rank().cast_unsigned());
            mailbox.size = u64::from(size().cast_unsigned());
            mailbox.shared = KEPT.load(Ordering::Relaxed);
            if mailbox.shared.is_null() {
                mailbox.shared = malloc(size_of::<Shared>()).cast();
                if mailbox.shared.is_null() {
                    return Err(io::Error::other("no symmetric memory is left"));
                }
                mailbox.shared.write_bytes(0, 1);
            }
            (mailbox.barrier)();
        }
        Ok(mailbox)
    }

    /// The flag between this process and a partner. A process has one partner at a distance in
    /// each direction, so flags of different partners are never mixed up, however early one is.
    fn flag(&self, from: u64, to: u64) -> usize {
        let distance = from.abs_diff(to).max(1).ilog2() as usize;
        2 * (distance % (FLAGS / 2)) + usize::from(from < to)
    }

    /// Waits until a flag says something new, and returns what.
    fn wait(&self, flag: *mut c_long, seen: *mut c_long) -> c_long {
        // SAFETY: the flag is in symmetric memory of this process, written by one partner only, and
        // not again before it was told; what was seen is next to it, and nobody else's.
        unsafe {
            (self.wait_until)(flag, NOT_EQUAL, *seen);
            *seen = flag.read_volatile();
            fence(Ordering::SeqCst);
            *seen
        }
    }

    fn raise(&self, flag: *mut c_long, value: c_long, at: u64) {
        // SAFETY: a symmetric address, and a rank that exists.
        unsafe {
            (self.p)(flag, value, at as c_int);
            (self.quiet)();
        }
    }
}

impl Upcalls for Mailbox {
    fn rank(&self) -> u64 {
        self.rank
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        let flag = self.flag(self.rank, to);
        // SAFETY: `shared` is alive until drop, and `flag` below the number of flags.
        let (ready, taken, seen, sent, piece) = unsafe {
            (
                &raw mut (*self.shared).ready[flag],
                &raw mut (*self.shared).taken[flag],
                &raw mut (*self.shared).seen_taken[flag],
                &mut (*self.shared).sent[flag],
                (&raw mut (*self.shared).piece).cast::<u8>(),
            )
        };
        // The length goes first, as a piece of its own.
        let length = (bytes.len() as u64).to_ne_bytes();
        for part in [length.as_slice()].into_iter().chain(bytes.chunks(PIECE)) {
            // SAFETY: a part is no longer than a piece, and the last one was taken.
            unsafe { piece.copy_from_nonoverlapping(part.as_ptr(), part.len()) };
            fence(Ordering::SeqCst);
            *sent += 1;
            self.raise(ready, *sent << BITS | part.len() as c_long, to);
            self.wait(taken, seen);
        }
        Ok(())
    }

    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
        let flag = self.flag(from, self.rank);
        // SAFETY: as in `send`.
        let (ready, taken, seen, piece) = unsafe {
            (
                &raw mut (*self.shared).ready[flag],
                &raw mut (*self.shared).taken[flag],
                &raw mut (*self.shared).seen_ready[flag],
                (&raw const (*self.shared).piece).cast::<c_void>(),
            )
        };
        let next = |into: &mut [u8]| {
            let value = self.wait(ready, seen);
            let len = (value & ((1 << BITS) - 1)) as usize;
            if len != into.len() {
                return Err(io::Error::other("a message of another length than was said"));
            }
            // SAFETY: `into` is as long as what is got.
            unsafe { (self.getmem)(into.as_mut_ptr().cast(), piece, len, from as c_int) };
            self.raise(taken, value, from);
            Ok(())
        };
        let mut length = [0; 8];
        next(&mut length)?;
        let length = usize::try_from(u64::from_ne_bytes(length)).unwrap_or(0);
        let mut bytes = Vec::new();
        // No message is worth ending the program for.
        bytes.try_reserve_exact(length)?;
        bytes.resize(length, 0);
        bytes.chunks_mut(PIECE).try_for_each(next)?;
        Ok(bytes)
    }

    /// The flag itself is the number, and nobody waits until it has arrived but who hears it.
    fn tell(&mut self, to: u64, number: u64) -> io::Result<()> {
        let flag = self.flag(self.rank, to);
        // SAFETY: `shared` is alive until drop, `flag` below the number of flags, and `to` a rank that exists.
        unsafe {
            let turns = &mut (*self.shared).tells[flag];
            *turns += 1;
            let value = number.cast_signed() << 1 | *turns & 1;
            (self.p)(&raw mut (*self.shared).told[flag], value, to as c_int);
        }
        Ok(())
    }

    fn hear(&mut self, from: u64) -> io::Result<u64> {
        let flag = self.flag(from, self.rank);
        // SAFETY: as in `tell`.
        let (told, seen) = unsafe {
            (&raw mut (*self.shared).told[flag], &raw mut (*self.shared).seen_told[flag])
        };
        Ok(self.wait(told, seen).cast_unsigned() >> 1)
    }

    fn barrier(&mut self) -> io::Result<()> {
        // SAFETY: all processes call it.
        unsafe { (self.barrier)() };
        Ok(())
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        if meet::is_on() {
            // Where requests are served in software, the last one of some is served by others in here.
            // SAFETY: all processes call it.
            unsafe { (self.barrier)() };
            return KEPT.store(self.shared, Ordering::Relaxed);
        }
        // A later one makes its own.
        KEPT.store(core::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: obtained in `open`, freed once; all processes do so together.
        unsafe { (self.free)(self.shared.cast()) };
    }
}

/// What the runtime says of itself.
fn about() -> Runtime {
    let mut runtime = Runtime::default();
    if let Ok(name) = real!("shmem_info_get_name": fn(*mut c_char)) {
        let mut text = [0_u8; 256]; // SHMEM_MAX_NAME_LEN is at least this in the standard's examples.
        // SAFETY: every implementation has names no longer than 256.
        unsafe { name(text.as_mut_ptr().cast()) };
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        runtime.name = String::from_utf8_lossy(&text[..end]).into_owned();
    }
    if let Some(version) = open_mpi_version() {
        runtime.name = format!("Open MPI {version}");
    }
    if let Ok(version) = real!("shmem_info_get_version": fn(*mut c_int, *mut c_int)) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are valid for writing.
        unsafe { version(&raw mut major, &raw mut minor) };
        runtime.interface = format!("OpenSHMEM {major}.{minor}");
    }
    if let Ok(query) = real!("shmem_query_thread": fn(*mut c_int)) {
        let mut level = 0;
        // SAFETY: valid for writing.
        unsafe { query(&raw mut level) };
        let names = ["single", "funneled", "serialized", "multiple"];
        runtime.threads = names.get(level as usize).copied().unwrap_or("unknown").into();
    }
    runtime
}

/// The version of Open MPI, whose OpenSHMEM calls itself by the address of a web page.
fn open_mpi_version() -> Option<String> {
    // SAFETY: the name ends in zero. The variable is an array of characters in every version that has
    // it, ended by zero.
    let text = unsafe {
        let at = libc::dlsym(libc::RTLD_DEFAULT, c"opal_version_string".as_ptr());
        (!at.is_null()).then(|| core::ffi::CStr::from_ptr(at.cast()))?
    };
    text.to_str().ok().filter(|text| text.len() < 64).map(str::to_owned)
}
