//! GASNet-EX: calls that a header in the program reports, and messages of the recorder.
//!
//! Calls of GASNet are macros, and GASNet is part of the program. A header that was included before the program
//! (`dwell build flags gasnet`) calls the functions here before and after each call. It names the call by the address of
//! a variable of this library, and passes what the row of the table describes.
//!
//! A program over GASNet needs no MPI, so the recorder starts and ends with GASNet, and its messages are active messages.
//! Where MPI runs below (the `mpi` conduit), MPI has started the recording before, and ends it.
//!
//! | module | contents |
//! |---|---|
//! | `channel` | messages of the recorder |
//! | `handlers` | handlers of active messages, and the functions that run in their place |

mod channel;
mod handlers;

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

use dwell_measure::call::Past;
use dwell_measure::clock::Sample;
use dwell_measure::entry::{called_from, frame_of, is_on};
use dwell_measure::filter::Detail;
use dwell_measure::guard::{self, Entry as Guarded, guarded, guarded_option};
use dwell_measure::hook::{self, Hook, Role};
use dwell_measure::mpi::{
    Collective, Comm, End, Kinds, MatchingId, Members, Numbering, Origin, Rank, Request, Requests,
    Status, Transfer, What, Window,
};
use dwell_measure::process::{self, Process};
use dwell_measure::recorder::{LockRecord, Recorder};
use dwell_measure::run::{self, Ending};
use dwell_measure::thread::{self, Call, CountedOnly, count_only};
use dwell_measure::word::{Seen, Word};
use dwell_model::layer::Layer;
use dwell_model::operation::{Mode, Operation};
use dwell_model::table::{Arg, CType, Group, Success, Table};

use crate::entry::row;
use crate::over_mpi::{Arguments, Runtime, Words};
use channel::{Channel, Gasnet};

/// Entry of a call that the header reports.
struct Included {
    hook: Hook,
}

impl Included {
    const fn new(table: &'static Table, index: usize) -> Self {
        Self { hook: Hook::new(table, row(table, index)) }
    }
}

include!(concat!(env!("OUT_DIR"), "/included.rs"));

/// GASNet: ranks are those of a team, and the memory that calls act on has no numbers of its own.
static GASNET: Runtime = Runtime {
    comm: |arguments| Some(team(arguments)),
    place: |memory, _| Some(memory as u64),
    is_alone: |_, _| false,
};

/// Number of words that the header reserves for the state of a call.
const STATE: usize = 32;
const _: () = assert!(size_of::<State>() <= STATE * size_of::<usize>());
const _: () = assert!(align_of::<State>() <= align_of::<usize>());
const _: () = assert!(size_of::<Sample>() <= STATE * size_of::<usize>());

/// State of a recorded call, kept from its beginning to its end.
struct State {
    /// The call, or `None` if it is entered at its end.
    call: Option<Call>,
    window: Option<&'static Window>,
    /// Number of the operation on its window, of its request, or of the collective on its team.
    number: u64,
    /// The operation of the event that the call starts.
    what: Option<What>,
    /// Events that the call waits for, each with its position among the arguments.
    taken: Vec<(usize, usize, Request)>,
}

/// Handles of events up to this are constants of GASNet, which stand for operations that are complete.
const CONSTANTS: usize = 16;
/// Stands for the event of the barrier that GASNet-1 has one of.
const BARRIER: usize = usize::MAX;

/// Records the beginning of a call. Returns 1 if the call is recorded; the caller must then call [`dwell_gasnet_end`].
///
/// # Safety
/// `entry` is the address of one of the variables above, `words` that of as many words as its row has arguments, `site`
/// and `stack` are the return address of the hook and its place on the stack, and `state` is the address of [`STATE`] words.
/// If the row has no arguments, the call continues after the hook has returned, and `words` is the address of a word on the
/// stack that holds the return address until the call ends.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_begin(
    entry: *const c_void,
    words: *const usize,
    site: *const c_void,
    stack: *const c_void,
    state: *mut c_void,
) -> c_int {
    if !is_on() {
        return 0;
    }
    let place = words.addr();
    // SAFETY: as promised.
    let (hook, words) = unsafe { parts(entry, words) };
    let outlives = hook.row.arguments.types().is_empty().then_some(place);
    // SAFETY: both are on the stack of this thread, in the frame of the hook that called, until it returns; the hook asks
    // for its frame, so the caller's is stored next to the return address.
    unsafe { called_from(site.addr(), stack.addr(), frame_of(site.addr(), stack.addr())) };
    let Some(began) = guarded_option(Guarded::Before, || begin(hook, words, outlives)) else {
        return 0;
    };
    // SAFETY: as promised, there is room, and it is aligned for words.
    unsafe { state.cast::<MaybeUninit<State>>().write(MaybeUninit::new(began)) };
    1
}

