//! Communicators: their members, their creation and their end.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use dwell_measure::hook::{Hook, Passed};
use dwell_measure::mpi::{Comm, CommChange, Members, Origin, What};
use dwell_measure::process::{self, DIMENSIONS, Dimension, Process};
use dwell_measure::recorder::{self, Recorder};
use dwell_measure::thread::Call;
use dwell_model::operation::Mode;
use dwell_model::table::Arg;

use super::abi::abi;
use super::messages::{Started, begin_request, remember};
use super::pmpi;
use super::shape::{Args, Kind, Shape, Words};

/// Group of all processes, to which ranks are translated.
static WORLD: AtomicUsize = AtomicUsize::new(0);

/// Registers the predefined communicators. `all` contains every process; `with_constants` says whether `MPI_COMM_WORLD`
/// and `MPI_COMM_SELF` exist, which they do not in programs that use sessions only.
pub(super) fn begin(process: &Process, all: usize, with_constants: bool) {
    let mut group = 0;
    // SAFETY: the library has started, and `all` is a communicator of it.
    if unsafe { pmpi::comm_group(all, &raw mut group) } != 0 {
        return;
    }
    let abi = abi();
    WORLD.store(abi.handle(group), Ordering::Release);
    if !with_constants {
        return;
    }
    let rank = process.rank();
    let everyone = (0..u64::from(process.size())).collect();
    let world = Members { local: everyone, remote: None, rank };
    process.add_comm(abi.comm_world, Origin::BEGINNING, &world, "MPI_COMM_WORLD");
    let alone = Members { local: vec![rank.into()], remote: None, rank: 0 };
    process.add_comm(abi.comm_self, Origin::BEGINNING, &alone, "MPI_COMM_SELF");
}

/// Returns the communicator of a handle. A communicator whose creation was not seen is examined now.
#[inline]
pub(crate) fn comm_of(recorder: &mut Recorder, handle: usize) -> Option<&'static Comm> {
    match recorder.comm(handle) {
        None => adopt(recorder.process(), handle, Origin::UNKNOWN),
        known => known,
    }
}

/// Registers a communicator. Returns `None` for `MPI_COMM_NULL`, or if the members are not all known.
#[cold]
pub(super) fn adopt(process: &Process, handle: usize, origin: Origin) -> Option<&'static Comm> {
    if handle == abi().comm_null {
        return None;
    }
    process.add_comm(handle, origin, &members(handle)?, "")
}

/// Returns the members of a communicator, or `None` if some are not processes of this run.
fn members(comm: usize) -> Option<Members> {
    let (mut group, mut inter, mut rank) = (0, 0, 0);
    // SAFETY: a communicator that the library knows, and places for the answers.
    unsafe {
        if pmpi::comm_group(comm, &raw mut group) != 0
            || pmpi::comm_test_inter(comm, &raw mut inter) != 0
            || pmpi::comm_rank(comm, &raw mut rank) != 0
        {
            return None;
        }
    }
    let local = members_of(&raw mut group)?;
    let remote = if inter == 0 {
        None
    } else {
        // SAFETY: as above.
        if unsafe { pmpi::comm_remote_group(comm, &raw mut group) } != 0 {
            return None;
        }
        Some(members_of(&raw mut group)?)
    };
    Some(Members { local, remote, rank: u32::try_from(rank).ok()? })
}

/// Returns the ranks in the world of a group that was created for this question only, and frees the group.
fn members_of(group: *mut usize) -> Option<Vec<u64>> {
    // SAFETY: the library has just stored a group there, and no other code has its handle.
    unsafe {
        let members = members_of_group(abi().handle(*group));
        pmpi::group_free(group);
        members
    }
}

/// Returns the ranks in the world of the members of a group, or `None` if some are not processes of this run.
pub(super) fn members_of_group(group: usize) -> Option<Vec<u64>> {
    let world = WORLD.load(Ordering::Acquire);
    if world == 0 || group == abi().group_null {
        return None;
    }
    let mut size = 0;
    // SAFETY: a group that the library knows, and a place for the answer.
    if unsafe { pmpi::group_size(group, &raw mut size) } != 0 {
        return None;
    }
    let ranks: Vec<c_int> = (0..size).collect();
    let mut there = vec![0; ranks.len()];
    // SAFETY: both lists have `size` elements.
    let code = unsafe {
        pmpi::group_translate_ranks(group, size, ranks.as_ptr(), world, there.as_mut_ptr())
    };
    if code != 0 {
        return None;
    }
    there.into_iter().map(|rank| u64::try_from(rank).ok()).collect()
}

/// A call that creates a communicator.
pub(crate) struct Create;

/// State of the creation of a communicator, kept from the beginning of the call to its end.
pub(crate) struct Making {
    parent: Option<&'static Comm>,
    origin: Option<Origin>,
    started: Started,
    sequence: u64,
}

