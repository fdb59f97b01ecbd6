//! Hooks of windows, one-sided operations and epochs.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use dwell_measure::hook::{self, Hook};
use dwell_measure::mpi::{
    Comm, Completion, LockType, Numbering, Rank, Request, Transfer, What, Window, WindowMemory,
};
use dwell_measure::process;
use dwell_measure::recorder::{self, Recorder};
use dwell_measure::thread::{Call, Try};
use dwell_measure::word::Word;
use dwell_model::archive::SMALL;
use dwell_model::operation::{Atomic, Operation};
use dwell_model::table::{Arg, Bytes, Members};

use super::groups::{comm_of, members_of_group};
use super::messages::{Started, remember};
use super::shape::{Args, Kind, Shape, Words};

/// Returns the window of a call, or `None` if the recorder does not know it.
#[inline(always)]
fn window(args: &Args<'_>, recorder: &mut Recorder) -> Option<&'static Window> {
    recorder.window(args.window()?)
}

/// A put, get or atomic operation, with or without a request.
pub(crate) struct Move;

impl Shape for Move {
    type Room = ();
    type State = (Call, Started);

    #[inline(always)]
    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        if may_poll(&args)
            && let Some(call) = Recorder::try_again(hook, || word(&args, amounts(&args).0))
        {
            return Some((call, None));
        }
        let mut recorder = Recorder::enter_to_move(hook, || amounts(&Args::of(words)).0)?;
        let started = moved(&args, &mut recorder);
        Some((recorder.entered(), started))
    }

    #[inline(always)]
    fn end((call, started): Self::State, _: &'static Hook, words: &Words<'_>, result: c_int) {
        if started.is_some() {
            remember(&Args::of(words), started, result);
        }
        let recorder = match may_poll(&Args::of(words)) {
            true => Recorder::returned_from_try(call),
            false => Recorder::returned(call),
        };
        if let Some(recorder) = recorder {
            recorder.leave();
        }
    }
}

/// Records an operation. Returns the description of its request, if it has one.
#[inline(always)]
fn moved(args: &Args<'_>, recorder: &mut Recorder) -> Started {
    let operation = args.operation();
    let target = args.rank(args.places.target).map(Rank)?;
    let window = window(args, recorder).filter(|window| target.0 < window.comm.size)?;
    let (bytes, fetched) = amounts(args);
    let has_request = args.places.handle.is_some();
    let it = Transfer { window, target, bytes, fetched };
    let numbering = if has_request { Numbering::Own } else { Numbering::Shared };
    let id = recorder.transfer(operation, &it, place(args, window, bytes), numbering);
    let length = if operation == Operation::Get { bytes } else { fetched };
    if may_poll(args)
        && length <= WORD
        && begins_at_its_buffer(args)
        && let Some(former) = args.places.former
    {
        let result = (args.passed(former), hook::Bytes(length));
        let (window, offset) = (window.number, offset(args, window));
        recorder.tries(Try { word: word(args, bytes), window, offset, result });
    }
    let both = match operation {
        Operation::Get => true,
        Operation::Atomic(which) => which.fetches(),
        _ => false,
    };
    has_request.then(|| Request::started(What::Transfer { window, both }, id.0))
}

/// Greatest length of a word that programs poll, in bytes.
const WORD: u64 = 8;

/// Returns `true` for operations that may read a word of another process until it has changed, and that a flush completes.
#[inline(always)]
fn may_poll(args: &Args<'_>) -> bool {
    args.places.former.is_some() && args.places.handle.is_none()
}

/// Returns the word that an operation reads. `bytes` is the number that the operation sends or, if it is a get, fetches. The
/// address identifies the word among all windows. A try with another buffer reads another word, because the buffer of a try
/// that is over may no longer exist.
#[inline(always)]
fn word(args: &Args<'_>, bytes: u64) -> Word {
    let target = args.rank(args.places.target).unwrap_or(u32::MAX);
    let window = args.window().unwrap_or_default() as u64;
    let address = window.rotate_left(24) ^ args.displacement();
    let buffer = args.places.former.map_or(0, |at| args.word(at));
    Word { target, bytes: bytes as u32, address, buffer }
}

