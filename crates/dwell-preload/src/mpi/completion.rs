//! Requests: waiting, testing, starting, giving back.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use dwell_measure::hook::Hook;
use dwell_measure::mpi::{self, Recorder, Requests, Status, What};
use dwell_measure::thread::Call;
use dwell_model::operation::Operation;
use dwell_model::table::{self, Watch};

use super::abi::{STATUS, abi};
use super::groups;
use super::shape::{Args, Shape};

/// Requests of one call that need no memory of their own.
const FEW: usize = 16;

/// Copies of the requests, which the library overwrites, and statuses, if the program wants none.
pub(crate) struct Room {
    requests: [usize; FEW],
    statuses: [MaybeUninit<[u64; STATUS / 8]>; FEW],
}

/// Requests and statuses of a call.
pub(crate) struct State {
    call: Call,
    /// In the room of the call, or allocated.
    requests: *const usize,
    count: usize,
    /// Address of the first status, 0 if nobody wants one.
    statuses: usize,
    allocated: Option<(Vec<usize>, Vec<u64>)>,
}

/// Waits and tests.
pub(crate) struct Complete;

impl Shape for Complete {
    type Room = Room;
    type State = State;

    fn begin(
        hook: &'static Hook,
        words: &mut [usize],
        room: &mut MaybeUninit<Room>,
    ) -> Option<State> {
        let call = mpi::begin(hook, |_| ())?;
        let args = Args::of(hook, words);
        let count = args.places.requests.map_or(0, |it| number(&args, it));
        let mut allocated = (count > FEW).then(|| (vec![0; count], Vec::new()));
        // SAFETY: arrays of numbers and of anything may hold any bytes; what is read was written.
        let (few, room) = unsafe {
            let room = &mut *room.as_mut_ptr();
            (core::slice::from_raw_parts_mut((&raw mut room.requests).cast::<usize>(), FEW), room)
        };
        let copies = match &mut allocated {
            Some((copies, _)) => copies.as_mut_slice(),
            None => few.get_mut(..count).unwrap_or_default(),
        };
        let mut wanted = false;
        if let Some(places) = args.places.requests {
            let address = args.word(places.at);
            for (index, copy) in copies.iter_mut().enumerate() {
                // SAFETY: the program passed that many requests.
                *copy = unsafe { args.abi.handle_at(address, index) };
                wanted |= *copy != args.abi.request_null && Requests::wants_status(*copy);
            }
        }
        let requests = copies.as_ptr();
        let mut statuses = 0;
        if let (true, Some(at)) = (wanted, args.places.status)
            && let Some(word) = words.get_mut(at.index())
        {
            if !abi().has_status(*word) {
                *word = match &mut allocated {
                    Some((_, more)) => {
                        *more = vec![0; count * STATUS / 8];
                        more.as_ptr().addr()
                    }
                    None => (&raw mut room.statuses).addr(),
                };
            }
            statuses = *word;
        }
        Some(State { call, requests, count, statuses, allocated })
    }

    fn end(state: State, hook: &'static Hook, words: &[usize], result: c_int) {
        let args = Args::of(hook, words);
        let State { call, requests, count, statuses, allocated } = state;
        // SAFETY: filled in `begin`, in memory that lives as long as the call or as `allocated`.
        let requests = unsafe { core::slice::from_raw_parts(requests, count) };
        let mut made = Vec::new();
        mpi::end(call, |recorder| {
            let places = args.places.requests.filter(|_| result == 0);
            let Some(places) = places else { return };
            each(&args, places, count, |index, place| {
                let handle = requests.get(index).copied().unwrap_or(args.abi.request_null);
                if handle == args.abi.request_null {
                    return;
                }
                let status = || match statuses {
                    0 => Status::default(),
                    // SAFETY: the library has stored a status for it there.
                    first => unsafe { args.abi.status(first + place * args.abi.status_size) },
                };
                let request = recorder.complete_handle(handle, status);
                if let Some(What::Comm { at, origin, parent }) = request.map(|it| it.what) {
                    made.push((at, origin, parent));
                }
            });
            for (at, origin, _) in made.drain(..) {
                groups::created_at(recorder.process(), at, origin);
            }
        });
        drop(allocated);
    }
}

/// Number of requests.
fn number(args: &Args<'_>, places: table::Requests) -> usize {
    places.count.map_or(1, |at| usize::try_from(args.int(at)).unwrap_or(0))
}

/// Calls `visit` for each request that is complete, with its index and that of its status.
fn each(
    args: &Args<'_>,
    places: table::Requests,
    count: usize,
    mut visit: impl FnMut(usize, usize),
) {
    if args.stored(places.flag) == Some(0) {
        return;
    }
    match places.watch {
        Watch::One | Watch::All => (0..count).for_each(|index| visit(index, index)),
        Watch::Any => {
            if let Some(Ok(index)) = args.stored(places.index).map(usize::try_from) {
                visit(index, 0);
            }
        }
        Watch::Some => {
            let done = args.stored(places.done).and_then(|done| usize::try_from(done).ok());
            let indices = places.indices.map_or(0, |at| args.word(at)) as *const c_int;
            for place in 0..done.unwrap_or(0).min(count) {
                // SAFETY: the library has stored that many indices.
                let index = unsafe { indices.add(place).read_unaligned() };
                if let Ok(index) = usize::try_from(index) {
                    visit(index, place);
                }
            }
        }
    }
}

/// Starting requests again, and giving them back.
pub(crate) struct Again;

impl Shape for Again {
    type Room = ();
    type State = Call;

    fn begin(hook: &'static Hook, words: &mut [usize], _: &mut MaybeUninit<()>) -> Option<Call> {
        let args = Args::of(hook, words);
        mpi::begin(hook, |recorder| {
            let Some(places) = args.places.requests else { return };
            let address = args.word(places.at);
            for index in 0..number(&args, places) {
                // SAFETY: the program passed that many requests.
                let handle = unsafe { args.abi.handle_at(address, index) };
                match hook.row.operation {
                    Operation::FreeHandle => Requests::forget(handle),
                    _ => start(recorder, handle),
                }
            }
        })
    }

    fn end(call: Call, _: &'static Hook, _: &[usize], _: c_int) {
        mpi::end(call, |_| ());
    }
}

fn start(recorder: &mut Recorder, handle: usize) {
    let Some(mut what) = Requests::described(handle) else { return };
    if let What::Collective(it) = &mut what {
        it.sequence = it.comm.collective();
    }
    let (id, second) = recorder.start(&what);
    Requests::started(handle, what, id, second);
}
