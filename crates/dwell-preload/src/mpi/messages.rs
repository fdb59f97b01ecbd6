//! Hooks of two-sided messages.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use dwell_measure::hook::Hook;
use dwell_measure::mpi::{Comm, Envelope, Request, Requests, What};
use dwell_measure::recorder::{self, Recorder};
use dwell_measure::thread::Call;
use dwell_model::operation::{Mode, Operation};
use dwell_model::table::{Arg, Bytes};

use super::abi::STATUS;
use super::groups::comm_of;
use super::shape::{Args, Kind, Shape, Words, begin_test, end_test, probed};

/// Memory for a status, used if the program ignores it.
pub(crate) type StatusRoom = [u64; STATUS / 8];

/// Makes the library store a status, in `room` if the program ignores it.
#[inline(always)]
fn want_status(words: &Words<'_>, room: &mut MaybeUninit<StatusRoom>) {
    let Some(at) = words.row.places.status else { return };
    let args = Args::of(words);
    if !args.has_status(args.word(at)) {
        words.replace(at, room.as_mut_ptr().addr());
    }
}

/// Returns the message that a call sends, or `None` for one to `MPI_PROC_NULL`. A message that the library will refuse
/// is left out too, so that later messages match their receives.
#[inline(always)]
fn sent(args: &Args<'_>, recorder: &mut Recorder) -> Option<Envelope> {
    let partner = args.rank(args.places.target)?;
    let comm = comm_of(recorder, args.comm()?)?;
    let tag = u32::try_from(args.places.tag.map_or(0, |at| args.int(at))).ok()?;
    let bytes = args.bytes(args.places.bytes, 0);
    let refused = partner >= comm.size || bytes == 0 && args.has_no_type(args.places.bytes);
    (!refused).then_some(Envelope { comm, partner, tag, bytes })
}

/// Returns the communicator on which a call receives, or `None` for a receive from `MPI_PROC_NULL`.
#[inline(always)]
fn receives(args: &Args<'_>, recorder: &mut Recorder) -> Option<&'static Comm> {
    if let Some(at) = args.places.source
        && args.int(at) == args.abi.no_process
    {
        return None;
    }
    comm_of(recorder, args.comm()?)
}

/// Returns the message that a call received, from its status.
#[inline(always)]
fn received(args: &Args<'_>, comm: &'static Comm) -> Option<Envelope> {
    let address = args.word(args.places.status?);
    // SAFETY: the library has stored a status there: the program's or ours.
    let status = unsafe { args.abi.status(address) };
    let partner = u32::try_from(status.source).ok()?;
    let (tag, bytes) = (status.tag.cast_unsigned(), status.bytes);
    Some(Envelope { comm, partner, tag, bytes })
}

/// A blocking send.
pub(crate) struct Send;

impl Shape for Send {
    type Room = ();
    type State = Call;

    #[inline(always)]
    fn begin(hook: &'static Hook, words: &Words<'_>, _: &mut MaybeUninit<()>) -> Option<Call> {
        let mut recorder = Recorder::enter(hook)?;
        if let Some(it) = sent(&Args::of(words), &mut recorder) {
            recorder.send(&it);
        }
        Some(recorder.entered())
    }

    #[inline(always)]
    fn end(call: Call, _: &'static Hook, _: &Words<'_>, _: c_int) {
        recorder::end(call, |_| ());
    }
}

/// A blocking receive, a matched receive, or a combined send and receive.
pub(crate) struct Receive;

impl Shape for Receive {
    type Room = StatusRoom;
    type State = (Call, Option<&'static Comm>);

    #[inline(always)]
    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        room: &mut MaybeUninit<StatusRoom>,
    ) -> Option<Self::State> {
        let mut recorder = Recorder::enter(hook)?;
        let args = Args::of(words);
        if args.operation() == Operation::Exchange
            && let Some(it) = sent(&args, &mut recorder)
        {
            recorder.send(&it);
        }
        let comm = match args.places.message {
            Some(at) => args.handle_at(Kind::Message, Some(at)).and_then(Requests::message),
            None => receives(&args, &mut recorder),
        };
        let call = recorder.entered();
        if comm.is_some() {
            want_status(words, room);
        }
        Some((call, comm))
    }

    #[inline(always)]
    fn end((call, comm): Self::State, _: &'static Hook, words: &Words<'_>, result: c_int) {
        let Some(mut recorder) = Recorder::returned(call) else { return };
        let args = Args::of(words);
        if let Some(comm) = comm
            && (result == 0 || args.abi.is_truncated(result))
            && let Some(it) = received(&args, comm)
        {
            recorder.receive(&it);
        }
        recorder.leave();
    }
}

/// A non-blocking or persistent message, which returns a request.
pub(crate) struct Start;

/// Request that is registered once the library has returned its handle.
pub(crate) type Started = Option<Request>;

impl Shape for Start {
    type Room = ();
    type State = (Call, Started);

    #[inline(always)]
    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let mut recorder = Recorder::enter(hook)?;
        let (args, on) = (Args::of(words), &mut recorder);
        let what = match args.operation() {
            Operation::Send => sent(&args, on).map(|sent| match args.places.bytes {
                Bytes::Parts { parts, .. } => {
                    let partitions = u32::try_from(args.int(parts)).unwrap_or(0);
                    What::Partitioned { sent, partitions, ready: 0 }
                }
                _ => What::Send(sent),
            }),
            Operation::Exchange => {
                let (sent, comm) = (sent(&args, on), receives(&args, on));
                let any = sent.is_some() || comm.is_some();
                any.then_some(What::Exchange(sent, comm))
            }
            _ => match args.places.message {
                Some(at) => args.handle_at(Kind::Message, Some(at)).and_then(Requests::message),
                None => receives(&args, on),
            }
            .map(What::Receive),
        };
        let started = what.map(|what| begin_request(&mut recorder, what, words.row.mode));
        Some((recorder.entered(), started))
    }

    #[inline(always)]
    fn end((call, started): Self::State, _: &'static Hook, words: &Words<'_>, result: c_int) {
        remember(&Args::of(words), started, result);
        recorder::end(call, |_| ());
    }
}

