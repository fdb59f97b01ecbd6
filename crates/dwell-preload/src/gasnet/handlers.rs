//! Handlers of active messages, and the functions that run in their place.
//!
//! GASNet calls a handler with a token, for medium and long messages the address and length of the payload, and up to 16
//! arguments. It does not pass its index to the handler. So there is one function for each handler of the program, which
//! knows whom it stands for. All have 19 arguments of a word, as many as any handler can have: those that GASNet did not
//! pass are whatever lies there, and the handler does not look at them.
//!
//! A message carries no identity. Sender and receiver both compute a checksum of handler, bytes and arguments, by which the
//! analysis connects them; handlers of GASNet-1 are registered without the number of their arguments, so only the index
//! counts for them.

use core::ffi::{c_int, c_uint};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use dwell_measure::entry::is_on;
use dwell_measure::filter::Detail;
use dwell_measure::guard;
use dwell_measure::process;
use dwell_measure::thread::{enter_handler, handler_event, leave_function, set_inside};
use dwell_model::layer::Layer;

use super::channel;
use crate::over_mpi::Words;

/// A function that GASNet calls as a handler.
pub(super) type Handler = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
);

/// A handler of the program, and what it was registered with.
struct Slot {
    /// Address of the handler; 0 for one that is not used.
    real: AtomicUsize,
    index: AtomicU32,
    /// Number of arguments, or [`UNKNOWN`].
    arguments: AtomicU32,
    /// Not 0 if messages have a payload.
    payload: AtomicU32,
    /// Not 0 for the handler of the recorder.
    own: AtomicU32,
}

/// The number of arguments of a handler that was registered without it.
const UNKNOWN: u32 = u32::MAX;

/// Number of indices that a program can use.
const SLOTS: usize = 128;

static SLOT: [Slot; SLOTS] = [const {
    Slot {
        real: AtomicUsize::new(0),
        index: AtomicU32::new(0),
        arguments: AtomicU32::new(UNKNOWN),
        payload: AtomicU32::new(0),
        own: AtomicU32::new(0),
    }
}; SLOTS];

/// Number of slots in use.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Calls the handler of a slot, and records its run.
unsafe extern "C-unwind" fn run<const SLOT_NUMBER: usize>(
    a0: usize,
    a1: usize,
    a2: usize,
    a3: usize,
    a4: usize,
    a5: usize,
    a6: usize,
    a7: usize,
    a8: usize,
    a9: usize,
    a10: usize,
    a11: usize,
    a12: usize,
    a13: usize,
    a14: usize,
    a15: usize,
    a16: usize,
    a17: usize,
    a18: usize,
) {
    let Some(slot) = SLOT.get(SLOT_NUMBER) else { return };
    let is_own = slot.own.load(Ordering::Acquire) != 0;
    let real = slot.real.load(Ordering::Acquire);
    let mut recorded = Recorded::Nothing;
    if is_on() && !is_own {
        let words =
            [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18];
        // The handler and all that it calls are below this on the stack.
        let stack = words.as_ptr().addr();
        guard::walled(|| recorded = begin(slot, real, stack, &words));
    }
    // SAFETY: the program registered a function that takes what GASNet passes, which is passed on.
    unsafe {
        let real = core::mem::transmute::<usize, Handler>(real);
        real(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18);
    }
    match recorded {
        Recorded::Region => leave_function(real),
        Recorded::Inside(before) => {
            set_inside(Layer::Gasnet, before);
        }
        Recorded::Nothing => {}
    }
}

/// Record of the beginning of a handler, which decides what is recorded at its end.
enum Recorded {
    Region,
    /// Nothing is open, and the thread counts as inside or outside of a call of GASNet until the handler ends. This is what
    /// held before.
    Inside(bool),
    Nothing,
}

macro_rules! all {
    ($($number:literal)*) => {
        [$( run::<$number> ),*]
    };
}

#[rustfmt::skip]
static RUN: [Handler; SLOTS] = all! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
    48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
    80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
    96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111
    112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127
};

