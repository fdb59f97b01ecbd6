//! Layers over MPI: coarrays, ARMCI and Global Arrays, whose calls contain calls of MPI.
//!
//! MPI begins and ends the recording for them. Their ranks are those of a communicator. The row of a function says what
//! a call does and where its arguments are, and [`Arguments`] reads them. Layers differ in the communicator to which
//! ranks refer, and in what identifies a location in memory. Calls of Global Arrays are recorded as regions only.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | numbers, ranks and bytes of a call, from the arguments that its row points out |
//! | `caf` | teams and tokens of coarrays, and their hooks |
//! | `coarray` | calls that `dwell build sources` inserts into sources with coarrays |
//! | `layout` | arrays, references, blocks and vectors, as they lie in memory |
//! | `link` | ARMCI and Global Arrays, whose hooks are linked into programs |
//! | `reads` | calls that read or test a word, and may be made again and again |

mod arguments;
mod caf;
mod coarray;
mod layout;
mod link;
mod reads;

use dwell_measure::guard::{Entry, guarded, guarded_option};
use dwell_measure::hook::{Hook, Passed};
use dwell_measure::mpi::{Comm, Completion, End, MatchingId, Rank, Transfer, Window};
use dwell_measure::recorder::{LockRecord, Recorder};
use dwell_measure::thread::{Call, Found};
use dwell_model::operation::{Atomic, Mode, Operation};
use dwell_model::table::{Bytes, Group};

pub(crate) use arguments::Arguments;
pub(crate) use caf::CAF_ENTRIES;