/// Starts the operation of a request or, for a persistent one, only describes it.
pub(super) fn begin_request(recorder: &mut Recorder, what: What, mode: Mode) -> Request {
    if mode == Mode::Persistent {
        return Request::described(what);
    }
    let (id, second) = recorder.start(&what);
    Request { second, ..Request::started(what, id) }
}

/// Registers the request that the library has returned, if the call succeeded.
pub(super) fn remember(args: &Args<'_>, started: Started, result: c_int) {
    let Some(started) = started.filter(|_| result == 0) else { return };
    if let Some(handle) = args.handle_at(Kind::Request, args.places.handle)
        && handle != args.abi.request_null
    {
        Requests::add(handle, started, args.abi.is_shared_request(handle));
    }
}

/// A matched probe, which returns a handle for the message that it found.
pub(crate) struct Find;

impl Shape for Find {
    type Room = ();
    type State = (Call, Option<&'static Comm>);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        if hook.row.operation == Operation::TestProbe {
            let call = begin_test(hook, probed(words))?;
            let comm = Recorder::resumed(&call).and_then(|mut recorder| {
                let comm = receives(&args, &mut recorder);
                recorder.suspend();
                comm
            });
            return Some((call, comm));
        }
        let mut comm = None;
        let call = recorder::begin(hook, |recorder| comm = receives(&args, recorder))?;
        Some((call, comm))
    }

    fn end((call, comm): Self::State, hook: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        // Of these, only those that do not wait have a flag, and it precedes the message.
        let found = match (hook.row.operation, args.places.message) {
            (Operation::TestProbe, Some(Arg(at))) => args.stored(Some(Arg(at - 1))) != Some(0),
            _ => true,
        };
        if let (Some(comm), true, 0) = (comm, found, result)
            && let Some(message) = args.handle_at(Kind::Message, args.places.message)
            && message != args.abi.message_null
            && message != args.abi.message_no_process
        {
            Requests::found(message, comm);
        }
        match hook.row.operation {
            Operation::TestProbe => end_test(call, found, |_| ()),
            _ => recorder::end(call, |_| ()),
        }
    }
}