/// Records the end of a call.
///
/// # Safety
/// `entry` and `words` are those of the call of [`dwell_gasnet_begin`] that returned 1 and filled `state`, the last word
/// being the returned value if there is one. `state` is used once.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_end(
    entry: *const c_void,
    words: *const usize,
    state: *mut c_void,
) {
    // SAFETY: as promised; the state is used once.
    unsafe {
        let (hook, words) = parts(entry, words);
        let state = state.cast::<State>().read();
        guarded(Guarded::After, move || end(state, hook, words));
    }
}

/// Returns the hook and the arguments of a call.
///
/// # Safety
/// `entry` and `words` are as [`dwell_gasnet_begin`] requires.
unsafe fn parts<'a>(entry: *const c_void, words: *const usize) -> (&'static Hook, Words<'a>) {
    // SAFETY: as promised; variables are never freed, and the words are what the program passed.
    unsafe {
        let included = &*entry.cast::<Included>();
        let count = included.hook.row.arguments.types().len();
        (&included.hook, Words::new(core::slice::from_raw_parts(words, count)))
    }
}

fn begin(hook: &'static Hook, words: Words<'_>, outlives: Option<usize>) -> Option<State> {
    let arguments = Arguments::of(&GASNET, hook, words);
    let details = process::current().map(Process::details).unwrap_or_default();
    match hook.row.operation {
        Operation::Put | Operation::Get | Operation::Atomic(_)
            if details.counts_shared && counts(hook, &arguments) =>
        {
            return None;
        }
        Operation::Lock | Operation::TryLock | Operation::Unlock => match details.locks {
            Detail::Off => return None,
            Detail::Events if hook.row.operation != Operation::Unlock => {
                let (call, window, number, what, taken) = (None, None, 0, None, Vec::new());
                return Some(State { call, window, number, what, taken });
            }
            Detail::Events | Detail::Regions => {}
        },
        _ => {}
    }
    let mut recorder = if is_repeated(hook) {
        Recorder::enter_again(hook, Word::default())?
    } else {
        Recorder::enter(hook)?
    };
    if let Some(place) = outlives {
        recorder.outlives_its_hook(place);
    }
    let comm = comm_of(&mut recorder, team(&arguments));
    let window = comm.map(|comm| recorder.process().window_of_layer(comm, Layer::Gasnet));
    let (mut number, mut what, mut taken) = (0, None, Vec::new());
    if let Some(window) = window {
        match hook.row.operation {
            Operation::Put | Operation::Get | Operation::Atomic(_) => {
                if let Some(it) = transfer(&arguments, window) {
                    let has_event = hook.row.places.handle.is_some();
                    if hook.row.mode == Mode::Blocking || has_event {
                        number =
                            recorder.transfer(arguments.operation(), &it, None, Numbering::Own).0;
                        what = Some(What::Transfer { window, both: true });
                    } else {
                        recorder.start_implicit(arguments.operation(), &it);
                    }
                }
            }
            Operation::ActiveMessage => {
                if let Some(it) = transfer(&arguments, window) {
                    recorder.send_active(&it, handlers::checksum_sent(words));
                }
            }
            Operation::Lock => lock(&arguments, window, &mut recorder, LockRecord::Request),
            Operation::Unlock => lock(&arguments, window, &mut recorder, LockRecord::Release),
            Operation::WaitHandle | Operation::TestHandle => taken = take(hook, words),
            Operation::Collective(_) if hook.row.mode == Mode::NonBlocking => {
                let it = What::Collective(collective(&arguments, hook, window.comm)?);
                number = recorder.start(&it).0;
                what = Some(it);
            }
            _ if hook.row.places.group.is_collective() => {
                number = recorder.window_begin(window.comm);
            }
            _ => {}
        }
    }
    if hook.row.operation == Operation::Unlock && details.locks == Detail::Events {
        recorder.leave();
        return None;
    }
    Some(State { call: Some(recorder.entered()), window, number, what, taken })
}

