//! Messages between recorders over GASNet.
//!
//! There can be no second client and no second endpoint, so the recorder uses those of the program: it registers one
//! handler with them, and sends active messages with a medium payload. A message consists of pieces, which may arrive in any
//! order; each says which message it belongs to and where in it. A process that waits polls, which also runs handlers of the
//! program, as it does whenever a program waits.
//!
//! # The index of the handler
//! Programs choose indices for their handlers, or let GASNet choose. The recorder needs its handler before the program has
//! registered any. It takes an index in the middle of the range, where programs hardly ever are: they count up from 128, and
//! GASNet chooses from 255 down. If the program wants that index nevertheless, it gets it, and the recorder moves on. All
//! processes do so alike, because they register the same handlers.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use dwell_measure::counters::Wanted;
use dwell_measure::run::Runtime;
use dwell_unify::deadline::{Deadline, Step};
use dwell_unify::unify::Upcalls;

use super::handlers::{self, Handler};

/// Functions and constants of GASNet that the header passes. The layout is that of `struct dwell_gasnet` there.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Gasnet {
    rank: u32,
    size: u32,
    pub(super) team: usize,
    version: *const c_char,
    largest: usize,
    receive: Handler,
    open: unsafe extern "C-unwind" fn(c_uint, Handler) -> c_int,
    send: unsafe extern "C-unwind" fn(u32, c_uint, *const c_void, usize, u32, u32) -> c_int,
    poll: unsafe extern "C-unwind" fn(),
    meet: unsafe extern "C-unwind" fn(*mut usize) -> c_int,
    source: unsafe extern "C-unwind" fn(usize) -> u32,
    members: unsafe extern "C-unwind" fn(usize, *mut u32) -> u32,
    member: unsafe extern "C-unwind" fn(usize, u32) -> u32,
    near: unsafe extern "C-unwind" fn(u32) -> u32,
}

// SAFETY: what is in it never changes, and its functions may be called by any thread that may call GASNet.
unsafe impl Send for Gasnet {}
// SAFETY: as above.
unsafe impl Sync for Gasnet {}

static GASNET: OnceLock<Gasnet> = OnceLock::new();

/// Stores what the header knows of GASNet, once it has started.
pub(super) fn set(gasnet: Gasnet) {
    let _ = GASNET.set(gasnet);
}

/// Returns what is known of GASNet, or `None` before it has started.
pub(super) fn gasnet() -> Option<&'static Gasnet> {
    GASNET.get()
}

/// Ranks of the processes that share memory with this one, in order.
static NEAR: OnceLock<Vec<u32>> = OnceLock::new();

impl Gasnet {
    /// Returns `true` if operations on a rank of a team go through shared memory.
    pub(super) fn is_near(&self, team: usize, rank: u32) -> bool {
        let near = NEAR.get_or_init(|| {
            // SAFETY: GASNet has started; it knows all indices until it says that there are no more.
            let mut near: Vec<u32> = (0..=self.size)
                .map(|at| unsafe { (self.near)(at) })
                .take_while(|rank| *rank < self.size)
                .collect();
            near.sort_unstable();
            near
        });
        let rank = if team == self.team {
            rank
        } else {
            // SAFETY: the program passed the team and the rank to GASNet, so both exist.
            unsafe { (self.member)(team, rank) }
        };
        near.binary_search(&rank).is_ok()
    }

    /// Returns the members of a team as ranks of all processes, and the rank of this process in it.
    pub(super) fn members(&self, team: usize) -> (Vec<u64>, u32) {
        let mut rank = 0;
        // SAFETY: the program passed the team to GASNet, so it exists, and there is a place for the answer.
        let size = unsafe { (self.members)(team, &raw mut rank) };
        // SAFETY: all ranks below the size of the team exist.
        let member = |rank| u64::from(unsafe { (self.member)(team, rank) });
        ((0..size).map(member).collect(), rank)
    }

