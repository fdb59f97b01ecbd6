//! Hooks that wait for, test, start and free requests.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use dwell_measure::hook::{Hook, Passed};
use dwell_measure::mpi::{Request, Requests, Status, What};
use dwell_measure::recorder::{self, Recorder};
use dwell_measure::thread::Call;
use dwell_model::operation::Operation;
use dwell_model::table::{self, Watch};

use super::abi::STATUS;
use super::groups;
use super::shape::{Args, Kind, Shape, Words, begin_test, end_test};

/// Number of requests of one call that are kept on the stack. Threads may have little of it; more requests are
/// allocated.
const FEW: usize = 8;

/// Handle of a request, which the library overwrites, and what the recorder knows of the request.
type Known = (usize, Option<Request>);

/// Memory for requests, and for statuses if the program ignores them.
pub(crate) struct Room {
    requests: [Known; FEW],
    statuses: [[u64; STATUS / 8]; FEW],
}

/// Requests and statuses of a call, kept from its beginning to its end.
pub(crate) struct State {
    call: Call,
    /// Address of the requests, either in [`Room`] or in `allocated`.
    requests: *const Known,
    count: usize,
    /// Address of the first status, or 0 if no request needs one.
    statuses: usize,
    allocated: (Vec<Known>, Vec<u64>),
}

/// A call that waits for or tests requests.
pub(crate) struct Complete;

impl Shape for Complete {
    type Room = Room;
    type State = State;

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        room: &mut MaybeUninit<Room>,
    ) -> Option<State> {
        let args = Args::of(words);
        let places = args.places.requests?;
        let list = args.passed(places.at);
        let call = match hook.row.operation {
            Operation::TestHandle => begin_test(hook, list.address())?,
            _ => recorder::begin(hook, |_| ())?,
        };
        // No list at all is for the library to refuse.
        let count = if list == Passed::NULL { 0 } else { number(&args, places) };
        let mut allocated = (Vec::new(), Vec::new());
        let requests: *mut Known = if count > FEW {
            allocated.0.reserve(count);
            allocated.0.as_mut_ptr()
        } else {
            // SAFETY: only an address, of a place that is written before it is read.
            unsafe { (&raw mut (*room.as_mut_ptr()).requests).cast() }
        };
        let mut wanted = false;
        for index in 0..count {
            let handle = args.handle_in(Kind::Request, list, index).unwrap_or_default();
            let known = if handle == args.abi.request_null { None } else { Requests::take(handle) };
            wanted |= known.is_some_and(|known| known.wants_status());
            // SAFETY: there is room for `count` of them.
            unsafe { requests.add(index).write((handle, known)) };
        }
        let mut statuses = 0;
        if let (true, Some(at)) = (wanted, args.places.status) {
            if !args.has_status(args.word(at)) {
                let room = if count > FEW {
                    allocated.1 = vec![0; count.saturating_mul(STATUS / 8)];
                    allocated.1.as_ptr().addr()
                } else {
                    // SAFETY: only an address, of a place that the library writes to.
                    unsafe { (&raw mut (*room.as_mut_ptr()).statuses).addr() }
                };
                words.replace(at, room);
            }
            statuses = args.word(at);
        }
        Some(State { call, requests, count, statuses, allocated })
    }

    fn end(state: State, hook: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        let State { call, requests, count, statuses, allocated } = state;
        // SAFETY: `begin` filled it, in memory that lives as long as the call or as `allocated`, and no other code
        // has its address.
        let requests = unsafe { core::slice::from_raw_parts_mut(requests.cast_mut(), count) };
        let write = |recorder: &mut Recorder| {
            let mut complete = |requests: &mut [Known], index: usize, place: usize| {
                let Some((_, known)) = requests.get_mut(index) else { return };
                let Some(request) = known.filter(|request| request.active) else { return };
                let status = match statuses {
                    first if first != 0 && request.wants_status() => {
                        // SAFETY: the library has stored a status for it there.
                        unsafe { args.abi.status(first + place * args.abi.status_size) }
                    }
                    _ => Status::default(),
                };
                recorder.complete(&request, status);
                if let What::Comm { at, origin } = request.what
                    && let Some(handle) = args.handle_in(Kind::Comm, at, 0)
                {
                    groups::adopt(recorder.process(), handle, origin);
                }
                *known = request.persistent.then_some(Request { active: false, ..request });
            };
            if let Some(places) = args.places.requests.filter(|_| result == 0) {
                each(&args, places, requests, |requests, index, place| {
                    complete(requests, index, place);
                });
            } else if let Some(places) = args.places.requests {
                failed(&args, places, requests, statuses, result, recorder);
            }
            if hook.row.operation == Operation::TestHandle {
                let known = requests.iter().filter_map(|(_, known)| known.as_ref());
                known.for_each(|request| recorder.tested_in_vain(request));
            }
        };
        match hook.row.operation {
            Operation::TestHandle => end_test(call, found(&args, result), write),
            _ => recorder::end(call, write),
        }
        // Requests that are not complete are still in flight, and persistent requests stay.
        for (handle, known) in requests {
            if let Some(known) = known {
                Requests::add(*handle, *known, args.abi.is_shared_request(*handle));
            }
        }
        drop(allocated);
    }
}

/// Returns `true` if a call that tests requests has found one that is complete, or there was none to test.
fn found(args: &Args<'_>, result: c_int) -> bool {
    let Some(places) = args.places.requests.filter(|_| result == 0) else { return true };
    match places.watch {
        Watch::Some => args.stored(places.done) != Some(0),
        Watch::One | Watch::All | Watch::Any => args.stored(places.flag) != Some(0),
    }
}

