//! Communicators: who is in them, and when they come and go.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use dwell_measure::hook::{Hook, Passed};
use dwell_measure::mpi::{self, Comm, Members, Origin, Recorder, What};
use dwell_measure::process::{self, Process};
use dwell_measure::thread::Call;
use dwell_model::operation::Mode;
use dwell_model::table::Arg;

use super::abi::abi;
use super::messages::{Started, begin_request, remember};
use super::pmpi;
use super::shape::{Args, Kind, Shape, Words};

/// The group of all processes, which ranks are translated to.
static WORLD: AtomicUsize = AtomicUsize::new(0);

/// Takes note of the communicators that are there from the beginning. `all` has every process.
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

/// The communicator of a handle. One that was never seen being made is looked at now.
#[inline]
pub(crate) fn comm_of(recorder: &mut Recorder, handle: usize) -> Option<&'static Comm> {
    match recorder.comm(handle) {
        None => adopt(recorder.process(), handle, Origin::UNKNOWN),
        known => known,
    }
}

/// Takes note of a communicator.
#[cold]
pub(super) fn adopt(process: &Process, handle: usize, origin: Origin) -> Option<&'static Comm> {
    if handle == abi().comm_null {
        return None;
    }
    process.add_comm(handle, origin, &members(handle)?, "")
}

/// Who is in a communicator. `None` if not all are processes of this program.
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

/// Ranks in the world of a group that was made to be asked, and is given back.
fn members_of(group: *mut usize) -> Option<Vec<u64>> {
    // SAFETY: a group that the library has just stored there, which nobody else knows.
    unsafe {
        let members = members_of_group(abi().handle(*group));
        pmpi::group_free(group);
        members
    }
}

/// Ranks in the world of the members of a group.
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
    // SAFETY: both lists have as many places as is said.
    let code = unsafe {
        pmpi::group_translate_ranks(group, size, ranks.as_ptr(), world, there.as_mut_ptr())
    };
    if code != 0 {
        return None;
    }
    there.into_iter().map(|rank| u64::try_from(rank).ok()).collect()
}

/// Making communicators.
pub(crate) struct Create;

/// What is known of a communicator before it is made.
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
        let call = mpi::begin(hook, |recorder| {
            let Some(handle) = args.comm() else { return };
            let parent = comm_of(recorder, handle);
            making.parent = parent;
            // Only members of the new one take part in these two: the group says who.
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

    fn end((call, making): Self::State, _: &'static Hook, words: &Words<'_>, result: c_int) {
        let args = Args::of(words);
        if making.started.is_some() {
            remember(&args, making.started, result);
            return mpi::end(call, |_| ());
        }
        mpi::end(call, |recorder| {
            if let (Some(parent), Some(_)) = (making.parent, making.origin) {
                recorder.management_end(parent, true, making.sequence);
            }
            let handle = args.handle_at(Kind::Comm, args.places.created).filter(|_| result == 0);
            let Some(handle) = handle.filter(|handle| *handle != args.abi.comm_null) else {
                return;
            };
            match making.origin {
                Some(origin) => {
                    adopt(recorder.process(), handle, origin);
                }
                None => adopt_of_members(recorder.process(), &args, making.parent, handle),
            }
        });
    }
}

/// Takes note of a communicator that only its own members have made.
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

/// Ending communicators.
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
        let call = mpi::begin(hook, |recorder| {
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
        mpi::end(call, |recorder| {
            if let Some((comm, sequence)) = comm {
                recorder.management_end(comm, false, sequence);
            }
        });
    }
}