    /// Returns the rank of the process whose message a handler received.
    ///
    /// # Safety
    /// `token` is what GASNet passed to a handler that is running.
    pub(super) unsafe fn source(&self, token: usize) -> Option<u32> {
        // SAFETY: as promised.
        let source = unsafe { (self.source)(token) };
        (source < self.size).then_some(source)
    }
}

/// Index of the handler for messages of the recorder; 0 before it is registered.
static INDEX: AtomicU32 = AtomicU32::new(0);
/// The first index that the recorder tries.
const FIRST: u32 = 201;

/// Lets the program have an index that the recorder uses. Returns `false` if the recorder does not use it. From then on
/// the function that is registered there calls the handler of the program.
pub(super) fn yield_index(index: u32) -> bool {
    YIELDED.lock().is_ok_and(|mut yielded| {
        let at = yielded.iter().position(|it| *it == index);
        at.map(|at| yielded.swap_remove(at)).is_some()
    })
}

/// Indices that the recorder has left and the program has not got yet.
static YIELDED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Indices that the program has asked for.
static WANTED: Mutex<[bool; 256]> = Mutex::new([false; 256]);

/// Remembers the indices that the program wants, and moves away if it wants the present one.
pub(super) fn move_from(wanted: &[u8; 256]) {
    if let Ok(mut known) = WANTED.lock() {
        known.iter_mut().zip(wanted).for_each(|(known, wanted)| *known |= *wanted != 0);
    }
    let present = INDEX.load(Ordering::Relaxed);
    let is_wanted = wanted.get(present as usize).is_some_and(|it| *it != 0);
    if present != 0
        && is_wanted
        && let Ok(mut yielded) = YIELDED.lock()
    {
        yielded.push(present);
        register();
    }
}

/// Registers a handler at the first index that the program has not asked for.
fn register() -> bool {
    let (Some(gasnet), Ok(wanted)) = (gasnet(), WANTED.lock()) else { return false };
    let is_free = |index: &u32| wanted.get(*index as usize) == Some(&false);
    let Some(index) = (129..=FIRST).rev().find(is_free) else { return false };
    drop(wanted);
    let handler = handlers::own(gasnet.receive, index);
    // SAFETY: GASNet has started, and the handler is a function that takes what GASNet passes.
    let opened = unsafe { (gasnet.open)(index, handler) } == 0;
    INDEX.store(if opened { index } else { 0 }, Ordering::Relaxed);
    opened
}

/// Place of a piece in a message: the number of the message between two processes in a step, the offset in bytes, and the
/// length of the message.
const HEAD: usize = 3 * size_of::<u64>();

/// A message of which pieces have arrived.
#[derive(Default)]
struct Arriving {
    bytes: Vec<u8>,
    arrived: usize,
    is_complete: bool,
}

/// Messages by sender, step and number.
static INBOX: Mutex<BTreeMap<(u32, u32, u64), Arriving>> = Mutex::new(BTreeMap::new());
/// Numbers of the next messages to and from a process in a step.
static COUNTS: Mutex<BTreeMap<(u32, u32, bool), u64>> = Mutex::new(BTreeMap::new());

/// Takes a piece of a message. The header calls it in the handler of the recorder.
///
/// # Safety
/// `data` is the address of `bytes` bytes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_message(
    from: u32,
    step: u32,
    data: *const u8,
    bytes: usize,
) {
    if bytes < HEAD {
        return;
    }
    // SAFETY: as promised.
    let piece = unsafe { core::slice::from_raw_parts(data, bytes) };
    dwell_measure::guard::walled(|| take(from, step, piece));
}

fn take(from: u32, step: u32, piece: &[u8]) -> Option<()> {
    let (head, data) = piece.split_at_checked(HEAD)?;
    let mut numbers = head.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it));
    let (number, offset, length) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
    let mut inbox = INBOX.lock().ok()?;
    let message = inbox.entry((from, step, number)).or_default();
    if message.bytes.len() < length {
        message.bytes.resize(length, 0);
    }
    let end = offset.checked_add(data.len())?;
    message.bytes.get_mut(offset..end)?.copy_from_slice(data);
    message.arrived += data.len();
    message.is_complete = message.arrived >= length;
    Some(())
}

