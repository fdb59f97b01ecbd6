//! Calls that read or test a word: a program may make them again and again until the word has changed.
//!
//! The word of a loop is compared by what the program passes, which is known before the communicator is. An operation that
//! returns the former value has found nothing if that is what the call before it found. So a swap that takes a lock, or a
//! fetch-and-add of nothing, is a read as well.

use dwell_measure::hook::Bytes;
use dwell_measure::word::{Seen, Word};
use dwell_model::operation::{Atomic, Mode, Operation};

use super::Arguments;

/// Greatest length of a word, in bytes.
const LONGEST: u64 = 8;

/// Length of the number of posts that `event_query` returns.
const COUNT: u64 = 4;

/// Returns the word that a call reads or tests. `None` for calls that do neither.
pub(super) fn word(arguments: &Arguments<'_>) -> Option<Word> {
    arguments.places.former?;
    let operation = arguments.operation();
    let operands = match operation {
        Operation::TestChange => 0,
        Operation::Get => 1,
        Operation::Atomic(which @ (Atomic::Fetch | Atomic::CompareSwap)) => {
            u64::from(which.operands()).max(1)
        }
        // A counter that gives each caller the next number has another value each time.
        Operation::Atomic(Atomic::FetchAdd) if !arguments.adds_something() => 1,
        _ => return None,
    };
    if arguments.row.mode != Mode::Blocking {
        return None;
    }
    let target = arguments.places.target.map_or(u32::MAX, |at| arguments.word(at) as u32);
    let address = arguments.place()?;
    let bytes = if operands > 0 { arguments.bytes() } else { 0 };
    let bytes = u32::try_from(operands.saturating_mul(bytes)).ok().filter(|_| bytes <= LONGEST)?;
    Some(Word { target, bytes, address, buffer: 0 })
}

/// Returns what a call has seen that reads or tests a word. The call must have returned.
pub(super) fn seen(arguments: &Arguments<'_>) -> Seen {
    let Some(at) = arguments.places.former else { return Seen::Something };
    match arguments.operation() {
        Operation::TestChange => arguments.passed(at).word(Bytes(COUNT)),
        _ => arguments.received(at),
    }
}
