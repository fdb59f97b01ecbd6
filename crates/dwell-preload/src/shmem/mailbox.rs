//! Messages between recorders over OpenSHMEM.
//!
//! A process writes a message into symmetric memory of the receiver, piece by piece, and the receiver acknowledges in
//! symmetric memory of the sender which piece it has taken. Both only ever read their own memory while they wait, so
//! that a partner that has died or left cannot keep them in a call of the runtime.
//!
//! # Words
//! A piece is an array of words of eight bytes. The upper two bytes of each word are the [tag](Counters::next) of the
//! piece, the others are six bytes of the message. So a word says by itself that it has arrived, and neither the order
//! in which words arrive nor a completion at the sender matters. The tag lies at the highest addresses of the word, so
//! that it is stored last if a word is copied byte by byte.
//!
//! # Progress
//! Where a transport needs the target to serve a request, a process that waits must make calls that do so and that
//! return at once. `shmem_long_test` is meant for that, since programs poll with it. Its result is not used, because
//! the values of its constants differ between implementations. In Open MPI 4.1 it makes no progress, so there the
//! recorder calls `opal_progress`, on which all of Open MPI's calls rely. `shmem_quiet` makes progress too, but waits
//! for partners.
//!
//! # Memory
//! The memory is allocated when the recording starts, for as many partners as the process has in the tree (a kilobyte
//! each, 4 for 4 processes, 40 for a million), and kept until the runtime ends. Allocating or freeing it later would be
//! a collective call, which would never return if one process did not make it. At the start this is safe: all processes
//! are inside the call that initialises OpenSHMEM, and wait for each other.

use core::ffi::{c_int, c_long, c_void};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{Ordering, fence};

use dwell_unify::deadline::{Deadline, Step};
use dwell_unify::unify::{Upcalls, rounds};

use super::real;

/// Number of words in a piece.
const WORDS: usize = 128;
/// Bytes of the message in a word.
const BYTES: usize = 6;
/// Bytes of the message in a piece.
const PIECE: usize = WORDS * BYTES;
/// Bytes of the length of a message, which precedes it.
const HEAD: usize = size_of::<u64>();
/// Position of the lowest bit of the tag in a word.
const TAG: u32 = 8 * BYTES as u32;
/// Number of bits of a tag that hold the number of the piece within a step.
const NUMBER: u32 = 14;

/// Symmetric memory that exactly one partner of a process writes to.
#[repr(C)]
struct Slot {
    /// A piece of a message from the partner.
    words: [u64; WORDS],
    /// Tag of the last piece that the partner has taken from this process.
    taken: u64,
    /// Last number that the partner sent in each step: twice the number, plus a lowest bit that alternates, so that
    /// equal numbers in succession differ.
    told: [u64; Step::COUNT],
    /// Not 0 once the partner has left the recording.
    gone: u64,
}

/// Counters that a process keeps for a partner. One index is for messages from the partner with the lower rank to the
/// one with the higher rank, and another for the opposite direction.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    /// Number of pieces sent to the partner and received from it in this step.
    sent: u64,
    received: u64,
    /// Count of the numbers sent to the partner in this step, and the last value received from it in each step.
    tells: u64,
    heard: [u64; Step::COUNT],
}

impl Counters {
    /// Counts a piece and returns its tag: the step, and the number of the piece within it. The tag is never 0, and
    /// differs from that of the previous piece and from those of other steps.
    fn next(count: &mut u64, step: Step) -> u64 {
        *count += 1;
        ((step as u64) << NUMBER) | (*count % (1 << NUMBER))
    }
}

/// State that is kept between two uses of the mailbox.
struct Kept {
    slots: *mut Slot,
    counters: Vec<Counters>,
    /// Step to which the counters belong.
    step: Option<Step>,
}

// SAFETY: the memory belongs to this process, and only the owner of the value uses it.
unsafe impl Send for Kept {}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// Connection to the recorders of all other processes.
pub(super) struct Mailbox {
    rank: u64,
    size: u64,
    deadline: Deadline,
    kept: Kept,
    putmem: unsafe extern "C-unwind" fn(*mut c_void, *const c_void, usize, c_int),
    p: unsafe extern "C-unwind" fn(*mut c_long, c_long, c_int),
    fence: unsafe extern "C-unwind" fn(),
    progress: Progress,
}