/// The ways in which layers over MPI differ from each other, beyond the rows of their tables.
pub(crate) struct Runtime {
    /// Returns the handle of the communicator to which the ranks of a call refer, or `None` if calls are recorded as
    /// regions only.
    pub(crate) comm: fn(&Arguments<'_>) -> Option<usize>,
    /// Returns a number for a place in memory that is the same on all processes, from what identifies the memory in a
    /// call and from the position within it, in bytes.
    pub(crate) place: fn(usize, u64) -> Option<u64>,
    /// Returns `true` if the arguments make a call local that is collective for other arguments.
    pub(crate) is_alone: fn(Operation, Words<'_>) -> bool,
}

/// Layers whose calls are recorded as regions only.
pub(crate) static REGIONS: Runtime =
    Runtime { comm: |_| None, place: |_, _| None, is_alone: |_, _| false };

/// Number of an operation or collective that a call has begun.
#[derive(Clone, Copy)]
enum Number {
    /// Number of a one-sided operation on its window.
    Operation(MatchingId),
    /// Sequence number of a collective operation on its communicator.
    Collective(u64),
}

/// State of a recorded call, kept from its beginning to its end.
pub(crate) struct State {
    runtime: &'static Runtime,
    call: Call,
    window: Option<&'static Window>,
    /// Number of the operation or collective that the call began.
    number: Option<Number>,
    /// Source and number of the get with which a call fetched data that it puts to another process.
    fetched: Option<(Rank, MatchingId)>,
    /// Handle of the communicator that was created most recently before the call.
    made: usize,
    /// Set if the call reads or tests a word.
    reads: bool,
}

/// Arguments of a call, one word each.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a>(&'a [usize]);

impl<'a> Words<'a> {
    /// Wraps the arguments that a hook received.
    ///
    /// # Safety
    /// `words` are the arguments that the program passed to the function of the hook, so that addresses among them
    /// point to what the table says, and the call lasts as long as `'a`.
    pub(crate) unsafe fn new(words: &'a [usize]) -> Self {
        Self(words)
    }

    /// Returns an argument as the program passed it, or 0 if there is no such argument.
    pub(crate) fn get(self, at: usize) -> usize {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// Returns an argument that is an address in the program.
    pub(crate) fn passed(self, at: usize) -> Passed {
        // SAFETY: the words are what the program passed, as `Words::new` requires.
        unsafe { Passed::new(self.get(at)) }
    }
}

/// Records the beginning of a call. Returns `None` if the call is not recorded.
#[inline(never)]
pub(crate) fn begin(
    runtime: &'static Runtime,
    hook: &'static Hook,
    words: Words<'_>,
) -> Option<State> {
    guarded_option(Entry::Before, move || record_begin(runtime, hook, words))
}

/// Records the end of a call.
#[inline(never)]
pub(crate) fn end(state: State, hook: &'static Hook, words: Words<'_>) {
    guarded(Entry::After, move || record_end(state, hook, words));
}

fn record_begin(runtime: &'static Runtime, hook: &'static Hook, words: Words<'_>) -> Option<State> {
    let arguments = Arguments::of(runtime, hook, words);
    let word = reads::word(&arguments);
    let mut recorder = match word {
        Some(word) => Recorder::enter_to_read(hook, word)?,
        None => Recorder::enter(hook)?,
    };
    let comm = group(&arguments, &mut recorder);
    let window = comm.map(|comm| recorder.process().window_of_layer(comm, hook.layer));
    let (mut number, mut fetched) = (None, None);
    if let Some(window) = window {
        match hook.row.operation {
            _ if recorder.is_repeated() => {}
            Operation::Put | Operation::Get | Operation::Atomic(_) => {
                fetched = fetch(&arguments, window, &mut recorder);
                let id = transfer(&arguments, window, &mut recorder, Phase::Before);
                number = id.map(Number::Operation);
            }
            Operation::Lock => lock(&arguments, window, &mut recorder, LockRecord::Request),
            Operation::Unlock => lock(&arguments, window, &mut recorder, LockRecord::Release),
            Operation::Signal => {
                if let Some((target, place)) = arguments.target(window.comm).zip(arguments.place())
                {
                    recorder.notify(window, target, place);
                }
            }
            Operation::WaitChange => {
                if let Some(place) = arguments.place() {
                    recorder.wait_for(window, place);
                }
            }
            Operation::Meet => {
                arguments.partners(window.comm, |members| recorder.synchronises(window, members));
            }
            _ if is_collective(&arguments) => {
                number = Some(Number::Collective(recorder.window_begin(window.comm)));
            }
            _ => {}
        }
    }
    let made = dwell_measure::mpi::last_made();
    let (call, reads) = (recorder.entered(), word.is_some());
    Some(State { runtime, call, window, number, fetched, made, reads })
}

#[allow(clippy::needless_pass_by_value)] // It is used up.
fn record_end(state: State, hook: &'static Hook, words: Words<'_>) {
    let State { runtime, call, window, mut number, fetched, reads, .. } = state;
    let arguments = Arguments::of(runtime, hook, words);
    if reads {
        return Recorder::end_read(call, reads::seen(&arguments), |recorder, found| {
            if let Some(window) = window {
                has_read(&arguments, window, recorder, (number, found));
            }
        });
    }
    let Some(mut recorder) = Recorder::returned(call) else { return };
    let Some(window) = window else { return recorder.leave() };
    let remote = hook.row.completes_remote;
    match hook.row.operation {
        Operation::Put | Operation::Get | Operation::Atomic(_) => {
            if arguments.is_known_late() {
                let id = transfer(&arguments, window, &mut recorder, Phase::After);
                number = id.map(Number::Operation);
            }
            let how = if remote { Completion::Remote } else { Completion::Local };
            if let Some((source, id)) = fetched {
                recorder.acted(window, source, id, Completion::Local);
            }
            let target = arguments.target(window.comm);
            if let (Some(Number::Operation(id)), Some(target)) = (number, target) {
                recorder.acted(window, target, id, how);
            }
        }
        Operation::Lock => {
            let obtained = arguments.obtained();
            let what = if obtained { LockRecord::Acquire } else { LockRecord::Refused };
            lock(&arguments, window, &mut recorder, what);
        }
        Operation::Meet => recorder.completed(window, None, Completion::Remote),
        Operation::CompleteRemote | Operation::CompleteLocal => {
            let how = if remote { Completion::Remote } else { Completion::Local };
            recorder.completed(window, arguments.target(window.comm), how);
        }
        Operation::WaitHandle => recorder.waited(window, arguments.handle()),
        operation => {
            if let Some(Number::Collective(sequence)) = number {
                if remote {
                    recorder.completed(window, None, Completion::Remote);
                }
                let (root, bytes) = (arguments.root(), arguments.bytes());
                recorder.layer_collective(window, &End { operation, root, bytes, sequence });
            }
        }
    }
    recorder.leave();
}

/// Records the end of a call that reads or tests a word: the operation that the first call of a loop began is complete, and
/// the last call of a loop has found a change.
fn has_read(
    arguments: &Arguments<'_>,
    window: &'static Window,
    recorder: &mut Recorder,
    (number, found): (Option<Number>, Found),
) {
    let Some(place) = arguments.place() else { return };
    match (arguments.target(window.comm), number, found) {
        (Some(target), Some(Number::Operation(id)), _) => {
            let remote = arguments.row.completes_remote;
            let how = if remote { Completion::Remote } else { Completion::Local };
            recorder.acted(window, target, id, how);
        }
        (Some(owner), _, Found::Change) => {
            recorder.waited_for_change(window, arguments.layer, owner, place);
        }
        (None, _, Found::Change) => recorder.wait_for(window, place),
        _ => {}
    }
}

/// Returns the communicator to which the ranks of a call refer.
fn group(arguments: &Arguments<'_>, recorder: &mut Recorder) -> Option<&'static Comm> {
    crate::mpi::comm_of(recorder, (arguments.runtime.comm)(arguments)?)
}

/// Returns `true` if all members of the communicator make this call, so that it has a sequence number among their
/// collectives. `sync images` has none, even if it lists every image: images that it does not list would be one number
/// behind.
fn is_collective(arguments: &Arguments<'_>) -> bool {
    let group = arguments.places.group;
    let listed = matches!(group, Group::Listed { .. });
    group.is_collective() && !listed && !arguments.is_alone()
}

/// Phase of a hook: before or after the real function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    After,
}

/// Records the put, get or atomic of a call. Returns its number, or `None` if a later call completes it. Operations
/// whose size is known only after the real function are skipped before it.
fn transfer(
    arguments: &Arguments<'_>,
    window: &'static Window,
    recorder: &mut Recorder,
    phase: Phase,
) -> Option<MatchingId> {
    if arguments.is_known_late() != (phase == Phase::After) {
        return None;
    }
    let target = arguments.target(window.comm)?;
    let bytes = arguments.bytes();
    let operation = arguments.operation();
    let (sent, fetched) = match operation {
        Operation::Atomic(which) => {
            let fetched = if which.fetches() { bytes } else { 0 };
            (u64::from(which.operands()) * bytes, fetched)
        }
        _ => (bytes, 0),
    };
    let it = Transfer { window, target, bytes: sent, fetched };
    if let Some(signal) = arguments.signal() {
        return Some(recorder.act_with_signal(&it, signal));
    }
    let place = arguments.changed();
    if arguments.row.mode == Mode::NonBlocking {
        recorder.start_act(operation, &it, place, arguments.handle());
        return None;
    }
    Some(recorder.act(operation, &it, place))
}

/// Records the get with which a call fetches from one process what it puts to another.
fn fetch(
    arguments: &Arguments<'_>,
    window: &'static Window,
    recorder: &mut Recorder,
) -> Option<(Rank, MatchingId)> {
    let target = arguments.source(window.comm)?;
    let it = Transfer { window, target, bytes: arguments.fetched(), fetched: 0 };
    Some((target, recorder.act(Operation::Get, &it, None)))
}

fn lock(
    arguments: &Arguments<'_>,
    window: &'static Window,
    recorder: &mut Recorder,
    what: LockRecord,
) {
    if let Some((target, lock)) = arguments.target(window.comm).zip(arguments.lock()) {
        recorder.layer_lock(window, target, lock, what);
    }
}

/// Returns the operation of a call whose arguments decide whether it fetches.
fn said(operation: Operation, fetches: bool) -> Operation {
    match operation {
        Operation::Atomic(Atomic::FetchAccumulate) if !fetches => {
            Operation::Atomic(Atomic::Accumulate)
        }
        operation => operation,
    }
}

/// Returns `true` if the number of bytes is known only after the call, because the call may allocate the array into
/// which it fetches.
fn is_late(operation: Operation, bytes: Bytes) -> bool {
    operation == Operation::Get && matches!(bytes, Bytes::Reference { .. })
}