/// Counts an operation that goes through shared memory, instead of recording it. Returns `false` if it does not.
fn counts(hook: &Hook, arguments: &Arguments<'_>) -> bool {
    let kind = match hook.row.operation {
        Operation::Put => CountedOnly::Puts,
        Operation::Get => CountedOnly::Gets,
        _ => CountedOnly::Atomics,
    };
    let rank = arguments.places.target.map(|at| arguments.word(at) as u32);
    let near =
        channel::gasnet().zip(rank).is_some_and(|(it, rank)| it.is_near(team(arguments), rank));
    near && count_only(kind, arguments.bytes())
}

fn end(state: State, hook: &'static Hook, words: Words<'_>) {
    let State { call, mut window, number, what, taken } = state;
    let is_late = call.is_none();
    let recorder = match call {
        Some(call) => Recorder::returned(call),
        None => Recorder::enter(hook),
    };
    let Some(mut recorder) = recorder else {
        return give_back(taken);
    };
    let arguments = Arguments::of(&GASNET, hook, words);
    if is_late {
        let comm = comm_of(&mut recorder, team(&arguments));
        window = comm.map(|comm| recorder.process().window_of_layer(comm, Layer::Gasnet));
    }
    let result = words.get(hook.row.arguments.types().len().wrapping_sub(1));
    let succeeded = hook.row.places.success != Success::Zero || result as u32 == 0;
    let mut found = hook.row.operation != Operation::Poll && succeeded;
    if let Some(window) = window {
        match hook.row.operation {
            operation @ (Operation::Put | Operation::Get | Operation::Atomic(_)) => {
                let blocking = hook.row.mode == Mode::Blocking;
                debug_assert!(operation.is_one_sided());
                match what {
                    Some(_) if blocking => recorder.completed_own(window, MatchingId(number)),
                    Some(what) => started(&mut recorder, result, what, number),
                    None => {}
                }
            }
            Operation::Collective(_) if hook.row.mode == Mode::NonBlocking => {
                let event = if hook.row.places.handle.is_some() { result } else { BARRIER };
                if let Some(what) = what {
                    started(&mut recorder, event, what, number);
                }
            }
            Operation::WaitHandle | Operation::TestHandle if hook.row.places.handle.is_none() => {
                // All operations of some kinds, or the barrier of GASNet-1.
                if !hook.row.places.group.is_collective() && succeeded {
                    recorder.completed_kinds(kinds(words.get(2)));
                }
                found |= complete(&mut recorder, hook, taken, |_, _| succeeded);
            }
            Operation::WaitHandle | Operation::TestHandle => {
                let list = words.passed(0);
                let several = hook.row.arguments.types().len() > 2;
                found |= complete(&mut recorder, hook, taken, |at, event| match several {
                    // Handles of complete operations are set to a constant.
                    true => list.read::<usize>(at) != Some(event),
                    false => succeeded,
                });
            }
            Operation::CompleteRemote => recorder.completed_kinds(kinds(words.get(2))),
            Operation::Lock => lock(&arguments, window, &mut recorder, LockRecord::Acquire),
            Operation::TryLock => {
                let what = if succeeded { LockRecord::Acquire } else { LockRecord::Refused };
                lock(&arguments, window, &mut recorder, what);
            }
            Operation::Other if hook.row.places.handle.is_some() => {
                recorder.end_region((result > CONSTANTS).then_some(result));
            }
            Operation::Other if hook.row.name() == "gex_NBI_BeginAccessRegion" => {
                recorder.begin_region();
            }
            operation if hook.row.places.group.is_collective() => {
                let (root, bytes) = (arguments.root(), arguments.bytes());
                let end = End { operation, root, bytes, sequence: number };
                recorder.layer_collective(window, &end);
                if operation == Operation::DestroyGroup {
                    recorder.process().forget_comm(team(&arguments));
                }
            }
            _ => {}
        }
    }
    if is_repeated(hook) {
        recorder.leave_again(if found { Seen::Something } else { Seen::Nothing });
    } else {
        recorder.leave();
    }
}

/// Returns `true` for calls that programs make again and again until they find something: polls and tests.
/// `GASNET_BLOCKUNTIL`, which returns nothing, is a loop itself.
fn is_repeated(hook: &Hook) -> bool {
    hook.row.returns != CType::Void
        && matches!(hook.row.operation, Operation::Poll | Operation::TestHandle)
}