/// Returns `true` if what an operation reads is stored at the address of its buffer. A derived datatype may begin elsewhere,
/// where nothing can be read at the address itself.
#[inline(always)]
fn begins_at_its_buffer(args: &Args<'_>) -> bool {
    match args.places.bytes {
        Bytes::Typed { datatype, .. } | Bytes::Item(datatype) => {
            args.has_addresses() && args.abi.is_of_language(args.handle(Kind::Datatype, datatype))
        }
        _ => false,
    }
}

/// Returns the place in a window that an operation acts on, in bytes.
#[inline(always)]
fn offset(args: &Args<'_>, window: &Window) -> u64 {
    args.displacement().wrapping_mul(window.unit)
}

/// Returns the place in a window that an operation may change, if it is small enough for others to wait for that.
#[inline(always)]
fn place(args: &Args<'_>, window: &Window, bytes: u64) -> Option<u64> {
    let changes = args.operation() != Operation::Get && !args.changes_nothing();
    (changes && bytes <= SMALL).then(|| offset(args, window))
}

/// Returns the number of bytes that an operation sends, or that a get fetches, and the number that an atomic operation
/// fetches.
#[inline(always)]
fn amounts(args: &Args<'_>) -> (u64, u64) {
    let bytes = args.bytes(args.places.bytes, 0);
    match args.operation() {
        Operation::Atomic(Atomic::CompareSwap) => (2 * bytes, bytes),
        Operation::Atomic(which) if which.fetches() => (bytes, fetched(args, bytes)),
        _ => (bytes, 0),
    }
}

/// Returns the number of bytes that a fetching operation returns, which may differ from the number sent.
#[inline(always)]
fn fetched(args: &Args<'_>, sent: u64) -> u64 {
    match args.places.received {
        Bytes::Typed { .. } => args.bytes(args.places.received, 0),
        _ => sent,
    }
}

/// A flush.
pub(crate) struct Flush;

impl Shape for Flush {
    type Room = ();
    type State = Call;

    #[inline(always)]
    fn begin(hook: &'static Hook, words: &Words<'_>, _: &mut MaybeUninit<()>) -> Option<Call> {
        let args = Args::of(words);
        let of_try = || {
            let target = args.rank(args.places.target).map(Rank);
            Recorder::complete_try(hook, args.window()?, target, completion(&args))
        };
        of_try().or_else(|| Recorder::enter(hook).map(Recorder::entered))
    }

    #[inline(always)]
    fn end(call: Call, _: &'static Hook, words: &Words<'_>, result: c_int) {
        let recorder = Recorder::returned_from_completing(call, result == 0);
        let Some(mut recorder) = recorder else { return };
        let args = Args::of(words);
        if let Some(window) = window(&args, &mut recorder).filter(|_| result == 0) {
            let target = args.rank(args.places.target).map(Rank);
            return recorder.completed_and_leave(window, target, completion(&args));
        }
        recorder.leave();
    }
}

/// Returns how far a flush completes operations.
#[inline(always)]
fn completion(args: &Args<'_>) -> Completion {
    match args.operation() {
        Operation::CompleteLocal => Completion::Local,
        _ => Completion::Remote,
    }
}

/// A call that locks or unlocks a window.
pub(crate) struct Lock;

impl Shape for Lock {
    type Room = ();
    type State = Call;

    fn begin(hook: &'static Hook, words: &Words<'_>, _: &mut MaybeUninit<()>) -> Option<Call> {
        recorder::begin(hook, |recorder| {
            if hook.row.operation != Operation::Lock {
                return;
            }
            let args = Args::of(words);
            let Some((window, target)) = locked(&args, recorder) else { return };
            let kind = args.places.lock_kind.map(|at| args.int(at));
            // A lock of all is always shared.
            let shared = kind.is_none_or(|kind| kind == args.abi.lock_shared);
            let kind = if shared { LockType::Shared } else { LockType::Exclusive };
            recorder.request_lock(window, target, kind);
        })
    }

    fn end(call: Call, hook: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        recorder::end(call, |recorder| {
            if hook.row.operation != Operation::Unlock || result != 0 {
                return;
            }
            let Some((window, target)) = locked(&args, recorder) else { return };
            recorder.completed(window, target, Completion::Remote);
            recorder.release_lock(window, target);
        });
    }
}