/// Records the requests that a failed call has completed nevertheless: those whose handles have changed.
#[cold]
fn failed(
    args: &Args<'_>,
    places: table::Requests,
    requests: &mut [Known],
    statuses: usize,
    result: c_int,
    recorder: &mut Recorder,
) {
    let list = args.passed(places.at);
    let truncated = args.abi.is_truncated(result);
    for (index, (handle, known)) in requests.iter_mut().enumerate() {
        let Some(request) = *known else { continue };
        if args.handle_in(Kind::Request, list, index) == Some(*handle) {
            continue;
        }
        let place = match places.watch {
            Watch::One | Watch::All => Some(index),
            Watch::Any => Some(0),
            Watch::Some => None,
        };
        let at = place.filter(|_| statuses != 0 && request.wants_status());
        let status = at.map(|place| statuses + place * args.abi.status_size).filter(|at| {
            // SAFETY: the library has stored a status for what is gone.
            let error = || unsafe { args.abi.status_error(*at) };
            truncated
                || places.watch == Watch::All && (error() == 0 || args.abi.is_truncated(error()))
        });
        let status = match status {
            // SAFETY: as above.
            Some(at) => unsafe { args.abi.status(at) },
            None => Status { cancelled: request.wants_status(), ..Status::default() },
        };
        recorder.complete(&request, status);
        *known = None;
    }
}

/// Returns the number of requests of a call.
fn number(args: &Args<'_>, places: table::Requests) -> usize {
    places.count.map_or(1, |at| usize::try_from(args.int(at)).unwrap_or(0))
}

/// Calls `visit` for each completed request, with its index and that of its status. `before` holds the requests as they
/// were before the call.
fn each(
    args: &Args<'_>,
    places: table::Requests,
    before: &mut [Known],
    mut visit: impl FnMut(&mut [Known], usize, usize),
) {
    if args.stored(places.flag) == Some(0) {
        return;
    }
    match places.watch {
        Watch::One | Watch::All => {
            for index in 0..before.len() {
                visit(before, index, index);
            }
        }
        Watch::Any => {
            let index = args.stored(places.index);
            if let Some(index) = index.and_then(|index| place_of(args, places, before, index)) {
                visit(before, index, 0);
            }
        }
        Watch::Some => {
            let done = args.stored(places.done).and_then(|done| usize::try_from(done).ok());
            let indices = places.indices.map_or(Passed::NULL, |at| args.passed(at));
            for place in 0..done.unwrap_or(0).min(before.len()) {
                let index = indices.read(place);
                if let Some(index) = index.and_then(|it| place_of(args, places, before, it)) {
                    visit(before, index, place);
                }
            }
        }
    }
}

/// Returns the index of a request, counted from 0, from the index that the library returned.
///
/// Indices in Fortran start at 1, but `MPI_Waitany` of `mpi_f08` in MPICH 4.0.2 counts from 0. So the index is chosen
/// whose request has become null; a persistent request does not, and its index is taken to start at 1.
fn place_of(
    args: &Args<'_>,
    places: table::Requests,
    before: &[Known],
    index: c_int,
) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    if args.is_c() {
        return Some(index);
    }
    let null = args.abi.request_null;
    let gone = |place: &usize| {
        let now = args.handle_in(Kind::Request, args.passed(places.at), *place);
        before.get(*place).is_some_and(|(before, _)| *before != null && now == Some(null))
    };
    let one_less = index.checked_sub(1);
    one_less.filter(gone).or_else(|| Some(index).filter(gone)).or(one_less)
}

/// A call that starts persistent requests or frees requests.
pub(crate) struct Again;

impl Shape for Again {
    type Room = ();
    type State = Call;

    fn begin(hook: &'static Hook, words: &Words<'_>, _: &mut MaybeUninit<()>) -> Option<Call> {
        let args = Args::of(words);
        recorder::begin(hook, |recorder| {
            let Some(places) = args.places.requests else { return };
            let list = args.passed(places.at);
            let count = if list == Passed::NULL { 0 } else { number(&args, places) };
            let handles = (0..count).map_while(|at| args.handle_in(Kind::Request, list, at));
            for handle in handles {
                match hook.row.operation {
                    Operation::FreeHandle => Requests::forget(handle),
                    _ => start(recorder, handle),
                }
            }
        })
    }

    fn end(call: Call, _: &'static Hook, _: &Words<'_>, _: c_int) {
        recorder::end(call, |_| ());
    }
}

fn start(recorder: &mut Recorder, handle: usize) {
    let Some(mut what) = Requests::described(handle) else { return };
    match &mut what {
        What::Collective(it) => it.sequence = it.comm.collective(),
        What::Partitioned { ready, .. } => *ready = 0,
        _ => {}
    }
    let (id, second) = recorder.start(&what);
    Requests::started(handle, what, id, second);
}

/// A call that marks partitions of a partitioned send as ready.
pub(crate) struct Ready;

impl Shape for Ready {
    type Room = ();
    type State = Call;

    fn begin(hook: &'static Hook, words: &Words<'_>, _: &mut MaybeUninit<()>) -> Option<Call> {
        let args = Args::of(words);
        recorder::begin(hook, |recorder| {
            let Some(ready) = args.places.ready else { return };
            let count = match (ready.first, ready.until) {
                (Some(first), Some(last)) => args.int(last) - args.int(first) + 1,
                (None, Some(count)) => args.int(count),
                (_, None) => 1,
            };
            let count = u32::try_from(count).unwrap_or(0);
            recorder.partitions_ready(args.handle(Kind::Request, ready.request), count);
        })
    }

    fn end(call: Call, _: &'static Hook, _: &Words<'_>, _: c_int) {
        recorder::end(call, |_| ());
    }
}