impl Shape for Create {
    type Room = ();
    type State = (Call, Making);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let mut making = Making { parent: None, origin: None, started: None, sequence: 0 };
        let call = recorder::begin(hook, |recorder| {
            let Some(handle) = args.comm() else { return };
            let parent = comm_of(recorder, handle);
            making.parent = parent;
            // Only members of the new communicator make these two calls.
            let by_group = args.places.members.is_some() && args.places.tag.is_some();
            let with_others = args.places.tag.is_some() && !by_group;
            if by_group || with_others {
                return;
            }
            let Some(parent) = parent else { return };
            making.origin = Some(parent.child());
            if hook.row.mode == Mode::NonBlocking {
                let at = args.places.created.map_or(Passed::NULL, |at| args.passed(at));
                let origin = making.origin.unwrap_or(Origin::UNKNOWN);
                let what = What::Comm { at, origin };
                making.started = Some(begin_request(recorder, what, hook.row.mode));
            } else {
                making.sequence = parent.collective();
                recorder.collective_begin();
            }
        })?;
        Some((call, making))
    }

    fn end((call, making): Self::State, hook: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        if making.started.is_some() {
            remember(&args, making.started, result);
            return recorder::end(call, |_| ());
        }
        recorder::end(call, |recorder| {
            if let (Some(parent), Some(_)) = (making.parent, making.origin) {
                recorder.management_end(parent, CommChange::Made, making.sequence);
            }
            let handle = args.handle_at(Kind::Comm, args.places.created).filter(|_| result == 0);
            let Some(handle) = handle.filter(|handle| *handle != args.abi.comm_null) else {
                return;
            };
            match making.origin {
                Some(origin) => {
                    let comm = adopt(recorder.process(), handle, origin);
                    if let Some(comm) = comm.filter(|_| hook.row.name() == "MPI_Cart_create") {
                        record_grid(recorder.process(), comm, handle);
                    }
                }
                None => adopt_of_members(recorder.process(), &args, making.parent, handle),
            }
        });
    }
}

/// Defines the grid of a new communicator.
#[cold]
fn record_grid(process: &Process, comm: &Comm, handle: usize) {
    let mut count = 0;
    let mut lists = [[0; DIMENSIONS]; 3];
    let [sizes, periods, coordinates] = &mut lists;
    // SAFETY: the library has just made this communicator, and each list has room for `count` numbers.
    let known = unsafe {
        pmpi::cartdim_get(handle, &raw mut count) == 0
            && usize::try_from(count).is_ok_and(|count| count <= DIMENSIONS)
            && pmpi::cart_get(
                handle,
                count,
                sizes.as_mut_ptr(),
                periods.as_mut_ptr(),
                coordinates.as_mut_ptr(),
            ) == 0
    };
    if !known {
        return;
    }
    let mut grid = [Dimension::default(); DIMENSIONS];
    for (it, (size, period)) in grid.iter_mut().zip(sizes.iter().zip(periods.iter())) {
        *it = Dimension { size: u32::try_from(*size).unwrap_or(0), is_periodic: *period != 0 };
    }
    process.grid_of_comm(comm, grid.get(..count as usize).unwrap_or_default());
}

/// Registers a communicator that only its own members have created.
fn adopt_of_members(
    process: &Process,
    args: &Args<'_>,
    parent: Option<&'static Comm>,
    handle: usize,
) {
    let Some(members) = members(handle) else { return };
    // Both sides of one that connects two groups list all members in the same order.
    let mut all = members.local.clone();
    all.extend(members.remote.iter().flatten());
    if members.remote.is_some() {
        all.sort_unstable();
    }
    let tag = args.places.tag.map_or(0, |at: Arg| args.int(at)).cast_unsigned();
    let origin = match parent {
        Some(parent) if members.remote.is_none() => parent.child_of_group(tag.into(), &all),
        _ => Origin::of_group(tag.into(), &all),
    };
    process.add_comm(handle, origin, &members, "");
}

/// A call that frees a communicator.
pub(crate) struct Free;

impl Shape for Free {
    type Room = ();
    type State = (Call, Option<(&'static Comm, u64)>);

    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        _: &mut MaybeUninit<()>,
    ) -> Option<Self::State> {
        let args = Args::of(words);
        let handle = args.handle_at(Kind::Comm, args.places.ended)?;
        let mut comm = None;
        let call = recorder::begin(hook, |recorder| {
            if let Some(it) = recorder.comm(handle) {
                recorder.collective_begin();
                comm = Some((it, it.collective()));
            }
        });
        // Calls of callbacks are not recorded, but the handle will be another's all the same.
        if let Some(process) = process::current() {
            process.forget_comm(handle);
        }
        Some((call?, comm))
    }

    fn end((call, comm): Self::State, _: &'static Hook, _: &Words<'_>, _: c_int) {
        recorder::end(call, |recorder| {
            if let Some((comm, sequence)) = comm {
                recorder.management_end(comm, CommChange::Freed, sequence);
            }
        });
    }
}