/// Call that makes progress for requests of other processes.
#[derive(Clone, Copy)]
enum Progress {
    /// The function `shmem_long_test`.
    Test(unsafe extern "C-unwind" fn(*mut c_long, c_int, c_long) -> c_int),
    /// The function `opal_progress`, or `shmem_quiet` of a runtime before OpenSHMEM 1.4, which has no test.
    Plain(unsafe extern "C-unwind" fn()),
}

impl Progress {
    fn find() -> io::Result<Self> {
        if let Some(progress) = crate::real::find(c"opal_progress") {
            // SAFETY: the function of this name takes no arguments in every version of Open MPI.
            let progress =
                unsafe { core::mem::transmute::<*mut (), unsafe extern "C-unwind" fn()>(progress) };
            return Ok(Self::Plain(progress));
        }
        match real!("shmem_long_test": fn(*mut c_long, c_int, c_long) -> c_int) {
            Ok(test) => Ok(Self::Test(test)),
            Err(_) => Ok(Self::Plain(real!("shmem_quiet": fn())?)),
        }
    }

    /// Makes progress for requests of other processes. `word` is in symmetric memory and has this value.
    ///
    /// # Safety
    /// The runtime is initialised and not finalised.
    unsafe fn call(self, word: *mut u64, value: u64) {
        // SAFETY: as promised, and 1 is a comparison in every implementation.
        unsafe {
            match self {
                Self::Test(test) => _ = test(word.cast(), 1, value.cast_signed()),
                Self::Plain(progress) => progress(),
            }
        }
    }
}

impl Mailbox {
    /// Takes the mailbox of this process. The first time, all processes allocate it together.
    pub(super) fn open(deadline: Deadline) -> io::Result<Self> {
        let rank = real!("shmem_my_pe": fn() -> c_int)?;
        let size = real!("shmem_n_pes": fn() -> c_int)?;
        let progress = Progress::find()?;
        let putmem = real!("shmem_putmem": fn(*mut c_void, *const c_void, usize, c_int))?;
        let p = real!("shmem_long_p": fn(*mut c_long, c_long, c_int))?;
        let fence = real!("shmem_fence": fn())?;
        // SAFETY: the runtime is between its start and its end.
        let (rank, size) = unsafe { (rank(), size()) };
        let (rank, size) = (u64::from(rank.cast_unsigned()), u64::from(size.cast_unsigned()));
        let kept = KEPT.lock().ok().and_then(|mut kept| kept.take());
        let kept = kept.map_or_else(|| Kept::allocate(size), Ok)?;
        let mut mailbox = Self { rank, size, deadline, kept, putmem, p, fence, progress };
        mailbox.set_deadline(deadline);
        Ok(mailbox)
    }

    /// Returns the index of the slot that `from` writes at `to`. A process has one partner at each distance in each
    /// direction, so partners never share a slot.
    fn index(from: u64, to: u64) -> usize {
        let distance = from.abs_diff(to).max(1).ilog2() as usize;
        2 * distance + usize::from(from < to)
    }

    /// Returns the slot at this process that a partner writes to, and the counters for the partner.
    fn incoming(&mut self, partner: u64) -> io::Result<(*mut Slot, &mut Counters)> {
        let index = Self::index(partner, self.rank);
        let counters = self.kept.counters.get_mut(index).ok_or_else(no_partner)?;
        // SAFETY: there are as many slots as counters.
        Ok((unsafe { self.kept.slots.add(index) }, counters))
    }

    /// Returns the slot at a partner that this process writes to: its address here, which is symmetric.
    fn outgoing(&self, partner: u64) -> io::Result<*mut Slot> {
        let index = Self::index(self.rank, partner);
        self.kept.counters.get(index).ok_or_else(no_partner)?;
        // SAFETY: there are as many slots as counters.
        Ok(unsafe { self.kept.slots.add(index) })
    }

    fn put_word(&self, at: *mut u64, value: u64, partner: u64) {
        // SAFETY: a symmetric address of eight bytes, and a rank that exists.
        unsafe { (self.p)(at.cast(), value.cast_signed(), partner as c_int) };
    }