/// Returns the window of a lock and its target, which is `None` for a lock of all. Returns `None` for `MPI_PROC_NULL`.
fn locked(args: &Args<'_>, recorder: &mut Recorder) -> Option<(&'static Window, Option<Rank>)> {
    let window = window(args, recorder)?;
    match args.places.target {
        None => Some((window, None)),
        some => Some((window, Some(Rank(args.rank(some)?)))),
    }
}

/// A fence.
pub(crate) struct Fence;

impl Shape for Fence {
    type Room = ();
    type State = (Call, Option<(&'static Window, u64)>);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let mut it = None;
        let call = recorder::begin(hook, |recorder| {
            let window = window(&args, recorder);
            it = window.map(|window| (window, recorder.window_begin(window.comm)));
        })?;
        Some((call, it))
    }

    fn end((call, it): Self::State, _: &'static Hook, _: &Words<'_>, _: c_int) {
        recorder::end(call, |recorder| {
            if let Some((window, sequence)) = it {
                recorder.fence_end(window, sequence);
            }
        });
    }
}

/// A call that begins, ends or tests an access or exposure epoch.
pub(crate) struct Epoch;

impl Shape for Epoch {
    type Room = ();
    /// The call, and the group of its epoch.
    type State = (Call, Option<u32>);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let mut group = None;
        let call = recorder::begin(hook, |recorder| {
            let Some(window) = window(&args, recorder) else { return };
            let members = match args.places.members {
                Some(Members::Group(at)) => members_of_group(args.handle(Kind::Group, at)),
                _ => None,
            };
            group = recorder.epoch_begin(hook.row.operation, window, members.as_deref());
        })?;
        Some((call, group))
    }

    fn end((call, group): Self::State, hook: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        recorder::end(call, |recorder| {
            let Some(window) = window(&args, recorder).filter(|_| result == 0) else { return };
            // A test says behind its window whether the epoch has ended.
            let over = match (hook.row.operation, args.places.context) {
                (Operation::TestEpoch, Some(Arg(at))) => args.stored(Some(Arg(at + 1))) != Some(0),
                _ => true,
            };
            if over {
                recorder.epoch_end(hook.row.operation, window, group);
            }
        });
    }
}

/// A call that creates a window.
pub(crate) struct Create;

impl Shape for Create {
    type Room = ();
    type State = (Call, Option<(&'static Comm, u64)>);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let mut comm = None;
        let call = recorder::begin(hook, |recorder| {
            let known = args.comm().and_then(|handle| comm_of(recorder, handle));
            comm = known.map(|known| (known, recorder.window_begin(known)));
        })?;
        Some((call, comm))
    }

    fn end((call, comm): Self::State, hook: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        recorder::end(call, |recorder| {
            let handle = args.handle_at(Kind::Win, args.places.created).filter(|_| result == 0);
            let (Some((comm, sequence)), Some(handle)) = (comm, handle) else { return };
            if handle != args.abi.win_null {
                let memory = match args.places.allocated {
                    Some(_) => WindowMemory::Allocated,
                    None => WindowMemory::Passed,
                };
                let name = hook.row.name();
                let unit = args.places.unit.map_or(1, |at| args.number(at).max(1).cast_unsigned());
                let window = recorder.process().add_window(handle, comm, name, memory, unit);
                recorder.window_created(window, sequence);
            }
        });
    }
}

/// Shape of `MPI_Win_free`: the window is no longer known after the call.
pub(crate) struct Free;

impl Shape for Free {
    type Room = ();
    type State = (Call, Option<(&'static Window, u64)>);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let mut window = None;
        let call = recorder::begin(hook, |recorder| {
            let handle = args.handle_at(Kind::Win, args.places.ended);
            let known = handle.and_then(|handle| recorder.process().forget_window(handle));
            window = known.map(|known| (known, recorder.window_begin(known.comm)));
        });
        // Calls of callbacks are not recorded, but the handle will be another's all the same.
        if call.is_none()
            && let Some(process) = process::current()
            && let Some(handle) = args.handle_at(Kind::Win, args.places.ended)
        {
            process.forget_window(handle);
        }
        Some((call?, window))
    }

    fn end((call, window): Self::State, _: &'static Hook, _: &Words<'_>, _: c_int) {
        recorder::end(call, |recorder| {
            if let Some((window, sequence)) = window {
                recorder.window_destroyed(window, sequence);
            }
        });
    }
}