/// Connection to the recorders of all other processes.
pub(super) struct Channel {
    gasnet: &'static Gasnet,
    deadline: Deadline,
}

impl Channel {
    /// Opens the connection. The first time, the handler is registered, and all processes wait for each other, because a
    /// message to a process without the handler would end the program.
    pub(super) fn open(deadline: Deadline) -> io::Result<Self> {
        let absent = || io::Error::other("GASNet has not started");
        let gasnet = gasnet().ok_or_else(absent)?;
        if INDEX.load(Ordering::Relaxed) == 0 {
            if deadline.step() != Step::Start || !register() {
                return Err(io::Error::other("GASNet did not register a handler"));
            }
            let mut event = 0;
            deadline.wait(None, || {
                // SAFETY: GASNet has started, and there is a place for the event.
                Ok((unsafe { (gasnet.meet)(&raw mut event) } != 0).then_some(()))
            })?;
        }
        Ok(Self { gasnet, deadline })
    }

    fn count(&self, with: u64, sent: bool) -> u64 {
        let key = (with as u32, self.deadline.step() as u32, sent);
        let Ok(mut counts) = COUNTS.lock() else { return 0 };
        let count = counts.entry(key).or_default();
        *count += 1;
        *count
    }
}

impl Upcalls for Channel {
    fn rank(&self) -> u64 {
        self.gasnet.rank.into()
    }

    fn size(&self) -> u64 {
        self.gasnet.size.into()
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        let number = self.count(to, true);
        let most = self.gasnet.largest.saturating_sub(HEAD).clamp(1, 1 << 16);
        let mut offset = 0;
        let mut piece = Vec::with_capacity(HEAD + most.min(bytes.len()));
        loop {
            let part = bytes.get(offset..bytes.len().min(offset + most)).unwrap_or_default();
            piece.clear();
            for head in [number, offset as u64, bytes.len() as u64] {
                piece.extend_from_slice(&head.to_le_bytes());
            }
            piece.extend_from_slice(part);
            let (index, step) = (INDEX.load(Ordering::Relaxed), self.deadline.step() as u32);
            // SAFETY: the rank exists, the handler is registered there, and GASNet has copied the data on return.
            let code = unsafe {
                let (data, length) = (piece.as_ptr().cast(), piece.len());
                (self.gasnet.send)(to as u32, index, data, length, self.gasnet.rank, step)
            };
            if code != 0 {
                return Err(io::Error::other("GASNet could not send a message"));
            }
            offset += part.len();
            if offset >= bytes.len() {
                return Ok(());
            }
        }
    }

    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
        let number = self.count(from, false);
        let key = (from as u32, self.deadline.step() as u32, number);
        self.deadline.wait(Some(from), || {
            // SAFETY: GASNet is between its start and its end.
            unsafe { (self.gasnet.poll)() };
            let Ok(mut inbox) = INBOX.lock() else {
                return Err(io::Error::other("a message of another process was lost"));
            };
            let is_complete = inbox.get(&key).is_some_and(|message| message.is_complete);
            Ok(is_complete.then(|| inbox.remove(&key).unwrap_or_default().bytes))
        })
    }

    fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }
}

/// Returns name and version of GASNet, for the properties of the archive.
pub(super) fn about(wanted: &Wanted) -> Runtime {
    let version = gasnet().map(|gasnet| gasnet.version).filter(|text| !text.is_null());
    // SAFETY: a text in the program that ends in zero.
    let text = version.map(|text| unsafe { CStr::from_ptr(text) });
    let name = text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let mut complaints = Vec::new();
    if !wanted.variables.is_empty() {
        complaints.push("performance variables are not recorded: GASNet has none".into());
    }
    Runtime { interface: "GASNet-EX".into(), name, complaints, ..Runtime::default() }
}