    /// Waits until a word that a partner writes satisfies a condition, and returns the word. Fails if the partner has
    /// left or the deadline has passed.
    fn wait(
        &self,
        partner: u64,
        slot: *mut Slot,
        word: *mut u64,
        is_there: impl Fn(u64) -> bool,
    ) -> io::Result<u64> {
        self.deadline.wait(Some(partner), || {
            // SAFETY: both words are in symmetric memory of this process, which stays allocated.
            let (value, gone) =
                unsafe { (word.read_volatile(), (&raw mut (*slot).gone).read_volatile()) };
            if is_there(value) {
                fence(Ordering::Acquire);
                return Ok(Some(value));
            }
            if gone != 0 {
                return Err(io::Error::other(format!("process {partner} has given up")));
            }
            // SAFETY: a mailbox is open only while the runtime works, and the word is in symmetric memory.
            unsafe { self.progress.call(word, value) };
            Ok(None)
        })
    }

    /// Sends one piece and waits until the partner has taken it.
    fn send_piece(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        let step = self.deadline.step();
        let place = self.outgoing(to)?;
        let (slot, counters) = self.incoming(to)?;
        let tag = Counters::next(&mut counters.sent, step);
        let words: Vec<u64> = bytes.chunks(BYTES).map(|part| word(tag, part)).collect();
        // SAFETY: a piece has no more words than a slot, and `words` stays while the call lasts.
        unsafe {
            let target = (&raw mut (*place).words).cast();
            (self.putmem)(target, words.as_ptr().cast(), size_of_val(&words[..]), to as c_int);
        }
        // SAFETY: a place inside the slot.
        let taken = unsafe { &raw mut (*slot).taken };
        self.wait(to, slot, taken, |taken| taken == tag).map(drop)
    }

    /// Receives one piece. `known` is the number of bytes of the message in it; if it is `None`, the piece begins with
    /// the length of the message.
    fn receive_piece(&mut self, from: u64, known: Option<usize>) -> io::Result<Vec<u8>> {
        let step = self.deadline.step();
        let place = self.outgoing(from)?;
        let (slot, counters) = self.incoming(from)?;
        let tag = Counters::next(&mut counters.received, step);
        let mut bytes = Vec::with_capacity(PIECE);
        let read_to = |bytes: &mut Vec<u8>, length: usize| {
            for index in bytes.len() / BYTES..length.min(PIECE).div_ceil(BYTES) {
                // SAFETY: a piece has no more words than a slot.
                let word = unsafe { (&raw mut (*slot).words).cast::<u64>().add(index) };
                let value = self.wait(from, slot, word, |word| word >> TAG == tag)?;
                bytes.extend(value.to_le_bytes().into_iter().take(BYTES));
                // Numbers of pieces repeat after a while, so no word may look as if it belonged to a later piece.
                // SAFETY: the partner writes to it again only after it was told that the piece was taken.
                unsafe { word.write_volatile(0) };
            }
            io::Result::Ok(())
        };
        let length = match known {
            Some(length) => length,
            None => {
                read_to(&mut bytes, HEAD)?;
                length_in(&bytes).saturating_add(HEAD)
            }
        };
        read_to(&mut bytes, length)?;
        bytes.truncate(length);
        // SAFETY: a place inside the slot of the partner.
        self.put_word(unsafe { &raw mut (*place).taken }, tag, from);
        Ok(bytes)
    }
}

/// Returns the length of a message, from its first bytes.
fn length_in(bytes: &[u8]) -> usize {
    let mut length = [0; HEAD];
    length.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX)
}

fn no_partner() -> io::Error {
    io::Error::other("processes that are no neighbours in the tree cannot talk")
}

/// Packs up to six bytes of a message into the lower 48 bits of a word, below the tag by which the receiver recognises
/// the word.
fn word(tag: u64, bytes: &[u8]) -> u64 {
    let mut value = [0; 8];
    value.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    tag << TAG | u64::from_le_bytes(value)
}