fn begin(slot: &Slot, real: usize, stack: usize, words: &[usize; 19]) -> Recorded {
    // The process must not be mistaken for a forked child of it.
    let known = process::current().filter(|process| process.is_this()).zip(channel::gasnet());
    let Some((process, gasnet)) = known else { return Recorded::Nothing };
    let detail = process.details().handlers;
    if detail == Detail::Off {
        // Calls of the handler are left out too.
        return Recorded::Inside(set_inside(Layer::Gasnet, true));
    }
    // SAFETY: the first argument of a handler is its token.
    let source = unsafe { gasnet.source(words[0]) };
    let window = process.comm(gasnet.team).map(|comm| process.window_of_layer(comm, Layer::Gasnet));
    let message =
        window.zip(source).map(|(window, source)| (window, source, received(slot, words)));
    if detail == Detail::Events {
        return Recorded::Inside(handler_event(real, stack, Layer::Gasnet, message));
    }
    enter_handler(real, stack, Layer::Gasnet, message);
    Recorded::Region
}

/// Returns the checksum of a message that a handler received.
fn received(slot: &Slot, words: &[usize; 19]) -> u64 {
    let index = slot.index.load(Ordering::Relaxed);
    let count = slot.arguments.load(Ordering::Relaxed);
    if count == UNKNOWN {
        return checksum(index, 0, core::iter::empty());
    }
    let has_payload = slot.payload.load(Ordering::Relaxed) != 0;
    let (bytes, first) = if has_payload { (words[2], 3) } else { (0, 1) };
    let arguments = words.iter().skip(first).take(count as usize).map(|word| *word as u32);
    checksum(index, bytes as u64, arguments)
}

/// Returns the checksum of a message that a call sends, from its words: handler, bytes, arguments and their number.
pub(super) fn checksum_sent(words: Words<'_>) -> u64 {
    let (index, bytes, list, count) =
        (words.get(2) as u32, words.get(3) as u64, words.passed(4), words.get(5));
    // Processes register the same handlers, so what this one registered holds for the target too.
    let used = SLOT.iter().take(USED.load(Ordering::Relaxed));
    let slot = used.into_iter().find(|slot| slot.index.load(Ordering::Relaxed) == index);
    if slot.is_some_and(|slot| slot.arguments.load(Ordering::Relaxed) == UNKNOWN) {
        return checksum(index, 0, core::iter::empty());
    }
    let arguments = (0..count.min(16)).map(|at| list.read::<i32>(at).unwrap_or(0).cast_unsigned());
    checksum(index, bytes, arguments)
}

fn checksum(index: u32, bytes: u64, arguments: impl Iterator<Item = u32>) -> u64 {
    let mix = |sum: u64, number: u64| (sum ^ number).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let start = mix(mix(0xcbf2_9ce4_8422_2325, index.into()), bytes);
    arguments.fold(start, |sum, argument| mix(sum, argument.into()))
}

/// Forms of messages, as the header states them: 0 if unknown, 1 without payload, 2 with one.
const WITH_PAYLOAD: u32 = 2;

fn fill(slot: &Slot, real: usize, form: u32, arguments: u32) {
    slot.arguments.store(if form == 0 { UNKNOWN } else { arguments }, Ordering::Relaxed);
    slot.payload.store(u32::from(form == WITH_PAYLOAD), Ordering::Relaxed);
    // Last, and with release ordering: a thread whose handler finds this function knows its arguments.
    slot.real.store(real, Ordering::Release);
}

/// Returns the function to register for the recorder's own messages.
pub(super) fn own(real: Handler, index: u32) -> Handler {
    let number = USED.fetch_add(1, Ordering::Relaxed);
    let (Some(slot), Some(run)) = (SLOT.get(number), RUN.get(number)) else { return real };
    fill(slot, real as usize, 0, 0);
    slot.own.store(1, Ordering::Relaxed);
    slot.index.store(index, Ordering::Relaxed);
    *run
}