/// Keeps the operation of an event, or records that it is complete if the handle is not an event any more.
fn started(recorder: &mut Recorder, event: usize, what: What, number: u64) {
    let request = Request::started(what, number);
    if event > CONSTANTS {
        Requests::add(event, request, false);
    } else {
        recorder.complete(&request, Status::default());
    }
}

/// Removes the events that a call waits for or tests, as long as it lasts: another thread may get the same event as soon as
/// it is complete.
fn take(hook: &Hook, words: Words<'_>) -> Vec<(usize, usize, Request)> {
    let mut taken = Vec::new();
    let mut all_of = |at, event| {
        while event > CONSTANTS
            && let Some(request) = Requests::take(event)
        {
            taken.push((at, event, request));
        }
    };
    match hook.row.places.handle {
        None if hook.row.places.group.is_collective() => all_of(0, BARRIER),
        None => {}
        Some(_) if hook.row.arguments.types().len() <= 2 => all_of(0, words.get(0)),
        Some(_) => {
            let list = words.passed(0);
            for at in 0..words.get(1) {
                all_of(at, list.read::<usize>(at).unwrap_or(0));
            }
        }
    }
    taken
}

/// Records which of the events that a call waited for are complete, and keeps the others. Returns `true` if any is.
fn complete(
    recorder: &mut Recorder,
    hook: &Hook,
    taken: Vec<(usize, usize, Request)>,
    is_complete: impl Fn(usize, usize) -> bool,
) -> bool {
    let mut any = false;
    for (at, event, request) in taken {
        if is_complete(at, event) {
            any = true;
            recorder.complete(&request, Status::default());
        } else {
            if hook.row.operation == Operation::TestHandle {
                recorder.tested_in_vain(&request);
            }
            Requests::add(event, request, true);
        }
    }
    any
}

/// Keeps events of a call of which nothing is recorded.
fn give_back(taken: Vec<(usize, usize, Request)>) {
    for (_, event, request) in taken {
        Requests::add(event, request, true);
    }
}

/// Returns the kinds of operations in the mask that the header makes from that of GASNet.
fn kinds(mask: usize) -> Kinds {
    let all = [(1, Kinds::GETS), (2, Kinds::PUTS), (4, Kinds::ATOMICS)];
    let chosen = all.iter().filter(|(bit, _)| mask & bit != 0).map(|(_, kinds)| *kinds);
    chosen.fold(Kinds::NONE, Kinds::and)
}

/// Returns the operation of a call: its target, and the bytes that it moves.
fn transfer(arguments: &Arguments<'_>, window: &'static Window) -> Option<Transfer> {
    let target = arguments.target(window.comm)?;
    let bytes = arguments.bytes();
    let (sent, fetched) = match arguments.operation() {
        Operation::Atomic(which) => {
            let fetched = if which.fetches() { bytes } else { 0 };
            (u64::from(which.operands()) * bytes, fetched)
        }
        _ => (bytes, 0),
    };
    Some(Transfer { window, target, bytes: sent, fetched })
}

/// Returns a collective operation that a call begins.
fn collective(arguments: &Arguments<'_>, hook: &Hook, comm: &'static Comm) -> Option<Collective> {
    let Operation::Collective(which) = hook.row.operation else { return None };
    let root = arguments.root();
    let is_root = root == Some(comm.rank);
    let size = u64::from(comm.size);
    let role = Role::of(comm.rank, root);
    let (_, sent, received) = hook::collective(which, arguments.bytes(), size, role);
    let sequence = comm.collective();
    Some(Collective { comm, which, root, is_root, sent, received, sequence, neighbours: None })
}

/// Writes a record of a handler-safe lock, which belongs to this process.
fn lock(
    arguments: &Arguments<'_>,
    window: &'static Window,
    recorder: &mut Recorder,
    what: LockRecord,
) {
    if let Some(lock) = arguments.lock() {
        recorder.layer_lock(window, Rank(window.comm.rank), lock, what);
    }
}

/// Returns the team of a call: the one that it names, or that of all processes. A pair of endpoints, whose handle is odd,
/// names ranks of all processes.
fn team(arguments: &Arguments<'_>) -> usize {
    let named: Option<Arg> = match arguments.places.group {
        Group::Team(at) => Some(at),
        _ => arguments.places.context,
    };
    match named.map_or(0, |at| arguments.word(at)) {
        0 => channel::gasnet().map_or(0, |gasnet| gasnet.team),
        team if team % 2 == 1 => channel::gasnet().map_or(0, |gasnet| gasnet.team),
        team => team,
    }
}