impl Kept {
    /// Allocates the slots. All processes must call this together.
    fn allocate(size: u64) -> io::Result<Self> {
        let malloc = real!("shmem_malloc": fn(usize) -> *mut c_void)?;
        let barrier = real!("shmem_barrier_all": fn())?;
        let count = 2 * rounds(size).max(1) as usize;
        // SAFETY: the runtime is between its start and its end, and all processes are here. The memory is as large as
        // was asked for, and zeros are slots.
        let slots = unsafe {
            let slots: *mut Slot = malloc(count * size_of::<Slot>()).cast();
            if slots.is_null() {
                return Err(io::Error::other("no symmetric memory is left"));
            }
            slots.write_bytes(0, count);
            // No process may write before all slots are zero.
            barrier();
            slots
        };
        Ok(Self { slots, counters: vec![Counters::default(); count], step: None })
    }
}

impl Upcalls for Mailbox {
    fn rank(&self) -> u64 {
        self.rank
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
        if self.kept.step != Some(deadline.step()) {
            self.kept.step = Some(deadline.step());
            // Pieces are numbered anew, since a step that was abandoned has left partners with different numbers.
            for counters in &mut self.kept.counters {
                (counters.sent, counters.received, counters.tells) = (0, 0, 0);
            }
            // SAFETY: orders what follows behind what this process wrote before.
            unsafe { (self.fence)() };
        }
    }

    fn send(&mut self, to: u64, bytes: &[u8]) -> io::Result<()> {
        // The length goes first.
        let mut first = (bytes.len() as u64).to_le_bytes().to_vec();
        let (begin, rest) = bytes.split_at(bytes.len().min(PIECE - HEAD));
        first.extend_from_slice(begin);
        self.send_piece(to, &first)?;
        rest.chunks(PIECE).try_for_each(|piece| self.send_piece(to, piece))
    }

    fn receive(&mut self, from: u64) -> io::Result<Vec<u8>> {
        let first = self.receive_piece(from, None)?;
        let length = length_in(&first);
        let mut bytes = Vec::new();
        // A message that does not fit into memory must not end the program.
        bytes.try_reserve_exact(length)?;
        bytes.extend_from_slice(first.get(HEAD..).unwrap_or_default());
        while bytes.len() < length {
            let left = (length - bytes.len()).min(PIECE);
            bytes.extend(self.receive_piece(from, Some(left))?);
        }
        Ok(bytes)
    }

    /// Sends a number as a single word. Only the receiver waits for its arrival.
    fn tell(&mut self, to: u64, number: u64) -> io::Result<()> {
        let step = self.deadline.step();
        let place = self.outgoing(to)?;
        let (_, counters) = self.incoming(to)?;
        counters.tells += 1;
        let value = number << 1 | counters.tells & 1;
        // SAFETY: a place inside the slot of the partner; the value of a step is below their number.
        self.put_word(
            unsafe { (&raw mut (*place).told).cast::<u64>().add(step as usize) },
            value,
            to,
        );
        Ok(())
    }

    fn hear(&mut self, from: u64) -> io::Result<u64> {
        let step = self.deadline.step() as usize;
        let (slot, counters) = self.incoming(from)?;
        let heard = counters.heard.get(step).copied().unwrap_or(0);
        // SAFETY: a place inside the slot; the value of a step is below their number.
        let told = unsafe { (&raw mut (*slot).told).cast::<u64>().add(step) };
        let value = self.wait(from, slot, told, |value| value != heard)?;
        if let Some(place) = self.incoming(from)?.1.heard.get_mut(step) {
            *place = value;
        }
        Ok(value >> 1)
    }

    fn leave(&mut self) {
        for index in 0..self.kept.counters.len() {
            let distance = 1_u64 << (index / 2);
            // An odd index is written by the partner with the lower rank.
            let partner = if index % 2 == 1 {
                self.rank.checked_add(distance).filter(|partner| *partner < self.size)
            } else {
                self.rank.checked_sub(distance)
            };
            if let Some(partner) = partner {
                // SAFETY: `index` is below the number of slots.
                let gone = unsafe { &raw mut (*self.kept.slots.add(index)).gone };
                self.put_word(gone, 1, partner);
            }
        }
    }
}

impl Drop for Mailbox {
    /// Keeps the memory and the counters for the next use.
    fn drop(&mut self) {
        let Kept { slots, counters, step } = &mut self.kept;
        let (slots, counters, step) = (*slots, std::mem::take(counters), *step);
        if let Ok(mut kept) = KEPT.lock() {
            *kept = Some(Kept { slots, counters, step });
        }
    }
}