/// Returns the function to register in place of a handler, and stores the number of its slot, by which
/// [`dwell_gasnet_index`] tells the index. If there are more handlers than there can be, the handler itself is returned.
///
/// # Safety
/// `number` is a valid place.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_handler(
    real: usize,
    form: c_uint,
    arguments: c_uint,
    number: *mut c_uint,
) -> usize {
    let next = USED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: as promised.
    unsafe { number.write(next as c_uint) };
    let (Some(slot), Some(run)) = (SLOT.get(next), RUN.get(next)) else { return real };
    fill(slot, real, form, arguments);
    *run as usize
}

/// Stores the index with which a handler was registered.
#[unsafe(no_mangle)]
extern "C-unwind" fn dwell_gasnet_index(number: c_uint, index: c_uint) {
    if let Some(slot) = SLOT.get(number as usize) {
        slot.index.store(index, Ordering::Relaxed);
    }
}

/// Teams and ranks that prepared messages go to, by the addresses of their descriptors.
static PREPARED: Mutex<BTreeMap<usize, (usize, u32)>> = Mutex::new(BTreeMap::new());

/// Notes the receiver of a message with negotiated payload. A descriptor that is used again denotes the new message.
#[unsafe(no_mangle)]
extern "C-unwind" fn dwell_gasnet_prepared(descriptor: usize, team: usize, rank: u32) {
    if is_on()
        && let Ok(mut prepared) = PREPARED.lock()
    {
        prepared.insert(descriptor, (team, rank));
    }
}

/// Returns the rank to which a prepared message goes, and stores its team, which is 0 for all processes. Returns a rank that
/// does not exist if nothing is known of the message.
///
/// # Safety
/// `team` is a valid place.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_committed(descriptor: usize, team: *mut usize) -> u32 {
    let known = PREPARED.lock().ok().and_then(|mut prepared| prepared.remove(&descriptor));
    let (of, rank) = known.unwrap_or((0, u32::MAX));
    // SAFETY: as promised.
    unsafe { team.write(of) };
    rank
}

/// Moves the recorder's own handler away from the indices that the program wants.
///
/// # Safety
/// `wanted` is the address of 256 bytes, one for each index.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_move(wanted: *const [u8; 256]) {
    // SAFETY: as promised.
    let wanted = unsafe { *wanted };
    guard::walled(|| channel::move_from(&wanted));
}

/// Gives an index that the recorder has used to a handler of the program. Returns 0 if the recorder has not used it.
#[unsafe(no_mangle)]
extern "C-unwind" fn dwell_gasnet_yield(
    index: c_uint,
    real: usize,
    form: c_uint,
    arguments: c_uint,
) -> c_int {
    if !channel::yield_index(index) {
        return 0;
    }
    let used = SLOT.iter().take(USED.load(Ordering::Relaxed));
    let is = |slot: &&Slot| {
        slot.own.load(Ordering::Relaxed) != 0 && slot.index.load(Ordering::Relaxed) == index
    };
    let Some(slot) = used.into_iter().find(is) else { return 0 };
    fill(slot, real, form, arguments);
    // A thread that sees that the slot is the program's sees what is in it.
    slot.own.store(0, Ordering::Release);
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_have_different_checksums() {
        let of =
            |index, bytes, arguments: &[u32]| checksum(index, bytes, arguments.iter().copied());
        let sums = [
            of(200, 0, &[]),
            of(201, 0, &[]),
            of(200, 1, &[]),
            of(200, 0, &[0]),
            of(200, 0, &[0, 0]),
            of(200, 0, &[1, 2]),
            of(200, 0, &[2, 1]),
        ];
        for (at, sum) in sums.iter().enumerate() {
            assert!(!sums.iter().skip(at + 1).any(|other| other == sum), "{at}");
        }
        assert_eq!(of(200, 8, &[1, 2, 3]), of(200, 8, &[1, 2, 3]));
    }
}