/// Returns the communicator of a team. A team that is new is examined now.
fn comm_of(recorder: &mut Recorder, team: usize) -> Option<&'static Comm> {
    recorder.comm(team).or_else(|| adopt(recorder.process(), team))
}

#[cold]
fn adopt(process: &Process, team: usize) -> Option<&'static Comm> {
    let gasnet = channel::gasnet().filter(|_| team != 0)?;
    let (members, rank) = gasnet.members(team);
    process.add_comm(team, Origin::UNKNOWN, &Members { local: members, remote: None, rank }, "")
}

/// Process that started its recording here; 0 if none has.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

/// Takes the time before the call that starts GASNet.
///
/// # Safety
/// `state` is the address of [`STATE`] words.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_before_start(state: *mut c_void) {
    // SAFETY: as promised, there is room.
    unsafe { state.cast::<Sample>().write(dwell_measure::clock::sample()) };
}

/// Begins the recording after GASNet has started.
///
/// # Safety
/// `entry` is the address of the variable of the call, `gasnet` that of what the header knows of GASNet, and `state` was
/// filled by [`dwell_gasnet_before_start`].
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_start(
    entry: *const c_void,
    gasnet: *const Gasnet,
    state: *const c_void,
) {
    // SAFETY: as promised; the functions in it belong to the program and stay.
    let (included, began) = unsafe {
        channel::set(gasnet.read());
        (&*entry.cast::<Included>(), state.cast::<Sample>().read())
    };
    guard::walled_apart(|| start(&included.hook, began));
}

fn start(hook: &'static Hook, began: Sample) {
    let before = process::current().is_some_and(Process::is_this);
    run::start(hook, Past { enter: began, leave: None }, Channel::open, channel::about);
    let Some(process) = process::current().filter(|process| process.is_this()) else { return };
    if let Some(gasnet) = channel::gasnet() {
        adopt(process, gasnet.team);
    }
    if before {
        return;
    }
    // GASNet has registered a handler of its own, which ends the process. Handlers run in the reverse order of their
    // registration, so this one finds a GASNet that still works.
    if STARTED_BY.swap(std::process::id(), Ordering::Relaxed) == 0 {
        // SAFETY: the handler takes no arguments, and the library is never unloaded.
        unsafe { libc::atexit(at_exit) };
    }
}

/// Ends the recording before the program leaves GASNet. Other processes may come late or never.
///
/// # Safety
/// `entry` is the address of the variable of the call, `site` and `stack` are the return address of the hook and its place
/// on the stack.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_gasnet_finish(
    entry: *const c_void,
    site: *const c_void,
    stack: *const c_void,
) {
    // SAFETY: as promised.
    let included = unsafe { &*entry.cast::<Included>() };
    if STARTED_BY.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    // SAFETY: both are on the stack of this thread, in the frame of the hook that called, until it returns.
    unsafe { called_from(site.addr(), stack.addr(), 0) };
    guard::walled_apart(|| {
        run::finish(&included.hook, Ending::Alone, Channel::open);
    });
}

/// Takes part in the end of the recording when a process returns from `main` or calls `exit`.
extern "C" fn at_exit() {
    let is_child = STARTED_BY.load(Ordering::Relaxed) != std::process::id();
    // A process that exits inside a call of GASNet, or in a handler, cannot make others.
    if is_child || guard::walled(|| thread::is_inside(Layer::Gasnet)) != Some(false) {
        return;
    }
    guard::walled_apart(|| {
        // No line of the program made a call; what stands for its return address lies on the stack meanwhile.
        let no_site = 0_usize;
        // SAFETY: the address is on the stack of this thread and stays in use until the call has been recorded.
        unsafe { called_from(no_site, (&raw const no_site).addr(), 0) };
        run::finish(&EXIT, Ending::Alone, Channel::open);
    });
}

/// The call as which an exit is recorded.
static EXIT: Hook = Hook::new(&dwell_model::gasnet::TABLE, exit_row());

/// Returns the row of the call that ends GASNet. It is used in a constant only, so a table without one does not compile.
#[allow(clippy::indexing_slicing, clippy::panic)]
const fn exit_row() -> &'static dwell_model::table::Row {
    let rows = dwell_model::gasnet::TABLE.rows;
    let mut at = 0;
    while at < rows.len() {
        if matches!(rows[at].operation, Operation::Finalise) {
            return &rows[at];
        }
        at += 1;
    }
    panic!("a row ends GASNet")
}
